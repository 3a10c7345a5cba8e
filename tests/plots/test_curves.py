"""Figures for papers: legends, bands, gray bounds, sizes and embedded fonts."""

import re
import zlib
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

import dfltheory as dfl
from dfltheory import plots
from dfltheory.errors import InputError
from dfltheory.plots.horizons import mean_band
from dfltheory.plots.notation import in_symbols
from dfltheory.plots.verdicts import CONDITIONS_FAIL, LOWER_LIMIT

KEY = "dfedsam.theorem_4_5"
BOTH = ("printed", "corrected")


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
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    return [" ".join(text.replace("\xa0", " ").split()) for text in texts]


def suggested(verdict):
    """Return the changes that would make the theorem apply, in the words of figures."""
    return in_symbols(str(verdict.suggestions), verdict.theorem).replace("\xa0", " ")


def lines_of(ax, start):
    return [line for line in ax.get_lines() if str(line.get_label()).startswith(start)]


def words(ax):
    return " ".join(labels(ax))


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
    assert suggested(corrected["ring"]) in words(ax)
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
    figure.draw_without_rendering()
    legend = ax.get_legend().get_window_extent()
    assert not legend.overlaps(ax.title.get_window_extent())
    assert not legend.overlaps(ax.xaxis.label.get_window_extent())
    assert not legend.overlaps(ax.get_window_extent())


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("columns", "width"), [(1, 3.4), (2, 7.0)])
@pytest.mark.parametrize("name", ["curves", "terms", "tightness", "networks"])
def test_new_figures_have_the_width_of_columns(corrected, name, columns, width):
    of = corrected if name in ("curves", "networks") else corrected["complete"]
    ax = getattr(plots, name)(of, columns=columns)
    figure = ax.figure
    assert figure.get_figwidth() == width
    figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x0 >= 0
    assert ax.get_legend().get_window_extent().x1 <= figure.bbox.width
    assert ax.get_window_extent().height > 1.2 * figure.dpi


def test_figures_of_three_columns_are_refused(corrected):
    with pytest.raises(InputError, match="columns"):
        plots.curves(corrected, columns=3)


def test_networks_are_in_the_order_of_their_gaps_with_ratios(corrected):
    ax = plots.networks(corrected)
    names = [tick.get_text().split("\n")[0] for tick in ax.get_xticklabels()]
    assert names == ["complete", "ring"]
    ratio = 1 / corrected["complete"].ratio
    assert f"{ratio:.2g} ×" in [text.get_text() for text in ax.texts]
    assert suggested(corrected["ring"]) in words(ax)


def test_networks_draw_every_variant_with_a_marker_of_its_own(runs):
    variants = ("printed", "appendix", "appendix_q1", "corrected")
    verdicts = {
        name: [dfl.compare(run, KEY, variant=variant) for variant in variants]
        for name, run in runs.items()
    }
    ax = plots.networks(verdicts)
    looks = {}
    for index, variant in enumerate(variants):
        applicable = {}
        for place, name in enumerate(("complete", "ring")):
            verdict = verdicts[name][index]
            if verdict.kind != "not applicable":
                applicable[place] = verdict
        (drawn,) = [
            line
            for line in lines_of(ax, f"bound, {variant}")
            if str(line.get_label()).split(",")[1].split(" (")[0].strip() == variant
        ]
        bounds = [verdict.bound for verdict in applicable.values()]
        np.testing.assert_allclose(drawn.get_ydata(), bounds)
        np.testing.assert_allclose(drawn.get_xdata(), list(applicable), atol=0.3)
        looks[variant] = (drawn.get_marker(), str(drawn.get_markerfacecolor()))
        ratios = [f"{1 / verdict.ratio:.2g}" for verdict in applicable.values()]
        texts = [str(drawn.get_label()), *(text.get_text() for text in ax.texts)]
        assert all(any(ratio in text for text in texts) for ratio in ratios)
    assert len(set(looks.values())) == len(variants)
    measured = [c for c in ax.containers if str(c.get_label()).startswith("measured")]
    assert len(measured) == 2  # the minimum and the mean over rounds


