"""An experiment at other values of one quantity."""

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.errors import InputError
from dfltheory.experiments.experiment_file import load_experiment, read_experiment
from dfltheory.experiments.sweep import sweep
from dfltheory.rates import rate_fit, with_gap, with_value
from validation.rates import clients

COROLLARY = dfl.bounds.get("dfedsam.corollary_4_6", "corrected")


def named(m=4, network="ring", **task):
    """Return an experiment that a document describes."""
    return dfl.Instance.of(
        {
            "task": {"name": "quadratic", "m": m, "d": 2, **task},
            "topology": {"name": network},
            "algorithm": {"name": "dfedsam", "eta": 0.1, "K": 2, "rho": 0.05},
            "run": {"rounds": 100},
        }
    )


def lam(network):
    return dfl.graphs.network_constants(network).known()["lam"]


@pytest.mark.parametrize("graph", ["ring", "complete", "path"])
@pytest.mark.parametrize("gap", [1.0, 0.7, 0.2, 0.01])
def test_a_network_gets_any_gap(graph, gap):
    W = dfl.graphs.metropolis(getattr(dfl.graphs, graph)(6))
    changed = with_gap(W, gap)
    assert dfl.graphs.spectral_gap(changed) == pytest.approx(gap, abs=1e-12)
    assert dfl.graphs.check_mixing_matrix(changed).ok
    # the eigenvectors stay
    np.testing.assert_allclose(changed @ W, W @ changed, atol=1e-12)


def test_an_oscillating_network_gets_any_gap():
    swap = np.array([[0.1, 0.9], [0.9, 0.1]])  # lam = |-0.8|
    for gap in (0.1, 0.2, 0.5):
        assert dfl.graphs.spectral_gap(with_gap(swap, gap)) == pytest.approx(gap)


@pytest.mark.parametrize("gap", [0.0, 1.5])
def test_impossible_gaps_are_rejected(gap):
    with pytest.raises(InputError, match="1 - lam"):
        with_gap(np.full((2, 2), 0.5), gap)


@pytest.mark.parametrize(
    "network",
    [
        np.ones((1, 1)),
        np.array([[0.5, 0.5], [0.2, 0.8]]),
        [np.eye(2), np.full((2, 2), 0.5)],
    ],
)
def test_a_gap_is_set_for_one_symmetric_matrix_only(network):
    with pytest.raises(InputError, match="1 - lam"):
        with_gap(network, 0.5)


def test_each_quantity_is_set_and_the_others_stay():
    experiment = named(zeta=0.3, sigma=0.5)
    before = measured_values(experiment)
    values = {
        "T": 400,
        "K": 3,
        "m": 6,
        "1 - lam": 0.25,
        "rho": 0.1,
        "rho0": 2.0,
        "sigma_l": 0.7,
    }
    for vary, value in (values | {"sigma_g": 0.9}).items():
        after = measured_values(with_value(experiment, COROLLARY, vary, value))
        assert after[vary] == pytest.approx(value)
        related = {vary, *RELATED.get(vary, ())}
        for name in {"T", "K", "m", "1 - lam", "sigma_l", "sigma_g", "rho0"} - related:
            assert after[name] == pytest.approx(before[name]), (vary, name)
        # a constant multiple of the schedule, 1/(L sqrt(K T))
        scheduled = 0.1 * np.sqrt(200 / (after["K"] * after["T"]))
        assert after["eta"] == pytest.approx(scheduled)


def test_network_of_one_client_is_the_matrix_1_whatever_the_gap_of_the_experiment():
    experiment = named(network="ring")
    assert 0 < lam(experiment.network) < 1
    changed = with_value(experiment, COROLLARY, "m", 1)
    assert changed.task.m == 1
    np.testing.assert_array_equal(changed.network.W, [[1.0]])


RELATED = {"rho": ("rho0",)}


def measured_values(experiment):
    from dfltheory.rates.measured import known_values

    values = known_values(experiment, COROLLARY)
    return values | {"1 - lam": 1 - values["lam"]}


@pytest.mark.parametrize("vary", ["m", "sigma_l", "sigma_g"])
def test_a_task_that_was_made_in_python_cannot_be_built_again(vary):
    with pytest.raises(InputError, match=vary):
        with_value(clients(COROLLARY, T=10), COROLLARY, vary, 2)


def test_a_task_without_the_option_and_a_fixed_network_are_rejected():
    with pytest.raises(InputError, match="sigma_u"):
        with_value(named(), COROLLARY, "sigma_u", 1.0)
    fixed = replace(named(), network=np.full((4, 4), 0.25))
    with pytest.raises(InputError, match="network"):
        with_value(fixed, COROLLARY, "m", 8)


