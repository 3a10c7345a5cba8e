"""One round of the network: x <- W_t x for every seed, the cheaper way, and an account of what is sent."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from numbers import Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm
from dfltheory.algorithms.edges import Edges
from dfltheory.errors import InputError, one_of, whole_number
from dfltheory.graphs.matrices import is_sparse, to_dense
from dfltheory.randomness import Generators, may_draw, numpy_generator, uniform
from dfltheory.training.facts import period_of
from dfltheory.training.laws import Laws

_SPARSE_BELOW = 0.1
"""Share of non-zero weights under which a sparse product is the faster one (measured, see benchmarks)."""

_DENSE_UP_TO = 4096
"""Clients up to which a power of a sparse matrix may be held as a dense one."""

_SMALL = 100_000
"""Multiplications that a dense product finishes before a sparse one has begun."""

_BLOCK = 1 << 20
"""Bytes of all models' coordinates that are mixed at once: what a processor's cache holds."""

_IDLE = np.random.default_rng(0)
"""Handed to sequences that do not draw."""

Step = Callable[[Tensor], Tensor]
"""One product W z for every seed: (S, m, d) -> (S, m, d), a new tensor."""


def product(
    W: Any,
    dtype: torch.dtype,
    device: torch.device | str,
    times: int = 1,
    d: int = 0,
) -> Step:
    """z -> W^times z, by the cheapest way: dense with the power W^times, or ``times`` sparse products.

    A sparse product costs the non-zero weights, a dense one m^2, at about ten times the speed, and without
    the sparse one's overhead, which is all that counts where models of ``d`` parameters are small.
    """
    m, enough = W.shape[0], _SPARSE_BELOW * W.shape[0] ** 2
    stored = W.nnz if is_sparse(W) else np.count_nonzero(W)
    if stored >= enough or (m <= _DENSE_UP_TO and (times * stored >= enough or m * m * d <= _SMALL)):
        power = np.linalg.matrix_power(np.asarray(to_dense(W), dtype=np.float64), times)
        return partial(_dense, torch.from_numpy(power).to(dtype=dtype, device=device))
    width = torch.promote_types(dtype, torch.float32)  # no library mixes half precision
    csr: Any = sp.csr_array(W).astype(str(width).removeprefix("torch."))
    factors = [csr] * times
    if torch.device(device).type == "cpu":
        return partial(_sparse, factors, width)
    return partial(_on_device, [_coo_tensor(factor).to(device) for factor in factors], width)


def _dense(W: Tensor, z: Tensor) -> Tensor:
    return torch.mm(W, z[0])[None] if len(z) == 1 else torch.matmul(W, z)


def _sparse(factors: list[Any], width: torch.dtype, z: Tensor) -> Tensor:
    """scipy's product, which beat torch's CSR on a CPU five times at d = 8e5 and was never slower.

    Long models are mixed some coordinates at a time, which stay in a processor's cache through all factors.
    """
    S, n, d = z.shape
    known = z.to(width).numpy()
    block = max(512, _BLOCK // (n * known.itemsize))
    if S == 1 and d <= block:
        return torch.from_numpy(reduce(_times, factors, known[0])[None]).to(z.dtype)
    mixed = np.empty((S, factors[-1].shape[0], d), known.dtype)
    for before, after in zip(known, mixed):
        for a in range(0, d, block):
            after[:, a : a + block] = reduce(_times, factors, before[:, a : a + block])
    return torch.from_numpy(mixed).to(z.dtype)


def _on_device(factors: list[Tensor], width: torch.dtype, z: Tensor) -> Tensor:
    return torch.stack([reduce(_times, factors, own.to(width)) for own in z]).to(z.dtype)


def _times(z: Any, W: Any) -> Any:
    return W @ z


def _coo_tensor(csr: Any) -> Tensor:
    coo = csr.tocoo()
    places = torch.from_numpy(np.stack(coo.coords))
    return torch.sparse_coo_tensor(places, coo.data, coo.shape, check_invariants=True).coalesce()


Heard = tuple[list[Step], np.ndarray, np.ndarray]
"""Products, of each seed or one for all; the messages of each client (seeds, m), and their sums (seeds,)."""


class Source:
    """One sequence W_0, W_1, ... of a run: how its matrices are drawn, checked, and made products.

    The q-th gossip step of round t uses W_{tQ+q}, Q = ``steps`` a round: the same matrix when the sequence is
    constant, the next one when it moves with time, a fresh draw when it is random. A sequence with
    ``one_per_round`` gives all gossip steps of round t the matrix W_t. What is not known before the first
    round is checked by ``laws`` when it is drawn.
    """

    def __init__(self, sequence: Any, laws: Laws, steps: int, product: Callable[..., Step]):
        self.sequence, self.steps, self.period = sequence, steps, period_of(sequence)
        self.needs_losses = bool(getattr(sequence, "needs_losses", False))
        self.per_seed = bool(sequence.random or self.needs_losses)
        self.constant = self.period == 1
        self.one_per_round = bool(getattr(sequence, "one_per_round", False))
        self._laws, self._product = laws, product
        self._kept: tuple[Any, int, Step] | None = None

    def matrix(self, t: int, q: int, rng: Any = _IDLE, losses: tuple[np.ndarray, ...] = ()) -> Any:
        """The matrix of gossip step q of round t."""
        index = t if self.one_per_round else t * self.steps + q
        W = self.sequence.matrix(index, rng, *losses)
        if self.period is None:
            self._laws.check(W, f"the matrix of round {index}: ")
        return W

    def step(self, matrices: list[Any]) -> Step:
        """One product after the other; a matrix that stays is prepared once, and taken to its power."""
        first, times = matrices[0], len(matrices)
        if any(W is not first for W in matrices):
            steps = [self._product(W) for W in matrices]
            return lambda z: reduce(lambda mixed, one: one(mixed), steps, z)
        if self._kept is None or self._kept[0] is not first or self._kept[1] != times:
            self._kept = (first, times, self._product(first, times=times))
        return self._kept[2]


class Network:
    """The network of a run: its matrices by name, drawn per (root seed, seed index, round); or a server.

    A sequence that does not depend on chance gives one matrix a round for all seeds; a random one gives
    every seed its own. All of a round's matrices are drawn by generators of one key: two sequences over the
    same random links keep to the same ones. Without ``sequences`` there is a server. ``like`` is a tensor of
    models (..., m, d), of the run's precision and device.

    ``sent``: the bits that the clients of each seed have sent so far (S,), a new array after every message.
    """

    def __init__(
        self,
        sequences: Mapping[str, Any],
        algorithm: Algorithm,
        seeds: Sequence[int],
        root: int,
        like: Tensor,
        strict: bool = True,
    ):
        self.seeds, self.root, self.draws = seeds, root, algorithm.draws
        self.like = like.new_empty((0, *like.shape[-2:]))  # the models themselves would stay alive by it
        self.m, d = like.shape[-2:]
        way = partial(product, dtype=like.dtype, device=like.device, d=d)
        self.sources = {
            name: Source(one, Laws(algorithm, self.m, strict, name), algorithm.gossip_steps, way)
            for name, one in sequences.items()
        }
        self.sent = np.zeros(len(seeds))
        self.needs_losses = any(source.needs_losses for source in self.sources.values())
        self.constant = all(source.constant for source in self.sources.values())
        self._kind = Round if sequences else ServerRound
        self._always = self._kind(self, 0) if self.constant else None

    def at(self, t: int, losses: Tensor | None = None, active: Tensor | None = None) -> Round:
        """The mix of round t; ``losses`` (S, m) where the sequence chooses neighbors by them, ``active``
        (S, m, 1) where a server hears only these clients."""
        if self._always is not None and active is None:
            return self._always.moved(t)
        return self._kind(self, t, None if losses is None else losses.double().cpu().numpy(), active)

    @cached_property
    def arcs(self) -> tuple[np.ndarray, Edges]:
        """All arcs that the network ever has: their places (E, 2), and as edges without weights."""
        source = self.sources[MIX]
        period = [source.sequence.matrix(t, _IDLE) for t in range(source.period or 0)]
        places = np.unique(np.concatenate([np.stack(W.nonzero(), axis=1) for W in period]), axis=0)
        places = places[places[:, 0] != places[:, 1]]
        return places, Edges.of_places(places, self.m, self.like)


class Round:
    """The :class:`dfltheory.algorithms.Mix` of one round: its gossip steps W_{t,0}, W_{t,1}, ..."""

    def __init__(
        self, network: Network, t: int, losses: np.ndarray | None = None, active: Tensor | None = None
    ):
        self._network, self._t = network, t
        self._losses, self._active = losses, active
        self._matrices: dict[str, list[tuple[list[Any], Any]]] = {}
        self._done: dict[int, tuple[weakref.ref[Tensor], int, int]] = {}
        self._steps: dict[tuple[str, int, int], Heard] = {}
        self._edges: Edges | None = None
        self._luck: Generators | None = None

    def moved(self, t: int) -> Self:
        """The same in round t, where nothing but its chance differs."""
        self._t, self._luck = t, None
        return self

    def __call__(self, z: Tensor, times: int = 1, W: str = MIX, bits: float | Tensor | None = None) -> Tensor:
        """z_i <- sum_l w_il z_l, ``times`` times, (S, m, k) -> (S, m, k), a new tensor."""
        self._fits(z, "mix", "(S, m, k)")
        shape, dtype = tuple(z.shape), self._network.like.dtype
        if z.ndim != 3:
            raise InputError(f"mix takes tensors (S, m, k), not {shape}: numbers s (S, m) as s[..., None]")
        if z.dtype != dtype:
            raise InputError(f"mix takes the task's {dtype}, not {z.dtype}: convert it by .to(x)")
        times, begin = whole_number("mix: times", times, at_least=1), 0
        if self._done:
            known = self._done.get(id(z))
            begin = known[1] if known is not None and known[0]() is z and known[2] == _writes(z) else 0
        heard = self._heard(W, begin, times)
        steps = heard[0]
        if len(steps) == 1:
            mixed = steps[0](z)
        else:
            mixed = torch.cat([step(z[s : s + 1]) for s, step in enumerate(steps)])
        if not self._network.constant:
            self._done[id(mixed)] = (weakref.ref(mixed), begin + times, _writes(mixed))
        self._count(z, bits, heard)
        return mixed

    def send(self, message: Tensor, bits: float | Tensor | None = None, W: str = MIX) -> Tensor:
        """Every client sends its message to its neighbors, who keep it; ``mix(kept, bits=0)`` averages it."""
        self._fits(message, "send", "(S, m, ...)")
        self._count(message, bits, self._heard(W, 0, 1))
        return message

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Numbers in [0, 1) for every seed and client, as the oracle's: shape = (m, ...) -> (S, m, ...)."""
        network = self._network
        may_draw(shape, network.m, network.draws)
        if self._luck is None:
            self._luck = Generators(network.root, network.seeds, self._t, "message", network.like.device)
        return uniform(self._luck, (network.m, *shape[1:]), network.like)

    @property
    def edges(self) -> Edges:
        """The arcs of the network, with their weights in W_{t,0}."""
        if self._edges is None:
            if self._network.sources[MIX].period is None:
                raise InputError(
                    "mix.edges are the arcs of a network that is fixed or periodic: those of this one change"
                    " from round to round or from seed to seed, so that nothing can be kept for each of them"
                )
            (places, edges), W = self._network.arcs, self._drawn(MIX, 1)[0][0]
            found = torch.from_numpy(np.asarray(W[places[:, 0], places[:, 1]], dtype=np.float64))
            self._edges = replace(edges, weights=found.to(edges.weights))
        return self._edges

    def gather(self, x: Tensor, bits: float | Tensor | None = None) -> Tensor:
        """What each arc's sender has, 0 over arcs that this round lacks: (S, m, ...) -> (S, E, ...)."""
        edges = self.edges
        self._fits(x, "gather", "(S, m, ...)")
        self.send(x, bits)
        return _over(edges, x.index_select(1, edges.senders))

    def swap(self, e: Tensor, bits: float | None = None) -> Tensor:
        """What lies at the other end, 0 over arcs that this round lacks: (S, E, ...) -> (S, E, ...)."""
        edges = self.edges
        if bool((edges.reverse < 0).any()):
            raise InputError(
                "swap needs links that go both ways, and this network has an arc without its reverse: declare"
                ' links = "undirected" on the class, and give an undirected graph'
            )
        self._fits(e, "swap", "(S, E, ...)", len(edges))
        self._count(e, bits, self._heard(MIX, 0, 1))
        return _over(edges, e.index_select(1, edges.reverse))

    @property
    def awake(self) -> Tensor:
        """Participating clients: those that receive or send in W_{t,0}, (S, m, 1), bool."""
        linked = [_others(own[0], 0) + _others(own[0], 1) > 0 for own in self._drawn(MIX, 1)]
        mask = torch.from_numpy(np.stack(linked)).to(self._network.like.device)
        return mask.expand(len(self._network.seeds), -1)[..., None]

    def _fits(self, z: Any, call: str, wanted: str, n: int | None = None) -> None:
        """One clear line unless z is a tensor of all seeds and all clients (or n arcs)."""
        size = (len(self._network.seeds), self._network.m if n is None else n)
        if not isinstance(z, Tensor) or z.shape[:2] != size:
            told = tuple(z.shape) if isinstance(z, Tensor) else f"a {type(z).__name__}"
            raise InputError(f"{call} takes tensors {wanted}, not {told}: the first two axes must be {size}")

    def _count(self, z: Tensor, bits: float | Tensor | None, heard: Heard) -> None:
        """Each message is of ``bits``, each client's own (S, m) or all alike, or of the size of z's part."""
        _, messages, total = heard
        if bits is None:
            self._network.sent = self._network.sent + 8 * z.element_size() * math.prod(z.shape[2:]) * total
            return
        if isinstance(bits, Tensor):
            self._fits(bits, "bits", "(S, m)")
            if bits[0, 0].numel() != 1:
                shape = tuple(bits.shape)
                raise InputError(f"bits has shape {shape}: give a number, or each client's (S, m)")
            each = bits.reshape(bits.shape[:2]).double().cpu().numpy()
            least, more = each.min(), (each * messages).sum(-1)
        elif isinstance(bits, Real):
            least, more = bits, float(bits) * total
        else:
            raise InputError(f"bits = {bits!r} must be a number, or each client's own in a tensor (S, m)")
        if not (least >= 0 and np.isfinite(more).all()):
            raise InputError(f"bits = {bits!r:.60} must be finite and >= 0: they are what a message takes")
        self._network.sent = self._network.sent + more

    def _heard(self, name: str, begin: int, times: int) -> Heard:
        """The gossip steps from W_{t,begin} on; a message to each who hears a client counts, in each step."""
        if (known := self._steps.get((name, begin, times))) is None:
            matrices = [own[begin : begin + times] for own in self._drawn(name, begin + times)]
            source = self._network.sources[name]
            owned = source.constant or source.per_seed or source.one_per_round
            if not owned and begin + times > source.steps:
                raise InputError(
                    f"a round mixes {begin + times} times over a network that moves, of which it owns"
                    f" {source.steps}: let gossip_steps of the class be {begin + times}, so that rounds do"
                    " not overlap"
                )
            steps = [source.step(own) for own in matrices]
            messages = np.stack([_messages(own) for own in matrices])
            known = self._steps[name, begin, times] = steps, messages, messages.sum(-1)
        return known

    def _drawn(self, name: str, n: int) -> list[list[Any]]:
        """The first n matrices of every seed, or of one for all where chance plays no part."""
        network = self._network
        source = network.sources[one_of("matrix of the network", name, network.sources)]
        if name not in self._matrices:
            seeds = network.seeds if source.per_seed else ()
            chance = [numpy_generator(network.root, s, self._t, "network") for s in seeds]
            self._matrices[name] = [([], rng) for rng in chance or [_IDLE]]
        for row, (matrices, rng) in enumerate(self._matrices[name]):
            known = (self._losses[row],) if source.needs_losses and self._losses is not None else ()
            while len(matrices) < n:
                same = (source.constant or source.one_per_round) and matrices
                matrices.append(matrices[0] if same else source.matrix(self._t, len(matrices), rng, known))
        return [matrices for matrices, _ in self._matrices[name]]


