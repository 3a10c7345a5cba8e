"""Write a small example of every kind of saved file into a folder of tests/formats.

``python -m tests.formats.make`` is run once for each version and each random number
format. Earlier files are kept; those in ``0.1`` have random numbers of format 1.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import dfltheory as dfl
from dfltheory.experiments.experiment_file import load_experiment
from dfltheory.experiments.sweep import sweep
from dfltheory.randomness import RANDOM_FORMAT
from dfltheory.version import __version__

VERSION = ".".join(__version__.split(".")[:2])
FOLDER = Path(__file__).parent / f"{VERSION}-random-{RANDOM_FORMAT}"
COUNTEREXAMPLE = (
    Path(__file__).parents[2] / "docs/counterexamples/dfedsam.theorem_4_5-printed.json"
)
CANDIDATES = 2000
"""Number of candidates of each search."""
EXPERIMENT = """title = "an example"

[task]
name = "quadratic"
m = 3
d = 2
sigma = 0.1

[topology]
name = "ring"

[algorithm]
name = "dfedsam"
eta = 0.05
K = 2
rho = 0.01

[run]
rounds = 4
seeds = 2
evaluate_every = 2

[theorem]
key = "dfedsam.theorem_4_5"
variants = ["printed"]
"""


def trained(
    rounds: int = 4, checkpoint: Path | None = None
) -> dfl.training.history.History:
    """Return the run that is saved as a history and, after its rounds, as a
    checkpoint.
    """
    task = dfl.tasks.quadratic(m=3, d=2, sigma=0.1)
    algorithm = dfl.algorithms.DFedSAM(eta=0.05, K=2, rho=0.01)
    network = dfl.graphs.metropolis(dfl.graphs.ring(3))
    return dfl.train(
        algorithm,
        task,
        network,
        rounds=rounds,
        seeds=2,
        x0=np.zeros(2),
        progress=False,
        checkpoint=checkpoint,
    )


def write_searches(folder: Path) -> None:
    """Write a theorem file, and the files that searches save."""
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
    (folder / "theorem.toml").write_text(theorem.to_toml(), encoding="utf-8")
    refuted = dfl.falsify(theorem, candidates=CANDIDATES)
    refuted.save(folder / "refuting_instance.json")
    growing = dfl.falsify("dfedmdc.theorem_1", "printed", candidates=CANDIDATES)
    growing.save(folder / "growing_family.json")
    corrected = dfl.falsify("dfedsam.theorem_4_5", "corrected", candidates=CANDIDATES)
    command = (
        "dfltheory falsify dfedsam.theorem_4_5 --variant corrected --candidates"
        f" {CANDIDATES}"
    )
    corrected.record(folder / "outcome.json", command)


def write(folder: Path) -> None:
    """Write one file of each kind into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    trained().save(folder / "history.safetensors")
    trained(checkpoint=folder / "checkpoint.safetensors")
    shutil.copyfile(COUNTEREXAMPLE, folder / "counterexample.json")
    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    sweep(load_experiment(folder / "experiment.toml"), folder / "sweep", jobs=1)
    (folder / "sweep" / "results.csv").unlink()
    write_searches(folder)


if __name__ == "__main__":
    write(FOLDER)
