"""lambda = ||W - 11'/m||, the spectral gap 1 - lambda, and how fast values agree.

For symmetric W, lambda = max(|lambda_2|, |lambda_m|); for a doubly stochastic W that is not symmetric it is
the second singular value. The way of computing is chosen by the matrix and reported:

``closed form``  a topology by name: a formula for every eigenvalue, no matrix
``fft``          W is circulant, in one or two dimensions (ring, torus, exponential, complete)
``dense``        a small matrix: LAPACK
``lanczos``      a large one: ARPACK on W - 11'/m
``inverse``      a large sparse one with a tiny gap: ARPACK on the pseudo-inverse of I - W
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from dfltheory.errors import InputError
from dfltheory.graphs.closed_forms import directed_modulus, laplacian_spectrum
from dfltheory.graphs.eigen import (
    EPS,
    LARGEST_LINKS,
    LARGEST_WITHOUT_FORM,
    SpectralReport,
    report_of,
    symmetric_report,
)
from dfltheory.graphs.matrices import Matrix, read_matrix, to_dense
from dfltheory.graphs.topologies import topology
from dfltheory.graphs.weights import default_weights, weights


def spectral_report(
    W: Any, *, m: int | None = None, weights: str | None = None, method: str = "auto", **options: Any
) -> SpectralReport:
    """lambda and the spectral gap of W, and the method that found them.

    ``W`` is a doubly stochastic matrix (dense, sparse, torch, a networkx graph: its default weights), or
    the name of a topology with ``m`` clients and a weight rule ``weights`` (default: Metropolis; uniform on
    directed topologies) and the topology's ``options``: then a closed form is used where there is one, and
    a million clients take milliseconds. ``method`` forces one of those of the module.

    >>> spectral_report("ring", m=1_000_000).gap     # 4 pi^2 / (3 m^2)
    1.3159...e-11
    """
    if isinstance(W, str) and m is not None and method in ("auto", "closed form"):
        if report := closed_form_report(W, m, weights, **options):
            return report
        if method == "closed form":
            raise InputError(
                f"no closed form is known for {weights or 'default'} weights on {W} with m = {m}"
            )
    A, eps = read_network(W, m, weights, options)
    return report_of(A, eps, method)


def spectral_gap(W: Any, *, m: int | None = None, weights: str | None = None, **options: Any) -> float:
    """1 - lambda of a doubly stochastic W, or of a topology by name; see :func:`spectral_report`."""
    return spectral_report(W, m=m, weights=weights, **options).gap


def lam(W: Any, *, m: int | None = None, weights: str | None = None, **options: Any) -> float:
    """lambda = ||W - 11'/m|| of a doubly stochastic W, or of a topology by name."""
    return spectral_report(W, m=m, weights=weights, **options).lam


def closed_form_report(name: str, m: int, rule: str | None, **options: Any) -> SpectralReport | None:
    """The report of a topology by closed form, or None where there is none."""
    name = name.replace("-", "_")
    rule = None if rule is None else rule.replace("-", "_")
    if rule in (None, "uniform", "row_stochastic", "column_stochastic") and not options:
        shifted = directed_modulus(name, m)
        if shifted is not None:
            gap = 1.0 if m == 1 else float(-shifted[1:].max())
            return SpectralReport(m, 1.0 - gap, gap, "closed form", 4 * EPS)
    if name == "hypercube":
        topology(name, 1 if m < 1 or m & (m - 1) == 0 else m)  # raises unless m is a power of two
    if set(options) - {"sides"} or (options and name not in ("grid", "torus")):
        return None
    L = laplacian_spectrum(name, m, **options)
    alpha = None if L is None else L.alpha(rule or "metropolis")
    if L is None or alpha is None:
        return None
    if m == 1:
        return SpectralReport(1, 0.0, 1.0, "closed form", 0.0)
    low, high = alpha * float(L.values[1]), alpha * float(L.values[-1])
    return symmetric_report(m, low, 2.0 - high, "closed form", 4 * EPS)


def eigenvalues(W: Any, *, m: int | None = None, weights: str | None = None, **options: Any) -> np.ndarray:
    """All m eigenvalues of W, largest first (of complex ones, by modulus), by closed form where known."""
    if isinstance(W, str) and m is not None:
        L = laplacian_spectrum(W.replace("-", "_"), m, **options) if set(options) <= {"sides"} else None
        alpha = None if L is None else L.alpha((weights or "metropolis").replace("-", "_"))
        if L is not None and alpha is not None:
            return 1.0 - alpha * L.values
    A, _ = read_network(W, m, weights, options)
    dense = to_dense(A)
    if np.array_equal(dense, dense.T):
        return np.linalg.eigvalsh(dense)[::-1]
    values = np.linalg.eigvals(dense)
    return values[np.argsort(-np.abs(values), kind="stable")]


