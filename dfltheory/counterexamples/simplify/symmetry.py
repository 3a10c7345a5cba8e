"""Symmetric instances: equal weights, equal or opposite clients, a start at 0."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.reductions import BY_CLIENT, matrices_of
from dfltheory.counterexamples.simplify.simplification import Simplification


class MoreSymmetry(Simplification):
    """Try equal weights, a start at 0, and identical or opposite clients.

    Clients 2, 3, ... become identical to client 1, or its opposite.
    """

    name = "symmetry"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield equal weights, a start at 0, and clients like the first one."""
        if matrices_of(instance):
            yield _equal_weights(instance)
        if any(value for row in instance["run"]["x0"] for value in row):
            centered = deepcopy(instance)
            centered["run"]["x0"] = [[0.0] * len(row) for row in centered["run"]["x0"]]
            yield centered
        yield _copy_first_client(instance, 1, 1)
        yield _copy_first_client(instance, 1, -1)
        yield _copy_first_client(instance, -1, -1)


def _equal_weights(instance: Document) -> Document:
    """Return the instance on the complete graph with equal weights."""
    equal = deepcopy(instance)
    count = len(instance["run"]["x0"])
    equal["topology"] = {"matrix": [[1 / count] * count for _ in range(count)]}
    return equal


def _copy_first_client(instance: Document, slopes: int, left: int) -> Document:
    """Return the instance with the functions of client 1 for all clients.

    ``slopes`` and ``left``, each +-1, multiply the slopes and the constants of the
    others.
    """
    symmetric = deepcopy(instance)
    task = symmetric["task"]
    for client in range(1, len(task["left"])):
        for name in BY_CLIENT:
            if name in task:
                task[name][client] = deepcopy(task[name][0])
        task["slopes"][client] = [slopes * slope for slope in task["slopes"][0]]
        task["left"][client] = left * task["left"][0]
    return symmetric


__all__ = ["MoreSymmetry"]
