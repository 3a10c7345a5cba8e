"""From which T on the conditions of a theorem hold under a schedule of step sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import sympy as sp

from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.rates import with_schedule
from dfltheory.bounds.regions import draw_values, values_at
from dfltheory.bounds.symbols import GLOSSARY, with_quantities
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.checks.everyday import everyday
from dfltheory.checks.finding import AuditFinding, found, note

_LARGEST = 1e15
_TRIED_ROUNDS = np.geomspace(1, _LARGEST, 301)


def conditions_under_schedule(
    theorem: Theorem, base: Theorem
) -> Iterator[AuditFinding]:
    """Yield from which T on each condition of ``base`` holds under the schedule.

    Where it is proved to hold at no T, the finding is an error; where it holds at none
    that was tried, a warning. A condition without step sizes may keep T below a limit.
    """
    glossary = with_quantities((*theorem.quantities, *base.quantities))
    for c in base.conditions:
        slack = with_schedule(base, base.expand(c.slack), theorem.schedule)
        if "T" not in {s.name for s in slack.free_symbols}:
            continue
        first = first_round_satisfied(slack, c.strict, glossary)
        last = last_round(slack, c.strict, glossary) if first is None else None
        if last is not None:
            on_steps = not set(theorem.schedule).isdisjoint(
                symbol.name for symbol in base.expand(c.slack).free_symbols
            )
            yield found(
                "warning" if on_steps else "note",
                f"condition {c.name}",
                f"the schedule meets it only for small T; at {_text(last[0])}: at T ="
                f" {last[1]:.3g}, and at no larger T that was tried",
            )
        elif first is None:
            proved = Region((), glossary=glossary).holds(-slack, strict=True)
            evidence = "proved" if proved else f"at every T tried up to {_LARGEST:.0e}"
            yield found(
                "error" if proved else "warning",
                f"condition {c.name}",
                f"the schedule never meets it: {c.left} <= {c.right} fails"
                f" ({evidence})",
            )
        elif first[1] > 1:
            formula = _solved(slack)
            yield note(
                f"condition {c.name}",
                f"the schedule meets it {formula or 'only for large T'}; at"
                f" {_text(first[0])}: from T = {first[1]:.3g} on",
            )


def _text(point: Mapping[str, float]) -> str:
    return ", ".join(f"{name} = {value:.3g}" for name, value in point.items())


def first_round_satisfied(
    slack: Expr, strict: bool, glossary: Mapping[str, Quantity] = GLOSSARY
) -> tuple[dict[str, float], float] | None:
    """Return a moderate point and the T from which ``slack`` stays >= 0 there.

    The result is None where it does at no point that is tried.
    """
    for values, holds in _tried(slack, strict, glossary):
        if not holds[-1]:
            continue
        failing = np.flatnonzero(~holds)
        start = int(failing[-1]) + 1 if failing.size else 0
        return values, float(_TRIED_ROUNDS[start])
    return None


def last_round(
    slack: Expr, strict: bool, glossary: Mapping[str, Quantity] = GLOSSARY
) -> tuple[dict[str, float], float] | None:
    """Return a moderate point and the largest T tried at which ``slack`` >= 0 there.

    The result is None where there is none.
    """
    for values, holds in _tried(slack, strict, glossary):
        if holds.any():
            return values, float(_TRIED_ROUNDS[np.flatnonzero(holds)[-1]])
    return None


def _tried(
    slack: Expr, strict: bool, glossary: Mapping[str, Quantity]
) -> Iterator[tuple[dict[str, float], np.ndarray]]:
    """Yield moderate points, and at which T of a grid ``slack`` is >= 0 there."""
    names = sorted({s.name for s in slack.free_symbols} - {"T"})
    for seed in range(24):
        values = _moderate(names, seed, glossary)
        size = len(_TRIED_ROUNDS)
        points = {n: np.full(size, v) for n, v in values.items()}
        (value,) = values_at([slack], {**points, "T": _TRIED_ROUNDS})
        yield values, value > 0 if strict else value >= -1e-12


def _moderate(
    names: list[str], seed: int, glossary: Mapping[str, Quantity]
) -> dict[str, float]:
    """Return typical values for seed 0, and random ones for other seeds.

    Quantities that may be large are not almost 0, where a threshold in T would be
    extreme.
    """
    if seed == 0:
        return everyday(names, glossary)
    drawn = draw_values(names, 1, np.random.default_rng(seed), glossary)
    least = dict.fromkeys(drawn, -math.inf)
    least |= dict.fromkeys((n for n in drawn if glossary[n].high > 1), 1e-3)
    return {name: max(float(values[0]), least[name]) for name, values in drawn.items()}


def _solved(slack: Expr) -> str | None:
    """``for T >= ...`` where the threshold can be solved in closed form."""
    if slack.has(sp.Min, sp.Max):
        return None
    x = sp.Symbol("x_root", positive=True)
    try:
        roots = sp.solve(sp.together(slack.subs(GLOSSARY["T"].symbol, x**2)), x)
    except (NotImplementedError, ValueError, TypeError):
        return None
    if len(roots) != 1 or roots[0].has(sp.I) or len(str(roots[0])) > 80:
        return None
    return f"for T >= {sp.simplify(roots[0] ** 2)}"


__all__ = ["conditions_under_schedule", "first_round_satisfied", "last_round"]
