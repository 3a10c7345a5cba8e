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
"""Modules of the functions that build synthetic tasks, by the functions' names."""
# written out, because importing the image sets would slow the command line down
_IMAGES = ("digits", "mnist", "fashion_mnist", "cifar10", "cifar100", "tiny_imagenet")


def names() -> list[str]:
    """Return the names that :func:`get` accepts."""
    return sorted([*_FACTORIES, "npz", *_IMAGES])


def factory(name: str) -> Callable[..., Task]:
    """Return the function that builds a task by name; its keywords are the options."""
    if checked_name("task", name, names()) in _IMAGES:
        federated = importlib.import_module("dfltheory.tasks.federated")
        return functools.partial(federated.image_task, name)
    module = importlib.import_module(f"dfltheory.tasks.{_FACTORIES.get(name, name)}")
    return getattr(module, name)


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
        _check_number(name, option, value, hints.get(option, object))
    return build(**options)


def _check_number(task: str, option: str, value: object, hint: object) -> None:
    """Raise InputError unless an option whose type is a number is such a number."""
    is_union = get_origin(hint) in (Union, UnionType)
    types: set[object] = set(get_args(hint)) if is_union else {hint}
    may_be_absent = type(None) in types
    if not types <= {int, float, type(None)} or (value is None and may_be_absent):
        return
    kind, words = (Integral, "whole number")
    if float in types:
        kind, words = (Real, "number")
    if not isinstance(value, kind) or isinstance(value, bool) or value != value:
        raise InputError(
            f"option {option} = {value!r} of the task {task} must be a {words}"
        )
