"""The stated and measured start of a run that other code made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from dfltheory.arrays import FloatArray
from dfltheory.errors import InputError, checked_name

AT_START = {"x0_sq": "model_sq", "x0_spread": "consensus"}
"""Maps facts of the start to the measure with the same value at round 0."""


@dataclass(frozen=True, eq=False)
class Start:
    """The known facts of the start of a run.

    Attributes
    ----------
    x0_sq, x0_spread : (S,) array
        mean_i ||x_i^0||^2 and mean_i ||x_i^0 - xbar^0||^2; NaN if unknown.
    common : bool or None
        Whether the clients of each seed start at the same model; None if unknown.
    """

    x0_sq: FloatArray
    x0_spread: FloatArray
    common: bool | None


def stated_start(
    start: str | Mapping[str, ArrayLike] | None,
    constants: Mapping[str, float],
    arrays: Mapping[str, FloatArray],
    rounds: NDArray[np.int64],
    precision: str,
) -> Start:
    """Combine the stated facts of the start with the measures at round 0.

    Parameters
    ----------
    start : {"common", "different"} or mapping, optional
        As for :meth:`dfltheory.training.history.History.from_measurements`.
    constants : mapping of str to float
        Facts of the start that are stated as constants.
    arrays : mapping of str to (S, R) array
        The measures by name.
    rounds : (R,) array of int
        Round of each column.
    precision : str
        Precision of the run's arithmetic.

    Raises
    ------
    InputError
        If facts and measures contradict each other.
    """
    facts = _start_facts(start)
    for name, value in constants.items():
        if name in facts:
            raise InputError(f"{name} is stated twice, in constants and in start")
        facts[name] = value
    S = len(next(iter(arrays.values())))
    values: dict[str, FloatArray] = {}
    for name, measure in AT_START.items():
        seen = arrays[measure][:, 0] if measure in arrays and rounds[0] == 0 else None
        values[name] = _value_at_start(name, facts.get(name), seen, S, precision)
    common = {"common": True, "different": False}.get(str(start))
    if (values["x0_spread"] == 0).all():
        common = True
    elif "x0_spread" in facts:
        common = False
    if start == "common":
        values["x0_spread"] = _common_spread(values, precision)
    if start == "different" and common:
        raise InputError('start = "different" contradicts x0_spread = 0')
    return Start(values["x0_sq"], values["x0_spread"], common)


def _start_facts(start: str | Mapping[str, ArrayLike] | None) -> dict[str, ArrayLike]:
    """Return the stated values by name; empty for a text. The argument is checked."""
    if start is None or isinstance(start, str):
        if start not in (None, "common", "different"):
            raise InputError(
                f'start = {start!r:.60} must be "common", "different", or a mapping of'
                f" {', '.join(AT_START)}"
            )
        return {}
    if not isinstance(start, Mapping):
        raise InputError(f"start = {start!r:.60} must be text or a mapping")
    for name in start:
        checked_name("fact of the start", name, AT_START)
    return dict(start)


def _value_at_start(
    name: str, stated: ArrayLike | None, seen: FloatArray | None, S: int, precision: str
) -> FloatArray:
    """Return a fact of the start per seed: as stated, else as measured, else NaN."""
    if stated is None:
        return np.full(S, np.nan) if seen is None else seen.copy()
    try:
        values = np.broadcast_to(np.asarray(stated, dtype=np.float64), (S,)).copy()
    except (TypeError, ValueError):
        raise InputError(
            f"{name} = {stated!r:.60} must be a number, or one for each of {S} seeds"
        ) from None
    if not (np.isfinite(values) & (values >= 0)).all():
        raise InputError(f"{name} = {stated!r:.60} must be finite and at least 0")
    same = 1e-6 if precision == "float64" else 1e-2
    if seen is not None and not np.allclose(values, seen, rtol=same, atol=1e-30):
        raise InputError(
            f"{name} = {stated!r:.60} contradicts the measured value at round 0,"
            f" {seen[0]:g}"
        )
    return values


def _common_spread(values: Mapping[str, FloatArray], precision: str) -> FloatArray:
    """Return x0_spread = 0 for a common start.

    A measured value must not exceed it by more than rounding.
    """
    eps = torch.finfo(getattr(torch, precision)).eps
    measured, size = values["x0_spread"], values["x0_sq"]
    beyond = measured > (2 * eps) ** 2 * np.where(np.isnan(size), np.inf, size)
    if beyond.any():
        raise InputError(
            f'start = "common" contradicts consensus = {measured.max():g} at round 0'
        )
    return np.zeros_like(measured)


__all__ = ["AT_START", "Start", "stated_start"]
