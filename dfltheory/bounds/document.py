"""Theorems as plain data and back, so that files can contain unregistered ones.

Formulas are typed trees (:mod:`dfltheory.bounds.tree`); every other field is read with
its type, unknown fields are refused, and nothing of a file is ever run. What is code
is not stored: a network law of a third-party package is represented by its name, so no
run can be shown to satisfy it; a definition is represented by its formula, not by its
numerically stable form.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, get_args

import sympy as sp

from dfltheory.bounds.clauses import Condition, Definition, LeftSide, StatementKind
from dfltheory.bounds.computed import in_order, read_computation
from dfltheory.bounds.expansion import check_expansion, formulas_of
from dfltheory.bounds.measures import AGGREGATES
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import sign_of, signed_symbol
from dfltheory.bounds.scope import (
    ALONG_RUN,
    LAWS,
    PUSH_SUM_SOURCES,
    SAVED_KEYS,
    Scope,
)
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.symbols import GLOSSARY, WRITTEN_OUT, checked_new
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tree import from_tree, to_tree
from dfltheory.bounds.units import Expr, Unit
from dfltheory.constants import FRESH_STEP, SEQUENCES
from dfltheory.documents import (
    Read,
    ReadValue,
    anything,
    build_record,
    is_sequence,
    is_table,
    line,
    mapping,
    maybe,
    must,
    named,
    number,
    one_of,
    record,
    rows,
    short_text,
    truth,
    tuple_of,
    whole,
)
from dfltheory.errors import DFLTheoryError, InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

STATEMENT_FORMAT = 1

# -- writing


def theorem_to_document(theorem: Theorem) -> dict[str, object]:
    """Return the statement and its scope as plain data, for JSON.

    Raises
    ------
    InputError
        A formula uses a function that files cannot carry.
    """
    written = WRITTEN_OUT | {quantity.name for quantity in theorem.quantities}
    quantities = [theorem.glossary[name] for name in theorem.symbols if name in written]
    quantities += [
        quantity for quantity in theorem.quantities if quantity not in quantities
    ]
    statement_fields = _fields(theorem, "quantities", "control", "steps", "moments")
    return {
        "format": STATEMENT_FORMAT,
        "quantities": _plain_data(quantities),
    } | statement_fields


def _stated_names(document: object) -> frozenset[str]:
    """Return the names of the quantities in a document that is not checked yet."""
    entries = document.get("quantities") if is_table(document) else None
    tables = entries if is_sequence(entries) else []
    names = [table.get("name") for table in tables if is_table(table)]
    return frozenset(name for name in names if isinstance(name, str))


def _added_quantities(quantities: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """Return those that the glossary lacks; InputError if some need each other."""
    added = tuple(q for q in quantities if q.name not in GLOSSARY)
    in_order(added)
    return added


def _fields(thing: DataclassInstance, *but: str) -> dict[str, object]:
    return {
        SAVED_KEYS.get(f.name, f.name): _plain_data(getattr(thing, f.name))
        for f in fields(thing)
        if f.name not in but
    }


def _plain_data(value: object) -> object:
    if is_table(value):
        return {name: _plain_data(entry) for name, entry in value.items()}
    if is_sequence(value):
        return [_plain_data(entry) for entry in value]
    match value:
        case sp.Basic():
            return to_tree(value)
        case Statement():  # the statement from which another one is derived
            return [value.key, value.variant]
        case Unit():
            return [[e.numerator, e.denominator] for _, e in value.scales]
        case Quantity():  # JSON has no infinity
            ends = {name: repr(float(getattr(value, name))) for name in ("low", "high")}
            of = {"of": value.of} if isinstance(value.of, str) else {}
            return (
                _fields(value, "integer", "of", "point")
                | ends
                | {"whole": value.integer}
                | of
            )
        case Scope(push_sum="computed"):  # files of earlier versions lack the field
            return _fields(value, "push_sum")
        case Definition(symbol=own):
            plain = _fields(value, "symbol", "takes", "numeric")
            return plain | {"symbol": own.name, "sign": sign_of(own)}
        case type():
            return f"{value.__module__}:{value.__qualname__}"
        case _:
            pass
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    return (
        f"law: {getattr(value, '__qualname__', type(value).__name__)}"
        if callable(value)
        else value
    )


# -- reading


class UnknownLaw:
    """Stands for a network law that is code, of which a file contains only the name."""

    def __init__(self, name: str):
        self.__qualname__ = name

    def __call__(self, W: object) -> str:
        """Return the message that the law is not known, whatever the matrix."""
        return (
            f"its law {self.__qualname__} is code, which files do not contain: pass"
            " the theorem itself"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownLaw) and other.__qualname__ == self.__qualname__

    def __hash__(self) -> int:
        return hash(self.__qualname__)


def _list(item: Read[ReadValue]) -> Read[tuple[ReadValue, ...]]:
    return tuple_of(item, 200)


def _unit(place: str, value: object) -> Unit:
    def fraction(position: str, row: object) -> Fraction:
        over, under = rows(anything, 2, 2)(position, row)
        return Fraction(whole(-99, 99)(position, over), whole(1, 99)(position, under))

    return Unit(*rows(fraction, 3, 3)(place, value))


def _range_end(place: str, value: object) -> float:
    """Read an end of a range, which is text, because JSON has no infinity."""
    try:
        return float(_line(place, value))
    except ValueError:
        raise InputError(f"{place} = {short_text(value)} must be a number") from None


def _hyperparameter(place: str, value: object) -> object:
    return must(
        place,
        value,
        value is None or isinstance(value, (bool, int, float, str)),
        "a number or a word",
    )


def _network(place: str, value: object) -> str | UnknownLaw:
    network = _line(place, value)
    if network in LAWS:
        return network
    must(place, network, network.startswith("law: "), f"one of {', '.join(LAWS)}")
    return UnknownLaw(network.removeprefix("law: "))


_CHANGES: dict[str, tuple[str, ...]] = {
    "fixed": ("fixed",),
    "sequence": ("fixed", "periodic"),
    "random": ("fixed", "periodic", FRESH_STEP),
}
"""Values of the field ``change`` of earlier versions -> kinds of sequences."""
_line = line(4000)


def _bounded_gradients(place: str, data: object) -> bool | str:
    """Read whether, and where, gradients are bounded."""
    return (
        one_of(ALONG_RUN)(place, data) if isinstance(data, str) else truth(place, data)
    )


_SCOPE = record(
    {
        "algorithms": _list(_line),
        "network": _network,
        SAVED_KEYS["hyperparameters"]: mapping(_hyperparameter, 200, _line),
        "notation": mapping(_line, 200, _line),
        "participation": one_of("full", "sampled"),
        "bounded_gradients": _bounded_gradients,
        **dict.fromkeys(("common_start", "two_blocks"), truth),
    },
    # files of earlier versions have neither samplewise nor push_sum, and change instead
    # of sequence
    {
        "samplewise": truth,
        "push_sum": one_of(*PUSH_SUM_SOURCES),
        "sequence": _list(one_of(*SEQUENCES)),
        "change": one_of(*_CHANGES),
    },
)


def _scope(place: str, data: object) -> Scope:
    """Read a scope.

    A file has ``sequence``, or ``change`` if an earlier version wrote it.
    """
    scope_fields = _SCOPE(place, data)
    for name, key in SAVED_KEYS.items():
        scope_fields[name] = scope_fields.pop(key)
    change = scope_fields.pop("change", None)
    if (change is None) == ("sequence" not in scope_fields):
        raise InputError(
            f"{place} must have one of the fields sequence and (in old files) change"
        )
    if change is not None:
        scope_fields["sequence"] = _CHANGES[change]
    return build_record(place, Scope, scope_fields)


_QUANTITY = record(
    {
        **dict.fromkeys(("low", "high"), _range_end),
        "neutral": maybe(number()),
        **dict.fromkeys(("name", "latex", "meaning"), _line),
        **dict.fromkeys(("open_low", "open_high", "whole", "step"), truth),
        "unit": _unit,
    }
)


class _SymbolReader:
    """Reads quantities, definitions and formulas of one statement.

    Each symbol becomes known when its quantity or definition is read, so that formulas
    are read after both.
    """

    def __init__(self, document: object):
        self._stated_names = _stated_names(document)
        self._symbols: dict[str, sp.Symbol] = {}
        self._quantities: set[str] = set()

    def quantity(self, place: str, data: object) -> Quantity:
        """Return a quantity of the glossary, or one that the statement adds.

        The latter has no neutral value: a file does not decide which hyperparameters a
        run may omit.
        """
        of = None
        if is_table(data) and "of" in data:
            of = _line(f"{place}.of", data["of"])
            data = {name: value for name, value in data.items() if name != "of"}
        entry = _QUANTITY(place, data)
        entry["integer"] = entry.pop("whole")
        if GLOSSARY.get(entry["name"]) == Quantity(**entry):
            return GLOSSARY[entry["name"]]
        added = replace(Quantity(**entry), neutral=None, of=of)
        try:
            if of is not None:
                read_computation(of, self._stated_names)
            checked_new(added)
        except InputError as wrong:
            raise InputError(f"{place}: {wrong}") from None
        self._symbols[added.name] = added.symbol
        self._quantities.add(added.name)
        return added

    def formula(self, place: str, data: object) -> Expr:
        try:
            return from_tree(data, self._symbols)
        except DFLTheoryError as wrong:
            raise InputError(f"{place}: {wrong}") from None

    def end(self, place: str, data: object) -> Expr:
        """Return a round as a formula in T, without exponentials of T."""
        formula = sp.sympify(self.formula(place, data), strict=True)
        powers = [p.exp for p in formula.atoms(sp.Pow)]
        plain = not formula.has(sp.exp, sp.log) and all(p.is_number for p in powers)
        must(
            place,
            data,
            plain and formula.free_symbols <= {GLOSSARY["T"].symbol},
            "a round: a formula in T only",
        )
        return formula

    def definition(self, place: str, data: object) -> Definition:
        signs = one_of("positive", "nonnegative", "real")
        words = dict.fromkeys(("symbol", "latex", "meaning"), _line)
        entry = record({**words, "sign": signs, "expr": self.formula})(place, data)
        name, sign = entry["symbol"], entry.pop("sign")
        if name in GLOSSARY or name in self._quantities:
            raise InputError(
                f"{place}.symbol = {short_text(name)} is the name of a quantity: choose"
                " another name"
            )
        if not name.isprintable():
            raise InputError(
                f"{place}.symbol = {short_text(name)} is not printable text"
            )
        entry["symbol"] = self._symbols.setdefault(name, signed_symbol(name, sign))
        return Definition(**entry)


def theorem_from_document(document: object) -> Theorem:
    """Return the statement that :func:`theorem_to_document` wrote.

    Raises
    ------
    InputError
        A field is missing, unknown or invalid; the message has the first such field.
    """
    readers = _statement_readers(_SymbolReader(document))
    entries = named("theorem", document, sorted({*readers, "format"}))
    version = entries["format"]
    must("theorem.format", version, version == STATEMENT_FORMAT, str(STATEMENT_FORMAT))
    read_fields = {
        name: read(f"theorem.{name}", entries[name]) for name, read in readers.items()
    }
    read_fields["quantities"] = _added_quantities(read_fields["quantities"])
    try:
        check_expansion(
            read_fields["definitions"],
            formulas_of(
                read_fields["parts"], read_fields["conditions"], read_fields["schedule"]
            ),
        )
    except DFLTheoryError as wrong:
        raise InputError(f"theorem.definitions: {wrong}") from None
    return build_record("theorem", Theorem, read_fields)


def _statement_readers(reader: _SymbolReader) -> dict[str, Read[Any]]:
    """Return the reader of each field, in an order in which symbols become known."""

    def condition(place: str, data: object) -> Condition:
        return Condition(**record(sides)(place, data))

    def left_side(place: str, data: object) -> LeftSide:
        return build_record(place, LeftSide, record(left)(place, data))

    formula = reader.formula
    sides = {"name": _line, "left": formula, "right": formula, "strict": truth}
    left = {
        **dict.fromkeys(("measure", "latex", "averaging"), _line),
        "aggregate": one_of(*AGGREGATES),
        "start": whole(0, 10**9),
        **dict.fromkeys(("first", "last"), reader.end),
        "unit": _unit,
        "carries": _list(_line),
    }
    return {
        "quantities": _list(reader.quantity),
        "definitions": _list(reader.definition),
        **dict.fromkeys(("key", "variant", "title", "source", "remark"), _line),
        "of": maybe(tuple_of(_line, 2, 2)),
        "kind": one_of(*get_args(StatementKind)),
        "lhs": left_side,
        **dict.fromkeys(("parts", "schedule"), mapping(formula, 200, _line)),
        "scope": _scope,
        "conditions": _list(condition),
        "assumptions": _list(_line),
        "order": truth,
    }
