"""Errata: where each mistake of a paper begins, how severe it is, and what mends it.

A paper's ``errata.py`` has ``MISTAKES``. That a mend cures, and which findings of the audit vanish with it,
is worked out by :func:`dfltheory.bounds.checks.errata.errata`; nothing of that is typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from dfltheory.bounds import registry
from dfltheory.bounds.clauses import Condition, Definition
from dfltheory.bounds.steps import Cited, Inequality, Step, cited, cites
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError

Severity = Literal["the statement is false", "does not follow, repairable", "constant", "typo", "loose"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""
FALSE, REPAIRABLE, CONSTANT, TYPO, LOOSE = SEVERITIES


@dataclass(frozen=True)
class Mistake:
    """One mistake, where it begins.

    ``id`` stays what it is; ``origin`` is the registered statement in which it begins (``key`` or
    ``key:variant``; empty: none says it, as in a table), ``place`` where that is in the paper's own words,
    ``cause`` a sentence with formulas between dollar signs. ``mend`` says, for the origin first, which terms
    should stand (claim -> term -> formula, or the statement whose bound it is; 0 removes one), ``where`` what
    its letters mean that are not defined there, ``demand`` which conditions are to be added (claim ->
    conditions), ``scope`` which fields of the scope are to be demanded (claim -> field -> value, as
    ``{"common_start": True}``), ``instead`` which inequalities (same key and place) and steps (same claim and
    words) hold in the place of false ones.
    ``corrected`` is the re-derived statement that holds instead, ``refutes`` names the statements whose saved
    counterexamples its correction alone explains (:mod:`dfltheory.counterexamples.causes`), ``lines`` the
    places of the ledger that it makes false, where no registered statement says so: the ledger has what
    refutes them, how to read them, and the checks of that reading. ``witness`` names the statement that
    ``docs/witnesses/ID.json`` refutes, a family of problems that no search draws
    (:mod:`dfltheory.counterexamples.witnesses`).
    """

    id: str
    severity: Severity
    origin: str
    place: str
    cause: str
    mend: Mapping[str, Mapping[str, Cited]] = field(default_factory=dict)
    where: tuple[Definition, ...] = ()
    demand: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)
    scope: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    instead: tuple[Inequality | Step, ...] = ()
    corrected: str = ""
    refutes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    witness: str = ""

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise InputError(f"{self.id}: severity {self.severity!r} is none of {', '.join(SEVERITIES)}")

    @property
    def statement(self) -> Theorem | None:
        """The statement in which it begins, as it stands."""
        return statement(self.origin) if self.origin else None

    def mended(self) -> tuple[Theorem, ...]:
        """The statements that the mend changes, as they should read."""
        return tuple(self._mended(claim) for claim in {**self.mend, **self.demand})

    def corrections(self) -> tuple[Theorem, ...]:
        """The statements that the correction changes, hypotheses of the scope included."""
        mended = {(t.key, t.variant): t for t in self.mended()}
        for claim, demanded in self.scope.items():
            theorem = statement(claim)
            at = (theorem.key, theorem.variant)
            before = mended.get(at, theorem)
            mended[at] = replace(before, scope=replace(before.scope, **demanded))
        return tuple(mended.values())

    def _mended(self, claim: str) -> Theorem:
        theorem = statement(claim)
        terms = {n: cited(e) for n, e in self.mend.get(claim, {}).items()}
        unknown = set(terms) - set(theorem.parts) if len(theorem.parts) == 1 else set()
        if unknown:
            raise InputError(f"{self.id} mends {sorted(unknown)} of {theorem}: it has {list(theorem.parts)}")
        own = {d.symbol for d in theorem.definitions}
        used = {s for e in terms.values() for s in e.free_symbols} - own
        return replace(
            theorem,
            parts={n: p for n, p in {**theorem.parts, **terms}.items() if p != 0},
            conditions=(*theorem.conditions, *self.demand.get(claim, ())),
            definitions=(*theorem.definitions, *(d for d in self.where if d.symbol in used)),
        )


@dataclass(frozen=True)
class Errata:
    """What makes the mistakes of one paper: called with the number of its id, and with its claims without the
    paper's key. A term that is mended in a statement of one term needs no name."""

    name: str

    def full(self, claim: str) -> str:
        """``claim`` with the paper's key before it."""
        return f"{self.name.lower()}.{claim}" if claim else ""

    def __call__(
        self,
        number: int,
        severity: Severity,
        origin: str,
        place: str,
        cause: str,
        mend: Mapping[str, Mapping[str, Cited] | Cited] | None = None,
        *,
        demand: Mapping[str, tuple[Condition, ...]] | None = None,
        scope: Mapping[str, Mapping[str, Any]] | None = None,
        corrected: str = "",
        refutes: Iterable[str] = (),
        witness: str = "",
        **more: Any,
    ) -> Mistake:
        terms = {c: e if isinstance(e, Mapping) else {"bound": e} for c, e in (mend or {}).items()}
        return Mistake(
            f"{self.name}-E{number}",
            severity,
            self.full(origin),
            place,
            cause,
            {self.full(claim): e for claim, e in terms.items()},
            demand={self.full(claim): conditions for claim, conditions in (demand or {}).items()},
            scope={self.full(claim): demanded for claim, demanded in (scope or {}).items()},
            corrected=self.full(corrected),
            refutes=tuple(map(self.full, refutes)),
            witness=self.full(witness),
            **more,
        )


