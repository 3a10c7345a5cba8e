"""One self-contained HTML page: what was tested, under which constants, what holds, what was not tested."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfltheory.analysis.compare import Verdict

if TYPE_CHECKING:
    from dfltheory.analysis.experiment import Outcome, Study

# one mark for each kind, so that the page can be read in black and white
MARKS = {"holds": "✓", "violated": "✗", "undecided": "?", "vacuous": "○", "not applicable": "–"}

MEANINGS = {
    "holds": "the whole confidence interval of the measured left-hand side is at or below the bound",
    "violated": "the whole confidence interval is above the bound, and every condition is met",
    "undecided": "the confidence interval straddles the bound",
    "vacuous": "not violated, but the bound exceeds what is known without the theorem",
    "not applicable": "a condition or an assumption fails at these constants, so the theorem claims nothing",
}


_MOST_REASONS = 12
"""How many reasons the terminal lists."""

_CAPTION = "numbers: measured / bound; 1 is sharp, above 1 the bound fails"


def render(
    study: Study,
    figures: Mapping[str, Path],
    more: Mapping[str, Path] | None = None,
    files: Sequence[str] = ("config.json", "verdicts.json", "history.parquet"),
) -> str:
    """The page as text; figures are embedded, nothing is loaded from anywhere.

    ``figures``: one for each group of cases; ``more``: further ones by their captions; ``files``: what lies
    beside the page.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dfltheory.analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    environment.filters["number"] = number
    page = environment.get_template("report.html.j2")
    groups = [_group(study, name, figure) for name, figure in figures.items()]
    counts = Counter(verdict.kind for _, verdict in study.verdicts)
    further = [(caption, _embedded(figure)) for caption, figure in (more or {}).items()]
    return page.render(
        study=study,
        groups=groups,
        more=further,
        counts=counts,
        marks=MARKS,
        meanings=MEANINGS,
        files=files,
    )


def _embedded(figure: Path) -> str:
    return base64.b64encode(figure.read_bytes()).decode("ascii")


def _group(study: Study, name: str, figure: Path) -> dict[str, Any]:
    outcomes = [outcome for outcome in study.outcomes if outcome.case.group == name]
    return {
        "name": name,
        "image": _embedded(figure),
        "alt": f"Bound against measurement for {name}: {len(outcomes)} panels",
        "outcomes": outcomes,
        "variants": list(dict.fromkeys(v.variant for o in outcomes for v in o.verdicts)),
        "constants": _constants(outcomes[0]),
        "statements": _statements(outcomes),
        "silent": _silent(outcomes),
        "notes": list(dict.fromkeys(o.case.note for o in outcomes if o.case.note)),
    }


def _statements(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """What the theorems of a group claim, in words and formulas that need no program to be shown."""
    from dfltheory import bounds

    names = dict.fromkeys((v.key, v.variant) for o in outcomes for v in o.verdicts)
    theorems = [bounds.get(key, variant) for key, variant in names]
    return [
        {
            "name": f"{thm.key}, {thm.variant}",
            "source": thm.source,
            "left": f"{thm.lhs.measure}: {thm.lhs.averaging}",
            "bound": _plain(" + ".join(str(part) for part in thm.parts.values())),
            "where": [_plain(f"{d.symbol} = {d.expr}") for d in thm.definitions],
            "conditions": [condition.name for condition in thm.conditions],
            "assumptions": list(thm.assumptions),
        }
        for thm in theorems
    ]


def _plain(formula: str) -> str:
    """A formula as people write it in a line of text."""
    return formula.replace("**", "^").replace("*", " ")


def _silent(outcomes: list[Outcome]) -> list[str]:
    """Why nothing can be said, where no verdict of a group applies: shown, not folded away."""
    verdicts = [v for o in outcomes for v in o.verdicts]
    if not verdicts or any(v.kind != "not applicable" for v in verdicts):
        return []
    return list(dict.fromkeys(f"{v.variant}: {v.reason}" for v in verdicts))


def _constants(outcome: Outcome) -> list[tuple[str, str, str]]:
    known = outcome.run.constants
    rows = [(name, number(value), known.standing_of(name)) for name, value in known.known().items()]
    gap = outcome.run.values().get("f0_gap")
    if gap is not None:
        rows.append(("f0_gap", number(gap), known.standing_of("f_star")))
    return rows


def number(value: float | None) -> str:
    """Three significant digits; a dash where there is none."""
    return "–" if value is None or value != value else f"{value:.3g}"


def table(study: Study) -> Any:
    """The verdicts as a rich table: a row for each run, a column for each variant of its theorem."""
    from rich.table import Table

    colours = {"holds": "green", "violated": "bold red", "vacuous": "yellow", "undecided": "yellow"}
    variants = list(dict.fromkeys(v.variant for _, v in study.verdicts))
    keys = list(dict.fromkeys(outcome.case.key for outcome in study.outcomes))
    made = Table(title=study.title, title_justify="left", header_style="bold", caption=_CAPTION)
    for heading in (["theorem"] if len(keys) > 1 else []) + ["problem", "network", ""]:
        made.add_column(heading)
    for variant in variants:
        made.add_column(f"{keys[0]}\n{variant}" if len(keys) == 1 else variant, no_wrap=True)
    for outcome in study.outcomes:
        found = {v.variant: v for v in outcome.verdicts}
        cells = [
            f"[{colours.get(v.kind, 'dim')}]{MARKS[v.kind]} {v.kind}[/] {_ratio(v)}" if v else ""
            for v in map(found.get, variants)
        ]
        case = outcome.case
        first = [case.key] if len(keys) > 1 else []
        made.add_row(*first, case.group, case.column, case.row, *cells)
    return made


def print_study(study: Study) -> None:
    """The table of verdicts on the terminal, then why some decide nothing, and what was not tested."""
    from rich.console import Console

    # A pipe has no width of its own; 80 columns would fold every cell.
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=130)
    console.print(table(study))
    for line in _undecided(study):
        console.print(line, markup=False, soft_wrap=True)
    console.print("not tested:")
    for line in study.not_tested:
        console.print(f"  - {line}", markup=False)


def _undecided(study: Study) -> list[str]:
    """A line for each reason for which nothing is decided, with the runs that it holds for."""
    found: dict[tuple[str, str], list[str]] = {}
    for case, verdict in study.verdicts:
        if verdict.kind in ("not applicable", "undecided"):
            where = ", ".join(part for part in (case.column, case.row) if part) or case.group
            found.setdefault((f"{verdict.variant}, {verdict.kind}", verdict.reason), []).append(where)
    lines = [
        f"{what} ({where[0]}{f' and {len(where) - 1} more' if len(where) > 1 else ''}): {reason}"
        for (what, reason), where in found.items()
    ]
    rest = len(lines) - _MOST_REASONS
    return (
        lines if rest <= 1 else [*lines[:_MOST_REASONS], f"and {rest} more reasons: the report has them all"]
    )


def _ratio(verdict: Verdict) -> str:
    return "" if verdict.ratio != verdict.ratio else f"{verdict.ratio:.2g}"


__all__ = ["MARKS", "MEANINGS", "number", "print_study", "render", "table"]
