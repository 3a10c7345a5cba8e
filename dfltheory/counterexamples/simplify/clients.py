"""Fewer clients."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.simplification import Simplification

BY_CLIENT = ("knots", "widths", "slopes", "left", "b")
"""Fields of a task with one entry for each client."""


class FewerClients(Simplification):
    """Drop one client, one with an identical copy first.

    Two clients are left where there is a network, as a network of one node is a
    borderline case of its own.
    """

    name = "clients"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance without one client, one with an identical copy first."""
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

    There are none for a server or a random network.
    """
    topology = instance.get("topology", {})
    if "matrix" in topology:
        return [topology["matrix"]]
    return list(topology.get("matrices", []))


def _copies_first(instance: Document) -> list[int]:
    """Return the clients: those with an identical copy first, then the last first."""
    task = instance["task"]
    columns = [task[name] for name in BY_CLIENT if name in task]
    clients = list(zip(*columns, instance["run"]["x0"], strict=True))

    def key(index: int) -> tuple[bool, int]:
        return clients.count(clients[index]) == 1, -index

    return sorted(range(len(clients)), key=key)


def _drop_node(matrix: list[list[float]], index: int) -> None:
    """Remove a node; each other node keeps for itself what it received from it."""
    for row, weights in enumerate(matrix):
        if row != index:
            weights[row] += weights[index]
        del weights[index]
    del matrix[index]


__all__ = ["BY_CLIENT", "FewerClients", "matrices_of"]
