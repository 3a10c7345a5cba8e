"""Smaller instances: fewer clients, pieces, rounds and steps, and no noise."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.simplification import Simplification

BY_CLIENT = ("knots", "widths", "slopes", "left", "b")
"""Fields of a task with one entry per client."""
RAMP = ("knots", "widths", "slopes")
NOISE_DEVIATIONS = ("sigma", "sigma_u", "sigma_v")
REDUCIBLE_COUNTS = ("Q", "K", "K_u", "K_v")
TRIED_COUNTS = (1, 2, 3, 4, 5, 10, 20, 50)


class FewerClients(Simplification):
    """Drop one client, preferably one with an identical copy.

    With a network at least two clients remain, as a network with a single node is a
    borderline case.
    """

    name = "clients"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance without one client, those with an identical copy first."""
        count = len(instance["run"]["x0"])
        fewest = 2 if "topology" in instance else 1
        matrices = matrices_of(instance)
        if count <= fewest or ("topology" in instance and not matrices):
            return
        for index in _copies_first(instance):
            smaller = deepcopy(instance)
            for name in BY_CLIENT:
                if name in smaller["task"]:
                    del smaller["task"][name][index]
            del smaller["run"]["x0"][index]
            for matrix in matrices_of(smaller):
                _drop_node(matrix, index)
            yield smaller


def matrices_of(instance: Document) -> list[list[list[float]]]:
    """Return the mixing matrices of an instance.

    The list is empty for a server or a random network.
    """
    topology = instance.get("topology", {})
    if "matrix" in topology:
        return [topology["matrix"]]
    return list(topology.get("matrices", []))


def _copies_first(instance: Document) -> list[int]:
    """Return client indices, those with identical copies first, then descending."""
    task = instance["task"]
    columns = [task[name] for name in BY_CLIENT if name in task]
    clients = list(zip(*columns, instance["run"]["x0"], strict=True))

    def key(index: int) -> tuple[bool, int]:
        return clients.count(clients[index]) == 1, -index

    return sorted(range(len(clients)), key=key)


def _drop_node(matrix: list[list[float]], index: int) -> None:
    """Remove a node; every other node adds the removed weight to its own."""
    for row, weights in enumerate(matrix):
        if row != index:
            weights[row] += weights[index]
        del weights[index]
    del matrix[index]


class FewerPieces(Simplification):
    """Drop a ramp of all clients, or of one client."""

    name = "pieces"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance without one ramp, of all clients first, then of one."""
        slopes = instance["task"]["slopes"]
        clients = range(len(slopes))
        for ramp in range(len(slopes[0])):
            yield without_ramp(instance, ramp, clients)
        if len(slopes) > 1:
            for client in clients:
                for ramp in range(len(slopes[client])):
                    yield without_ramp(instance, ramp, range(client, client + 1))


def without_ramp(instance: Document, ramp: int, clients: range) -> Document:
    """Return the instance without one ramp of some clients.

    A ramp that no client has any more is deleted.
    """
    smaller = deepcopy(instance)
    task = smaller["task"]
    for client in clients:
        for name in RAMP:
            task[name][client][ramp] = 0.0
    several = len(task["slopes"][0]) > 1
    if several and not any(row[ramp] for row in task["slopes"]):
        for name in RAMP:
            for row in task[name]:
                del row[ramp]
    return smaller


class NoNoise(Simplification):
    """Replace stochastic gradients by exact ones."""

    name = "noise"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance without noise, if it has any."""
        task = instance["task"]
        if not any(task.get(name) for name in NOISE_DEVIATIONS):
            return
        noiseless = deepcopy(instance)
        noiseless["task"].pop("led", None)
        for name in NOISE_DEVIATIONS:
            if name in task:
                noiseless["task"][name] = 0.0
        yield noiseless


class FewerRounds(Simplification):
    """Reduce the horizon to 1, 2 or 5 times a power of 10, the smallest first."""

    name = "rounds"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance with 1, 2, 5, 10, ... rounds, while they are fewer."""
        rounds = int(instance["run"]["rounds"])
        for exponent in range(len(str(rounds))):
            for digit in (1, 2, 5):
                fewer = digit * 10**exponent
                if fewer < rounds:
                    shorter = deepcopy(instance)
                    shorter["run"]["rounds"] = fewer
                    yield shorter


class SmallerCounts(Simplification):
    """Reduce K and Q, the smallest values first."""

    name = "local and gossip steps"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance with one number of steps reduced."""
        for name in REDUCIBLE_COUNTS:
            count = instance["algorithm"].get(name, 0)
            for fewer in TRIED_COUNTS:
                if fewer < count:
                    smaller = deepcopy(instance)
                    smaller["algorithm"][name] = fewer
                    yield smaller

    def is_simpler(self, candidate: Document, instance: Document) -> bool:
        """Return whether one count is smaller and none is larger."""
        new = [candidate["algorithm"].get(name, 0) for name in REDUCIBLE_COUNTS]
        old = [instance["algorithm"].get(name, 0) for name in REDUCIBLE_COUNTS]
        no_larger = all(a <= b for a, b in zip(new, old, strict=True))
        return no_larger and new != old


__all__ = [
    "BY_CLIENT",
    "FewerClients",
    "FewerPieces",
    "FewerRounds",
    "NoNoise",
    "SmallerCounts",
    "matrices_of",
]
