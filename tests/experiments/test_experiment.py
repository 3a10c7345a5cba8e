"""Experiments: files are complete and can be read back; figures and report agree with
the verdicts.
"""

import dataclasses
import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import dfltheory as dfl
from dfltheory.errors import InputError
from dfltheory.experiments.cases import VARIANTS, case_of, perform, perform_all
from dfltheory.experiments.html_text import html_text
from dfltheory.experiments.report import Study, print_study
from dfltheory.plots import curves, panels, running_left_hand_side
from dfltheory.verdicts.left_hand_side import LeftHandSide
from tests.drawing import draw_only

KEY = "dfedsam.theorem_4_5"


def cases(topologies=("ring", "complete"), Q=(1, 4), **changes):
    """Return cases at the corollary's schedule, with a column per topology and a row
    per Q.
    """
    task = changes.pop("task", None) or dfl.tasks.quadratic(
        m=4, d=3, sigma=0.1, zeta=0.1, seed=0
    )
    fields = {
        "rounds": 200,
        "K": 2,
        "seeds": 3,
        "x0": [3.0, 3.0, 3.0],
        "group": "small quadratic",
    } | changes
    return [
        case_of(
            KEY,
            task,
            dfl.graphs.metropolis(dfl.graphs.topology(name, 4)),
            variants=VARIANTS,
            Q=gossip,
            row=f"Q = {gossip}",
            column=name,
            **fields,
        )
        for gossip in Q
        for name in topologies
    ]


@pytest.fixture(scope="module")
def study():
    short = cases(
        rounds=20,
        topologies=["ring"],
        Q=[1],
        group="too short",
        note="K = 2 needs T >= 200.",
    )
    return Study(
        "A small study", perform_all([*cases(), *short]), ["Everything else."], "a test"
    )


