"""Values of a theorem's computed quantities on one network and task."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import Number
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

if TYPE_CHECKING:
    from dfltheory.tasks.task import Task

HETEROGENEITY = "neighborhood_heterogeneity"
OVER_SPECTRUM = {
    "spectrum_min": computed.min_with_error,
    "spectrum_sum": computed.sum_with_error,
}
"""Functions of the spectrum by name; each takes W and a function of one eigenvalue."""


def computed_quantities(theorem: Theorem) -> tuple[Quantity, ...]:
    """Return the quantities that the theorem needs and that have a formula."""
    glossary = theorem.glossary
    return tuple(
        glossary[name] for name in theorem.needs if glossary[name].of is not None
    )


def computed_values(
    theorem: Theorem,
    values: Mapping[str, Number],
    W: object,
    task: Task[Any] | None = None,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the values of computed quantities, and their absolute rounding errors.

    A quantity that cannot be computed, or whose value is outside of its range, is
    absent from both.

    Parameters
    ----------
    theorem : Theorem
    values : mapping
        Values of the theorem's other quantities, by glossary name.
    W : matrix or graph, or None
        None if the run does not use one matrix in all rounds.
    task : Task, optional
        The task, for quantities that depend on it.

    Returns
    -------
    values, errors : dict of str to float
        Both by glossary name.
    """
    computed: dict[str, float] = {}
    errors: dict[str, float] = {}
    added_names = frozenset(quantity.name for quantity in theorem.quantities)
    for quantity in _computable(theorem):
        known = {**values, **computed}
        with suppress(DFLTheoryError, ArithmeticError, np.linalg.LinAlgError):
            if callable(quantity.of):
                value, error = _by_function(quantity.of, W, task)
            else:
                computation = read_computation(str(quantity.of), added_names)
                value, error = _by_formula(computation, known, errors, W, task)
            quantity.check(value)
            if math.isfinite(error):
                computed[quantity.name], errors[quantity.name] = value, error
    return computed, errors


def computed_from(theorem: Theorem, names: Set[str]) -> set[str]:
    """Return the names of computed quantities that depend on one of the given names.

    The dependence may be indirect, through other computed quantities.
    """
    added_names = frozenset(quantity.name for quantity in theorem.quantities)
    dependent: set[str] = set()
    for quantity in in_order([q for q in theorem.quantities if q.of is not None]):
        if read_computation(str(quantity.of), added_names).needs & (names | dependent):
            dependent.add(quantity.name)
    return dependent


def _computable(theorem: Theorem) -> tuple[Quantity, ...]:
    """Return the computed quantities, each after those that its formula needs."""
    with_formula = [q for q in theorem.quantities if q.of is not None]
    by_function = tuple(q for q in with_formula if callable(q.of))
    return by_function + in_order(with_formula)


def _by_function(
    of: Callable[..., float], W: object, task: object
) -> tuple[float, float]:
    """Return the value of a function of the network or of the task, and its error.

    A function whose first parameter is called ``task`` gets the task, any other one the
    network.
    """
    takes_task = next(iter(signature(of).parameters), "") == "task"
    subject = task if takes_task else W
    if subject is None:
        return _UNKNOWN
    value = float(of(subject))
    return value, 64 * np.finfo(float).eps * abs(value)


_UNKNOWN = (math.nan, math.nan)


def _by_formula(
    computation: Computation,
    values: Mapping[str, Number],
    errors: Mapping[str, float],
    W: object,
    task: Task[Any] | None,
) -> tuple[float, float]:
    """Return the value of a formula, and its error from the errors of its quantities.

    For arrays (values that differ between starts), the mean is used.
    """
    if W is None and computation.uses_network:
        return _UNKNOWN
    inputs: dict[str, float] = {}
    for name in computation.needs:
        if values.get(name) is None:
            return _UNKNOWN
        inputs[name] = float(np.mean(values[name]))
    value, own_error = _evaluated(computation, inputs, W, task)
    for name in computation.needs & errors.keys():
        for sign in (-1, 1):
            moved = {**inputs, name: inputs[name] + sign * errors[name]}
            own_error += abs(_evaluated(computation, moved, W, task)[0] - value)
    return value, own_error


