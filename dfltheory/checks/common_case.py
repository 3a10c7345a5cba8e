"""The runs that two theorems on different algorithms have in common.

A hyperparameter that only one of them has is neutral there, and what one of them
assumes to vanish vanishes for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import sympy as sp

from dfltheory.bounds.algorithm_names import (
    HYPERPARAMETERS_BY_CLASS,
    NEUTRAL_HYPERPARAMETERS,
)
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.regions import equalities, expanded_conditions
from dfltheory.bounds.scope import ANY
from dfltheory.bounds.special_cases import Reduction, reductions
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL, step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

Substitution = Mapping[str, Expr]
_ALL_HYPERPARAMETERS = frozenset(
    name for names in HYPERPARAMETERS_BY_CLASS.values() for name in names.split()
)
_OF_NETWORKS: dict[str, dict[str, Expr]] = {
    "complete": {
        "lam": sp.S.Zero,
        "lam_min": sp.S.Zero,
        "lam_2": sp.S.Zero,
    },
    "doubly stochastic": {
        "delta": sp.S.One,
        "q": GLOSSARY["lam"].symbol,
        "window": sp.S.One,
    },
}
"""Network -> the values of its constants. With equal push-sum weights the contraction q
is that of W, in every round.
"""
_INFINITE = (sp.zoo, sp.oo, -sp.oo, sp.nan)
_CITED = frozenset({"C", "q", "delta"})
"""Constants that have no such value where they are those of a cited lemma."""


@dataclass(frozen=True)
class CommonCase:
    """Values at which two theorems cover the same runs of an algorithm.

    Attributes
    ----------
    algorithm : class name
    values : quantity -> value, in both statements
    """

    algorithm: str
    values: Substitution

    @property
    def place(self) -> str:
        """The values in words."""
        values = (f"{name} = {value}" for name, value in self.values.items())
        return f"at {', '.join(values)}" if self.values else f"for {self.algorithm}"

    def is_defined(self, one: Theorem, other: Theorem) -> bool:
        """Return whether all formulas of both are finite at the values.

        A term with 1/(K - 1), or a condition with log(1/lam), is not at K = 1, lam = 0.
        """
        steps = _step_sizes(one) | _step_sizes(other)
        return all(
            not _formula_at(statement, formula, self.values, steps).has(*_INFINITE)
            for statement in (one, other)
            for formula in _formulas(statement)
        )

    def is_empty(self, one: Theorem, other: Theorem) -> bool:
        """Return whether the conditions of both contradict each other."""
        return any(
            c.slack.is_negative is True
            for statement in self.statements(one, other)
            for c in statement.conditions
        )

    def statements(self, one: Theorem, other: Theorem) -> tuple[Theorem, Theorem]:
        """Return both statements at the values, definitions written out.

        A step size that the conditions of one set is put into both.
        """
        steps = _step_sizes(one) | _step_sizes(other)
        return at_values(one, self.values, steps), at_values(other, self.values, steps)


def common_case(theorem: Theorem, other: Theorem) -> CommonCase | None:
    """Return the common case of a theorem and one on a simpler algorithm.

    None if the algorithm of ``theorem``, the most general of its scope, has no special
    case that ``other`` covers, if ``other`` is about the same algorithm, or if the
    conditions of both contradict each other.
    """
    general = _package_name(theorem.scope.algorithms[0])
    if general is None or general == _package_name(other.scope.algorithms[0]):
        return None
    covered = {_package_name(algorithm) for algorithm in other.scope.algorithms}
    for reduction in reductions(general):
        if reduction.simpler in covered:
            values = _values(theorem, other, reduction)
            if values is None:
                return None
            case = CommonCase(reduction.simpler, values)
            if not case.is_defined(theorem, other):
                return None
            return None if case.is_empty(theorem, other) else case
    return None


def _package_name(algorithm: str | type) -> str | None:
    """Return the name of one of the package's algorithms, None of any other."""
    if isinstance(algorithm, str):
        return algorithm if algorithm in HYPERPARAMETERS_BY_CLASS else None
    is_own = algorithm.__module__.split(".")[0] == __name__.split(".")[0]
    return algorithm.__name__ if is_own else None


