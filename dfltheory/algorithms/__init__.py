"""The algorithms of the papers, one file per family; a round is ``communicate(local_update(state))``."""

from __future__ import annotations

from typing import TypeVar

from dfltheory.algorithms.base import (
    Algorithm,
    Mix,
    Oracle,
    State,
    check_class,
    perturbed,
    replace,
    taking_part,
)
from dfltheory.algorithms.compressed import CHOCOSGD
from dfltheory.algorithms.corrected import D2, DSGT, EXTRA, KGT
from dfltheory.algorithms.drift import SCAFFOLD, FedDyn, FedPD, FedProx
from dfltheory.algorithms.gossip import DPSGD, DFedAvg, DFedAvgM, DFedSAM, QGDSGDm
from dfltheory.algorithms.networked import ADPSGD, LTADMM, PushPull, RelaySGD
from dfltheory.algorithms.personalized import DFedMDC, DFedSMDC
from dfltheory.algorithms.primal_dual import DFedADMM, DFedADMMSAM
from dfltheory.algorithms.push_sum import OSGP, SGP, DFedSGPM, DFedSGPSM
from dfltheory.algorithms.server import (
    Ditto,
    FedAvg,
    FedBABU,
    FedPer,
    FedRep,
    FedRoD,
    FedSAM,
    Local,
    LocalSGD,
)
from dfltheory.algorithms.sparse import DisPFL
from dfltheory.errors import InputError, UnknownNameError

_CLASSES: tuple[type[Algorithm], ...] = (
    *(DPSGD, DFedAvg, DFedAvgM, DFedSAM, QGDSGDm),
    *(DSGT, KGT, EXTRA, D2),
    *(CHOCOSGD,),
    *(PushPull, ADPSGD, LTADMM, RelaySGD),
    *(SGP, OSGP, DFedSGPM, DFedSGPSM),
    *(DFedADMM, DFedADMMSAM),
    *(DFedMDC, DFedSMDC),
    *(DisPFL,),
    *(FedAvg, FedSAM, LocalSGD, Local, FedPer, FedRep, FedBABU, FedRoD, Ditto),
    *(FedProx, SCAFFOLD, FedDyn, FedPD),
)
ALGORITHMS: dict[str, type[Algorithm]] = {cls.__name__.lower(): cls for cls in _CLASSES}
"""Every algorithm by its lower-case name."""


SPOKEN: dict[str, tuple[type[Algorithm], dict[str, int], str | None]] = {
    "dfedsammgs": (DFedSAM, {"Q": 4}, None),
    "asyng": (OSGP, {}, None),
    "dfedsgpsms": (DFedSGPSM, {}, "loss_driven"),
}
"""Names that papers have for a class with letters, its defaults then, or over the network of one kind."""

_OWN: dict[str, type[Algorithm]] = {}
"""What users have registered in this process."""

Kind = TypeVar("Kind", bound=type[Algorithm])


def register(kind: Kind) -> Kind:
    """Class decorator: the class is found by its lower-case name, by ``get``, the CLI and documents.

    Whose process has not imported its module names it MODULE:CLASS or FILE.py:CLASS, on the command line, as
    ``--algorithm my_module:QG``, or in a document that is his own.
    """
    if not (isinstance(kind, type) and issubclass(kind, Algorithm)):
        raise InputError(f"{kind!r} is not an algorithm class: put @register above @dataclass(frozen=True)")
    check_class(kind)
    key, known = _key(kind.__name__), _OWN.get(_key(kind.__name__))
    again = known is None or (known.__module__, known.__qualname__) == (kind.__module__, kind.__qualname__)
    if key in ALGORITHMS or not again:
        raise InputError(f"there is an algorithm called {key} already: give {kind.__qualname__} another name")
    _OWN[key] = kind
    return kind


def names() -> list[str]:
    """The names of all algorithms, those that users have registered too."""
    return sorted({**ALGORITHMS, **_OWN})


def get(name: str) -> type[Algorithm]:
    """The class of an algorithm from its name; case, ``-`` and ``_`` do not matter."""
    found = ALGORITHMS.get(_key(name)) or _OWN.get(_key(name)) or spoken(name)[0]
    if found is None:
        raise UnknownNameError("algorithm", name, set(names()))
    return found


def spoken(name: str) -> tuple[type[Algorithm] | None, dict[str, int], str | None]:
    """The class that papers call so, as DFedSAM-MGS, with the letters and the network that make it."""
    return SPOKEN.get(_key(name), (None, {}, None))


def _key(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "Mix",
    "Oracle",
    "State",
    "get",
    "names",
    "perturbed",
    "register",
    "replace",
    "taking_part",
    # the papers' experiments
    # gossip
    "DPSGD",
    "DFedAvg",
    "DFedAvgM",
    "DFedSAM",
    "QGDSGDm",
    # corrected gossip
    "DSGT",
    "KGT",
    "EXTRA",
    "D2",
    # compressed gossip
    "CHOCOSGD",
    # two matrices, pairs, duals of arcs, trees
    "PushPull",
    "ADPSGD",
    "LTADMM",
    "RelaySGD",
    # push-sum
    "SGP",
    "OSGP",
    "DFedSGPM",
    "DFedSGPSM",
    # primal-dual
    "DFedADMM",
    "DFedADMMSAM",
    # partial personalization, sparse
    "DFedMDC",
    "DFedSMDC",
    "DisPFL",
    # server-based
    "FedAvg",
    "FedSAM",
    "Local",
    "LocalSGD",
    "FedPer",
    "FedRep",
    "FedBABU",
    "FedRoD",
    "Ditto",
    # against client drift
    "FedProx",
    "SCAFFOLD",
    "FedDyn",
    "FedPD",
]
