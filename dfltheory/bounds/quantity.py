"""One quantity: its name, symbol, unit and range."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import sympy as sp

from dfltheory.bounds.units import Unit
from dfltheory.errors import InputError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Quantity:
    """A quantity of the glossary or of a theorem (``Theorem.quantities``).

    Attributes
    ----------
    name : an identifier: the name of its symbol, and its keyword in
        ``Theorem.evaluate``
    latex, meaning : its notation, and what it is in words; for display only
    unit : how it scales with the objective and with lengths
    low, high, open_low, open_high : its range; an open end is not in it
    integer : only integers are admissible
    neutral : the value at which its mechanism is absent (rho = 0: no SAM); None: there
        is no such value
    step : is it a step size?
    of : how it is computed: a function of a run, or text such as ``network: diameter``
        (:mod:`dfltheory.bounds.computed`); None: its value is given
    point : where the gradient that it measures is taken, in words; empty if it measures
        none, or if its meaning says so well enough. Two statements about gradients at
        different points are compared by it.
    """

    name: str
    latex: str
    unit: Unit
    meaning: str
    low: float = 0.0
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    integer: bool = False
    neutral: float | None = None
    step: bool = False
    of: Callable[..., float] | str | None = None
    point: str = field(default="", compare=False)

    @property
    def is_share(self) -> bool:
        """Whether its values are between 0 and 1, and 1 is an end of its range."""
        return self.low >= 0 and self.high == 1

    @property
    def symbol(self) -> sp.Symbol:
        """SymPy symbol of the quantity: real, nonnegative or positive, as its range."""
        if self.low < 0:
            return sp.Symbol(self.name, real=True)
        positive = self.low > 0 or self.open_low
        return (
            sp.Symbol(self.name, positive=True)
            if positive
            else sp.Symbol(self.name, nonnegative=True)
        )

    @property
    def range(self) -> str:
        """The admissible values in words.

        For example, ``in [0, 1)`` or ``a whole number >= 1``.
        """
        if self.high < math.inf:
            left, right = "(" if self.open_low else "[", ")" if self.open_high else "]"
            ends = f"in {left}{self.low:g}, {self.high:g}{right}"
        elif self.low > -math.inf:
            ends = f"{'>' if self.open_low else '>='} {self.low:g}"
        else:
            return "a whole number" if self.integer else "a number"
        return f"a whole number {ends}" if self.integer else ends

    def contains(self, values: np.ndarray | float) -> np.ndarray | bool:
        """Return which values lie between the ends of the range, integer or not."""
        above = values > self.low if self.open_low else values >= self.low
        below = values < self.high if self.open_high else values <= self.high
        return above & below

    def _allows(self, value: float) -> bool:
        """Return whether a number is finite, in the range, and whole if it must be."""
        if not math.isfinite(value) or (self.integer and not value.is_integer()):
            return False
        return bool(self.contains(value))

    def inner_value(self) -> float:
        """Return one number of the range; the least one if it must be whole."""
        if self.integer:
            return self._whole_value()
        if math.isinf(self.low) and math.isinf(self.high):
            return 1.0
        if math.isinf(self.low):
            return self.high - 1.0
        if math.isinf(self.high):
            return self.low + 1.0
        return (self.low + self.high) / 2

    def _whole_value(self) -> float:
        """Return the least whole number of the range, or the largest if none is."""
        if math.isfinite(self.low):
            low = math.ceil(self.low)
            return float(low + (self.open_low and low == self.low))
        if math.isfinite(self.high):
            high = math.floor(self.high)
            return float(high - (self.open_high and high == self.high))
        return 1.0

    def check(self, value: object) -> np.ndarray:
        """Return ``value`` as a float array, all of it in the range of this quantity.

        Raises
        ------
        InputError
            If it is not a number, or a number in it is not finite, out of range, or not
            whole where it must be. The message has the first such number.
        """
        import numpy as np  # at the first value: reading a statement takes no NumPy

        try:
            if isinstance(value, str):
                raise TypeError("text")
            array = np.asarray(value, dtype=float)
            if isinstance(value, float | int) and self._allows(float(value)):
                return array  # the common case, without operations on arrays
        except (TypeError, ValueError):
            raise InputError(
                f"{self.name} = {value!r} is not a number; {self.name} must be"
                f" {self.range}"
            ) from None
        except OverflowError:
            raise InputError(
                f"{self.name} is an integer larger than 1.8e308: use a smaller number"
            ) from None
        good = np.isfinite(array) & self.contains(array)
        if self.integer:
            good &= array == np.floor(array)
        if not good.all():
            bad = array[~good].flat[0] if array.ndim else array
            finite = "" if np.isfinite(bad) else "finite and "
            raise InputError(
                f"{self.name} = {float(bad):g} ({self.meaning}) must be"
                f" {finite}{self.range}"
            )
        return array


Glossary = Mapping[str, Quantity]
"""Quantities by name."""

__all__ = ["Glossary", "Quantity"]
