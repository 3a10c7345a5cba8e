"""The scorecard of the printed theorems: audit, searches, proofs and runs.

``make validate`` prints it. ``python -m validation.scorecard results`` reads the
results of ``make validate`` and writes docs/scorecard.json and docs/scorecard.md.
With ``docs/scorecard.json`` in place of the folder, the results of runs are kept and
the rest is updated. Further arguments are pages, into which a short form is inserted
between two lines ``<!-- scorecard -->``, or only its first sentence between two lines
``<!-- refuted -->``.
"""

from __future__ import annotations

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dfltheory import bounds
from dfltheory.files import read_json, write_json, write_text
from dfltheory.markdown import between, table
from validation.counterexamples.growth_laws import growth_laws
from validation.scorecard_rows import Cell, Row, Tone, markdown, summary
from validation.searched import (
    Document,
    below_one,
    growing,
    is_refuted,
    outcomes,
    ratio_of,
)

ROOT = Path(__file__).parent.parent
AUDIT = ROOT / "docs" / "audit.json"
PAGE = ROOT / "docs" / "scorecard.md"
NUMBERS = PAGE.with_suffix(".json")
MARK = "<!-- scorecard -->"
SENTENCE = "<!-- refuted -->"
"""The lines that enclose the short form, and its first sentence, in other pages."""
TRUSTED = "proof-format.md#what-is-trusted-and-how-to-check-it-in-a-minute"
LINKS = {
    "audit": "audit.md",
    "search": "falsify.md",
    "proof": TRUSTED,
    "runs": "verdicts.md",
}

Name = tuple[str, str]
"""Key and variant of a statement."""
Documents = dict[Name, list[Document]]


def statements() -> list[str]:
    """Return the printed theorems and corollaries that have a corrected variant."""

    def counts(key: str) -> bool:
        names = bounds.variants(key)
        stated = bounds.get(key, names[0]).kind in ("theorem", "corollary")
        return stated and {"printed", "corrected"} <= {*names}

    return [key for key in bounds.keys() if counts(key)]  # noqa: SIM118


def rows(verdicts: Iterable[Document], claims: Iterable[Document]) -> list[Row]:
    """Return the rows of the scorecard, computed from verdicts and claims.

    The results of searches and of the audit are read from the files in docs.
    """
    by_statement: Documents = defaultdict(list)
    for verdict in verdicts:
        by_statement[verdict["key"], verdict["variant"]].append(verdict)
    claims = list(claims)
    searched = {(outcome["key"], outcome["variant"]): outcome for outcome in outcomes()}
    audited = read_json(AUDIT)
    return [
        Row(
            key,
            bounds.get(key).source,
            _printed_cells(key, audited, searched, by_statement, claims),
            _corrected_cells(key, searched, by_statement),
        )
        for key in statements()
    ]


def _printed_cells(
    key: str,
    audited: Mapping[str, Mapping[str, int]],
    searched: Mapping[Name, Document],
    by_statement: Documents,
    claims: Sequence[Document],
) -> dict[str, Cell]:
    return {
        "audit": _audit(key, audited),
        "search": _searched(key, ["printed"], searched),
        "runs": _runs(key, "printed", by_statement[key, "printed"]),
        "growth": _growth(bounds.get(key), claims),
    }


def _corrected_cells(
    key: str, searched: Mapping[Name, Document], by_statement: Documents
) -> dict[str, Cell]:
    variants = [v for v in bounds.variants(key) if v.split("_")[0] == "corrected"]
    verdicts = [d for v in variants for d in by_statement[key, v]]
    return {
        "proof": _proof(key, variants),
        "search": _searched(key, variants, searched),
        "runs": _runs(key, "corrected", verdicts),
        "tightness": _tightness(key, variants, searched, verdicts),
    }


def _audit(key: str, audited: Mapping[str, Mapping[str, int]]) -> Cell:
    """Return the numbers of errors and warnings that the audit reports."""
    count = audited.get(f"{key}:printed", {})
    counted = [name for name in ("error", "warning") if name in count]
    parts = [_counted(count[name], name) for name in counted]
    tone: Tone = "warned" if parts else "good"
    if count.get("error"):
        tone = "bad"
    return Cell(
        ", ".join(parts) or "no finding",
        tone,
        "audit",
        f"dfltheory audit {key} --variant printed",
    )


