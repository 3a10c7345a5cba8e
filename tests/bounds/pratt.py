"""A second parser of formulas by operator precedence, which shares no code with the
package.

It evaluates a formula at given values. ``^`` binds tightest and is right-associative;
then come unary minus, ``*`` and ``/``, and ``+`` and ``-``.
"""

from __future__ import annotations

import math
import re

_TOKENS = re.compile(r"\s*(\d+\.\d+|\d+|[A-Za-z_]\w*|[-+*/^(),])")
_LEFT = {"+": 10, "-": 10, "*": 20, "/": 20}
_UNARY, _POWER = 30, 40
_FUNCTIONS = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "abs": abs,
    "min": min,
    "max": max,
}


def value_of(text, values):
    """Return the value of the formula ``text`` at ``values``."""
    tokens = _TOKENS.findall(text)
    assert "".join(tokens) == text.replace(" ", "")
    number, rest = _expression(tokens, 0, values)
    assert not rest, rest
    return number


def _expression(tokens, least, values):
    left, tokens = _prefix(tokens, values)
    while tokens:
        sign = tokens[0]
        if sign == "^" and least <= _POWER:
            right, tokens = _expression(
                tokens[1:], _UNARY, values
            )  # right-associative; the exponent may have a sign
            left = left**right
        elif sign in _LEFT and _LEFT[sign] > least:
            right, tokens = _expression(tokens[1:], _LEFT[sign], values)
            left = _applied(sign, left, right)
        else:
            break
    return left, tokens


def _prefix(tokens, values):
    first, tokens = tokens[0], tokens[1:]
    if first == "-":
        inner, tokens = _expression(tokens, _UNARY, values)
        return -inner, tokens
    if first == "(":
        inner, tokens = _expression(tokens, 0, values)
        assert tokens[0] == ")"
        return inner, tokens[1:]
    if first in _FUNCTIONS and tokens[0] == "(":
        return _call(first, tokens[1:], values)
    return (values[first] if first in values else float(first)), tokens


def _call(name, tokens, values):
    arguments = []
    while True:
        argument, tokens = _expression(tokens, 0, values)
        arguments.append(argument)
        sign, tokens = tokens[0], tokens[1:]
        if sign == ")":
            return _FUNCTIONS[name](*arguments), tokens


def _applied(sign, left, right):
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    return left * right if sign == "*" else left / right
