"""Values of candidates, and of runs that confirm them, by glossary name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.scope import ALONG_RUN
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.bowl_rounds import later_diversity
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.networks import cited_on, computed_on, in_range
from dfltheory.counterexamples.path_measures import Path
from dfltheory.counterexamples.reach import CONVEX, searches_convex
from dfltheory.graphs import push_sum_constants
from dfltheory.verdicts.computed_values import computed_quantities
from dfltheory.verdicts.measures import Gap
from dfltheory.verdicts.rounding import RoundingError
from dfltheory.verdicts.run_values import PUSH_SUM_CONSTANTS, RecordedRun, run_values
from dfltheory.verdicts.value_sources import Source, Values

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

SIMULATED = 4096
"""Maximum number of simulated rounds. Later ones repeat the last rounds of a stationary
state.
"""
GRADIENT_ERROR = 1e-14
"""Rounding error of a gradient along a run, relative to the sum of its terms."""


class CandidateRuns(Source):
    """Runs of P candidates at the horizons (H,), as measured by :func:`.core.simulate`.

    Values are arrays (P,), or (H, P) if they depend on the horizon.
    """

    refutes = True

    def __init__(
        self,
        batch: CandidateBatch,
        path: Path,
        horizons: Sequence[int] | np.ndarray = (),
    ):
        self._batch, self._path = batch, path
        self._horizons = np.asarray(horizons)

    @cached_property
    def _problem(self) -> Values:
        return self._batch.clients.constants()

    def constants(self, theorem: Theorem) -> Values:
        """Return the constants of problems, networks, algorithm and horizons."""
        batch, ones = self._batch, np.ones(self._batch.size)
        d = batch.x0.shape[-1]
        noise = ("sigma_u", "sigma_v") if batch.two_blocks else ("sigma_l",)
        values: Values = {**self._problem, **batch.network}
        values["sigma_l"] = np.hypot.reduce(batch.sigma, axis=-1)
        values.update(zip(noise, batch.sigma.T, strict=True))
        values.update({"m": batch.m * ones, "rho": 0.0 * ones})
        moment = self._path.moment
        if moment is not None and "S2" in theorem.needs:
            values["S2"] = moment
        if moment is not None and bounds_along_run(theorem, batch):
            values["B"] = self._largest_along_run(moment)
        for name, value in batch.algorithm.theory_values(d).items():
            values[name] = value * ones
        if searches_convex(theorem):
            values.update(batch.clients.at_minimizer(batch.x0.mean((1, 2))))
        if self._horizons.size:
            values["T"] = np.repeat(self._horizons[:, None], batch.size, axis=1)
        if self._horizons.size and self._path.diversity is not None:
            values["delta_u"] = self._diversity(self._path.diversity)
        return values

    def cited_push_sum(self) -> Values:
        """Return the cited push-sum constants of each candidate's network."""
        batch = self._batch
        return cited_on(batch.W, batch.copies, batch.x0.shape[-1])

    def computed(
        self, theorem: Theorem, values: Values
    ) -> tuple[Values, dict[str, RoundingError]]:
        """Return computed quantities of each candidate; nan if they are unknown."""
        batch = self._batch
        if batch.drawn:
            names = [quantity.name for quantity in computed_quantities(theorem)]
            return {name: np.full(batch.size, np.nan) for name in names}, {}
        return dict(computed_on(theorem, batch.W, batch.copies, values)), {}

    def start(self, theorem: Theorem) -> Values:
        """Return the mean squares of each candidate's starts and deviations."""
        x0 = self._batch.x0
        shared = x0[..., :1] if self._batch.two_blocks else x0
        deviation = shared - shared.mean(1, keepdims=True)
        return {
            "x0_sq": (x0**2).sum(-1).mean(-1),
            "x0_spread": (deviation**2).sum(-1).mean(-1),
        }

    def gap(self, theorem: Theorem) -> Gap:
        """Return f - f* at round ``theorem.lhs.start``, with its rounding error."""
        values = self._path.value
        start = values[min(theorem.lhs.start, len(values) - 1)]
        gap = start - self._problem["f_star"]
        return Gap(np.maximum(gap, 0.0), _gap_error(self._batch))

    def _largest_along_run(self, moment: np.ndarray) -> np.ndarray:
        """Return B along the run up to each horizon, (P,) or (H, P).

        It includes the rounding errors of gradients and models. It is the bound of all
        gradients if rounds are not simulated and do not repeat.
        """
        path = self._path
        rounds = len(next(iter(path.left.values()))) - 1
        everywhere = self._problem["B"]
        size = np.broadcast_to(path.size, moment.shape)
        terms = self._batch.clients.parts(size).max(1) + self._problem["L"] * size
        seen = np.sqrt(moment) + GRADIENT_ERROR * terms
        return np.where(self._covers(rounds), np.minimum(seen, everywhere), everywhere)

    def _diversity(self, diversity: np.ndarray) -> np.ndarray:
        """Return delta_u of the run up to each horizon; 1 if it is not finite.

        Assumptions bound the diversity in every round. If later rounds than those of
        ``diversity`` (R, P) are needed and the state does not repeat, it is a bound of
        these, too: that of :func:`later_diversity`, or that of all models.
        """
        squares = [diversity[: int(T)].max(0) for T in self._horizons]
        roots = np.sqrt(np.stack(squares))
        later = later_diversity(self._batch, self._path.x)
        all_rounds = np.minimum(np.maximum(roots, later), self._problem["delta_u"])
        roots = np.where(self._covers(len(diversity)), roots, all_rounds)
        return np.where(np.isfinite(roots), roots, 1.0)

    def _covers(self, rounds: int) -> np.ndarray:
        """Return whether so many rounds show all rounds up to each horizon."""
        late = self._horizons[:, None] if self._horizons.size else rounds
        return (self._path.cycle > 0) | (late <= rounds)


