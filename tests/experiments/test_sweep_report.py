"""Figures along a sweep's axes: lines never join points that do not belong together."""

import numpy as np
import pandas as pd
import pytest

import dfltheory as dfl
from dfltheory.experiments.sweep_report import (
    _curves,
    _draw_rate,
    _ticks_at,
    rate_points,
    write_report,
)
from dfltheory.rates import fit_exponent

SWEPT = ["topology.name", "run.rounds"]


def table(topologies, rounds, variants=("printed", "corrected")):
    """Return a verdict for each cell and variant; none applies on the first network at
    the first horizon.
    """
    rows = []
    for j, name in enumerate(topologies):
        for k, T in enumerate(rounds):
            for v, variant in enumerate(variants):
                bound = np.nan if j == k == 0 else (j + 1.0) / T
                measured = 0.1 * (v + 1) * (j + 1) / T
                row = {
                    "topology.name": name,
                    "run.rounds": T,
                    "variant": variant,
                    "status": "done",
                }
                row |= {
                    "measured": measured,
                    "measured_low": 0.0,
                    "measured_high": 2 * measured,
                }
                rows.append(row | {"bound": bound, "ratio": measured / bound})
    return pd.DataFrame(rows)


def test_a_curve_is_one_variant_of_one_setting():
    curves, held = _curves(
        table(("ring", "complete"), (10, 20, 40)), "run.rounds", SWEPT
    )
    assert held == ""
    assert set(curves["curve"]) == {
        f"{v}, {n}" for v in ("printed", "corrected") for n in ("ring", "complete")
    }
    for _, rows in curves.groupby("curve"):
        assert rows["run.rounds"].is_unique
        assert rows["ratio"].nunique() <= 2 or np.allclose(
            rows["ratio"], rows["ratio"].iloc[0]
        )
    # points at which nothing applies are marked, not removed
    assert len(curves) == 12
    assert curves["ratio"].isna().sum() == 2


def test_of_too_many_curves_the_other_settings_are_held():
    names = ("ring", "star", "path", "complete")
    curves, held = _curves(table(names, (10, 20, 40)), "run.rounds", SWEPT)
    assert held == " at topology.name = ring"
    assert set(curves["curve"]) == {"printed", "corrected"}
    assert set(curves["topology.name"]) == {"ring"}


def test_a_sweep_along_one_axis_needs_no_names():
    curves, held = _curves(table(("ring",), (10, 20, 40)), "run.rounds", ["run.rounds"])
    assert set(curves["curve"]) == {"printed", "corrected"}
    assert held == ""


def test_the_rate_is_that_of_one_variant_and_says_what_was_held():
    points, held = rate_points(
        table(("ring", "complete"), (10, 20, 40)), "run.rounds", SWEPT
    )
    assert held == " at topology.name = ring"
    assert points["x"].tolist() == [10, 20, 40]
    assert set(points["variant"]) == {"printed"}
    assert points["measured"].to_numpy() == pytest.approx(0.1 / np.array([10, 20, 40]))
    assert rate_points(table(("ring",), (10, 20)), "run.rounds", SWEPT) == (None, "")
    assert rate_points(table(("ring",), (10, 20, 40)), "topology.name", SWEPT) == (
        None,
        "",
    )
    assert rate_points(
        pd.DataFrame({"run.rounds": [1, 2, 3]}), "run.rounds", SWEPT
    ) == (None, "")


def test_ticks_stand_where_something_was_run():
    from matplotlib.figure import Figure

    ax = Figure().gca()
    ax.set_xscale("log")
    _ticks_at(ax, pd.Series([40, 10, 20, 10]))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["10", "20", "40"]
    assert len(ax.xaxis.get_minorticklocs()) == 0
    _ticks_at(ax, pd.Series(["ring"]))  # names are unchanged
    assert [text.get_text() for text in ax.get_xticklabels()] == ["10", "20", "40"]


