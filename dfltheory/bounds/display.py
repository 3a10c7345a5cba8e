"""Formulas and conditions of a theorem as LaTeX or plain text."""

from __future__ import annotations

import re

import sympy as sp
from sympy import Expr

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.symbols import GLOSSARY

_RELATIONS = {"<": "<", "<=": r"\le", ">": ">", ">=": r"\ge", "==": "="}


def expression_latex(expr: Expr, theorem: Statement | None = None) -> str:
    """Return ``expr`` in LaTeX with the symbols of the theorem or the glossary."""
    glossary = GLOSSARY if theorem is None else theorem.glossary
    names = {
        glossary[name].symbol: latex
        for name, latex in symbols_in_latex(theorem).items()
    }
    if theorem is not None:
        names.update({d.symbol: d.latex for d in theorem.definitions})
    return sp.latex(expr, symbol_names=names, fold_short_frac=False)


def symbols_in_latex(theorem: Statement | None) -> dict[str, str]:
    """Return the LaTeX of each glossary name, in the notation of the theorem."""
    if theorem is None:
        return {name: quantity.latex for name, quantity in GLOSSARY.items()}
    known = {name: quantity.latex for name, quantity in theorem.glossary.items()}
    return known | dict(theorem.scope.notation)


def condition_latex(condition: Condition, theorem: Statement | None = None) -> str:
    r"""Return a condition in LaTeX as a reader writes it, as ``\sigma_g = 0``."""
    left, sign, right = condition.comparison
    return (
        f"{expression_latex(left, theorem)} {_RELATIONS[sign]}"
        f" {expression_latex(right, theorem)}"
    )


def sequences(theorem: Statement) -> tuple[str, ...]:
    """Return the kinds of network sequences that a theorem covers.

    The result is empty if the theorem is about no network.
    """
    return () if theorem.scope.network == "none" else theorem.scope.sequence


_PLAIN_SYMBOLS = (
    (r"\nabla", "grad"),
    (r"\mathbb{E}", "E"),
    (r"\|", "||"),
    (r"\le ", "<= "),
    (r"\ge ", ">= "),
    (r"^\top", "^T"),
    (r"\cdot\,", "."),
)
_WORD = re.compile(r"\\?[A-Za-z]+(?:_(?:\w|\{\\?\w+\}))?")
_FONT = re.compile(r"\\math(?:bf|rm|it|cal)\{([^{}]*)\}")


def plain_prose(text: str, theorem: Statement) -> str:
    """Return prose of a theorem for a terminal.

    LaTeX between dollar signs is replaced by plain text with the glossary's names.
    """
    replaced = {*theorem.needs, *theorem.scope.notation, "f0_gap"}
    names = {
        latex: name
        for name, latex in symbols_in_latex(theorem).items()
        if name in replaced
    }

    def plain_word(match: re.Match[str]) -> str:
        word = match[0]
        return names[word] if word in names else re.sub(r"[\\{}]", "", word)

    def formula(match: re.Match[str]) -> str:
        latex = _FONT.sub(r"\1", re.sub(r"\\bar (\w)", r"\1bar", match[1]))
        for command, symbol in _PLAIN_SYMBOLS:
            latex = latex.replace(command, symbol)
        return _WORD.sub(plain_word, latex)

    return re.sub(r"\$([^$]+)\$", formula, text)
