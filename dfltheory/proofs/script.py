"""Proof scripts: what a proof for the kernel is made of."""

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
    """A quantity without unit, ``low <= means <= high``; no end: infinity.

    The ends follow from the form of ``means`` or from one of the theorem's conditions.
    """

    symbol: sp.Symbol
    means: Expr
    low: Expr = sp.S.Zero
    high: Expr | None = None


@dataclass(frozen=True, eq=False)
class Script:
    """A proof of ``claim`` (key:variant).

    ``prove`` gives the last fact; ``grants``: which hypotheses each assumption of the
    theorem, in its words, is; ``ranges`` and ``values``: the quantities in which the
    remaining algebra is done, and the glossary's symbols in terms of them; ``lags``:
    the sums over steps that have symbols of their own; ``names``: the theorem's
    abbreviations in terms of these; ``weights``: the groups of weights in Young's
    inequality that ``prove`` takes by name and that may be chosen, each positive and of
    sum at most 1; ``case``: a condition under which this is the proof, and
    ``otherwise`` the proof where it does not hold.
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
    """A proof of ``claim`` by ``of`` (both key:variant).

    It follows under the claim's schedule, or with larger constants.
    """

    claim: str
    of: str


__all__ = ["Corollary", "Range", "Script"]
