"""Corollaries hold under a schedule: the step sizes follow from the horizon, a number of the search."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dfltheory.analysis.falsify.rounds import Batch
from dfltheory.analysis.falsify.two_block import SIMULATED, TwoBatch
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Array = NDArray[Any]
HORIZON = 1000
"""The longest horizon of a schedule in one block: all its rounds are simulated, for small steps rarely stand
still."""
LONGEST = 1e9
"""The longest horizon of a schedule in two blocks: the first rounds are simulated, the others repeat the last
where nothing moves any more, or the clients start where nothing moves."""
_STEPS = (1e-5, 2.0)
_TWO_BLOCK_STEPS = (1e-4, 0.03)
"""The ranges of step sizes that the families draw from; here they are read as ranges of horizons."""
_OF = {"eta": "eta", "lam_admm": "lam", "rho": "rho", "Q": "Q"}


def scheduled(theorem: Theorem) -> bool:
    """Does the statement hold for its own step sizes alone?"""
    return theorem.kind == "corollary" and bool(theorem.schedule)


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


def two_blocks_under_schedule(theorem: Theorem, batch: TwoBatch, lam: Array) -> tuple[TwoBatch, Array]:
    """The batch with the schedule's step sizes, and horizons (P,) at which every condition holds.

    The shared part's step that was drawn stands for the horizon, in multiples of the shortest one that the
    conditions allow: large steps for 1 to ``SIMULATED``/1024 times, small ones from there on to ``LONGEST``.
    """
    known = batch.clients.constants()
    least = shortest(theorem, lam=lam, chi=known["chi"])
    low, high = _TWO_BLOCK_STEPS
    share = np.clip(np.log(high / (batch.eta_u * batch.K_u * known["L_u"])) / np.log(high / low), 0, 1)
    near = SIMULATED / 1024
    far = np.maximum(LONGEST / least, near) / near
    stretch = np.where(share < 0.5, near ** (2 * share), near * far ** (2 * share - 1))
    T = np.ceil(least * np.where(np.isfinite(stretch), stretch, 1.0)).astype(np.int64)
    numbers = {"K_u": batch.K_u, "K_v": batch.K_v, "L_u": known["L_u"], "L_v": known["L_v"]}
    return replace(batch, **step_sizes(theorem, T=T, rho0=batch.rho, **numbers)), T


def shortest(theorem: Theorem, **numbers: Array) -> Array:
    """The least T at which the conditions ``left <= right T`` hold, (P,); 1 where a number is not finite."""
    least: Array = np.ones(1)
    for takes, ratio in _waits(theorem):
        found = ratio(*(numbers[n] for n in takes))
        least = np.maximum(least, np.where(np.isfinite(found), found, 1.0))
    return least


@lru_cache(maxsize=64)
def _waits(theorem: Theorem) -> list[tuple[list[str], Any]]:
    """left/right at T = 1 of every condition, with the names that it takes."""
    T, rules = theorem.symbols["T"], []
    for condition in theorem.conditions:
        ratio = sp.simplify(T * condition.left / condition.right)
        if T in ratio.free_symbols:
            raise InputError(f"{theorem}: {condition.name} does not bound T from below by a number")
        symbols = sorted(ratio.free_symbols, key=str)
        rules.append(([str(s) for s in symbols], sp.lambdify(symbols, ratio, "numpy")))
    return rules


def step_sizes(theorem: Theorem, **numbers: Any) -> dict[str, Any]:
    """The schedule's step sizes, by glossary name, at these numbers (arrays that broadcast)."""
    found = {}
    for name, (takes, rule) in _rules(theorem).items():
        found[name] = rule(*(numbers[n] for n in takes)) + 0.0 * numbers["T"]
    return found


@lru_cache(maxsize=64)
def _rules(theorem: Theorem) -> dict[str, tuple[list[str], Any]]:
    rules = {}
    for name, rule in theorem.schedule.items():
        symbols = sorted(sp.sympify(rule).free_symbols, key=str)
        rules[name] = ([str(s) for s in symbols], sp.lambdify(symbols, rule, "numpy"))
    return rules


__all__ = [
    "HORIZON",
    "LONGEST",
    "scheduled",
    "shortest",
    "step_sizes",
    "two_blocks_under_schedule",
    "under_schedule",
]
