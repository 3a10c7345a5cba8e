"""The values of a run by glossary name: the one place where a run meets a theorem.

:func:`run_values` maps a run, a file of one, a planned run, or candidates of a search
to the quantities of a theorem. Each kind of run is a :class:`Source`: it returns what
it knows, and :func:`run_values` completes it by the same rules for all of them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from dfltheory import graphs
from dfltheory.bounds.clauses import Number
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import GraphError, InputError, UnknownNameError
from dfltheory.verdicts.given_values import check_given
from dfltheory.verdicts.measures import (
    Gap,
    gap_at_start,
    measured,
    objective_at_start,
    precision,
)
from dfltheory.verdicts.rounding import RoundingError, start_errors
from dfltheory.verdicts.run_sizes import run_sizes
from dfltheory.verdicts.value_sources import Source, Values

if TYPE_CHECKING:
    from dfltheory.training.history import History

PUSH_SUM_CONSTANTS = frozenset({"delta", "C", "q", "window"})
"""Glossary names of the constants of push-sum on a network."""


@dataclass(frozen=True, eq=False)
class RunValues(Mapping[str, Any]):
    """Values of a run by glossary name, with their rounding errors, for one theorem.

    Attributes
    ----------
    source : Source
        Where the values come from.
    theorem : Theorem
    known : dict
        The values: numbers, or (S,) arrays if the seeds have different starts.
    given : mapping
        The values that the caller gave.
    gap : Gap or None
        f - f* at the theorem's first round, with its rounding error, if the source
        knows it.
    """

    source: Source
    theorem: Theorem
    known: Values
    given: Mapping[str, float] = field(default_factory=dict[str, float])
    gap: Gap | None = None

    def __getitem__(self, name: str) -> Any:
        return self.known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)

    @cached_property
    def needed(self) -> dict[str, float]:
        """Those values that the theorem needs, as means over seeds.

        Unknown ones are absent.
        """
        needed_values: dict[str, float] = {}
        for name in self.theorem.needs:
            if name in self.known:
                value = self.known[name]
                if isinstance(value, np.ndarray):
                    value = float(value.mean())
                needed_values[name] = value
        return needed_values

    @cached_property
    def errors(self) -> dict[str, RoundingError]:
        """The rounding error of each value that was measured, by glossary name.

        Absent are given values, which are exact, and constants, whose rounding error
        :func:`~dfltheory.verdicts.rounding.bound_error` adds.
        """
        errors = self.start_errors
        if computes(self.theorem):
            errors_of_computed = self.source.computed(self.theorem, self.known)[1]
            errors = errors | {
                n: e for n, e in errors_of_computed.items() if n not in self.given
            }
        if "f0_gap" in self.known:
            errors = errors | {"f0_gap": RoundingError(shift=self.f0_gap_error)}
        return errors

    @cached_property
    def start_errors(self) -> dict[str, RoundingError]:
        """Rounding errors of x_star_sq, x0_spread and x0_sq, unless these are given."""
        errors = self.source.start_errors(self.theorem)
        return {name: error for name, error in errors.items() if name not in self.given}

    @cached_property
    def f0_gap_error(self) -> Number:
        """Absolute rounding error of f0_gap, an array () or (S,).

        A given f0_gap is exact for the mean; the differences of starts are rounded.
        """
        if "f0_gap" not in self.given:
            return np.zeros(()) if self.gap is None else self.gap.error
        if np.ndim(self.known["f0_gap"]):
            return self.source.given_gap_error(self.theorem)
        return np.zeros(())

    @cached_property
    def at_upper_gap(self) -> Values:
        """The values, with f0_gap at the upper end of its rounding error."""
        if "f0_gap" not in self.known:
            return self.known
        return {**self.known, "f0_gap": self.known["f0_gap"] + self.f0_gap_error}

    @cached_property
    def estimated(self) -> tuple[str, ...]:
        """Glossary names of the theorem's constants that are estimates, sorted."""
        names = self.source.estimated(self.theorem)
        if "f_star" in names:
            names = names | {"f0_gap"}
        if names and computes(self.theorem):
            from dfltheory.verdicts.computed_values import computed_from

            names = names | computed_from(self.theorem, names)
        wanted = names & set(self.theorem.needs)
        return tuple(sorted(wanted - set(self.given)))


