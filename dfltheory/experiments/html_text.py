"""Text and formulas of statements as HTML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup


def mathml(latex: str, display: str = "inline") -> Markup:
    """Return LaTeX as MathML, which browsers render without scripts."""
    from latex2mathml.converter import convert
    from markupsafe import Markup

    # the converter supports `split`, which has the same columns
    return Markup(convert(latex.replace("{aligned}", "{split}"), display=display))


def html_text(text: str) -> Markup:
    """Return text as HTML, without the asterisks of bold words.

    Formulas are between dollar signs, and code is between backticks. Asterisks at the
    start or end of a word mark bold text; those of a power are kept.
    """
    from markupsafe import Markup, escape

    parts = []
    for piece in re.split(r"(\$[^$]+\$|`[^`]+`)", text):
        if re.fullmatch(r"\$[^$]+\$", piece):
            parts.append(_formula(piece[1:-1]))
        elif re.fullmatch(r"`[^`]+`", piece):
            parts.append(Markup("<code>{}</code>").format(piece[1:-1]))
        else:
            plain = re.sub(r"(?<!\S)\*\*(?=\S)|(?<=\S)\*\*(?=\W|$)", "", escape(piece))
            parts.append(Markup(plain))
    return Markup("").join(parts)


def _formula(latex: str) -> Markup:
    """Return a formula as MathML, or unchanged text if it cannot be parsed."""
    from markupsafe import escape

    try:
        return mathml(latex)
    except Exception as wrong:
        if type(wrong).__module__ != "latex2mathml.exceptions":
            raise
        return escape(latex)


__all__ = ["html_text", "mathml"]
