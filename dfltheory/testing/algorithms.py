"""A contract suite for anybody's algorithm: what the core, its checkpoints and its theorems rely on."""

from __future__ import annotations

import dataclasses
import logging
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm
from dfltheory.errors import InputError, one_of
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.testing.problem import (
    ORDER,
    ROUNDS,
    M,
    by_hand,
    course,
    fields_of,
    matrix_for,
    oracle_of,
    path,
    round_of,
    same,
    same_course,
    start_of,
    task_of,
)
from dfltheory.training.checkpoint import Checkpoint
from dfltheory.training.local import stacked
from dfltheory.training.loop import train
from dfltheory.training.mixing import Round
from dfltheory.training.oracle import RoundOracle

Twin = Callable[[np.ndarray, Callable[[int, np.ndarray], np.ndarray], np.ndarray, int], Any]
"""(x (m, d), grad(i, y) of client i, W (m, m), rounds) -> the models (m, d) after so many rounds."""


def check_algorithm(
    algorithm: Algorithm, *, twin: Twin | None = None, checks: Iterable[str] | None = None
) -> list[str]:
    """Run the contract suite on an algorithm; return the names of the checks that it passed.

    On small problems in float64 (5 clients, 4 rounds, 2 seeds): it changes nothing that it is given; pieces
    of the clients, a resumed run and a seed alone take the course of the whole,
    in every field of the state; the same seed gives the same bits; it keeps its precision; decay and weight
    decay are honored or refused; who does not take part keeps what it has; what neighbors hear is counted as
    sent; the names of the clients do not matter; clients see their own data and what is mixed, and nothing
    else; a common stationary point stays under matrices of the law that its class declares (``mixing``);
    huge numbers make it diverge, not crash.

    Parameters
    ----------
    algorithm : with letters with which it neither diverges nor stands still: a step size about 0.1
    twin : the same algorithm as its paper prints it, in numpy, one client at a time:
        ``twin(x, grad, W, rounds)`` -> models (m, d), which must agree to 1e-10 (exact gradients, one W)
    checks : the names of some checks; ``None``: all

    Raises
    ------
    AssertionError
        one line for each check that failed: what is wrong, where, by how much, and what to do
    """
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"algorithm = {algorithm!r} must be an algorithm with its letters, as Own(eta=0.1)")
    wanted = list(CHECKS) if checks is None else list(checks)
    for name in wanted:
        one_of("check", name, CHECKS)
    failures = []
    for name in wanted:
        try:
            CHECKS[name](algorithm)
        except AssertionError as error:
            failures.append(f"{name}: {error}")
        except Exception as error:
            failures.append(f"{name}: {type(error).__name__}: {error}")
    if twin is not None:
        wanted.append("twin")
        failures += _twin(algorithm, twin)
    if failures:
        lines = "\n  ".join(failures)
        raise AssertionError(
            f"{type(algorithm).__name__} fails {len(failures)} of {len(wanted)} checks:\n  {lines}"
        )
    return wanted


def _inputs_unchanged(algorithm: Algorithm) -> None:
    for share in (1.0, 0.4):
        task = task_of()
        x0, given = start_of(algorithm, task), start_of(algorithm, task)
        mix = round_of(algorithm, task, 0, matrix_for(algorithm))
        state = algorithm.init(x0, oracle_of(task, mix, ROUNDS))
        steps: list[tuple[str, Callable[[Any, RoundOracle], Any]]] = [
            ("local_update", algorithm.local_update),
            ("communicate", lambda state, grad, mix=mix: algorithm.communicate(state, mix)),
        ]
        for t in range(2):
            for name, step in [*steps, *([("finish", algorithm.finish)] if t else [])]:
                before = {k: v.clone() for k, v in fields_of(state).items() if isinstance(v, Tensor)}
                held = state
                state = step(held, oracle_of(task, mix, t, share))
                for key, value in before.items():
                    changed = not torch.equal(getattr(held, key), value)
                    assert not changed, (
                        f"{name} changes state.{key}, which it was given: work on {key}.clone()"
                    )
        assert torch.equal(x0, given), "the starting models x0 were changed: work on x0.clone()"


