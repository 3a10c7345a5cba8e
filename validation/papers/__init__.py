"""Case studies of the four papers: appendices, errata, refuted lines, proofs.

Each paper is a folder with ``appendix.toml`` (the lemmas and displays that errata cite,
as a theorem file), ``errata.toml``, ``refuted_lines.py``, ``witnesses.json`` and
``proof.py`` (proof scripts of the corrected statements). ``examination.json`` is the
archived result of the last examination of all displayed lines. ``python -m
validation.papers PAPER`` evaluates the refuted lines again, ``python -m
validation.papers CLAIM`` audits one statement, as ``dfedsam.lemma_D3``, and checks its
proof.
"""

from __future__ import annotations

import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from dfltheory.bounds.registry import REGISTRY
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.theorem_file import read_theorem_file
from dfltheory.bounds.units import Expr
from dfltheory.checks.finding import AuditFinding
from dfltheory.checks.run import audit_statement
from dfltheory.proofs import comparison
from dfltheory.proofs.comparison import Checked
from dfltheory.proofs.script import Corollary, Script

PAPERS = ("dfedadmm", "dfedmdc", "dfedsam", "dfedsgpsm")
FOLDER = Path(__file__).parent
EXAMINATION = FOLDER / "examination.json"


@cache
def appendix(paper: str) -> tuple[Theorem, ...]:
    """Return the lemmas and displays of a paper's appendix that errata cite.

    The result is empty for a paper without a folder.
    """
    if paper not in PAPERS:
        return ()
    return read_theorem_file(FOLDER / paper / "appendix.toml").theorems


@cache
def scripts() -> dict[str, Script | Corollary]:
    """Return the proof scripts of all papers by what they claim."""
    by_claim: dict[str, Script | Corollary] = {}
    for paper in PAPERS:
        proofs = importlib.import_module(f"validation.papers.{paper}.proof").SCRIPTS
        for script in proofs:
            by_claim[script.claim] = script
    return by_claim


def checked(claim: str) -> Checked:
    """Return the result of the proof kernel for the script of a claim.

    Results are kept, so that each script runs once.
    """
    return comparison.check_registered(scripts()[claim], scripts())


def statement(claim: str) -> Theorem:
    """Return a statement of the registry or of an appendix.

    ``claim`` is ``key:variant``, or ``key`` for the printed variant.

    Raises
    ------
    UnknownNameError
        There is no such statement.
    """
    key, _, variant = claim.partition(":")
    for theorem in appendix(key.split(".")[0]):
        if (theorem.key, theorem.variant) == (key, variant or "printed"):
            return theorem
    return REGISTRY.get(key, variant or "printed")


def findings(claim: str) -> list[AuditFinding]:
    """Return the findings of an audit that knows the appendix of the paper, too."""
    larger = REGISTRY.including(appendix(claim.split(".")[0]))
    return audit_statement(statement(claim), registry=larger)


def bound(claim: str) -> Expr:
    """Return the bound of a statement, in the symbols of the glossary."""
    return statement(claim).bound


def examination(paper: str) -> dict[str, Any]:
    """Return the archived examination of a paper.

    It has the displayed ``lines`` and the findings of each erratum.
    """
    return json.loads(EXAMINATION.read_text(encoding="utf-8"))["papers"][paper]


__all__ = [
    "PAPERS",
    "appendix",
    "bound",
    "checked",
    "examination",
    "findings",
    "scripts",
    "statement",
]
