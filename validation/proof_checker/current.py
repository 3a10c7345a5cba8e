"""The proof that is being checked."""

from typing import Any

proof: Any = None
