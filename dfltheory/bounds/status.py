"""Status of a statement: refuted, proved, or not examined.

A status belongs to the content of a statement, not to its name: ``status.json`` maps
hashes of canonical forms (:mod:`dfltheory.bounds.canonical`) to what the saved searches
and proof checks found. A statement whose hash is not in the file is *not examined*.
``python -m validation.statuses`` writes the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from dfltheory.bounds.canonical import statement_hash
from dfltheory.documents import maybe, number, one_of, record, text, tuple_of
from dfltheory.errors import DataError, InputError

if TYPE_CHECKING:
    from dfltheory.bounds.statement import Statement

StatusKind = Literal["refuted", "proved", "proved from cited lemmas", "not examined"]
STATUS_KINDS: tuple[StatusKind, ...] = get_args(StatusKind)
STATUS_FILE = Path(__file__).parent / "status.json"
STATUS_FORMAT = 1
LINES = 5
"""Most lines of a stored counterexample."""


@dataclass(frozen=True)
class Status:
    """What is known about a statement in general, whatever one run shows.

    Attributes
    ----------
    kind : ``refuted`` by an instance within all its assumptions, or if the statement is
        in O(.), by a family of problems with a closed form; ``proved``: the proof
        kernel checked the whole proof; ``proved from cited lemmas``: the step from the
        lemmas named in ``how`` was checked, the lemmas were not; ``not examined``:
        neither
    how : what refutes it, or what was checked and under which hypotheses
    ratio : measured / bound of the counterexample; of a statement in O(.) the growth of
        that ratio over the range searched
    counterexample : at most five lines: the clients' functions, W, start, step size,
        measured and bound
    command : what repeats the search or the check
    search : what a search for a counterexample covered, if one was made
    name : KEY:VARIANT of the registered statement under which the counterexample is
        stored
    """

    kind: StatusKind = "not examined"
    how: str = ""
    ratio: float | None = None
    counterexample: tuple[str, ...] = ()
    command: str = ""
    search: str = ""
    name: str = ""

    @property
    def refuted(self) -> bool:
        """Whether the statement is refuted."""
        return self.kind == "refuted"

    def to_dict(self) -> dict[str, object]:
        """Return the fields that are not empty, as plain data."""
        values = {name: getattr(self, name) for name in _FIELDS}
        values["counterexample"] = list(self.counterexample)
        return {
            name: value for name, value in values.items() if value not in ("", [], None)
        }

    @property
    def label(self) -> str:
        """The kind; for a searched statement ``neither refuted nor proved``."""
        searched = self.kind == "not examined" and self.search
        return "neither refuted nor proved" if searched else self.kind

    @property
    def show_command(self) -> str:
        """The command that prints the stored counterexample; empty if there is none."""
        return (
            f"dfltheory falsify --show {self.name}"
            if self.refuted and self.name
            else ""
        )

    def __str__(self) -> str:
        if self.refuted:
            command = f", `{self.show_command}`" if self.name else ""
            return f"refuted ({self.how}{command})"
        details = "; ".join(part for part in (self.how, self.search) if part)
        return f"{self.label} ({details})" if details else self.label


_FIELDS = ("kind", "how", "ratio", "counterexample", "command", "search", "name")
_STATUS = record(
    {"kind": one_of(*STATUS_KINDS)},
    {
        **dict.fromkeys(("how", "command", "search", "name"), text),
        "counterexample": tuple_of(text, LINES),
        "ratio": maybe(number()),
    },
)
NOT_EXAMINED = Status()


def status_of(statement: Statement) -> Status:
    """Return the stored status of a statement's content, or ``NOT_EXAMINED``."""
    return _stored().get(statement_hash(statement), NOT_EXAMINED)


def status_from_dict(document: object) -> Status:
    """Return the status that :meth:`Status.to_dict` wrote.

    Raises
    ------
    DataError
        A field is unknown or is not what it must be.
    """
    try:
        values = _STATUS("status", document)
    except InputError as wrong:
        raise DataError(str(wrong)) from wrong
    return Status(**values)


@cache
def _stored() -> dict[str, Status]:
    """Return the stored statuses by hash."""
    document = json.loads(STATUS_FILE.read_text(encoding="utf-8"))
    return {
        digest: status_from_dict(entry["status"])
        for digest, entry in document["statements"].items()
    }


__all__ = [
    "STATUS_KINDS",
    "NOT_EXAMINED",
    "StatusKind",
    "Status",
    "status_from_dict",
    "status_of",
]
