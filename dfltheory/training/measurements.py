"""Validation of measurements made by other training code.

Values that are not stated are unknown; nothing is estimated, and no default is assumed.
An unknown start is NaN, an unknown number of clients 0, an unknown network None.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from dfltheory import algorithms, graphs
from dfltheory.algorithms.base import Algorithm, check_class
from dfltheory.arrays import FloatArray
from dfltheory.bounds.algorithm_names import NEUTRAL_HYPERPARAMETERS
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL
from dfltheory.constants import NetworkConstants, ProblemConstants
from dfltheory.errors import InputError, UnknownNameError, checked_name, whole_number
from dfltheory.graphs import MixingSequence
from dfltheory.training.run_measures import RunFacts
from dfltheory.training.stated_start import AT_START, stated_start
from dfltheory.training.stated_values import StatedRun
from dfltheory.version import __version__

LARGEST_FLOAT = sys.float_info.max
"""Largest absolute value of a constant."""
MOST_CLIENTS = 10**9
"""Largest number of clients m."""

PRECISIONS = ("float64", "float32", "float16", "bfloat16")
NEVER_NEGATIVE = frozenset(
    {
        "accuracy",
        "client_accuracy",
        "consensus",
        "dist_sq",
        "grad_norm_sq",
        "grad_norm_sq_w",
        "grad_u_sq",
        "grad_u_sq_next",
        "grad_v_sq",
        "model_sq",
        "sent_bits",
    }
)
"""Measures whose values are at least 0 by definition."""
OF_PROBLEM = frozenset(f.name for f in fields(ProblemConstants)) - {"standing"}
"""Names of the constants of a problem."""
OF_NETWORK = frozenset(f.name for f in fields(NetworkConstants)) - {
    "m",
    "standing",
    "errors",
}
"""Names of the constants that a network determines, apart from its size."""


def measured_run(
    measures: Mapping[str, ArrayLike],
    *,
    algorithm: Algorithm[Any] | str,
    hyperparameters: Mapping[str, object] | None,
    network: object,
    constants: Mapping[str, float] | ProblemConstants | None,
    start: str | Mapping[str, ArrayLike] | None,
    rounds: Sequence[int] | None,
    precision: str,
    task: str,
) -> dict[str, Any]:
    """Return the fields of a History of measurements by other code.

    The parameters are those of
    :meth:`dfltheory.training.history.History.from_measurements`.
    """
    known_algorithm = algorithm_with(algorithm, hyperparameters)
    arrays = checked_arrays(measures)
    S, R = next(iter(arrays.values())).shape
    rounds_measured = _checked_rounds(rounds, R)
    problem, stated, of_start = _divided(constants, known_algorithm)
    total = _total_rounds(stated.pop("T", None), rounds_measured)
    sequence = _sequence(network, known_algorithm)
    clients = _clients(stated.pop("m", None), sequence)
    _refuse_constants_of_network(stated, sequence)
    if rounds_measured[0] == 0:
        _refuse_measured_constants(stated, arrays, problem)
    checked_name("precision", str(precision), PRECISIONS)
    precision = coarsest_precision(precision, measures.values())
    eps = torch.finfo(getattr(torch, precision)).eps
    begun = stated_start(start, of_start, arrays, rounds_measured, precision)
    StatedRun(problem, stated, arrays, rounds_measured, begun.x0_sq, eps).check()
    unknown = np.full((S, R), np.nan)
    return {
        "algorithm": known_algorithm,
        "rounds": total,
        "rounds_measured": rounds_measured,
        "grad_norm_sq": arrays.pop("grad_norm_sq", unknown),
        "consensus": arrays.pop("consensus", unknown),
        "loss": arrays.pop("loss", unknown),
        "accuracy": arrays.pop("accuracy", None),
        "sent_bits": arrays.pop("sent_bits", None),
        "model_sq": arrays.pop("model_sq", None),
        "extra": arrays,
        "x": np.zeros((S, clients, 0)),
        "x0_sq": begun.x0_sq,
        "x0_spread": begun.x0_spread,
        "constants": problem,
        "task": str(task),
        "topology": sequence,
        "stated": stated,
        "facts": RunFacts(
            precision=precision,
            eps=eps,
            common_start=begun.common,
            dfltheory=__version__,
            torch="unknown",
        ),
    }


# -- the algorithm ---------------------------------------------------------------------


def algorithm_with(
    algorithm: Algorithm[Any] | str, hyperparameters: Mapping[str, object] | None
) -> Algorithm[Any]:
    """Return an algorithm, created from a class name and hyperparameters if necessary.

    A hyperparameter may be omitted only if its default turns its mechanism off, such as
    ``decay = 1``.
    """
    given = _mapping("hyperparameters", hyperparameters)
    if isinstance(algorithm, Algorithm):
        if given:
            raise InputError(
                f"hyperparameters {', '.join(given)} are given twice: the algorithm"
                f" {type(algorithm).__name__} already has hyperparameters"
            )
        check_class(type(algorithm))
        return algorithm
    if not isinstance(algorithm, str):
        raise InputError(
            f"algorithm = {algorithm!r:.100} must be an Algorithm with its"
            " hyperparameters, such as DFedAvg(eta=0.1, K=5), or the name of a class"
        )
    kind = algorithms.get(algorithm)
    of_alias = algorithms.resolve_alias(algorithm)[1]
    return kind(**complete_hyperparameters(kind, {**of_alias, **given}))


def complete_hyperparameters(
    kind: type[Algorithm[Any]], given: dict[str, Any]
) -> dict[str, Any]:
    """Return the hyperparameters; raise InputError with the names of missing ones."""
    by_name = {entry.name: entry for entry in fields(kind)}
    for name in given:
        if name not in by_name:
            raise UnknownNameError(
                f"hyperparameter of {kind.__name__}", name, {*by_name}
            )
    absent = {**NEUTRAL, **NEUTRAL_HYPERPARAMETERS}
    missing = []
    for name, entry in by_name.items():
        glossary_name = kind.glossary.get(name, name)
        neutral = glossary_name in absent and entry.default == absent[glossary_name]
        if name not in given and (entry.default is MISSING or not neutral):
            other = "" if name == glossary_name else f" ({glossary_name})"
            missing.append(f"{name}{other}")
    if missing:
        raise InputError(
            f"{kind.__name__} needs {', '.join(missing)}: pass every hyperparameter"
            " that the run used (defaults are not assumed)"
        )
    return given


# -- the arrays ------------------------------------------------------------------------


def checked_arrays(measures: Mapping[str, ArrayLike]) -> dict[str, FloatArray]:
    """Return each measure as a finite (S, R) array; check that shapes are equal."""
    if not measures:
        raise InputError(
            "no measure is given: pass at least one, such as grad_norm_sq, a (seeds,"
            " rounds) array"
        )
    arrays = {name: _array(name, value) for name, value in measures.items()}
    first, shape = next((name, array.shape) for name, array in arrays.items())
    for name, array in arrays.items():
        if array.shape != shape:
            raise InputError(
                f"{name} has shape {array.shape} and {first} {shape}: all measures"
                " must have the same seeds and rounds"
            )
    return arrays


def _array(name: str, value: ArrayLike) -> FloatArray:
    """Return one measure as a finite array (S, R); raise InputError if it is none."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().double().numpy()
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{name} is a {type(value).__name__} that is not an array of numbers:"
            " pass (seeds, rounds) values"
        ) from None
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        raise InputError(
            f"{name} has shape {array.shape}: it must be (seeds, rounds), or (rounds,)"
            " for one seed, with at least one value"
        )
    wrong = ~np.isfinite(array)
    if wrong.any():
        s, r = (int(index) for index in np.argwhere(wrong)[0])
        raise InputError(
            f"{name}[{s}, {r}] = {array[s, r]} is not finite: end a diverged run before"
            " that round"
        )
    if name in NEVER_NEGATIVE and (array < 0).any():
        s, r = (int(index) for index in np.argwhere(array < 0)[0])
        raise InputError(f"{name}[{s}, {r}] = {array[s, r]:g} must be at least 0")
    return array


