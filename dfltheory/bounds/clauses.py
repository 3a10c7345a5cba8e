"""A statement as data: left-hand side, named terms, conditions, schedule, source; and its numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import sympy as sp

from dfltheory.bounds.algorithm_names import checked_hyperparameters
from dfltheory.bounds.measures import AGGREGATES, Aggregate, checked_aggregate, latex_of, unit_of
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.symbols import GLOSSARY, LETTERS
from dfltheory.bounds.units import Expr, Unit
from dfltheory.errors import ConditionError, InputError, UnknownNameError, one_of, whole_number

Kind = Literal["theorem", "corollary", "lemma", "equation", "definition", "rate", "lower bound"]
Number = float | np.ndarray
Where = Literal["raise", "nan", "ignore"]
ScalarFunction = Callable[..., np.ndarray]
ROUNDING = 16 * np.finfo(float).eps
"""A condition ``left <= right`` holds if left exceeds right by no more than this share of it."""
_T = GLOSSARY["T"].symbol


def checked_expression(place: str, formula: Any) -> Expr:
    """``formula`` as a SymPy expression: an expression or a number, never text, which SymPy would run.

    Raises
    ------
    InputError
        It is text, a comparison or no formula; or it contains a symbol of the glossary's name that is another
        symbol.
    """
    if isinstance(formula, str):
        raise InputError(f"{place} = {formula!r} is text: give a SymPy expression or a number")
    if isinstance(formula, bool) or formula is None:
        raise InputError(f"{place} = {formula!r} is no formula: give a SymPy expression or a number")
    try:
        expression = sp.sympify(formula, strict=True)
    except (sp.SympifyError, TypeError):
        raise InputError(
            f"{place} = {formula!r} is no formula: give a SymPy expression or a number"
        ) from None
    if not isinstance(expression, sp.Expr) or expression.is_Matrix or expression.has(sp.nan, sp.zoo):
        raise InputError(f"{place} = {formula} is no number: give a SymPy expression or a number")
    return expression


def checked_symbols(place: str, expression: Expr, own: Collection[sp.Symbol] = ()) -> None:
    """Reject a symbol that is neither the glossary's nor one of the statement's ``own``."""
    for symbol in sorted(expression.free_symbols - set(own), key=str):
        known = GLOSSARY.get(symbol.name)
        if known is None:
            near = UnknownNameError("quantity of the glossary", symbol.name, set(GLOSSARY))
            raise InputError(
                f"{place}: {near}; a symbol of your own is added by bounds.define(Quantity(...)), or by a "
                "Definition of the theorem"
            )
        if known.symbol != symbol:
            raise InputError(
                f"{place}: the symbol {symbol.name} is not the glossary's: "
                f"use bounds.GLOSSARY[{symbol.name!r}].symbol"
            )


@dataclass(frozen=True)
class LeftSide:
    """What a statement bounds.

    Attributes
    ----------
    measure : the quantity: a name of :data:`dfltheory.bounds.measures.MEASURES` (``grad_norm_sq``:
        ||grad f||^2 at the mean model; ``grad_norm_sq_w``: at DFedADMM's auxiliary sequence; ``two_block``:
        the two blocks' gradients of DFedMDC at V^t; ``two_block_next``: at V^{t+1}; ``f_gap``: f(xbar) - f*;
        ``consensus``; others belong to lemmas), or a metric of one's own that a run records under this name,
        as a Lyapunov value; that one must be given its ``unit``
    latex : the left-hand side in LaTeX; follows from the measure and the aggregate where it is omitted
    aggregate : over the rounds t = ``first .. last`` of the measure Y_t: ``mean``, the mean of E[Y_t];
        ``min`` and ``max``, min_t E[Y_t] and max_t E[Y_t], of the expectations; ``sum``, the sum of E[Y_t];
        ``last``, E[Y_t] at the ``last`` round; ``each``, every E[Y_t] (lemmas; no run is judged by it)
    first, last : the rounds, by T alone
    start : the round whose model defines ``f0_gap``
    unit : how the measure scales; follows from a known measure
    averaging : the left-hand side in words
    carries : the constants of the glossary that occur in it
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
                raise InputError(f"{name} = {end} of the left side must be a round, by T alone")
        for name in self.carries:
            one_of("quantity of the glossary (carries)", name, GLOSSARY)
        if not self.latex:
            ends = (sp.latex(self.first), sp.latex(self.last))
            object.__setattr__(self, "latex", latex_of(self.measure, self.aggregate, *ends))

    def of_constant(self, value: Expr) -> Expr:
        """The left-hand side of a measure that is ``value`` in every round."""
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
        """The rounds over which the left-hand side runs at horizon T, none where T is too short for any.

        InputError where they leave 0 .. T.
        """
        horizon = {_T: int(T)}
        ends = [self.last if self.aggregate == "last" else self.first, self.last]
        first, last = (end.subs(horizon) for end in ends)
        if not (first.is_real and last.is_real and -1 <= last <= T and (first >= 0 or last < 0)):
            raise InputError(
                f"the left side is to run over rounds {ends[0]} .. {ends[1]}, not in 0 .. T = {T}"
            )
        return range(max(int(first), 0), int(last) + 1)


