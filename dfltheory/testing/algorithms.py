"""A test suite for algorithms: the properties that training and theorems rely on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import torch
from numpy.typing import ArrayLike

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError, checked_name
from dfltheory.testing.problem import (
    TESTED_ROUNDS,
    M,
    initial_models,
    make_test_task,
    matrix_for,
)
from dfltheory.testing.round_checks import (
    check_inputs_unchanged,
    check_locality,
    check_messages_counted,
    check_names_of_clients,
    check_who_rests,
)
from dfltheory.testing.run_checks import (
    check_decay,
    check_divergence,
    check_immutable,
    check_in_pieces,
    check_precision,
    check_resumed,
    check_same_bits,
    check_seeds_alone,
    check_stationary_point,
    check_weight_decay,
)
from dfltheory.training.loop import train

ClientGradient = Callable[[int, np.ndarray], np.ndarray]
"""grad(i, y): the gradient of client i at y (d,)."""

Twin = Callable[[np.ndarray, ClientGradient, np.ndarray, int], ArrayLike]
"""twin(x, grad, W, rounds): an independent implementation of an algorithm.

Its arguments are initial models x (m, d), a :data:`ClientGradient`, the mixing matrix W
(m, m) and the number of rounds. It returns the final models (m, d).
"""


ALGORITHM_CHECKS: dict[str, Callable[[Algorithm], None]] = {
    "inputs unchanged": check_inputs_unchanged,
    "in pieces": check_in_pieces,
    "resumed": check_resumed,
    "seeds alone": check_seeds_alone,
    "same bits": check_same_bits,
    "precision": check_precision,
    "decay": check_decay,
    "weight decay": check_weight_decay,
    "who rests": check_who_rests,
    "messages counted": check_messages_counted,
    "names of clients": check_names_of_clients,
    "locality": check_locality,
    "stationary point": check_stationary_point,
    "divergence": check_divergence,
    "immutable": check_immutable,
}
"""Checks by name; each raises AssertionError if the algorithm fails it."""


def check_algorithm(
    algorithm: Algorithm,
    *,
    twin: Twin | None = None,
    checks: Iterable[str] | None = None,
) -> list[str]:
    """Run the test suite on an algorithm.

    The problems have 5 clients, 4 rounds, 2 seeds and mostly float64. The checks:

    - "inputs unchanged": no method modifies its arguments.
    - "in pieces", "resumed", "seeds alone": computing parts of the clients, resuming
      from a checkpoint, or running one seed gives the same states.
    - "same bits": equal seeds give bit-identical runs.
    - "precision": the state keeps the precision of the run.
    - "decay", "weight decay": both options have their effect or are rejected.
    - "who rests": inactive clients keep their states.
    - "messages counted": everything that neighbors receive counts as sent.
    - "names of clients": permuting the clients permutes the result.
    - "locality": clients use only their own data and mixed values.
    - "stationary point": a common minimizer is stationary under matrices of the law
      that the class declares (``mixing``).
    - "divergence": huge values are reported as divergence, without an error.
    - "immutable": a run does not modify the algorithm.

    Parameters
    ----------
    algorithm : Algorithm
        Its hyperparameters must change the models without divergence, for example a
        step size of about 0.1.
    twin : callable, optional
        The same algorithm in numpy, one client at a time, as in the paper:
        ``twin(x, grad, W, rounds)`` returns models (m, d). They must agree to 1e-10
        with exact gradients on a constant network.
    checks : iterable of str, optional
        Names of the checks to run; by default all.

    Returns
    -------
    list of str
        Names of the checks that were run; all of them passed.

    Raises
    ------
    AssertionError
        The message has one line per failed check: the problem, its place and advice.
    InputError
        If ``algorithm`` is not an instance of Algorithm.
    UnknownNameError
        If ``checks`` contains an unknown name.
    """
    if not isinstance(algorithm, Algorithm):
        raise InputError(
            f"algorithm = {algorithm!r} must be an instance of Algorithm with its"
            " hyperparameters, for example Own(eta=0.1)"
        )
    names = list(ALGORITHM_CHECKS) if checks is None else list(checks)
    for name in names:
        checked_name("check", name, ALGORITHM_CHECKS)
    failures: list[str] = []
    for name in names:
        try:
            ALGORITHM_CHECKS[name](algorithm)
        except AssertionError as error:
            failures.append(f"{name}: {error}")
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
    if twin is not None:
        names.append("twin")
        difference = _difference_from_twin(algorithm, twin)
        if not difference <= 1e-10:
            failures.append(
                f"twin: the models differ by {difference:.2g} after {TESTED_ROUNDS}"
                " rounds"
            )
    if failures:
        class_name = type(algorithm).__name__
        lines = "\n  ".join(failures)
        raise AssertionError(
            f"{class_name} fails {len(failures)} of {len(names)} checks:\n  {lines}"
        )
    return names


def _difference_from_twin(algorithm: Algorithm, twin: Twin) -> float:
    """Return the largest absolute difference of the models from those of a twin."""
    task = make_test_task(batch=None)
    x0 = initial_models(algorithm, task)[0]
    gradient = task.gradient  # of all clients at once

    def client_gradient(i: int, y: np.ndarray) -> np.ndarray:
        x = torch.zeros(1, M, task.d, dtype=task.dtype)
        x[0, i] = torch.as_tensor(y)
        return gradient(x)[0, i].numpy()

    W = matrix_for(algorithm)
    run = train(algorithm, task, W, TESTED_ROUNDS, x0=x0, progress=False)
    if W is None:
        W = np.full((M, M), 1 / M)
    models = np.asarray(twin(x0.numpy().copy(), client_gradient, W, TESTED_ROUNDS))
    return float(np.abs(models - run.x[0]).max())


__all__ = ["ALGORITHM_CHECKS", "Twin", "check_algorithm"]
