"""What a run is put together from: topology to sequence, start to stacked models, each checked."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import networkx
import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from dfltheory import graphs
from dfltheory.algorithms.base import MIX, Algorithm, Law, check_class
from dfltheory.errors import GraphError, InputError, UnknownNameError, whole_number
from dfltheory.graphs import Constant, MixingSequence, as_sequence
from dfltheory.graphs.matrices import Matrix, settle
from dfltheory.graphs.weights import column_stochastic_of, metropolis_of
from dfltheory.randomness import torch_generator
from dfltheory.tasks.task import Task
from dfltheory.training.facts import period_of
from dfltheory.training.laws import Laws
from dfltheory.training.records import refuse_unwritable


def check_kinds(algorithm: Any, task: Any, on_divergence: str) -> None:
    """One clear line unless the parts of a run are what they are taken for."""
    if not isinstance(algorithm, Algorithm):
        told = algorithm.__name__ if isinstance(algorithm, type) else repr(algorithm)
        raise InputError(
            f"algorithm = {told} must be an Algorithm with its hyperparameters, as in DFedAvg(eta=0.1, K=5)"
        )
    check_class(type(algorithm))
    refuse_unwritable(algorithm)
    if not isinstance(task, Task):
        raise InputError(
            f"task is a {type(task).__name__}, not a task: tasks.Supervised(module, [(X_1, y_1), ...]) makes"
            " one of any torch module and the clients' tensors"
        )
    for letter, value in vars(algorithm).items():
        if isinstance(value, float) and abs(value) > torch.finfo(task.dtype).max:
            raise InputError(
                f"{letter} = {value:g} is beyond the task's {task.dtype} numbers: take a smaller one"
            )
    if on_divergence not in ("mark", "raise"):
        raise InputError(f"on_divergence = {on_divergence!r} must be mark or raise")


def functions(name: str, values: Any) -> list[Any]:
    """The functions of an iterable, as a list, so that it can be gone through twice."""
    if not isinstance(values, Iterable) or not all(map(callable, listed := list(values))):
        raise InputError(f"{name} must be a list of functions, not {values!r}")
    return listed


MOST_SEEDS = 10**6
"""Each has a generator of some 5 kB."""


def seed_indices(seeds: int | Sequence[int]) -> Sequence[int]:
    """S -> 0..S-1; a sequence of indices as it is."""
    if isinstance(seeds, (list, tuple, range)):
        for s in seeds:
            whole_number("seed index", s, at_least=0)
        if not seeds or len(set(seeds)) < len(seeds):
            raise InputError(f"seeds = {seeds!r} must be different indices, at least one")
        return [int(s) for s in seeds]
    if whole_number("seeds", seeds, at_least=1) > MOST_SEEDS:
        raise InputError(
            f"seeds = {seeds}: at most {MOST_SEEDS} runs are batched; give parts, as range(a, b)"
        )
    return range(int(seeds))  # type: ignore[arg-type]


class EqualWeights:
    """The links of another sequence, with equal weights of one law (doubly stochastic: Metropolis)."""

    m: int
    random: bool

    def __init__(self, of: MixingSequence, law: Law):
        self.of, self.law = of, law
        known = (
            "m",
            "random",
            "period",
            "needs_losses",
            "eps",
            "kind",
            "one_per_round",
        )  # what a sequence may tell
        vars(self).update({name: getattr(of, name) for name in known if hasattr(of, name)})

    def matrix(self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None) -> Matrix:
        W = sp.coo_array(self.of.matrix(t, rng) if losses is None else self.of.matrix(t, rng, losses))
        off = (W.row != W.col) & (W.data != 0)
        A = sp.csr_array((np.ones(off.sum()), (W.row[off], W.col[off])), shape=W.shape)
        if self.law == "row-stochastic":
            return settle(sp.csr_array(column_stochastic_of(sp.csr_array(A.T)).T), None)
        return settle(column_stochastic_of(A) if self.law == "column-stochastic" else metropolis_of(A), None)


def networks() -> dict[str, Any]:
    """Topologies and sequences by name; each is called with m first."""
    return {
        **graphs.TOPOLOGIES,
        "one_peer_exponential": graphs.one_peer_exponential,
        "random_matching": graphs.RandomMatching,
        "random_neighbors": graphs.RandomNeighbors,
        "client_sampling": graphs.ClientSampling,
        "loss_driven": graphs.LossDriven,
        "one_per_round": graphs.one_per_round,
    }


def network_called(name: str) -> Any:
    """The topology or sequence of that name; ``-`` is as good as ``_``."""
    known = networks()
    if (key := name.replace("-", "_")) not in known:
        raise UnknownNameError("topology", name, set(known))
    return known[key]


def connect(algorithm: Algorithm, task: Task, topology: Any, strict: bool = True) -> dict[str, Any]:
    """The sequences of mixing matrices of a run by name, which fit the task; none where it has no network.

    ``topology`` is one network, or its name ("ring"), or, where the class declares ``further`` matrices, a
    mapping from each name ("W" is that of ``mix(z)``) to its own. Of one network the further ones have the
    links, and equal weights.
    What is known before the first round is checked here: a constant matrix, in its own precision, and a
    period; what is drawn later is checked by the network when it is drawn.
    """
    if not algorithm.needs_topology:
        if topology is not None:
            raise InputError(
                f"{type(algorithm).__name__} takes no topology: no client talks to another in it"
            )
        return {}
    if topology is None:
        raise InputError(f"{type(algorithm).__name__} needs a topology: a graph, a matrix, or a sequence")
    names = (MIX, *algorithm.further)
    topology = _named(topology, task.m)
    given = topology if isinstance(topology, Mapping) else {MIX: topology}
    if set(given) not in ({MIX}, set(names)):
        told = f"mixes by {', '.join(names)}, and the topology has {', '.join(map(str, given))}"
        raise InputError(f"{type(algorithm).__name__} {told}: give each its own, or one for all")
    found = {name: as_sequence(one) for name, one in given.items()}
    if algorithm.further and isinstance(topology, networkx.Graph):
        found[MIX] = EqualWeights(found[MIX], algorithm.mixing)
    found = {n: found.get(n) or EqualWeights(found[MIX], algorithm.further[n]) for n in names}
    for name, sequence in found.items():
        _check(sequence, given.get(name, sequence), Laws(algorithm, task.m, strict, name), task.m)
    return found


def _named(topology: Any, m: int) -> Any:
    """The network of m clients that a name means; whatever is no name stays."""
    if not isinstance(topology, str):
        return topology
    _, *others = inspect.signature(build := network_called(topology)).parameters.values()
    if lacks := [p.name for p in others if p.default is p.empty and p.kind is not p.VAR_KEYWORD]:
        raise InputError(f"topology = {topology!r} needs {', '.join(lacks)}: make it by dfltheory.graphs")
    return build(m)


def _check(sequence: Any, given: Any, laws: Laws, m: int) -> None:
    """What is known of a sequence before the first round."""
    if sequence.m != m:
        raise GraphError(f"the topology has {sequence.m} clients, but the task has {m}: make them equal")
    rng = np.random.default_rng(0)
    if isinstance(sequence, Constant) and not (hasattr(given, "matrix") or isinstance(given, networkx.Graph)):
        laws.check(given, tol=None)
        laws.check_constant(sequence.matrix(0, rng))
        return
    period = period_of(sequence) or 0
    laws.check_fixed(period == 1)
    matrices: list[Any] = [sequence.matrix(t, rng) for t in range(period)]
    for t, W in enumerate(matrices):
        laws.check(W, f"the {'matrix of round ' + str(t) if period > 1 else 'mixing matrix'}: ")
    if period == 1:
        laws.check_constant(matrices[0])
    elif period:
        laws.check_links(sum(map(abs, matrices)), "all rounds together: ")


def starting_models(task: Task, seeds: Sequence[int], x0: Any, seed: int) -> Tensor:
    """x^0 (S, m, d), a view: the task's common start of every seed, or what was given, broadcast."""
    shape = (len(seeds), task.m, task.d)
    if x0 is None:
        x0 = torch.stack([task.start(torch_generator(seed, s, 0, "start")) for s in seeds]).unsqueeze(1)
    else:
        try:
            x0 = x0 if isinstance(x0, Tensor) else torch.as_tensor(np.asarray(x0))  # in full precision
        except (TypeError, ValueError):
            raise InputError(f"x0 is a {type(x0).__name__} that holds no numbers: give an array") from None
        if x0.is_complex():
            raise InputError("x0 is complex: give real numbers")
        if tuple(x0.shape) not in (shape[2:], shape[1:], shape):
            wanted = f"(d,) = {shape[2:]}, (m, d) = {shape[1:]} or (S, m, d) = {shape}"
            raise InputError(f"x0 has shape {tuple(x0.shape)}, not {wanted}")
        if not bool(x0.isfinite().all()):
            raise InputError("x0 has an entry that is not finite")
    return x0.to(dtype=task.dtype, device=task.device).expand(shape)


__all__ = [
    "check_kinds",
    "connect",
    "functions",
    "network_called",
    "networks",
    "seed_indices",
    "starting_models",
]
