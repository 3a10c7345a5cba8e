"""Digests of values and of source code: equal for equal ones, different for different
ones; checkpoints identify runs by them.
"""

import collections
import dataclasses
import fractions
import functools
import importlib.util
import inspect
import itertools
import linecache
import pathlib
import subprocess
import sys
import tempfile

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dfltheory import algorithms, tasks
from dfltheory.identity import source_digest, value_digest
from dfltheory.tasks import Quadratic, quadratic, registry
from dfltheory.tasks.noise import FiniteSupport

# -- values


def defined_by(text):
    """Return the function f of this source code."""
    space = {"np": np}
    exec(text, space)
    return space["f"]


def adds(a):
    return lambda x: x + a


def calls(function):
    return lambda x: function(x)


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


class Scaled(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
        self.weight = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        return self.factor * self.weight * x


class Squared(Scaled):
    def forward(self, x):
        return self.factor * self.weight * x**2


Squared.__qualname__ = Scaled.__qualname__
Squared.__name__ = Scaled.__name__


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    a: int


def returns_one(self):
    return 1


def returns_two(self):
    return 2


def holder(method):
    """Return an object of a user's class Holder with this method."""
    return type("Holder", (), {"__module__": "mine", "value": method})()


DIFFERENT = [
    None,
    True,
    0,
    1,
    0.5,
    float("inf"),
    float("nan"),
    1j,
    2j,
    fractions.Fraction(1, 2),
    fractions.Fraction(1, 3),
    "1",
    pathlib.Path("a"),
    pathlib.Path("b"),
    [1],
    [1, [2]],
    [[1], 2],
    collections.deque([3]),
    collections.deque([4]),
    {"a": 1},
    {"b": 1},
    {"a", "b"},
    np.ones(2),
    np.ones((2, 1)),
    np.ones(2, dtype=np.float32),
    np.array([1, "a"], dtype=object),
    np.array([2, "a"], dtype=object),
    sp.csr_array(np.eye(3)),
    2 * sp.csr_array(np.eye(3)),
    nx.path_graph(3),
    nx.path_graph(4),
    np.random.default_rng(1),
    np.random.default_rng(2),
    torch.Generator().manual_seed(1),
    torch.Generator().manual_seed(2),
    torch.ones(3),
    torch.ones(2, dtype=torch.bfloat16),
    torch.eye(3).to_sparse(),
    torch.zeros(3, 3).to_sparse(),
    torch.float32,
    torch.nn.Linear(2, 2),
    torch.nn.Linear(2, 2),  # drawn again
    Scaled(1),
    Scaled(2),
    Squared(1),
    Scaled(1).forward,
    Scaled(2).forward,
    torch.sin,
    torch.cos,
    abs,
    round,
    adds(1),
    adds(2),
    calls(plus_one),
    calls(plus_two),
    plus_one,
    plus_two,
    functools.partial(plus_one, 1),
    # a function in a function
    defined_by("def f(x):\n def g(y): return y + 2\n return g(x)"),
    defined_by("def f(x):\n def g(y): return y * 2\n return g(x)"),
    defined_by("def f(): return lambda x: x + 1"),
    defined_by("def f(): return lambda x: x + 2"),
    # a number, an array or a function of the module
    defined_by("c = 1\ndef f(x): return c * x"),
    defined_by("c = 2\ndef f(x): return c * x"),
    defined_by("c = np.full(3, 1)\ndef f(x): return c * x"),
    defined_by("c = np.full(3, 2)\ndef f(x): return c * x"),
    defined_by("def g(x): return x + 2\ndef f(x): return g(x)"),
    defined_by("def g(x): return x * 2\ndef f(x): return g(x)"),
    Slotted(1),
    Slotted(2),
    Holds(1),
    Holds([1]),
    holder(returns_one),
    holder(returns_two),
    FiniteSupport([[1.0], [-1.0]]),
]


def test_different_values_have_different_digests():
    digests = [value_digest(value) for value in DIFFERENT]
    for (i, one), (j, two) in itertools.combinations(enumerate(digests), 2):
        assert one != two, (DIFFERENT[i], DIFFERENT[j])
    assert digests == [value_digest(value) for value in DIFFERENT]


FORTRAN_ORDER = np.arange(6.0).reshape(2, 3).T


@pytest.mark.drawn(99)
@pytest.mark.parametrize(
    ("one", "two"),
    [
        (0, 0.0),
        (np.float64(0.1), 0.1),
        (np.int64(3), 3),
        ((1, 2), [1, 2]),
        (FORTRAN_ORDER, FORTRAN_ORDER.copy(order="C")),
        (np.ones(2), torch.ones(2, dtype=torch.float64)),
        (adds(3), adds(3)),
        (holder(returns_one), holder(returns_one)),
    ],
)
def test_equal_values_have_equal_digests(one, two):
    assert value_digest(one) == value_digest(two)


def test_cached_properties_do_not_count_and_loops_end():
    a, b = Holds(1), Holds(1)
    assert a.computed
    assert value_digest(a) == value_digest(b)
    a.value = a
    assert len(value_digest(a)) == 16
    f = defined_by("def f(x): return g(x)\ndef g(x): return f(x)")
    assert len(value_digest(f)) == 16


def test_values_that_libraries_cache_do_not_count():
    W, graph = sp.csr_array(np.eye(3)), nx.path_graph(3)
    before = value_digest([W, graph])
    W.has_sorted_indices, graph.adj, nx.to_numpy_array(graph)
    assert value_digest([W, graph]) == before
    place = pathlib.Path("a")
    before = value_digest(place)
    assert value_digest((hash(place), place)[1]) == before


def test_an_iterator_is_not_used_up():
    steps = iter([1, 2])
    value_digest(steps)
    value_digest(x for x in steps)
    assert list(steps) == [1, 2]


# -- source code


OWN = """
from dfltheory.algorithms import DFedAvg

FACTOR = 2.0

def unused(x):
    return x

def helper(x):
    return FACTOR * deeper(x)

def deeper(x):
    return x + 1

class Base(DFedAvg):
    def init(self, x0, grad):
        return helper(x0)

class Own(Base):
    scale = 1.0

    @property
    def doubled(self):
        return 2 * self.scale

    @staticmethod
    def mixed(x):
        return [x, Part]

class Part:
    def value(self):
        return 3
"""


def source_of_own(text, folder, name="own_module"):
    """Return the digest of the class Own in a module with this source code."""
    # no bytecode of an earlier text
    file = pathlib.Path(tempfile.mkdtemp(dir=folder)) / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    linecache.checkcache()
    source_digest.cache_clear()
    return source_digest(module.Own)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FACTOR = 2.0", "FACTOR = 2.5"),
        ("FACTOR * deeper(x)", "FACTOR + deeper(x)"),
        ("x + 1", "x + 2"),
        ("helper(x0)", "helper(-x0)"),
        ("scale = 1.0", "scale = 1.1"),
        ("2 * self.scale", "3 * self.scale"),
        ("[x, Part]", "[Part, x]"),
        ("return 3", "return 4"),
    ],
)
def test_source_digest_covers_what_a_class_is_made_of_and_uses_in_its_module(
    old, new, tmp_path
):
    before = source_of_own(OWN, tmp_path)
    assert source_of_own(OWN.replace(old, new), tmp_path) != before
    assert source_of_own(OWN, tmp_path) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def unused(x):\n    return x", "def unused(x):\n    return -x"),
        ("FACTOR", "OTHER"),
    ],
)
def test_source_digest_ignores_what_a_class_does_not_use_but_not_names(
    old, new, tmp_path
):
    before = source_of_own(OWN, tmp_path)
    assert (source_of_own(OWN.replace(old, new), tmp_path) == before) == (
        old != "FACTOR"
    )


