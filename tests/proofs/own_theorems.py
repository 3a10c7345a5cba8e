"""Theorems with declared proof steps, for tests of the judgment of steps."""

from __future__ import annotations

from dfltheory.bounds import symbols as s
from dfltheory.bounds.clauses import LeftSide
from dfltheory.bounds.proof_steps import ProofStep
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import Theorem


def theorem_with_steps(*steps: ProofStep, moments: dict[str, str], **fields) -> Theorem:
    """Return a theorem about DPSGD with declared steps between its moments.

    ``fields`` are further fields of the theorem.
    """
    scope = Scope(
        ("DPSGD",), "symmetric", hyperparameters={"order": "adapt-then-combine"}
    )
    values = {
        "key": "own.theorem",
        "variant": "stated",
        "kind": "theorem",
        "title": "t",
        "source": "s",
        "lhs": LeftSide("grad_norm_sq"),
        "parts": {"x": s.eta * s.L},
        "scope": scope,
    }
    return Theorem(**(values | fields), moments=moments, steps=steps)
