"""The recursion of the moments round by round, and their measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, State, replace
from dfltheory.algorithms.blocks import block_coordinates
from dfltheory.algorithms.protocol import unknown_methods_rejected
from dfltheory.exact.blocks import Blocks, MeetingError, Readings, Square, Step
from dfltheory.exact.layout import clients_tensors
from dfltheory.exact.moments import Affine, Moments, Stage, apply, one_round
from dfltheory.exact.network import is_constant, law_of, laws_of
from dfltheory.exact.probe import Probe
from dfltheory.exact.problem import QuadraticProblem
from dfltheory.exact.trial import Readout, Trial
from dfltheory.graphs import MixingSequence

_KEPT = 64
"""Number of cached round maps, which recur for example on periodic networks."""
_COMPARED_ROUNDS = (1, 2, 3, 7, 50, 1000, 10**6)
"""Rounds compared with round 0; if all are equal, all rounds are assumed equal."""


_ROUNDING = 4e-15
"""Relative change that is treated as rounding, for example of push-sum weights."""


class Engine:
    """The recursion of the moments of an algorithm's state on a problem.

    Parameters
    ----------
    algorithm : Algorithm
        Its round must be affine in its state.
    problem : Problem
    sequence : MixingSequence
        Mixing matrices with a known distribution.
    x0 : (m, d) array
        The start.
    rounds : int
        Number of rounds.
    separate : bool
        Whether to decouple the coordinates if the Hessians commute.

    Raises
    ------
    InputError
        If the algorithm is not an affine recursion of its clients' states.
    MeetingError
        From its methods, if a round couples the decoupled coordinates.
    """

    @unknown_methods_rejected()
    def __init__(
        self,
        algorithm: Algorithm,
        problem: QuadraticProblem,
        sequence: MixingSequence,
        x0: np.ndarray,
        rounds: int,
        separate: bool = True,
    ):
        self.algorithm = algorithm
        self.problem = problem
        self.sequence = sequence
        self.rounds = rounds
        self.probe = Probe(algorithm, problem, rounds)
        self._rounds: dict[bytes, list[Stage]] = {}
        self._readings: dict[bytes, Readings] = {}
        """The measures for the last template, by its fixed parts."""
        self.template, self.layout, start_map = self.probe.begin(x0, self._products)
        c = problem.task.constants
        has_two_blocks = algorithm.personal and problem.task.shared is not None
        self.two_block = (c.L_u, c.L_v) if has_two_blocks and c.L_u and c.L_v else None
        """L_u and L_v of a problem with two blocks."""
        can_decouple = problem.decoupled and set(self.layout.widths) == {problem.d}
        self.separate = separate and can_decouple and not self.two_block
        self.basis = np.eye(problem.d) if problem.basis is None else problem.basis
        self.start_map = self._coordinates(start_map, self.layout.widths, [problem.d])
        """The map from x^0 to the state before round 0."""
        B, m = self.start_map.shift.shape[:2]
        inputs = self.start_map.map.shape[-1]
        # the shift of the map contains x^0, so that its argument is 0
        self.start = apply(Moments(np.zeros((B, m, inputs))), self.start_map)

    def states(self) -> Iterator[tuple[Moments, Readings, Step | None]]:
        """Yield the state before rounds 0, 1, ... with its measures and the next round.

        The round is None after the last one.
        """
        state, template = self.start, self.template
        for t in range(self.rounds + 1):
            readings = self.readings(template)
            if t == self.rounds:
                yield state, readings, None
                return
            step, template = self.step(template, t)
            yield state, readings, step
            state = one_round(state, step.stages, step.laws)

    @unknown_methods_rejected()
    def step(self, template: State, t: int) -> tuple[Step, State]:
        """Return round t, and the template of the state after it.

        The template contains the tensors that do not depend on the models or the noise.
        """
        trial = self.probe.trial(template, self.layout, t, self._products)
        key = trial.fingerprint() + self._fixed_parts(template)
        if key not in self._rounds:
            while len(self._rounds) >= _KEPT:
                self._rounds.pop(next(iter(self._rounds)))
            self._rounds[key] = self._stages(template, t, trial)
        if any(call.after for call in trial.calls) and not is_constant(self.sequence):
            raise self.probe.refusal(
                "it continues gossip steps over a network that is not constant"
            )
        stages = self._rounds[key]
        laws = [laws_of(self.sequence, t, s.times) for s in stages]
        exchanges = [stage for stage in stages if stage.mixed]
        if self.sequence.random and len(exchanges) > 1:
            raise self.probe.refusal(
                "it mixes twice by one random matrix, or by different numbers of them"
            )
        after = self._without_rounding(template, trial.after)
        if t + 1 == self.rounds and type(self.algorithm).finish is not Algorithm.finish:
            widths = self.layout.widths
            finish = self.probe.finish(after, self.layout)
            last = Stage(self._coordinates(finish, widths, widths))
            return Step([*stages, last], [*laws, []]), after
        return Step(stages, laws), after

    def _stages(self, template: State, t: int, trial: Trial) -> list[Stage]:
        """Return the stages of round t in the coordinates of the recursion."""
        probed = self.probe.round(template, self.layout, t, trial)
        problems = self.problem.d if self.separate else 1
        stages = []
        ins = probed.first
        for stage, outs in zip(probed.stages, probed.widths):
            local_map = self._coordinates(stage.local_map, outs, ins)
            stages.append(Stage(local_map, stage.mixed // problems, stage.times))
            ins = outs
        return stages

    def readings(self, template: State, consensus: bool = True) -> Readings:
        """Return the measures of a state as functions of it, for a template.

        ``consensus`` is whether the consensus error is among them, which needs (m d)^2
        numbers.
        """
        key = self._fixed_parts(template)
        if key not in self._readings:
            readout = self.probe.readout(template, self.layout)
            self._readings = {key: self._measures(readout, consensus)}
        return self._readings[key]

    @cached_property
    def autonomous(self) -> bool:
        """Whether the round map (its distribution) is the same in every round.

        Round 0 is compared with several other rounds.
        """
        if not is_constant(self.sequence):
            return False
        prints, counts, template = set(), set(), self.template
        for t in (0, *_COMPARED_ROUNDS):
            trial = self.probe.trial(template, self.layout, t, self._products)
            prints.add(trial.fingerprint())
            template = self._without_rounding(template, trial.after)
            # a counter of rounds may take effect in a round that is not compared
            counts.add(self._fixed_parts(template))
        return len(prints) == len(counts) == 1

    # -- coordinates

    def models(self, state: Moments, readings: Readings) -> np.ndarray:
        """Return the expected models (m, d)."""
        mean = apply(Moments(state.mu), readings.models.without_noise()).mu
        return mean[:, :, 0].T @ self.basis.T if self.separate else mean[0]

    def _coordinates(self, by: Affine, outs: list[int], ins: list[int]) -> Affine:
        """Convert a map in flat coordinates to one of B decoupled problems.

        The shape changes from (m, q, p) to (B, m, q / B, p / B).
        """
        if not self.separate:
            noise = None if by.noise is None else by.noise[None]
            return Affine(by.map[None], by.shift[None], noise)
        d, V = self.problem.d, self.basis
        if {*outs, *ins} - {d}:
            raise MeetingError
        m, q, p = by.map.shape[0], len(outs), len(ins)
        shift = np.einsum("mqa,ac->cmq", by.shift.reshape(m, q, d), V)
        map = self._separated(by.map.reshape(m, q, d, p, d), strict=True)
        if by.noise is None:
            return Affine(map, shift)
        noise = self._separated(by.noise.reshape(m, q, d, q, d), strict=False)
        return Affine(map, shift, noise)

    def _separated(self, by: np.ndarray, strict: bool) -> np.ndarray:
        """Return the decoupled entries (d, m, q, p) of a map (m, q, d, p, d).

        If ``strict``, MeetingError is raised unless the other entries vanish.
        """
        V = self.basis
        rotated = np.einsum("mqapb,ac,be->mqcpe", by, V, V, optimize=True)
        decoupled = np.einsum("mqcpc->cmqp", rotated).copy()
        if strict:
            np.einsum("mqcpc->cmqp", rotated)[...] = 0
            others = np.abs(rotated).max(initial=0.0)
            largest = np.abs(decoupled).max(initial=1.0)
            if others > 1e-12 * self.problem.d * largest:
                raise MeetingError
        return decoupled

    # -- measures

    def _measures(self, at: Readout, consensus: bool) -> Readings:
        """Return the measures as functions of the state."""
        d, H = self.problem.d, self.problem.mean_hessian
        models = self._coordinates(at.models, [d], self.layout.widths)
        values, vectors = np.linalg.eigh(H)
        root = vectors * np.sqrt(values.clip(0) / 2) @ vectors.T
        squares = {"grad_norm_sq": self._distance_sq(H, *at.mean)}
        mean = self._distance_sq(np.eye(d), *at.mean, around=np.zeros(d))
        if consensus:
            squares["consensus"] = self._consensus(mean, models)
        loss = self._distance_sq(root, *at.mean)
        squares["loss"] = Square(loss.G, loss.g, self.problem.f_star)
        if at.auxiliary is not None:
            squares["grad_norm_sq_w"] = self._distance_sq(H, *at.auxiliary)
        if self.two_block is None:
            return Readings(squares, models)
        block_measures = self._two_blocks(mean, models, *self.two_block)
        return Readings(squares | block_measures.squares(), models, block_measures)

    def _consensus(self, mean: Square, models: Affine) -> Square:
        """Return the mean squared distance of the models from ``mean``, the mean model.

        The rows (B, m, b, m, p) are client i's model less the mean model, for each i.
        """
        m = self.problem.m
        clients = np.arange(m)
        rows = mean.G[:, None].repeat(m, 1)
        rows[:, clients, :, clients] -= models.map.swapaxes(0, 1)
        offset = (mean.g[:, None] - models.shift).reshape(len(rows), -1)
        rows = rows.reshape(*offset.shape, *rows.shape[-2:])
        return Square(rows / np.sqrt(m), offset / np.sqrt(m))

    def _two_blocks(
        self, mean: Square, models: Affine, L_u: float, L_v: float
    ) -> Blocks:
        """Return the measures of partial personalization, as in training.

        ``mean`` and ``models`` are the mean model and the clients' models as maps of
        the state; client i is measured at (ubar, v_i).
        """
        problem = self.problem
        m, d, A, pull = problem.m, problem.d, problem.A, problem.pull
        shared, personal = block_coordinates(problem.task.shared, d)
        u, v = np.zeros((2, d), dtype=bool)
        u[shared], v[personal] = True, True
        clients, p = np.arange(m), models.map.shape[-1]
        # (m, d, m, p): ubar, v_i and the own model (u_i, v_i) as maps of the state
        ubar, heads, own_models = np.zeros((3, m, d, m, p))
        own_models[clients, :, clients] = models.map[0]
        ubar[:, u] = mean.G[0][u]
        heads[:, v] = own_models[:, v]
        offsets = np.where(u, mean.g[0], models.shift[0])  # (m, d): of (ubar, v_i)
        grad_u_of_ubar = np.einsum("iab,ibjp->ajp", A[:, u], ubar)[None] / m
        grad_u_of_heads = np.einsum("iab,ibjp->ajp", A[:, u], heads)[None] / m
        grad_u_offset = np.einsum("iab,ib->a", A[:, u], offsets) / m
        grad_u_offset = grad_u_offset + pull[:, u].mean(0)
        grad_v = np.einsum("iab,ibjp->iajp", A[:, v], own_models)
        grad_v_offset = np.einsum("iab,ib->ia", A[:, v], models.shift[0]) + pull[:, v]
        return Blocks(
            u=grad_u_of_ubar,
            v=grad_u_of_heads,
            g=grad_u_offset[None],
            head=self._mean_square(grad_v, grad_v_offset),
            value=self._mean_value(ubar + heads, offsets),
            L_u=L_u,
            L_v=L_v,
        )

    def _mean_value(self, maps: np.ndarray, offsets: np.ndarray) -> Square:
        """Return the mean of the clients' objectives at points maps_i s + offsets_i.

        Client i's objective is its minimum plus ||root_i (x - minimizer_i)||^2.
        """
        A, pull, task = self.problem.A, self.problem.pull, self.problem.task
        values, vectors = np.linalg.eigh(A)
        if values.min() < -1e-12 * values.max():
            raise self.probe.refusal(
                "with two blocks, the clients' objectives must be convex"
            )
        roots = np.sqrt(values.clip(0) / 2)[..., None] * vectors.swapaxes(-1, -2)
        inverses = np.linalg.pinv(A, hermitian=True)
        minimizers = -(inverses @ pull[..., None])[..., 0]
        losses = task.loss(torch.from_numpy(minimizers).to(task.dtype)[None])
        return self._mean_square(
            np.einsum("iab,ibjp->iajp", roots, maps),
            np.einsum("iab,ib->ia", roots, offsets - minimizers),
            float(losses.mean()),
        )

    def _mean_square(
        self, G: np.ndarray, g: np.ndarray, constant: float = 0.0
    ) -> Square:
        """Return constant + (1/m) sum_i ||G_i s + g_i||^2."""
        root = np.sqrt(len(G))
        rows = G.reshape(1, -1, *G.shape[2:])
        return Square(rows / root, g.reshape(1, -1) / root, constant)

    def _distance_sq(
        self,
        H: np.ndarray,
        J: np.ndarray,
        offset: np.ndarray,
        around: np.ndarray | None = None,
    ) -> Square:
        """Return the function ||H (J s + offset - x*)||^2."""
        distance = offset - (self.problem.x_star if around is None else around)
        if not self.separate:
            G = np.einsum("ij,jmp->imp", H, J)
            return Square(G[None], (H @ distance)[None])
        V, m, d = self.basis, self.problem.m, self.problem.d
        eigenvalues = np.einsum("ac,ab,bc->c", V, H, V)
        by_client = J.reshape(1, d, m, -1, d).transpose(2, 0, 1, 3, 4)
        J_decoupled = self._separated(by_client, strict=True)  # (d, m, 1, p)
        G = J_decoupled.transpose(0, 2, 1, 3) * eigenvalues[:, None, None, None]
        return Square(G, (distance @ V * eigenvalues)[:, None])

    # -- the network, and what does not depend on the models or the noise

    def _products(self, t: int, times: int) -> list[np.ndarray]:
        """Return the possible products of ``times`` matrices of round t."""
        if self.sequence.random:  # powers suffice to test whether a tensor changes
            outcomes = law_of(self.sequence, t * times)
            return [np.linalg.matrix_power(W, times) for _, W in outcomes]
        product = np.eye(self.sequence.m)
        for law in laws_of(self.sequence, t, times):
            _, W = law[0]
            product = W @ product
        return [product]

    def _fixed_parts(self, template: State) -> bytes:
        """Return the parts of a state that are not in the recursion, as bytes."""
        in_recursion = {*self.layout.shapes, "x", "z"}
        parts = b""
        for f in fields(template):
            value = getattr(template, f.name)
            if f.name in in_recursion:
                continue
            if isinstance(value, Tensor) and value.ndim >= 3:
                parts += value[:1].numpy().tobytes()
            else:
                parts += repr(value).encode()
        return parts

    def _without_rounding(self, before: State, after: State) -> State:
        """Return the state after a round, without changes that are only rounding."""
        kept = {}
        for name in {*clients_tensors(after)} - {*self.layout.shapes, "z"}:
            old, new = getattr(before, name), getattr(after, name)
            if old is None or not torch.equal(new[:1].expand_as(new), new):
                raise self.probe.refusal(
                    f"its {name} is missing before round 0, or changes later: create it"
                    " in init"
                )
            if torch.allclose(old[:1], new, rtol=_ROUNDING, atol=0.0):
                kept[name] = old
        return replace(after, **kept)


__all__ = ["Engine"]
