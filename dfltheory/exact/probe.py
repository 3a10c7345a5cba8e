"""The affine round of any algorithm, found by running the algorithm itself on unit vectors.

The clients' part of a round (``local_update``) and what they make of their neighbors' news (``communicate``
between its calls of ``mix``) are clientwise, so that the same unit vector may go to all clients at once; the
vectors lie on the seeds axis. The oracle gives A_i y + pull_i + xi_i with the xi that the probe asks for.
Two random points then tell whether the map was affine. Tensors of the state that neither models nor chance
move (push-sum weights) are followed as they are: the round may depend on them in any way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dfltheory.algorithms.base import replace
from dfltheory.errors import InputError
from dfltheory.exact.moments import Affine, Stage
from dfltheory.exact.problem import Problem
from dfltheory.training.local import tensors
from dfltheory.training.plain_mix import PlainMix

Array = NDArray[Any]
_AT_ONCE = 10**7
"""Numbers of one batch of probes."""
_AFFINE = 1e-9
"""How far two random points may be from the probed map, relative to what is added up there."""
_SIZES = (1.0, 1e3)
"""The sizes of these points."""


class ProbeOracle:
    """The :class:`dfltheory.algorithms.Oracle` of one round whose noise is given: ``noise(k)`` of draw k."""

    active = None

    def __init__(
        self, problem: Problem, t: int, horizon: int, offset: Tensor | float, noise: Callable | None
    ):
        self.t, self.horizon, self.draws = t, horizon, 0
        self.shared, self.blocks, self.shapes = (
            getattr(problem.task, n) for n in ("shared", "blocks", "shapes")
        )
        self._A, self._pull = torch.from_numpy(problem.A), torch.from_numpy(problem.pull) * offset
        self._noise = noise

    def begin(self, x: Tensor) -> Tensor:
        return x.clone()

    def sample(self) -> int:
        self.draws += 1
        return self.draws - 1

    def __call__(self, y: Tensor, batch: int | None) -> Tensor:
        g = torch.matmul(y.transpose(0, 1), self._A.mT).transpose(0, 1) + self._pull
        return g if batch is None or self._noise is None else g + self._noise(batch)

    balanced = __call__

    @property
    def edges(self) -> Any:
        raise _NotAffineError("it keeps something for every arc, and clients' states alone are followed here")

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        raise _NotAffineError("it draws numbers of its own (uniform)")


class _NotAffineError(Exception):
    pass


@dataclass(frozen=True, eq=False)
class Layout:
    """Which tensors of a state (S, m, ...) make up the vector of each client, and their shapes."""

    shapes: dict[str, tuple[int, ...]]

    @property
    def widths(self) -> list[int]:
        return [int(np.prod(shape)) for shape in self.shapes.values()]

    def vector(self, state: Any) -> Tensor:
        """(S, m, width)"""
        parts = [getattr(state, name).flatten(2).double() for name in self.shapes]
        return torch.cat(parts, -1)

    def state(self, template: Any, vector: Tensor) -> Any:
        """The template's state with these vectors (z = x unless told), and all else as often as there are."""
        S = len(vector)
        parts = vector.split(self.widths, -1)
        new = {n: p.clone().unflatten(-1, s) for (n, s), p in zip(self.shapes.items(), parts)}
        new.setdefault("z", new["x"])
        for name, value in tensors(template).items():
            if value.ndim >= 3 and name not in new:
                new[name] = value[:1].expand(S, *value.shape[1:]).clone()
        return replace(template, **new)


def stacked(state: Any) -> list[str]:
    """The names of the clients' own tensors (S, m, ...), but those without any numbers."""
    return [n for n, v in tensors(state).items() if v.ndim >= 3 and v.numel()]


@dataclass(frozen=True, eq=False)
class Round:
    """One round as clientwise maps and exchanges, each map in the flat coordinates of R^d.

    ``widths[k]`` are those of the blocks that stage k gives; ``first`` those of the state.
    """

    stages: list[Stage]
    widths: list[list[int]]
    first: list[int]


@dataclass(frozen=True, eq=False)
class Readout:
    """The points that are measured: ``models`` (clientwise), ``mean`` and ``auxiliary`` as (J, offset) with
    J (d, m, width)."""

    models: Affine
    mean: tuple[Array, Array]
    auxiliary: tuple[Array, Array] | None


