"""The second checker as a module: its files are a program of their own, in no package.

``check(source)`` returns what a proof proves, or raises ``ProofError``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_FOLDER = str(Path(__file__).parent)
sys.path.insert(0, _FOLDER)
import check_proof  # noqa: E402

sys.path.remove(_FOLDER)
ProofError = check_proof.ProofError


def check(source: str) -> Any:
    """Check the text of a proof."""
    return check_proof.check(source)


def rules() -> list[str]:
    """Return the names of the rules."""
    return check_proof.RULE_NAMES


__all__ = ["ProofError", "check", "rules"]
