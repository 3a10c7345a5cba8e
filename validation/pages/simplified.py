"""The refutations of the main statements, simplified."""

from __future__ import annotations

from pathlib import Path

from dfltheory.counterexamples.certificate import four_digits
from dfltheory.counterexamples.simplify.complexity import (
    Complexity,
    numbers_of,
    significant_digits,
)
from dfltheory.files import read_json
from validation.counterexamples.growth_laws import growth_laws
from validation.counterexamples.simple import NAMES
from validation.searched import Outcome


def simplified_cell(folder: Path, name: str) -> str:
    """Return what a saved refutation is after it was simplified; empty if it was not.

    ``name`` is that of a file in ``folder`` and in ``folder/simple``.
    """
    file = folder / "simple" / f"{name}.json"
    if name not in NAMES or not file.exists():
        return ""
    saved = read_json(file)
    digits = f"digits {most_digits(saved)}"
    family = saved.get("divergence")
    if family is None:
        size = Complexity.of(saved["instance"])
        return (
            f"ratio {four_digits(saved['ratio'])}, clients {size.clients}, pieces"
            f" {size.pieces}, {digits}, rounds {size.rounds:g}"
        )
    law = growth_laws()[saved["key"]]
    sign = "" if law.relation == "=" else f"{law.relation} "
    return f"ratio {sign}`{law.ratio}`, {digits}, rounds {_rounds(family)}"


def most_digits(saved: Outcome) -> int:
    """Return the largest number of significant digits in an instance or family."""
    family = saved.get("divergence")
    if family is None:
        sizes = [size for _, size in numbers_of(saved["instance"])]
    else:
        sizes = list(family["base"].values())
    return max(significant_digits(float(size)) for size in sizes)


def _rounds(family: Outcome) -> str:
    """Return the range of the horizon along a family."""
    factor = family["values"][-1] / family["values"][0]
    first = family["base"]["T"]
    last = first * factor ** family["parameter"].split("*").count("T")
    return f"{first:g} .. {last:g}"


__all__ = ["most_digits", "simplified_cell"]
