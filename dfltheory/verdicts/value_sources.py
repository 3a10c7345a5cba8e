"""The interface of runs as sources of values, and values that follow from others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds.clauses import Number
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.verdicts.measures import Gap
from dfltheory.verdicts.rounding import RoundingError

Values = dict[str, Any]
"""Numbers, fractions, or (S,) arrays over seeds or candidates, by glossary name."""


class Source(ABC):
    """A run, or a plan of one, as a source of values of a theorem's quantities.

    Only :meth:`constants` is required. By default a source does not know the others.

    Attributes
    ----------
    refutes : bool
        Whether the values serve to refute a statement. Cited constants of push-sum then
        replace smaller computed ones, if the statement uses them (``Scope.push_sum``).
    """

    refutes: bool = False

    @abstractmethod
    def constants(self, theorem: Theorem) -> Values:
        """Return constants, hyperparameters, T and m, as far as they are known."""

    def push_sum_constants(self, theorem: Theorem) -> Values:
        """Return delta, C, q and window, if :meth:`constants` lacks a needed one."""
        return {}

    def cited_push_sum(self) -> Values:
        """Return C and q of Assran et al. (2019), Lemma 3, on the network.

        They are infinite if they cannot be computed, and absent if the network is
        unknown.
        """
        return {}

    def start(self, theorem: Theorem) -> Values:
        """Return measured values of the start: x0_sq, x0_spread and x_star_sq."""
        return {}

    def gap(self, theorem: Theorem) -> Gap | None:
        """Return f - f* at the theorem's first round; None if it is unknown."""
        return None

    def gap_differences(self, theorem: Theorem) -> Number:
        """Return f at each start minus the mean over starts, a number or (S,).

        It is added to an f0_gap that the caller gave, which is for the mean.
        """
        return 0.0

    def derived(self, theorem: Theorem, values: Values) -> Values:
        """Return rho0 and S2, if the theorem needs them, from other values."""
        return {
            **sam_radius(theorem, values),
            **gradient_second_moment(theorem, values),
        }

    def computed(
        self, theorem: Theorem, values: Values
    ) -> tuple[Values, dict[str, RoundingError]]:
        """Return the theorem's computed quantities and their errors, by name."""
        return {}, {}

    def check_given(
        self, theorem: Theorem, given: Mapping[str, float]
    ) -> dict[str, float]:
        """Check values that the caller gives, and return those to be used.

        Raises
        ------
        InputError
            If a given value contradicts the run.
        """
        return dict(given)

    def estimated(self, theorem: Theorem) -> set[str]:
        """Return the glossary names of constants that are estimates."""
        return set()

    def start_errors(self, theorem: Theorem) -> dict[str, RoundingError]:
        """Return the rounding errors of the values of `start`, by glossary name."""
        return {}

    def given_gap_error(self, theorem: Theorem) -> Number:
        """Return the absolute rounding error of `gap_differences`."""
        return 0.0


def sam_radius(theorem: Theorem, values: Mapping[str, Number]) -> Values:
    """Return rho0 if a theorem needs it: rho over the scheduled rho at rho0 = 1.

    The schedule is that of the theorem, or else rho = rho0/sqrt(T). The result is empty
    if a value is unknown.
    """
    if "rho0" not in theorem.needs or "rho" not in values:
        return {}
    names, unit_radius = _unit_radius(theorem)
    if not set(names) <= set(values):
        return {}
    numbers = [np.asarray(values[name], dtype=float) for name in names]
    with np.errstate(all="ignore"):
        return {"rho0": np.divide(values["rho"], unit_radius(*numbers))[()]}


@cache
def _unit_radius(theorem: Theorem) -> tuple[tuple[str, ...], Callable[..., Number]]:
    """Return the scheduled rho at rho0 = 1, as a function of the named quantities."""
    rho0, T = GLOSSARY["rho0"].symbol, GLOSSARY["T"].symbol
    radius = theorem.schedule.get("rho", rho0 / sp.sqrt(T))
    unit = sp.sympify(radius).subs(rho0, 1)
    symbols = sorted(unit.free_symbols, key=str)
    names = tuple(str(symbol) for symbol in symbols)
    return names, sp.lambdify(symbols, unit, modules="numpy")


def gradient_second_moment(theorem: Theorem, values: Mapping[str, Number]) -> Values:
    """Return S2 if a theorem needs it: B^2 + sigma_l^2, for gradients without SAM.

    Without SAM the point of a gradient does not depend on its sample, so that
    E||g||^2 = ||grad f_i||^2 + noise.
    """
    without_sam = bool(np.all(np.asarray(values.get("rho", 0.0)) == 0))
    known = {"B", "sigma_l"} <= set(values) and without_sam
    if "S2" not in theorem.needs or not known:
        return {}
    return {"S2": values["B"] ** 2 + values["sigma_l"] ** 2}


__all__ = ["Source", "Values"]