def test_curves_draw_left_sides_of_one_unit_together(runs):
    """The printed theorem bounds the minimum over rounds, the corrected the mean."""
    verdicts = [dfl.compare(runs["complete"], KEY, variant=v) for v in BOTH]
    ax = plots.curves(verdicts)
    for verdict, name in zip(verdicts, ("least over rounds", "mean over rounds")):
        (measured,) = lines_of(ax, f"measured, {name}")
        assert measured.get_ydata()[-1] == pytest.approx(verdict.measured.estimate)
        (bound,) = lines_of(ax, f"bound, {verdict.variant}")
        assert bound.get_ydata()[-1] == pytest.approx(verdict.bound)
        above = f"{name}: {plots.labels.times_measured(verdict.ratio)}"
        (label,) = [t for t in labels(ax) if t.startswith(f"bound, {verdict.variant}")]
        assert label.endswith(above)
    styles = {line.get_linestyle() for line in lines_of(ax, "measured")}
    assert len(styles) == 2
    assert len(labels(ax)) == len(set(labels(ax)))


def test_curves_of_both_variants_say_what_would_make_one_apply(runs):
    verdicts = [dfl.compare(runs["ring"], KEY, variant=v) for v in BOTH]
    assert verdicts[1].kind == "not applicable"
    ax = plots.curves(verdicts)
    assert suggested(verdicts[1]) in words(ax)
    assert lines_of(ax, "bound, printed")


def test_curves_reject_left_sides_of_different_units(runs):
    gap = dfl.compare(runs["complete"], "koloskova2020.rate", variant=None)
    other = dfl.compare(runs["complete"], KEY, variant="corrected")
    assert gap.theorem.lhs.unit != other.theorem.lhs.unit
    with pytest.raises(InputError, match="units"):
        plots.curves([gap, other])


# -- axes that a caller gives


def drawn_on_given(make, size=(6.4, 4.8)):
    """Return the figure on axes created by matplotlib, and these axes."""
    figure, ax = plt.subplots(figsize=size)
    ax.set_title("of the caller")
    ax.set_title("left", loc="left")
    make(ax)
    return figure, ax


def sweep_table():
    return pd.DataFrame(
        {
            "algorithm.K": [1, 2, 5],
            "variant": ["corrected"] * 3,
            "ratio": [0.1, 0.2, np.nan],
            "ratio_low": [0.05, 0.1, np.nan],
            "ratio_high": [0.2, 0.4, np.nan],
            "reason": ["", "", "eta <= 1/(8 K L) fails, by 0.1"],
            "suggestion": ["", "", "applies for eta <= 0.001"],
        }
    )


def drawings(runs):
    """Return every function that accepts axes, on verdicts one of which is not
    applicable.
    """
    both = {n: [dfl.compare(r, KEY, variant=v) for v in BOTH] for n, r in runs.items()}
    return {
        "curves": partial(plots.curves, both["ring"]),
        "curves of runs": partial(plots.curves, both),
        "terms": partial(plots.terms, both["ring"][1]),
        "tightness": partial(plots.tightness, both["ring"]),
        "networks": partial(plots.networks, both),
        "ratio_over": partial(plots.ratio_over, "algorithm.K", sweep_table()),
        "comparison": partial(plots.comparison, runs),
        "learning_curves": partial(plots.learning_curves, runs, "loss"),
        "rate": partial(plots.rate, [1, 2], [1, 2]),
    }


FUNCTIONS = (
    "curves",
    "curves of runs",
    "terms",
    "tightness",
    "networks",
    "ratio_over",
    "comparison",
    "learning_curves",
    "rate",
)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_texts_on_given_axes_have_8_points_and_are_not_cut_off(runs, name):
    figure, ax = drawn_on_given(partial(_on, drawings(runs)[name]))
    figure.draw_without_rendering()
    ticks = [*ax.get_xticklabels(which="both"), *ax.get_yticklabels(which="both")]
    texts = [*ticks, ax.xaxis.label, ax.yaxis.label, *ax.texts]
    texts += ax.get_legend().get_texts()
    assert {text.get_fontsize() for text in texts} == {8.0}
    box = ax.get_legend().get_window_extent()
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1 + 1
    assert figure.bbox.y0 - 1 <= box.y0
    assert not box.overlaps(ax.get_window_extent())
    assert ax.get_title() == "of the caller"
    assert ax.get_title(loc="left") == "left"


