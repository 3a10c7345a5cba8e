"""Formulas in place of names in texts, and text wrapping to a given width."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from dfltheory.bounds.display import condition_latex
from dfltheory.bounds.symbols import GLOSSARY

if TYPE_CHECKING:
    from dfltheory.bounds.clauses import Condition
    from dfltheory.bounds.statement import Statement

TEXT_SIZE = 8.0
"""Size of all texts in figures, in points."""

_GREEK = frozenset(
    {
        "alpha",
        "beta",
        "gamma",
        "delta",
        "eta",
        "zeta",
        "theta",
        "kappa",
        "lambda",
        "mu",
        "rho",
        "sigma",
        "tau",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Xi",
    }
)
_ORDINARY_WORDS = frozenset({"bias", "drift", "offset", "push", "window", "young"})
"""Glossary names that are English words. They are replaced only before "="."""
_SPOKEN = {"grad": r"\nabla", "xbar": r"\bar x", "x_i": "x_i", "lam": r"\lambda"}
"""Formulas for names that are not in the glossary."""
_RELATIONS = {"<=": r"\leq", ">=": r"\geq", "!=": r"\neq", "==": "="}
_DOLLAR = "\x01"
"""Placeholder for the dollar signs of formulas during translation."""
_TOKEN = re.compile(
    r"(?P<number>(?<![\w.])\d+(?:\.\d+)?e[+-]?\d+)"
    r"|(?P<relation><=|>=|!=|==)"
    r"|(?P<norm>\|\|)"
    r"|\^(?:(?P<power>\d+|[A-Za-z]\w*)|\((?P<powers>[^()]*)\))"
    r"|sqrt\((?P<root>[A-Za-z]\w*)\)"
    r"|(?<![\w'.])(?P<word>[A-Za-z]\w*)(?![\w'])(?P<assigned> ?=(?!=))?"
)
_LONGEST_CONDITION = 1.5
"""Maximum width in inches of a condition that is written as a formula."""
_SETTING = re.compile(r"(?<![\w'.])([A-Za-z]\w*)(?= = )")
_PIECE = re.compile(r"(?:\\\$|\$[^$]*\$|[^ $])+")
"""A word, which may contain formulas with spaces."""


def symbol(name: str, theorem: Statement | None = None) -> str:
    r"""Return the symbol of a quantity as a formula, such as ``$\eta$``.

    Parameters
    ----------
    name : str
        Name of a quantity of the glossary or of the theorem.
    theorem : Statement, optional
        The statement whose notation is used; by default that of the glossary.
    """
    return f"${typeset(_symbols_of(theorem)[name])}$"


def typeset(latex: str) -> str:
    """Return LaTeX without commands that matplotlib does not support."""
    text = re.sub(r"\\frac ?(\w)(\w|\\[a-z]+)", r"\\frac{\1}{\2}", latex)
    text = re.sub(r"\\le(?![a-z])", r"\\leq", text)
    text = re.sub(r"\\[Bb]ig(?![a-z])", "", text)
    text = re.sub(r"\\operatorname\*?\{(\w+)\}", r"\\mathrm{\1}", text)
    return re.sub(r"\\math(bf|rm|cal) (\w)", r"\\math\1{\2}", text)


@cache
def is_formula(text: str) -> bool:
    """Return whether matplotlib can typeset LaTeX that :func:`typeset` returned."""
    from matplotlib.mathtext import MathTextParser

    try:
        MathTextParser("path").parse(f"${text}$")
    except ValueError:
        return False
    return True


def condition(clause: Condition, theorem: Statement) -> str:
    """Return a condition in the notation of its theorem.

    By default it is the name of the condition, with symbols. If a symbol in the name
    has different meanings in the paper and in the glossary, it is the formula of the
    condition, provided that it is short.
    """
    translation = _Translation(theorem, paper_symbols=True)
    if translation.is_ambiguous(clause.name):
        formula = typeset(condition_latex(clause, theorem))
        is_short = "frac" not in formula and is_formula(formula)
        if is_short and text_width(f"${formula}$") <= _LONGEST_CONDITION:
            return f"${formula}$"
    return translation.of(clause.name)


def in_symbols(
    text: str, theorem: Statement | None = None, *, paper_symbols: bool = False
) -> str:
    r"""Return text with names and relations as formulas for matplotlib.

    ``eta <= 1.2e-5`` becomes ``$\eta \leq$ $1.2 \times 10^{-5}$``.

    Parameters
    ----------
    text : str
        A reason or a suggestion that contains glossary names.
    theorem : Statement, optional
        The statement whose notation is used; by default that of the glossary.
    paper_symbols : bool
        Whether the text may contain symbols of the paper, like the names of
        conditions. A name that the paper uses for another quantity is then taken as
        the paper's symbol.
    """
    return _Translation(theorem, paper_symbols).of(text)


def setting_in_symbols(text: str) -> str:
    """Return a setting such as ``K = 5`` with symbols in place of names.

    Words that are not followed by an equality sign are kept.
    """
    symbols = _symbols_of(None)

    def replaced(found: re.Match[str]) -> str:
        name = found[1]
        return f"${symbols[name]}$" if name in symbols else name

    return _SETTING.sub(replaced, text.replace("$", r"\$"))


def wrapped(text: str, width: float) -> str:
    """Wrap text to lines of at most ``width`` inches at 8 points.

    Formulas and words are not split.
    """
    lines: list[str] = []
    text = text.replace(" × measured", "\xa0×\xa0measured")
    for paragraph in text.split("\n"):
        line = ""
        for word in _PIECE.findall(paragraph):
            longer = f"{line} {word}" if line else word
            if line and text_width(longer) > width:
                lines.append(line)
                longer = word
            line = longer
        lines.append(line)
    return "\n".join(lines)


@cache
def text_width(text: str) -> float:
    """Return the width in inches of a text at 8 points, that of its widest line."""
    from matplotlib.cbook import is_math_text
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=TEXT_SIZE)
    widths = []
    for line in text.split("\n"):
        is_formula = bool(is_math_text(line))
        extent = text_to_path.get_text_width_height_descent(line, font, is_formula)
        widths.append(float(extent[0]))
    return max(widths) / 72


class _Translation:
    """Replaces names in texts by the symbols of a statement."""

    def __init__(self, theorem: Statement | None, paper_symbols: bool):
        self.symbols = _symbols_of(theorem)
        notation = theorem.scope.notation if theorem is not None else {}
        self.printed = set(notation.values()) if paper_symbols else set()
        if theorem is not None and paper_symbols:
            defined = {str(d.symbol): d.latex for d in theorem.definitions}
            self.symbols = {**self.symbols, **defined}

    def of(self, text: str) -> str:
        """Return the translated text."""
        escaped = text.replace("$", r"\$")
        translated = _TOKEN.sub(self._token, escaped)
        joined = re.sub(f"{_DOLLAR} ?{_DOLLAR}", " ", translated)
        joined = joined.replace(_DOLLAR, "$")
        # do not break lines next to a relation
        joined = re.sub(r" (=|<|>) ", "\xa0\\1\xa0", joined)
        joined = re.sub(r" (?=\$\\[lgn]eq)", "\xa0", joined)
        joined = re.sub(r"(?<=[\w)$]) - (?=[\w($])", "\xa0−\xa0", joined)
        joined = re.sub(r"(?<=\b\d) (?=\$)", "\xa0", joined)
        return re.sub(r"(?<=eq\$) ", "\xa0", joined)

    def is_ambiguous(self, text: str) -> bool:
        """Return whether a name could be a symbol of the paper or of the glossary."""
        for found in _TOKEN.finditer(text):
            name = found["word"]
            greek = _as_greek(name) if name else None
            if greek is None or greek in self.printed:
                continue
            if not self.symbols.get(name, greek).startswith(greek):
                return True
        return False

    def _token(self, found: re.Match[str]) -> str:
        """Return the formula that replaces one matched token."""
        if found["number"]:
            return _formula(_power_of_ten(found["number"]))
        if found["relation"]:
            return _formula(_RELATIONS[found["relation"]])
        if found["norm"]:
            return _formula(r"\|")
        if found["root"]:
            return _formula(rf"\sqrt{{{self._symbol(found['root'])}}}")
        power = found["power"] or found["powers"]
        if power:
            inner = re.sub(r"[A-Za-z]\w*", self._symbol_found, power)
            return _formula(f"^{{{inner}}}")
        return self._word(found["word"], found["assigned"] or "")

    def _word(self, name: str, assigned: str) -> str:
        if name in _ORDINARY_WORDS and not assigned:
            return name
        latex = self._symbol(name)
        return f"{name if latex is None else _formula(latex)}{assigned}"

    def _symbol_found(self, found: re.Match[str]) -> str:
        return self._symbol(found[0]) or found[0]

    def _symbol(self, name: str) -> str | None:
        """Return the LaTeX of a name; None for an ordinary word."""
        greek = _as_greek(name)
        if greek is not None and greek in self.printed:
            return greek
        if name in self.printed:
            return name
        return self.symbols.get(name) or _SPOKEN.get(name) or greek


def _symbols_of(theorem: Statement | None) -> Mapping[str, str]:
    """Return the LaTeX of each quantity, in the notation of a statement."""
    if theorem is None:
        return {name: quantity.latex for name, quantity in GLOSSARY.items()}
    known = {name: quantity.latex for name, quantity in theorem.glossary.items()}
    return known | dict(theorem.scope.notation)


def _as_greek(name: str) -> str | None:
    r"""Return ``\eta_l`` for ``eta_l``; None if the name is not a Greek symbol."""
    stem, _, index = name.partition("_")
    if stem not in _GREEK:
        return None
    if index in ("min", "max"):
        index = rf"\{index}"
    return rf"\{stem}_{{{index}}}" if index else rf"\{stem}"


def _power_of_ten(number: str) -> str:
    r"""Return ``1.2 \times 10^{5}`` for ``1.2e+05``."""
    mantissa, _, exponent = number.partition("e")
    factor = "" if mantissa == "1" else rf"{mantissa} \times "
    return f"{factor}10^{{{int(exponent)}}}"


def _formula(latex: str) -> str:
    return f"{_DOLLAR}{typeset(latex)}{_DOLLAR}"


__all__ = [
    "TEXT_SIZE",
    "condition",
    "in_symbols",
    "is_formula",
    "setting_in_symbols",
    "symbol",
    "text_width",
    "typeset",
    "wrapped",
]