def candidate_values(
    theorem: Theorem,
    batch: CandidateBatch,
    path: Path,
    horizons: Sequence[int] | np.ndarray,
) -> tuple[Values, np.ndarray]:
    """Return the values of candidates, and which of them are valid problems.

    f0_gap is at the upper limit of its rounding error. A candidate with an infinite or
    undefined value is invalid, and an arbitrary value in the range of the quantity
    replaces it.
    """
    computed_values = run_values(
        CandidateRuns(batch, path, horizons), theorem
    ).at_upper_gap
    valid = (
        batch.valid
        & np.isfinite(computed_values["f_star"])
        & np.isfinite(path.value).all(0)
    )
    values = {}
    for name, value in computed_values.items():
        finite = np.isfinite(value)
        if name != "B" or "B" in theorem.needs:
            valid = valid & (finite if finite.ndim < 2 else finite.all(0))
        quantity = theorem.glossary.get(name)
        fallback = 1.0 if quantity is None else in_range(quantity)
        values[name] = np.where(finite, value, fallback)
    for name in ("L", "L_u", "L_v"):
        if name in values:
            positive = values[name] > 0
            valid = valid & positive
            values[name] = np.where(positive, values[name], 1.0)
    return values, valid


class CounterexampleRun(RecordedRun):
    """A run of the training core, completed by values that only its candidate knows.

    These are the rounding error of the gap, the second moment and the gradient
    diversity along the trajectory, the constants of convex problems, and the windows of
    push-sum.
    """

    def __init__(self, run: History, batch: CandidateBatch, horizon: int):
        super().__init__(run, refutes=True)
        self._batch, self._horizon = batch, horizon
        self._candidate: dict[str, float] | None = None

    def constants(self, theorem: Theorem) -> Values:
        """Return the constants of the run and of the candidate."""
        batch = self._batch
        known = super().constants(theorem)
        values = {name: value for name, value in known.items() if value is not None}
        values["T"] = self._horizon
        if (
            batch.noise_ramps is not None
        ):  # runs do not report noise that depends on the state
            values["sigma_l"] = float(batch.sigma[0, 0])
        if "S2" in theorem.needs:
            path = simulate(batch, min(self._horizon, SIMULATED), moments=True)
            assert path.moment is not None  # they were asked for
            values["S2"] = float(path.moment[0])
            values.setdefault("B", values["S2"] ** 0.5)  # along the run
        if bounds_along_run(theorem, batch):
            values["B"] = self._of_candidate(theorem)["B"]
        if batch.period > 1 and "window" in theorem.needs:
            windows = push_sum_constants(self.run.topology)
            values |= {name: getattr(windows, name) for name in PUSH_SUM_CONSTANTS}
        if batch.two_blocks:
            values["delta_u"] = self._of_candidate(theorem)["delta_u"]
        else:
            missing = CONVEX & (set(theorem.needs) - set(values))
            if missing:
                values |= self._convex_constants(theorem, missing)
        return values

    def start(self, theorem: Theorem) -> Values:
        """Return the quantities of the start, without the measured distance to x*."""
        values = super().start(theorem)
        values.pop("x_star_sq", None)  # the candidate's value includes its error
        if self._batch.two_blocks:
            values["x0_spread"] = self._of_candidate(theorem)["x0_spread"]
        return values

    def gap(self, theorem: Theorem) -> Gap | None:
        """Return the gap f - f* with the candidate's error; None if unknown."""
        if self._batch.two_blocks:
            value = self._of_candidate(theorem)["f0_gap"]
            return Gap(value, 0.0)
        gap = super().gap(theorem)
        if gap is None:
            return None
        return Gap(
            max(float(np.mean(gap.value)), 0.0), float(_gap_error(self._batch)[0])
        )

    def derived(self, theorem: Theorem, values: Values) -> Values:
        """Return the derived quantities, with rho = 0 unless it is given."""
        return super().derived(theorem, {"rho": 0.0, **values})

    def _of_candidate(self, theorem: Theorem) -> dict[str, float]:
        """Return the candidate's values, simulated up to the horizon."""
        if self._candidate is None:
            rounds = simulated_rounds(theorem, min(self._horizon, SIMULATED))
            moments = needs_moments(theorem, self._batch)
            path = simulate(self._batch, rounds, moments)
            values, _ = candidate_values(theorem, self._batch, path, [self._horizon])
            self._candidate = {
                name: float(np.ravel(value)[0]) for name, value in values.items()
            }
        return self._candidate

    def _convex_constants(
        self, theorem: Theorem, names: frozenset[str] | set[str]
    ) -> Values:
        """Return the named constants of a convex problem that the candidate knows."""
        path = simulate(self._batch, 1, needs_moments(theorem, self._batch))
        values, _ = candidate_values(theorem, self._batch, path, [self._horizon])
        return {
            name: float(np.ravel(values[name])[0]) for name in names if name in values
        }


