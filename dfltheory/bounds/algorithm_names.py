"""Class names of the package's algorithms, and hyperparameters of scopes.

``bounds`` does not import the algorithms. ``tests/bounds/test_names.py`` compares this
table with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError, UnknownNameError, checked_name

HYPERPARAMETERS_BY_CLASS: dict[str, str] = {
    "DPSGD": "alpha decay eta K order Q rho weight_decay",
    "DFedAvg": "alpha decay eta K Q rho weight_decay",
    "DFedAvgM": "alpha decay eta K keep_momentum Q rho weight_decay",
    "DFedSAM": "alpha decay eta K Q rho weight_decay",
    "QGDSGDm": "alpha decay eta memory mu nesterov weight_decay",
    "DSGT": "decay eta order weight_decay",
    "KGT": "decay eta eta_s K weight_decay",
    "EXTRA": "decay eta weight_decay",
    "D2": "decay eta lazy weight_decay",
    "CHOCOSGD": "compressor decay eta gamma levels omega share weight_decay",
    "PushPull": "decay eta order weight_decay",
    "CooperativeSGD": "alpha decay eta K rho weight_decay",
    "EASGD": "alpha decay eta K rho weight_decay",
    "ADPSGD": "decay eta weight_decay",
    "LTADMM": "beta decay eta eta_pull K lam penalty weight_decay",
    "RelaySGD": "decay eta weight_decay",
    "SGP": "alpha decay eta K rho weight_decay",
    "OSGP": "alpha decay eta K rho weight_decay",
    "DFedSGPM": "alpha decay eta K rho weight_decay",
    "DFedSGPSM": "alpha decay eta K rho weight_decay",
    "DFedADMM": "alpha decay eta K lam lam_admm rho weight_decay",
    "DFedADMMSAM": "alpha decay eta K lam lam_admm rho weight_decay",
    "DFedMDC": "alpha decay eta_u eta_v fresh K_u K_v rho weight_decay",
    "DFedSMDC": "alpha decay eta_u eta_v fresh K_u K_v rho sam weight_decay",
    "DisPFL": "clip decay density eta first growth K order prune sparsity weight_decay",
    "FedAvg": "alpha decay eta K offset participation rho weight_decay",
    "FedSAM": "alpha decay eta K participation rho weight_decay",
    "LocalSGD": "alpha decay eta K rho weight_decay",
    "Local": "alpha decay eta K rho weight_decay",
    "FedPer": "alpha decay eta K participation rho weight_decay",
    "FedRep": "alpha decay eta_u eta_v K_u K_v participation rho weight_decay",
    "FedBABU": "alpha decay eta K K_v participation rho weight_decay",
    "FedRoD": "decay eta K participation rho weight_decay",
    "Ditto": "decay eta K K_v lam participation pull rho weight_decay",
    "FedProx": "decay eta K lam participation pull rho weight_decay",
    "SCAFFOLD": "decay eta eta_s K option participation rho weight_decay",
    "FedDyn": "decay eta K lam participation pull rho weight_decay",
    "FedPD": "decay eta K lam penalty R rho silence weight_decay",
}
"""Class name -> its hyperparameters, under their own names and those of the
glossary.
"""

ONE_STEP = frozenset({"CooperativeSGD", "DPSGD", "EASGD", "LocalSGD"})
"""Classes whose rounds are single local steps: a left-hand side over local steps is one
over their rounds.
"""

NEUTRAL_HYPERPARAMETERS: dict[str, object] = {
    "decay": 1.0,
    "weight_decay": 0.0,
    "participation": 1.0,
    "K": 1,
    "K_u": 1,
    "K_v": 1,
    "theta": 0.0,
    "sparsity": 0.0,
    "prune": 0.0,
    "keep_momentum": False,
    "fresh": True,
    "offset": None,
}
"""Values at which the mechanism of a hyperparameter is absent; those of the glossary
are in ``NEUTRAL``.
"""


def checked_algorithm(algorithm: object) -> None:
    """Reject what is neither a class, nor an algorithm's name, nor ``module:Class``.

    Raises
    ------
    InputError, UnknownNameError
        The value has another type or form, or is no name of an algorithm.
    """
    if isinstance(algorithm, type):
        return
    if not isinstance(algorithm, str):
        raise InputError(
            f"algorithms: {algorithm!r} must be a class, the name of one, or"
            " 'module:Class'"
        )
    module, colon, name = algorithm.partition(":")
    if not colon:
        checked_name(
            "algorithm (one of your own is a class, or 'module:Class')",
            algorithm,
            HYPERPARAMETERS_BY_CLASS,
        )
    elif not module or not all(
        part.isidentifier() or part == "<locals>" for part in name.split(".")
    ):
        raise InputError(f"algorithms: {algorithm!r} must be 'module:Class'")


def checked_hyperparameters(
    algorithms: tuple[str | type, ...], names: Iterable[str]
) -> None:
    """Reject names that are hyperparameters of no algorithm.

    A name is accepted if an algorithm of the package or one of the given classes has
    it, even if the given algorithms lack it: their runs are then judged at its neutral
    value, or not at all. Every name is accepted if the hyperparameters of a given
    algorithm cannot be read: one named ``module:Class``, or a class that is not a
    dataclass.

    Raises
    ------
    UnknownNameError
        No algorithm has a hyperparameter of that name.
    """
    known = {
        word for words in HYPERPARAMETERS_BY_CLASS.values() for word in words.split()
    }
    for algorithm in algorithms:
        if isinstance(algorithm, type) and is_dataclass(algorithm):
            field_names = {f.name for f in fields(algorithm)}
            known |= (
                field_names | set(GLOSSARY) | set(getattr(algorithm, "summed_up", ()))
            )
        elif algorithm not in HYPERPARAMETERS_BY_CLASS:
            return
    for name in names:
        if name not in known:
            raise UnknownNameError(
                "hyperparameter of the scope's algorithms", name, known
            )
