"""Sentences and functions of the repository, drawn at random for a reader to judge.

``python -m validation.readability_sample HASH`` draws 30 sentences and 10 functions
from the tracked Python and Markdown files. The commit hash is the seed, so that the
sample cannot be chosen by hand; it depends only on the hash and the files.

Sentences come from docstrings and from the prose of Markdown pages, excluding code
blocks, tables and headings. Functions have at least seven lines and are not in
``tests``.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
SENTENCES, FUNCTIONS = 30, 10
SHORTEST_SENTENCE = 4
"""Number of words."""
SHORTEST_FUNCTION = 6
"""Number of lines after the first."""
Documented = ast.Module | ast.ClassDef | ast.FunctionDef
_FENCED = re.compile(r"^(```|~~~).*?^\1", flags=re.DOTALL | re.MULTILINE)
_HEADING = re.compile(r"\n-{3,}$", flags=re.MULTILINE)
_LIST_ITEM = re.compile(r"^ *(?:[-*]|\d+\.) +", flags=re.MULTILINE)
_NOT_PROSE = re.compile(r"(=|#|\||<|!\[|>>>|:?-{3,}|\$\$|\{\{)")
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"(])")


@dataclass(frozen=True)
class Excerpt:
    """A sentence or a function's source code, with its file and line."""

    file: str
    line: int
    text: str


def tracked_files(root: Path, suffix: str) -> list[Path]:
    """Return the sorted paths of the files with this suffix that git tracks."""
    command = ["git", "ls-files", f"*{suffix}"]
    listed = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=True
    )
    return [root / name for name in sorted(listed.stdout.splitlines())]


def sentences_of(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph.

    Tables, headings, templates, and indented formulas and code have none.
    """
    if _NOT_PROSE.match(paragraph) or _HEADING.search(paragraph):
        return []
    if all(line.startswith("    ") for line in paragraph.splitlines()):
        return []
    sentences: list[str] = []
    for item in _LIST_ITEM.split(paragraph):
        sentences += _END_OF_SENTENCE.split(" ".join(item.split()))
    return [s for s in sentences if len(s.split()) >= SHORTEST_SENTENCE]


def definitions(node: Documented) -> Iterator[Documented]:
    """Yield a module, class or function and all definitions inside it."""
    yield node
    for statement in node.body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef):
            yield from definitions(statement)


def code_excerpts(root: Path) -> tuple[list[Excerpt], list[Excerpt]]:
    """Return the sentences of docstrings, and the functions outside of the tests."""
    sentences, functions = [], []
    for file in tracked_files(root, ".py"):
        name, text = str(file.relative_to(root)), file.read_text(encoding="utf-8")
        lines = text.split("\n")
        for node in definitions(ast.parse(text)):
            line = node.body[0].lineno if node.body else 1
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                new = sentences_of(paragraph)
                sentences += [Excerpt(name, line, sentence) for sentence in new]
            if isinstance(node, ast.FunctionDef) and not name.startswith("tests/"):
                source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                if source.count("\n") >= SHORTEST_FUNCTION:
                    excerpt = Excerpt(name, node.lineno, textwrap.dedent(source))
                    functions.append(excerpt)
    return sentences, functions


def page_sentences(root: Path) -> Iterator[Excerpt]:
    """Yield the sentences of the prose of all Markdown pages."""
    for file in tracked_files(root, ".md"):
        name, line = str(file.relative_to(root)), 1
        text = _FENCED.sub(_blank_lines, file.read_text(encoding="utf-8"))
        for paragraph in text.split("\n\n"):
            for sentence in sentences_of(paragraph.strip()):
                yield Excerpt(name, line, sentence)
            line += paragraph.count("\n") + 2


def _blank_lines(block: re.Match[str]) -> str:
    """Replace a block of code by as many empty lines."""
    return "\n" * block.group().count("\n")


def draw(
    seed: str, root: Path, sentences: int = SENTENCES, functions: int = FUNCTIONS
) -> tuple[list[Excerpt], list[Excerpt]]:
    """Return the random sentences and functions of a seed."""
    rng = random.Random(seed)
    documented, defined = code_excerpts(root)
    prose = [*documented, *page_sentences(root)]
    return rng.sample(prose, sentences), rng.sample(defined, functions)


def main(arguments: Sequence[str]) -> int:
    """Print the sample whose seed is a commit hash."""
    if len(arguments) != 1:
        usage = "usage: python -m validation.readability_sample HASH"
        print(usage, file=sys.stderr)
        return 2
    sentences, drawn = draw(arguments[0], ROOT)
    for number, sentence in enumerate(sentences, start=1):
        print(f"{number}. {sentence.text} ({sentence.file}:{sentence.line})")
    for function in drawn:
        print(f"\n{function.file}:{function.line}\n{function.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
