"""Writer of docs/power.md: ``python -m validation.pages.power FOLDER FILE``.

It says which planted false versions of the corrected statements the searches refute, and
which terms of the corrected bounds are necessary.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dfltheory.bounds import registry
from dfltheory.counterexamples.certify import number as _number
from dfltheory.counterexamples.closed_forms import CLOSED_FORMS
from dfltheory.files import read_json, write_text
from dfltheory.markdown import table
from validation.counterexamples import human_mistakes
from validation.counterexamples.planted import KINDS
from validation.counterexamples.planted_reasons import (
    FALSE,
    UNSEEN,
    PlantedRow,
    known_false,
    unproved,
    unshown,
)
from validation.counterexamples.power import all_planted
from validation.pages.falsify import outcomes_of
from validation.pages.templates import filled
from validation.searched import Outcome

_INTRODUCTION = """# The power of the searches

[The searches](falsify.md) found no counterexample to a corrected statement. This page says how much that means: which
false statements the same search refutes. `python -m validation.pages.power docs/counterexamples docs/power.md` writes
it from `docs/power.json`, which `make power` writes.
"""
MISTAKES_FILE = Path(__file__).parents[1] / "counterexamples" / "human_mistakes.json"
_MISTAKE_HEADS = (
    "mistake",
    "drawn",
    "known to be false without a search",
    "searched",
    "refuted",
)
_TERMS = """
## Term by term

*Necessary*: the largest measured / (bound without the term) that was found; above 1 the bound is false
without it. *Largest share reached*: the largest measured / bound among problems where the term is half of the
bound or more.

