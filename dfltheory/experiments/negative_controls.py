"""Negative controls of a search: statements slightly stronger than the given one.

A control multiplies terms of the bound by a factor below 1: 1/2, 1/T, 1/m, 1/K or 1 -
lam. Each control is searched with the same budget. A refuted control shows that the
search detects errors of this size. A control that is not refuted may be true because
the statement is loose, or the search may be too weak; the search cannot distinguish
these cases.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import sympy as sp

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr

_T, _M, _K, _LAM = (GLOSSARY[name].symbol for name in ("T", "m", "K", "lam"))
WEAKENING_FACTORS: dict[str, Expr] = {
    "T": 1 / _T,
    "m": 1 / _M,
    "K": 1 / _K,
    "lam": 1 - _LAM,
}
"""Factor for the terms that contain a quantity; at most 1 over its whole range."""


@dataclass(frozen=True)
class Control:
    """A stronger statement.

    Attributes
    ----------
    name : str
        Identifier, such as ``halved`` or ``noise_halved``.
    change : str
        Description of the change.
    theorem : Theorem
        The changed statement.
    """

    name: str
    change: str
    theorem: Theorem


def negative_controls(theorem: Theorem) -> list[Control]:
    """Return the controls of a statement, in a fixed order.

    The first one halves all terms, and if there are several, further ones halve one
    term each. Then, for each of T, m, K and 1 - lam, the factor of
    ``WEAKENING_FACTORS``
    multiplies the terms that contain the quantity. Statements in O(.) have only these
    powers, since their constants are not compared. Lower bounds have no controls.
    """
    return [] if theorem.kind in ("lower bound", "definition") else [*_of(theorem)]


def _of(theorem: Theorem) -> Iterator[Control]:
    """Yield the controls: all terms halved, single terms halved, then powers."""
    if not theorem.order:
        half = sp.Rational(1, 2)
        yield _changed(
            theorem, "halved", "all terms multiplied by 1/2", half, theorem.parts
        )
        if len(theorem.parts) > 1:
            for name in theorem.parts:
                change = f"term {name} multiplied by 1/2"
                yield _changed(theorem, f"{name}_halved", change, half, [name])
    for quantity, factor in WEAKENING_FACTORS.items():
        symbol = GLOSSARY[quantity].symbol
        names = [n for n, term in theorem.terms.items() if symbol in term.free_symbols]
        if names:
            terms = "terms" if len(names) > 1 else "term"
            change = f"{terms} {', '.join(names)} multiplied by {factor}"
            yield _changed(theorem, f"power_of_{quantity}", change, factor, names)


def _changed(
    theorem: Theorem, name: str, change: str, factor: Expr, terms: Collection[str]
) -> Control:
    """Return the control in which ``factor`` multiplies some terms."""
    parts = dict(theorem.parts)
    for term in parts:
        if term in terms:
            parts[term] = factor * parts[term]
    variant = f"{theorem.variant}_{name}".replace(" ", "_")
    return Control(name, change, replace(theorem, variant=variant, parts=parts))


__all__ = ["WEAKENING_FACTORS", "Control", "negative_controls"]
