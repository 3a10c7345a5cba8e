"""Figures, tables and the report page agree with the verdicts that they show."""

import dataclasses
import html
import io
import json
import re

import numpy as np
import pytest
from matplotlib import pyplot as plt

import dfltheory as dfl
from dfltheory import plots
from dfltheory.bounds.status import NOT_EXAMINED
from dfltheory.errors import InputError
from dfltheory.experiments.cases import Case, perform, perform_all
from dfltheory.experiments.page_parts import MARKS, figure_name, verdict_text
from dfltheory.experiments.report import (
    Study,
    format_number,
    print_study,
    render,
    tables,
)
from dfltheory.experiments.verdict_documents import verdict_from_dict
from dfltheory.files import json_text
from dfltheory.plots.notes import obstacle
from tests.drawing import drawing
from tests.figures_read import drawn, panels_of, read
from validation import axes, crossings
from validation.claims import bound_claims

S2 = {"S2": 1.3**2}


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def case(
    group,
    key,
    task,
    algorithm,
    rounds,
    variants=None,
    network="complete",
    x0=None,
    **more,
):
    variants = tuple(variants or dfl.bounds.variants(key))
    W = dfl.graphs.metropolis(dfl.graphs.topology(network, task.m))
    placed = {
        "group": group,
        "row": "",
        "column": network,
        "key": key,
        "variants": variants,
    }
    instance = dfl.Instance(task, algorithm, W, rounds=rounds, seeds=3, x0=x0)
    return Case(instance=instance, **placed, **more)


def blocks():
    """Return four left-hand sides; two statements are in O(.)."""
    task = dfl.tasks.coupled(
        m=4, p=2, chi=0.3, spread=0.5, sigma_u=0.3, sigma_v=0.3, seed=0
    )
    steps = dfl.bounds.get("dfedmdc.theorem_1", "corrected").step_sizes(
        L_u=1.0, L_v=1.0, K_u=3, K_v=3, T=1100
    )
    return case(
        "blocks",
        "dfedmdc.theorem_1",
        task,
        dfl.algorithms.DFedMDC(**steps, K_u=3, K_v=3),
        1100,
    )


def corollary(constants=S2):
    """Applicable only with given constants, and only at the last horizon."""
    task = dfl.tasks.sinusoidal(
        m=4, d=2, L=1.0, B=1.0, sigma=0.3, spread=0.5, distance=1.0, seed=0
    )
    theorem = dfl.bounds.get("dfedadmm.corollary_1", "corrected")
    steps = theorem.step_sizes(L=1.0, K=3, T=400, rho0=1.0)
    method = dfl.algorithms.DFedADMMSAM(
        eta=steps["eta"], K=3, lam=steps["lam_admm"], rho=steps["rho"]
    )
    return case("corollary", theorem.key, task, method, 400, constants=constants)


def mixed(network="ring", eta=0.05):
    """Minimum and mean over rounds; on the ring some variants do not apply."""
    task = dfl.tasks.quadratic(m=8, d=3, sigma=0.1, zeta=0.1, seed=0)
    method = dfl.algorithms.DFedSAM(eta=eta, K=2, rho=0.05)
    return case(
        "mixed",
        "dfedsam.theorem_4_5",
        task,
        method,
        200,
        network=network,
        x0=[3.0, 3.0, 3.0],
    )


@pytest.fixture(scope="module")
def outcomes():
    made = [blocks(), corollary(), mixed(), mixed("complete")]
    made.append(dataclasses.replace(mixed(eta=0.9), group="silent"))
    violated = dataclasses.replace(
        crossings.cases()[0].with_run(rounds=300), column="trap"
    )
    return perform_all([*made, violated])


@pytest.fixture(scope="module")
def two_panels(outcomes):
    return plots.panels(outcomes[2:4])


@pytest.fixture(scope="module")
def study(outcomes):
    return Study("A study", outcomes, ["The rest."], "a test")


