"""Search spaces as unit cubes.

Each combines a family of problems, a kind of network and numbers of local and gossip
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.decoding import DiscreteChoices, decoded
from dfltheory.counterexamples.families import Family, problem_families
from dfltheory.counterexamples.networks import (
    CandidateNetwork,
    DrawnNetworks,
    candidate_networks,
)
from dfltheory.counterexamples.reach import hyperparameters, refuse_unsearchable
from dfltheory.counterexamples.shared_numbers import (
    SharedNumbers,
    drawn_numbers,
    radius_field,
)

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Counts = dict[str, int]
SIMULATED_ROUNDS = {False: 300, True: 400}
"""Rounds to simulate for one block and for two, if no schedule fixes the horizon."""
LOCAL_STEP_COUNTS = {
    0: ((),),
    1: ((1,), (2,), (5,)),
    2: ((1, 1), (2, 1), (1, 3), (2, 3)),
}
"""Numbers of local steps to try, by how many kinds of them there are."""
PIECEWISE = {False: "piecewise linear", True: "piecewise linear, two blocks"}
"""Names of the problems that belong to no family, for one block and for two."""
NUMERALS = {1: "one client", 2: "two clients", 3: "three clients", 4: "four clients"}


def _no_numbers(rng: np.random.Generator) -> SharedNumbers:
    """Return no shared numbers."""
    return {}


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """One part of the search.

    Attributes
    ----------
    name : str
    dimension : int
        Dimension of the unit cube.
    rounds : int
        Rounds to simulate if no schedule fixes the horizon.
    decode : callable
        Maps points (P, dimension) of the unit cube, and the numbers that a batch
        shares, to candidates.
    counts : dict
        Numbers of local and gossip steps.
    draw : callable
        Draws the shared numbers.
    T : int
        The horizon, if it is fixed; otherwise 0.
    """

    name: str
    dimension: int
    rounds: int
    decode: Callable[[np.ndarray, SharedNumbers], CandidateBatch]
    counts: Counts
    draw: Callable[[np.random.Generator], SharedNumbers] = _no_numbers
    T: int = 0

    def horizon(self, shared: SharedNumbers) -> int:
        """Return the fixed horizon of a batch; 0 selects the worst horizon."""
        return self.T or int(shared.get("T", 0))


def search_spaces(theorem: Theorem) -> list[SearchSpace]:
    """Return the search spaces of a statement with explicit constants.

    The most promising ones are first.

    Raises
    ------
    InputError
        The search cannot treat the statement.
    """
    refuse_unsearchable(theorem)
    steps = _counts(theorem)
    drawn = candidate_networks(theorem)
    general = list(_piecewise_layouts(theorem, drawn, steps))
    fitted = list(_fitted_layouts(theorem, drawn, steps))
    spaces = [_space(theorem, layout) for layout in (*general, *fitted)]
    count = len(general)
    # a short search tries only the first ones
    return [*spaces[:2], *spaces[count:], *spaces[2:count]]


def refused_families(theorem: Theorem) -> dict[str, str]:
    """Return the families that have no candidates for a statement, with the reason."""
    reasons = {family.name: family.refusal(theorem) for family in problem_families()}
    return {name: reason for name, reason in reasons.items() if reason}


def _counts(theorem: Theorem) -> list[Counts]:
    """Return the numbers of local steps to try, each with one gossip step."""
    local, base = _local_counts(theorem), dict.fromkeys(_gossip_counts(theorem), 1)
    size = len(local)
    levels = LOCAL_STEP_COUNTS.get(size, ((1,) * size, (2,) * size))
    return [base | dict(zip(local, level, strict=True)) for level in levels]


def _local_counts(theorem: Theorem) -> list[str]:
    """Return the hyperparameters that count local steps."""
    free, _ = hyperparameters(theorem)
    return [name for name, q in free.items() if q.integer and q.neutral is None]


def _gossip_counts(theorem: Theorem) -> list[str]:
    """Return the hyperparameters that count gossip steps."""
    free, _ = hyperparameters(theorem)
    return [name for name, q in free.items() if q.integer and q.neutral is not None]


# -- which families, networks and numbers of steps


def _piecewise_layouts(
    theorem: Theorem, drawn: list[CandidateNetwork], steps: list[Counts]
) -> Iterator[DiscreteChoices]:
    """Yield piecewise-linear problems of no family, with identical clients first."""
    name, plain = PIECEWISE[theorem.scope.two_blocks], drawn[0]
    if theorem.scope.two_blocks:
        for counts in steps[:3]:
            yield DiscreteChoices(name, plain, counts, identical=True)
            yield DiscreteChoices(name, plain, counts, identical=False)
        return
    for counts in steps:
        yield DiscreteChoices(name, plain, counts, identical=True)
        yield DiscreteChoices(name, plain, counts, identical=False)
    second = steps[min(1, len(steps) - 1)]
    for gossip in _gossip_counts(theorem):
        for value in (2, 4):
            yield DiscreteChoices(
                name, plain, second | {gossip: value}, identical=False
            )
    for network in drawn[1:]:
        if 2 <= network.m <= 4 and network.copies == 1:
            yield from _on_network(f"{name}, {network.name}", network, steps[:2])


def _on_network(
    name: str, network: CandidateNetwork, steps: list[Counts]
) -> Iterator[DiscreteChoices]:
    """Yield piecewise-linear problems on one kind of network."""
    for counts in steps:
        first = counts is steps[0]
        if not network.drawn:
            yield DiscreteChoices(name, network, counts, identical=True)
        if network.one_per_round and first:
            yield DiscreteChoices(name, network, counts | {"Q": 4}, identical=False)
        elif not network.drawn or first:
            yield DiscreteChoices(name, network, counts, identical=False)


def _fitted_layouts(
    theorem: Theorem, drawn: list[CandidateNetwork], steps: list[Counts]
) -> Iterator[DiscreteChoices]:
    """Yield the families of problems that are fitted to networks and step sizes."""
    plain = drawn[0]
    admitted = [family for family in problem_families() if family.admits(theorem)]
    if plain.m == 2:
        for counts in steps[:: max(1, len(steps) - 1)]:
            for family in admitted:
                yield DiscreteChoices(family.name, plain, counts, False, family)
                if family.also_complete:
                    name = f"{family.name}, lam = 0"
                    yield DiscreteChoices(name, _complete(plain), counts, False, family)
        for family in admitted:
            yield from _with_many_steps(theorem, plain, steps[0], family)
    for family in admitted:
        for network in drawn:
            if network.name in family.networks:
                fitted_network = _complete(network) if family.also_complete else network
                name = f"{family.name}, {network.name}"
                yield DiscreteChoices(name, fitted_network, steps[0], False, family)


def _with_many_steps(
    theorem: Theorem, plain: CandidateNetwork, counts: Counts, family: Family
) -> Iterator[DiscreteChoices]:
    """Yield a family with many local steps of one kind, at lam = 0 if it admits it."""
    if not family.many_steps:
        return
    network = _complete(plain) if family.also_complete else plain
    for name in _local_counts(theorem):
        many = counts | {name: family.many_steps}
        yield DiscreteChoices(family.name, network, many, False, family)


def _complete(network: CandidateNetwork) -> CandidateNetwork:
    """Return the same kind of network with lam = 0, as for identical clients."""

    def draw(read: Reader, copies: bool) -> DrawnNetworks:
        return network.draw(read, True)

    return replace(network, draw=draw)


# -- one search space


def _space(theorem: Theorem, layout: DiscreteChoices) -> SearchSpace:
    """Return the search space of a layout."""
    family, network = layout.family, layout.network
    radius = radius_field(hyperparameters(theorem)[0])

    def decode(points: np.ndarray, shared: SharedNumbers) -> CandidateBatch:
        return decoded(theorem, Reader(points), layout, shared)

    def draw(rng: np.random.Generator) -> SharedNumbers:
        shared = drawn_numbers(theorem, rng, family)
        if radius in shared and family is not None:
            shared[radius] = float(family.sam)
        if network.drawn and "T" in shared:
            shared["T"] = float(rng.integers(1, 6))  # so that all draws are simulated
        return shared

    probe = Reader(np.full((1, 0), 0.5))
    decoded(theorem, probe, layout, draw(np.random.default_rng(0)))
    rounds = SIMULATED_ROUNDS[theorem.scope.two_blocks]
    if family is not None:
        rounds = max(rounds, family.rounds)
        if family.many_steps in layout.counts.values():
            rounds = max(3, rounds // family.many_steps)
    return SearchSpace(_label(layout), probe.at, rounds, decode, layout.counts, draw)


def _label(layout: DiscreteChoices) -> str:
    """Return the name of a search space, including its numbers of steps and clients."""
    label = layout.name
    for name, value in layout.counts.items():
        if value != 1 or name in ("K", "K_u", "K_v"):
            label += f", {name} = {value}"
    if layout.identical:
        return f"{label}, identical clients"
    m = layout.network.m * layout.network.copies
    return f"{label}, {NUMERALS.get(m, f'{m} clients')}"


__all__ = ["SearchSpace", "refused_families", "search_spaces"]
