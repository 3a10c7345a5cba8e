"""``dfltheory bound``: theorems, their values and figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dfltheory.cli.output import (
    AsJson,
    AssignedValue,
    TrustOption,
    ValuesOption,
    Variant,
    assigned_values,
    check_picture,
    emit,
    exit_unless,
)
from dfltheory.errors import InputError
from dfltheory.files import check_writable

if TYPE_CHECKING:
    from dfltheory.bounds.clauses import LeftSide
    from dfltheory.bounds.quantity import Quantity
    from dfltheory.bounds.scope import Scope
    from dfltheory.bounds.theorem import Theorem


def bound(
    context: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(
            help=(
                "KEY or KEY:VARIANT of the registry, FILE.toml or FILE.py:NAME; a"
                " paper, or nothing, lists them."
            )
        ),
    ] = None,
    variant: Variant = None,
    set_: ValuesOption = None,
    plot: Annotated[
        tuple[str, Path] | None,
        typer.Option(
            metavar="NAME FILE", help="Draw the terms over NAME, such as T, to FILE."
        ),
    ] = None,
    latex: Annotated[bool, typer.Option(help="Print the statement in LaTeX.")] = False,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LOW:HIGH:COUNT",
            help="Evaluate on a grid (geometric; NAME=A,B,C for a list).",
        ),
    ] = None,
    steps: Annotated[
        bool,
        typer.Option(
            "--steps", help="Print the admissible interval and the best step sizes."
        ),
    ] = False,
    derivative: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Print d bound / d NAME, and its value if --set gives all quantities.",
        ),
    ] = None,
    dominance: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=LOW:HIGH:COUNT",
            help="Print which term is the largest in which range of NAME.",
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Also list lemmas, negative controls and all rates."
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="File for the table of --grid: .csv, .parquet.")
    ] = None,
    trust: TrustOption = False,
    json: AsJson = False,
) -> None:
    """Evaluate a theorem: its bound, its terms, and its conditions.

    Exit status 1 if a condition fails, 2 for invalid input.

    Examples:

        dfltheory bound --all

        dfltheory bound dfedsam.theorem_4_5 --latex

        dfltheory bound dfedsam.theorem_4_5 --variant corrected --set L=1 K=5 T=1000 Q=1
        m=16 eta=0.005 rho=0.01 lam=0.8 sigma_l=1 sigma_g=1 f0_gap=1

        dfltheory bound dfedsam.theorem_4_5 --plot T terms.png --set L=1 K=5 T=1000 ...

        dfltheory bound dfedsam.theorem_4_5 --steps --derivative lam --set L=1 K=5
        T=1000 ...

        dfltheory bound dfedsam.theorem_4_5 --dominance T=10:1e6:200 --set L=1 K=5 ...

        dfltheory bound dfedsam.theorem_4_5 --grid T=10:1e6:60 --grid lam=0.5,0.9,0.99
        --out table.csv
        --set ...
    """
    from dfltheory import bounds

    values = assigned_values(context, set_)
    answers = {"--plot": plot, "--grid": grid, "--latex": latex, "--steps": steps}
    answers |= {"--derivative": derivative, "--dominance": dominance}
    asked = [option for option, given in answers.items() if given]
    plain = not (asked or values or variant)
    if key is None:
        if not plain:
            raise InputError(
                "the theorem is missing: name its key (`dfltheory bound` lists all) or"
                " FILE.py:NAME"
            )
        listed = bounds.keys(all=True) if every else main_keys()
        return _list(listed, len(bounds.keys(all=True)) - len(listed), json)
    if plain and key in bounds.registry.papers():
        listed = bounds.keys(key, all=every)
        return _list(listed, len(bounds.keys(key, all=True)) - len(listed), json)
    _check_questions(asked, out)
    theorem = bounds.load(key, variant, trust=trust)
    if plot is not None:
        return _plot(theorem, plot[0], plot[1], values, json)
    if grid:
        return _tabulate(theorem, grid, values, out, json)
    if steps or derivative or dominance:
        from dfltheory.cli.questions import answers as answer

        return emit(*answer(theorem, values, steps, derivative or [], dominance), json)
    if latex or not values:
        return _show(theorem, json, latex)
    return _evaluate(theorem, values, json)


def _check_questions(asked: Sequence[str], out: Path | None) -> None:
    """Reject options that exclude each other, and an output that cannot be written."""
    alone = [option for option in asked if option in ("--plot", "--grid", "--latex")]
    if alone and len(asked) > 1:
        raise InputError(
            f"{' and '.join(asked)} cannot be combined: use {alone[0]} alone"
        )
    if out is not None and "--grid" not in asked:
        raise InputError(
            f"--out {out} is the file for the table of --grid: add --grid or omit --out"
        )
    if out is not None:
        check_writable(out)


def _status(theorem: Theorem) -> tuple[dict[str, object], str]:
    """Return the status of a statement as a field and as a line of text."""
    return {"status": theorem.status.to_dict()}, f"status: {theorem.status}"


def _plot(
    theorem: Theorem, name: str, file: Path, values: Mapping[str, Any], as_json: bool
) -> None:
    """Draw the terms of a theorem over one of its quantities."""
    check_picture(file)
    from dfltheory.plots.look import write_figure
    from dfltheory.plots.theorem import terms_over

    status, status_line = _status(theorem)
    write_figure(terms_over(theorem, name, values), file)
    emit({"plot": str(file)} | status, f"wrote {file}; {status_line}", as_json)


def _tabulate(
    theorem: Theorem,
    grid: list[str],
    values: Mapping[str, AssignedValue],
    out: Path | None,
    as_json: bool,
) -> None:
    """Evaluate a theorem on a grid; print the table or write it to ``out``."""
    import numpy as np

    from dfltheory.bounds.tables import grid_table, write_axis_table

    status, status_line = _status(theorem)
    with np.errstate(invalid="ignore"):  # infinite values are rejected later
        table = grid_table(theorem, grid, values)
    if out is None:
        text = f"{table.to_string(index=False)}\n{status_line}"
        return emit({"rows": table.to_dict("records")} | status, text, as_json)
    written = write_axis_table(table, out)
    text = f"wrote {len(table)} rows to {written}; {status_line}"
    return emit({"rows": len(table), "file": str(out)} | status, text, as_json)


def main_keys() -> tuple[str, ...]:
    """Return the keys that ``dfltheory bound`` lists by default.

    Rates in O(.) are listed only if their paper states no constants at all, since no
    run can be compared with them.
    """
    from dfltheory import bounds

    listed: list[str] = []
    all_keys = bounds.keys()
    for paper in bounds.registry.papers():
        keys = [key for key in all_keys if key.partition(".")[0] == paper]
        with_constants = [key for key in keys if _has_constants(key)]
        listed += with_constants or keys
    return tuple(listed)


def _has_constants(key: str) -> bool:
    from dfltheory import bounds

    return not all(bounds.get(key, name).order for name in bounds.variants(key))


def _list(known: Sequence[str], further: int, as_json: bool) -> None:
    """Print statements, and the number of further ones that ``--all`` lists."""
    from dfltheory import bounds

    rows = [
        (key, list(bounds.variants(key)), bounds.get(key, bounds.variants(key)[0]))
        for key in known
    ]
    document = {
        "theorems": [
            {"key": k, "variants": v, "kind": t.kind, "title": t.title}
            for k, v, t in rows
        ],
        "further": further,
    }
    lines = [f"{k:32s} {t.kind:10s} {t.title} [{', '.join(v)}]" for k, v, t in rows]
    if further:
        lines.append(
            f"{further} more with --all: lemmas, negative controls, and rates in O(.)"
            " of papers that state constants"
        )
    emit(document, "\n".join(lines), as_json)


def _show(theorem: Theorem, as_json: bool, latex: bool) -> None:
    """Print a statement: formula, conditions, scope, quantities, and status."""
    from dfltheory.bounds.comparisons import comparisons_of
    from dfltheory.bounds.display import plain_prose, sequences
    from dfltheory.bounds.formula_writer import write_formula
    from dfltheory.bounds.unstated import unstated

    document = {n: getattr(theorem, n) for n in ("key", "variant", "title", "source")}
    document |= {
        "needs": list(theorem.needs),
        "terms": {name: write_formula(term) for name, term in theorem.parts.items()},
        "definitions": {
            str(d.symbol): write_formula(d.expr) for d in theorem.definitions
        },
        "conditions": [
            f"{name}: {text}" for name, text in comparisons_of(theorem.conditions)
        ],
        "assumptions": list(theorem.assumptions),
        "sequence": list(sequences(theorem)),
        "status": theorem.status.to_dict(),
        "quantities": {
            name: _quantity(theorem.glossary[name]) for name in theorem.needs
        },
        "scope": _scope(theorem.scope),
        "warnings": unstated(theorem),
        "latex": theorem.latex(conditions=True),
    }
    if latex:
        return emit(document, document["latex"], as_json)
    lines = [
        f"{theorem.title}\n{theorem.source}",
        f"bounds: {plain_prose(theorem.lhs.words, theorem)}",
        f"  measured at t = {_measured_at(theorem.lhs)}; t = 0 is the start",
    ]
    lines += [f"  {name}: {term}" for name, term in document["terms"].items()]
    lines += [
        f"  where {name} = {value}" for name, value in document["definitions"].items()
    ]
    lines += [f"  needs {c}" for c in document["conditions"]]
    lines += [f"  assumes {plain_prose(a, theorem)}" for a in theorem.assumptions]
    if document["sequence"]:
        lines.append(f"  covers network sequences: {', '.join(document['sequence'])}")
    lines += [
        "scope:",
        *(f"  {name}: {text}" for name, text in document["scope"].items()),
    ]
    lines += [
        "values:",
        *(_quantity_line(name, q) for name, q in document["quantities"].items()),
    ]
    lines += [f"LaTeX: {document['latex']}", f"status: {theorem.status}"]
    lines += [f"warning: {warning}" for warning in document["warnings"]]
    return emit(document, "\n".join(lines), as_json)


def _measured_at(left: LeftSide) -> str:
    """Return the rounds of a left-hand side, as ``0 .. T - 1``."""
    from dfltheory.bounds.formula_writer import write_formula

    last = write_formula(left.last)
    if left.aggregate == "last":
        return last
    return f"{write_formula(left.first)} .. {last}"


def _quantity(quantity: Quantity) -> dict[str, str]:
    """Return unit, range and meaning of a quantity."""
    return {
        "unit": str(quantity.unit),
        "range": quantity.range,
        "meaning": quantity.meaning,
    }


def _quantity_line(name: str, quantity: dict[str, str]) -> str:
    return (
        f"  {name:10s} [{quantity['unit']}] {quantity['range']}: {quantity['meaning']}"
    )


def _scope(scope: Scope) -> dict[str, str]:
    """Return the runs that a statement covers, in words."""
    law = (
        scope.network
        if isinstance(scope.network, str)
        else getattr(scope.network, "__qualname__", "a law")
    )
    required = scope.hyperparameters
    fixed = ", ".join(f"{name} = {value}" for name, value in required.items())
    words = {
        "algorithms": ", ".join(scope.names),
        "hyperparameters": fixed,
        "network": law,
        "start": (
            "all clients start at one point" if scope.common_start else "any start"
        ),
        "participation": scope.participation,
        "gradients": _bounded_gradients(scope),
        "smoothness": "of every sample" if scope.samplewise else "of every client",
        "blocks": "a shared and a personal part" if scope.two_blocks else "",
    }
    return {name: text for name, text in words.items() if text}


def _bounded_gradients(scope: Scope) -> str:
    """Return in words whether, and where, gradients are bounded."""
    where = scope.bounded_gradients
    if isinstance(where, str):
        return f"bounded by B {where}"
    return "bounded by B" if where else ""


def _evaluate(
    theorem: Theorem, values: Mapping[str, AssignedValue], as_json: bool
) -> None:
    """Print the value of a bound, its terms, and its conditions."""
    conditions = theorem.check_conditions(**values)
    value = float(theorem.evaluate(where="ignore", **values))
    terms = theorem.evaluate_terms(where="ignore", **values)
    holds = all(ok for _, _, ok in conditions)
    document = {
        "key": theorem.key,
        "variant": theorem.variant,
        "value": value if holds else None,
        "formula": value,
        "terms": terms,
        "conditions": [
            {"name": c.name, "slack": slack, "holds": ok} for c, slack, ok in conditions
        ],
        "applicable": holds,
        "status": theorem.status.to_dict(),
    }
    lines = [
        f"{theorem}: {value:.6g}"
        + ("" if holds else "  (a condition fails: nothing is claimed)")
    ]
    for name, term in terms.items():
        share = f"  ({term / value:.1%})" if value else ""
        lines.append(f"  {name:28s} {term:.6g}{share}")
    for condition, slack, fulfilled in conditions:
        word = "holds" if fulfilled else "FAILS"
        lines.append(f"  {word}  {condition.name}  (slack {slack:.4g})")
    lines.append(f"status: {theorem.status}")
    emit(document, "\n".join(lines), as_json)
    exit_unless(holds)
