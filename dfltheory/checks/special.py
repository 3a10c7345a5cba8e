"""Special cases whose truth is known.

They are ends of ranges, plain gradient descent, and SAM's fixed point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.bounds.rates import expand_in_t, with_schedule
from dfltheory.bounds.regions import Points, at, relations_of, values_at
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import AuditFinding, error, found, point_text, warning

ENDS: dict[str, float] = {
    **dict.fromkeys(("m", "K", "K_u", "K_v", "Q", "delta", "window"), 1.0),
    **dict.fromkeys(("alpha", "rho", "rho0", "lam", "q", "chi", "L_vu"), 0.0),
    **dict.fromkeys(
        ("sigma_l", "sigma_g", "sigma_u", "sigma_v", "beta", "delta_u", "B", "S2"), 0.0
    ),
    **dict.fromkeys(
        ("f0_gap", "x0_sq", "x0_spread", "x_star_sq", "sigma_star", "Gamma"), 0.0
    ),
}
"""Quantity -> the end of its range at which what it stands for is absent: one client,
no momentum, no noise, ...
"""
_WITHOUT = tuple(n for n in ENDS if n not in ("B", "S2", "Q"))
_ZERO_AT_FIXED_POINT = tuple(
    n
    for n in _WITHOUT
    if ENDS[n] == 0 and n not in ("alpha", "lam", "q", "rho", "rho0")
)
_EQUAL = {"lam_admm": "eta"}
"""Where the dual variables are absent as well: after one step with eta = lam_admm they
are the gradients.
"""
_FOREVER = 1e15
_STEPS = ("eta", "eta_u", "eta_v", "lam_admm", "rho", "rho0")
_CAUSES = {
    **dict.fromkeys(("drift", "local_step_sq", "consensus", "u_step"), _STEPS),
    "ascent_spread": ("rho", "rho0"),
}
"""Measure -> quantities without which it is 0."""


def _with_values(points: Points, values: Mapping[str, object]) -> Points:
    size = len(next(iter(points.values())))
    given = {
        n: np.broadcast_to(np.asarray(v, dtype=float), size)
        for n, v in values.items()
        if n in points
    }
    return {**points, **given}


def _where_conditions_hold(theorem: Theorem, points: Points) -> np.ndarray:
    """At which points a statement says something.

    All conditions hold there, the quantities are those of a problem, and the schedule
    gives step sizes in their ranges.
    """
    size = len(next(iter(points.values())))
    holds = [
        np.broadcast_to(good, size) for _, _, good in theorem.check_conditions(**points)
    ]
    for relation in relations_of(theorem, points):
        less, more = values_at([relation.left, relation.right], points)
        holds.append(less <= more)
    for name in theorem.scheduled:
        rule = theorem.expand(theorem.schedule[name])
        if {symbol.name for symbol in rule.free_symbols} <= set(points):
            (step,) = values_at([rule], points)
            holds.append(theorem.glossary[name].contains(step) & np.isfinite(step))
    return np.all(np.asarray([np.ones(size, dtype=bool), *holds]), axis=0)


def ends_of_ranges(theorem: Theorem, points: Points) -> Iterator[AuditFinding]:
    """Check the bound at the ends of ranges: m = 1, K = 1, alpha -> 0, rho -> 0, ...

    Further ends are sigma -> 0 and lam -> 0. The bound must be a number there, and the
    limit of its values nearby. Only -oo contradicts what it bounds.
    """
    size = len(next(iter(points.values())))
    usual = np.isfinite(
        np.broadcast_to(theorem.evaluate(where="ignore", **points), size)
    )
    for name, end in ENDS.items():
        if name not in points:
            continue
        there = _with_values(points, {name: end})
        value = np.broadcast_to(
            theorem.evaluate(where="ignore", **there), len(points[name])
        )
        stated = usual & _where_conditions_hold(theorem, there)
        bad = stated & ~np.isfinite(value)
        if end == 0 and not bad.any():
            bad = stated & _where_discontinuous(theorem, points, name, value)
        if bad.any():
            i = int(np.argmax(bad))
            yield found(
                "error" if value[i] == -np.inf else "warning",
                name,
                f"at {name} = {end:g} the bound {_what_is_wrong(float(value[i]))}",
                point=at(there, i),
            )


def _what_is_wrong(value: float) -> str:
    """Return what is wrong with the value of a bound at the end of a range."""
    if np.isnan(value):
        return "has no value"
    if np.isinf(value):
        return f"is {value:.4g}"
    return f"is {value:.4g}, not the limit of its values nearby"


def _where_discontinuous(
    theorem: Theorem, points: Points, name: str, value: np.ndarray
) -> np.ndarray:
    """Return where the bound does not approach ``value`` as the quantity goes to 0.

    There the gap neither is small nor shrinks.
    """
    unit = np.where(points[name] > 0, points[name], 1.0)
    gaps = []
    for near in (1e-12, 1e-24):
        after = theorem.evaluate(
            where="ignore", **_with_values(points, {name: unit * near})
        )
        with np.errstate(all="ignore"):
            gaps.append(np.abs(after - value))
    return (gaps[1] > gaps[0] / 2) & (gaps[1] > 1e-6 * np.abs(value))


def vanishing_left_side(theorem: Theorem, points: Points) -> Iterator[AuditFinding]:
    """Check bounds of lemmas where their left side is 0.

    Local steps, and what is made of them, vanish with the step size and SAM's radius;
    the spread of SAM's perturbations vanishes with the radius. A bound that stays is
    loose there.
    """
    names = _CAUSES.get(theorem.lhs.measure, ())
    if theorem.kind != "lemma":
        return
    if theorem.lhs.measure == "consensus" and not theorem.scope.common_start:
        return
    vanishing = {n: 1e-12 * points[n] for n in names if n in points}
    if not vanishing:
        return
    there = _with_values(points, vanishing)
    size = len(next(iter(points.values())))
    usual, kept = (
        np.broadcast_to(theorem.evaluate(where="ignore", **point), size)
        for point in (points, there)
    )
    stays = _where_conditions_hold(theorem, there) & (kept > 1e-3 * np.abs(usual))
    if stays.any():
        i = int(np.argmax(stays))
        yield warning(
            "bound",
            f"for {' and '.join(vanishing)} -> 0 the left side vanishes, but the bound"
            f" stays at {kept[i]:.4g} (of {usual[i]:.4g}) at"
            f" {point_text(at(there, i))}",
            point=at(there, i),
        )


def simplest_case(theorem: Theorem, points: Points) -> Iterator[AuditFinding]:
    """Check the bound in the simplest case, gradient descent.

    It has one client, exact gradients, one local step, no SAM, no momentum; its
    gradients vanish for T -> infinity. What a bound keeps there is loose; of one round
    it may keep anything.
    """
    if "T" not in points:
        return
    equal = {n: points[o] for n, o in _EQUAL.items() if n in points}
    there = _with_values(
        points, {**{n: ENDS[n] for n in _WITHOUT}, **equal, "T": _FOREVER}
    )
    size = len(points["T"])
    terms, later = (
        {
            n: np.broadcast_to(v, size)
            for n, v in theorem.evaluate_terms(where="ignore", **point).items()
        }
        for point in (there, {**there, "T": 100 * there["T"]})
    )
    terms = {
        n: np.where(later[n] > v / 2, v, 0.0) for n, v in terms.items()
    }  # those that T does not take away
    floor = np.where(
        _where_conditions_hold(theorem, there),
        np.sum(list(terms.values()), axis=0),
        0.0,
    )
    if not (floor > 0).any():
        return
    i = int(np.argmax(floor))
    kept = [n for n, v in terms.items() if v[i] > 0]
    yield warning(
        "simplest case",
        "with one client (m = 1, lam = q = 0), one local step, sigma = 0, rho = alpha"
        f" = 0{', lam_admm = eta' if equal else ''} and T -> infinity the method is"
        " gradient descent, whose gradients vanish, but the bound stays at"
        f" {floor[i]:.4g}: {', '.join(kept)} at {point_text(_free_values(there, i))}",
        point=at(there, i),
        terms={n: float(terms[n][i]) for n in kept},
    )


def _free_values(points: Points, index: int) -> dict[str, float]:
    return {
        n: v for n, v in at(points, index).items() if n not in _WITHOUT and n != "T"
    }


def _left_side_at_fixed_point(theorem: Theorem) -> tuple[str, Expr] | None:
    """Return the smoothness constant of SAM's fixed point and the left side there.

    The result is None for a left side that the fixed point says nothing of.
    """
    if theorem.lhs.measure in GRADIENT_MEASURES:
        return "L", theorem.lhs.of_constant((s.L * s.rho) ** 2)
    if theorem.lhs.measure in ("two_block", "two_block_next"):
        return "L_u", theorem.lhs.of_constant(s.L_u * s.rho**2)
    return None


def sam_fixed_point_in_order(theorem: Theorem) -> Iterator[AuditFinding]:
    """Check SAM's fixed point against a statement in O(.).

    Under the schedule the left side and the bound are powers of T, and no constant
    makes up for a faster one. The loss is that of :func:`sam_fixed_point` at the radius
    of each T; L and rho0, which O(.) may hide, stay as they are.
    """
    stays = _left_side_at_fixed_point(theorem)
    radius = theorem.schedule.get("rho")
    if stays is None or not radius:
        return
    block, true_form = stays
    L = GLOSSARY[block].symbol
    zeros = {
        GLOSSARY[n].symbol: sp.S.Zero
        for n in (*_ZERO_AT_FIXED_POINT, "S2")
        if n in theorem.needs
    }
    sizes = {s.B: L * s.rho, s.f0_gap: L * s.rho**2 / 2}
    bound = theorem.bound.xreplace({**zeros, **sizes})
    true, claimed = (_power_of_t(theorem, e) for e in (true_form, bound))
    if claimed < true:
        yield error(
            "rho",
            f"where f'(x) = {block} max(rho - |x|, 0) at every client, SAM stays at 0"
            f" forever and the left side at {true_form}, of order T^({true}) under the"
            " schedule; the bound is "
            + ("0 there" if claimed == -sp.oo else f"of order T^({claimed}) there"),
            f"no bound on a SAM method can be of smaller order than {true_form}",
            true=str(true),
            claimed=str(claimed),
        )


def _power_of_t(theorem: Theorem, expr: Expr) -> Expr:
    """Return the largest power of T in an expression under the schedule for large T.

    It is -oo of 0.
    """
    expanded = expand_in_t(with_schedule(theorem, expr), 12, theorem.shares)
    terms = [t for t in sp.Add.make_args(expanded) if t != 0]
    return max((t.as_powers_dict()[s.T] for t in terms), default=-sp.oo)


__all__ = [
    "ENDS",
    "ends_of_ranges",
    "sam_fixed_point_in_order",
    "simplest_case",
    "vanishing_left_side",
]
