"""Writer of docs/audit.md, docs/audit.json and the table of statements in docs/covered.md.

``python -m validation.pages.audit docs/audit.md docs/covered.md`` writes them. The page
counts the findings of the audit, papers with mistakes first. The audit takes a minute, so
that the page carries a digest of the code that it follows from: a test compares that
without an audit.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dfltheory.bounds import registry
from dfltheory.checks.code_digest import AUDITING, code_digest
from dfltheory.checks.finding import Finding
from dfltheory.checks.run import CHECKS, audit
from dfltheory.files import write_text
from dfltheory.markdown import between
from dfltheory.markdown import table as markdown_table
from validation.papers.erratum import errata

CODE = AUDITING
"""The code from which the page follows."""

_INTRODUCTION = """# What the audit finds

This page counts the findings of `dfltheory audit` on every statement
(`python -m validation.pages.audit docs/audit.md docs/covered.md` writes it).

The checks ({checks}) read the data of a statement alone. An **error** is a statement that cannot be right as
displayed, or that does not follow from what it cites. A **warning** is a hidden assumption, or a claim weaker
than what was proved. The command in a row prints the findings, each with what shows it. The
[errata](errata/index.md) say what is wrong in each paper, why, and what holds; most of their entries come from
proofs, which the audit of a statement does not read.

<!-- from code {digest} -->
"""
_VACUOUS = """## Vacuous regions {: #vacuous }

The first T of a grid at which a bound, with its best admissible step and at everyday constants, says more than
is known without a proof (the bound on all gradients, or on the gradient at the start), and bound over that just
before. `dfltheory audit KEY --check conditions` prints the constants and the largest term.
"""
_VACUOUS_HEADS = ("statement", "variant", "informative from T", "ratio before")
_HEADS = ("statement", "variant", "errors", "warnings", "command")
TABLE = "<!-- statements: make generated -->"
"""The line above and below the table of statements."""


def table() -> str:
    """Return the papers with their theorems and corollaries and variants.

    A paper without theorems and corollaries is listed with all its statements.
    """
    rows = []
    for name in registry.papers():
        stated = registry.statements(name)
        main = [
            t for t in stated if t.kind in ("theorem", "corollary", "lower bound")
        ] or stated
        keys = ", ".join(dict.fromkeys(f"`{t.key}`" for t in main))
        kinds = ", ".join(dict.fromkeys(t.variant.split("_")[0] for t in main))
        paper = registry.paper(name)
        rows.append((f"{paper.title} ({paper.citation})", keys, kinds))
    return markdown_table(("paper", "theorems and corollaries", "variants"), rows)


def with_table(page: str) -> str:
    """Return a page with the table of today between its two marks."""
    return between(page, TABLE, table())


def markdown(findings: Iterable[Finding]) -> str:
    """Return the page: papers with errors, the most errors first; then the others."""
    found = list(findings)
    checks = ", ".join(f"`{name}`" for name in CHECKS)
    lines = [_INTRODUCTION.format(checks=checks, digest=code_digest(*CODE))]
    errors = Counter(_paper(f) for f in found if f.severity == "error")
    for paper, _ in errors.most_common():
        own = [finding for finding in found if _paper(finding) == paper]
        lines += _section(paper, own)
    rest = [paper for paper in registry.papers() if not errors[paper]]
    lines += ["## Papers without errors", "", _others(rest, found)]
    lines += _vacuous(found)
    return "\n".join(lines) + "\n"


def _paper(finding: Finding) -> str:
    return finding.key.split(".")[0]


def _section(paper: str, findings: Sequence[Finding]) -> Iterator[str]:
    yield f"## {registry.paper(paper).title} {{: #{paper} }}"
    yield ""
    if errata(paper):
        yield f"[Its errata](errata/{paper}.md) explain these findings, and more."
        yield ""
    claims = dict.fromkeys(
        (finding.key, finding.variant)
        for finding in findings
        if finding.severity in ("error", "warning")
    )
    rows = []
    for key, variant in claims:
        own = [f for f in findings if (f.key, f.variant) == (key, variant)]
        command = f"dfltheory audit {key} --variant {variant}"
        cells = (_checks(own, "error"), _checks(own, "warning"), f"`{command}`")
        rows.append((f"`{key}`", variant, *cells))
    yield markdown_table(
        _HEADS, [*(row for row in rows if row[2]), *(row for row in rows if not row[2])]
    )
    yield ""


def _checks(findings: Iterable[Finding], severity: str) -> str:
    """How many findings of a severity, and by which checks."""
    by_check = Counter(f.check for f in findings if f.severity == severity)
    names = ", ".join(f"{name} {count}" for name, count in by_check.items())
    return f"{sum(by_check.values())} ({names})" if by_check else ""


def _others(papers: Iterable[str], findings: Sequence[Finding]) -> str:
    rows = []
    for paper in papers:
        own = [finding for finding in findings if _paper(finding) == paper]
        keys = ", ".join(
            dict.fromkeys(f"`{t.key}`" for t in registry.statements(paper))
        )
        rows.append((registry.paper(paper).title, keys, _checks(own, "warning")))
    return markdown_table(("paper", "statements", "warnings"), rows)


def _vacuous(findings: Iterable[Finding]) -> Iterator[str]:
    """From which T on each bound says more than is known without a proof."""
    rows = []
    for finding in findings:
        first = finding.evidence.get("first")
        if finding.place != "vacuous region" or first is None:
            continue
        since = "none up to 10^15" if first == float("inf") else f"{first:.3g}"
        share = f"{finding.evidence['ratio']:.3g}"
        rows.append((f"`{finding.key}`", finding.variant, since, share))
    if rows:
        yield ""
        yield _VACUOUS
        yield markdown_table(_VACUOUS_HEADS, rows)


def main(arguments: list[str]) -> int:
    """Write the audit's page, its counts, and the table into pages with its marks."""
    if len(arguments) not in (1, 2):
        print("usage: python -m validation.pages.audit AUDIT [PAGE]", file=sys.stderr)
        return 2
    for page in map(Path, arguments[1:]):
        write_text(page, with_table(page.read_text(encoding="utf-8")))
    found, page = audit(), Path(arguments[0])
    write_text(page, markdown(found))
    write_text(page.with_suffix(".json"), json.dumps(counts(found), indent=1) + "\n")
    return 0


def counts(findings: Iterable[Finding]) -> dict[str, dict[str, int]]:
    """key:variant -> severity -> how many findings."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for finding in findings:
        found[f"{finding.key}:{finding.variant}"][finding.severity] += 1
    return {claim: dict(sorted(number.items())) for claim, number in found.items()}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["TABLE", "counts", "main", "markdown", "table", "with_table"]
