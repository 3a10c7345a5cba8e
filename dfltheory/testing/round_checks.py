"""Checks of the algorithm suite that inspect single rounds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm, State
from dfltheory.randomness import RunGenerators
from dfltheory.tasks.task import Task
from dfltheory.testing.problem import (
    PERMUTATION,
    TESTED_ROUNDS,
    M,
    assert_equal,
    initial_models,
    make_oracle,
    make_round,
    make_test_task,
    matrix_for,
    path_matrix,
    simulate_rounds,
    state_fields,
)
from dfltheory.training.local import stacked
from dfltheory.training.mixing import RoundMix, RunNetwork
from dfltheory.training.oracle import RoundOracle

_Step = Callable[[State, RoundOracle], State]
"""A part of a round, such as ``local_update``; it returns the next state."""


def check_inputs_unchanged(algorithm: Algorithm) -> None:
    """Check that no method modifies its arguments."""
    for share in (1.0, 0.4):
        task = make_test_task()
        x0 = initial_models(algorithm, task)
        copy_of_x0 = x0.clone()
        mix = make_round(algorithm, task, 0, matrix_for(algorithm))
        state = algorithm.init(x0, make_oracle(task, mix, TESTED_ROUNDS))

        def communicate(state: State, grad: RoundOracle, mix: RoundMix = mix) -> State:
            return algorithm.communicate(state, mix)

        for t in range(2):
            oracle = make_oracle(task, mix, t, share)
            state = _apply(algorithm.local_update, state, oracle, "local_update")
            oracle = make_oracle(task, mix, t, share)
            state = _apply(communicate, state, oracle, "communicate")
        oracle = make_oracle(task, mix, 1, share)
        _apply(algorithm.finish, state, oracle, "finish")
        assert torch.equal(x0, copy_of_x0), (
            "the initial models x0 were changed: work on x0.clone()"
        )


def _apply(step: _Step, state: State, oracle: RoundOracle, name: str) -> State:
    """Return the next state; raise AssertionError if the step modifies the old one."""
    copies: dict[str, Tensor] = {}
    for field, value in state_fields(state).items():
        if isinstance(value, Tensor):
            copies[field] = value.clone()
    next_state = step(state, oracle)
    for field, value in copies.items():
        assert torch.equal(getattr(state, field), value), (
            f"{name} changes its argument state.{field}: work on {field}.clone()"
        )
    return next_state


def check_who_rests(algorithm: Algorithm) -> None:
    """Check that local work does not change clients that do not participate."""
    if not (algorithm.inactive_when_isolated or hasattr(algorithm, "participation")):
        return
    inactive = 4
    task = make_test_task()
    (last,) = simulate_rounds(algorithm, task, matrix_for(algorithm), 1)
    state = dataclasses.replace(last.after, z=last.after.x)
    oracle = make_oracle(task, last.mix, 1)
    oracle.active = torch.ones(2, M, 1, dtype=torch.bool)
    oracle.active[:, inactive] = False
    after = algorithm.local_update(state, oracle)
    for name in stacked(after):
        old = getattr(state, name)
        new = getattr(after, name)
        if name in state.per_edge or not isinstance(old, Tensor):
            continue
        if old.shape == new.shape:
            assert torch.equal(old[:, inactive], new[:, inactive]), (
                f"local_update changes state.{name} of a client that does not"
                " participate: return taking_part(grad, new, old)"
            )


@dataclasses.dataclass(frozen=True, eq=False)
class _Message:
    """A copy of a tensor that was passed to the network, and whether it counts."""

    content: Tensor
    is_counted: bool


class _RecordingRound(RoundMix):
    """A round that records all messages."""

    def __init__(self, network: RunNetwork, t: int):
        super().__init__(network, t)
        self.messages: list[_Message] = []

    def _record(self, content: Tensor, bits: float | Tensor | None) -> None:
        """Store a copy of a message; without ``bits`` its full size is counted."""
        is_counted = bits is None or bool(torch.as_tensor(bits).any())
        self.messages.append(_Message(content.clone(), is_counted))

    def __call__(
        self,
        z: Tensor,
        times: int = 1,
        W: str = MIX,
        bits: float | Tensor | None = None,
        after: int = 0,
    ) -> Tensor:
        self._record(z, bits)
        return super().__call__(z, times, W, bits, after)

    def send(
        self, message: Tensor, bits: float | Tensor | None = None, W: str = MIX
    ) -> Tensor:
        self._record(message, bits)
        return super().send(message, bits, W)

    def swap(self, e: Tensor, bits: float | None = None) -> Tensor:
        self._record(e, bits)
        return super().swap(e, bits)


def check_messages_counted(algorithm: Algorithm) -> None:
    """Check that all new values that neighbors receive are counted as sent.

    It changes values of client 4. If only messages that do not count as sent change, a
    value was not counted.
    """
    client = 4
    task = make_test_task()
    W = matrix_for(algorithm)
    (simulated,) = simulate_rounds(algorithm, task, W, 1)
    local = simulated.local

    def record_messages(state: State) -> list[_Message]:
        recording = make_round(algorithm, task, 0, W, _RecordingRound)
        assert isinstance(recording, _RecordingRound)
        algorithm.communicate(state, recording)
        return recording.messages

    plain = record_messages(local)
    for name in stacked(local):
        value = getattr(local, name)
        if not value.is_floating_point():
            continue
        place = client
        if name in local.per_edge:
            place = simulated.mix.edges.first[client]
        # Coordinates that local work computed are new. Neighbors may know parts of
        # unchanged fields from earlier messages.
        is_new = value is not getattr(simulated.before, name) and value.ndim == 3
        coordinates = range(value.shape[-1]) if is_new else [...]
        for coordinate in coordinates:
            changed = value.clone()
            changed[:, place, coordinate] += 1
            messages = record_messages(dataclasses.replace(local, **{name: changed}))
            field = f"state.{name}"
            if coordinate is not ...:
                field += f"[..., {coordinate}]"
            assert not _only_uncounted_differ(messages, plain), (
                f"neighbors receive {field}, but no message with it counts as sent:"
                " omit bits or pass the size of the message; bits=0 is for values that"
                " neighbors know from earlier messages"
            )


def _only_uncounted_differ(
    messages: Sequence[_Message], others: Sequence[_Message]
) -> bool:
    """Return whether some messages differ and none of them counts as sent."""
    counted: set[bool] = set()
    for message, other in zip(messages, others, strict=True):
        if not torch.equal(message.content, other.content):
            counted.add(message.is_counted)
    return counted == {False}


class _RenumberedRound(RoundMix):
    """A round that permutes the random numbers of the clients."""

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Return uniform numbers in the order of the permuted clients."""
        return super().uniform(shape)[:, PERMUTATION]