@pytest.fixture(scope="module")
def folder(study, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        draw_only(patch)
        assert study.save(out) == out / "report.html"
    return out


def test_a_statement_on_two_blocks_refuses_a_task_that_has_none():
    from dfltheory.tasks import registry
    from dfltheory.verdicts.given_values import TWO_BLOCKS, refuse_one_block
    from dfltheory.verdicts.schedule import scheduled_algorithm

    with pytest.raises(InputError, match=r"dfedmdc.theorem_2 .* task clipped"):
        scheduled_algorithm(
            "dfedmdc.theorem_2", dfl.tasks.clipped(m=2), 10, K_u=1, K_v=1
        )
    # all of a linear model is its head
    with pytest.raises(InputError, match="digits"):
        scheduled_algorithm(
            "dfedmdc.theorem_1", dfl.tasks.digits(m=2), 10, K_u=1, K_v=1
        )
    thm = dfl.bounds.get("dfedmdc.theorem_1")
    have = []
    for name in registry._FACTORIES:
        try:
            refuse_one_block(thm, dfl.tasks.get(name))
            have.append(name)
        except InputError:
            refuse_one_block(dfl.bounds.get("dfedsam.theorem_4_5"), dfl.tasks.get(name))
    assert have == [TWO_BLOCKS]


def test_a_case_can_be_performed_alone_and_gives_the_same(study):
    again = perform(cases()[1])
    np.testing.assert_array_equal(
        again.run.grad_norm_sq, study.outcomes[1].run.grad_norm_sq
    )
    assert again.verdicts == study.outcomes[1].verdicts


def test_all_kinds_that_are_due_appear(study):
    kinds = {
        (case.group, v.variant): v.kind
        for case, v in study.verdicts
        if case.column == "complete"
    }
    assert kinds["small quadratic", "printed"] == "holds"
    assert {v.kind for case, v in study.verdicts if case.group == "too short"} == {
        "not applicable"
    }


def test_the_folder_reads_back(study, folder):
    names = {p.name for p in folder.iterdir()}
    assert {
        "config.json",
        "verdicts.json",
        "verdicts.tex",
        "history.csv",
        "report.html",
    } <= names
    figures = {re.sub(r"-\w{6}\.", ".", n) for n in names}
    assert {
        "small-quadratic.png",
        "small-quadratic.pdf",
        "too-short.png",
        "too-short.pdf",
    } <= figures
    assert not [n for n in names if n.startswith(".")], "temporary files are left"
    verdicts = json.loads((folder / "verdicts.json").read_text())
    assert [v["kind"] for v in verdicts] == [v.kind for _, v in study.verdicts]
    config = json.loads((folder / "config.json").read_text())
    assert config["cases"][0]["algorithm"]["name"] == "DFedSAM"
    assert config["cases"][0]["constants"]["sigma_l"] == pytest.approx(0.1)
    assert config["versions"]["dfltheory"] == dfl.__version__
    frame = pd.read_csv(folder / "history.csv")
    picked = frame.query(
        "group == 'small quadratic' and column == 'ring' and row == 'Q = 4'"
    )
    picked = picked.query("measure == 'grad_norm_sq' and seed == 2").sort_values(
        "round"
    )
    np.testing.assert_array_equal(
        picked["value"], study.outcomes[2].run.grad_norm_sq[2]
    )


class Page(HTMLParser):
    """Collects the text that the page shows and the files that it would load."""

    def __init__(self):
        super().__init__()
        self.text, self.loads, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.loads += [given[k] for k in ("src", "href") if k in given]
        if tag not in ("img", "meta", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"

    def handle_data(self, data):
        self.text.append(data)


def test_the_report_is_self_contained_and_says_what_the_verdicts_say(study, folder):
    page = Page()
    page.feed((folder / "report.html").read_text())
    assert page.open == []
    assert page.loads
    embedded = [link for link in page.loads if link.startswith("data:")]
    assert all(link.startswith("data:image/svg+xml;base64,") for link in embedded)
    assert len(embedded) == len({o.case.group for o in study.outcomes})
    addresses = re.findall(r'\bid="([^"]+)"', (folder / "report.html").read_text())
    assert len(set(addresses)) == len(addresses)
    # link to an anchor of this page, or to a file next to it
    for link in set(page.loads) - set(embedded):
        assert (
            link[1:] in addresses if link.startswith("#") else (folder / link).is_file()
        )
    text = " ".join(" ".join(page.text).split())
    for word in (
        "What was not tested",
        *study.not_tested,
        "K = 2 needs T >= 200.",
        study.title,
        "exact",
    ):
        assert word in text
    for _, verdict in study.verdicts:
        assert verdict.reason in text
    shown = (folder / "report.html").read_text()
    # the theorem's text is shown
    for variant in ("printed", "corrected"):
        theorem = dfl.bounds.get(KEY, variant=variant)
        assert theorem.source in text
        assert str(html_text(theorem.lhs.averaging)) in shown
        assert all(html.escape(c.name) in shown for c in theorem.conditions)
        assert all(str(html_text(words)) in shown for words in theorem.assumptions)
    assert not re.findall(
        r"url\(\s*['\"]?(?!data:|#)|@import|<script[^>]+src|<iframe|<link", shown
    )
    assert shown.count("<math") > 10
    assert "\\" not in "".join(re.findall("<math.*?</math>", shown, re.S))
    for name in ("config.json", "verdicts.json", "history.csv"):
        assert name in text


def test_the_table_has_a_row_for_each_run(study, capsys):
    print_study(study)
    out = capsys.readouterr().out
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in out.splitlines()
        if line[:1] == "│"
    ]
    labels = [", ".join((o.case.column, o.case.row)) for o in study.outcomes]
    assert [row[0] for row in rows if row[0]] == labels
    assert [row[1] for row in rows] == [v.variant for _, v in study.verdicts]
    for row, (_, verdict) in zip(rows, study.verdicts, strict=True):
        shown = row[2].split(" ", 1)[1]
        assert shown.startswith(verdict.kind)
        assert ("refuted in general" in shown) == verdict.status.refuted
    assert f"small quadratic: {KEY}" in out
    assert "not applicable" in out
    assert "Everything else." in out
    shown_text = " ".join(out.split())
    silent = [v for _, v in study.verdicts if v.kind in ("not applicable", "undecided")]
    assert silent
    for verdict in silent:  # the terminal states the reason, as the page does
        assert f"{verdict.variant}, {verdict.kind} (" in shown_text
        assert shown_text.count(verdict.reason) == len(
            {v.variant for v in silent if v.reason == verdict.reason}
        )


def test_terminal_lists_the_first_of_many_reasons(study, capsys):
    outcome = study.outcomes[-1]
    verdict = outcome.verdicts[0]
    assert verdict.kind == "not applicable"
    many = tuple(dataclasses.replace(verdict, reason=f"reason {k}.") for k in range(20))
    print_study(
        dataclasses.replace(
            study, outcomes=[dataclasses.replace(outcome, verdicts=many)]
        )
    )
    out = capsys.readouterr().out
    assert [f"reason {k}." in out for k in range(20)] == [k < 12 for k in range(20)]
    assert "and 8 more reasons" in out


@pytest.mark.slow
def test_no_panel_cuts_off_what_it_shows():
    """Panels share their axes, so the last panel must not set limits for all."""
    outcomes = [
        dataclasses.replace(
            o, case=dataclasses.replace(o.case, row="", column=f"{o.run.rounds} rounds")
        )
        for rounds in (900, 300, 20)
        for o in perform_all(cases(rounds=rounds)[:1])
    ]
    figure = panels(outcomes)
    for block in figure.subfigs:  # panels with the same left-hand side share their axis
        lines = [
            np.asarray(line.get_ydata(), float)
            for ax in block.axes
            for line in ax.get_lines()
        ]
        drawn = [y for line in lines for y in line if np.isfinite(y)]
        for ax in block.axes:
            low, high = ax.get_ylim()
            assert ax.get_xlim() == (1, 900)
            assert low < min(drawn) <= max(drawn) < high
            # and a lower limit of zero does not stretch it
            assert low > min(drawn) / 100
    plt.close("all")


def test_titles_of_panels_do_not_overlap():
    outcomes = perform_all(
        [
            dataclasses.replace(
                c.with_run(rounds=20), row="rounds = 100", variants=("printed",)
            )
            for c in cases(Q=[1])
        ]
    )
    figure = panels(outcomes)
    figure.draw_without_rendering()
    boxes = [ax.title.get_window_extent() for ax in figure.axes]
    assert boxes[0].x1 < boxes[1].x0
    plt.close("all")


def test_one_seed_has_no_band_and_says_so():
    noisy = perform_all([cases()[0].with_run(seeds=1, rounds=20)])[0]
    theorem = dfl.bounds.get(KEY)
    labels = [
        line.get_label() for line in curves(dfl.compare(noisy.run, theorem)).get_lines()
    ]
    assert "measured, least over rounds (one seed)" in labels
    sure = dfl.tasks.quadratic(m=4, d=2, sigma=0.0, zeta=0.1, seed=1)
    run = dfl.train(
        noisy.case.instance.algorithm, sure, noisy.case.instance.network, rounds=1
    )
    lines = {
        line.get_label(): line for line in curves(dfl.compare(run, theorem)).get_lines()
    }
    line = lines["measured, least over rounds (exact)"]
    assert line.get_marker() == "o"  # a line with one point would be invisible
    plt.close("all")


def test_the_running_band_ends_in_the_verdicts_interval(study):
    outcome = study.outcomes[0]
    for verdict in outcome.verdicts:
        thm = dfl.bounds.get(KEY, variant=verdict.variant)
        estimate, low, high = running_left_hand_side(
            LeftHandSide(outcome.run, thm), 0.95
        )
        assert estimate[-1] == pytest.approx(verdict.measured.estimate)
        if (
            thm.lhs.start == 0
        ):  # otherwise only the verdict would contain the random start's share
            assert (low[-1], high[-1]) == pytest.approx(
                (verdict.measured.low, verdict.measured.high)
            )


def test_a_schedule_without_its_constants_is_refused():
    class Unknown(type(cases()[0].instance.task)):
        constants = dfl.ProblemConstants(sigma_l=0.1)

    unknown = Unknown(1.0, np.zeros((4, 3)))
    with pytest.raises(InputError, match="needs L"):
        cases(task=unknown)
