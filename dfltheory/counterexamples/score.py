"""Ratios measured / bound of P candidates, each at its worst horizon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.counterexamples.aggregates import at_T, summands
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import (
    SIMULATED,
    candidate_values,
    largest_gradient,
    needs_moments,
    simulated_rounds,
)
from dfltheory.counterexamples.core import FULL, fixed_points, simulate
from dfltheory.counterexamples.left_sides import LONG, measure_by_round
from dfltheory.counterexamples.path_measures import Path
from dfltheory.verdicts.measures import FloatOrArray
from dfltheory.verdicts.rounding import UNDERFLOW_LIMIT

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

STATIONARY_HORIZONS = (10**12, 10**16)
"""Additional horizons of stationary candidates, for gradient measures only: the
rounding error of other measures grows with the horizon.
"""
NOISY = 20000
"""Longest horizon of a counterexample with noise. The training core simulates such runs
in full.
"""
SHORT = (10, 30, 100, 300, 1000, 3000)
"""Shorter horizons that are tried for candidates with noise."""
RETAINED_RATIO = 0.9
"""Fraction of the ratio that a shorter horizon must retain."""
INADMISSIBLE = -1e3
"""Fitness of a candidate that violates no condition, but whose ratio is unknown."""
FLOOR = 1e-9
"""Squared gradients below this fraction of B^2 count as zero, so that rounding errors
are not mistaken for violations.
"""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of P candidates.

    Attributes
    ----------
    ratio : (P,) array
        measured / bound at the worst horizon; nan if the theorem does not apply.
    fitness : (P,) array
        The objective of the search, to be maximized.
    T : (P,) array
        The worst horizon.
    x0 : (P, m, d) array
        Starting points.
    niches : (P, 2 n) array
        For each of the n terms of the bound, the largest ratio at a horizon at which
        the term is at least half of the bound; then, for each term, the largest
        measured / (bound without the term).
    """

    ratio: np.ndarray
    fitness: np.ndarray
    T: np.ndarray
    x0: np.ndarray
    niches: np.ndarray


def score(theorem: Theorem, batch: CandidateBatch, rounds: int, T: int = 0) -> Scores:
    """Simulate candidates and compare them with the bound.

    The last rounds of stationary candidates are repeated up to long horizons. If
    clients may start at different points, fixed points of the rounds near the simulated
    models are tried as starts, too.

    Parameters
    ----------
    theorem : Theorem
        The statement.
    batch : Batch
        The candidates.
    rounds : int
        Number of rounds to simulate if the horizon is free.
    T : int
        The horizon, if it is fixed by a schedule or by enumerated noise; 0 selects the
        worst horizon.
    """
    rounds = int(min(rounds, batch.longest))
    if T:
        horizons = np.array([T])
    else:
        gradient = theorem.lhs.measure in GRADIENT_MEASURES
        long_horizons = (*LONG, *STATIONARY_HORIZONS) if gradient else LONG
        long = [far for far in long_horizons if far <= NOISY or not batch.is_random]
        short = np.unique(np.round(np.geomspace(2, rounds - 1, 12)).astype(int))
        horizons = np.array([1, *short, *long])  # T = 1 shows an index that is off by 1
    first = int(min(T, batch.longest)) if 0 < T <= SIMULATED else rounds
    moments = needs_moments(theorem, batch)
    path = simulate(batch, simulated_rounds(theorem, first), moments)
    best = compared(theorem, batch, path, horizons)
    if theorem.scope.common_start or batch.sigma.any() or batch.period > 1:
        return best
    near = path.x if not T or batch.two_blocks else batch.x0
    at_fixed_points = replace(batch, x0=fixed_points(batch, near))
    path = simulate(at_fixed_points, 3, moments)
    stationary = compared(theorem, at_fixed_points, path, horizons)
    return better(stationary, best)


