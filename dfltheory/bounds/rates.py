"""Orders of magnitude: what a bound becomes under a schedule as T grows.

A bound under its schedule is expanded into monomials ``c T^a K^b (1 - lam)^d ...``. A
monomial is *covered* by others if it is at most a constant times their sum wherever T,
K, m >= 1, all gaps are at most 1 and the conditions hold: by convexity a linear program
in the exponents.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import sympy as sp

from dfltheory.bounds.monomials import (
    FRACTION_QUANTITIES,
    LARGE,
    Monomial,
    Shares,
    gapped,
    monomials,
    own_order,
    without_cancellation,
)
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr

_x = sp.Symbol("x_rate", positive=True)
_T = GLOSSARY["T"].symbol
RELATIONS: tuple[dict[str, Fraction], ...] = (
    {"beta": Fraction(1), "sigma_g": Fraction(-1)},
    {
        "chi": Fraction(1),
        "L_u": Fraction(1, 2),
        "L_v": Fraction(1, 2),
        "L_vu": Fraction(-1),
    },
    {"m**Q": Fraction(1), "m": Fraction(-1)},
    {"lam": Fraction(1), "lam**Q": Fraction(-1)},
    {"1 - lam**Q": Fraction(1), "1 - lam": Fraction(-1)},
)
"""What the glossary's meanings and ranges imply, as exponents of products of powers
that are at least a positive constant (sigma_g <= beta, L_vu <= chi sqrt(L_u L_v), m <=
m^Q, lam^Q <= lam, 1 - lam <= 1 - lam^Q).
"""


@cache
def expand_in_t(expr: Expr, order: int, shares: Shares = FRACTION_QUANTITIES) -> Expr:
    """Return ``expr`` for large T as a series in 1/sqrt(T), up to T^(-order/2).

    Terms that are not rational functions of sqrt(T) are left as they are. Sums in
    numerators are multiplied out first: over a common denominator they would leave
    products of denominators that no term of ``expr`` has.
    """
    total: Expr = sp.S.Zero
    expanded: Expr = sp.expand_mul(gapped(expr, shares))
    for term in sp.Add.make_args(expanded):
        over, under = sp.fraction(
            sp.together(
                sp.powsimp(sp.expand_power_base(term.subs(_T, _x**-2), force=True))
            )
        )
        over, under = sp.expand(over), sp.expand(under)
        if not (over.is_polynomial(_x) and under.is_polynomial(_x)):
            total += term
            continue
        total += _series(sp.Poly(over, _x), sp.Poly(under, _x), order)
    return sp.expand(total)


def _series(over: sp.Poly, under: sp.Poly, order: int) -> Expr:
    """Return the quotient of two polynomials in 1/sqrt(T) as a series."""
    numerator, denominator = over.all_coeffs()[::-1], under.all_coeffs()[::-1]
    shift = next(i for i, c in enumerate(denominator) if c != 0)
    denominator = denominator[shift:]
    quotient: list[Expr] = []
    for n in range(order + shift + 1):
        value = numerator[n] if n < len(numerator) else sp.S.Zero
        value -= sum(
            (
                denominator[j] * quotient[n - j]
                for j in range(1, min(n, len(denominator) - 1) + 1)
            ),
            sp.S.Zero,
        )
        quotient.append(
            sp.together(value / denominator[0]) if value != 0 else sp.S.Zero
        )
    return sp.Add(
        *(c * _T ** sp.Rational(shift - n, 2) for n, c in enumerate(quotient))
    )


def with_schedule(
    theorem: Statement, expr: Expr, schedule: Mapping[str, Expr] | None = None
) -> Expr:
    """Return ``expr`` with the values of a schedule, by default the theorem's."""
    chosen = theorem.schedule if schedule is None else schedule
    values = {
        theorem.glossary[name].symbol: e
        for name, e in chosen.items()
        if name in theorem.glossary
    }
    return expr.subs(values, simultaneous=True)


def keeps(
    theorem: Statement, schedule: Mapping[str, Expr] | None = None
) -> dict[sp.Symbol, Expr]:
    """Return the definitions that do not change with T under the schedule.

    Each is mapped to its order, such as a power of K, if it has one, else to itself, so
    that it counts as one factor. Examples are Phi and alpha-tilde.
    """
    constant_definitions: dict[sp.Symbol, Expr] = {}
    for d in theorem.definitions:
        value = with_schedule(theorem, theorem.expand(d.symbol), schedule)
        if _T in value.free_symbols:
            continue
        exponents = own_order(value)
        if exponents is None:
            constant_definitions[d.symbol] = d.symbol
        else:
            powers = [
                GLOSSARY[n].symbol ** sp.Rational(e) for n, e in exponents.items()
            ]
            constant_definitions[d.symbol] = sp.Mul(*powers)
    return constant_definitions


