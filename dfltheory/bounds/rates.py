"""Orders of magnitude: what a bound becomes under a schedule as T grows, and which
terms another one covers.

A bound under its schedule is expanded into monomials ``c T^a K^b (1 - lam)^d ...``. A
monomial is *covered* by others if it is at most a constant times their sum wherever T,
K, m >= 1, all gaps are at most 1 and the conditions hold: by convexity a linear program
in the exponents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import Statement
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
"""What the glossary's meanings and ranges imply: products of powers that are at least a
constant (sigma_g <= beta, L_vu <= chi sqrt(L_u L_v), m <= m^Q, lam^Q <= lam, 1 - lam <=
1 - lam^Q).
"""

Shares = frozenset[str]
SHARES: Shares = frozenset(name for name, entry in GLOSSARY.items() if entry.high == 1)
"""Quantities between 0 and 1."""

LARGE = ("T", "K", "m", "Q", "K_u", "K_v")


@dataclass(frozen=True)
class Monomial:
    """``coefficient * product of atom**exponent``; atoms are symbols or gaps such as
    ``1 - lam``.
    """

    coefficient: Expr
    exponents: tuple[tuple[str, Fraction], ...]

    def __getitem__(self, atom: str) -> Fraction:
        return dict(self.exponents).get(atom, Fraction(0))

    def without(self, atoms: Iterable[str]) -> Monomial:
        """This monomial with some atoms taken as constants."""
        hidden = set(atoms)
        return Monomial(
            self.coefficient,
            tuple((a, e) for a, e in self.exponents if a not in hidden),
        )

    def __str__(self) -> str:
        def power(name: str, e: Fraction) -> str:
            name = name if name.isidentifier() else f"({name})"
            return (
                name
                if e == 1
                else f"{name}^{e}"
                if e.denominator == 1
                else f"{name}^({e})"
            )

        over = [power(n, e) for n, e in self.exponents if e > 0]
        under = [power(n, -e) for n, e in self.exponents if e < 0]
        top = " ".join(over) or "1"
        return top if not under else f"{top} / ({' '.join(under)})"


def _fraction(number: Expr) -> Fraction:
    rational: Expr = sp.Rational(number)
    return Fraction(int(rational.p), int(rational.q))


@cache
def _own_order(base: Expr) -> dict[str, Fraction] | None:
    """The order K^e of a function of one large quantity, measured; None where it has no
    such order.
    """
    names = {s.name for s in base.free_symbols}
    if len(names) != 1 or not names <= set(LARGE):
        return None
    name = names.pop()
    function = sp.lambdify(GLOSSARY[name].symbol, base, modules="numpy")
    with np.errstate(all="ignore"):
        values = [
            abs(float(function(np.float64(n)))) for n in (2, 10, 10**3, 10**5, 10**6)
        ]
    if not all(0 < v < np.inf for v in values):
        return None
    power = Fraction(round(2 * np.log10(values[-1] / values[-2])), 2)
    ratios = [
        v / n ** float(power)
        for v, n in zip(values, (2, 10, 10**3, 10**5, 10**6), strict=True)
    ]
    return {name: power} if max(ratios) < 30 * min(ratios) else None


def _atom(base: Expr, shares: Shares) -> dict[str, Fraction]:
    """A factor as atoms of the same order: 2K - 1 is of order K, 1 + q of order 1,
    others are their own.
    """
    if base.is_Symbol:
        return {base.name: Fraction(1)}
    own = _own_order(base)
    if own is not None:
        return {n: e for n, e in own.items() if e}
    if (
        base.is_Add
        and all(symbol.name in shares for symbol in base.free_symbols)
        and all(not term.could_extract_minus_sign() for term in base.args)
    ):
        return {}
    factored = sp.factor(base) if base.is_Add else base
    if factored.is_Mul or factored.is_Pow:
        return _atoms(factored, shares)[0]
    constant = base.as_coeff_Add()[0]
    negative = constant.is_negative if constant else base.could_extract_minus_sign()
    return {str(-base if negative else base): Fraction(1)}


def _powers(product: Expr, outer: Expr = sp.S.One) -> Iterator[tuple[Expr, Expr]]:
    """(base, exponent) of every factor; powers of products, of powers and by sums are
    split, as all factors are non-negative.
    """
    for factor in sp.Mul.make_args(product):
        base, power = factor.as_base_exp()
        if base.is_Mul or base.is_Pow:
            yield from _powers(base, power * outer)
        else:
            # m^(2 - 2 Q): m^2 and m^(-2 Q)
            for part in sp.Add.make_args(sp.expand(power * outer)):
                yield base, part


def _atoms(product: Expr, shares: Shares) -> tuple[dict[str, Fraction], Expr]:
    exponents: dict[str, Fraction] = {}
    number: Expr = sp.S.One
    for base, power in _powers(product):
        if base.is_number and power.is_number:
            number *= base**power
            continue
        if not power.is_Rational:  # lam^(2Q): atom lam^Q, exponent 2
            times, power = power.as_coeff_Mul()
            found = {str(base**power): _fraction(times)}
        else:
            found = {
                name: e * _fraction(power) for name, e in _atom(base, shares).items()
            }
        for name, e in found.items():
            exponents[name] = exponents.get(name, Fraction(0)) + e
    return {n: e for n, e in exponents.items() if e}, number


def _gapped(expr: Expr, shares: Shares) -> Expr:
    """1 - lam and its like as atoms; roots of sums of non-negative terms as sums of
    roots (of equal order).
    """
    expr = expr.replace(
        lambda e: (
            e.is_Add
            and len(e.free_symbols) == 1
            and next(iter(e.free_symbols)).name in shares
        ),
        _gap_of,
    )
    return expr.replace(
        lambda e: (
            e.is_Pow
            and e.base.is_Add
            and e.exp.is_Rational
            and not e.exp.is_Integer
            and e.exp > 0
        ),
        lambda e: sp.Add(*(term**e.exp for term in e.base.args)),
    )


def _gap_of(share_sum: Expr) -> Expr:
    """A polynomial in one share, in factors, 1 - share written as its gap: 2 - 2 lam is
    2 (1 - lam).
    """
    share = next(iter(share_sum.free_symbols))
    gap = sp.Symbol(f"1 - {share.name}", positive=True)
    return sp.factor(share_sum).xreplace({1 - share: gap, share - 1: -gap})


@cache
def monomials(expr: Expr, shares: Shares = SHARES) -> tuple[Monomial, ...]:
    """The monomials of a sum of products, those of the same exponents added up."""
    found: dict[tuple[tuple[str, Fraction], ...], Expr] = {}
    for term in sp.Add.make_args(sp.expand(_gapped(expr, shares))):
        exponents, number = _atoms(sp.powdenest(term, force=True), shares)
        key = tuple(sorted(exponents.items()))
        found[key] = found.get(key, sp.S.Zero) + number
    return tuple(Monomial(c, key) for key, c in found.items() if c != 0)


@cache
def expand_in_t(expr: Expr, order: int, shares: Shares = SHARES) -> Expr:
    """``expr`` for large T up to T^(-order/2): Laurent series in 1/sqrt(T), term by
    term.

    Sums in numerators are multiplied out first: over a common denominator they would
    leave products of denominators that no term of ``expr`` has.
    """
    total: Expr = sp.S.Zero
    expanded: Expr = sp.expand_mul(_gapped(expr, shares))
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
    top, bottom = over.all_coeffs()[::-1], under.all_coeffs()[::-1]
    shift = next(i for i, c in enumerate(bottom) if c != 0)
    bottom = bottom[shift:]
    quotient: list[Expr] = []
    for n in range(order + shift + 1):
        value = top[n] if n < len(top) else sp.S.Zero
        value -= sum(
            (
                bottom[j] * quotient[n - j]
                for j in range(1, min(n, len(bottom) - 1) + 1)
            ),
            sp.S.Zero,
        )
        quotient.append(sp.together(value / bottom[0]) if value != 0 else sp.S.Zero)
    return sp.Add(
        *(c * _T ** sp.Rational(shift - n, 2) for n, c in enumerate(quotient))
    )


def slowest_in_t(expr: Expr, order: int = 8) -> Expr:
    """The part of ``expr`` with the largest power of T, for large T."""
    by_power: dict[Expr, Expr] = {}
    for term in sp.Add.make_args(expand_in_t(expr, order)):
        power = term.as_powers_dict()[_T]
        by_power[power] = by_power.get(power, sp.S.Zero) + term
    return sp.factor(by_power[max(by_power)])


def scheduled(
    theorem: Statement, expr: Expr, schedule: Mapping[str, Expr] | None = None
) -> Expr:
    """``expr`` (glossary symbols) with the step sizes of the schedule put in."""
    chosen = theorem.schedule if schedule is None else schedule
    values = {
        theorem.glossary[name].symbol: e
        for name, e in chosen.items()
        if name in theorem.glossary
    }
    return expr.subs(values, simultaneous=True)


def keeps(
    theorem: Statement, schedule: Mapping[str, Expr] | None = None
) -> dict[Expr, Expr]:
    """Definitions that do not change with T under the schedule (Phi, alpha-tilde): one
    atom each, or their order in K where they have one.
    """
    found: dict[Expr, Expr] = {}
    for d in theorem.definitions:
        value = scheduled(theorem, theorem.expand(d.symbol), schedule)
        if _T not in value.free_symbols:
            own = _own_order(value)
            found[d.symbol] = (
                d.symbol
                if own is None
                else sp.Mul(
                    *(GLOSSARY[n].symbol ** sp.Rational(e) for n, e in own.items())
                )
            )
    return found


def leading(
    theorem: Statement,
    order: int = 4,
    schedule: Mapping[str, Expr] | None = None,
    atoms: Iterable[Expr] | None = None,
) -> tuple[Monomial, ...]:
    """The monomials of a bound under its schedule down to T^(-order/2), those covered
    by others left out.

    Definitions that T does not touch count as one atom each; where ``atoms`` is given,
    only those in it do.
    """
    rows = expanded(theorem, order, schedule, atoms)
    region = scheduled_region(theorem, schedule)
    return tuple(
        row
        for row in rows
        if not covered(
            row, [other for other in rows if other is not row], region, theorem.shares
        )
    )


def expanded(
    theorem: Statement,
    order: int = 4,
    schedule: Mapping[str, Expr] | None = None,
    atoms: Iterable[Expr] | None = None,
) -> list[Monomial]:
    """All the monomials of a bound under its schedule down to T^(-order/2), as
    ``leading`` has them.
    """
    kept = keeps(theorem, schedule)
    if atoms is not None:
        allowed = set(atoms)
        kept = {
            symbol: value
            for symbol, value in kept.items()
            if value != symbol or symbol in allowed
        }
    known = theorem.expanded_definitions(kept)
    found: dict[tuple[tuple[str, Fraction], ...], Monomial] = {}
    for part in theorem.parts.values():
        chosen = scheduled(theorem, part.xreplace(known), schedule)
        for mono in monomials(
            expand_in_t(chosen, order, theorem.shares), theorem.shares
        ):
            found.setdefault(mono.exponents, mono)
    return list(found.values())


def scheduled_region(
    theorem: Statement, schedule: Mapping[str, Expr] | None = None
) -> list[dict[str, Fraction]]:
    """Each condition ``left <= right`` between monomials as exponents of right/left:
    what is at least a constant.
    """
    sides = (
        [scheduled(theorem, theorem.expand(e), schedule) for e in (c.left, c.right)]
        for c in theorem.conditions
    )
    return ordered(sides, theorem.shares)


def ordered(
    pairs: Iterable[Sequence[Expr]], shares: Shares = SHARES
) -> list[dict[str, Fraction]]:
    """Of each ``left <= right`` between monomials the exponents of right/left."""
    rows = []
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
    shares: Shares = SHARES,
) -> bool:
    """Is ``one`` at most a constant times the sum of ``by`` for large T, K, m, small
    gaps, and in ``region``?
    """
    if not by:
        return False
    rows = [*region, *RELATIONS]
    names = sorted(
        {n for mono in (one, *by) for n, _ in mono.exponents}
        | {n for row in rows for n in row}
    )
    sign = {n: _direction(n, shares) for n in names}
    rays = [{n: Fraction(s)} for n, s in sign.items() if s] + rows
    # one - sum_j w_j by_j = - sum_i y_i ray_i, w >= 0, sum w = 1, y >= 0
    columns = [[float(mono[n]) for n in names] for mono in by]
    columns += [[-float(ray.get(n, Fraction(0))) for n in names] for ray in rays]
    equations = np.array(columns).T
    weights = [1.0] * len(by) + [0.0] * len(rays)
    matrix = np.vstack([equations, weights])
    target = np.array([*(float(one[n]) for n in names), 1.0])
    from scipy.optimize import linprog  # half of what importing a theorem would cost

    answer = linprog(
        np.zeros(matrix.shape[1]),
        A_eq=matrix,
        b_eq=target,
        bounds=(0, None),
        method="highs",
    )
    return bool(answer.status == 0)


def _direction(atom: str, shares: Shares) -> int:
    """+1 for what is at least 1, -1 for what is at most 1 (shares and their gaps), 0
    for anything positive.
    """
    if atom in LARGE:
        return 1
    return -1 if atom in shares or atom.startswith(("1 - ", "lam**")) else 0
