"""American spelling, and standard terms instead of the words that style.md lists.

Files that still contain such words are listed in ``spelling_pending.txt``. Files can
only be removed from that list: ``python -m tests.test_spelling`` removes finished
files.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BRITISH = re.compile(
    r"\b(neighbour|colour|behaviour|favour|honour|centre[ds]?\b|grey\b|towards\b"
    r"|labell|modell|catalogue"
    r"|(min|max|opt|norm|summar|general|initial|regular|symmetr|organ|recogn|real)"
    r"(im|al|)is(e[ds]?|ing|ation)\b)",
    re.IGNORECASE,
)
PACKAGES = ("bounds", "cli", "graphs", "models", "testing")
"""Packages whose spelling is checked."""
GENERATED = {"audit.md", "falsify.md", "power.md"}
"""Pages whose text comes from statements and outcome files."""

WORDS = {
    r"told|tells": "reports, states, documented",
    r"mend(?:s|ed|ing)?": "fix, correct, correction",
    r"letters?": "hyperparameter, symbol, notation",
    r"worlds?": "finite test problem",
    r"stood|stands(?! for)": "is written, is stored, is",
    r"speaks?|spoken": "covers, applies to, is informative",
    r"luck": "randomness",
    r"alike": "identical",
    r"apart(?! from)": "disagreement, deviation, different",
    r"beside": "next to, in addition to",
    r"whoever|whomever|nobody|somebody|everybody|strangers?|visitors?|guests?": (
        "the caller, users, a third-party package"
    ),
    r"reckons?|reckoned": "computes",
    r"awake|asleep|sleeps|(?<!time\.)sleep": "participating, inactive",
    r"heard|hears?": "receives, in-neighbors",
    r"astray|at rest|glides?": "biased; stationary; translating",
    r"vouch(?:es)?": "trust",
    r"forgotten|forgets": "does not contain",
    r"one clear line|one line each": "error message",
    r"house": "project, package",
    r"grown|grows without end": "diverges, growth exponent",
}
"""Nonstandard words, and what to write instead."""
PATTERNS = {
    re.compile(rf"\b(?:{word})\b", re.IGNORECASE): WORDS[word] for word in WORDS
}
ANY_WORD = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")
"""Searched in text in lower case, which is faster than ignoring the case."""

ALLOWED = {
    "tests/test_spelling.py": "defines the list",
}
"""Files in which the words are correct, with the reason."""

PUBLIC_NAMES = {"letters"}
"""A key of the canonical form of statements, whose digests are stored."""

PENDING_FILE = ROOT / "tests" / "spelling_pending.txt"
MOST_PENDING = 2
"""Length of the list of pending files; it must not grow."""

PROSE_TOKENS = {tokenize.STRING, tokenize.COMMENT}
if hasattr(tokenize, "FSTRING_MIDDLE"):  # from Python 3.12 on
    PROSE_TOKENS.add(tokenize.FSTRING_MIDDLE)


def files_with_american_spelling() -> Iterator[Path]:
    yield from (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.name not in GENERATED:
            yield page
    yield from sorted((ROOT / "docs" / "guides").glob("*.md"))
    yield from sorted((ROOT / "dfltheory").glob("*.py"))
    for package in PACKAGES:
        yield from sorted((ROOT / "dfltheory" / package).rglob("*.py"))


def code_and_pages() -> Iterator[Path]:
    """Yield the Python and Markdown files of the project."""
    yield from sorted(ROOT.glob("*.md"))
    for folder in ("dfltheory", "validation", "benchmarks", "tests", "docs"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".md"):
                yield path


def without_inline_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", text)


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line numbers and texts: strings and comments of code, lines of pages."""
    text = path.read_text(encoding="utf-8")
    if not ANY_WORD.search(text.lower()):
        return
    if path.suffix == ".md":
        yield from enumerate(without_inline_code(text).splitlines(), start=1)
        return
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in PROSE_TOKENS and token.string.strip("\"'") not in PUBLIC_NAMES:
            yield token.start[0], token.string


def nonstandard_words(path: Path) -> list[str]:
    """Return place, word and replacement of each word of the list in a file."""
    found = []
    for number, text in prose_of(path):
        if not ANY_WORD.search(text.lower()):
            continue
        for pattern, instead in PATTERNS.items():
            for match in pattern.finditer(text):
                place = f"{path.relative_to(ROOT)}:{number}"
                found.append(f"{place}: {match[0]} -> {instead}")
    return found


def remove_finished_files() -> None:
    """Remove files without words of the list, and deleted files, from the list."""
    names = []
    for name in pending():
        path = ROOT / name
        if path.exists() and nonstandard_words(path):
            names.append(name)
    PENDING_FILE.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def pending() -> list[str]:
    return PENDING_FILE.read_text(encoding="utf-8").split()


@pytest.fixture(scope="module")
def words_by_file() -> dict[str, list[str]]:
    by_file = {}
    for path in code_and_pages():
        name = path.relative_to(ROOT).as_posix()
        words = nonstandard_words(path)
        if words and name not in ALLOWED:
            by_file[name] = words
    return by_file


def test_files_have_american_spelling():
    found = []
    for path in files_with_american_spelling():
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".md":
            text = without_inline_code(text)
        if not BRITISH.search(text):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            place = f"{path.relative_to(ROOT)}:{number}"
            found += [f"{place}: {match[0]}" for match in BRITISH.finditer(line)]
    assert found == []


def test_files_that_are_not_pending_have_standard_terms(words_by_file):
    listed = set(pending())
    found = [
        word
        for name, words in words_by_file.items()
        if name not in listed
        for word in words
    ]
    assert not found, "\n".join(found)


def test_pending_files_still_need_the_list(words_by_file):
    done = [name for name in pending() if name not in words_by_file]
    assert not done, f"remove from {PENDING_FILE.name}: {', '.join(done)}"


def test_list_of_pending_files_does_not_grow():
    names = pending()
    assert names == sorted(set(names))
    assert len(names) <= MOST_PENDING, "rewrite the file instead of listing it"


def test_british_words_are_recognized():
    for word in (
        "neighbours",
        "colours",
        "centred",
        "minimise",
        "normalisation",
        "generalised",
        "initialising",
    ):
        assert BRITISH.search(word), word
    for word in (
        "neighbors",
        "center",
        "minimize",
        "realism",
        "premise",
        "promised",
        "organism",
    ):
        assert not BRITISH.search(word), word


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("# it tells of two letters\n", 2),
        ('"""A stranger."""\n', 1),
        ('stands = "stands for L"\n', 0),
        ('told = "apart from that"\n', 0),
        ('letters = scope["letters"]\n', 0),
        ('"""It has letters."""\n', 1),
        ('code = "time.sleep(1); asleep"\n', 1),
    ],
)
def test_words_are_found_in_strings_and_comments(tmp_path, monkeypatch, text, count):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "code.py"
    path.write_text(text)
    assert len(nonstandard_words(path)) == count


def test_words_are_found_in_pages_outside_of_inline_code(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "page.md"
    path.write_text("`told` is a name,\nbut this speaks.\n")
    (word,) = nonstandard_words(path)
    assert word.startswith("page.md:2: speaks")


if __name__ == "__main__":
    remove_finished_files()
