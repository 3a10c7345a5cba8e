"""The scorecard of the printed theorems: audit, searches, proofs and runs.

``make validate`` ends in it. ``python -m validation.scorecard results`` writes what the
last run of the suite found to docs/scorecard.json, and docs/scorecard.md from it;
``docs/scorecard.json`` in place of the folder keeps what runs said, and renews the
rest. A page that is named after it gets a short form between two lines ``<!-- scorecard
-->``, or its first sentence alone between two lines ``<!-- refuted -->``.
"""

from __future__ import annotations

import json
import math
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dfltheory import bounds
from dfltheory.files import write_json, write_text
from dfltheory.markdown import between, table
from validation.scorecard_rows import Cell, Row, markdown, summary
from validation.searched import growing, outcomes

ROOT = Path(__file__).parent.parent
AUDIT = ROOT / "docs" / "audit.json"
PAGE = ROOT / "docs" / "scorecard.md"
NUMBERS = PAGE.with_suffix(".json")
MARK = "<!-- scorecard -->"
SENTENCE = "<!-- refuted -->"
"""The marks above and below the short form, and above and below its first sentence
alone.
"""
TRUSTED = "proof-format.md#what-is-trusted-and-how-to-check-it-in-a-minute"
LINKS = {
    "audit": "audit.md",
    "search": "falsify.md",
    "proof": TRUSTED,
    "runs": "verdicts.md",
}


def statements() -> list[str]:
    """Return the printed theorems and corollaries that have a corrected variant."""

    def counts(key: str) -> bool:
        names = bounds.variants(key)
        stated = bounds.get(key, names[0]).kind in ("theorem", "corollary")
        return stated and {"printed", "corrected"} <= {*names}

    return [key for key in bounds.keys() if counts(key)]  # noqa: SIM118


def rows(
    verdicts: Iterable[Mapping[str, Any]], claims: Iterable[Mapping[str, Any]]
) -> list[Row]:
    """Return the scorecard from verdicts and claims.

    Searches and counts of the audit are read from the files in docs.
    """
    verdicts, claims = list(verdicts), list(claims)
    searched = {(one["key"], one["variant"]): one for one in outcomes()}
    audited = json.loads(AUDIT.read_text(encoding="utf-8"))
    made = []
    for key in statements():
        corrected = [v for v in bounds.variants(key) if v.split("_")[0] == "corrected"]
        verdicts_by_variant = {
            v: [d for d in verdicts if (d["key"], d["variant"]) == (key, v)]
            for v in bounds.variants(key)
        }
        printed = {
            "audit": _audit(key, audited),
            "search": _searched(key, ["printed"], searched),
            "runs": _runs(key, "printed", verdicts_by_variant["printed"]),
            "growth": _growth(bounds.get(key), claims),
        }
        corrected_cells = {
            "proof": _proof(key, corrected),
            "search": _searched(key, corrected, searched),
            "runs": _runs(
                key, "corrected", [d for v in corrected for d in verdicts_by_variant[v]]
            ),
            "tightness": _tightness(key, corrected, searched, verdicts_by_variant),
        }
        made.append(Row(key, bounds.get(key).source, printed, corrected_cells))
    return made


def _audit(key: str, audited: Mapping[str, Mapping[str, int]]) -> Cell:
    """How many errors and warnings the audit has of the printed statement."""
    count = audited.get(f"{key}:printed", {})
    parts = [
        f"{n} {name}{'s' if n > 1 else ''}"
        for name in ("error", "warning")
        if (n := count.get(name))
    ]
    tone = "bad" if count.get("error") else "warned" if parts else "good"
    return Cell(
        ", ".join(parts) or "no finding",
        tone,
        "audit",
        f"dfltheory audit {key} --variant printed",
    )


def _searched(
    key: str, variants: Sequence[str], searched: Mapping[tuple[str, str], Any]
) -> Cell:
    """Return the worst of the variants' searches."""
    known = [searched[key, v] for v in variants if (key, v) in searched]
    if not known:
        return Cell()
    false = [one for one in known if one["violated"] is True]
    worst = max(false or known, key=lambda one: float(one["ratio"]))
    command = (
        f"dfltheory falsify --replay docs/counterexamples/{key}-{worst['variant']}.json"
    )
    if false:
        says = growing(worst) or f"{float(worst['ratio']):.3g} times the bound"
        return Cell(
            f"refuted: {says}", "bad", "search", command, detail=worst["command"]
        )
    tried = sum(int(one["evaluations"]) for one in known)
    ratio = _near(float(worst["ratio"]))
    says = (
        f"ratio grew {ratio}"
        if worst.get("divergence")
        else f"at most {ratio} of the bound"
    )
    tried_all = f"{tried} candidates; a search proves nothing"
    return Cell(f"not refuted: {says}", "open", "search", command, tried_all)


def _near(ratio: float) -> str:
    """Return a ratio in three digits; a ratio just below 1 is not rounded up."""
    return f"1 - {1 - ratio:.1g}" if 0.9995 <= ratio < 1 else f"{ratio:.3g}"


def _runs(key: str, side: str, documents: Sequence[Mapping[str, Any]]) -> Cell:
    """Return the verdicts of the suite's runs.

    A refuted statement that they do not contradict holds on these runs alone.
    """
    command = f"python -m validation.run_all --only {key.replace('.', '_')}"
    kinds = Counter(d["kind"] for d in documents if d["kind"] != "not applicable")
    total = sum(kinds.values())
    if not total:
        order = side == "printed" and bounds.get(key).order
        says = (
            "no run is in its scope"
            if documents
            else "an O(.): see growth"
            if order
            else "no run"
        )
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


