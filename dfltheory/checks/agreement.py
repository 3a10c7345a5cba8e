"""Agreement of the variants of a statement, and of the definitions of a constant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp

from dfltheory.bounds.outgrowth import outgrows
from dfltheory.bounds.rates import (
    covered,
    direction,
    leading,
    range_rows,
    with_schedule,
)
from dfltheory.bounds.real_numbers import sign_is_shown
from dfltheory.bounds.regions import (
    admissible_points,
    at,
    bound_at,
    expanded_conditions,
    joint_glossary,
    precise_value,
    smallest_of,
    values_at,
)
from dfltheory.bounds.registry import REGISTRY, Registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.corollaries import hidden_by
from dfltheory.checks.finding import (
    AuditFinding,
    audit_check,
    error,
    found,
    note,
    point_text,
    warning,
)
from dfltheory.checks.simpler import agree_without

_TOLERANCE = 1e-9
_POINTS = 1000


def has_agreement(theorem: Theorem, registry: Registry = REGISTRY) -> bool:
    """Return whether a statement has definitions, or variants to compare it with."""
    return bool(theorem.definitions) or bool(_compared(theorem, registry))


@audit_check("agreement")
def check_agreement(
    theorem: Theorem,
    variants: Mapping[str, Theorem] | None = None,
    registry: Registry = REGISTRY,
) -> Iterator[AuditFinding]:
    """Compare a printed statement with its variants, and check its definitions."""
    yield from unused_definitions(theorem)
    yield from wrong_signs(theorem)
    yield from twice_defined(theorem, registry)
    for name, other in _compared(theorem, registry, variants).items():
        if name.startswith("corrected"):
            yield from against_corrected(theorem, other)
        elif theorem.order:
            yield from compare_orders(theorem, other)
        else:
            yield from compare_values(theorem, other)


def _compared(
    theorem: Theorem, registry: Registry, variants: Mapping[str, Theorem] | None = None
) -> dict[str, Theorem]:
    """Return the variants with which a printed statement is compared, by name.

    The result is empty if the statement itself is another variant than ``printed``.
    """
    if not theorem.variant.startswith("printed"):
        return {}
    others = variants or {
        t.variant: t for t in registry.peers(theorem) if t.key == theorem.key
    }
    return {
        name: other
        for name, other in others.items()
        if _is_comparable(theorem, name, other)
    }


def _is_comparable(theorem: Theorem, name: str, other: Theorem) -> bool:
    """Return whether a printed statement can be compared with this variant."""
    if joint_glossary(theorem, other) is None:
        return False
    if name.startswith("corrected"):
        return theorem.lhs.measure == other.lhs.measure and not theorem.order
    return name.startswith(("appendix", "introduction"))


@audit_check("agreement")
def unused_definitions(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield definitions that no term, condition or schedule uses.

    A definition that another used definition contains is used, too.
    """
    used = {
        s
        for e in (*theorem.parts.values(), *theorem.schedule.values())
        for s in sp.sympify(e).free_symbols
    }
    used |= {s for c in theorem.conditions for s in (c.left - c.right).free_symbols}
    for d in reversed(theorem.definitions):
        if d.symbol in used:
            used |= d.expr.free_symbols
        else:
            yield warning(
                f"definition {d.symbol}",
                f"{d.latex} is defined ({d.meaning}) and used nowhere",
                definition=str(d.expr),
            )


