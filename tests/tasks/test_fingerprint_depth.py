"""What a function, a module or a record holds below its surface counts: a checkpoint knows runs by it."""

import collections
import dataclasses
import fractions
import pathlib

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dfltheory.tasks.fingerprint import fingerprint


def made(text):
    """The function f of this source."""
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
    "a function inside": [made(f"def f(x):\n def g(y): return y {o} 2\n return g(x)") for o in "+*"],
    "a lambda inside": [made(f"def f(): return lambda x: x + {k}") for k in (1, 2)],
    "a global number": [made(f"c = {c}\ndef f(x): return c * x") for c in (1, 2)],
    "a global array": [made(f"c = np.full(3, {c})\ndef f(x): return c * x") for c in (1, 2)],
    "another function": [made(f"def g(x): return x {o} 2\ndef f(x): return g(x)") for o in "+*"],
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
    assert fingerprint(one) != fingerprint(two)
    assert fingerprint(one) == fingerprint(one)


def test_what_libraries_note_down_does_not_count():
    W, graph = sp.csr_array(np.eye(3)), path(3)
    before = fingerprint([W, graph])
    W.has_sorted_indices, graph.adj, nx.to_numpy_array(graph)
    assert fingerprint([W, graph]) == before
    place = pathlib.Path("a")
    before = fingerprint(place)
    assert fingerprint((hash(place), place)[1]) == before


def test_functions_that_call_each_other_end():
    f = made("def f(x): return g(x)\ndef g(x): return f(x)")
    assert len(fingerprint(f)) == 16
