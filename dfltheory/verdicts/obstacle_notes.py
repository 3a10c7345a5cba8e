"""Remedies, in words, for obstacles that no change of hyperparameters removes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dfltheory.bounds import registry
from dfltheory.bounds.scope import LAWS
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import DFLTheoryError
from dfltheory.training.history import History
from dfltheory.verdicts.applicability import (
    OBSTACLE_KINDS,
    Obstacle,
    ObstacleKind,
    find_obstacle,
)
from dfltheory.verdicts.given_values import (
    BOUNDED_GRADIENTS,
    NETWORK_NAMES,
    TWO_BLOCKS,
)
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.network_scope import covered_sequences
from dfltheory.verdicts.run_values import run_values

MOST_KEYS = 4
"""Largest number of other statements that a note lists."""

WEIGHTS_FOR_LAWS = {
    "definition 1": ("connected", "metropolis"),
    "symmetric": ("connected", "metropolis"),
    "doubly stochastic": ("connected", "metropolis"),
    "column-stochastic": ("strongly connected", "column_stochastic"),
}
"""For each law of a scope: a property of the graph, and a weight rule that obeys it."""


def note_on(left: LeftHandSide, obstacle: Obstacle, given: Mapping[str, float]) -> str:
    """Return what removes an obstacle, in words; empty if nothing does.

    Parameters
    ----------
    left : LeftHandSide
        The run and the theorem.
    obstacle : Obstacle
        Why the theorem does not apply to the run.
    given : mapping
        The constants that the caller gave.
    """
    notes: list[str] = []
    if obstacle.kind in _REMEDIES:
        notes.append(_REMEDIES[obstacle.kind](left, obstacle))
    notes.append(_other_variants(left.run, left.theorem, obstacle, given))
    return "; ".join(filter(None, notes))


# -- remedies by the kind of the obstacle ----------------------------------------------


def _task_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    return "train on a task whose minibatch gradients are those of the measured f"


def _algorithm_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    names = f"train {' or '.join(left.theorem.scope.names)}"
    others = _statements_about(left.run, left.theorem)
    return "; ".join(filter(None, [names, others]))


def _blocks_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    return f"use a task with two blocks, such as {TWO_BLOCKS}"


def _gradients_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    return (
        f"give B=..., or use a task with bounded gradients, such as {BOUNDED_GRADIENTS}"
    )


def _start_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    return "start all clients at the same model, as by default"


def _unknown_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    return _how_to_give(left.run, obstacle.names, left.theorem)


def _range_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    if set(obstacle.names) & NETWORK_NAMES:
        return connected_network(left.theorem)
    return ""


def _measurement_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    return "" if left.missing is None else left.missing.remedy


def _network_remedy(left: LeftHandSide, obstacle: Obstacle) -> str:
    """Return which networks are covered, for a run on another network."""
    run, scope = left.run, left.theorem.scope
    facts = run.network_facts
    if scope.network == "none":
        return "run it without a network"
    if facts is None:
        return "state the network: network=W, or train again"
    steps = run.algorithm.gossip_steps
    if facts.kind == "losses" or not scope.covers_sequence(facts.sequence, steps):
        kinds = covered_sequences(scope)
        return f"use {kinds}, which does not depend on the samples"
    return connected_network(left.theorem)


_REMEDIES: dict[ObstacleKind, Callable[[LeftHandSide, Obstacle], str]] = {
    "task": _task_remedy,
    "algorithm": _algorithm_remedy,
    "blocks": _blocks_remedy,
    "gradients": _gradients_remedy,
    "network": _network_remedy,
    "start": _start_remedy,
    "unstated": _unknown_remedy,
    "unknown": _unknown_remedy,
    "range": _range_remedy,
    "measurement": _measurement_remedy,
}
"""The remedy of each kind of obstacle, in addition to using another variant."""


def connected_network(theorem: Theorem) -> str:
    """Return which network the scope of a theorem needs, in words."""
    law = theorem.scope.network
    if not isinstance(law, str):
        return "use a connected network whose matrices obey the law of the theorem"
    law = law if law in WEIGHTS_FOR_LAWS else "symmetric"
    graph, rule = WEIGHTS_FOR_LAWS[law]
    return (
        f"the network must be {graph} (then lam < 1), with weights that are"
        f" {LAWS[law]}: dfl.graphs.{rule}(graph), or --weights {rule}"
    )


def _how_to_give(run: History, names: tuple[str, ...], theorem: Theorem) -> str:
    """Return how the caller can supply unknown quantities, in words."""
    ways: list[str] = []
    constants = [name for name in names if name.isidentifier()]
    if constants == ["f0_gap"] and theorem.lhs.start not in run.rounds_measured:
        ways.append("measure every round (evaluate_every = 1)")
    if run.stated is None and "x_star_sq" in constants:
        ways.append("record dist_sq from round 0 (metrics=[dfl.verdicts.dist_sq])")
    if set(constants) & NETWORK_NAMES:
        ways.append(connected_network(theorem))
    if constants:
        values, first = ", ".join(f"{name}=..." for name in constants), constants[0]
        if run.stated is not None:
            ways.append(
                f"give {values} (constants= of the record, or --set {first}=...)"
            )
        else:
            ways.append(
                f"give {values} to compare (--set theorem.constants.{first}=... of"
                " dfltheory validate)"
            )
    facts = [name for name in names if not name.isidentifier()]
    ways += facts
    if run.stated is None and constants:
        ways.append('constants="estimate" (of a file with estimate_on=task)')
    return ", or ".join(ways) if not facts else " and ".join(ways)


def _statements_about(run: History, theorem: Theorem) -> str:
    """Return which other statements with constants cover a run's algorithm, in words.

    Empty if none does.
    """
    kind = type(run.algorithm)
    other_keys: list[str] = []
    keys = registry.keys()
    for key in keys:
        variants = [registry.get(key, name) for name in registry.variants(key)]
        if key != theorem.key and any(
            not statement.order and statement.scope.covers(kind)
            for statement in variants
        ):
            other_keys.append(key)
    if not other_keys:
        return ""
    more = ", ..." if len(other_keys) > MOST_KEYS else ""
    return (
        f"statements about {kind.__name__}: {', '.join(other_keys[:MOST_KEYS])}{more}"
    )


def _other_variants(
    run: History, theorem: Theorem, obstacle: Obstacle, given: Mapping[str, float]
) -> str:
    """Return which variants of a registered theorem lack the obstacle, in words.

    These are variants that apply to the run, or else those whose first obstacle is
    tested later.
    """
    if not registry.known(theorem.key, theorem.variant):
        return ""
    applying: list[str] = []
    later_obstacle: list[str] = []
    for variant in registry.variants(theorem.key):
        other = registry.get(theorem.key, variant)
        if variant == theorem.variant or other.order:
            continue
        try:
            rest = find_obstacle(run, other, run_values(run, other, given))
        except DFLTheoryError:  # a given constant contradicts the run
            continue
        if rest is None and LeftHandSide(run, other).unmeasured is None:
            applying.append(variant)
        elif rest is None or _position(rest) > _position(obstacle):
            later_obstacle.append(variant)
    if applying:
        return f"variant {', '.join(applying)} of {theorem.key} applies to this run"
    if later_obstacle:
        names = ", ".join(later_obstacle)
        return f"variant {names} of {theorem.key} does not have this limit"
    return ""


def _position(obstacle: Obstacle) -> int:
    """Return the position of an obstacle in the order in which kinds are tested."""
    return OBSTACLE_KINDS.index(obstacle.kind)


__all__ = ["connected_network", "note_on"]
