"""Computed quantities: their values on networks, and their use in theorems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory import best_bounds, graphs
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.computed import read_computation
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.reference import load
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.computed import (
    average_degree,
    diameter,
    effective_neighbors,
    min_with_error,
    neighborhood_heterogeneity,
    neighbors_with_error,
    spectrum_min,
    spectrum_sum,
    sum_with_error,
)
from dfltheory.verdicts.computed_values import computed_from
from dfltheory.verdicts.run_values import run_values

EXAMPLE = Path(__file__).parents[1] / "bounds" / "theorem_files" / "example_5.toml"
OF = "network: spectrum_sum(l^2/(1 - l^2))/m"


def ratio(l):
    return l**2 / (1 - l**2)


def trace(W):
    """Return sum l^2/(1 - l^2) over i >= 2 by a pseudo-inverse."""
    m = len(W)
    deflated = W - 1 / m
    square = deflated @ deflated
    return np.trace(square @ np.linalg.inv(np.eye(m) - square))


def matrix(name, m):
    W = graphs.weights(graphs.topology(name, m), "metropolis")
    return np.asarray(W.todense() if hasattr(W, "todense") else W)


def run_on(network, m):
    task = dfl.tasks.quadratic(m=m, d=2, zeta=0.0, sigma=1.0)
    return dfl.train(dfl.algorithms.DPSGD(eta=0.01), task, network, rounds=3, seeds=2)


def written(tmp_path, of):
    path = tmp_path / "mine.toml"
    path.write_text(EXAMPLE.read_text().replace(OF, of))
    return path


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10**6))
def test_spectrum_sum_of_a_random_matrix_is_the_trace(m, seed):
    A = np.random.default_rng(seed).uniform(0.1, 1, (m, m))
    W = (A + A.T) / (4 * m)
    W += np.diag(1 - W.sum(1))
    value, error = sum_with_error(W, ratio)
    assert spectrum_sum(W, ratio) == value
    assert value == pytest.approx(trace(W), rel=1e-9, abs=1e-12)
    assert error < 1e-9 * (1 + value)


@pytest.mark.parametrize("name", ["complete", "ring", "torus", "hypercube"])
def test_closed_forms_agree_with_dense_numerics(name):
    W = matrix(name, 16)
    form, dense = sum_with_error(name, ratio, m=16), sum_with_error(W, ratio)
    assert abs(form.value - dense.value) <= form.error + dense.error
    assert form.error + dense.error < 1e-9 * (1 + form.value)
    form = neighbors_with_error(name, 0.9, m=16)
    dense = neighbors_with_error(W, 0.9)
    assert abs(form.value - dense.value) <= form.error + dense.error
    assert form.error + dense.error < 1e-9 * form.value


def test_effective_neighbors_of_complete_and_of_no_decay():
    assert effective_neighbors(np.full((5, 5), 0.2), 0.7) == pytest.approx(5)
    W = matrix("ring", 9)
    assert effective_neighbors(W, 0.0) == pytest.approx(9 / (W**2).sum())


def test_diameter_and_degree_of_a_ring():
    assert diameter(matrix("ring", 9)) == 4
    assert average_degree(matrix("ring", 9)) == 2


def test_average_degree_is_not_changed_by_clients_without_self_weight():
    assert average_degree(np.array([[0.0, 1.0], [1.0, 0.0]])) == 1


@pytest.mark.parametrize("name", ["ring", "complete", "torus"])
def test_run_gives_example_5_the_value_of_the_trace(name):
    W = matrix(name, 9)
    values = run_values(run_on(W, 9), load(str(EXAMPLE)))
    assert values["spec"] == pytest.approx(trace(W) / 9, rel=1e-10, abs=1e-14)
    assert values.errors["spec"].shift >= 0


def test_two_matrices_in_turn_leave_the_quantity_unknown():
    run = run_on([matrix("ring", 9), matrix("complete", 9)], 9)
    assert "spec" not in run_values(run, load(str(EXAMPLE)))
    assert dfl.compare(run, load(str(EXAMPLE))).kind == "not applicable"


def test_given_value_that_contradicts_the_network_is_refused():
    run, theorem = run_on(matrix("ring", 9), 9), load(str(EXAMPLE))
    exact = run_values(run, theorem)["spec"]
    assert run_values(run, theorem, {"spec": exact})["spec"] == exact
    with pytest.raises(InputError):
        run_values(run, theorem, {"spec": 2 * exact})


@pytest.mark.parametrize(
    "of",
    [
        "network: " + "(" * 500 + "l" + ")" * 500,
        "network: spectrum_sum(l",
        "network: spectrum_sum(__import__)",
        "network: effective_neighbors(l)",
        "network: effective_neighbors(nonsense)",
        "network: spec + 1",
        "network: spectrum_sum(spectrum_sum(l))",
        "network: l^2",
        "network: " + "9^99^99^99",
        "nothing: m",
        "m",
    ],
)
def test_hostile_formula_is_an_input_error(tmp_path, of):
    with pytest.raises(InputError):
        read_computation(of)
    with pytest.raises(InputError):
        load(str(written(tmp_path, of)))


SECOND = """
[quantities.decay]
unit = "1"
range = "[0, 1)"
meaning = "decay of the noise"
of = "{decay}"
[[statement]]"""


def with_decay(tmp_path, of, decay):
    """Return Example 5 with a second quantity."""
    path = written(tmp_path, of)
    text = path.read_text()
    path.write_text(text.replace("[[statement]]", SECOND.format(decay=decay), 1))
    return path


def test_arguments_are_other_quantities(tmp_path):
    W = matrix("ring", 9)
    run = run_on(W, 9)
    path = with_decay(
        tmp_path, "network: effective_neighbors(decay)", "task: 1 - eta*L/2"
    )
    L = run.constants.L
    wanted = neighbors_with_error(W, 1 - 0.01 * L / 2)
    values = run_values(run, load(str(path)))
    assert values["spec"] == pytest.approx(wanted.value, rel=1e-12)
    assert values.errors["spec"].shift >= wanted.error


def test_sum_over_the_spectrum_takes_quantities(tmp_path):
    W = matrix("ring", 9)
    of = "network: spectrum_sum((1 - decay)*l^2 + sigma_l*m)/m"
    path = with_decay(tmp_path, of, "network: lam/2")
    run = run_on(W, 9)
    lam = np.sort(np.abs(np.linalg.eigvalsh(W)))[-2]
    known = run_values(run, load(str(path)))
    eigenvalues = np.linalg.eigvalsh(W)[:-1]
    wanted = ((1 - lam / 2) * eigenvalues**2 + known["sigma_l"] * 9).sum() / 9
    assert known["spec"] == pytest.approx(wanted, rel=1e-10)


def test_error_of_an_argument_is_an_error_of_the_value(tmp_path):
    path = with_decay(tmp_path, "network: 100*decay", "network: spectrum_sum(l^2)/m")
    errors = run_values(run_on(matrix("ring", 9), 9), load(str(path))).errors
    assert errors["spec"].shift > 0
    alone = sum_with_error(matrix("ring", 9), lambda l: l**2).error / 9
    assert errors["spec"].shift >= 100 * alone


def test_quantities_that_need_each_other_are_refused(tmp_path):
    path = with_decay(tmp_path, "network: effective_neighbors(decay)", "network: spec")
    with pytest.raises(InputError, match="quantities"):
        load(str(path))


def test_statement_keeps_the_quantities_that_its_own_need(tmp_path):
    path = with_decay(tmp_path, "network: effective_neighbors(decay)", "network: lam")
    theorem = load(str(path))
    assert [quantity.name for quantity in theorem.quantities] == ["spec", "decay"]
    back = theorem_from_document(theorem_to_document(theorem))
    assert statement_hash(back) == statement_hash(theorem)
    copy = tmp_path / "copy.toml"
    copy.write_text(theorem.to_toml())
    assert statement_hash(load(str(copy))) == statement_hash(theorem)


def test_hash_follows_the_computation_and_not_its_layout(tmp_path):
    first = statement_hash(load(str(EXAMPLE)))
    same = written(tmp_path, "network:  spectrum_sum( l^2 / (1-l^2) ) / m")
    assert statement_hash(load(str(same))) == first
    other = written(tmp_path, "network: spectrum_sum(l^2/(1 - l))/m")
    assert statement_hash(load(str(other))) != first


@pytest.mark.slow
def test_search_refutes_a_constant_that_is_too_small(tmp_path):
    path = written(tmp_path, OF)
    path.write_text(
        path.read_text()
        .replace("4*eta^2", "1/1000*eta^2")
        .replace('aggregate = "each"', 'aggregate = "last"')
    )
    found = dfl.falsify(load(str(path)), candidates=3000)
    assert found.violated


@pytest.mark.parametrize("registered", [True, False])
def test_best_bound_asks_for_a_computed_quantity_and_takes_a_given_one(
    registered, monkeypatch
):
    """Without a network no value is assumed, even for a registered statement whose
    other quantities have typical values.
    """
    theorem = load(str(EXAMPLE))
    monkeypatch.setattr(best_bounds.registry, "known", lambda *key: registered)
    values = {"L": 1.0, "lam": 0.5, "sigma_l": 1.0, "sigma_g": 0.0, "eta": 0.01}
    with pytest.raises(InputError, match="spec"):
        best_bounds.constants(theorem, values)
    assert best_bounds.constants(theorem, values | {"spec": 2.0})["spec"] == 2.0


def test_spectrum_min_of_a_ring_is_at_the_second_eigenvalue_or_the_last():
    m = 8
    eigenvalues = (1 + 2 * np.cos(2 * np.pi * np.arange(m) / m)) / 3
    others = np.sort(eigenvalues)[:-1]
    value, error = min_with_error("ring", lambda l: 1 - l, m=m)
    assert abs(value - (1 - others.max())) <= error + 1e-15
    value, error = min_with_error(matrix("ring", m), lambda l: l)
    assert abs(value - others.min()) <= error + 1e-15


def test_spectrum_min_of_one_client_is_a_graph_error():
    with pytest.raises(GraphError):
        spectrum_min(np.ones((1, 1)), lambda l: l)


def test_second_eigenvalue_is_minus_the_least_of_the_negative(tmp_path):
    path = written(tmp_path, "network: 1 - spectrum_min(-l)")
    run = run_on(matrix("ring", 9), 9)
    expected = 1 + (1 + 2 * np.cos(2 * np.pi / 9)) / 3
    assert run_values(run, load(str(path)))["spec"] == pytest.approx(expected)


def test_computed_value_beyond_its_range_leaves_the_quantity_unknown(tmp_path):
    path = written(tmp_path, "network: spectrum_min(-l)")  # negative on a ring
    run = run_on(matrix("ring", 9), 9)
    assert "spec" not in run_values(run, load(str(path)))
    assert dfl.compare(run, load(str(path))).kind == "not applicable"


@pytest.mark.parametrize(
    ("name", "m"),
    [
        ("ring", 10_000),
        pytest.param("ring", 10**5, marks=pytest.mark.slow),
        pytest.param("torus", 90_000, marks=pytest.mark.slow),
    ],
)
def test_run_of_many_clients_takes_the_spectrum_from_one_transform(name, m):
    """A sum over the Laplacian's eigenvalues, for which no dense matrix fits into
    memory.
    """
    W = graphs.metropolis(graphs.topology(name, m))
    task = dfl.tasks.quadratic(m=m, d=1, L=1.0, mu=1.0, zeta=0.0, sigma=1.0)
    run = dfl.train(
        dfl.algorithms.DPSGD(eta=0.01), task, W, rounds=1, seeds=1, progress=False
    )
    values = run_values(run, load(str(EXAMPLE)))
    expected = sum_with_error(name, ratio, m=m)
    assert abs(values["spec"] - expected.value / m) <= expected.error / m
    assert values.errors["spec"].shift < 1e-4 * values["spec"]


def test_hypercube_and_complete_graph_above_the_dense_limit():
    hypercube = graphs.metropolis(graphs.topology("hypercube", 512))
    for name, W in (
        ("hypercube", hypercube),
        ("complete", np.full((512, 512), 1 / 512)),
    ):
        wanted = sum_with_error(name, lambda l: l**2, m=512)
        value, error = sum_with_error(W, lambda l: l**2)
        assert abs(value - wanted.value) <= error + wanted.error
        assert error < 1e-9
        assert graphs.spectral_report(W).method == "fft"
    assert diameter(hypercube) == 9


def test_large_network_without_closed_form_is_refused_at_once():
    W = graphs.metropolis(graphs.topology("path", 20_000))
    for compute in (lambda W: spectrum_sum(W, ratio), diameter):
        with pytest.raises(GraphError):
            compute(W)


def expected_distance(W, task, sigma, draws=4000):
    """Simulate (1/m) sum_i E

    sum_j w_ij g_j - mean g

    ^2 by its definition.
    """
    rng = np.random.default_rng(0)
    x = torch.zeros(1, task.m, task.d, dtype=torch.float64)
    exact = task.gradient(x)[0].numpy()
    noise = sigma * rng.standard_normal((draws, task.m, task.d)) / np.sqrt(task.d)
    g = exact + noise
    mixed = np.einsum("ij,njd->nid", W, g) - g.mean(1, keepdims=True)
    return (mixed**2).sum(-1).mean()


@pytest.mark.parametrize("name", ["ring", "star"])
def test_neighborhood_heterogeneity_is_the_simulated_distance(tmp_path, name):
    W = matrix(name, 6)
    task = dfl.tasks.quadratic(m=6, d=2, zeta=0.7, sigma=0.5)
    run = dfl.train(dfl.algorithms.DPSGD(eta=0.01), task, W, rounds=1, seeds=1)
    theorem = load(str(written(tmp_path, "network: neighborhood_heterogeneity")))
    value = run_values(run, theorem)["spec"]
    assert value == pytest.approx(expected_distance(W, task, 0.5), rel=0.03)


def test_two_clusters_on_a_ring_have_no_bias():
    """Example 1 of Le Bars et al.: means m and -m in turn, weights 1/2, 1/4, 1/4.

    F = (x - Z)^2 has the gradients 2 (x - Z): the bias vanishes although the local
    heterogeneity is 4 m^2, and the noise keeps the share 3/8 - 1/n of 4 sigma^2.
    """
    n, mean, sigma = 8, 50.0, 0.3
    W = np.asarray(0.5 * np.eye(n))
    for i in range(n):
        W[i, (i + 1) % n] = W[i, (i - 1) % n] = 0.25
    gradients = 2 * mean * (-1.0) ** np.arange(n)[:, None]
    value, error = neighborhood_heterogeneity(W, gradients, 2 * sigma)
    assert value == pytest.approx(4 * sigma**2 * (3 / 8 - 1 / n), rel=1e-12)
    assert error < 1e-9
    assert neighborhood_heterogeneity(np.full((n, n), 1 / n), gradients).value == 0


def test_neighborhood_heterogeneity_without_common_hessians_is_bounded(tmp_path):
    """lam^2 sigma_g^2 and the noise's share exceed the value at the models of a run."""
    W = matrix("ring", 6)
    task = dfl.tasks.sinusoidal(m=6, d=2, sigma=0.5)
    run = dfl.train(dfl.algorithms.DPSGD(eta=0.01), task, W, rounds=1, seeds=1)
    theorem = load(str(written(tmp_path, "network: neighborhood_heterogeneity")))
    value = run_values(run, theorem)["spec"]
    lam, sigma_g = run.network.lam, task.constants.sigma_g
    share = ((W - 1 / 6) ** 2).sum() / 6
    assert value == pytest.approx(lam**2 * sigma_g**2 + 0.25 * share, rel=1e-12)
    assert value >= 0.97 * expected_distance(W, task, 0.5)


