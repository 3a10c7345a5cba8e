"""A theorem: a statement, and methods that answer questions about it.

Modules that answer a question are imported when it is asked, so that reading a
statement is fast.
"""

from __future__ import annotations

from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING

import sympy as sp

from dfltheory.bounds.clauses import (
    Condition,
    Definition,
    LeftSide,
    Number,
    StatementKind,
)
from dfltheory.bounds.display import (
    condition_latex,
    expression_latex,
    symbols_in_latex,
)
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.bounds.statement import Statement
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError

if TYPE_CHECKING:
    from dfltheory.bounds.rates import Monomial
    from dfltheory.bounds.status import Status


class Theorem(Statement):
    """One statement of one source in one variant.

    Attributes
    ----------
    key, variant : ``dfedsam.theorem_4_5`` and ``printed`` (main text), ``appendix...``
        (as derived there) or ``corrected...`` (re-derived with proof)
    kind : theorem, corollary, lemma, equation, definition, rate, or lower bound, which
        holds from below on some problem of the scope and does not apply to single runs
    title, source : its title, and its paper and number; for display only
    lhs : what is bounded
    parts : the named terms as written, in glossary symbols and the symbols of
        ``definitions``
    scope : the runs that it covers: algorithms, network, start
    definitions : the statement's own abbreviations, each in terms of earlier ones
    conditions, assumptions : what it demands, as inequalities and in words
    schedule : formulas of step sizes and other hyperparameters, by glossary name
    order : is the bound stated in O(.)? Then ``evaluate`` returns the expression
        without its constant
    of : key and variant of the statement from which this one is derived, or that
        statement itself, for a corollary, a rate, and a theorem that is stated in O(.)
    remark : a comment on the statement; for display only
    quantities : what it adds to the glossary, for this theorem only
    control : is it a statement with a known answer, kept to test the checks?
    steps, moments : its proof as the author declares it, and the names of the
        expectations in it; :func:`dfltheory.audit` checks each step
    """

    def derivative(self, name: str) -> Expr:
        """Return d bound / d ``name``, in glossary symbols."""
        if name not in self.symbols:
            raise InputError(
                f"{self} does not depend on {name!r}; it depends on"
                f" {', '.join(self.needs)}"
            )
        return sp.diff(self.bound, self.symbols[name])

    def latex(self, conditions: bool = False) -> str:
        """Return the statement in LaTeX, as an ``aligned`` environment.

        It contains the inequality, the definitions, and with ``conditions`` a line for
        each condition.
        """
        terms = [expression_latex(part, self) for part in self.parts.values()]
        right = " \\\\ &\\quad + ".join(terms)
        if self.order:
            right = rf"\mathcal{{O}}\Big({right}\Big)"
        relation = "=" if self.kind == "definition" or self.order else r"\le"
        relation = r"\ge" if self.kind == "lower bound" else relation
        lines = [f"{self.lhs.latex} &{relation} {right}"]
        lines += [
            f"{d.latex} &= {expression_latex(d.expr, self)}"
            for d in self.definitions
            if not self._is_notation_for_a_root(d)
        ]
        if conditions:
            lines += [
                rf"&\text{{where }} {condition_latex(c, self)}" for c in self.conditions
            ]
        body = " \\\\ ".join(lines)
        return rf"\begin{{aligned}} {body} \end{{aligned}}"

    def _is_notation_for_a_root(self, definition: Definition) -> bool:
        """Return whether the notation itself states a definition, as S of S^2 does.

        The definition is the root of a quantity whose LaTeX is the square of its own.
        """
        root = definition.expr
        if not (isinstance(root, sp.Pow) and root.exp == sp.S.Half):
            return False
        square = str(root.base)
        return symbols_in_latex(self).get(square) == f"{definition.latex}^2"

    def to_toml(self) -> str:
        """Return the statement as a theorem file.

        :func:`dfltheory.bounds.load` reads it.

        Raises
        ------
        InputError
            A file cannot contain a function of a formula, or a class or a law of the
            scope.
        """
        from dfltheory.bounds.theorem_writer import theorems_to_toml

        return theorems_to_toml((self,))

    def largest_step(self, name: str | None = None, **values: object) -> float:
        """Return the largest admissible step size for given constants.

        ``name`` is the step size, by default the first one of the theorem. The result
        is inf if no condition bounds it.
        """
        from dfltheory.bounds.tuning import admissible_steps

        return admissible_steps(self, name, **values).high

    def best_step(
        self, name: str | None = None, **values: object
    ) -> tuple[float, float]:
        """Return the admissible step size with the smallest bound, and that bound.

        ``name`` is the step size, by default the first one of the theorem.
        """
        from dfltheory.bounds.tuning import best_step

        return best_step(self, name, **values)

    def step_sizes(self, **values: float) -> dict[str, float]:
        """Return the values of the hyperparameters in the schedule.

        Parameters
        ----------
        **values : float
            Values of the quantities in the schedule, for example L, K and T.

        Raises
        ------
        InputError
            A value is missing or out of its range, or a formula of the schedule has no
            real, finite value.
        """
        chosen: dict[str, float] = {}
        for name, expression in self.schedule.items():
            missing = sorted(
                s.name for s in expression.free_symbols if values.get(s.name) is None
            )
            if missing:
                raise InputError(
                    f"the schedule of {self} needs {', '.join(missing)} for {name}:"
                    f" pass {missing[0]}=..."
                )
            substitutions: dict[sp.Symbol, float] = {}
            for symbol in expression.free_symbols:
                value = values[symbol.name]
                # a check before subs, which would parse, and run, a string
                checked = float(self.glossary[symbol.name].check(value))
                substitutions[symbol] = value if isinstance(value, Real) else checked
            try:
                chosen[name] = float(expression.subs(substitutions))
            # errors of SymPy for values that are infinite or not real
            except (TypeError, ValueError):
                values_text = ", ".join(
                    sorted(f"{s} = {float(v):g}" for s, v in substitutions.items())
                )
                raise InputError(
                    f"the schedule of {self} has no real, finite {name} at"
                    f" {values_text}: use other values"
                ) from None
        return chosen

    @cached_property
    def status(self) -> Status:
        """Whether the statement is refuted, proved or not examined, by its content."""
        from dfltheory.bounds.status import status_of

        return status_of(self)

    def rate(self) -> tuple[Monomial, ...]:
        """Return the leading monomials of the bound under its schedule."""
        from dfltheory.bounds.rates import leading

        return leading(self)

    def __repr__(self) -> str:
        return f"<Theorem {self.key} {self.variant}: {self.title}>"


__all__ = [
    "Condition",
    "Definition",
    "StatementKind",
    "LeftSide",
    "Number",
    "ProofStep",
    "Theorem",
]
