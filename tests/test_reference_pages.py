"""The API pages contain every public name, and every name used in a guide."""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

import dfltheory as dfl

ROOT = Path(__file__).parent.parent
GUIDES = [
    *sorted((ROOT / "docs/guides").glob("*.md")),
    ROOT / "docs/tour.md",
    ROOT / "docs/property-testing.md",
    ROOT / "README.md",
]


@pytest.fixture(scope="module")
def documented():
    """Return the ids of the objects on the API pages."""
    sys.path.insert(0, str(ROOT / "docs/_site"))
    try:
        import reference
    finally:
        sys.path.pop(0)
    text = "\n".join(reference.pages().values())
    shown = [resolve(path) for path in re.findall(r"^::: (\S+)$", text, re.M)]
    for path in reference.SHARED:  # shown with all their public names
        module = importlib.import_module(path)
        shown += [getattr(module, name) for name in module.__all__]
    return {id(thing) for thing in shown}


def resolve(path):
    """Return the object of a dotted path: the longest module, then attributes."""
    parts = path.split(".")
    for k in range(len(parts), 0, -1):
        try:
            value = importlib.import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for name in parts[k:]:
            value = getattr(value, name)
        return value
    raise AssertionError(path)


def test_api_pages_contain_every_name_of_the_package(documented):
    public = {name: getattr(dfl, name) for name in dfl.__all__}
    functions = {n: v for n, v in public.items() if not inspect.ismodule(v)}
    assert len(functions) >= 9
    assert [n for n, v in functions.items() if id(v) not in documented] == []


def test_api_pages_contain_every_plot(documented):
    plots = [getattr(dfl.plots, name) for name in dfl.plots.__all__]
    missing = [p for p in plots if not inspect.ismodule(p) and id(p) not in documented]
    assert missing == []


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.name)
def test_api_pages_contain_every_dotted_name_of_a_guide(page, documented):
    # groups of entry points are not modules
    text = re.sub(r'entry-points\."[\w.]+"', "", page.read_text(encoding="utf-8"))
    names = set(re.findall(r"\b(?:dfl|dfltheory)((?:\.[A-Za-z_]\w*)+)", text))
    names = {name for name in names if not name.endswith((".toml", ".py", ".md"))}
    missing = []
    for name in sorted(names):
        try:
            value = resolve("dfltheory" + name)
        except AttributeError:
            missing.append(name)
            continue
        plain = inspect.ismodule(value) or id(value) in documented
        # a method is on the page of its class
        owner = resolve("dfltheory" + name.rpartition(".")[0])
        if not plain and id(owner) not in documented:
            missing.append(name)
    assert missing == []


def test_every_name_that_is_imported_on_first_use_is_public_and_typed():
    lazy = {*dfl._SUBPACKAGES, *dfl._NAMES}
    assert lazy == set(dfl.__all__)
    tree = ast.parse(Path(dfl.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name
        for block in tree.body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert typed == lazy
