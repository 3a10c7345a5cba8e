"""Linear combinations of moments, averaged over local steps or rounds."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds.units import Expr
from dfltheory.proofs.moments import BLOCKS, Form, combination, k, need


def over_all(linear: Form, phases: set[str], **where: str) -> Form:
    """Return a linear combination with each moment taken over the steps or rounds.

    Parameters
    ----------
    linear : the linear combination
    phases : the phase of its step k, if it has one
    where : ``steps="mean"``, ``steps="max"`` or ``rounds="mean"``; coefficients that
        contain k are replaced by their means over the steps
    """
    steps = "steps" in where
    terms = []
    for m, c in linear.items():
        varies = m.free if steps else m.kind != "one"
        need(
            m.kind != "value" and not (varies and m.rounds),
            "{} cannot be taken over {}",
            m,
            where,
        )
        need(
            steps or not (m.free or k in c.free_symbols),
            "{} depends on the step k: take its mean or maximum over the steps first",
            m,
        )
        if k in c.free_symbols:
            need(
                not varies and where["steps"] == "mean",
                "({}) {}: k times a moment of step k has no mean over the steps",
                c,
                m,
            )
            c = _mean_over_steps(c, BLOCKS[next(iter(phases), "")].K)
        terms.append((c, m.at(**where) if varies else m))
    return combination(*terms)


def _mean_over_steps(c: Expr, K: Expr) -> Expr:
    """Return the mean of a polynomial in k over the K steps."""
    expanded = sp.expand(c)
    need(
        expanded.is_polynomial(k),
        "({}) is not a polynomial in k: its mean over the steps is not known",
        c,
    )
    return sp.factor(sp.summation(expanded, (k, 0, K - 1)) / K)


__all__ = ["over_all"]