def _on(draw, ax):
    return draw(ax=ax)


def test_small_given_figure_is_made_higher_for_its_legend(runs):
    draw = drawings(runs)["curves"]
    figure, ax = drawn_on_given(partial(_on, draw), size=(3.4, 2.4))
    figure.draw_without_rendering()
    assert figure.get_figwidth() == 3.4
    assert ax.get_window_extent().height > 0.9 * figure.dpi
    assert ax.get_legend().get_window_extent().y0 >= -1


def test_legend_is_inside_axes_that_no_layout_moves(runs):
    figure = plt.figure(figsize=(5, 4))
    ax = figure.add_axes([0.15, 0.15, 0.8, 0.8])
    before = ax.get_position().bounds
    plots.curves(dfl.compare(runs["complete"], KEY, variant="corrected"), ax)
    figure.draw_without_rendering()
    assert ax.get_position().bounds == before
    legend = ax.get_legend().get_window_extent()
    box = ax.get_window_extent()
    assert box.x0 <= legend.x0 < legend.x1 <= box.x1
    assert box.y0 <= legend.y0 < legend.y1 <= box.y1


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
    """Return the subtypes of the fonts in a PDF file and its compressed parts."""
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
    (path,) = plots.save(plots.curves(corrected["complete"]).figure, tmp_path / "b.pdf")
    found = fonts(path)
    assert b"Type3" not in found
    assert found & {b"CIDFontType2", b"TrueType"}
    ax = plots.rate([1, 2], [1, 2])
    with plt.rc_context({"pdf.fonttype": 3, "ps.fonttype": 3}):
        ax.figure.savefig(tmp_path / "other.pdf")
    assert b"Type3" in fonts(tmp_path / "other.pdf")


@pytest.mark.drawn(1)
@pytest.mark.parametrize("given", [False, True])
def test_savefig_of_matplotlib_embeds_truetype_fonts(corrected, tmp_path, given):
    with plt.rc_context({"pdf.fonttype": 3}):  # the default of matplotlib
        ax = plt.subplots()[1] if given else None
        figure = plots.curves(corrected["complete"], ax).figure
        figure.savefig(tmp_path / "bound.pdf")
    found = fonts(tmp_path / "bound.pdf")
    assert b"Type3" not in found
    assert found & {b"CIDFontType2", b"TrueType"}


def test_save_computes_the_layout_once(tmp_path, monkeypatch):
    figure = plots.rate([1, 2], [1, 2]).figure
    engine = figure.get_layout_engine()
    calls = []
    execute = type(engine).execute

    def counted(self, of):
        calls.append(of)
        return execute(self, of)

    monkeypatch.setattr(type(engine), "execute", counted)
    assert len(plots.save(figure, tmp_path / "bound")) == 3
    assert calls == [figure]
    assert figure.get_layout_engine() is engine


def test_save_writes_png_with_300_pixels_an_inch(tmp_path):
    (path,) = plots.save(plots.rate([1, 2], [1, 2]).figure, tmp_path / "rate.png")
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


def test_line_styles_of_several_runs_are_explained_without_color_or_marker(corrected):
    ax = plots.curves({"first": corrected["complete"], "second": corrected["ring"]})
    explained = [
        handle
        for handle, label in zip(
            ax.get_legend().legend_handles, labels(ax), strict=True
        )
        if label.startswith(("measured", "bound"))
    ]
    assert len(explained) == 2
    for handle in explained:
        assert handle.get_marker() == "None"
        red, green, blue = to_rgb(handle.get_color())
        assert red == green == blue


def test_a_path_in_place_of_axes_is_an_input_error(corrected):
    with pytest.raises(InputError, match="axes"):
        corrected["complete"].plot("figure.png")
