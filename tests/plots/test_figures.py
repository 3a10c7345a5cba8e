"""Figures of runs and sweeps: drawn values, labels, line styles and files."""

import dataclasses
import itertools
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import dfltheory as dfl
from dfltheory import bounds, plots
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.plots.labels import gap_label
from dfltheory.plots.layout import _BESIDE_TEXT, styled_axes
from dfltheory.plots.look import ONE_COLUMN
from dfltheory.plots.notation import text_width
from dfltheory.plots.verdicts import _BoundRange

KEY = "dfedsam.theorem_4_5"
DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def runs():
    task = dfl.tasks.quadratic(m=6, d=3, sigma=0.2, seed=0)
    algorithm = dfl.algorithms.DFedSAM(eta=0.05, K=1, rho=0.01)
    make = (dfl.graphs.ring, dfl.graphs.star, dfl.graphs.complete)
    return {
        f.__name__: dfl.train(algorithm, task, f(6), rounds=40, seeds=4, progress=False)
        for f in make
    }


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def line(ax, start):
    return next(
        drawn for drawn in ax.get_lines() if str(drawn.get_label()).startswith(start)
    )


def test_comparison_draws_means_over_seeds_on_the_axes_given(runs):
    ax = plt.figure().gca()
    assert plots.comparison(runs, "loss", ax) is ax
    for name, run in runs.items():
        np.testing.assert_allclose(
            line(ax, name).get_ydata(), run.loss.mean(axis=0), rtol=1e-14
        )
    assert line(ax, "ring").get_label() == r"ring ($\lambda$ = 0.67)"


def test_band_has_student_limits(runs):
    _, mean, low, high = plots.band(runs["ring"], "consensus", 0.95)
    samples = runs["ring"].consensus
    # t(0.975, 3 degrees of freedom), 4 seeds
    half = 3.182446305284263 * samples.std(axis=0, ddof=1) / 2
    np.testing.assert_allclose(high - mean, half, rtol=1e-10)
    np.testing.assert_allclose(low, np.maximum(mean - half, 0), rtol=1e-10, atol=1e-15)


def test_lower_limit_of_equal_seeds_is_the_documented_one():
    from dfltheory.verdicts.evidence import evidence_lower_limits

    text = (DOCS / "report.md").read_text()
    for seeds in (16, 64):
        limit = f"{evidence_lower_limits(np.ones((seeds, 1)), 0.025)[0]:.2f}"
        assert f"{limit} times" in text
        assert float(limit) < 0.025 ** (1 / seeds)  # limit of the most powerful e-value


def test_comparison_draws_intervals_of_95_percent_unless_another_level_is_given(runs):
    for draw, measure in ((plots.comparison, "loss"), (plots.consensus, "consensus")):
        named = {"measure": measure} if draw is plots.comparison else {}
        for level in ({}, {"confidence": 0.8}):
            ax = draw({"ring": runs["ring"]}, **named, **level)
            _, _, _, high = plots.band(
                runs["ring"], measure, level.get("confidence", 0.95)
            )
            drawn = ax.collections[0].get_paths()[0].vertices[:, 1]
            assert drawn.max() == pytest.approx(high.max(), rel=1e-12)


def test_figures_have_a_legend_unless_it_is_switched_off(runs):
    verdict = dfl.compare(runs["ring"], bounds.get(KEY))
    for draw, given in (
        (plots.comparison, [runs]),
        (plots.consensus, [runs]),
        (plots.ratio_over, ["run.rounds", table()]),
        (plots.terms, [verdict]),
        (plots.tightness, [verdict]),
    ):
        assert draw(*given).get_legend() is not None
        assert draw(*given, legend=False).get_legend() is None


def test_label_that_fits_into_the_figure_is_not_wrapped():
    # room for the label: 0.3 inches less than what the line of the entry leaves
    room = ONE_COLUMN - _BESIDE_TEXT - 0.3
    label = "word"
    while text_width(f"{label} word") < room:
        label += " word"
    for text, lines in ((label, 1), (f"{label} word word word", 2)):
        with styled_axes(None, True, 1) as ax:
            ax.plot([1, 2], [1, 2], label=text)
        (entry,) = ax.get_legend().get_texts()
        assert entry.get_text().count("\n") == lines - 1
        ax.figure.canvas.draw()
        assert ax.get_legend().get_window_extent().x1 <= ax.figure.bbox.width


