"""Writer of docs/falsify.md: ``python -m validation.pages.falsify FOLDER FILE [PAGE]``.

It reports what the searches found, one row for each statement, from the outcome files of
:mod:`validation.counterexamples.survey`.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from dfltheory.bounds import registry
from dfltheory.counterexamples.certify import number as _number
from dfltheory.counterexamples.document import read_document
from dfltheory.counterexamples.falsification import APART, COMMON, LED
from dfltheory.counterexamples.rational import verify
from dfltheory.errors import InputError
from dfltheory.files import write_text
from dfltheory.markdown import between, table
from validation.counterexamples.survey import outcome_file, searched
from validation.pages import simplified
from validation.papers.erratum import errata
from validation.searched import Outcome

REPORTED = (
    "command",
    "key",
    "variant",
    "violated",
    "ratio",
    "evaluations",
    "seconds",
    "seed",
    "families",
)
"""What the page reports of every outcome."""
_INTRODUCTION = """# What the searches for counterexamples found

This page lists, for each statement, the worst problem that a search found
(`python -m validation.pages.falsify docs/counterexamples docs/falsify.md docs/covered.md` writes it, from the
files of `python -m validation.counterexamples.survey docs/counterexamples`).

Ratio: measured over bound at the worst problem that was found; above 1 the statement is refuted. (O): a
statement in O(.), whose ratio is the growth of measured over expression along the steepest family of problems;
it is refuted when the ratio grows over the whole range searched, against every term, in a parameter that no
O(.) may hide (T, K, 1/(1 - lambda), 1/(1 - alpha)). Under: *common start*, where all clients start at one
point, and noise, if any, is added; *clients apart*, which uses that the statement does not ask for a common
start; *noise that depends on the state*, which uses that it does not ask for smooth samples. In fractions: the
ratio of the same problem by the verifier that uses neither the search nor torch (`dfltheory falsify --replay
FILE --exact`). File: the worst problem, which `dfltheory falsify --replay FILE` runs again, with the families
that were tried and the command of the search. Searches stop by the clock, so that a faster machine looks
further. {confirmed}

**A search that finds nothing proves nothing.** [The power of the searches](power.md) says which false statements
they refute. The [errata](errata/index.md) explain the refuted statements.
"""
_HEADS = (
    "statement",
    "variant",
    "outcome",
    "under",
    "ratio",
    "in fractions",
    "worst problem",
    "candidates",
    "seconds",
    "file",
)

GROUPS = ("audited", "controls", "corrected")
COUNT = "<!-- counted -->"
"""The line above and below the numbers of refuted statements on other pages."""
FACTOR = 2.0
"""Factors between the search's ratio and the core's beyond this are listed one by
one.
"""


def markdown(folder: Path) -> str:
    """Return the page from the outcome files in ``folder``."""
    outcomes = outcomes_of(folder)
    missing = sum(not outcome_file(folder, t).exists() for t in searched())
    introduction = _INTRODUCTION.replace("{confirmed}", _confirmed(outcomes))
    rows = [_row(one) for one in sorted(outcomes, key=_rank)]
    parts = [
        introduction,
        _summary(outcomes, missing),
        "",
        table(_HEADS, rows),
        simplified.section(folder),
    ]
    return "\n".join(parts)


def outcomes_of(folder: Path) -> list[Outcome]:
    """Return the outcomes saved in ``folder``, in the order of the registry."""
    paths = [outcome_file(folder, theorem) for theorem in searched()]
    return [read_document(path, REPORTED) for path in paths if path.exists()]


def _rank(one: Outcome) -> tuple[int, bool, float]:
    """Refuted statements first: the strictest reading, constants, the largest ratio."""
    if not one["violated"]:
        return 3, False, 0.0
    order = [COMMON, APART, LED]
    return order.index(_reading(one)), bool(one.get("divergence")), -one["ratio"]


def _row(one: Outcome) -> tuple[str, ...]:
    key, variant = one["key"], one["variant"]
    outcome = "**refuted**" if one["violated"] else "not refuted"
    if one.get("divergence"):
        outcome += " (O)"
    file = f"counterexamples/{key}-{variant}.json"
    anchor = f"{key}-{variant}".replace(".", "-").replace("_", "-")
    return (
        f"`{key}`",
        variant,
        outcome,
        _reading(one),
        _number(one["ratio"]),
        _exact(one) if one["violated"] else "",
        _worst(one),
        str(one["evaluations"]),
        f"{one['seconds']:.0f}",
        f'[file]({file})<a id="{anchor}"></a>',
    )


def _worst(one: Outcome) -> str:
    """Return the family of the worst problem."""
    if one.get("divergence"):
        return str(one["divergence"]["member"])
    if one.get("instance") is None:
        return "no admissible problem"
    return str(one["family"])


def excess(one: Outcome) -> float:
    """Return the factor by which the search's ratio exceeds the core's.

    Both are of the worst problem's family.
    """
    if not (core := one.get("core")):
        return 1.0
    same = one.get("core_at_horizon")
    confirmed = float(core["ratio"] if same is None else same)
    own = float(one["families"].get(one.get("family"), {"ratio": "nan"})["ratio"])
    return own / confirmed if own > confirmed > 0 else 1.0


def _confirmed(outcomes: list[Outcome]) -> str:
    """Return a sentence on how far the ratios of families exceed the core's."""
    rows = sorted(outcomes, key=excess, reverse=True)
    large = [one for one in rows if excess(one) > FACTOR]
    rest = max((excess(one) for one in rows[len(large) :]), default=1.0)
    named = ""
    for one in large:
        named += f"{excess(one):.3g} for `{one['key']}` {one['variant']}; "
    others = "any other statement" if large else "every statement"
    return (
        "A family's ratio is the search's own, which counts candidates that the core"
        " does not confirm. For the family of the worst problem it exceeds the core's"
        f" ratio by a factor of {named}at most {rest:.3g} for {others}."
    )