@pytest.fixture(scope="module")
def page(study):
    return render(study, dict.fromkeys(o.case.group for o in study.outcomes))


@pytest.mark.slow
def test_panels_draw_exactly_the_applicable_verdicts(outcomes):
    """Tests the verdicts of the run, and those read back from a file."""
    assert {"violated", "holds", "not applicable"} <= {
        v.kind for o in outcomes for v in o.verdicts
    }
    for group in dict.fromkeys(o.case.group for o in outcomes):
        mine = [o for o in outcomes if o.case.group == group]
        documents = json.loads(
            json_text([[v.to_dict() for v in o.verdicts] for o in mine])
        )
        stored = [
            dataclasses.replace(
                o, verdicts=tuple(verdict_from_dict(d, o.run) for d in stored_verdicts)
            )
            for o, stored_verdicts in zip(mine, documents, strict=True)
        ]
        read(plots.panels(mine), stored)


@pytest.mark.slow
def test_read_rejects_figure_of_other_verdicts(outcomes, two_panels):
    """The check above fails for slightly changed verdicts."""
    mine = outcomes[2:4]
    read(two_panels, mine)
    for change in (
        {"bound": 1.001},
        {"rounds": 199},
        {"trivial": 7.0},
        {"kind": "not applicable"},
    ):
        verdicts = tuple(
            dataclasses.replace(
                v, **{n: v.bound * x if n == "bound" else x for n, x in change.items()}
            )
            for v in mine[1].verdicts
        )
        with pytest.raises(AssertionError):
            read(
                two_panels,
                [mine[0], dataclasses.replace(mine[1], verdicts=verdicts)],
            )


def test_cases_have_the_intended_verdicts(outcomes):
    assert [o.case.group for o in outcomes] == [
        "blocks",
        "corollary",
        "mixed",
        "mixed",
        "silent",
        crossings.GROUP,
    ]
    kinds = {
        o.case.group: {v.variant: v.kind for v in o.verdicts} for o in outcomes[:3]
    }
    assert (
        kinds["blocks"]["printed"] == kinds["corollary"]["printed"] == "not applicable"
    )
    assert kinds["blocks"]["corrected_different_steps"] == "holds"
    assert kinds["corollary"]["corrected"] == "holds"
    assert (
        len({dfl.bounds.get("dfedmdc.theorem_1", v).lhs.latex for v in kinds["blocks"]})
        == 4
    )
    assert kinds["mixed"]["printed"] == "holds"
    assert kinds["mixed"]["corrected"] == "not applicable"
    assert {v.kind for v in outcomes[3].verdicts} == {"holds"}
    assert {v.kind for v in outcomes[4].verdicts} == {"not applicable"}


def legend_words(ax):
    """Return the text of a legend as one line."""
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    return " ".join(" ".join(texts).replace("\xa0", " ").split())


def test_plot_uses_given_constants(outcomes):
    """The corollary is applicable only if S2 is given."""
    verdict = next(v for v in outcomes[1].verdicts if v.variant == "corrected")
    x, y = drawn(verdict.plot())["bound, corrected"].get_data()
    # its step sizes depend on T, so the bound covers this run at T = 400 only
    assert x[np.isfinite(y)] == [400]
    assert y[-1] == pytest.approx(verdict.bound)
    bare = perform(corollary({})).verdicts
    ax = next(v for v in bare if v.variant == "corrected").plot()
    assert not [name for name in drawn(ax) if name.startswith("bound")]
    assert "$S^2$ not known" in legend_words(ax)
    assert "S2" not in legend_words(ax)


