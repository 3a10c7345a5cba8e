"""Checkpoints: a run that was killed goes on from its last one, and ends as if it had not been."""

from __future__ import annotations

import contextlib
import logging
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm
from dfltheory.errors import DataError, InputError, whole_number
from dfltheory.files import alone, check_writable, reading
from dfltheory.graphs import ClientSampling, LinkFailures, LossDriven, Matcha, RandomMatching, RandomNeighbors
from dfltheory.graphs.definition_1 import DRAWS
from dfltheory.tasks.fingerprint import fingerprint as print_of
from dfltheory.tasks.fingerprint import own_code
from dfltheory.tasks.task import Task
from dfltheory.training import storage
from dfltheory.training.facts import drawn, fingerprint, period_of
from dfltheory.training.records import plain, recorded

log = logging.getLogger("dfltheory")

_KIND = "dfltheory.Checkpoint"
SECONDS = 10.0
"""Between two saves of a run, where nobody says how many rounds: a save costs a sync of the disk."""


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run saves itself: ``train(..., checkpoint=Checkpoint("run.ckpt", every=10))``.

    After every ``every`` rounds (``None``: once ten seconds have passed since the last time), and after the
    last round, the state and all measures go into one safetensors file that is replaced atomically, by one
    process at a time. ``train`` with the same arguments finds the file and goes on from there; with other
    arguments, of the task and the network too, it refuses and says which differ. ``rounds`` may have grown,
    where no round depends on how many there are. No generator is stored: chance is a function of seed and
    round. To know a network of the user's own again, all rounds of it are drawn before the first one.
    """

    path: str | os.PathLike[str]
    every: int | None = None

    def __post_init__(self) -> None:
        if self.every is not None:
            whole_number("checkpoint every", self.every, at_least=1)

    @classmethod
    def of(cls, given: Any) -> Checkpoint | None:
        """A checkpoint, or one at a path; None is none."""
        if isinstance(given, (str, os.PathLike)):
            return cls(given)
        if given is not None and not isinstance(given, cls):
            raise InputError(f"checkpoint = {given!r} must be a path, or Checkpoint(path, every=10)")
        return given

    def due(self, t: int, rounds: int, idle: float) -> bool:
        """Is the run to be saved after t rounds, ``idle`` seconds after the last time?"""
        return t == rounds or (idle >= SECONDS if self.every is None else t % self.every == 0)

    def save(self, t: int, state: Any, recorder: Any, identity: dict[str, Any]) -> None:
        """Save the run after t rounds: its state, and what its ``Recorder`` has measured."""
        parts = {f.name: getattr(state, f.name) for f in fields(state)}
        tensors = {f"state/{k}": v.cpu() for k, v in parts.items() if isinstance(v, Tensor)}
        measures = {f"measure/{name}": np.stack(v) for name, v in recorder.values.items()}
        document = {"kind": _KIND, "t": t, "identity": identity, "values": kept_values(state)}
        storage.write(self.path, {**tensors, **measures}, document | recorder.told())

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """This process alone writes the file, which is one that can be written."""
        check_writable(self.path)
        with alone(self.path):
            yield

    def resume(
        self, state: Any, recorder: Any, rounds: int, identity_of: Callable[[int], dict[str, Any]]
    ) -> tuple[Any, int]:
        """The state after the rounds that are done, and how many these are: the start where there is no file.

        ``recorder`` has measured the start, and goes on from what was measured. ``identity_of`` tells the
        identity of this run with a number of rounds.
        """
        if not Path(self.path).exists():
            return state, 0
        with reading(self.path, "a checkpoint"):
            tensors, document = storage.read(self.path, _KIND)
            measures = _under("measure", tensors)
            stored, told, t = document["identity"], document["rounds"], int(document["t"])
            before = stored.get("rounds", rounds)
            longest = max(map(len, measures.values()))
            if not 0 <= t <= before or not all(0 <= r <= t for r in told) or longest > len(told):
                raise DataError(f"{self.path} is damaged: {t} of {before} rounds, measured {len(told)} times")
            if before < rounds:
                self._refuse_to_grow(recorder.algorithm, stored, t)
            self._refuse_another(stored, storage.read_back(identity_of(min(before, rounds))))
            for name in ("loss", "grad_norm_sq"):
                now, then = recorder.values[name][0], measures[name].numpy()[0]
                if not np.allclose(now, then, rtol=1e-3, atol=1e-6, equal_nan=True):
                    line = f"its {name} at the start is {then[0]:.6g}, not {now[0]:.6g}"
                    self._refuse(f"a run on other data: {line}")
            here = {k: v.to(state.x.device) for k, v in _under("state", tensors).items()}
            kept = {
                k: slice(*v["slice"]) if isinstance(v, dict) else v for k, v in document["values"].items()
            }
            state = replace(state, **here, **kept)
            recorder.restore(document, {k: list(v.numpy()) for k, v in measures.items()}, state)
            if before < rounds and t == before and t % stored["evaluate_every"]:
                recorder.forget_last()  # measured as the last round, which it no longer is
        log.info(f"resumed after {t} of {rounds} rounds from {self.path}")
        return state, t

    def _refuse_another(self, stored: dict[str, Any], identity: dict[str, Any]) -> None:
        theirs, ours = stored.get("arguments", {}), identity["arguments"]
        if differ := [name for name in sorted({*theirs, *ours}) if theirs.get(name) != ours.get(name)]:
            self._refuse(f"another run: its task was made with another {', '.join(differ)}")
        for name in [*identity, *(stored.keys() - identity.keys() - {"depends_on"})]:
            if stored.get(name) != identity.get(name):
                self._refuse(
                    f"another run: its {name} is {_brief(stored.get(name))}, not {_brief(identity.get(name))}"
                )

    def _refuse_to_grow(self, algorithm: Algorithm, stored: dict[str, Any], t: int) -> None:
        finished = t == stored["rounds"] and type(algorithm).finish is not Algorithm.finish
        if finished or stored.get("depends_on") != []:
            why = "it has finished its last round" if finished else "its rounds depend on how many there are"
            self._refuse(f"a run of {stored['rounds']} rounds that cannot go on to more: {why}")

    def _refuse(self, why: str) -> NoReturn:
        raise InputError(f"{self.path} is the checkpoint of {why}; give another path, or delete it")


def _brief(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 300 else f"{told[:300]}..."


def _under(group: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What was stored under the names group/..."""
    return {k.removeprefix(f"{group}/"): v for k, v in tensors.items() if k.startswith(f"{group}/")}


