"""Every lesson runs, cell by cell, in this process; ``make notebooks`` runs each in a
kernel of its own.
"""

import ast
import json
from pathlib import Path

import pytest

LESSONS = Path(__file__).parent.parent / "notebooks"
LONG = ("3-does-the-bound-hold", "10-real-images-on-four-networks")
"""With the slow tests."""
NEEDS = {"11-the-exact-worst-case": "PEPit"}
"""Packages of the `[dev]` extra; without them the lesson is skipped."""


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(p, id=p.stem, marks=[pytest.mark.slow] * (p.stem in LONG))
        for p in LESSONS.glob("*.ipynb")
    ],
)
def test_a_lesson_runs(lesson, monkeypatch):
    from matplotlib import pyplot, rc_context

    if lesson.stem in NEEDS:
        pytest.importorskip(NEEDS[lesson.stem])
    monkeypatch.chdir(LESSONS)
    cells = [
        cell
        for cell in json.loads(lesson.read_text())["cells"]
        if cell["cell_type"] == "code"
    ]
    names = {"__name__": "__main__"}
    with rc_context():
        for cell in cells:
            source = "".join(
                line for line in cell["source"] if not line.startswith("%")
            )
            *first, last = ast.parse(source).body
            if not isinstance(last, ast.Expr):
                exec(compile(source, lesson.name, "exec"), names)
                continue
            exec(compile(ast.Module(first, []), lesson.name, "exec"), names)
            assert repr(
                eval(compile(ast.Expression(last.value), lesson.name, "eval"), names)
            )
        pyplot.close("all")
    assert cells
