"""Fewer pieces of the functions."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.simplification import Simplification

RAMP = ("knots", "widths", "slopes")


class FewerPieces(Simplification):
    """Drop a ramp of all clients, or of one."""

    name = "pieces"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance without one ramp, of all clients first, then of one."""
        slopes = instance["task"]["slopes"]
        every = range(len(slopes))
        for ramp in range(len(slopes[0])):
            yield without_ramp(instance, ramp, every)
        if len(slopes) > 1:
            for client in every:
                for ramp in range(len(slopes[client])):
                    yield without_ramp(instance, ramp, range(client, client + 1))


def without_ramp(instance: Document, ramp: int, clients: range) -> Document:
    """Return the instance without one ramp of some clients.

    A column of zeros is dropped.
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


__all__ = ["FewerPieces"]
