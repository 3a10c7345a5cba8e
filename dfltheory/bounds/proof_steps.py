"""Declared steps of a proof: their names, their references and their claims.

A claim is one comparison, linear in the moments that a statement names. What a moment
is and which rules there are is the matter of :mod:`dfltheory.proofs.step_notation`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from dfltheory.bounds.formulas import read_comparison
from dfltheory.bounds.real_numbers import k
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

ALGEBRA = ("algebra",)
"""The rule of a step that names none."""
BOUND = "bound"
"""In a claim: the sum of the statement's terms."""
MOST_CLAIM_TERMS = 2000
"""Most terms of a side of a claim, multiplied out over one denominator."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESERVED = ("algebra", "assumption", BOUND, "k", "one")
"""Names with a meaning of their own in claims and rules."""


@dataclass(frozen=True)
class ProofStep:
    """A step of a proof as its author declares it.

    Attributes
    ----------
    claim : a comparison by ``<=``, ``>=`` or ``==``, linear in the moments
    premises : names of earlier steps
    by : ``algebra``, ``assumption``, or rules of the kernel with their arguments
    name : its name; by default ``s1``, ``s2``, ... by position
    """

    claim: str
    premises: tuple[str, ...] = ()
    by: tuple[str, ...] = ALGEBRA
    name: str = ""


@dataclass(frozen=True)
class LinearClaim:
    """``left <= right``, or ``left == right`` if ``equal``.

    Each side maps moments to coefficients; the empty name has the part without moments.
    """

    left: Mapping[str, Expr]
    right: Mapping[str, Expr]
    equal: bool


def proof_step_names(steps: Sequence[ProofStep]) -> tuple[str, ...]:
    """Return the name of each step."""
    return tuple(
        step.name or f"s{number}" for number, step in enumerate(steps, start=1)
    )


def step_problems(
    steps: Sequence[ProofStep],
    moments: Mapping[str, str],
    known_names: Mapping[str, object],
) -> Iterator[tuple[int | None, str, str]]:
    """Yield what is wrong with names and references.

    Each problem is the index of the step (None for a moment), the field or the name of
    the moment, and a message.

    Parameters
    ----------
    steps, moments : as declared
    known_names : names that mean something else: quantities and definitions
    """
    for name in moments:
        if name in known_names:
            yield None, name, f"{name} is a quantity already: choose another name"
        elif not _NAME.fullmatch(name) or name in _RESERVED:
            yield (
                None,
                name,
                f"{name!r:.60} cannot be the name of a moment: use another identifier",
            )
    names = proof_step_names(steps)
    for index, (name, step) in enumerate(zip(names, steps, strict=True)):
        if not _NAME.fullmatch(name) or name in _RESERVED or name in moments:
            yield (
                index,
                "name",
                f"{name!r:.60} cannot be the name of a step: use another identifier",
            )
        if name in names[:index]:
            yield index, "name", f"two steps are called {name!r:.60}: rename one"
        for premise in step.premises:
            if premise not in names[:index]:
                yield index, "from", _reference_problem(premise, names)
        if not step.by:
            yield index, "by", "a step needs a rule: algebra, or one of the kernel"


def _reference_problem(premise: str, names: Sequence[str]) -> str:
    if premise in names:
        return (
            f"{premise!r:.60} is not an earlier step: a step follows from earlier ones"
        )
    return f"there is no step {premise!r:.60}: name an earlier step"


def read_claim(
    text: str, symbols: Mapping[str, Expr], moments: Mapping[str, str], bound: Expr
) -> LinearClaim:
    """Return a claim in the quantities of a statement and its moments.

    Raises
    ------
    FormulaError
        The text is not a comparison of formulas.
    InputError
        The comparison is strict, not linear in the moments, or too large.
    """
    moment_symbols = {name: sp.Symbol(name, real=True) for name in moments}
    known = {**symbols, **moment_symbols, "k": k, BOUND: sp.Symbol(BOUND, real=True)}
    left, relation, right = read_comparison(text, known)
    if relation in ("<", ">"):
        raise InputError(f"a claim of a step is {relation}=, not {relation}")
    if relation == ">=":
        left, right = right, left
    total = {known[BOUND]: bound}
    sides = [
        _read_coefficients(side.xreplace(total), moment_symbols)
        for side in (left, right)
    ]
    return LinearClaim(sides[0], sides[1], relation == "==")


def _read_coefficients(side: Expr, moments: Mapping[str, sp.Symbol]) -> dict[str, Expr]:
    """Return the coefficients of moments, and the part without moments as ""."""
    if expanded_size(side) > MOST_CLAIM_TERMS:
        raise InputError(
            f"a claim has at most {MOST_CLAIM_TERMS} terms over one denominator"
        )
    inside = side.free_symbols
    coefficients = {
        name: sp.diff(side, symbol)
        for name, symbol in moments.items()
        if symbol in inside
    }
    for name, coefficient in coefficients.items():
        if coefficient.free_symbols & set(moments.values()) or coefficient.has(
            sp.Derivative
        ):
            raise InputError(f"a claim is linear in the moments, and not in {name}")
    constant = side.xreplace(dict.fromkeys(moments.values(), sp.S.Zero))
    return {name: c for name, c in {**coefficients, "": constant}.items() if c != 0}


def expanded_size(expr: Expr) -> int:
    """Return an upper bound of the number of terms over one denominator."""
    over, under = _sizes(expr)
    return _cap_size(over * _size_of(under))


def _sizes(expr: Expr) -> tuple[int, dict[Expr, int]]:
    """Return the size of a numerator, and the powers of factors of its denominator."""
    if expr.is_Add:
        parts = [_sizes(term) for term in expr.args]
        under: dict[Expr, int] = {}
        for _, denominators in parts:
            under |= {
                base: max(n, under.get(base, 0)) for base, n in denominators.items()
            }
        return _cap_size(sum(over for over, _ in parts) * _size_of(under)), under
    if expr.is_Mul:
        over, under = 1, {}
        for numerator_size, denominators in map(_sizes, expr.args):
            over = _cap_size(over * numerator_size)
            for base, n in denominators.items():
                under[base] = under.get(base, 0) + n
        return over, under
    if isinstance(expr, sp.Pow) and expr.exp.is_Integer:
        power = abs(int(expr.exp))
        over, under = _sizes(expr.base)
        if expr.exp.is_negative:
            return _size_of({base: n * power for base, n in under.items()}), {
                expr.base: power
            }
        raised = {base: n * power for base, n in under.items()}
        return _size_of_power(over, power), raised
    return max(map(expanded_size, expr.args), default=1), {}


def _size_of(under: Mapping[Expr, int]) -> int:
    """Return the number of terms of a product of powers."""
    size = 1
    for base, power in under.items():
        terms = len(base.args) if base.is_Add else 1
        size = _cap_size(size * _size_of_power(terms, power))
    return size


def _size_of_power(terms: int, power: int) -> int:
    """Return the number of monomials of a power of a sum."""
    return _cap_size(math.comb(terms + power - 1, power)) if terms > 1 else 1


def _cap_size(size: int) -> int:
    return min(size, MOST_CLAIM_TERMS + 1)


__all__ = [
    "ALGEBRA",
    "LinearClaim",
    "ProofStep",
    "expanded_size",
    "proof_step_names",
    "read_claim",
    "step_problems",
]
