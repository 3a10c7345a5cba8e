"""Does each display follow from the displays that it cites, by the algebra that it claims?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds.checks.corollaries import compare_rate
from dfltheory.bounds.checks.finding import Finding, check, error, note, numbers
from dfltheory.bounds.rates import leading, scheduled, slowest_in_t
from dfltheory.bounds.regions import Points, admissible, alone, at, conditions_of, draw, pushed, values_of
from dfltheory.bounds.steps import Operation, Step, Telescope, cites
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.units import Expr, Scaling, Unit

_TOLERANCE = 1e-9
_POINTS = 1500
_FEW = 200
_FAR = 1e40


def has_steps(theorem: Theorem) -> bool:
    """Does a declared step of a proof claim it?"""
    return any(_claims(step, theorem) for step in registry.all_steps())


def check_steps(theorem: Theorem, steps: Sequence[Step] | None = None) -> Iterator[Finding]:
    """Every declared step that claims this statement."""
    for step in registry.all_steps() if steps is None else steps:
        if _claims(step, theorem):
            yield from check_step(step, theorem)


def _claims(step: Step, theorem: Theorem) -> bool:
    return step.claim in (
        f"{theorem.key}:{theorem.variant}",
        theorem.key if theorem.variant == "printed" else "",
    )


def follows(theorem: Theorem) -> bool | None:
    """Does this statement follow by the declared steps that claim it? None where there is none."""
    steps = [step for step in registry.all_steps() if _claims(step, theorem)]
    wrong = (f.severity == "error" for step in steps for f in check_step(step, theorem))
    return not any(wrong) if steps else None


def check_step(step: Step, theorem: Theorem | None = None) -> Iterator[Finding]:
    """One step to ``theorem`` (the registered one that it claims): its operations must be allowed and give at
    most what is claimed, at random admissible points."""
    return _checked(step.theorem if theorem is None else theorem, step)


@check("derivation")
def _checked(theorem: Theorem, step: Step) -> Iterator[Finding]:
    yield from _elsewhere(step, theorem)
    if theorem.order:
        yield from _check_order(step, theorem)
        return
    yield from _check_way(step, theorem, step.conditions(conditions_of(theorem)))


def _elsewhere(step: Step, theorem: Theorem) -> Iterator[Finding]:
    """Theorems that are cited of a mechanism of which they do not speak: of rho = 0, where rho is claimed."""
    reached = {symbol.name for symbol in step.derived()[0].free_symbols}
    for base in cites(step):
        if {base.kind, theorem.kind} <= {"theorem", "corollary"}:
            for name in sorted(set(theorem.needs) - set(base.needs) - reached):
                if (absent := GLOSSARY[name].neutral) is not None:
                    says = f"cites {base}, which speaks of {name} = {absent:g} alone"
                    yield error(step.says, says)


def _check_way(step: Step, theorem: Theorem, conditions: tuple[Condition, ...]) -> Iterator[Finding]:
    derived, demands = step.derived()
    if theorem.kind in ("equation", "definition") and not theorem.conditions:
        demands = [d for d in demands if d not in step.given()]  # left to what cites this one
    claimed = theorem.bound
    names = {s.name for e in (derived, claimed, *(d for _, d in demands)) for s in sp.sympify(e).free_symbols}
    points = admissible(names, conditions, _POINTS, np.random.default_rng(0))
    findings = list(_check_at(points, step, theorem, derived, demands))
    few = {n: v[:_FEW] for n, v in points.items()}
    for further in (pushed(points, conditions), alone(few, conditions)):
        if any(f.severity == "error" for f in findings) or not len(next(iter(further.values()))):
            break
        there = list(_check_at(further, step, theorem, derived, demands))
        findings = [f for f in there if f.severity == "error"] or findings
    yield from findings


def _check_at(
    points: Points, step: Step, theorem: Theorem, derived: Expr, demands: list[tuple[str, Expr]]
) -> Iterator[Finding]:
    """The step at these points."""
    claimed = theorem.bound
    lawful = np.ones(len(next(iter(points.values()))), dtype=bool)
    for what, quantity in demands:
        value, scale = _difference(quantity, sp.S.Zero, points)
        bad = value <= 0 if "divides" in what else value < -_TOLERANCE * scale
        if bad.any():
            i = int(np.argmax(bad))
            yield error(
                step.says,
                f"the step {what}, which is {value[i]:.3g} at {numbers(_of(quantity, points, i))}: it "
                f"needs a condition "
                "that is not stated",
                f"demand {quantity} > 0",
                point=at(points, i),
                term=what,
            )
        lawful &= ~bad
    yield from _compare(step, theorem, derived, claimed, points, lawful)


def _check_order(step: Step, theorem: Theorem) -> Iterator[Finding]:
    """A step to a statement in O(.), for large T under its schedule: its operations must be allowed there,
    and every monomial that they give, no smaller in T than the claim, must be covered by the claim."""
    far = replace(step, operations=tuple(_for_large(op, theorem) for op in step.operations))
    derived, demands = far.derived()
    for what, quantity in demands:
        needed = scheduled(theorem, quantity)
        names = {s.name for s in needed.free_symbols}
        points = {**draw(names, _POINTS, np.random.default_rng(0)), "T": np.full(_POINTS, _FAR)}
        (value,) = values_of([needed], points)
        if (value < 0).any():
            i = int(np.argmax(value < 0))
            yield error(
                step.says,
                f"the step {what}, which under the schedule is {value[i]:.3g} at "
                f"{numbers(_of(needed, points, i))}",
                point=at(points, i),
                term=what,
            )
    key, _, variant = (step.start if isinstance(step.start, str) else step.claim).partition(":")
    base = replace(theorem, key=key, variant=variant or "printed", parts={"derived": derived}, definitions=())
    slowest = max(-2 * mono["T"] for mono in leading(theorem, 6))
    for finding in compare_rate(theorem, base, int(slowest)):
        yield replace(finding, check="derivation", place=step.says)


def _for_large(operation: Operation, theorem: Theorem) -> Operation:
    """A descent is divided by what its coefficients are for large T: half of it is left from some T on."""
    if isinstance(operation, Telescope):
        return replace(operation, settled=lambda slope: slowest_in_t(scheduled(theorem, slope)))
    return operation


def _of(expr: Expr, points: Points, index: int) -> dict[str, float]:
    names = {s.name for s in sp.sympify(expr).free_symbols}
    return {n: v for n, v in at(points, index).items() if n in names}


def _compare(
    step: Step, theorem: Theorem, derived: Expr, claimed: Expr, points: Points, lawful: np.ndarray
) -> Iterator[Finding]:
    difference, scale = _difference(derived, claimed, points)
    if theorem.kind == "definition":  # what it defines is equal to what is derived, not a bound of it
        difference = np.abs(difference)
    worse = lawful & (difference > _TOLERANCE * scale)
    if not worse.any():
        slack = lawful & (difference < -_TOLERANCE * scale)
        if slack.any():
            yield note(step.says, "the display is looser than what its step gives")
        return
    i = int(np.argmax(np.where(worse, difference / scale, -np.inf)))
    values = values_of([derived, claimed], points)
    yield error(
        step.says,
        f"does not follow: the step gives {values[0][i]:.6g}, the display {values[1][i]:.6g} at "
        f"{numbers(at(points, i))}",
        _missing(derived, claimed, theorem.lhs.unit),
        point=at(points, i),
        derived=float(values[0][i]),
        displayed=float(values[1][i]),
        fraction_of_points=float(worse.mean()),
    )


def _difference(derived: Expr, claimed: Expr, points: Points) -> tuple[np.ndarray, np.ndarray]:
    """derived - claimed, and the size of what is subtracted."""
    sides = values_of([derived, claimed], points)
    parts = values_of([*sp.Add.make_args(sp.sympify(derived)), *sp.Add.make_args(claimed)], points)
    with np.errstate(invalid="ignore"):  # infinite on both sides: nothing is said
        return sides[0] - sides[1], np.maximum(np.sum(np.abs(parts), axis=0), 1e-300)


def _missing(derived: Expr, claimed: Expr, unit: Unit) -> str | None:
    """The terms of derived - claimed, where they are few and of the left-hand side's unit, and the factor
    between one lost and one claimed."""
    divisors = {power.base for power in derived.atoms(sp.Pow) if power.exp.is_negative and power.base.is_Add}
    if sp.count_ops(derived) + sp.count_ops(claimed) > 400 or len(divisors) > 4:
        return None
    rest = sp.factor_terms(sp.expand(sp.expand(derived) - sp.expand(claimed)))
    terms = sp.Add.make_args(sp.expand(rest))
    if not 1 <= len(terms) <= 6:
        return None
    if len(terms) == 2:
        ratio = sp.simplify(-terms[0] / terms[1])
        own = [t for t in terms if t in sp.Add.make_args(sp.expand(derived))]
        lost = own[0] if len(own) == 1 else next(t for t in terms if not t.could_extract_minus_sign())
        if len(ratio.free_symbols) <= 1 and _in_unit(lost, unit):
            return f"{lost - sum(terms)} should be {lost}"
    return f"add {rest}" if _in_unit(rest, unit) else None


def _in_unit(expr: Expr, unit: Unit) -> bool:
    scaling = Scaling({name: entry.unit for name, entry in GLOSSARY.items()})
    return scaling.of(expr) == unit and not scaling.clashes


__all__ = ["check_step", "check_steps", "follows"]
