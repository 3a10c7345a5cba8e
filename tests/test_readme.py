"""What the README says can be done, can be done."""

import re
import shlex
from pathlib import Path

import pytest

import dfltheory as dfl
from dfltheory.cli import run

README = (Path(__file__).parent.parent / "README.md").read_text()


def blocks(language):
    found = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


def test_the_python_example_runs_and_is_about_ten_lines(capsys):
    (code,) = blocks("python")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 10
    names = {}
    exec(compile(code, "README.md", "exec"), names)
    assert names["verdict"].kind == "holds"
    out = capsys.readouterr().out
    assert "dfedsam.theorem_4_5 [printed]: holds" not in out
    refuted = dfl.bounds.get("dfedsam.theorem_4_5", "printed").status
    assert refuted.show_command in out
    assert refuted.how in out


LINES = [line for block in blocks("") for line in block.splitlines()]
COMMANDS = [
    line.split("#")[0].strip() for line in LINES if line.startswith("dfltheory ")
]
PATIENT = ("referee", "validate")
"""Commands that take long on the README's statement; their own tests run them on
smaller ones.
"""


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(c, marks=pytest.mark.slow if c.split()[1] in PATIENT else ())
        for c in COMMANDS
    ],
)
def test_every_command_line_works(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    capsys.readouterr()


def test_the_example_commands_were_found():
    assert len(COMMANDS) >= 4


def test_every_algorithm_and_theorem_is_in_the_table():
    from dfltheory.algorithms import ALGORITHMS

    missing = [
        cls.__name__ for cls in ALGORITHMS.values() if f"`{cls.__name__}`" not in README
    ]
    known = dfl.bounds.keys()
    keys = [k for k in known if re.search(r"\.(theorem|corollary)_", k)]
    missing += [key for key in keys if f"`{key}`" not in README]
    assert missing == []


def test_figures_stand_beside_the_command_that_makes_them():
    """The picture's maker is printed under it; the counts are those of the generated
    page.
    """
    from validation.figures import catalogue

    made = {path: name for name, path in catalogue().items()}
    pictures = re.findall(
        r"!\[[^\]]*\]\(([^)]+)\)\n\n(.*?)\n\n", README, flags=re.DOTALL
    )
    assert pictures
    for path, caption in pictures:
        assert f"`python -m validation.figures --only {made[path]}`" in caption
    page = (Path(__file__).parent.parent / "docs/falsify.md").read_text()
    command = (
        "python -m validation.pages.falsify docs/counterexamples docs/falsify.md"
        " README.md"
    )
    assert f"`{command}`" in page
    counts = (
        r"Searches refute (\d+) of (\d+)\D+(\d+) of (\d+) controls\D+(\d+) of (\d+)"
        r" corrected"
    )
    (shown,), (counted,) = re.findall(counts, README), re.findall(counts, page)
    assert shown == counted


def test_links_and_pictures_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    for target in targets:
        assert (Path(__file__).parent.parent / target).exists(), target
