"""Division of a probed round into stages: a clientwise map, then an exchange."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dfltheory.exact.moments import Affine, Stage


@dataclass(frozen=True, eq=False)
class ProbedRound:
    """One round as clientwise maps and exchanges, in the flat coordinates of R^d.

    Attributes
    ----------
    stages : list of Stage
    widths : list of lists of int
        Widths of the output blocks of each stage.
    first : list of int
        Widths of the blocks of the state.
    """

    stages: list[Stage]
    widths: list[list[int]]
    first: list[int]


@dataclass(eq=False)
class Exchange:
    """The map of ``communicate``.

    It maps (state after local work, results of the calls of mix) to (the message of
    each call, new state).

    Attributes
    ----------
    whole : Affine
        The map, stacked below the identity, so that the inputs are also outputs.
    known : list of arrays
        Positions of the input blocks: of the state after local work, then of the
        results.
    sent : list of arrays
        Positions of each call's message among the outputs of ``whole``.
    new : array
        Positions of the new state among the outputs of ``whole``.
    """

    whole: Affine
    known: list[np.ndarray]
    sent: list[np.ndarray]
    new: np.ndarray

    @classmethod
    def of_map(
        cls, communicate: Affine, after_local: list[int], calls: list[int]
    ) -> Exchange:
        """Return the exchange of a map.

        Parameters
        ----------
        communicate : Affine
            As for :func:`put_together`.
        after_local, calls : list of int
            Widths of the blocks of the state after local work, and of the messages.
        """
        m, outputs, inputs = communicate.map.shape
        identity = np.broadcast_to(np.eye(inputs), (m, inputs, inputs))
        map = np.concatenate([identity, communicate.map], 1)
        shift = np.concatenate([np.zeros((m, inputs)), communicate.shift], 1)
        whole = Affine(map, shift)
        sent = [inputs + positions for positions in _positions(calls)]
        new = np.arange(inputs + sum(calls), inputs + outputs)
        return cls(whole, _positions([*after_local, *calls]), sent, new)

    def part(self, outputs: list[np.ndarray], blocks: list[int]) -> Affine:
        """Return the map from some of the input blocks to the given outputs."""
        no_positions = self.new[:0]
        inputs = [self.known[block] for block in blocks]
        rows = np.concatenate([*outputs, no_positions])
        columns = np.concatenate([*inputs, no_positions])
        map = self.whole.map[:, rows[:, None], columns]
        return Affine(map, self.whole.shift[:, rows])

    def depends(self, outputs: list[np.ndarray], block: int) -> bool:
        """Return whether the given outputs depend on an input block."""
        return bool(self.part(outputs, [block]).map.any())


@dataclass(eq=False)
class _Builder:
    """The stages so far, and the blocks that are known after them.

    Attributes
    ----------
    exchange : Exchange
    pending : Affine or None
        The map of local work, until it is included in a stage.
    blocks : list of int
        The known input blocks of the exchange.
    waiting : list of int
        The calls that are in no stage yet.
    stages : list of Stage
    """

    exchange: Exchange
    pending: Affine | None
    blocks: list[int]
    waiting: list[int]
    stages: list[Stage] = field(default_factory=list)

    def ready_calls(self, times: list[int]) -> list[int]:
        """Return calls that can be performed next, with one number of gossip steps.

        Their messages depend on no waiting call.
        """
        first_call = len(self.exchange.known) - len(self.exchange.sent)
        ready = []
        for k in self.waiting:
            message = [self.exchange.sent[k]]
            needed = [
                self.exchange.depends(message, first_call + j) for j in self.waiting
            ]
            if not any(needed):
                ready.append(k)
        return [k for k in ready if times[k] == times[ready[0]]]

    def blocks_needed_later(self) -> list[int]:
        """Return the known blocks on which waiting calls or the new state depend."""
        later = [self.exchange.new, *(self.exchange.sent[k] for k in self.waiting)]
        return [block for block in self.blocks if self.exchange.depends(later, block)]

    def map_to(self, outputs: list[np.ndarray]) -> Affine:
        """Return the map from the known blocks to the given outputs."""
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
    """Return a round as stages, from the maps of local work and of ``communicate``.

    The calls of mix are ordered by their dependencies. Independent calls with the same
    number of gossip steps form one stage.

    Parameters
    ----------
    local : Affine
        Map from the state to the state after local work.
    communicate : Affine
        Map from (state after local work, results of the calls) to (messages of the
        calls, new state).
    state : list of int
        Widths of the blocks of the state.
    after_local : list of int
        Widths of the blocks of the state after local work.
    calls : list of int
        Widths of the messages.
    times : list of int
        Numbers of gossip steps of the calls.
    """
    exchange = Exchange.of_map(communicate, after_local, calls)
    n = len(after_local)
    widths_of_blocks = [*after_local, *calls]
    builder = _Builder(exchange, local, list(range(n)), waiting=list(range(len(calls))))
    widths = []
    while builder.waiting:
        ready = builder.ready_calls(times)
        builder.waiting = [k for k in builder.waiting if k not in ready]
        needed_later = builder.blocks_needed_later()
        outputs = [exchange.sent[k] for k in ready]
        outputs += [exchange.known[block] for block in needed_later]
        mixed = sum(calls[k] for k in ready)
        builder.stages.append(Stage(builder.map_to(outputs), mixed, times[ready[0]]))
        builder.blocks = [*(n + k for k in ready), *needed_later]
        builder.pending = None
        widths.append([widths_of_blocks[block] for block in builder.blocks])
    builder.stages.append(Stage(builder.map_to([exchange.new])))
    return ProbedRound(builder.stages, [*widths, state], state)


def _positions(widths: list[int]) -> list[np.ndarray]:
    """Return the positions of consecutive blocks."""
    return np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1]) if widths else []


__all__ = ["ProbedRound", "put_together"]
