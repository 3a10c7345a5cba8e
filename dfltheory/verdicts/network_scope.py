"""Whether a theorem covers the network of a run."""

from __future__ import annotations

from collections.abc import Callable

from dfltheory.bounds.scope import LAWS, Scope
from dfltheory.constants import SEQUENCES
from dfltheory.graphs.definition_1 import DRAWS
from dfltheory.graphs.sequences import (
    MOST_MATRICES,
    MixingSequence,
    distinct,
    matrices_used,
    rounds_of,
)
from dfltheory.graphs.user_laws import NetworkLaw
from dfltheory.training.facts import NetworkFacts

_MOST_DRAWS = 200
"""Number of random matrices to which a third-party law is applied."""


def law_obstacle(
    facts: NetworkFacts | None,
    scope: Scope,
    topology: MixingSequence | None,
    rounds: int,
    gossip_steps: int,
) -> str | None:
    """Return why a theorem's scope does not cover the network of a run, or None.

    Parameters
    ----------
    facts : NetworkFacts or None
        Facts of the network; None if they are unknown.
    scope : Scope
        The scope of the theorem.
    topology : MixingSequence or None
        The network itself, for a third-party law; None for a run from a file.
    rounds, gossip_steps : int
        Number of rounds, and gossip steps of each; they determine which matrices are
        used.
    """
    law = scope.network
    if facts is None:
        return (
            "the file does not contain the network of its run: train again, or load a"
            " file of this version"
        )
    if law == "none" or facts.kind == "none":
        return _presence_obstacle(law == "none", facts.kind == "none")
    obstacle = _sequence_obstacle(facts, scope, gossip_steps)
    if obstacle is not None:
        return obstacle
    if facts.kind == "varying" and not facts.proved:
        return (
            "its law of the network was examined on a sample of the run's mixing"
            " matrices only: give a list that repeats, or at most"
            f" {MOST_MATRICES} matrices"
        )
    if callable(law):
        return _own_law_obstacle(law, topology, rounds, gossip_steps)
    not_symmetric = "it is not symmetric" if facts.directed else None
    failures = {
        "definition 1": facts.definition_1,
        "symmetric": facts.doubly_stochastic or not_symmetric,
        "doubly stochastic": facts.doubly_stochastic,
        "column-stochastic": facts.column_stochastic,
    }
    if failures[law] is None:
        return None
    name = "Definition 1" if law == "definition 1" else f"its law ({LAWS[law]})"
    return f"the mixing matrix breaks {name}: {failures[law]}"


def sampled_law(facts: NetworkFacts | None) -> str:
    """Return what a verdict presumes of random matrices, in words; empty if nothing."""
    if facts is None or facts.kind != "random" or facts.proved:
        return ""
    return f"presuming the law of its random matrices, which {DRAWS} draws obey"


def covered_sequences(scope: Scope) -> str:
    """Return which sequences of matrices a statement covers, in words."""
    return ", or ".join(SEQUENCES[kind] for kind in scope.sequence)


def _presence_obstacle(covers_none: bool, has_none: bool) -> str | None:
    if covers_none and not has_none:
        return "it covers runs without a network, and this run has one"
    if has_none and not covers_none:
        return "it covers runs on a network, and this run has none"
    return None


def _own_law_obstacle(
    law: Callable[..., str | None],
    topology: MixingSequence | None,
    rounds: int,
    gossip_steps: int,
) -> str | None:
    """Return why a third-party law rejects the matrices of a run, or None."""
    if topology is None:
        return (
            "its own law of the network cannot be checked on a run from a file, which"
            " contains no matrices"
        )
    most = _MOST_DRAWS if topology.random else MOST_MATRICES
    used = matrices_used(topology, rounds, gossip_steps)
    matrices = rounds_of(topology, min(used, most)).matrices
    if isinstance(law, NetworkLaw) and law.of == "sequence":
        failure = law.failure_of(matrices)
        return None if failure is None else f"the network breaks its law: {failure}"
    for matrix in distinct(matrices).values():
        failure = law(matrix)
        if failure is not None:
            return f"the mixing matrix breaks its law: {failure}"
    return None


def _sequence_obstacle(
    facts: NetworkFacts, scope: Scope, gossip_steps: int
) -> str | None:
    """Return why the statement does not cover this kind of sequence, or None."""
    if facts.kind == "losses" and scope.sequence != ("fixed",):
        return (
            "it needs mixing matrices that do not depend on the samples, and these"
            " follow the losses"
        )
    # without a declared law, lam of random matrices is known only in the mean
    undeclared = (
        facts.kind == "random"
        and facts.sequence == "any"
        and scope.network != "column-stochastic"
    )
    covered_kind = scope.covers_sequence(facts.sequence, gossip_steps)
    if facts.kind != "losses" and covered_kind and not undeclared:
        return None
    if scope.sequence == ("fixed",):
        return (
            "it covers one fixed mixing matrix, and this network changes from round to"
            " round"
        )
    covered = f"it covers the network sequences {', '.join(scope.sequence)}"
    if facts.sequence != "any":
        steps = f" with Q = {gossip_steps} gossip steps" if gossip_steps > 1 else ""
        return f"{covered}, and this network is: {facts.sequence}{steps}"
    choices = ", ".join(kind for kind in SEQUENCES if kind not in ("fixed", "any"))
    return (
        f"{covered}, and this network does not declare its kind: give as_sequence(f,"
        f" kind=...), or a sequence with an attribute kind, one of {choices}"
    )


__all__ = ["covered_sequences", "law_obstacle", "sampled_law"]
