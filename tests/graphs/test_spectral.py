"""lambda and the spectral gap: closed forms, FFT, Lanczos, shift-invert and LAPACK
agree.
"""

import math
from functools import partial

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from dfltheory import graphs
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.circulant import circulant_kernel
from dfltheory.graphs.closed_forms import laplacian_spectrum
from dfltheory.graphs.eigen import extreme_eigenvalues, laplacian_extremes
from dfltheory.graphs.spectral import refuse_too_large
from dfltheory.testing import mixing_matrices

KNOWN = [
    "ring",
    "path",
    "star",
    "complete",
    "grid",
    "torus",
    "hypercube",
    "exponential",
]
DIRECTED = ["directed_ring", "directed_exponential"]
SIZES = [1, 2, 3, 4, 5, 6, 8, 9, 12, 15, 16, 31, 32, 36, 64]


def sizes_of(name):
    return [m for m in SIZES if name != "hypercube" or m & (m - 1) == 0]


def norm_of(W):
    return float(np.linalg.norm(W - 1 / len(W), 2))


@pytest.mark.parametrize("name", KNOWN)
def test_laplacian_spectra_equal_lapack_to_1e_10(name):
    for m in sizes_of(name):
        L = (
            nx.laplacian_matrix(graphs.topology(name, m), nodelist=range(m))
            .toarray()
            .astype(float)
        )
        known = laplacian_spectrum(name, m)
        np.testing.assert_allclose(
            np.sort(known.values), np.linalg.eigvalsh(L), atol=1e-10 * max(m, 1)
        )
        degrees = set(L.diagonal())
        assert known.max_degree == max(degrees)
        assert known.regular == (len(degrees) == 1)


@pytest.mark.parametrize("sides", [(1, 7), (2, 2), (2, 5), (3, 4), (5, 2), (6, 6)])
@pytest.mark.parametrize("name", ["grid", "torus"])
def test_lattices_of_any_sides(name, sides):
    m = sides[0] * sides[1]
    W = graphs.max_degree(graphs.topology(name, m, sides=sides))
    assert graphs.lam(name, m=m, weights="max_degree", sides=sides) == pytest.approx(
        norm_of(W), abs=1e-12
    )
    np.testing.assert_allclose(
        graphs.eigenvalues(name, m=m, weights="max_degree", sides=sides),
        np.linalg.eigvalsh(W)[::-1],
        atol=1e-10,
    )


@pytest.mark.parametrize(
    "rule", ["metropolis", "max_degree", "lazy", "laplacian", "uniform"]
)
@pytest.mark.parametrize("name", KNOWN)
def test_closed_forms_equal_the_matrix(name, rule):
    seen = 0
    for m in sizes_of(name):
        try:
            report = graphs.spectral_report(
                name, m=m, weights=rule, method="closed form"
            )
        except InputError:  # uniform on irregular graphs, Metropolis on open grids
            assert (
                name in ("path", "star", "grid") and rule == "uniform"
            ) or name == "grid"
            continue
        seen += 1
        W = graphs.weights(graphs.topology(name, m), rule)
        assert report.lam == pytest.approx(norm_of(W), abs=1e-12)
        assert report.gap == pytest.approx(1 - report.lam, abs=1e-15)
        np.testing.assert_allclose(
            graphs.eigenvalues(name, m=m, weights=rule),
            np.linalg.eigvalsh(W)[::-1],
            atol=1e-10,
        )
    assert seen >= 2


@pytest.mark.parametrize("name", DIRECTED)
def test_directed_closed_forms_equal_the_singular_value(name):
    for m in SIZES:
        W = graphs.uniform(graphs.topology(name, m))
        report = graphs.spectral_report(name, m=m)
        assert report.method == "closed form"
        assert report.lam == pytest.approx(norm_of(W), abs=1e-12)


