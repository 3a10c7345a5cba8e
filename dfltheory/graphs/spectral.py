"""lambda = ||W - 11'/m||, the spectral gap 1 - lambda, and their consequences.

For symmetric W, lambda = max(|lambda_2|, |lambda_m|). For a doubly stochastic W that is
not symmetric, it is the second singular value. The method depends on the matrix and is
reported:

``closed form``  a topology by name: formulas, no matrix
``fft``          W is circulant in one or two dimensions (ring, torus, exponential, ...)
``dense``        a small matrix: LAPACK
``lanczos``      a large matrix: ARPACK on W - 11'/m
``inverse``      a large sparse matrix with a small gap: ARPACK on (I - W)^+
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from typing import Unpack

import numpy as np

from dfltheory.errors import InputError
from dfltheory.graphs.closed_forms import (
    closed_form_eigenvalues,
    directed_modulus,
    one_minus_eigenvalues,
)
from dfltheory.graphs.eigen import (
    EPS,
    LARGEST_LINKS,
    LARGEST_WITHOUT_FORM,
    SpectralReport,
    report_of,
    symmetric_report,
)
from dfltheory.graphs.matrices import Matrix, is_unweighted_graph, read_matrix, to_dense
from dfltheory.graphs.topologies import TopologyOptions, topology, topology_key
from dfltheory.graphs.weights import default_weights, weights


class NamedOptions(TopologyOptions, total=False):
    """Weight rule and options of a topology by name."""

    weights: str | None


def spectral_report(
    W: object,
    *,
    m: int | None = None,
    weights: str | None = None,
    method: str = "auto",
    **options: Unpack[TopologyOptions],
) -> SpectralReport:
    """Return lambda, the spectral gap, and the method that computed them.

    Parameters
    ----------
    W : matrix, networkx graph or str
        A doubly stochastic matrix (dense, sparse or torch); a graph, with its edge
        weights or else its default weights; or the name of a topology. For a name with
        a closed form, a million clients take milliseconds.
    m : int, optional
        Number of clients of a topology by name.
    weights : str, optional
        Weight rule of a topology by name. By default Metropolis weights, or
        ``column_stochastic`` (1/out-degree) on directed topologies.
    method : str
        "auto" or one of the methods of this module.
    **options
        Options of the topology.

    Returns
    -------
    SpectralReport
        The report.

    Raises
    ------
    GraphError
        If W is not doubly stochastic.
    InputError
        If the method does not apply, or the graph is too large.

    Examples
    --------
    >>> spectral_report("ring", m=1_000_000).gap     # 4 pi^2 / (3 m^2)
    1.3159...e-11
    """
    if isinstance(W, str) and m is not None and method in ("auto", "closed form"):
        report = closed_form_report(W, m, weights, **options)
        if report is not None:
            return report
        if method == "closed form":
            rule = weights or "default"
            raise InputError(
                f"no closed form is known for {rule} weights on {W} with m = {m}"
            )
    A, eps = read_network(W, m, weights, options)
    return report_of(A, eps, method)


def spectral_gap(
    W: object,
    *,
    m: int | None = None,
    weights: str | None = None,
    **options: Unpack[TopologyOptions],
) -> float:
    """Return 1 - lambda; parameters as in :func:`spectral_report`."""
    return spectral_report(W, m=m, weights=weights, **options).gap


def lam(
    W: object,
    *,
    m: int | None = None,
    weights: str | None = None,
    **options: Unpack[TopologyOptions],
) -> float:
    """Return lambda = ||W - 11'/m||; parameters as in :func:`spectral_report`."""
    return spectral_report(W, m=m, weights=weights, **options).lam


def closed_form_report(
    name: str, m: int, rule: str | None, **options: Unpack[TopologyOptions]
) -> SpectralReport | None:
    """Return the report of a topology from formulas.

    Parameters
    ----------
    name : str
        Name of the topology.
    m : int
        Number of clients.
    rule : str or None
        Weight rule; None selects the default weights.
    **options
        Options of the topology.

    Returns
    -------
    SpectralReport or None
        None if there is no closed form.
    """
    key = topology_key(name)
    rule = None if rule is None else rule.replace("-", "_")
    is_uniform = rule in (None, "uniform", "row_stochastic", "column_stochastic")
    if is_uniform and not options:
        shifted = directed_modulus(key, m)
        if shifted is not None:
            gap = 1.0 if m == 1 else float(-shifted[1:].max())
            return SpectralReport(m, 1.0 - gap, gap, "closed form", 4 * EPS)
    distances_from_one = one_minus_eigenvalues(key, m, rule, **options)
    if distances_from_one is None:
        return None
    if m == 1:
        return SpectralReport(1, 0.0, 1.0, "closed form", 0.0)
    below_one = float(distances_from_one[1])
    above_minus_one = 2.0 - float(distances_from_one[-1])
    return symmetric_report(m, below_one, above_minus_one, "closed form", 4 * EPS)


def eigenvalues(
    W: object,
    *,
    m: int | None = None,
    weights: str | None = None,
    **options: Unpack[TopologyOptions],
) -> np.ndarray:
    """Return all eigenvalues of W; parameters as in :func:`spectral_report`.

    W need not be doubly stochastic.

    Returns
    -------
    (m,) array
        Of a symmetric W in descending order; of others in descending order of modulus,
        and complex unless all eigenvalues are real.
    """
    if isinstance(W, str) and m is not None:
        values = closed_form_eigenvalues(W, m, weights, **options)
        if values is not None:
            return values
    A, _ = read_network(W, m, weights, options)
    dense = to_dense(A)
    if np.array_equal(dense, dense.T):
        return np.linalg.eigvalsh(dense)[::-1]
    values = np.linalg.eigvals(dense)
    return values[np.argsort(-np.abs(values), kind="stable")]