def test_bounds_of_a_family_at_one_horizon_are_a_bar_that_is_not_clipped():
    _, ax = plt.subplots()
    low, high = np.array([1.0]), np.array([3.0])
    _BoundRange(np.array([10]), low, high).draw(ax, "red", "range")
    (bar,) = ax.collections
    (ends,) = bar.get_segments()
    assert ends.tolist() == [[10, 1], [10, 3]]
    assert bar.get_linewidth() == [4]
    assert not bar.get_clip_on()
    assert bar.get_alpha() == 0.35
    assert bar.get_label() == "range"


def test_gap_label_shows_rounding_error_as_zero():
    labels = [gap_label(lam) for lam in (1.1e-16, 2 / 3, None)]
    assert labels == [r"$\lambda$ = 0", r"$\lambda$ = 0.67", ""]


def test_consensus_labels_zero_curve(runs):
    run = runs["complete"]
    exact = {
        "complete": dataclasses.replace(
            run, consensus=np.zeros_like(run.consensus), topology=run.topology
        )
    }
    labels = plots.consensus(exact).get_legend_handles_labels()[1]
    assert labels == [r"complete ($\lambda$ = 0): zero"]


def test_lines_differ_in_dash_marker_and_color(runs):
    ax = plots.comparison(runs)
    line_styles = [
        (drawn.get_linestyle(), drawn.get_marker()) for drawn in ax.get_lines()
    ]
    assert len(set(line_styles)) == len(line_styles) == 3
    seven = [
        (str(look["linestyle"]), look["marker"], look["color"])
        for look in itertools.islice(plots.looks(), 7)
    ]
    for part in range(3):
        assert len({look[part] for look in seven}) == 7


def test_tightness_draws_measured_over_bound(runs):
    run, theorem = runs["ring"], bounds.get(KEY)
    ax = plots.tightness([dfl.compare(run, theorem)])
    x, y = line(ax, "printed").get_data()
    verdict = dfl.compare(run, theorem)
    assert x[-1] == run.rounds
    assert y[-1] == pytest.approx(verdict.ratio, rel=1e-12)


def test_drawn_terms_sum_to_the_bound(runs):
    run, theorem = runs["ring"], bounds.get(KEY)
    ax = plots.terms(dfl.compare(run, theorem))
    total = line(ax, "bound").get_ydata()
    drawn = [d.get_ydata() for d in ax.get_lines() if d.get_label() in theorem.parts]
    np.testing.assert_allclose(np.sum(drawn, axis=0), total, rtol=1e-12)
    assert total[-1] == pytest.approx(dfl.compare(run, theorem).bound, rel=1e-12)


def table():
    columns = {
        "run.rounds": [10, 100, 10, 100],
        "variant": ["printed"] * 2 + ["corrected"] * 2,
    }
    columns |= {"topology.name": ["ring", "star"] * 2, "ratio": [0.1, 0.2, 0.3, np.nan]}
    return pd.DataFrame(
        columns
        | {
            "ratio_low": [0.05, 0.1, 0.2, np.nan],
            "ratio_high": [0.2, 0.4, np.inf, np.nan],
        }
    )


def test_ratio_over_has_log_axis_for_numbers_and_ticks_for_names():
    ax = plots.ratio_over("run.rounds", table())
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    labels = ax.get_legend_handles_labels()[1]
    starts = [label.split(":")[0] for label in labels]
    assert starts == ["printed", "corrected", "not applicable"]
    assert labels[0] == "printed: 5 to 10 × measured"
    assert labels[2] == "not applicable: 1 of 4 verdicts"
    drawn = ax.containers[0].lines[0]
    np.testing.assert_allclose(drawn.get_ydata(), [0.1, 0.2])
    np.testing.assert_allclose(drawn.get_xdata(), [10, 100], rtol=0.04)
    names = plots.ratio_over("topology.name", table())
    assert [t.get_text() for t in names.get_xticklabels()] == ["ring", "star"]
    assert names.get_xscale() == "linear"


