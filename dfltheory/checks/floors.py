"""Check that no bound is below a floor: the left side of an instance in its scope."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import sympy as sp

from dfltheory.bounds.rational_values import RationalValues
from dfltheory.bounds.regions import Points, values_at
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.effective_steps import (
    DUAL,
    LASTING_MOMENTUM,
    MOMENTUM,
    FamilyConstants,
)
from dfltheory.checks.finding import AuditFinding, audit_check, error
from dfltheory.checks.floor_instances import INSTANCES, Constants, FloorInstance
from dfltheory.checks.floor_scope import cites_push_sum, covers, derived_algorithm
from dfltheory.errors import InputError
from dfltheory.graphs import assran_constants

_COUNT = 30_000  # random instances of each family
_TRIED = 40  # most violations that are computed again in fractions
_MOST_CHARACTERS = 24  # of a fraction that is printed in full
_MOST_CLIENTS = 100_000
"""Largest number of clients that is tried for the smallest one with a violation."""
_STEPS = ("eta", "lam_admm", "rho")
_DIGITS = 10**4
"""Cited constants of push-sum are rounded up to a multiple of 1 / _DIGITS."""


def has_floors(theorem: Theorem) -> bool:
    """Return whether there is an instance inside its scope."""
    return any(covers(theorem, instance) for instance in INSTANCES)


@audit_check("floors")
def check_floors(theorem: Theorem) -> Iterator[AuditFinding]:
    """Compare the bound with the left side of each instance that the scope covers.

    An error has a point at which both are fractions.
    """
    for instance in INSTANCES:
        if not covers(theorem, instance):
            continue
        fall = _find_violation(theorem, instance)
        if fall is not None:
            yield _finding(theorem, instance, fall)


@dataclass(frozen=True, eq=False)
class _Draw:
    """Random settings of an instance, with its constants and its floor."""

    numbers: FamilyConstants
    constants: Points
    floor: np.ndarray


def _random_setting(theorem: Theorem, instance: FloorInstance) -> FamilyConstants:
    """Return random settings of an instance.

    Numbers are powers of 2, and counts powers of 4, whose roots are whole: all values
    are exact.
    """
    rng = np.random.default_rng(0)
    algorithm = derived_algorithm(theorem, instance)
    single = algorithm == "DPSGD" or "K" not in theorem.needs
    K = 4.0 ** rng.integers(0, 1 if single else 4, _COUNT)
    m = 4.0 ** rng.integers(1, 9, _COUNT)
    if cites_push_sum(theorem):
        m = np.full(_COUNT, 2.0)
    T = 4.0 ** rng.integers(0, 26, _COUNT)
    L, size = (2.0 ** rng.integers(-8, 9, _COUNT) for _ in range(2))
    eta = 2.0 ** -rng.integers(0, 22, _COUNT).astype(float) / (K * L)
    lam = 1 - 2.0 ** -rng.integers(1, 9, _COUNT).astype(float)
    n = 2.0 ** rng.integers(0, 9, _COUNT)
    alpha = 1 - 2.0 ** -rng.integers(0, 8, _COUNT).astype(float)
    penalty = 2.0 ** rng.integers(0, 5, _COUNT)
    return FamilyConstants(
        K=K,
        m=m,
        T=T,
        L=L,
        eta=eta,
        rho=size,
        rho0=size,
        alpha=alpha if algorithm in (*MOMENTUM, LASTING_MOMENTUM) else 0 * alpha,
        lam_admm=eta * penalty if algorithm in DUAL else eta,
        size=size,
        lam=lam if instance.gossip or instance.everywhere else 0 * lam,
        n=n,
        steps=np.ones(_COUNT) if algorithm == "LocalSGD" else K,
        first=0 * T,
        last=T,
        aggregate=theorem.lhs.aggregate,
        algorithm=algorithm,
    )


def _with_schedule(
    theorem: Theorem, numbers: FamilyConstants
) -> FamilyConstants | None:
    """Return settings with the steps of the schedule and the rounds of the left side.

    None if the schedule contains a quantity that the settings do not have.
    """
    arrays = numbers.arrays()
    chosen: dict[str, np.ndarray] = {}
    for name, step in _scheduled_steps(theorem).items():
        if any(s.name not in arrays for s in step.free_symbols):
            return None
        (chosen[name],) = values_at([step], arrays)
    first, last = values_at([theorem.lhs.first, theorem.lhs.last], arrays)
    return replace(numbers, **chosen, first=first, last=last)


def _scheduled_steps(theorem: Theorem) -> dict[str, Expr]:
    """Return the steps, and SAM's radius, that the schedule determines."""
    return {
        name: theorem.schedule[name] for name in _STEPS if name in theorem.scheduled
    }


