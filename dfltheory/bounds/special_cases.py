"""Algorithms that are special cases of others, and the values at which they are.

``bounds`` does not import the algorithms. ``tests/algorithms/test_special_cases.py``
runs both algorithms of every entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Network = Literal["any", "complete", "doubly stochastic"]
"""Networks of a special case: ``complete`` has W = 11'/m, and ``doubly stochastic``
restricts push-sum.
"""


@dataclass(frozen=True)
class SpecialCase:
    """Two algorithms that take the same steps at some values of hyperparameters.

    Attributes
    ----------
    general, simpler : class names
    values : hyperparameter -> value, for both algorithms if both have it
    network : the networks on which they take the same steps
    """

    general: str
    simpler: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    network: Network = "any"


_ONE_STEP: dict[str, object] = {"K": 1, "order": "adapt-then-combine"}

SPECIAL_CASES: tuple[SpecialCase, ...] = (
    SpecialCase("DFedSAM", "DFedAvg", {"rho": 0, "Q": 1}),
    SpecialCase("DFedSAM", "FedSAM", {"alpha": 0}, network="complete"),
    SpecialCase("DFedAvgM", "DFedAvg", {"alpha": 0}),
    SpecialCase("DFedAvg", "DPSGD", _ONE_STEP),
    SpecialCase("DFedAvg", "FedAvg", {"alpha": 0}, network="complete"),
    SpecialCase("QGDSGDm", "DPSGD", {"alpha": 0, "order": "adapt-then-combine"}),
    SpecialCase("KGT", "DSGT", {"K": 1, "order": "adapt-then-combine"}),
    SpecialCase("DSGT", "DPSGD", {"order": "adapt-then-combine"}, network="complete"),
    SpecialCase("D2", "DPSGD", {"order": "adapt-then-combine"}, network="complete"),
    SpecialCase("DPSGD", "FedAvg", _ONE_STEP, network="complete"),
    SpecialCase("CooperativeSGD", "DPSGD", _ONE_STEP),
    SpecialCase("CooperativeSGD", "LocalSGD", network="complete"),
    SpecialCase("LocalSGD", "FedAvg", {"K": 1}),
    SpecialCase("FedSAM", "FedAvg", {"rho": 0}),
    SpecialCase("DFedSGPSM", "DFedSGPM", {"rho": 0}),
    SpecialCase("DFedSGPSM", "DFedSAM", {"alpha": 0, "Q": 1}, "doubly stochastic"),
    SpecialCase("DFedSGPM", "DFedAvgM", network="doubly stochastic"),
    SpecialCase("DFedSGPM", "OSGP", {"alpha": 0}),
    SpecialCase("OSGP", "DFedAvg", network="doubly stochastic"),
    SpecialCase("OSGP", "SGP", {"K": 1}),
    SpecialCase("DFedADMMSAM", "DFedADMM", {"rho": 0}),
    SpecialCase("DFedSMDC", "DFedMDC", {"rho": 0}),
)
"""Every algorithm is listed before its special cases."""


@dataclass(frozen=True)
class Reduction:
    """The values and networks at which an algorithm is a simpler one, in several steps.

    Attributes
    ----------
    simpler : class name
    values : hyperparameter -> value
    networks : restrictions other than ``any``
    """

    simpler: str
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    networks: frozenset[str] = frozenset()

    @property
    def size(self) -> int:
        """Number of values and networks that are fixed."""
        return len(self.values) + len(self.networks)


def reductions(general: str) -> tuple[Reduction, ...]:
    """Return the special cases of an algorithm, those with the fewest values first.

    Special cases of special cases are included, each algorithm once. Chains of special
    cases that need two values of one hyperparameter are left out.
    """
    smallest: dict[str, Reduction] = {}
    waiting = [Reduction(general)]
    while waiting:
        waiting.sort(key=_size, reverse=True)
        known = waiting.pop()
        if known.simpler in smallest:
            continue
        smallest[known.simpler] = known
        waiting += _next_steps(known)
    return tuple(smallest.values())[1:]


def _next_steps(known: Reduction) -> list[Reduction]:
    """Return the reductions that one further special case leads to."""
    steps: list[Reduction] = []
    for case in SPECIAL_CASES:
        agrees = all(
            known.values.get(name, value) == value
            for name, value in case.values.items()
        )
        if case.general == known.simpler and agrees:
            networks = known.networks | ({case.network} - {"any"})
            values = {**known.values, **case.values}
            steps.append(Reduction(case.simpler, values, networks))
    return steps


def _size(reduction: Reduction) -> int:
    return reduction.size


__all__ = ["Reduction", "SPECIAL_CASES", "SpecialCase", "reductions"]
