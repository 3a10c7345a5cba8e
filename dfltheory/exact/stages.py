"""A probed round as stages.

A stage is a clientwise map, followed by an exchange with the neighbors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dfltheory.exact.moments import Affine, Stage


@dataclass(frozen=True, eq=False)
class ProbedRound:
    """One round as clientwise maps and exchanges.

    Each map is in the flat coordinates of R^d.

    Attributes
    ----------
    stages : list of Stage
    widths : list of lists of int
        Widths of the blocks that each stage gives.
    first : list of int
        Widths of the blocks of the state.
    """

    stages: list[Stage]
    widths: list[list[int]]
    first: list[int]


@dataclass(eq=False)
class Exchange:
    """The map of ``communicate``, from what is known to what is sent and the new state.

    It maps (state after local work, answers of the calls of mix) to (what each call
    sends, the new state).

    Attributes
    ----------
    whole : Affine
        The map, preceded by the identity: what is known is also given.
    known : list of arrays
        Positions of the blocks that are known: of the state after local work, then of
        the answers.
    sent : list of arrays
        Positions of what each call sends, among the outputs of ``whole``.
    new : array
        Positions of the new state, among the outputs of ``whole``.
    """

    whole: Affine
    known: list[np.ndarray]
    sent: list[np.ndarray]
    new: np.ndarray

    @classmethod
    def of_map(
        cls, communicate: Affine, after_local: list[int], calls: list[int]
    ) -> Exchange:
        """Make it from the map and the widths of its blocks."""
        m, outputs, inputs = communicate.map.shape
        identity = np.broadcast_to(np.eye(inputs), (m, inputs, inputs))
        whole = Affine(
            np.concatenate([identity, communicate.map], 1),
            np.concatenate([np.zeros((m, inputs)), communicate.shift], 1),
        )
        sent = [inputs + positions for positions in _positions(calls)]
        new = np.arange(inputs + sum(calls), inputs + outputs)
        return cls(whole, _positions([*after_local, *calls]), sent, new)

    def part(self, outputs: list[np.ndarray], blocks: list[int]) -> Affine:
        """Return the map from some of the known blocks to these outputs."""
        nothing = self.new[:0]
        rows = np.concatenate([*outputs, nothing])
        columns = np.concatenate([*(self.known[block] for block in blocks), nothing])
        return Affine(
            self.whole.map[:, rows[:, None], columns], self.whole.shift[:, rows]
        )

    def depends(self, outputs: list[np.ndarray], block: int) -> bool:
        """Return whether these outputs depend on a known block."""
        return bool(self.part(outputs, [block]).map.any())


@dataclass(eq=False)
class _Builder:
    """The stages so far, and which blocks are known after them."""

    exchange: Exchange
    pending: Affine | None
    """The map of local work, until it has become part of a stage."""
    blocks: list[int]
    done: list[int] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)

    def map_to(self, outputs: list[np.ndarray]) -> Affine:
        """Return the map from the blocks that are known to these outputs."""
        step = self.exchange.part(outputs, self.blocks)
        return step if self.pending is None else step.after(self.pending)


def put_together(
    local: Affine,
    communicate: Affine,
    state: list[int],
    after_local: list[int],
    calls: list[int],
    times: list[int],
) -> ProbedRound:
    """Return local work and ``communicate`` as stages.

    The calls of mix are put in the order in which they need each other; those that need
    no other one and have the same number of gossip steps form one stage.

    Parameters
    ----------
    local : Affine
        From the state to the state after local work.
    communicate : Affine
        From (state after local work, answers of the calls) to (what the calls send, new
        state).
    state, after_local, calls : list of int
        Widths of the blocks of the state, of the state after local work, and of what
        each call sends.
    times : list of int
        Numbers of gossip steps of the calls.
    """
    exchange = Exchange.of_map(communicate, after_local, calls)
    n, count = len(after_local), len(calls)
    widths_of_blocks = [*after_local, *calls]

    def needed_calls(sent: np.ndarray) -> set[int]:
        return {j for j in range(count) if exchange.depends([sent], n + j)}

    needs = [needed_calls(sent) for sent in exchange.sent]
    builder = _Builder(exchange, local, list(range(n)))
    widths = []
    while len(builder.done) < count:
        ready = [
            k
            for k in range(count)
            if k not in builder.done and needs[k] <= set(builder.done)
        ]
        ready = [k for k in ready if times[k] == times[ready[0]]]
        builder.done += ready
        later = [exchange.sent[k] for k in range(count) if k not in builder.done]
        kept = [
            block
            for block in builder.blocks
            if exchange.depends([exchange.new, *later], block)
        ]
        outputs = [
            *(exchange.sent[k] for k in ready),
            *(exchange.known[block] for block in kept),
        ]
        mixed = sum(calls[k] for k in ready)
        builder.stages.append(Stage(builder.map_to(outputs), mixed, times[ready[0]]))
        builder.blocks, builder.pending = [*(n + k for k in ready), *kept], None
        widths.append([widths_of_blocks[block] for block in builder.blocks])
    builder.stages.append(Stage(builder.map_to([exchange.new])))
    return ProbedRound(builder.stages, [*widths, state], state)


def _positions(widths: list[int]) -> list[np.ndarray]:
    """Return the positions of blocks that follow one another."""
    return np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1]) if widths else []


__all__ = ["ProbedRound", "put_together"]
