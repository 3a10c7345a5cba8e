"""A digest of Python code, by which a page says from which code it follows."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
AUDITING = (PACKAGE / "bounds", PACKAGE / "checks")
"""The code from which the findings on a statement follow."""


def code_digest(*folders: Path) -> str:
    """A digest of the Python files of folders, without comments, docstrings and blank lines."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            name = f"{folder.name}/{path.relative_to(folder).as_posix()}"
            digest.update(f"{name}\n{code(path.read_text(encoding='utf-8'))}".encode())
    return digest.hexdigest()[:16]


def code(source: str) -> str:
    """The lines of ``source`` that are no comment, no string on its own, and not blank."""
    idle: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            idle.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return "\n".join(x for i, x in lines if i not in idle and x.strip() and not x.lstrip().startswith("#"))


__all__ = ["AUDITING", "code", "code_digest"]
