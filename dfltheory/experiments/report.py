"""A study as a folder: tables, figures, and one self-contained HTML page."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from dfltheory.experiments.cases import Case, Outcome, installed_versions
from dfltheory.experiments.page_parts import (
    MARKS,
    VERDICT_MEANINGS,
    anchor,
    constant_rows,
    embedded,
    figure_name,
    latex_table,
    page_template,
    reasons_of,
    statements_of,
    verdict_text,
)
from dfltheory.files import filling, replacing, write_json, write_text
from dfltheory.number_format import format_number
from dfltheory.plots.groups import families
from dfltheory.plots.look import save
from dfltheory.verdicts.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MOST_REASONS = 12
"""Maximum number of reasons that are printed on the terminal."""

_CAPTION = "numbers: measured / bound; 1 is sharp, above 1 the bound fails"


class Storable(Protocol):
    """A row of a table of the page that can be stored as JSON."""

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        ...


@dataclass(frozen=True)
class Study:
    """Outcomes with a title and a list of what was not tested."""

    title: str
    outcomes: Sequence[Outcome]
    not_tested: Sequence[str] = ()
    command: str = ""
    versions: dict[str, str] = field(default_factory=installed_versions)
    finding: str = ""
    """The main finding in one sentence, shown at the top of the page."""
    scorecard: Sequence[Storable] = ()
    """Rows of a table of statements, each with ``key``, ``title``, ``cells`` (side,
    column, cell) and ``to_dict()``; a cell has ``marked``, ``tone``, ``detail`` and
    ``command``.
    """
    cover: tuple[Callable[[], Figure], str] | None = None
    """A figure that shows the main finding, drawn on the page above all others, and its
    caption.
    """
    pictures: Sequence[tuple[str, Callable[[], Figure], str]] = ()
    """Further figures, each with its title, its drawing and its caption."""
    claims: Sequence[Storable] = ()
    """Further claims that were checked, each with ``claim``, ``source``, ``check``,
    ``verdict``, ``said``, ``ratio``, ``detail``, ``refuted`` and ``to_dict()``.
    """

    @property
    def verdicts(self) -> list[tuple[Case, Verdict]]:
        """All verdicts with their cases."""
        return [
            (outcome.case, verdict)
            for outcome in self.outcomes
            for verdict in outcome.verdicts
        ]

    def frame(self) -> pd.DataFrame:
        """Return all histories in a tidy table with a row per case, seed and round."""
        import pandas as pd

        names = ("group", "column", "row")
        parts = []
        for outcome in self.outcomes:
            place = {name: getattr(outcome.case, name) for name in names}
            parts.append(outcome.run.to_frame().assign(**place))
        return pd.concat(parts, ignore_index=True)

    def save(self, folder: str | Path) -> Path:
        """Write the files of the study to a folder, and return the page.

        The files are config.json, verdicts.json, verdicts.tex, report.html, and
        depending on the study history.csv, scorecard.json, claims.json and figures.
        They are moved into the folder once all of them are complete
        (:func:`dfltheory.files.filling`).
        """
        with filling(folder) as new:
            self._write(new)
        return Path(folder) / "report.html"

    def _write(self, out: Path) -> None:
        """Write all files of the study to an empty folder."""
        write_json(out / "config.json", self.config())
        documents = [
            {"case": case.label, "note": case.note} | v.to_dict()
            for case, v in self.verdicts
        ]
        write_json(out / "verdicts.json", documents)
        write_text(
            out / "verdicts.tex", latex_table(verdict for _, verdict in self.verdicts)
        )
        files = ["config.json", "verdicts.json", "verdicts.tex"]
        if self.scorecard:
            write_json(
                out / "scorecard.json", [row.to_dict() for row in self.scorecard]
            )
            files.append("scorecard.json")
        if self.claims:
            write_json(out / "claims.json", [claim.to_dict() for claim in self.claims])
            files.append("claims.json")
        if self.outcomes:
            with replacing(out / "history.csv") as temporary:
                self.frame().to_csv(temporary, index=False)
            files.append("history.csv")
        figures = self.draw(out)
        cover = None if self.cover is None else save(self.cover[0](), out / "cover")[2]
        pictures = [
            save(draw(), out / figure_name(self.title, title))[2]
            for title, draw, _ in self.pictures
        ]
        write_text(
            out / "report.html",
            render(
                self, figures, files=files, folder=out, cover=cover, pictures=pictures
            ),
        )

    def draw(self, folder: Path) -> dict[str, Path]:
        """Draw one figure per group, as PNG, PDF and SVG.

        Return the SVG file of each group.
        """
        from dfltheory.plots.panels import along, panels

        groups: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            groups.setdefault(outcome.case.group, []).append(outcome)
        pictures = {}
        for group, members in groups.items():
            draw = along if members[0].case.along else panels
            file = folder / figure_name(self.title, group)
            pictures[group] = save(draw(members), file)[2]
        return pictures

    def config(self) -> dict[str, object]:
        """Return everything that is needed to repeat the study."""
        return {
            "title": self.title,
            "command": self.command,
            "versions": self.versions,
            "cases": [_describe(outcome) for outcome in self.outcomes],
        }


def _describe(outcome: Outcome) -> dict[str, object]:
    """Return the setup of an outcome's run, for config.json."""
    case, run = outcome.case, outcome.run
    task = None if case.instance is None else case.instance.task
    return {
        "case": case.label,
        "task": {
            "name": run.task,
            "m": run.m or None,
            "d": None if task is None else task.d,
        },
        "algorithm": {"name": type(run.algorithm).__name__} | asdict(run.algorithm),
        "rounds": run.rounds,
        "seeds": run.seeds,
        "seed": None if task is None else run.seed,
        "constants": run.constants.known(),
        "standing": dict(run.constants.standing),
        "network": run.network.known(),
        "theorem": str(case.key),
        "variants": [v.variant for v in outcome.verdicts],
    }


