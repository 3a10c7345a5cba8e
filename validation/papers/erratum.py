"""Errata as plain records.

A record says where a mistake begins, how it was found, and what is right instead.

``validation/papers/<paper>/errata.toml`` holds those of one paper, in its own order;
:func:`read_errata` reads them. Formulas are written as in theorem files.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import sympy as sp
from pydantic import ConfigDict, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from dfltheory.bounds.clauses import Condition, Definition
from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.bounds.formulas import read_comparison, read_formula
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError, UnknownNameError
from validation.papers import FOLDER, PAPERS, statement
from validation.papers.witness import Witness

Severity = Literal[
    "the statement is false", "does not follow, repairable", "constant", "typo"
]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""
FALSE, REPAIRABLE, CONSTANT, TYPO = SEVERITIES
FoundBy = Literal[
    "a general check",
    "a declared proof step",
    "a proof line evaluated numerically",
    "a search for counterexamples",
    "a reader",
]
FOUND_BY: tuple[FoundBy, ...] = get_args(FoundBy)
GENERAL_CHECK, PROOF_STEP, PROOF_LINE, SEARCH, READER = FOUND_BY


Record = TypeVar("Record")
Verification = Literal[
    "its witness",
    "the checks that reported it",
    "its lines as corrected, evaluated",
    "a saved counterexample",
    "reading",
]
BY_WITNESS, BY_CHECKS, BY_LINES, BY_COUNTEREXAMPLE, BY_READING = get_args(Verification)


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Erratum:
    """One mistake of a paper.

    A claim is ``key`` (the printed variant) or ``key:variant``.

    Attributes
    ----------
    id : never changes
    severity : one of ``SEVERITIES``
    place : where it is, in the paper's own words
    quotation : what is printed there, as LaTeX between dollar signs or in words
    cause : why it is wrong
    correction : the least change that makes it right
    found_by : a check that reads the statement alone; a step or an inequality of its
        proof; a displayed line that was transcribed and evaluated; a saved
        counterexample; or a reader
    verified_by : how the correction was verified; by reading alone if by nothing else
    origin : the claim in which it begins; empty where no statement has it, as in a
        table
    bears_on : theorems, corollaries and rates of the main text that it affects
    terms : claim -> term -> corrected formula; 0 removes a term. A statement of one
        term calls it ``bound``
    definitions : symbols of these formulas that the claims do not define; as in theorem
        files
    conditions : claim -> name -> comparison to be added
    scope : claim -> fields of the scope to be demanded
    corrected : the claim of the corrected statement
    refutes : claims whose saved counterexamples this correction alone explains
        (:mod:`validation.papers.causes`)
    lines : places of the refuted lines that it makes false
    contradicts : further claims that the witness contradicts
    witness : values at which the printed line is false
    no_witness : why there is none
    """

    id: str
    severity: Severity
    place: str
    quotation: str
    cause: str
    correction: str
    found_by: FoundBy
    verified_by: tuple[Verification, ...]
    origin: str = ""
    bears_on: tuple[str, ...] = ()
    terms: dict[str, dict[str, str]] = field(default_factory=dict)
    definitions: dict[str, str | dict[str, str]] = field(default_factory=dict)
    conditions: dict[str, dict[str, str]] = field(default_factory=dict)
    scope: dict[str, dict[str, Any]] = field(default_factory=dict)
    corrected: str = ""
    refutes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    witness: Witness | None = None
    no_witness: str = ""

    @model_validator(mode="after")
    def _witness_or_reason(self) -> Erratum:
        if (self.witness is None) == (not self.no_witness):
            raise ValueError("exactly one of witness and no_witness must be set")
        return self

    @property
    def paper(self) -> str:
        """The name of the paper's folder."""
        return self.id.split("-")[0].lower()

    def added_conditions(self, claim: str) -> tuple[Condition, ...]:
        """Return the conditions that this erratum adds to a statement."""
        symbols = _symbols(statement(claim), ())
        added: list[Condition] = []
        for name, text in self.conditions.get(claim, {}).items():
            added += comparison_conditions(name, *read_comparison(text, symbols))
        return tuple(added)

    def corrected_statement(self, claim: str) -> Theorem:
        """Return a statement with the corrections of this erratum alone.

        They are its corrected terms, conditions and scope.

        Raises
        ------
        InputError
            The erratum corrects a term that the statement, which has one term, does not
            have.
        """
        theorem = statement(claim)
        texts = self.terms.get(claim, {})
        definitions = self._definitions(theorem, texts.values())
        symbols = _symbols(theorem, definitions)
        terms = {name: read_formula(text, symbols) for name, text in texts.items()}
        unknown = set(terms) - set(theorem.parts) if len(theorem.parts) == 1 else set()
        if unknown:
            raise InputError(
                f"{self.id}: terms {sorted(unknown)} of {theorem} must be"
                f" {list(theorem.parts)}"
            )
        parts = {
            name: part for name, part in {**theorem.parts, **terms}.items() if part != 0
        }
        return replace(
            theorem,
            parts=parts,
            conditions=(*theorem.conditions, *self.added_conditions(claim)),
            definitions=(*theorem.definitions, *definitions),
            scope=replace(theorem.scope, **self.scope.get(claim, {})),
        )

    def _definitions(
        self, theorem: Theorem, formulas: Iterable[str]
    ) -> list[Definition]:
        """Return the definitions that formulas need and the statement lacks.

        Each needs earlier ones alone.
        """
        tables = {name: _table(entry) for name, entry in self.definitions.items()}
        known = {definition.symbol.name for definition in theorem.definitions}
        needed = _names(formulas)
        for name in reversed(tables):
            if name in needed:
                needed |= _names([tables[name]["formula"]])
        definitions: list[Definition] = []
        for name, table in tables.items():
            if name in needed - known:
                symbols = _symbols(theorem, definitions)
                definitions.append(_definition(name, table, symbols))
        return definitions


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class StatementNote:
    """A note on a main statement of a paper, for its authors.

    Attributes
    ----------
    claim : the statement as printed
    name : as the paper calls it
    cause, survives : a line of the tables
    text : a paragraph to the authors, in their notation
    unaffected : what the mistakes do not touch
    corrected : the claim of the statement that holds instead
    example, also : ids of the errata whose witnesses are shown
    family : whether the family in closed form that refutes an O(.) is shown as well
    """

    claim: str
    name: str
    cause: str
    survives: str
    corrected: str
    text: str = ""
    unaffected: str = ""
    example: str = ""
    also: str = ""
    family: bool = False


