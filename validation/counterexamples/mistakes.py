"""Versions of statements with one mistake that people typically make.

Each rule of :data:`MISTAKES` yields versions of one statement. Versions whose bound is
nowhere smaller than the original one are omitted, because the original implies them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import sympy as sp
from sympy.parsing.sympy_parser import parse_expr

from dfltheory.bounds.units import Expr
from validation.counterexamples.survey import searched

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

PAPER = "wang_joshi2021"
POINTS = 400
"""Random values of the constants at which two bounds are compared."""


@dataclass(frozen=True)
class Version:
    """A statement with one mistake in one place."""

    theorem: Theorem
    mistake: str
    place: str

    @property
    def name(self) -> tuple[str, str, str, str]:
        """Key, variant, mistake and place, which identify the version."""
        return self.theorem.key, self.theorem.variant, self.mistake, self.place


# -- mistakes in the left-hand side


def other_aggregate(
    theorem: Theorem, *, stated: str, wrong: Literal["last", "max", "mean"]
) -> Iterator[Version]:
    """Yield the version in which the aggregate ``stated`` is replaced by ``wrong``."""
    if theorem.lhs.aggregate == stated:
        lhs = replace(theorem.lhs, latex="", aggregate=wrong)
        mistake = f"{wrong} for {stated}"
        yield Version(replace(theorem, lhs=lhs), mistake, "left side")


def shifted_rounds(theorem: Theorem) -> Iterator[Version]:
    """Yield versions in which the rounds, or the start of f0_gap, are off by one."""
    lhs = replace(theorem.lhs, latex="")
    later = replace(lhs, first=lhs.first + 1, last=lhs.last + 1)
    start = replace(lhs, start=lhs.start + 1)
    for place, shifted in (("rounds", later), ("f0_gap", start)):
        yield Version(replace(theorem, lhs=shifted), "index off by one", place)


# -- mistakes in one term of the bound


def scaled_terms(
    theorem: Theorem, *, mistake: str, names: tuple[str, ...], factor: str
) -> Iterator[Version]:
    """Yield a version for each term and each quantity of ``names`` that occurs in it.

    The term is multiplied by ``factor``, a formula in which ``x`` is the quantity.
    """
    for term, part in theorem.parts.items():
        for name in names:
            if name in _symbols(theorem, part):
                yield _with_factor(theorem, mistake, term, factor, name)


def squared_clients(theorem: Theorem) -> Iterator[Version]:
    """Yield versions with sigma^2/m^2 in place of sigma^2/m."""
    for term, part in theorem.parts.items():
        symbols = _symbols(theorem, part)
        if {"sigma_l", "sigma_u", "sigma_v"} & symbols and "m" in symbols:
            yield _with_factor(theorem, "sigma^2/m^2", term, "1/x", "m")


def _symbols(theorem: Theorem, part: Expr) -> set[str]:
    """Return the names of the quantities of a term, including those in definitions."""
    defined = {d.symbol: d.expr for d in theorem.definitions}
    for _ in defined:
        part = part.xreplace(defined)
    return {str(symbol) for symbol in part.free_symbols}


def _with_factor(
    theorem: Theorem, mistake: str, term: str, factor: str, name: str
) -> Version:
    """Return the version in which a term is multiplied by a factor in one quantity."""
    formulas = [*theorem.parts.values(), *(d.expr for d in theorem.definitions)]
    quantity = next(s for f in formulas for s in f.free_symbols if str(s) == name)
    scale = parse_expr(factor, local_dict={"x": quantity})
    parts = {**theorem.parts, term: scale * theorem.parts[term]}
    return Version(replace(theorem, parts=parts), mistake, term)


# -- mistakes in a condition


def weakened_condition(theorem: Theorem) -> Iterator[Version]:
    """Yield versions in which the left side of a condition is halved."""
    for index, condition in enumerate(theorem.conditions):
        if sp.simplify(2 * condition.left / condition.right) in (2, 4):
            continue  # would become trivial, as 2 sigma <= 2 sigma
        conditions = [*theorem.conditions]
        conditions[index] = replace(condition, left=condition.left / 2)
        changed = replace(theorem, conditions=tuple(conditions))
        yield Version(changed, "a condition weakened by 2", condition.name)


GAP = ("lam", "q")
STEPS = ("K", "K_u", "K_v")
MISTAKES: dict[str, Callable[[Theorem], Iterator[Version]]] = {
    "last_for_mean": partial(other_aggregate, stated="mean", wrong="last"),
    "maximum_for_mean": partial(other_aggregate, stated="mean", wrong="max"),
    "mean_for_minimum": partial(other_aggregate, stated="min", wrong="mean"),
    "shifted_rounds": shifted_rounds,
    "one_for_m": partial(scaled_terms, mistake="1 for m", names=("m",), factor="1/x"),
    "lost_steps": partial(scaled_terms, mistake="a lost K", names=STEPS, factor="1/x"),
    "squared_eigenvalue": partial(
        scaled_terms, mistake="lam^2 for lam", names=GAP, factor="x"
    ),
    "eigenvalue_gap": partial(
        scaled_terms, mistake="1 - lam^2 for 1 - lam", names=GAP, factor="1/(1 + x)"
    ),
    "lost_gap": partial(
        scaled_terms, mistake="1 - lam for its square", names=GAP, factor="1 - x"
    ),
    "squared_clients": squared_clients,
    "shifted_horizon": partial(
        scaled_terms, mistake="T + 1 for T", names=("T",), factor="x/(x + 1)"
    ),
    "weakened_condition": weakened_condition,
}


def originals() -> list[Theorem]:
    """Return the corrected statements, and those of ``PAPER``, with constants."""
    statements = [*searched(variant="corrected"), *searched(prefix=PAPER)]
    return [theorem for theorem in statements if not theorem.order]


def versions() -> dict[str, list[Version]]:
    """Return all versions that the original does not imply, by rule."""
    by_rule: dict[str, list[Version]] = {}
    for name, rule in MISTAKES.items():
        by_rule[name] = [
            version
            for theorem in originals()
            for version in rule(theorem)
            if not _implied(theorem, version.theorem)
        ]
    return by_rule


def _implied(original: Theorem, changed: Theorem) -> bool:
    """Return whether only the bound differs, and is not smaller at any random point."""
    same = (original.lhs, original.conditions) == (changed.lhs, changed.conditions)
    if not same:
        return False
    values = _random_values(original)
    with np.errstate(all="ignore"):
        before = np.asarray(original.evaluate(where="ignore", **values))
        after = np.asarray(changed.evaluate(where="ignore", **values))
        return not bool((after < before * (1 - 1e-9)).any())


def _random_values(theorem: Theorem) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    values: dict[str, np.ndarray] = {}
    for name in theorem.needs:
        quantity = theorem.glossary[name]
        if quantity.integer:
            values[name] = rng.integers(1, 20, POINTS)
        elif quantity.high == 1:
            values[name] = rng.random(POINTS)
        else:
            values[name] = 10.0 ** rng.uniform(-2, 2, POINTS)
    return values


__all__ = ["MISTAKES", "Version", "originals", "versions"]
