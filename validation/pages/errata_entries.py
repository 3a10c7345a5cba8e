"""One entry of the page of errata, and the archived examination of a paper's displayed
lines, as Markdown.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dfltheory.bounds.display import condition_latex, expression_latex
from dfltheory.bounds.growth import growth_words
from dfltheory.bounds.theorem import Theorem
from validation.papers import examination, statement
from validation.papers.erratum import FALSE, GENERAL_CHECK, PROOF_STEP, Erratum
from validation.papers.lines import refuted_lines

_LONGEST = 900
"""Characters of LaTeX beyond which a formula is referred to, not shown."""
_SHOWN = 4
"""Refuted lines of an entry that are shown in full; the others are named."""
_STATUSES = ("refuted", "not examined", "searched", "cited", "proved", "no claim")


def archived_findings(erratum: Erratum) -> dict[str, Any]:
    """What the last examination found for an entry."""
    return examination(erratum.id.split("-")[0].lower())["errata"][erratum.id]


def refutation(theorem: Theorem, docs: Path | None) -> str:
    """What refutes a statement, with a link to its file in ``docs``."""
    file = f"counterexamples/{theorem.key}-{theorem.variant}.json"
    saved = (
        f"[saved]({file})" if docs is not None and (docs / file).is_file() else "saved"
    )
    what = "family of problems" if theorem.order else "instance"
    return f"a {saved} {what} inside all its assumptions: {theorem.status.how}"


def entry_lines(erratum: Erratum, docs: Path | None) -> list[str]:
    anchor = f"\n#### {erratum.id} {{: #{erratum.id.lower()} }}\n"
    lines = [
        anchor,
        f"*{erratum.place}.* {erratum.cause}\n",
        f"{provenance(erratum)}\n",
    ]
    for words, latex in corrected_terms(erratum):
        lines += [f"{words}\n", *_formula(latex)]
    for claim in erratum.conditions:
        added = erratum.added_conditions(claim)
        shown = ", ".join(f"${condition_latex(c, statement(claim))}$" for c in added)
        lines.append(f"To be demanded in `{claim}`: {shown}.\n")
    for claim, demanded in erratum.scope.items():
        shown = ", ".join(
            SCOPE_WORDS.get(name, f"{name} = {value}")
            for name, value in demanded.items()
        )
        lines.append(f"To be demanded in `{claim}`: {shown}.\n")
    lines += [f"What holds: `{words}`.\n" for words in erratum.holds]
    evidence = archived_findings(erratum).get("evidence")
    if evidence:
        lines.append(f"Evidence ({evidence['kind']}): {evidence['says']}.\n")
    lines += _lines_of(erratum)
    for claim in erratum.refutes:
        lines.append(f"`{claim}`: {refutation(statement(claim), docs)}.\n")
    lines += _witness(erratum, docs)
    lines.append(f"{verification(erratum)}\n")
    inherited = [
        f"`{f['statement']}` ({f['check']})"
        for f in archived_findings(erratum).get("inherited", [])
    ]
    if inherited:
        lines.append(f"Inherited from it: {', '.join(dict.fromkeys(inherited))}.\n")
    return lines


def _witness(erratum: Erratum, docs: Path | None) -> list[str]:
    """What is saved of the witness of an erratum: how its ratio grows, and what
    measures it again.
    """
    file = (
        None
        if docs is None or not erratum.witness
        else docs / "witnesses" / f"{erratum.id}.json"
    )
    if file is None or not file.is_file():
        return []
    family = json.loads(file.read_text(encoding="utf-8"))["divergence"]
    ratios = ", ".join(f"{ratio:.3g}" for ratio in family["ratios"])
    return [
        f"Witness against `{erratum.witness}` ([saved](witnesses/{file.name})):"
        f" {family['member']}, along which measured/claimed grows"
        f" {growth_words(family)}: {ratios}. `dfltheory falsify --replay"
        f" docs/witnesses/{file.name}` measures it again.\n"
    ]


SCOPE_WORDS = {
    "common_start": "a common start of all clients",
    "samplewise": "every sample's loss as smooth as the client's",
}


def provenance(erratum: Erratum) -> str:
    """How an entry was found, in a sentence; where checks reported it, by which."""
    checks = ""
    if erratum.found_by in (GENERAL_CHECK, PROOF_STEP):
        archived = archived_findings(erratum)
        findings = archived.get("findings") or archived.get("inherited", [])
        general = [
            f["check"]
            for f in findings
            if f["check"] not in ("derivation", "inequality")
        ]
        names = dict.fromkeys(general or [f["check"] for f in findings])
        checks = f" ({', '.join(names)})"
    return f"Found by {erratum.found_by}{checks}."


def corrected_terms(erratum: Erratum) -> list[tuple[str, str]]:
    """How the origin reads and how it should: words and formula; of a sum the terms in
    question alone.
    """
    terms = erratum.terms.get(erratum.origin, {})
    if not terms:
        return []
    origin, corrected = statement(erratum.origin), erratum.corrected_statement(erratum.origin)
    should = "It should read:"
    # false in the other form as well
    if erratum.severity == FALSE and not erratum.corrected:
        should = "As it is meant:"
    if len(origin.parts) == 1:
        (term,) = corrected.parts.values()
        return [
            ("As printed:", origin.latex()),
            (should, expression_latex(term, corrected)),
        ]
    shown = []
    for name in terms:
        printed = name in origin.parts
        if printed:
            shown.append(
                (
                    f"The term “{name}” as printed:",
                    expression_latex(origin.parts[name], origin),
                )
            )
        if name not in corrected.parts:
            shown.append(("It is to be left out.", ""))
            continue
        words = should if printed else f"A term “{name}” is to be added:"
        shown.append((words, expression_latex(corrected.parts[name], corrected)))
    return shown


def _formula(latex: str) -> list[str]:
    if len(latex) > _LONGEST:
        return ["(a long display)\n"]
    return ["$$", latex, "$$", ""] if latex else []


def _lines_of(erratum: Erratum) -> list[str]:
    """The refuted lines of an entry: in the paper's notation, with what refutes them
    and how to read them.
    """
    if not erratum.lines:
        return []
    paper = erratum.id.split("-")[0].lower()
    known = {line["place"]: line for line in examination(paper)["lines"]}
    lines = []
    for place in erratum.lines[:_SHOWN]:
        line = known[place]
        shown = f"- *{place}*: ${line['latex']}$ -- `{_refuted_by(paper, line)}`"
        if line.get("reading"):
            again = line.get("read_otherwise")
            status = f" ({again['status']})" if again else ""
            shown += f"; to be read `{line['reading']}`{status}"
        lines.append(shown)
    more = ", ".join(f"*{place}*" for place in erratum.lines[_SHOWN:])
    return [*lines, *([f"- and so of {more}"] if more else []), ""]


def _refuted_by(paper: str, line: dict[str, Any]) -> str:
    """Both sides at the witness; of a registered statement what its audit says."""
    functions = refuted_lines(paper)
    if line["place"] in functions.by_place:
        return str(functions.evaluate(line["place"])).removeprefix(f"{line['place']}: ")
    return " ".join(line["how"].split())


def machine_checks(erratum: Erratum) -> list[str]:
    """What a machine verified of the correction of an entry, in words; nothing where it
    is refuted.
    """
    archived, again = archived_findings(erratum), _read_again(erratum)
    if _refuted_again(erratum):
        return []
    ways = []
    if archived["correction_verified"] and archived.get("findings"):
        ways.append("with it in place, the checks that report the error no longer did")
    if again:
        count = (
            "1 of its lines was"
            if len(again) == 1
            else f"{len(again)} of its lines were"
        )
        ways.append(f"read as corrected, {count} evaluated again and not refuted")
    if erratum.refutes:
        ways.append("it alone explains each saved counterexample above")
    if erratum.witness:
        ways.append("it alone excludes the witness")
    return ways


def verification(erratum: Erratum) -> str:
    """How the correction was verified, in a sentence."""
    wrong = _refuted_again(erratum)
    if wrong:
        return (
            f"The correction is refuted as well: `{' '.join(wrong[0]['how'].split())}`."
        )
    ways = machine_checks(erratum)
    return (
        f"Correction verified: {'; '.join(ways)}."
        if ways
        else "Correction verified by reading alone."
    )


def _read_again(erratum: Erratum) -> list[dict[str, Any]]:
    """The archived evaluations of the lines of an entry, read as corrected."""
    known = {
        line["place"]: line
        for line in examination(erratum.id.split("-")[0].lower())["lines"]
    }
    return [
        known[p]["read_otherwise"]
        for p in erratum.lines
        if known[p].get("read_otherwise")
    ]


def _refuted_again(erratum: Erratum) -> list[dict[str, Any]]:
    return [
        outcome for outcome in _read_again(erratum) if outcome["status"] == "refuted"
    ]


def coverage_lines(paper: str) -> list[str]:
    """The archived examination of all displayed lines of a paper."""
    archive = examination(paper)
    rows, counts = archive["lines"], archive["counts"]
    shares = ", ".join(f"{counts.get(status, 0)} {status}" for status in _STATUSES)
    lines = [
        f"\n### {paper}: coverage\n",
        f"Of {len(rows)} displayed lines: {shares}.\n",
        f'<details markdown="1"><summary>All displayed lines of {paper}</summary>\n',
    ]
    for status in _STATUSES:
        places: dict[str, list[str]] = {}
        for row in (row for row in rows if row["status"] == status):
            how = " ".join(
                [f"`{' '.join(row['how'].split())}`", *row.get("errata", [])]
            )
            places.setdefault(how, []).append(row["place"])
        lines += [f"\n{status.capitalize()}:\n"] if places else []
        lines += [f"- {'; '.join(named)}: {how}" for how, named in places.items()]
    needed: dict[str, list[str]] = {}
    for row in rows:
        for hypothesis in row.get("needs", []):
            needed.setdefault(hypothesis, []).append(row["place"])
    lines += ["\nWhat the lines need, and which:\n"]
    lines += [
        f"- `{hypothesis}`: {'; '.join(places)}"
        for hypothesis, places in needed.items()
    ]
    read = [
        f"- {row['place']}: `{row['reading']}`" for row in rows if row.get("reading")
    ]
    return [*lines, "\nRead otherwise than printed:\n", *read, "\n</details>\n"]


__all__ = [
    "archived_findings",
    "corrected_terms",
    "coverage_lines",
    "entry_lines",
    "machine_checks",
    "provenance",
    "refutation",
    "verification",
]
