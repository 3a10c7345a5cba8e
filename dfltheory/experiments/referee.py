"""A referee's page on one statement.

It contains the verdict, findings, the refutation, the corrected statement, and where
the bound is nonvacuous.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import numpy as np

from dfltheory.bounds import registry
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.display import condition_latex, sequences
from dfltheory.bounds.status import Status
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.code_digest import AUDITING, code_digest
from dfltheory.checks.finding import AuditFinding
from dfltheory.checks.headlines import (
    corrected_variant,
    examined,
    headline,
    statement_name,
)
from dfltheory.checks.run import audit
from dfltheory.counterexamples.describe import counterexample_lines, excess_words
from dfltheory.counterexamples.saved import replay
from dfltheory.errors import InputError
from dfltheory.experiments.claim_records import NEVER_EXAMINED, claim_document, versions
from dfltheory.experiments.claim_report import Budget, ClaimReport, examine
from dfltheory.experiments.html_text import html_text, mathml
from dfltheory.experiments.page_parts import page_template
from dfltheory.experiments.referee_pictures import phase_picture, refutation_picture
from dfltheory.files import check_writable, read_json, write_json, write_text
from dfltheory.progress import silent


def referee(
    theorem: Theorem,
    command: str,
    counterexample: Path | None = None,
    say: Callable[[str], None] = silent,
    reference: str = "",
    report: ClaimReport | None = None,
) -> str:
    """Return the page as one self-contained HTML document.

    Parameters
    ----------
    theorem : Theorem
        The statement.
    command : str
        Command that creates the page, which the page shows.
    counterexample : Path, optional
        A file written by ``dfltheory falsify``. It is replayed and shown on the page.
    say : callable
        Called with the current step.
    reference : str
        ``FILE.toml``, ``FILE.py:NAME`` or ``MODULE:NAME`` of a statement that is not
        registered, for commands on the page.
    report : ClaimReport, optional
        Search, controls and verdicts to show on the page.

    Raises
    ------
    InputError
        The counterexample is about another statement, or its instance does not violate
        this one.
    """
    say(f"auditing {theorem}")
    findings = _findings(theorem)
    status = _status(theorem, counterexample, say)
    return _page(
        theorem, command, counterexample, say, reference, findings, status, report
    )


def _status(
    theorem: Theorem, counterexample: Path | None, say: Callable[[str], None]
) -> Status:
    """Return the stored status, or the one that a counterexample file establishes."""
    if counterexample is None:
        return theorem.status
    say(f"replaying {counterexample.name}")
    return replayed_status(theorem, counterexample)


def _page(
    theorem: Theorem,
    command: str,
    counterexample: Path | None,
    say: Callable[[str], None],
    reference: str,
    findings: list[AuditFinding],
    status: Status,
    report: ClaimReport | None,
) -> str:
    """Return the page, given the findings of the audit and the status."""
    if report is not None and not status.search:
        status = replace(status, search=report.searched)
    errors = [finding for finding in findings if finding.severity == "error"]
    instead = corrected_variant(theorem) if status.refuted or errors else None
    saved = counterexample
    say("drawing" if saved is None else f"running {saved.name}, drawing")
    picture, caption = (
        (None, "") if saved is None else refutation_picture(saved, theorem, instead)
    )
    phase, said = phase_picture(theorem)
    hashes = [("Code of dfltheory.bounds and dfltheory.checks", code_digest(*AUDITING))]
    hashes += (
        [(saved.name, sha256(saved.read_bytes()).hexdigest()[:16])]
        if saved is not None
        else []
    )
    return page_template("referee.html.j2").render(
        name=statement_name(theorem),
        theorem=theorem,
        verdict=html_text(headline(theorem, status, len(errors), reference)),
        formula=mathml(theorem.latex(), "block"),
        conditions=[mathml(condition_latex(c, theorem)) for c in theorem.conditions],
        assumptions=[html_text(words) for words in theorem.assumptions],
        sequences=sequences(theorem),
        findings=[str(finding) for finding in findings if finding.severity != "note"],
        picture=picture,
        caption=caption,
        instead=instead,
        certificate="" if instead is None else str(instead.status),
        status=status,
        shown=(
            f"{_DRAW} {command} --counterexample FILE"
            if status.refuted and saved is None
            else ""
        ),
        examined=html_text(examined(theorem, status, len(errors), reference)),
        instead_formula="" if instead is None else mathml(instead.latex(), "block"),
        phase=phase,
        phase_caption=said,
        replay="" if saved is None else f"dfltheory falsify --replay {saved}",
        command=command,
        hashes=hashes,
        versions=versions(),
        report=report,
        outcome="" if report is None else report.outcome(status),
        evidence=[] if report is None else report.evidence(status),
        not_examined=NEVER_EXAMINED,
        statement=f"{reference or theorem.key} --variant {theorem.variant}",
    )


_DRAW = "With the counterexample's file the page draws it:"


def replayed_status(theorem: Theorem, counterexample: Path) -> Status:
    """Return the status of a statement according to a counterexample file.

    The file is replayed. A growing family refutes nothing, so that the stored status of
    the statement remains.

    Raises
    ------
    InputError
        The file is about another statement, or its instance does not violate this one.
    """
    registered = registry.known(theorem.key, theorem.variant)
    finding = replay(counterexample, None if registered else theorem)
    about = finding.theorem
    if about is None or statement_hash(about) != statement_hash(theorem):
        raise InputError(
            f"{counterexample} is about {about}, which differs from the statement"
            f" {theorem}"
        )
    if finding.growing:
        search = f"the file {counterexample.name}, replayed: {finding.divergence}"
        return replace(about.status, search=search)
    if not finding.violated:
        raise InputError(
            f"{counterexample} does not violate {theorem}: its ratio is"
            f" {finding.ratio:.6g}"
        )
    return Status(
        kind="refuted",
        how=excess_words(finding),
        ratio=finding.ratio,
        counterexample=counterexample_lines(finding),
        command=f"dfltheory falsify --replay {counterexample}",
        search=f"the file {counterexample.name}, replayed for this page",
    )


def _findings(theorem: Theorem) -> list[AuditFinding]:
    """Return the findings of the audit of a statement."""
    # the audit also evaluates points that violate the conditions
    with np.errstate(all="ignore"):
        return audit(theorem)


@dataclass(frozen=True)
class Written:
    """The files and the outcome of a report.

    Attributes
    ----------
    page, claim : Path
        The HTML and JSON files.
    counterexample : Path or None
        The counterexample that was found or given.
    outcome : str
        REFUTED, NOT REFUTED SO FAR or NOT APPLICABLE.
    errors : int
        Number of errors that the audit reports.
    """

    page: Path
    claim: Path
    counterexample: Path | None
    outcome: str
    errors: int


def write_page(
    theorem: Theorem,
    out: Path,
    command: str,
    counterexample: Path | None,
    say: Callable[[str], None],
    reference: str = "",
    *,
    budget: Budget | None = None,
    claim: Path | None = None,
) -> Written:
    """Examine a statement and write the page and ``claim.json``.

    Each file is written atomically.

    Parameters
    ----------
    theorem, command, counterexample, say, reference
        As for :func:`referee`.
    out : Path
        The page.
    budget : Budget, optional
        Budget of each search.
    claim : Path, optional
        By default ``claim.json`` next to the page.

    Raises
    ------
    InputError
        A file cannot be written, or ``claim.json`` belongs to another page.
    """
    if out.suffix != ".html":
        raise InputError(
            f"{out} must end in .html: the page is HTML, which a browser can print"
            " as PDF"
        )
    if claim is None:
        claim = out.with_name("claim.json")
        _refuse_another_claim(claim, out)
    counterexample_file = out.with_name(
        f"counterexample-{theorem.key}-{theorem.variant}.json"
    )
    for file in (out, claim, counterexample_file):
        check_writable(file)
    say(f"auditing {theorem}")
    findings = _findings(theorem)
    initial_status = _status(theorem, counterexample, say)
    report = examine(theorem, budget or Budget(), say)
    search = report.search
    saved, status = counterexample, initial_status
    if saved is None and search.outcome == "refuted" and search.finding is not None:
        saved = search.finding.save(counterexample_file)
        status = _status(theorem, saved, say)
    text = _page(theorem, command, saved, say, reference, findings, status, report)
    quoted = shlex.quote(reference or theorem.key)
    document = claim_document(
        report,
        initial_status,
        findings,
        reference=f"{quoted} --variant {theorem.variant}",
        command=command,
        page=out.name,
        counterexample=None if saved is None else saved.name,
    )
    write_text(out, text)
    write_json(claim, document.model_dump())
    return Written(out, claim, saved, document.outcome, document.audit.errors)


def _refuse_another_claim(claim: Path, page: Path) -> None:
    """Raise InputError if the file exists and belongs to another page."""
    if not claim.exists():
        return
    try:
        document = read_json(claim)
    except InputError:
        document = None
    page_of_claim = document.get("page") if isinstance(document, dict) else None
    if page_of_claim != page.name:
        raise InputError(
            f"{claim} exists and does not belong to {page.name}: write the page into"
            " another folder, or choose another file with --claim"
        )


__all__ = ["Written", "referee", "replayed_status", "write_page"]
