"""Validation and conversion of the arguments of a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import networkx
import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dfltheory import graphs
from dfltheory.algorithms.base import MIX, Algorithm, Law, check_class
from dfltheory.errors import (
    GraphError,
    InputError,
    UnknownNameError,
    checked_name,
    whole_number,
)
from dfltheory.graphs import Constant, MixingSequence, as_sequence
from dfltheory.graphs.matrices import Matrix, as_sparse_or_dense
from dfltheory.graphs.sequences import period_of
from dfltheory.graphs.weights import column_stochastic_of, metropolis_of
from dfltheory.randomness import torch_generator
from dfltheory.tasks.task import Task
from dfltheory.training.client_measures import NAMED_METRICS, Metric
from dfltheory.training.laws import Laws
from dfltheory.training.local import is_storable

Function = TypeVar("Function", bound=Callable[..., object])
NetworkBuilder = Callable[..., networkx.Graph | MixingSequence]
"""A function that creates a network of m clients; its first argument is m."""


def check_kinds(algorithm: object, task: object, on_divergence: str) -> None:
    """Raise InputError if algorithm, task or ``on_divergence`` is invalid."""
    if not isinstance(algorithm, Algorithm):
        given = algorithm.__name__ if isinstance(algorithm, type) else repr(algorithm)
        raise InputError(
            f"algorithm = {given} must be an Algorithm with its hyperparameters, such"
            " as DFedAvg(eta=0.1, K=5)"
        )
    check_class(type(algorithm))
    _check_storable(algorithm)
    if not isinstance(task, Task):
        raise InputError(
            f"task is a {type(task).__name__}, not a task: tasks.Supervised(module,"
            " [(X_1, y_1), ...]) creates one from any torch module and the clients'"
            " tensors"
        )
    for name, value in vars(algorithm).items():
        if isinstance(value, float) and abs(value) > torch.finfo(task.dtype).max:
            raise InputError(
                f"{name} = {value:g} exceeds the range of the task's {task.dtype}: use"
                " a smaller number"
            )
    if on_divergence not in ("mark", "raise"):
        raise InputError(f"on_divergence = {on_divergence!r} must be mark or raise")


def _check_storable(algorithm: Algorithm) -> None:
    """Raise InputError unless every hyperparameter can be stored in a file."""
    for f in fields(algorithm):
        value = getattr(algorithm, f.name)
        if not is_storable(value):
            raise InputError(
                f"{type(algorithm).__name__}: {f.name} is a {type(value).__name__},"
                " which files cannot store: use numbers, text, or lists of them, and"
                " create other objects in init or in the class"
            )


def functions(name: str, values: Iterable[Function]) -> list[Function]:
    """Check that an iterable contains only functions, and return them as a list."""
    if isinstance(values, Iterable):
        listed = list(values)
        if all(callable(value) for value in listed):
            return listed
    raise InputError(f"{name} must be a list of functions, not {values!r}")


def metrics_of(values: Iterable[Metric | str]) -> list[Metric | str]:
    """Check an iterable of functions and names of metrics, and return it as a list."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(
            "metrics must be a list of functions or of the names"
            f" {', '.join(NAMED_METRICS)},"
            f" not {values!r}"
        )
    listed = list(values)
    for name in listed:
        if isinstance(name, str):
            checked_name("metric", name, NAMED_METRICS)
    functions("metrics", [value for value in listed if not isinstance(value, str)])
    return listed


MOST_SEEDS = 10**6
"""Largest number of seeds; each has a generator of about 5 kB."""


def seed_indices(seeds: int | Sequence[int]) -> Sequence[int]:
    """Return 0..S-1 for a number S, or a sequence of indices as a list."""
    if isinstance(seeds, (list, tuple, range)):
        for s in seeds:
            whole_number("seed index", s, at_least=0)
        if not seeds or len(set(seeds)) < len(seeds):
            raise InputError(
                f"seeds = {seeds!r} must be distinct indices, at least one"
            )
        return [int(s) for s in seeds]
    count = whole_number("seeds", seeds, at_least=1)
    if count > MOST_SEEDS:
        raise InputError(
            f"seeds = {seeds}: at most {MOST_SEEDS} runs are batched; use parts such"
            " as range(a, b)"
        )
    return range(count)