def phi(lam: object, m: object, Q: object = 1) -> object:
    """Return Phi, the network factor in the bound of DFedSAM-MGS.

    Phi = (lam^Q + 1)/((1 - lam)^2 m^(2(Q-1))) + (lam^Q + 1)/(1 - lam^Q)^2.

    Parameters
    ----------
    lam : float or array
        In [0, 1].
    m : int or array
        Number of clients.
    Q : int or array
        Number of gossip steps.

    Returns
    -------
    float or array
        Phi; infinite at lam = 1.

    Raises
    ------
    InputError
        If an argument is out of range.

    References
    ----------
    Shi et al. (2023), Theorem 4.5 and eq. 6.
    """
    lam_values = np.asarray(lam, dtype=float)
    m_values = np.asarray(m, dtype=float)
    Q_values = np.asarray(Q, dtype=float)
    if not np.all((lam_values >= 0) & (lam_values <= 1)):
        raise InputError(f"lam = {lam} must be between 0 and 1")
    if not np.all(m_values >= 1):
        raise InputError(f"m = {m} must be at least 1")
    if not np.all(Q_values >= 1):
        raise InputError(f"Q = {Q} must be at least 1 gossip step")
    power = lam_values**Q_values
    with np.errstate(divide="ignore"):
        first = (
            (power + 1) / (1 - lam_values) ** 2 * m_values ** (-2.0 * (Q_values - 1))
        )
        value = first + (power + 1) / (1 - power) ** 2
    return float(value) if value.ndim == 0 else value


def mixing_rounds(gap: float, epsilon: float = 0.25) -> float:
    """Return the smallest t with (1 - gap)^t <= epsilon.

    The result is correct even for gaps so small that 1 - gap rounds to 1.

    Parameters
    ----------
    gap : float
        The spectral gap.
    epsilon : float
        In (0, 1).

    Returns
    -------
    int or float
        The number of rounds, at least 1; infinite if gap <= 0.

    Raises
    ------
    InputError
        If gap is not one number, or epsilon is not in (0, 1).
    """
    if np.ndim(gap) != 0 or math.isnan(gap):
        raise InputError(
            "gap must be one number: dfltheory.graphs.spectral_gap computes that of a"
            " matrix"
        )
    if not 0 < epsilon < 1:
        raise InputError(f"epsilon = {epsilon} must lie in (0, 1)")
    if gap <= 0:
        return math.inf
    if gap >= 1:
        return 1
    exact = math.log(epsilon) / math.log1p(-gap)
    return max(1, math.ceil(exact * (1 - 1e-12)))


def read_network(
    W: object,
    m: int | None = None,
    rule: str | None = None,
    options: TopologyOptions | None = None,
) -> tuple[Matrix, float]:
    """Return the matrix of a network, and the rounding unit of its type.

    Parameters
    ----------
    W : matrix, networkx graph or str
        A matrix, a graph (with its weights or the default weights), or the name of a
        topology.
    m : int, optional
        Number of clients of a topology by name.
    rule : str, optional
        Weight rule of a topology by name.
    options : dict, optional
        Options of a topology by name.

    Returns
    -------
    W : matrix
        The matrix.
    eps : float
        The rounding unit.

    Raises
    ------
    InputError
        If ``m`` is missing for a name, or one of ``m``, ``rule`` and ``options`` is
        given with a matrix or a graph.
    """
    if isinstance(W, str):
        if m is None:
            raise InputError(f"topology {W!r} needs the number of clients, m=")
        options = options or {}
        refuse_too_large(W, m, options)
        graph = topology(W, m, **options)
        if rule is None:
            return default_weights(graph, True), EPS
        return weights(graph, rule, sparse=True), EPS
    if m is not None or rule is not None or options:
        raise InputError(
            "m, weights and options are given with a matrix or a graph, but apply only"
            " to the name of a topology: omit them"
        )
    if is_unweighted_graph(W):
        return default_weights(W), EPS
    return read_matrix(W)


def _is_count(value: object) -> bool:
    """Return whether a value is an integer of at least 1."""
    return isinstance(value, numbers.Integral) and int(value) >= 1


def refuse_too_large(name: str, m: int, options: Mapping[str, object]) -> None:
    """Raise an error if building a topology would take more than about a minute.

    Parameters
    ----------
    name : str
        Name of the topology.
    m : int
        Number of clients. Invalid numbers are accepted here and rejected by the
        topology.
    options : dict
        Options of the topology.

    Raises
    ------
    InputError
        If there are too many clients or links.
    """
    if not _is_count(m):
        return
    p = _number_or_zero(options.get("p"))
    degree = _number_or_zero(options.get("degree"))
    links_per_client = {
        "complete": m / 2,
        "two_cliques": m / 4,
        "erdos_renyi": m * p / 2,
    }
    links = m * max(links_per_client.get(topology_key(name), 0.0), degree)
    if m > LARGEST_WITHOUT_FORM or links > LARGEST_LINKS:
        size = f"{links:.3g} links" if links > LARGEST_LINKS else f"{m} clients"
        raise InputError(
            f"{name} with {size} has no closed form, and building it takes minutes or"
            f" more: take m <= {LARGEST_WITHOUT_FORM} and at most {LARGEST_LINKS} links"
        )


def _number_or_zero(option: object) -> float:
    """Return an option, or 0 if it is not a number."""
    return option if isinstance(option, (int, float)) else 0
