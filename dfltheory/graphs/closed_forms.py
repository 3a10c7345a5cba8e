"""Closed-form spectra, computed without a matrix even for a million clients.

The weight rules here have the form W = I - alpha L with a constant alpha and the graph
Laplacian L. Eigenvalues of L are written with sin^2: 1 - cos would lose the relative
precision of the gap of a large ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from dfltheory.errors import InputError
from dfltheory.graphs.matrices import check_clients
from dfltheory.graphs.topologies import (
    TopologyOptions,
    check_sides,
    hops,
    topology,
    topology_key,
)

LARGEST_WITH_FORM = 10**7
"""Largest number of clients for a closed form, which stores m eigenvalues."""


@dataclass(frozen=True, eq=False)
class LaplacianSpectrum:
    """The spectrum of a graph Laplacian, and the degrees that weight rules use.

    Attributes
    ----------
    values : (m,) array
        Eigenvalues in ascending order; the first is 0.
    max_degree : int
        Largest degree.
    regular : bool
        Whether all clients have degree ``max_degree``.
    even_links : bool
        Whether max(d_i, d_j) is equal on all links, so that Metropolis weights are
        constant.
    """

    values: np.ndarray
    max_degree: int
    regular: bool
    even_links: bool

    def alpha(self, rule: str) -> float | None:
        """Return the alpha of W = I - alpha L under a weight rule.

        Parameters
        ----------
        rule : str
            Name of a weight rule.

        Returns
        -------
        float or None
            None if the weights of this rule do not have the form I - alpha L.
        """
        equal = 1.0 / (1.0 + self.max_degree)
        if rule == "max_degree":
            return equal
        if rule == "metropolis":
            return equal if self.even_links else None
        if rule == "lazy":
            return equal / 2 if self.even_links else None
        if rule in ("uniform", "row_stochastic", "column_stochastic"):
            return equal if self.regular else None
        if rule == "laplacian":
            if len(self.values) == 1:
                return 0.0
            return 2.0 / (self.values[1] + self.values[-1])
        return None


def laplacian_spectrum(
    name: str, m: int, sides: tuple[int, int] | None = None
) -> LaplacianSpectrum | None:
    """Return the Laplacian spectrum of an undirected topology.

    Parameters
    ----------
    name : str
        Name of the topology. Closed forms exist for ring, path, star, complete, grid,
        torus, hypercube and exponential.
    m : int
        Number of clients.
    sides : pair of int, optional
        Sides of a grid or torus.

    Returns
    -------
    LaplacianSpectrum or None
        None if there is no closed form.

    Raises
    ------
    InputError
        If m is above :data:`LARGEST_WITH_FORM`.
    """
    m = _storable(m)
    if name == "complete":
        return _regular(np.r_[0.0, np.full(m - 1, float(m))], m - 1)
    if name == "star":
        ones = np.ones(max(m - 2, 0))
        largest = np.full(min(m - 1, 1), float(m))
        values = np.r_[0.0, ones, largest]
        return LaplacianSpectrum(values, m - 1, m <= 2, True)
    if name == "ring":
        return _regular(np.sort(_cycle_values(m)), min(m - 1, 2))
    if name == "path":
        return LaplacianSpectrum(_path_values(m), min(m - 1, 2), m <= 2, True)
    if name == "hypercube":
        values = np.sort(2.0 * np.bitwise_count(np.arange(m)))
        return _regular(values, m.bit_length() - 1)
    if name in ("torus", "grid"):
        return _lattice_spectrum(name, *check_sides(m, sides))
    if name == "exponential":
        neighbors: set[int] = set()  # of client 0
        for hop in hops(m):
            neighbors |= {hop % m, -hop % m}
        return _regular(np.sort(_circulant_values(m, hops(m))), len(neighbors))
    return None


def one_minus_eigenvalues(
    name: str, m: int, rule: str | None, **options: Unpack[TopologyOptions]
) -> np.ndarray | None:
    """Return 1 - lambda_k of an undirected topology, to full precision.

    Parameters
    ----------
    name : str
        Name of the topology.
    m : int
        Number of clients.
    rule : str or None
        Weight rule; None selects Metropolis weights.
    **options
        Options of the topology. Those that it does not take give None, so that
        building its graph raises an error.

    Returns
    -------
    (m,) array or None
        In ascending order; the first is 0. None if there is no closed form.

    Raises
    ------
    InputError
        If there is no such hypercube, or m is above :data:`LARGEST_WITH_FORM`.
    """
    key = topology_key(name)
    if key == "hypercube":
        # Raises InputError unless m is a power of two, without building a large graph.
        is_valid = m < 1 or m & (m - 1) == 0
        topology(key, 1 if is_valid else m)
    if set(options) - {"sides"} or (options and key not in ("grid", "torus")):
        return None
    spectrum = laplacian_spectrum(key, m, options.get("sides"))
    if spectrum is None:
        return None
    alpha = spectrum.alpha("metropolis" if rule is None else rule.replace("-", "_"))
    return None if alpha is None else alpha * spectrum.values


def closed_form_eigenvalues(
    name: str, m: int, rule: str | None, **options: Unpack[TopologyOptions]
) -> np.ndarray | None:
    """Return all eigenvalues of an undirected topology from formulas.

    Parameters and errors as in :func:`one_minus_eigenvalues`.

    Returns
    -------
    (m,) array or None
        In descending order; the first is 1. None if there is no closed form. W is then
        symmetric and doubly stochastic.
    """
    distances = one_minus_eigenvalues(name, m, rule, **options)
    return None if distances is None else 1.0 - distances


def _storable(m: int) -> int:
    """Return m as an int; raise InputError if m eigenvalues are too many to store."""
    m = check_clients(m)
    if m > LARGEST_WITH_FORM:
        raise InputError(
            f"m = {m} is above {LARGEST_WITH_FORM:.0e}, the largest number of clients"
            " whose spectrum is computed: take fewer"
        )
    return m


def _lattice_spectrum(name: str, a: int, b: int) -> LaplacianSpectrum:
    """Return the spectrum of an a x b grid or torus."""
    degree = min(a - 1, 2) + min(b - 1, 2)
    if name == "torus":
        sums = np.add.outer(_cycle_values(a), _cycle_values(b))
        return _regular(np.sort(sums.ravel()), degree)
    sums = np.add.outer(_path_values(a), _path_values(b))
    is_regular = max(a, b) <= 2
    has_even_links = 1 in (a, b) or a == b == 2
    return LaplacianSpectrum(np.sort(sums.ravel()), degree, is_regular, has_even_links)


def directed_modulus(name: str, m: int) -> np.ndarray | None:
    """Return |lambda_k| - 1 of uniform weights on a directed circulant graph.

    The matrix is normal, so ||W - 11'/m|| = max over k > 0 of |lambda_k|. On the
    directed ring, |1 + w|/2 = |cos(pi k/m)|. On the directed exponential graph the
    values come from an FFT of the first column.

    Parameters
    ----------
    name : str
        "directed_ring" or "directed_exponential".
    m : int
        Number of clients.

    Returns
    -------
    array or None
        Values at the frequencies k = 0, 1, ..., at least up to m/2; None for other
        topologies.
    """
    m = _storable(m)
    if name == "directed_ring":
        # cos(x) - 1 = -2 sin(x/2)^2 preserves the small gap of a large ring
        k = np.arange(m)
        angle = np.pi * np.minimum(k, m - k) / m
        return -2.0 * np.sin(angle / 2) ** 2
    if name == "directed_exponential":
        targets = [0, *(hop % m for hop in hops(m))]
        column = np.zeros(m)
        np.add.at(column, targets, 1.0 / (1 + len(hops(m))))
        return np.abs(np.fft.rfft(column)) - 1.0
    return None


def _regular(values: np.ndarray, degree: int) -> LaplacianSpectrum:
    """Return the spectrum of a graph whose clients all have the same degree."""
    return LaplacianSpectrum(values, degree, True, True)


def _cycle_values(n: int) -> np.ndarray:
    """Return the Laplacian eigenvalues (n,) of the cycle of n clients, unsorted."""
    return _circulant_values(n, [1]) if n > 1 else np.zeros(1)


def _path_values(n: int) -> np.ndarray:
    """Return the Laplacian eigenvalues (n,) of the path of n clients, ascending."""
    return 4.0 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2


def _circulant_values(m: int, steps: Sequence[int]) -> np.ndarray:
    """Return the Laplacian eigenvalues (m,) of the graph with links i ~ i +- s mod m.

    The k-th is the sum over the steps s of 4 sin^2(pi k s/m). The term of s = m/2
    counts half, because its two links coincide.
    """
    k = np.arange(m)
    total = np.zeros(m)
    for s in {min(s % m, -s % m) for s in steps}:
        phase = (k * s) % m  # exact integers, so large k s cause no rounding error
        angle = np.pi * np.minimum(phase, m - phase) / m
        factor = 2.0 if 2 * s == m else 4.0
        total += factor * np.sin(angle) ** 2
    return total