class EqualWeights:
    """The links of another sequence, with equal weights that satisfy a law.

    For doubly stochastic matrices these are Metropolis weights.
    """

    m: int
    random: bool

    def __init__(self, of: MixingSequence, law: Law):
        self.of, self.law = of, law
        for name in (
            "m",
            "random",
            "period",
            "needs_losses",
            "eps",
            "kind",
            "one_per_round",
        ):
            if hasattr(of, name):
                setattr(self, name, getattr(of, name))

    def matrix(
        self, t: int, rng: np.random.Generator, losses: np.ndarray | None = None
    ) -> Matrix:
        """Return the matrix with index t; for the parameters see MixingSequence."""
        W = sp.coo_array(
            self.of.matrix(t, rng) if losses is None else self.of.matrix(t, rng, losses)
        )
        links = (W.row != W.col) & (W.data != 0)
        A = sp.csr_array(
            (np.ones(links.sum()), (W.row[links], W.col[links])), shape=W.shape
        )
        if self.law == "row-stochastic":
            return as_sparse_or_dense(
                sp.csr_array(column_stochastic_of(sp.csr_array(A.T)).T), None
            )
        if self.law == "column-stochastic":
            return as_sparse_or_dense(column_stochastic_of(A), None)
        return as_sparse_or_dense(metropolis_of(A), None)


def network_builders() -> dict[str, NetworkBuilder]:
    """Return the builders of topologies and sequences by name."""
    return {
        **graphs.TOPOLOGIES,
        "one_peer_exponential": graphs.one_peer_exponential,
        "random_matching": graphs.RandomMatching,
        "random_neighbors": graphs.RandomNeighbors,
        "client_sampling": graphs.ClientSampling,
        "loss_driven": graphs.LossDriven,
        "one_per_round": graphs.one_per_round,
    }


def network_called(name: str) -> NetworkBuilder:
    """Return the builder of a topology or sequence by name.

    Aliases and "-" are accepted as in :func:`dfltheory.graphs.topology`.
    """
    known, key = network_builders(), graphs.topology_key(name)
    if key not in known:
        raise UnknownNameError("topology", name, set(known))
    return known[key]


def connect(
    algorithm: Algorithm, task: Task, topology: object, strict: bool = True
) -> dict[str, MixingSequence]:
    """Return the mixing sequences of a run by name; empty if it needs no network.

    A constant matrix (in its original precision) and the matrices of a period are
    checked here. Other matrices are checked when they are drawn.

    Parameters
    ----------
    algorithm : Algorithm
        Declares the matrices that it needs, and their laws.
    task : Task
        Determines the number of clients.
    topology : network, name, or mapping
        One network, or its name ("ring"). If the algorithm declares ``further``
        matrices, a mapping from each name ("W" for ``mix(z)``) to its network; given
        one network, the further matrices have its links with equal weights.
    strict : bool
        If False, weights need only be finite.

    Raises
    ------
    InputError
        If the algorithm needs a network and there is none, or vice versa.
    GraphError
        If a matrix violates a law that the algorithm assumes.
    """
    if not algorithm.needs_topology:
        if topology is not None:
            raise InputError(
                f"{type(algorithm).__name__} takes no topology: its clients do not"
                " communicate with each other"
            )
        return {}
    if topology is None:
        raise InputError(
            f"{type(algorithm).__name__} needs a topology: a graph, a matrix, or a"
            " sequence"
        )
    names = (MIX, *algorithm.further)
    topology = _named(topology, task.m)
    given = topology if isinstance(topology, Mapping) else {MIX: topology}
    if set(given) not in ({MIX}, set(names)):
        known = ", ".join(map(str, given))
        raise InputError(
            f"{type(algorithm).__name__} mixes by {', '.join(names)}, but the topology"
            f" has {known}: pass one network for each, or one for all"
        )
    sequences: dict[str, MixingSequence] = {
        name: as_sequence(network) for name, network in given.items()
    }
    if algorithm.further and isinstance(topology, networkx.Graph):
        sequences[MIX] = EqualWeights(sequences[MIX], algorithm.mixing)
    for name, law in algorithm.further.items():
        if name not in sequences:
            sequences[name] = EqualWeights(sequences[MIX], law)
    sequences = {name: sequences[name] for name in names}
    for name, sequence in sequences.items():
        _check(
            sequence,
            given.get(name, sequence),
            Laws(algorithm, task.m, strict, name),
            task.m,
        )
    return sequences