def run_values(
    run: History | Source | str | os.PathLike[str],
    theorem: Theorem,
    given: Mapping[str, float] | None = None,
) -> RunValues:
    """Return the values of a run by glossary name.

    Parameters
    ----------
    run : History, path or Source
        A run, the file of one, or another source of values.
    theorem : Theorem
        Its left-hand side fixes the round of f0_gap, its schedule the meaning of rho0.
    given : mapping, optional
        Constants of the problem that complete or replace what the run knows.

    Returns
    -------
    RunValues
        f0_gap, x0_sq, x0_spread, and x_star_sq if the run measured ``dist_sq``, are
        (S,) arrays if the seeds have different starts.

    Raises
    ------
    UnknownNameError
        If ``given`` contains a name that is not in the glossary.
    InputError
        If a given value is out of its range, or contradicts the run.
    """
    source = value_source(run)
    given = {} if given is None else dict(given)
    for name, value in given.items():
        if name not in theorem.glossary:
            raise UnknownNameError("constant", name, set(theorem.glossary))
        if np.ndim(value):
            raise InputError(f"{name} = {value!r} must be one number")
        theorem.glossary[name].check(value)
    agreed = source.check_given(theorem, given) if given else given
    gap = source.gap(theorem)
    known = _complete_values(source, theorem, agreed, gap)
    return RunValues(source, theorem, known, given, gap)


def value_source(run: History | Source | str | os.PathLike[str]) -> Source:
    """Return a run, or the run in a file, as a source of values."""
    if isinstance(run, Source):
        return run
    if isinstance(run, (str, os.PathLike)):
        from dfltheory.training.history import History

        return RecordedRun(History.load(run))
    return RecordedRun(run)


def _complete_values(
    source: Source, theorem: Theorem, given: Mapping[str, float], gap: Gap | None
) -> Values:
    """Return what the source knows, completed by given and derived values."""
    constants = source.constants(theorem)
    values = {name: value for name, value in constants.items() if value is not None}
    if gap is not None:
        values["f0_gap"] = gap.value
    if PUSH_SUM_CONSTANTS & set(theorem.needs) - set(values):
        values = {**source.push_sum_constants(theorem), **values}
    if source.refutes and theorem.scope.push_sum == "cited":
        values = with_larger(values, source.cited_push_sum())
    if computes(theorem):
        values.update(source.computed(theorem, {**values, **given})[0])
    values.update(given)
    values.update(source.start(theorem))
    if "f0_gap" in given:
        values["f0_gap"] = given["f0_gap"] + source.gap_differences(theorem)
    return {**source.derived(theorem, values), **values}


def with_larger(values: Values, others: Values) -> Values:
    """Return the values of both mappings; for a name in both, the larger value."""
    larger = dict(values)
    for name, other in others.items():
        larger[name] = np.maximum(values[name], other) if name in values else other
    return larger


def computes(theorem: Theorem) -> bool:
    """Return whether the theorem needs a quantity with a formula or function."""
    return any(theorem.glossary[name].of is not None for name in theorem.needs)


# -- recorded runs ---------------------------------------------------------------------


