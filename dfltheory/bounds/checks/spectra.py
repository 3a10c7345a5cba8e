"""Proofs of inequalities on matrices and vectors: run on symbols in the place of arrays.

The two sides of a :class:`~dfltheory.bounds.steps.Matrices` are ordinary numpy calls. Here they are run on
objects that answer those calls symbolically:

* family ``mixing``: W is symmetric and doubly stochastic, so W and the averaging matrix P = 11'/m have common
  eigenvectors. A combination of powers of both is known by its eigenvalue on 1 and by its eigenvalue
  ``c mu^k`` on the others, |mu| <= lam < 1; its spectral norm is max(|the one|, |c| lam^k).
* family ``vectors``: a sum of squares of linear combinations of k vectors with Gram matrix G is
  ``x tr G + y 1'G1``. As G is any positive semidefinite matrix, right - left >= 0 for all vectors exactly if
  the eigenvalues x and x + k y of the difference's matrix are not negative.

A call that these objects do not know raises TypeError: then there is no proof, and the search decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds.checks.forms import nonnegative
from dfltheory.bounds.checks.proofs import Proof, prove_by_form
from dfltheory.bounds.steps import Matrices
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr

LAM = GLOSSARY["lam"].symbol
_mu = sp.Symbol("mu", real=True)
_power = sp.Symbol("n", integer=True, positive=True)
_count = sp.Symbol("k", integer=True, positive=True)
_clients = sp.Symbol("m", integer=True, positive=True)


def prove_matrices(inequality: Matrices) -> Proof | None:
    """A proof of ``left <= right`` for every member of the family, or None."""
    try:
        if inequality.family == "mixing":
            W = Mixing(sp.S.One, _mu)
            return _of_numbers(inequality.left(W, _power), inequality.right(W, _power))
        if inequality.family == "vectors":
            return _of_forms(inequality.left(Vectors()), inequality.right(Vectors()))
    except (TypeError, AttributeError):
        return None
    return None


def _of_numbers(left: Any, right: Any) -> Proof | None:
    left, right = (sp.nsimplify(sp.sympify(side)) for side in (left, right))
    shown = prove_by_form(right - left)
    if shown is None:
        return None
    return Proof(
        "spectrum", f"by the common eigenvectors of W and 11'/m the sides are {left} and {right}; {shown.how}"
    )


def _of_forms(left: Any, right: Any) -> Proof | None:
    if not (isinstance(left, Gram) and isinstance(right, Gram)):
        return None
    trace, ones = sp.simplify(right.trace - left.trace), sp.simplify(right.ones - left.ones)
    eigenvalues = (trace, sp.factor(trace + _count * ones))
    if not all(nonnegative(e) for e in eigenvalues):
        return None
    return Proof(
        "Gram matrix",
        f"right - left = tr(M G) for the Gram matrix G of the k vectors, and M has the eigenvalues "
        f"{eigenvalues[0]} and {eigenvalues[1]}",
    )


def _answers(answers: dict[Any, str], self: Any, function: Any, arguments: Any, options: Any) -> Any:
    """numpy's call on one of the objects below, as a call of its method."""
    if function not in answers:
        return NotImplemented
    return getattr(self, answers[function])(*arguments[1:], **options)


