"""The proof scripts of the four papers, and the kernel's answers to them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from dfltheory.bounds import registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.proofs import comparison
from dfltheory.proofs.kernel import Fact
from dfltheory.proofs.left_side import left_moments as _left
from dfltheory.proofs.script import Script
from dfltheory.proofs.script_region import ScriptRegion
from validation.papers import checked, scripts


def check(theorem, script):
    """Check a script in the context of the papers' scripts."""
    return comparison.check(theorem, script, scripts())


@cache
def last_fact(claim: str, case: int = 0) -> Fact:
    """Return what the script of a claim derives, in one of its cases."""
    script = scripts()[claim]
    assert isinstance(script, Script)
    proof, _ = script.cases(registry.get(*claim.split(":")))[case]
    return proof.prove(**proof.weights)


def known(claim: str) -> Script:
    """Return the script of a claim, of which the proof (of its first case) runs once."""
    script = scripts()[claim]
    assert isinstance(script, Script)
    return replace(script, prove=lambda **_: last_fact(claim))


__all__ = [
    "ScriptRegion",
    "Theorem",
    "_left",
    "check",
    "checked",
    "known",
    "last_fact",
    "scripts",
]
