"""Corollaries hold under a schedule: the step sizes follow from the horizon, a number of the search."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dfltheory.analysis.falsify.rounds import Batch

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Array = NDArray[Any]
HORIZON = 1000
"""The longest horizon of a schedule: all its rounds are simulated, for small steps rarely stand still."""
_STEPS = (1e-5, 2.0)
"""The range of step sizes that the families draw from; here it is read as a range of horizons."""
_OF = {"eta": "eta", "lam_admm": "lam", "rho": "rho", "Q": "Q"}


def scheduled(theorem: Theorem) -> bool:
    """Does the statement hold for its own step sizes alone?"""
    return theorem.kind == "corollary" and bool(theorem.schedule)


def out_of_reach(theorem: Theorem) -> bool:
    """Does it begin beyond the horizons that are simulated? Theorem M's rate asks for
    T >= 1024/(1 - lam)^2.
    """
    return scheduled(theorem) and theorem.lhs.measure.startswith("two_block")


def under_schedule(theorem: Theorem, batch: Batch) -> tuple[Batch, Array]:
    """The batch with the schedule's step sizes, and every candidate's horizon (P,).

    A large step that was drawn stands for a short horizon; the radius that was drawn is rho0. Minibatches
    are enumerated at one horizon.
    """
    if batch.signs is not None:
        T = np.full(batch.size, batch.signs.shape[1])
    else:
        low, high = _STEPS
        share = np.clip(np.log(high / batch.eta) / np.log(high / low), 0, 1)
        T = np.rint(2 * (HORIZON / 2) ** share).astype(int)
    steps = step_sizes(theorem, T=T, K=batch.K, L=batch.clients.constants()["L"], rho0=batch.rho)
    return replace(batch, **{_OF[name]: value for name, value in steps.items() if name != "Q"}), T


def step_sizes(theorem: Theorem, **numbers: Any) -> dict[str, Any]:
    """The schedule's step sizes, by glossary name, at these numbers (arrays that broadcast)."""
    found = {}
    for name, (takes, rule) in _rules(theorem).items():
        found[name] = rule(*(np.asarray(numbers[n], dtype=float) for n in takes)) + 0.0 * numbers["T"]
    return found


@lru_cache(maxsize=64)
def _rules(theorem: Theorem) -> dict[str, tuple[list[str], Any]]:
    rules = {}
    for name, rule in theorem.schedule.items():
        symbols = sorted(sp.sympify(rule).free_symbols, key=str)
        rules[name] = ([str(s) for s in symbols], sp.lambdify(symbols, rule, "numpy"))
    return rules


__all__ = ["HORIZON", "out_of_reach", "scheduled", "step_sizes", "under_schedule"]
