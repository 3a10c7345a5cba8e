"""``dfltheory new``: a template of a theorem file."""

from __future__ import annotations

import sys


def new() -> None:
    """Print a commented theorem file to start from.

    Examples:

        dfltheory new > mine.toml
    """
    from dfltheory.bounds.theorem_file import theorem_file_template

    sys.stdout.write(theorem_file_template())
