"""How a quantity is computed, as files write it: ``network: spectrum_sum(l)/m``.

Formulas and arguments of functions may contain the names of other quantities. Only the
formula is read here, within the limits of all formulas; its values come from
:mod:`dfltheory.graphs.computed`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter

import sympy as sp
from sympy import Expr

from dfltheory.bounds.formula_tokens import LONGEST_FORMULA
from dfltheory.bounds.formula_writer import write_formula
from dfltheory.bounds.formulas import read_formula
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.errors import InputError

EIGENVALUE = sp.Symbol("l", real=True)
"""An eigenvalue in the argument of ``spectrum_sum`` and ``spectrum_min``."""
CALLS = {"spectrum_sum": "l", "spectrum_min": "l", "effective_neighbors": ""}
"""Functions of a network, and the name that their argument may contain."""
PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "diameter": (),
    "average_degree": (),
    "neighborhood_heterogeneity": ("lam", "sigma_g", "sigma_l"),
}
"""Numbers of a network that are not in the glossary, and the quantities of network and
task that they need.
"""
SUBJECTS = ("network", "task")
"""What the formula of a quantity may be computed from."""
_CALL = re.compile(rf"\b({'|'.join(CALLS)})\s*\(")


@dataclass(frozen=True)
class Call:
    """``function(argument)`` in a formula, where ``symbol`` stands for its value."""

    symbol: sp.Symbol
    function: str
    argument: Expr

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities in its argument, in alphabetical order."""
        return tuple(sorted(str(s) for s in self.argument.free_symbols - {EIGENVALUE}))


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
        """The quantities and properties that the formula contains outside of calls."""
        call_symbols = {call.symbol for call in self.calls}
        return frozenset(str(s) for s in self.formula.free_symbols - call_symbols)

    @property
    def needs(self) -> frozenset[str]:
        """The quantities that must be known for its value."""
        inside = [call.names for call in self.calls]
        properties = self.names & PROPERTIES.keys()
        inside += [PROPERTIES[name] for name in properties]
        return self.names.union(*inside) - PROPERTIES.keys()

    @property
    def uses_network(self) -> bool:
        """Whether its value needs the mixing matrix itself."""
        return bool(self.calls or self.names & PROPERTIES.keys())

    @property
    def text(self) -> str:
        """The formula in one form, however it was written."""
        calls = {
            call.symbol: sp.Symbol(f"{call.function}({write_formula(call.argument)})")
            for call in self.calls
        }
        return f"{self.subject}: {sp.sstr(self.formula.xreplace(calls), order='lex')}"


@cache
def read_computation(
    text: str, added_names: frozenset[str] = frozenset()
) -> Computation:
    """Read ``network: FORMULA`` or ``task: FORMULA``.

    Parameters
    ----------
    text : str
        The formula and what it is about.
    added_names : frozenset of str
        Names of quantities that the file or theorem adds to the glossary.

    Returns
    -------
    Computation
        The formula; nothing is evaluated.

    Raises
    ------
    InputError
        The text has neither form, or its formula cannot be read.
    """
    subject, colon, formula = text.partition(":")
    subject = subject.strip()
    if not colon or subject not in SUBJECTS:
        raise InputError(
            f"of = {text!r:.80} must be 'network: FORMULA', 'task: FORMULA' or"
            " 'FILE.py:NAME'"
        )
    if len(formula) > LONGEST_FORMULA:
        raise InputError(
            f"of: the formula has {len(formula)} characters: at most {LONGEST_FORMULA}"
            " are allowed"
        )
    known = {name: entry.symbol for name, entry in GLOSSARY.items()}
    known |= {name: sp.Symbol(name, real=True) for name in sorted(added_names)}
    symbols: dict[str, Expr] = dict(known)
    calls: tuple[Call, ...] = ()
    if subject == "network":
        symbols |= {name: sp.Symbol(name, nonnegative=True) for name in PROPERTIES}
        formula, calls = _without_calls(formula, known)
        symbols |= {call.symbol.name: call.symbol for call in calls}
    value = sp.sympify(read_formula(formula, symbols), strict=True)
    return Computation(subject, value, calls)


def _without_calls(
    formula: str, known: Mapping[str, Expr]
) -> tuple[str, tuple[Call, ...]]:
    """Return the formula with a name in place of each call, and the calls."""
    stem = "call"
    while stem in formula:
        stem += "_"
    calls: list[Call] = []
    pieces: list[str] = []
    position = 0
    while match := _CALL.search(formula, position):
        end = _closing_bracket(formula, match.end())
        name = match[1]
        inside = {**known, "l": EIGENVALUE} if CALLS[name] else known
        text = formula[match.end() : end]
        argument = sp.sympify(read_formula(text, inside), strict=True)
        symbol = sp.Symbol(f"{stem}{len(calls)}", real=True)
        calls.append(Call(symbol, name, argument))
        pieces += [formula[position : match.start()], f" {symbol.name} "]
        position = end + 1
    return "".join([*pieces, formula[position:]]), tuple(calls)


def in_order(quantities: Collection[Quantity]) -> tuple[Quantity, ...]:
    """Return the quantities with a formula, each after those that its formula needs.

    Raises
    ------
    InputError
        A quantity needs itself, by way of others or not.
    """
    by_name = {q.name: q for q in quantities if isinstance(q.of, str)}
    names_of_all = frozenset(q.name for q in quantities)
    needs = {
        name: read_computation(str(q.of), names_of_all).needs & by_name.keys()
        for name, q in by_name.items()
    }
    try:
        names = tuple(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle = " -> ".join(error.args[1])
        raise InputError(
            f"of: the quantities {circle} need each other: compute one of them from the"
            " network or the task alone"
        ) from None
    return tuple(by_name[name] for name in names)


def _closing_bracket(formula: str, start: int) -> int:
    """Return the index of the bracket that closes the one before ``start``."""
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
    "SUBJECTS",
    "Call",
    "Computation",
    "in_order",
    "read_computation",
]
