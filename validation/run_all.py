"""Run every experiment of this folder, print one table, and write a results folder with a report."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from dfltheory.analysis.experiment import Study, perform_all
from validation import dfedsam_theorem_4_5

EXPERIMENTS = (dfedsam_theorem_4_5,)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    from dfltheory.analysis.report import print_study

    cases = [case for module in EXPERIMENTS for case in module.cases(quick=not options.full)]
    began = time.perf_counter()
    study = Study(
        title="Convergence bounds of decentralized federated learning against measured runs",
        outcomes=perform_all(cases, progress=True),
        not_tested=[line for module in EXPERIMENTS for line in module.NOT_TESTED],
        command="make validate-full" if options.full else "make validate",
    )
    report = study.save(options.out)
    print_study(study)
    print(f"\n{len(cases)} runs in {time.perf_counter() - began:.0f} s; report: {report}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m validation.run_all", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("results"), help="folder for tables, figures and report"
    )
    parser.add_argument("--full", action="store_true", help="longer horizons and more seeds")
    return parser


if __name__ == "__main__":
    sys.exit(main())