def _values(
    theorem: Theorem, other: Theorem, reduction: Reduction
) -> Substitution | None:
    """Return the values of a reduction and of what only one statement lets vary.

    None if a scope has another value, or a constant of push-sum has none.
    """
    values: dict[str, Expr] = {}
    for network in sorted(reduction.networks):
        values |= _OF_NETWORKS[network]
    if "lam" in values and "q" in values:
        values["q"] = values["lam"]
    fixed = {**_neutral_in_one(theorem, other), **reduction.values}
    for statement in (theorem, other):
        if _contradicts(statement, fixed) or _has_cited_constants(statement):
            return None
    values |= {
        name: sp.Integer(int(value))
        for name, value in fixed.items()
        if name in GLOSSARY and isinstance(value, (int, float))
    }
    if theorem.scope.common_start or other.scope.common_start:
        values["x0_spread"] = sp.S.Zero
    values |= _vanishing(theorem) | _vanishing(other)
    needed = {*theorem.needs, *other.needs}
    return {name: value for name, value in values.items() if name in needed}


def _neutral_in_one(theorem: Theorem, other: Theorem) -> dict[str, object]:
    """Return neutral values of hyperparameters that a statement does not contain."""
    return _neutral_without(theorem, other) | _neutral_without(other, theorem)


def _neutral_without(one: Theorem, another: Theorem) -> dict[str, object]:
    """Return neutral values of those of another statement that one does not contain."""
    neutral = {**NEUTRAL_HYPERPARAMETERS, **NEUTRAL}
    contained = {*one.needs, *one.scope.hyperparameters}
    lacking = (_ALL_HYPERPARAMETERS & {*another.needs}) - contained
    return {
        name: neutral[name] for name in sorted(lacking) if neutral.get(name) is not None
    }


def _contradicts(statement: Theorem, fixed: Mapping[str, object]) -> bool:
    """Return whether a scope has another value of a hyperparameter."""
    given = statement.scope.hyperparameters
    return any(
        name in fixed and value not in (ANY, fixed[name])
        for name, value in given.items()
    )


def _has_cited_constants(statement: Theorem) -> bool:
    is_cited = statement.scope.push_sum == "cited"
    return "C" in statement.needs or (is_cited and bool(_CITED & {*statement.needs}))


def _vanishing(statement: Theorem) -> dict[str, Expr]:
    """Return the quantities that a condition keeps at the low end of their range."""
    found: dict[str, Expr] = {}
    for condition in expanded_conditions(statement):
        symbols = sp.sympify(condition.slack).free_symbols
        if len(symbols) != 1:
            continue
        (symbol,) = symbols
        quantity = statement.glossary.get(symbol.name)
        slope = sp.diff(condition.slack, symbol)
        if quantity is None or quantity.low is None or slope.is_negative is not True:
            continue
        low = sp.nsimplify(quantity.low)
        if condition.slack.subs(symbol, low) == 0:
            found[symbol.name] = low
    return found


def _step_sizes(statement: Theorem) -> dict[sp.Symbol, Expr]:
    """Return the step sizes that conditions set."""
    steps = step_names(statement.glossary)
    try:
        equal, _ = equalities(expanded_conditions(statement), statement.glossary)
    except InputError:  # an equality that defines no quantity sets no step size
        return {}
    return {
        statement.glossary[name].symbol: value
        for name, value in equal.items()
        if name in steps
    }


def _formulas(statement: Theorem) -> Iterator[Expr]:
    """Yield the terms and the sides of the conditions, definitions written out."""
    yield from statement.terms.values()
    for condition in expanded_conditions(statement):
        yield from (condition.left, condition.right)


def _formula_at(
    statement: Theorem,
    formula: Expr,
    values: Mapping[str, Expr | int],
    step_sizes: Mapping[sp.Symbol, Expr],
) -> Expr:
    """Return a formula at values of quantities, and with these step sizes."""
    known = {
        statement.glossary[name].symbol: sp.sympify(value)
        for name, value in values.items()
        if name in statement.glossary
    }
    return sp.sympify(formula).subs(known).subs(dict(step_sizes))


def at_values(
    statement: Theorem,
    values: Mapping[str, Expr | int],
    step_sizes: Mapping[sp.Symbol, Expr] = MappingProxyType({}),
) -> Theorem:
    """Return a statement with definitions written out, at values of quantities."""

    def substituted(expr: Expr) -> Expr:
        return _formula_at(statement, expr, values, step_sizes)

    terms = {part: substituted(term) for part, term in statement.terms.items()}
    conditions = (
        Condition(c.name, substituted(c.left), substituted(c.right), c.strict)
        for c in expanded_conditions(statement)
    )
    return replace(
        statement,
        parts={part: term for part, term in terms.items() if term != 0},
        definitions=(),
        conditions=tuple(c for c in conditions if c.slack.is_nonnegative is not True),
    )


__all__ = ["CommonCase", "at_values", "common_case"]
