"""Tools for users' own tests: Hypothesis strategies, an algorithm suite, and claims.

The strategies and claims need the ``hypothesis`` package (extra ``[testing]``);
:func:`check_algorithm` does not. Examples are in docs/property-testing.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dfltheory.testing.algorithms import check_algorithm

if TYPE_CHECKING:
    from dfltheory.testing.claims import BrokenClaimError, check_claim
    from dfltheory.testing.networks import (
        NearMiss,
        column_stochastic_matrices,
        connected_graphs,
        mixing_matrices,
        mixing_sequences,
        near_misses,
        push_sum_near_misses,
        push_sum_sequences,
        strongly_connected_digraphs,
    )

_CLAIMS = ("BrokenClaimError", "check_claim")


def __getattr__(name: str) -> Any:
    """Import a name that needs hypothesis when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    try:
        import hypothesis as _  # noqa: F401
    except ImportError as error:
        message = f"dfltheory.testing.{name} needs hypothesis: pip install '.[testing]'"
        raise ImportError(message) from error
    module = "claims" if name in _CLAIMS else "networks"
    return getattr(import_module(f"dfltheory.testing.{module}"), name)


__all__ = [
    "BrokenClaimError",
    "NearMiss",
    "check_algorithm",
    "check_claim",
    "column_stochastic_matrices",
    "connected_graphs",
    "mixing_matrices",
    "mixing_sequences",
    "near_misses",
    "push_sum_near_misses",
    "push_sum_sequences",
    "strongly_connected_digraphs",
]
