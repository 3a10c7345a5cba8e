"""Reader of counterexample files: instances, families, outcomes, ``--json`` output.

All such files are read by this module. Files may come from other people, so they are
not trusted. Every field is checked for its type; numbers must be finite, in range, and
small enough that a replay ends; names are looked up in fixed lists; unknown fields are
rejected. An error message contains the file, the field and its value.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.growth import MEMBERS
from dfltheory.counterexamples.long_noise import noisy_blocks
from dfltheory.counterexamples.problems import (
    TASKS,
    RampTask,
    has_exact_expectation,
)
from dfltheory.counterexamples.reach import CodeNeededError, class_of, reference_to
from dfltheory.counterexamples.score import NOISY
from dfltheory.documents import (
    Read,
    any_number,
    anything,
    line,
    mapping,
    maybe,
    must,
    named,
    number,
    one_of,
    record,
    rows,
    truth,
    whole,
)
from dfltheory.errors import DataError, DFLTheoryError, InputError
from dfltheory.files import read_json, reading
from dfltheory.training.instance import Instance
from dfltheory.training.setup import seed_indices

Document = dict[str, Any]
"""The content of a file, after all fields have been checked."""
COUNTEREXAMPLE_FORMAT = 2
FILE_KINDS = ("dfltheory.counterexample", "dfltheory.divergence", "dfltheory.outcome")
LARGEST_COUNTEREXAMPLE_FILE = 2**21
"""Maximum size of a file."""
LARGE, SMALL = 1e9, 1e-12
"""Largest absolute value of a number, and smallest number of a family's base."""
MOST_CLIENTS, LONGEST_PERIOD, LONGEST_LIST, MOST_STEPS = 64, 4, 64, 64
"""Largest numbers of clients, matrices, entries of a list, and local steps."""
LARGEST_CROWD, MOST_RUNS_OF_CROWD = 256, 64
"""Largest numbers of clients and of runs of a problem that is decided by runs alone."""
LARGEST_CROWD_WORK = 2**27
"""Largest product of its rounds, clients and runs."""
HORIZON = 10**18
"""Largest number of rounds, and largest seed."""
WORK = 512
"""Maximum product of rounds and local steps for the first member of a family. The last
member has 256 times as many.
"""


def read_document(
    path: str | os.PathLike[str],
    required: tuple[str, ...] = (),
    parse_float: Callable[[str], float] = float,
) -> Document:
    """Return the content of a file, after checking every field.

    Fields that are not ``required`` may be missing. ``parse_float`` converts decimal
    numbers (:class:`~dfltheory.documents.WrittenNumber` keeps their digits).

    Raises
    ------
    InputError
        The file is missing, too large, or not a regular file.
    DataError
        The file is not such a document, has an older format, or has an invalid field,
        the first of which is reported.
    """
    data = read_json(path, LARGEST_COUNTEREXAMPLE_FILE, parse_float)
    with reading(path, "a counterexample"):
        try:
            if isinstance(data, dict) and data.get("format") == 1:
                raise InputError(
                    "its format is 1, but this version reads format"
                    f" {COUNTEREXAMPLE_FORMAT}: search"
                    " again, or replay it with the version that wrote it"
                )
            return _document(data, required)
        except CodeNeededError as wrong:
            raise DataError(f"{path} cannot be replayed by itself: {wrong}") from None
        except DFLTheoryError as wrong:
            raise DataError(f"{path} contains no counterexample: {wrong}") from None