def test_the_static_exponential_graph_has_the_gap_of_ying_et_al():
    for m in (2, 4, 6, 8, 10, 16, 100, 1000, 1024, 2**16):  # every even m
        stated = 2 / (1 + math.ceil(math.log2(m)))
        assert graphs.spectral_gap("directed_exponential", m=m) == pytest.approx(
            stated, rel=1e-12
        )


def test_a_million_clients_keep_their_precision():
    # ring: 1 - lambda = (4/3) sin^2(pi/m), to full relative precision though lambda
    # rounds to 1 - 1.3e-11
    m = 10**6
    assert graphs.spectral_gap("ring", m=m) == pytest.approx(
        4 / 3 * math.sin(math.pi / m) ** 2, rel=1e-13
    )
    assert graphs.spectral_gap("path", m=m) == pytest.approx(
        4 / 3 * math.sin(math.pi / (2 * m)) ** 2, rel=1e-13
    )
    assert graphs.spectral_gap("torus", m=m) == pytest.approx(
        4 / 5 * math.sin(math.pi / 1000) ** 2, rel=1e-13
    )
    assert graphs.spectral_gap("directed_ring", m=m) == pytest.approx(
        2 * math.sin(math.pi / m / 2) ** 2, rel=1e-12
    )
    # the symmetrized exponential graph: 39 distinct neighbours at m = 10^6, worst k
    # among all frequencies
    k = np.arange(1, 5000)
    hops = sorted({min(2**p, m - 2**p) for p in range(20)})
    L = sum(4 * np.sin(np.pi * k * h / m) ** 2 for h in hops)
    report = graphs.spectral_report("exponential", m=m)
    assert report.gap <= L.min() / 41 + 1e-12
    assert report.method == "closed form"


# -- methods agree


@given(mixing_matrices(min_m=2))
def test_lam_is_the_definition(W):
    values = np.linalg.eigvalsh(W)
    expected = max(abs(values[0]), abs(values[-2]))
    report = graphs.spectral_report(W)
    assert report.lam == pytest.approx(expected, abs=1e-12)
    assert report.lam == pytest.approx(norm_of(W), abs=1e-12)
    assert report.lambda_2 == pytest.approx(values[-2], abs=1e-12)
    assert report.lambda_m == pytest.approx(values[0], abs=1e-12)
    assert graphs.lam(W) == 1 - graphs.spectral_gap(W)


@given(mixing_matrices(min_m=3, max_m=20))
def test_lanczos_and_inverse_agree_with_lapack(W):
    expected = norm_of(W)
    for form in (W, sp.csr_array(W)):
        report = graphs.spectral_report(form, method="lanczos")
        assert abs(report.lam - expected) <= max(report.error, 1e-10)
        assert report.lambda_m == pytest.approx(np.linalg.eigvalsh(W)[0], abs=1e-8)
    report = graphs.spectral_report(sp.csr_array(W), method="inverse")
    assert report.lam == pytest.approx(expected, abs=1e-9)


@given(
    st.integers(4, 12).flatmap(
        lambda m: st.tuples(*[mixing_matrices(min_m=m, max_m=m)] * 2)
    )
)
def test_products_that_are_not_symmetric(pair):
    M = pair[0] @ pair[1]
    dense = graphs.spectral_report(M, method="dense")
    assert dense.lam == pytest.approx(norm_of(M), abs=1e-12)
    assert graphs.spectral_report(M, method="lanczos").lam == pytest.approx(
        dense.lam, abs=1e-8
    )
    assert dense.lambda_2 is None or np.allclose(M, M.T)


@pytest.mark.parametrize(
    "name", ["ring", "torus", "exponential", "complete", *DIRECTED]
)
@pytest.mark.parametrize("m", [7, 12, 36])
def test_circulant_families_are_recognized(name, m):
    W = graphs.uniform(graphs.topology(name, m))
    for form in (W, sp.csr_array(W)):
        report = graphs.spectral_report(form)
        assert report.method == "fft"
        assert report.lam == pytest.approx(norm_of(W), abs=1e-13)


