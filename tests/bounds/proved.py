"""The proof scripts of the four papers, and the kernel's answers to them."""

from __future__ import annotations

from dfltheory.bounds.theorem import Theorem
from dfltheory.proofs import comparison
from dfltheory.proofs.left_side import left_moments as _left
from dfltheory.proofs.script_region import ScriptRegion
from validation.papers import checked, scripts


def check(theorem, script):
    """Check a script in the context of the papers' scripts."""
    return comparison.check(theorem, script, scripts())


__all__ = ["ScriptRegion", "Theorem", "_left", "check", "checked", "scripts"]
