"""Whether an erratum explains a saved counterexample that it cites.

An erratum explains a saved counterexample if its correction alone makes the
counterexample satisfy the statement: either the corrected bound covers the measured
left-hand side (of an O(.): a corrected term keeps up with the measured side along the
saved family), or a hypothesis that it adds excludes the counterexample.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dfltheory.counterexamples.batch import Batch
from dfltheory.counterexamples.candidate_values import counterexample_values
from dfltheory.counterexamples.divergence import Divergence, enlarged
from dfltheory.counterexamples.document import built, read_document
from dfltheory.counterexamples.growth import MEMBERS, Member, Numbers
from dfltheory.errors import InputError
from dfltheory.verdicts.applicability import common_start
from validation.papers import PAPERS, statement
from validation.papers.erratum import errata

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from validation.papers.erratum import Erratum

KEEPS_UP = 0.05
"""A term keeps up with the left side if the exponent of their ratio is at most this."""
ROUNDS = 10
"""Rounds that are run to read the constants of an instance."""

Kind = Literal["bound covers it", "hypothesis excludes it", "not explained"]


@dataclass(frozen=True)
class Explanation:
    """What the correction of one erratum does with one saved counterexample.

    ``before`` and ``after``: measured over bound as printed and as corrected; for a
    statement in O(.), the exponent of measured over expression along the saved family,
    and at its end that of measured over the corrected term that keeps up best.
    ``excluded_by``: the added hypothesis that the counterexample does not satisfy.
    """

    erratum: str
    claim: str
    kind: Kind
    before: float
    after: float
    excluded_by: str = ""

    @property
    def explained(self) -> bool:
        """Whether the corrected statement holds at the counterexample."""
        return self.kind != "not explained"


def citations() -> Iterator[tuple[Erratum, str]]:
    """Every erratum with every refuted statement that it cites."""
    for paper in PAPERS:
        for erratum in errata(paper):
            for claim in erratum.refutes:
                yield erratum, claim


def explain(erratum: Erratum, claim: str, folder: str | Path) -> Explanation:
    """Return what the correction of ``erratum`` alone does with a counterexample.

    It is the saved counterexample of ``claim``.

    Parameters
    ----------
    erratum : Erratum
        Only its own corrected terms and added hypotheses are used.
    claim : str
        The refuted statement, ``key`` or ``key:variant``.
    folder : path
        The folder of the saved outcomes, as ``docs/counterexamples``.

    Raises
    ------
    InputError
        If the saved outcome is not a refutation.
    """
    theorem = statement(claim)
    return explain_file(
        erratum, claim, Path(folder) / f"{theorem.key}-{theorem.variant}.json"
    )


def explain_file(erratum: Erratum, claim: str, file: str | Path) -> Explanation:
    """Return what the correction of ``erratum`` alone does with one file.

    The file is a counterexample to ``claim``, such as the witness of an erratum;
    otherwise as :func:`explain`.
    """
    theorem = statement(claim)
    document = read_document(file)
    if not (document["violated"] or document.get("growing")):
        raise InputError(f"{claim}: the saved outcome is not a refutation")
    corrected = erratum.corrected_statement(claim)
    if document.get("divergence") is not None:
        return _family(
            erratum.id, theorem, corrected, Divergence(**document["divergence"])
        )
    return _instance(erratum.id, theorem, corrected, document)


def _family(
    name: str, theorem: Theorem, corrected: Theorem, saved: Divergence
) -> Explanation:
    """Return whether the correction explains a family of problems.

    Either every member is excluded, or a corrected term keeps up with the left side.
    """
    claim = f"{theorem.key}:{theorem.variant}"
    members = _members(theorem, saved)
    excluded = _excluding(theorem, corrected, MEMBERS[saved.member], members)
    if excluded:
        return Explanation(
            name, claim, "hypothesis excludes it", saved.exponent, math.nan, excluded
        )
    after = _slowest(
        corrected,
        MEMBERS[saved.member],
        members[-2:],
        saved.values[-1] / saved.values[-2],
    )
    kind: Kind = "bound covers it" if after <= KEEPS_UP else "not explained"
    return Explanation(name, claim, kind, saved.exponent, after)


def _members(theorem: Theorem, saved: Divergence) -> list[Numbers]:
    """Return the numbers of every member of a saved family."""
    first = saved.parameter.split("*")[0]
    return [
        enlarged(saved.base, saved.parameter, value / saved.base[first])
        for value in saved.values
    ]


def _excluding(
    theorem: Theorem, corrected: Theorem, member: Member, members: list[Numbers]
) -> str:
    """Return the added hypothesis that no member of the family satisfies, or ""."""
    if corrected.scope.common_start and not theorem.scope.common_start:
        starts = [member.make(theorem, at)[0].x0 for at in members]
        if not any(
            x0 is None or (np.asarray(x0) == np.asarray(x0)[0]).all() for x0 in starts
        ):
            return "a common start"
    for condition in corrected.conditions:
        if condition in theorem.conditions:
            continue
        alone = replace(corrected, conditions=(condition,))
        values = [member.measure(alone, at)[1] for at in members]
        if not any(alone.check_conditions(**told)[0][2] for told in values):
            return condition.name
    return ""


def _slowest(
    corrected: Theorem, member: Member, members: list[Numbers], factor: float
) -> float:
    """Return the exponent of measured over the term that keeps up best.

    It is the exponent between the last two members.
    """
    rows = []
    for at in members:
        measured, values = member.measure(corrected, at)
        rows.append((measured, corrected.evaluate_terms(where="ignore", **values)))
    (left, before), (right, after) = rows
    exponents = [
        math.log(right / left * float(before[term]) / float(after[term]))
        / math.log(factor)
        for term in after
        if float(before[term]) > 0 and float(after[term]) > 0
    ]
    return min(exponents, default=math.inf)


def _instance(
    name: str, theorem: Theorem, corrected: Theorem, document: Mapping[str, Any]
) -> Explanation:
    """Return whether the correction explains one problem.

    Either an added hypothesis excludes it, or the corrected bound covers it.
    """
    claim = f"{theorem.key}:{theorem.variant}"
    instance, saved = built(document["instance"]), document["exact"]
    batch = Batch.of(instance)
    run = instance.run(rounds=ROUNDS, progress=False)
    before = float(saved["ratio"])
    if (
        corrected.scope.samplewise
        and not theorem.scope.samplewise
        and batch.noise_ramps is not None
    ):
        return Explanation(
            name, claim, "hypothesis excludes it", before, math.nan, "smooth samples"
        )
    if (
        corrected.scope.common_start
        and not theorem.scope.common_start
        and not common_start(run)
    ):
        return Explanation(
            name, claim, "hypothesis excludes it", before, math.nan, "a common start"
        )
    values = counterexample_values(run, corrected, batch, instance.rounds) | {
        "T": saved["T"]
    }
    at = {n: float(np.max(values[n])) for n in corrected.needs}
    for condition, _, ok in corrected.check_conditions(**at):
        if not ok and condition not in theorem.conditions:
            return Explanation(
                name, claim, "hypothesis excludes it", before, math.nan, condition.name
            )
    bound = float(corrected.evaluate(where="ignore", **at))
    # as where a denominator that was dropped is kept: no such step size is admitted
    if bound <= 0:
        return Explanation(
            name,
            claim,
            "hypothesis excludes it",
            before,
            math.nan,
            "a positive denominator",
        )
    after = float(saved["measured"]) / bound
    return Explanation(
        name, claim, "bound covers it" if after <= 1 else "not explained", before, after
    )


__all__ = ["Explanation", "citations", "explain", "explain_file"]
