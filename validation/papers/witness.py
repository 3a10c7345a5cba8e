"""Witnesses of errata, as data.

They are values at which the printed line is false and the corrected one holds.
:mod:`validation.papers.witness_comparison` evaluates them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Witness(BaseModel):
    """Values at which a printed line is false.

    The printed right-hand side is ``printed``, the bound of the statement ``claim``, or
    that of the refuted line ``line``; ``family`` names a statement that a saved family
    of problems refutes, which no formula evaluates.

    Attributes
    ----------
    words : the witness in at most five lines; ``{left}``, ``{printed}``,
        ``{corrected}``, ``{ratio}`` and ``{growth}`` are replaced by what is evaluated,
        ``{at_most}`` by the printed side, rounded up, and ``{holds}`` by the bound of
        the corrected statement
    at : values by name; a value may be a formula in the names before it
    along : values of one name, each at least twice as bad as the one before, for a
        statement in O(.)
    left, printed, corrected : formulas in the names of ``at``; for a line also ``left``
        and ``right``, its two sides
    corrected_left : the left-hand side after the correction, where that is what changes
    relation : what the line claims of its two sides; ``~`` means up to a tenth
    excluded_by : the added hypothesis, which the witness does not satisfy
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: tuple[str, ...] = Field(default=(), max_length=5)
    at: dict[str, str] = {}
    along: dict[str, list[str]] = {}
    left: str = ""
    printed: str = ""
    corrected: str = ""
    corrected_left: str = ""
    relation: Literal["<=", "=", "~"] = "<="
    claim: str = ""
    line: str = ""
    excluded_by: str = ""
    family: str = ""

    @model_validator(mode="after")
    def _one_printed_side(self) -> Witness:
        sources = [self.printed, self.claim if not self.line else "", self.line]
        if sum(map(bool, (*sources, self.family))) != 1:
            raise ValueError(
                "exactly one of printed, claim, line and family must be set"
            )
        if self.along and not self.claim:
            raise ValueError("along applies to a statement in O(.): set claim")
        return self
