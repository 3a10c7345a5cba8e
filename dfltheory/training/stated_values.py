"""Contradictions between the stated values and the measures of a run.

Each check is an inequality that every run satisfies. Estimated constants are not
checked, because they may be inaccurate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dfltheory.arrays import FloatArray
from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError

WRITTEN_ROUNDING = 1e-6
"""Relative rounding of numbers written in files."""
OF_EQUAL_VALUES = 1e-3
"""Largest difference of two values of the same quantity, relative to their terms."""
DISCRETE = frozenset({"accuracy", "client_accuracy", "sent_bits"})
"""Measures that may be equal for independent seeds."""


@dataclass(frozen=True, eq=False)
class StatedRun:
    """The stated values and the measures of a run.

    Attributes
    ----------
    problem : ProblemConstants
    stated : mapping
        Further values by glossary name, for example f0_gap.
    arrays : mapping
        Measures by name, (S, R) each.
    rounds : (R,) array
    x0_sq : (S,) array
        mean_i ||x_i^0||^2; NaN if unknown.
    eps : float
        The rounding unit of the run's arithmetic.
    """

    problem: ProblemConstants
    stated: Mapping[str, float]
    arrays: Mapping[str, FloatArray]
    rounds: NDArray[np.int64]
    x0_sq: FloatArray
    eps: float

    def check(self) -> None:
        """Raise InputError if two values contradict each other."""
        self._check_curvature()
        self._check_minimum()
        self._check_decrease()
        self._check_distance()
        self._check_bounded_gradients()
        self._check_gradients()
        self._check_consensus()
        self._check_seeds()

    def constant(self, name: str) -> float | None:
        """Return a constant of the problem, or None if it is unknown or an estimate."""
        if self.problem.standing_of(name) == "estimate":
            return None
        return self.problem.known().get(name)

    @property
    def tolerance(self) -> float:
        """Relative rounding error of a stated or measured value."""
        return max(WRITTEN_ROUNDING, 32 * self.eps)

    # -- the objective -----------------------------------------------------------------

    def gaps(self) -> tuple[FloatArray, FloatArray] | None:
        """Return f - f* and its rounding error, (S, R) each; None if it is unknown."""
        f_star, loss = self.constant("f_star"), self.arrays.get("loss")
        if "f_gap" in self.arrays:
            gap = self.arrays["f_gap"]
            return gap, self.tolerance * (np.abs(gap) + abs(f_star or 0.0))
        if loss is None or f_star is None:
            return None
        return loss - f_star, self.tolerance * (np.abs(loss) + abs(f_star))

    def _check_curvature(self) -> None:
        """Check mu <= L."""
        mu, L = self.constant("mu"), self.constant("L")
        if mu is not None and L is not None and mu > L * (1 + self.tolerance):
            raise InputError(f"mu = {mu:g} contradicts L = {L:g}: mu is at most L")

    def _check_minimum(self) -> None:
        """Check f_star <= f at every round, and f_gap = loss - f_star."""
        gaps, loss = self.gaps(), self.arrays.get("loss")
        f_star = self.constant("f_star")
        if gaps is None:
            return
        gap, error = gaps
        s, r = _index_of_largest(-gap - error)
        if gap[s, r] < -error[s, r]:
            raise InputError(
                f"f - f* = {gap[s, r]:g} at round {self.rounds[r]} must not be"
                " negative: f_star is at most f at every round"
            )
        if "f_gap" not in self.arrays or loss is None or f_star is None:
            return
        relative = max(OF_EQUAL_VALUES, 32 * self.eps)
        beyond = np.abs(loss - f_star - gap)
        beyond = beyond - relative * (np.abs(loss) + abs(f_star) + np.abs(gap))
        s, r = _index_of_largest(beyond)
        if beyond[s, r] > 0:
            raise InputError(
                f"f_gap = {gap[s, r]:g} at round {self.rounds[r]} contradicts loss -"
                f" f_star = {loss[s, r] - f_star:g}: pass only one of them"
            )

    def _check_decrease(self) -> None:
        """Check that f0_gap is at least the decrease of f in the run."""
        gap, loss = self.stated.get("f0_gap"), self.arrays.get("loss")
        if gap is None or loss is None or self.rounds[0] != 0:
            return
        decrease = float(loss[:, 0].mean() - loss.min())
        size = gap + float(np.abs(loss).max())
        if gap < decrease - self.tolerance * size:
            raise InputError(
                f"f0_gap = {gap:g} contradicts the loss, which decreases by"
                f" {decrease:g} in this run"
            )

    def _check_distance(self) -> None:
        """Check that x_star_sq allows the gradient and the decrease of a smooth f."""
        distance, L = self.stated.get("x_star_sq"), self.constant("L")
        if distance is None or not L or self.rounds[0] != 0:
            return
        least = 0.0
        if "grad_norm_sq" in self.arrays:
            least = float(self.arrays["grad_norm_sq"][:, 0].mean()) / L**2
        for name in {"loss", "f_gap"} & self.arrays.keys():
            values = self.arrays[name]
            lost = self.tolerance * float(np.abs(values).max())
            decrease = float(values[:, 0].mean() - values.min()) - lost
            least = max(least, 2 * decrease / L)
        moved = 8 * self.eps * float(np.sqrt(self.x0_sq).max())
        if np.sqrt(distance) * (1 + self.tolerance) + moved < np.sqrt(least):
            raise InputError(
                f"x_star_sq = {distance:g} contradicts the measures of an f that is"
                f" {L:g}-smooth: it is at least {least:g}"
            )

    # -- gradients ---------------------------------------------------------------------

    def _check_bounded_gradients(self) -> None:
        """Check ||grad f|| <= B."""
        B, squares = self.constant("B"), self.arrays.get("grad_norm_sq")
        if B is None or squares is None:
            return
        largest = math.sqrt(float(squares.max()))
        if largest * (1 - self.tolerance) > B:
            raise InputError(
                f"B = {B:g} contradicts grad_norm_sq: B must be an upper bound, but a"
                f" gradient has norm {largest:g}"
            )

    def _check_gradients(self) -> None:
        """Check 2 mu (f - f*) <= ||grad f||^2 <= 2 L (f - f*).

        Only rounds in which the size of the models is known are checked, because the
        gradient may be the rounding error of a large model. The left inequality is
        checked only if f - f* is exact, not an upper bound.
        """
        squares, gaps = self.arrays.get("grad_norm_sq"), self.gaps()
        known = np.isfinite(self._sizes())
        at_start = gaps is None
        if gaps is None and "f0_gap" in self.stated:
            gap = np.full((1, 1), self.stated["f0_gap"])
            gaps, known = (gap, self.tolerance * gap), known & (self.rounds == 0)
        if squares is None or gaps is None or not known.any():
            return
        squares = squares[:, known]
        if at_start:
            squares = squares.mean(axis=0, keepdims=True)
            gap, error = gaps
        else:
            gap, error = (part[:, known] for part in gaps)
        moved = 8 * self.eps * self._sizes()[known]
        self._check_upper(squares, gap, error, moved, self.rounds[known])
        exact = self.problem.standing_of("f_star") == "exact"
        if not at_start and (exact or "f_gap" in self.arrays):
            self._check_lower(squares, gap, error, moved, self.rounds[known])

    def _sizes(self) -> FloatArray:
        """Return the largest root mean square of ||x_i|| in each round, (R,)."""
        if "model_sq" in self.arrays:
            return np.sqrt(self.arrays["model_sq"].max(axis=0))
        return np.where(self.rounds == 0, np.sqrt(self.x0_sq.max()), np.nan)

    def _check_upper(
        self,
        squares: FloatArray,
        gap: FloatArray,
        error: FloatArray,
        moved: FloatArray,
        rounds: NDArray[np.int64],
    ) -> None:
        """Check ||grad f||^2 <= 2 L (f - f*), which smoothness implies.

        ``moved`` is the largest rounding error of a model, and ``error`` that of
        ``gap``; both widen the bound.
        """
        L = self.constant("L")
        if L is None:
            return
        gap_above = gap + error + np.sqrt(squares) * moved + L * moved**2
        root = np.sqrt(2 * L * np.maximum(gap_above, 0.0))
        s, r = _index_of_largest(
            np.sqrt(squares) * (1 - self.tolerance) - root - L * moved
        )
        most = (root + L * moved)[s, r]
        if np.sqrt(squares[s, r]) * (1 - self.tolerance) > most:
            raise InputError(
                f"grad_norm_sq = {squares[s, r]:g} at round {rounds[r]} contradicts"
                f" f - f* = {gap[s, r]:g} and L = {L:g}: it is at most"
                f" 2 L (f - f*) = {2 * L * gap[s, r]:g}"
            )

    def _check_lower(
        self,
        squares: FloatArray,
        gap: FloatArray,
        error: FloatArray,
        moved: FloatArray,
        rounds: NDArray[np.int64],
    ) -> None:
        """Check ||grad f||^2 >= 2 mu (f - f*), with the same tolerances."""
        mu, L = self.constant("mu"), self.constant("L")
        if mu is None or mu <= 0 or L is None:
            return
        gap_below = gap - error - np.sqrt(squares) * moved - L * moved**2
        root = np.sqrt(2 * mu * np.maximum(gap_below, 0.0)) * (1 - self.tolerance)
        s, r = _index_of_largest(root - np.sqrt(squares) - L * moved)
        if np.sqrt(squares[s, r]) + (L * moved)[r] < root[s, r]:
            raise InputError(
                f"grad_norm_sq = {squares[s, r]:g} at round {rounds[r]} contradicts"
                f" f - f* = {gap[s, r]:g} and mu = {mu:g}: it is at least"
                f" 2 mu (f - f*) = {2 * mu * gap[s, r]:g}"
            )

    # -- models and seeds --------------------------------------------------------------

    def _check_consensus(self) -> None:
        """Check consensus <= model_sq."""
        if not {"consensus", "model_sq"} <= set(self.arrays):
            return
        consensus, size = self.arrays["consensus"], self.arrays["model_sq"]
        s, r = _index_of_largest(consensus - size * (1 + self.tolerance))
        if consensus[s, r] > size[s, r] * (1 + self.tolerance):
            raise InputError(
                f"consensus = {consensus[s, r]:g} at round {self.rounds[r]} contradicts"
                f" model_sq = {size[s, r]:g}, which is at least as large"
            )

    def _check_seeds(self) -> None:
        """Raise InputError if seeds of a run with noise have identical measures."""
        later = self.rounds > 0
        if not self.problem.sigma_l or not later.any():
            return
        names = [name for name in self.arrays if name not in DISCRETE]
        if not names:
            return
        rows = np.concatenate([self.arrays[n][:, later] for n in names], axis=1)
        distinct = {row.tobytes(): s for s, row in reversed(list(enumerate(rows)))}
        for s, row in enumerate(rows):
            if distinct[row.tobytes()] != s:
                raise InputError(
                    f"seeds {distinct[row.tobytes()]} and {s} have equal measures, but"
                    f" sigma_l = {self.problem.sigma_l:g}: seeds of a run with noise"
                    " must be independent; pass each once"
                )


def _index_of_largest(values: FloatArray) -> tuple[int, int]:
    """Return the index of the largest value."""
    s, r = np.unravel_index(int(np.argmax(values)), values.shape)
    return int(s), int(r)


__all__ = ["StatedRun"]