@pytest.mark.parametrize(
    ("ratio", "kind", "marker"),
    [
        (np.nan, "not applicable", "x"),
        (0.0, "measured 0", "v"),
        (np.inf, "measured diverged", "^"),
    ],
)
def test_ratio_over_marks_points_that_are_not_finite_and_says_why(ratio, kind, marker):
    frame = table().assign(ratio=[0.1, 0.2, 0.3, ratio])
    frame["reason"] = ["", "", "", "eta <= 1/(8 K L) fails, by 0.1"]
    frame["suggestion"] = ["", "", "", "applies for eta <= 0.001"]
    ax = plots.ratio_over("run.rounds", frame)
    marks = [
        drawn
        for drawn in ax.get_lines()
        if drawn.get_marker() == marker and len(drawn.get_xdata())
    ]
    assert len(marks) == 1
    np.testing.assert_allclose(marks[0].get_xdata(), [100], rtol=0.04)
    assert marks[0].get_color() == ax.containers[1].lines[0].get_color()
    place = marks[0].get_transform().transform(marks[0].get_xydata())[0]
    assert ax.bbox.contains(*place)
    assert np.isnan(ax.containers[1].lines[0].get_ydata()[-1])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    words = " ".join(" ".join(texts).replace("\xa0", " ").split())
    assert f"{kind}: 1 of 4 verdicts" in words
    suggestion = r"corrected, not applicable: $\eta \leq$ 1/(8 $K L$) fails, by 0.1;"
    suggestion += r" applies for $\eta \leq$ 0.001"
    assert (suggestion in words) == (kind == "not applicable")


def test_rate_draws_points_fit_and_prediction():
    x = np.array([10.0, 100.0, 1000.0])
    ax = plots.rate(
        x, 3 * x**-0.5, fitted=(-0.5, 3.0), exponent_ci=(-0.6, -0.4), predicted=-1
    )
    np.testing.assert_allclose(
        line(ax, "fit").get_ydata()[[0, -1]], 3 * x[[0, -1]] ** -0.5
    )
    assert line(ax, "fit").get_label() == "fit, slope -0.50 [-0.60, -0.40]"
    predicted = line(ax, "predicted").get_ydata()
    assert predicted[-1] / predicted[0] == pytest.approx(0.01)
    assert predicted[0] == pytest.approx(3 * 10**-0.5)
    # the prediction is wider and below the fit, so both stay visible if they agree
    below, above = line(ax, "predicted"), line(ax, "fit")
    assert below.get_linewidth() > 2 * above.get_linewidth()
    assert below.get_zorder() < above.get_zorder()
    assert [t.get_text() for t in ax.get_legend().get_texts()][1].startswith(
        "predicted"
    )


def test_rate_labels_points_on_short_axis_and_powers_on_long_axis(tmp_path):
    x = 2.0 ** np.arange(1, 5)
    ax = plots.rate(x, 1 / x, legend=False)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["2", "4", "8", "16"]
    assert list(ax.get_xticks()) == [2, 4, 8, 16]
    assert list(ax.get_xticks(minor=True)) == []
    assert ax.get_legend() is None
    many = np.arange(10.0, 24.0)
    assert list(plots.rate(many, many).get_xticks()) == [10, 13, 16, 19, 22]
    ax = plots.rate(10.0 ** np.arange(4), 3e-5 * 2.0 ** -np.arange(4))
    plots.save(ax.figure, tmp_path / "long.svg")
    assert [t.get_text() for t in ax.get_xticklabels()][2:4] == ["10¹", "10²"]
    assert "2×10⁻⁵" in [t.get_text() for t in ax.get_yticklabels(minor=True)]


