"""Global search by differential evolution, followed by local search.

Each family of problems has a population of points in the unit cube, an :class:`Arm`.
First the populations evolve, the more successful ones more often. Then the search tries
steps of decreasing width around the best points. :func:`search` returns the arms.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.score import Scores, score, some_admissible
from dfltheory.counterexamples.search_spaces import SearchSpace
from dfltheory.counterexamples.shared_numbers import varied

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

POPULATION = 96
"""Number of points of each family's population."""
LOCAL = 0.35
"""Fraction of the budget for the local phase."""
TRIES = 16
"""Maximum number of draws of a population's shared numbers until a candidate is
admissible.
"""
DRIFT = 0.2
"""Fraction of the generations that change the shared numbers."""


CANDIDATES_PER_SECOND = 1000
"""Converts seconds to candidates for budgets that count candidates."""


@dataclass(eq=False)
class Arm:
    """A family of problems, with a population of points in the unit cube.

    Attributes
    ----------
    space : SearchSpace
        Decodes points into candidates.
    theorem : Theorem
        The statement that candidates are compared with.
    rng : numpy.random.Generator
        Source of randomness.
    points : (POPULATION, d) array
        The population.
    fitness, ratio : (POPULATION,) arrays
        Fitness, and measured / bound, of the points.
    shared : dict of str to float
        Numbers that all candidates of the population share.
    niches : dict of int to tuple
        For each column of :attr:`.score.Scores.niches`: the best value so far, its
        point, and its shared numbers. They are kept when the population is replaced.
    evaluations : int
        Number of candidates that were evaluated.
    """

    space: SearchSpace
    theorem: Theorem
    rng: np.random.Generator
    points: np.ndarray = field(init=False)
    fitness: np.ndarray = field(init=False)
    ratio: np.ndarray = field(init=False)
    shared: dict[str, float] = field(init=False)
    niches: dict[int, tuple[float, np.ndarray, dict[str, float]]] = field(
        default_factory=dict
    )
    evaluations: int = 0

    def __post_init__(self) -> None:
        from scipy.stats import qmc

        sampler = qmc.Sobol(self.space.dimension, seed=self.rng)
        self.points = sampler.random(128)[:POPULATION]
        for _ in range(TRIES):
            self.shared = self.space.draw(self.rng)
            with np.errstate(all="ignore"):
                batch = self.candidates(self.points)
                if not self.shared or some_admissible(
                    self.theorem, batch, self.space.horizon(self.shared)
                ):
                    break
        scores = self.evaluate(self.points)
        self.fitness, self.ratio = scores.fitness, scores.ratio

    def evaluate(
        self, points: np.ndarray, shared: dict[str, float] | None = None
    ) -> Scores:
        """Return the scores of points of the unit cube.

        The shared numbers are the arm's own by default.
        """
        self.evaluations += len(points)
        shared = self.shared if shared is None else shared
        with np.errstate(all="ignore"):
            batch = self.candidates(points, shared)
            scores = score(
                self.theorem, batch, self.space.rounds, self.space.horizon(shared)
            )
        niches = np.nan_to_num(scores.niches.T, nan=-1.0, posinf=-1.0)
        for k, values in enumerate(niches):
            best = int(values.argmax())
            if values[best] > self.niche_value(k):
                # copy, since the rows of the population are overwritten
                self.niches[k] = float(values[best]), points[best].copy(), shared
        return scores

    def niche_value(self, k: int) -> float:
        """Return the best value of a niche; 0 if it is empty."""
        return self.niches[k][0] if k in self.niches else 0.0

    def candidates(
        self, points: np.ndarray, shared: dict[str, float] | None = None
    ) -> CandidateBatch:
        """Return the candidates at points of the unit cube."""
        return self.space.decode(points, self.shared if shared is None else shared)

    def drift(self, width: float) -> bool:
        """Change the shared numbers by a step of size ``width``.

        Return whether the change is kept, which requires a better best candidate.
        """
        if not self.shared:
            return False
        points = self.points
        # with large steps, often start again from a new population
        if self.rng.random() < width:
            shared, points = self.space.draw(self.rng), self.rng.random(points.shape)
        else:
            shared = varied(self.theorem, self.shared, width, self.rng)
        scores = self.evaluate(points, shared)
        return self.adopt(points, shared, scores)

    def adopt(
        self, points: np.ndarray, shared: dict[str, float], scores: Scores
    ) -> bool:
        """Replace the population if the best candidate of the new one is better.

        Return whether it was replaced.
        """
        if scores.fitness.max() <= self.best_fitness:
            return False
        self.points, self.shared = points, shared
        self.fitness, self.ratio = scores.fitness, scores.ratio
        return True

    def climb(self, k: int, width: float) -> bool:
        """Try steps around the best point of a niche; return whether it improved."""
        best_value, point, shared = self.niches[k]
        trial = self.around(point, width)
        self.adopt(trial, shared, self.evaluate(trial, shared))
        return self.niche_value(k) > best_value

    def around(self, point: np.ndarray, width: float) -> np.ndarray:
        """Return points around ``point`` at distances of all scales up to ``width``."""
        n, d = self.points.shape
        scale = width * 10.0 ** self.rng.uniform(-3, 0, (n, 1))
        mask = self.rng.random((n, d)) < self.rng.choice([0.15, 0.5, 1.0], (n, 1))
        return _reflect(point + scale * mask * self.rng.standard_normal((n, d)))

    @property
    def best(self) -> int:
        """Index of the fittest point."""
        return int(np.argmax(self.fitness))

    @property
    def best_fitness(self) -> float:
        """Fitness of the fittest point."""
        return float(self.fitness[self.best])

    def evolve(self) -> None:
        """Run one generation of differential evolution.

        Each trial is current-to-best/1/bin or, with probability 1/2, current/1/bin.
        Points are kept in the cube by reflection.
        """
        if self.shared and self.rng.random() < DRIFT:
            self.drift(0.5)
            return
        n, d = self.points.shape
        a, b = (self.rng.permutation(n) for _ in range(2))
        F = self.rng.uniform(0.3, 0.9, (n, 1))
        toward = self.rng.uniform(0, 1, (n, 1)) < 0.5
        base = self.points + toward * F * (self.points[self.best] - self.points)
        trial = base + F * (self.points[a] - self.points[b])
        cross = self.rng.random((n, d)) < self.rng.choice([0.3, 0.9], (n, 1))
        cross[np.arange(n), self.rng.integers(0, d, n)] = True
        self.replace(_reflect(np.where(cross, trial, self.points)))

    def refine(self, width: float) -> bool:
        """Try steps around the best point; return whether it improved."""
        if self.shared and self.rng.random() < DRIFT:
            return self.drift(width)
        best = self.best
        trial = self.around(self.points[best], width)
        scores = self.evaluate(trial)
        best_trial = int(np.argmax(scores.fitness))
        if scores.fitness[best_trial] <= self.fitness[best]:
            return False
        self.points[best] = trial[best_trial]
        self.fitness[best] = scores.fitness[best_trial]
        self.ratio[best] = scores.ratio[best_trial]
        return True

    def replace(self, trial: np.ndarray) -> None:
        """Replace each point whose trial is at least as good."""
        scores = self.evaluate(trial)
        better = scores.fitness >= self.fitness
        self.points[better] = trial[better]
        self.fitness[better] = scores.fitness[better]
        self.ratio[better] = scores.ratio[better]


