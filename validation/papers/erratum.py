"""Errata as plain records: where a mistake begins, how it was found, and what is right instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from dfltheory.bounds.clauses import Condition, Definition
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError
from validation.papers import statement

Severity = Literal["the statement is false", "does not follow, repairable", "constant", "typo", "loose"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""
FALSE, REPAIRABLE, CONSTANT, TYPO, LOOSE = SEVERITIES
FoundBy = Literal[
    "a general check",
    "a declared proof step",
    "a proof line evaluated numerically",
    "a search for counterexamples",
    "a reader",
]
FOUND_BY: tuple[FoundBy, ...] = get_args(FoundBy)
GENERAL_CHECK, PROOF_STEP, PROOF_LINE, SEARCH, READER = FOUND_BY


@dataclass(frozen=True)
class Erratum:
    """One mistake of a paper. A claim is ``key`` (the printed variant) or ``key:variant``.

    Attributes
    ----------
    id : stays what it is
    severity : one of ``SEVERITIES``
    place : where it is, in the paper's own words
    cause : sentences with formulas between dollar signs
    found_by : a check that reads the statement alone; a step or an inequality of its proof; a displayed line
        that was transcribed and evaluated; a saved counterexample; or a reader
    origin : the claim in which it begins; empty where no statement has it, as in a table
    bears_on : theorems, corollaries and rates of the main text that it affects
    terms : claim -> term -> corrected formula; 0 removes a term. A statement of one term calls it ``bound``
    definitions : meaning of symbols of these formulas that the claims do not define
    conditions : claim -> conditions to be added
    scope : claim -> fields of the scope to be demanded
    holds : what holds in place of a false inequality, in words
    corrected : the claim of the corrected statement
    refutes : claims whose saved counterexamples this correction alone explains
        (:mod:`validation.papers.causes`)
    lines : places of the refuted lines that it makes false
    witness : the claim that ``docs/witnesses/ID.json`` refutes, a family of problems that no search draws
        (:mod:`validation.papers.witness_families`)
    """

    id: str
    severity: Severity
    place: str
    cause: str
    found_by: FoundBy
    origin: str = ""
    bears_on: tuple[str, ...] = ()
    terms: Mapping[str, Mapping[str, Expr]] = field(default_factory=dict)
    definitions: tuple[Definition, ...] = ()
    conditions: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)
    scope: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    holds: tuple[str, ...] = ()
    corrected: str = ""
    refutes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    witness: str = ""

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("severity", self.severity, SEVERITIES),
            ("found_by", self.found_by, FOUND_BY),
        ):
            if value not in allowed:
                raise InputError(f"{self.id}: {name} = {value!r} must be one of {', '.join(allowed)}")

    def correction(self, claim: str) -> Theorem:
        """A statement with this erratum's corrected terms, conditions and scope alone.

        Raises
        ------
        InputError
            The erratum corrects a term that the statement, which has one term, does not have.
        """
        theorem = statement(claim)
        terms = self.terms.get(claim, {})
        unknown = set(terms) - set(theorem.parts) if len(theorem.parts) == 1 else set()
        if unknown:
            raise InputError(f"{self.id}: terms {sorted(unknown)} of {theorem} must be {list(theorem.parts)}")
        parts = {name: part for name, part in {**theorem.parts, **terms}.items() if part != 0}
        defined = {definition.symbol for definition in theorem.definitions}
        used = {symbol for formula in terms.values() for symbol in formula.free_symbols} - defined
        added = tuple(definition for definition in self.definitions if definition.symbol in used)
        return replace(
            theorem,
            parts=parts,
            conditions=(*theorem.conditions, *self.conditions.get(claim, ())),
            definitions=(*theorem.definitions, *added),
            scope=replace(theorem.scope, **self.scope.get(claim, {})),
        )


__all__ = [
    "CONSTANT",
    "FALSE",
    "FOUND_BY",
    "GENERAL_CHECK",
    "LOOSE",
    "PROOF_LINE",
    "PROOF_STEP",
    "READER",
    "REPAIRABLE",
    "SEARCH",
    "SEVERITIES",
    "TYPO",
    "Erratum",
    "FoundBy",
    "Severity",
]