def _constants(
    theorem: Theorem, instance: FloorInstance, numbers: FamilyConstants
) -> Constants:
    """Return the constants of an instance, C and q as the theorem means them."""
    known = instance.constants(numbers, theorem.lhs.measure)
    if not cites_push_sum(theorem):
        return known
    cited = assran_constants(m=2, D=2, diameter=1)
    for name, value in (("C", cited.C), ("q", cited.q)):
        rounded_up = Fraction(math.ceil(value * _DIGITS), _DIGITS)
        known[name] = np.full(len(numbers.L), rounded_up, dtype=object)
    return known


def _evaluated(
    theorem: Theorem, instance: FloorInstance, numbers: FamilyConstants
) -> _Draw | None:
    """Return settings with their constants and floors.

    None if the instance lacks a constant that the theorem needs, or does not satisfy
    its assumptions.
    """
    known = _with_schedule(theorem, numbers)
    if known is None:
        return None
    measure = theorem.lhs.measure
    with np.errstate(all="ignore"):
        constants = _constants(theorem, instance, known)
        floor = np.asarray(instance.value(known, measure), dtype=float)
    if not set(theorem.needs) <= set(constants):
        return None
    if theorem.scope.bounded_gradients and "B" not in constants:
        return None
    if _is_bounded(theorem) and {"mu", "mu_each"} & set(theorem.needs):
        return None
    size = len(known.T)
    points = {
        name: np.broadcast_to(np.asarray(constants[name], dtype=float), (size,))
        for name in theorem.needs
    }
    return _Draw(known, points, np.broadcast_to(floor, (size,)))


def _is_bounded(theorem: Theorem) -> bool:
    """Return whether gradients are bounded, which excludes strong convexity."""
    return bool(theorem.scope.bounded_gradients) or "B" in theorem.needs


def _ratio(theorem: Theorem, draw: _Draw) -> np.ndarray:
    """Return bound / floor at each point in double precision.

    It is inf unless all conditions hold and the floor is positive.
    """
    size = len(draw.floor)
    bound = np.broadcast_to(
        theorem.evaluate(where="nan", **draw.constants), (size,)
    ).astype(float)
    usable = np.isfinite(bound) & np.isfinite(draw.floor) & (draw.floor > 0)
    first, last = draw.numbers.first, draw.numbers.last
    usable &= (last >= first) & (first % 1 == 0) & (last % 1 == 0)
    ratio = np.full(size, np.inf)
    ratio[usable] = bound[usable] / draw.floor[usable]
    return ratio


@dataclass(frozen=True)
class Fall:
    """A point at which a bound is below a floor, in fractions.

    Attributes
    ----------
    point : quantity -> value
    bound, floor : both sides
    clients : is m the smallest one with a violation, with all else as in ``point``?
    """

    point: dict[str, Fraction]
    bound: Fraction
    floor: Fraction
    clients: bool = False


def _find_violation(theorem: Theorem, instance: FloorInstance) -> Fall | None:
    """Return a simple point at which the bound is clearly below the floor, if any."""
    draw = _evaluated(theorem, instance, _random_setting(theorem, instance))
    if draw is None:
        return None
    ratio = _ratio(theorem, draw)
    least = float(ratio.min())
    if least >= 1 - 1e-9:
        return None
    low = np.flatnonzero(ratio <= max(least, 0.9))
    if not len(low):
        low = np.flatnonzero(ratio < 1 - 1e-9)
    numbers = draw.numbers.arrays().values()
    with np.errstate(all="ignore"):
        digits = sum(np.abs(np.log2(np.where(v > 0, v, 1.0)[low])) for v in numbers)
    for i in low[np.argsort(digits)][:_TRIED]:
        fall = _exact(theorem, instance, _in_fractions(draw.numbers, int(i)))
        if fall is not None:
            return _fewest_clients(theorem, instance, draw, int(i)) or fall
    return None


