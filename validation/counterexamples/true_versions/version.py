"""Names of the versions with a planted mistake."""

from __future__ import annotations

from dfltheory.bounds import registry
from dfltheory.bounds.regions import joint_glossary
from dfltheory.bounds.theorem import Theorem
from validation.counterexamples.mistakes import MISTAKES

Name = tuple[str, str, str, str]
"""Key, variant, mistake and place of a version."""
Missing = list[str]
"""Messages about what is not proved."""


def version(name: Name) -> Theorem:
    """Return the version with this name."""
    registered = registry.get(*name[:2])
    named = {v.name: v for rule in MISTAKES.values() for v in rule(registered)}
    return named[name].theorem


def other_runs(theorem: Theorem, source: Theorem) -> Missing:
    """Return why a theorem is about other runs than the one from which it follows."""
    missing: Missing = []
    if (source.lhs, source.scope) != (theorem.lhs, theorem.scope):
        missing.append(f"{theorem} has another left-hand side or scope than {source}")
    if set(source.assumptions) - set(theorem.assumptions):
        missing.append(f"{source} has more assumptions than {theorem}")
    if joint_glossary(source, theorem) is None:
        missing.append(f"a quantity means something else in {source}")
    return missing


__all__ = ["Missing", "Name", "other_runs", "version"]
