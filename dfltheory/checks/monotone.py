"""Monotonicity and sign of bounds.

A bound must not be negative, and worse constants must not improve it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import sympy as sp

from dfltheory.bounds.inequalities.by_form import monotone, nonnegative
from dfltheory.bounds.inequalities.region import Allowance, LimitError, Region
from dfltheory.bounds.measures import NOT_NEGATIVE, measure_quantities
from dfltheory.bounds.regions import (
    Points,
    at,
    domain_of,
    has_points,
    points_of,
    precise_value,
    smallest_of,
    values_at,
)
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import (
    AuditFinding,
    audit_check,
    error,
    note,
    point_text,
    warning,
)
from dfltheory.errors import InputError

WORSE_UP = (
    "L",
    "sigma_l",
    "sigma_g",
    "beta",
    "B",
    "S2",
    "f0_gap",
    "x0_sq",
    "x0_spread",
    "rho",
    "rho0",
    "lam",
    "C",
    "q",
    "L_u",
    "L_v",
    "L_vu",
    "chi",
    "sigma_u",
    "sigma_v",
    "delta_u",
    "x_star_sq",
    "sigma_star",
    "Gamma",
)
"""Quantities that make the problem harder as they grow."""
WORSE_DOWN = ("T", "delta", "Q")
"""Quantities that make the problem harder as they shrink."""
_NO_ASSUMPTIONS = ("rho", "rho0", "Q", "f0_gap", "x0_sq", "x0_spread", "x_star_sq")
"""Hyperparameters, and values of the start. A run has one value of each, so that a
bound at another value is about another run.
"""
_T = GLOSSARY["T"].symbol
_CLEAR = 1e-3
"""Share of the sum of absolute terms from which on a negative sum is not a rounding
error.
"""
_LEAST_GAIN = 1e-9
"""Relative change of a bound that counts."""
_LONG = 100
"""Operations of the longest formula that is tried."""
_MOST_INEQUALITIES = 200
"""Inequalities that are examined for the proofs about one constant."""


def has_monotonicity(theorem: Theorem) -> bool:
    """Return whether a statement is a theorem with admissible points."""
    return theorem.kind == "theorem" and has_points(theorem)


@audit_check("monotone")
def check_monotone(theorem: Theorem) -> Iterator[AuditFinding]:
    """Check the sign of a bound and its monotonicity in each constant.

    The check covers the admissible region. Monotonicity is proved, or else sampled, and
    the finding says so.
    """
    if theorem.kind != "theorem":
        return
    try:
        points = points_of(theorem, 1500)
    except InputError:
        return
    size = len(next(iter(points.values())))
    value = np.broadcast_to(theorem.evaluate(where="ignore", **points), size)
    for i in smallest_of(value < 0, value):
        if precise_value(theorem.bound, at(points, i)) < 0:
            yield error(
                "bound",
                f"it is negative, {value[i]:.4g}, at {point_text(at(points, i))}",
                point=at(points, i),
            )
            break
    proofs: list[str] = []
    samples: list[str] = []
    undecided: list[str] = []
    terms_without_proof: dict[str, None] = {}
    moves = _moved_with(theorem)
    signs = _Signs(theorem)
    for name in theorem.needs:
        if name not in (*WORSE_UP, *WORSE_DOWN) or name in moves:
            continue
        up = _should_rise(theorem, name)
        finding = _sampled_violation(theorem, name, up, points, value)
        if finding is not None:
            yield finding
            continue
        signs.region.allowance = Allowance(_MOST_INEQUALITIES)
        try:
            unproved = [
                part
                for part, term in theorem.terms.items()
                if not signs.is_monotone(term, name, up)
            ]
        except LimitError:
            undecided.append(name)
            continue
        if unproved:
            samples.append(name)
            terms_without_proof |= dict.fromkeys(unproved)
        else:
            proofs.append(name)
    yield note("bound", _summary(proofs, samples, terms_without_proof, undecided))


def _summary(
    proofs: list[str], samples: list[str], left: Iterable[str], undecided: list[str]
) -> str:
    """Return in which constants a bound is monotone, and how this is known.

    ``left`` are the terms for which no proof was found.
    """
    known = [
        f"{', '.join(names)} ({how})"
        for names, how in ((proofs, "proved"), (samples, "sampled"))
        if names
    ]
    text = f"monotone as it should be in: {'; '.join(known) or 'no constant'}"
    if left:
        text += f"; no proof was found for the terms: {', '.join(left)}"
    if undecided:
        names = ", ".join(undecided)
        text += (
            f"; not decided with {_MOST_INEQUALITIES} inequalities: {names} (sampled)"
        )
    return text


def _moved_with(theorem: Theorem) -> set[str]:
    """Return constants in which a bound need not be monotone.

    They are those in the left-hand side, and those in the schedule that the statement
    imposes, since what is bounded changes with them.
    """
    put_in = [theorem.schedule[name] for name in theorem.scheduled]
    return {
        *theorem.lhs.carries,
        *measure_quantities(theorem.lhs.measure),
        *(s.name for e in put_in for s in sp.sympify(e).free_symbols),
    }


def _should_rise(theorem: Theorem, name: str) -> bool:
    """Return whether a bound should rise, not fall, with a quantity.

    A sum, or the largest, over more rounds is larger, as measures are not negative.
    """
    if name == "T" and theorem.lhs.aggregate in ("sum", "max", "each"):
        return True
    return name in WORSE_UP


def _is_monotone_in_horizon(theorem: Theorem) -> bool:
    """Return whether what is bounded is known to be monotone in the horizon.

    It is for a sum, the largest and the smallest of the rounds; a mean, or the last
    round, may be larger or smaller at a longer horizon.
    """
    left = theorem.lhs
    adds_rounds = not left.first.has(_T) and bool(sp.diff(left.last, _T) > 0)
    if left.aggregate == "sum" and left.measure not in NOT_NEGATIVE:
        return False
    return adds_rounds and left.aggregate in ("sum", "max", "each", "min")


class _Signs:
    """Signs and directions that are proved under the conditions of a theorem.

    If the allowance of ``region`` is used up, its methods raise ``LimitError``.
    """

    def __init__(self, theorem: Theorem):
        self.theorem = theorem
        self.region = Region(domain_of(theorem), glossary=theorem.glossary)
        self.known: dict[Expr, bool] = {}

    def is_monotone(self, term: Expr, name: str, up: bool) -> bool:
        """Return whether a term is proved monotone in a constant.

        It must not fall (or not rise) where the conditions hold. A maximum is monotone
        if each of its arguments is, as the term is continuous; a sum if each term is; a
        product of nonnegative factors if each factor is; a power if its base is.
        Otherwise the sign of the derivative decides.
        """
        glossary = self.theorem.glossary
        symbol = glossary[name].symbol
        largest = next(iter(term.atoms(sp.Max)), None)
        if largest is not None:
            return all(
                self.is_monotone(term.xreplace({largest: side}), name, up)
                for side in largest.args
            )
        if symbol not in term.free_symbols or monotone(term, name, up, glossary):
            return True
        parts = self._parts(term, up)
        by_parts = bool(parts) and all(
            self.is_monotone(part, name, way) for part, way in parts
        )
        return by_parts or self._grows(term, symbol, up)

    def _parts(self, term: Expr, up: bool) -> list[tuple[Expr, bool]]:
        """Return parts of a term, and whether each must rise for the term to go ``up``.

        There are none where this is not known.
        """
        base, power = term.as_base_exp()
        if term.is_Add:
            return [(part, up) for part in term.args]
        if power != 1 and power.is_number:
            return [(base, up == bool(power > 0))] if self.is_nonnegative(base) else []
        if term.is_Mul and all(map(self.is_nonnegative, term.args)):
            return [(factor, up) for factor in term.args]
        return []

    def _grows(self, term: Expr, symbol: sp.Symbol, up: bool) -> bool:
        """Return whether the derivative is proved to have the right sign.

        For a whole number n it is the difference of the values at n + 1 and n. Roots in
        denominators are multiplied out: where they are 0, there is no derivative, but
        the term is continuous.
        """
        growth: Expr = sp.diff(term, symbol)
        if self.theorem.glossary[symbol.name].integer:
            growth = term.subs(symbol, symbol + 1) - term
        roots = {
            sp.sqrt(p.base)
            for p in growth.atoms(sp.Pow)
            if p.exp == -sp.S.Half and symbol in p.free_symbols
        }
        growth = sp.expand_mul(growth * sp.Mul(*roots)) if roots else growth
        return self.is_nonnegative(growth if up else -growth)

    def is_nonnegative(self, expr: Expr) -> bool:
        """Return whether an expression is proved nonnegative.

        Results are kept, since factors occur again for each constant.
        """
        if expr not in self.known:
            self.known[expr] = nonnegative(expr, self.theorem.glossary) or (
                not _is_refuted(self.theorem, expr)
                and sp.count_ops(expr) <= _LONG
                and self.region.holds(expr)
            )
        return self.known[expr]


def _is_refuted(theorem: Theorem, expr: Expr) -> bool:
    """Return whether an expression is clearly negative at an admissible point.

    Then no proof is tried. What is small next to its terms may be a rounding error.
    """
    points = _refuting_points(theorem)
    known = {symbol.name for symbol in expr.free_symbols} <= set(points)
    without_value = expr.has(sp.Derivative)  # such as that of ceiling
    if not known or without_value or sp.count_ops(expr) > _LONG:
        return False
    terms = sp.Add.make_args(expr)
    values = np.array(values_at(terms, points))  # (terms, points)
    with np.errstate(all="ignore"):
        relative = values.sum(axis=0) / np.abs(values).sum(axis=0)
    return bool((relative < -_CLEAR).any())


@lru_cache(8)
def _refuting_points(theorem: Theorem) -> Points:
    """Return admissible points at which expressions are tried before a proof."""
    return points_of(theorem, 400)


def _sampled_violation(
    theorem: Theorem, name: str, up: bool, points: Points, value: np.ndarray
) -> AuditFinding | None:
    """Return a finding if a worse constant gives a better bound at a point, else None.

    ``value`` is the bound at ``points``, and ``up`` whether it should rise.
    """
    entry = theorem.glossary[name]
    if entry.integer:
        moved = points[name] + 1
    elif entry.high == 1:
        moved = points[name] + 0.01 * (1 - points[name])
    else:
        moved = points[name] * 1.01 + 1e-9
    changed = {**points, name: moved}
    after = np.broadcast_to(theorem.evaluate(where="nan", **changed), value.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        gain = (value - after) if up else (after - value)
        shares = gain / np.maximum(np.abs(value), 1e-300)
    relative = np.where(np.isfinite(gain), shares, -np.inf)
    for i in smallest_of(relative > _LEAST_GAIN, -relative):
        before = at(points, i)
        precise = precise_value(theorem.bound, before)
        change = (
            precise_value(theorem.bound, {**before, name: float(moved[i])}) - precise
        )
        if (-change if up else change) > _LEAST_GAIN * abs(precise):
            break
    else:
        return None
    change = (
        f"from {points[name][i]:.4g} to {moved[i]:.4g} it moves from {value[i]:.6g} to"
        f" {after[i]:.6g} (others: {point_text(at(points, i))})"
    )
    if name == "T" and not _is_monotone_in_horizon(theorem):
        return note(name, f"the bound grows with T: {change}", point=at(points, i))
    return warning(
        name,
        f"a worse {name} gives a better bound: {change}",
        _improvement(name),
        point=at(points, i),
    )


def _improvement(name: str) -> str | None:
    """Return why the smaller of two bounds holds for both constants, if it does."""
    if name == "T":
        return (
            "the left-hand side at one horizon is at most that at the other, so the"
            " better value holds at both"
        )
    if name in _NO_ASSUMPTIONS:
        return None
    return (
        "the assumption only gets weaker that way, so the better value holds there too"
    )
