"""Every exponent of every rate agrees with the numeric log-slope of the bound where its
term dominates.

A term that is not covered by others dominates somewhere: a linear program finds a
direction in the logarithms of T, K, m, the gaps and the constants along which it
outgrows all other terms. Far along this direction, the bound is evaluated under its
schedule in high precision. Its slope in the logarithm of each quantity is the exponent.
"""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
import sympy as sp
from scipy.optimize import linprog

from dfltheory import bounds
from dfltheory.bounds.rates import (
    Monomial,
    expanded,
    leading,
    scheduled_region,
    with_schedule,
)

SHARES = ("lam", "q", "alpha", "delta")
LEAST = {"T": 40.0, "K": 14.0, "m": 9.0, "window": 0.0}
Q = 3
ORDERS = {
    "at": {"K": 1},
    "at_before": {"K": 1},
    "sum_c2": {"K": 1},
    "dbar": {"K": 1},
    "S": {"S2": Fraction(1, 2)},
    "lam**Q": {"lam": Q},
    "lam**Q - 1": {"1 - lam": 1},
    "lam**Q + 1": {},
    "Phi": {"1 - lam": -2},
}
"""Orders of atoms that are functions of quantities."""
MOMENTUM_SUMS = {"at", "at_before", "sum_c2"}
STATEMENTS = [
    t
    for t in bounds.statements()
    if t.schedule and t.kind in ("theorem", "corollary", "rate")
]


class Rate:
    """A statement under its schedule: its monomials in elementary quantities, and its
    value in high precision.
    """

    def __init__(self, theorem):
        self.theorem = theorem
        self.rows, self.rate = expanded(theorem, 8), leading(theorem)
        self.definitions = {
            d.symbol.name: with_schedule(theorem, theorem.expand(d.symbol))
            for d in theorem.definitions
        }
        self.bound = with_schedule(theorem, theorem.bound)
        self.names = sorted(x.name for x in self.bound.free_symbols)
        self.symbols = {x.name: x for x in self.bound.free_symbols}
        self.value = sp.lambdify(
            [self.symbols[n] for n in self.names], self.bound, "mpmath", cse=True
        )
        self.region = scheduled_region(theorem)

    def atom(self, name):
        """An atom as an expression of quantities."""
        if name in self.definitions:
            return self.definitions[name]
        return sp.sympify(name, locals=self.symbols)

    def compiled(self, name):
        """Return the names that an atom needs, and a function of its value."""
        expr = self.atom(name)
        names = sorted(x.name for x in expr.free_symbols)
        return names, sp.lambdify([self.symbols[n] for n in names], expr, "mpmath")

    def plain(self, exponents):
        """Return exponents in elementary quantities; None if an atom is not one."""
        total = {}
        for name, e in exponents:
            if name in self.symbols or name.startswith("1 - "):
                parts = {name: 1}
            elif name in ORDERS:
                parts = ORDERS[name]
            else:
                parts = {}
            for n, power in parts.items():
                total[n] = total.get(n, 0) + e * power
        return total

    def frozen(self):
        """Return the quantities inside atoms of unknown order, which are kept fixed."""
        names = {a for row in self.rows for a, _ in row.exponents}
        odd = [
            n
            for n in names
            if n not in self.symbols and not n.startswith("1 - ") and n not in ORDERS
        ]
        fixed = {x.name for n in odd for x in self.atom(n).free_symbols} - {"T"}
        # of order K if the momentum does not change, and K/(1 - alpha) if both do
        return fixed | ({"alpha"} if MOMENTUM_SUMS & names else set())

    def direction(self, row, near_one):
        """Return the direction in which a term outgrows all others by the largest
        margin, and the margin.
        """
        mine = self.plain(row.exponents)
        theirs = [
            self.plain(other.exponents) for other in self.rows if other is not row
        ]
        theirs = [other for other in theirs if other != mine]
        frozen = self.frozen()
        variables = [
            n for n in self.names if n not in frozen and n not in ("Q", *SHARES)
        ]
        variables += [
            f"1 - {n}" if n in near_one else n
            for n in SHARES
            if n in self.symbols and n not in frozen
        ]
        variables = [n for n in variables if n != "1 - delta"]
        gains = [
            [float(mine.get(v, 0) - other.get(v, 0)) for v in variables]
            for other in theirs
        ]
        rules = [
            [float(r.get(v, 0)) for v in variables]
            for r in (self.plain(x.items()) for x in self.region if self.is_known(x))
        ]
        rows = [[-g for g in gain] + [1.0] for gain in gains] + [
            [-g for g in rule] + [0.0] for rule in rules
        ]
        limits = [
            (
                (0, 1)
                if v in LEAST
                else (-1, 0)
                if v.startswith("1 -") or v in SHARES
                else (-1, 1)
            )
            for v in variables
        ]
        found = linprog(
            [0.0] * len(variables) + [-1.0],
            A_ub=rows or None,
            b_ub=[0.0] * len(rows) or None,
            bounds=[*limits, (None, 5)],
        )
        if found.status != 0 or found.x[-1] < 1e-6:
            return None, 0.0
        return dict(zip(variables, found.x[:-1], strict=True)), found.x[-1]

    def point(self, row, direction, margin):
        """Return the logarithms of all quantities far along the direction.

        A share that changes is represented by its gap to 1.
        """
        logs = {n: LEAST.get(n, 0.0) for n in self.names if n not in SHARES}
        logs |= {
            n: float(np.log(0.5))
            for n in SHARES
            if n in self.symbols and f"1 - {n}" not in direction
        }
        logs |= {n: float(np.log(0.5)) for n in direction if n.startswith("1 - ")}
        mine = self.plain(row.exponents)
        others = [self.plain(other.exponents) for other in self.rows]
        ahead = max(
            sum(float(o.get(n, 0) - mine.get(n, 0)) * v for n, v in logs.items())
            for o in others
        )
        reach = (25.0 + ahead) / min(margin, 1.0)
        for n, d in direction.items():
            logs[n] += reach * d
        return logs

    def numbers(self, logs):
        """Return the quantities in high precision."""
        values = {
            n: mpmath.e ** mpmath.mpf(v)
            for n, v in logs.items()
            if not n.startswith("1 - ")
        }
        values |= {
            n[4:]: 1 - mpmath.e ** mpmath.mpf(v)
            for n, v in logs.items()
            if n.startswith("1 - ")
        }
        return values | ({"Q": mpmath.mpf(Q)} if "Q" in self.symbols else {})

    def known(self, row):
        """Return whether every atom of a term is known."""
        return self.is_known(name for name, _ in row.exponents)

    def is_known(self, atoms):
        """Return whether all atoms are quantities, gaps, or functions of known order."""
        return all(
            a in self.symbols or a.startswith(("1 - ", "Max(")) or a in ORDERS
            for a in atoms
        )

    def ruled(self, row):
        """Return the direction in which a term dominates most, and its margin."""
        ways = [self.direction(row, near) for near in regimes(self.symbols)]
        return max(ways, key=lambda way: way[1])