def _in_pieces(algorithm: Algorithm) -> None:
    advice = (
        "local_update may see some of the clients: each client's own fields are (S, m) or (S, m, ...), and"
        " nothing may depend on the other clients"
    )
    whole = course(algorithm, task_of())
    for chunk in (1, 2):
        same_course(course(algorithm, task_of(chunk=chunk), seeds=2), whole, f"{advice} (pieces of {chunk})")


def _resumed(algorithm: Algorithm) -> None:
    fresh = dataclasses.replace(algorithm)  # what an instance remembers is lost with its process
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.ckpt"
        stop = [lambda t, state, recorder: t == ROUNDS - 1]
        whole = course(dataclasses.replace(algorithm), task_of())
        course(algorithm, task_of(), checkpoint=Checkpoint(file, every=1), callbacks=stop)
        rest = course(fresh, task_of(), checkpoint=file)
        assert rest, "the resumed run made no round"
        same_course(rest, whole, "what has to outlive a checkpoint is a field of the state")


def _seeds_alone(algorithm: Algorithm) -> None:
    both, x0 = course(algorithm, task_of()), start_of(algorithm, task_of())
    alone = course(algorithm, task_of(), seeds=[1], x0=x0[1:])
    for t, (one, two) in enumerate(zip(alone, both), start=1):
        for name, value in two.items():
            own = value[1:] if isinstance(value, Tensor) and value.ndim >= 2 else value
            advice = "the first axis is that of the seeds, which know nothing of each other"
            same(one[name], own, f"state.{name} of seed 1 alone after round {t}", advice)


def _same_bits(algorithm: Algorithm) -> None:
    one, two = (course(algorithm, task_of())[-1]["x"] for _ in range(2))
    assert torch.equal(one, two), "the same seed gives other bits: take all chance from grad.uniform"


def _precision(algorithm: Algorithm) -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        for name, value in course(algorithm, task_of(dtype=dtype))[-1].items():
            if isinstance(value, Tensor) and value.is_floating_point():
                advice = "make tensors by zeros_like and new_full"
                assert value.dtype == dtype, f"state.{name} is {value.dtype} in a {dtype} run: {advice}"


def _decay(algorithm: Algorithm) -> None:
    advice = "the step size of round t is self.decayed(self.eta, grad.t), which is eta * decay**t"
    plain = course(dataclasses.replace(algorithm, decay=1.0), task_of())
    try:
        decayed = course(dataclasses.replace(algorithm, decay=0.5), task_of())
    except InputError:
        return  # refused
    same(decayed[0]["x"], plain[0]["x"], "with decay, x after round 1", advice)
    assert not torch.equal(decayed[1]["x"], plain[1]["x"]), (
        f"decay = 0.5 changes nothing in round 2: {advice}"
    )


def _weight_decay(algorithm: Algorithm) -> None:
    try:
        some, none = (
            course(dataclasses.replace(algorithm, weight_decay=value), task_of())[-1]["x"]
            for value in (0.1, 0.0)
        )
    except InputError:
        return
    advice = "take gradients by self.slope(grad, y), or refuse it in __post_init__ by InputError"
    assert not torch.equal(some, none), f"weight_decay = 0.1 changes nothing: {advice}"


def _who_rests(algorithm: Algorithm) -> None:
    """Those who do not take part keep what they have."""
    if not (algorithm.sleeps or hasattr(algorithm, "participation")):
        return
    task = task_of()
    ((mix, _, _, state),) = by_hand(algorithm, task, matrix_for(algorithm), 1)
    state = dataclasses.replace(state, z=state.x)
    grad = oracle_of(task, mix, 1)
    grad.active = torch.ones(2, M, 1, dtype=torch.bool)
    grad.active[:, 4] = False
    after = algorithm.local_update(state, grad)
    for name in stacked(after):
        was, now = getattr(state, name), getattr(after, name)
        if name not in state.per_edge and isinstance(was, Tensor) and was.shape == now.shape:
            same = torch.equal(was[:, 4], now[:, 4])
            assert same, (
                f"local_update changes state.{name} of a client that does not take part: give"
                " taking_part(grad, new, old), which keeps the old value of those"
            )


