"""Corrected statements in the terms of the printed ones, and captions of families."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import sympy as sp

from dfltheory.bounds.clauses import Condition, Definition, symbol_names
from dfltheory.bounds.display import expression_latex, symbols_in_latex
from dfltheory.bounds.symbols import NEUTRAL
from dfltheory.bounds.theorem import Theorem
from validation.counterexamples.growth_laws import growth_laws
from validation.pages.errata_entries import number, saved_growth
from validation.papers import statement
from validation.papers.erratum import StatementNote, erratum, notes
from validation.papers.minimal import region_of
from validation.papers.witness_comparison import bound_at, evaluate, points

_WIDTH = 88
"""Characters of a line of plain text."""
_LAW_VALUES = (1e2, 1e4, 1e6, 1e8)
"""Values at which a ratio in closed form is shown."""


def in_terms_of(theorem: Theorem, printed: Theorem) -> tuple[Theorem, dict[str, int]]:
    """Return a corrected statement at the values that a printed one fixes.

    They are neutral values of quantities that the printed statement does not contain,
    such as Q = 1 of a corollary on one gossip step. The second result has them by name.
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


def growth_caption(file: Path) -> str:
    """Return the caption of the picture of a growing family without a closed form."""
    return (
        f"{saved_growth(file)} ([saved](../counterexamples/{file.name})). A valid"
        " constant in $\\mathcal O(\\cdot)$ would bound these ratios. Their size says"
        " nothing, because the constant is not stated; their growth does, but the fit"
        " covers this range alone and does not prove that the growth goes on"
    )


def family_in_closed_form(note: StatementNote) -> Iterator[str]:
    """Yield the family in closed form that refutes a statement in O(.).

    Lines that a section before it has are not repeated.
    """
    if not note.family:
        return
    law = growth_laws()[note.claim]
    anchor = note.claim.partition(".")[2].replace("_", "-")
    yield f"**A family in closed form.**{{: #family-{anchor} }}"
    yield ""
    yield f"`dfltheory falsify --show {law.statement}` prints it."
    earlier = [growth_laws()[other.claim] for other in before(note) if other.family]
    known = {line for other in earlier for line in other.lines}
    yield from ("Names: f0_gap is $\\Delta_0$, lam $\\lambda$.", "", "```text")
    if known & set(law.lines):
        yield "(the family above)"
    for line in (line for line in law.lines if line not in known):
        yield from textwrap.wrap(line, _WIDTH, subsequent_indent="  ")
    yield ""
    yield from textwrap.wrap(law.derivation, _WIDTH)
    yield from ("```", "")


def before(note: StatementNote) -> list[StatementNote]:
    """Return the notes whose sections precede that of ``note``."""
    all_notes = notes(note.claim.split(".")[0])
    return list(all_notes[: all_notes.index(note)])


@dataclass(frozen=True)
class ExactFamily:
    """A family of problems whose ratio measured/claimed is known exactly.

    Attributes
    ----------
    source : the source of the family, in words for a caption
    parameter, symbol : the quantity that grows, by name and in LaTeX
    values, ratios : its values in the members shown, and their measured / claimed
    """

    source: str
    parameter: str
    symbol: str
    values: tuple[float, ...]
    ratios: tuple[float, ...]


def exact_family(note: StatementNote) -> ExactFamily | None:
    """Return the family that refutes a statement in O(.), None without one.

    It is that of the note's example, or else the family in closed form. The claimed
    expression is that of the note's own statement.
    """
    theorem = statement(note.claim)
    if not (theorem.order and note.example):
        return None
    witness = erratum(note.example).witness
    if witness is not None and witness.along:
        (name,) = witness.along
        members = list(points(witness))
        ratios = (
            float(evaluate(witness.left, values) / bound_at(theorem, values))
            for values in members
        )
        return ExactFamily(
            note.example,
            name,
            symbols_in_latex(theorem)[name],
            tuple(float(values[name]) for values in members),
            tuple(ratios),
        )
    law = growth_laws().get(note.claim)
    if law is None:
        return None
    return ExactFamily(
        "the family in closed form",
        law.parameter,
        law.parameter,
        _LAW_VALUES,
        tuple(map(law.ratio_at, _LAW_VALUES)),
    )


def exact_growth_caption(note: StatementNote, family: ExactFamily) -> str:
    """Return the caption of the picture of a family whose ratios are exact."""
    values, ratios = family.values, family.ratios
    power = math.log(ratios[-1] / ratios[-2]) / math.log(values[-1] / values[-2])
    theorem = statement(note.claim)
    shown = ", ".join(f"${number(sp.Float(ratio))}$" for ratio in ratios)
    at = ",".join(number(sp.Integer(int(value))) for value in values)
    file = f"{theorem.key}-{theorem.variant}.json"
    return (
        f"the measured value of {family.source} over the claimed expression at"
        f" ${family.symbol}={at}$: {shown}. Between the last two it grows like"
        f" ${family.symbol}^{{{power:.2f}}}$. Expressions in $\\mathcal O(\\cdot)$ have"
        " no constant, so that one ratio says nothing; that the ratios grow without"
        " limit says that no constant is large enough. Along"
        f" [problems that a search found](../counterexamples/{file}) the ratio grows, too,"
        " over the range searched"
    )


def schedule_latex(theorem: Theorem) -> list[tuple[str, str]]:
    """Return the choices of a statement's schedule, symbol and value in LaTeX."""
    symbols = symbols_in_latex(theorem)
    return [
        (symbols[name], expression_latex(sp.sympify(value), theorem))
        for name, value in theorem.schedule.items()
    ]


def size_of_correction(note: StatementNote) -> Iterator[str]:
    """Yield how large the corrected bound is where nothing refutes the print."""
    region = region_of(note.claim)
    if region is None:
        return
    clients = symbols_in_latex(statement(note.claim))["m"]
    where = (
        f"At random points with ${clients}\\ge2$ where nothing refutes the print"
        f" ({region.words})"
    )
    if region.factor == 1:
        size = "the corrected bound was never larger than the printed one"
    else:
        size = (
            f"the corrected bound was up to ${region.of_corrected:g}$ times as large as"
            " the printed one, and the smallest of its"
            f" [variants](../corrected-variants.md) up to ${region.factor:g}$ times,"
            f" because {region.reason}"
        )
    yield f"**Size of the correction.** {where}, {size}."
    yield ""


__all__ = [
    "ExactFamily",
    "before",
    "exact_family",
    "exact_growth_caption",
    "family_in_closed_form",
    "growth_caption",
    "in_terms_of",
    "schedule_latex",
    "size_of_correction",
]
