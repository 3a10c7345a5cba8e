"""A statement as data: its parts, its symbols, and its evaluation."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

import sympy as sp

from dfltheory.bounds.algorithm_names import checked_hyperparameters
from dfltheory.bounds.clauses import (
    Condition,
    ConditionHandling,
    Definition,
    LeftSide,
    Number,
    StatementKind,
    Truth,
    checked_expression,
    checked_quantities,
    checked_symbols,
    symbol_names,
)
from dfltheory.bounds.proof_steps import ProofStep, step_problems
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import STEP_SYMBOLS
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import NEUTRAL, with_quantities
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError, UnknownNameError, checked_name

if TYPE_CHECKING:
    from dfltheory.bounds.evaluation import Evaluator


@dataclass(frozen=True, eq=False)
class Statement:
    """The content of a theorem, without the questions that other modules answer.

    :class:`~dfltheory.bounds.Theorem` documents the attributes.
    """

    key: str
    variant: str
    kind: StatementKind
    title: str
    source: str
    lhs: LeftSide
    parts: Mapping[str, Expr]
    scope: Scope
    definitions: tuple[Definition, ...] = ()
    conditions: tuple[Condition, ...] = ()
    assumptions: tuple[str, ...] = ()
    schedule: Mapping[str, Expr] = field(default_factory=dict[str, Expr])
    order: bool = False
    of: tuple[str, str] | Statement | None = None
    remark: str = ""
    quantities: tuple[Quantity, ...] = ()
    control: bool = False
    steps: tuple[ProofStep, ...] = ()
    moments: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        for name, (kind, words) in _FIELDS.items():
            if not isinstance(getattr(self, name), kind):
                raise InputError(
                    f"{self}: {name} = {getattr(self, name)!r} must be {words}"
                )
        for name, (kind, words) in _ITEMS.items():
            for item in getattr(self, name):
                if not isinstance(item, kind):
                    raise InputError(f"{self}: {name}: {item!r} must be {words}")
        self._check_words()
        checked_quantities(str(self), self.quantities)
        self._check_names()
        self._check_formulas()
        self._check_steps()

    def _check_words(self) -> None:
        for name in ("key", "variant", "title", "source"):
            if not _is_text(getattr(self, name)):
                raise InputError(
                    f"{name} = {getattr(self, name)!r} of a statement must be text"
                )
        checked_name("kind of statement", self.kind, get_args(StatementKind))
        named = isinstance(self.of, tuple) and [type(name) for name in self.of] == [
            str,
            str,
        ]
        if not (self.of is None or isinstance(self.of, Statement) or named):
            raise InputError(
                f"{self}: of = {self.of!r} must be (key, variant) or a statement"
            )

    def _check_names(self) -> None:
        """Check that names in the left-hand side and the notation are quantities."""
        for name in self.lhs.carries:
            checked_name("quantity (carries of lhs)", name, self.glossary)
        for name in self.scope.notation:
            checked_name("quantity (notation of scope)", name, self.glossary)

    def _check_formulas(self) -> None:
        """Check that formulas use the glossary's symbols and earlier definitions."""
        if not self.parts:
            raise InputError(
                f"{self}: parts is empty: pass the terms of the bound by name"
            )
        for name in self.parts:
            if not _is_text(name):
                raise InputError(
                    f"{self}: parts: the name {name!r} of a term must be text"
                )
        defined: list[sp.Symbol] = []
        for definition in self.definitions:
            if definition.symbol.name in self.glossary:
                raise InputError(
                    f"{self}: definitions: {definition.symbol} is already a quantity of"
                    " the glossary: choose another name"
                )
            if definition.symbol in STEP_SYMBOLS:
                raise InputError(
                    f"{self}: definitions: {definition.symbol} is the symbol of a local"
                    " step in proofs: choose another name"
                )
            self._check_formula(str(definition.symbol), definition.expr, defined)
            defined.append(definition.symbol)
        for name, part in self.parts.items():
            self._check_formula(name, part, defined)
        self._check_conditions(defined)
        for name, rule in self.schedule.items():
            self._check_scheduled(name)
            self._check_formula(f"schedule of {name}", rule, ())

    def _check_steps(self) -> None:
        """Check the names and the references of the steps of the proof."""
        known_names = {**self.glossary, **{d.symbol.name: d for d in self.definitions}}
        for index, place, message in step_problems(
            self.steps, self.moments, known_names
        ):
            where = "moments" if index is None else f"steps[{index}]"
            raise InputError(f"{self}: {where}.{place}: {message}")

    def _check_conditions(self, defined: Collection[sp.Symbol]) -> None:
        for condition in self.conditions:
            for name, kind in (("name", str), ("strict", bool)):
                if not isinstance(getattr(condition, name), kind):
                    raise InputError(
                        f"{self}: conditions: {name} of {condition!r} must be of type"
                        f" {kind.__name__}"
                    )
            for side in (condition.left, condition.right):
                self._check_formula(condition.name, side, defined)

    def _check_scheduled(self, name: str) -> None:
        if name in {quantity.name for quantity in self.quantities}:
            return
        try:
            checked_hyperparameters(self.scope.algorithms, (name,))
        except UnknownNameError as wrong:
            raise InputError(f"{self}: schedule: {wrong}") from None

    def _check_formula(
        self, name: str, formula: object, defined: Collection[sp.Symbol]
    ) -> None:
        place = f"{self}: {name}"
        checked_symbols(
            place, checked_expression(place, formula), defined, self.glossary
        )

    @cached_property
    def glossary(self) -> Mapping[str, Quantity]:
        """The quantities that the statement may contain, by name.

        They are the glossary's and its own.
        """
        return with_quantities(self.quantities)

    @cached_property
    def neutral(self) -> Mapping[str, float]:
        """Values at which the mechanism of a hyperparameter is absent, by name."""
        added_values = {
            q.name: q.neutral for q in self.quantities if q.neutral is not None
        }
        return MappingProxyType({**NEUTRAL, **added_values})

    @cached_property
    def shares(self) -> frozenset[str]:
        """Names of the quantities in [0, 1] that it may contain; 1 ends their range."""
        return frozenset(
            name for name, quantity in self.glossary.items() if quantity.is_share
        )

    @cached_property
    def step_names(self) -> tuple[str, ...]:
        """Names of the step sizes in it, in the order of :attr:`glossary`."""
        return tuple(name for name in self.needs if self.glossary[name].step)

    @cached_property
    def scheduled(self) -> tuple[str, ...]:
        """Names of the hyperparameters that must have the values of the schedule.

        They are all hyperparameters in the schedule of a corollary. Other statements
        hold for all values of what the bound and the conditions contain, and only
        suggest the schedule for these.
        """
        if self.kind == "corollary":
            return tuple(self.schedule)
        return tuple(name for name in self.schedule if name not in self.needs)

    # -- symbolic

    def expand(self, expr: Expr) -> Expr:
        """Return ``expr`` with every definition replaced, in glossary symbols only."""
        return expr.xreplace(self._expanded)

    @cached_property
    def _expanded(self) -> dict[sp.Symbol, Expr]:
        return self.expanded_definitions({})

    def expanded_definitions(
        self, kept: Mapping[sp.Symbol, Expr]
    ) -> dict[sp.Symbol, Expr]:
        """Return the formula of each definition in glossary symbols, by its symbol.

        ``kept`` contains other formulas, which replace those of some definitions.
        """
        known: dict[sp.Symbol, Expr] = {}
        for definition in self.definitions:
            known[definition.symbol] = kept.get(
                definition.symbol, definition.expr.xreplace(known)
            )
        return known

    @cached_property
    def terms(self) -> dict[str, Expr]:
        """The named terms in glossary symbols; they sum to ``bound``."""
        return {name: self.expand(part) for name, part in self.parts.items()}

    @cached_property
    def bound(self) -> Expr:
        """The right-hand side in glossary symbols."""
        return sp.Add(*self.terms.values())

    @cached_property
    def symbols(self) -> dict[str, sp.Symbol]:
        """Every symbol of the bound and the conditions, by name.

        They are in the order of :attr:`glossary`.
        """
        expressions = [
            *self.terms.values(),
            *(self.expand(c.slack) for c in self.conditions),
        ]
        names = symbol_names(expressions)
        return {
            name: known.symbol for name, known in self.glossary.items() if name in names
        }

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the quantities whose values ``evaluate`` needs."""
        return tuple(self.symbols)

    # -- numeric

    def evaluate(
        self, *, where: ConditionHandling = "raise", **values: object
    ) -> Number:
        """Return the bound at ``values``.

        Parameters
        ----------
        where : {"raise", "nan", "ignore"}
            What to do at points at which a condition fails: raise ConditionError,
            return nan, or evaluate the formula regardless.
        **values : float or array
            Values by name of :attr:`glossary`; arrays must broadcast together. Values
            that the statement does not need are ignored.

        Returns
        -------
        float or array
            A float if all values are numbers, else an array of the common shape.

        Raises
        ------
        UnknownNameError, InputError
            A name is not in the glossary; a value is missing or out of its range.
        ConditionError
            A condition fails; the message has its name and the first such point.
        """
        return sum(self.evaluate_terms(where=where, **values).values(), 0.0)

    def evaluate_terms(
        self, *, where: ConditionHandling = "raise", **values: object
    ) -> dict[str, Number]:
        """Return the values of the named terms, whose sum :meth:`evaluate` returns."""
        if where not in ("raise", "nan", "ignore"):
            raise InputError(f"where = {where!r} must be 'raise', 'nan' or 'ignore'")
        return self._evaluator.terms(where, values)

    def check_conditions(
        self, **values: object
    ) -> list[tuple[Condition, Number, Truth]]:
        """Return each condition with its slack and whether it holds at ``values``.

        The slack is the right minus the left side.
        """
        return self._evaluator.conditions(values)

    def condition_sides(
        self, **values: object
    ) -> list[tuple[Condition, Number, Number]]:
        """Return each condition with the values of its left and its right side."""
        return self._evaluator.sides(values)

    @cached_property
    def _evaluator(self) -> Evaluator:
        # NumPy is imported at the first evaluation
        from dfltheory.bounds.evaluation import Evaluator

        return Evaluator(self)

    def __str__(self) -> str:
        return f"{self.key} ({self.variant})"


_FIELDS: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "scope": (Scope, "a Scope, for example scope=Scope(algorithms, network)"),
    "kind": (str, f"one of {', '.join(get_args(StatementKind))}"),
    "lhs": (LeftSide, "a LeftSide"),
    "parts": (Mapping, "the terms of the bound by name"),
    "definitions": ((tuple, list), "a tuple of Definition"),
    "conditions": ((tuple, list), "a tuple of Condition"),
    "assumptions": ((tuple, list), "a tuple of texts"),
    "schedule": (Mapping, "formulas by hyperparameter"),
    "order": (bool, "True or False"),
    "steps": (tuple, "a tuple of ProofStep"),
    "moments": (Mapping, "texts by name"),
}
"""Field -> its type, and the type in words for error messages."""
_ITEMS: Mapping[str, tuple[type, str]] = {
    "definitions": (Definition, "a Definition"),
    "conditions": (Condition, "Condition(name, left, right), for left <= right"),
    "assumptions": (str, "text"),
    "steps": (ProofStep, "a ProofStep"),
}
"""Field -> the type of its items, and the type in words for error messages."""


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


__all__ = []
