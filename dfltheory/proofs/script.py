"""Proof scripts: a function that returns the last fact, and what comparing it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import sympy as sp

from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs.hypotheses import Hypothesis
from dfltheory.proofs.kernel import Fact
from dfltheory.proofs.moments import Lag


@dataclass(frozen=True)
class Range:
    """A quantity without unit in which the remaining inequalities are proved.

    Attributes
    ----------
    symbol : its name
    means : its formula in the glossary's symbols
    low, high : numbers with ``low <= means <= high``; None is infinity. They must
        follow from the form of ``means`` or from the theorem's conditions.
    """

    symbol: sp.Symbol
    means: Expr
    low: Expr = sp.S.Zero
    high: Expr | None = None


@dataclass(frozen=True, eq=False)
class Script:
    """A proof of a statement.

    Attributes
    ----------
    claim : the statement, ``key:variant``
    prove : returns the last fact
    grants : assumption, as the theorem states it -> the hypotheses that it is
    ranges : the quantities in which the remaining inequalities are proved
    values : symbol of the glossary -> formula in these quantities
    lags : weights of sums over steps, with symbols for their totals
    names : abbreviation of the theorem -> formula in these symbols
    weights : arguments of ``prove``: groups of weights in Young's inequality, which are
        positive and sum to at most 1
    case : the condition under which this is the proof; None: there are no cases
    otherwise : the proof where the condition does not hold
    """

    claim: str
    prove: Callable[..., Fact]
    grants: Mapping[str, tuple[Hypothesis, ...]]
    ranges: tuple[Range, ...] = ()
    values: Mapping[sp.Symbol, Expr] = field(default_factory=dict)
    lags: tuple[Lag, ...] = ()
    names: Mapping[sp.Symbol, Expr] = field(default_factory=dict)
    weights: Mapping[str, Sequence[Expr]] = field(default_factory=dict)
    case: Condition | None = None
    otherwise: Script | None = None

    def cases(self, theorem: Theorem) -> list[tuple[Script, Theorem]]:
        """Return the proofs, each with the theorem under the conditions of its case.

        There is one case, or there are two opposite ones.
        """
        if self.case is None or self.otherwise is None:
            return [(self, theorem)]
        opposite = Condition(f"not ({self.case.name})", self.case.right, self.case.left)
        scripts_with_conditions = ((self, self.case), (self.otherwise, opposite))
        return [
            (script, replace(theorem, conditions=(*theorem.conditions, c)))
            for script, c in scripts_with_conditions
        ]


@dataclass(frozen=True, eq=False)
class Corollary:
    """A statement that follows from another one.

    It follows under its schedule, or because its constants are larger.

    Attributes
    ----------
    claim, of : the statement and its parent, ``key:variant``
    """

    claim: str
    of: str


__all__ = ["Corollary", "Range", "Script"]
