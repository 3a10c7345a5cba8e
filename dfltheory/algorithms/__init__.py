"""The algorithms of the papers, one file per family.

A round of an algorithm is ``communicate(local_update(state))``.
"""

from __future__ import annotations

from typing import Any, TypeVar

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
from dfltheory.algorithms.networked import (
    ADPSGD,
    EASGD,
    LTADMM,
    CooperativeSGD,
    PushPull,
    RelaySGD,
)
from dfltheory.algorithms.personalized import DFedMDC, DFedSMDC
from dfltheory.algorithms.personalized_server import (
    Ditto,
    FedBABU,
    FedPer,
    FedRep,
    FedRoD,
)
from dfltheory.algorithms.primal_dual import DFedADMM, DFedADMMSAM
from dfltheory.algorithms.push_sum import OSGP, SGP, DFedSGPM, DFedSGPSM
from dfltheory.algorithms.server import FedAvg, FedSAM, Local, LocalSGD
from dfltheory.algorithms.sparse import DisPFL
from dfltheory.errors import InputError, UnknownNameError

_CLASSES: tuple[type[Algorithm[Any]], ...] = (
    # gossip
    DPSGD,
    DFedAvg,
    DFedAvgM,
    DFedSAM,
    QGDSGDm,
    # corrected gossip
    DSGT,
    KGT,
    EXTRA,
    D2,
    # compressed gossip
    CHOCOSGD,
    # two matrices, every K-th step, pairs, duals of arcs, trees
    PushPull,
    CooperativeSGD,
    EASGD,
    ADPSGD,
    LTADMM,
    RelaySGD,
    # push-sum
    SGP,
    OSGP,
    DFedSGPM,
    DFedSGPSM,
    # primal-dual
    DFedADMM,
    DFedADMMSAM,
    # partial personalization, sparse
    DFedMDC,
    DFedSMDC,
    DisPFL,
    # server-based
    FedAvg,
    FedSAM,
    LocalSGD,
    Local,
    FedPer,
    FedRep,
    FedBABU,
    FedRoD,
    Ditto,
    # against client drift
    FedProx,
    SCAFFOLD,
    FedDyn,
    FedPD,
)
ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    cls.__name__.lower(): cls for cls in _CLASSES
}
"""Algorithms by their lower-case names."""


ALIASES: dict[str, tuple[type[Algorithm[Any]], dict[str, int], str | None]] = {
    "dfedsammgs": (DFedSAM, {"Q": 4}, None),
    "asyng": (OSGP, {}, None),
    "dfedsgpsms": (DFedSGPSM, {}, "loss_driven"),
}
"""Aliases from papers: class, default hyperparameters, and network, if implied."""

_REGISTERED: dict[str, type[Algorithm[Any]]] = {}
"""Classes of users that this process has registered, by their keys."""

AlgorithmKind = TypeVar("AlgorithmKind", bound=type[Algorithm[Any]])


def register(kind: AlgorithmKind) -> AlgorithmKind:
    """Register an algorithm class by its name, for ``get``, the CLI and documents.

    This is a class decorator. If the module of the class has not been imported, the
    command line and documents refer to it as MODULE:CLASS or FILE.py:CLASS, for example
    ``--algorithm my_module:QG``.

    Parameters
    ----------
    kind : type
        A subclass of Algorithm.

    Returns
    -------
    type
        The class.

    Raises
    ------
    InputError
        If it is not a valid algorithm class, or its name is that of another algorithm
        or an alias.
    """
    if not _is_algorithm_class(kind):
        raise InputError(
            f"{kind!r} is not an algorithm class: put @register above @dataclass"
        )
    check_class(kind)
    key = _key(kind.__name__)
    is_built_in = key in ALGORITHMS or key in ALIASES
    if is_built_in or not _is_same_class(_REGISTERED.get(key, kind), kind):
        raise InputError(
            f"there is already an algorithm called {key}: rename {kind.__qualname__}"
        )
    _REGISTERED[key] = kind
    return kind


def _is_algorithm_class(kind: object) -> bool:
    """Return whether an object is a subclass of Algorithm."""
    return isinstance(kind, type) and issubclass(kind, Algorithm)


def _is_same_class(known: type[Algorithm[Any]], kind: type[Algorithm[Any]]) -> bool:
    """Return whether both are definitions of one class, for example after a reload."""
    same_module = known.__module__ == kind.__module__
    return same_module and known.__qualname__ == kind.__qualname__


def names() -> list[str]:
    """Return the sorted names of all algorithms, with registered ones, not aliases."""
    return sorted({**ALGORITHMS, **_REGISTERED})


def get(name: str) -> type[Algorithm[Any]]:
    """Return the class of an algorithm.

    Parameters
    ----------
    name : str
        Its name, or a name that papers use; case, "-" and "_" are ignored.

    Returns
    -------
    type
        The class.

    Raises
    ------
    UnknownNameError
        If there is no such algorithm.
    """
    key = _key(name)
    kind = ALGORITHMS.get(key) or _REGISTERED.get(key) or resolve_alias(name)[0]
    if kind is None:
        raise UnknownNameError("algorithm", name, set(names()))
    return kind


def resolve_alias(
    name: str,
) -> tuple[type[Algorithm[Any]] | None, dict[str, int], str | None]:
    """Resolve an alias from papers, for example DFedSAM-MGS.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    kind : type or None
        The class; None if the name is unknown.
    hyperparameters : dict of str to int
        Default hyperparameters under this name.
    network : str or None
        Name of the network that the alias implies, for example "loss_driven".
    """
    return ALIASES.get(_key(name), (None, {}, None))


def _key(name: str) -> str:
    """Return the key of a name: lower case, without "-" and "_"."""
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
    # two matrices, every K-th step, pairs, duals of arcs, trees
    "PushPull",
    "CooperativeSGD",
    "EASGD",
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
