"""The affine round of any algorithm, computed by running it on unit vectors.

The local part of a round (``local_update``) and the computations between calls of
``mix`` (in ``communicate``) act on each client separately. Therefore all clients get
the same unit vector at once, and the vectors are stacked on the seeds axis. The oracle
returns A_i y + pull_i + xi_i with the noise xi set by the probe. Two random points then
test whether the map is affine. Tensors of the state that depend on neither the models
nor the noise (push-sum weights) keep their values; the round may depend on them in any
way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, State, replace
from dfltheory.errors import InputError
from dfltheory.exact.layout import StateLayout, clients_tensors
from dfltheory.exact.moments import Affine
from dfltheory.exact.oracle import ProbeMix, ProbeOracle, ProbeRows
from dfltheory.exact.problem import QuadraticProblem
from dfltheory.exact.stages import ProbedRound, put_together
from dfltheory.exact.trial import MixCall, Readout, Trial, equal_at_both_points

Outcomes = Callable[[int, int], list[np.ndarray]]
"""Maps (round, number of gossip steps) to all possible products of the matrices.
"""
_BATCH = 10**7
"""Largest number of values in one batch of probes."""
_AFFINE = 1e-9
"""Largest deviation at random points from the probed map, relative to its summands.
"""
_SAME = 1e-12
"""Largest difference of products that are treated as equal."""


class Probe:
    """The state and the rounds of an algorithm on a problem, computed by probing.

    Parameters
    ----------
    algorithm : Algorithm
    problem : Problem
    horizon : int
        The number of rounds passed to the algorithm.
    """

    def __init__(self, algorithm: Algorithm, problem: QuadraticProblem, horizon: int):
        self.algorithm = algorithm
        self.problem = problem
        self.horizon = horizon
        self.name = type(algorithm).__name__
        self._random = np.random.default_rng(0)
        self._points: dict[object, Tensor] = {}

    @torch.no_grad()
    def begin(
        self, x0: np.ndarray, outcomes: Outcomes
    ) -> tuple[State, StateLayout, Affine]:
        """Return the state before round 0, its layout, and its map from x^0.

        Raises
        ------
        InputError
            If the algorithm is not an affine recursion of its clients' states.
        """
        x = torch.from_numpy(x0)[None]
        if self.algorithm.inactive_when_isolated:
            raise self.refusal(
                "some clients are inactive in some rounds, but all clients must"
                " participate"
            )
        state = self.algorithm.init(x, self._oracle(self.horizon))
        layout = self._moving_layout(state, outcomes)
        for name in layout.shapes:
            if not getattr(state, name).is_floating_point():
                raise self.refusal(
                    f"its {name} depends on the models, but is not made of real numbers"
                )

        def start(x: Tensor, oracle: ProbeOracle) -> Tensor:
            return layout.vector(self.algorithm.init(x, oracle))

        of_x0 = self.clientwise(start, self.problem.d, self.horizon, "init")
        begun = Affine(of_x0.map, layout.vector(state)[0].numpy(), of_x0.noise)
        return state, layout, begun

    def _moving_layout(self, state: State, outcomes: Outcomes) -> StateLayout:
        """Return the layout of the tensors that depend on the models or the noise.

        The dependence may be direct or indirect.
        """
        names = [name for name in clients_tensors(state) if name != "z"]
        moving, fixed = {"x"}, set(names) - {"x"}
        while True:
            layout = StateLayout.of_state(
                state, [name for name in names if name in moving]
            )
            after = self.trial(state, layout, 0, outcomes).after
            newly_moving = set()
            for name in fixed:
                if not equal_at_both_points(getattr(after, name, None)):
                    newly_moving.add(name)
            if not newly_moving:
                return layout
            for name in newly_moving:
                if getattr(state, name).shape[1] != self.problem.m:
                    raise self.refusal(
                        f"its {name} is common to all clients, but changes: store it"
                        " for each client"
                    )
            moving, fixed = moving | newly_moving, fixed - newly_moving

    # -- one round at two random points: its structure and fingerprint

    @torch.no_grad()
    def trial(
        self, state: State, layout: StateLayout, t: int, outcomes: Outcomes
    ) -> Trial:
        """Perform round t at two random points.

        The tensors of ``layout`` are random; the others are those of ``state``. For
        ``outcomes`` see :data:`Outcomes`.
        """

        def noise(k: int) -> Tensor:
            return self._point(("noise", k), self.problem.d)

        calls: list[MixCall] = []

        def gossip(z: Tensor, times: int, after: int) -> Tensor:
            if equal_at_both_points(z):
                product = self._only_product(z, outcomes(t, times))
                calls.append(MixCall(z, times, after, product))
                return product.to(z.dtype).clone()
            calls.append(MixCall(z.clone(), times, after, None))
            random = self._point(("mixed", len(calls)), int(z[0, 0].numel()))
            return random.reshape(z.shape).clone()

        before = layout.state(state, self._point("state", layout.width))
        sent = self.algorithm.local_update(before, self._oracle(t, noise))
        after = self.algorithm.communicate(sent, ProbeMix(gossip))
        after = replace(after, z=after.x)
        if any(getattr(after, name, None) is None for name in layout.shapes):
            raise self.refusal(
                "its state has other tensors after a round than before: create them in"
                " init"
            )
        if StateLayout.of_state(after, list(layout.shapes)).shapes != layout.shapes:
            raise self.refusal("its state has other shapes after a round than before")
        return Trial(sent, after, calls)

    def _only_product(self, z: Tensor, outcomes: list[np.ndarray]) -> Tensor:
        """Return the product of z with the matrices of some gossip steps.

        Raise InputError if it depends on the outcome of the matrices.
        """
        products = [torch.from_numpy(W) @ z.double() for W in outcomes]
        for other in products if z.numel() else ():
            if float((other - products[0]).abs().max()) > _SAME:
                raise InputError(
                    f"random matrices change the divisor in {self.name}, so its round"
                    " is not affine: use matrices whose rows also sum to 1"
                )
        return products[0]

    def round(
        self, state: State, layout: StateLayout, t: int, trial: Trial
    ) -> ProbedRound:
        """Return round t as a sequence of stages, given its :meth:`trial`."""
        sent, calls = trial.sent, trial.calls
        tensors = {name: getattr(sent, name) for name in clients_tensors(sent)}
        moving = [name for name, x in tensors.items() if not equal_at_both_points(x)]
        after_local = StateLayout.of_state(sent, moving)
        moving_calls = [call for call in calls if call.result is None]
        call_widths = [int(call.z[0, 0].numel()) for call in moving_calls]

        def local(s: Tensor, oracle: ProbeOracle) -> Tensor:
            new = self.algorithm.local_update(layout.state(state, s), oracle)
            return after_local.vector(new)

        def exchange(inputs: Tensor, oracle: ProbeOracle) -> Tensor:
            known = inputs[..., : after_local.width]
            answers = iter(inputs[..., after_local.width :].split(call_widths, -1))
            expected = iter(calls)
            messages: list[Tensor] = []

            def gossip(z: Tensor, times: int, after: int) -> Tensor:
                fixed = next(expected).result
                if fixed is not None:
                    repeated = fixed[:1].expand(len(z), *fixed.shape[1:])
                    return repeated.to(z.dtype).clone()
                messages.append(z.flatten(2).clone())
                return next(answers).reshape(z.shape).clone()

            known_state = after_local.state(sent, known)
            new = self.algorithm.communicate(known_state, ProbeMix(gossip))
            return torch.cat([*messages, layout.vector(new)], -1)

        width = after_local.width + sum(call_widths)
        return put_together(
            local=self.clientwise(local, layout.width, t, "local_update"),
            communicate=self.clientwise(exchange, width, t, "communicate"),
            state=layout.widths,
            after_local=after_local.widths,
            calls=call_widths,
            times=[call.times for call in moving_calls],
        )

    def finish(self, state: State, layout: StateLayout) -> Affine:
        """Return the map of the local work after the last round."""

        def last(s: Tensor, oracle: ProbeOracle) -> Tensor:
            return layout.vector(self.algorithm.finish(layout.state(state, s), oracle))

        return self.clientwise(last, layout.width, self.horizon, "finish")

    @torch.no_grad()
    def readout(self, state: State, layout: StateLayout) -> Readout:
        """Return the points at which a state is measured, as maps of the state."""
        algorithm, width = self.algorithm, layout.width

        def models(s: Tensor, oracle: ProbeOracle) -> Tensor:
            return algorithm.models(layout.state(state, s)).clone()

        def mean(s: Tensor) -> Tensor:
            return algorithm.mean(layout.state(state, s))

        def auxiliary(s: Tensor) -> Tensor:
            point = algorithm.auxiliary(layout.state(state, s))
            assert point is not None
            return point

        models_map = self.clientwise(models, width, self.horizon, "models")
        mean_map = self._linear(mean, width, "mean")
        at_random = layout.state(state, self._point("state", width))
        if algorithm.auxiliary(at_random) is None:
            return Readout(models_map, mean_map, None)
        auxiliary_map = self._linear(auxiliary, width, "auxiliary")
        return Readout(models_map, mean_map, auxiliary_map)

    # -- affine maps from unit vectors

    @torch.no_grad()
    def clientwise(
        self, f: Callable[[Tensor, ProbeOracle], Tensor], width: int, t: int, part: str
    ) -> Affine:
        """Return f as an affine map, including the noise of its draws.

        Parameters
        ----------
        f : function
            Maps (S, m, width) and an oracle to (S, m, q), for each client separately.
        width : int
            Length of the input vectors.
        t : int
            The round of the oracle.
        part : str
            Name of f in messages.
        """
        m, d = self.problem.m, self.problem.d
        draws = self._number_of_draws(f, width, t)
        probes = ProbeRows(m, d, width, draws)

        def values(rows: range) -> np.ndarray:
            states, noise, factors = probes.inputs(rows)
            oracle = self._oracle(t, noise.__getitem__, factors)
            return f(states, oracle).double().numpy()

        results = np.concatenate([values(rows) for rows in probes.batches(_BATCH)])
        constant, without_constant = results[:2]
        at_units = results[probes.units.start : probes.units.stop]
        # (m, q, width + draws d)
        units = np.moveaxis(at_units - without_constant, 0, -1)
        at_points = results[probes.units.stop :]
        for at_point, (s, noise) in zip(at_points, probes.random_points):
            inputs = np.concatenate([s, *noise], -1)
            expected = np.einsum("mqp,mp->mq", units, inputs) + constant
            self._check(at_point, expected, units, inputs, constant, part)
        of_state, of_noise = units[..., :width], units[..., width:]
        if not draws:
            return Affine(of_state, constant)
        covariance = np.zeros((m, of_noise.shape[1], of_noise.shape[1]))
        for of_draw in np.split(of_noise, draws, axis=-1):
            covariance += of_draw @ self.problem.noise @ of_draw.swapaxes(-1, -2)
        return Affine(of_state, constant, covariance)

    def _number_of_draws(
        self, f: Callable[[Tensor, ProbeOracle], Tensor], width: int, t: int
    ) -> int:
        """Return the number of minibatches that f draws."""
        m, d = self.problem.m, self.problem.d

        def no_noise(k: int) -> Tensor:
            return torch.zeros(1, m, d, dtype=torch.float64)

        oracle = self._oracle(t, no_noise)
        f(torch.zeros(1, m, width, dtype=torch.float64), oracle)
        return oracle.draws

    def _linear(
        self, f: Callable[[Tensor], Tensor], width: int, part: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a map f from states (S, m, width) to (S, d) as (J, offset).

        J has the shape (d, m, width).
        """
        m = self.problem.m
        n = m * width

        def values(rows: np.ndarray) -> np.ndarray:
            return f(torch.from_numpy(rows.reshape(-1, m, width))).double().numpy()

        offset = values(np.zeros((1, n)))[0]
        size = max(1, _BATCH // n)
        columns = []
        for first in range(0, n, size):
            units = np.eye(min(size, n - first), n, first)
            columns.append(values(units) - offset)
        J = np.concatenate(columns).T
        rows = np.random.default_rng(2).normal(size=(2, n))
        # one client for _check
        map, constant = J[None], offset[None]
        for row, at_point in zip(rows, values(rows)):
            expected = J @ row + offset
            self._check(at_point[None], expected[None], map, row[None], constant, part)
        return J.reshape(-1, m, width), offset

    def _check(
        self,
        values: np.ndarray,
        expected: np.ndarray,
        map: np.ndarray,
        inputs: np.ndarray,
        offset: np.ndarray,
        part: str,
    ) -> None:
        """Raise InputError if values at a random point deviate from the affine map."""
        summands = np.einsum("mqp,mp->mq", np.abs(map), np.abs(inputs)).max(initial=0.0)
        scale = max(summands + np.abs(offset).max(initial=0.0), 1e-300)
        deviation = np.abs(values - expected).max(initial=0.0)
        if not deviation <= _AFFINE * scale:
            raise self.refusal(
                f"{part} at a random point deviates by {deviation / scale:.2g}"
                " (relative) from the affine map of its unit vectors"
            )

    def refusal(self, reason: str) -> InputError:
        """Return the error that states why the algorithm is not affine."""
        rho = getattr(self.algorithm, "rho", 0.0)
        if rho:
            reason += f"; SAM normalizes gradients: set rho = 0 instead of rho = {rho}"
        return InputError(f"{self.name} is not an affine recursion: {reason}")

    def _oracle(
        self,
        t: int,
        noise: Callable[[int], Tensor] | None = None,
        offset: Tensor | float = 1.0,
    ) -> ProbeOracle:
        return ProbeOracle(self.problem, t, self.horizon, offset, noise)

    def _point(self, key: object, width: int) -> Tensor:
        """Return two random points (2, m, width), which are equal for equal keys."""
        if key not in self._points or self._points[key].shape[-1] != width:
            points = self._random.normal(size=(2, self.problem.m, width))
            self._points[key] = torch.from_numpy(points)
        return self._points[key]


__all__ = ["Probe"]
