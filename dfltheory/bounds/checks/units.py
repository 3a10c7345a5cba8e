"""Units: every term scales as the left-hand side does, sums agree inside, conditions compare like with
like."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from dfltheory.bounds.checks.finding import Finding, found
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import ONE, Scaling, Unit


def check_units(theorem: Theorem) -> Iterator[Finding]:
    """Clashes inside definitions and terms; terms against the left-hand side; the sides of conditions."""
    units: dict[str, Unit] = {name: q.unit for name, q in GLOSSARY.items()}
    scaling = Scaling(units)
    for d in theorem.definitions:
        units[d.symbol.name] = scaling.of(d.expr)
        yield from _clashes(theorem, scaling, f"definition {d.symbol}")
    for name, part in theorem.parts.items():
        unit = scaling.of(part)
        yield from _clashes(theorem, scaling, f"term {name}")
        if unit != theorem.lhs.unit:
            yield found(
                "units",
                "warning" if theorem.order else "error",
                theorem,
                f"term {name}",
                f"the term scales as {unit}, the left-hand side as {theorem.lhs.unit}"
                + (" (an O(.) that hides constants with units)" if theorem.order else ""),
                _mend(theorem, theorem.lhs.unit / unit),
                term=str(part),
            )
    for c in theorem.conditions:
        left, right = scaling.of(c.left), scaling.of(c.right)
        yield from _clashes(theorem, scaling, f"condition {c.name}")
        if left != right:
            yield found(
                "units",
                "error",
                theorem,
                f"condition {c.name}",
                f"{c.left} scales as {left}, {c.right} as {right}",
            )


def _clashes(theorem: Theorem, scaling: Scaling, place: str) -> Iterator[Finding]:
    for clash in dict.fromkeys(scaling.clashes):
        yield found("units", "error", theorem, place, str(clash))
    scaling.clashes.clear()


def _mend(theorem: Theorem, missing: Unit) -> str | None:
    """The simplest product of the statement's own constants that has the missing unit."""
    wanted = [
        n for n in ("L", "rho", "eta", "lam_admm", "L_u", "L_v", "eta_u", "eta_v") if n in theorem.needs
    ]
    wanted += ["L"] if theorem.order and "L" not in wanted and "L_u" not in theorem.needs else []
    powers = [Fraction(p, 2) for p in (2, -2, 4, -4, 1, -1)]
    for count in (1, 2):
        for names in itertools.combinations(wanted, count):
            for exponents in itertools.product(powers, repeat=count):
                unit = ONE
                for name, e in zip(names, exponents, strict=True):
                    unit = unit * GLOSSARY[name].unit ** e
                if unit == missing:
                    factor = " ".join(
                        f"{n}^{e}" if e != 1 else n for n, e in zip(names, exponents, strict=True)
                    )
                    return f"a factor {factor} would give it the right unit"
    return None


__all__ = ["check_units"]