def _named(topology: object, m: int) -> object:
    """Create the network of a name for m clients; return other networks unchanged."""
    if not isinstance(topology, str):
        return topology
    build = network_called(topology)
    _, *others = inspect.signature(build).parameters.values()
    required = [
        p.name for p in others if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    ]
    if required:
        raise InputError(
            f"topology = {topology!r} needs {', '.join(required)}: create it with"
            " dfltheory.graphs"
        )
    return build(m)


def _check(sequence: MixingSequence, given: object, laws: Laws, m: int) -> None:
    """Check the part of a sequence that is known before the first round."""
    if sequence.m != m:
        raise GraphError(
            f"the topology has {sequence.m} clients, but the task has {m}: the numbers"
            " must be equal"
        )
    rng = np.random.default_rng(0)
    if isinstance(sequence, Constant) and not (
        hasattr(given, "matrix") or isinstance(given, networkx.Graph)
    ):
        laws.check(given, tol=None)
        laws.check_constant(sequence.matrix(0, rng))
        return
    period = period_of(sequence) or 0
    laws.check_fixed(period == 1)
    matrices: list[Any] = [sequence.matrix(t, rng) for t in range(period)]
    for t, W in enumerate(matrices):
        laws.check(
            W, f"the matrix of round {t}: " if period > 1 else "the mixing matrix: "
        )
    if period == 1:
        laws.check_constant(matrices[0])
    elif period:
        laws.check_links(sum(map(abs, matrices)), "all rounds together: ")


def starting_models(
    task: Task, seeds: Sequence[int], x0: ArrayLike | Tensor | None, seed: int
) -> Tensor:
    """Return x^0 of each seed.

    Parameters
    ----------
    task : Task
    seeds : sequence of S ints
        Indices of the seeds.
    x0 : (d,), (m, d) or (S, m, d) array or tensor, optional
        Given models; by default the task's common start for each seed.
    seed : int
        Root seed.

    Returns
    -------
    (S, m, d) tensor
        A view of the models in the task's dtype and device.
    """
    shape = (len(seeds), task.m, task.d)
    if x0 is None:
        generators = [torch_generator(seed, s, 0, "start") for s in seeds]
        models = torch.stack(
            [task.start(generator) for generator in generators]
        ).unsqueeze(1)
    else:
        models = _given_models(x0, shape)
    return models.to(dtype=task.dtype, device=task.device).expand(shape)


def _given_models(x0: ArrayLike | Tensor, shape: tuple[int, int, int]) -> Tensor:
    """Return the given models in full precision; raise InputError unless they fit."""
    try:
        models = x0 if isinstance(x0, Tensor) else torch.as_tensor(np.asarray(x0))
    except (TypeError, ValueError):
        raise InputError(
            f"x0 is a {type(x0).__name__} without numbers: pass an array"
        ) from None
    if models.is_complex():
        raise InputError("x0 is complex: use real numbers")
    if tuple(models.shape) not in (shape[2:], shape[1:], shape):
        wanted = f"(d,) = {shape[2:]}, (m, d) = {shape[1:]} or (S, m, d) = {shape}"
        raise InputError(f"x0 has shape {tuple(models.shape)}, not {wanted}")
    if not bool(models.isfinite().all()):
        raise InputError("x0 has an entry that is not finite")
    return models


__all__ = [
    "check_kinds",
    "connect",
    "functions",
    "network_called",
    "network_builders",
    "seed_indices",
    "starting_models",
]
