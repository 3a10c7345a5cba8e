"""Moments of vectors, and what rules say.

The names of vectors, weights and rounds are exported here, too, for the scripts of
proofs.
``kernel.py`` documents the meaning; nothing here claims that anything holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy as sp

from dfltheory.bounds.real_numbers import RuleError, count, has_poles, k, lag, need
from dfltheory.bounds.units import Expr
from dfltheory.proofs.hypotheses import Hypothesis
from dfltheory.proofs.one_round import AlgorithmRound
from dfltheory.proofs.vectors import (
    BLOCKS,
    DUAL,
    E_U,
    EHAT,
    G_U,
    G_V,
    MEAN,
    N_U,
    N_V,
    NOISE,
    NOISES,
    SAMPLED,
    SAMPLES,
    STATES,
    X_U,
    X_V,
    XBAR,
    Atom,
    Block,
    E,
    G,
    N,
    Vec,
    X,
    atom_text,
)
from dfltheory.proofs.weights import PLAIN, Lag, is_zero

_ZERO = Vec()


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a vector, or a constant. ``kernel.py`` documents the meaning.

    Attributes
    ----------
    kind : ``sq``, ``root``, ``inner``, ``value``, or ``one`` for the number 1
    vec, other : the vector; the second one of an inner product
    steps : ``mean`` or ``max`` over the local steps; empty: at step k
    rounds : ``mean``, ``next``, ``start`` or ``end``; empty: in this round
    weighted : whether the clients have the weights w_i/m instead of 1/m
    label : of a constant; constants with different labels are not added
    """

    kind: str
    vec: Vec = _ZERO
    other: Vec = _ZERO
    steps: str = ""
    rounds: str = ""
    weighted: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        texts = (self.kind, self.steps, self.rounds, self.label)
        need(
            all(type(text) is str for text in texts),
            "the kind, steps, rounds and label of a moment must be of type str",
        )
        need(
            self.kind in ("sq", "root", "inner", "value", "one"),
            "{} is not a kind of moment",
            self.kind,
        )
        need(
            self.steps in ("", "mean", "max"),
            "steps = {} must be empty, mean or max",
            self.steps,
        )
        need(
            self.rounds in ("", "mean", "next", "start", "end"),
            "rounds = {} must be empty, mean, next, start or end",
            self.rounds,
        )
        need(type(self.weighted) is bool, "weighted must be True or False")
        need(
            type(self.vec) is Vec and type(self.other) is Vec,
            "the vectors of a moment must be of type Vec",
        )
        need(
            self.kind == "inner" or not self.other.terms,
            "only a product has two vectors",
        )
        need(self.kind == "one" or not self.label, "only a constant has a label")
        need(self.kind != "one" or not self.vec.terms, "a constant has no vector")

    @property
    def free(self) -> bool:
        """Whether it depends on the step k."""
        return not self.steps and (self.vec.free or self.other.free)

    @property
    def phases(self) -> set[str]:
        """The phases on whose step k it depends.

        If only its coefficients contain k, that is the phase of an algorithm with
        one block: in one with two blocks, k would have two meanings.
        """
        if not self.free:
            return set()
        named = (self.vec.phase, self.other.phase)
        phases = {phase for phase in named if phase is not None}
        return phases or {""}

    def at(self, **where: str) -> Moment:
        """Return the same ``steps=`` or ``rounds=`` elsewhere."""
        return replace(self, **where)  # type: ignore[arg-type]

    def __str__(self) -> str:
        if self.kind == "one":
            return f"1[{self.label}]"
        inside = f"{self.vec}, {self.other}" if self.kind == "inner" else str(self.vec)
        steps = f"{self.steps} k" if self.steps else ""
        rounds = "mean t" if self.rounds == "mean" else self.rounds
        marks = ", ".join(mark for mark in (steps, rounds) if mark)
        name = f"{self.kind}_w" if self.weighted else self.kind
        if marks:
            name = f"{name}[{marks}]"
        return f"{name}({inside})"