def leading(
    theorem: Statement,
    order: int = 4,
    schedule: Mapping[str, Expr] | None = None,
    atoms: Iterable[Expr] | None = None,
) -> tuple[Monomial, ...]:
    """Return the leading monomials of a bound under its schedule.

    Their sum is an upper bound up to a constant factor: monomials that are subtracted,
    and those that others cover, are left out.

    Parameters
    ----------
    theorem : the statement
    order : monomials go down to T^(-order/2)
    schedule : formulas by hyperparameter, by default those of the theorem
    atoms : symbols of definitions that count as one factor each; by default all
        definitions that do not change with T
    """
    rows = [row for row in expanded(theorem, order, schedule, atoms) if row.added]
    region = scheduled_region(theorem, schedule)
    remaining_rows = list(rows)
    # of two that cover each other one is kept, the one with fewer factors
    for row in sorted(rows, key=_factor_count, reverse=True):
        others = [other for other in remaining_rows if other is not row]
        if covered(row, others, region, theorem.shares):
            remaining_rows = others
    return tuple(remaining_rows)


def _factor_count(row: Monomial) -> int:
    return len(row.exponents)


def expanded(
    theorem: Statement,
    order: int = 4,
    schedule: Mapping[str, Expr] | None = None,
    atoms: Iterable[Expr] | None = None,
) -> list[Monomial]:
    """Return all monomials of a bound under its schedule down to T^(-order/2).

    For the parameters see :func:`leading`.
    """
    constant_definitions = keeps(theorem, schedule)
    if atoms is not None:
        allowed = set(atoms)
        constant_definitions = {
            symbol: value
            for symbol, value in constant_definitions.items()
            if value != symbol or symbol in allowed
        }
    known = theorem.expanded_definitions(constant_definitions)
    monomials: dict[tuple[bool, tuple[tuple[str, Fraction], ...]], Monomial] = {}
    for part in theorem.parts.values():
        chosen = with_schedule(theorem, part.xreplace(known), schedule)
        for mono in _in_lowest_terms(chosen, order, theorem.shares):
            monomials.setdefault((mono.added, mono.exponents), mono)
    return list(monomials.values())


def _in_lowest_terms(expr: Expr, order: int, shares: Shares) -> tuple[Monomial, ...]:
    """Return the monomials of ``expr`` for large T.

    If some are subtracted, the form of ``expr`` without cancellation is used instead,
    provided that none is subtracted there.
    """
    rows = monomials(expand_in_t(expr, order, shares), shares)
    if all(row.added for row in rows):
        return rows
    simple = without_cancellation(expr)
    others = monomials(expand_in_t(simple, order, shares), shares)
    return others if all(row.added for row in others) else rows


def scheduled_region(
    theorem: Statement, schedule: Mapping[str, Expr] | None = None
) -> list[dict[str, Fraction]]:
    """Return what a statement demands, as exponents of what is bounded below.

    Of a condition ``left <= right`` between monomials it is right/left; others are left
    out. The ranges of quantities are added (:func:`range_rows`), and with the cited
    constants of push-sum C delta: C is at least 2 D^e and delta at least D^-e,
    with the largest out-degree D and e of ``assran_constants``.
    """
    sides: list[list[Expr]] = []
    for condition in theorem.conditions:
        expanded_sides = map(theorem.expand, (condition.left, condition.right))
        sides.append(
            [with_schedule(theorem, side, schedule) for side in expanded_sides]
        )
    rows = [*ordered(sides, theorem.shares), *range_rows(theorem)]
    if theorem.scope.push_sum == "cited":
        rows.append({"C": Fraction(1), "delta": Fraction(1)})
    return rows


def range_rows(theorem: Statement) -> list[dict[str, Fraction]]:
    """Return ranges of a statement's quantities as exponents of what is bounded below.

    A quantity that is at least a positive number gives the row {name: 1}; one that is
    at most a finite number gives {name: -1}. What :func:`direction` knows of ``LARGE``
    quantities and of shares is left out.
    """
    rows: list[dict[str, Fraction]] = []
    for name in theorem.needs:
        quantity = theorem.glossary[name]
        if name in LARGE or quantity.low < 0:
            continue
        if quantity.low > 0:
            rows.append({name: Fraction(1)})
        if quantity.high < math.inf and name not in theorem.shares:
            rows.append({name: Fraction(-1)})
    return rows


def ordered(
    pairs: Iterable[Sequence[Expr]], shares: Shares = FRACTION_QUANTITIES
) -> list[dict[str, Fraction]]:
    """Return the exponents of right/left of each pair; pairs with sums are left out."""
    rows: list[dict[str, Fraction]] = []
    for pair in pairs:
        left, right = (monomials(side, shares) for side in pair)
        if len(left) == len(right) == 1:
            row = dict(right[0].exponents)
            for name, e in left[0].exponents:
                row[name] = row.get(name, Fraction(0)) - e
            rows.append({n: e for n, e in row.items() if e})
    return rows


