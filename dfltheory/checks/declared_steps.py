"""The declared steps of a proof: which one does not follow, and what it should say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import sympy as sp

from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.finding import AuditFinding, audit_check, error, note, warning
from dfltheory.proofs.declared_steps import DeclaredProof, JudgedStep
from dfltheory.proofs.deduction import Witness
from dfltheory.proofs.linear_facts import ONE_MOMENT

_LONGEST_REASON = 300


def has_steps(theorem: Theorem) -> bool:
    """Return whether a statement declares steps of its proof."""
    return bool(theorem.steps)


@audit_check("steps")
def check_declared_steps(theorem: Theorem) -> Iterator[AuditFinding]:
    """Yield findings on the declared steps of a proof.

    A step that does not follow is an error with a witness in fractions, and one that is
    not decided a warning. A note says how many follow, and from what.
    """
    if not theorem.steps:
        return
    proof = DeclaredProof(theorem)
    judged = proof.judged()
    first = True
    for number, step in enumerate(judged, start=1):
        place = f"step {step.name} ({number} of {len(judged)})"
        if step.outcome == "does not follow":
            yield _finding_of_step(place, step, proof, first)
            first = False
        elif step.outcome == "not decided":
            yield warning(
                place, f"not decided: {_shorten(step.reason)}", term=step.name
            )
    yield _summary(proof, judged)


def _finding_of_step(
    place: str, step: JudgedStep, proof: DeclaredProof, first: bool
) -> AuditFinding:
    rank = "the first step that does not follow" if first else "does not follow"
    source = ", ".join([*step.step.premises, *step.step.by])
    message = f"{rank} from {source}: {step.step.claim}"
    evidence: dict[str, object] = {"term": step.name, "claim": step.step.claim}
    point = step.point
    if step.witness is not None:
        point = _values_of_witness(step)
        values = _values(step.witness, proof)
        message += (
            f";{_place(point)} the premises hold with {_numbers(values)}, where the"
            f" right-hand side is less than the left by {-step.witness.left_over}"
        )
        evidence["moments"] = {name: str(value) for name, value in values.items()}
    elif point is not None:
        message += f"; {_shorten(step.reason)}, which fails{_place(point)}"
    evidence["point"] = {str(name): str(value) for name, value in (point or {}).items()}
    evidence["corrections"] = [str(correction) for correction in step.corrections]
    correction = "; ".join(map(str, step.corrections)) or None
    return error(place, message, correction, **evidence)


def _values_of_witness(step: JudgedStep) -> dict[sp.Symbol, Fraction]:
    """Return the quantities of the witness that the step is about."""
    assert step.witness is not None
    inside = set(step.witness.symbols)
    return {x: value for x, value in step.witness.point.items() if x in inside}


def _values(witness: Witness, proof: DeclaredProof) -> dict[str, Fraction]:
    """Return the values of the moments of a witness, by their text in the proof."""
    return {
        proof.text(moment): value
        for moment, value in witness.values.items()
        if moment != ONE_MOMENT
    }


def _numbers(values: Mapping[sp.Symbol, Fraction] | Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _place(point: Mapping[sp.Symbol, Fraction]) -> str:
    """Return a point in words; empty if the step contains no quantity."""
    return f" at {_numbers(point)}" if point else ""


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."


def _summary(proof: DeclaredProof, judged: Sequence[JudgedStep]) -> AuditFinding:
    """Return how many steps follow, from what, and whether they end in the bound."""
    follow = sum(step.outcome == "follows" for step in judged)
    assumed = [step.name for step in judged if step.outcome == "assumed"]
    uses = sorted({use.says for step in judged for use in step.uses})
    message = f"{follow} of {len(judged)} declared steps follow"
    if assumed:
        message += f"; taken without proof: {', '.join(assumed)}"
    if uses:
        message += f"; their rules use: {'; '.join(uses)}"
    complete = proof.ends_in_statement()
    if complete:
        message += "; the last one is the statement"
    else:
        message += "; whether the last one is the statement is not known"
    return note(
        "steps", message, follow=follow, assumed=assumed, ends_in_statement=complete
    )


__all__ = ["check_declared_steps", "has_steps"]