@dataclass(frozen=True)
class Mixing:
    """A matrix with W's eigenvectors: its eigenvalue on 1 and, as a function of W's, on the others."""

    on_ones: Expr
    on_others: Expr
    shape = (_clients, _clients)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        known = {np.linalg.matrix_power: "power", np.linalg.norm: "norm", np.ones_like: "all_ones"}
        return _answers(known, self, function, arguments, options)

    def power(self, exponent: Any) -> Mixing:
        return Mixing(self.on_ones**exponent, self.on_others**exponent)

    def all_ones(self) -> Mixing:
        return Mixing(_clients, sp.S.Zero)

    def norm(self, order: Any = None) -> Expr:
        """The largest |eigenvalue|; the others' grows with |mu|, so that it is largest at |mu| = lam."""
        factor, power = sp.simplify(self.on_others).as_independent(_mu)
        base, exponent = power.as_base_exp()
        single = power == 1 or factor == 0 or (base == _mu and exponent.is_positive)
        if order != 2 or not single:
            raise TypeError(f"norm of order {order} of a matrix with the eigenvalues {self.on_others}")
        others: Expr = sp.Abs(factor) * (1 if power == 1 or factor == 0 else LAM**exponent)
        own: Expr = sp.Abs(self.on_ones)
        if nonnegative(own - others):
            return own
        return others if nonnegative(others - own) else sp.Max(own, others)

    def __add__(self, other: Mixing) -> Mixing:
        return Mixing(self.on_ones + other.on_ones, self.on_others + other.on_others)

    def __mul__(self, factor: Any) -> Mixing:
        return Mixing(self.on_ones * factor, self.on_others * factor)

    __rmul__ = __mul__

    def __sub__(self, other: Mixing) -> Mixing:
        return self + other * -1

    def __truediv__(self, divisor: Any) -> Mixing:
        return self * (1 / sp.sympify(divisor))

    def __matmul__(self, other: Mixing) -> Mixing:
        return Mixing(self.on_ones * other.on_ones, self.on_others * other.on_others)


@dataclass(frozen=True)
class Gram:
    """The number ``trace tr G + ones 1'G1``."""

    trace: Expr
    ones: Expr

    def __add__(self, other: Gram) -> Gram:
        return Gram(self.trace + other.trace, self.ones + other.ones)

    def __mul__(self, factor: Any) -> Gram:
        return Gram(self.trace * factor, self.ones * factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Gram:
        return self * (1 / sp.sympify(divisor))


@dataclass(frozen=True)
class Vectors:
    """k vectors, the rows of A: they may be added up, squared and summed."""

    shape = (_count, sp.Symbol("d", integer=True, positive=True))

    def sum(self, axis: int) -> Combination:
        return self.mean(axis) * _count

    def mean(self, axis: int) -> Combination:
        if axis != 0:
            raise TypeError(f"vectors are added along axis 0, not {axis}")
        return Combination(1 / _count)

    def __pow__(self, exponent: int) -> Squares:
        return Squares(exponent)


@dataclass(frozen=True)
class Combination:
    """``factor`` times the sum of the vectors."""

    factor: Expr

    def __mul__(self, factor: Any) -> Combination:
        return Combination(self.factor * factor)

    __rmul__ = __mul__

    def __pow__(self, exponent: int) -> CombinationSquares:
        return CombinationSquares(self.factor, exponent)


@dataclass(frozen=True)
class CombinationSquares:
    """The squared entries of a combination."""

    factor: Expr
    exponent: int

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return _answers({np.sum: "total"}, self, function, arguments, options)

    def total(self) -> Gram:
        if self.exponent != 2:
            raise TypeError(f"power {self.exponent} of a vector is no quadratic form")
        return Gram(sp.S.Zero, self.factor**2)


@dataclass(frozen=True)
class Squares:
    """The squared entries of all vectors, or (``by_row``) their squared norms."""

    exponent: int
    by_row: bool = False

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        return _answers({np.sum: "total", np.mean: "mean"}, self, function, arguments, options)

    def total(self, axis: int | None = None) -> Gram | Squares:
        if self.exponent != 2 or axis not in (None, 1):
            raise TypeError(f"power {self.exponent} of vectors summed along {axis} is no quadratic form")
        return Gram(sp.S.One, sp.S.Zero) if axis is None else Squares(2, by_row=True)

    def mean(self) -> Gram:
        if not self.by_row:
            raise TypeError("the mean over entries depends on the dimension")
        return Gram(1 / _count, sp.S.Zero)


__all__ = ["Combination", "CombinationSquares", "Gram", "Mixing", "Squares", "Vectors", "prove_matrices"]
