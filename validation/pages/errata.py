"""Writer of docs/errata: ``python -m validation.pages.errata docs``.

It writes ``index.md`` (a table of the main statements), a page and a coverage list for
each paper, and the pictures of the counterexamples.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from dfltheory.bounds import registry
from dfltheory.bounds.display import condition_latex
from dfltheory.files import read_json, write_text
from dfltheory.markdown import table
from validation.pages.errata_entries import (
    bearing_on,
    causes_of,
    entry_lines,
    example_lines,
    links,
    others,
    saved_growth,
    typo_line,
    verdict,
)
from validation.pages.errata_pictures import draw
from validation.papers import EXAMINATION, PAPERS, examination, statement
from validation.papers.erratum import (
    BY_READING,
    FOUND_BY,
    SEVERITIES,
    TYPO,
    Erratum,
    StatementNote,
    errata,
    erratum,
    notation,
    notes,
)

_IS = {
    "false": "is false",
    "does not follow": "does not follow",
    "typos": "has typos alone",
    "nothing found": "was not refuted",
}
HEADS = ("statement", "as printed", "cause", "what survives")
_INDEX = """# Errata

This page lists the main statements of the papers that were examined line by line, what is wrong with each, and what
survives (`python -m validation.pages.errata docs` writes it from `validation/papers/<paper>/errata.toml`). *False*: a run or an exact instance inside
all assumptions of the statement contradicts it. *Does not follow*: the printed proof does not give it. O(.) is
read as one constant for all $T$, $K$, $m$, $1-\\lambda$ and $1-\\alpha$, which may depend on every quantity
that the expression does not name. The abstracts state no step size, so that no run contradicts them by itself.
"""
_HOW = """
## How the entries were found and verified

{counts}

Severity: *the statement is false*: a theorem, corollary, lemma or assumption that a run, an exact instance or a
number contradicts; *does not follow, repairable*: a step of a proof, or a rate, which what comes before does not
give, although another display can take its place; *constant*: such a step whose constant factor or power alone is
wrong; *typo*: the paper has it right elsewhere, or nothing depends on it.

Each entry is a record with its place, a quotation, its cause, the least correction that makes it right, how it
was found, how the correction was verified, and a witness. `tests/validation/test_witnesses.py` evaluates each
witness, in rational numbers where possible: the printed line contradicts it, and the corrected line does not.
`python -m validation.papers ID` prints both.

Every displayed line of the four papers was examined on {date}. `coverage-<paper>.json` lists the status of each:
*proved*, by algebra that is worked out; *cited*, from a textbook; *refuted*, by a witness; *searched*, at many
samples without a counterexample, which proves nothing; *not examined*; *no claim*.
"""


def index() -> str:
    """Return the text of docs/errata/index.md."""
    lines = [_INDEX]
    rows: list[tuple[object, ...]] = []
    for paper in PAPERS:
        name = f"[{registry.paper(paper).title}]({paper}.md)"
        rows += [(name, *_row(note, f"{paper}.md")) for note in notes(paper)]
    lines.append(table(("paper", *HEADS), rows))
    entries = [entry for paper in PAPERS for entry in errata(paper)]
    date = read_json(EXAMINATION)["date"]
    lines.append(_HOW.format(counts=_counts(entries), date=date))
    rows = []
    for paper in PAPERS:
        found = Counter(entry.severity for entry in errata(paper))
        name = f"[{paper}]({paper}.md#entries)"
        lines_of_paper = f"[coverage-{paper}.json](coverage-{paper}.json)"
        rows.append((name, *(found[s] for s in SEVERITIES), lines_of_paper))
    lines.append(table(("paper", *SEVERITIES, "list of displayed lines"), rows))
    return "\n".join(lines) + "\n"


def _row(note: StatementNote, page: str = "") -> tuple[str, str, str, str]:
    theorem = statement(note.claim)
    name = f"[{note.name}]({page}#{anchor(note)})"
    return name, f"**{verdict(theorem)}**", note.cause, note.survives


def anchor(note: StatementNote) -> str:
    """Return the anchor of a statement's section: its claim without the paper."""
    name = note.claim.partition(".")[2]
    return name.replace("_", "-").replace(":", "-")


def _counts(entries: list[Erratum]) -> str:
    found = Counter(entry.found_by for entry in entries)
    ways = ", ".join(f"{found[way]} by {way}" for way in FOUND_BY if found[way])
    verified = sum(BY_READING not in entry.verified_by for entry in entries)
    witnessed = sum(entry.witness is not None for entry in entries)
    return (
        f"Of {len(entries)} entries, {ways}. {witnessed} have a witness. A computation"
        f" verified the correction of {verified}, reading alone that of the others."
    )


# -- one paper


