"""Reads figures back: every label, line, band and annotation is compared with the
verdicts.
"""

import re

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import plots
from dfltheory.plots.notes import obstacle
from dfltheory.plots.verdicts import LOWER_LIMIT

MEASURED = {
    "min": "least over rounds",
    "mean": "mean over rounds",
    "last": "at the last round",
}


def panels_of(figure):
    """Return (formula of the block, axes) of every visible panel."""
    return [
        (part.get_suptitle(), ax)
        for part in figure.subfigs
        for ax in part.axes
        if ax.get_visible()
    ]


def without_spaces(text):
    """Return text without white space, since lines are wrapped."""
    return "".join(text.replace("\\$", "$").split())


def drawn(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def statement(verdict):
    return dfl.bounds.get(verdict.key, verdict.variant)


def read(figure, outcomes):
    """Check that the figure shows exactly what the verdicts of these outcomes say."""
    expected = {}
    for o in outcomes:
        for v in o.verdicts:
            expected.setdefault((statement(v).lhs.latex, o.case.label), (o, []))[
                1
            ].append(v)
    sides = list(dict.fromkeys(latex for latex, _ in expected))
    found = panels_of(figure)
    assert len(found) == len(expected)
    ordered = sorted(expected.items(), key=lambda item: sides.index(item[0][0]))
    legend = {
        text.get_text() for legend in figure.legends for text in legend.get_texts()
    }
    shown = set()
    for (_, (outcome, verdicts)), (formula, ax) in zip(ordered, found, strict=True):
        assert {formula} == {plots.formula(statement(v)) for v in verdicts}
        shown |= panel(ax, outcome, verdicts)
    measured = {label for label in shown if label.startswith("measured, ")}
    if len(measured) > 1:  # the titles of the blocks say which is measured
        shown -= measured
        shown |= {"measured" + re.sub(r".* (\(.*\))$", r" \1", m) for m in measured}
    assert legend == shown


def panel(ax, outcome, verdicts):
    """Check one panel, and return its labels."""
    title = ", ".join(ax.get_title().split("\n"))
    lam = outcome.run.network.lam
    parts = [outcome.case.column, outcome.case.row]
    if lam is not None:
        notation = statement(verdicts[0]).scope.notation
        symbol = notation.get("lam", r"\lambda")
        parts.append(rf"${symbol}$ = {0.0 if lam < 1e-12 else lam:.2g}")
    assert title == ", ".join(p for p in parts if p)
    lines, bands = drawn(ax), {c.get_label(): c.get_paths() for c in ax.collections}
    bands |= {patch.get_label(): [patch.get_path()] for patch in ax.patches}
    applicable = [v for v in verdicts if v.kind != "not applicable"]
    expected = set()
    if not np.isnan(verdicts[0].measured.estimate):
        (name,) = [n for n in lines if n.startswith("measured")]
        assert MEASURED[statement(verdicts[0]).lhs.aggregate] in name
        assert lines[name].get_ydata()[-1] == pytest.approx(
            verdicts[0].measured.estimate, rel=1e-9
        )
        expected |= {name, LOWER_LIMIT} & ({name} | set(lines))
    families = {}
    for v in applicable:
        families.setdefault(v.variant.split("_")[0], []).append(v)
    assert len(families) <= 3
    for meaning, members in families.items():
        main = next((v for v in members if v.variant == meaning), members[0])
        label = f"bound, {main.variant}" + (" (refuted)" if main.status.refuted else "")
        x, y = lines[label].get_data()
        assert x[-1] == main.rounds
        assert y[-1] == pytest.approx(main.bound, rel=1e-9)
        if name:
            assert (lines[name].get_ydata()[-1] < y[-1]) == (main.ratio < 1)
        expected.add(label)
        if len(members) > 1:
            label = f"range of the {meaning} variants"
            corners = np.concatenate([path.vertices for path in bands[label]])
            ends = corners[corners[:, 0] == main.rounds, 1]
            values = [v.bound for v in members]
            assert (ends.min(), ends.max()) == pytest.approx(
                (min(values), max(values)), rel=1e-9
            )
            expected.add(label)
    known = {v.trivial for v in applicable if np.isfinite(v.trivial)}
    marks = {
        line.get_ydata()[0]
        for line in ax.get_lines()
        if line.get_label() == "known without a theorem"
    }
    assert marks == known
    expected |= {"known without a theorem"} if known else set()
    labels = set(lines) | {n for n in bands if not n.startswith("_")}
    assert labels == expected
    words = " ".join(text.get_text() for text in ax.texts)
    words = words.replace("\n", " ").replace("\xa0", " ")
    first_of_family = {
        next((v for v in members if v.variant == meaning), members[0]).variant
        for meaning, members in families.items()
    }
    for v in verdicts:
        if v.kind != "not applicable":
            above = plots.labels.times_measured(v.ratio).removesuffix(" measured")
            if above and v.variant in first_of_family:
                assert f"{v.variant} {above}" in words
    silent = {v.reason: v for v in verdicts if v.kind == "not applicable"}
    for v in list(silent.values())[:2]:
        assert without_spaces(obstacle(v)) in without_spaces(words)
    assert ("not applicable" in words) == bool(silent)
    return labels