@pytest.mark.parametrize(
    ("vary", "value"), [("T", 1.5), ("K", 0), ("m", -1), ("sigma_l", -1.0)]
)
def test_values_out_of_range_are_rejected(vary, value):
    with pytest.raises(InputError, match=vary):
        with_value(named(), COROLLARY, vary, value)


@pytest.mark.slow
def test_a_named_experiment_shows_the_linear_speed_up():
    noise = named(m=2, network="complete", zeta=0.0, distance=0.0, sigma=1.0)
    noise = replace(noise, rounds=10**9, algorithm=replace(noise.algorithm, rho=0.0))
    found = rate_fit(COROLLARY, noise, vary="m", over=[2, 3, 4])
    assert (found.predicted, found.verdict) == (-1, "consistent")
    assert found.transient is not None


def test_an_experiment_file_that_was_read_is_an_experiment(tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(
        '[task]\nname = "quadratic"\nm = 2\nd = 2\nzeta = 0.0\ndistance = 0.0\nsigma ='
        ' 1.0\n[topology]\nname = "complete"\n[algorithm]\nname = "dfedsam"\neta ='
        " 1e-5\nK = 2\nrho = 0.0\n[run]\nrounds = 1000000\n"
    )
    found = rate_fit(COROLLARY, load_experiment(file), vary="sigma_l", over=[0.5, 1, 2])
    assert (found.predicted, found.verdict) == (2, "consistent")


SPECTRUM = Path(__file__).parents[1] / "bounds" / "theorem_files" / "example_5.toml"


def on_ring(sigma=1.0):
    return dfl.Instance.of(
        {
            "task": {"name": "quadratic", "m": 6, "d": 2, "zeta": 0.0, "sigma": sigma},
            "topology": {"name": "ring"},
            "algorithm": {"name": "dpsgd", "eta": 0.01},
            "run": {"rounds": 4},
        }
    )


def test_network_gets_a_sum_over_its_spectrum():
    theorem = dfl.bounds.load(str(SPECTRUM))
    changed = with_value(on_ring(), theorem, "spec", 0.8)
    eigenvalues = np.linalg.eigvalsh(changed.network)[:-1]
    found = (eigenvalues**2 / (1 - eigenvalues**2)).sum() / 6
    assert found == pytest.approx(0.8, rel=1e-9)
    assert dfl.graphs.check_mixing_matrix(changed.network).ok


def test_value_that_no_average_reaches_is_refused():
    theorem = dfl.bounds.load(str(SPECTRUM))
    with pytest.raises(InputError, match="spec"):
        with_value(on_ring(), theorem, "spec", 1e9)


def test_exponent_along_a_computed_quantity_is_compared_with_that_of_the_bound():
    """The bound 4 eta^2 sigma_l^2 spec is linear in the quantity."""
    theorem = dfl.bounds.load(str(SPECTRUM))
    fit = rate_fit(theorem, on_ring(), "spec", [0.2, 0.4, 0.8])
    assert fit.predicted == pytest.approx(1.0, abs=1e-6)
    assert fit.x == (0.2, 0.4, 0.8)
    assert fit.bound[1] == pytest.approx(4 * 0.01**2 * 0.4, rel=1e-6)
    assert fit.latex == theorem.glossary["spec"].latex
    assert "lambda" in fit.plot().get_xlabel()
    plt.close("all")


def test_sweep_over_networks_is_drawn_over_a_computed_quantity(tmp_path):
    document = {
        "task": {"name": "quadratic", "m": 6, "d": 2, "zeta": 0.0, "sigma": 1.0},
        "algorithm": {
            "name": "dpsgd",
            "eta": 0.01,
            "order": "adapt-then-combine",
        },
        "run": {"rounds": 4, "seeds": 4},
        "theorem": {"key": str(SPECTRUM)},
        "sweep": {"topology.name": ["ring", "path", "star"]},
    }
    experiment = read_experiment(document, "networks.toml")
    frame = sweep(experiment, tmp_path / "out", jobs=1).results.frame
    values = dict(zip(frame["topology.name"], frame["at.spec"], strict=True))
    for name in ("ring", "path", "star"):
        W = dfl.graphs.metropolis(dfl.graphs.topology(name, 6))
        total = dfl.graphs.spectrum_sum(W, lambda l: l**2 / (1 - l**2))
        assert values[name] == pytest.approx(total / 6, rel=1e-9)
    ax = dfl.plots.ratio_over("at.spec", frame)
    drawn = np.sort(ax.containers[0].lines[0].get_xdata())
    np.testing.assert_allclose(drawn, np.sort(list(values.values())), rtol=1e-9)
    plt.close("all")