@dataclass(frozen=True)
class Condition:
    """``left <= right`` (``left < right`` if strict), in glossary symbols; both sides have the same unit."""

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
    """A quantity that a statement defines for itself; ``numeric`` evaluates it where the formula would
    cancel (its arguments are the base symbols of ``expr`` in the order of ``takes``)."""

    symbol: sp.Symbol
    expr: Expr
    latex: str
    meaning: str = ""
    takes: tuple[str, ...] = ()
    numeric: ScalarFunction | None = None


@dataclass(frozen=True, eq=False)
class Statement:
    """What a :class:`~dfltheory.bounds.Theorem` says, whose attributes are told there; and its numbers."""

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

    def __post_init__(self) -> None:
        if not isinstance(self.scope, Scope):
            raise InputError(
                f"{self} does not say what it is about, but scope = {self.scope!r}: "
                "give scope=Scope(algorithms, network)"
            )
        self._check_words()
        self._check_formulas()

    def _check_words(self) -> None:
        for name in ("key", "variant", "title", "source"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise InputError(f"{name} = {getattr(self, name)!r} of a statement must be text")
        one_of("kind of statement", self.kind, get_args(Kind))
        if not isinstance(self.lhs, LeftSide):
            raise InputError(f"{self}: lhs = {self.lhs!r} must be a LeftSide")
        if not isinstance(self.order, bool):
            raise InputError(f"{self}: order = {self.order!r} must be True or False")
        named = isinstance(self.of, tuple) and [type(name) for name in self.of] == [str, str]
        if not (self.of is None or isinstance(self.of, Statement) or named):
            raise InputError(f"{self}: of = {self.of!r} must be (key, variant) or a statement")
        if isinstance(self.assumptions, str) or not all(isinstance(a, str) for a in self.assumptions):
            raise InputError(f"{self}: assumptions must be a tuple of texts")

    def _check_formulas(self) -> None:
        """Every formula is an expression in the glossary's symbols and those defined before it."""
        if not isinstance(self.parts, Mapping) or not self.parts:
            raise InputError(f"{self}: parts is empty: give the terms of the bound by name")
        defined: list[sp.Symbol] = []
        for definition in self.definitions:
            if not isinstance(definition, Definition):
                raise InputError(f"{self}: definitions: {definition!r} must be a Definition")
            self._check_formula(str(definition.symbol), definition.expr, defined)
            defined.append(definition.symbol)
        for name, part in self.parts.items():
            self._check_formula(name, part, defined)
        if isinstance(self.conditions, (str, Condition)):
            raise InputError(f"{self}: conditions = {self.conditions!r} must be a tuple of Condition")
        for condition in self.conditions:
            if not isinstance(condition, Condition):
                raise InputError(
                    f"{self}: conditions: {condition!r} must be an inequality of two expressions: "
                    "Condition(name, left, right) for left <= right"
                )
            for side in (condition.left, condition.right):
                self._check_formula(condition.name, side, defined)
        for name, rule in self.schedule.items():
            self._check_scheduled(name)
            self._check_formula(f"schedule of {name}", rule, ())

    def _check_scheduled(self, name: str) -> None:
        if name in GLOSSARY:
            return
        try:
            checked_hyperparameters(self.scope.algorithms, (name,))
        except UnknownNameError as wrong:
            raise InputError(f"{self}: schedule: {wrong}") from None

    def _check_formula(self, name: str, formula: Any, defined: Collection[sp.Symbol]) -> None:
        place = f"{self}: {name}"
        checked_symbols(place, checked_expression(place, formula), defined)

    # -- symbolic ---------------------------------------------------------------------------------

    def expand(self, expr: Expr) -> Expr:
        """``expr`` with every definition replaced, in glossary symbols alone."""
        return expr.xreplace(self._expanded)

    @cached_property
    def _expanded(self) -> dict[Expr, Expr]:
        return self.expanded_definitions({})

    def expanded_definitions(self, kept: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """Each definition's symbol with its value in glossary symbols, or with what ``kept`` says of it."""
        known: dict[Expr, Expr] = {}
        for definition in self.definitions:
            known[definition.symbol] = kept.get(definition.symbol, definition.expr.xreplace(known))
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
        """Every glossary symbol of the bound and the conditions, by name, in the glossary's order."""
        expressions = [*self.terms.values(), *(self.expand(c.slack) for c in self.conditions)]
        names = {s.name for e in expressions for s in e.free_symbols}
        return {name: GLOSSARY[name].symbol for name in GLOSSARY if name in names}

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the glossary that ``evaluate`` must be given."""
        return tuple(self.symbols)

    # -- numeric ----------------------------------------------------------------------------------

    def evaluate(self, *, where: Where = "raise", **values: Any) -> Number:
        """The bound at ``values`` (glossary names; numbers or arrays that broadcast together).

        ``where="raise"`` refuses any point at which a condition fails, ``"nan"`` gives nan there,
        ``"ignore"`` evaluates the formula regardless. Names of the glossary that this statement does not
        use are ignored.

        Returns a float for numbers, an array of the common shape for arrays.

        Raises
        ------
        UnknownNameError, InputError
            A name is not in the glossary; one is missing; a value is out of its range.
        ConditionError
            A condition fails: its name and the numbers of the first such point.
        """
        return sum(self.evaluate_terms(where=where, **values).values(), 0.0)

    def evaluate_terms(self, *, where: Where = "raise", **values: Any) -> dict[str, Number]:
        """The named terms at ``values``; as ``evaluate``, which is their sum."""
        if where not in ("raise", "nan", "ignore"):
            raise InputError(f"where = {where!r} must be 'raise', 'nan' or 'ignore'")
        arrays, shape = self._inputs(values)
        admissible: Any = np.True_
        for c, left, right, holds in self._judge(arrays) if where != "ignore" else ():
            if where == "raise" and not np.all(holds):
                raise ConditionError(self._failure(c, left, right, holds, arrays))
            admissible = admissible & holds
        with np.errstate(all="ignore"):
            terms = self._formulas[0](*arrays.values())
        kept = [np.where(admissible, np.asarray(term, dtype=float), np.nan) for term in terms]
        return {name: _plain(term, shape) for name, term in zip(self.parts, kept, strict=True)}

    def check_conditions(self, **values: Any) -> list[tuple[Condition, Any, Any]]:
        """Each condition with its slack (right - left) and whether it holds, at ``values``."""
        arrays, shape = self._inputs(values)
        judged = self._judge(arrays)
        with np.errstate(invalid="ignore"):  # infinite on both sides
            return [
                (c, _plain(right - left, shape), _plain(holds, shape)) for c, left, right, holds in judged
            ]

    def condition_sides(self, **values: Any) -> list[tuple[Condition, Any, Any]]:
        """Each condition with its left and its right side, at ``values``."""
        arrays, shape = self._inputs(values)
        judged = self._judge(arrays)
        return [(c, _plain(left, shape), _plain(right, shape)) for c, left, right, _ in judged]

    @cached_property
    def _stable(self) -> tuple[Definition, ...]:
        """The definitions whose formula would cancel."""
        return tuple(d for d in self.definitions if d.numeric is not None)

    @cached_property
    def _formulas(self) -> list[Callable[..., list[Any]]]:
        """The terms, and both sides of every condition, compiled."""
        plain: dict[Any, Any] = {}
        for d in self.definitions:
            if d.numeric is None:
                plain[d.symbol] = d.expr.xreplace(plain)
        sides = [side for c in self.conditions for side in (c.left, c.right)]
        symbols = [*self.symbols.values(), *(d.symbol for d in self._stable)]
        written = ([e.xreplace(plain) for e in es] for es in (self.parts.values(), sides))
        return [sp.lambdify(symbols, formulas, modules="numpy", cse=True) for formulas in written]

    def _inputs(self, values: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], tuple[int, ...]]:
        """What the formulas take, in their order, and the shape that it broadcasts to."""
        for name in values:
            if name not in GLOSSARY:
                known = {LETTERS[name]} if name in LETTERS else set(GLOSSARY)
                raise UnknownNameError("quantity of the glossary", name, known)
        arrays = {name: GLOSSARY[name].check(values[name]) for name in self.needs if name in values}
        missing = [name for name in self.needs if name not in values]
        if missing:
            raise InputError(f"{self} needs {', '.join(self.needs)}; missing: {', '.join(missing)}")
        try:
            shape = np.broadcast_shapes(*(a.shape for a in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{n} {a.shape}" for n, a in arrays.items() if a.ndim)
            raise InputError(f"the arrays given to {self} do not broadcast together: {shapes}") from None
        with np.errstate(all="ignore"):
            for d in self._stable:
                assert d.numeric is not None
                arrays[d.symbol.name] = d.numeric(*(arrays[n] for n in d.takes))
        return arrays, shape

    def _judge(self, arrays: Mapping[str, np.ndarray]) -> list[tuple[Condition, Any, Any, Any]]:
        judged = []
        with np.errstate(all="ignore"):
            sides = [np.asarray(side, dtype=float) for side in self._formulas[1](*arrays.values())]
            for c, left, right in zip(self.conditions, sides[::2], sides[1::2], strict=True):
                allowance = ROUNDING * np.maximum(np.abs(left), np.abs(right))
                holds = left < right if c.strict else (left <= right + allowance) & (left < np.inf)
                judged.append((c, left, right, holds))  # an infinite left side would allow itself anything
        return judged

    def _failure(self, c: Condition, left: Any, right: Any, holds: Any, arrays: Mapping[str, Any]) -> str:
        left, right, holds = np.broadcast_arrays(left, right, holds)
        place = np.unravel_index(int(np.argmin(holds)), holds.shape) if holds.ndim else ()
        names = sorted({s.name for s in self.expand(c.slack).free_symbols}, key=list(GLOSSARY).index)
        at = ", ".join(f"{n} = {np.broadcast_to(arrays[n], holds.shape)[place]:g}" for n in names)
        sign = ">=" if c.strict else ">"
        where = f" at index {tuple(int(i) for i in place)}" if holds.ndim else ""
        sides = [
            f"{value[place]:.6g}" if side.is_number else f"{side} = {value[place]:.6g}"
            for side, value in ((c.left, left), (c.right, right))
        ]
        return f"condition '{c.name}' of {self} fails{where}: {sides[0]} {sign} {sides[1]} ({at})"

    def __str__(self) -> str:
        return f"{self.key} ({self.variant})"


def _plain(value: Any, shape: tuple[int, ...]) -> Any:
    """A Python scalar for a number, else an array of its own of the common shape."""
    array = np.array(np.broadcast_to(value, shape))
    return array if shape else array.item()
