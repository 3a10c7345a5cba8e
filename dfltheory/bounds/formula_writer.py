"""SymPy formulas as text of theorem files, and names of these files in LaTeX.

:mod:`dfltheory.bounds.formulas` reads the text.
"""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from dfltheory.bounds.formulas import CALLED, FORMULA_FUNCTIONS
from dfltheory.errors import InputError


def write_formula(formula: object) -> str:
    """Return a formula as :func:`read_formula` reads it.

    Raises
    ------
    InputError
        It contains a function that theorem files do not support.
    """
    return _Printer().doprint(sp.sympify(formula)).replace("**", "^")


def _is_negative(term: sp.Expr) -> bool:
    return term.could_extract_minus_sign()


class _Printer(sp.StrPrinter):
    """SymPy's printer, with the functions and numbers of theorem files."""

    def _as_ordered_terms(
        self, expr: sp.Expr, order: str | None = None
    ) -> list[sp.Expr]:
        """Return the terms of a sum, those without a minus sign first."""
        terms = super()._as_ordered_terms(expr, order=order)
        return sorted(terms, key=_is_negative)

    def _print_Max(self, expr: sp.Max) -> str:
        return f"max({', '.join(sorted(map(self._print, expr.args)))})"

    def _print_Min(self, expr: sp.Min) -> str:
        return f"min({', '.join(sorted(map(self._print, expr.args)))})"

    def _print_Abs(self, expr: sp.Abs) -> str:
        return f"abs({self._print(expr.args[0])})"

    def _print_Exp1(self, expr: object) -> str:
        return "exp(1)"

    def _print_Float(self, expr: sp.Float) -> str:
        exact = Fraction(repr(float(expr)))
        return self._print(sp.Rational(exact.numerator, exact.denominator))

    def _print_Function(self, expr: sp.Expr) -> str:
        name = type(expr).__name__
        if name not in CALLED:
            raise InputError(
                f"{name} cannot be written to a theorem file: functions are"
                f" {', '.join(FORMULA_FUNCTIONS)}"
            )
        return super()._print_Function(expr)


def name_in_latex(name: str) -> str:
    r"""Return a name in LaTeX: ``\kappa`` for kappa, ``\mathrm{gap}`` for gap."""
    latex = sp.latex(sp.Symbol(name))
    is_word = len(name) > 1 and latex == name
    return rf"\mathrm{{{name}}}" if is_word else latex


__all__ = ["name_in_latex", "write_formula"]