def kept_values(state: Any) -> dict[str, Any]:
    """The fields of a state that are no tensors, which a file keeps as they are; others are refused."""
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    values = {name: value for name, value in values.items() if not isinstance(value, Tensor)}
    for name, value in values.items():
        if isinstance(value, slice):  # the shared coordinates, for example
            values[name] = {"slice": [value.start, value.stop, value.step]}
        elif isinstance(value, (list, tuple, dict)) or not plain(value):
            raise InputError(
                f"{type(state).__name__}: {name} is a {type(value).__name__}, which no checkpoint can keep:"
                " make it a tensor or a number"
            )
    return values


def identity(
    algorithm: Algorithm,
    task: Task,
    sequences: Mapping[str, Any],
    x0: Tensor,
    *,
    rounds: int,
    seeds: Sequence[int],
    seed: int,
) -> dict[str, Any]:
    """What must agree for a run to go on: hyperparameters, task, sizes, seeds, start and the networks."""
    further = {
        n: _network(one, rounds, seeds[0], seed, algorithm.gossip_steps) for n, one in sequences.items()
    }
    kinds = {"algorithm": algorithm, "task": task}
    own = {name: code for name, one in kinds.items() if (code := own_code(type(one))) is not None}
    return {
        "algorithm": recorded(algorithm),
        "task": [task.name, task.m, task.d, str(task.dtype)],
        "arguments": task.arguments,
        "rounds": rounds,
        "seeds": list(seeds),
        "seed": seed,
        "start": zlib.crc32(x0.detach().cpu().contiguous().view(torch.uint8).numpy().data),
        "network": further.pop(MIX, None),
        **({"further networks": further} if further else {}),
        **({"own code": own} if own else {}),
    }


_STATIONARY = (ClientSampling, LinkFailures, LossDriven, Matcha, RandomMatching, RandomNeighbors)
"""Sequences whose law is the same in every round: their letters and some rounds tell all of it."""


def _network(sequence: Any, rounds: int, s: int, root: int, times: int) -> list[Any]:
    """All matrices of a period; where there is none, those of all rounds, as one seed draws them."""
    known = isinstance(sequence, _STATIONARY)
    by_losses = getattr(sequence, "needs_losses", False)  # of which equal losses show little
    letters = getattr(sequence, "__dict__", {}) if known or by_losses else {}
    period = period_of(sequence)
    span = period or min(rounds, DRAWS if known else rounds)
    matrices = drawn(sequence, range(span), root, s, times if period is None else 1)
    given = {k for k in letters if not isinstance(getattr(type(sequence), k, None), cached_property)}
    told = {k: v if plain(v := letters[k]) else print_of(v) for k in sorted(given)}
    return [type(sequence).__name__, told, fingerprint(matrices)]


__all__ = ["Checkpoint", "identity"]
