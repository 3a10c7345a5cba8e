"""Corrected statements in the terms of the printed ones, and captions of families."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import sympy as sp

from dfltheory.bounds.clauses import Condition, Definition, symbol_names
from dfltheory.bounds.formulas import read_formula
from dfltheory.bounds.symbols import NEUTRAL
from dfltheory.bounds.theorem import Theorem
from validation.counterexamples.growth_laws import GrowthLaw, growth_laws
from validation.pages.errata_entries import saved_growth
from validation.papers import statement
from validation.papers.erratum import StatementNote, erratum
from validation.papers.minimal import region_of


def in_terms_of(theorem: Theorem, printed: Theorem) -> tuple[Theorem, dict[str, int]]:
    """Return a corrected statement at the values that a printed one fixes.

    They are neutral values of quantities that the printed statement does not contain,
    such as Q = 1 of a corollary on one gossip step.
    """
    contained = {*printed.needs, *symbol_names(printed.schedule.values())}
    values = {
        name: int(value)
        for name, value in NEUTRAL.items()
        if name in theorem.needs and name not in contained
    }
    known = {theorem.glossary[name].symbol: value for name, value in values.items()}
    definitions = (
        Definition(d.symbol, d.expr.subs(known), d.latex, d.meaning)
        for d in theorem.definitions
    )
    conditions = (
        Condition(
            c.name,
            sp.sympify(c.left).subs(known),
            sp.sympify(c.right).subs(known),
            c.strict,
        )
        for c in theorem.conditions
    )
    fixed = replace(
        theorem,
        parts={name: part.subs(known) for name, part in theorem.parts.items()},
        definitions=tuple(definitions),
        conditions=tuple(conditions),
    )
    return (fixed, values) if values else (theorem, values)


def growth_caption(note: StatementNote, file: Path) -> str:
    """Return the caption of the picture of a growing family, which refutes an O(.).

    It says what the growth proves: a family in closed form refutes the statement, the
    fit to a finite range alone does not.
    """
    theorem = statement(note.claim)
    shown = f"{saved_growth(file)} ([saved](../counterexamples/{file.name}))"
    meaning = (
        "A valid constant in $\\mathcal O(\\cdot)$ would bound these ratios. Their size"
        " says nothing, because the constant is not stated; their growth does"
    )
    law = growth_laws().get(theorem.key)
    if law is not None and theorem.variant == "printed":
        return f"{shown}. {meaning}: {_closed_form(law)}"
    witness = erratum(note.example).witness
    if witness is not None and witness.along:
        name, values = next(iter(witness.along.items()))
        return (
            f"{shown}. {meaning}. The fit covers this range alone; what refutes the"
            f" statement is {note.example}, whose ratios are exact at"
            f" ${name}={','.join(values)}$"
        )
    return (
        f"{shown}. {meaning}, but the fit covers this range alone and does not prove"
        " that the growth goes on"
    )


def _closed_form(law: GrowthLaw) -> str:
    symbol = sp.Symbol(law.parameter, positive=True)
    growth = sp.latex(read_formula(law.growth, {law.parameter: symbol}))
    relation = "is at least" if law.relation == ">=" else "grows like"
    return (
        f"in a simplified family in closed form, with {law.family}, the ratio"
        f" {relation} ${growth}$"
        f" (`dfltheory falsify --show {law.statement}:printed`), so that no constant is"
        " large enough"
    )


def size_of_correction(note: StatementNote) -> Iterator[str]:
    """Yield how large the corrected statement is where nothing refutes the print."""
    region = region_of(note.claim)
    if region is None:
        return
    where = f"At random points where nothing refutes the print ({region.words})"
    if region.factor == 1:
        size = "no corrected variant with its assumptions was larger than it"
    else:
        size = (
            f"the smallest corrected variant was up to ${region.factor:g}$ times as"
            f" large as it, because {region.reason}"
        )
    yield f"**Size of the correction.** {where}, {size}."
    yield ""


__all__ = ["growth_caption", "in_terms_of", "size_of_correction"]
