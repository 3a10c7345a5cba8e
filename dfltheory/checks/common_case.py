"""The runs that two theorems on different algorithms have in common.

In these runs, a hyperparameter that only one theorem contains is neutral, and a
quantity that one theorem assumes to vanish is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

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
"""Constants of push-sum that have no such value if a lemma is cited for them."""


@dataclass(frozen=True)
class CommonCase:
    """Values at which two theorems cover the same runs of an algorithm.

    Attributes
    ----------
    algorithm : class name
    values : quantity -> value, in both statements
    statements : both statements at the values, with definitions written out; a step
        size that the conditions of one determine is put into both
    """

    algorithm: str
    values: Substitution
    statements: tuple[Theorem, Theorem]

    @property
    def place(self) -> str:
        """The values in words."""
        values = (f"{name} = {value}" for name, value in self.values.items())
        return f"at {', '.join(values)}" if self.values else f"for {self.algorithm}"

    @property
    def is_empty(self) -> bool:
        """Whether the conditions of both statements contradict each other."""
        return any(
            condition.slack.is_negative is True
            for statement in self.statements
            for condition in statement.conditions
        )


def common_case(theorem: Theorem, other: Theorem) -> CommonCase | None:
    """Return the common case of a theorem and one on a simpler algorithm.

    None if the most general algorithm in the scope of ``theorem`` has no special case
    that ``other`` covers, if ``other`` is about the same algorithm, if a formula is not
    finite in that case, or if the conditions of both contradict each other.
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
            steps = _step_sizes(theorem) | _step_sizes(other)
            formulas = [
                _Substituted.of(each, values, steps) for each in (theorem, other)
            ]
            if not all(each.is_defined for each in formulas):
                return None
            statements = (
                formulas[0].in_statement(theorem),
                formulas[1].in_statement(other),
            )
            case = CommonCase(reduction.simpler, values, statements)
            return None if case.is_empty else case
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
    low_ends: dict[str, Expr] = {}
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
            low_ends[symbol.name] = low
    return low_ends


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


@dataclass(frozen=True)
class _Substituted:
    """Terms and conditions of a statement at values of quantities."""

    terms: Mapping[str, Expr]
    conditions: tuple[Condition, ...]

    @classmethod
    def of(
        cls,
        statement: Theorem,
        values: Mapping[str, Expr | int],
        step_sizes: Mapping[sp.Symbol, Expr],
    ) -> _Substituted:
        """Substitute the values, and then the step sizes."""
        known = {
            statement.glossary[name].symbol: sp.sympify(value)
            for name, value in values.items()
            if name in statement.glossary
        }

        def substituted(formula: Expr) -> Expr:
            return sp.sympify(formula).subs(known).subs(dict(step_sizes))

        terms = {name: substituted(term) for name, term in statement.terms.items()}
        conditions = (
            Condition(c.name, substituted(c.left), substituted(c.right), c.strict)
            for c in expanded_conditions(statement)
        )
        return cls(terms, tuple(conditions))

    @property
    def is_defined(self) -> bool:
        """Whether all formulas are finite.

        A term with 1/(K - 1), or a condition with log(1/lam), is not at K = 1, lam = 0.
        """
        sides = [side for c in self.conditions for side in (c.left, c.right)]
        formulas = (*self.terms.values(), *sides)
        return not any(formula.has(*_INFINITE) for formula in formulas)

    def in_statement(self, statement: Theorem) -> Theorem:
        """Return the statement with these formulas.

        Terms that are 0 are left out, unless all are, and so are conditions that always
        hold.
        """
        parts = {name: term for name, term in self.terms.items() if term != 0}
        return replace(
            statement,
            parts=parts or dict(self.terms),
            definitions=(),
            conditions=tuple(
                c for c in self.conditions if c.slack.is_nonnegative is not True
            ),
        )


def at_values(statement: Theorem, values: Mapping[str, Expr | int]) -> Theorem:
    """Return a statement at values of quantities, with definitions written out."""
    return _Substituted.of(statement, values, {}).in_statement(statement)


__all__ = ["CommonCase", "at_values", "common_case"]
