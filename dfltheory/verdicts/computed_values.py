"""Values of a theorem's computed quantities on one network and task."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from inspect import signature
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds.computed import EIGENVALUE, Computation, read_computation
from dfltheory.bounds.symbols import Quantity
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import DFLTheoryError
from dfltheory.graphs import computed

PROPERTIES = {
    "diameter": computed.diameter,
    "average_degree": computed.average_degree,
}
OVER_SPECTRUM = {
    "spectrum_min": computed.spectrum_min,
    "spectrum_sum": computed.spectrum_sum,
}
"""Functions of a function of the eigenvalues."""


def computed_quantities(theorem: Theorem) -> tuple[Quantity, ...]:
    """The quantities that the theorem needs and that say how they are computed."""
    glossary = theorem.glossary
    return tuple(
        glossary[name] for name in theorem.needs if glossary[name].of is not None
    )


def computed_values(
    theorem: Theorem, values: Mapping[str, Any], W: Any, task: Any = None
) -> tuple[dict[str, float], dict[str, float]]:
    """The values of computed quantities, and their rounding errors.

    What cannot be computed, or is outside of the quantity's range, is absent: ``W`` is
    None where no single matrix is used.
    """
    found: dict[str, float] = {}
    errors: dict[str, float] = {}
    for quantity in computed_quantities(theorem):
        with suppress(DFLTheoryError, ArithmeticError, np.linalg.LinAlgError):
            value, error = _value(quantity, values, W, task)
            quantity.check(value)
            if math.isfinite(error):
                found[quantity.name], errors[quantity.name] = value, error
    return found, errors


def _value(
    quantity: Quantity, values: Mapping[str, Any], W: Any, task: Any
) -> tuple[float, float]:
    unknown = (math.nan, math.nan)
    if callable(quantity.of):
        about_task = next(iter(signature(quantity.of).parameters), "") == "task"
        subject = task if about_task else W
        if subject is None:
            return unknown
        value = float(quantity.of(subject))
        return value, 64 * np.finfo(float).eps * abs(value)
    computation = read_computation(str(quantity.of))
    at: dict[str, float] = {}
    errors: dict[str, float] = {}
    if W is None and (computation.calls or computation.names & PROPERTIES.keys()):
        return unknown
    for name in computation.names:
        if name in PROPERTIES:
            at[name] = PROPERTIES[name](W)
        elif values.get(name) is None:
            return unknown
        else:
            at[name] = float(np.mean(values[name]))
    for call, function in zip(computation.calls, _functions(computation), strict=True):
        if call.function in OVER_SPECTRUM:
            number = OVER_SPECTRUM[call.function](W, function)
        else:
            number = computed.effective_neighbors(W, float(call.argument))
        at[call.symbol.name], errors[call.symbol.name] = number
    return _with_error(_outer(computation), at, errors)


def _with_error(
    formula: tuple[tuple[str, ...], Any], at: dict[str, float], errors: dict[str, float]
) -> tuple[float, float]:
    names, function = formula
    with np.errstate(all="ignore"):
        value = float(function(*(np.float64(at[name]) for name in names)))
        error = 64 * np.finfo(float).eps * abs(value)
        for moved, size in errors.items():
            ends = [
                float(function(*(np.float64(p[name]) for name in names)))
                for p in ({**at, moved: at[moved] + s * size} for s in (-1, 1))
            ]
            error += max(abs(end - value) for end in ends)
    return value, error


@cache
def _functions(computation: Computation) -> tuple[Any, ...]:
    return tuple(
        sp.lambdify(EIGENVALUE, call.argument, modules="numpy")
        for call in computation.calls
    )


@cache
def _outer(computation: Computation) -> tuple[tuple[str, ...], Any]:
    symbols = sorted(computation.formula.free_symbols, key=str)
    function = sp.lambdify(symbols, computation.formula, modules="numpy")
    return tuple(map(str, symbols)), function


__all__ = ["computed_quantities", "computed_values"]