@cache
def errata(paper: str) -> tuple[Erratum, ...]:
    """Return the errata of a paper in its own order; none if it has no folder."""
    return read_errata(FOLDER / paper / "errata.toml") if paper in PAPERS else ()


@cache
def notes(paper: str) -> tuple[StatementNote, ...]:
    """Return what is said of the main statements of a paper."""
    return read_records(FOLDER / paper / "errata.toml", "statement", _NOTE)


def erratum(name: str) -> Erratum:
    """Return the erratum of this id.

    Raises
    ------
    UnknownNameError
        No paper has an erratum of this id.
    """
    known = {entry.id: entry for paper in PAPERS for entry in errata(paper)}
    if name not in known:
        raise UnknownNameError("erratum", name, set(known))
    return known[name]


def notation(paper: str) -> str:
    """Return what the symbols of a paper mean, as Markdown."""
    text = (FOLDER / paper / "errata.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["notation"])


def read_errata(file: Path) -> tuple[Erratum, ...]:
    """Return the errata of a TOML file.

    Raises
    ------
    InputError
        A record has a field that errata do not have, lacks one, or has another severity
        or source.
    """
    return read_records(file, "erratum", _ERRATUM)


def read_records(
    file: Path, name: str, record_type: TypeAdapter[Record]
) -> tuple[Record, ...]:
    """Return the records of one name, in the order of the file.

    Raises
    ------
    InputError
        A record has a field that such records do not have, or lacks one.
    """
    records: list[Record] = []
    for record in tomllib.loads(file.read_text(encoding="utf-8")).get(name, []):
        try:
            records.append(record_type.validate_python(record))
        except ValidationError as wrong:
            place = record.get("id", record.get("claim", f"a {name} without a name"))
            raise InputError(f"{file}: {place}: {wrong}") from None
    return tuple(records)


_ERRATUM = TypeAdapter(Erratum)
_NOTE = TypeAdapter(StatementNote)


def _symbols(theorem: Theorem, definitions: Sequence[Definition]) -> dict[str, Expr]:
    """Return the symbols that a formula about a statement may contain, by name."""
    symbols: dict[str, Expr] = {
        name: quantity.symbol for name, quantity in GLOSSARY.items()
    }
    symbols |= {quantity.name: quantity.symbol for quantity in theorem.quantities}
    return symbols | {
        d.symbol.name: d.symbol for d in (*theorem.definitions, *definitions)
    }


def _names(formulas: Iterable[str]) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", " ".join(formulas)))


def _table(entry: str | Mapping[str, str]) -> Mapping[str, str]:
    """Return a definition, written as a formula alone or as a table, as a table."""
    return {"formula": entry} if isinstance(entry, str) else entry


def _definition(
    name: str, table: Mapping[str, str], symbols: Mapping[str, Expr]
) -> Definition:
    sign = {table.get("sign", "real"): True}
    symbol = sp.Symbol(name, **sign)
    formula = read_formula(table["formula"], symbols)
    return Definition(
        symbol, formula, table.get("latex", name), table.get("meaning", "")
    )


__all__ = [
    "BY_CHECKS",
    "BY_COUNTEREXAMPLE",
    "BY_LINES",
    "BY_READING",
    "BY_WITNESS",
    "FALSE",
    "FOUND_BY",
    "GENERAL_CHECK",
    "PROOF_STEP",
    "SEVERITIES",
    "TYPO",
    "Erratum",
    "FoundBy",
    "Severity",
    "StatementNote",
    "errata",
    "erratum",
    "notation",
    "notes",
    "read_errata",
    "read_records",
]