def sq(v: Vec) -> Moment:
    """Return the mean square of a vector."""
    return Moment("sq", v)


def root(v: Vec, weighted: bool = False) -> Moment:
    """Return the root of the mean square of a vector."""
    return Moment("root", v, weighted=weighted)


def inner(u: Vec, v: Vec) -> Moment:
    """Return the product of two vectors."""
    return Moment("inner", u, v)


def value(u: Vec) -> Moment:
    """Return the mean of the clients' objectives at a vector."""
    return Moment("value", u)


def one(label: str) -> Moment:
    """Return the number 1 under a label."""
    return Moment("one", label=label)


Form = Mapping[Moment, Expr]
"""A linear combination of moments."""


def form(*parts: tuple[Form, Expr | int]) -> dict[Moment, Expr]:
    """``sum_j factor_j form_j`` without moments of coefficient 0."""
    total: dict[Moment, Expr] = {}
    for one_form, factor in parts:
        for moment, c in one_form.items():
            total[moment] = total.get(moment, sp.S.Zero) + sp.sympify(c) * factor
    need(
        not any(map(has_poles, total.values())),
        "a coefficient is infinite, imaginary or not a number",
    )
    return {moment: c for moment, c in total.items() if not is_zero(c)}


def combination(*terms: tuple[Expr | int, Moment]) -> dict[Moment, Expr]:
    """``sum_j c_j M_j`` without moments of coefficient 0."""
    return form(*(({moment: sp.sympify(c)}, 1) for c, moment in terms))


def form_text(side: Form) -> str:
    """Return the text of one side of an inequality."""
    return " + ".join(f"({c}) {m}" for m, c in side.items()) or "0"


@dataclass(frozen=True)
class Demand:
    """``expr >= 0`` (``> 0`` if strict), for ``why``."""

    expr: Expr
    why: str
    strict: bool = False

    @property
    def plain(self) -> bool:
        """Whether SymPy's own answer on signs settles it."""
        return bool(self.expr.is_positive if self.strict else self.expr.is_nonnegative)


@dataclass(frozen=True)
class Conclusion:
    """What a rule returns to the kernel; only ``@rule`` makes a Fact of it."""

    left: Form
    right: Form
    demands: tuple[Demand, ...] = ()
    equal: bool = False


def upper_bound(
    moment: Moment, right: Form, demands: tuple[Demand, ...] = ()
) -> Conclusion:
    """Return the claim that one moment is at most a linear combination."""
    return Conclusion({moment: sp.S.One}, right, demands)


def equality(moment: Moment, right: Form) -> Conclusion:
    """Return the claim that one moment equals a linear combination."""
    return Conclusion({moment: sp.S.One}, right, equal=True)


@dataclass(frozen=True)
class Rule:
    """The documentation of a rule.

    Attributes
    ----------
    name : of its function
    says : the statement, from the docstring
    cites : the textbook that states it
    uses : the hypotheses it needs
    """

    name: str
    says: str
    cites: str
    uses: tuple[Hypothesis, ...]


__all__ = [
    "BLOCKS",
    "DUAL",
    "E",
    "EHAT",
    "E_U",
    "G",
    "G_U",
    "G_V",
    "MEAN",
    "N",
    "NOISE",
    "NOISES",
    "N_U",
    "N_V",
    "PLAIN",
    "SAMPLED",
    "SAMPLES",
    "STATES",
    "X",
    "XBAR",
    "X_U",
    "X_V",
    "Atom",
    "Block",
    "Lag",
    "Vec",
    "atom_text",
    "is_zero",
    "RuleError",
    "count",
    "k",
    "lag",
    "need",
    "AlgorithmRound",
    "Conclusion",
    "Demand",
    "Form",
    "Moment",
    "Rule",
    "combination",
    "equality",
    "form",
    "form_text",
    "inner",
    "one",
    "root",
    "sq",
    "upper_bound",
    "value",
]
