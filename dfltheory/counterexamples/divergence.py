"""Families of problems along which measured / expression grows, for O(.).

An O(.) hides a constant, so no single run contradicts it, and neither do finitely many:
the ratio may stop growing beyond the range examined. A growing family is a reason to
look for a closed form, which can refute the statement. The search draws base problems
of every kind, multiplies one parameter after the other by 1, 4, 16, ..., and fits the
exponent of the ratio to the last points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.growth import growth_words, paces
from dfltheory.counterexamples.confirm import unconfirmed
from dfltheory.counterexamples.growth import MEMBERS, Member, Numbers, kinds, replayed
from dfltheory.counterexamples.search import Clock, wall
from dfltheory.errors import DataError, DFLTheoryError, InputError
from dfltheory.rates import fit_exponent

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

FACTORS = (1.0, 4.0, 16.0, 64.0)
"""Factors of a single parameter along a family."""
JOINTLY = (1.0, 2.0, 4.0, 8.0)
"""Factors of two parameters that grow together, whose product is the number of
simulated steps.
"""
DIVERGES = 0.2
"""A ratio counts as growing if its last two local exponents exceed this."""
LEVELING_FACTOR = 0.8
"""A ratio levels off if its local exponent falls below this fraction of the preceding
one.
"""
STRUCTURE = ("T", "K", "K_u", "K_v", "m", "gap", "alpha")
"""Parameters that no O(.) may hide. All others are constants of the problem, which
authors may intend to hide.
"""


@dataclass(frozen=True)
class Divergence:
    """A one-parameter family of problems, and the growth of its ratio.

    Attributes
    ----------
    key, variant : str
        The statement.
    member : str
        The kind of problem (:mod:`.growth`).
    parameter : str
        The parameter that grows. In ``T*K`` both grow by the same factor, and in
        ``K*T*T`` T grows by its square. ``gap`` is 1/(1 - lam), and ``alpha`` is 1/(1 -
        alpha).
    values : tuple of float
        Values of the first parameter.
    ratios : tuple of float
        measured / expression at these values.
    exponent, low, high : float
        Exponent of the ratio in the parameter, with its lower and upper limits.
    structural : bool
        Whether no O(.) may hide the parameter.
    settled : bool
        Whether the ratio also grows relative to each single term of the expression.
    base : dict
        Numbers of the first member.
    core : float or None
        Ratio of the last member in runs of the training core with its own noise, if
        ``ratios`` come from an exact recursion.
    """

    key: str
    variant: str
    member: str
    parameter: str
    values: tuple[float, ...]
    ratios: tuple[float, ...]
    exponent: float
    low: float
    high: float
    structural: bool
    settled: bool
    base: dict[str, float]
    core: float | None = None

    @property
    def grows(self) -> bool:
        """Whether the ratio grows in a parameter that no O(.) may hide.

        It must grow over the whole range examined. Growth that levels off there, or
        that some term of the expression may catch up with, does not count.
        """
        slopes = _slopes(self.values, self.ratios)
        levels_off = slopes[-1] < LEVELING_FACTOR * slopes[-2]
        grows = (
            self.low > DIVERGES
            and not levels_off
            and self.ratios[-1] > 2 * self.ratios[0]
        )
        confirmed = self.core is None or self.core > 2 / 3 * self.ratios[-1]
        return grows and self.settled and self.structural and confirmed

    def __str__(self) -> str:
        ratios = ", ".join(f"{r:.3g}" for r in self.ratios)
        first, *others = paces(self.parameter)
        first = first if first.isidentifier() else f"({first})"
        fit = f"{first}^{self.exponent:.3g} [{self.low:.3g}, {self.high:.3g}]"
        fit += f", in step with {' and '.join(others)}" if others else ""
        if self.grows:
            ends = f"exponent in [{self.low:.3g}, {self.high:.3g}]"
            return (
                f"measured/expression grows {growth_words(vars(self))}, {ends}"
                f" ({self.member}): {ratios}. This refutes nothing: the ratio may stop"
                " growing beyond this range"
            )
        why = ""
        if not self.structural:
            why += ", a constant of the problem, which an O(.) may mean to hide"
        if not self.settled:
            why += ", before the limit of the expression sets in"
        return f"no growing family found; the steepest grows like {fit}{why}: {ratios}"


def steepest(
    theorem: Theorem, budget: float, seed: int, clock: Clock = wall
) -> tuple[Divergence | None, dict[str, dict[str, float]], int]:
    """Return the family with the steepest growth found within a budget.

    The kinds of problems take turns. The search ends with the first family that grows.

    Returns
    -------
    best : Divergence or None
        The family with the steepest growth.
    rows : dict
        Largest ratio and number of members for each kind and parameter.
    count : int
        Total number of members.

    Raises
    ------
    InputError
        No problem of any kind can be measured, so that the search would be empty.
    """
    _require_measurable(theorem, seed)
    rng, end = np.random.default_rng(seed), clock(0) + budget
    best: Divergence | None = None
    turn = 0
    rows: dict[str, dict[str, float]] = {}
    members = kinds(theorem)

    def count() -> int:
        return int(sum(row["evaluations"] for row in rows.values()))

    def late() -> bool:
        return clock(count()) > end

    while not late() and not (best is not None and best.grows):
        member = members[turn % len(members)]
        turn += 1
        base = member.draw(rng)
        for parameter in member.varied:
            family = family_along(theorem, member, base, parameter, late)
            row = rows.setdefault(
                f"{member.name}, {parameter}", {"ratio": 0.0, "evaluations": 0}
            )
            row["evaluations"] += len(FACTORS)
            if family is not None:
                row["ratio"] = max(row["ratio"], *family.ratios)
                best = family if best is None or _rank(family) > _rank(best) else best
            if late():
                break
    return best, rows, count()


def _require_measurable(theorem: Theorem, seed: int) -> None:
    """Raise InputError if no kind of problem can be measured for the statement."""
    rng = np.random.default_rng(seed)
    reasons = []
    for member in kinds(theorem):
        try:
            member.measure(theorem, member.draw(rng))
        except DFLTheoryError as error:
            reasons.append(str(error))
        else:
            return
    raise InputError(
        f"{reasons[0]}; no family of problems can be measured: add a schedule of step"
        " sizes to the statement"
    )


def _rank(found: Divergence) -> tuple[bool, bool, float]:
    """Return the key by which families are compared; larger is better."""
    return found.grows, found.structural and found.settled, found.low


def _never() -> bool:
    """Return False: there is no time limit."""
    return False


def family_along(
    theorem: Theorem,
    member: Member,
    base: Numbers,
    parameter: str,
    late: Callable[[], bool] = _never,
) -> Divergence | None:
    """Return the family from ``base`` along one parameter.

    A family whose ratio grows is extended by one further member.

    The result is None if a member is outside of the range of the algorithm or the
    statement, if the evaluation at 50 digits does not confirm the expression of a
    growing ratio, or if ``late``, the test of a time limit, returns true.
    """
    factors = JOINTLY if "*" in parameter else FACTORS
    points = [
        _point(theorem, member, base, parameter, factor, late) for factor in factors
    ]
    family = _fit_family(theorem, member, base, parameter, points)
    if family is None or not family.grows:
        return family
    factor = factors[-1] ** 2 / factors[-2]
    further = _point(theorem, member, base, parameter, factor, late)
    points.append(further)
    family = _fit_family(theorem, member, base, parameter, points)
    if family is None or not family.grows or further is None:
        return family
    if not _confirmed(theorem, points):
        return None
    core = member.core(theorem, enlarged(base, parameter, factor))
    return family if core is None else replace(family, core=core / further[2])


def structural(parameter: str) -> bool:
    """Return whether no O(.) may hide this parameter or product of parameters."""
    return set(parameter.split("*")) <= set(STRUCTURE)


MeasuredMember = tuple[float, float, float, Numbers]
"""Factor, measured value, value of the expression, and quantities of a member."""


def _point(
    theorem: Theorem,
    member: Member,
    base: Numbers,
    parameter: str,
    factor: float,
    late: Callable[[], bool],
) -> MeasuredMember | None:
    """Return one member of a family as a point; None if it cannot be measured."""
    if late():
        return None
    numbers = enlarged(base, parameter, factor)
    try:
        measured, values = member.measure(theorem, numbers)
        bound = right_side_value(theorem, values)
    except DFLTheoryError:
        return None  # outside of the range of an algorithm, a task or the statement
    if not (
        np.isfinite([measured, bound]).all() and bound > 0 and measured / bound > 1e-12
    ):
        return None
    return factor, measured, bound, values


def enlarged(base: Numbers, parameter: str, factor: float) -> Numbers:
    """Return the numbers of a member.

    A parameter is multiplied by the factor once for each occurrence of its name.
    """
    names = parameter.split("*")
    return base | {name: base[name] * factor ** names.count(name) for name in names}


def _fit_family(
    theorem: Theorem,
    member: Member,
    base: Numbers,
    parameter: str,
    points: list[MeasuredMember | None],
) -> Divergence | None:
    """Return the family with its fitted exponent; None if a member is missing."""
    whole = [point for point in points if point is not None]
    if len(whole) < len(points):
        return None
    first = parameter.split("*")[0]
    values = [base[first] * point[0] for point in whole]
    ratios = [measured / bound for _, measured, bound, _ in whole]
    fit = fit_exponent(values[-3:], ratios[-3:])
    hidden = not structural(parameter)
    return Divergence(
        theorem.key,
        theorem.variant,
        member.name,
        parameter,
        tuple(values),
        tuple(ratios),
        fit.estimate,
        float(_slopes(values, ratios)[-2:].min()),
        fit.high,
        not hidden,
        hidden or _outgrows_every_term(theorem, whole, values),
        base,
    )


def _outgrows_every_term(
    theorem: Theorem, points: list[MeasuredMember], values: Sequence[float]
) -> bool:
    """Return whether the ratio grows relative to every term of the expression.

    This excludes growth that ends as soon as another term dominates. Exponents are
    those between the last two members; terms that are 0 there are ignored.
    """
    before, after = (
        theorem.evaluate_terms(where="nan", **point[3]) for point in points[-2:]
    )
    step = np.log(values[-1] / values[-2])
    measured = np.log(points[-1][1] / points[-2][1]) / step
    pairs = [(float(before[name]), float(after[name])) for name in after]
    return all(
        measured - np.log(new / old) / step > DIVERGES
        for old, new in pairs
        if old > 0 and new > 0
    )


def _confirmed(theorem: Theorem, points: list[MeasuredMember | None]) -> bool:
    """Return whether the evaluation at 50 digits confirms the expressions.

    It must confirm the conditions, too.
    """
    return not any(
        unconfirmed(theorem, values, bound, math.inf)
        for _, _, bound, values in filter(None, points)
    )


def right_side_value(theorem: Theorem, values: Numbers) -> float:
    """Return the right-hand side without its constant; nan if a condition fails."""
    return float(np.asarray(theorem.evaluate(where="nan", **values)))


def _slopes(values: Sequence[float], ratios: Sequence[float]) -> np.ndarray:
    """Return the local exponents between consecutive members."""
    return np.diff(np.log(ratios)) / np.diff(np.log(values))


def again(family: Divergence, theorem: Theorem) -> Divergence:
    """Measure a saved family again, starting from its base.

    Raises
    ------
    DataError
        The statement does not cover the family, or the family cannot be measured.
    """
    member = MEMBERS[family.member]
    if not theorem.order or not replayed(theorem, member):
        raise DataError(f"{theorem} does not cover problems of the kind {member.name}")
    measured_again = family_along(theorem, member, family.base, family.parameter)
    if measured_again is None:
        raise DataError(
            f"the family of {theorem} with the base {family.base} cannot be measured,"
            " or the evaluation at 50 digits does not confirm its expression"
        )
    return measured_again


__all__ = [
    "Divergence",
    "again",
    "family_along",
    "right_side_value",
    "enlarged",
    "paces",
    "steepest",
    "structural",
]
