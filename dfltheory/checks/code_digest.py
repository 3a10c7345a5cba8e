"""A digest of code and data files.

Generated pages contain it, so that tests find a page that is older than its code.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE_FOLDER = Path(__file__).parent.parent
AUDITING = (PACKAGE_FOLDER / "bounds", PACKAGE_FOLDER / "checks")
"""The code from which the findings on a statement follow."""


def code_digest(*folders: Path) -> str:
    """Return 16 hexadecimal digits of a hash of the Python and TOML files of folders.

    Comments, docstrings and blank lines of Python files do not change it.
    """
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.toml")]):
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            text = path.read_text(encoding="utf-8")
            digest.update(
                f"{name}\n{code(text) if path.suffix == '.py' else text}".encode()
            )
    return digest.hexdigest()[:16]


@cache
def code(source: str) -> str:
    """Return the lines of ``source`` that contain code.

    Comments, strings on their own and blank lines are left out.
    """
    idle: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            idle.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return "\n".join(
        x
        for i, x in lines
        if i not in idle and x.strip() and not x.lstrip().startswith("#")
    )


__all__ = ["AUDITING", "code", "code_digest"]
