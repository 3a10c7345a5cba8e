"""Generate docs/atlas.md and its pictures: ``python -m validation.pages.atlas PAGE``."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from dfltheory.best_bounds import best_bounds, first_nonvacuous_horizon, transient
from dfltheory.bound_atlas import COMPARED_KINDS, Entry, atlas
from dfltheory.bounds import registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.files import write_text
from dfltheory.markdown import table
from dfltheory.number_format import format_number
from validation.pages import standard
from validation.pages.atlas_pictures import PLACE, PLANES, draw
from validation.pages.templates import filled

HEAD = (
    "theorem",
    "status",
    "bound",
    "of the trivial",
    "exact mean",
    "at its best steps",
    "first T",
    "transient T",
)
MOVED_HEAD = (
    "theorem",
    "printed",
    "least corrected",
    "ratio",
    "first T printed",
    "first T corrected",
)
NOT_GIVEN = "constant not given"


def _number(value: float) -> str:
    return "never" if value == math.inf else format_number(value, nothing="")


def _name(theorem: Theorem) -> str:
    return f"`{theorem.key}` {theorem.variant}"


def _row(entry: Entry, at: dict[str, float]) -> list[str]:
    theorem = entry.theorem
    status = entry.status
    if entry.refuted:
        status += f", refuted: {entry.refuted}"
    if entry.status == "silent":
        status += f": {entry.reason}"
    cells = [_number(v) for v in (entry.bound, entry.share, entry.truth)]
    steps = ", ".join(f"{name} = {step:.3g}" for name, step in entry.steps.items())
    when = ["", ""]
    if entry.status not in ("silent", "floor"):
        when = [
            _number(first_nonvacuous_horizon(theorem, at)),
            _number(transient(theorem, at)),
        ]
    return [_name(theorem), status, *cells, steps, *when]


def assumed(entries: Iterable[Entry]) -> str:
    """Return a sentence that lists the assumed constants and their values."""
    constants: dict[str, float] = {}
    for entry in entries:
        constants.update(entry.assumed)
    if not constants:
        return "No constant was assumed."
    pairs = sorted(constants.items())
    values = ", ".join(f"{name} = {value:g}" for name, value in pairs)
    return f"Assumed, since not given: {values}."


def places() -> Iterator[str]:
    """Yield a heading and tables for each left-hand side that a theorem bounds."""
    stated = [t for t in registry.statements() if t.kind in COMPARED_KINDS]
    for measure in sorted({theorem.lhs.measure for theorem in stated}):
        yield f"### {measure}"
        yield from _of_measure(measure)


def _of_measure(measure: str) -> Iterator[str]:
    """Yield the table of one left-hand side, and lists of the theorems it omits.

    A second table has the theorems that are silent only because gradients are noisy.
    """
    entries = atlas(None, measure=measure, truth=True, **PLACE).entries
    rows = [_row(entry, PLACE) for entry in entries if entry.status != NOT_GIVEN]
    if rows:
        yield table(HEAD, rows)
        yield assumed(entries)
    silent = [entry.theorem for entry in entries if entry.status == "silent"]
    if silent:
        yield from _without_noise(measure, silent)
    orders = [_name(entry.theorem) for entry in entries if entry.theorem.order]
    if orders:
        yield f"Constant not given, as they are stated as O(.): {', '.join(orders)}."
    not_given = [entry.theorem for entry in entries if entry.status == NOT_GIVEN]
    on_networks = [_name(theorem) for theorem in not_given if not theorem.order]
    if on_networks:
        yield (
            "Evaluated on networks only ([the standard theorems](standard.md)):"
            f" {', '.join(on_networks)}."
        )


def _without_noise(measure: str, theorems: Sequence[Theorem]) -> Iterator[str]:
    """Yield the table of theorems that are not silent if gradients are exact."""
    exact = PLACE | {"sigma_l": 0.0}
    result = atlas(None, measure=measure, theorems=theorems, truth=True, **exact)
    entries = result.entries
    rows = [_row(entry, exact) for entry in entries if entry.status != "silent"]
    if rows:
        yield "Theorems that require exact gradients, at sigma_l = 0:"
        yield table(HEAD, rows)
        yield assumed(entries)


def _moved_row(wrong: Theorem, right: Sequence[Theorem]) -> list[str]:
    """Return a row that compares the printed bound with the smallest corrected one."""
    old = float(best_bounds(wrong, PLACE)[0][0])
    new, best = min((_least_bound(theorem), theorem.variant) for theorem in right)
    first = np.nanmin([first_nonvacuous_horizon(theorem, PLACE) for theorem in right])
    return [
        f"`{wrong.key}`",
        _number(old),
        f"{_number(new)} ({best})",
        _number(new / old),
        _number(first_nonvacuous_horizon(wrong, PLACE)),
        _number(first),
    ]


def _least_bound(theorem: Theorem) -> float:
    """Return the bound at its best step sizes; infinite if none is admissible."""
    bound = float(best_bounds(theorem, PLACE)[0][0])
    return math.inf if math.isnan(bound) else bound


def moved() -> str:
    """Return the table that compares printed bounds with corrected ones."""
    stated = [theorem for theorem in registry.statements() if not theorem.order]
    rows = []
    for wrong in stated:
        if wrong.variant != "printed" or wrong.kind not in ("theorem", "corollary"):
            continue
        right = []
        for theorem in stated:
            is_correction = theorem.variant.split("_")[0] == "corrected"
            same_side = theorem.lhs.measure == wrong.lhs.measure
            if theorem.key == wrong.key and is_correction and same_side:
                right.append(theorem)
        if right:
            rows.append(_moved_row(wrong, right))
    return table(MOVED_HEAD, rows)


def markdown() -> str:
    """Return the text of docs/atlas.md."""
    pictures = [f"![{plane.title}](atlas/{name}.png)" for name, plane in PLANES.items()]
    return filled(
        "atlas",
        place=", ".join(f"{n} = {v:g}" for n, v in PLACE.items()),
        tables="\n\n".join(places()),
        moved=moved(),
        pictures="\n\n".join(pictures),
        for_users=standard.for_users(),
        columns=standard.COLUMNS,
        statements=standard.everything(),
    )


def main(arguments: Sequence[str]) -> None:
    """Write the page, and its pictures into the folder with the page's name."""
    page = Path(arguments[0])
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    draw(folder)
    write_text(page, markdown())


if __name__ == "__main__":
    main(sys.argv[1:])
