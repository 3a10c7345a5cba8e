"""The fields of ``claim.json``: what a claim report examined, and its results."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from dfltheory.schemas import Schema
from dfltheory.verdicts.verdict import VerdictKind

CLAIM_FORMAT = 1
ClaimOutcome = Literal["REFUTED", "NOT REFUTED SO FAR", "NOT APPLICABLE"]
SearchOutcome = Literal[
    "refuted",
    "ratio grows",
    "not refuted",
    "undecided",
    "no candidate judged",
    "not searched",
]
"""``ratio grows``: of a statement in O(.), along a family of problems. This refutes
nothing.
"""


class AuditRecord(Schema):
    """The audit of the statement."""

    errors: int
    warnings: int
    findings: list[str]
    """Errors and warnings, each with the command that repeats its check."""
    command: str


class FamilyRecord(Schema):
    """One family of candidates of a search."""

    candidates: int
    largest_ratio: float | None
    """Largest measured/bound; null if no candidate met the conditions."""


class SearchRecord(Schema):
    """A search for a counterexample, of the statement or of a control."""

    outcome: SearchOutcome
    reason: str
    """Why nothing was searched or decided; otherwise empty."""
    candidates: int
    seconds: float
    seed: int
    largest_ratio: float | None
    """Measured/bound of the best candidate; of a statement in O(.) its growth."""
    families: dict[str, FamilyRecord]
    counterexample: str | None
    """File next to this one, for ``dfltheory falsify --replay``."""
    command: str


class ControlRecord(Schema):
    """A stronger statement, searched with the same budget."""

    name: str
    change: str
    statement_hash: str
    outcome: Literal[SearchOutcome, "not run"]
    candidates: int
    seconds: float
    largest_ratio: float | None
    command: str


class VerdictRecord(Schema):
    """The verdict on one standard problem."""

    network: str
    task: str
    options: dict[str, float]
    rounds: int
    seeds: int
    confidence: float
    hyperparameters: dict[str, float | int | str | bool]
    kind: VerdictKind
    reason: str
    ratio: float | None
    ratio_interval: list[float] | None
    command: str


class BudgetRecord(Schema):
    """The budget of each search; one of the two is given."""

    seconds: float | None
    candidates: int | None
    seed: int


class ClaimDocument(Schema):
    """A claim report."""

    kind: Literal["dfltheory.claim"] = "dfltheory.claim"
    format: Literal[1] = 1
    key: str
    variant: str
    title: str
    source: str
    """Where the statement is printed, as its author or reader wrote it."""
    statement: str
    """What names the statement in commands: a file or a key."""
    statement_hash: str
    """Of the canonical form; layout, prose and names of terms do not change it."""
    outcome: ClaimOutcome
    evidence: list[str]
    """What refutes the statement; empty if nothing does."""
    examined: list[str]
    not_examined: list[str]
    status: dict[str, object]
    """What is stored about the statement, or what a given counterexample shows."""
    budget: BudgetRecord
    audit: AuditRecord
    search: SearchRecord
    controls: list[ControlRecord]
    verdicts: list[VerdictRecord] = Field(max_length=3)
    versions: dict[str, str]
    page: str
    """File name of the page next to this file."""
    command: str
    """Repeats the report."""


def claim_schema() -> dict[str, object]:
    """Return the JSON schema of ``claim.json``."""
    return ClaimDocument.model_json_schema()


__all__ = [
    "CLAIM_FORMAT",
    "AuditRecord",
    "BudgetRecord",
    "ClaimDocument",
    "ControlRecord",
    "FamilyRecord",
    "SearchRecord",
    "VerdictRecord",
    "claim_schema",
]
