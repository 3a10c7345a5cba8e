"""Which instances of :mod:`.floor_instances` are in the scope of a statement."""

from __future__ import annotations

from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.effective_steps import (
    DUAL,
    LASTING_MOMENTUM,
    MOMENTUM,
    PLAIN_STEPS,
)
from dfltheory.checks.floor_instances import FloorInstance

_ADAPT_FIRST = {"order": "adapt-then-combine"}
_NETWORKS = ("symmetric", "definition 1", "doubly stochastic", "column-stochastic")


def covers(theorem: Theorem, instance: FloorInstance) -> bool:
    """Return whether the instance is certainly in scope, and its left side known."""
    scope, left = theorem.scope, theorem.lhs
    if theorem.order or theorem.kind not in ("theorem", "corollary"):
        return False
    if scope.participation != "full":
        return False
    if not instance.everywhere and (scope.two_blocks or left.start != 0):
        return False
    if instance.gossip and cites_push_sum(theorem):
        return False
    if instance.mechanism and not set(instance.mechanism) & set(theorem.needs):
        return False
    if left.measure not in instance.measures:
        return False
    if left.aggregate not in instance.aggregates:
        return False
    return derived_algorithm(theorem, instance) is not None and _network_in_scope(
        theorem, instance
    )


def cites_push_sum(theorem: Theorem) -> bool:
    """Return whether the bound contains C or q of the cited lemma.

    These are not 1 and 0 for exact averages. The instance then has two clients.
    """
    return theorem.scope.push_sum == "cited" and bool({"C", "q"} & set(theorem.needs))


def derived_algorithm(theorem: Theorem, instance: FloorInstance) -> str | None:
    """Return an algorithm of the scope to which the derivation applies, or None."""
    names = theorem.scope.algorithms
    variants = dict(theorem.scope.hyperparameters)
    if variants.pop("keep_momentum", False) and "DFedAvgM" in names:
        names = (LASTING_MOMENTUM,)
    for name in instance.algorithms:
        if name not in names:
            continue
        if instance.everywhere or name not in (
            *PLAIN_STEPS,
            *MOMENTUM,
            LASTING_MOMENTUM,
            *DUAL,
        ):
            return name
        if any(_ADAPT_FIRST.get(n) != v for n, v in variants.items()):
            continue
        if name == "DPSGD" and variants != _ADAPT_FIRST:
            continue
        return name
    return None


def _network_in_scope(theorem: Theorem, instance: FloorInstance) -> bool:
    """Return whether the network of an instance is in scope.

    It is a complete graph of equal weights, or has another eigenvalue.
    """
    if instance.everywhere:
        return True
    if instance.gossip:
        known = "lam" in theorem.needs or "q" in theorem.needs
        fixed = known and "fixed" in theorem.scope.sequence
        return fixed and theorem.scope.network in _NETWORKS
    return theorem.scope.network in (*_NETWORKS, "none")


__all__ = ["cites_push_sum", "covers", "derived_algorithm"]