@pytest.mark.parametrize("which", [0, 4])
def test_plot_of_not_applicable_verdict_shows_reason_and_no_bound(outcomes, which):
    outcome = outcomes[which]
    verdict = outcome.verdicts[0]
    assert verdict.kind == "not applicable"
    ax = verdict.plot()
    names = [name.split(",")[0] for name in drawn(ax)]
    assert "measured" in names
    assert not any(name.startswith("bound") for name in names)
    note = " (refuted)" if verdict.status.refuted else ""
    words = legend_words(ax)
    text = f"printed{note}, not applicable: {obstacle(verdict)}"
    assert " ".join(text.replace("\xa0", " ").split()) in words


@pytest.mark.slow
def test_along_draws_applicable_verdicts_as_points(tmp_path):
    cases = [
        dataclasses.replace(c.with_run(rounds=200), variants=("printed", "corrected"))
        for c in axes.cases()
    ]
    # violates a condition of the corrected variant
    cases[0] = cases[0].with_run(network=0.999 * np.eye(2) + 0.001 / 2)
    made = perform_all(
        [c for c in cases if c.along == "lam" or c.column in ("K = 1", "K = 2")]
    )
    excluded = [v.kind == "not applicable" for o in made for v in o.verdicts]
    assert 0 < sum(excluded) < len(excluded)
    figure = plots.along(made)
    grid = np.reshape(figure.axes, (2, 2))  # two left-hand sides, two axes
    for row, variant in zip(grid, ("printed", "corrected"), strict=True):
        for ax, name in zip(row, ("lam", "K"), strict=True):
            mine = [
                v
                for o in made
                if o.case.along == name
                for v in o.verdicts
                if v.variant == variant
            ]
            mine = [v for v in mine if v.kind != "not applicable"]
            points = {1 - v.at["lam"] if name == "lam" else v.at["K"]: v for v in mine}
            bound, measured = [
                line for line in ax.get_lines() if len(line.get_xdata()) == len(points)
            ][:2]
            assert [*bound.get_xdata()] == [*measured.get_xdata()] == sorted(points)
            assert [*bound.get_ydata()] == [points[x].bound for x in sorted(points)]
            assert [*measured.get_ydata()] == [
                points[x].measured.estimate for x in sorted(points)
            ]
            assert [t.get_text() for t in ax.get_xticklabels()] == [
                f"{x:g}" for x in sorted(points)
            ]
    assert [ax.get_xlabel() for ax in grid[1]] == [r"$1-\lambda$", "$K$"]
    assert [ax.get_ylabel() for ax in grid[:, 0]] == [
        plots.formula(v.theorem) for v in made[0].verdicts
    ]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["bound, printed (refuted)", "measured", "bound, corrected"]
    page = Study("A study", made).save(tmp_path).read_text()
    assert "Each point is a separate run" in page
    assert "up to each horizon" not in page
    # of the clipped losses and of the quadratic
    assert '<td>mu</td><td class="n">0 to 0.01</td>' in page
    assert '<td>L</td><td class="n">1</td>' in page


@pytest.mark.drawn(1)
@pytest.mark.parametrize("side", range(4))
def test_curves_of_one_left_hand_side_are_labeled_by_it(outcomes, side):
    group = list(plots.by_left_side(outcomes[0].verdicts))[side]
    assert plots.curves(group).get_ylabel() == plots.formula(group[0].theorem)


def test_draw_distinguishes_left_hand_sides_and_rejects_missing_run(outcomes):
    ax = plots.curves(outcomes[0].verdicts)
    formulas = {plots.formula(v.theorem) for v in outcomes[0].verdicts}
    assert len(formulas) > 1
    measured = [name for name in drawn(ax) if name.startswith("measured")]
    assert len(measured) == len(formulas)
    assert all(any(f in name for name in measured) for f in formulas)
    with pytest.raises(InputError, match="run"):
        verdict_from_dict(
            json.loads(json_text(outcomes[0].verdicts[2].to_dict()))
        ).plot()


