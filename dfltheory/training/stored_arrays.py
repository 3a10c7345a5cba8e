"""Checks of the arrays in a file: shape, number format, and finite values.

The digest shows that a file is intact; these checks ensure that its content is
consistent with a run.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from dfltheory.errors import DataError

_SEED_VALUES = ("x0_sq", "x0_spread", "x0_gradient_sq")
_MEASURED_VALUES = ("sent_bits", "consensus_rounding", "model_sq")


def check_history(arrays: Mapping[str, np.ndarray], rounds: int, ended: bool) -> None:
    """Check the arrays of a history.

    Parameters
    ----------
    arrays : mapping
        Arrays by name; measures have names ``measure/...``.
    rounds : int
        T.
    ended : bool
        Whether the run diverged or was measured by other code, so that values may be
        infinite or unknown.

    Raises
    ------
    DataError
        If an array is inconsistent with a run of T rounds.
    """
    models = _array(arrays, "x", axes=3)
    if models.dtype.kind != "f":
        raise DataError(f"array x is {models.dtype}; it must be floating-point")
    seeds, measured = models.shape[0], _array(arrays, "rounds_measured", axes=1)
    _check_rounds(measured, rounds)
    by_round = (seeds, len(measured))
    for name in arrays:
        if name.startswith("measure/"):
            _check(arrays, name, by_round, leading=True)
    for name in _MEASURED_VALUES:
        _check(arrays, name, by_round)
    for name in _SEED_VALUES:
        _check(arrays, name, (seeds,))
    _check(arrays, "excess", (2, seeds))
    if ended:
        return
    for name, array in arrays.items():
        if np.isinf(array).any():
            raise DataError(
                f"array {name} has infinite values; the run did not diverge"
            )


def check_measures(measures: Mapping[str, Tensor], columns: int, seeds: int) -> None:
    """Check that the measures of a checkpoint are float64, at most (columns, seeds).

    A measure that needs the next state has one column less.

    Raises
    ------
    DataError
        If a measure has another shape or number format.
    """
    for name, values in measures.items():
        fits = values.ndim >= 2 and values.shape[1] == seeds
        if not fits or len(values) > columns or values.dtype != torch.float64:
            raise DataError(
                f"measure {name} is {values.dtype} of shape {list(values.shape)};"
                f" it must be float64 of shape [at most {columns}, {seeds}]"
            )


def check_stored_state(state: object, stored: Mapping[str, Tensor]) -> None:
    """Check the number format and values of a stored state, given a state of the run.

    Raises
    ------
    DataError
        If a tensor has another number format, or a value that is not finite.
    """
    for name, tensor in stored.items():
        current = getattr(state, name, None)
        if isinstance(current, Tensor) and current.dtype != tensor.dtype:
            raise DataError(
                f"state {name} is {tensor.dtype}; it must be {current.dtype}"
            )
        if not torch.isfinite(tensor).all():
            raise DataError(
                f"state {name} has values that are not finite; the state of a run that"
                " can be resumed is finite"
            )


def _array(arrays: Mapping[str, np.ndarray], name: str, axes: int) -> np.ndarray:
    """Return an array; raise DataError if it is missing or has other axes."""
    if name not in arrays:
        raise DataError(f"array {name} is missing")
    array = arrays[name]
    if array.ndim != axes:
        raise DataError(f"array {name} has {array.ndim} axes; it must have {axes}")
    return array


def _check_rounds(measured: np.ndarray, rounds: int) -> None:
    """Raise DataError unless the measured rounds increase within 0..T."""
    increasing = measured.dtype.kind == "i" and (np.diff(measured) > 0).all()
    if not len(measured) or not increasing:
        raise DataError("rounds_measured must be increasing integers, at least one")
    if measured[0] < 0 or measured[-1] > rounds:
        raise DataError(
            f"rounds_measured ranges from {measured[0]} to {measured[-1]}, but the run"
            f" has rounds 0 to {rounds}"
        )


def _check(
    arrays: Mapping[str, np.ndarray],
    name: str,
    shape: tuple[int, ...],
    *,
    leading: bool = False,
) -> None:
    """Check an array that may be absent; ``leading`` checks only its first axes."""
    if name not in arrays:
        return
    array = arrays[name]
    actual = array.shape[: len(shape)] if leading else array.shape
    if actual != shape or array.dtype != np.float64:
        raise DataError(
            f"array {name} is {array.dtype} of shape {list(array.shape)}; it must be"
            f" float64 of shape {list(shape)}"
        )


__all__ = ["check_history", "check_measures", "check_stored_state"]
