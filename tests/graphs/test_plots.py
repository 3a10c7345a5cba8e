"""Pictures show all clients, links and eigenvalues."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from dfltheory import graphs
from dfltheory.errors import InputError
from dfltheory.graphs.plots import draw_graph, draw_spectrum, plot_topology, positions


@pytest.mark.parametrize("name", sorted(graphs.TOPOLOGIES))
@pytest.mark.parametrize("m", [1, 2, 16])
def test_positions_of_clients_differ(name, m):
    graph = graphs.topology(name, m)
    at = positions(graph)
    assert at.shape == (m, 2)
    assert np.abs(at).max() <= 1 + 1e-9
    distance = np.linalg.norm(at[:, None] - at[None], axis=2) + np.eye(m)
    assert distance.min() > 0.05


@pytest.mark.parametrize("m", [4, 5])
def test_two_cliques_stand_left_and_right(m):
    at = positions(graphs.topology("two_cliques", m))
    assert (at[: m // 2, 0] < 0).all()
    assert (at[m // 2 :, 0] > 0).all()


def test_every_link_is_drawn_once():
    ax = Figure().subplots()
    draw_graph(graphs.torus(12), ax)
    (lines,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    drawn = {frozenset(map(tuple, np.round(s, 9))) for s in lines.get_segments()}
    at = np.round(positions(graphs.torus(12)), 9)
    assert drawn == {
        frozenset((tuple(at[i]), tuple(at[j]))) for i, j in graphs.torus(12).edges
    }
    assert "12 clients, 24 links" in ax.get_title()
    assert {t.get_text() for t in ax.texts} == {str(i) for i in range(12)}


def test_arcs_point_from_sender_to_receiver():
    ax, graph = Figure().subplots(), graphs.directed_ring(5)
    draw_graph(graph, ax)
    at = positions(graph)
    arrows = [t for t in ax.texts if getattr(t, "arrow_patch", None) is not None]
    pairs = {tuple(map(tuple, np.round([a.xyann, a.xy], 9))) for a in arrows}
    assert pairs == {
        tuple(map(tuple, np.round([at[i], at[(i + 1) % 5]], 9))) for i in range(5)
    }


def test_the_spectrum_is_the_spectrum():
    W = graphs.metropolis(graphs.ring(8))
    ax = draw_spectrum(W, Figure().subplots())
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(
        dots.get_ydata(), np.linalg.eigvalsh(W)[::-1], atol=1e-12
    )
    assert f"{graphs.lam(W):.4g}" in ax.get_title()
    P = graphs.uniform(graphs.directed_ring(6))
    ax = draw_spectrum(P, Figure().subplots())
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    found = np.sort_complex(
        np.array(dots.get_xdata()) + 1j * np.array(dots.get_ydata())
    )
    np.testing.assert_allclose(np.abs(found).max(), 1)
    assert "0.866" in ax.get_title()  # cos(pi/6)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_figures_are_written(tmp_path, suffix):
    graph = graphs.exponential(16)
    path = tmp_path / f"x.{suffix}"
    plot_topology(graph, graphs.metropolis(graph), "exponential").savefig(path)
    assert path.stat().st_size > 4000


def test_large_graphs_are_not_drawn():
    with pytest.raises(InputError, match="m = 2001"):
        draw_graph(graphs.path(2001), Figure().subplots())


def test_rows_and_columns_of_a_torus_are_bent_and_those_of_a_grid_are_not():
    """Otherwise the wrap-around link would lie on top of the others."""
    for kind, bent in (("torus", True), ("grid", False)):
        graph = graphs.topology(kind, 12)
        rows, columns = graph.graph["sides"]
        at = positions(graph).reshape(rows, columns, 2)
        assert (np.ptp(at[:, 0, 0]) > 0.05) == bent
        assert (np.ptp(at[0, :, 1]) > 0.05) == bent