def paper_page(paper: str, docs: Path) -> str:
    """Return the text of a paper's page; ``docs`` holds the saved counterexamples."""
    said, entries = registry.paper(paper), errata(paper)
    lines = [
        f"# Errata of {said.title}",
        "",
        f"{said.citation}. Generated by `python -m validation.pages.errata docs`; the"
        f" records are in `validation/papers/{paper}/errata.toml`. [All papers](index.md)"
        f" · [the statements in full](../theory/{paper}.md)",
        "",
        "The text on each statement is addressed to the paper's authors, in their notation."
        f" E1 is short for {entries[0].id}. {notation(paper)} $\\Delta_0$ is $f-f^*$ at the"
        " start, and $\\Xi_0$ the mean squared distance of the starts from their mean.",
        "",
        table(HEADS, [_row(note) for note in notes(paper)]),
        "",
    ]
    for note in notes(paper):
        lines += _statement(note, docs)
    lines += ["## All entries {: #entries }", ""]
    for entry in (entry for entry in entries if entry.severity != TYPO):
        lines += entry_lines(entry)
    lines += ["## Typos {: #typos }", ""]
    lines += [typo_line(entry) for entry in entries if entry.severity == TYPO]
    return "\n".join(lines) + "\n"


def _statement(note: StatementNote, docs: Path) -> Iterator[str]:
    theorem = statement(note.claim)
    causes, entries = causes_of(theorem), bearing_on(theorem)
    rest = [entry for entry in others(entries, causes) if entry.severity != TYPO]
    yield from (f"## {note.name} {{: #{anchor(note)} }}", "")
    if note.text:
        yield from ("Printed:", "", f"$${theorem.latex()}$$", "")
    text = f"This **{_IS[verdict(theorem)]}**. {note.text}"
    yield from (text.rstrip(), "")
    for name in filter(None, (note.example, note.also)):
        yield from _example(erratum(name), note)
    if note.example:
        yield from _picture(note, docs)
    yield from _corrected(note)
    if note.unaffected:
        yield from (f"**Not affected.** {note.unaffected}", "")
    because = f" Cause: {links(causes)}." if causes else ""
    also = f" Others on it or its proof: {links(rest)}." if rest else ""
    yield from (f"*Entries.*{because}{also}", "")


def _example(entry: Erratum, note: StatementNote) -> Iterator[str]:
    name = f"example-{entry.id.lower()}"
    if entry.id in {other.example for other in _before(note)}:
        yield from (f"**Counterexample.** [The one above](#{name}).", "")
        return
    yield from (f"**Counterexample ({entry.id}).**{{: #{name} }}", "")
    for place, line in enumerate(example_lines(entry), start=1):
        yield f"{place}. {line}"
    yield ""


def _picture(note: StatementNote, docs: Path) -> Iterator[str]:
    theorem = statement(note.claim)
    file = docs / "counterexamples" / f"{theorem.key}-{theorem.variant}.json"
    caption = (
        f"left, the clients' gradients in {note.example}; right, the measured squared"
        " gradient, the claimed bound and the corrected one, over T (dotted: the T of the"
        " example)"
    )
    if theorem.order:
        caption = f"{saved_growth(file)} ([saved](../counterexamples/{file.name}))"
    yield f"![{note.name}]({picture_name(note)})"
    yield ""
    yield f"*{caption[0].upper()}{caption[1:]}.*"
    yield ""


def picture_name(note: StatementNote) -> str:
    """Return the file of a statement's picture."""
    return f"{note.claim.replace(':', '-')}.svg"


def _corrected(note: StatementNote) -> Iterator[str]:
    theorem = statement(note.corrected)
    yield (
        f"**What holds** ([`{note.corrected}`](../theory/{theorem.key.split('.')[0]}.md),"
        f" {theorem.status.kind}):"
    )
    yield ""
    if (note.example or note.text) and note.corrected not in {
        other.corrected for other in _before(note)
    }:
        yield f"$${theorem.latex()}$$"
        yield ""
        conditions = ", ".join(
            f"${condition_latex(condition, theorem)}$"
            for condition in theorem.conditions
        )
        yield (
            f"if {conditions}; and {'; '.join(theorem.assumptions)}. Left side:"
            f" {theorem.lhs.averaging}."
        )
    else:
        yield f"{note.survives[0].upper()}{note.survives[1:]}."
    yield ""


def _before(note: StatementNote) -> list[StatementNote]:
    """Return the notes whose sections come before that of this one."""
    all_notes = notes(note.claim.split(".")[0])
    return list(all_notes[: all_notes.index(note)])


def coverage(paper: str) -> dict[str, object]:
    """Return the archived status of every displayed line of a paper."""
    archive = examination(paper)
    explained: dict[str, list[str]] = defaultdict(list)
    for entry in errata(paper):
        for place in entry.lines:
            explained[place].append(entry.id)
    lines = [
        {**line, "errata": explained.get(line["place"], line.get("errata", []))}
        for line in archive["lines"]
    ]
    return {"paper": paper, "counts": archive["counts"], "lines": lines}


def main(arguments: list[str]) -> int:
    """Write the pages, the coverage lists and the pictures into DOCS/errata."""
    if len(arguments) != 1:
        print("usage: python -m validation.pages.errata DOCS", file=sys.stderr)
        return 2
    docs = Path(arguments[0])
    folder = docs / "errata"
    folder.mkdir(exist_ok=True)
    write_text(folder / "index.md", index())
    for paper in PAPERS:
        write_text(folder / f"{paper}.md", paper_page(paper, docs))
        text = json.dumps(coverage(paper), indent=1, ensure_ascii=False) + "\n"
        write_text(folder / f"coverage-{paper}.json", text)
        for note in notes(paper):
            if note.example:
                draw(note, docs, folder / picture_name(note))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["anchor", "coverage", "index", "main", "paper_page", "picture_name"]