@pytest.mark.parametrize(
    "verdicts", [slice(2, 3), pytest.param(slice(4), marks=pytest.mark.slow)]
)
def test_verdict_from_file_has_same_plot(outcomes, verdicts):
    """Quickly, of one that applies."""
    some = outcomes[1].verdicts[:2] + outcomes[3].verdicts[2:4]
    for verdict in some[verdicts]:
        plt.close("all")
        document = json.loads(json_text(verdict.to_dict()))
        again = drawn(verdict_from_dict(document, verdict.left_hand_side.run).plot())
        for name, line in drawn(verdict.plot()).items():
            np.testing.assert_array_equal(again[name].get_ydata(), line.get_ydata())
        document.pop("at")  # without ``at`` the bound is known at the last horizon only
        old = drawn(verdict_from_dict(document, verdict.left_hand_side.run).plot())
        if verdict.kind != "not applicable":
            label = f"bound, {verdict.variant}" + (
                " (refuted)" if verdict.status.refuted else ""
            )
            y = old[label].get_ydata()
            assert y[np.isfinite(y)].tolist() == [verdict.bound]
            assert np.flatnonzero(np.isfinite(y)).tolist() == [len(y) - 1]


def test_tightness_and_terms_omit_bound_of_not_applicable_theorem(tmp_path):
    """SGP satisfies the conditions of Theorem 4.5 but is outside of its scope."""
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.1, seed=0)
    run = dfl.train(
        dfl.algorithms.SGP(eta=0.02), task, dfl.graphs.complete(4), rounds=20, seeds=2
    )
    theorem = dfl.bounds.get("dfedsam.theorem_4_5")
    assert dfl.compare(run, theorem).kind == "not applicable"
    ratios = plots.tightness(dfl.compare(run, theorem))
    assert not ratios.get_lines()
    plots.save(ratios.figure, tmp_path / "ratios.png")  # axes without data
    ax = plots.terms(dfl.compare(run, theorem))
    assert "bound" not in drawn(ax)
    for drawn_on in (ratios, ax):
        assert drawn_on.get_title(loc="left") == ""
        assert "not applicable: it covers" in legend_words(drawn_on)


def test_legend_of_panels_has_one_entry_for_measured_curves_of_one_style(outcomes):
    figure = plots.panels([outcomes[2]])
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(figure.subfigs) > 1
    assert [label for label in labels if label.startswith("measured")] == [
        "measured (95 % interval)"
    ]


def test_titles_of_a_row_of_panels_have_one_height(two_panels):
    two_panels.draw_without_rendering()
    for block in two_panels.subfigs:
        heights = {round(ax.title.get_window_extent().y0, 3) for ax in block.axes}
        assert len(heights) == 1


def test_note_of_two_panels_stays_in_its_panel(outcomes):
    two = [dataclasses.replace(o, verdicts=o.verdicts[:2]) for o in outcomes[:2]]
    figure = plots.panels(two)
    figure.draw_without_rendering()
    texts = [text for _, ax in panels_of(figure) for text in ax.texts]
    assert any("not applicable" in text.get_text() for text in texts)
    assert max(text.get_window_extent().x1 for text in texts) <= figure.bbox.x1


def test_line_style_depends_only_on_meaning_of_variant(outcomes):
    """Some variants do not apply on the ring but apply on the complete graph."""
    assert "not applicable" in {v.kind for v in outcomes[2].verdicts}
    line_styles = {}
    for _, ax in panels_of(plots.panels(outcomes[2:4])):
        bounds = [line for name, line in drawn(ax).items() if name.startswith("bound")]
        assert len(bounds) <= 3
        for line in bounds:
            meaning = (
                line.get_label()
                .removeprefix("bound, ")
                .removesuffix(" (refuted)")
                .split("_")[0]
            )
            look = (
                str(line._dash_pattern),
                line.get_color(),
                line.get_linewidth(),
                line.get_marker(),
            )
            line_styles.setdefault(meaning, set()).add(look)
    assert set(line_styles) == {"printed", "appendix", "corrected"}
    assert {len(looks) for looks in line_styles.values()} == {1}
    for part in range(4):
        assert (
            len({look[part] for looks in line_styles.values() for look in looks}) == 3
        )


