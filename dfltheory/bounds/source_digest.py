"""A digest of the code of ``dfltheory.bounds``, by which a page says which code it follows from."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path


def fingerprint() -> str:
    """A digest of the code of ``dfltheory.bounds`` without comments, docstrings and blank lines."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(
            f"{path.relative_to(folder).as_posix()}\n{code(path.read_text(encoding='utf-8'))}".encode()
        )
    return digest.hexdigest()[:16]


def code(source: str) -> str:
    """The lines of ``source`` that are no comment, no string on its own, and not blank."""
    idle: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            idle.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return "\n".join(x for i, x in lines if i not in idle and x.strip() and not x.lstrip().startswith("#"))


__all__ = ["code", "fingerprint"]
