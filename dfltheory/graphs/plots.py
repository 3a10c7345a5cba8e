"""Pictures of a network and of its spectrum, for paper: Axes in, Axes out, black on white."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from dfltheory.errors import InputError
from dfltheory.graphs.matrices import adjacency
from dfltheory.graphs.spectral import eigenvalues

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST_DRAWN = 2000
"""Graphs with more clients are not drawn: nothing could be seen."""

INK, GRAY = "0.1", "0.55"

_ROUND = {"ring", "directed_ring", "complete", "exponential", "directed_exponential", "random_out_degree"}


def plot_topology(graph: nx.Graph, W: Any, title: str | None = None) -> Figure:
    """The graph on the left and the spectrum of W on the right."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    draw_graph(graph, left)
    draw_spectrum(W, right)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


def draw_graph(graph: nx.Graph, ax: Axes) -> Axes:
    """The clients and their links; arrows where they are directed, numbers where there is room."""
    from matplotlib.collections import LineCollection

    m = graph.number_of_nodes()
    if m > LARGEST_DRAWN:
        raise InputError(f"a graph of {m} clients cannot be seen in a picture: draw at most {LARGEST_DRAWN}")
    at = positions(graph)
    i, j = sp.coo_array(adjacency(graph)).coords  # j -> i
    width = float(np.clip(40 / max(len(i), 1), 0.15, 0.9))
    if graph.is_directed():
        arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": GRAY, "lw": width, "mutation_scale": 7}
        arrow |= dict.fromkeys(("shrinkA", "shrinkB"), _radius(m) + 0.5)  # points: they stop at the circles
        for a, b in zip(j, i):
            ax.annotate("", at[b], at[a], arrowprops=arrow, zorder=1)
    else:
        ends = list(np.stack([at[i[i < j]], at[j[i < j]]], axis=1))
        ax.add_collection(LineCollection(ends, colors=GRAY, linewidths=width, zorder=1))
    ax.scatter(*at.T, s=_radius(m) ** 2 * 4, c="white", edgecolors=INK, linewidths=0.9, zorder=2)
    number: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5 if m <= 20 else 5, "color": INK}
    for k, (x, y) in enumerate(at if m <= 36 else ()):
        ax.text(x, y, str(k), zorder=3, **number)
    links = f"{len(i)} arcs" if graph.is_directed() else f"{len(i) // 2} links"
    ax.set_title(f"{m} clients, {links}", fontsize=9)
    ax.set(xlim=(-1.18, 1.18), ylim=(-1.18, 1.18), aspect="equal")
    ax.axis("off")
    return ax


def draw_spectrum(W: Any, ax: Axes) -> Axes:
    """Eigenvalues of a symmetric W by rank with the gap marked, or of any other W in the unit disc."""
    values = eigenvalues(W)
    return _real_spectrum(values, ax) if np.isrealobj(values) else _complex_spectrum(values, ax)


def _real_spectrum(values: np.ndarray, ax: Axes) -> Axes:
    m = len(values)
    rank = np.arange(1, m + 1)
    lam = float(np.abs(np.delete(values, np.argmax(values))).max()) if m > 1 else 0.0
    ax.axhspan(lam, 1, color="0.9", zorder=0)
    ax.axhline(0, color=GRAY, lw=0.6, zorder=1)
    for y in (lam, -lam):
        ax.axhline(y, color=INK, lw=0.7, ls=(0, (5, 3)), zorder=1)
    if m <= 64:
        ax.vlines(rank, 0, values, color=GRAY, lw=0.7, zorder=1)
    style: dict[str, Any] = {"ls": "none", "marker": "o", "ms": 3.5, "mfc": "white", "mec": INK, "mew": 0.9}
    ax.plot(rank, values, **(style if m <= 200 else {"color": INK, "lw": 1.2}), zorder=2)
    ax.set(xlabel="rank $k$", ylabel=r"eigenvalue $\lambda_k(W)$", ylim=(-1.08, 1.08))
    ax.set_xlim(1 - 0.03 * m, m + 0.03 * m)
    return _dress(ax, lam, 1 - lam)


def _complex_spectrum(values: np.ndarray, ax: Axes) -> Axes:
    angle = np.linspace(0, 2 * np.pi, 400)
    rest = np.delete(values, np.argmin(np.abs(values - 1)))
    real, imaginary = np.real(values), np.imag(values)
    radius = float(np.abs(rest).max()) if len(rest) else 0.0
    ax.fill(np.cos(angle), np.sin(angle), color="0.9", zorder=0)
    ax.fill(radius * np.cos(angle), radius * np.sin(angle), color="white", zorder=0)
    ax.plot(np.cos(angle), np.sin(angle), color=INK, lw=0.8, zorder=1)
    ax.plot(radius * np.cos(angle), radius * np.sin(angle), color=INK, lw=0.7, ls=(0, (5, 3)), zorder=1)
    ax.plot(real, imaginary, ls="none", marker="o", ms=3.5, mfc="white", mec=INK, mew=0.9, zorder=2)
    ends = (-1.1, 1.1)
    ax.set(xlabel=r"Re $\lambda_k(W)$", ylabel=r"Im $\lambda_k(W)$", aspect="equal", xlim=ends, ylim=ends)
    return _dress(ax, radius, 1 - radius, name=r"$|\lambda|_2$")


def _dress(ax: Axes, lam: float, gap: float, name: str = r"$\lambda$") -> Axes:
    ax.set_title(f"{name} = {lam:.4g},  gap $1-${name} = {gap:.3g}", fontsize=9)
    ax.tick_params(labelsize=7.5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_fontsize(8.5)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def positions(graph: nx.Graph) -> np.ndarray:
    """(m, 2) places in the square [-1, 1]^2: lattices as lattices, what looks the same from every client and
    large graphs on a circle, all else by their distances (Kamada and Kawai)."""
    m = graph.number_of_nodes()
    kind = graph.graph.get("topology")
    k = np.arange(m)
    if kind in ("grid", "torus") and min(graph.graph["sides"]) > 1:
        rows, columns = graph.graph["sides"]
        r, c = np.divmod(k, columns)
        at = np.stack([c - (columns - 1) / 2, (rows - 1) / 2 - r], axis=1)
        if kind == "torus":  # bend the rows a little, so that links around the back can be seen
            at = at + 0.18 * np.stack([np.cos(np.pi * r / rows * 2), np.sin(np.pi * c / columns * 2)], axis=1)
    elif kind == "two_cliques" and m > 3:
        half = m // 2
        at = np.vstack([_circle(half) - [1.6, 0], _circle(m - half) * [-1, 1] + [1.6, 0]])
    elif kind not in _ROUND and 2 < m <= 150 and nx.is_connected(graph.to_undirected()):
        at = np.array([*nx.kamada_kawai_layout(graph.to_undirected()).values()])
    else:
        at = _circle(m)
    return at / max(float(np.abs(at).max()), 1e-9)


def _circle(m: int) -> np.ndarray:
    angle = math.pi / 2 - 2 * math.pi * np.arange(m) / m
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * (m > 1)


def _radius(m: int) -> float:
    """Of a client's circle, in points."""
    return float(np.clip(26 / math.sqrt(m), 0.8, 6.5))
