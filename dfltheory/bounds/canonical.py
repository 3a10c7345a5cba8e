"""Canonical form of a statement, and its hash.

Two statements with equal canonical forms make the same claim, however they are written:
the order of terms and conditions, the names of terms and definitions, prose, the file
format and the version of SymPy do not matter. What counts: the bound, the conditions,
the left-hand side, the schedule, the scope, the quantities that a statement adds to the
glossary, and a user's functions that evaluate its definitions. A formula becomes a sum
of monomials with exact rational coefficients; products of sums are not expanded, so
that a formula that was rearranged may have another hash.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Set
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import TYPE_CHECKING, TypeGuard

import sympy as sp

from dfltheory.bounds.clauses import symbol_names
from dfltheory.bounds.computed import read_computation
from dfltheory.bounds.measures import KNOWN_MEASURES
from dfltheory.bounds.normal_forms import formula_text
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.scope import SAVED_KEYS
from dfltheory.bounds.symbols import GLOSSARY, WRITTEN_OUT
from dfltheory.bounds.units import Unit
from dfltheory.documents import is_sequence, is_table

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from dfltheory.bounds.clauses import Condition, LeftSide
    from dfltheory.bounds.statement import Statement

CANONICAL_FORMAT = 1
DISPLAY_ONLY = frozenset({"latex", "averaging", "carries", "notation"})
"""Fields of a left-hand side or a scope that do not change the claim; the measure
determines ``carries``.
"""

PACKAGE_NAME = __name__.partition(".")[0]


def canonical_document(statement: Statement) -> dict[str, object]:
    """Return the canonical form of a statement as plain data."""
    return {
        "format": CANONICAL_FORMAT,
        "relation": _relation(statement),
        "left": _left_side(statement.lhs),
        "bound": formula_text(statement.bound),
        "conditions": sorted(
            {_condition(statement, condition) for condition in statement.conditions}
        ),
        "schedule": {
            name: formula_text(statement.expand(e))
            for name, e in statement.schedule.items()
        },
        "scope": _fields(statement.scope),
        "quantities": _own_quantities(statement),
    } | _numeric_functions(statement)


def _left_side(left: LeftSide) -> dict[str, object]:
    """Return the left-hand side; a measure of the package determines its unit."""
    left_fields = _fields(left)
    if left.measure in KNOWN_MEASURES:
        left_fields.pop("unit", None)
    return left_fields


def statement_hash(statement: Statement) -> str:
    """Return a digest of the canonical form: 32 hexadecimal digits."""
    text = json.dumps(
        canonical_document(statement), sort_keys=True, separators=(",", ":")
    )
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def _relation(statement: Statement) -> str:
    """Return how the left-hand side relates to the bound.

    That includes whether the schedule is imposed.
    """
    if statement.kind in ("lower bound", "definition"):
        sign = {"lower bound": ">=", "definition": "="}[statement.kind]
        return f"{sign} O(.)" if statement.order else sign
    if statement.order:
        return "O(.)"
    if statement.kind == "corollary" and statement.schedule:
        return "<= under the schedule"
    return "<="


def _condition(statement: Statement, condition: Condition) -> str:
    """Return a condition as an inequality between canonical formulas."""
    left, right = (
        formula_text(statement.expand(side))
        for side in (condition.left, condition.right)
    )
    return f"{left} {'<' if condition.strict else '<='} {right}"


def _fields(record: DataclassInstance) -> dict[str, object]:
    """Return the fields of a dataclass that are not at their defaults, by name.

    A new field with a default therefore changes no hash.
    """
    values: dict[str, object] = {}
    for entry in fields(record):
        if entry.name in DISPLAY_ONLY:
            continue
        value = _plain_data(getattr(record, entry.name))
        default = entry.default
        if entry.default_factory is not MISSING:
            default = entry.default_factory()
        if default is MISSING or value != _plain_data(default):
            values[SAVED_KEYS.get(entry.name, entry.name)] = value
    return values


def _plain_data(value: object) -> object:
    """Return a field's value as plain data.

    Numbers are exact, and the order of a list does not count.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, sp.Expr):
        return formula_text(value)
    if isinstance(value, int | float):
        return _exact_number(value)
    if isinstance(value, str):
        return _name(value)
    if isinstance(value, Unit):
        return [str(exponent) for _, exponent in value.scales]
    if is_table(value):
        return {str(name): _plain_data(entry) for name, entry in value.items()}
    if is_sequence(value) or _is_set(value):
        return sorted((_plain_data(entry) for entry in value), key=json.dumps)
    if isinstance(value, type):
        return _name(f"{value.__module__}:{value.__qualname__}")
    return f"law: {getattr(value, '__qualname__', type(value).__name__)}"


def _is_set(value: object) -> TypeGuard[Set[object]]:
    return isinstance(value, Set)


def _exact_number(value: float) -> str:
    """Return a number as a fraction; infinities and NaN by name."""
    if isinstance(value, int):
        return str(int(value))
    if not math.isfinite(value):
        return repr(value)
    return str(Fraction(repr(float(value))))


def _name(text: str) -> str:
    """Return the name of a class without its module if it is one of this package.

    Theorem files write it so. Other text is returned as it is.
    """
    module, colon, name = text.rpartition(":")
    return name if colon and module.partition(".")[0] == PACKAGE_NAME else text


def _numeric_functions(statement: Statement) -> dict[str, object]:
    """Return the user's functions that evaluate definitions, by formula.

    Functions of this package are left out, because tests compare them with the formula.
    """
    functions: dict[str, str] = {}
    for definition in statement.definitions:
        module = getattr(definition.numeric, "__module__", None) or ""
        if definition.numeric is not None and module.partition(".")[0] != PACKAGE_NAME:
            name = getattr(
                definition.numeric, "__qualname__", type(definition.numeric).__name__
            )
            functions[formula_text(statement.expand(definition.symbol))] = (
                f"{module}:{name}"
            )
    return {"numeric": functions} if functions else {}


def _own_quantities(statement: Statement) -> dict[str, object]:
    """Return units and ranges of the quantities that the statement adds.

    Quantities that the glossary writes out are included.
    """
    in_schedule = symbol_names(statement.schedule.values())
    names = {*statement.needs, *in_schedule} - (GLOSSARY.keys() - WRITTEN_OUT)
    known = [statement.glossary[name] for name in sorted(names)]
    added_names = frozenset(quantity.name for quantity in statement.quantities)
    return {
        quantity.name: _quantity_fields(quantity, added_names) for quantity in known
    }


def _quantity_fields(
    quantity: Quantity, added_names: frozenset[str]
) -> dict[str, object]:
    """Return what counts of a quantity: its unit, its range, and how it is computed."""
    names = ("unit", "low", "high", "open_low", "open_high")
    counted = {name: _plain_data(getattr(quantity, name)) for name in names}
    counted |= {"whole": quantity.integer}
    of = quantity.of
    if of is None:
        return counted
    if callable(of):
        name = getattr(of, "__qualname__", type(of).__qualname__)
        return counted | {"of": f"{of.__module__}:{name}"}
    return counted | {"of": read_computation(of, added_names).text}


__all__ = ["canonical_document", "statement_hash"]