def _evaluated(
    computation: Computation,
    known: Mapping[str, float],
    W: object,
    task: Task[Any] | None,
) -> tuple[float, float]:
    """Return the value at the given quantities, and its error by rounding of W."""
    inputs = dict(known)
    errors: dict[str, float] = {}
    names = computation.names
    if "diameter" in names:
        inputs["diameter"] = computed.diameter(W)
    if "average_degree" in names:
        inputs["average_degree"] = computed.average_degree(W)
    if HETEROGENEITY in names:
        inputs[HETEROGENEITY], errors[HETEROGENEITY] = task_heterogeneity(
            W, task, known
        )
    for call, function in zip(
        computation.calls, _call_arguments(computation), strict=True
    ):
        arguments = [np.float64(inputs[name]) for name in call.names]
        if call.function in OVER_SPECTRUM:
            number = OVER_SPECTRUM[call.function](
                W, _of_eigenvalue(function, arguments)
            )
        else:
            number = computed.neighbors_with_error(W, float(function(0.0, *arguments)))
        inputs[call.symbol.name], errors[call.symbol.name] = number
    return _with_error(_compiled_formula(computation), inputs, errors)


def task_heterogeneity(
    W: object, task: Any, known: Mapping[str, float]
) -> computed.WithError:
    """Return an upper bound of the neighborhood heterogeneity over all models.

    Parameters
    ----------
    W : matrix or networkx graph
        Doubly stochastic.
    task : Task or None
        If all clients have the same Hessian, the heterogeneity is the same at every
        model, and the bound is its value for noise of the variance sigma_l^2. Otherwise
        the bound is lam^2 sigma_g^2 for the bias, plus the same share of the noise.
    known : mapping
        Values of ``lam``, ``sigma_g`` and ``sigma_l``.

    Returns
    -------
    WithError
        The bound and its rounding error; infinite if sigma_g is infinite.

    References
    ----------
    Le Bars et al. (2023), eq. (4) and Proposition 1.
    """
    sigma_l = known["sigma_l"]
    if getattr(task, "common_hessian", False):
        deviations = task.gradient_deviations.cpu().numpy()
        return computed.neighborhood_heterogeneity(W, deviations, sigma_l)
    share = computed.noise_share(W)
    value = (known["lam"] * known["sigma_g"]) ** 2 + sigma_l**2 * share.value
    error = sigma_l**2 * share.error + 64 * np.finfo(float).eps * value
    return computed.WithError(value, error)


def _of_eigenvalue(
    function: Callable[..., np.ndarray], arguments: list[np.float64]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function of the eigenvalue alone, with fixed values of quantities."""

    def at_eigenvalues(eigenvalues: np.ndarray) -> np.ndarray:
        return function(eigenvalues, *arguments)

    return at_eigenvalues


def _with_error(
    formula: tuple[tuple[str, ...], Callable[..., float]],
    inputs: dict[str, float],
    errors: dict[str, float],
) -> tuple[float, float]:
    """Return a formula's value, and its error from rounding and errors of inputs."""
    names, function = formula
    with np.errstate(all="ignore"):
        value = float(function(*(np.float64(inputs[name]) for name in names)))
        error = 64 * np.finfo(float).eps * abs(value)
        for inexact, input_error in errors.items():
            changes: list[float] = []
            exact_input = inputs[inexact]
            for end in (exact_input - input_error, exact_input + input_error):
                point = {**inputs, inexact: end}
                moved_value = function(*(np.float64(point[name]) for name in names))
                changes.append(abs(float(moved_value) - value))
            error += max(changes)
    return value, error


@cache
def _call_arguments(computation: Computation) -> tuple[Callable[..., np.ndarray], ...]:
    """Return each call's argument as a function of eigenvalue and quantities."""
    functions: list[Callable[..., Any]] = []
    for call in computation.calls:
        by_name = {str(symbol): symbol for symbol in call.argument.free_symbols}
        quantities = [by_name[name] for name in call.names]
        functions.append(
            sp.lambdify([EIGENVALUE, *quantities], call.argument, modules="numpy")
        )
    return tuple(functions)


@cache
def _compiled_formula(
    computation: Computation,
) -> tuple[tuple[str, ...], Callable[..., float]]:
    """Return the names of a formula's arguments, and the formula as a function."""
    symbols = sorted(computation.formula.free_symbols, key=str)
    function = sp.lambdify(symbols, computation.formula, modules="numpy")
    return tuple(map(str, symbols)), function


__all__ = [
    "computed_from",
    "computed_quantities",
    "computed_values",
    "task_heterogeneity",
]