def built(data: object, known: Iterable[str | type] = ()) -> Instance:
    """Build the instance of a document.

    The task must be one of :mod:`.problems`. One whose exact expectation is unknown may
    have more clients than others, and several runs, which decide. The algorithm must be
    one of the package, one that has been imported, or one of the ``known`` classes. The
    numbers must be small enough that a replay ends.
    """
    is_crowd = is_decided_by_runs(data)
    most_clients = LARGEST_CROWD if is_crowd else MOST_CLIENTS
    _check_plain("instance", data, LARGEST_CROWD if is_crowd else LONGEST_LIST)
    sections = named("instance", data, ("task", "algorithm", "run"), ("topology",))
    task = named("instance.task", sections["task"], ("name",), None)
    one_of(*TASKS)("instance.task.name", task["name"])
    algorithm = named("instance.algorithm", sections["algorithm"], ("name",), None)
    cls = class_of(line(200)("instance.algorithm.name", algorithm["name"]), known)
    if ":" in algorithm["name"]:  # the module may have been imported by another name
        sections = sections | {"algorithm": algorithm | {"name": reference_to(cls)}}
    coordinates = rows(number(-LARGE, LARGE), 2, 1)
    topology = sections.get("topology", {})
    fields = _topology_fields(topology, most_clients) if cls.needs_topology else {}
    record(fields)("instance.topology", topology)
    most_runs = MOST_RUNS_OF_CROWD if is_crowd else 1
    run = record(
        {"rounds": whole(1, HORIZON), "x0": rows(coordinates, most_clients, 1)},
        {
            "seed": whole(0, 2**63),
            "seeds": whole(1, most_runs),
            "evaluate_every": whole(1, 1),
        },
    )
    run("instance.run", sections["run"])
    instance = Instance.of(sections, "instance", own=True)
    clients, dimension = instance.task.m, instance.task.d
    x0 = sections["run"]["x0"]
    must(
        "instance.run.x0",
        x0,
        np.shape(instance.x0) == (clients, dimension),
        f"{clients} x {dimension} numbers, to match the task",
    )
    if _is_too_long(instance):
        raise InputError(
            f"rounds = {instance.rounds} is too large for a problem with noise or a"
            " random network"
        )
    return instance


def is_decided_by_runs(data: object) -> bool:
    """Return whether a document has the noise and the ramps of a crowd.

    These are ramps, and noise of a gradient that is not affine. The document may be
    invalid.
    """
    match data:
        case {"task": {"knots": [[_, _, *_], *_], "sigma": int() | float()} as task}:
            return bool(task["sigma"]) and not task.get("led")
    return False


def _is_too_long(instance: Instance) -> bool:
    """Return whether an instance has too many rounds to be replayed.

    Raises
    ------
    InputError
        Its randomness is of a kind that cannot be replayed.
    """
    task = instance.task
    if isinstance(task, RampTask) and not has_exact_expectation(task):
        work = instance.rounds * task.m * len(seed_indices(instance.seeds))
        return instance.rounds > NOISY or work > LARGEST_CROWD_WORK
    batch = CandidateBatch.of(instance)  # rejects other randomness
    too_long = batch.is_random and instance.rounds > min(NOISY, batch.longest)
    return too_long and noisy_blocks(instance) is None


def _topology_fields(topology: object, most_clients: int) -> dict[str, Read]:
    """Return the readers for the fields of a topology, which depend on its kind."""
    matrix = rows(rows(number(-1, 1), most_clients), most_clients)
    fields: dict[str, Read] = {
        "matrices": rows(matrix, LONGEST_PERIOD, 1),
        "name": one_of("random_matching", "one_per_round"),
        "of": one_of("random_matching"),
    }
    if not isinstance(topology, dict):
        return {"matrix": matrix}
    present = {name: read for name, read in fields.items() if name in topology}
    return present or {"matrix": matrix}


def _is_start(place: str) -> bool:
    """Return whether a field is a number of the start, which may be negative."""
    return place.startswith("instance.run.x0")


def _check_plain(place: str, value: object, longest_list: int) -> None:
    """Raise an error for values that are not plain, finite, short and in range."""
    match value:
        case dict():
            for name, inner in mapping(anything, 40, line(40, r"\w+"))(
                place, value
            ).items():
                _check_plain(f"{place}.{name}", inner, longest_list)
        case list():
            for k, inner in enumerate(rows(anything, longest_list, 1)(place, value)):
                _check_plain(f"{place}[{k}]", inner, longest_list)
        case bool() | None:
            pass
        case int() if place.startswith("instance.algorithm."):
            whole(-MOST_STEPS, MOST_STEPS)(place, value)
        case int() if place.startswith("instance.run.") and not _is_start(place):
            whole(0, HORIZON)(place, value)
        case str():
            line(200, r"[\w.:<>-]+", "a name")(place, value)
        case _:
            number(-LARGE, LARGE)(place, value)