def _searched(
    key: str, variants: Sequence[str], searched: Mapping[Name, Document]
) -> Cell:
    """Return the cell of the search that came closest to a refutation, or refuted."""
    known = [searched[key, v] for v in variants if (key, v) in searched]
    if not known:
        return Cell()
    refuting = [outcome for outcome in known if is_refuted(outcome)]
    worst = max(refuting or known, key=ratio_of)
    command = _replay_command(key, worst["variant"])
    if refuting:
        says = _excess(worst)
        return Cell(
            f"refuted: {says}", "bad", "search", command, detail=worst["command"]
        )
    tried = sum(int(outcome["evaluations"]) for outcome in known)
    ratio = below_one(ratio_of(worst))
    says = f"at most {ratio} of the bound"
    if worst.get("divergence"):
        says = f"ratio grew {ratio}"
    tried_all = f"{tried} candidates; a search proves nothing"
    return Cell(f"not refuted: {says}", "open", "search", command, tried_all)


def _excess(refutation: Document) -> str:
    """Describe by how much a problem, or a family of problems, exceeds a bound.

    If a family has a closed form, its growth is taken from there.
    """
    growth = growing(refutation)
    laws = growth_laws()
    if growth and refutation["variant"] == "printed" and refutation["key"] in laws:
        return laws[refutation["key"]].words
    return growth or f"{ratio_of(refutation):.3g} times the bound"


def _runs(key: str, side: str, documents: Sequence[Document]) -> Cell:
    """Return the cell that summarizes the verdicts on the suite's runs.

    If a refuted statement is not violated by them, the cell says that it only holds
    here.
    """
    command = _run_command(key)
    kinds = Counter(d["kind"] for d in documents if d["kind"] != "not applicable")
    total = sum(kinds.values())
    if not total:
        says = "no run"
        if documents:
            says = "no run is in its scope"
        elif side == "printed" and bounds.get(key).order:
            says = "an O(.): see growth"
        return Cell(says, "none", "runs", command)
    detail = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    if kinds["violated"]:
        says = f"violated: {kinds['violated']} of {total}"
        return Cell(
            says, "bad", "runs", "python -m validation.run_all --only crossings", detail
        )
    held = f"{kinds['holds']} of {total}"
    if side == "printed" and bounds.get(key, "printed").status.refuted:
        return Cell(
            f"holds here: {held} (refuted in general)", "open", "runs", command, detail
        )
    rest = "".join(f", {n} {kind}" for kind, n in kinds.items() if kind != "holds")
    return Cell(
        f"holds: {held}{rest}", "open" if rest else "good", "runs", command, detail
    )


def _growth(printed: bounds.Theorem, claims: Sequence[Document]) -> Cell:
    """Return the cell on the growth in T of measured / expression, for O(.)."""
    if not printed.order:
        return Cell("not an O(.)")
    name = f"{printed.key} [{printed.variant}]"
    mine = [c for c in claims if c["claim"] == name and c.get("growth") is not None]
    if not mine:
        return Cell()
    claim = mine[0]
    low, high = map(float, claim["growth"])
    tone: Tone = "none" if claim["verdict"] == "bounded" else "open"
    says = f"{claim['verdict']} here: T^[{low:.2g}, {high:.2g}]"
    return Cell(says, tone, "runs", _run_command(printed.key), claim["detail"])


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'s' if number > 1 else ''}"


def _replay_command(key: str, variant: str) -> str:
    return f"dfltheory falsify --replay docs/counterexamples/{key}-{variant}.json"


def _run_command(key: str) -> str:
    return f"python -m validation.run_all --only {key.replace('.', '_')}"


def _proof(key: str, variants: Sequence[str]) -> Cell:
    """Return the cell with the proof status of the corrected variants."""
    command = f"python -m validation.papers {key}:{variants[0]}"
    known = {v: bounds.get(key, v).status.kind for v in variants}
    best = known[variants[0]]
    count = sum(kind == best for kind in known.values())
    says = best if count == len(known) else f"{best}: {count} of {len(known)} variants"
    detail = "; ".join(f"{v}: {kind}" for v, kind in known.items())
    tone = "good" if best == "proved" else "open"
    return Cell(says, tone, "proof", command, detail)


