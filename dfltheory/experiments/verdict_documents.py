"""Conversion of verdicts to and from plain data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory import bounds
from dfltheory.bounds.status import status_from_dict
from dfltheory.documents import (
    Read,
    any_number,
    anything,
    mapping,
    maybe,
    must,
    named,
    text,
    tuple_of,
    whole,
)
from dfltheory.errors import (
    LARGEST_WHOLE,
    DataError,
    DFLTheoryError,
)
from dfltheory.files import json_value, read_json, reading
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.statistics import Interval
from dfltheory.verdicts.suggestions import suggestions_from_dict
from dfltheory.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from dfltheory.training.history import History


_TABLE = mapping(any_number, 10**4, text)
"""Reader of a table of numbers by name."""
_COUNT = whole(0, LARGEST_WHOLE)
"""Reader of a number of seeds or rounds."""
_VERDICT: dict[str, Read] = {
    **dict.fromkeys(("kind", "key", "variant", "reason", "method"), text),
    **dict.fromkeys(
        ("bound", "ratio", "trivial", "confidence", "measured"), any_number
    ),
    **dict.fromkeys(("seeds", "rounds"), _COUNT),
    **dict.fromkeys(("conditions", "estimated"), tuple_of(text, 10**4)),
    **dict.fromkeys(("terms", "given", "slack", "at"), _TABLE),
    **dict.fromkeys(("ratio_ci", "measured_ci"), tuple_of(any_number, 2, 2)),
    "seeds_needed": maybe(_COUNT),
    "status": anything,  # read by status_from_dict
    "suggestions": anything,  # read by suggestions_from_dict
}
"""Readers of the fields of a saved verdict."""


DEFAULT_FIELDS: Mapping[str, object] = {
    "method": "student",
    "status": {"kind": "not examined"},
    "suggestions": {"alternatives": [], "largest_step": {}, "note": ""},
    "seeds_needed": None,
    "given": {},
    "slack": {},
    "at": {},
}
"""Defaults of fields that files of earlier versions lack."""


def verdict_from_dict(
    document: Mapping[str, object], run: History | None = None
) -> Verdict:
    """Return the verdict from the result of ``Verdict.to_dict``.

    Parameters
    ----------
    document : mapping
        Fields of a verdict; unknown ones are ignored.
    run : History, optional
        The run of the verdict, which is needed to plot it.

    Raises
    ------
    DataError
        A field is missing or has an invalid type.
    """
    try:
        must("verdict", document, isinstance(document, Mapping), "a table of fields")
        raw = named(
            "verdict", {**DEFAULT_FIELDS, **json_value(document)}, _VERDICT, None
        )
        values = {
            name: read(f"verdict.{name}", raw[name]) for name, read in _VERDICT.items()
        }
        values["status"] = status_from_dict(values["status"])
        values["suggestions"] = suggestions_from_dict(values["suggestions"])
    except (DFLTheoryError, RecursionError) as wrong:
        raise DataError(f"not a verdict: {wrong}") from wrong
    values["measured"] = Interval(values["measured"], *values.pop("measured_ci"))
    if run is not None:
        theorem = bounds.get(values["key"], values["variant"])
        values["left_hand_side"] = LeftHandSide(run, theorem)
    return Verdict(**values)


def load_verdicts(path: str | Path) -> list[Verdict]:
    """Return the verdicts in a ``verdicts.json``, which ``dfltheory validate`` wrote.

    They have no run, and thus cannot be drawn.

    Raises
    ------
    DataError
        The file does not contain a list of verdicts.
    """
    document = read_json(path)
    if not isinstance(document, list):
        raise DataError(
            f"{path} does not contain a list of verdicts: give a verdicts.json of"
            " `dfltheory validate --out`"
        )
    with reading(path, "verdicts"):
        return [verdict_from_dict(item) for item in document]


__all__ = ["DEFAULT_FIELDS", "load_verdicts", "verdict_from_dict"]
