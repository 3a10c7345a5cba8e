"""Tests of rules for mixing weights on random graphs, law by law."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import networkx as nx
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from dfltheory.graphs.assumptions import DEFINITION_1, Failure, select
from dfltheory.graphs.definition_1 import check_mixing_matrix, split_laws
from dfltheory.graphs.matrices import Matrix
from dfltheory.graphs.user_laws import NetworkLaw
from dfltheory.testing.networks import connected_graphs

WeightsOfGraph = Callable[[nx.Graph], Matrix]
ERROR = "returns a matrix"
"""Name for exceptions of the rule in reports."""


@dataclass(frozen=True)
class RuleWitness:
    """The smallest graph found on which a weight rule violates a law.

    Attributes
    ----------
    graph : networkx.Graph
        The graph.
    failure : Failure
        Description and place of the violation.
    """

    graph: nx.Graph
    failure: Failure

    def __str__(self) -> str:
        return f"{self.failure.message}\n      on the {self.graph!r}"


@dataclass(frozen=True)
class WeightRuleReport:
    """The laws that a weight rule satisfied on random graphs; true if all of them.

    Attributes
    ----------
    rule : str
        Name of the rule.
    laws : tuple of str
        The laws that were tested.
    witnesses : dict
        The :class:`RuleWitness` of each law that fails.
    examples : int
        Maximum number of random graphs per law.
    """

    rule: str
    laws: tuple[str, ...]
    witnesses: dict[str, RuleWitness]
    examples: int

    @property
    def ok(self) -> bool:
        """Whether no violation was found."""
        return not self.witnesses

    def __bool__(self) -> bool:
        return self.ok

    @property
    def held(self) -> tuple[str, ...]:
        """Laws without a violation."""
        return tuple(law for law in self.laws if law not in self.witnesses)

    def raise_if_failed(self) -> None:
        """Raise AssertionError with the report if a law fails."""
        if not self.ok:
            raise AssertionError(str(self))

    def __str__(self) -> str:
        count = len(self.held)
        head = f"{self.rule}: {count} of {len(self.laws)} laws hold on random graphs"
        lines = [f"{head} (up to {self.examples} for each)"]
        for law in (*self.laws, ERROR):
            if law in self.witnesses:
                lines.append(f"  fails  {law}: {self.witnesses[law]}")
            elif law in self.laws:
                lines.append(f"  holds  {law}")
        return "\n".join(lines)


def check_weight_rule(
    rule: WeightsOfGraph,
    laws: Iterable[str | NetworkLaw | Callable[[Matrix], object]] | str | None = None,
    *,
    graphs: st.SearchStrategy[nx.Graph] | None = None,
    examples: int = 100,
) -> WeightRuleReport:
    """Test a rule for mixing weights against laws, on random graphs.

    Parameters
    ----------
    rule : callable
        Maps a networkx graph with nodes 0..m-1 to W (m, m).
    laws : str, law, or iterable of both, optional
        As for :func:`~dfltheory.graphs.check_mixing_matrix`; by default all laws of
        Definition 1.
    graphs : SearchStrategy, optional
        The graphs; by default connected graphs of 2 to 8 nodes. A single node is
        excluded because few rules are designed for a graph without edges.
    examples : int
        Maximum number of random graphs per law.

    Returns
    -------
    WeightRuleReport
        The laws that held, and a small counterexample for each other law. A matrix
        with entries that are not finite violates only the law "finite". An exception
        in the rule is reported as a failure of "returns a matrix". The report is
        deterministic.
    """
    chosen, user_laws = split_laws(laws)
    names = select(chosen, DEFINITION_1)
    listed = {name: name for name in names} | {law.name: law for law in user_laws}
    strategy = connected_graphs(min_m=2, max_m=8) if graphs is None else graphs
    options = settings(
        max_examples=examples,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.filter_too_much,
            HealthCheck.data_too_large,
        ],
    )
    witnesses: dict[str, RuleWitness] = {}
    for name, law in {ERROR: None, **listed}.items():
        trial = _Trial(rule, law)
        try:
            graph = find(strategy, trial.breaks, settings=options)
        except NoSuchExample:
            continue
        failure = trial.failure(graph)
        if failure is not None:
            witnesses[name] = RuleWitness(graph, failure)
    rule_name = getattr(rule, "__name__", type(rule).__name__)
    return WeightRuleReport(rule_name, tuple(listed), witnesses, examples)


@dataclass(frozen=True)
class _Trial:
    """One law of a weight rule. For the law None, the rule must raise no exception."""

    rule: WeightsOfGraph
    law: str | NetworkLaw | None

    def failure(self, graph: nx.Graph) -> Failure | None:
        """Return how the rule's matrix on a graph violates the law, if it does."""
        try:
            W = self.rule(graph)
        except Exception as error:  # any exception of the user's rule is a finding
            if self.law is not None:
                return None
            message = f"raises {type(error).__name__}: {error}"
            return Failure(ERROR, "the whole matrix", float("nan"), 0.0, message)
        if self.law is None:
            return None
        name = self.law if isinstance(self.law, str) else self.law.name
        if name != "finite" and check_mixing_matrix(W, laws=["finite"]).failures:
            return None
        report = check_mixing_matrix(W, graph, laws=[self.law])
        return next((f for f in report.failures if f.law == name), None)

    def breaks(self, graph: nx.Graph) -> bool:
        """Return whether the rule violates the law on a graph."""
        return self.failure(graph) is not None


__all__ = ["RuleWitness", "WeightRuleReport", "check_weight_rule"]
