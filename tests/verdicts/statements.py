"""A caller's statements, written with the symbols of the glossary."""

import numpy as np
import sympy as sp

from dfltheory.bounds import GLOSSARY, Condition, LeftSide, Scope, Theorem

SYMBOL = {name: quantity.symbol for name, quantity in GLOSSARY.items()}
AVERAGE = np.full((2, 2), 0.5)
"""Mixing matrix of two clients with lam = 0."""

SMALL_STEPS = Condition("eta L <= 1", SYMBOL["eta"] * SYMBOL["L"], sp.Integer(1))
NO_NOISE = Condition("no noise", SYMBOL["sigma_l"], sp.Integer(0))
TO_LAST = {"last": SYMBOL["T"]}
"""Fields of a left-hand side over the rounds 0..T."""
COMPLETE = Condition("complete averaging", SYMBOL["lam"], sp.Integer(0))


def statement(
    measure,
    aggregate,
    bound,
    *,
    conditions=(),
    algorithm="DFedAvg",
    schedule=None,
    quantities=(),
    rounds=None,
    **scope,
):
    """Return the statement ``aggregate`` of ``measure`` <= ``bound``."""
    return Theorem(
        key="own.statement",
        variant="printed",
        kind="theorem",
        title="a statement of the caller",
        source="derived by hand",
        lhs=LeftSide(measure=measure, aggregate=aggregate, **rounds or {}),
        parts={"bound": sp.sympify(bound)},
        scope=Scope(
            (algorithm,),
            network="doubly stochastic",
            **{"sequence": ("fixed",)} | scope,
        ),
        conditions=conditions,
        schedule=schedule or {},
        quantities=quantities,
    )
