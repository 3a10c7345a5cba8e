"""Figures for papers: legends, bands, gray bounds, sizes and embedded fonts."""

import re
import zlib

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import plots
from dfltheory.errors import InputError
from dfltheory.plots.horizons import mean_band
from dfltheory.plots.verdicts import CONDITIONS_FAIL, LOWER_LIMIT

KEY = "dfedsam.theorem_4_5"


@pytest.fixture(scope="module")
def runs():
    task = dfl.tasks.quadratic(m=8, d=3, sigma=0.3, seed=0)
    algorithm = dfl.algorithms.DFedSAM(eta=0.01, K=5, rho=0.01)
    made = {}
    for name in ("ring", "complete"):
        graph = getattr(dfl.graphs, name)(8)
        made[name] = dfl.train(
            algorithm, task, graph, rounds=60, seeds=4, progress=False
        )
    return made


@pytest.fixture(scope="module")
def corrected(runs):
    return {
        name: dfl.compare(run, KEY, variant="corrected") for name, run in runs.items()
    }


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def lines_of(ax, start):
    return [line for line in ax.get_lines() if str(line.get_label()).startswith(start)]


def words(ax):
    return " ".join(" ".join(labels(ax)).replace("\xa0", " ").split())


def test_curves_of_several_runs_have_one_legend_and_one_color_a_run(corrected):
    ax = plots.curves(corrected)
    assert len(ax.figure.axes) == 1
    assert len({line.get_color() for line in lines_of(ax, "measured")}) == 2
    (bound,) = lines_of(ax, "bound, corrected")
    assert bound.get_linestyle() != "-"
    assert bound.get_marker() not in ("", "None")
    ratio = 1 / corrected["complete"].ratio
    assert f"complete: corrected {ratio:.2g} × measured" in labels(ax)
    assert len(labels(ax)) == len(set(labels(ax)))


def test_curves_say_what_would_make_a_theorem_apply(corrected):
    assert corrected["ring"].kind == "not applicable"
    ax = plots.curves(corrected["ring"])
    assert str(corrected["ring"].suggestions) in words(ax)
    assert not lines_of(ax, "bound")


def test_curves_draw_bound_in_gray_on_request_where_conditions_fail(corrected):
    verdict = corrected["ring"]
    ax = plots.curves(verdict, show_inapplicable=True)
    (line,) = lines_of(ax, CONDITIONS_FAIL)
    values = {**verdict.values.needed, "T": 60}
    formula = verdict.theorem.evaluate(where="ignore", **values)
    assert line.get_ydata()[-1] == pytest.approx(formula)
    applicable = plots.curves(corrected["complete"], show_inapplicable=True)
    assert not lines_of(applicable, CONDITIONS_FAIL)


def test_band_is_students_interval_of_the_mean(runs, corrected):
    left = corrected["complete"].left_hand_side
    estimate, low, high = mean_band(left, 0.95)
    samples = runs["complete"].grad_norm_sq[:, : left.horizons.size]
    means = np.cumsum(samples, axis=1) / np.arange(1, samples.shape[1] + 1)
    half = 3.182446305284263 * means.std(axis=0, ddof=1) / 2  # t(0.975, 3)
    np.testing.assert_allclose(estimate, means.mean(axis=0))
    np.testing.assert_allclose(high - estimate, half, rtol=1e-9)
    np.testing.assert_allclose(low, np.maximum(estimate - half, 0), rtol=1e-9)


def test_lower_limit_is_a_line_of_its_own(corrected):
    ax = plots.curves(corrected["complete"])
    (limit,) = lines_of(ax, LOWER_LIMIT)
    (measured,) = lines_of(ax, "measured")
    shown = np.isfinite(limit.get_ydata())
    assert shown.any()
    assert (limit.get_ydata()[shown] <= measured.get_ydata()[shown]).all()
    assert limit.get_linewidth() < measured.get_linewidth()


def test_seeds_are_drawn_instead_of_the_interval(corrected):
    ax = plots.curves(corrected["complete"], band="seeds")
    assert len(lines_of(ax, "_child")) == 4
    assert not ax.collections
    with pytest.raises(InputError, match="band"):
        plots.curves(corrected["complete"], band="both")


def test_run_without_randomness_has_no_band():
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.0, seed=0)
    run = dfl.train(
        dfl.algorithms.DFedSAM(eta=0.01, K=2, rho=0.01),
        task,
        dfl.graphs.complete(4),
        rounds=20,
        progress=False,
    )
    ax = plots.curves(dfl.compare(run, KEY, variant="corrected"))
    assert not ax.collections
    assert not lines_of(ax, LOWER_LIMIT)
    assert "exact" in words(ax)


