"""Limits and special cases: what must vanish where its cause is absent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dfltheory.bounds.checks.finding import Finding, found, numbers
from dfltheory.bounds.checks.simpler import check_simpler
from dfltheory.bounds.checks.special import ends_of_ranges, sam_fixed_point, simplest_case
from dfltheory.bounds.rates import leading
from dfltheory.bounds.regions import at, points_of
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError

CAUSES: dict[str, tuple[dict[str, float], str]] = {
    "sharpness": ({"rho": 0.0, "rho0": 0.0}, "without SAM (rho = 0)"),
    "consensus": ({"lam": 0.0, "q": 0.0}, "under exact averaging (lam = 0, q = 0)"),
    "drift": ({"K": 1.0, "K_u": 1.0, "rho": 0.0, "rho0": 0.0}, "with one local step"),
    "noise": (
        {"sigma_l": 0.0, "sigma_u": 0.0, "sigma_v": 0.0, "rho": 0.0, "rho0": 0.0},
        "without noise (sigma = 0)",
    ),
    "optimization": ({"f0_gap": 0.0}, "at an optimal start"),
    "initialization": ({"x0_sq": 0.0, "x0_spread": 0.0}, "from a common start at 0"),
}
"""A term's name (before " of ") -> values at which its cause is absent. An upper bound may keep the
term there, but
then it is loose in a way that its name denies."""


def check_limits(theorem: Theorem) -> Iterator[Finding]:
    """Terms at the values where their cause is absent; the ends of every range; the simplest case; SAM's own
    fixed point; simpler algorithms; Q -> infinity; the schedule for large T."""
    yield from check_simpler(theorem)
    if theorem.kind not in ("theorem", "corollary"):
        return
    try:
        points = points_of(theorem, 200)
    except InputError:
        return
    yield from _causes(theorem, points)
    yield from ends_of_ranges(theorem, points)
    yield from _many_gossip_steps(theorem, points)
    if theorem.kind == "theorem" and not theorem.order:
        yield from simplest_case(theorem, points)
        yield from sam_fixed_point(theorem, points)
    if theorem.schedule:
        yield from _vanishes(theorem)


def _causes(theorem: Theorem, points: dict[str, np.ndarray]) -> Iterator[Finding]:
    for word, (values, when) in CAUSES.items():
        absent = {n: np.full_like(points[n], v) for n, v in values.items() if n in points}
        if not absent or (word == "drift" and not {"K", "K_u"} & set(absent)):
            continue
        terms = theorem.evaluate_terms(where="ignore", **{**points, **absent})
        for name, value in terms.items():
            value = np.broadcast_to(value, len(next(iter(points.values()))))
            if name.split(" of ")[0] != word or not np.any(np.abs(value) > 0):
                continue
            full = np.broadcast_to(theorem.evaluate_terms(where="ignore", **points)[name], value.shape)
            i = int(np.nanargmax(np.where(full > 0, value / np.where(full > 0, full, 1), 0)))
            place = {
                n: v
                for n, v in at(points, i).items()
                if GLOSSARY[n].symbol in theorem.terms[name].free_symbols
            }
            severity = "error" if word in ("sharpness", "optimization", "initialization") else "warning"
            modal = "must" if severity == "error" else "could"
            yield found(
                "limits",
                severity,
                theorem,
                f"term {name}",
                f"{when} the term {modal} be 0, but it is {value[i]:.4g}",
                point={**place, **{n: float(v[0]) for n, v in absent.items()}},
                value=float(value[i]),
                text=numbers(place),
            )


def _many_gossip_steps(theorem: Theorem, points: dict[str, np.ndarray]) -> Iterator[Finding]:
    if "Q" not in points or any(c.name.startswith("Q") for c in theorem.conditions):
        return
    exact = theorem.evaluate(
        where="ignore", **{**points, "lam": 0 * points["lam"], "Q": np.ones_like(points["Q"])}
    )
    many = theorem.evaluate(where="ignore", **{**points, "Q": np.full_like(points["Q"], 1e6)})
    ratio = np.broadcast_to(exact / many, len(points["Q"]))
    i = int(np.nanargmax(np.abs(np.log(ratio))))
    if abs(np.log(ratio[i])) > 1e-9:
        yield found(
            "limits",
            "warning",
            theorem,
            "bound",
            f"Q -> infinity and lam = 0 are both exact averaging, but the bounds differ by a factor "
            f"{ratio[i]:.4g}",
            point=at(points, i),
        )


def _vanishes(theorem: Theorem) -> Iterator[Finding]:
    for mono in leading(theorem, order=3):
        if mono["T"] >= 0:
            yield found(
                "limits",
                "error",
                theorem,
                "schedule",
                f"under its schedule the bound keeps {mono}, which does not vanish for T -> infinity",
            )


__all__ = ["CAUSES", "check_limits"]