def test_figure_and_caption_of_a_rate_report_the_fit():
    rounds = np.array([10, 20, 40, 80])
    whole = table(("complete",), rounds)
    whole["measured"] = 3 * whole["run.rounds"] ** -0.5
    whole["measured_low"], whole["measured_high"] = 0.0, 2 * whole["measured"]
    points, held = rate_points(
        whole[whole["variant"] == "corrected"], "run.rounds", ["run.rounds"]
    )
    without = points.assign(bound=np.nan)
    caption, _ = _draw_rate(without, "run.rounds", held)
    assert caption == "Fitted exponent in run.rounds: -0.500 [-0.500, -0.500]."
    with_bound = points.assign(bound=1 / points["x"])
    caption_with_bound, figure = _draw_rate(with_bound, "run.rounds", " at m = 4")
    (ax,) = figure.axes
    fit = "Fitted exponent in run.rounds at m = 4: -0.500 [-0.500, -0.500]"
    assert caption_with_bound == f"{fit}; the corrected bound's: -1.000: worse."
    assert ax.get_xlabel() == "horizon $T$ (rounds)"
    fitted = next(
        line for line in ax.get_lines() if str(line.get_label()).startswith("fit")
    )
    x, y = fitted.get_xdata(), fitted.get_ydata()
    assert y == pytest.approx(fit_exponent(rounds, 3 * rounds**-0.5).at(x))
    bars = np.array(ax.containers[0].lines[2][0].get_segments())[:, :, 1]
    assert bars[:, 0] == pytest.approx(1e-9 * 3 * rounds**-0.5)
    assert bars[:, 1] == pytest.approx(6 * rounds**-0.5)


def test_many_variants_along_one_axis_are_all_drawn():
    """There is no other axis along which variants could be separated."""
    variants = [f"variant {k}" for k in range(8)]
    curves, held = _curves(
        table(("ring",), (10, 20, 40), variants), "run.rounds", ["run.rounds"]
    )
    assert held == ""
    assert set(curves["curve"]) == set(variants)
    assert len(curves) == 8 * 3
    assert curves["ratio"].isna().sum() == 8


@pytest.mark.parametrize(
    "variants", [["printed", "corrected"], pytest.param(None, marks=pytest.mark.slow)]
)
def test_a_sweep_along_one_axis_ends_in_its_report(variants, tmp_path, capsys, undrawn):
    """With every variant, where none are named."""
    import tomllib

    from dfltheory.cli.sweep import _print
    from dfltheory.experiments.experiment_file import read_experiment
    from dfltheory.experiments.sweep import sweep

    text = """
title = "one axis [/red]"
task = {name = "quadratic", m = 4, d = 2, sigma = 0.2}
algorithm = {name = "dfedsam", K = 1, eta = 0.05, rho = 0.05}
topology = {name = "complete"}
run = {rounds = 20, seeds = 2}
theorem = {key = "dfedsam.theorem_4_5"}
[sweep]
"run.rounds" = [2, 3, 4, 5, 6, 7, 8]
"""
    document = tomllib.loads(text)
    if variants:
        document["theorem"]["variants"] = variants
    plan = read_experiment(document, "x.toml")
    done = sweep(plan, tmp_path, jobs=1)
    # a partial file, as left by a process killed while writing
    killed = tmp_path / ".new-gohulz3m" / "figures"
    killed.mkdir(parents=True)
    write_report(done.results, tuple(axis.fields for axis in plan.axes))
    assert not killed.parent.exists()
    shown = set(done.results.frame["variant"])
    assert shown == set(variants or dfl.bounds.variants("dfedsam.theorem_4_5"))
    _print(done)
    assert "one axis [/red]" in capsys.readouterr().out  # names are text, not markup
    page = (tmp_path / "report.html").read_text()
    assert "Measured / bound over run.rounds." in page
    # seven columns of panels do not fit: the caption says what is shown instead,
    # and how much of it
    assert "The first 6 of 7 runs over run.rounds." in page
    assert "Each left-hand side has its own panels" not in page