def test_formula_typesets_every_left_hand_side_of_the_registry():
    for theorem in {t.lhs.latex: t for t in dfl.bounds.statements()}.values():
        assert plots.formula(theorem).startswith("$")  # not the fallback in words
    odd = dataclasses.replace(
        theorem, lhs=dataclasses.replace(theorem.lhs, latex=r"\nosuch", measure="a_b$")
    )
    assert plots.formula(odd) == r"a b\$"


# -- the page


def test_caption_lists_not_applicable_verdicts_with_reasons(study, page):
    page = page.replace("&lt;", "<").replace("&gt;", ">").replace("&#39;", "'")
    lists = re.findall(r'<ul class="small silent">(.*?)</ul>', page, re.S)
    silent = [v for _, v in study.verdicts if v.kind == "not applicable"]
    assert len(lists) == len(
        {c.group for c, v in study.verdicts if v.kind == "not applicable"}
    )
    for verdict in silent:
        line = (
            rf"<li>{verdict.variant}, not applicable \([^<]*\):"
            rf" {re.escape(verdict.reason)}[^<]*(<[^/][^<]*)*</li>"
        )
        assert any(re.search(line, listed) for listed in lists)
    assert "no bound applies" not in page.lower()


def test_page_counts_refuted_statements_separately(study, page):
    counts = {
        name: int(number)
        for number, name in re.findall(r"<b>(\d+)</b> \S+ ([^<]+)</li>", page)
    }
    here = [v for _, v in study.verdicts if v.status.refuted]
    assert {v.kind for v in here} >= {"holds", "not applicable", "violated"}
    assert {v.kind for _, v in study.verdicts if not v.status.refuted} >= {"holds"}
    for kind in {v.kind for _, v in study.verdicts}:
        mine = sum(v.kind == kind for v in here)
        assert (
            counts.get(kind, 0) == sum(v.kind == kind for _, v in study.verdicts) - mine
        )
        assert counts.get(f"{kind} here, refuted in general", 0) == mine
    statements = {(v.key, v.variant) for v in here}
    assert (
        f"<b>{len(statements)} of the statements below are refuted in general</b>"
        in page
    )
    assert "dfedsam.theorem_4_5, printed (52.7 times the bound)" in page
    holding = next(
        v for v in here if v.kind == "holds" and v.key == "dfedsam.theorem_4_5"
    )
    assert (
        verdict_text(holding) == "holds here (refuted in general: 52.7 times the bound)"
    )
    assert verdict_text(dataclasses.replace(holding, status=NOT_EXAMINED)) == "holds"
    assert page.count(verdict_text(holding)) == 2 * sum(
        verdict_text(v) == verdict_text(holding) for v in here
    )


def cells(row):
    return [
        html.unescape(re.sub(r"<[^>]+>", "", c)).strip()
        for c in re.findall(r"<td.*?</td>", row, re.S)
    ]


def test_tables_of_the_page_agree_with_stored_verdicts(study, page):
    documents = json.loads(json_text([v.to_dict() for _, v in study.verdicts]))
    every = re.findall(r"<table.*?</table>", page, re.S)
    short, long = (
        [t for t in every if words in t]
        for words in ("<th>theorem</th><th>variant</th>", ">why</th>")
    )
    assert len(short) == len(long) == len({c.group for c, _ in study.verdicts})
    shown, whole = (
        [cells(row) for t in part for row in re.findall(r"<tr class.*?</tr>", t, re.S)]
        for part in (short, long)
    )
    for document, (case, _), row, full in zip(
        documents, study.verdicts, shown, whole, strict=True
    ):
        shown_kind = (
            f"{MARKS[document['kind']]} {verdict_text(verdict_from_dict(document))}"
        )
        place = ", ".join(part for part in (case.column, case.row) if part)
        assert row[:3] == [place, document["key"], document["variant"]]
        assert (row[3], full[2]) == (shown_kind, shown_kind)
        ratio = float(document["ratio"])
        low, high = map(float, document["ratio_ci"])
        shown_ratio = (
            f"{format_number(ratio)} [{format_number(low)}, {format_number(high)}]"
            if ratio == ratio
            else ""
        )
        assert row[4] == shown_ratio
        assert full[3:] == [
            format_number(float(document[n])) for n in ("measured", "bound")
        ] + [document["reason"]]
        if document["status"]["kind"] == "refuted":
            assert "(refuted in general: " in row[3]