# -- the other fields

_name = line(80, r"[\w.]+", "a name")
_words = line(200, r"[\w .,:;=*+/()-]*", "plain words")
_line = line(2000, r"[^\x00-\x1f\x7f]*")
_count = whole(0, 10**15)


def _family(place: str, value: object) -> Document:
    """Read the [divergence] of a document, a family of problems."""
    ratios = rows(any_number, 8, 2)
    family = record(
        {
            "key": _name,
            "variant": _name,
            "member": one_of(*MEMBERS),
            "parameter": _words,
            "values": ratios,
            "ratios": ratios,
            **dict.fromkeys(("exponent", "low", "high"), any_number),
            **dict.fromkeys(("structural", "settled"), truth),
            "base": mapping(number(SMALL, LARGE), 20, _words),
            "core": maybe(any_number),
        }
    )(place, value)
    member, base = MEMBERS[family["member"]], family["base"]
    named(f"{place}.base", base, member.base)
    one_of(*member.varied)(f"{place}.parameter", family["parameter"])
    counts = {name: base[name] for name in ("T", "K", "K_u", "K_v") if name in base}
    for name, count in counts.items():
        must(
            f"{place}.base.{name}",
            count,
            count == round(count) >= 1,
            "a whole number >= 1",
        )
    must(
        f"{place}.base",
        counts,
        math.prod(counts.values()) <= WORK,
        f"few steps: their product at most {WORK}",
    )
    for name in ("values", "ratios"):
        family[name] = tuple(family[name])
    return family


_run: dict[str, Read] = {
    **dict.fromkeys(("ratio", "measured", "bound"), any_number),
    "T": whole(1, HORIZON),
}
_condition = record({"condition": _line, "slack": any_number, "holds": truth})
_FIELDS: dict[str, Read] = {
    "kind": one_of(*FILE_KINDS),
    "format": whole(COUNTEREXAMPLE_FORMAT, COUNTEREXAMPLE_FORMAT),
    "command": _words,
    "file": maybe(_line),
    "key": _name,
    "variant": _name,
    "family": _words,
    "violated": truth,
    "growing": truth,
    "ratio": any_number,
    "evaluations": _count,
    "seconds": any_number,
    "seed": whole(0, 2**63),
    "families": mapping(
        record({"ratio": any_number, "evaluations": _count}), 1000, _words
    ),
    "refused": mapping(_words, 100, _words),
    "first": any_number,
    "terms": mapping(record({"share": any_number, "without": any_number}), 20, _line),
    "readings": mapping(record({"ratio": any_number, "violated": truth}), 10, _words),
    "exact": maybe(record({**_run, "still": truth})),
    "core": record(
        {**_run, "rounds": _count, "still": truth}, {"low": any_number, "seeds": _count}
    ),
    "core_at_horizon": maybe(any_number),
    "conditions": rows(_condition, 100),
    "obstacles": rows(_line, 100),
    "undecided": rows(_line, 200),
    "divergence": maybe(_family),
    "instance": anything,  # read by :func:`built`
    "theorem": anything,  # read with its types by theorem_from_document
}


def _document(data: object, required: tuple[str, ...]) -> Document:
    """Read the fields of a document, and check that they are consistent."""
    document = record({name: _FIELDS[name] for name in required}, _FIELDS)("", data)
    about = [
        name for name in ("instance", "divergence") if document.get(name) is not None
    ]
    if document.get("instance") is not None:
        built(document["instance"])
        needed = ("key", "variant", "exact", "core") if required else ("key", "variant")
        named("the document", document, needed, None)
    if len(about) != 1 and (about or document.get("violated", True)):
        raise InputError(
            "it must contain either an instance or a divergence, but contains"
            f" {' and '.join(about) or 'neither'}"
        )
    return document


__all__ = [
    "COUNTEREXAMPLE_FORMAT",
    "FILE_KINDS",
    "Document",
    "built",
    "is_decided_by_runs",
    "read_document",
]
