"""The API pages: every public name, from the module that defines it."""

from __future__ import annotations

import importlib
import inspect

from docstrings import fenced

PACKAGES = (
    "graphs",
    "bounds",
    "tasks",
    "models",
    "algorithms",
    "training",
    "verdicts",
    "rates",
    "exact",
    "counterexamples",
    "experiments",
    "plots",
    "best_bounds",
    "bound_atlas",
    "testing",
)


SHARED = ("dfltheory.constants", "dfltheory.errors", "dfltheory.files")
"""Modules that one page documents as a whole."""

FURTHER = {
    "bounds": (
        "dfltheory.bounds.units.unit",
        "dfltheory.bounds.measures.KNOWN_MEASURES",
    ),
}
"""Names of modules inside a package that guides use."""


def public_names(package: str) -> list[tuple[str, str]]:
    """(name, dotted path where it is defined) of each public name of a subpackage, in
    its own order.
    """
    module = importlib.import_module(f"dfltheory.{package}")
    return [(name, _home(module, name)) for name in module.__all__]


def _home(module, name: str) -> str:
    thing = getattr(module, name)
    if inspect.ismodule(thing):
        return thing.__name__
    defined = getattr(thing, "__module__", None)
    if defined is not None and getattr(thing, "__qualname__", None) == name:
        return f"{defined}.{name}"
    for other in _submodules(module):  # a constant: where it is assigned
        if name in getattr(other, "__all__", ()) and name in vars(other):
            return f"{other.__name__}.{name}"
    return f"{module.__name__}.{name}"


def _submodules(module):
    import pkgutil

    for found in pkgutil.iter_modules(
        getattr(module, "__path__", None) or [], module.__name__ + "."
    ):
        yield importlib.import_module(found.name)


def pages() -> dict[str, str]:
    """reference/<package>.md with one mkdocstrings block a name, and the top level."""
    made = {f"reference/{package}.md": _page(package) for package in PACKAGES}
    shared = ["# Constants and errors", ""]
    for path in SHARED:
        shared += [f"::: {path}", "    options:", "      show_root_full_path: true", ""]
    top = {"reference/dfltheory.md": _top_page()}
    return {**top, **made, "reference/constants.md": "\n".join(shared)}


def _top_page() -> str:
    """The functions and classes that ``import dfltheory`` offers directly.

    Those of another page are links, because a name has one place on the site.
    """
    import dfltheory

    documented = {path for package in PACKAGES for _, path in public_names(package)}
    lines = ["# dfltheory", "", fenced(inspect.getdoc(dfltheory) or ""), ""]
    for name in sorted(dfltheory.__all__):
        thing = getattr(dfltheory, name)
        if inspect.ismodule(thing):
            continue
        path = f"{thing.__module__}.{name}"
        if path in documented or thing.__module__ in SHARED:
            lines += [f"[`dfltheory.{name}`][{path}]", ""]
        else:
            lines += [f"::: {path}", ""]
    return "\n".join(lines)


def _page(package: str) -> str:
    module = importlib.import_module(f"dfltheory.{package}")
    lines = [f"# dfltheory.{package}", "", fenced(inspect.getdoc(module) or ""), ""]
    paths = [path for _, path in public_names(package)]
    for path in (*paths, *FURTHER.get(package, ())):
        lines += [f"::: {path}", ""]
    return "\n".join(lines)
