"""The algorithms of the papers, one file per family; a round is ``communicate(local_update(state))``."""

from __future__ import annotations

from dfltheory.algorithms.base import Algorithm, Mix, Oracle, State, perturbed
from dfltheory.algorithms.gossip import DPSGD, DFedAvg, DFedAvgM, DFedSAM
from dfltheory.errors import UnknownNameError

ALGORITHMS: dict[str, type[Algorithm]] = {
    cls.__name__.lower(): cls for cls in (DPSGD, DFedAvg, DFedAvgM, DFedSAM)
}
"""Every algorithm by its lower-case name."""


def get(name: str) -> type[Algorithm]:
    """The class of an algorithm from its name; case, ``-`` and ``_`` do not matter."""
    key = name.lower().replace("-", "").replace("_", "")
    if key not in ALGORITHMS:
        raise UnknownNameError("algorithm", name, set(ALGORITHMS))
    return ALGORITHMS[key]


__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Mix",
    "Oracle",
    "State",
    "get",
    "perturbed",
    "DFedAvg",
    "DFedAvgM",
    "DFedSAM",
    "DPSGD",
]
