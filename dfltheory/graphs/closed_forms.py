"""Spectra that are known in closed form, so that a million clients need no matrix at all.

Every weight rule here is W = I - alpha L with one constant alpha, so that the spectrum of the graph
Laplacian L decides; its eigenvalues are written with sin^2, which keeps the gap of a huge ring to full
relative precision where 1 - cos would lose it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfltheory.graphs.matrices import check_clients
from dfltheory.graphs.topologies import check_sides, hops


@dataclass(frozen=True, eq=False)
class LaplacianSpectrum:
    """All m eigenvalues of L (ascending, the first is 0), and what the weight rules ask of the graph.

    ``max_degree``; ``regular``: every client has that degree; ``even_links``: max(d_i, d_j) is the same on
    every link, so that Metropolis weights are one constant.
    """

    values: np.ndarray
    max_degree: int
    regular: bool
    even_links: bool

    def alpha(self, rule: str) -> float | None:
        """alpha with W = I - alpha L under the rule, or None where the rule is of another form."""
        equal = 1.0 / (1.0 + self.max_degree)
        if rule == "max_degree" or (rule == "metropolis" and self.even_links):
            return equal
        if rule == "lazy" and self.even_links:
            return equal / 2
        if rule in ("uniform", "row_stochastic", "column_stochastic") and self.regular:
            return equal
        if rule == "laplacian":
            return 2.0 / (self.values[1] + self.values[-1]) if len(self.values) > 1 else 0.0
        return None


def laplacian_spectrum(name: str, m: int, sides: tuple[int, int] | None = None) -> LaplacianSpectrum | None:
    """The Laplacian spectrum of an undirected topology, or None where no closed form is known.

    Known for ring, path, star, complete, grid, torus, hypercube and exponential.
    """
    m = check_clients(m)
    if name == "complete":
        return _regular(np.r_[0.0, np.full(m - 1, float(m))], m - 1)
    if name == "star":
        values = np.r_[0.0, np.ones(max(m - 2, 0)), np.full(min(m - 1, 1), float(m))]
        return LaplacianSpectrum(values, m - 1, m <= 2, True)
    if name == "ring":
        return _regular(np.sort(_cycle(m)), min(m - 1, 2))
    if name == "path":
        return LaplacianSpectrum(_path(m), min(m - 1, 2), m <= 2, True)
    if name == "hypercube":
        return _regular(np.sort(2.0 * np.bitwise_count(np.arange(m))), m.bit_length() - 1)
    if name == "torus":
        a, b = check_sides(m, sides)
        values = np.sort(np.add.outer(_cycle(a), _cycle(b)).ravel())
        return _regular(values, min(a - 1, 2) + min(b - 1, 2))
    if name == "grid":
        a, b = check_sides(m, sides)
        values = np.sort(np.add.outer(_path(a), _path(b)).ravel())
        return LaplacianSpectrum(
            values, min(a - 1, 2) + min(b - 1, 2), max(a, b) <= 2, 1 in (a, b) or a == b == 2
        )
    if name == "exponential":
        neighbors = {step % m for s in hops(m) for step in (s, -s)}  # of client 0
        return _regular(np.sort(_circulant(m, hops(m))), len(neighbors))
    return None


def directed_modulus(name: str, m: int) -> np.ndarray | None:
    """|lambda_k| - 1 at the frequencies k = 0..m/2 or further, for uniform weights on a directed circulant.

    Its matrix is normal, so that ||W - 11'/m|| = max over k > 0 of |lambda_k|. Directed ring:
    |1 + w|/2 = |cos(pi k/m)|; directed exponential: by the FFT of the first column.
    """
    m = check_clients(m)
    if name == "directed_ring":
        # cos(x) - 1 = -2 sin(x/2)^2 keeps the tiny gap of a huge ring
        k = np.arange(m)
        angle = np.pi * np.minimum(k, m - k) / m
        return -2.0 * np.sin(angle / 2) ** 2
    if name == "directed_exponential":
        column = np.zeros(m)
        np.add.at(column, [0, *(s % m for s in hops(m))], 1.0 / (1 + len(hops(m))))
        return np.abs(np.fft.rfft(column)) - 1.0
    return None


def _regular(values: np.ndarray, degree: int) -> LaplacianSpectrum:
    return LaplacianSpectrum(values, degree, True, True)


def _cycle(n: int) -> np.ndarray:
    return _circulant(n, [1]) if n > 1 else np.zeros(1)


def _path(n: int) -> np.ndarray:
    return 4.0 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2


def _circulant(m: int, steps: list[int]) -> np.ndarray:
    """Laplacian eigenvalues of the graph i ~ i +- s: sum over s of 4 sin^2(pi k s/m), s = m/2 once."""
    k = np.arange(m)
    total = np.zeros(m)
    for s in {min(s % m, -s % m) for s in steps}:
        phase = (k * s) % m  # exact in integers, so that the angle has no rounding for large k s
        total += (2.0 if 2 * s == m else 4.0) * np.sin(np.pi * np.minimum(phase, m - phase) / m) ** 2
    return total
