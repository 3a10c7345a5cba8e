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

from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import counterexample_values
from dfltheory.counterexamples.divergence import Divergence, enlarged
from dfltheory.counterexamples.document import built, read_document
from dfltheory.counterexamples.growth import MEMBERS, Member, Numbers
from dfltheory.errors import InputError
from dfltheory.verdicts.applicability import has_common_start
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
    """How the correction of one erratum explains one saved counterexample.

    Attributes
    ----------
    erratum, claim : the erratum and the refuted statement
    kind : whether, and by which part of the correction, it is explained
    before, after : measured / bound as printed and as corrected; for a statement in
        O(.), the exponent of measured / expression along the saved family, and at its
        end that of measured / the corrected term that keeps up best
    excluded_by : the added hypothesis that the counterexample does not satisfy
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
    """Yield every erratum with each refuted statement that it cites."""
    for paper in PAPERS:
        for erratum in errata(paper):
            for claim in erratum.refutes:
                yield erratum, claim


def explain(erratum: Erratum, claim: str, folder: str | Path) -> Explanation:
    """Return whether the correction of ``erratum`` alone explains a counterexample.

    The counterexample is the one saved for ``claim``.

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
    """Return whether the correction of ``erratum`` alone explains one file.

    The file is a counterexample to ``claim``, such as the witness of an erratum. For
    the other parameters and errors see :func:`explain`.
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
    factor = saved.values[-1] / saved.values[-2]
    after = _slowest(corrected, MEMBERS[saved.member], members[-2:], factor)
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
    adds_start = corrected.scope.common_start and not theorem.scope.common_start
    allowed = (_starts_at_one_model(theorem, member, at) for at in members)
    if adds_start and not any(allowed):
        return "a common start"
    for condition in corrected.conditions:
        if condition in theorem.conditions:
            continue
        alone = replace(corrected, conditions=(condition,))
        if not any(_satisfies_its_condition(alone, member, at) for at in members):
            return condition.name
    return ""


def _starts_at_one_model(theorem: Theorem, member: Member, at: Numbers) -> bool:
    """Return whether all clients of a member of a family have the same start."""
    instance = member.make(theorem, at)[0]
    if instance.x0 is None:
        return True
    models = np.asarray(instance.x0)
    return bool((models == models[0]).all())


def _satisfies_its_condition(theorem: Theorem, member: Member, at: Numbers) -> bool:
    """Return whether a member of a family satisfies a theorem's only condition."""
    _, values = member.measure(theorem, at)
    _, _, holds = theorem.check_conditions(**values)[0]
    return bool(holds)


def _slowest(
    corrected: Theorem, member: Member, members: list[Numbers], factor: float
) -> float:
    """Return the smallest exponent of measured / term, over the terms of the bound.

    It is the exponent between two members, whose parameters have the ratio ``factor``.
    """
    rows = []
    for at in members:
        measured, values = member.measure(corrected, at)
        rows.append((measured, corrected.evaluate_terms(where="ignore", **values)))
    (measured_before, terms_before), (measured_after, terms_after) = rows
    exponents = []
    for name in terms_after:
        before, after = float(terms_before[name]), float(terms_after[name])
        if before > 0 and after > 0:
            growth = measured_after / measured_before * before / after
            exponents.append(math.log(growth) / math.log(factor))
    return min(exponents, default=math.inf)


def _instance(
    name: str, theorem: Theorem, corrected: Theorem, document: Mapping[str, Any]
) -> Explanation:
    """Return whether the correction explains one problem.

    Either an added hypothesis excludes it, or the corrected bound covers it.
    """
    claim = f"{theorem.key}:{theorem.variant}"
    instance, saved = built(document["instance"]), document["exact"]
    batch = CandidateBatch.of(instance)
    run = instance.run(rounds=ROUNDS, progress=False)
    before = float(saved["ratio"])

    def excluded_by(hypothesis: str) -> Explanation:
        return Explanation(
            name, claim, "hypothesis excludes it", before, math.nan, hypothesis
        )

    adds_smooth_samples = corrected.scope.samplewise and not theorem.scope.samplewise
    if adds_smooth_samples and batch.noise_ramps is not None:
        return excluded_by("smooth samples")
    adds_start = corrected.scope.common_start and not theorem.scope.common_start
    if adds_start and not has_common_start(run):
        return excluded_by("a common start")
    values = counterexample_values(run, corrected, batch, instance.rounds)
    values = values | {"T": saved["T"]}
    at = {n: float(np.max(values[n])) for n in corrected.needs}
    for condition, _, holds in corrected.check_conditions(**at):
        if not holds and condition not in theorem.conditions:
            return excluded_by(condition.name)
    bound = float(corrected.evaluate(where="ignore", **at))
    # a denominator of the bound is not positive: it admits no such step size
    if bound <= 0:
        return excluded_by("a positive denominator")
    after = float(saved["measured"]) / bound
    kind: Kind = "bound covers it" if after <= 1 else "not explained"
    return Explanation(name, claim, kind, before, after)


__all__ = ["Explanation", "citations", "explain", "explain_file"]
