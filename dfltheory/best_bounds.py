"""The smallest bound of a theorem over its step sizes, at given constants.

Constants that are not given have typical values, and mechanisms that are not given are
absent. Step sizes are usually not given, so each theorem uses its own optimal ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dfltheory.arrays import FloatArray
from dfltheory.bounds import registry
from dfltheory.bounds.regions import equalities, expanded_conditions, values_at
from dfltheory.bounds.symbols import GLOSSARY, with_quantities
from dfltheory.checks.everyday import everyday
from dfltheory.checks.vacuous import trivials
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.step_scales import step_scales
from dfltheory.verdicts.admissible_steps import network_values
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.value_sources import Source, Values

if TYPE_CHECKING:
    from sympy import Expr

    from dfltheory.bounds.theorem import Theorem

HORIZONS: FloatArray = np.unique(np.round(10.0 ** np.linspace(0, 15, 121)))
"""Rounds T that are tried: integers from 1 to 1e15, eight per decade."""
LEAST_STEP = 1e-12
"""Smallest multiple of a step size's scale on the grid."""
LARGEST_STEP = 1e3
"""Largest multiple of a step size's scale on the grid."""
GRID_SIZES = {0: 1, 1: 601, 2: 76}
"""Number of values of each step size on the first grid, by the number of step sizes."""
FINE_GRID = 10 ** (np.arange(-8, 9) / 40)
"""Multiples on the second grid, around the best of two step sizes on the first."""
POINTS_AT_ONCE = 1_000_000
"""Largest number of points of the grids that are evaluated together."""
TYPICAL_ROUNDS = 10_000.0
"""Rounds T at which theorems are compared if none are given."""


# -- typical constants


class TypicalConstants(Source):
    """Given constants, completed by neutral and typical values.

    A mechanism that is not given is absent. On a fixed doubly stochastic network, the
    push-sum weights remain 1, so delta = C = 1 and q = lam.
    """

    def __init__(self, given: Mapping[str, object]):
        self._given = given

    def constants(self, theorem: Theorem) -> Values:
        """Return the given constants, and typical values of the others."""
        names = self._names(theorem)
        _require_computed(theorem, self._given)
        if not registry.known(theorem.key, theorem.variant):
            _refuse_unusual(
                theorem, [name for name in names if name not in self._given]
            )
        lam = self._given.get("lam", everyday(["lam"])["lam"])
        known: Values = {**everyday(names, theorem.glossary), **theorem.neutral}
        known.update({"x0_spread": 0.0, "delta": 1.0, "C": 1.0, "q": lam})
        known["T"] = TYPICAL_ROUNDS
        known.update(self._given)
        given_steps = [name for name in theorem.step_names if name in self._given]
        return {name: known[name] for name in [*names, *given_steps]}

    def _names(self, theorem: Theorem) -> list[str]:
        """Return the names needed, except step sizes and fixed quantities.

        A quantity is fixed by an equality among the conditions.
        """
        names = []
        for name in theorem.needs:
            fixed = name in fixed_by_conditions(theorem) and name not in self._given
            if name not in theorem.step_names and not fixed:
                names.append(name)
        return names

    def derived(self, theorem: Theorem, values: Values) -> Values:
        """Return an empty dict, because no value is derived."""
        return {}


def missing_computed(theorem: Theorem, given: Mapping[str, object]) -> list[str]:
    """Return the quantities computed from a network or a task that are not given."""
    computed = {q.name for q in theorem.quantities if q.of is not None}
    return sorted(computed & set(theorem.needs) - given.keys())


def _require_computed(theorem: Theorem, given: Mapping[str, object]) -> None:
    """Raise InputError if a quantity must be computed from the unknown network."""
    missing = missing_computed(theorem, given)
    if missing:
        raise InputError(
            f"{theorem} computes {', '.join(missing)} from the network or the task,"
            " which are unknown here: pass its value"
        )


def _refuse_unusual(theorem: Theorem, names: Sequence[str]) -> None:
    """Raise InputError for a third-party symbol, because it has no typical value."""
    missing = sorted(set(names) - {*GLOSSARY, *theorem.neutral})
    if missing:
        raise InputError(
            f"{theorem} needs {', '.join(missing)}, which has no typical value: pass it"
        )


def constants(theorem: Theorem, values: Mapping[str, object]) -> Values:
    """Return the constants that a theorem needs, and given step sizes.

    Values that are not given are neutral or typical.

    Raises
    ------
    UnknownNameError
        If a name is not in the glossary.
    InputError
        If a value is out of its range, or a symbol of a third-party theorem is missing.
    """
    check_constants(values, (theorem,))
    return run_values(TypicalConstants(values), theorem).known


