"""Tasks by name, as the command line and experiment files call them."""

from __future__ import annotations

import functools
import importlib
import inspect
from typing import Any

from dfltheory.errors import UnknownNameError
from dfltheory.tasks.task import Task

_FACTORIES = {
    "quadratic": "quadratics:quadratic",
    "sinusoidal": "separable:sinusoidal",
    "clipped": "separable:clipped",
    "regression": "regressions:regression",
    "two_layer": "networks:two_layer",
    "personal_quadratic": "personal:personal_quadratic",
    "coupled": "personal:coupled",
}
_IMAGES = ("digits", "mnist", "fashion_mnist", "cifar10", "cifar100", "tiny_imagenet")


def names() -> list[str]:
    """The names that :func:`get` knows."""
    return sorted([*_FACTORIES, *_IMAGES])


def factory(name: str) -> Any:
    """The function that builds the task of that name; its keywords are the task's options."""
    if name in _IMAGES:
        from dfltheory.tasks.federated import image_task

        return functools.partial(image_task, name)
    if name not in _FACTORIES:
        raise UnknownNameError("task", name, set(names()))
    module, attribute = _FACTORIES[name].split(":")
    return getattr(importlib.import_module(f"dfltheory.tasks.{module}"), attribute)


def get(name: str, **options: Any) -> Task:
    """The task of that name: ``get("quadratic", m=16, sigma=0.1)``, ``get("cifar10", m=10, alpha=0.3)``.

    Raises UnknownNameError for a name or an option that is not known.
    """
    build = factory(name)
    known = set(inspect.signature(build).parameters)
    for option in options:
        if option not in known:
            raise UnknownNameError(f"option of the task {name}", option, known)
    return build(**options)


__all__ = ["factory", "get", "names"]