def render(
    study: Study,
    figures: Mapping[str, Path | None],
    more: Mapping[str, Path] | None = None,
    files: Sequence[str] = (),
    folder: Path = Path(),
    cover: Path | None = None,
    pictures: Sequence[Path] = (),
) -> str:
    """Return the page as text, with all figures embedded.

    Parameters
    ----------
    study : Study
        The study.
    figures : mapping of str to Path or None
        The figure of each group of cases, as drawn by ``plots.panels``; None for none.
    more : mapping of str to Path, optional
        Further figures by caption, which are drawn under "Along the axes".
    files : sequence of str
        Files next to the page in its ``folder``.
    folder : Path
        Folder of the page.
    cover, pictures
        The drawn ``study.cover`` and ``study.pictures``.
    """
    page = page_template("report.html.j2")
    groups = [_group(study, name, figure, folder) for name, figure in figures.items()]
    known = {
        (v.key, v.variant): v.status.how for _, v in study.verdicts if v.status.refuted
    }
    counts = Counter(v.kind for _, v in study.verdicts if not v.status.refuted)
    refuted_counts = Counter(v.kind for _, v in study.verdicts if v.status.refuted)
    further = [(caption, embedded(figure)) for caption, figure in (more or {}).items()]
    return page.render(
        study=study,
        groups=groups,
        more=further,
        cover=None if cover is None else embedded(cover),
        pictures=[
            (title, embedded(path), caption)
            for (title, _, caption), path in zip(study.pictures, pictures, strict=True)
        ],
        counts=counts,
        here=refuted_counts,
        known=sorted(
            (f"{key}, {variant}", how) for (key, variant), how in known.items()
        ),
        contents=_contents(study, figures, bool(further)),
        verdict_text=verdict_text,
        marks=MARKS,
        meanings=VERDICT_MEANINGS,
        files=files,
    )


def _contents(study: Study, groups: Iterable[str], more: bool) -> list[tuple[str, str]]:
    """Return the anchor and title of each section of the page."""
    sections = [("scorecard", "Scorecard")] if study.scorecard else []
    sections.append(("reading", "How to read this page"))
    sections += [(anchor(name), _heading(study, name)) for name in groups]
    sections += [("axes", "Along the axes")] if more else []
    sections += [(anchor(title), title) for title, _, _ in study.pictures]
    sections += [("claims", "Claims and results")] if study.claims else []
    sections += [("evidence", "Evidence of the scorecard")] if study.scorecard else []
    return [*sections, ("untested", "What was not tested"), ("data", "Data")]


