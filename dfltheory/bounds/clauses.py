"""A statement as data: left-hand side, named terms, conditions, schedule, scope,
source.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import sympy as sp

from dfltheory.bounds.algorithm_names import checked_hyperparameters
from dfltheory.bounds.measures import (
    AGGREGATES,
    Aggregate,
    checked_aggregate,
    latex_of,
    unit_of,
)
from dfltheory.bounds.proof_steps import ProofStep, step_problems
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import (
    GLOSSARY,
    NEUTRAL,
    Quantity,
    checked_new,
    with_quantities,
)
from dfltheory.bounds.units import Expr, Unit
from dfltheory.errors import InputError, UnknownNameError, one_of, whole_number

if TYPE_CHECKING:
    import numpy as np

    from dfltheory.bounds.evaluation import Evaluator

Kind = Literal[
    "theorem", "corollary", "lemma", "equation", "definition", "rate", "lower bound"
]
Number: TypeAlias = "float | np.ndarray"
Where = Literal["raise", "nan", "ignore"]
ScalarFunction: TypeAlias = "Callable[..., np.ndarray]"
_T = GLOSSARY["T"].symbol
_ATOMS = (sp.Symbol, sp.Rational, sp.Float, sp.NumberSymbol)
REAL_FUNCTIONS = (
    sp.Add,
    sp.Mul,
    sp.Pow,
    sp.Max,
    sp.Min,
    sp.exp,
    sp.log,
    sp.Abs,
    sp.sign,
    sp.floor,
    sp.ceiling,
    sp.sin,
    sp.cos,
    sp.tan,
    sp.tanh,
)
"""What a formula may call: NumPy evaluates each of them, and each is a real number."""


def checked_expression(place: str, formula: Any) -> Expr:
    """``formula`` as a SymPy expression: an expression or a number, never text, which
    SymPy would run.

    Raises
    ------
    InputError
        It is text, a comparison or no formula; it contains what is no real number, or
        another function than those of ``REAL_FUNCTIONS``.
    """
    if isinstance(formula, str):
        raise InputError(
            f"{place} = {formula!r} is text: give a SymPy expression or a number"
        )
    if isinstance(formula, bool) or formula is None:
        raise InputError(
            f"{place} = {formula!r} is no formula: give a SymPy expression or a number"
        )
    try:
        expression = sp.sympify(formula, strict=True)
    except (sp.SympifyError, TypeError):
        raise InputError(
            f"{place} = {formula!r} is no formula: give a SymPy expression or a number"
        ) from None
    if (
        not isinstance(expression, sp.Expr)
        or expression.is_Matrix
        or expression.has(sp.nan, sp.zoo)
    ):
        raise InputError(
            f"{place} = {formula} is no number: give a SymPy expression or a number"
        )
    for node in sp.preorder_traversal(expression):
        if not isinstance(node, _ATOMS + REAL_FUNCTIONS):
            allowed = ", ".join(function.__name__ for function in REAL_FUNCTIONS)
            raise InputError(
                f"{place} contains {node}: a formula has real numbers, symbols, and"
                f" {allowed}"
            )
    return expression


def checked_symbols(
    place: str,
    expression: Expr,
    own: Collection[sp.Symbol] = (),
    glossary: Mapping[str, Quantity] = GLOSSARY,
) -> None:
    """Reject a symbol that is neither the glossary's nor one of the statement's
    ``own``.
    """
    for symbol in sorted(expression.free_symbols - set(own), key=str):
        known = glossary.get(symbol.name)
        if known is None:
            near = UnknownNameError(
                "quantity of the glossary", symbol.name, set(glossary)
            )
            raise InputError(
                f"{place}: {near}; a theorem brings a symbol of its own by"
                " quantities=(Quantity(...),) or by a Definition"
            )
        if known.symbol != symbol:
            raise InputError(
                f"{place}: the symbol {symbol.name} is not the glossary's: use"
                f" Quantity.symbol, as bounds.GLOSSARY[{symbol.name!r}].symbol"
            )


def checked_quantities(place: str, quantities: Any) -> None:
    """Reject what a statement cannot add to the glossary.

    Raises
    ------
    InputError
        It is not a tuple of quantities; a name is none, is taken by the glossary or by
        a symbol of the papers, or occurs twice.
    """
    if not isinstance(quantities, tuple) or not all(
        isinstance(q, Quantity) for q in quantities
    ):
        raise InputError(
            f"{place}: quantities = {quantities!r} must be a tuple of Quantity"
        )
    for quantity in quantities:
        try:
            checked_new(quantity)
        except InputError as wrong:
            raise InputError(f"{place}: quantities: {wrong}") from None
    names = [quantity.name for quantity in quantities]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{place}: quantities has {name} twice: give it once")


@dataclass(frozen=True)
class LeftSide:
    """What a statement bounds.

    Attributes
    ----------
    measure : the quantity: a name of :data:`dfltheory.bounds.measures.MEASURES`
        (``grad_norm_sq``: ||grad f||^2 at the mean model; ``grad_norm_sq_w``: at
        DFedADMM's auxiliary sequence; ``two_block``: the two blocks' gradients of
        DFedMDC at V^t; ``two_block_next``: at V^{t+1}; ``f_gap``: f(xbar) - f*;
        ``consensus``; others belong to lemmas), or a metric of one's own that a run
        records under this name, as a Lyapunov value; that one must be given its
        ``unit``
    latex : the left-hand side in LaTeX; follows from the measure and the aggregate
        where it is omitted
    aggregate : over the rounds t = ``first .. last`` of the measure Y_t: ``mean``, the
        mean of E[Y_t]; ``min`` and ``max``, min_t E[Y_t] and max_t E[Y_t], of the
        expectations; ``sum``, the sum of E[Y_t]; ``last``, E[Y_t] at the ``last``
        round; ``each``, every E[Y_t] (lemmas; no run is judged by it)
    first, last : the rounds, by T alone
    start : the round whose model defines ``f0_gap``
    unit : how the measure scales; follows from a known measure
    averaging : the left-hand side in words
    carries : the quantities that occur in it
    """

    measure: str
    latex: str = ""
    aggregate: Aggregate = "each"
    first: Expr = sp.S.Zero
    last: Expr = _T - 1
    start: int = 0
    unit: Unit = None  # type: ignore[assignment]  # set below
    averaging: str = ""
    carries: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        checked_aggregate(self.aggregate)
        object.__setattr__(self, "unit", unit_of(self.measure, self.unit))
        whole_number("start", self.start, at_least=0)
        for name in ("first", "last"):
            end = checked_expression(f"{name} of the left side", getattr(self, name))
            if end.free_symbols - {_T}:
                raise InputError(
                    f"{name} = {end} of the left side must be a round, by T alone"
                )
        if not self.latex:
            ends = (sp.latex(self.first), sp.latex(self.last))
            object.__setattr__(
                self, "latex", latex_of(self.measure, self.aggregate, *ends)
            )

    def of_constant(self, value: Expr) -> Expr:
        """Return the left-hand side of a measure that is ``value`` in every round."""
        match self.aggregate:
            case "sum":
                return value * (self.last - self.first + 1)
            case "mean" | "min" | "max" | "last" | "each":
                return value
        raise InputError(f"aggregate {self.aggregate!r} cannot be evaluated")

    @property
    def words(self) -> str:
        """What is bounded, in the source's words where it has some."""
        return self.averaging or f"{AGGREGATES[self.aggregate]} of {self.measure}"

    def rounds(self, T: int) -> range:
        """The rounds over which the left-hand side runs at horizon T, none where T is
        too short for any.

        InputError where they leave 0 .. T.
        """
        horizon = {_T: int(T)}
        ends = [self.last if self.aggregate == "last" else self.first, self.last]
        first, last = (end.subs(horizon) for end in ends)
        if not (
            first.is_real
            and last.is_real
            and -1 <= last <= T
            and (first >= 0 or last < 0)
        ):
            raise InputError(
                f"the left side is to run over rounds {ends[0]} .. {ends[1]}, not in 0"
                f" .. T = {T}"
            )
        return range(max(int(first), 0), int(last) + 1)


