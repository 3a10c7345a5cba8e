"""Repeat the evidence of errata.

``python -m validation.papers PAPER [PLACE]`` evaluates the refuted lines of a paper at their witnesses;
``python -m validation.papers CLAIM`` audits a statement, as ``dfedsam.lemma_D3``.
"""

from __future__ import annotations

import sys

from validation.papers import PAPERS, findings
from validation.papers.lines import refuted_lines


def main(arguments: list[str]) -> int:
    """Print both sides of each line, 1 if one is not refuted; or the findings on a claim, 1 if one is an
    error."""
    if len(arguments) == 1 and "." in arguments[0]:
        found = findings(arguments[0])
        print("\n".join(map(str, found)))
        return int(any(finding.severity == "error" for finding in found))
    if not 1 <= len(arguments) <= 2 or arguments[0] not in PAPERS:
        usage = f"usage: python -m validation.papers {{{','.join(PAPERS)}}} [PLACE], or CLAIM"
        print(usage, file=sys.stderr)
        return 2
    lines = refuted_lines(arguments[0])
    places = arguments[1:] or list(lines.by_place)
    evaluations = [lines.evaluate(place) for place in places]
    for evaluation in evaluations:
        print(f"{'refuted' if evaluation.refuted else 'NOT REFUTED'}: {evaluation}")
    return 0 if all(evaluation.refuted for evaluation in evaluations) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
