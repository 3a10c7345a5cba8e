"""Run all experiments of this folder, print the scorecard, and write a report."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfltheory.cli.guard import exit_status
from dfltheory.experiments.report import Study
from dfltheory.files import check_writable
from validation import (
    axes,
    crossings,
    drawings,
    effects,
    experiments,
    images,
    learning,
    scorecard,
    topologies,
)
from validation.claims import Claim, panels_claim
from validation.scorecard_rows import summary, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dfltheory.experiments.cases import Outcome
    from validation.crossings import Family
    from validation.scorecard_rows import Row

LONGEST = "dfedsam_theorem_4_5"
"""The experiment that takes the most processor time; it is started first."""
EXPERIMENTS = {
    "crossings": crossings.run,
    **{name: experiment.run for name, experiment in experiments.EXPERIMENTS.items()},
    "axes": axes.run,
    "topologies": topologies.run,
    "effects": effects.run,
    "images": images.run,
}
"""Name -> ``run(quick)``, which returns claims and outcomes; in the report's order."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments and write the report; return the exit status."""
    options = _parser().parse_args(arguments)
    check_writable(options.out, folder=True)
    began = time.perf_counter()
    names = options.only or list(EXPERIMENTS)
    claims, outcomes, growth = collect(names, not options.full, options.jobs)
    claims += [panels_claim(outcomes)] if outcomes else []
    study = Study(
        title=(
            "Convergence bounds of decentralized federated learning against measured"
            " runs"
        ),
        outcomes=outcomes,
        not_tested=sorted({claim.not_tested for claim in claims if claim.not_tested}),
        command="make validate-full" if options.full else "make validate",
        claims=claims,
        pictures=[learning.panel()] if "images" in names else [],
    )
    documents = [verdict.to_dict() for _, verdict in study.verdicts]
    rows = scorecard.rows(documents, [claim.to_dict() for claim in claims])
    study = replace(
        study, finding=summary(rows), scorecard=rows, cover=_cover(outcomes, growth)
    )
    print_counts(claims, outcomes)
    print_scorecard(rows)  # before writing, which may fail
    written = study.save(options.out)
    seconds = time.perf_counter() - began
    print(
        f"{len(claims)} claims, {len(outcomes)} runs in {seconds:.0f} s; report:"
        f" {written}"
    )
    return 0


def _cover(
    outcomes: Sequence[Outcome], growth: Sequence[Family]
) -> tuple[Callable[[], Figure], str] | None:
    """Return the figure of the crossings and its caption, or None if not run."""
    mine = [outcome for outcome in outcomes if outcome.case.group == crossings.GROUP]
    if not mine:
        return None
    caption = (
        "Upper row: bounds as printed, each exceeded by the measurement on a problem"
        " that satisfies all assumptions. Lower row: the corrected bounds on the same"
        " runs."
    )
    return partial(drawings.crossings, mine, growth), caption


def print_scorecard(rows: Sequence[Row], width: int | None = None) -> None:
    """Print the scorecard, the main finding, and where to find the evidence."""
    from rich.console import Console

    console = Console(
        highlight=False, width=width or (None if sys.stdout.isatty() else 80)
    )
    console.print(table(rows))
    console.print(summary(rows), markup=False)
    console.print(
        "evidence and the command that repeats each cell: report.html,"
        " docs/scorecard.md",
        markup=False,
    )


def collect(
    names: Sequence[str], quick: bool, jobs: int
) -> tuple[list[Claim], list[Outcome], list[Family]]:
    """Run experiments in ``jobs`` processes; return claims, outcomes and families.

    The third part is the growth along the families of the crossings; it is empty if
    these are not run.
    """
    from joblib import Parallel, delayed

    started = sorted(names, key=LONGEST.__ne__)  # the longest first
    work: list[Any] = [delayed(perform_one)(name, quick) for name in started]
    if "crossings" in names:
        work.append(delayed(crossings.growing)())
    results: list[Any] = list(Parallel(n_jobs=jobs)(work) or [])
    by_name = dict(zip(started, results))
    claims = [claim for name in names for claim in by_name[name][0]]
    outcomes = [outcome for name in names for outcome in by_name[name][1]]
    return claims, outcomes, results[-1] if "crossings" in names else []


def perform_one(name: str, quick: bool) -> tuple[list[Claim], list[Outcome]]:
    """Run one experiment on one thread; print a line on stderr when it ends."""
    import torch

    torch.set_num_threads(1)
    began = time.perf_counter()
    claims, outcomes = EXPERIMENTS[name](quick)
    summary = (
        f"{len(outcomes)} runs, {len(claims)} claims in"
        f" {time.perf_counter() - began:.0f} s"
    )
    print(f"  {name}: {summary}", file=sys.stderr, flush=True)
    return claims, outcomes


def print_counts(claims: Sequence[Claim], outcomes: Sequence[Outcome]) -> None:
    """Print the number of verdicts and claims of each kind."""
    kinds = Counter(
        verdict.kind for outcome in outcomes for verdict in outcome.verdicts
    )
    checks = Counter(claim.said.split(",")[0].split(" (")[0] for claim in claims)
    for title, counts in (("verdicts on runs", kinds), ("claims", checks)):
        print(
            f"{title}:"
            f" {', '.join(f'{n} {kind}' for kind, n in counts.most_common()) or 'none'}"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m validation.run_all", description=__doc__
    )
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        default=Path("results"),
        help="folder for tables, figures and report",
    )
    add("--full", action="store_true", help="longer horizons and more seeds")
    add(
        "--only",
        nargs="+",
        choices=EXPERIMENTS,
        metavar="NAME",
        help=f"run only these experiments, of {', '.join(EXPERIMENTS)}",
    )
    jobs = min(4, os.cpu_count() or 1)
    add("--jobs", type=int, default=jobs, help="number of parallel processes")
    return parser


if __name__ == "__main__":
    sys.exit(exit_status(main))
