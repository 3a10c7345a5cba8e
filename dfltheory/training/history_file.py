"""The fields of a history in its file, and their readers.

Measures are stored as ``measure/NAME``, measures of single clients as ``client/NAME``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from dfltheory.constants import NetworkConstants, ProblemConstants
from dfltheory.documents import (
    line,
    mapping,
    maybe,
    number,
    one_of,
    record,
    truth,
    whole,
)
from dfltheory.errors import LARGEST_WHOLE
from dfltheory.training import storage, stored_arrays
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.records import algorithm_of
from dfltheory.training.run_measures import HISTORY_MEASURES, RunFacts

RecordType = TypeVar("RecordType")

ARRAYS = (
    "x",
    "x0_sq",
    "x0_spread",
    "rounds_measured",
    "excess",
    "sent_bits",
    "consensus_rounding",
    "model_sq",
    "x0_gradient_sq",
)
_ROUND = whole(0, LARGEST_WHOLE)
SCALARS = {
    "rounds": _ROUND,
    "task": line(10**4, r"(?s:.*)"),
    "seed": _ROUND,
    "diverged_at": maybe(_ROUND),
    "stopped_at": maybe(_ROUND),
    "seconds": number(),
    "chance": truth,
}
STATED_READER = mapping(number(), 10**4, line(1000))
_FACTS = record(
    {
        "precision": one_of("float64", "float32", "float16", "bfloat16"),
        "eps": number(0, 1),
        "common_start": maybe(truth),
        **dict.fromkeys(("dfltheory", "torch"), line(100)),
    },
    {"broken_assumption": maybe(line(1000))},  # absent in files of earlier releases
)


def _run_facts(**fields: object) -> RunFacts:
    """Return the facts of a run after checking the types of their fields."""
    return RunFacts(**_FACTS("facts", fields))


RECORDS: dict[str, Callable[..., object]] = {
    "constants": ProblemConstants,
    "network": NetworkConstants,
    "network_facts": NetworkFacts,
    "facts": _run_facts,
}


def fields_of_file(
    path: str | os.PathLike[str],
    arrays: dict[str, np.ndarray],
    document: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields of a history and its stored properties.

    Raises
    ------
    DataError
        If an array is inconsistent with the run.
    """
    if "consensus_error" in arrays:  # its name in files of earlier releases
        arrays.setdefault("consensus_rounding", arrays["consensus_error"])
    measures = storage.under("measure", arrays)
    records = {
        name: _read_record(document[name], kind) for name, kind in RECORDS.items()
    }
    values: dict[str, Any] = {
        name: records.pop(name) for name in ("constants", "facts")
    }
    values |= {name: arrays[name] for name in ARRAYS if name in arrays}
    values |= {
        name: read(f"{path}: {name}", document[name]) for name, read in SCALARS.items()
    }
    values |= {
        name: measures.pop(name) for name in HISTORY_MEASURES if name in measures
    }
    values.setdefault("accuracy", None)
    measured_by_other_code = "stated" in document
    ended = measured_by_other_code or values["diverged_at"] is not None
    stored_arrays.check_history(arrays, values["rounds"], ended)
    if measured_by_other_code:
        values["stated"] = STATED_READER(f"{path}: stated", document["stated"])
        unknown = np.full((len(values["x"]), len(values["rounds_measured"])), np.nan)
        for name in ("grad_norm_sq", "consensus", "loss"):
            values.setdefault(name, unknown)
    values["algorithm"] = algorithm_of(document["algorithm"])
    values["extra"] = measures
    values["clients"] = storage.under("client", arrays)
    return values, records | {"random_network": bool(document["random_network"])}


def _read_record(
    document: Mapping[str, object] | None, kind: Callable[..., RecordType]
) -> RecordType | None:
    """Return a record of the given class, or None for None."""
    return None if document is None else kind(**document)


def plain_record(
    record: ProblemConstants | NetworkConstants | NetworkFacts | RunFacts | None,
) -> dict[str, object] | None:
    """Return the fields of a record as a dict, or None for None."""
    if record is None:
        return None
    values = {f.name: getattr(record, f.name) for f in fields(record)}
    for name, value in values.items():
        if isinstance(value, Mapping):
            values[name] = dict(value)
    return values


__all__ = [
    "ARRAYS",
    "RECORDS",
    "SCALARS",
    "fields_of_file",
    "plain_record",
]
