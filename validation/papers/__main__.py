"""``python -m validation.papers PAPER [PLACE]`` evaluates the refuted lines of a paper at their witnesses."""

from __future__ import annotations

import sys

from validation.papers import PAPERS
from validation.papers.lines import refuted_lines


def main(arguments: list[str]) -> int:
    """Print both sides of each line; 1 if a line is not refuted at its witness."""
    if not 1 <= len(arguments) <= 2 or arguments[0] not in PAPERS:
        print(f"usage: python -m validation.papers {{{','.join(PAPERS)}}} [PLACE]", file=sys.stderr)
        return 2
    lines = refuted_lines(arguments[0])
    places = arguments[1:] or list(lines.by_place)
    evaluations = [lines.evaluate(place) for place in places]
    for evaluation in evaluations:
        print(f"{'refuted' if evaluation.refuted else 'NOT REFUTED'}: {evaluation}")
    return 0 if all(evaluation.refuted for evaluation in evaluations) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
