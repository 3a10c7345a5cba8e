"""Records with arrays have no generated ``==``, which would need the truth value of an
array.
"""

import dataclasses
import importlib
import inspect
import pkgutil

import numpy as np

import dfltheory as dfl
from dfltheory.exact import exact_history
from dfltheory.experiments.cases import case_of

ARRAYS = ("NDArray", "ndarray", "Tensor", "csr_array", "Matrix", "DataFrame", "Array")


def records():
    for module in pkgutil.walk_packages(dfl.__path__, "dfltheory."):
        for _, kind in inspect.getmembers(
            importlib.import_module(module.name), inspect.isclass
        ):
            if kind.__module__ == module.name and dataclasses.is_dataclass(kind):
                yield kind


def test_no_record_with_arrays_has_a_generated_comparison():
    kinds = list(records())
    assert len(kinds) > 100
    asked = {
        f"{kind.__module__}.{kind.__qualname__}": compares_arrays(kind)
        for kind in kinds
    }
    assert {name: fields for name, fields in asked.items() if fields} == {}


def compares_arrays(kind):
    """Return the array fields that a generated ``==`` compares."""
    generated = (
        kind.__dataclass_params__.eq and kind.__eq__.__code__.co_filename == "<string>"
    )
    return [f.name for f in dataclasses.fields(kind) if generated and holds_arrays(f)]


def holds_arrays(field):
    annotation = str(field.type)
    return (
        field.compare
        and "Callable" not in annotation
        and any(word in annotation for word in ARRAYS)
    )


def test_a_generated_comparison_is_seen():
    @dataclasses.dataclass
    class Bad:
        x: "np.ndarray"

    @dataclasses.dataclass(eq=False)
    class Good:
        x: "np.ndarray"

    assert compares_arrays(Bad) == ["x"]
    assert compares_arrays(Good) == []


def test_runs_compare_by_what_they_hold_and_cases_by_identity():
    task = dfl.tasks.quadratic(m=2, d=2, sigma=0.1)
    method, W = dfl.algorithms.DFedAvg(eta=0.1, K=1), np.full((2, 2), 0.5)
    one, other = (dfl.train(method, task, W, rounds=2, seeds=2) for _ in range(2))
    assert one != other  # the duration is part of the record
    other.seconds = one.seconds
    assert one == other
    assert one != dfl.train(method, task, W, rounds=2, seeds=2, seed=1)
    exact, again = (exact_history(method, task, W, rounds=2) for _ in range(2))
    again.seconds = exact.seconds
    assert exact == again
    assert exact != exact_history(method, task, W, rounds=3)
    assert exact != one
    cases = [case_of("dfedsam.theorem_4_5", task, W, 5, K=1) for _ in range(2)]
    assert len({*cases, cases[0]}) == 2
