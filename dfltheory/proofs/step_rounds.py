"""One round of the algorithms that declared proof steps are about.

A class with one local step takes its gradients at the models of the round's start. The
sums over steps then have one term, and :func:`single_step` writes a step as its sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Theorem
from dfltheory.proofs.algorithm_rounds import ROUNDS
from dfltheory.proofs.moments import AlgorithmRound, G, Moment, N, X, k


@dataclass(frozen=True)
class StepRound:
    """``algorithm`` as the kernel has it; ``single``: one local step a round."""

    algorithm: AlgorithmRound
    single: bool = False


_GOSSIP = "dfltheory.algorithms.gossip"
STEP_ROUNDS: Mapping[str, StepRound] = MappingProxyType(
    {
        "DPSGD": StepRound(ROUNDS["DPSGD"], single=True),
        "DFedAvg": StepRound(
            AlgorithmRound(
                "DFedAvg",
                X - (G + N).sum(k) * s.eta,
                X - (G + N).sum(s.K) * s.eta,
                X.mean(),
            )
        ),
        "DFedSAM": StepRound(ROUNDS["DFedSAM"]),
    }
)
"""By the name of the package's class."""


def round_of(theorem: Theorem) -> StepRound | None:
    """Return the round of the most general class of a scope; None if unknown."""
    scope = theorem.scope
    first = scope.algorithms[0]
    of_user = ":" in first if isinstance(first, str) else first.__module__ != _GOSSIP
    adapt_first = scope.hyperparameters.get("order") == "adapt-then-combine"
    if of_user or scope.two_blocks or scope.participation != "full":
        return None
    if "DPSGD" in scope.names and not adapt_first:
        return None
    return STEP_ROUNDS.get(scope.names[0])


def single_step(moment: Moment) -> Moment:
    """Return a moment with the only step of a round written as a sum over the steps."""
    vec, other = moment.vec.only_step(s.K), moment.other.only_step(s.K)
    return replace(moment, vec=vec, other=other, steps="")


__all__ = ["STEP_ROUNDS", "StepRound", "round_of", "single_step"]
