"""Proofs in the logarithms of the quantities, in which products of powers are linear.

A condition "sum of terms <= one term" implies ``c * product(x^a) <= 1`` for each term
on its left, which is linear in log x. So are the ranges (K >= 1, lam <= 1). A linear
program then proves that conditions contradict each other, or how small a term can be
where they hold. Its multipliers are the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import sympy as sp
from scipy.optimize import linprog

from dfltheory.bounds.inequalities.by_form import Glossary
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import Expr

LogarithmRow = tuple[str, dict[str, Expr], float]
"""(name of the condition, exponents a, log c) of ``c * product(x^a) <= 1``."""
_TOLERANCE = 1e-9


def rows_of(condition: Condition) -> Iterator[LogarithmRow]:
    """Yield what a condition implies for each term on its left.

    It must have one term on its right. Terms that are no products of powers yield no
    row.
    """
    terms = sp.Add.make_args(sp.expand(condition.slack))
    right = [t for t in terms if not t.could_extract_minus_sign()]
    if len(right) != 1:
        return
    for term in terms:
        if term.could_extract_minus_sign():
            powers = monomial(-term / right[0])
            if powers is not None:
                yield condition.name, *powers


def monomial(term: Expr) -> tuple[dict[str, Expr], float] | None:
    """Return ``term`` as exponents of glossary names and the logarithm of its constant.

    The result is None if it is no monomial.
    """
    powers = term.as_powers_dict()
    if not all(p.is_number and _has_logarithm(b) for b, p in powers.items()):
        return None
    constant = sp.Mul(*(b**p for b, p in powers.items() if b.is_number))
    if not constant.is_positive:
        return None
    exponents = {b.name: p for b, p in powers.items() if isinstance(b, sp.Symbol)}
    return exponents, float(sp.log(constant))


def _has_logarithm(base: Expr) -> bool:
    """Return whether it is a number, or a symbol that is not negative."""
    return bool(base.is_number or (base.is_Symbol and base.is_nonnegative))


def _ranges(names: Sequence[str], glossary: Glossary) -> list[LogarithmRow]:
    """Return the ranges that a linear program may use: counts >= 1, shares <= 1."""
    counts: list[LogarithmRow] = [
        (f"{n} >= 1", {n: sp.S.NegativeOne}, 0.0)
        for n in names
        if glossary[n].integer and glossary[n].low >= 1
    ]
    shares: list[LogarithmRow] = [
        (f"{n} <= 1", {n: sp.S.One}, 0.0) for n in names if glossary[n].is_share
    ]
    return counts + shares


def log_sum_lower_bound(
    goal: Mapping[str, Expr],
    rows: Sequence[LogarithmRow],
    glossary: Glossary = GLOSSARY,
) -> tuple[float, dict[str, float]] | None:
    """Return a proved lower bound of ``sum(goal * log x)`` wherever the rows hold.

    By duality the sum is at least ``sum y_i log c_i`` for every y >= 0 with ``goal +
    sum y_i a_i = 0``.

    Returns
    -------
    tuple or None
        The largest such bound, inf if the rows contradict each other, and the positive
        y_i by name of the row; None if no such y exists.
    """
    names = sorted({*goal, *(n for _, powers, _ in rows for n in powers)})
    table = [*rows, *_ranges(names, glossary)]
    if not names or not table:
        return (0.0, {}) if not names else None
    matrix = np.array(
        [[float(powers.get(n, 0)) for _, powers, _ in table] for n in names]
    )
    gain = np.array([constant for _, _, constant in table])
    target = np.array([-float(goal.get(n, 0)) for n in names])
    answer = linprog(-gain, A_eq=matrix, b_eq=target, bounds=(0, None), method="highs")
    if answer.status == 3:
        return np.inf, {}
    if answer.status != 0 or answer.x is None or answer.fun is None:
        return None
    used = {table[i][0]: float(w) for i, w in enumerate(answer.x) if w > _TOLERANCE}
    return float(-answer.fun), used


def contradiction(
    conditions: Sequence[Condition], glossary: Glossary = GLOSSARY
) -> str | None:
    """Return a proof that conditions contradict each other, in words, or None.

    The proof is a product of powers of conditions that says c <= 1 for a number c > 1.
    """
    rows = [row for c in conditions for row in rows_of(c)]
    names = sorted({n for _, powers, _ in rows for n in powers})
    table = [*rows, *_ranges(names, glossary)]
    if not rows:
        return None
    matrix = np.array(
        [[float(powers.get(n, 0)) for _, powers, _ in table] for n in names]
    )
    gain = np.array([constant for _, _, constant in table])
    answer = linprog(
        -gain, A_eq=matrix, b_eq=np.zeros(len(names)), bounds=(0, 1), method="highs"
    )
    if (
        answer.status != 0
        or answer.x is None
        or answer.fun is None
        or -answer.fun < _TOLERANCE
    ):
        return None
    used = []
    for i, weight in enumerate(answer.x):
        if weight > _TOLERANCE:
            power = "" if weight == 1 else f"^{weight:.4g}"
            used.append(f"({table[i][0]}){power}")
    return f"the product of {' and '.join(used)} says {np.exp(-answer.fun):.6g} <= 1"


__all__ = [
    "LogarithmRow",
    "contradiction",
    "log_sum_lower_bound",
    "monomial",
    "rows_of",
]
