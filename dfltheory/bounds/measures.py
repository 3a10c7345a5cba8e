"""Left-hand sides of statements: measures, and how rounds are aggregated.

Every name has one unit, except ``definition``, which denotes the quantity that a
definition defines. The measures of runs are those that
:class:`~dfltheory.training.metrics.Recorder` records and those that follow from them;
the others occur in lemmas and in proofs, or are not measures of the training core.
"""

from __future__ import annotations

import difflib
import re
from typing import Literal, NamedTuple, get_args

import sympy as sp
from sympy import Expr

from dfltheory.bounds.symbols import (
    AFTER_STEP,
    BEFORE_STEP,
    GRADIENT_SQ,
    LENGTH_SQ,
    VALUE,
)
from dfltheory.bounds.units import ONE, Unit, unit
from dfltheory.errors import InputError, UnknownNameError, checked_name

Aggregate = Literal["mean", "min", "max", "sum", "last", "each"]
AGGREGATES: dict[str, str] = {
    "mean": "mean over rounds of the expectation",
    "min": "least expectation over rounds",
    "max": "largest expectation over rounds",
    "sum": "sum over rounds of the expectation",
    "last": "expectation at the last round",
    "each": "expectation in every round",
}
"""Every way in which a left-hand side runs over rounds. With Y_t the measure of round
t, ``max`` is max_t E[Y_t], the largest of the expectations, not the expectation of the
largest; ``min`` is min_t E[Y_t].
"""


class Measure(NamedTuple):
    """What a left-hand side measures in round t.

    Attributes
    ----------
    unit : Unit or None
        Its unit; None for any.
    latex : str
        Its formula.
    quantity, point : str
        What it measures, and where. Measures of one quantity at different points are
        compared by the audit; empty for measures that it does not compare.
    moved_by : tuple of str
        Quantities by which values at different points differ. If a bound contains one
        of them, its other quantities may be taken at another point.
    """

    unit: Unit | None
    latex: str = ""
    quantity: str = ""
    point: str = ""
    moved_by: tuple[str, ...] = ()


_GRADIENT = "the squared gradient of f"
_VALUE = "the gap of f"
_SHARED = "the squared gradient in the shared block"
_BLOCKS = "the squared gradients in both blocks"
_MEAN, _AUXILIARY = "the mean model", "the auxiliary sequence w"
_WEIGHTED = "a weighted mean of the mean models"

_U_GRADIENT = r"\|\nabla_u F(\bar u^t, V^t)\|^2"
_U_GRADIENT_NEXT = r"\|\nabla_u F(\bar u^t, V^{t+1})\|^2"
_V_GRADIENT = r"\frac1m\sum_i\|\nabla_v F_i(u_i^t, v_i^t)\|^2"

MEASURES_OF_RUNS: dict[str, Measure] = {
    "grad_norm_sq": Measure(GRADIENT_SQ, r"\|\nabla f(\bar x^t)\|^2", _GRADIENT, _MEAN),
    "grad_norm_sq_w": Measure(
        GRADIENT_SQ, r"\|\nabla f(w^t)\|^2", _GRADIENT, _AUXILIARY
    ),
    "consensus": Measure(LENGTH_SQ, r"\frac1m\sum_i\|x_i^t - \bar x^t\|^2"),
    "loss": Measure(VALUE, r"f(\bar x^t)"),
    "f_gap": Measure(VALUE, r"f(\bar x^t) - f^\star", _VALUE, _MEAN),
    "dist_sq": Measure(LENGTH_SQ, r"\|\bar x^t - x^\star\|^2"),
    "accuracy": Measure(ONE, r"\mathrm{accuracy}(\bar x^t)"),
    "client_accuracy": Measure(ONE, r"\frac1m\sum_i\mathrm{accuracy}_i(x_i^t)"),
    "grad_u_sq": Measure(GRADIENT_SQ, _U_GRADIENT, _SHARED, BEFORE_STEP),
    "grad_u_sq_next": Measure(GRADIENT_SQ, _U_GRADIENT_NEXT, _SHARED, AFTER_STEP),
    "grad_v_sq": Measure(unit(f=2, v=-2), _V_GRADIENT),
    "two_block": Measure(
        VALUE,
        rf"\frac{{1}}{{L_u}}{_U_GRADIENT} + \frac{{1}}{{L_v}}{_V_GRADIENT}",
        _BLOCKS,
        BEFORE_STEP,
    ),
    "two_block_next": Measure(
        VALUE,
        rf"\frac{{1}}{{L_u}}{_U_GRADIENT_NEXT} + \frac{{1}}{{L_v}}{_V_GRADIENT}",
        _BLOCKS,
        AFTER_STEP,
    ),
    "two_block_weighted": Measure(
        VALUE,
        rf"\frac{{\eta_u K_u}}{{4}}{_U_GRADIENT_NEXT} + \frac{{\eta_v"
        rf" K_v}}{{4}}{_V_GRADIENT}",
    ),
    "two_block_value": Measure(VALUE, r"F(\bar u^t, V^t)"),
}
"""What a run records, or what follows from it."""

BLOCK_FACTORS: dict[str, tuple[str, str]] = {
    "two_block": ("1/L_u", "1/L_v"),
    "two_block_next": ("1/L_u", "1/L_v"),
    "two_block_weighted": ("eta_u*K_u/4", "eta_v*K_v/4"),
}
"""Factors of the squared gradients of the shared and of the personal part in the
measures of two blocks.
"""

NOT_NEGATIVE = frozenset(MEASURES_OF_RUNS) - {"loss", "two_block_value"}
"""Measures of runs that are at least 0."""

