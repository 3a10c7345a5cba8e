"""Random problems to test claims on.

The clients are quadratics with a common Hessian. They are clipped if a theorem needs
bounded gradients, and coupled if it has two blocks. All clients start at the same
point. The values are from short lists of simple numbers, so that a small failing
instance is easy to read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.graphs.matrices import to_dense
from dfltheory.tasks.personal import Coupled
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.tasks.separable import Clipped
from dfltheory.tasks.synthetic import Synthetic
from dfltheory.testing.networks import column_stochastic_matrices, mixing_matrices
from dfltheory.training.instance import Instance

T = TypeVar("T")


class Draw(Protocol):
    """Draws a value from a strategy, like Hypothesis' ``draw``."""

    def __call__(self, strategy: st.SearchStrategy[T]) -> T:
        """Return the drawn value."""
        ...


_LARGEST_COUNTS = {"K": 4, "Q": 3, "K_u": 3, "K_v": 3}
_CHOICES = {"alpha": (0.0, 0.5, 0.9), "rho": (0.0, 0.0, 0.1), "rho0": (0.0,)}
_HESSIAN_ENTRIES = (1.0, 0.3, 0.1, 0.01)
_COORDINATES = (0.0, 1.0, -1.0, 2.0, -3.0)
_NOISE_LEVELS = (0.0, 0.1, 1.0)


@dataclass(frozen=True, eq=False)
class ClaimProblem:
    """A problem to run an algorithm on.

    Attributes
    ----------
    task : Task
        The task.
    x0 : (d,) array
        Common initial model.
    W : (m, m) array, sequence or None
        The network.
    rounds : int
        Number of rounds.
    description : str
        All values as text, for messages.
    """

    task: Synthetic
    x0: np.ndarray
    W: object
    rounds: int
    description: str


def network_strategy(
    law: object,
) -> st.SearchStrategy[np.ndarray] | st.SearchStrategy[None]:
    """Return a strategy for the networks of a law.

    Parameters
    ----------
    law : str or callable
        The ``network`` of a theorem's scope. For a callable the strategy draws
        matrices that satisfy Definition 1.

    Returns
    -------
    SearchStrategy
        Draws matrices (m, m); None if the law is "none".

    Raises
    ------
    InputError
        If the law is unknown.
    """
    if law == "none":
        return st.none()
    if law == "column-stochastic":
        return column_stochastic_matrices(1, 5)
    if callable(law) or law in ("definition 1", "symmetric", "doubly stochastic"):
        return mixing_matrices(1, 5)
    raise InputError(
        f"network = {law!r}: there is no strategy for matrices of this law; use"
        " 'none', 'definition 1', 'symmetric', 'doubly stochastic',"
        " 'column-stochastic', or a function"
    )


def draw_problem(
    draw: Draw,
    W: object,
    rounds: st.SearchStrategy[int],
    *,
    bounded_gradients: bool = False,
    noise: bool = True,
    two_blocks: bool = False,
) -> ClaimProblem:
    """Draw a problem.

    Parameters
    ----------
    draw : callable
        Draws a value from a strategy.
    W : (m, m) array, sequence or None
        The network; without one the number of clients is drawn.
    rounds : strategy
        Draws the number of rounds.
    bounded_gradients : bool
        Whether the gradients of the clients must be bounded.
    noise : bool
        Whether gradients may be noisy.
    two_blocks : bool
        Whether models have a shared and a personal block.

    Returns
    -------
    Problem
        The problem.
    """
    m = draw(st.integers(1, 4)) if W is None else graphs.as_sequence(W).m
    d = 2 if two_blocks else draw(st.integers(1, 2))
    T = draw(rounds)
    coordinate = st.sampled_from(_COORDINATES)
    entry = st.sampled_from(_HESSIAN_ENTRIES)
    hessian = draw(st.lists(entry, min_size=d, max_size=d))
    row = st.lists(coordinate, min_size=d, max_size=d)
    b = np.array([draw(row) for _ in range(m)])
    nonzero = coordinate.filter(bool)
    x0 = np.array(draw(st.lists(nonzero, min_size=d, max_size=d)))
    sigma = draw(st.sampled_from(_NOISE_LEVELS)) if noise else 0.0
    if two_blocks:
        task, text = _draw_coupled(draw, hessian, b, sigma)
    elif bounded_gradients:
        task = Clipped(b, noise=sigma)
        text = f"Clipped(c={b.tolist()}, h=1, r=1, noise={sigma:g})"
    else:
        task = Quadratic.diagonal([hessian], b, sigma)
        text = f"Quadratic.diagonal([{hessian}], b={b.tolist()}, noise={sigma:g})"
    description = f"task = {text}, x0 = {x0.tolist()}, T = {T}"
    if W is not None:
        description += f", W = {np.round(_first_matrix(W), 4).tolist()}"
    return ClaimProblem(task, x0, W, T, description)


