"""Every lesson runs, cell by cell, in this process; ``make notebooks`` runs each in its
own kernel.
"""

import ast
import json
from pathlib import Path

import pytest

LESSONS = Path(__file__).parent.parent / "notebooks"
CLIENTS = "13-fedavg-dfedavg-dfedsam-client-by-client"
LONG = (
    "3-does-the-bound-hold",
    "5-is-this-theorem-right",
    "10-real-images-on-four-networks",
    "12-which-step-size",
    CLIENTS,
)
"""Lessons that run with the slow tests."""
NEEDS = {"11-the-exact-worst-case": "PEPit"}
"""Packages of the `[dev]` extra; without them the lesson is skipped."""


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem in LONG))
        for p in LESSONS.glob("*.ipynb")
    ],
)
def test_a_lesson_runs(lesson, monkeypatch):
    if lesson.stem in NEEDS:
        pytest.importorskip(NEEDS[lesson.stem])
    monkeypatch.chdir(LESSONS)
    execute(lesson)


@pytest.mark.slow
def test_the_lesson_on_clients_runs_on_cifar10(monkeypatch, data_root):
    monkeypatch.chdir(LESSONS)
    names = execute(
        LESSONS / f"{CLIENTS}.ipynb", 'images = "digits"', 'images = "cifar10"'
    )
    assert names["task"].name == "cifar10"


def execute(lesson, before="", after=""):
    """Run the cells of a lesson with one text replaced; return their namespace."""
    from matplotlib import pyplot, rc_context

    text = [
        cell["source"]
        for cell in json.loads(lesson.read_text())["cells"]
        if cell["cell_type"] == "code"
    ]
    assert text
    if before:
        assert any(before in "".join(lines) for lines in text)
    names = {"__name__": "__main__"}
    with rc_context():
        for lines in text:
            source = "".join(line for line in lines if not line.startswith("%"))
            if before:
                source = source.replace(before, after)
            *first, last = ast.parse(source).body
            if not isinstance(last, ast.Expr):
                exec(compile(source, lesson.name, "exec"), names)
                continue
            exec(compile(ast.Module(first, []), lesson.name, "exec"), names)
            assert repr(
                eval(compile(ast.Expression(last.value), lesson.name, "eval"), names)
            )
        pyplot.close("all")
    return names