@dataclass(frozen=True)
class Condition:
    """``left <= right`` (``left < right`` if strict), in glossary symbols.

    Both sides have the same unit.
    """

    name: str
    left: Expr
    right: Expr
    strict: bool = False

    @property
    def slack(self) -> Expr:
        """right - left: non-negative where the condition holds."""
        return self.right - self.left

    def __str__(self) -> str:
        return f"{self.name}: {self.left} {'<' if self.strict else '<='} {self.right}"


@dataclass(frozen=True)
class Definition:
    """A quantity that a statement defines for itself.

    ``numeric`` evaluates it where the formula would cancel (its arguments are the base
    symbols of ``expr`` in the order of ``takes``).
    """

    symbol: sp.Symbol
    expr: Expr
    latex: str
    meaning: str = ""
    takes: tuple[str, ...] = ()
    numeric: ScalarFunction | None = None


@dataclass(frozen=True, eq=False)
class Statement:
    """What a :class:`~dfltheory.bounds.Theorem` says, which documents the attributes;
    and its numbers.
    """

    key: str
    variant: str
    kind: Kind
    title: str
    source: str
    lhs: LeftSide
    parts: Mapping[str, Expr]
    scope: Scope
    definitions: tuple[Definition, ...] = ()
    conditions: tuple[Condition, ...] = ()
    assumptions: tuple[str, ...] = ()
    schedule: Mapping[str, Expr] = field(default_factory=dict)
    order: bool = False
    of: tuple[str, str] | Statement | None = None
    remark: str = ""
    quantities: tuple[Quantity, ...] = ()
    control: bool = False
    steps: tuple[ProofStep, ...] = ()
    moments: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.scope, Scope):
            raise InputError(
                f"{self} does not say what it is about, but scope = {self.scope!r}: "
                "give scope=Scope(algorithms, network)"
            )
        self._check_words()
        checked_quantities(str(self), self.quantities)
        self._check_names()
        self._check_formulas()
        self._check_steps()

    def _check_words(self) -> None:
        for name in ("key", "variant", "title", "source"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise InputError(
                    f"{name} = {getattr(self, name)!r} of a statement must be text"
                )
        if not isinstance(self.kind, str):
            raise InputError(
                f"{self}: kind = {self.kind!r} must be one of"
                f" {', '.join(get_args(Kind))}"
            )
        one_of("kind of statement", self.kind, get_args(Kind))
        if not isinstance(self.lhs, LeftSide):
            raise InputError(f"{self}: lhs = {self.lhs!r} must be a LeftSide")
        if not isinstance(self.order, bool):
            raise InputError(f"{self}: order = {self.order!r} must be True or False")
        named = isinstance(self.of, tuple) and [type(name) for name in self.of] == [
            str,
            str,
        ]
        if not (self.of is None or isinstance(self.of, Statement) or named):
            raise InputError(
                f"{self}: of = {self.of!r} must be (key, variant) or a statement"
            )
        if isinstance(self.assumptions, str) or not all(
            isinstance(a, str) for a in self.assumptions
        ):
            raise InputError(f"{self}: assumptions must be a tuple of texts")

    def _check_names(self) -> None:
        """The names in the left-hand side and in the notation are quantities of the
        statement.
        """
        for name in self.lhs.carries:
            one_of("quantity (carries of lhs)", name, self.glossary)
        for name in self.scope.notation:
            one_of("quantity (notation of scope)", name, self.glossary)

    def _check_formulas(self) -> None:
        """Every formula is an expression in the glossary's symbols and those defined
        before it.
        """
        if not isinstance(self.parts, Mapping) or not self.parts:
            raise InputError(
                f"{self}: parts is empty: give the terms of the bound by name"
            )
        for name in self.parts:
            if not isinstance(name, str) or not name:
                raise InputError(
                    f"{self}: parts: the name {name!r} of a term must be text"
                )
        defined: list[sp.Symbol] = []
        for definition in self.definitions:
            if not isinstance(definition, Definition):
                raise InputError(
                    f"{self}: definitions: {definition!r} must be a Definition"
                )
            if definition.symbol.name in self.glossary:
                raise InputError(
                    f"{self}: definitions: the glossary has {definition.symbol}"
                    " already: choose another name"
                )
            self._check_formula(str(definition.symbol), definition.expr, defined)
            defined.append(definition.symbol)
        for name, part in self.parts.items():
            self._check_formula(name, part, defined)
        self._check_conditions(defined)
        if not isinstance(self.schedule, Mapping):
            raise InputError(
                f"{self}: schedule = {self.schedule!r} must give formulas by"
                " hyperparameter"
            )
        for name, rule in self.schedule.items():
            self._check_scheduled(name)
            self._check_formula(f"schedule of {name}", rule, ())

    def _check_steps(self) -> None:
        """Names and references of the proof's steps are in order."""
        whole = isinstance(self.steps, tuple) and all(
            isinstance(step, ProofStep) for step in self.steps
        )
        if not whole or not isinstance(self.moments, Mapping):
            raise InputError(
                f"{self}: steps must be a tuple of ProofStep, and moments texts by name"
            )
        taken = {**self.glossary, **{d.symbol.name: d for d in self.definitions}}
        for index, place, message in step_problems(self.steps, self.moments, taken):
            where = "moments" if index is None else f"steps[{index}]"
            raise InputError(f"{self}: {where}.{place}: {message}")

    def _check_conditions(self, defined: Collection[sp.Symbol]) -> None:
        if not isinstance(self.conditions, (tuple, list)):
            raise InputError(
                f"{self}: conditions = {self.conditions!r} must be a tuple of Condition"
            )
        for condition in self.conditions:
            if not isinstance(condition, Condition):
                raise InputError(
                    f"{self}: conditions: {condition!r} must be an inequality of two"
                    " expressions: Condition(name, left, right) for left <= right"
                )
            if not isinstance(condition.name, str) or not isinstance(
                condition.strict, bool
            ):
                raise InputError(
                    f"{self}: conditions: name of {condition!r} must be text, and"
                    " strict True or False"
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
        self, name: str, formula: Any, defined: Collection[sp.Symbol]
    ) -> None:
        place = f"{self}: {name}"
        checked_symbols(
            place, checked_expression(place, formula), defined, self.glossary
        )

    @cached_property
    def glossary(self) -> Mapping[str, Quantity]:
        """The quantities that the statement may contain, by name: the glossary's and
        its own.
        """
        return with_quantities(self.quantities)

    @cached_property
    def neutral(self) -> Mapping[str, float]:
        """The values at which a mechanism is absent, by name."""
        own = {q.name: q.neutral for q in self.quantities if q.neutral is not None}
        return MappingProxyType({**NEUTRAL, **own})

    @cached_property
    def shares(self) -> frozenset[str]:
        """The names of the quantities between 0 and 1 that it may contain."""
        return frozenset(
            name for name, quantity in self.glossary.items() if quantity.high == 1
        )

    @cached_property
    def step_names(self) -> tuple[str, ...]:
        """The names of the step sizes in it, in the order of :attr:`glossary`."""
        return tuple(name for name in self.needs if self.glossary[name].step)

    # -- symbolic

    def expand(self, expr: Expr) -> Expr:
        """``expr`` with every definition replaced, in glossary symbols alone."""
        return expr.xreplace(self._expanded)

    @cached_property
    def _expanded(self) -> dict[Expr, Expr]:
        return self.expanded_definitions({})

    def expanded_definitions(self, kept: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """Each definition's symbol with its value in glossary symbols, or with what
        ``kept`` says of it.
        """
        known: dict[Expr, Expr] = {}
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
        """Every symbol of the bound and the conditions by name, in the order of
        :attr:`glossary`.
        """
        expressions = [
            *self.terms.values(),
            *(self.expand(c.slack) for c in self.conditions),
        ]
        names = {s.name for e in expressions for s in e.free_symbols}
        return {
            name: known.symbol for name, known in self.glossary.items() if name in names
        }

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the glossary that ``evaluate`` must be given."""
        return tuple(self.symbols)

    # -- numeric

    def evaluate(self, *, where: Where = "raise", **values: Any) -> Number:
        """The bound at ``values`` (names of :attr:`glossary`; numbers or arrays that
        broadcast together).

        ``where="raise"`` refuses any point at which a condition fails, ``"nan"`` gives
        nan there, ``"ignore"`` evaluates the formula regardless. Names of the glossary
        that this statement does not use are ignored.

        Returns a float for numbers, an array of the common shape for arrays.

        Raises
        ------
        UnknownNameError, InputError
            A name is not in the glossary; one is missing; a value is out of its range.
        ConditionError
            A condition fails: its name and the numbers of the first such point.
        """
        return sum(self.evaluate_terms(where=where, **values).values(), 0.0)

    def evaluate_terms(
        self, *, where: Where = "raise", **values: Any
    ) -> dict[str, Number]:
        """Return the named terms at ``values``; as ``evaluate``, which is their sum."""
        if where not in ("raise", "nan", "ignore"):
            raise InputError(f"where = {where!r} must be 'raise', 'nan' or 'ignore'")
        return self._evaluator.terms(where, values)

    def check_conditions(self, **values: Any) -> list[tuple[Condition, Any, Any]]:
        """Each condition with its slack (right - left) and whether it holds, at
        ``values``.
        """
        return self._evaluator.conditions(values)

    def condition_sides(self, **values: Any) -> list[tuple[Condition, Any, Any]]:
        """Each condition with its left and its right side, at ``values``."""
        return self._evaluator.sides(values)

    @cached_property
    def _evaluator(self) -> Evaluator:
        # NumPy is imported at the first evaluation
        from dfltheory.bounds.evaluation import Evaluator

        return Evaluator(self)

    def __str__(self) -> str:
        return f"{self.key} ({self.variant})"
