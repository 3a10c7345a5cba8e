"""Theorems as the text of theorem files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

import sympy as sp

from dfltheory.bounds.canonical import PACKAGE_NAME
from dfltheory.bounds.clauses import Definition, LeftSide
from dfltheory.bounds.comparisons import comparison_conditions, comparisons_of
from dfltheory.bounds.formula_writer import name_in_latex, write_formula
from dfltheory.bounds.measures import KNOWN_MEASURES, latex_of_left
from dfltheory.bounds.numeric_functions import numeric_function_name
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import sign_of
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.unit_text import QuantityRange, write_range, write_unit
from dfltheory.documents import is_sequence, is_table
from dfltheory.errors import InputError

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 100
_SIGMA_L = GLOSSARY["sigma_l"].symbol


def theorems_to_toml(theorems: Sequence[Statement], paper: Paper | None = None) -> str:
    """Return statements of one source as the text of a theorem file.

    Parameters
    ----------
    theorems : at least one
    paper : the source; its notation is then that of every statement

    Raises
    ------
    InputError
        A file cannot contain a function of a formula, or a class or a law of a scope;
        or two statements have different quantities of the same name.
    """
    blocks = ["format = 1"]
    if paper is not None:
        blocks.append(_source(paper))
    blocks += [_quantity(quantity) for quantity in _new_quantities(theorems)]
    blocks += [_statement(theorem, paper) for theorem in theorems]
    return "\n\n".join(blocks) + "\n"


def _new_quantities(theorems: Iterable[Statement]) -> list[Quantity]:
    """Return what the statements add to the glossary, each quantity once."""
    quantities_by_name: dict[str, Quantity] = {}
    for theorem in theorems:
        for quantity in theorem.quantities:
            known = quantities_by_name.setdefault(quantity.name, quantity)
            if known != quantity:
                raise InputError(
                    f"two statements have different quantities {quantity.name}: write"
                    " two files"
                )
    return list(quantities_by_name.values())


def _source(paper: Paper) -> str:
    entries = {
        "title": paper.title,
        "citation": paper.citation,
        "provenance": paper.provenance,
    }
    lines = [
        "[source]",
        *(f"{n} = {_value(text)}" for n, text in entries.items() if text),
    ]
    if paper.notation:
        lines.append(f"notation = {_value(paper.notation)}")
    return "\n".join(lines)


def _quantity(quantity: Quantity) -> str:
    if callable(quantity.of):
        raise InputError(
            f"quantity {quantity.name} is computed by a function, which a file cannot"
            " carry"
        )
    interval = QuantityRange(
        quantity.low, quantity.high, quantity.open_low, quantity.open_high
    )
    entries = {
        "unit": write_unit(quantity.unit),
        "range": write_range(interval),
        "integer": quantity.integer or None,
        "neutral": quantity.neutral,
        "step": quantity.step or None,
        "latex": quantity.latex,
        "meaning": quantity.meaning,
        "of": quantity.of,
        "point": quantity.point or None,
    }
    return "\n".join([f"[quantities.{quantity.name}]", *_entries(entries)])


def _statement(theorem: Statement, paper: Paper | None) -> str:
    order = None if theorem.order == (theorem.kind == "rate") else theorem.order
    of = theorem.of
    if isinstance(of, Statement):
        of = (of.key, of.variant)
    entries: dict[str, object] = {
        "key": theorem.key,
        "variant": None if theorem.variant == "stated" else theorem.variant,
        "kind": theorem.kind,
        "order": order,
        "control": theorem.control or None,
        "of": None if of is None else ":".join(of),
        "title": theorem.title,
        "source": theorem.source,
        "assumptions": list(theorem.assumptions) or None,
        "remark": theorem.remark or None,
        "notation": _notation(theorem, paper),
    }
    lines = ["[[statement]]", *_entries(entries)]
    tables: dict[str, Mapping[str, object]] = {
        "scope": _scope(theorem),
        "left": _left_hand_side(theorem.lhs),
        "definitions": _definitions(theorem),
        "terms": {name: write_formula(part) for name, part in theorem.parts.items()},
        "conditions": _conditions(theorem),
        "schedule": {
            name: write_formula(rule) for name, rule in theorem.schedule.items()
        },
        "moments": dict(theorem.moments),
    }
    for name, table in tables.items():
        if table:
            lines += _table(f"statement.{name}", table)
    for step in theorem.steps:
        lines += ["[[statement.steps]]", *_entries(_step(step))]
    return "\n".join(lines)


def _step(step: ProofStep) -> dict[str, object]:
    return {
        "name": step.name or None,
        "claim": step.claim,
        "from": list(step.premises) or None,
        "by": step.by[0] if len(step.by) == 1 else list(step.by),
    }


def _notation(theorem: Statement, paper: Paper | None) -> dict[str, str] | None:
    """Return the statement's notation if it differs from the source's."""
    inherited: dict[str, str] = {}
    if paper is not None:
        known = theorem.glossary
        inherited = {n: x for n, x in paper.notation.items() if n in known}
    notation = dict(theorem.scope.notation)
    return None if notation == inherited else notation


def _scope(theorem: Statement) -> dict[str, object]:
    scope = theorem.scope
    entries: dict[str, object] = {
        "algorithms": [_named_class(algorithm) for algorithm in scope.algorithms],
        "hyperparameters": dict(scope.hyperparameters) or None,
        "network": _law(scope),
        "sequence": None if scope.sequence == ("fixed",) else list(scope.sequence),
        "common_start": scope.common_start,
        "participation": None if scope.participation == "full" else scope.participation,
        "bounded_gradients": scope.bounded_gradients or None,
        "noise": _noise(theorem),
        "push_sum": None if scope.push_sum == "computed" else scope.push_sum,
        "blocks": 2 if scope.two_blocks else None,
    }
    return {name: value for name, value in entries.items() if value is not None}


def _noise(theorem: Statement) -> str | None:
    if not theorem.scope.samplewise:
        return None
    (exact,) = comparison_conditions("", _SIGMA_L, "==", sp.S.Zero)
    gradients_are_exact = any(
        (c.left, c.right) == (exact.left, exact.right) for c in theorem.conditions
    )
    return "none" if gradients_are_exact else "samplewise"


def _named_class(algorithm: str | type) -> str:
    """Return the name of a class of the package.

    A file names others by the path of their code, which is unknown.
    """
    text = (
        algorithm
        if isinstance(algorithm, str)
        else f"{algorithm.__module__}:{algorithm.__qualname__}"
    )
    module, colon, name = text.rpartition(":")
    if colon and module.partition(".")[0] != PACKAGE_NAME:
        raise InputError(
            f"the class {text} is code of your own: write FILE.py:NAME into the file by"
            " hand"
        )
    return name


def _law(scope: Scope) -> str:
    if callable(scope.network):
        raise InputError(
            "the law of the network is code of your own: write FILE.py:NAME into the"
            " file by hand"
        )
    return scope.network


def _left_hand_side(left: LeftSide) -> dict[str, object]:
    entries: dict[str, object] = {
        "measure": left.measure,
        "aggregate": left.aggregate,
        "first": _text_unless_default(write_formula(left.first), "0"),
        "last": _text_unless_default(write_formula(left.last), "T - 1"),
        "start": _text_unless_default(str(left.start), "0"),
        "unit": None if _unit_is_known(left) else write_unit(left.unit),
        "latex": _text_unless_default(
            left.latex,
            latex_of_left(left.measure, left.aggregate, left.first, left.last),
        ),
        "words": left.averaging or None,
        "constants": list(left.carries) or None,
    }
    return {name: value for name, value in entries.items() if value is not None}


def _unit_is_known(left: LeftSide) -> bool:
    """Return whether the measure determines the unit."""
    return (
        left.measure in KNOWN_MEASURES
        and LeftSide(left.measure, latex="-").unit == left.unit
    )


def _text_unless_default(text: str, default: str) -> str | None:
    return None if text == default else text


def _definitions(theorem: Statement) -> dict[str, object]:
    """Return the definitions in their order.

    If one is long, all get headers of their own.
    """
    entries = {d.symbol.name: _definition(d) for d in theorem.definitions}
    lengths = [len(f"{name} = {_value(entry)}") for name, entry in entries.items()]
    if not lengths or max(lengths) <= _WIDTH:
        return entries
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            entries[name] = {"formula": entry}
    return entries


def _definition(definition: Definition) -> object:
    formula = write_formula(definition.expr)
    name = definition.symbol.name
    function = (
        None
        if definition.numeric is None
        else numeric_function_name(definition.numeric)
    )
    if definition.numeric is not None and function is None:
        raise InputError(
            f"definition {name} is computed by a function that is not registered, which"
            " a file cannot carry"
        )
    entries = {
        "formula": formula,
        "latex": None if definition.latex == name_in_latex(name) else definition.latex,
        "meaning": definition.meaning or None,
        "sign": _sign(definition),
        "function": function,
    }
    stated_entries = {
        field: value for field, value in entries.items() if value is not None
    }
    return formula if list(stated_entries) == ["formula"] else stated_entries


def _sign(definition: Definition) -> str | None:
    """Return the sign of the symbol, where it does not follow from the formula."""
    sign = sign_of(definition.symbol)
    return None if sign == sign_of(definition.expr) else sign


def _conditions(theorem: Statement) -> dict[str, str]:
    """Return comparisons by name; a name that occurs again gets a number."""
    comparisons: dict[str, str] = {}
    for name, comparison in comparisons_of(theorem.conditions):
        free, number = name, 2
        while free in comparisons:
            free, number = f"{name} ({number})", number + 1
        comparisons[free] = comparison
    return comparisons


# -- TOML


def _entries(table: Mapping[str, object]) -> list[str]:
    return [
        f"{_key(name)} = {_value(value)}"
        for name, value in table.items()
        if value is not None
    ]


def _table(name: str, table: Mapping[str, object]) -> list[str]:
    """Return a table with its header.

    Entries that are long tables get headers of their own.
    """
    inner = {key: value for key, value in table.items() if is_table(value)}
    if all(
        len(f"{_key(key)} = {_value(value)}") <= _WIDTH for key, value in inner.items()
    ):
        return [f"[{name}]", *_entries(table)]
    plain = {key: value for key, value in table.items() if key not in inner}
    lines = [f"[{name}]", *_entries(plain)] if plain else []
    for key, value in inner.items():
        lines += [f"[{name}.{_key(key)}]", *_entries(value)]
    return lines


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    """Return a value of TOML in one line, but for long lists of texts."""
    if is_sequence(value):
        return _list([_value(entry) for entry in value])
    if is_table(value):
        return f"{{ {', '.join(_entries(value))} }}" if value else "{}"
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case _:
            raise InputError(f"{value!r:.80} cannot be written to a theorem file")


def _list(entries: list[str]) -> str:
    line = f"[{', '.join(entries)}]"
    if len(line) <= _WIDTH:
        return line
    return "\n".join(["[", *(f"    {entry}," for entry in entries), "]"])


def _text(text: str) -> str:
    """Return a TOML string: a literal string if it has backslashes, as in LaTeX."""
    if "\\" in text and "'" not in text and text.isprintable():
        return f"'{text}'"
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    controls = {c: f"\\u{ord(c):04x}" for c in escaped if ord(c) < 32 or ord(c) == 127}
    return f'"{escaped.translate(str.maketrans(controls))}"'


__all__ = ["theorems_to_toml"]
