"""Repeat the evidence of errata.

``python -m validation.papers PAPER [PLACE]`` evaluates the refuted lines of a paper at
their witnesses; ``python -m validation.papers CLAIM`` audits a statement, as
``dfedsam.lemma_D3``, and checks its proof; ``python -m validation.papers ID`` evaluates
the witness of an erratum, as ``DFedSAM-E1``.
"""

from __future__ import annotations

import sys

from validation.papers import PAPERS, checked, findings, scripts
from validation.papers.erratum import erratum
from validation.papers.lines import refuted_lines
from validation.papers.witness_comparison import compare


def main(arguments: list[str]) -> int:
    """Repeat the evidence that the arguments name; return 1 if it does not hold."""
    if len(arguments) == 1 and "." in arguments[0]:
        return _examine(arguments[0])
    if len(arguments) == 1 and "-E" in arguments[0]:
        return _compare(arguments[0])
    if not 1 <= len(arguments) <= 2 or arguments[0] not in PAPERS:
        usage = (
            f"usage: python -m validation.papers {{{','.join(PAPERS)}}} [PLACE], or"
            " CLAIM, or ID"
        )
        print(usage, file=sys.stderr)
        return 2
    lines = refuted_lines(arguments[0])
    places = arguments[1:] or list(lines.by_place)
    evaluations = [lines.evaluate(place) for place in places]
    for evaluation in evaluations:
        print(f"{'refuted' if evaluation.refuted else 'NOT REFUTED'}: {evaluation}")
    return int(not all(evaluation.refuted for evaluation in evaluations))


def _compare(name: str) -> int:
    """Print both readings at the witness of an erratum; return 1 if none is wrong."""
    entry = erratum(name)
    if entry.witness is None or entry.witness.family:
        print(
            f"{name}: no witness that a formula evaluates. {entry.no_witness}".rstrip()
        )
        return 0
    comparison = compare(entry)
    if entry.witness.line:
        arguments = refuted_lines(entry.paper).exact_arguments(entry.witness.line)
        print(f"{entry.witness.line}, evaluated at:")
        print("\n".join(f"  {name} = {value}" for name, value in arguments.items()))
    for left, printed, corrected in comparison.rows:
        print(f"left {left}, printed {printed}, corrected {corrected}")
    print(f"printed line holds: {comparison.printed_holds}")
    print(f"corrected line holds: {comparison.corrected_holds}")
    return int(comparison.printed_holds or not comparison.corrected_holds)


def _examine(claim: str) -> int:
    """Print findings and proof of a claim; return 1 for an error or a failed proof."""
    audit = findings(claim)
    print("\n".join(map(str, audit)))
    failed = any(finding.severity == "error" for finding in audit)
    if claim in scripts():
        answer = checked(claim)
        print(answer)
        failed = failed or not answer.proved
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
