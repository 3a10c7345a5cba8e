"""Everything that the README describes works."""

import contextlib
import io
import re
import shlex
from functools import cache
from pathlib import Path

import pytest

import dfltheory as dfl
from dfltheory.cli import run

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def blocks(language):
    found = re.findall(r"^```(\w*)\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)
    return [text for name, text in found if name == language]


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """Return a function that runs an example once, and returns its names, what it
    prints, and its folder.
    """

    @cache
    def run_example(number):
        names, printed, folder = {}, io.StringIO(), tmp_path_factory.mktemp("example")
        code = compile(blocks("python")[number], "README.md", "exec")
        with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            exec(code, names)
        return names, printed.getvalue(), folder

    return run_example


@pytest.mark.parametrize(
    ("number", "lines", "picture"),
    [
        (0, 8, "curves.png"),
        (1, 6, "network.png"),
        pytest.param(2, 8, "training.png", marks=pytest.mark.slow),
    ],
)
def test_example_of_each_job_is_short_and_draws_a_picture(
    number, lines, picture, example
):
    code = blocks("python")[number]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= lines
    _, printed, folder = example(number)
    assert (folder / picture).stat().st_size > 1000
    assert_same_text(printed, blocks("text")[number])


NUMBER = re.compile(r"\b\d+(?:\.\d+)?(?:e-?\d+)?\b")


def assert_same_text(printed, shown):
    """The README shows what is printed, up to line breaks and rounding."""
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (printed, shown)]
    assert words[0] == words[1]
    numbers = [list(map(float, NUMBER.findall(text))) for text in (printed, shown)]
    assert numbers[0] == pytest.approx(numbers[1], rel=0.02, abs=1e-9)


def test_first_example_holds_and_reports_that_the_statement_is_proved(example):
    names, printed, _ = example(0)
    assert names["verdict"].kind == "holds"
    assert names["verdict"].status.kind == "proved"
    assert "proved" in printed


LINES = [line for block in blocks("") for line in block.splitlines()]
COMMANDS = [
    line.split("#")[0].strip() for line in LINES if line.startswith("dfltheory ")
]
PATIENT = ("referee",)
"""Commands that are slow on the README's statement; their own tests run them on smaller
ones.
"""


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(c, marks=pytest.mark.slow if c.split()[1] in PATIENT else ())
        for c in COMMANDS
    ],
)
def test_every_command_line_works(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # a refutation, whether shown, stored or found, has status 1
    expected = 1 if line.split()[1] in ("falsify", "referee") else 0
    command = line.partition(" > ")[0]
    assert run(shlex.split(command)[1:]) == expected, capsys.readouterr().err
    capsys.readouterr()


def test_the_example_commands_were_found():
    assert len(COMMANDS) >= 4


def test_tables_of_what_is_covered_contain_every_algorithm_and_theorem():
    from dfltheory.algorithms import ALGORITHMS

    text = (ROOT / "docs/covered.md").read_text()
    missing = [
        cls.__name__ for cls in ALGORITHMS.values() if f"`{cls.__name__}`" not in text
    ]
    known = dfl.bounds.keys()
    # a theorem with only a rate is listed with the rates
    rates = {t.key for t in dfl.bounds.statements() if t.kind == "rate"}
    stated = {t.key for t in dfl.bounds.statements() if t.kind != "rate"}
    keys = [
        key
        for key in known
        if re.search(r"\.(theorem|corollary)_", key) and key not in rates - stated
    ]
    missing += [key for key in keys if f"`{key}`" not in text]
    assert missing == []


def test_pictures_are_followed_by_the_command_that_makes_them():
    from validation.figures import catalogue

    made = {path: name for name, path in catalogue().items()}
    picture = r"(?:!\[[^\]]*\]\(|<img src=\")(docs/[\w/]+\.png)[^\n]*\n\n(.*?)\n\n"
    pictures = re.findall(picture, README, flags=re.DOTALL)
    assert len(pictures) == 4
    for path, caption in pictures:
        assert f"`python -m validation.figures --only {made[path]}`" in caption


def test_counts_of_searches_are_those_of_the_generated_page():
    page = (ROOT / "docs/falsify.md").read_text()
    command = (
        "python -m validation.pages.falsify docs/counterexamples docs/falsify.md"
        " docs/covered.md"
    )
    assert f"`{command}`" in page
    counts = (
        r"Searches refute (\d+) of (\d+)\D+(\d+) of (\d+) controls\D+(\d+) of (\d+)"
        r" corrected"
    )
    covered = (ROOT / "docs/covered.md").read_text()
    (shown,), (counted,) = re.findall(counts, covered), re.findall(counts, page)
    assert shown == counted


def test_links_and_pictures_exist():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
