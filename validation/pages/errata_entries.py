"""Errata as Markdown: entries, their witnesses, and the verdict on a statement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import sympy as sp

from dfltheory.bounds.display import symbols_in_latex
from dfltheory.bounds.growth import growth_words
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.files import read_json
from validation.papers import statement
from validation.papers.erratum import (
    BY_CHECKS,
    BY_COUNTEREXAMPLE,
    BY_LINES,
    BY_READING,
    BY_WITNESS,
    FALSE,
    SEVERITIES,
    TYPO,
    Erratum,
    errata,
    notes,
)
from validation.papers.lines import Side, refuted_lines
from validation.papers.witness_comparison import (
    Comparison,
    bound_at,
    compare,
    points,
)

_VERIFIED = {
    BY_WITNESS: "its witness",
    BY_CHECKS: "the check, repeated",
    BY_LINES: "random values",
    BY_COUNTEREXAMPLE: "a saved counterexample",
    BY_READING: "reading alone",
}
_SIMPLE = 10**5
"""Largest numerator and denominator of a number that is shown as a fraction."""


def entry_lines(erratum: Erratum) -> list[str]:
    """Return the lines of an entry: heading, what is wrong, and the correction."""
    provenance = (
        f"Found by {erratum.found_by}. {_verified_in_words(erratum.verified_by)}"
    )
    return [
        f"### {erratum.id} {{: #{erratum.id.lower()} }}",
        f"*{erratum.place}* ({erratum.severity}). Printed:"
        f" {_sentence(erratum.quotation)} {erratum.cause}",
        "",
        f"**Correction.** {_sentence(erratum.correction)} {witness_words(erratum)}"
        f" *{provenance}*",
        "",
    ]


def _verified_in_words(ways: Sequence[str]) -> str:
    """Return a sentence on how a correction was verified."""
    return f"The correction is verified by {', '.join(_VERIFIED[way] for way in ways)}."


def typo_line(erratum: Erratum) -> str:
    """Return the line of a typo in the list of typos."""
    return (
        f"- **{erratum.id}**{{: #{erratum.id.lower()} }} *{erratum.place}.* Printed:"
        f" {_sentence(erratum.quotation)} {erratum.cause} **Correction.**"
        f" {_sentence(erratum.correction)} {witness_words(erratum)}"
    )


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def witness_words(erratum: Erratum) -> str:
    """Return a sentence on what the witness of an erratum shows."""
    witness = erratum.witness
    if witness is None:
        return f"No witness: {erratum.no_witness}."
    if witness.family:
        return f"Witness: [a family of problems](../witnesses/{erratum.id}.json)."
    compared = compare(erratum)
    if len(witness.words) == 1:
        return f"Witness: {example_lines(erratum)[0]}"
    if witness.words:
        return f"Witness: [the example above](#example-{erratum.id.lower()})."
    if witness.along:
        name, values = next(iter(witness.along.items()))
        return (
            f"Witness: at ${name}={','.join(values)}$ the term is {_growth(compared)}"
            " times the whole printed expression."
        )
    return f"Witness: {_sides(erratum, compared)}."


def _sides(erratum: Erratum, compared: Comparison) -> str:
    witness, (left, printed, corrected) = erratum.witness, compared.rows[0]
    assert witness is not None
    if isinstance(left, np.ndarray):
        deviation = float(np.max(np.abs(left - printed)))
        return (
            f"{_inputs(erratum)}the sides differ by ${number(sp.Float(deviation))}$, and"
            " by nothing as corrected"
        )
    shown = (
        f"{_inputs(erratum)}left side ${number(left)}$, printed right side"
        f" ${number(printed)}$"
    )
    if witness.excluded_by:
        return f"{shown}; the added assumption excludes it"
    if witness.corrected_left or corrected == printed:
        return f"{shown}; with the correction the line holds"
    return f"{shown}, corrected ${number(corrected)}$"


def _inputs(erratum: Erratum) -> str:
    """Return where the sides of a line are evaluated: at which values, or problem."""
    witness = erratum.witness
    assert witness is not None
    values = dict(witness.at)
    if witness.line:
        arguments = refuted_lines(erratum.paper).exact_arguments(witness.line)
        if "problem" in arguments:
            return f"at a stored problem (`python -m validation.papers {erratum.id}`), "
        point = arguments.get("point", arguments)
        assert isinstance(point, dict)
        values = {name: str(value) for name, value in point.items()}
    glossary = statement(notes(erratum.paper)[0].claim)
    symbols = symbols_in_latex(glossary)
    shown = ",\\ ".join(
        f"{symbols.get(name, _in_latex(name))}={value.replace('*', '')}"
        for name, value in values.items()
    )
    return f"at ${shown}$, " if shown else ""


def _in_latex(name: str) -> str:
    """Return the LaTeX of a name that no statement has; words are upright."""
    return name if len(name) == 1 or "_" in name else rf"\mathrm{{{name}}}"


def example_lines(erratum: Erratum) -> list[str]:
    """Return the description of a witness with its computed numbers filled in."""
    witness, compared = erratum.witness, compare(erratum)
    assert witness is not None
    left, printed, corrected = compared.rows[-1]
    values = {
        "{left}": number(left),
        "{printed}": number(printed),
        "{at_most}": number(printed, upward=True),
        "{corrected}": number(corrected),
        "{ratio}": _ratio(left, printed),
        "{growth}": _growth(compared),
    }
    if any("{holds}" in line for line in witness.words):
        (point,) = points(witness)
        values["{holds}"] = number(bound_at(statement(erratum.corrected), point))
    lines = []
    for line in witness.words:
        for name, value in values.items():
            line = line.replace(name, value)
        lines.append(line)
    return lines


def _growth(compared: Comparison) -> str:
    ratios = [_ratio(left, printed) for left, printed, _ in compared.rows]
    return " and ".join(filter(None, (", ".join(ratios[:-1]), ratios[-1])))


def _ratio(left: Side, printed: Side) -> str:
    if printed == 0:
        return "infinitely many"
    return f"${number(sp.Float(float(left / printed)))}$"


def number(value: Side, upward: bool = False) -> str:
    """Format a number in LaTeX, as a fraction if it is simple, else with three digits.

    With ``upward`` a positive number is rounded up, as in "at most".
    """
    exact: Expr = sp.sympify(value)
    if not np.isfinite(float(exact)):
        return r"\infty"
    if isinstance(exact, sp.Rational) and max(abs(exact.p), exact.q) <= _SIMPLE:
        if exact.q % 5 == 0 and 10**4 % exact.q == 0:
            return f"{float(exact):g}"
        sign = "-" if exact.p < 0 else ""
        fraction = rf"{sign}\frac{{{abs(exact.p)}}}{{{exact.q}}}"
        return str(exact) if exact.q == 1 else fraction
    digits = f"{float(exact):.3g}"
    if upward and float(digits) < exact:
        step = sp.Integer(10) ** (math.floor(math.log10(float(exact))) - 2)
        digits = f"{float(exact + step / 2):.3g}"
    if "e" not in digits:
        return digits
    mantissa, _, exponent = digits.partition("e")
    power = rf"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa}\cdot{power}"


def saved_growth(file: Path) -> str:
    """Describe how measured/claimed grows along a saved family of problems."""
    family = read_json(file)["divergence"]
    ratios = ", ".join(f"{ratio:.3g}" for ratio in family["ratios"])
    return (
        f"along problems that a search found ({family['member']}), measured/claimed is"
        f" {ratios}: it grows {growth_words(family)}"
    )


# -- verdicts


def claim_of(theorem: Theorem) -> str:
    """Return the name that errata use: ``key`` (printed) or ``key:variant``."""
    if theorem.variant == "printed":
        return theorem.key
    return f"{theorem.key}:{theorem.variant}"


def bearing_on(theorem: Theorem) -> list[Erratum]:
    """Return the errata that affect a statement, the most severe first."""
    claim = claim_of(theorem)
    affecting = [
        entry
        for entry in errata(theorem.key.split(".")[0])
        if claim in (*entry.bears_on, *entry.refutes)
    ]
    return [entry for s in SEVERITIES for entry in affecting if entry.severity == s]


def causes_of(theorem: Theorem) -> list[Erratum]:
    """Return the errata that make a statement false.

    Either the correction explains a saved counterexample to the statement, or the
    witness contradicts the statement.
    """
    claim = claim_of(theorem)
    return [entry for entry in bearing_on(theorem) if _makes_false(entry, claim)]


def _makes_false(entry: Erratum, claim: str) -> bool:
    if claim in entry.refutes:
        return True
    witnessed = (entry.witness.claim, entry.witness.family) if entry.witness else ()
    contradicted = (entry.origin, *witnessed, *entry.contradicts)
    return entry.severity == FALSE and claim in contradicted


def verdict(theorem: Theorem) -> str:
    """Return ``false``, ``does not follow``, ``typos`` or ``nothing found``."""
    if theorem.status.refuted or causes_of(theorem):
        return "false"
    entries = bearing_on(theorem)
    if any(entry.severity != TYPO for entry in entries):
        return "does not follow"
    return "typos" if entries else "nothing found"


def links(entries: Iterable[Erratum], page: str = "") -> str:
    """Return links to entries, which are on another page if ``page`` is given."""
    return ", ".join(f"[{entry.id}]({page}#{entry.id.lower()})" for entry in entries)


def others(entries: Sequence[Erratum], named: Sequence[Erratum]) -> list[Erratum]:
    """Return the entries that are not in ``named``."""
    return [entry for entry in entries if entry not in named]


__all__ = [
    "bearing_on",
    "causes_of",
    "claim_of",
    "entry_lines",
    "example_lines",
    "links",
    "number",
    "others",
    "saved_growth",
    "typo_line",
    "verdict",
    "witness_words",
]
