"""``dfltheory bound``: step sizes, derivatives, and dominating terms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import sympy as sp

from dfltheory.bounds.tables import axis
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.tuning import admissible_steps, best_step, dominance, step_name
from dfltheory.cli.output import AssignedValue
from dfltheory.errors import InputError


def answers(
    theorem: Theorem,
    values: Mapping[str, AssignedValue],
    steps: bool,
    derivatives: list[str],
    over: str | None,
) -> tuple[dict[str, object], str]:
    """Return the answers to all questions, as a document and as text.

    They are in the order of the command's options.
    """
    document: dict[str, object] = {"key": theorem.key, "variant": theorem.variant}
    document["status"] = theorem.status.to_dict()
    lines = [f"{theorem}; status: {theorem.status}"]
    if steps:
        step_sizes = _steps(theorem, values)
        document["steps"] = step_sizes
        for name, step in step_sizes.items():
            high = "any" if step["high"] is None else f"{step['high']:.6g}"
            lines.append(
                f"  {name}: admissible from {step['low']:.6g} to {high}; best"
                f" {step['best']:.6g}, where the bound is {step['bound']:.6g}"
            )
    if derivatives:
        slopes = {name: _derivative(theorem, name, values) for name in derivatives}
        document["derivatives"] = slopes
        for name, slope in slopes.items():
            number = "" if slope["value"] is None else f" = {slope['value']:.6g}"
            lines.append(f"  d bound / d {name}{number}\n    {slope['formula']}")
    if over is not None:
        with np.errstate(invalid="ignore"):  # infinite values are rejected later
            name, grid = axis(over)
        regimes = dominance(
            theorem, name, grid, **{n: v for n, v in values.items() if n != name}
        )
        document["dominance"] = {"over": name, "regimes": [vars(r) for r in regimes]}
        lines += [
            f"  {name} = {r.low:.6g} to {r.high:.6g}: {r.term} ({r.share_low:.0%} to"
            f" {r.share_high:.0%})"
            for r in regimes
        ]
    return document, "\n".join(lines)


def _steps(
    theorem: Theorem, values: Mapping[str, AssignedValue]
) -> dict[str, dict[str, float | None]]:
    """Return the admissible interval and the best value of each step size.

    All other step sizes have their given values; the given value of this one is
    ignored.
    """
    step_name(theorem)
    step_sizes = {}
    for name in theorem.step_names:
        others = {n: v for n, v in values.items() if n != name}
        interval = admissible_steps(theorem, name, **others)
        best, bound = best_step(theorem, name, **others)
        high = None if np.isinf(interval.high) else interval.high
        step_sizes[name] = {
            "low": interval.low,
            "high": high,
            "best": best,
            "bound": bound,
        }
    return step_sizes


def _derivative(
    theorem: Theorem, name: str, values: Mapping[str, AssignedValue]
) -> dict[str, object]:
    """Return the formula of a derivative of the bound, and its value.

    The value is computed in exact arithmetic if all quantities are given.
    """
    formula = theorem.derivative(name)
    if not values:
        return {"formula": str(formula), "value": None}
    theorem.evaluate(where="ignore", **values)
    point = {x: sp.Rational(float(values[n])) for n, x in theorem.symbols.items()}
    number = sp.N(formula.xreplace(point), 17)
    if not number.is_real:
        raise InputError(f"d bound / d {name} is not a number there: {number}")
    return {"formula": str(formula), "value": float(number)}
