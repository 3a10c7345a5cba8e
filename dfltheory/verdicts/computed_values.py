"""Values of a theorem's computed quantities on one network and task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds.computed import (
    EIGENVALUE,
    Computation,
    in_order,
    read_computation,
)
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import DFLTheoryError
from dfltheory.graphs import computed

PROPERTIES = {
    "diameter": computed.diameter,
    "average_degree": computed.average_degree,
}
OVER_SPECTRUM = {
    "spectrum_min": computed.min_with_error,
    "spectrum_sum": computed.sum_with_error,
}
"""Functions of a function of the eigenvalues."""


def computed_quantities(theorem: Theorem) -> tuple[Quantity, ...]:
    """Return the quantities that the theorem needs and that are computed."""
    glossary = theorem.glossary
    return tuple(
        glossary[name] for name in theorem.needs if glossary[name].of is not None
    )


def computed_values(
    theorem: Theorem, values: Mapping[str, object], W: object, task: object = None
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the values of computed quantities, and their rounding errors.

    What cannot be computed, or is outside of the quantity's range, is absent: ``W`` is
    None where no single matrix is used.
    """
    found: dict[str, float] = {}
    errors: dict[str, float] = {}
    own = frozenset(quantity.name for quantity in theorem.quantities)
    for quantity in _computable(theorem):
        known = {**values, **found}
        with suppress(DFLTheoryError, ArithmeticError, np.linalg.LinAlgError):
            if callable(quantity.of):
                value, error = _by_function(quantity.of, W, task)
            else:
                computation = read_computation(str(quantity.of), own)
                value, error = _by_formula(computation, known, errors, W)
            quantity.check(value)
            if math.isfinite(error):
                found[quantity.name], errors[quantity.name] = value, error
    return found, errors


def _computable(theorem: Theorem) -> tuple[Quantity, ...]:
    """Computed quantities of the theorem, each after those that its formula needs."""
    computed_ones = [q for q in theorem.quantities if q.of is not None]
    by_function = tuple(q for q in computed_ones if callable(q.of))
    return by_function + in_order(computed_ones)


def _by_function(
    of: Callable[..., Any], W: object, task: object
) -> tuple[float, float]:
    """Return the value of a function of the network or of the task.

    A function whose argument is named ``task`` is about the task.
    """
    about_task = next(iter(signature(of).parameters), "") == "task"
    subject = task if about_task else W
    if subject is None:
        return _UNKNOWN
    value = float(of(subject))
    return value, 64 * np.finfo(float).eps * abs(value)


_UNKNOWN = (math.nan, math.nan)


def _by_formula(
    computation: Computation,
    values: Mapping[str, Any],
    errors: Mapping[str, float],
    W: Any,
) -> tuple[float, float]:
    """Return the value of a formula, and its error by those of its quantities."""
    uses_network = bool(computation.calls or computation.names & PROPERTIES.keys())
    if W is None and uses_network:
        return _UNKNOWN
    at: dict[str, float] = {}
    for name in computation.needs:
        if values.get(name) is None:
            return _UNKNOWN
        at[name] = float(np.mean(values[name]))
    value, own_error = _evaluated(computation, at, W)
    for name in computation.needs & errors.keys():
        for sign in (-1, 1):
            moved = {**at, name: at[name] + sign * errors[name]}
            own_error += abs(_evaluated(computation, moved, W)[0] - value)
    return value, own_error


def _evaluated(
    computation: Computation, known: Mapping[str, float], W: Any
) -> tuple[float, float]:
    """Return the value at exact quantities, and its rounding error."""
    at = dict(known)
    errors: dict[str, float] = {}
    for name in computation.names & PROPERTIES.keys():
        at[name] = PROPERTIES[name](W)
    for call, function in zip(computation.calls, _functions(computation), strict=True):
        arguments = [np.float64(at[name]) for name in call.names]
        if call.function in OVER_SPECTRUM:
            number = OVER_SPECTRUM[call.function](
                W, _of_eigenvalue(function, arguments)
            )
        else:
            number = computed.neighbors_with_error(W, float(function(0.0, *arguments)))
        at[call.symbol.name], errors[call.symbol.name] = number
    return _with_error(_outer(computation), at, errors)


def _of_eigenvalue(
    function: Callable[..., object], arguments: list[np.float64]
) -> Callable[[np.ndarray], object]:
    """Return a function of the eigenvalue, at values of the quantities."""

    def at_eigenvalues(eigenvalues: np.ndarray) -> object:
        return function(eigenvalues, *arguments)

    return at_eigenvalues


def _with_error(
    formula: tuple[tuple[str, ...], Any], at: dict[str, float], errors: dict[str, float]
) -> tuple[float, float]:
    names, function = formula
    with np.errstate(all="ignore"):
        value = float(function(*(np.float64(at[name]) for name in names)))
        error = 64 * np.finfo(float).eps * abs(value)
        for moved, size in errors.items():
            changes = []
            for end in (at[moved] - size, at[moved] + size):
                point = {**at, moved: end}
                moved_value = function(*(np.float64(point[name]) for name in names))
                changes.append(abs(float(moved_value) - value))
            error += max(changes)
    return value, error


@cache
def _functions(computation: Computation) -> tuple[Any, ...]:
    """Each call's argument as a function of the eigenvalue and of its quantities."""
    functions = []
    for call in computation.calls:
        by_name = {str(symbol): symbol for symbol in call.argument.free_symbols}
        quantities = [by_name[name] for name in call.names]
        functions.append(
            sp.lambdify([EIGENVALUE, *quantities], call.argument, modules="numpy")
        )
    return tuple(functions)


@cache
def _outer(computation: Computation) -> tuple[tuple[str, ...], object]:
    symbols = sorted(computation.formula.free_symbols, key=str)
    function = sp.lambdify(symbols, computation.formula, modules="numpy")
    return tuple(map(str, symbols)), function


__all__ = ["computed_quantities", "computed_values"]