class _Watched(Round):
    """A round that notes what goes through it, and whether that was counted."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.seen: list[tuple[bool, Tensor]] = []

    def _note(self, z: Tensor, bits: Any) -> None:
        self.seen.append((bits is None or bool(torch.as_tensor(bits).any()), z.clone()))

    def __call__(self, z: Tensor, times: int = 1, W: str = MIX, bits: Any = None) -> Tensor:
        self._note(z, bits)
        return super().__call__(z, times, W, bits)

    def send(self, message: Tensor, bits: Any = None, W: str = MIX) -> Tensor:
        self._note(message, bits)
        return super().send(message, bits, W)

    def swap(self, e: Tensor, bits: Any = None) -> Tensor:
        self._note(e, bits)
        return super().swap(e, bits)


def _messages_counted(algorithm: Algorithm) -> None:
    """What neighbors hear without its being counted is what they know from messages that were."""
    task, W = task_of(), matrix_for(algorithm)
    ((mix, state, local, _),) = by_hand(algorithm, task, W, 1)

    def heard(state: Any) -> list[tuple[bool, Tensor]]:
        watched = round_of(algorithm, task, 0, W, _Watched)
        algorithm.communicate(state, watched)
        return watched.seen  # type: ignore[attr-defined]

    plain = heard(local)
    for name in stacked(local):
        value = getattr(local, name)
        if not value.is_floating_point():
            continue
        place = mix.edges.part(slice(4, 5)).start if name in local.per_edge else 4
        # what local work has made is news, each number of it; what it left alone may be known in part
        news = value is not getattr(state, name) and value.ndim == 3
        for k in range(value.shape[-1]) if news else [...]:
            other = value.clone()
            other[:, place, k] += 1
            seen = heard(dataclasses.replace(local, **{name: other}))
            moved = {
                count for (count, one), (_, two) in zip(seen, plain, strict=True) if not torch.equal(one, two)
            }
            assert moved != {False}, (
                f"neighbors hear of state.{name}{'' if k is ... else f'[..., {k}]'} and nothing of it is"
                " counted: leave bits out, or say what it takes; bits=0 is for what they know from messages"
                " that were sent"
            )


class _RenamedRound(Round):
    """The same of what is drawn for messages."""

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        return super().uniform(shape)[:, ORDER]


class _Renamed(RoundOracle):
    """Client i is called by another name: what chance gives client order[i] elsewhere, it gives it here."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.active = None if self.active is None else self.active[:, ORDER]

    def uniform(self, shape: tuple[int, ...]) -> Tensor:
        return super().uniform(shape)[:, ORDER]


def _names_of_clients(algorithm: Algorithm) -> None:
    W = matrix_for(algorithm)
    W = np.full((M, M), 1 / M) if W is None else W
    for share in (1.0, 0.4) if hasattr(algorithm, "participation") else (1.0,):
        ends, arcs = [], []
        for kinds, order in (((RoundOracle, Round), list(range(M))), ((_Renamed, _RenamedRound), ORDER)):
            task = task_of(batch=None, order=order)
            x0, renamed = start_of(algorithm, task)[:, order], W[np.ix_(order, order)]
            mix, state = [(mix, s) for mix, *_, s in by_hand(algorithm, task, renamed, 3, x0, share, kinds)][
                -1
            ]
            ends.append(fields_of(algorithm.finish(state, oracle_of(task, mix, ROUNDS, kind=kinds[0]))))
            own = mix.edges
            arcs.append([(order[i], order[j]) for i, j in zip(own.receivers.tolist(), own.senders.tolist())])
        places = [arcs[0].index(arc) for arc in arcs[1]]
        for name, value in ends[0].items():
            own = isinstance(value, Tensor) and value.ndim >= 2 and value.shape[1] == M
            found = value[:, places] if name in state.per_edge else value[:, ORDER] if own else value
            advice = "no client may be treated by its number, nor by the order in which clients come"
            same(ends[1][name], found, f"with clients renamed, state.{name}", advice)