def check_constants(
    values: Mapping[str, object], theorems: Sequence[Theorem] = ()
) -> None:
    """Check the names and ranges of given values.

    Names must be in the glossary or in one of the theorems.
    """
    glossary = with_quantities(q for theorem in theorems for q in theorem.quantities)
    for name, value in values.items():
        if name not in glossary:
            raise UnknownNameError("constant", name, set(glossary))
        glossary[name].check(value)


def own_values(theorem: Theorem, values: Mapping[str, object]) -> Values:
    """Return the values whose names a theorem contains."""
    return {name: value for name, value in values.items() if name in theorem.glossary}


def with_network(
    theorem: Theorem, topology: object, values: Mapping[str, object]
) -> Values:
    """Combine given values with the constants of a network.

    Raises
    ------
    InputError
        If a given value contradicts the network.
    """
    if topology is None:
        return dict(values)
    network = network_values(theorem, topology)
    for name in set(network) & set(values):
        if values[name] != network[name]:
            raise InputError(
                f"{name} = {values[name]:g} is given, but the network has"
                f" {network[name]:g}: pass only one of them"
            )
    return {**network, **values}


@cache
def fixed_by_conditions(theorem: Theorem) -> dict[str, Expr]:
    """Return the quantities fixed by equalities among the conditions, step sizes first.

    Values are expressions in the other quantities.
    """
    return equalities(expanded_conditions(theorem), theorem.glossary)[0]


# -- the best bound