def _draw_coupled(
    draw: Draw, hessian: list[float], b: np.ndarray, sigma: float
) -> tuple[Coupled, str]:
    """Draw a task with two blocks; return it with its description."""
    coupling = draw(st.sampled_from(_NOISE_LEVELS))
    shared = b[:, :1]
    personal = b[:, 1:]
    text = (
        f"Coupled(a={shared.tolist()}, b={personal.tolist()}, h_u={hessian[0]:g},"
        f" h_v={hessian[1]:g}, k={coupling:g}, sigma_u={sigma:g}, sigma_v={sigma:g})"
    )
    task = Coupled(
        shared,
        personal,
        h_u=hessian[0],
        h_v=hessian[1],
        k=coupling,
        sigma_u=sigma,
        sigma_v=sigma,
    )
    return task, text


def _first_matrix(W: object) -> np.ndarray:
    """Return the dense matrix of round 0."""
    return to_dense(graphs.as_sequence(W).matrix(0, np.random.default_rng(0)))


def draw_hyperparameters(draw: Draw, names: set[str]) -> dict[str, float]:
    """Draw values of hyperparameters by their glossary names.

    Parameters
    ----------
    draw : callable
        Draws a value from a strategy.
    names : set of str
        The hyperparameters to draw; names without a range of values are ignored.

    Returns
    -------
    dict of str to number
        The values.
    """
    values: dict[str, float] = {}
    for name, largest in _LARGEST_COUNTS.items():
        if name in names:
            values[name] = draw(st.integers(1, largest))
    for name, choices in _CHOICES.items():
        if name in names:
            values[name] = draw(st.sampled_from(choices))
    return values


def instantiate(subject: Callable[..., T], hyperparameters: Mapping[str, object]) -> T:
    """Call a class or function with the hyperparameters that it accepts.

    Parameters
    ----------
    subject : callable
        An algorithm class, or a function that returns an algorithm or a network.
    hyperparameters : mapping of str to number
        Values by glossary name; the class attribute ``glossary`` translates the names
        of parameters.

    Returns
    -------
    object
        The result of the call.

    Raises
    ------
    InputError
        If a parameter has neither a value nor a default.
    """
    glossary = getattr(subject, "glossary", {})
    arguments: dict[str, object] = {}
    for name, parameter in inspect.signature(subject).parameters.items():
        glossary_name = glossary.get(name, name)
        if glossary_name in hyperparameters:
            arguments[name] = hyperparameters[glossary_name]
        elif _is_required(parameter):
            subject_name = getattr(subject, "__name__", subject)
            raise InputError(
                f"{subject_name} requires {name}, for which no random values are drawn:"
                " give it a default, or decorate a function without it"
            )
    return subject(**arguments)


def _is_required(parameter: inspect.Parameter) -> bool:
    """Return whether a positional parameter has no default."""
    positional = parameter.kind in (
        parameter.POSITIONAL_ONLY,
        parameter.POSITIONAL_OR_KEYWORD,
    )
    return positional and parameter.default is parameter.empty


def smallest_instance(problem: ClaimProblem, algorithm: object) -> str:
    """Return a line that describes a failing instance, for messages."""
    return f"smallest instance found: {problem.description}, {algorithm}"


def needs_bounded_gradients(theorem: Theorem) -> bool:
    """Return whether a theorem assumes bounded gradients or contains S2."""
    return bool(theorem.scope.bounded_gradients) or "S2" in theorem.needs


def final_models(algorithm: Algorithm, problem: ClaimProblem) -> np.ndarray:
    """Run an algorithm with one seed and return its final models."""
    W = problem.W if algorithm.needs_topology else None
    instance = Instance(problem.task, algorithm, W, problem.rounds, 1, problem.x0)
    return np.asarray(instance.run(progress=False).x, dtype=float)
