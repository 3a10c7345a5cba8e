r"""A theorem's left-hand side at one point of a rate, and problems whose numbers can be varied one by one.

In a :class:`Setting` clients are one-dimensional quadratics f_i(x) = a_i/2 (x - b_i)^2 with f* at x* = 0; the
network is W = lam I + (1 - lam) 11'/m, whose contraction is lam whatever m is; the step sizes are the
theorem's schedule. Without SAM the left-hand side is an exact expectation, at horizons of 10^9 too; with SAM
it is measured over seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.exact import average_over, exactly
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.training.history import History
from dfltheory.training.instance import Instance
from dfltheory.verdicts.reading import Reading, without_chance
from dfltheory.verdicts.schedule import refuse_contradictions, scheduled_algorithm

_LONG = 200
"""Rounds beyond which a mean over rounds is summed in closed form, where that is possible..."""
_MANY = 16
"""...for at most so many clients, whose second moments' map is written out."""
_PATIENCE = 10**5
"""Rounds beyond which nothing is followed round by round."""


@dataclass(frozen=True, eq=False)
class Measured:
    """``estimate`` of a left-hand side; ``deviations`` (seeds,) of each seed from it, as shares of it, or
    None where nothing is left to chance; ``values`` that theorems need, by glossary name."""

    estimate: float
    deviations: NDArray[Any] | None
    values: Mapping[str, float]


def measure(run: History | Measured, theorem: Theorem) -> Measured:
    """What a run says of a theorem's left-hand side.

    Where a minimum (maximum) over rounds is bounded, the seeds deviate at the round that has the least
    (largest) mean.
    """
    if isinstance(run, Measured):
        return run
    reading = Reading(run, theorem)
    if not reading.samples.size:
        raise InputError(f"the run has no round that {theorem} speaks of")
    if reading.theorem.lhs.aggregate == "sum" and reading.unmeasured:
        raise InputError(f"{theorem}: {reading.unmeasured}")
    means = reading.columns.mean(axis=0)
    per_seed = reading.columns[:, means.argmax() if reading.largest else means.argmin()]
    estimate = float(per_seed.mean())
    if not np.isfinite(estimate):
        raise InputError("the run diverged: it has no exponent")
    sure = len(per_seed) < 2 or without_chance(run)
    deviations = None if sure or estimate == 0 else per_seed / estimate - 1
    known = {k: float(np.mean(v)) for k, v in reading.values.items()}
    return Measured(estimate, deviations, known)


def together(points: list[Measured]) -> NDArray[Any] | None:
    """The deviations of all points, (seeds, points); None where no point has any."""
    known = {len(p.deviations) for p in points if p.deviations is not None}
    if not known:
        return None
    if len(known) > 1:
        raise InputError(f"every point needs as many seeds as the others, not {sorted(known)}")
    still = np.zeros(known.pop())
    return np.stack([still if p.deviations is None else p.deviations for p in points], axis=1)


