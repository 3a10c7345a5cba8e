"""The files for benchopt, combined as benchopt does, but without installing it."""

import importlib.util
import math
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

import dfltheory as dfl
from dfltheory.experiments.cases import validate

FOLDER = Path(__file__).parent.parent / "benchmarks" / "benchopt"


@pytest.fixture
def parts(monkeypatch):
    """Return Objective, Dataset and Solver with base classes that set the given
    parameters.
    """

    class Base:
        def __init__(self, **given):
            vars(self).update(given)

    named = dict.fromkeys(("BaseObjective", "BaseDataset", "BaseSolver"), Base)
    monkeypatch.setitem(sys.modules, "benchopt", SimpleNamespace(**named))
    found = []
    for name in ("objective", "datasets/clipped", "solvers/theorem"):
        spec = importlib.util.spec_from_file_location(
            Path(name).name, FOLDER / f"{name}.py"
        )
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append(
            getattr(module, {"o": "Objective", "d": "Dataset", "s": "Solver"}[name[0]])
        )
    return found


def choices(cls):
    return [
        dict(zip(cls.parameters, values, strict=True))
        for values in product(*cls.parameters.values())
    ]


def test_curves_are_what_the_verdicts_say(parts):
    Objective, Dataset, Solver = parts
    assert {c["key"] for c in choices(Solver)} == {
        "dfedsam.theorem_4_5",
        "dfedadmm.theorem_1",
    }
    data = next(Dataset(**c) for c in choices(Dataset) if c["topology"] == "complete")
    objective = Objective()
    objective.set_data(**data.get_data())
    results = {}
    for chosen in choices(Solver):
        solver = Solver(**chosen)
        solver.set_objective(**objective.get_objective())
        solver.run(150)
        results[tuple(chosen.values())] = objective.evaluate_result(
            **solver.get_result()
        )["value"]
    asked = {"K": 2, "seeds": 4, "variants": ["corrected"]}
    W = dfl.graphs.metropolis(dfl.graphs.complete(8))
    (verdict,) = validate(
        "dfedsam.theorem_4_5", objective.task, W, 150, **asked
    ).verdicts
    assert results["dfedsam.theorem_4_5", "measured"] == verdict.measured.estimate
    assert (
        results["dfedsam.theorem_4_5", "bound"]
        == verdict.bound
        > verdict.measured.estimate
    )
    assert (
        results["dfedadmm.theorem_1", "bound"]
        > results["dfedadmm.theorem_1", "measured"]
        > 0
    )
    solver.run(0)  # the theorem does not cover a single round
    assert math.isnan(solver.get_result()["value"])
    assert objective.evaluate_result(**objective.get_one_result()) == {"value": 1.0}