class Probe:
    """One algorithm on one problem: its state, and its round found by probing."""

    def __init__(self, algorithm: Any, problem: Problem, horizon: int):
        self.algorithm, self.problem, self.horizon = algorithm, problem, horizon
        self.name = type(algorithm).__name__
        self._random = np.random.default_rng(0)
        self._points: dict[Any, Tensor] = {}

    def begin(self, x0: Array, outcomes: Callable[[int, int], list[Array]]) -> tuple[Any, Layout, Affine]:
        """The state before round 0 with its layout, and as a map of x^0 (its noise, and its value at x0)."""
        x = torch.from_numpy(x0)[None]
        if self.algorithm.sleeps:
            raise self.refusal("its clients sleep in some rounds, and here all of them take part")
        state = self._asked(lambda: self.algorithm.init(x, self._oracle(self.horizon)))
        names = [n for n in stacked(state) if n != "z"]
        free, given = {"x"}, set(names) - {"x"}
        while True:  # what neither the models nor chance move, alone or together
            layout = Layout({n: tuple(getattr(state, n).shape[2:]) for n in names if n in free})
            after = self.trial(state, layout, 0, outcomes).after
            moved = {n for n in given if not _same(getattr(after, n, None))}
            if not moved:
                break
            for n in moved:
                if getattr(state, n).shape[1] != self.problem.m:
                    raise self.refusal(
                        f"its {n} is common to all clients, and moves: keep it for each of them"
                    )
            free, given = free | moved, given - moved
        for n in free:
            if not getattr(state, n).is_floating_point():
                raise self.refusal(f"its {n} is not made of real numbers, and moves with the models")

        def start(x: Tensor, oracle: Any) -> Tensor:
            return layout.vector(self.algorithm.init(x, oracle))

        whole = self.clientwise(start, self.problem.d, self.horizon, "init")
        at = layout.vector(state)[0].numpy()
        return state, layout, Affine(whole.map, at, whole.noise)

    # -- one round at two random points: what it looks like, and its fingerprint ---------------------

    def trial(self, state: Any, layout: Layout, t: int, outcomes: Callable[[int, int], list[Array]]) -> Trial:
        """The round at two random points: ``outcomes(q, times)`` are the products that ``mix`` may be."""
        oracle = self._oracle(t, lambda k: self._point(("noise", k), self.problem.d))
        calls: list[Call] = []

        def mix(z: Tensor, times: int) -> Tensor:
            if _same(z):
                products = [torch.from_numpy(W) @ z.double() for W in outcomes(t, times)]
                apart = (
                    max(float((other - products[0]).abs().max()) for other in products) if z.numel() else 0.0
                )
                if apart > 1e-12:
                    raise InputError(
                        f"random matrices move what {self.name} divides by, so that its round is not affine:"
                        " give matrices whose rows sum to 1 too"
                    )
                calls.append(Call(z, times, products[0]))
                return products[0].to(z.dtype).clone()
            calls.append(Call(z.clone(), times, None))
            return self._point(("mixed", len(calls)), int(z[0, 0].numel())).reshape(z.shape).clone()

        def run() -> tuple[Any, Any]:
            begun = layout.state(state, self._point("state", sum(layout.widths)))
            sent = self.algorithm.local_update(begun, oracle)
            after = self.algorithm.communicate(sent, PlainMix(mix, "exact expectations"))
            return sent, replace(after, z=after.x)

        sent, after = self._asked(run)
        if any(getattr(after, n, None) is None for n in layout.shapes):
            raise self.refusal("its state has other tensors after a round than before: make them in init")
        known = {n: tuple(getattr(after, n).shape[2:]) for n in layout.shapes}
        if known != layout.shapes:
            raise self.refusal("its state has other shapes after a round than before")
        return Trial(sent, after, calls)

    def round(self, state: Any, layout: Layout, t: int, trial: Trial) -> Round:
        """Round t in full."""
        sent, calls = trial.sent, trial.calls
        moving = [n for n in stacked(sent) if not _same(getattr(sent, n))]
        post = Layout({n: tuple(getattr(sent, n).shape[2:]) for n in moving})
        open_calls = [k for k, call in enumerate(calls) if call.given is None]
        call_widths = [int(calls[k].z[0, 0].numel()) for k in open_calls]

        def local(s: Tensor, oracle: Any) -> Tensor:
            return post.vector(self.algorithm.local_update(layout.state(state, s), oracle))

        def exchange(a: Tensor, oracle: Any) -> Tensor:
            after = a[..., : sum(post.widths)]
            answers, heard = list(a[..., sum(post.widths) :].split(call_widths, -1)), []
            count = iter(calls)

            def mix(z: Tensor, times: int) -> Tensor:
                call = next(count)
                if call.given is not None:
                    return call.given[:1].expand(len(z), *call.given.shape[1:]).to(z.dtype).clone()
                heard.append(z.flatten(2).clone())
                return answers[len(heard) - 1].reshape(z.shape).clone()

            new = self.algorithm.communicate(post.state(sent, after), PlainMix(mix, "exact expectations"))
            return torch.cat([*heard, layout.vector(new)], -1)

        first = self.clientwise(local, sum(layout.widths), t, "local_update")
        rest = self.clientwise(exchange, sum(post.widths) + sum(call_widths), t, "communicate")
        times = [calls[k].times for k in open_calls]
        return _put_together(first, rest, layout.widths, post.widths, call_widths, times)

    def finish(self, state: Any, layout: Layout) -> Affine:
        """What the clients do after the last round."""

        def last(s: Tensor, oracle: Any) -> Tensor:
            return layout.vector(self.algorithm.finish(layout.state(state, s), oracle))

        return self.clientwise(last, sum(layout.widths), self.horizon, "finish")

    def readout(self, state: Any, layout: Layout) -> Readout:
        """Where this state is measured."""
        a, width = self.algorithm, sum(layout.widths)
        models = self.clientwise(
            lambda s, oracle: a.models(layout.state(state, s)).clone(), width, self.horizon, "models"
        )
        mean = self._means(lambda s: a.mean(layout.state(state, s)), width, "mean")
        aim = self._asked(lambda: a.auxiliary(layout.state(state, self._point("state", width))))
        aimed = lambda s: a.auxiliary(layout.state(state, s))  # noqa: E731
        return Readout(models, mean, None if aim is None else self._means(aimed, width, "auxiliary"))

    # -- affine maps from unit vectors -------------------------------------------------------------

    def clientwise(self, f: Callable[[Tensor, Any], Tensor], width: int, t: int, part: str) -> Affine:
        """f (S, m, width) -> (S, m, q), each client alone, as an affine map with the noise of its draws."""
        m, d = self.problem.m, self.problem.d
        trial = self._oracle(t, lambda k: torch.zeros(1, m, d, dtype=torch.float64))
        self._asked(lambda: f(torch.zeros(1, m, width, dtype=torch.float64), trial))
        K = trial.draws
        count = 2 + width + K * d  # with the pull, without, unit states, unit noise; then random points
        rng = np.random.default_rng(1)
        points = [(size * rng.normal(size=(m, width)), size * rng.normal(size=(K, m, d))) for size in _SIZES]

        def values(rows: range) -> Array:
            s, xi = np.zeros((len(rows), m, width)), np.zeros((K, len(rows), m, d))
            offset = np.zeros((len(rows), 1, 1))
            for at, row in enumerate(rows):
                if row >= count:
                    s[at], xi[:, at] = points[row - count]
                elif row >= 2 + width:
                    k, c = divmod(row - 2 - width, d)
                    xi[k, at, :, c] = 1
                elif row >= 2:
                    s[at, :, row - 2] = 1
                offset[at] = row == 0 or row >= count
            given = torch.from_numpy(xi)
            oracle = self._oracle(t, lambda k: given[k], torch.from_numpy(offset))
            return self._asked(lambda: f(torch.from_numpy(s), oracle)).double().numpy()

        few = max(1, _AT_ONCE // (m * (width + K * d)))
        out = np.concatenate([values(range(a, min(a + few, count + 2))) for a in range(0, count + 2, few)])
        units = np.moveaxis(out[2:count] - out[1], 0, -1)  # (m, q, width + K d)
        answer, reach = units[..., :width], units[..., width:]
        for at, (s, xi) in zip(out[count:], points):
            inputs = np.concatenate([s, *xi], -1)
            self._check(at, np.einsum("mqp,mp->mq", units, inputs) + out[0], units, inputs, out[0], part)
        noise = np.zeros((m, reach.shape[1], reach.shape[1]))
        for k in range(K):
            one = reach[..., k * d : (k + 1) * d]
            noise += one @ self.problem.noise @ one.swapaxes(-1, -2)
        return Affine(answer, out[0], noise if K else None)

    def _means(self, f: Callable[[Tensor], Tensor], width: int, part: str) -> tuple[Array, Array]:
        """f (S, m, width) -> (S, d) as (J, offset), J (d, m, width)."""
        m = self.problem.m
        n = m * width

        def values(rows: Array) -> Array:
            return self._asked(lambda: f(torch.from_numpy(rows.reshape(-1, m, width)))).double().numpy()

        offset = values(np.zeros((1, n)))[0]
        few = max(1, _AT_ONCE // n)
        J = np.concatenate([values(np.eye(min(few, n - a), n, a)) - offset for a in range(0, n, few)]).T
        rows = np.random.default_rng(2).normal(size=(2, n))
        for row, at in zip(rows, values(rows)):
            self._check(at[None], (J @ row + offset)[None], J[None], row[None], offset[None], part)
        return J.reshape(-1, m, width), offset

    def _check(self, found: Array, expected: Array, map: Array, at: Array, offset: Array, part: str) -> None:
        scale = np.einsum("mqp,mp->mq", np.abs(map), np.abs(at)).max(initial=0.0) + np.abs(offset).max(
            initial=0.0
        )
        apart = np.abs(found - expected).max(initial=0.0)
        if not apart <= _AFFINE * max(scale, 1e-300):
            raise self.refusal(
                f"{part} at a random point is {apart / max(scale, 1e-300):.2g} (relative) from the affine"
                " map of its unit vectors"
            )

    def refusal(self, why: str) -> InputError:
        """One line that names the algorithm and why it is not affine."""
        rho = getattr(self.algorithm, "rho", 0.0)
        if rho:
            why += f"; SAM normalizes gradients: set rho = 0 in place of rho = {rho}"
        return InputError(f"{self.name} is not an affine recursion: {why}")

    def _asked(self, run: Callable[[], Any]) -> Any:
        try:
            with torch.no_grad():
                return run()
        except _NotAffineError as why:
            raise self.refusal(str(why)) from None

    def _oracle(self, t: int, noise: Callable | None = None, offset: Tensor | float = 1.0) -> ProbeOracle:
        return ProbeOracle(self.problem, t, self.horizon, offset, noise)

    def _point(self, key: Any, width: int) -> Tensor:
        """Two random points (2, m, width), the same whenever they are asked for."""
        if key not in self._points or self._points[key].shape[-1] != width:
            self._points[key] = torch.from_numpy(self._random.normal(size=(2, self.problem.m, width)))
        return self._points[key]


@dataclass(frozen=True, eq=False)
class Call:
    """One call of ``mix``: what was sent, how often it is mixed, and the result where it is not random."""

    z: Tensor
    times: int
    given: Tensor | None


@dataclass(frozen=True, eq=False)
class Trial:
    """One round at two random points."""

    sent: Any
    after: Any
    calls: list[Call]

    def fingerprint(self) -> bytes:
        """All numbers of it: two rounds with the same are the same map."""
        parts = [getattr(s, n) for s in (self.sent, self.after) for n in stacked(s)]
        parts += [call.z for call in self.calls]
        return (
            b"".join(part.contiguous().numpy().tobytes() for part in parts)
            + repr([c.times for c in self.calls]).encode()
        )


def _same(z: Any) -> bool:
    """Is it the same at both points?"""
    return isinstance(z, Tensor) and torch.equal(z[:1].expand_as(z), z)


def _put_together(
    first: Affine, rest: Affine, start: list[int], post: list[int], calls: list[int], times: list[int]
) -> Round:
    """Local work and ``communicate`` as stages: the calls of mix in the order in which they need each other.

    ``rest`` maps (post, answers of the calls) to (what the calls send, the new state).
    """
    n, c = len(post), len(calls)
    inputs, sends = _places([*post, *calls]), _places(calls)
    m, made, known = rest.map.shape
    eye = np.broadcast_to(np.eye(known), (m, known, known))  # what is kept, beside what is made
    whole = Affine(np.concatenate([eye, rest.map], 1), np.concatenate([np.zeros((m, known)), rest.shift], 1))
    new = np.arange(known + sum(calls), known + made)

    def taken(rows: list[Array], columns: list[int]) -> Affine:
        at, of = (np.concatenate([*parts, new[:0]]) for parts in (rows, [inputs[b] for b in columns]))
        return Affine(whole.map[:, at[:, None], of], whole.shift[:, at])

    needs = [[j for j in range(c) if taken([known + sends[k]], [n + j]).map.any()] for k in range(c)]
    have, done = list(range(n)), []  # blocks of ``inputs`` that are there, in order
    stages, widths, before = [], [], first
    while len(done) < c:
        now = [k for k in range(c) if k not in done and set(needs[k]) <= set(done)]
        now = [k for k in now if times[k] == times[now[0]]]
        done += now
        used = [new, *(known + sends[k] for k in range(c) if k not in done)]
        keep = [b for b in have if taken(used, [b]).map.any()]
        step = taken([*(known + sends[k] for k in now), *(inputs[b] for b in keep)], have)
        step = step if before is None else step.after(before)
        stages.append(Stage(step, sum(calls[k] for k in now), times[now[0]]))
        have, before = [*(n + k for k in now), *keep], None
        widths.append([[*post, *calls][b] for b in have])
    last = taken([new], have)
    stages.append(Stage(last if before is None else last.after(before)))
    return Round(stages, [*widths, start], start)


def _places(widths: list[int]) -> list[Array]:
    """The indices of blocks that stand one after the other."""
    return np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1]) if widths else []