def _in_fractions(numbers: FamilyConstants, index: int) -> FamilyConstants:
    """Return one of the settings in fractions, as arrays of length 1."""

    def exact(values: np.ndarray) -> np.ndarray:
        return np.array([Fraction(float(values[index]))], dtype=object)

    return numbers.each(exact)


def _exact(
    theorem: Theorem, instance: FloorInstance, numbers: FamilyConstants
) -> Fall | None:
    """Return both sides in fractions if all conditions hold and the bound is too small.

    None otherwise, and if a value is irrational.
    """
    measure = theorem.lhs.measure
    constants = _constants(theorem, instance, numbers)
    floor = Fraction(instance.value(numbers, measure).item())
    known = {name: Fraction(constants[name].item()) for name in theorem.needs}
    values = RationalValues(theorem, known)
    try:
        for condition in theorem.conditions:
            slack = values.slack(condition)
            if slack < 0 or (condition.strict and slack == 0):
                return None
        bound = values.bound()
    except InputError:
        return None
    if not _scheduled_exactly(theorem, numbers):
        return None
    return Fall(known, bound, floor) if bound < floor else None


def _scheduled_exactly(theorem: Theorem, numbers: FamilyConstants) -> bool:
    """Return whether the steps are those of the schedule, without a rounding error."""
    known = {name: sp.Rational(v.item()) for name, v in numbers.arrays().items()}
    for name, step in _scheduled_steps(theorem).items():
        values = {symbol: known[symbol.name] for symbol in step.free_symbols}
        if step.subs(values) != known[name]:
            return False
    return True


def _fewest_clients(
    theorem: Theorem, instance: FloorInstance, draw: _Draw, index: int
) -> Fall | None:
    """Return the violation with the smallest m, with all else as in one setting.

    None if already the smallest m of the instance has one, or if no such m is found.
    """
    if "m" not in theorem.needs or cites_push_sum(theorem):
        return None
    step = 2 if instance.halves else 1
    clients = np.arange(step, _MOST_CLIENTS + 1, step, dtype=float)
    repeated = draw.numbers.each(lambda v: np.full(len(clients), v[index]))
    numbers = replace(repeated, m=clients)
    moved = _evaluated(theorem, instance, numbers)
    if moved is None:
        return None
    below = np.flatnonzero(_ratio(theorem, moved) < 1)
    if not len(below) or below[0] == 0:
        return None
    first = int(below[0])
    if _exact(theorem, instance, _in_fractions(moved.numbers, first - 1)) is not None:
        return None
    fall = _exact(theorem, instance, _in_fractions(moved.numbers, first))
    if fall is None:
        return None
    return Fall(fall.point, fall.bound, fall.floor, clients=True)


def _fraction_text(value: Fraction) -> str:
    """Return a fraction as text; rounded, and marked so, where it has many digits."""
    text = str(value)
    return text if len(text) <= _MOST_CHARACTERS else f"about {float(value):.6g}"


def _finding(theorem: Theorem, instance: FloorInstance, fall: Fall) -> AuditFinding:
    """Return the finding, with the point as fractions."""
    point = {name: _fraction_text(value) for name, value in fall.point.items() if value}
    absent = [name for name, value in fall.point.items() if not value]
    place = ", ".join(f"{name} = {value}" for name, value in point.items())
    zero = f", {' = '.join(absent)} = 0" if absent else ""
    growth = (
        f"; with all else fixed, m = {fall.point['m']} is the smallest such m"
        if fall.clients
        else ""
    )
    cited = (
        "; C and q are those of Assran et al. (2019), Lemma 3, for two clients, rounded"
        " up"
        if cites_push_sum(theorem)
        else ""
    )
    ratio = float(fall.bound / fall.floor)
    return error(
        "bound",
        f"it is below the floor of {instance.name}: {instance.words}. At {place}{zero}"
        f" the left side is at least {float(fall.floor):.6g}, but the bound is"
        f" {ratio:.4g} times that{growth}{cited}",
        point={name: str(value) for name, value in fall.point.items()},
        bound=str(fall.bound),
        floor=str(fall.floor),
        term=instance.name,
        fewest_clients=str(fall.point["m"]) if fall.clients else None,
    )


__all__ = ["Fall", "check_floors", "has_floors"]
