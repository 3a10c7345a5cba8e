"""Black-and-white figures of a network and of its spectrum."""

# matplotlib does not annotate keyword arguments
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from dfltheory.errors import InputError
from dfltheory.graphs.graph_types import Graph, distance_layout, is_connected
from dfltheory.graphs.matrices import adjacency
from dfltheory.graphs.spectral import eigenvalues

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LARGEST_DRAWN = 2000
"""Largest number of clients of a drawn graph."""
_MOST_NUMBERED = 36
"""Largest number of clients that are labeled with their numbers."""

INK = "0.1"
GRAY = "0.55"
_DASHED = (0, (5, 3))

_ON_CIRCLE = {
    "ring",
    "directed_ring",
    "complete",
    "exponential",
    "directed_exponential",
    "random_out_degree",
}
"""Topologies that are drawn on a circle."""


def plot_topology(graph: Graph, W: object, title: str | None = None) -> Figure:
    """Draw a graph on the left and the spectrum of W on the right.

    Parameters
    ----------
    graph : networkx.Graph
        The graph.
    W : matrix
        A mixing matrix.
    title : str, optional
        Title of the figure.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.25))
    draw_graph(graph, left)
    draw_spectrum(W, right)
    if title:
        figure.suptitle(title, fontsize=10)
    return figure


def draw_graph(graph: Graph, ax: Axes) -> Axes:
    """Draw clients and links; arrows show the direction of arcs.

    Parameters
    ----------
    graph : networkx.Graph
        At most :data:`LARGEST_DRAWN` clients. Clients of small graphs are numbered.
    ax : matplotlib.axes.Axes
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InputError
        If the graph has too many clients.
    """
    m = graph.number_of_nodes()
    if m > LARGEST_DRAWN:
        raise InputError(f"m = {m}: draw a graph of at most {LARGEST_DRAWN} clients")
    places = positions(graph)
    receivers, senders = sp.coo_array(adjacency(graph)).coords
    width = float(np.clip(40 / max(len(receivers), 1), 0.15, 0.9))
    if graph.is_directed():
        _draw_arcs(ax, places, senders, receivers, width)
        links = f"{len(receivers)} arcs"
    else:
        _draw_links(ax, places, senders, receivers, width)
        links = f"{len(receivers) // 2} links"
    area = _radius(m) ** 2 * 4
    ax.scatter(*places.T, s=area, c="white", edgecolors=INK, linewidths=0.9, zorder=2)
    if m <= _MOST_NUMBERED:
        size = 6.5 if m <= 20 else 5
        for number, (x, y) in enumerate(places):
            ax.text(
                x,
                y,
                str(number),
                zorder=3,
                ha="center",
                va="center",
                fontsize=size,
                color=INK,
            )
    ax.set_title(f"{m} clients, {links}", fontsize=9)
    ax.set(xlim=(-1.18, 1.18), ylim=(-1.18, 1.18), aspect="equal")
    ax.axis("off")
    return ax


def _draw_arcs(
    ax: Axes,
    places: np.ndarray,
    senders: np.ndarray,
    receivers: np.ndarray,
    width: float,
) -> None:
    """Draw each arc as an arrow that ends at the circle of its receiver."""
    margin = _radius(len(places)) + 0.5  # points: arrows end at the circles
    arrow = {
        "arrowstyle": "-|>",
        "color": GRAY,
        "lw": width,
        "mutation_scale": 7,
        "shrinkA": margin,
        "shrinkB": margin,
    }
    for sender, receiver in zip(senders, receivers):
        start_x, start_y = places[sender]
        end_x, end_y = places[receiver]
        ax.annotate("", (end_x, end_y), (start_x, start_y), arrowprops=arrow, zorder=1)


def _draw_links(
    ax: Axes,
    places: np.ndarray,
    senders: np.ndarray,
    receivers: np.ndarray,
    width: float,
) -> None:
    """Draw each link as one line."""
    from matplotlib.collections import LineCollection

    once = receivers < senders  # each link is stored in both directions
    ends = np.stack([places[receivers[once]], places[senders[once]]], axis=1)
    lines = LineCollection(list(ends), colors=GRAY, linewidths=width, zorder=1)
    ax.add_collection(lines)


def draw_spectrum(W: object, ax: Axes) -> Axes:
    """Draw the eigenvalues of a mixing matrix with its gap.

    Parameters
    ----------
    W : matrix
        Eigenvalues of a symmetric W are drawn by rank, others in the unit disc.
    ax : matplotlib.axes.Axes
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    values = eigenvalues(W)
    if np.isrealobj(values):
        return _draw_real_spectrum(values, ax)
    return _draw_complex_spectrum(values, ax)