def coarsest_precision(stated: str, values: Iterable[ArrayLike]) -> str:
    """Return the stated precision, or that of an array if it has fewer digits.

    Values in single precision are rounded, in whatever precision the run was made.
    """
    names = [stated]
    for value in values:
        name = str(getattr(value, "dtype", stated)).removeprefix("torch.")
        if name in PRECISIONS:
            names.append(name)
    return max(names, key=lambda name: torch.finfo(getattr(torch, name)).eps)


def _checked_rounds(rounds: Sequence[int] | None, columns: int) -> NDArray[np.int64]:
    """Return the measured rounds, by default 0, 1, ..."""
    if rounds is None:
        return np.arange(columns)
    if not isinstance(rounds, Iterable):
        raise InputError(f"rounds = {rounds!r:.60} must be a list of integers")
    listed = [whole_number("a round", t, at_least=0) for t in rounds]
    if len(listed) != columns:
        raise InputError(
            f"rounds has {len(listed)} entries, but the measures have {columns} columns"
        )
    if any(later <= earlier for earlier, later in pairwise(listed)):
        raise InputError(f"rounds = {listed!r:.100} must increase")
    return np.array(listed, dtype=np.int64)


def _total_rounds(T: float | None, measured: NDArray[np.int64]) -> int:
    """Return T, by default the last measured round."""
    last = int(measured[-1])
    if T is None:
        return last
    total = int(T) if isinstance(T, float) and T.is_integer() else T
    return whole_number("T", total, at_least=last, more=", the last measured round")


