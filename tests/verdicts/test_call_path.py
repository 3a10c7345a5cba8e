"""The number of the package's files that one call of ``compare`` enters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dfltheory as dfl

PACKAGE = Path(dfl.__file__).parent
LARGEST_NUMBER_OF_FILES = 27


def files_entered(call):
    """Return the package's files whose functions a call enters."""
    found = set()

    def record(frame, event, argument):
        file = Path(frame.f_code.co_filename)
        if event == "call" and file.is_relative_to(PACKAGE):
            found.add(file.relative_to(PACKAGE).as_posix())

    sys.setprofile(record)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def test_compare_enters_few_files_of_the_package():
    """The constants of the network belong to the run, which computes them when first
    needed.
    """
    task = dfl.tasks.quadratic(m=8, d=4, zeta=0.1, sigma=0.1)
    network = dfl.graphs.metropolis(dfl.graphs.ring(8))
    algorithm = dfl.algorithms.DFedAvg(eta=0.01, K=2)
    run = dfl.train(algorithm, task, network, rounds=30, seeds=4)
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
    compare = dfl.compare
    verdict = compare(run, theorem)
    assert verdict.kind != "not applicable", verdict.reason
    files = files_entered(lambda: compare(run, theorem))
    assert len(files) <= LARGEST_NUMBER_OF_FILES, sorted(files)


def test_the_verifier_in_rational_numbers_does_not_import_torch():
    code = (
        "import sys, dfltheory.counterexamples.rational; sys.exit('torch' in"
        " sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