@dataclass(frozen=True)
class Setting:
    """All that a rate's left-hand side depends on; :meth:`with_value` varies one and keeps the rest.

    Attributes
    ----------
    T, K, m, Q : rounds, local steps, clients, gossip steps
    gap : 1 - lam of the network, in (0, 1]
    sigma_l : noise of a stochastic gradient, exactly its root mean square
    sigma_g : heterogeneity at x*, root mean square over clients; the curvatures then differ too (L/2 and L in
        turn), for the mean of clients that all have one curvature does not feel the network
    rho0 : of SAM, rho = rho0/sqrt(T)
    f0_gap : f(x^0) - f*, all clients starting alike
    L : smoothness; the mean curvature is 3 L/4
    letters : further hyperparameters, as ``{"alpha": 0.9}``
    seeds : of a run with SAM
    """

    T: int = 10**6
    K: int = 1
    m: int = 8
    gap: float = 0.5
    Q: int = 1
    sigma_l: float = 0.0
    sigma_g: float = 0.0
    rho0: float = 0.0
    f0_gap: float = 0.0
    L: float = 1.0
    letters: Mapping[str, float] = field(default_factory=dict)
    seeds: int = 16

    def __post_init__(self) -> None:
        for name in ("T", "K", "m", "Q", "seeds"):
            value = getattr(self, name)
            if value != int(value) or value < 1:
                raise InputError(f"{name} = {value} must be a whole number >= 1")
        for name in ("sigma_l", "sigma_g", "rho0", "f0_gap"):
            if not 0 <= getattr(self, name) < np.inf:
                raise InputError(f"{name} = {getattr(self, name)} must be a number >= 0")
        if not 0 < self.gap <= 1:
            raise InputError(f"gap = {self.gap} must lie in (0, 1]: it is 1 - lam")
        if not 0 < self.L < np.inf:
            raise InputError(f"L = {self.L} must be a number > 0")
        refuse_contradictions(self.letters, self.values)
        if self.sigma_g and self.m < 2:
            raise InputError("one client alone has no heterogeneity: take m >= 2, or sigma_g = 0")

    def with_value(self, parameter: str, value: float) -> Setting:
        """The same with another value of one parameter."""
        name = "rho0" if parameter == "rho" else parameter
        known = {f.name for f in fields(self)} - {"letters", "seeds"}
        if name in known:
            return replace(self, **{name: int(value) if name in ("T", "K", "m", "Q") else float(value)})
        if name in self.letters:
            return replace(self, letters={**self.letters, name: value})
        raise UnknownNameError("parameter of a setting", name, known | set(self.letters))

    @property
    def values(self) -> dict[str, float]:
        """All values of this setting by glossary name: the step sizes and the prediction both use them."""
        own: dict[str, float] = {n: getattr(self, n) for n in ("T", "K", "m", "Q")}
        own |= {n: float(getattr(self, n)) for n in ("sigma_l", "sigma_g", "rho0", "f0_gap", "L")}
        return {**self.letters, **own, "lam": 1 - self.gap}

    @property
    def network(self) -> NDArray[Any]:
        """W = lam I + (1 - lam) 11'/m."""
        lam = 1 - self.gap
        return lam * np.eye(self.m) + self.gap * np.ones((self.m, self.m)) / self.m

    @property
    def task(self) -> Quadratic:
        """The clients; grad f_i(0) = +sigma_g and -sigma_g in turn (0 for an odd one, the others scaled)."""
        side = np.resize([1.0, -1.0], self.m)
        if self.m % 2:
            side[-1] = 0.0
        share = side / np.sqrt(max(np.mean(side**2), 1 / self.m))
        curvature = self.L * (0.75 + 0.25 * side * bool(self.sigma_g))
        return Quadratic.diagonal(
            curvature[:, None], -(self.sigma_g * share / curvature)[:, None], self.sigma_l
        )

    @property
    def start(self) -> NDArray[Any]:
        """x^0 with f(x^0) - f* = f0_gap."""
        return np.array([np.sqrt(2 * self.f0_gap / float(self.task.A.mean()))])

    def instance(self, theorem: Theorem) -> Instance:
        """The theorem's algorithm at its schedule on these clients."""
        given: dict[str, Any] = self.values
        algorithm = scheduled_algorithm(theorem, self.task, self.T, self.network, **given)
        return Instance(self.task, algorithm, self.network, self.T, self.seeds, self.start)

    def measure(self, theorem: Theorem) -> Measured:
        """The theorem's left-hand side here, its algorithm run at its schedule."""
        made, side = self.instance(theorem), theorem.lhs
        summed = side.aggregate in ("mean", "sum") and side.rounds(2) == range(2) and self.m <= _MANY
        if self.T > _PATIENCE and (self.rho0 or not summed):
            raise InputError(
                f"T = {self.T} rounds are too many to follow one by one: take T <= {_PATIENCE} (sums in "
                f"closed form are for means and sums over rounds, without SAM, of at most {_MANY} clients)"
            )
        if self.rho0:
            return self._with_own_values(measure(made.run(progress=False), theorem))
        if self.T <= _LONG or not summed:
            return self._with_own_values(measure(exactly(made), theorem))
        known = measure(exactly(replace(made, rounds=2)), theorem).values
        mean = average_over(made.algorithm, made.task, made.network, self.T, made.x0)
        rounds = len(side.rounds(self.T)) if side.aggregate == "sum" else 1
        return self._with_own_values(Measured(rounds * mean[side.measure], None, known))

    def _with_own_values(self, point: Measured) -> Measured:
        """The measured point with the values that this setting stands for."""
        # sigma_g is unbounded over all x where curvatures differ; here it is the heterogeneity at x*
        own = {name: float(value) for name, value in self.values.items()}
        rho = self.rho0 / np.sqrt(self.T)  # where the algorithm has no rho of its own
        return replace(point, values={"rho": rho, **point.values, **own})
