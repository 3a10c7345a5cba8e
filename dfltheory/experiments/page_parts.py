"""Parts of a study's page: names, formulas, constants, and texts of verdicts."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.bounds.display import condition_latex
from dfltheory.bounds.theorem import Theorem
from dfltheory.experiments.cases import Case, Outcome
from dfltheory.experiments.html_text import html_text, mathml
from dfltheory.number_format import format_number, tex
from dfltheory.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from jinja2 import Template

MARKS = {
    "holds": "✓",
    "violated": "✗",
    "undecided": "?",
    "vacuous": "○",
    "not applicable": "–",
}
"""A mark for each kind of verdict, so that pages can be read in black and white."""


VERDICT_MEANINGS = {
    "holds": (
        "the whole confidence interval of the measured left-hand side is at or below"
        " the bound"
    ),
    "violated": (
        "the whole confidence interval is above the bound, and every condition is met"
    ),
    "undecided": "the confidence interval straddles the bound",
    "vacuous": "not violated, but the bound exceeds what is known without the theorem",
    "not applicable": (
        "a condition or an assumption fails at these constants, so the theorem claims"
        " nothing"
    ),
}
"""What each kind of verdict means, for readers of a page."""


def figure_name(title: str, group: str) -> str:
    """Return a file name for a study's figure.

    It consists of the characters a-z and 0-9 of the group, and a hash that makes it
    unique.
    """
    plain = re.sub("[^a-z0-9]+", "-", group.lower())[:80].strip("-") or "figure"
    mark = sha256(repr((title, group)).encode()).hexdigest()[:6]
    return f"{plain}-{mark}"


def page_template(name: str) -> Template:
    """Return a page template of this package that escapes all values."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).with_name("templates"))
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["number"] = format_number
    environment.globals["anchor"] = anchor
    return environment.get_template(name)


def anchor(name: str) -> str:
    """Return the anchor of a section of the page."""
    return "s-" + figure_name("", name)


def embedded(figure: Path) -> str:
    """Return an SVG or PNG file as a ``data:`` URL."""
    kind = {".svg": "svg+xml", ".png": "png"}[figure.suffix]
    return f"data:image/{kind};base64," + base64.b64encode(figure.read_bytes()).decode(
        "ascii"
    )


def statements_of(outcomes: list[Outcome]) -> list[dict[str, object]]:
    """Return the statements of a group's theorems, in words and formulas."""
    theorems = {(v.key, v.variant): v.theorem for o in outcomes for v in o.verdicts}
    return [_statement(theorem) for theorem in theorems.values()]


def _statement(theorem: Theorem) -> dict[str, object]:
    """Return the statement of a theorem, for the template of the page."""
    conditions = []
    for condition in theorem.conditions:
        formula = mathml(condition_latex(condition, theorem))
        conditions.append((condition.name, formula))
    return {
        "name": f"{theorem.key}, {theorem.variant}",
        "status": str(theorem.status),
        "source": theorem.source,
        "left": html_text(theorem.lhs.words),
        "formula": mathml(theorem.latex(), "block"),
        "conditions": conditions,
        "assumptions": [html_text(words) for words in theorem.assumptions],
    }


def constant_rows(outcomes: Sequence[Outcome]) -> list[tuple[str, str, str]]:
    """Return name, value and provenance (exact, bound, estimate) of each constant.

    The value is a range if the problems differ; the provenance is that of the first
    one.
    """
    known: dict[str, list[tuple[float, str]]] = {}
    for outcome in outcomes:
        constants = outcome.run.constants
        for name, value in constants.known().items():
            known.setdefault(name, []).append((value, constants.standing_of(name)))
        gap = outcome.run.values().get("f0_gap")
        if gap is not None:
            known.setdefault("f0_gap", []).append(
                (gap, constants.standing_of("f_star"))
            )
    rows = []
    for name, entries in known.items():
        ends = [format_number(value) for value, _ in (min(entries), max(entries))]
        rows.append((name, " to ".join(dict.fromkeys(ends)), entries[0][1]))
    return rows


def verdict_text(verdict: Verdict) -> str:
    """Return the kind of a verdict as text.

    If the statement is refuted in general, the text includes how.
    """
    if not verdict.status.refuted:
        return verdict.kind
    return f"{verdict.kind} here (refuted in general: {verdict.status.how})"


def reasons_of(verdicts: Iterable[tuple[Case, Verdict]]) -> list[str]:
    """Return one line for each variant, kind and reason.

    A line includes the runs that it applies to.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for case, verdict in verdicts:
        text = verdict.reason
        if verdict.suggestions:
            text += f"; {verdict.suggestions}"
        reason = f"{verdict.variant}, {verdict.kind}", text
        places.setdefault(reason, []).append(case.place or case.group)
    lines = []
    for (kind, reason), where in places.items():
        more = f" and {len(where) - 1} more" if len(where) > 1 else ""
        lines.append(f"{kind} ({where[0]}{more}): {reason}")
    return lines


def latex_table(verdicts: Iterable[Verdict]) -> str:
    """Return verdicts as a ``tabular`` (booktabs).

    The columns are statement, variant, status of the statement, kind of the verdict,
    measured value with its interval, bound, and ratio. Rows of verdicts that are not
    applicable contain no numbers.
    """
    head = r"statement & variant & status & verdict & measured & bound & ratio \\"
    lines = [r"\begin{tabular}{lllllll}", r"\toprule", head, r"\midrule"]
    for v in verdicts:
        interval = v.measured
        numbers = (
            f"{tex(interval.estimate)} [{tex(interval.low)}, {tex(interval.high)}]",
            tex(v.bound),
            tex(v.ratio),
        )
        shown = tuple(f"${number}$" for number in numbers)
        if v.kind == "not applicable":
            shown = ("--",) * 3
        cells = (rf"\texttt{{{v.key}}}", v.variant, v.status.kind, v.kind, *shown)
        lines.append(" & ".join(cell.replace("_", r"\_") for cell in cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


__all__ = [
    "MARKS",
    "VERDICT_MEANINGS",
    "constant_rows",
    "embedded",
    "reasons_of",
    "statements_of",
    "anchor",
    "figure_name",
    "latex_table",
    "page_template",
    "verdict_text",
]