def _reflect(u: np.ndarray) -> np.ndarray:
    """Map points into the unit cube by reflection at its faces."""
    u = np.abs(u) % 2.0
    return np.where(u > 1, 2.0 - u, u)


Clock = Callable[[int], float]
"""Maps the number of evaluated candidates to the budget spent, in seconds or in
candidates.
"""


def wall(candidates: int) -> float:
    """Return the wall-clock time in seconds."""
    return time.monotonic()


def processor(candidates: int) -> float:
    """Return the processor time of this process in seconds."""
    return time.process_time()


def search(
    theorem: Theorem,
    spaces: list[SearchSpace],
    budget: float,
    seed: int,
    enough: float,
    progress: Callable[[float, int], None] | None = None,
    clock: Clock = wall,
) -> list[Arm]:
    """Search for candidates with a large ratio measured / bound.

    The search stops when the ``budget`` is spent, when a ratio reaches ``enough``, or
    when it is interrupted (Ctrl-C) after finding an admissible candidate.

    Parameters
    ----------
    theorem : Theorem
        The statement.
    spaces : list of SearchSpace
        The search spaces, the most promising first.
    budget : float
        Budget in units of ``clock``.
    seed : int
        Seed of the search.
    enough : float
        Ratio at which the search stops.
    progress : callable, optional
        Called with the best ratio and the number of evaluated candidates.
    clock : Clock
        Measures the budget spent.

    Returns
    -------
    list of Arm
        One arm for each search space that was started, in descending order of their
        best fitness.
    """
    state = _Search(theorem, budget, seed, enough, progress, clock)
    try:
        state.begin(spaces)
        state.evolve()
        state.refine()
    except KeyboardInterrupt:
        if not any(
            np.isfinite(_best_ratio(arm)) and _best_ratio(arm) > 0 for arm in state.arms
        ):
            raise
    return _ranked(state.arms)