def statement(claim: str) -> Theorem:
    """The registered statement ``key`` or ``key:variant`` (the printed one where none is told)."""
    key, _, variant = claim.partition(":")
    return registry.get(key, variant or "printed")


def names_of(theorem: Theorem) -> set[str]:
    """How a claim may name it: ``key:variant``, and ``key`` where it is the printed one."""
    return {f"{theorem.key}:{theorem.variant}"} | ({theorem.key} if theorem.variant == "printed" else set())


def carried(changed: Iterable[Theorem]) -> dict[tuple[str, str], Theorem]:
    """The changed statements, and all of the paper that follow from them, by key and variant.

    A changed definition is put into every statement that has it. What a declared step gives more or less from
    what it now cites is added to what its claim displays, so that slips of its own stay; statements in O(.)
    stay as they are.
    """
    now = {(t.key, t.variant): t for t in changed}
    for new in [t for t in now.values() if t.kind == "definition"]:
        old = sum(registry.get(new.key, new.variant).parts.values())
        for theorem in registry.peers(new):
            own = tuple(replace(d, expr=sum(new.parts.values())) if d.expr == old else d
                        for d in theorem.definitions)  # fmt: skip
            if own != theorem.definitions:
                before = now.get((theorem.key, theorem.variant), theorem)
                now[theorem.key, theorem.variant] = replace(before, definitions=own)
    direct = set(now)
    for step in registry.all_steps():  # in the order of the papers
        claim = step.theorem
        at = (claim.key, claim.variant)
        if claim.order or claim.kind == "definition" or at in {(t.key, t.variant) for t in changed}:
            continue
        if not {(t.key, t.variant) for t in cites(step)} & set(now):
            continue
        before = step.derived()[0]
        with registry.mended(now.values()):
            after = step.derived()[0]
        old = claim.bound
        more = after - before - (now[at].bound - old if at in direct else 0)
        if more != 0:
            base: Theorem = now.get(at) or claim
            # without a schedule: what was carried on is too long for orders of magnitude
            now[at] = replace(base, parts={**base.parts, "carried on": more}, schedule={})
    return now


__all__ = [
    "CONSTANT",
    "Errata",
    "FALSE",
    "LOOSE",
    "Mistake",
    "REPAIRABLE",
    "SEVERITIES",
    "Severity",
    "TYPO",
    "carried",
    "names_of",
    "statement",
]
