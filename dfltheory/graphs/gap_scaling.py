"""Scaling of the spectral gap of a topology with the number of clients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dfltheory.errors import InputError
from dfltheory.graphs.eigen import SpectralReport
from dfltheory.graphs.spectral import spectral_report
from dfltheory.graphs.topologies import topology


@dataclass(frozen=True)
class Scaling:
    """Gaps of a topology at several m, and the fit gap ~ c m^-exponent.

    Attributes
    ----------
    topology : str
        Name of the topology.
    weights : str
        Weight rule.
    reports : tuple of SpectralReport
        One for each m.
    exponent : float
        Minus the least-squares slope of log gap over log m.
    residual : float
        Largest deviation of log gap from the fit. It is large if the gap is not a power
        of m; on exponential graphs, for example, the gap falls like 1/log m.
    """

    topology: str
    weights: str
    reports: tuple[SpectralReport, ...]
    exponent: float
    residual: float


def gap_scaling(name: str, ms: Sequence[int], weights: str | None = None) -> Scaling:
    """Compute the gaps of a topology at several sizes and fit their exponent.

    Parameters
    ----------
    name : str
        Name of the topology.
    ms : sequence of int
        At least two distinct numbers of clients.
    weights : str, optional
        Weight rule; by default as in :func:`spectral_report`.

    Returns
    -------
    Scaling
        The gaps and the fit.

    Raises
    ------
    InputError
        If ``ms`` does not contain two different numbers.
    """
    if len(set(ms)) < 2:
        raise InputError(
            f"ms = {list(ms)} must contain at least two different numbers of clients"
        )
    reports = tuple(spectral_report(name, m=m, weights=weights) for m in ms)
    x = np.log([report.m for report in reports])
    y = np.log([report.gap for report in reports])
    slope, offset = np.polyfit(x, y, 1)
    residual = float(np.abs(y - slope * x - offset).max())
    is_directed = topology(name, 1).is_directed()
    default = "column_stochastic" if is_directed else "metropolis"
    exponent = 0.0 - float(slope)  # the gap of a complete graph has 0, not -0
    return Scaling(name, weights or default, reports, exponent, residual)


__all__ = ["Scaling", "gap_scaling"]