def test_unbounded_heterogeneity_is_unknown(tmp_path):
    task = dfl.tasks.quadratic(m=6, d=2, zeta=0.7, sigma=0.5, hessians="random")
    W = matrix("ring", 6)
    run = dfl.train(dfl.algorithms.DPSGD(eta=0.01), task, W, rounds=1, seeds=1)
    theorem = load(str(written(tmp_path, "network: neighborhood_heterogeneity")))
    assert "spec" not in run_values(run, theorem)


def test_quantity_computed_from_an_estimate_is_an_estimate(tmp_path):
    path = with_decay(
        tmp_path, "network: decay*diameter", "network: neighborhood_heterogeneity"
    )
    theorem = load(str(path))
    assert computed_from(theorem, {"sigma_g"}) == {"spec", "decay"}
    assert computed_from(theorem, {"rho"}) == set()


@pytest.mark.slow
def test_search_refutes_a_bound_by_neighborhood_heterogeneity(tmp_path):
    """Without a task, the search replaces the quantity by its bound in lam, sigma_g and
    sigma_l.
    """
    path = written(tmp_path, "network: neighborhood_heterogeneity")
    path.write_text(
        path.read_text()
        .replace("4*eta^2*sigma_l^2*spec", "eta^2*spec/1000")
        .replace('unit = "1"', 'unit = "c^2/s^2"')
        .replace('homogeneous = "sigma_g == 0", ', "")
        .replace('aggregate = "each"', 'aggregate = "last"')
    )
    assert dfl.falsify(load(str(path)), candidates=600).violated


def test_neighborhood_heterogeneity_needs_a_row_for_each_client():
    with pytest.raises(InputError):
        neighborhood_heterogeneity(np.full((3, 3), 1 / 3), np.zeros((2, 1)))
