"""No module of the package needs a module that needs it, whether at its top, in a function or for a type."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]


def module_name(path: Path) -> str:
    """``dfltheory/graphs/__init__.py`` is ``dfltheory.graphs``."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def imported(module: str, path: Path, tree: ast.AST, modules: Iterable[str]) -> set[str]:
    """The modules among ``modules`` that ``tree`` imports anywhere: at its top, in functions, for types."""
    found: set[str] = set()
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names = {f"{source}.{alias.name}" for alias in node.names}
            within = names & set(modules)  # `from package import module`
            found |= within | ({source} if within != names else set())
    return (found & set(modules)) - {module}


def circles(sources: Mapping[Path, str]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module."""
    modules = {module_name(path): path for path in sources}
    graph = nx.DiGraph()
    for module, path in modules.items():
        graph.add_edges_from(
            (module, other) for other in imported(module, path, ast.parse(sources[path]), modules)
        )
    parts = nx.strongly_connected_components(graph)
    return {frozenset(name.removeprefix("dfltheory.") for name in part) for part in parts if len(part) > 1}


def package_sources() -> dict[Path, str]:
    paths = [p for top in ("dfltheory", "validation") for p in sorted((ROOT / top).rglob("*.py"))]
    return {p.relative_to(ROOT): p.read_text(encoding="utf-8") for p in paths}


def test_the_package_does_not_import_the_case_studies():
    sources = package_sources()
    modules = {module_name(path): path for path in sources}
    users = {
        module
        for module, path in modules.items()
        if module.startswith("dfltheory")
        and any(n.startswith("validation") for n in imported(module, path, ast.parse(sources[path]), modules))
    }
    assert users == set()


def test_there_are_no_import_circles():
    found = circles(package_sources())
    shown = "\n".join(" <-> ".join(sorted(circle)) for circle in found)
    assert not found, f"modules that need each other:\n{shown}\nmove what both need below both"


@pytest.mark.parametrize(
    "back",
    [
        "from dfltheory.low import f",
        "from dfltheory import low",
        "import dfltheory.low",
        "from . import low",
        "from .low import f",
        "def g():\n    from dfltheory.low import f",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dfltheory.low import f",
    ],
)
def test_a_circle_is_seen_however_it_is_imported(back):
    sources = {
        "dfltheory/__init__.py": "",
        "dfltheory/low.py": "import dfltheory.high",
        "dfltheory/high.py": back,
    }
    assert circles({Path(p): s for p, s in sources.items()}) == {frozenset({"low", "high"})}


def test_one_direction_alone_is_no_circle():
    sources = {
        "dfltheory/__init__.py": "",
        "dfltheory/low.py": "import numpy",
        "dfltheory/high.py": "import dfltheory.low",
    }
    assert circles({Path(p): s for p, s in sources.items()}) == set()


GRAPHS = "dfltheory.graphs, numpy; dfltheory.graphs.check_mixing_matrix(numpy.eye(2))"


@pytest.mark.parametrize(
    ("what", "heavy"),
    [
        ("dfltheory, dfltheory.bounds, dfltheory.cli", "torch sympy matplotlib scipy networkx cvxpy pandas"),
        ("dfltheory.bounds.theorem, dfltheory.graphs", "torch matplotlib scipy.optimize scipy.linalg cvxpy"),
        (GRAPHS, "torch sympy matplotlib cvxpy pandas"),
        ("dfltheory.training.loggers", "wandb mlflow tensorboard"),
        ("dfltheory.counterexamples.rational", "torch dfltheory.counterexamples.core"),
        ("dfltheory.plugin", "torch sympy hypothesis pytest numpy"),
    ],
)
def test_an_import_loads_nothing_that_it_can_do_without(what, heavy):
    words = [sys.executable, "-c", f"import sys, {what}; print(*sys.modules)"]
    loaded = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout.split()
    assert not set(heavy.split()) & set(loaded)
