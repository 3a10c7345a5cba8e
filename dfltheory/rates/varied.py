"""One experiment at several values of one quantity, with scheduled step sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from dfltheory import graphs
from dfltheory.bounds.computed import read_computation
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.graphs.matrices import to_dense
from dfltheory.rates.measured import known_values
from dfltheory.rates.predicted import GAP
from dfltheory.training.instance import Instance
from dfltheory.training.options import options_of
from dfltheory.training.sections import make_network, make_task
from dfltheory.verdicts.computed_values import computed_values
from dfltheory.verdicts.hyperparameters import hyperparameter_fields

TASK_OPTIONS = {
    "m": "m",
    "sigma_l": "sigma",
    "sigma_g": "zeta",
    "sigma_u": "sigma_u",
    "sigma_v": "sigma_v",
}
"""Maps a glossary name to the option of a named task that sets it."""
_ROUNDING = 1e-12
"""Difference up to which spectral gaps count as equal."""
_LEAST_GAP = 1e-6
"""Smallest spectral gap of a network when a computed quantity is varied."""
_GAPS = 25
"""Number of grid points in the search for the value of a computed quantity."""


def with_value(
    experiment: Instance, theorem: Theorem, vary: str, value: float
) -> Instance:
    """Return the experiment with another value of one quantity.

    Scheduled step sizes are those at the new value, multiplied by the experiment's own
    factor, because a constant factor does not change an exponent. Everything else is
    unchanged:

    * T: the number of rounds;
    * 1 - lam: the network is averaged with complete mixing 11'/m, or with the identity;
    * m, sigma_l, sigma_g: the task is rebuilt, so it must be named by a document. For
      m, the network is built again by its name and gets the gap of the experiment,
      since an exponent in m assumes fixed lam;
    * a computed quantity of the network, such as a sum over its spectrum: the network
      is averaged as for 1 - lam so that the quantity has the value;
    * K, Q, rho, alpha...: a hyperparameter of the algorithm.

    Parameters
    ----------
    experiment : Instance
    theorem : Theorem
        With a schedule, which determines the step sizes.
    vary : str
        Glossary name, or "1 - lam".
    value : float
        The new value.

    Raises
    ------
    InputError
        If the experiment cannot be varied in this quantity.
    """
    quantity = theorem.glossary.get(vary)
    if quantity is not None:
        quantity.check(value)
    integer = quantity is not None and quantity.integer
    factors = step_factors(theorem, {**known_values(experiment, theorem), "rho0": 1.0})
    if vary == "rho0":
        factors["rho"] = value
    if is_of_network(theorem, vary):
        changed = with_quantity(experiment, theorem, vary, float(value))
    else:
        number = int(value) if integer else float(value)
        changed = _with_value(experiment, vary, number)
    if vary in factors:
        return changed  # the scheduled hyperparameter itself is varied
    values = known_values(changed, theorem)
    values["rho0"] = 1.0
    scheduled = theorem.step_sizes(**values)
    steps = {
        name: factors[name] * step
        for name, step in scheduled.items()
        if name in factors
    }
    hyperparameters = hyperparameter_fields(type(changed.algorithm), steps)
    return replace(changed, algorithm=replace(changed.algorithm, **hyperparameters))


def step_factors(theorem: Theorem, values: Mapping[str, float]) -> dict[str, float]:
    """Return each scheduled hyperparameter as a multiple of its scheduled value.

    Parameters
    ----------
    values : mapping
        Values of the run by glossary name; a missing rho0 is 1.

    Returns
    -------
    dict of str to float
        The factor of each scheduled hyperparameter that is known. If the scheduled
        value is 0, the factor is 1 for the value 0 and otherwise 0.
    """
    known = {"rho0": 1.0}
    known |= {name: value for name, value in values.items() if np.isfinite(value)}
    factors = {}
    for name, scheduled in theorem.step_sizes(**known).items():
        if name not in known:
            continue
        factors[name] = (
            known[name] / scheduled if scheduled else float(known[name] == scheduled)
        )
    return factors


def _with_value(experiment: Instance, vary: str, value: float) -> Instance:
    """Return the experiment with another value, but unchanged step sizes."""
    algorithm = experiment.algorithm
    hyperparameters = {
        algorithm.glossary.get(f.name, f.name): f.name for f in fields(algorithm)
    }
    if vary == "T":
        return replace(experiment, rounds=int(value))
    if vary == GAP:
        return replace(experiment, network=with_gap(experiment.network, value))
    if vary == "rho0":
        return experiment
    if vary in hyperparameters:
        change = {hyperparameters[vary]: value}
        return replace(experiment, algorithm=replace(algorithm, **change))
    return _with_task_option(experiment, vary, value)


def _with_task_option(experiment: Instance, vary: str, value: float) -> Instance:
    """Return the experiment with another value of an option of its named task."""
    task, document = experiment.sources.get("task", (None, {}))
    option = TASK_OPTIONS.get(vary)
    if task is not experiment.task or option not in options_of(
        "task", document["name"]
    ):
        raise InputError(
            f"{vary} of this experiment cannot be set: its task {experiment.task.name}"
            " has no option for it, or was created in Python. Pass a function of"
            f" {vary} that returns an experiment or a History"
        )
    number = int(value) if vary == "m" else float(value)
    document = {**document, option: number}
    task = make_task(document, None)
    changed = replace(
        experiment, task=task, sources={**experiment.sources, "task": (task, document)}
    )
    return (
        changed
        if vary != "m" or experiment.network is None
        else _with_network(experiment, changed)
    )


def _with_network(experiment: Instance, changed: Instance) -> Instance:
    """Return ``changed`` with the experiment's network for its number of clients.

    The spectral gap is that of the experiment's network.
    """
    network, document = experiment.sources.get("topology", (None, {}))
    if network is not experiment.network or "name" not in document:
        raise InputError(
            "the network of this experiment has a fixed number of clients: name it in a"
            " document, or pass a function of m that returns an experiment or a History"
        )
    gap = 1 - graphs.network_constants(experiment.network).known()["lam"]
    network = make_network(document, changed.task.m, None)
    return replace(
        changed, network=with_gap(network, gap) if changed.task.m > 1 else network
    )


def is_of_network(theorem: Theorem, name: str) -> bool:
    """Return whether a name is a computed quantity of the mixing matrix."""
    quantity = theorem.glossary.get(name)
    if quantity is None or not isinstance(quantity.of, str):
        return False
    other_names = frozenset(other.name for other in theorem.quantities)
    return read_computation(quantity.of, other_names).uses_network


def with_quantity(
    experiment: Instance, theorem: Theorem, name: str, value: float
) -> Instance:
    """Return the experiment with a network at which a computed quantity has a value.

    The network is averaged with complete mixing 11'/m or with the identity.

    Parameters
    ----------
    experiment : Instance
        Experiment with one symmetric matrix in all rounds.
    theorem : Theorem
        Theorem that contains the quantity.
    name : str
        Name of a computed quantity of the mixing matrix.
    value : float
        Its new value.

    Raises
    ------
    InputError
        If no average has this value; the message contains the values that were reached.
    """
    known = known_values(experiment, theorem)
    task = experiment.task

    def quantity_at(log_gap: float) -> float:
        W = with_gap(experiment.network, math.exp(log_gap))
        values = {**known, **graphs.network_constants(W).known()}
        return computed_values(theorem, values, W, task)[0].get(name, math.nan)

    def excess(log_gap: float) -> float:
        return quantity_at(log_gap) - value

    grid = np.linspace(math.log(_LEAST_GAP), 0.0, _GAPS)
    reached = np.array([quantity_at(place) for place in grid])
    signs = np.sign(reached - value)
    for start, first, second in zip(grid, signs, signs[1:], strict=False):
        if first * second <= 0:
            step = grid[1] - grid[0]
            root = brentq(excess, start, start + step, xtol=1e-14, rtol=1e-14)
            network = with_gap(experiment.network, math.exp(root))
            return replace(experiment, network=network)
    finite = reached[np.isfinite(reached)]
    limits = f"from {finite.min():.6g} to {finite.max():.6g}" if finite.size else "none"
    raise InputError(
        f"{name} = {value} is not reached by averages of this network with 11'/m or"
        f" with the identity; they reach: {limits}. Pass a function of {name} that"
        " returns an experiment or a History"
    )


def with_gap(network: object, gap: float) -> NDArray[np.float64]:
    """Return the mixing matrix of a network, changed to the spectral gap ``gap``.

    Parameters
    ----------
    network : graph, matrix or sequence
        One symmetric matrix W in all rounds.
    gap : float
        Gap 1 - lam in (0, 1]. For a gap larger than that of W, W is averaged with
        11'/m, and for a smaller one with the identity. Both preserve the eigenvectors.

    Returns
    -------
    (m, m) array
        Symmetric and doubly stochastic.
    """
    if not 0 < gap <= 1:
        raise InputError(f"1 - lam = {gap} must lie in (0, 1]")
    sequence = graphs.as_sequence(network)
    if not isinstance(sequence, graphs.Constant):
        raise InputError(
            f"1 - lam can be set only for one mixing matrix in all rounds, not for"
            f" {type(sequence).__name__}: pass a function of it"
        )
    W = np.asarray(to_dense(sequence.W), dtype=float)
    m = len(W)
    if m < 2 or not np.allclose(W, W.T, atol=1e-12):
        raise InputError(
            "1 - lam can be set only for a symmetric matrix of at least 2 clients"
        )
    mean = np.full((m, m), 1 / m)
    eigenvalues = np.linalg.eigvalsh(W - mean)
    lam = float(np.abs(eigenvalues).max())
    wanted_lam = 1 - gap
    if abs(wanted_lam - lam) <= _ROUNDING:
        return W
    if wanted_lam < lam:
        return mean + (wanted_lam / lam) * (W - mean)
    second = float(np.linalg.eigvalsh(W)[-2])
    share = (wanted_lam - second) / (1 - second)
    return (1 - share) * W + share * np.eye(m)
