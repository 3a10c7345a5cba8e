"""Tools for users' own tests: Hypothesis strategies, an algorithm suite, and claims.

The strategies and claims need the ``hypothesis`` package (extra ``[testing]``);
:func:`check_algorithm` and :func:`law` do not. Examples: docs/property-testing.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dfltheory.graphs.user_laws import NetworkLaw, law
from dfltheory.testing.algorithms import check_algorithm

if TYPE_CHECKING:
    from dfltheory.testing.broken_matrices import (
        NearMiss,
        near_misses,
        push_sum_near_misses,
    )
    from dfltheory.testing.claims import BrokenClaimError, check_claim
    from dfltheory.testing.networks import (
        column_stochastic_matrices,
        connected_graphs,
        mixing_matrices,
        strongly_connected_digraphs,
        weights_on,
    )
    from dfltheory.testing.sequences import (
        b_connected_sequences,
        mixing_sequences,
        push_sum_sequences,
        random_sequences,
    )
    from dfltheory.testing.weight_rules import WeightRuleReport, check_weight_rule

_MODULES = {
    "BrokenClaimError": "claims",
    "NearMiss": "broken_matrices",
    "WeightRuleReport": "weight_rules",
    "b_connected_sequences": "sequences",
    "check_claim": "claims",
    "check_weight_rule": "weight_rules",
    "column_stochastic_matrices": "networks",
    "connected_graphs": "networks",
    "mixing_matrices": "networks",
    "mixing_sequences": "sequences",
    "near_misses": "broken_matrices",
    "push_sum_near_misses": "broken_matrices",
    "push_sum_sequences": "sequences",
    "random_sequences": "sequences",
    "strongly_connected_digraphs": "networks",
    "weights_on": "networks",
}
"""Module of each name that needs hypothesis."""


def __getattr__(name: str) -> object:
    """Import a name that needs hypothesis when it is first used."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    try:
        import hypothesis as _  # noqa: F401
    except ImportError as error:
        message = f"dfltheory.testing.{name} needs hypothesis: pip install '.[testing]'"
        raise ImportError(message) from error
    module = import_module(f"dfltheory.testing.{_MODULES[name]}")
    return getattr(module, name)


__all__ = [
    "BrokenClaimError",
    "NearMiss",
    "NetworkLaw",
    "WeightRuleReport",
    "b_connected_sequences",
    "check_algorithm",
    "check_claim",
    "check_weight_rule",
    "column_stochastic_matrices",
    "connected_graphs",
    "law",
    "mixing_matrices",
    "mixing_sequences",
    "near_misses",
    "push_sum_near_misses",
    "push_sum_sequences",
    "random_sequences",
    "strongly_connected_digraphs",
    "weights_on",
]