class _Search:
    """The arms of one search and its budget, with one method for each phase."""

    def __init__(
        self,
        theorem: Theorem,
        budget: float,
        seed: int,
        enough: float,
        progress: Callable[[float, int], None] | None,
        clock: Clock,
    ):
        self.theorem = theorem
        self.enough = enough
        self.arms: list[Arm] = []
        self._rng = np.random.default_rng(seed)
        self._progress = progress
        self._clock = clock
        self._end = clock(0) + budget
        self._end_of_evolution = clock(0) + (1 - LOCAL) * budget

    def begin(self, spaces: list[SearchSpace]) -> None:
        """Draw the first population of each arm."""
        for space in spaces:
            self.arms.append(Arm(space, self.theorem, self._rng))
            self._report()
            if self._time > self._end_of_evolution or self._is_finished:
                break

    def evolve(self) -> None:
        """Evolve all arms for eight generations, then the better ones more often."""
        generation = 0
        while self._time < self._end_of_evolution and not self._is_finished:
            index = generation % len(self.arms)
            if generation >= 8 * len(self.arms):
                index = _choose(self.arms, self._rng)
            self.arms[index].evolve()
            generation += 1
            self._report()

    def refine(self) -> None:
        """Try steps around the best points of the best arms, and of the niches.

        Each round over the best arms is followed by one niche, so that every term of
        the bound is searched.
        """
        best = _ranked(self.arms)[:3]
        widths: dict[Arm | int, float] = dict.fromkeys(best, 0.3)
        niches = sorted({k for arm in self.arms for k in arm.niches})
        while self._time < self._end and not self._is_finished:
            for arm in best:
                widths[arm] = _next_width(widths[arm], arm.refine(widths[arm]))
                if self._time > self._end:
                    break
            if niches:
                k = niches.pop(0)
                niches.append(k)
                width = widths.get(k, 0.3)
                holder = max(self.arms, key=methodcaller("niche_value", k))
                widths[k] = _next_width(width, holder.climb(k, width))
            self._report()

    @property
    def _evaluations(self) -> int:
        return sum(arm.evaluations for arm in self.arms)

    @property
    def _time(self) -> float:
        return self._clock(self._evaluations)

    @property
    def _is_finished(self) -> bool:
        return any(_best_ratio(arm) >= self.enough for arm in self.arms)

    def _report(self) -> None:
        if self._progress is not None:
            self._progress(
                max(_best_ratio(arm) for arm in self.arms), self._evaluations
            )


def _next_width(width: float, better: bool) -> float:
    """Return the next step width: larger after an improvement, else smaller."""
    return min(0.3, width * 1.5) if better else max(1e-6, width * 0.85)


def _ranked(arms: list[Arm]) -> list[Arm]:
    """Return arms in descending order of their best fitness."""
    return sorted(arms, key=attrgetter("best_fitness"), reverse=True)


def _best_ratio(arm: Arm) -> float:
    """Return the ratio of the fittest candidate; 0 if it is not admissible."""
    return float(np.nan_to_num(arm.ratio[arm.best]))


def _choose(arms: list[Arm], rng: np.random.Generator) -> int:
    """Draw an arm; better ones are more likely, and all are possible."""
    order = np.argsort([-arm.best_fitness for arm in arms])
    weights = 0.6 ** np.arange(len(arms)) + 0.02
    return int(order[rng.choice(len(arms), p=weights / weights.sum())])


__all__ = ["CANDIDATES_PER_SECOND", "Arm", "Clock", "processor", "search", "wall"]
