"""The text that identifies how a task was created: equal for equal tasks, different for
different ones.
"""

import functools
import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch

from dfltheory.identity import value_digest
from dfltheory.tasks import Quadratic, quadratic
from dfltheory.tasks.noise import FiniteSupport


def enclosing(a):
    return lambda x: x + a


def plus_one(x):
    return x + 1


def plus_two(x):
    return x + 2


class Holds:
    def __init__(self, value):
        self.value = value

    @functools.cached_property
    def computed(self):
        return object()


DIFFERENT = [
    None,
    True,
    0,
    1,
    0.5,
    float("inf"),
    float("nan"),
    "1",
    [1],
    [1, [2]],
    [[1], 2],
    {"a": 1},
    {"b": 1},
    {"a", "b"},
    np.ones(2),
    np.ones((2, 1)),
    np.ones(2, dtype=np.float32),
    torch.ones(3),
    torch.ones(2, dtype=torch.bfloat16),
    torch.float32,
    torch.nn.Linear(2, 2),
    torch.nn.Linear(2, 2),  # drawn again
    enclosing(1),
    enclosing(2),
    plus_one,
    plus_two,
    functools.partial(plus_one, 1),
    Holds(1),
    Holds([1]),
    FiniteSupport([[1.0], [-1.0]]),
]


def test_what_differs_has_another_fingerprint():
    digests = [value_digest(value) for value in DIFFERENT]
    for (i, one), (j, two) in itertools.combinations(enumerate(digests), 2):
        assert one != two, (DIFFERENT[i], DIFFERENT[j])
    assert digests == [value_digest(value) for value in DIFFERENT]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (0, 0.0),
        (np.float64(0.1), 0.1),
        (np.int64(3), 3),
        ((1, 2), [1, 2]),
        (np.arange(6.0).reshape(2, 3).T, np.arange(6.0).reshape(2, 3).T.copy()),
        (np.ones(2), torch.ones(2, dtype=torch.float64)),
        (enclosing(3), enclosing(3)),
    ],
)
def test_what_is_the_same_has_the_same(one, two):
    assert value_digest(one) == value_digest(two)


def test_what_was_computed_since_does_not_count_and_loops_end():
    a, b = Holds(1), Holds(1)
    assert a.computed
    assert value_digest(a) == value_digest(b)
    a.value = a
    assert len(value_digest(a)) == 16


def test_an_iterator_is_not_used_up():
    steps = iter([1, 2])
    value_digest(steps)
    value_digest(x for x in steps)
    assert list(steps) == [1, 2]


def test_every_argument_is_named_however_it_is_given():
    A, b = np.ones(3), np.zeros((4, 3))
    one, two = (
        Quadratic(A, b, 0.1).arguments,
        Quadratic(b=b, noise=np.float64(0.1), A=A).arguments,
    )
    assert one == two
    assert set(one) == {"class", "A", "b", "noise", "dtype", "device", "_diagonal"}
    for change in (
        {"A": 2 * A},
        {"b": b + 1},
        {"noise": 0.2},
        {"dtype": torch.float32},
    ):
        other = Quadratic(**({"A": A, "b": b, "noise": 0.1} | change)).arguments
        assert [name for name in one if one[name] != other[name]] == list(change)


def test_arguments_are_equal_in_another_process():
    code = (
        "from dfltheory.tasks import quadratic; print(quadratic(m=3, d=2,"
        " sigma=0.5).arguments)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == str(quadratic(m=3, d=2, sigma=0.5).arguments)