def shortest_horizon(
    theorem: Theorem, batch: CandidateBatch, T: int, ratio: float
) -> int:
    """Return a short horizon at which a candidate with noise keeps most of its ratio.

    It is the first one in ``SHORT`` at which the ratio exceeds 1 and ``RETAINED_RATIO``
    times
    ``ratio``; ``T`` if there is none. A short horizon saves time, since the training
    core simulates it in full.
    """
    if not batch.is_random or batch.drawn or ratio <= 1:
        return T
    for shorter in SHORT:
        if shorter >= T:
            break
        with np.errstate(all="ignore"):
            shorter_ratio = float(score(theorem, batch, shorter, shorter).ratio[0])
        if shorter_ratio > 1 and shorter_ratio >= RETAINED_RATIO * ratio:
            return shorter
    return T


def some_admissible(theorem: Theorem, batch: CandidateBatch, T: int) -> bool:
    """Return whether some candidate meets every condition, by its first two rounds."""
    path = simulate(batch, 2, needs_moments(theorem, batch))
    known, valid = candidate_values(theorem, batch, path, [T or LONG[0]])
    unmet = violation(theorem, {name: known[name] for name in theorem.needs})
    return bool((valid & (unmet == 0)).any())


def better(one: Scores, other: Scores) -> Scores:
    """Return for each candidate the scores with the larger fitness, else ``other``."""
    wins = one.fitness > other.fitness

    def fitter(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.where(wins.reshape(-1, *(1,) * (first.ndim - 1)), first, second)

    return Scores(
        *(fitter(getattr(one, f.name), getattr(other, f.name)) for f in fields(Scores))
    )


def floor(
    theorem: Theorem,
    batch: CandidateBatch,
    data: np.ndarray,
    known: dict[str, np.ndarray],
) -> np.ndarray:
    """Return the values (P,) below which a measure counts as zero; 0 with noise."""
    of_gradients = theorem.lhs.measure in GRADIENT_MEASURES
    share = (
        largest_gradient(theorem, batch, known) ** 2 if of_gradients else data.max(0)
    )
    return np.where(batch.sigma.any(-1), 0.0, FLOOR * share)


def compared(
    theorem: Theorem, batch: CandidateBatch, path: Path, horizons: np.ndarray
) -> Scores:
    """Return the scores of candidates over the horizons (H,)."""
    known, valid = candidate_values(theorem, batch, path, horizons)
    data = measure_by_round(theorem, batch, path, known)
    cycle, until = path.cycle, np.inf
    # the measure of translating clients is constant where gradients are
    if theorem.lhs.measure in GRADIENT_MEASURES:
        constant = (cycle == 0) & (data[-1] == data[-2])
        translating = np.where(constant, path.translating, 0.0)
        until = np.where(cycle > 0, np.inf, translating)
        cycle = np.where(translating > 0, 1, cycle)
    if batch.transient:  # a lower bound, as the measures are nonnegative
        until = np.where(cycle > 0, np.inf, 0.0)
        cycle = np.maximum(cycle, 1)
    rows = []
    for T in horizons:
        measured = data
        if int(T) > max(LONG):
            measured = measure_by_round(theorem, batch, path, known, int(T))
        rows.append(at_T(theorem, measured, int(T), cycle, until))
    left = np.stack(rows)
    counts = np.array([summands(theorem, int(T)) for T in horizons])[:, None]
    if batch.transient:  # only the simulated rounds count
        counts = counts * np.minimum(1.0, len(data) / horizons)[:, None]
    left = np.where(left < floor(theorem, batch, data, known) * counts, 0.0, left)
    grid = {name: np.broadcast_to(v, left.shape) for name, v in known.items()}
    return judged(theorem, left, grid, valid, batch.x0)


def judged(
    theorem: Theorem,
    left: np.ndarray,
    grid: dict[str, np.ndarray],
    valid: np.ndarray,
    x0: np.ndarray,
) -> Scores:
    """Return the scores of left-hand sides ``left`` (H, P) and values ``grid`` (H, P).

    Candidates that are not ``valid`` have the ratio nan.
    """
    horizons = grid["T"]
    grid = {name: grid[name] for name in theorem.needs}
    evaluated = theorem.evaluate_terms(where="nan", **grid).values()
    terms = np.stack(
        [
            np.broadcast_to(np.asarray(term, dtype=float), left.shape)
            for term in evaluated
        ]
    )
    bound = terms.sum(0)
    with np.errstate(all="ignore"):
        ratio = np.where(valid & (bound > UNDERFLOW_LIMIT), left / bound, np.nan)
        dominant = np.where(terms >= bound / 2, ratio, np.nan)
        others = np.stack([np.delete(terms, k, 0).sum(0) for k in range(len(terms))])
        without = np.where(np.isfinite(ratio) & (others > 0), left / others, np.nan)
    niches = np.fmax.reduce(np.concatenate([dominant, without]), axis=1).T
    known = np.isfinite(ratio)
    best = np.where(known, ratio, -1.0).argmax(0)
    columns = np.arange(left.shape[1])
    ratio, admissible = ratio[best, columns], known.any(0)
    fitness = np.where(
        admissible, np.log10(np.where(admissible, ratio, 1) + 1e-30), INADMISSIBLE
    )
    if not admissible.all():
        broken = violation(theorem, {k: v[0] for k, v in grid.items()})
        fitness = np.where(admissible, fitness, INADMISSIBLE - broken)
    return Scores(
        np.where(admissible, ratio, np.nan),
        fitness,
        horizons[best, columns],
        x0,
        niches,
    )


def violation(theorem: Theorem, values: dict[str, np.ndarray]) -> np.ndarray:
    """Return the total violation of the conditions, which the search minimizes.

    It is 0 if all conditions hold.
    """
    total: np.ndarray = np.zeros(1)
    for _, slack, ok in theorem.check_conditions(**values):
        scale = np.abs(np.asarray(slack)) + 1
        total = total + np.where(ok, 0.0, np.abs(slack) / scale)
    return total


def ratio_at(
    theorem: Theorem,
    data: np.ndarray,
    values: Mapping[str, FloatOrArray],
    T: int,
    floor: float = 0.0,
    cycle: int = 1,
) -> dict[str, float]:
    """Return measured value, bound and ratio of one candidate at horizon T.

    Parameters
    ----------
    theorem : Theorem
        The statement.
    data : (R,) array
        The measure in the first rounds, of which the last ``cycle`` repeat.
    values : mapping
        Quantities by glossary name.
    T : int
        The horizon.
    floor : float
        Smaller measured values count as 0.
    cycle : int
        Number of final rounds that repeat.
    """
    measured = float(at_T(theorem, data[:, None], T, cycle)[0])
    measured = measured if measured > floor * summands(theorem, T) else 0.0
    needed = {name: values[name] for name in theorem.needs if name in values} | {"T": T}
    bound = float(np.asarray(theorem.evaluate(where="ignore", **needed)))
    ratio = measured / bound if bound > 0 else float("inf")
    return {"T": T, "measured": measured, "bound": bound, "ratio": ratio}


def followed(theorem: Theorem, batch: CandidateBatch, T: int) -> Path:
    """Simulate one candidate for T rounds, but at most ``SIMULATED``.

    If it is not stationary by then, it is simulated for up to ``FULL`` rounds.
    """
    moments = needs_moments(theorem, batch)
    path = simulate(batch, simulated_rounds(theorem, min(T, SIMULATED)), moments)
    if T > SIMULATED and not path.cycle[0]:
        path = simulate(batch, simulated_rounds(theorem, min(T, FULL)), moments)
    return path


def at_horizon(
    theorem: Theorem, batch: CandidateBatch, values: Mapping[str, FloatOrArray], T: int
) -> tuple[dict[str, float], int]:
    """Return measured value, bound and ratio of one candidate at one horizon.

    Returns
    -------
    dict
        ``T, measured, bound, ratio, still``. Beyond the simulated rounds a stationary
        candidate repeats its last ones, which is exact; otherwise later rounds count
        as 0.
    int
        Number of final rounds that repeat.
    """
    path = followed(theorem, batch, T)
    numbers = {name: np.asarray(v, dtype=float) for name, v in values.items()}
    data = measure_by_round(theorem, batch, path, numbers, max(T, LONG[-1]))[:, 0]
    cycle = int(path.cycle[0])
    data = data if cycle else np.append(data, 0.0)
    return (
        ratio_at(theorem, data, values, T, -1.0, cycle or 1) | {"still": cycle > 0},
        cycle,
    )


__all__ = [
    "FLOOR",
    "NOISY",
    "Scores",
    "at_horizon",
    "better",
    "followed",
    "ratio_at",
    "score",
    "shortest_horizon",
]
