"""How large corrected bounds are where nothing refutes the printed one.

A correction is minimal if its bound is at most the printed one wherever the print may
be right. ``[[minimal]]`` in ``errata.toml`` contains these regions: values and
conditions under which no erratum of the severity *the statement is false* applies. The
bounds are compared at random points at which the conditions of both hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from pydantic import ConfigDict, TypeAdapter
from pydantic.dataclasses import dataclass as record

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.bounds.formulas import read_comparison, read_formula
from dfltheory.bounds.regions import (
    Points,
    admissible_points,
    bound_at,
    expanded_conditions,
    values_at,
)
from dfltheory.bounds.registry import REGISTRY
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.common_case import at_values
from validation.papers import FOLDER, PAPERS, statement
from validation.papers.erratum import read_records

_POINTS = 3000
_SYMBOLS = {name: quantity.symbol for name, quantity in GLOSSARY.items()}


@record(frozen=True, config=ConfigDict(extra="forbid"))
class UnrefutedRegion:
    """Where nothing refutes a printed statement.

    Attributes
    ----------
    claim : the printed statement, ``key`` or ``key:variant``
    words : the region in words
    at : quantity -> value
    where : comparisons of quantities
    given : quantity of corrected variants -> formula in the quantities of the print
    factor : the smallest corrected variant is at most this many times the print
    of_corrected : the variant ``corrected`` is at most this many times the print
    reason : why they are larger than the print; empty if they are not
    weaker : corrected variants with weaker assumptions, which may be larger
    """

    claim: str
    words: str
    at: dict[str, int] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    given: dict[str, str] = field(default_factory=dict)
    factor: float = 1.0
    of_corrected: float = 1.0
    reason: str = ""
    weaker: tuple[str, ...] = ()


@dataclass(frozen=True)
class Excess:
    """Corrected over printed bound at random points of a region.

    Attributes
    ----------
    of_variants : variant -> the largest ratio where the variant applies
    of_smallest : the largest ratio of the smallest variant that applies
    applicable : share of the points at which a variant applies
    """

    of_variants: dict[str, float]
    of_smallest: float
    applicable: float


@cache
def unrefuted_regions(paper: str) -> tuple[UnrefutedRegion, ...]:
    """Return the regions of a paper, in the order of its file."""
    file = FOLDER / paper / "errata.toml"
    return read_records(file, "minimal", TypeAdapter(UnrefutedRegion))


def region_of(claim: str) -> UnrefutedRegion | None:
    """Return where nothing refutes a printed statement; None if no region is stored."""
    for paper in PAPERS:
        for region in unrefuted_regions(paper):
            if region.claim == claim:
                return region
    return None


def comparable_variants(region: UnrefutedRegion) -> list[Theorem]:
    """Return the corrected variants of a printed statement with its assumptions."""
    printed = statement(region.claim)
    variants = []
    for theorem in REGISTRY.statements(printed.key.split(".")[0]):
        is_correction = theorem.variant.startswith("corrected")
        has_its_assumptions = theorem.variant not in region.weaker
        if theorem.key == printed.key and is_correction and has_its_assumptions:
            variants.append(theorem)
    return variants


def excess(region: UnrefutedRegion, seed: int = 0) -> Excess:
    """Compare the corrected variants with the print in a region."""
    printed = statement(region.claim)
    variants = comparable_variants(region)
    points = _points(region, printed, variants, seed)
    bound = bound_at(printed, points)
    ratios: dict[str, np.ndarray] = {}
    for variant in variants:
        applies = _hold(expanded_conditions(variant), points) & (bound > 0)
        ratio = np.full(len(bound), np.inf)
        np.divide(bound_at(variant, points), bound, out=ratio, where=applies)
        ratios[variant.variant] = ratio
    smallest = np.min(list(ratios.values()), axis=0)
    return Excess(
        {name: _largest(ratio) for name, ratio in ratios.items()},
        _largest(smallest),
        float(np.isfinite(smallest).mean()),
    )


def _largest(ratios: np.ndarray) -> float:
    return float(ratios[np.isfinite(ratios)].max(initial=0.0))


def _points(
    region: UnrefutedRegion, printed: Theorem, variants: list[Theorem], seed: int
) -> Points:
    """Return random points of a region at which the printed conditions hold."""
    names = {*printed.needs}.union(*(variant.needs for variant in variants))
    conditions = [*at_values(printed, region.at).conditions]
    for text in region.where:
        conditions += comparison_conditions(text, *read_comparison(text, _SYMBOLS))
    rng = np.random.default_rng(seed)
    points = admissible_points(names, conditions, _POINTS, rng)
    size = len(points["L"])
    for name, value in region.at.items():
        points[name] = np.full(size, float(value))
    for name, text in region.given.items():
        (points[name],) = values_at([read_formula(text, _SYMBOLS)], points)
    return points


def _hold(conditions: tuple[Condition, ...], points: Points) -> np.ndarray:
    """Return at which points all conditions hold."""
    all_hold = np.ones(len(points["L"]), dtype=bool)
    for condition in conditions:
        left, right = values_at([condition.left, condition.right], points)
        all_hold &= (left < right) if condition.strict else (left <= right)
    return all_hold


__all__ = [
    "Excess",
    "UnrefutedRegion",
    "comparable_variants",
    "excess",
    "region_of",
    "unrefuted_regions",
]
