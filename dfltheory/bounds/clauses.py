"""Parts of a statement as data: left-hand side, conditions, definitions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import sympy as sp

from dfltheory.bounds.measures import (
    AGGREGATES,
    Aggregate,
    checked_aggregate,
    latex_of,
    unit_of,
)
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.symbols import GLOSSARY, checked_new
from dfltheory.bounds.units import Expr, Unit
from dfltheory.documents import is_sequence
from dfltheory.errors import InputError, UnknownNameError, whole_number

if TYPE_CHECKING:
    import numpy as np


StatementKind = Literal[
    "theorem", "corollary", "lemma", "equation", "definition", "rate", "lower bound"
]
Number: TypeAlias = "float | np.ndarray"
Truth: TypeAlias = "bool | np.ndarray"
ConditionHandling = Literal["raise", "nan", "ignore"]
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
"""Functions and operations that a formula may contain. NumPy evaluates each of them,
and each value is a real number.
"""


def checked_expression(place: str, formula: object) -> Expr:
    """Return ``formula``, an expression or a number, as a SymPy expression.

    Text is rejected, because SymPy would run it. ``place`` names the formula in error
    messages.

    Raises
    ------
    InputError
        It is text, a comparison or another object that is not a formula; or it contains
        a number that is not real or too large for a float, or a function not in
        ``REAL_FUNCTIONS``.
    """
    if isinstance(formula, str):
        raise InputError(
            f"{place} = {formula!r} is text: pass a SymPy expression or a number"
        )
    if isinstance(formula, bool) or formula is None:
        raise InputError(
            f"{place} = {formula!r} is not a formula: pass a SymPy expression or a"
            " number"
        )
    try:
        expression = sp.sympify(formula, strict=True)
    except (sp.SympifyError, TypeError):
        raise InputError(
            f"{place} = {formula!r} is not a formula: pass a SymPy expression or a"
            " number"
        ) from None
    if (
        not isinstance(expression, sp.Expr)
        or expression.is_Matrix
        or expression.has(sp.nan, sp.zoo)
    ):
        raise InputError(
            f"{place} = {formula} is not a number: pass a SymPy expression or a number"
        )
    for node in sp.preorder_traversal(expression):
        if not isinstance(node, _ATOMS + REAL_FUNCTIONS):
            allowed = ", ".join(function.__name__ for function in REAL_FUNCTIONS)
            raise InputError(
                f"{place} contains {node}: a formula may contain only real numbers,"
                f" symbols, and {allowed}"
            )
        if isinstance(node, sp.Rational) and abs(node) > sys.float_info.max:
            raise InputError(
                f"{place} contains a number of more than {sys.float_info.max:.3g}, the"
                " largest number of double precision: choose other units"
            )
    return expression


def symbol_names(formulas: Iterable[object]) -> set[str]:
    """Return the names of the symbols in SymPy expressions or numbers.

    Raises
    ------
    InputError
        A formula is text, which SymPy would run, or is not a formula.
    """
    names: set[str] = set()
    for formula in formulas:
        try:
            names.update(map(str, sp.sympify(formula, strict=True).free_symbols))
        except sp.SympifyError:
            raise InputError(
                f"formula = {formula!r} is not a formula: pass a SymPy expression or a"
                " number"
            ) from None
    return names


def checked_symbols(
    place: str,
    expression: Expr,
    added_symbols: Collection[sp.Symbol] = (),
    glossary: Mapping[str, Quantity] = GLOSSARY,
) -> None:
    """Reject a symbol that is neither in ``glossary`` nor in ``added_symbols``.

    A symbol with the name of a quantity and other assumptions is rejected, too.
    """
    for symbol in sorted(expression.free_symbols - set(added_symbols), key=str):
        known = glossary.get(symbol.name)
        if known is None:
            near = UnknownNameError(
                "quantity of the glossary", symbol.name, set(glossary)
            )
            raise InputError(
                f"{place}: {near}; to use a symbol of your own, declare it with"
                " quantities=(Quantity(...),) or with a Definition"
            )
        if known.symbol != symbol:
            raise InputError(
                f"{place}: the symbol {symbol.name} is not the glossary's: use"
                f" Quantity.symbol, for example bounds.GLOSSARY[{symbol.name!r}].symbol"
            )


def checked_quantities(place: str, quantities: object) -> None:
    """Reject what a statement cannot add to the glossary.

    Raises
    ------
    InputError
        It is not a tuple of quantities; a name is not an identifier, is taken by the
        glossary or by a symbol of the papers, or occurs twice.
    """
    if isinstance(quantities, list) or not is_sequence(quantities):
        raise InputError(
            f"{place}: quantities = {quantities!r} must be a tuple of Quantity"
        )
    names: list[str] = []
    for quantity in quantities:
        if not isinstance(quantity, Quantity):
            raise InputError(f"{place}: quantities: {quantity!r} must be a Quantity")
        try:
            checked_new(quantity)
        except InputError as wrong:
            raise InputError(f"{place}: quantities: {wrong}") from None
        if quantity.name in names:
            raise InputError(
                f"{place}: quantities contains {quantity.name} twice: keep one of them"
            )
        names.append(quantity.name)


@dataclass(frozen=True)
class LeftSide:
    """What a statement bounds.

    Attributes
    ----------
    measure : the quantity: a name of :data:`dfltheory.bounds.measures.KNOWN_MEASURES`
        (``grad_norm_sq``: ||grad f||^2 at the mean model; ``grad_norm_sq_w``: at
        DFedADMM's auxiliary sequence; ``two_block``: the two blocks' gradients of
        DFedMDC at V^t; ``two_block_next``: at V^{t+1}; ``f_gap``: f(xbar) - f*;
        ``consensus``; others belong to lemmas), or a metric of your own that runs
        record under this name, such as a Lyapunov function, with its ``unit``
    latex : the left-hand side in LaTeX; by default it follows from the measure and the
        aggregate
    aggregate : over the rounds t = ``first .. last`` of the measure Y_t: ``mean``, the
        mean of E[Y_t]; ``min`` and ``max``, min_t E[Y_t] and max_t E[Y_t], of the
        expectations; ``sum``, the sum of E[Y_t]; ``last``, E[Y_t] at the ``last``
        round; ``each``, every E[Y_t] (lemmas; no run is judged by it)
    first, last : the rounds, formulas in T only
    start : the round whose model defines ``f0_gap``
    unit : how the measure scales; by default it follows from a known measure
    averaging : the left-hand side in the words of its source; for display only
    carries : names of the quantities that occur in the left-hand side
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
                    f"{name} = {end} of the left side must be a round, which may"
                    " depend on T only"
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
        """What is bounded: ``averaging``, or the aggregate and the measure."""
        return self.averaging or f"{AGGREGATES[self.aggregate]} of {self.measure}"

    def rounds(self, T: int) -> range:
        """Return the rounds of the left-hand side at horizon T.

        The range is empty if T is too short. If an end is not a whole number, such as
        T/2 at an odd T, the rounds between both ends count.

        Raises
        ------
        InputError
            An end is not in 0 .. T.
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
                f"the left side covers the rounds {ends[0]} .. {ends[1]}, which must"
                f" be in 0 .. T = {T}"
            )
        return range(max(math.ceil(first), 0), math.floor(last) + 1)


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
        """``right - left``: nonnegative where the condition holds."""
        return self.right - self.left

    @property
    def comparison(self) -> tuple[Expr, str, Expr]:
        """Left side, sign and right side as authors write them.

        ``2 x <= x``, in which both sides have the unit of x, is written x <= 0, and
        x == 0 if x cannot be negative. ``x/2 <= x`` is written x >= 0.
        """
        left, right, sign = self.left, self.right, "<" if self.strict else "<="
        if not sp.sympify(right, strict=True).free_symbols:
            return left, sign, right
        if left == 2 * right:
            is_zero = right.is_nonnegative and not self.strict
            return right, "==" if is_zero else sign, sp.S.Zero
        if left == right / 2:
            return right, ">" if self.strict else ">=", sp.S.Zero
        return left, sign, right

    def __str__(self) -> str:
        left, sign, right = self.comparison
        return f"{self.name}: {left} {sign} {right}"


@dataclass(frozen=True)
class Definition:
    """A quantity that a statement defines for itself.

    Attributes
    ----------
    symbol : its symbol in the formulas of the statement
    expr : its formula, in glossary symbols and symbols of earlier definitions
    latex, meaning : its notation, and what it is in words; for display only
    takes : names of the glossary quantities that ``numeric`` takes, in this order
    numeric : a function of arrays that evaluates the definition where double precision
        loses the digits of ``expr``; None: ``expr`` itself is evaluated
    """

    symbol: sp.Symbol
    expr: Expr
    latex: str
    meaning: str = ""
    takes: tuple[str, ...] = ()
    numeric: ScalarFunction | None = None


__all__ = []
