"""Learning curves of several algorithms, and of the clients of one run."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory import plots
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.learning import metric_label

BOTH = ["client_accuracy", "client_loss"]


@pytest.fixture(scope="module")
def runs():
    generator = torch.Generator().manual_seed(0)
    data = [
        (
            torch.randn(9, 3, generator=generator),
            torch.randint(2, (9,), generator=generator),
        )
        for _ in range(6)
    ]
    torch.manual_seed(0)
    task = dfl.tasks.Supervised(torch.nn.Linear(3, 2), data, batch=3, test=data)
    W = dfl.graphs.ring(6)
    options = {"rounds": 12, "seeds": 4, "metrics": BOTH, "progress": False}
    return {
        "FedAvg": dfl.train(dfl.algorithms.FedAvg(eta=0.3, K=2), task, **options),
        "DFedAvg": dfl.train(dfl.algorithms.DFedAvg(eta=0.3, K=2), task, W, **options),
    }


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def line(ax, start):
    return next(
        drawn for drawn in ax.get_lines() if str(drawn.get_label()).startswith(start)
    )


def outline(band):
    """Return the lower and upper limits of a filled band, by horizontal coordinate."""
    points = band.get_paths()[0].vertices
    places = np.unique(points[:, 0])
    return [
        np.array([limit(points[points[:, 0] == x, 1]) for x in places])
        for limit in (np.min, np.max)
    ]


def test_learning_curves_draw_means_and_student_intervals(runs):
    ax = plt.figure().gca()
    assert plots.learning_curves(runs, "client_accuracy", ax) is ax
    for (name, run), band in zip(runs.items(), ax.collections, strict=True):
        samples = run.measures()["client_accuracy"]
        np.testing.assert_allclose(line(ax, name).get_ydata(), samples.mean(axis=0))
        # t(0.975, 3 degrees of freedom), 4 seeds
        half = 3.182446305284263 * samples.std(axis=0, ddof=1) / 2
        low, high = outline(band)
        np.testing.assert_allclose(low, samples.mean(axis=0) - half, atol=1e-12)
        np.testing.assert_allclose(high, samples.mean(axis=0) + half, atol=1e-12)
        last = f"{name}: {samples[:, -1].mean():.3g} ± {half[-1]:.1g}"
        assert line(ax, name).get_label() == last
    assert ax.get_xlabel() == "round $t$"


def test_intervals_are_cut_off_where_the_measure_has_no_values(runs):
    run = runs["FedAvg"]
    samples = np.tile([[0.0], [0.9], [1.0], [1.0]], 13)
    spread = dataclasses.replace(run, accuracy=samples, loss=samples)
    limits = {}
    for name in ("accuracy", "loss"):
        ax = plots.learning_curves({"a": spread}, name)
        limits[name] = outline(ax.collections[0])
        assert (limits[name][0] == 0).all()
    assert (limits["accuracy"][1] == 1).all()
    assert (limits["loss"][1] > 1).all()
    below = dataclasses.replace(run, loss=samples - 0.1)
    ax = plots.learning_curves({"a": below}, "loss")
    assert (outline(ax.collections[0])[0] < 0).all(), "a loss may be negative"


def test_band_of_clients_is_the_range_of_their_quantiles(runs):
    ax = plots.learning_curves(runs, "client_loss", band="clients")
    low, high = outline(ax.collections[1])
    values = runs["DFedAvg"].clients["client_loss"]
    np.testing.assert_allclose(low, np.quantile(values, 0.1, axis=-1).mean(axis=0))
    np.testing.assert_allclose(high, np.quantile(values, 0.9, axis=-1).mean(axis=0))


def test_band_of_seeds_is_a_line_for_each(runs):
    ax = plots.learning_curves({"one": runs["FedAvg"]}, "loss", band="seeds")
    assert not ax.collections
    drawn = [thin.get_ydata() for thin in ax.get_lines()[1:]]
    np.testing.assert_array_equal(drawn, runs["FedAvg"].loss)


def test_horizontal_axis_may_be_what_was_sent(runs):
    ax = plots.learning_curves(runs, "loss", x="sent_bits")
    for name, run in runs.items():
        np.testing.assert_allclose(
            line(ax, name).get_xdata(), run.sent_bits.mean(axis=0)
        )
    uncounted = dataclasses.replace(runs["FedAvg"], sent_bits=None)
    with pytest.raises(InputError, match=r"x = 'sent_bits'.*FedAvg"):
        plots.learning_curves({"FedAvg": uncounted}, "loss", x="sent_bits")


def test_vertical_axis_is_logarithmic_over_a_large_range_only(runs):
    run = runs["FedAvg"]
    assert plots.learning_curves({"a": run}, "loss").get_yscale() == "linear"
    steep = run.loss * np.geomspace(1, 1e-3, 13)
    steep_run = dataclasses.replace(run, loss=steep)
    assert plots.learning_curves({"a": steep_run}, "loss").get_yscale() == "log"
    named = dataclasses.replace(run, accuracy=steep)
    assert plots.learning_curves({"a": named}, "accuracy").get_yscale() == "linear"
    negative = dataclasses.replace(run, loss=steep - 1)
    assert plots.learning_curves({"a": negative}, "loss").get_yscale() == "linear"


def test_diverged_run_is_drawn_to_its_end_and_named(runs):
    run = runs["FedAvg"]
    loss = run.loss.copy()
    loss[:, 6:] = np.nan
    ended = dataclasses.replace(run, loss=loss, diverged_at=5)
    label = line(plots.learning_curves({"a": ended}, "loss"), "a").get_label()
    assert f"{loss[:, 5].mean():.3g}" in label
    assert "diverged by round 5" in label


def test_clients_draw_mean_quantiles_and_extremes(runs):
    run = runs["DFedAvg"]
    for metric, worst, best in (
        ("client_accuracy", np.min, np.max),
        ("client_loss", np.max, np.min),
    ):
        values = run.clients[metric]
        ax = plots.clients(run, metric, each=True)
        mean = line(ax, "mean of clients").get_ydata()
        np.testing.assert_allclose(mean, values.mean(axis=(0, 2)))
        for start, extreme in (("worst", worst), ("best", best)):
            drawn = line(ax, f"{start} client")
            expected = extreme(values, axis=-1).mean(axis=0)
            np.testing.assert_allclose(drawn.get_ydata(), expected)
            assert drawn.get_label() == f"{start} client: {expected[-1]:.3g}"
        low, high = outline(ax.collections[0])
        levels = np.quantile(values, (0.1, 0.9), axis=-1).mean(axis=1)
        np.testing.assert_allclose([low, high], levels)
        each = [thin.get_ydata() for thin in ax.get_lines()[:6]]
        np.testing.assert_allclose(each, values.mean(axis=0).T)
        plain = plots.clients(run, metric)
        assert len(plain.get_lines()) == 3


def test_extremes_of_a_metric_of_ones_own_are_not_called_worst(runs):
    own = dataclasses.replace(
        runs["DFedAvg"], clients={"own": runs["DFedAvg"].clients["client_loss"]}
    )
    ax = plots.clients(own, "own")
    assert not any("worst" in str(drawn.get_label()) for drawn in ax.get_lines())
    lowest, highest = (
        line(ax, f"{k} client").get_ydata() for k in ("lowest", "highest")
    )
    assert (lowest < highest).all()


def test_axis_labels_of_summaries_differ():
    names = [f"client_loss{s}" for s in ("", "_min", "_q10", "_median", "_q90", "_max")]
    assert len({metric_label(name) for name in names}) == len(names)
    assert metric_label("client_loss_of_mine") == "client loss of mine"


def test_what_is_missing_is_named(runs):
    with pytest.raises(UnknownNameError, match="accurcy"):
        plots.learning_curves(runs, "accurcy")
    with pytest.raises(UnknownNameError, match="band"):
        plots.learning_curves(runs, "loss", band="client")
    with pytest.raises(UnknownNameError, match="x"):
        plots.learning_curves(runs, "loss", x="round")
    ax = plt.figure().gca()
    with pytest.raises(InputError, match="measure = 'loss'"):
        plots.learning_curves(runs, "loss", ax, band="clients")
    assert not ax.lines, "axes remain as they were after an error"
    with pytest.raises(InputError, match="runs"):
        plots.learning_curves({})
    with pytest.raises(InputError, match="runs"):
        plots.learning_curves(runs["FedAvg"])
    with pytest.raises(InputError, match="measure = 'loss'"):
        plots.clients(runs["FedAvg"], "loss")