# -- constants -------------------------------------------------------------------------


def _divided(
    constants: Mapping[str, float] | ProblemConstants | None, algorithm: Algorithm[Any]
) -> tuple[ProblemConstants, dict[str, float], dict[str, float]]:
    """Divide stated constants into those of the problem, of the start, and others."""
    if isinstance(constants, ProblemConstants):
        return constants, {}, {}
    given = _mapping("constants", constants)
    hyperparameters = {
        algorithm.glossary.get(f.name, f.name) for f in fields(algorithm)
    }
    for name, value in given.items():
        if name in hyperparameters:
            raise InputError(
                f"{name} cannot be among the constants: it is a hyperparameter of"
                f" {type(algorithm).__name__}"
            )
        _check_constant(name, value)
    numbers = {name: float(value) for name, value in given.items()}
    problem = {name: value for name, value in numbers.items() if name in OF_PROBLEM}
    start = {name: value for name, value in numbers.items() if name in AT_START}
    others = {
        name: value
        for name, value in numbers.items()
        if name not in OF_PROBLEM and name not in AT_START
    }
    # an upper bound of 0 is exact; other constants are upper (mu: lower) bounds
    exact = {name for name, value in problem.items() if value == 0} | {"f_star"}
    standing = {name: "bound" for name in problem if name not in exact}
    return ProblemConstants(**problem, standing=standing), others, start  # type: ignore[arg-type]


def _mapping(name: str, values: object) -> dict[str, Any]:
    """Return a mapping as a dict, or an empty dict for None."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise InputError(f"{name} = {values!r:.60} must be a mapping by name")
    return dict(values)


def _check_constant(name: str, value: object) -> None:
    """Raise InputError unless a constant is one finite number in its range."""
    is_number = isinstance(value, (int, float, np.integer, np.floating))
    if (
        isinstance(value, bool)
        or not is_number
        or not -LARGEST_FLOAT <= value <= LARGEST_FLOAT
    ):
        raise InputError(f"{name} = {value!r:.60} must be one finite number")
    if not isinstance(name, str) or not name.isidentifier():
        raise InputError(f"a constant is called {name!r:.60}: use its glossary name")
    if name in GLOSSARY:
        GLOSSARY[name].check(value)


def _refuse_constants_of_network(
    stated: Mapping[str, float], sequence: MixingSequence | None
) -> None:
    """Raise InputError if constants of a given network are also stated."""
    for name in OF_NETWORK & set(stated):
        if sequence is not None:
            raise InputError(
                f"{name} = {stated[name]:g} cannot be stated together with the network,"
                " which determines it"
            )


def _refuse_measured_constants(
    stated: Mapping[str, float],
    arrays: Mapping[str, FloatArray],
    problem: ProblemConstants,
) -> None:
    """Raise InputError if f0_gap or x_star_sq is stated but follows from a measure.

    Both are of round 0, which the run measured.
    """
    follows = {"f0_gap": "f_gap" in arrays, "x_star_sq": "dist_sq" in arrays}
    if "loss" in arrays and problem.f_star is not None:
        follows["f0_gap"] = True
    for name, is_measured in follows.items():
        if is_measured and name in stated:
            raise InputError(
                f"{name} = {stated[name]:g} cannot be stated: it follows from the"
                " measures of this run"
            )


# -- the network -----------------------------------------------------------------


def _sequence(network: object, algorithm: Algorithm[Any]) -> MixingSequence | None:
    """Return the network as a sequence of matrices, or None if it is unknown."""
    if network is None:
        return None
    if not algorithm.needs_topology:
        raise InputError(
            f"{type(algorithm).__name__} does not use a network: omit network"
        )
    if isinstance(network, nx.Graph) and not nx.is_weighted(network):
        raise InputError(
            "network is a graph without weights: pass the mixing matrix of the run,"
            " for example dfl.graphs.metropolis(graph)"
        )
    return graphs.as_sequence(network)


def _clients(m: float | None, sequence: MixingSequence | None) -> int:
    """Return the number of clients, or 0 if it is unknown."""
    known = 0 if sequence is None else int(sequence.m)
    if m is None:
        return known
    count = whole_number("m", int(m) if float(m).is_integer() else m, at_least=1)
    if count > MOST_CLIENTS:
        raise InputError(f"m = {count}: at most {MOST_CLIENTS:,} clients")
    if known and count != known:
        raise InputError(f"m = {count}, but the network has {known} clients")
    return count


__all__ = [
    "algorithm_with",
    "checked_arrays",
    "complete_hyperparameters",
    "measured_run",
]
