"""Negative controls of a search: statements slightly stronger than the given one.

A control changes the bound by a factor that makes it smaller: 1/2, 1/T, 1/m, 1/K or
1 - lam. The search gets the same budget for each. A control that is refuted shows that
the search finds slips of this size. A control that is not refuted may be true, because
the statement is loose, or the search may be too weak here; the search cannot tell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import sympy as sp

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr

_T, _M, _K, _LAM = (GLOSSARY[name].symbol for name in ("T", "m", "K", "lam"))
POWERS: dict[str, Expr] = {"T": 1 / _T, "m": 1 / _M, "K": 1 / _K, "lam": 1 - _LAM}
"""Quantity -> factor of the terms that contain it, at most 1 over its whole range."""


@dataclass(frozen=True)
class Control:
    """A stronger statement.

    Attributes
    ----------
    name : str
        Identifier, as ``halved`` or ``noise_halved``.
    change : str
        What is changed, in words.
    theorem : Theorem
        The changed statement.
    """

    name: str
    change: str
    theorem: Theorem


def negative_controls(theorem: Theorem) -> list[Control]:
    """Return the controls of a statement, always the same ones in the same order.

    All terms halved; each term alone halved, if there are several; and for each of T,
    m, K and 1 - lam one more favorable power in the terms that contain the quantity. A
    statement in O(.) has only the powers, since its constants are not compared. A lower
    bound has none.
    """
    return [] if theorem.kind in ("lower bound", "definition") else [*_of(theorem)]


def _of(theorem: Theorem) -> Iterator[Control]:
    if not theorem.order:
        half = sp.Rational(1, 2)
        yield _changed(
            theorem, "halved", "all terms multiplied by 1/2", half, theorem.parts
        )
        if len(theorem.parts) > 1:
            for name in theorem.parts:
                change = f"term {name} multiplied by 1/2"
                yield _changed(theorem, f"{name}_halved", change, half, [name])
    for quantity, factor in POWERS.items():
        symbol = GLOSSARY[quantity].symbol
        names = [n for n, term in theorem.terms.items() if symbol in term.free_symbols]
        if names:
            terms = "terms" if len(names) > 1 else "term"
            change = f"{terms} {', '.join(names)} multiplied by {factor}"
            yield _changed(theorem, f"power_of_{quantity}", change, factor, names)


def _changed(
    theorem: Theorem, name: str, change: str, factor: Expr, terms: Collection[str]
) -> Control:
    """Return the statement with ``factor`` at some terms."""
    parts = dict(theorem.parts)
    for term in parts:
        if term in terms:
            parts[term] = factor * parts[term]
    variant = f"{theorem.variant}_{name}".replace(" ", "_")
    return Control(name, change, replace(theorem, variant=variant, parts=parts))


__all__ = ["POWERS", "Control", "negative_controls"]
