"""Writer of the fields in docs/experiment-files.md.

After a change of options or docstrings, ``python -m validation.pages.config docs/experiment-files.md`` writes
them below the page's mark.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dfltheory.errors import InputError
from dfltheory.experiments.config.fields_table import fields_page
from dfltheory.files import write_text

MARK = "<!-- below: `dfltheory sweep --fields` -->"
"""The line above the generated part of the page."""


def renew(page: Path) -> None:
    """Write the fields below the mark of a page.

    Raises
    ------
    InputError
        The page has no mark.
    """
    written, mark, _ = page.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        raise InputError(f"{page} has no line {MARK}")
    write_text(page, f"{written}{MARK}\n\n{fields_page()}\n")


if __name__ == "__main__":
    renew(Path(sys.argv[1]))
