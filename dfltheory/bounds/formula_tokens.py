"""Tokens of the formulas of theorem files."""

from __future__ import annotations

import keyword
import re
import unicodedata
from dataclasses import dataclass

from dfltheory.bounds.symbols import PAPER_SYMBOLS
from dfltheory.errors import InputError

LONGEST_FORMULA = 10_000
"""Most characters of a formula."""
MOST_DIGITS = 400
"""Most digits of a number, and its largest decimal exponent."""
_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<relation><=|>=|==|<|>)"
    r"|(?P<sign>\*\*|[-+*/^(),])"
    r"|(?P<space>\s+)",
    re.ASCII,
)
_LOOK_ALIKE = {
    "\u00d7": "*",
    "\u22c5": "*",
    "\u00b7": "*",
    "\u2212": "-",
    "\u2013": "-",
    "\u00f7": "/",
    "\u2044": "/",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u221a": "sqrt",
    "\u00b2": "^2",
    "\u00b3": "^3",
}
"""Characters of printed formulas, and what to write in their place."""
_GREEK = {"lambda": "lam", "lamda": "lam", "psi": "lam"}
"""Names of Greek symbols for which the glossary has another name."""


class FormulaError(InputError):
    """A formula cannot be read.

    ``offset`` is the index of the character at which reading stopped.
    """

    def __init__(self, message: str, offset: int):
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True)
class Token:
    """A token of a formula: its kind, its text and the offset at which it begins."""

    kind: str
    text: str
    offset: int


def tokens_of(text: str) -> list[Token]:
    """Return the numbers, names and signs of a formula.

    Raises
    ------
    FormulaError
        The text is too long, has a character that no formula has, a keyword of Python
        as a name, too long a number, or two operands without a sign between them.
    """
    if len(text) > LONGEST_FORMULA:
        raise FormulaError(
            f"a formula has at most {LONGEST_FORMULA} characters, this one {len(text)}",
            LONGEST_FORMULA,
        )
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormulaError(_about_character(text[position]), position)
        kind = str(match.lastgroup)
        if kind != "space":
            token = Token(kind, match[0], position)
            _check_token(token, tokens[-1] if tokens else None)
            tokens.append(token)
        position = match.end()
    return tokens


def _about_character(character: str) -> str:
    """Return what to write in place of a character that no formula has."""
    name = unicodedata.name(character, "no name")
    words = (
        f"character {character!r} (U+{ord(character):04X}, {name.lower()}) is not part"
        " of a formula"
    )
    if character in _LOOK_ALIKE:
        return f"{words}: write {_LOOK_ALIKE[character]}"
    plain = unicodedata.normalize("NFKC", character)
    if plain != character and plain.isascii() and plain.isprintable():
        return f"{words}: write {plain}"
    greek = re.fullmatch(r"GREEK SMALL LETTER (?:FINAL )?(\w+)", name)
    if greek is not None:
        spelled = greek[1].lower()
        return f"{words}: write its name, as {_GREEK.get(spelled, spelled)}"
    return f"{words}: names consist of a-z, A-Z, digits and _"


def _check_token(token: Token, before: Token | None) -> None:
    """Reject Python's keywords, long numbers, and two operands without a sign."""
    if token.kind == "name" and keyword.iskeyword(token.text):
        instead = PAPER_SYMBOLS.get(token.text, f"{token.text.lower()}_")
        raise FormulaError(
            f"{token.text!r} cannot be a name: use {instead}", token.offset
        )
    if token.kind == "number":
        _check_number(token)
    if token.text == "**":
        raise FormulaError("'**' is not part of a formula: write ^", token.offset)
    if before is None or not (before.kind in ("number", "name") or before.text == ")"):
        return
    called = before.kind == "name" and token.text == "("
    if token.kind in ("number", "name") or (token.text == "(" and not called):
        raise FormulaError(
            f"a sign is missing before {token.text[:40]!r}: write * to multiply",
            token.offset,
        )


def _check_number(token: Token) -> None:
    digits, _, exponent = token.text.lower().partition("e")
    too_long = len(digits) > MOST_DIGITS or len(exponent) > 6
    if too_long or abs(int(exponent or 0)) > MOST_DIGITS:
        message = (
            f"{token.text[:40]!r} is too long: a number has at most {MOST_DIGITS}"
            f" digits, and an exponent of at most {MOST_DIGITS}"
        )
        raise FormulaError(message, token.offset)


__all__ = ["FormulaError", "Token", "tokens_of"]