@audit_check("agreement")
def wrong_signs(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield definitions that are negative at an admissible point against their sign.

    Formulas are simplified by the sign that a definition declares: sqrt(D^2) to D.
    """
    for definition in theorem.definitions:
        symbol, formula = definition.symbol, theorem.expand(definition.symbol)
        if not symbol.is_nonnegative or sign_is_shown(symbol, formula):
            continue
        point = _point_of_negative_value(theorem, formula)
        if point is not None:
            sign = "positive" if symbol.is_positive else "nonnegative"
            yield warning(
                f"definition {symbol}",
                f"{definition.latex} is declared {sign}, and is negative at"
                f" {point_text(point)}, where all conditions hold: formulas that are"
                " simplified by the sign are wrong there",
                point=point,
            )


def _point_of_negative_value(
    theorem: Theorem, formula: Expr
) -> dict[str, float] | None:
    """Return an admissible point at which a formula is negative; None: none found."""
    names = {symbol.name for symbol in formula.free_symbols}
    points = admissible_points(
        names,
        expanded_conditions(theorem),
        _POINTS,
        np.random.default_rng(0),
        theorem.glossary,
    )
    (values,) = values_at([formula], points)
    for i in smallest_of(values < 0, values):
        point = {name: at(points, i)[name] for name in sorted(names)}
        # where the formula is 0, the precise value is a far smaller rounding error
        if precise_value(formula, point) < _TOLERANCE * values[i]:
            return point
    return None


@audit_check("agreement")
def twice_defined(
    theorem: Theorem, registry: Registry = REGISTRY
) -> Iterator[AuditFinding]:
    """Compare definitions with the paper's own entries for the same symbols."""
    if theorem.kind != "theorem" or theorem.variant not in ("printed", "appendix"):
        return
    for other in registry.peers(theorem):
        if other.kind != "definition" or other.variant != "printed":
            continue
        for d in theorem.definitions:
            if other.lhs.latex != d.latex:
                continue
            point = _point_of_difference(theorem, theorem.expand(d.symbol), other)
            if point is not None:
                yield error(
                    f"definition {d.symbol}",
                    f"{d.latex} here is {d.expr}, but {other.key} is {other.bound}",
                    point=point,
                )


def _point_of_difference(
    theorem: Theorem, value: Expr, definition: Theorem
) -> dict[str, float] | None:
    """Return a point at which a definition of a theorem differs from another one.

    None where they are equal, or do not differ at any admissible point that is tried.
    """
    glossary = joint_glossary(theorem, definition)
    if glossary is None or sp.simplify(value - definition.bound) == 0:
        return None
    names = {symbol.name for symbol in (value - definition.bound).free_symbols}
    points = admissible_points(
        names, expanded_conditions(theorem), _POINTS, np.random.default_rng(0), glossary
    )
    one, other = values_at([value, definition.bound], points)
    relative = _relative_difference(one, other)
    for i in smallest_of(relative > _TOLERANCE, -relative):
        point = at(points, i)
        difference = precise_value(value - definition.bound, point)
        if abs(difference) > _TOLERANCE * abs(precise_value(value, point)):
            return {name: point[name] for name in sorted(names)}
    return None


def _relative_difference(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return |one - other| relative to the larger of both, 0 where both are 0."""
    scale = np.maximum(np.abs(one), np.abs(other)) + 1e-300
    return np.nan_to_num(np.abs(one - other) / scale, nan=0.0, posinf=0.0)


def _common_points(one: Theorem, other: Theorem) -> dict[str, np.ndarray]:
    """Return random points at which the conditions of both statements hold."""
    conditions = (*expanded_conditions(one), *expanded_conditions(other))
    glossary = joint_glossary(one, other)
    assert glossary is not None
    names = {*one.needs, *other.needs}
    return admissible_points(
        names, conditions, _POINTS, np.random.default_rng(0), glossary
    )


@audit_check("agreement")
def compare_values(printed: Theorem, derived: Theorem) -> Iterator[AuditFinding]:
    """Check that ``printed`` is at least ``derived`` where the conditions of both hold.

    Of two definitions of one constant one is wrong; which of them, this check cannot
    say: a warning.
    """
    points = _common_points(printed, derived)
    mine, theirs = bound_at(printed, points), bound_at(derived, points)
    scale = np.maximum(np.abs(mine), np.abs(theirs)) + 1e-300
    less = (theirs - mine) / scale
    if np.max(np.abs(less)) < _TOLERANCE:
        return
    for i in smallest_of(less > _TOLERANCE, -less):
        if _is_less(printed, derived, at(points, i)):
            yield _smaller_value(printed, derived, points, int(i))
            return
    for i in smallest_of(less < -_TOLERANCE, less):
        if _is_less(derived, printed, at(points, i)):
            place = f"against {derived.variant}"
            yield note(place, "it is looser than what is derived")
            return


def _is_less(one: Theorem, other: Theorem, point: Mapping[str, float]) -> bool:
    """Return whether one bound is clearly below another at a point, in many digits.

    Double precision may lose all digits of a bound, and is not enough for an error.
    """
    value = precise_value(other.bound, point)
    return precise_value(other.bound - one.bound, point) > _TOLERANCE * abs(value)


def _smaller_value(
    printed: Theorem, derived: Theorem, points: dict[str, np.ndarray], i: int
) -> AuditFinding:
    """Return the finding that the printed bound is too small at the point ``i``."""
    mine, theirs = bound_at(printed, points), bound_at(derived, points)
    same = agree_without(printed, derived, points)
    wrong = [
        text
        for name in printed.parts
        if (text := _compare_term(printed, derived, name, points))
    ]
    definition = printed.kind == "definition"
    differs = (
        "it is defined otherwise there"
        if definition
        else f"it claims less than {derived.source}"
    )
    return found(
        "warning" if definition else "error",
        f"against {derived.variant}",
        f"{differs}: {mine[i]:.6g} against {theirs[i]:.6g} at"
        f" {point_text(at(points, i))}"
        + (f"; {'; '.join(wrong)}" if wrong else "")
        + (f"; they agree at {' and at '.join(same)}" if same else ""),
        point=at(points, i),
        printed=float(mine[i]),
        derived=float(theirs[i]),
    )


def _term_values(
    theorem: Theorem, name: str, points: dict[str, np.ndarray]
) -> np.ndarray:
    """Return the values of a term at points."""
    needed = {quantity: points[quantity] for quantity in theorem.needs}
    return np.asarray(theorem.evaluate_terms(where="ignore", **needed)[name])


def _compare_term(
    printed: Theorem, derived: Theorem, name: str, points: dict[str, np.ndarray]
) -> str | None:
    """Return in words how a term differs from the derived one of the same name.

    None if there is no such term, or if both are equal.
    """
    if name not in derived.parts:
        return None
    printed_values, derived_values = (
        _term_values(theorem, name, points) for theorem in (printed, derived)
    )
    with np.errstate(all="ignore"):
        ratio = np.asarray(printed_values / derived_values, dtype=float)
    ratio = ratio[np.isfinite(ratio)] if ratio.ndim else ratio.reshape(1)
    if not len(ratio) or np.allclose(ratio, 1, rtol=_TOLERANCE):
        return None
    if np.allclose(ratio, ratio[0], rtol=_TOLERANCE):
        factor = sp.nsimplify(ratio[0], rational=True, tolerance=1e-9)
        return f"its term {name} is {factor} times the derived one"
    return (
        f"its term {name} is {ratio.min():.3g} to {ratio.max():.3g} times the"
        " derived one"
    )


@audit_check("agreement")
def compare_orders(printed: Theorem, derived: Theorem) -> Iterator[AuditFinding]:
    """Check that the printed rate covers every monomial of a derived O(.).

    Constants that the printed O(.) hides are ignored.
    """
    schedule = (
        derived.schedule
        if len(derived.schedule) > len(printed.schedule)
        else printed.schedule
    )
    shared = {d.symbol for d in printed.definitions} & {
        d.symbol for d in derived.definitions
    }
    mine, theirs = (leading(t, 3, schedule, shared) for t in (printed, derived))
    given, claimed_bound = (
        with_schedule(t, t.bound, schedule) for t in (derived, printed)
    )
    loose = hidden_by(mine)
    shares = printed.shares | derived.shares
    ranges = [*range_rows(printed), *range_rows(derived)]
    for mono in theirs:
        if covered(mono, mine, ranges, shares):
            continue
        soft = covered(
            mono.without(loose), [own.without(loose) for own in mine], ranges, shares
        )
        hidden = [] if soft else loose
        stated = [own.without(hidden) for own in mine]
        way = direction(mono.without(hidden), stated, ranges, shares)
        if way is None or not outgrows(way, given, claimed_bound, shares):
            continue
        yield found(
            "warning" if soft else "error",
            f"against {derived.variant}",
            f"{derived.source} has the term {mono}, which is "
            + (
                "covered here only if O(.) hides constants with units"
                if soft
                else "not covered here"
            ),
            f"add {mono}",
            term=str(mono),
        )


def against_corrected(printed: Theorem, corrected: Theorem) -> Iterator[AuditFinding]:
    """Yield the ratio of the printed bound and a re-derived one where both apply.

    The ratio is a fact, not an error: a correction may need a larger bound.
    """
    points = _common_points(printed, corrected)
    size = len(next(iter(points.values())))
    if size < 20:
        return
    mine, theirs = bound_at(printed, points), bound_at(corrected, points)
    with np.errstate(all="ignore"):
        ratio = (mine / theirs)[np.isfinite(mine / theirs)]
    if len(ratio):
        low, middle, high = np.quantile(ratio, [0.05, 0.5, 0.95])
        yield note(
            f"against {corrected.variant}",
            f"printed over {corrected.variant}: median {middle:.3g}, 90% between"
            f" {low:.3g} and {high:.3g} at random admissible points",
        )


__all__ = [
    "check_agreement",
    "compare_orders",
    "compare_values",
    "twice_defined",
    "unused_definitions",
]