class RecordedRun(Source):
    """A run that was trained here, read from a file, or measured elsewhere.

    ``refutes`` selects the larger of computed and cited push-sum constants; see
    :class:`Source`.
    """

    def __init__(self, run: History, *, refutes: bool = False):
        self.run = run
        self.refutes = refutes

    def constants(self, theorem: Theorem) -> Values:
        """Return the constants of the run, without ``f0_gap``."""
        values = dict(self.run.values())
        values.pop("f0_gap", None)  # it belongs to round 0; see `gap`
        return values

    def push_sum_constants(self, theorem: Theorem) -> Values:
        """Return delta, C, q and window, also of a doubly stochastic network."""
        if self.run.topology is None:
            return {}
        # `obstacle_of` reports a network that breaks the law of push-sum
        with suppress(GraphError):
            return graphs.network_constants(self.run.topology, push_sum=True).known()
        return {}

    def cited_push_sum(self) -> Values:
        """Return C and q of Lemma 3 for the run's network and number of parameters."""
        dim = self.run.x.shape[-1]
        if self.run.topology is None or not dim:
            return {}
        return cited_push_sum_values(self.run.topology, dim)

    def computed(
        self, theorem: Theorem, values: Values
    ) -> tuple[Values, dict[str, RoundingError]]:
        """Return the theorem's computed quantities and their rounding errors, by name.

        Quantities that depend on the matrix are absent if the run uses several ones.
        """
        from dfltheory.verdicts.computed_values import computed_values

        matrix = None
        if self.run.topology is not None:
            sequence = graphs.as_sequence(self.run.topology)
            if not sequence.random and getattr(sequence, "period", None) == 1:
                matrix = sequence.matrix(0, np.random.default_rng(0))
        computed, errors = computed_values(theorem, values, matrix, self.run.problem)
        return computed, {n: RoundingError(shift=e) for n, e in errors.items()}

    def start(self, theorem: Theorem) -> Values:
        """Return x0_sq, x0_spread, and x_star_sq if dist_sq was measured in round 0."""
        run = self.run
        values: Values = {}
        for name, squares in (("x0_sq", run.x0_sq), ("x0_spread", run.x0_spread)):
            if run.stated is None or not np.isnan(squares).any():
                values[name] = _collapse_equal(squares)[()]
        distances = measured(run, "dist_sq")
        if distances is not None and run.rounds_measured[0] == 0:
            values["x_star_sq"] = _collapse_equal(distances[:, 0])[()]
        return values

    def gap(self, theorem: Theorem) -> Gap | None:
        """Return f - f* of each seed at the theorem's first round, with its error.

        The error includes that of the models: rounding a model by eps ||x|| changes a
        client's loss by that times its gradient, which is at most about ||grad f|| +
        sigma_g. If this is not finite, as in a run that diverged, the error is
        infinite.
        """
        run = self.run
        gap = gap_at_start(run, theorem)
        if gap is None:
            return stated_gap(run, theorem)
        column = np.flatnonzero(run.rounds_measured == theorem.lhs.start)[0]
        sigma_g = run.constants.sigma_g or 0.0
        heterogeneity = sigma_g if math.isfinite(sigma_g) else 0.0
        slope = np.sqrt(np.abs(run.grad_norm_sq[:, column])) + heterogeneity
        rounding = np.full_like(slope, np.inf)
        size = precision(run) * np.sqrt(run.x0_sq)
        np.multiply(size, slope, out=rounding, where=np.isfinite(slope))
        if run.stated is not None:  # half of the digits where sizes are unknown
            half = math.sqrt(precision(run)) * np.abs(gap.value)
            rounding = np.where(np.isfinite(rounding), rounding, half)
        return Gap(
            _collapse_equal(gap.value)[()], _collapse_equal(gap.error + rounding)
        )

    def gap_differences(self, theorem: Theorem) -> Number:
        """Return each seed's objective at the start minus their mean; 0 if unknown."""
        value = objective_at_start(self.run, theorem)
        return 0.0 if value is None else _collapse_equal(value - value.mean())[()]

    def given_gap_error(self, theorem: Theorem) -> Number:
        """Return the rounding error of the objective at the start; 0 if unknown."""
        value = objective_at_start(self.run, theorem)
        return (
            np.zeros(()) if value is None else 32 * precision(self.run) * np.abs(value)
        )

    def start_errors(self, theorem: Theorem) -> dict[str, RoundingError]:
        """Return the rounding errors of the start at the run's sizes."""
        return start_errors(run_sizes(self.run, theorem.lhs))

    def estimated(self, theorem: Theorem) -> set[str]:
        """Return the names of the run's and network's constants that are estimates."""
        sources = (self.run.constants, self.run.network)
        return {
            name
            for constants in sources
            for name in constants.standing
            if constants.standing_of(name) == "estimate"
        }

    def check_given(
        self, theorem: Theorem, given: Mapping[str, float]
    ) -> dict[str, float]:
        """Check given values against the run, with rho0 completed by the schedule."""
        others = {name: value for name, value in given.items() if name != "rho0"}
        rho0 = None
        if "rho0" in given:  # the rho0 at which the schedule gives the rho of the run
            completed = _complete_values(self, theorem, others, self.gap(theorem))
            rho0 = completed.get("rho0")
        computed = self._computed_alone(theorem)
        return check_given(self.run, theorem, given, rho0, computed)

    def _computed_alone(self, theorem: Theorem) -> Values:
        """Return the computed quantities from the run's own values, not given ones."""
        if not computes(theorem):
            return {}
        return self.computed(theorem, self.constants(theorem))[0]


def cited_push_sum_values(network: object, dim: int) -> Values:
    """Return C and q of Assran et al. (2019), Lemma 3; infinite if undefined."""
    try:
        cited = graphs.cited_constants(network, dim=dim)
    except GraphError:
        return {"C": math.inf, "q": math.inf}
    return {"C": cited.C, "q": cited.q}


def stated_gap(run: History, theorem: Theorem) -> Gap | None:
    """Return the f0_gap that was stated for a run of another program.

    None if it was not stated, or if the theorem does not begin in round 0.
    """
    if run.stated is None or "f0_gap" not in run.stated or theorem.lhs.start != 0:
        return None
    return Gap(np.asarray(run.stated["f0_gap"]), np.zeros(()))


def _collapse_equal(values: ArrayLike) -> np.ndarray:
    """Return an array () if all seeds have the same value, and else the array (S,)."""
    array = np.asarray(values)
    if not array.size:
        return array
    with np.errstate(invalid="ignore"):  # inf - inf, of runs that diverged
        return array if np.ptp(array) else np.asarray(array.flat[0])


__all__ = ["Gap", "RecordedRun", "RunValues", "run_values", "value_source"]