class ServerRound(Round):
    """The mix of one round with a server: who takes part sends up, and gets the mean of those.

    In the state everybody has that mean at once; it is counted when a client takes part, and needs it.
    """

    def _heard(self, name: str, begin: int, times: int) -> Heard:
        """Whatever the number of steps: the mean of those who take part, one message up and one down each."""
        one_of("matrix of the network", name, {MIX})
        taking = self.awake[..., 0]
        each = [None] if self._active is None else list(taking)
        messages = 2.0 * taking.double().cpu().numpy()
        return [partial(_mean, who) for who in each], messages, messages.sum(-1)

    @property
    def edges(self) -> Edges:
        raise InputError("edges are the arcs of a network, and this run has none")

    @property
    def awake(self) -> Tensor:
        if self._active is not None:
            return self._active
        size = len(self._network.seeds), self._network.m, 1
        return torch.ones(size, dtype=torch.bool, device=self._network.like.device)


def _others(W: Any, axis: int) -> np.ndarray:
    """How many others hear each client (0: the weights in its column but its own), or are heard by it (1)."""
    linked = W != 0
    return np.asarray(linked.sum(axis=axis), dtype=np.float64).ravel() - linked.diagonal()


def _messages(matrices: list[Any]) -> np.ndarray:
    """Return how many messages each client sends in these gossip steps, (m,)."""
    first = matrices[0]
    if all(W is first for W in matrices):
        return len(matrices) * _others(first, 0)
    return np.sum([_others(W, 0) for W in matrices], axis=0)


def _writes(z: Tensor) -> int:
    """How often z has been written over: what a call gave is told from what was made of it in place."""
    return 0 if z.is_inference() else z._version


def _mean(who: Tensor | None, z: Tensor) -> Tensor:
    """The mean over some clients (None: all), for all of them: (S, m, k) -> (S, m, k), a new tensor."""
    mean = (z if who is None else z[:, who]).mean(1, keepdim=True)
    return mean.expand(z.shape).contiguous()


def _over(edges: Edges, e: Tensor) -> Tensor:
    """What comes over the arcs of this round; nothing does over the others."""
    here = edges.weights != 0
    return e if bool(here.all()) else e.masked_fill_(~here.view(-1, *[1] * (e.ndim - 2)), 0)


__all__ = ["Network", "Round", "ServerRound", "Source", "Step", "product"]
