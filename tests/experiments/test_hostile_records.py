"""Verdicts and cells of sweeps of unknown origin, with one field changed: they are
read, run again, or rejected in one line.
"""

import json
import shutil

import pytest

from dfltheory.experiments.experiment_file import load_experiment
from dfltheory.experiments.results import load_results, write_results
from dfltheory.experiments.sweep import sweep
from dfltheory.experiments.verdict_documents import load_verdicts
from tests.hostile import places, put, refused

HUGE = 10**400
ODD = [
    HUGE,
    "x",
    float("inf"),
    float("nan"),
    -1,
    None,
    True,
    [],
    {},
    [[1]],
    {"a": 1},
    "λ" * 3000,
    "\x1b[31m\n",
]
EXPERIMENT = """
[task]
name = "quadratic"
m = 4
[topology]
name = "ring"
[algorithm]
name = "dfedsam"
eta = 0.01
K = 1
[run]
rounds = 2
seeds = 2
[theorem]
key = "dfedsam.theorem_4_5"
variants = ["corrected"]
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Return a finished sweep with one cell: its folder, the cell's file, and the
    file's content.
    """
    place = tmp_path_factory.mktemp("swept")
    (place / "e.toml").write_text(EXPERIMENT)
    sweep(load_experiment(place / "e.toml"), place / "out", jobs=1)
    (cell,) = (place / "out" / "cells").glob("*.json")
    return place, cell, json.loads(cell.read_text())


def changed(document, each):
    for k, path in enumerate(places(document)):
        for value in ODD[k % each :: each]:
            yield put(document, path, value)


def test_verdicts(swept, tmp_path):
    verdicts, file, lines = swept[2]["verdicts"][:1], tmp_path / "verdicts.json", 0
    for document in (*changed(verdicts, 2), [3], ["ab"], [None], [HUGE]):
        file.write_text(json.dumps(document))
        lines += refused(load_verdicts, file) is not None
    assert lines > 100


def test_cells(swept, tmp_path):
    place, cell, record = swept
    shutil.copytree(place / "out", tmp_path / "out")
    file = tmp_path / "out" / "cells" / cell.name
    lines = missing = 0
    small = record | {"verdicts": record["verdicts"][:1]}
    small["configuration"] = {"run": small["configuration"]["run"]}
    for document in changed(small, 13):
        file.write_text(json.dumps(document))
        (found,) = load_results(tmp_path / "out").cells
        missing += found.status == "missing"
        lines += any(
            [
                refused(found.__class__.verdicts.fget, found),
                refused(frame, tmp_path / "out"),
            ]
        )
    assert missing > 3
    assert lines > 10


def frame(folder):
    return load_results(folder).frame


@pytest.mark.parametrize(
    "path", [("verdicts",), ("verdicts", 0), ("verdicts", 0, "kind"), ("final",)]
)
def test_a_sweep_runs_a_cell_again_whose_record_is_none(swept, tmp_path, path):
    place, cell, record = swept
    shutil.copytree(place / "out", tmp_path / "out")
    (tmp_path / "out" / "cells" / cell.name).write_text(
        json.dumps(put(record, path, [[1]]))
    )
    results = load_results(tmp_path / "out")
    assert results.cells[0].status == "missing"
    write_results(results, tmp_path)
