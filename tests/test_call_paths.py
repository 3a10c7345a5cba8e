"""The number of the package's files that one call of ``train``, ``compare`` or
``falsify`` enters.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import dfltheory as dfl

PACKAGE = Path(dfl.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
LIMITS = {"train": 32, "compare": 39, "second compare": 27, "falsify": 104}
"""Maximum number of the package's files that one call may enter. A limit is lowered
when a call needs fewer.
"""
TRAINING_LIMIT = 14
"""Maximum number of files of ``dfltheory/training`` that one call of ``train`` may
enter.
"""


def traced(call: Callable[[], Any]) -> tuple[Any, set[str]]:
    """Return the result of a call, and the files whose functions it entered."""
    entered: set[str] = set()

    def enter(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>":
            entered.add(code.co_filename)

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        result = call()
    finally:
        sys.setprofile(before)
    paths = [Path(name) for name in entered if name.startswith(str(PACKAGE))]
    return result, {path.relative_to(PACKAGE).as_posix() for path in paths}


def training() -> Callable[[], Any]:
    """Return a call of ``train`` whose task, algorithm and network already exist."""
    task = dfl.tasks.quadratic(m=8, d=3, seed=1)
    algorithm = dfl.algorithms.DFedSAM(eta=0.01, K=5, rho=0.01, Q=2)
    W = dfl.graphs.metropolis(dfl.graphs.ring(8))
    train = dfl.train
    return lambda: train(algorithm, task, W, rounds=10, seeds=3, progress=False)


def call_of(name: str) -> Callable[[], Any]:
    """Return a call of a function for which all modules are already imported."""
    train = training()
    run = train()
    if name == "train":
        return train
    theorem, compare, falsify = (
        dfl.bounds.get("dfedsam.theorem_4_5"),
        dfl.compare,
        dfl.falsify,
    )
    if name == "compare":
        compare(run, theorem)
        # without the constants that the first comparison has computed
        new_run = train()
        return lambda: compare(new_run, theorem)
    if name == "second compare":
        compare(run, theorem)
        return lambda: compare(run, theorem)
    falsify(theorem, seconds=1)
    return lambda: falsify(theorem, seconds=2)


@pytest.mark.parametrize(
    "name",
    [
        *("train", "compare", "second compare"),
        pytest.param("falsify", marks=pytest.mark.slow),
    ],
)
def test_one_call_enters_few_files_which_the_page_lists(name):
    result, files = traced(call_of(name))
    if "compare" in name:
        assert result.kind != "not applicable"
    assert len(files) <= LIMITS[name], sorted(files)
    section = (
        PAGE.read_text(encoding="utf-8")
        .partition("## Call paths")[2]
        .partition("\n## ")[0]
    )
    training = {file for file in files if file.startswith("training/")}
    if name == "train":
        assert len(training) <= TRAINING_LIMIT
        unlisted = [file for file in training if f"`{Path(file).name}`" not in section]
        assert not unlisted


def test_each_call_path_of_the_page_names_files_that_exist():
    section = (
        PAGE.read_text(encoding="utf-8")
        .partition("## Call paths")[2]
        .partition("\n## ")[0]
    )
    words = section.split("`")[1::2]
    names = [
        word for word in words if word.endswith(".py") and not word.startswith("tests/")
    ]
    known = {path.name for path in PACKAGE.rglob("*.py")}
    assert names
    assert [name for name in names if Path(name).name not in known] == []
