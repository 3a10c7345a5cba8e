"""The content of ``claim.json``, the result of an examination of a claim."""

from __future__ import annotations

import math
import platform
import shlex
from collections import Counter
from collections.abc import Sequence

import numpy as np

from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.status import Status
from dfltheory.checks.finding import AuditFinding
from dfltheory.experiments.cases import installed_versions
from dfltheory.experiments.claim_document import (
    AuditRecord,
    BudgetRecord,
    ClaimDocument,
    ControlRecord,
    FamilyRecord,
    SearchRecord,
    VerdictRecord,
)
from dfltheory.experiments.claim_report import ENOUGH_RATIO, ClaimReport, SearchResult
from dfltheory.experiments.negative_controls import Control
from dfltheory.experiments.standard_problems import (
    STANDARD_CONFIDENCE,
    STANDARD_SEEDS,
    StandardVerdict,
)
from dfltheory.files import json_value

NEVER_EXAMINED = (
    "families of candidate problems other than those listed, and more candidates of"
    " these",
    "problems, networks, horizons and step sizes other than those of the three"
    " verdicts",
    "the proof of the statement",
)
"""What no report examines."""


def claim_document(
    report: ClaimReport,
    status: Status,
    findings: Sequence[AuditFinding],
    *,
    reference: str,
    command: str,
    page: str,
    counterexample: str | None,
) -> ClaimDocument:
    """Return the content of ``claim.json``.

    Parameters
    ----------
    report : ClaimReport
    status : Status
        Stored status, or the one that a given counterexample establishes.
    findings : sequence of Finding
        Findings of the audit.
    reference : str
        Reference to the statement in commands, with ``--variant`` if needed.
    command : str
        Command that repeats the report.
    page, counterexample : str
        Files next to ``claim.json``.
    """
    theorem = report.theorem
    return ClaimDocument(
        key=theorem.key,
        variant=theorem.variant,
        title=theorem.title,
        source=theorem.source,
        statement=reference,
        statement_hash=statement_hash(theorem),
        outcome=report.outcome(status),
        evidence=report.evidence(status),
        examined=report.examined,
        not_examined=list(NEVER_EXAMINED),
        status=json_value(status.to_dict()),
        budget=BudgetRecord(
            seconds=None if report.budget.candidates else report.budget.seconds,
            candidates=report.budget.candidates,
            seed=report.budget.seed,
        ),
        audit=_audit_record(findings, reference),
        search=_search_record(report, reference, counterexample),
        controls=[
            _control_record(report, *entry, reference) for entry in report.controls
        ],
        verdicts=[_verdict_record(entry, reference) for entry in report.verdicts],
        versions=versions(),
        page=page,
        command=command,
    )


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that results depend on."""
    return {"python": platform.python_version(), **installed_versions()}


def _audit_record(findings: Sequence[AuditFinding], reference: str) -> AuditRecord:
    """Return the record of the audit, without its notes."""
    severities = Counter(finding.severity for finding in findings)
    counts = {name: severities[name] for name in ("error", "warning")}
    return AuditRecord(
        errors=counts["error"],
        warnings=counts["warning"],
        findings=[str(one) for one in findings if one.severity != "note"],
        command=f"dfltheory audit {reference}",
    )


def _search_record(
    report: ClaimReport, reference: str, counterexample: str | None
) -> SearchRecord:
    """Return the record of the search for a counterexample."""
    search = report.search
    assert search.outcome != "not run"  # only controls are left out
    rows = {} if search.finding is None else search.finding.families
    families = {}
    for name, row in rows.items():
        ratio = row["ratio"] if math.isfinite(row["ratio"]) else None
        candidates = int(row["evaluations"])
        families[name] = FamilyRecord(candidates=candidates, largest_ratio=ratio)
    return SearchRecord(
        outcome=search.outcome,
        reason=search.reason,
        candidates=search.candidates,
        seconds=search.seconds,
        seed=report.budget.seed,
        largest_ratio=search.ratio,
        families=families,
        counterexample=counterexample,
        command=f"dfltheory falsify {reference} {report.budget.words}",
    )


def _control_record(
    report: ClaimReport, control: Control, result: SearchResult, reference: str
) -> ControlRecord:
    """Return the record of the search for one negative control."""
    command = f"dfltheory falsify {reference} --control {shlex.quote(control.name)}"
    return ControlRecord(
        name=control.name,
        change=control.change,
        statement_hash=statement_hash(control.theorem),
        outcome=result.outcome,
        candidates=result.candidates,
        seconds=result.seconds,
        largest_ratio=result.ratio,
        command=f"{command} {report.budget.words} --enough {ENOUGH_RATIO}",
    )


def _verdict_record(result: StandardVerdict, reference: str) -> VerdictRecord:
    """Return the record of the verdict on one standard problem."""
    verdict = result.verdict
    ratio, interval = None, None
    if verdict is not None and math.isfinite(verdict.ratio):
        ratio = float(verdict.ratio)
    if verdict is not None and np.isfinite(verdict.ratio_ci).all():
        interval = [float(end) for end in verdict.ratio_ci]
    return VerdictRecord(
        network=result.network,
        task=result.task,
        options=dict(result.options),
        rounds=result.rounds,
        seeds=STANDARD_SEEDS,
        confidence=STANDARD_CONFIDENCE,
        hyperparameters=dict(result.hyperparameters),
        kind=result.kind,
        reason=result.reason,
        ratio=ratio,
        ratio_interval=interval,
        command=result.command(reference),
    )


__all__ = ["claim_document", "versions"]
