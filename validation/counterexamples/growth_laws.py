"""Growth laws of the families that refute the printed statements in O(.).

They are read from ``growth_laws.toml``, which contains, for each family, a description
that can be checked by hand, and measured / expression as a function of the horizon or
another parameter.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import sympy as sp

from dfltheory.bounds.formulas import read_formula

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class GrowthLaw:
    """A family of problems in closed form.

    Attributes
    ----------
    statement : key of the printed statement
    relation : ``=``, or ``>=`` if the ratio is a lower bound
    ratio : measured / expression, as a formula in ``parameter``
    growth : asymptotic form of the ratio for large values of the parameter
    family : which other quantities change along the family, or are fixed
    parameter : ``T``, or ``a`` for 1/(1 - alpha)
    lines : description of the family in five lines
    derivation : derivation of the ratio
    """

    statement: str
    relation: str
    ratio: str
    growth: str
    family: str
    lines: tuple[str, ...]
    derivation: str
    parameter: str = "T"

    @property
    def words(self) -> str:
        """Short description of the growth and the family."""
        relation = "is at least" if self.relation == ">=" else "grows like"
        growth = self.growth.replace("*", " ")
        return f"ratio {relation} {growth} ({self.family})"

    def ratio_at(self, value: float) -> float:
        """Evaluate the ratio at one value of the parameter."""
        return self._evaluate(self.ratio, value)

    def growth_at(self, value: float) -> float:
        """Evaluate the asymptotic form of the ratio at one value of the parameter."""
        return self._evaluate(self.growth, value)

    def _evaluate(self, text: str, value: float) -> float:
        symbol = sp.Symbol(self.parameter, positive=True)
        formula = read_formula(text, {self.parameter: symbol})
        return float(formula.evalf(30, subs={symbol: sp.Rational(value)}))


def growth_laws() -> dict[str, GrowthLaw]:
    """Return the growth laws by the key of the statement."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))["law"]
    laws = {}
    for row in rows:
        row["lines"] = tuple(row["lines"])
        laws[row["statement"]] = GrowthLaw(**row)
    return laws


__all__ = ["GrowthLaw", "growth_laws"]