@given(
    st.integers(1, 5),
    st.integers(1, 5),
    st.lists(st.floats(0.1, 1.0), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_kernels_of_any_two_dimensional_circulant_matrix(a, b, weights, seed):
    m = a * b
    rng = np.random.default_rng(seed)
    kernel = np.zeros((a, b))
    for w in weights:
        kernel[rng.integers(a), rng.integers(b)] += w
    W = np.zeros((m, m))
    for i in range(m):
        for j in range(m):
            W[i, j] = kernel[(i // b - j // b) % a, (i % b - j % b) % b]
    found = circulant_kernel(W)
    assert found is not None
    np.testing.assert_allclose(
        np.sort(np.abs(np.fft.fftn(found).ravel())),
        np.sort(np.abs(np.linalg.eigvals(W))),
        atol=1e-9,
    )


def test_what_is_nearly_circulant_is_not_taken_for_it():
    W = graphs.metropolis(graphs.torus(36))
    W[0, 1] += 1e-6
    assert circulant_kernel(W) is None
    W = graphs.metropolis(graphs.ring(9))[np.random.default_rng(0).permutation(9)]
    assert circulant_kernel(W) is None
    assert circulant_kernel(graphs.metropolis(graphs.star(6))) is None
    assert circulant_kernel(np.zeros((3, 3))) is None
    thick = np.full((100, 100), 0.01)
    thick[3, 4] = 0
    assert circulant_kernel(thick) is None


def test_methods_are_chosen_and_reported():
    assert graphs.spectral_report("ring", m=10).method == "closed form"
    assert graphs.spectral_report(graphs.metropolis(graphs.star(10))).method == "dense"
    assert (
        graphs.spectral_report(graphs.metropolis(graphs.random_regular(1000, 4))).method
        == "lanczos"
    )
    path = graphs.spectral_report(graphs.metropolis(graphs.path(3000)))
    assert path.method == "inverse"
    assert path.gap == pytest.approx(graphs.spectral_gap("path", m=3000), rel=1e-8)
    assert "lambda = " in str(path)
    assert "inverse" in str(path)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("name", "rule"),
    [("path", "max_degree"), ("grid", "max_degree"), ("star", "metropolis")],
)
def test_large_sparse_graphs_agree_with_closed_forms(name, rule):
    W = graphs.weights(graphs.topology(name, 2500), rule, sparse=True)
    report = graphs.spectral_report(W)
    expected = graphs.spectral_gap(name, m=2500, weights=rule)
    assert abs(report.gap - expected) <= max(2 * report.error, 1e-9 * expected), report


def test_inverse_finds_an_eigenvalue_near_minus_one():
    # Metropolis on an even ring, made less lazy: w_ii = eps, lambda_m = -1 + 2 eps
    m, eps = 600, 1e-5
    W = sp.csr_array(graphs.laplacian(graphs.ring(m), alpha=(1 - eps) / 2, sparse=True))
    report = graphs.spectral_report(W, method="inverse")
    assert report.lambda_m == pytest.approx(-1 + 2 * eps, abs=1e-9)
    assert report.gap == pytest.approx(
        min(2 * eps, (1 - eps) * 2 * math.sin(math.pi / m) ** 2), rel=1e-6
    )


def test_inverse_looks_at_the_least_self_weight():
    # two clients of an even ring have large self-weights, all others small: lambda_m is
    # what decides
    m, eps = 600, 1e-6
    W = graphs.laplacian(graphs.ring(m), alpha=(1 - eps) / 2, sparse=True).toarray()
    W[[0, 1], [1, 0]] -= 0.1
    W[[0, 1], [0, 1]] += 0.1
    report = graphs.spectral_report(sp.csr_array(W), method="inverse")
    values = np.linalg.eigvalsh(W)
    assert -values[0] > values[-2]
    assert report.lam == pytest.approx(-values[0], abs=1e-10)
    assert report.lambda_m == pytest.approx(values[0], abs=1e-10)


def test_reported_errors_are_small_and_correct():
    for form in (
        graphs.metropolis(graphs.star(30)),
        graphs.one_peer_exponential(30).matrix(0) @ np.eye(30),
    ):
        for method in ("dense", "lanczos"):
            report = graphs.spectral_report(form, method=method)
            assert abs(report.lam - norm_of(np.asarray(form))) <= report.error + 1e-12
            assert 0 < report.error < 1e-8


def test_disconnected_matrices_have_no_gap():
    W = sp.block_diag(
        [graphs.metropolis(graphs.path(300), sparse=True)] * 2, format="csr"
    )
    assert graphs.spectral_gap(
        W,
    ) == pytest.approx(0, abs=1e-9)
    assert graphs.spectral_report(W, method="inverse").gap == 0
    assert graphs.spectral_gap(np.eye(4)) == pytest.approx(0, abs=1e-15)
    assert graphs.spectral_gap(np.eye(1)) == 1


@pytest.mark.parametrize(
    "further", [(), pytest.param((graphs.path(900),), marks=pytest.mark.slow)]
)
def test_extremes_of_laplacians_and_matrices(further):
    for graph in (graphs.star(30), graphs.random_regular(700, 3), *further):
        L = (
            nx.laplacian_matrix(graph, nodelist=range(len(graph)))
            .toarray()
            .astype(float)
        )
        values = np.linalg.eigvalsh(L)
        low, high = laplacian_extremes(graphs.adjacency(graph))
        assert low == pytest.approx(values[1], rel=1e-6)
        assert high == pytest.approx(values[-1], rel=1e-6)
    M = sp.csr_array(sp.diags_array(np.linspace(-3, 2, 900)))
    low, high, error = extreme_eigenvalues(M)
    assert low == pytest.approx(-3, abs=max(error, 1e-6))
    assert high == pytest.approx(2, abs=max(error, 1e-6))


# -- rejected input


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: graphs.spectral_gap("ring"), "needs the number of clients"),
        (lambda: graphs.spectral_gap(np.eye(3), m=3), "name of a topology"),
        (
            lambda: graphs.spectral_report("grid", m=12, method="closed form"),
            "no closed form is known",
        ),
        (lambda: graphs.spectral_report(np.eye(3), method="magic"), "method = 'magic'"),
        (
            lambda: graphs.spectral_report(
                graphs.metropolis(graphs.star(5)), method="fft"
            ),
            "method = 'fft'",
        ),
        (
            lambda: graphs.spectral_gap([[0.5, 0.5], [0.5, 0.6]]),
            "row 1 sums to 1.1, not 1",
        ),
        (
            lambda: graphs.spectral_gap(graphs.uniform(graphs.star(4))),
            "column 0 sums to 1.75, not 1",
        ),
        (lambda: graphs.spectral_gap([[np.nan, 0.5], [0.5, 0.5]]), "not finite"),
        (lambda: graphs.spectral_gap("hypercube", m=10), "not a power of two"),
        (lambda: graphs.spectral_gap("tourus", m=9), "no topology"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((GraphError, InputError, ValueError), match=message):
        call()


# -- Phi


@given(st.floats(0, 0.999), st.integers(1, 200), st.integers(1, 12))
def test_phi_is_equation_6(lam, m, Q):
    expected = (lam**Q + 1) / ((1 - lam) ** 2 * float(m) ** (2 * (Q - 1))) + (
        lam**Q + 1
    ) / (1 - lam**Q) ** 2
    assert graphs.phi(lam, m=m, Q=Q) == pytest.approx(expected, rel=1e-12)


def test_phi_accepts_positional_arguments():
    assert graphs.phi(0.5, 2, 2) == graphs.phi(lam=0.5, m=2, Q=2)
    assert graphs.phi(0.5, 7) == graphs.phi(0.5, m=7, Q=1)


def test_phi_by_hand_and_on_arrays():
    # 3.4722...
    assert graphs.phi(0.5, m=2, Q=2) == pytest.approx(1.25 / (0.25 * 4) + 1.25 / 0.5625)
    assert graphs.phi(0.5, m=7, Q=1) == pytest.approx(
        2 * 1.5 / 0.25
    )  # remark 4.10: 2 (lambda+1)/(1-lambda)^2
    assert graphs.phi(1.0, m=4) == math.inf
    assert isinstance(graphs.phi(0.3, m=4), float)
    grid = graphs.phi(np.array([[0.1], [0.5]]), m=np.array([2, 3, 4]), Q=3)
    assert grid.shape == (2, 3)
    assert grid[1, 2] == graphs.phi(0.5, m=4, Q=3)
    for bad in (
        {"lam": 1.1, "m": 3},
        {"lam": -0.1, "m": 3},
        {"lam": 0.5, "m": 0},
        {"lam": 0.5, "m": 3, "Q": 0},
    ):
        with pytest.raises(InputError):
            graphs.phi(**bad)
    with pytest.raises(InputError, match="lam = nan"):
        graphs.phi(math.nan, m=3)


def test_a_circulant_is_found_by_every_factorization_of_the_number_of_clients():
    """A prism, 3 x 2, is invariant under no shift of Z_6 and no 2 x 3 torus."""
    W, i = np.zeros((6, 6)), np.arange(6)
    for down, along, w in ((0, 0, 0.5), (1, 0, 0.2), (0, 1, 0.3)):
        W[(i // 2 + down) % 3 * 2 + (i % 2 + along) % 2, i] += w
    assert circulant_kernel(W).tolist() == [[0.5, 0.3], [0.2, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("name", "m", "options"),
    [
        ("ring", 100_001, {}),
        ("complete", 2_001, {}),
        ("erdos_renyi", 99_999, {"p": 1e-3}),
        ("star", 99_999, {"degree": 21}),
    ],
)
def test_too_many_clients_are_refused_and_too_many_links(name, m, options):
    with pytest.raises(InputError, match="closed form"):
        refuse_too_large(name, m, options)
    refuse_too_large(name, m // 2, options)


# -- names, matrices and their options are checked everywhere in the same way


@pytest.mark.parametrize(
    "compute",
    [graphs.eigenvalues, partial(graphs.spectrum_sum, function=np.square), graphs.lam],
    ids=["eigenvalues", "spectrum_sum", "lam"],
)
@pytest.mark.parametrize(
    ("name", "options"),
    [("hypercube", {"m": 6}), ("ring", {"m": 6, "sides": (2, 3)})],
)
def test_spectra_by_name_reject_graphs_that_do_not_exist(compute, name, options):
    without_m = {key: value for key, value in options.items() if key != "m"}
    with pytest.raises(InputError):
        graphs.topology(name, options["m"], **without_m)
    with pytest.raises(InputError):
        compute(name, **options)


def test_spectrum_sum_rejects_a_named_topology_with_asymmetric_weights():
    W = graphs.uniform(graphs.star(5))  # similar to a symmetric matrix: real spectrum
    for network, options in ((W, {}), ("star", {"m": 5, "weights": "uniform"})):
        with pytest.raises(GraphError):
            graphs.spectrum_sum(network, np.square, **options)


def test_spectrum_sum_leaves_out_the_vector_of_ones_when_an_eigenvalue_exceeds_one():
    W = np.array([[1.5, -0.5], [-0.5, 1.5]])  # 1 for (1, 1), 2 for (1, -1)
    assert graphs.spectrum_sum(W, np.square) == pytest.approx(4.0)
    assert graphs.spectrum_min(W, np.square) == pytest.approx(4.0)


def test_spectrum_sum_rejects_the_options_of_a_name_with_a_matrix():
    W = graphs.metropolis(graphs.ring(5))
    for options in ({"m": 5}, {"weights": "lazy"}, {"sides": (1, 5)}):
        with pytest.raises(InputError):
            graphs.spectrum_sum(W, np.square, **options)


def test_an_alias_is_as_large_as_the_topology_that_it_names():
    refuse_too_large("ring", 2000, {})
    for name in ("complete", "full", "fully-connected"):
        with pytest.raises(InputError):
            refuse_too_large(name, 4000, {})