def covered(
    one: Monomial,
    by: Sequence[Monomial],
    region: Sequence[Mapping[str, Fraction]] = (),
    shares: Shares = FRACTION_QUANTITIES,
) -> bool:
    """Return whether ``one`` is at most a constant times the sum of ``by``.

    One constant must do for all T, K, m >= 1 and all gaps in (0, 1]. For ``region`` see
    :func:`scheduled_region`.
    """
    return bool(by) and direction(one, by, region, shares) is None


Direction = tuple[dict[str, float], float]
"""Powers of s by atom, and the power of s by which one monomial outgrows others as s
grows.
"""


def direction(
    one: Monomial,
    by: Sequence[Monomial],
    region: Sequence[Mapping[str, Fraction]] = (),
    shares: Shares = FRACTION_QUANTITIES,
) -> Direction | None:
    """Return a direction in which ``one`` outgrows each of ``by``, and by how much.

    It is a direction in the logarithms of all atoms; None if there is none. A share
    and its gap do not vanish together: each of the two is a constant in turn.
    """
    rows = [*region, *RELATIONS]
    names = sorted(
        {n for mono in (one, *by) for n, _ in mono.exponents}
        | {n for row in rows for n in row}
    )
    gains = np.zeros((len(by), len(names)))
    constraints = np.zeros((len(rows), len(names)))
    for k, name in enumerate(names):
        gains[:, k] = [float(one[name] - other[name]) for other in by]
        constraints[:, k] = [float(row.get(name, Fraction(0))) for row in rows]
    best: Direction | None = None
    for constant in _constant_atoms(names, shares):
        signs = [0 if n in constant else _sign(n, shares) for n in names]
        moves = [n not in constant for n in names]
        answer = _steepest(gains, constraints, signs, moves)
        if answer is not None and (best is None or answer[1] > best[1]):
            best = dict(zip(names, answer[0], strict=True)), answer[1]
    return best


def _constant_atoms(names: Sequence[str], shares: Shares) -> Iterator[frozenset[str]]:
    """Yield choices of atoms that are constant: of each share, itself or its gap."""
    pairs = [
        (share, f"1 - {share}")
        for share in sorted(shares)
        if share in names and f"1 - {share}" in names
    ]
    for chosen in itertools.product(*pairs):
        larger = {"1 - lam**Q"} if "1 - lam" in chosen else set[str]()
        yield frozenset((*chosen, *larger))


def _steepest(
    gains: np.ndarray,
    constraints: np.ndarray,
    signs: Sequence[int],
    moves: Sequence[bool],
) -> tuple[list[float], float] | None:
    """Return exponents x that maximize the least entry of ``gains @ x``, and it.

    Parameters
    ----------
    gains : (monomials, atoms) array
    constraints : (rows, atoms) array, for ``constraints @ x >= 0``
    signs : 1 for x >= 0, -1 for x <= 0, and 0 for both
    moves : which x may differ from 0

    Returns
    -------
    tuple or None
        x in [-1, 1] with few nonzero entries; None if the least entry is never > 0.
    """
    from scipy.optimize import linprog  # half of what importing a theorem would cost

    size = len(signs)
    up = [float(move and sign >= 0) for sign, move in zip(signs, moves, strict=True)]
    down = [float(move and sign <= 0) for sign, move in zip(signs, moves, strict=True)]
    answer = linprog(
        [_COST] * (2 * size) + [-1.0],
        A_ub=np.vstack(
            [
                np.hstack([-gains, gains, np.ones((len(gains), 1))]),
                np.hstack([-constraints, constraints, np.zeros((len(constraints), 1))]),
            ]
        ),
        b_ub=np.zeros(len(gains) + len(constraints)),
        bounds=[(0.0, end) for end in (*up, *down)] + [(0.0, _STEEPEST)],
        method="highs",
    )
    if answer.status != 0 or answer.x is None or answer.x[-1] < _TOLERANCE:
        return None
    exponents = answer.x[:size] - answer.x[size:-1]
    return list(map(float, exponents)), float(answer.x[-1])


_STEEPEST = 100.0
"""Upper limit of the least gain, which keeps the linear program bounded."""
_COST = 1e-4
"""Cost of a unit of an exponent, so that exponents that are not needed are 0."""
_TOLERANCE = 1e-7
"""A least gain below this is 0 within the accuracy of the linear program."""


def _sign(atom: str, shares: Shares) -> int:
    """Return the sign of the logarithm of an atom: 1, -1 or 0.

    It is +1 for what is at least 1, -1 for what is at most 1 (shares and their gaps), 0
    for anything positive.
    """
    if atom in LARGE:
        return 1
    return -1 if atom in shares or atom.startswith(("1 - ", "lam**")) else 0