def _tightness(
    key: str,
    variants: Sequence[str],
    searched: Mapping[Name, Document],
    verdicts: Sequence[Document],
) -> Cell:
    """Return the cell with the largest measured / bound seen; at 1 a bound is sharp."""
    outcomes = [searched[key, v] for v in variants if (key, v) in searched]
    ratios = [(ratio_of(outcome), outcome["variant"], "search") for outcome in outcomes]
    for verdict in verdicts:
        ratio = ratio_of(verdict)
        if verdict["kind"] != "not applicable" and math.isfinite(ratio):
            ratios.append((ratio, verdict["variant"], "runs"))
    if not ratios:
        return Cell()
    ratio, variant, by = max(ratios)
    command = _run_command(key)
    if by == "search":
        command = _replay_command(key, variant)
    says, detail = f"{below_one(ratio)} ({by})", f"variant {variant}; 1 is sharp"
    return Cell(says, "none", by, command, detail)


def page(made: Sequence[Row]) -> str:
    """Return docs/scorecard.md: the tables, their legend, and a command per cell."""
    lines = [
        "# Scorecard",
        "",
        (
            "This page says what is known about each main statement, as printed and"
            " corrected."
        ),
        "",
        ("Written by `python -m validation.scorecard results` after `make validate`."),
        "",
        markdown(made, LINKS),
        (
            "**audit**: errors and warnings found in the text alone (!: only warnings)."
            " **search**: the largest measured / bound that a search found (a value"
            " above 1 refutes the statement) and, for a statement in O(.), the growth"
            " of measured / expression along a family of problems; a search without a"
            " counterexample proves nothing. **runs**: verdicts of `make validate`;"
            " for a refuted statement they cover only these runs. **growth**: for a"
            " statement in O(.), the exponent in T of measured / expression along"
            " these runs."
            f" **proof**: the status of the corrected statement: [proved]({TRUSTED})"
            " where the proof kernel checked the whole proof, *proved from cited"
            " lemmas* where it checked the step from them. **tightness**: the"
            " largest measured / bound that was seen; 1 is sharp."
        ),
        "",
        "## Commands that reproduce each cell",
        "",
    ]
    commands = [
        (f"`{row.key}`", f"{side}, {name}", f"`{cell.command}`")
        for row in made
        for side, name, cell in row.cells
        if cell.command
    ]
    return "\n".join(lines) + f"\n{table(('statement', 'cell', 'command'), commands)}\n"


def with_short_form(text: str, made: Sequence[Row]) -> str:
    """Return ``text`` with the short form inserted between its two marks."""
    results = []
    for row in made:
        search = row.corrected["search"]
        corrected = search.marked
        if search.tone != "bad":
            corrected = f"{row.corrected['proof'].marked}; {search.says}"
        results.append((f"`{row.key}`", row.printed["search"].marked, corrected))
    shown = table(("statement", "as printed", "corrected"), results)
    link = "[Every cell with its evidence](docs/scorecard.md)"
    return between(text, MARK, f"{summary(made)}\n\n{shown}\n\n{link}")


def with_sentence(text: str, made: Sequence[Row]) -> str:
    """Return ``text`` with the main finding inserted between its two marks."""
    return between(text, SENTENCE, summary(made))


def refreshed(stored: Sequence[Row]) -> list[Row]:
    """Return rows with current audit, searches and proofs; keep the results of runs."""
    known = {row.key: row for row in stored}
    made = []
    for row in rows((), ()):
        old = known.get(row.key, row)
        printed = {name: old.printed[name] for name in ("runs", "growth")}
        corrected = {"runs": old.corrected["runs"]}
        if old.corrected["tightness"].evidence == "runs":
            corrected["tightness"] = old.corrected["tightness"]
        row = replace(
            row,
            printed={**row.printed, **printed},
            corrected={**row.corrected, **corrected},
        )
        made.append(row)
    return made


def main(arguments: Sequence[str]) -> int:
    """Write the scorecard's page and data, and insert short forms into other pages."""
    folder, *pages = map(Path, arguments or [NUMBERS])
    if folder.is_dir():
        made = rows(
            read_json(folder / "verdicts.json"), read_json(folder / "claims.json")
        )
    else:
        made = refreshed([Row.from_dict(document) for document in read_json(folder)])
    write_json(NUMBERS, [row.to_dict() for row in made])
    write_text(PAGE, page(made))
    for path in pages:
        text = path.read_text(encoding="utf-8")
        renew = with_sentence if SENTENCE in text else with_short_form
        write_text(path, renew(text, made))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
