"""How a quantity is computed, as files write it: ``network: spectrum_sum(l)/m``.

Only the formula is read here, within the limits of all formulas; its values come from
:mod:`dfltheory.graphs.computed`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import sympy as sp

from dfltheory.bounds.formula_writer import write_formula
from dfltheory.bounds.formulas import LENGTH, read_formula
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr
from dfltheory.constants import NetworkConstants, ProblemConstants
from dfltheory.errors import InputError

EIGENVALUE = sp.Symbol("l", real=True)
"""An eigenvalue in the argument of ``spectrum_sum`` and ``spectrum_min``."""
CALLS = {"spectrum_sum": "l", "spectrum_min": "l", "effective_neighbors": ""}
"""Functions of a network, and the name that their argument may contain."""
PROPERTIES = ("diameter", "average_degree")
"""Numbers of a network that are not in the glossary."""
_FIELDS = {
    "network": tuple(NetworkConstants.__dataclass_fields__),
    "task": tuple(ProblemConstants.__dataclass_fields__),
}
_CALL = re.compile(rf"\b({'|'.join(CALLS)})\s*\(")


@dataclass(frozen=True)
class Call:
    """``function(argument)`` in a formula, where ``symbol`` stands for its value."""

    symbol: sp.Symbol
    function: str
    argument: Expr


@dataclass(frozen=True)
class Computation:
    """The formula of a computed quantity.

    Attributes
    ----------
    subject : ``network`` or ``task``
    formula : with a symbol for each call
    calls : the calls, in the order of their symbols
    """

    subject: str
    formula: Expr
    calls: tuple[Call, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The constants and properties that the formula contains."""
        own = {call.symbol for call in self.calls}
        return frozenset(str(s) for s in self.formula.free_symbols - own)

    @property
    def text(self) -> str:
        """The formula in one form, however it was written."""
        calls = {
            call.symbol: sp.Symbol(f"{call.function}({write_formula(call.argument)})")
            for call in self.calls
        }
        return f"{self.subject}: {sp.sstr(self.formula.xreplace(calls), order='lex')}"


@cache
def read_computation(text: str) -> Computation:
    """Read ``network: FORMULA`` or ``task: FORMULA``.

    Raises
    ------
    InputError
        The text is neither, or its formula cannot be read.
    """
    subject, colon, formula = text.partition(":")
    subject = subject.strip()
    if not colon or subject not in _FIELDS:
        raise InputError(
            f"of = {text!r:.80} must be 'network: FORMULA', 'task: FORMULA' or"
            " 'FILE.py:NAME'"
        )
    if len(formula) > LENGTH:
        raise InputError(f"of: a formula has at most {LENGTH} characters")
    symbols: dict[str, Expr] = {
        name: GLOSSARY[name].symbol for name in _FIELDS[subject] if name in GLOSSARY
    }
    calls: tuple[Call, ...] = ()
    if subject == "network":
        symbols |= {name: sp.Symbol(name, nonnegative=True) for name in PROPERTIES}
        formula, calls = _without_calls(formula)
        symbols |= {call.symbol.name: call.symbol for call in calls}
    return Computation(subject, sp.sympify(read_formula(formula, symbols)), calls)


def _without_calls(formula: str) -> tuple[str, tuple[Call, ...]]:
    """The formula with a name in place of each call of a function of the network."""
    stem = "call"
    while stem in formula:
        stem += "_"
    calls: list[Call] = []
    pieces: list[str] = []
    position = 0
    while found := _CALL.search(formula, position):
        end = _closing(formula, found.end())
        name = found[1]
        inside = {"l": EIGENVALUE} if CALLS[name] else {}
        argument = sp.sympify(read_formula(formula[found.end() : end], inside))
        symbol = sp.Symbol(f"{stem}{len(calls)}", real=True)
        calls.append(Call(symbol, name, argument))
        pieces += [formula[position : found.start()], f" {symbol.name} "]
        position = end + 1
    return "".join([*pieces, formula[position:]]), tuple(calls)


def _closing(formula: str, start: int) -> int:
    """The index of the bracket that closes the one before ``start``."""
    depth = 1
    for index in range(start, len(formula)):
        depth += {"(": 1, ")": -1}.get(formula[index], 0)
        if depth == 0:
            return index
    raise InputError(f"of: a bracket is not closed in {formula!r:.80}")


__all__ = [
    "CALLS",
    "EIGENVALUE",
    "PROPERTIES",
    "Call",
    "Computation",
    "read_computation",
]
