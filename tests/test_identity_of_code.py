"""The digest of a function, module or record covers its content, by which checkpoints
identify runs.
"""

import collections
import dataclasses
import fractions
import importlib.util
import linecache
import pathlib
import tempfile

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dfltheory import algorithms
from dfltheory.identity import source_digest, value_digest


def made(text):
    """Return the function f of this source code."""
    space = {"np": np}
    exec(text, space)
    return space["f"]


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


def path(n):
    return nx.path_graph(n)


OTHERS = {
    "a function inside": [
        made(f"def f(x):\n def g(y): return y {o} 2\n return g(x)") for o in "+*"
    ],
    "a lambda inside": [made(f"def f(): return lambda x: x + {k}") for k in (1, 2)],
    "a global number": [made(f"c = {c}\ndef f(x): return c * x") for c in (1, 2)],
    "a global array": [
        made(f"c = np.full(3, {c})\ndef f(x): return c * x") for c in (1, 2)
    ],
    "another function": [
        made(f"def g(x): return x {o} 2\ndef f(x): return g(x)") for o in "+*"
    ],
    "functions of libraries": [torch.sin, torch.cos],
    "functions of Python": [abs, round],
    "an attribute of a module": [Scaled(1), Scaled(2)],
    "the code of a module": [Scaled(1), Squared(1)],
    "a method of a module": [Scaled(1).forward, Scaled(2).forward],
    "slots": [Slotted(1), Slotted(2)],
    "fractions": [fractions.Fraction(1, 2), fractions.Fraction(1, 3)],
    "complex numbers": [1j, 2j],
    "paths": [pathlib.Path("a"), pathlib.Path("b")],
    "a deque": [collections.deque([1]), collections.deque([2])],
    "objects in an array": [np.array([k, "a"], dtype=object) for k in (1, 2)],
    "generators": [np.random.default_rng(k) for k in (1, 2)],
    "torch's generators": [torch.Generator().manual_seed(k) for k in (1, 2)],
    "sparse tensors": [torch.eye(3).to_sparse(), torch.zeros(3, 3).to_sparse()],
    "sparse matrices": [sp.csr_array(np.eye(3)), 2 * sp.csr_array(np.eye(3))],
    "graphs": [path(3), path(4)],
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_differs_below_differs(name):
    one, two = OTHERS[name]
    assert value_digest(one) != value_digest(two)
    assert value_digest(one) == value_digest(one)


def test_what_libraries_note_down_does_not_count():
    W, graph = sp.csr_array(np.eye(3)), path(3)
    before = value_digest([W, graph])
    W.has_sorted_indices, graph.adj, nx.to_numpy_array(graph)
    assert value_digest([W, graph]) == before
    place = pathlib.Path("a")
    before = value_digest(place)
    assert value_digest((hash(place), place)[1]) == before


def test_functions_that_call_each_other_end():
    f = made("def f(x): return g(x)\ndef g(x): return f(x)")
    assert len(value_digest(f)) == 16


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


def test_objects_of_two_user_classes_with_equal_contents_differ():
    one = type("Holder", (), {"__module__": "mine", "value": lambda self: 1})()
    two = type("Holder", (), {"__module__": "mine", "value": lambda self: 2})()
    assert value_digest(one) != value_digest(two)
    assert value_digest(one) == value_digest(type(one)())