def test_page_lists_every_claim(study):
    some = study.outcomes[:1] + study.outcomes[-1:]
    study = dataclasses.replace(study, outcomes=some, claims=bound_claims(some))
    page = render(study, dict.fromkeys(o.case.group for o in study.outcomes))
    (table,) = re.findall(r'id="claims".*?</table>', page, re.S)
    rows = [cells(row) for row in re.findall(r"<tr class.*?</tr>", table, re.S)]
    for claim, row in zip(study.claims, rows, strict=True):
        assert row[0].startswith(claim.claim)
        assert (row[2], row[3], row[4]) == (
            claim.said,
            format_number(claim.ratio),
            claim.detail,
        )


# -- names


def test_figure_name_is_safe_and_unique():
    groups = [
        "σ = 1",
        "ρ = 1",
        "1-2",
        "标题",
        "",
        "../../x",
        "Small Quadratic",
        "a" * 300,
    ]
    names = [figure_name("a study", group) for group in groups]
    plain = [name.rpartition("-")[0] for name in names]
    assert plain == [
        "1",
        "1",
        "1-2",
        "figure",
        "figure",
        "x",
        "small-quadratic",
        "a" * 80,
    ]
    assert len(
        {*names, *(figure_name("another", group) for group in groups)}
    ) == 2 * len(groups)


def test_page_keeps_title_and_capitalizes_groups(outcomes, tmp_path):
    first = outcomes[0].case
    both = [
        dataclasses.replace(
            outcomes[0], case=dataclasses.replace(first, group=group), verdicts=[]
        )
        for group in ("dfedsam.theorem", "coupled blocks")
    ]
    page = render(Study("dfedsam.theorem", both), {o.case.group: None for o in both})
    headings = re.findall(r'<h2 id="[^"]+">([^<]+)</h2>', page)
    assert {"dfedsam.theorem", "Coupled blocks"} <= set(headings)


def test_titles_are_escaped(tmp_path, capsys, monkeypatch):
    # no file is drawn, but the layout reads all titles
    monkeypatch.setattr("dfltheory.plots.look.write_figure", drawing())
    odd = r"a [/red] $\nosuch$ [bold] <b>"
    renamed = dataclasses.replace(
        mixed().with_run(rounds=20),
        group=odd,
        row=odd,
        column=odd,
        variants=("printed",),
    )
    study = Study(odd, perform_all([renamed], progress=True), [odd], odd)
    assert study.save(tmp_path).exists()
    print_study(study)
    out = capsys.readouterr().out
    assert out.count("[/red]") >= 3
    assert "[bold] <b>" not in (tmp_path / "report.html").read_text()


# -- the terminal


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_terminal_keeps_labels(study, width):
    from rich.console import Console

    console = Console(file=io.StringIO(), width=width, highlight=False)
    for table in tables(study):
        console.print(table)
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in lines
        if line.startswith("│")
    ]
    runs, variants = ("".join(row[k] for row in rows) for k in (0, 1))
    assert runs == "".join(outcome.case.column for outcome in study.outcomes)
    assert variants == "".join(verdict.variant for _, verdict in study.verdicts)