def test_curves_draw_on_given_axes_and_keep_their_title_clear(corrected):
    figure, ax = plt.subplots(layout="constrained")
    ax.set_title("a title")
    assert plots.curves(corrected["complete"], ax) is ax
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not legend.overlaps(ax.title.get_window_extent())
    assert not legend.overlaps(ax.xaxis.label.get_window_extent())
    assert not legend.overlaps(ax.get_window_extent())


@pytest.mark.parametrize(("columns", "width"), [(1, 3.4), (2, 7.0)])
def test_new_figures_have_the_width_of_columns(corrected, columns, width):
    drawn = [
        plots.curves(corrected, columns=columns),
        plots.terms(corrected["complete"], columns=columns),
        plots.tightness(corrected["complete"], columns=columns),
        plots.networks(corrected, columns=columns),
    ]
    for ax in drawn:
        figure = ax.figure
        assert figure.get_figwidth() == width
        figure.canvas.draw()
        assert ax.get_legend().get_window_extent().x0 >= 0
        assert ax.get_legend().get_window_extent().x1 <= figure.bbox.width
        assert ax.get_window_extent().height > 1.2 * figure.dpi
    with pytest.raises(InputError, match="columns"):
        plots.curves(corrected, columns=3)


def test_networks_are_in_the_order_of_their_gaps_with_ratios(corrected):
    ax = plots.networks(corrected)
    names = [tick.get_text().split("\n")[0] for tick in ax.get_xticklabels()]
    assert names == ["complete", "ring"]
    ratio = 1 / corrected["complete"].ratio
    assert f"{ratio:.2g} ×" in [text.get_text() for text in ax.texts]
    assert str(corrected["ring"].suggestions) in words(ax)


def test_rates_of_several_fits_are_relative_to_their_first_points():
    noise = dfl.Instance.of(
        {
            "task": {"name": "quadratic", "m": 4, "d": 2, "zeta": 0.0, "sigma": 1.0},
            "topology": {"name": "complete"},
            "algorithm": {"name": "dfedsam", "eta": 2e-5, "K": 2, "rho": 0.0},
            "run": {"rounds": 10**9},
        }
    )
    fit = dfl.rate_fit(
        "dfedsam.corollary_4_6",
        noise,
        vary="T",
        over=[1e8, 1e9, 1e10],
        variant="corrected",
    )
    ax = plots.rates({"one": fit, "other": fit})
    assert [text.split(":")[0] for text in labels(ax)] == ["one", "other"]
    (line,) = lines_of(ax, "one")
    assert line.get_xdata()[0] == line.get_ydata()[0] == 1
    assert "measured" in plots.rates(fit).get_legend_handles_labels()[1]
    with pytest.raises(InputError):
        plots.rates([])


def fonts(path):
    """The subtypes of the fonts of a PDF file, in its compressed parts too."""
    data = path.read_bytes()
    parts = [data]
    for match in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.S):
        try:
            parts.append(zlib.decompress(match[1].strip(b"\r\n")))
        except zlib.error:
            continue
    return {
        subtype
        for part in parts
        for subtype in re.findall(
            rb"/Subtype\s*/(Type\w+|CIDFontType\w+|TrueType)", part
        )
    }


def test_save_embeds_truetype_fonts_only(corrected, tmp_path):
    (path,) = plots.save(plots.curves(corrected).figure, tmp_path / "bound.pdf")
    found = fonts(path)
    assert b"Type3" not in found
    assert found & {b"CIDFontType2", b"TrueType"}
    ax = plots.curves(corrected["complete"])
    with plt.rc_context({"pdf.fonttype": 3}):
        ax.figure.savefig(tmp_path / "other.pdf")
    assert b"Type3" in fonts(tmp_path / "other.pdf")


def test_save_writes_png_with_300_pixels_an_inch(corrected, tmp_path):
    (path,) = plots.save(plots.curves(corrected).figure, tmp_path / "bound.png")
    assert plt.imread(path).shape[1] == 1020
    with pytest.raises(InputError, match="suffix"):
        plots.save(plt.figure(), tmp_path / "bound.gif")


def test_several_runs_differ_by_marker_and_not_by_color_alone(corrected):
    ax = plots.curves({"first": corrected["complete"], "second": corrected["ring"]})
    markers = {}
    for line in ax.lines:
        label = str(line.get_label())
        if label.startswith(("measured", "bound")):
            markers.setdefault(line.get_color(), set()).add(line.get_marker())
    assert len(markers) == 2
    first, second = markers.values()
    assert len(first) == len(second) == 1
    assert first != second
    assert "None" not in first | second