"""
_TERM_HEADS = ("statement", "term", "necessary", "largest share reached")


def markdown(folder: Path) -> str:
    """Return the page from the outcome files in ``folder`` and the power next to it."""
    file = folder.parent / "power.json"
    versions: list[PlantedRow] = read_json(file) if file.exists() else []
    lines = [_INTRODUCTION]
    if versions:
        lines.append(_power(versions, folder))
    lines.append(human_mistakes_section())
    rows = _terms(outcomes_of(folder), versions)
    lines.append(_TERMS + table(_TERM_HEADS, rows))
    return "\n".join(lines) + "\n"


def human_mistakes_section(file: Path = MISTAKES_FILE) -> str:
    """Return what was drawn, what is known of it, and which share the search refutes."""
    rows: list[human_mistakes.Row] = read_json(file)
    searched = [row["search"] for row in rows if "search" in row]
    false = [
        row["search"]
        for row in rows
        if "search" in row and human_mistakes.known_false(row)
    ]
    known = sum(map(human_mistakes.known_false, rows))
    lines = [
        "\n## Mistakes that people make\n",
        f"{len(rows)} versions with one mistake each were drawn by a seed"
        " (`python -m validation.counterexamples.human_mistakes`) from the corrected"
        " statements. Some of them are true. A closed form, a saved problem or one made"
        f" by hand shows {known} to be false without a search."
        f" **{len(searched)} of the {len(rows)} were searched**, for"
        f" {_seconds(searched)} s of processor each. Refuted: {_share(false)} of those"
        " that are known to be false without a search,"
        f" {_share(searched)} of all that were searched, none of"
        " which is proved true. With so few searches these shares say little about the"
        " others.\n",
        table(_MISTAKE_HEADS, _mistakes(rows)),
    ]
    return "\n".join(lines)


def _share(searches: Sequence[human_mistakes.Search]) -> str:
    refuted = sum(search["refuted"] for search in searches)
    percent = f" ({100 * refuted / len(searches):.0f} %)" if searches else ""
    return f"{refuted} of {len(searches)}{percent}"


def _mistakes(rows: Sequence[human_mistakes.Row]) -> Iterator[tuple[object, ...]]:
    """Yield a row of each kind of mistake."""
    for mistake in dict.fromkeys(row["mistake"] for row in rows):
        mine = [row for row in rows if row["mistake"] == mistake]
        searches = [row["search"] for row in mine if "search" in row]
        refuted = sum(search["refuted"] for search in searches)
        known = sum(map(human_mistakes.known_false, mine))
        yield mistake, len(mine), known, len(searches), refuted


def _terms(
    outcomes: Sequence[Outcome], versions: Iterable[PlantedRow]
) -> Iterator[tuple[str, ...]]:
    """Yield a row of every term of the corrected bounds: need and tightness."""
    refuted = {
        (one["key"], one["variant"], one["version"]): one
        for one in versions
        if one["refuted"]
    }
    for outcome in outcomes:
        key, variant = outcome["key"], outcome["variant"]
        if not variant.startswith("corrected"):
            continue
        for name in registry.get(key, variant).parts:
            row = refuted.get((key, variant, f"without the term {name}"))
            found = outcome.get("terms", {}).get(name, {"share": "nan", "without": 0.0})
            most, where = float(found["without"]), ""
            if row is not None:
                most = max(most, float(row["ratio"] or 0.0))
                where = f" ({row['family']})"
            needed = f"yes: {_number(most)}{where}"
            if most <= 1:
                needed = unshown(key, variant, name, _number(most))
            yield f"`{key}` {variant}", name, needed, _number(found["share"])


def _power(versions: list[PlantedRow], folder: Path) -> str:
    """Return the section on planted versions: the power, and necessary conditions."""
    false = [one for one in versions if unproved(one) is None]
    known = [one for one in versions if known_false(one)]
    seen = _refuted(known)
    low, high = bracket(versions)
    return filled(
        "power",
        refuted=_refuted(false),
        all_false=len(false),
        seconds=_seconds(false),
        low=f"{100 * low:.0f}",
        high=f"{100 * high:.0f}",
        known=len(known),
        closed_forms=", ".join(CLOSED_FORMS),
        seen=seen,
        rate=f"{100 * seen / len(known):.0f}",
        planted=len(versions),
        every=_refuted(versions),
        unknown=len(versions) - len(false),
        searches=_searches(versions),
        left=_left(versions, folder),
        kinds=_kinds(versions),
        survivors="\n".join(_survivors(false)),
        necessary=_necessary(false),
        others="\n".join(_unknown(versions)),
    )


def _refuted(versions: list[PlantedRow]) -> int:
    return sum(one["refuted"] for one in versions)


def _seconds(searches: Iterable[PlantedRow | human_mistakes.Search]) -> str:
    """Return the different durations of searches, in words."""
    durations = sorted({search["seconds"] for search in searches})
    return " or ".join(f"{seconds:g}" for seconds in durations)


def _necessary(false: list[PlantedRow]) -> str:
    """Return the table of conditions, assumptions and windows that are necessary."""
    needed = ("without the condition", "without the assumption of", "with rounds")
    rows = []
    for one in false:
        ratio = one["ratio"]
        if one["refuted"] and ratio is not None and _kind(one) in needed:
            name = f"`{one['key']}` {one['version']}"
            rows.append((name, _number(ratio), one["family"]))
    return table(("version", "ratio", "worst problem"), rows)


def bracket(versions: list[PlantedRow]) -> tuple[float, float]:
    """Return the least and the largest share of the false versions that are refuted.

    At least: refuted / (planted, less those that have a reason to be true); at most:
    refuted / known false.
    """
    false = [one for one in versions if unproved(one) is None]
    possible = [one for one in versions if unproved(one) in (None, UNSEEN)]
    return _refuted(false) / len(possible), _refuted(false) / len(false)


def _left(versions: list[PlantedRow], folder: Path) -> str:
    """How many versions are planted and were not searched yet."""
    left = len(all_planted(folder)) - len(versions)
    return f" {left} more are planted, and were not searched yet." if left else ""


def _kind(one: PlantedRow) -> str:
    return next(begins for begins in KINDS if one["version"].startswith(begins))


def _kinds(versions: list[PlantedRow]) -> str:
    """Return the table of the kinds of planted versions."""
    rows: list[tuple[object, ...]] = []
    for begins, name in KINDS.items():
        mine = [one for one in versions if _kind(one) == begins]
        false = [one for one in mine if unproved(one) is None]
        refuted, others = _refuted(false), len(mine) - len(false)
        rows.append((name, len(mine), refuted, len(false) - refuted, others))
    heads = (
        "kind",
        "planted",
        "refuted",
        "false, not refuted",
        "not known to be false",
    )
    return table(heads, rows)


def _survivors(false: list[PlantedRow]) -> list[str]:
    """Return the false versions that were not refuted, and why they are false."""
    rows = []
    for one in false:
        if not one["refuted"]:
            ratio = "none" if one["ratio"] is None else _number(one["ratio"])
            name = f"`{one['key']}` {one['version']}"
            rows.append(f"- {name}: ratio {ratio} survives; {_why_false(one)}")
    return rows or ["none"]


def _why_false(one: PlantedRow) -> str:
    """Return why a version that was not refuted is false."""
    ratio = one.get("for ever", 0.0)
    if ratio > 1:
        form = one.get("closed form")
        return f"{form}, as the search did not reach it: ratio {_number(ratio)}"
    return FALSE[one["key"], one["version"]]


def _unknown(versions: list[PlantedRow]) -> list[str]:
    """Return the versions that are not known to be false.

    Each has a reason to be true, or no search has refuted it.
    """
    rows: list[str] = []
    silent: dict[str, list[str]] = {}
    for one in versions:
        reason = unproved(one)
        if reason == UNSEEN:
            silent.setdefault(one["key"], []).append(one["version"])
        elif reason is not None:
            refuted = "; **refuted**" if one["refuted"] else ""
            rows.append(f"- `{one['key']}` {one['version']}: {reason}{refuted}")
    return rows + [
        f"- `{key}`, {UNSEEN}: {'; '.join(names)}" for key, names in silent.items()
    ]


def _searches(versions: list[PlantedRow]) -> str:
    """Return how many versions each search was the last to examine."""
    days: dict[str, list[str]] = defaultdict(list)
    for one in versions:
        days[one.get("search", "unnamed")].append(one.get("date", ""))
    words = []
    for _, _, name in sorted((max(d), len(d), name) for name, d in days.items()):
        known = sorted(set(days[name]) - {""})
        when = f" on {', '.join(known)}" if known else ""
        words.append(f"{len(days[name])} by {name}{when}")
    return "; ".join(words)


def main(arguments: list[str]) -> int:
    """Write the page."""
    if len(arguments) != 2:
        print("usage: python -m validation.pages.power FOLDER FILE", file=sys.stderr)
        return 2
    write_text(Path(arguments[1]), markdown(Path(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["bracket", "main", "markdown"]