def phi(lam: Any, m: Any, Q: Any = 1) -> Any:
    """DFedSAM's Phi(lambda, m, Q) = (l^Q + 1)/((1-l)^2 m^(2(Q-1))) + (l^Q + 1)/(1 - l^Q)^2, l = lambda.

    The factor by which the topology enters DFedSAM-MGS's bound (eq. 6). Floats or arrays; infinite at
    lambda = 1. [Shi et al. 2023, Theorem 4.5]
    """
    l, m_, Q_ = (np.asarray(v, dtype=float) for v in (lam, m, Q))
    if not np.all((l >= 0) & (l <= 1)):
        raise InputError(f"lam = {lam} must be between 0 and 1")
    if not np.all(m_ >= 1):
        raise InputError(f"m = {m} must be at least 1")
    if not np.all(Q_ >= 1):
        raise InputError(f"Q = {Q} must be at least 1 gossip step")
    power = l**Q_
    with np.errstate(divide="ignore"):
        value = (power + 1) / (1 - l) ** 2 * m_ ** (-2.0 * (Q_ - 1)) + (power + 1) / (1 - power) ** 2
    return float(value) if value.ndim == 0 else value


# -- how fast values agree -------------------------------------------------------------------------


def mixing_rounds(gap: float, epsilon: float = 0.25) -> float:
    """The least t with (1 - gap)^t <= epsilon; right also where 1 - gap would round to 1."""
    if gap <= 0:
        return math.inf
    return 1 if gap >= 1 else max(1, math.ceil(math.log(epsilon) / math.log1p(-gap) * (1 - 1e-12)))


# -- matrices --------------------------------------------------------------------------------------


def read_network(
    W: Any, m: int | None = None, rule: str | None = None, options: dict[str, Any] | None = None
) -> tuple[Matrix, float]:
    """The matrix of a topology by name, of a graph (default weights) or of a matrix; its rounding unit."""
    if isinstance(W, str):
        if m is None:
            raise InputError(f"topology {W!r} needs the number of clients, m=")
        refuse_too_large(W, m, options or {})
        graph = topology(W, m, **(options or {}))
        return (default_weights(graph, True) if rule is None else weights(graph, rule, sparse=True)), EPS
    if m is not None or rule is not None or options:
        raise InputError("m, weights and options go with a topology's name, not with a matrix")
    if isinstance(W, nx.Graph) and not nx.is_weighted(W):
        return default_weights(W), EPS
    return read_matrix(W)


def refuse_too_large(name: str, m: int, options: dict[str, Any]) -> None:
    """Refuse to build a graph of more clients or links than a minute is enough for."""
    if not isinstance(m, int | np.integer) or m < 1:
        return  # the topology says what is wrong with it
    p, degree = (v if isinstance(v := options.get(n), (int, float)) else 0 for n in ("p", "degree"))
    dense = {"complete": m / 2, "two_cliques": m / 4, "erdos_renyi": m * p / 2}
    links = m * max(dense.get(name.replace("-", "_"), 0.0), degree)
    if m > LARGEST_WITHOUT_FORM or links > LARGEST_LINKS:
        asked = f"{links:.3g} links" if links > LARGEST_LINKS else f"{m} clients"
        raise InputError(
            f"{name} with {asked} has no closed form here and would have to be built, which takes minutes or "
            f"more: take m <= {LARGEST_WITHOUT_FORM} and at most {LARGEST_LINKS} links"
        )


# -- how gaps scale with m -------------------------------------------------------------------------


@dataclass(frozen=True)
class Scaling:
    """Gaps of one topology at several m, and the exponent p of the fit gap ~ c m^-p.

    ``exponent`` is the least-squares slope of log gap over log m, ``residual`` the largest deviation of the
    fit in log gap: large where the gap is no power of m (it falls like 1/log m on exponential graphs).
    """

    topology: str
    weights: str
    reports: tuple[SpectralReport, ...]
    exponent: float
    residual: float


def gap_scaling(name: str, ms: Sequence[int], weights: str | None = None) -> Scaling:
    """The gaps of the topology ``name`` at the sizes ``ms`` and their fitted scaling exponent."""
    if len(set(ms)) < 2:
        raise InputError("a scaling exponent needs at least two different numbers of clients m")
    reports = tuple(spectral_report(name, m=m, weights=weights) for m in ms)
    x, y = np.log([r.m for r in reports]), np.log([r.gap for r in reports])
    slope, offset = np.polyfit(x, y, 1)
    residual = float(np.abs(y - slope * x - offset).max())
    rule = weights or ("column_stochastic" if name.startswith("directed") else "metropolis")
    return Scaling(name, rule, reports, 0.0 - float(slope), residual)