def best_bounds(
    theorem: Theorem, values: Mapping[str, object]
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return the smallest bound over admissible step sizes, at one or more points.

    Parameters
    ----------
    theorem : Theorem
    values : mapping
        Numbers or arrays (P,) by glossary name. Given step sizes are not optimized.

    Returns
    -------
    (P,) array
        The smallest bound on a grid of 40 values per decade, from 1e-12 to 1e3 times
        the scales of :mod:`dfltheory.step_scales`; nan if no step size of the grid is
        admissible. Two step sizes have a grid of 5 values per decade, refined near its
        best point.
    dict
        The optimal step sizes, (P,) each.
    """
    given = constants(theorem, values)
    places = max((np.size(value) for value in given.values()), default=1)
    tied = {
        n: expr for n, expr in fixed_by_conditions(theorem).items() if n not in given
    }
    free = [n for n in theorem.step_names if n not in given and n not in tied]
    if len(free) not in GRID_SIZES:
        raise InputError(
            f"{theorem} has {len(free)} step sizes: pass all but two of"
            f" {', '.join(free)}"
        )
    meshes = _meshes(len(free))
    width = meshes[0].shape[1]
    bounds = np.full(places, np.nan)
    constants_at = {
        n: np.broadcast_to(np.asarray(v, float), (places,)) for n, v in given.items()
    }
    scales = step_scales(theorem, constants_at)
    steps = {name: np.ones(places) * scales.get(name, 1.0) for name in (*free, *tied)}
    parts = max(1, places * width // POINTS_AT_ONCE)
    for part in np.array_split(np.arange(places), parts):
        for mesh in meshes:
            points = {name: value[part, None] for name, value in constants_at.items()}
            for name, multiples in zip(free, mesh, strict=True):
                points[name] = steps[name][part, None] * multiples
            table, points = _bounds_on_grid(
                theorem, points, tied, (len(part), mesh.shape[1])
            )
            best = np.arange(len(part)), table.argmin(axis=1)
            bounds[part] = table[best]
            for name in steps:
                steps[name][part] = points[name][best]
    return np.where(np.isfinite(bounds), bounds, np.nan), steps


def _meshes(free: int) -> list[FloatArray]:
    """Return the grids of multiples of the step sizes, (free, N) each, in order.

    Without free step sizes, a grid is a single point.
    """
    grids = [np.geomspace(LEAST_STEP, LARGEST_STEP, GRID_SIZES[free])]
    if free == 2:
        grids.append(FINE_GRID)
    meshes = []
    for grid in grids:
        axes = np.meshgrid(*[grid] * free, indexing="ij")
        meshes.append(
            np.array([axis.ravel() for axis in axes]).reshape(free, -1 if free else 1)
        )
    return meshes


def _bounds_on_grid(
    theorem: Theorem,
    values: Mapping[str, FloatArray],
    tied: Mapping[str, Expr],
    shape: tuple[int, int],
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Return the bound at a grid of values, (places, N), and the values.

    The bound is infinite at values that are not admissible. The values include
    quantities fixed by equalities.
    """
    points = {
        name: np.broadcast_to(value, shape).ravel() for name, value in values.items()
    }
    real = np.ones(shape[0] * shape[1], dtype=bool)
    with np.errstate(all="ignore"):
        for name, expr in tied.items():  # such as 2/mu, which does not exist at mu = 0
            value = np.broadcast_to(values_at([expr], points)[0], real.shape)
            real = real & (value > 0) & np.isfinite(value)
            points[name] = np.where(real, value, 1.0)
        bounds = np.broadcast_to(theorem.evaluate(where="nan", **points), real.shape)
    table = np.where(real & np.isfinite(bounds), bounds, np.inf).reshape(shape)
    return table, {name: value.reshape(shape) for name, value in points.items()}


def yardstick(theorem: Theorem, values: Mapping[str, object]) -> FloatArray:
    """Return the trivial bound of the left-hand side, which holds without the theorem.

    It covers at least the minimum over rounds; nan if there is none.
    """
    given = {}
    for name, value in constants(theorem, values).items():
        given[name] = np.atleast_1d(np.asarray(value, float))
    shape = np.broadcast_shapes(*(value.shape for value in given.values()))
    known = [expr for _, expr in trivials(theorem)]
    if not known:
        return np.full(shape, np.nan)
    points = {name: np.broadcast_to(value, shape) for name, value in given.items()}
    return np.min(values_at(known, points), axis=0)


# -- horizons, and planes of two quantities


def first_nonvacuous_horizon(theorem: Theorem, values: Mapping[str, object]) -> float:
    """Return the first T of ``HORIZONS`` at which the bound is nonvacuous, or inf."""
    if "T" not in theorem.needs or not trivials(theorem):
        return math.nan
    over_time = {**values, "T": HORIZONS}
    useful = best_bounds(theorem, over_time)[0] < yardstick(theorem, over_time)
    return float(HORIZONS[int(useful.argmax())]) if useful.any() else math.inf


def transient(theorem: Theorem, values: Mapping[str, float]) -> float:
    """Return the first T beyond which more clients decrease the best bound linearly.

    The criterion is that four times the clients, on a network of the same lam, decrease
    it by more than the factor 4^(1/4), half of a linear speed-up of 4^(1/2) in
    logarithms; inf if there is no such T.
    """
    if not {"m", "T"} <= set(theorem.needs):
        return math.nan
    m = values.get("m", everyday(["m"])["m"])
    few = best_bounds(theorem, {**values, "T": HORIZONS, "m": m})[0]
    many = best_bounds(theorem, {**values, "T": HORIZONS, "m": 4 * m})[0]
    fast = many < 4**-0.25 * few
    from_there = np.logical_and.accumulate(fast[::-1])[::-1]
    return float(HORIZONS[int(from_there.argmax())]) if from_there.any() else math.inf


def least_bounds(
    theorems: Sequence[Theorem],
    across: tuple[str, FloatArray],
    up: tuple[str, FloatArray],
    values: Mapping[str, float],
) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the theorem with the smallest best bound, over a plane of two quantities.

    Parameters
    ----------
    theorems : sequence of Theorem
        The theorems to compare.
    across, up : (name, values)
        The axes: a glossary name, and an array of its values.
    values : mapping of str to float
        The other constants by glossary name.

    Returns
    -------
    (len(up), len(across)) array of int
        Index of the theorem with the smallest nonvacuous bound; -1 if there is none.
    (len(up), len(across)) array
        That bound; nan if there is none.
    """
    x, y = np.meshgrid(across[1], up[1])
    plane = {**values, across[0]: x.ravel(), up[0]: y.ravel()}
    table = np.full((len(theorems), x.size), np.inf)
    for k, theorem in enumerate(theorems):
        plane_values = own_values(theorem, plane)
        bound = np.broadcast_to(best_bounds(theorem, plane_values)[0], (x.size,))
        table[k] = np.where(bound < yardstick(theorem, plane_values), bound, np.inf)
    bounds = table.min(axis=0).reshape(x.shape)
    is_nonvacuous = np.isfinite(bounds)
    which = table.argmin(axis=0).reshape(x.shape)
    return np.where(is_nonvacuous, which, -1), np.where(is_nonvacuous, bounds, np.nan)


__all__ = [
    "HORIZONS",
    "LARGEST_STEP",
    "LEAST_STEP",
    "TypicalConstants",
    "best_bounds",
    "check_constants",
    "constants",
    "first_nonvacuous_horizon",
    "fixed_by_conditions",
    "least_bounds",
    "own_values",
    "transient",
    "with_network",
    "yardstick",
]