def counterexample_values(
    run: History, theorem: Theorem, batch: CandidateBatch, horizon: int
) -> Values:
    """Return the values of a run of one candidate.

    f0_gap is at the upper limit of its rounding error.
    """
    return dict(
        run_values(CounterexampleRun(run, batch, horizon), theorem).at_upper_gap
    )


def bounds_along_run(theorem: Theorem, batch: CandidateBatch) -> bool:
    """Return whether B is taken along the run.

    The statement must allow it. With noise or SAM, whose gradients are those of other
    points, B is the bound of all gradients.
    """
    allowed = theorem.scope.bounded_gradients == ALONG_RUN
    is_plain = not (batch.is_random or batch.noise_ramps is not None)
    return allowed and is_plain and not getattr(batch.algorithm, "rho", 0.0)


def needs_moments(theorem: Theorem, batch: CandidateBatch) -> bool:
    """Return whether the second moments of the gradients have to be recorded."""
    return "S2" in theorem.needs or bounds_along_run(theorem, batch)


def largest_gradient(
    theorem: Theorem, batch: CandidateBatch, known: Values
) -> np.ndarray | float:
    """Return the bound of all gradients of the candidates."""
    if bounds_along_run(theorem, batch):
        return batch.clients.constants()["B"]
    return known.get("B", 0.0)


def simulated_rounds(theorem: Theorem, rounds: int) -> int:
    """Return the number of rounds to run for the measure before round ``rounds``.

    It is one more for two blocks, whose measure depends on the next round.
    """
    return rounds + theorem.scope.two_blocks


def _gap_error(batch: CandidateBatch) -> np.ndarray:
    """Return the rounding error of f(x^0) - f* of each candidate."""
    return batch.clients.unsure(batch.x0[..., 0])["f_error"]


__all__ = [
    "GRADIENT_ERROR",
    "SIMULATED",
    "CandidateRuns",
    "CounterexampleRun",
    "bounds_along_run",
    "candidate_values",
    "counterexample_values",
    "largest_gradient",
    "needs_moments",
    "simulated_rounds",
]
