"""The lines of an algorithm that compute, for the gallery: next to the formulas is the
code that runs.
"""

from __future__ import annotations

import inspect
import textwrap

METHODS = ("local_update", "communicate", "models")


def source(name: str) -> str:
    """A code block with the methods that the class itself defines, and those of its
    family's base class.
    """
    from dfltheory import algorithms
    from dfltheory.algorithms import Algorithm

    cls = getattr(algorithms, name)
    shown = []
    for owner in (
        c for c in cls.__mro__ if issubclass(c, Algorithm) and c is not Algorithm
    ):
        own = [
            m for m in (*METHODS, "steps", "followed", "implied") if m in vars(owner)
        ]
        if own or owner is cls:
            bases = ", ".join(base.__name__ for base in owner.__bases__)
            head = "\n".join([f"class {owner.__name__}({bases}):", *_fields(owner)])
            shown.append("\n\n".join([head, *(_body(owner, method) for method in own)]))
    return "```python\n" + "\n\n".join(shown) + "\n```"


def _fields(owner) -> list[str]:
    """The hyperparameters that a class itself declares, with their defaults."""
    own = vars(owner)
    names = [
        n
        for n, kind in own.get("__annotations__", {}).items()
        if "ClassVar" not in str(kind)
    ]
    return [
        f"    {n}: {own['__annotations__'][n]}" + (f" = {own[n]!r}" if n in own else "")
        for n in names
    ]


def _body(owner, name: str) -> str:
    held = vars(owner)[name]
    if isinstance(held, dict):
        return f"    {name} = {held!r}"
    return textwrap.indent(textwrap.dedent(inspect.getsource(held)).rstrip(), "    ")
