"""Runs that a statement covers and that no proof of the kernel is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from dfltheory.bounds.algorithm_names import NEUTRAL_HYPERPARAMETERS
from dfltheory.bounds.theorem import Theorem
from dfltheory.proofs.algorithm_rounds import (
    REQUIRED_HYPERPARAMETERS,
    ROUNDS,
    updates,
)
from dfltheory.proofs.moments import AlgorithmRound

SHARED_ROUNDS: Mapping[str, Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "DFedSAM": {"DFedAvg": (), "DPSGD": ()},
        "DFedADMMSAM": {"DFedADMM": ()},
        "DFedSGPSM": {"DFedSGPM": (), "OSGP": (), "SGP": ()},
        "DFedMDC": {"DFedSMDC": ("rho", "rho0")},
        "DFedSMDC": {"DFedMDC": ()},
    }
)
"""Class -> the classes whose rounds the proofs on its ``ROUNDS`` cover, and the
quantities that a statement must not have for that.
"""
_OTHER_RELATIONS = ("lower bound", "definition")


def uncovered_runs(theorem: Theorem) -> list[str]:
    """Return what a statement claims that no proof of the kernel is about.

    A proof bounds the left-hand side from above, in runs of the first class of the
    scope and its special cases, and for every value of the hyperparameters that the
    class's rounds have, but for no others.
    """
    missing = []
    if theorem.kind in _OTHER_RELATIONS:
        missing.append(f"a proof gives an upper bound, not a {theorem.kind}")
    first = theorem.scope.names[0]
    others = theorem.scope.algorithms[1:]
    if first in ROUNDS:
        missing += [
            f"{other} is not known to be a special case of {first}"
            for other in others
            if not _is_special_case(theorem, first, other)
        ]
        missing += [
            f"{name} = {value} of the scope is not covered by the rounds of {first}"
            for name, value in _other_hyperparameters(theorem, first)
        ]
    return missing


def _is_special_case(theorem: Theorem, first: str, other: str | type) -> bool:
    """Return whether every run of a class in the scope is one of the first class."""
    name = other if isinstance(other, str) else other.__name__
    if not is_of_package(other) or name not in SHARED_ROUNDS.get(first, {}):
        return False
    used = {*theorem.needs, *theorem.scope.hyperparameters, *theorem.schedule}
    return not used & set(SHARED_ROUNDS[first][name])


def is_of_package(algorithm: str | type) -> bool:
    """Return whether an algorithm of a scope is a class of this package.

    It is written as a name of the package, as the reference ``module:name`` of a user's
    class, or as the class itself.
    """
    if isinstance(algorithm, str):
        return ":" not in algorithm
    package = __name__.partition(".")[0]
    return algorithm.__module__.startswith(f"{package}.")


def _other_hyperparameters(
    theorem: Theorem, first: str
) -> Iterator[tuple[str, object]]:
    """Yield the scope's hyperparameters that the rounds of a class do not have.

    Those at which their mechanism is absent, and those that the class requires, are
    left out.
    """
    known = REQUIRED_HYPERPARAMETERS.get(first, {})
    absent = {**theorem.neutral, **NEUTRAL_HYPERPARAMETERS}
    inside = _symbols(ROUNDS[first])
    for name, value in theorem.scope.hyperparameters.items():
        is_absent = name in absent and value == absent[name]
        if not (name in known or name in inside or is_absent):
            yield name, value


def _symbols(algorithm: AlgorithmRound) -> set[str]:
    """Return the names of the symbols in an algorithm's rounds."""
    symbols = set(algorithm.gossips.free_symbols)
    names: set[str] = set()
    for vector in updates(algorithm):
        for atom, coefficient in () if vector is None else vector.terms:
            symbols |= coefficient.free_symbols
            if atom.name == "e":  # what SAM adds
                names |= {"rho", "rho0"}
            if isinstance(atom.step, tuple):
                weights, end = atom.step
                symbols |= weights.weight.free_symbols | end.free_symbols
    return names | {symbol.name for symbol in symbols}


__all__ = ["SHARED_ROUNDS", "is_of_package", "uncovered_runs"]
