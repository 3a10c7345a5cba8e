"""The refutations of the main statements before and after they are simplified."""

from __future__ import annotations

from pathlib import Path

from dfltheory.counterexamples.certificate import number
from dfltheory.counterexamples.simplify.complexity import (
    Complexity,
    numbers_of,
    significant_digits,
)
from dfltheory.files import read_json
from dfltheory.markdown import table
from validation.counterexamples.growth_laws import growth_laws
from validation.counterexamples.simple import NAMES
from validation.searched import Outcome

HEADS = ("statement", "ratio", "clients", "pieces", "digits", "rounds")
_INTRODUCTION = """
## The refutations of the main statements, simplified

Each cell shows the value before and after simplification (`dfltheory falsify --simplify`).
*Digits*: the largest number of significant digits of any number in the problem. *Ratio*:
measured / bound; for a family of problems, which refutes a statement in O(.), measured /
expression as a function of the growing parameter. `dfltheory falsify --show KEY:printed`
prints each problem in five lines, and `tests/counterexamples/test_by_hand.py` derives the
ratios in fractions without the package.
"""


def section(folder: Path) -> str:
    """Return the section on the counterexamples in ``folder`` and ``folder/simple``."""
    names = [name for name in NAMES if (folder / "simple" / f"{name}.json").exists()]
    if not names:
        return ""
    rows = [_row(folder, name) for name in names]
    return f"{_INTRODUCTION}\n{table(HEADS, rows)}\n"


def most_digits(saved: Outcome) -> int:
    """Return the largest number of significant digits in an instance or family."""
    family = saved.get("divergence")
    if family is None:
        sizes = [size for _, size in numbers_of(saved["instance"])]
    else:
        sizes = list(family["base"].values())
    return max(significant_digits(float(size)) for size in sizes)


def _row(folder: Path, name: str) -> tuple[str, ...]:
    before, after = (
        read_json(place / f"{name}.json") for place in (folder, folder / "simple")
    )
    cells = []
    for old, new in zip(_cells(before), _cells(after), strict=True):
        cells.append(old if old == new else f"{old} → {new}")
    if after.get("divergence") is not None:
        law = growth_laws()[after["key"]]
        sign = "" if law.relation == "=" else f"{law.relation} "
        cells[0] = f"{sign}`{law.ratio}`"
    return (f"`{name.removesuffix('-printed')}`", *cells)


def _cells(saved: Outcome) -> list[str]:
    """Return ratio, clients, pieces, digits and rounds."""
    digits = str(most_digits(saved))
    family = saved.get("divergence")
    if family is None:
        size = Complexity.of(saved["instance"])
        counted = [str(size.clients), str(size.pieces), digits, f"{size.rounds:g}"]
        return [number(saved["ratio"]), *counted]
    names = family["parameter"].split("*")
    factor = family["values"][-1] / family["values"][0]
    first = family["base"]["T"]
    rounds = f"{first:g} .. {first * factor ** names.count('T'):g}"
    return ["grows", "2", "", digits, rounds]


__all__ = ["most_digits", "section"]
