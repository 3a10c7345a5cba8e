"""No noise."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from dfltheory.counterexamples.document import Document
from dfltheory.counterexamples.simplify.simplification import Simplification

DEVIATIONS = ("sigma", "sigma_u", "sigma_v")


class NoNoise(Simplification):
    """Exact gradients in place of stochastic ones."""

    name = "noise"

    def candidates(self, instance: Document) -> Iterator[Document]:
        """Yield the instance without noise, if it has any."""
        task = instance["task"]
        if not any(task.get(name) for name in DEVIATIONS):
            return
        quiet = deepcopy(instance)
        quiet["task"].pop("led", None)
        for name in DEVIATIONS:
            if name in task:
                quiet["task"][name] = 0.0
        yield quiet


__all__ = ["NoNoise"]
