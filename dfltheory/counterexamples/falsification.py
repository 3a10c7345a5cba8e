"""The search for a counterexample to each reading of a statement."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.reference import Reference, load
from dfltheory.counterexamples.certificate import Certificate
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.crowd_search import CrowdSearch
from dfltheory.counterexamples.divergence import steepest
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.long_noise import noisy_instances
from dfltheory.counterexamples.score import shortest_horizon
from dfltheory.counterexamples.search import Arm, Clock, search, wall
from dfltheory.counterexamples.search_spaces import refused_families, search_spaces
from dfltheory.errors import DFLTheoryError, InputError, whole_number
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

MOST_TRIED_FAMILIES = 6
"""Number of families whose best candidates the training core may evaluate, in order of
fitness.
"""
LONG_NOISE = "stationary noise, closed form"
"""Name of the problems of :mod:`.long_noise`."""
COMMON_START_READING = "common start"
SEPARATE_STARTS = "separate starts"
STATE_NOISE = "noise that depends on the state"

Progress = Callable[[str, float, int], None]
"""Called with the stage of a search, its best ratio and number of candidates."""


def falsify(
    key: Reference,
    variant: str | None = None,
    *,
    seconds: float = 60.0,
    candidates: int | None = None,
    seed: int = 0,
    enough: float = math.inf,
    progress: Progress | None = None,
) -> Finding:
    """Search for a problem that meets a theorem's assumptions and violates its bound.

    The budget is shared among the readings of the statement (:func:`readings`), the
    strictest first. If it is large enough, a part of it is for problems that only runs
    can decide (:mod:`.crowd_search`). Corollaries are searched under their schedule.
    For statements in O(.) the search looks for a one-parameter family along which
    measured / expression grows, which is not a refutation (:attr:`Finding.growing`).

    Parameters
    ----------
    key : str or Theorem
        The statement: a registered key, a Theorem, or ``FILE.py:NAME``.
    variant : str, optional
        Variant of a registered statement; ``printed`` by default.
    seconds : float
        Time limit of the search. Confirmation by the training core takes additional
        time.
    candidates : int, optional
        Limit on the number of candidates, instead of ``seconds``. Searches with the
        same limit and seed are identical on all machines.
    seed : int
        Seed of the search.
    enough : float
        Stop as soon as measured / bound exceeds this. By default the search uses its
        whole budget to find the largest ratio.
    progress : callable, optional
        Called repeatedly with the stage ("searching" or "confirming"), the best ratio
        so far, and the number of candidates.

    Raises
    ------
    UnknownNameError
        The key is unknown.
    InputError
        The statement cannot be searched (lemmas and displays inside proofs), the budget
        is not positive, or the seed is negative.
    """
    theorem = load(key, variant)
    budget = seconds if candidates is None else candidates
    whole_number("seed", seed, at_least=0)
    if not budget > 0:
        raise InputError(
            f"{'seconds' if candidates is None else 'candidates'} = {budget} must"
            " be > 0"
        )
    clock: Clock = wall if candidates is None else float
    if theorem.kind not in ("theorem", "corollary") and not theorem.order:
        kind = theorem.kind
        if kind != "lower bound":
            kind = f"{kind} inside a proof"
        raise InputError(
            f"{theorem} is a {kind}: falsify searches theorems and corollaries; to"
            ' search it, state it with kind = "theorem"'
        )
    if theorem.lhs.aggregate == "each" and not theorem.order:
        raise InputError(
            f"{theorem} bounds each round separately, which falsify cannot search: use"
            " the aggregate 'last', 'min' or 'mean'"
        )
    started, before = time.monotonic(), clock(0)
    statement_readings = readings(theorem)
    crowds = CrowdSearch.within(
        statement_readings[0][1], budget, in_candidates=candidates is not None
    )
    budget *= 1 - crowds.reserved_share
    findings: dict[str, Finding] = {}
    for k, (name, reading) in enumerate(statement_readings):
        left = budget - (
            clock(sum(finding.evaluations for finding in findings.values())) - before
        )
        share = max(left, 0.0) / (len(statement_readings) - k)
        if findings and share < 0.05 * budget:
            break
        if theorem.order:
            findings[name] = _search_growing_family(reading, share, seed, clock)
        else:
            findings[name] = _search_counterexample(
                reading, share, seed, enough, progress, clock
            )
        is_enough = findings[name].violated and findings[name].ratio >= enough
        if findings[name].growing or is_enough:
            break
    if not any(finding.violated for finding in findings.values()):
        strictest = statement_readings[0][0]
        findings[strictest] = _refuted_by_crowds(findings[strictest], crowds, started)
    return _refute_strictest(findings, theorem, time.monotonic() - started)


def readings(theorem: Theorem) -> list[tuple[str, Theorem]]:
    """Return the ways to read a statement, the strictest first.

    Each reading covers all problems of the preceding one, so that a counterexample to
    the first one refutes all of them.

    * ``common start``: all clients start at one point.
    * ``separate starts``: starts are free. It exists if the scope does not require a
      common start.
    * ``noise that depends on the state``: such noise is admitted. It exists if the
      scope does not require samples as smooth as the clients (``samplewise``).
    """
    own_scope = theorem.scope
    strict = replace(own_scope, common_start=True, samplewise=True)
    scopes = {COMMON_START_READING: strict}
    if not own_scope.common_start and not theorem.order:
        scopes[SEPARATE_STARTS] = replace(strict, common_start=False)
    if not own_scope.samplewise and not theorem.order:
        scopes[STATE_NOISE] = own_scope
    statements = []
    for name, scope in scopes.items():
        statement = theorem if scope == own_scope else replace(theorem, scope=scope)
        statements.append((name, statement))
    return statements


def _refuted_by_crowds(
    finding: Finding, crowds: CrowdSearch, started: float
) -> Finding:
    """Return the finding with a refutation by a crowd, or unchanged without one."""
    refutation = crowds.refutation()
    if refutation is None:
        return finding
    family, instance, certificate = refutation
    ratio = certificate.sides["ratio"]
    return replace(
        finding,
        violated=True,
        ratio=ratio,
        evaluations=finding.evaluations + 1,
        families=finding.families | {family: {"ratio": ratio, "evaluations": 1}},
        family=family,
        instance=instance,
        certificate=certificate,
        first=time.monotonic() - started,
    )


def _search_growing_family(
    theorem: Theorem, budget: float, seed: int, clock: Clock
) -> Finding:
    """Search for a family along which measured / expression of an O(.) grows."""
    started = time.monotonic()
    best, families, evaluations = steepest(theorem, budget, seed, clock)
    if best is None:
        ratio = max((row["ratio"] for row in families.values()), default=0.0)
    else:
        ratio = best.ratios[-1] / best.ratios[0]
    spent = time.monotonic() - started
    return Finding(
        key=theorem.key,
        variant=theorem.variant,
        violated=False,
        ratio=ratio,
        evaluations=evaluations,
        seconds=spent,
        seed=seed,
        divergence=best,
        families=families,
        first=spent if best is not None and best.grows else None,
    )


def _search_counterexample(
    theorem: Theorem,
    budget: float,
    seed: int,
    enough: float,
    progress: Progress | None,
    clock: Clock,
) -> Finding:
    """Search for a counterexample to a statement with explicit constants."""
    started = time.monotonic()
    first: float | None = None

    def report(best: float, count: int) -> None:
        nonlocal first
        if best > 1 and first is None:
            first = time.monotonic() - started
        if progress is not None:
            progress("searching", best, count)

    arms = search(theorem, search_spaces(theorem), budget, seed, enough, report, clock)
    if progress is not None:
        searched = sum(arm.evaluations for arm in arms)
        ratios = [float(arm.ratio[arm.best]) for arm in arms]
        progress("confirming", float(np.nanmax([0.0, *ratios])), searched)
    confirmed = best_of(theorem, arms)  # evaluates further candidates
    families = merge_families(
        (arm.space.name, float(arm.ratio[arm.best]), arm.evaluations) for arm in arms
    )
    nothing = Finding(
        key=theorem.key,
        variant=theorem.variant,
        violated=False,
        ratio=math.nan,
        evaluations=sum(arm.evaluations for arm in arms),
        seconds=time.monotonic() - started,
        seed=seed,
        families=families,
        refused=refused_families(theorem),
    )
    if confirmed is None:
        return nothing
    family, instance, certificate = confirmed
    if first is None:
        first = time.monotonic() - started
    return replace(
        nothing,
        violated=certificate.violated,
        ratio=certificate.sides["ratio"],
        family=family,
        instance=instance,
        certificate=certificate,
        terms=_best_by_term(theorem, arms),
        first=first if certificate.violated else None,
    )


def _best_by_term(theorem: Theorem, arms: list[Arm]) -> TermShares:
    """Return the best value in each niche, by term of the bound."""
    terms: TermShares = {}
    count = len(theorem.parts)
    for k, name in enumerate(theorem.parts):
        terms[name] = {
            "share": max(arm.niche_value(k) for arm in arms),
            "without": max(arm.niche_value(count + k) for arm in arms),
        }
    return terms


def merge_families(
    rows: Iterable[tuple[str, float, float]],
) -> dict[str, dict[str, float]]:
    """Return largest ratio and number of candidates of each family, by name."""
    families: dict[str, dict[str, float]] = {}
    for name, ratio, evaluations in rows:
        row = families.setdefault(name, {"ratio": float("nan"), "evaluations": 0})
        row["evaluations"] += evaluations
        row["ratio"] = float(np.fmax(row["ratio"], ratio))
    return families


TermShares = dict[str, dict[str, float]]
"""``share`` and ``without`` of each term of the bound, see :class:`Finding`."""


def largest_terms(searches: list[TermShares]) -> TermShares:
    """Return the largest values of each term over several searches."""
    merged: TermShares = {}
    for terms in searches:
        for name, row in terms.items():
            row_so_far = merged.setdefault(name, dict(row))
            for key, value in row.items():
                row_so_far[key] = max(row_so_far[key], value)
    return merged


def _refute_strictest(
    found: dict[str, Finding], theorem: Theorem, seconds: float
) -> Finding:
    """Return the finding for the strictest reading that is refuted.

    If none is refuted, it is the finding with the largest ratio.
    """
    findings = list(found.values())
    ratios = np.nan_to_num([finding.ratio for finding in findings], nan=-1.0)
    largest_ratio = findings[int(ratios.argmax())]
    refuted = [finding for finding in findings if finding.violated or finding.growing]
    best = refuted[0] if refuted else largest_ratio
    rows = []
    ratios_by_reading = {}
    for name, finding in found.items():
        ratios_by_reading[name] = {
            "ratio": finding.ratio,
            "violated": finding.violated,
        }
        for family, row in finding.families.items():
            rows.append((family, row["ratio"], row["evaluations"]))
    return replace(
        best,
        evaluations=sum(entry.evaluations for entry in findings),
        seconds=seconds,
        families=merge_families(rows),
        terms=largest_terms([entry.terms for entry in findings]),
        refused=_refused_by_all(findings),
        readings=ratios_by_reading,
        theorem=theorem,
    )


def _refused_by_all(found: Iterable[Finding]) -> dict[str, str]:
    """Return the families that have no candidates under any reading."""
    refusals = [finding.refused for finding in found]
    common = set(refusals[0]).intersection(*refusals)
    return {name: reason for name, reason in refusals[0].items() if name in common}


def best_of(
    theorem: Theorem, arms: list[Arm]
) -> tuple[str, Instance, Certificate] | None:
    """Return the family, instance and certificate of the best confirmed candidate.

    If the training core confirms none, a closed form for noise over long horizons is
    tried (:mod:`.long_noise`). If it does not refute the statement either, the result
    is the best candidate that the core has evaluated; None if it has evaluated none.
    """
    best_unconfirmed = None
    for arm in arms[:MOST_TRIED_FAMILIES]:
        point = arm.points[arm.best][None]
        scores = arm.evaluate(point)
        if not np.isfinite(scores.ratio[0]):
            continue
        batch = arm.candidates(point)
        T = shortest_horizon(theorem, batch, int(scores.T[0]), float(scores.ratio[0]))
        T = T if not arm.space.horizon(arm.shared) else int(scores.T[0])
        instance = batch.alone(0, scores.x0, T)
        certificate = certify(instance, theorem)
        evaluated = arm.space.name, instance, certificate
        if certificate.violated:
            return evaluated
        best_unconfirmed = best_unconfirmed or evaluated
        if scores.ratio[0] <= 1:
            break
    return _refuted_by_long_noise(theorem) or best_unconfirmed


def _refuted_by_long_noise(
    theorem: Theorem,
) -> tuple[str, Instance, Certificate] | None:
    """Return a refutation by noise over a long horizon; None if there is none."""
    try:
        for instance in noisy_instances(theorem):
            certificate = certify(instance, theorem)
            if certificate.violated:
                return LONG_NOISE, instance, certificate
    except DFLTheoryError:  # the statement has quantities or laws that these lack
        return None
    return None


__all__ = [
    "COMMON_START_READING",
    "SEPARATE_STARTS",
    "STATE_NOISE",
    "best_of",
    "falsify",
    "largest_terms",
    "readings",
    "merge_families",
]