def _heading(study: Study, group: str) -> str:
    """Return the name of a group as a heading; a study's title is unchanged."""
    return group if group == study.title else group[:1].upper() + group[1:]


def _group(
    study: Study, name: str, figure: Path | None, folder: Path
) -> dict[str, object]:
    """Return the section of one group of cases, for the template of the page."""
    outcomes = [outcome for outcome in study.outcomes if outcome.case.group == name]
    drawn = {
        v.variant: v for o in outcomes for v in o.verdicts if v.kind != "not applicable"
    }
    bands = []
    for word, members in families(drawn.values()).items():
        variants = [verdict.variant for verdict in members]
        if len(variants) > 1:
            bands.append(f"{word.capitalize()}: {', '.join(variants)}.")
    figure_files = []
    if figure is not None:
        figure_files = [
            figure.with_suffix(suffix) for suffix in (".pdf", ".svg", ".png")
        ]
    return {
        "name": name,
        "heading": _heading(study, name),
        "image": None if figure is None else embedded(figure),
        "files": [
            Path(os.path.relpath(file, folder)).as_posix() for file in figure_files
        ],
        "bands": bands,
        "alt": f"Bound against measurement for {name}: {len(outcomes)} runs",
        "outcomes": outcomes,
        "along": outcomes[0].case.along,
        "constants": constant_rows(outcomes),
        "statements": statements_of(outcomes),
        "silent": reasons_of(
            (o.case, v)
            for o in outcomes
            for v in o.verdicts
            if v.kind == "not applicable"
        ),
        "notes": list(dict.fromkeys(o.case.note for o in outcomes if o.case.note)),
    }


def tables(study: Study) -> list[object]:
    """Return a ``rich`` table of verdicts for each group of cases and each theorem.

    A table has one row per run and variant.
    """
    from rich.table import Table
    from rich.text import Text

    colors = {
        "holds": "green",
        "violated": "bold red",
        "vacuous": "yellow",
        "undecided": "yellow",
    }
    all_tables = []
    for group, key in dict.fromkeys((o.case.group, o.case.key) for o in study.outcomes):
        outcomes = [
            o for o in study.outcomes if (o.case.group, o.case.key) == (group, key)
        ]
        # Text, not str: names must not be interpreted as markup
        title = str(key) if group == study.title else f"{group}: {key}"
        table = Table(title=Text(title), title_justify="left", header_style="bold")
        for heading in ("run", "variant", "verdict"):
            table.add_column(heading, overflow="fold")
        table.add_column("measured / bound", justify="right", overflow="fold")
        for outcome in outcomes:
            for k, v in enumerate(outcome.verdicts):
                doubtful = v.status.refuted and v.kind != "violated"
                said = Text(f"{MARKS[v.kind]} {verdict_text(v)}")
                said.stylize("yellow" if doubtful else colors.get(v.kind, "dim"))
                last = k == len(outcome.verdicts) - 1
                cells = (
                    Text("" if k else outcome.case.place),
                    Text(v.variant),
                    said,
                    format_number(v.ratio, nothing=""),
                )
                table.add_row(*cells, end_section=last)
        all_tables.append(table)
    return all_tables


def print_study(study: Study) -> None:
    """Print the tables of verdicts on the terminal.

    They are followed by the reasons for open verdicts, and by what was not tested.
    """
    from rich.console import Console

    # A pipe has no width, and the default of 80 columns would fold every cell.
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=130)
    console.print(study.title, markup=False, style="bold")
    for table in tables(study):
        console.print(table)
    console.print(_CAPTION, style="dim")
    open_kinds = ("not applicable", "undecided")
    lines = reasons_of((case, v) for case, v in study.verdicts if v.kind in open_kinds)
    rest = len(lines) - _MOST_REASONS
    if rest > 1:
        lines = [
            *lines[:_MOST_REASONS],
            f"and {rest} more reasons: the report has them all",
        ]
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    console.print("not tested:")
    for line in study.not_tested:
        console.print(f"  - {line}", markup=False)


__all__ = ["Storable", "Study", "print_study", "render", "tables"]