def test_classes_of_known_libraries_have_no_source_digest():
    assert source_digest(algorithms.DFedSAM) is None
    assert source_digest(torch.nn.Linear) is None
    assert source_digest(Scaled) is not None


# -- arguments of tasks


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


def test_digests_are_those_stored_by_another_process():
    """The order of a set of texts differs between processes."""
    value = [{"a", "b", "c", "d"}, {"x": 1.5, "y": None}, np.arange(3.0)]
    assert value_digest(value) == "8a82b1c75b454e34"


@pytest.mark.slow
def test_arguments_are_equal_in_another_process():
    code = (
        "from dfltheory.tasks import quadratic; print(quadratic(m=3, d=2,"
        " sigma=0.5).arguments)"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert completed.stdout.strip() == str(quadratic(m=3, d=2, sigma=0.5).arguments)


SMALL = {"m": 4, "d": 3, "d_u": 2, "d_v": 2}


@pytest.mark.parametrize("name", ["quadratic", "sinusoidal", "clipped", "coupled"])
def test_every_number_of_a_task_is_one_of_its_arguments(name):
    parameters = inspect.signature(registry.factory(name)).parameters
    base = {option: value for option, value in SMALL.items() if option in parameters}
    plain, tried = registry.get(name, **base).arguments, 0
    for option, parameter in parameters.items():
        value = base.get(option, parameter.default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        other = value + 1 if isinstance(value, int) else 0.8 * value + 0.05
        assert registry.get(name, **base | {option: other}).arguments != plain, option
        tried += 1
    assert tried >= 4


def test_tasks_measured_on_other_examples_have_other_arguments():
    task = tasks.digits(m=4, examples=100)
    measured = [
        tasks.measured_on(task, n, seed) for n, seed in ((20, 0), (20, 1), (21, 0))
    ]
    assert len({str(one.arguments) for one in (task, *measured)}) == 4