_BETWEEN_STEPS = ("step_v", "chi", "L_uv")
_NOT_OF_RUNS: dict[str, Measure] = {
    "T1_u": Measure(VALUE),
    "T1_v": Measure(VALUE),
    "T2_u": Measure(VALUE),
    "T3_u": Measure(GRADIENT_SQ, point=AFTER_STEP, moved_by=_BETWEEN_STEPS),
    "ascent_spread": Measure(LENGTH_SQ),
    "bias": Measure(GRADIENT_SQ),
    "bias_sq": Measure(GRADIENT_SQ),
    "client_gradient_sq": Measure(
        GRADIENT_SQ, quantity=_GRADIENT, point="the local models"
    ),
    "coefficient": Measure(ONE),
    "definition": Measure(None),
    "descent": Measure(VALUE),
    "drift": Measure(LENGTH_SQ),
    "drift_weighted": Measure(LENGTH_SQ),
    "dual_sq": Measure(GRADIENT_SQ),
    "f_gap_weighted": Measure(VALUE, quantity=_VALUE, point=_WEIGHTED),
    "gradient_spread": Measure(GRADIENT_SQ),
    "inner_product": Measure(VALUE),
    "local_step_sq": Measure(LENGTH_SQ),
    "mean_step_sq": Measure(VALUE),
    "own_grad_sq": Measure(GRADIENT_SQ),
    "u_step": Measure(VALUE, point=AFTER_STEP, moved_by=_BETWEEN_STEPS),
}

KNOWN_MEASURES: dict[str, Measure] = MEASURES_OF_RUNS | _NOT_OF_RUNS
"""Every measure of the package by its name."""

GRADIENT_MEASURES = ("grad_norm_sq", "grad_norm_sq_w")
"""Squared gradients of f, at the mean model and at DFedADMM's auxiliary sequence."""

_SIMILAR = 0.88
"""From this similarity on, an undeclared name counts as a spelling mistake of a known
one.
"""


def checked_aggregate(aggregate: object) -> None:
    """Reject an aggregate that the package cannot evaluate."""
    if not isinstance(aggregate, str):
        raise InputError(
            f"aggregate = {aggregate!r} must be one of {', '.join(get_args(Aggregate))}"
        )
    checked_name("aggregate", aggregate, AGGREGATES)


def unit_of(measure: object, given: object) -> Unit:
    """Return the unit of a measure, or the ``given`` one of a user's metric.

    Raises
    ------
    InputError, UnknownNameError
        The measure is not text; its name is neither known nor declared with a unit; it
        resembles a known name; the unit given for a known measure is another one.
    """
    if not isinstance(measure, str) or not measure:
        raise InputError(
            f"measure = {measure!r} must be the name of a measure such as"
            " 'grad_norm_sq'"
        )
    if given is not None and not isinstance(given, Unit):
        raise InputError(
            f"unit = {given!r} of measure {measure} must be a Unit such as"
            " bounds.units.unit(f=1)"
        )
    known = KNOWN_MEASURES.get(measure)
    if known is None:
        return _unit_of_own(measure, given)
    if given is None:
        return GRADIENT_SQ if known.unit is None else known.unit
    if known.unit not in (None, given):
        raise InputError(
            f"unit = {given} of measure {measure} must be {known.unit} or None"
        )
    return given


def _unit_of_own(measure: str, given: Unit | None) -> Unit:
    similar = difflib.get_close_matches(
        measure[:100], KNOWN_MEASURES, n=1, cutoff=_SIMILAR
    )
    if similar:
        raise UnknownNameError("measure", measure, set(KNOWN_MEASURES))
    if given is None:
        near = difflib.get_close_matches(measure[:100], KNOWN_MEASURES, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(near)}?" if near else "."
        raise InputError(
            f"measure {measure!r} is not known{hint} A metric of your own needs its"
            " unit: LeftSide(..., unit=bounds.units.unit(f=..., x=...))"
        )
    return given


def measure_quantities(measure: str) -> frozenset[str]:
    """Return the names of quantities, such as L_u, in a measure of the package."""
    factors = BLOCK_FACTORS.get(measure, ())
    return frozenset(re.findall(r"[A-Za-z]\w*", " ".join(factors)))


def latex_of_left(measure: str, aggregate: str, first: Expr, last: Expr) -> str:
    """Return the left-hand side in LaTeX; empty unless runs have the measure."""
    if measure not in MEASURES_OF_RUNS:
        return ""
    return latex_of(measure, aggregate, sp.latex(first), sp.latex(last))


def latex_of(measure: str, aggregate: str, first: str, last: str) -> str:
    r"""Return the left-hand side of a measure of runs in LaTeX.

    ``first`` and ``last`` are the rounds in LaTeX. An example of the result is
    ``\max_{0 \le t \le T - 1} \mathbb{E}...``.

    Raises
    ------
    InputError
        Runs do not have the measure, or the aggregate is unknown.
    """
    known = MEASURES_OF_RUNS.get(measure)
    if known is None:
        raise InputError(
            f"latex of measure {measure} must be given: it is not one of the"
            " package's own"
        )
    expectation = rf"\mathbb{{E}}\big[{known.latex}\big]"
    rounds = rf"{first} \le t \le {last}"
    match aggregate:
        case "mean":
            return rf"\operatorname*{{mean}}_{{{rounds}}} {expectation}"
        case "min" | "max":
            return rf"\{aggregate}_{{{rounds}}} {expectation}"
        case "sum":
            return rf"\sum_{{t={first}}}^{{{last}}} {expectation}"
        case "last":
            return rf"{expectation}, \quad t = {last}"
        case "each":
            return rf"{expectation}, \quad {rounds}"
        case _:
            raise InputError(f"aggregate {aggregate!r} has no LaTeX")
