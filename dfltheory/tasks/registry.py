"""Tasks by name, for the command line and experiment files."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable
from numbers import Integral, Real
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

from dfltheory.errors import InputError, checked_name
from dfltheory.tasks.task import Task

_FACTORIES = {
    "quadratic": "random_quadratics",
    "sinusoidal": "separable",
    "clipped": "separable",
    "coupled": "personal",
}
_IMAGES = ("digits", "mnist", "fashion_mnist", "cifar10", "cifar100", "tiny_imagenet")


def names() -> list[str]:
    """Return the names that :func:`get` accepts."""
    return sorted([*_FACTORIES, "npz", *_IMAGES])


def factory(name: str) -> Callable[..., Task]:
    """Return the function that builds a task by name; its keywords are the options."""
    if checked_name("task", name, names()) in _IMAGES:
        return functools.partial(
            importlib.import_module("dfltheory.tasks.federated").image_task, name
        )
    return getattr(
        importlib.import_module(f"dfltheory.tasks.{_FACTORIES.get(name, name)}"), name
    )


def get(name: str, **options: object) -> Task:
    """Return a task by name, for example ``get("quadratic", m=16, sigma=0.1)``.

    Raises
    ------
    UnknownNameError
        If no task, or no option of the task, has this name.
    InputError
        If a value has the wrong type, or sizes exceed this machine's memory.
    """
    build = factory(name)
    known = inspect.signature(build).parameters
    hints = get_type_hints(getattr(build, "func", build))
    for option, value in options.items():
        checked_name(f"option of the task {name}", option, known)
        hint = hints.get(option, object)
        kinds = (
            set(get_args(hint)) if get_origin(hint) in (Union, UnionType) else {hint}
        )
        if not kinds <= {int, float, type(None)} or (
            value is None and type(None) in kinds
        ):
            continue
        kind, word = (Real, "number") if float in kinds else (Integral, "whole number")
        if not isinstance(value, kind) or isinstance(value, bool) or value != value:
            raise InputError(
                f"option {option} = {value!r} of the task {name} must be a {word}"
            )
    return build(**options)