def _growth(printed: bounds.Theorem, claims: Sequence[Mapping[str, Any]]) -> Cell:
    """Return how measured over expression grows with T, for a statement in O(.)."""
    if not printed.order:
        return Cell("not an O(.)")
    name = f"{printed.key} [{printed.variant}]"
    mine = [c for c in claims if c["claim"] == name and c.get("growth") is not None]
    if not mine:
        return Cell()
    claim = mine[0]
    low, high = map(float, claim["growth"])
    tone = {"growing": "open", "bounded": "none", "undecided": "open"}[claim["verdict"]]
    says = f"{claim['verdict']} here: T^[{low:.2g}, {high:.2g}]"
    command = f"python -m validation.run_all --only {printed.key.replace('.', '_')}"
    return Cell(says, tone, "runs", command, claim["detail"])  # type: ignore[arg-type]


def _proof(key: str, variants: Sequence[str]) -> Cell:
    """Return the status of the corrected statements."""
    command = f"python -m validation.papers {key}:{variants[0]}"
    known = {v: bounds.get(key, v).status.kind for v in variants}
    best = known[variants[0]]
    share = sum(how == best for how in known.values())
    says = best if share == len(known) else f"{best}: {share} of {len(known)} variants"
    detail = "; ".join(f"{v}: {how}" for v, how in known.items())
    tone = "good" if best == "proved" else "open"
    return Cell(says, tone, "proof", command, detail)


def _tightness(
    key: str,
    variants: Sequence[str],
    searched: Mapping[tuple[str, str], Any],
    verdicts_by_variant: Mapping[str, Any],
) -> Cell:
    """Return the largest measured over bound that was seen: 1 is sharp."""
    found = [
        (float(searched[key, v]["ratio"]), v, "search")
        for v in variants
        if (key, v) in searched
    ]
    for v in variants:
        ratios = [
            float(d["ratio"])
            for d in verdicts_by_variant[v]
            if d["kind"] != "not applicable"
        ]
        found += [(ratio, v, "runs") for ratio in ratios if math.isfinite(ratio)]
    if not found:
        return Cell()
    ratio, variant, by = max(found)
    command = f"dfltheory falsify --replay docs/counterexamples/{key}-{variant}.json"
    command = (
        command
        if by == "search"
        else f"python -m validation.run_all --only {key.replace('.', '_')}"
    )
    return Cell(
        f"{_near(ratio)} ({by})", "none", by, command, f"variant {variant}; 1 is sharp"
    )


def page(made: Sequence[Row]) -> str:
    """Return docs/scorecard.md: tables, their terms, and the commands of cells."""
    lines = [
        "# Scorecard",
        "",
        (
            "Written by `python -m validation.scorecard results` after `make validate`;"
            " not typed."
        ),
        "",
        markdown(made, LINKS),
        (
            "**audit**: errors and warnings that the text alone gives (!: warnings"
            " alone). **search**: the worst problem that was found, or measured over"
            " bound (above 1 it would be refuted); a search that finds nothing proves"
            " nothing. **runs**: verdicts of `make validate`; of a refuted statement"
            " they count for these runs alone. **growth**: for an O(.), the exponent in"
            " T of measured over expression along these runs. **proof**: the status of"
            f" the corrected statement: [proved]({TRUSTED}) where the proof kernel"
            " checked the whole proof, *proved from cited lemmas* where it checked the"
            " step from them. **tightness**: the largest measured over bound that was"
            " seen; 1 is sharp."
        ),
        "",
        "## What repeats each cell",
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
    """Return ``text`` with the result on each statement between its two marks."""

    def corrected(cells: Mapping[str, Cell]) -> str:
        refuted = cells["search"].tone == "bad"
        return (
            cells["search"].marked
            if refuted
            else f"{cells['proof'].marked}; {cells['search'].says}"
        )

    standing = [
        (f"`{r.key}`", r.printed["search"].marked, corrected(r.corrected)) for r in made
    ]
    shown = table(("statement", "as printed", "corrected"), standing)
    more = "[Every cell with its evidence](docs/scorecard.md)"
    return between(text, MARK, f"{summary(made)}\n\n{shown}\n\n{more}")


def with_sentence(text: str, made: Sequence[Row]) -> str:
    """Return ``text`` with the numbers of refuted statements between its two marks."""
    return between(text, SENTENCE, summary(made))


def refreshed(stored: Sequence[Row]) -> list[Row]:
    """Return the rows with today's audit, searches and proofs; results of runs stay."""
    known = {row.key: row for row in stored}
    made = []
    for row in rows((), ()):
        old = known.get(row.key, row)
        runs = {
            side: {"runs": getattr(old, side)["runs"]}
            for side in ("printed", "corrected")
        }
        printed = {**row.printed, **runs["printed"], "growth": old.printed["growth"]}
        corrected = {
            **row.corrected,
            **runs["corrected"],
            "tightness": old.corrected["tightness"],
        }
        made.append(replace(row, printed=printed, corrected=corrected))
    return made


def main(arguments: Sequence[str]) -> int:
    """Write the scorecard's page and data, and its short forms into other pages."""
    folder, *pages = map(Path, arguments or [NUMBERS])
    if folder.is_dir():
        names = ("verdicts", "claims")
        made = rows(
            *(
                json.loads((folder / f"{n}.json").read_text(encoding="utf-8"))
                for n in names
            )
        )
    else:
        made = refreshed(
            [Row.from_dict(d) for d in json.loads(folder.read_text(encoding="utf-8"))]
        )
    write_json(NUMBERS, [row.to_dict() for row in made])
    write_text(PAGE, page(made))
    for path in pages:
        text = path.read_text(encoding="utf-8")
        write_text(
            path,
            (
                with_sentence(text, made)
                if SENTENCE in text
                else with_short_form(text, made)
            ),
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