def test_rate_fit_plot_uses_symbols_of_the_papers():
    from dfltheory.rates import fit_points

    fit = fit_points("m", [2, 4, 8], [1 / 2, 1 / 4, 1 / 8], [2, 1, 0.5])
    ax = fit.plot()
    assert ax.get_xlabel() == "$m$"
    assert "fit, slope -1.00 [-1.00, -1.00]" in ax.get_legend_handles_labels()[1]
    assert "predicted, slope -1" in ax.get_legend_handles_labels()[1]
    np.testing.assert_allclose(ax.containers[0].lines[0].get_ydata(), fit.measured)
    assert (
        dataclasses.replace(fit, vary="1 - lam").plot(legend=False).get_xlabel()
        == r"$1 - \lambda$"
    )
    assert dataclasses.replace(fit, vary="rho0").plot().get_xlabel() == r"$\rho_0$"


def test_invalid_argument_raises_error_with_its_name(runs):
    with pytest.raises(UnknownNameError, match=r"measure .* 'los'"):
        plots.comparison(runs, "los")
    with pytest.raises(InputError, match="runs"):
        plots.comparison({})
    with pytest.raises(InputError, match="x and y"):
        plots.rate([1, 2], [0, 1])
    with pytest.raises(InputError, match="x and y"):
        plots.rate([1, 2], [1])
    with pytest.raises(UnknownNameError, match=r"column .* 'run\.round'"):
        plots.ratio_over("run.round", table())
    with pytest.raises(InputError, match="ratio"):
        plots.ratio_over("run.rounds", table().assign(ratio=np.nan))


def test_save_writes_png_and_reproducible_vector_files(runs, tmp_path):
    one = {"ring": runs["ring"]}
    png, pdf, svg = plots.save(plots.comparison(one).figure, tmp_path / "f")
    assert png.read_bytes()[:4] == b"\x89PNG"
    assert b"/Type0" in pdf.read_bytes() or b"/TrueType" in pdf.read_bytes()
    assert b"/Subtype /Image" not in pdf.read_bytes()
    assert (
        svg.read_bytes()
        == plots.save(plots.comparison(one).figure, tmp_path / "g.svg")[0].read_bytes()
    )


@pytest.fixture(scope="module")
def verdict(runs):
    return dfl.compare(runs["ring"], KEY, variant="printed", L=1.0)


@pytest.mark.parametrize("draw", [plots.tightness, plots.terms, plots.curves])
def test_verdicts_without_their_run_are_rejected(verdict, draw):
    with pytest.raises(InputError, match="run"):
        draw(dataclasses.replace(verdict, left_hand_side=None))


@pytest.mark.parametrize("draw", [plots.curves, plots.networks])
def test_labels_without_a_verdict_are_rejected(verdict, draw):
    with pytest.raises(InputError, match="star"):
        draw({"ring": verdict, "star": []})


@pytest.mark.parametrize(
    "draw", [plots.curves, plots.tightness, plots.panels, plots.along]
)
def test_figures_of_no_verdicts_are_rejected(draw):
    with pytest.raises(InputError, match="verdict"):
        draw([])


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1.0, 2.0, np.nan])
def test_confidence_levels_out_of_range_are_rejected(runs, confidence):
    for draw in (plots.comparison, plots.consensus):
        with pytest.raises(InputError, match="confidence"):
            draw(runs, confidence=confidence)
    with pytest.raises(InputError, match="confidence"):
        plots.learning_curves(runs, "loss", confidence=confidence)
    with pytest.raises(InputError, match="confidence"):
        plots.band(runs["ring"], "loss", confidence)


def test_band_of_an_unknown_measure_is_rejected(runs):
    with pytest.raises(UnknownNameError, match="los"):
        plots.band(runs["ring"], "los")


@pytest.mark.parametrize("column", ["ratio_low", "ratio_high"])
def test_ratio_over_needs_the_limits_of_ratios(column):
    with pytest.raises(UnknownNameError, match=column):
        plots.ratio_over("run.rounds", table().drop(columns=column))


def test_rate_rejects_points_that_are_not_finite():
    with pytest.raises(InputError, match="x and y"):
        plots.rate([1, 2], [1, np.inf])