class _RenumberedOracle(RoundOracle):
    """An oracle that permutes the random numbers of the clients."""

    def __init__(
        self,
        task: Task,
        generators: RunGenerators,
        t: int,
        horizon: int,
        share: float,
        mix: RoundMix,
    ):
        super().__init__(task, generators, t, horizon, share, mix)
        if self.active is not None:
            self.active = self.active[:, PERMUTATION]

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Return uniform numbers in the order of the permuted clients."""
        return super().uniform(shape)[:, PERMUTATION]


@dataclasses.dataclass(frozen=True, eq=False)
class _FinalState:
    """The final state of a run, with arcs between the original clients."""

    fields: dict[str, object]
    arcs: list[tuple[int, int]]
    per_edge: Sequence[str]


def _final_state(
    algorithm: Algorithm, W: np.ndarray, share: float, *, renumbered: bool
) -> _FinalState:
    """Run three rounds with the clients in the original or in the permuted order."""
    order = PERMUTATION if renumbered else list(range(M))
    oracle_kind = _RenumberedOracle if renumbered else RoundOracle
    round_kind = _RenumberedRound if renumbered else RoundMix
    task = make_test_task(batch=None, order=order)
    *_, last = simulate_rounds(
        algorithm,
        task,
        W[np.ix_(order, order)],
        3,
        initial_models(algorithm, task)[:, order],
        share,
        oracle_kind,
        round_kind,
    )
    oracle = make_oracle(task, last.mix, TESTED_ROUNDS, kind=oracle_kind)
    fields = state_fields(algorithm.finish(last.after, oracle))
    edges = last.mix.edges
    arcs = [
        (order[i], order[j])
        for i, j in zip(edges.receivers.tolist(), edges.senders.tolist())
    ]
    return _FinalState(fields, arcs, last.after.per_edge)


def check_names_of_clients(algorithm: Algorithm) -> None:
    """Check that permuting the clients permutes the final state."""
    W = matrix_for(algorithm)
    if W is None:
        W = np.full((M, M), 1 / M)
    shares = (1.0, 0.4) if hasattr(algorithm, "participation") else (1.0,)
    advice = "no client may be treated by its number or by the order of the clients"
    for share in shares:
        plain = _final_state(algorithm, W, share, renumbered=False)
        renumbered = _final_state(algorithm, W, share, renumbered=True)
        arc_places = [plain.arcs.index(arc) for arc in renumbered.arcs]
        for name, value in plain.fields.items():
            expected = value
            if isinstance(value, Tensor) and name in renumbered.per_edge:
                expected = value[:, arc_places]
            elif isinstance(value, Tensor) and value.ndim >= 2 and value.shape[1] == M:
                expected = value[:, PERMUTATION]
            field = f"state.{name} with renumbered clients"
            assert_equal(renumbered.fields[name], expected, field, advice)


def check_locality(algorithm: Algorithm) -> None:
    """Check that clients depend on the data of client 4 only through messages.

    The network has two parts without edges between them: clients 0 and 1, and clients 2
    to 4. The local work of clients 0 to 3 must not depend on client 4, nor may clients
    0 and 1 after two rounds.
    """
    W = np.zeros((M, M))
    W[:2, :2] = path_matrix(2)
    W[2:, 2:] = path_matrix(3)
    plain = list(simulate_rounds(algorithm, make_test_task(), W, 2))
    changed = list(simulate_rounds(algorithm, make_test_task(changed=4), W, 2))
    first_arcs = plain[0].mix.edges.first
    _assert_same_clients(
        changed[0].local,
        plain[0].local,
        4,
        first_arcs[4],
        "local_update: use grad as the only source of data",
    )
    _assert_same_clients(
        changed[1].after,
        plain[1].after,
        2,
        first_arcs[2],
        "communicate: use mix as the only source of other clients' values",
    )


def _assert_same_clients(
    state: State, expected: State, clients: int, arcs: int, advice: str
) -> None:
    """Raise AssertionError unless the first clients have equal fields."""
    for name in stacked(expected):
        count = arcs if name in expected.per_edge else clients
        first = slice(count)
        actual_values = getattr(state, name)[:, first]
        assert torch.equal(actual_values, getattr(expected, name)[:, first]), (
            f"state.{name} of other clients depends on the data of client 4 ({advice})"
        )
