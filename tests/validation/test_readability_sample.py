"""The sample of sentences and functions for a reader."""

from __future__ import annotations

import subprocess

import pytest

from validation import readability_sample
from validation.readability_sample import (
    code_excerpts,
    draw,
    page_sentences,
    sentences_of,
)

MODULE = '''"""A module of one function. It has two sentences here."""


def double(x):
    """Return twice a number, or zero.

    >>> double(2)
    4
    """
    if x < 0:
        return 0
    y = 2 * x
    return y


def short(x):
    return x
'''
PAGE = """# A heading of four words

This page has one sentence.

```python
code = "is not a sentence of the page"
```

| a table | is no | sentence either |
"""


@pytest.fixture
def repository(tmp_path):
    """Create a repository with a module, a page and a file that git does not track."""
    (tmp_path / "module.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    for command in (["init", "-q"], ["add", "module.py", "page.md"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "other.md").write_text("This file is not tracked.", encoding="utf-8")
    return tmp_path


def test_sentences_are_those_of_docstrings_and_prose(repository):
    found = [*code_excerpts(repository)[0], *page_sentences(repository)]
    assert [(e.file, e.line, e.text) for e in found] == [
        ("module.py", 1, "A module of one function."),
        ("module.py", 1, "It has two sentences here."),
        ("module.py", 5, "Return twice a number, or zero."),
        ("page.md", 3, "This page has one sentence."),
    ]


def test_short_functions_are_left_out(repository):
    (found,) = code_excerpts(repository)[1]
    assert (found.file, found.line) == ("module.py", 4)
    assert found.text.startswith("def double(x):")
    assert found.text.endswith("return y")


def test_items_of_a_list_are_sentences_of_their_own():
    found = sentences_of("1. This is one item.\n2. This is another\n   item.")
    assert found == ["This is one item.", "This is another item."]


def test_heading_of_a_docstring_is_no_sentence():
    assert sentences_of("Parameters of the function\n-----------") == []


@pytest.mark.parametrize(
    "paragraph",
    [
        "    y <- x;  K times:  y <- y - eta g\n    x <- mean of y over the clients",
        "{{ source of the class DPSGD }}",
    ],
)
def test_formulas_and_templates_have_no_sentences(paragraph):
    assert sentences_of(paragraph) == []


def test_seed_determines_the_sample(repository):
    drawn = {seed: draw(seed, repository, 2, 1) for seed in map(str, range(8))}
    assert all(draw(seed, repository, 2, 1) == drawn[seed] for seed in drawn)
    assert len({tuple(sentences) for sentences, _ in drawn.values()}) > 1


def test_command_prints_the_sample_and_rejects_other_arguments(capsys, monkeypatch):
    monkeypatch.setattr(readability_sample, "draw", lambda seed, root: ([], []))
    assert readability_sample.main(["0" * 40]) == 0
    assert readability_sample.main([]) == 2
    assert "usage" in capsys.readouterr().err