def slope(function, logs, name):
    """Return d log(function)/d log(name) with all other quantities fixed."""
    h = mpmath.mpf(10) ** -12
    up, down = ({**logs, name: mpmath.mpf(logs[name]) + way * h} for way in (1, -1))
    return float(
        (mpmath.log(abs(function(up))) - mpmath.log(abs(function(down)))) / (2 * h)
    )


def regimes(names):
    """Yield all choices of which shares are close to one."""
    shares = [n for n in ("lam", "q", "alpha") if n in names]
    for bits in range(2 ** len(shares)):
        yield {n for i, n in enumerate(shares) if bits >> i & 1}


def quick(theorem):
    return theorem.kind == "rate" or theorem.key == "dfedsam.corollary_4_6"


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "theorem",
    [
        pytest.param(t, id=str(t), marks=() if quick(t) else pytest.mark.slow)
        for t in STATEMENTS
    ],
)
def test_every_exponent_is_a_slope_of_the_bound(theorem):
    rate = Rate(theorem)
    looked_at = 0
    terms = [row for row in rate.rate if rate.known(row)]
    for row in terms:
        direction, margin = rate.ruled(row)
        # it is covered, as the sizes of the atoms show
        if direction is None:
            continue
        looked_at += 1
        logs = rate.point(row, direction, margin)
        with mpmath.workdps(60 + int(2 * max(abs(v) for v in logs.values()))):
            for name, found, expected in slopes(rate, row, logs, direction):
                assert found == pytest.approx(expected, abs=2e-3), (
                    f"{row}: exponent of {name}"
                )
    assert looked_at
    # 6 of its 13
    few = (theorem.key, theorem.variant) == (
        "dfedmdc.theorem_2",
        "corrected_same_round",
    )
    assert looked_at >= (6 if few else len(terms) / 2), (
        f"{looked_at} of {len(terms)} terms were looked at"
    )


def slopes(rate, row, logs, direction):
    """Yield (quantity, slope of the bound, slope of the term) for all quantities that
    are large, small or free.
    """
    atoms = [rate.compiled(name) for name, _ in row.exponents]
    powers = [mpmath.mpf(e.numerator) / e.denominator for _, e in row.exponents]

    def whole(at):
        numbers = rate.numbers(at)
        return rate.value(*(numbers[n] for n in rate.names))

    def term(at):
        numbers = rate.numbers(at)
        value = mpmath.mpf(1)
        for (names, atom), power in zip(atoms, powers, strict=True):
            value *= abs(atom(*(numbers[n] for n in names))) ** power
        return value

    for name in logs:
        share = name in SHARES or name.startswith("1 - ")
        if share and abs(direction.get(name, 0.0)) < 1e-9:
            continue  # neither near 0 nor near 1: 1 + q is of order one, but not flat
        yield name, slope(whole, logs, name), slope(term, logs, name)


def test_a_wrong_exponent_is_noticed():
    theorem = bounds.get("dfedsam.rate_abstract")
    rate = Rate(theorem)
    row = rate.rate[0]
    direction, margin = rate.ruled(row)
    logs = rate.point(row, direction, margin)
    wrong = Monomial(
        row.coefficient, tuple((n, e + (n == "K")) for n, e in row.exponents)
    )
    with mpmath.workdps(400):
        gaps = {
            n: found - expected
            for n, found, expected in slopes(rate, wrong, logs, direction)
        }
    assert gaps["K"] == pytest.approx(-1, abs=2e-3)
    assert gaps["T"] == pytest.approx(0, abs=2e-3)