def _draw_real_spectrum(values: np.ndarray, ax: Axes) -> Axes:
    """Draw real eigenvalues by rank, and the gap as a gray band."""
    m = len(values)
    rank = np.arange(1, m + 1)
    others = np.delete(values, np.argmax(values))
    lam = float(np.abs(others).max()) if m > 1 else 0.0
    ax.axhspan(lam, 1, color="0.9", zorder=0)
    ax.axhline(0, color=GRAY, lw=0.6, zorder=1)
    for y in (lam, -lam):
        ax.axhline(y, color=INK, lw=0.7, ls=_DASHED, zorder=1)
    if m <= 64:
        ax.vlines(rank, 0, values, color=GRAY, lw=0.7, zorder=1)
    if m <= 200:
        _draw_circles(ax, rank, values)
    else:
        ax.plot(rank, values, color=INK, lw=1.2, zorder=2)
    ax.set(xlabel="rank $k$", ylabel=r"eigenvalue $\lambda_k(W)$", ylim=(-1.08, 1.08))
    ax.set_xlim(1 - 0.03 * m, m + 0.03 * m)
    return _finish_spectrum(ax, lam, 1 - lam, r"$\lambda$")


def _draw_complex_spectrum(values: np.ndarray, ax: Axes) -> Axes:
    """Draw eigenvalues in the unit disc, and the gap as a gray ring."""
    angle = np.linspace(0, 2 * np.pi, 400)
    x = np.cos(angle)
    y = np.sin(angle)
    others = np.delete(values, np.argmin(np.abs(values - 1)))
    radius = float(np.abs(others).max()) if len(others) else 0.0
    ax.fill(x, y, color="0.9", zorder=0)
    ax.fill(radius * x, radius * y, color="white", zorder=0)
    ax.plot(x, y, color=INK, lw=0.8, zorder=1)
    ax.plot(radius * x, radius * y, color=INK, lw=0.7, ls=_DASHED, zorder=1)
    _draw_circles(ax, np.real(values), np.imag(values))
    limits = (-1.1, 1.1)
    ax.set(xlabel=r"Re $\lambda_k(W)$", ylabel=r"Im $\lambda_k(W)$")
    ax.set(aspect="equal", xlim=limits, ylim=limits)
    return _finish_spectrum(ax, radius, 1 - radius, r"$|\lambda|_2$")


def _draw_circles(ax: Axes, x: np.ndarray, y: np.ndarray) -> None:
    """Draw points as empty circles."""
    ax.plot(
        x, y, ls="none", marker="o", ms=3.5, mfc="white", mec=INK, mew=0.9, zorder=2
    )


def _finish_spectrum(ax: Axes, lam: float, gap: float, name: str) -> Axes:
    """Set the title with lambda and the gap, and the font sizes."""
    ax.set_title(f"{name} = {lam:.4g},  gap $1-${name} = {gap:.3g}", fontsize=9)
    ax.tick_params(labelsize=7.5)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set_fontsize(8.5)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def positions(graph: Graph) -> np.ndarray:
    """Return the positions of the clients in a drawing.

    Grids and tori are drawn as lattices. Vertex-transitive and large graphs are drawn
    on a circle, and others so that distances match path lengths (Kamada and Kawai).

    Parameters
    ----------
    graph : networkx.Graph
        The graph.

    Returns
    -------
    (m, 2) array
        Positions in the square [-1, 1]^2.
    """
    m = graph.number_of_nodes()
    kind = graph.graph.get("topology")
    if kind in ("grid", "torus") and min(graph.graph["sides"]) > 1:
        places = _lattice_positions(m, *graph.graph["sides"], bent=kind == "torus")
    elif kind == "two_cliques" and m > 3:
        half = m // 2
        left = _circle(half) - [1.6, 0]
        right = _circle(m - half) * [-1, 1] + [1.6, 0]
        places = np.vstack([left, right])
    elif (
        kind not in _ON_CIRCLE and 2 < m <= 150 and is_connected(graph.to_undirected())
    ):
        places = distance_layout(graph.to_undirected())
    else:
        places = _circle(m)
    return places / max(float(np.abs(places).max()), 1e-9)


def _lattice_positions(m: int, rows: int, columns: int, *, bent: bool) -> np.ndarray:
    """Return lattice positions; ``bent`` makes a torus's wrap-around links visible."""
    row, column = np.divmod(np.arange(m), columns)
    x = column - (columns - 1) / 2
    y = (rows - 1) / 2 - row
    places = np.stack([x, y], axis=1)
    if not bent:
        return places
    shift_x = np.cos(np.pi * row / rows * 2)
    shift_y = np.sin(np.pi * column / columns * 2)
    return places + 0.18 * np.stack([shift_x, shift_y], axis=1)


def _circle(m: int) -> np.ndarray:
    """Return m points on the unit circle, clockwise from the top; 0 for m = 1."""
    angle = math.pi / 2 - 2 * math.pi * np.arange(m) / m
    return np.stack([np.cos(angle), np.sin(angle)], axis=1) * (m > 1)


def _radius(m: int) -> float:
    """Return the radius of a client's circle in points."""
    return float(np.clip(26 / math.sqrt(m), 0.8, 6.5))
