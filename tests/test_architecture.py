"""Imports between modules have no cycles, even including those in functions or for
types.
"""

from __future__ import annotations

import ast
import functools
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import networkx as nx
import pytest

ROOT = Path(__file__).parents[1]


def module_name(path: Path) -> str:
    """Return the module of a path: ``dfltheory/graphs/__init__.py`` is
    ``dfltheory.graphs``.
    """
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def nodes_of(source: str) -> list[ast.AST]:
    """The nodes of a module's syntax tree."""
    return list(ast.walk(ast.parse(source)))


def imported(
    module: str, path: Path, nodes: Sequence[ast.AST], modules: Iterable[str]
) -> set[str]:
    """Return those of ``modules`` that ``nodes`` import at the top, in functions, or
    for types.
    """
    found, known = set[str](), set(modules)
    package = (
        module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    )
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            names = {f"{source}.{alias.name}" for alias in node.names}
            within = names & known  # `from package import module`
            found |= within | ({source} if within != names else set())
    found |= imported_by_name(nodes, known)
    return (found & known) - {module}


def imported_by_name(nodes: Sequence[ast.AST], modules: set[str]) -> set[str]:
    """Return the modules that ``nodes`` import through importlib or pkgutil.

    These are modules whose full name (with a dot) is a string, as in the tables of lazy
    packages; ``f"package.{name}"`` for every string that completes a module's name; and
    the modules below ``package.__path__``.
    """
    texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
    words = {text for text in texts if isinstance(text, str)}
    # the package's own name is that of its logger
    found = {word for word in words & modules if "." in word}
    packages = aliases(nodes)
    for node in nodes:
        if (
            isinstance(node, ast.JoinedStr)
            and node.values
            and isinstance(node.values[0], ast.Constant)
        ):
            start = str(node.values[0].value)
            found |= {start + word for word in words} & modules
        elif (
            isinstance(node, ast.Attribute)
            and node.attr == "__path__"
            and isinstance(node.value, ast.Name)
        ):
            below = packages.get(node.value.id, node.value.id) + "."
            for module in modules:
                _, _, inner = module.removeprefix(below).partition(".")
                if module.startswith(below) and words.issuperset(
                    inner.split(".") if inner else ()
                ):
                    found.add(module)
    return found


def aliases(nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Return name in the module -> full name of what was imported under it."""
    known: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            known |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            known |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}"
                for alias in node.names
            }
    return known


def circles(imports: Mapping[str, set[str]]) -> set[frozenset[str]]:
    """The strongly connected components of more than one module."""
    graph = nx.DiGraph()
    for module, others in imports.items():
        graph.add_edges_from((module, other) for other in others)
    parts = nx.strongly_connected_components(graph)
    return {
        frozenset(name.removeprefix("dfltheory.") for name in part)
        for part in parts
        if len(part) > 1
    }


def imports_of(sources: Mapping[Path, str]) -> dict[str, set[str]]:
    """The modules that each module imports."""
    modules = {module_name(path): path for path in sources}
    return {
        module: imported(module, path, nodes_of(sources[path]), modules)
        for module, path in modules.items()
    }


@functools.cache
def package_imports() -> dict[str, set[str]]:
    """The modules that each module of the package and the case studies imports."""
    paths = [
        p
        for top in ("dfltheory", "validation")
        for p in sorted((ROOT / top).rglob("*.py"))
    ]
    return imports_of(
        {p.relative_to(ROOT): p.read_text(encoding="utf-8") for p in paths}
    )


def test_the_package_does_not_import_the_case_studies():
    users = {
        module
        for module, others in package_imports().items()
        if module.startswith("dfltheory")
        and any(name.startswith("validation") for name in others)
    }
    assert users == set()


def test_there_are_no_import_circles():
    found = circles(package_imports())
    shown = "\n".join(" <-> ".join(sorted(circle)) for circle in found)
    assert not found, (
        f"modules that need each other:\n{shown}\nmove what both need below both"
    )


@pytest.mark.parametrize(
    "back",
    [
        "from dfltheory.low import f",
        "from dfltheory import low",
        "import dfltheory.low",
        "from . import low",
        "from .low import f",
        "def g():\n    from dfltheory.low import f",
        (
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from"
            " dfltheory.low import f"
        ),
        "import importlib\nimportlib.import_module('dfltheory.low')",
        "_MODULES = {'f': 'dfltheory.low'}",
        (
            "_NAMES = ('low', 'other')\ndef g(name):\n    return"
            " import_module(f'dfltheory.{name}')"
        ),
        "import dfltheory\nimport pkgutil\npkgutil.iter_modules(dfltheory.__path__)",
        (
            "import dfltheory as package\nimport"
            " pkgutil\npkgutil.iter_modules(package.__path__)"
        ),
    ],
)
def test_a_circle_is_seen_however_it_is_imported(back):
    sources = {
        "dfltheory/__init__.py": "",
        "dfltheory/low.py": "import dfltheory.high",
        "dfltheory/high.py": back,
    }
    assert circles(imports_of({Path(p): s for p, s in sources.items()})) == {
        frozenset({"low", "high"})
    }


def test_modules_below_a_package_are_imported_if_their_names_are_texts():
    modules = {"a.papers.b", "a.papers.b.printed", "a.papers.b.notes", "a.other"}
    code = (
        "from a import papers as _papers\nPARTS ="
        " ('printed',)\npkgutil.iter_modules(_papers.__path__)"
    )
    assert imported_by_name(nodes_of(code), modules) == {
        "a.papers.b",
        "a.papers.b.printed",
    }


def test_one_direction_alone_is_no_circle():
    sources = {
        "dfltheory/__init__.py": "",
        "dfltheory/low.py": "import numpy",
        "dfltheory/high.py": "import dfltheory.low",
    }
    assert circles(imports_of({Path(p): s for p, s in sources.items()})) == set()


def test_contracts_of_layers_list_every_module_and_cover_every_package():
    """``lint-imports`` then fails for a module outside all layers."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = [
        c
        for c in settings["tool"]["importlinter"]["contracts"]
        if c["type"] == "layers"
    ]
    assert all(contract["exhaustive"] for contract in contracts)
    covered = {
        container for contract in contracts for container in contract["containers"]
    }
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "dfltheory").rglob("__init__.py")
    }
    assert covered == packages


GRAPHS = "dfltheory.graphs, numpy; dfltheory.graphs.check_mixing_matrix(numpy.eye(2))"


@pytest.mark.parametrize(
    ("what", "heavy"),
    [
        (
            "dfltheory, dfltheory.bounds, dfltheory.cli",
            "torch sympy matplotlib scipy networkx cvxpy pandas",
        ),
        pytest.param(
            "dfltheory.bounds.theorem, dfltheory.graphs",
            "torch matplotlib scipy.optimize scipy.linalg cvxpy",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            GRAPHS, "torch sympy matplotlib cvxpy pandas", marks=pytest.mark.slow
        ),
        pytest.param(
            "dfltheory.training.loggers",
            "wandb mlflow tensorboard",
            marks=pytest.mark.slow,
        ),
        ("dfltheory.counterexamples.rational", "torch dfltheory.counterexamples.core"),
        pytest.param(
            "dfltheory.plugin",
            "torch sympy hypothesis pytest numpy",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_import_loads_nothing_that_it_can_do_without(what, heavy):
    words = [sys.executable, "-c", f"import sys, {what}; print(*sys.modules)"]
    loaded = subprocess.run(
        words, capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    assert not set(heavy.split()) & set(loaded)
