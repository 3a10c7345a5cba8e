"""Errata by root cause: each mistake of a paper with what the audit finds of it, and its mend put to the
test.

A finding belongs to the mistake whose mend alone makes it vanish; where it takes several, to the last of them
that was needed, in the paper's order. What no mend cures is attributed to none, and is listed as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, get_args

from dfltheory.bounds import registry
from dfltheory.bounds.checks.finding import Finding
from dfltheory.bounds.checks.identities import Evidence, evidence_of
from dfltheory.bounds.checks.ledger import Outcome, worst
from dfltheory.bounds.checks.run import CHECKS, audit
from dfltheory.bounds.errata import SEVERITIES, Mistake, carried, names_of
from dfltheory.bounds.ledger import Line
from dfltheory.bounds.steps import Step, cites
from dfltheory.bounds.theorem import Theorem

Claim = tuple[str, str]
FoundBy = Literal[
    "a general check",
    "a declared proof step",
    "a proof line evaluated numerically",
    "a search for counterexamples",
    "a reader",
]
"""How a mistake was found: by a check that reads the statement alone; by one that compares a display with a
step of its proof, or an inequality of it, that was written down for this paper; by a line of the ledger that
was transcribed and evaluated; by a saved counterexample alone; or by none of these."""
FOUND_BY: tuple[FoundBy, ...] = get_args(FoundBy)
DECLARED = ("derivation", "inequality")
"""The checks that need steps or inequalities of a proof to be declared; the others are general."""


@dataclass(frozen=True)
class Entry:
    """A mistake, and what a machine says of it.

    ``own``: the findings on its origin that its mend cures; ``inherited``: those elsewhere; ``left``: errors
    that the same checks still find on the mended statements and that were not there before: none if
    the mend is right; ``evidence``: an identity, else a rational point; ``lines``: of the ledger, which it
    makes false.
    """

    mistake: Mistake
    own: tuple[Finding, ...]
    inherited: tuple[Finding, ...]
    left: tuple[Finding, ...]
    evidence: Evidence | None
    lines: tuple[Line, ...] = ()

    @cached_property
    def again(self) -> tuple[Outcome, ...]:
        """What is found of the lines that the ledger reads otherwise, so read."""
        return tuple(worst(line.mended) for line in self.lines if line.mended)

    @property
    def verified(self) -> bool:
        """Does the mend cure something, and break nothing? Of a mistake without one: does the reading?"""
        mistake = self.mistake
        mends = mistake.mend or mistake.demand or mistake.instead
        cures = (*self.own, *self.inherited) if mends else self.again
        return bool(cures) and not self.left and all(o.status != "refuted" for o in self.again)

    @property
    def found_by(self) -> FoundBy:
        """How the mistake was found: from its findings and lines, the first of :data:`FOUND_BY` that has it.

        Findings elsewhere count only if there is nothing on the statement in which it begins.
        """
        for findings in (self.own, () if self.lines else self.inherited):
            if any(f.check not in DECLARED for f in findings):
                return "a general check"
            if findings:
                return "a declared proof step"
        if self.lines:
            return "a proof line evaluated numerically"
        return "a search for counterexamples" if self.mistake.refutes else "a reader"

    @property
    def claims(self) -> set[str]:
        """The statements that it makes false or that its mend changes, ``key`` or ``key:variant``."""
        mistake = self.mistake
        return {mistake.origin, *mistake.mend, *mistake.demand, *mistake.scope, *mistake.refutes} - {""}

    def bears_on(self, theorem: Theorem) -> bool:
        """Does it begin in this statement, change it, refute it, or make a line of its proof false?"""
        named = self.claims | {line.of for line in self.lines if line.kind in ("statement", "line")}
        at = (theorem.key, theorem.variant)
        return bool(named & names_of(theorem)) or any(
            (f.key, f.variant) == at for f in (*self.own, *self.inherited)
        )


@dataclass(frozen=True)
class Errata:
    """The entries of a paper, the worst first; the errors and the warnings that no entry explains."""

    paper: str
    entries: tuple[Entry, ...]
    unattributed: tuple[Finding, ...]
    warnings: tuple[Finding, ...] = field(default=())

    def of(self, theorem: Theorem) -> tuple[Entry, ...]:
        """The entries that bear on a statement, or on what its declared proof leads there."""
        chain = behind(theorem)
        return tuple(e for e in self.entries if any(map(e.bears_on, chain)))

    def explain(self, line: Line, outcome: Outcome) -> tuple[str, ...]:
        """The ids of the entries by which a refuted line of the ledger is false."""
        return tuple(
            e.mistake.id
            for e in self.entries
            if line in e.lines or outcome.mark in {f.mark for f in (*e.own, *e.inherited)}
        )


def behind(theorem: Theorem) -> list[Theorem]:
    """A statement, and all that the declared steps to it cite, one through another."""
    found = {(theorem.key, theorem.variant): theorem}
    steps = registry.all_steps()
    while new := {
        (t.key, t.variant): t
        for step in steps
        if (step.theorem.key, step.theorem.variant) in found
        for t in cites(step)
        if (t.key, t.variant) not in found
    }:
        found |= new
    return list(found.values())


def errata(paper: str, findings: Iterable[Finding] | None = None) -> Errata:
    """The errata of a paper, from what the audit finds in it (worked out here unless given)."""
    found = [f for f in (audit(paper) if findings is None else findings) if f.key.startswith(f"{paper}.")]
    errors = [f for f in found if f.severity == "error" or _mixes_units(f)]
    mistakes: Sequence[Mistake] = registry.mistakes(paper)
    cured: dict[str, list[Finding]] = {}
    left: dict[str, tuple[Finding, ...]] = {}
    open_ = [f for f in errors if f.severity == "error"]
    for mistake in mistakes:
        gone, new = _cured((mistake,), errors)
        cured[mistake.id], left[mistake.id] = gone, new
        open_ = [f for f in open_ if f not in gone]
    for count in range(2, len(mistakes) + 1) if open_ else ():  # what takes several mends
        if not any(_touches(mistakes[count - 1], f) for f in open_):
            continue
        gone, _ = _cured(mistakes[:count], open_)
        cured[mistakes[count - 1].id] += gone
        open_ = [f for f in open_ if f not in gone]
    lines = {line.place: line for line in registry.ledger(paper)}
    entries, told = [], set[int]()
    for m in mistakes:  # what an earlier mend cures as well is no evidence of this mistake
        fresh = [f for f in cured[m.id] if id(f) not in told]
        entries.append(_entry(m, cured[m.id], fresh, left[m.id], tuple(lines[place] for place in m.lines)))
        told |= set(map(id, fresh))
    entries.sort(key=lambda e: SEVERITIES.index(e.mistake.severity))
    loose = tuple(f for f in found if f.severity == "warning" and id(f) not in told)
    return Errata(paper, tuple(entries), tuple(open_), loose)


def _mixes_units(finding: Finding) -> bool:
    """Is a display not invariant under units that is not in O(.), where it may be a slip?"""
    return finding.check == "units" and not registry.get(finding.key, finding.variant).order


def _touches(mistake: Mistake, finding: Finding) -> bool:
    return any(f"{t.key}" == finding.key for t in mistake.mended())


def _entry(
    mistake: Mistake,
    gone: Sequence[Finding],
    fresh: Sequence[Finding],
    left: tuple[Finding, ...],
    lines: tuple[Line, ...],
) -> Entry:
    own, other = (tuple(f for f in gone if _begins(mistake, f) is begins) for begins in (True, False))
    evidence = evidence_of(mistake, [f for f in own or other if f in fresh] or fresh or own or other)
    return Entry(mistake, own, other, left, evidence, lines)


def _begins(mistake: Mistake, finding: Finding) -> bool:
    """Is it a finding on the statement in which the mistake begins?"""
    origin = mistake.statement
    return origin is not None and (finding.key, finding.variant) == (origin.key, origin.variant)


def _cured(mends: Sequence[Mistake], errors: Sequence[Finding]) -> tuple[list[Finding], tuple[Finding, ...]]:
    """The errors that vanish with these mends, and the errors that are new on what they mend."""
    changed = {(t.key, t.variant): t for m in mends for t in _on_top(m, mends)}
    steps = [i for m in mends for i in m.instead if isinstance(i, Step)]
    instead = [i for m in mends for i in m.instead if not isinstance(i, Step)]
    with registry.mended(steps=steps):
        now = carried(changed.values())
    wrong = {(i.key, "printed") for i in instead}
    after: list[Finding] = []
    pairs: set[tuple[str, str, str]] = set()
    # orders of magnitude are judged against what is mended itself: carried on, a bound has no short rate
    for order, world in ((True, changed), (False, now)):
        moved = set(world) | wrong
        here = [f for f in errors if registry.get(f.key, f.variant).order is order]
        mine = {(f.key, f.variant, f.check) for f in here if _affected((f.key, f.variant), moved)}
        pairs |= mine
        with registry.mended(world.values(), instead, steps):
            for key, variant, check in sorted(mine):
                found = CHECKS[check](registry.get(key, variant))
                # a rate that now only hides constants is mended; any other warning in an error's place is not
                after += [
                    f
                    for f in found
                    if f.severity == "error" or (f.severity == "warning" and "fails" not in f.evidence)
                ]
    gone = [f for f in errors if (f.key, f.variant, f.check) in pairs and not _remains(f, after)]
    before = {f.mark for f in errors}
    new = tuple(
        f
        for f in after
        if f.severity == "error" and f.mark not in before and any(_begins(m, f) for m in mends)
    )
    return gone, new


def _remains(finding: Finding, after: Iterable[Finding]) -> bool:
    """Is a finding still there, no milder? An error of units is gone where the terms that are left balance
    each other, which is a warning."""
    return any(
        f.mark == finding.mark
        and (f.severity == "error" or finding.severity == "warning" or finding.check != "units")
        for f in after
    )


def _on_top(mistake: Mistake, mends: Sequence[Mistake]) -> tuple[Theorem, ...]:
    """What a mistake mends, on top of the mends of the same statement that come before it."""
    before: dict[Claim, Theorem] = {}
    for other in mends[: list(mends).index(mistake)]:
        with registry.mended(before.values()):
            before |= {(t.key, t.variant): t for t in other.mended()}
    with registry.mended(before.values()):
        return mistake.mended()


def _affected(claim: Claim, moved: set[Claim]) -> bool:
    """Can a check of this statement say something else once those have changed?"""
    key, variant = claim
    theorem = registry.get(key, variant)
    near = {(key, v) for v in registry.variants(key)}
    base = theorem.of
    if base is not None:
        near.add(base if isinstance(base, tuple) else (base.key, base.variant))
    for step in registry.all_steps():
        if (step.theorem.key, step.theorem.variant) == claim:
            near |= {(t.key, t.variant) for t in cites(step)}
    return bool(near & moved)


__all__ = ["DECLARED", "FOUND_BY", "Entry", "Errata", "FoundBy", "behind", "errata"]