def _exact(one: Outcome) -> str:
    """Return what the rational verifier says of a refutation with constants."""
    if one.get("divergence"):
        return ""
    try:
        seen = verify(one["instance"], registry.get(one["key"], one["variant"]))
    except InputError as why:
        return f"none: {why}"
    least = "at least " if "count as 0" in seen.why else ""
    return f"{least}{_number(float(seen.left / seen.right))}: {seen.why}"


def _summary(outcomes: list[Outcome], missing: int) -> str:
    """Return how many statements are refuted, by group, and how many are left."""
    return counted(outcomes) + (f" Not searched: {missing}." if missing else "")


def with_count(text: str, folder: Path) -> str:
    """Return a page with the numbers of refuted statements between its two marks."""
    return between(text, COUNT, counted(outcomes_of(folder)))


def counted(outcomes: list[Outcome]) -> str:
    """Return the numbers of statements that were searched and refuted, by group.

    The audited papers are those with errata; the other sources (textbooks, lemmas and
    machine-checked libraries) are controls, which are expected to hold.
    """
    searched, refuted = Counter[str](), Counter[str]()
    for one in outcomes:
        group = _group(one)
        searched[group] += 1
        refuted[group] += one["violated"]
    share = {group: f"{refuted[group]} of {searched[group]}" for group in GROUPS}
    return (
        f"Searches refute {share['audited']} statements of the audited papers, as"
        f" printed or as derived in the appendices, {share['controls']} controls"
        f" (statements of other sources), and {share['corrected']} corrected"
        " statements."
    )


def _group(one: Outcome) -> str:
    """Return the group in which an outcome is counted."""
    if one["variant"].startswith("corrected"):
        return "corrected"
    return "audited" if errata(one["key"].partition(".")[0]) else "controls"


def _reading(one: Outcome) -> str:
    """Return the strictest reading under which a statement is refuted.

    It is one of the readings searched, or that of the saved problem.
    """
    if not one["violated"]:
        return ""
    if (read := one.get("readings")) is not None:
        return next(name for name, found in read.items() if found["violated"])
    if one.get("divergence") is not None:
        return COMMON
    first, *others = one["instance"]["run"]["x0"]
    common_start = all(start == first for start in others)
    return COMMON if common_start else APART


def main(arguments: list[str]) -> int:
    """Write the page, and the numbers of refuted statements into other pages."""
    if len(arguments) not in (2, 3):
        print(
            "usage: python -m validation.pages.falsify FOLDER FILE [PAGE]",
            file=sys.stderr,
        )
        return 2
    for readme in map(Path, arguments[2:]):
        text = with_count(readme.read_text(encoding="utf-8"), Path(arguments[0]))
        write_text(readme, text)
    write_text(Path(arguments[1]), markdown(Path(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["counted", "excess", "main", "markdown", "outcomes_of", "with_count"]