def _locality(algorithm: Algorithm) -> None:
    """Local work on the other clients' data, and communication with those that nobody hears."""
    blocks = np.zeros((M, M))
    blocks[:2, :2], blocks[2:, 2:] = path(2), path(3)
    runs = [list(by_hand(algorithm, task_of(changed=changed), blocks, 2)) for changed in (None, 4)]
    first = runs[0][0][0].edges.first
    for what, others, (one, two) in (
        ("local_update: grad is the only source", 4, [run[0][2] for run in runs]),
        ("communicate: mix is the only way to hear of others", 2, [run[1][3] for run in runs]),
    ):
        for name in stacked(one):
            those = slice(first[others] if name in one.per_edge else others)
            assert torch.equal(getattr(two, name)[:, those], getattr(one, name)[:, those]), (
                f"state.{name} of the other clients depends on client 4 ({what})"
            )


def _stationary(algorithm: Algorithm) -> None:
    """A common minimizer of all clients, at which all of them start, stays."""
    b = np.arange(1.0, 4.0)
    task = Quadratic(np.ones(3), np.tile(b, (M, 1)))
    start = torch.as_tensor(b).expand(1, M, 3).clone()
    mix = round_of(algorithm, task, 0, matrix_for(algorithm))
    first = algorithm.init(start, RoundOracle(task, [0], 3, ROUNDS, ROUNDS, mix=mix))
    if not torch.equal(algorithm.models(first), start):
        return  # it does not start from x0: masks, for example
    run = train(algorithm, task, matrix_for(algorithm), ROUNDS, x0=start, progress=False)
    apart = float(np.abs(run.x - b).max())
    assert apart <= 1e-6, (
        f"a common minimizer moves by {apart:.2g} under a {algorithm.mixing} matrix: what is mixed must keep"
        " equal models equal, and ``mixing`` must name the law that the algorithm needs"
    )


def _divergence(algorithm: Algorithm) -> None:
    for dtype, size in ((torch.float64, 1e200), (torch.float32, 1e30)):
        task = task_of(dtype=dtype)
        logging.disable(logging.WARNING)  # that it diverges is what is wanted
        try:
            x0 = size * start_of(algorithm, task)[0]
            train(algorithm, task, matrix_for(algorithm), ROUNDS, x0=x0, progress=False)
        finally:
            logging.disable(logging.NOTSET)


def _immutable(algorithm: Algorithm) -> None:
    before = dataclasses.asdict(algorithm)
    remembered = set(vars(algorithm))
    course(algorithm, task_of())
    advice = "keep what changes in the state: an algorithm is its hyperparameters and nothing else"
    assert dataclasses.asdict(algorithm) == before, f"a run changes its hyperparameters: {advice}"
    more = set(vars(algorithm)) - remembered - {"_decays"}
    assert not more, f"a run leaves {', '.join(sorted(more))} on the algorithm: {advice}"


def _twin(algorithm: Algorithm, twin: Twin) -> list[str]:
    task = task_of(batch=None)
    x0 = start_of(algorithm, task)[0]
    everywhere = task.gradient

    def grad(i: int, y: np.ndarray) -> np.ndarray:
        x = torch.zeros(1, M, task.d, dtype=task.dtype)
        x[0, i] = torch.as_tensor(y)
        return everywhere(x)[0, i].numpy()

    W = matrix_for(algorithm)
    run = train(algorithm, task, W, ROUNDS, x0=x0, progress=False)
    models = np.asarray(twin(x0.numpy().copy(), grad, np.full((M, M), 1 / M) if W is None else W, ROUNDS))
    apart = float(np.abs(models - run.x[0]).max())
    return [] if apart <= 1e-10 else [f"twin: the models are {apart:.2g} apart after {ROUNDS} rounds"]


CHECKS: dict[str, Callable[[Algorithm], None]] = {
    "inputs unchanged": _inputs_unchanged,
    "in pieces": _in_pieces,
    "resumed": _resumed,
    "seeds alone": _seeds_alone,
    "same bits": _same_bits,
    "precision": _precision,
    "decay": _decay,
    "weight decay": _weight_decay,
    "who rests": _who_rests,
    "messages counted": _messages_counted,
    "names of clients": _names_of_clients,
    "locality": _locality,
    "stationary point": _stationary,
    "divergence": _divergence,
    "immutable": _immutable,
}
"""Name -> check, which raises AssertionError."""

__all__ = ["CHECKS", "Twin", "check_algorithm"]
