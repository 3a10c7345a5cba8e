"""Checkpoints, from which an interrupted run is resumed with the same bits."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import MIX, Algorithm, State
from dfltheory.errors import DataError, InputError, whole_number
from dfltheory.files import alone, check_writable, reading
from dfltheory.graphs.sequences import MixingSequence
from dfltheory.identity import source_digest, value_digest
from dfltheory.randomness import RANDOM_FORMAT
from dfltheory.tasks.task import Task
from dfltheory.training import storage, stored_arrays
from dfltheory.training.local import kept_values, tensors
from dfltheory.training.metrics import Recorder, RecorderDocument
from dfltheory.training.records import AlgorithmRecord, recorded

log = logging.getLogger("dfltheory")

_KIND = "dfltheory.Checkpoint"
SECONDS = 10.0
"""Between two saves of a run without ``every``: a save costs a sync of the disk."""

RunIdentity = TypedDict(
    "RunIdentity",
    {
        "algorithm": AlgorithmRecord,
        "task": list[str | int],
        "arguments": dict[str, str],
        "rounds": int,
        "seeds": list[int],
        "seed": int,
        "start": str,
        "network": list[str] | None,
        "further networks": dict[str, list[str]],
        "own code": dict[str, str],
        "evaluate_every": int,
        "metrics": dict[str, str],
        "deterministic": bool,
        "depends_on": list[str],
    },
    total=False,
)
"""What must agree for a run to be resumed."""


class CheckpointDocument(RecorderDocument):
    """The JSON document of a checkpoint."""

    kind: str
    random_format: int
    t: int
    identity: RunIdentity
    values: dict[str, object]


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run saves itself.

    ``train(..., checkpoint=Checkpoint("run.ckpt", every=10))`` uses one.

    After every ``every`` rounds (``None``: once ten seconds have passed since the last
    time), and after the last round, the state and all measures go into one safetensors
    file that is replaced atomically, by one process at a time. ``train`` with the same
    arguments finds the file and resumes from there. It refuses other arguments, of the
    task and the network too, and other source code of the user's classes and functions,
    and says which differ. With ``force=True`` it resumes nevertheless and logs a
    warning; only the seeds, the measured rounds and the shapes must be the same.
    ``rounds`` may be larger than before if no round depends on their number. No
    generator is stored: randomness is a function of seed and round.
    """

    path: str | os.PathLike[str]
    every: int | None = None
    force: bool = False

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.every is not None:
            whole_number("checkpoint every", self.every, at_least=1)

    @classmethod
    def of(cls, given: object) -> Checkpoint:
        """Return a checkpoint as it is, or one at a path."""
        if isinstance(given, (str, os.PathLike)):
            return cls(given)
        if not isinstance(given, cls):
            raise InputError(
                f"checkpoint = {given!r} must be a path, or Checkpoint(path, every=10)"
            )
        return given

    def due(self, t: int, rounds: int, idle: float) -> bool:
        """Return whether a run is to be saved after t rounds.

        The last save was ``idle`` seconds ago.
        """
        if t == rounds:
            return True
        if self.every is None:
            return idle >= SECONDS
        return t % self.every == 0

    def save(
        self, t: int, state: State, recorder: Recorder, identity: RunIdentity
    ) -> None:
        """Save the state after t rounds, and what its recorder has measured.

        A state that is not finite is not saved: its run has diverged, and is resumed
        from the last finite one.
        """
        parts = tensors(state)
        if not all(bool(torch.isfinite(part).all()) for part in parts.values()):
            return
        arrays: dict[str, Tensor | np.ndarray] = {}
        for name, part in parts.items():
            arrays[f"state/{name}"] = part.cpu()
        for group, kept in (("measure", recorder.values), ("client", recorder.clients)):
            for name, measured in kept.items():
                arrays[f"{group}/{name}"] = np.stack(measured)
        document: CheckpointDocument = {
            "kind": _KIND,
            "random_format": RANDOM_FORMAT,
            "t": t,
            "identity": identity,
            "values": kept_values(state),
            **recorder.document(),
        }
        storage.write(self.path, arrays, document)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Let this process alone write the file, which must be writable."""
        check_writable(self.path)
        with alone(self.path):
            yield

    def resume(
        self,
        state: State,
        recorder: Recorder,
        rounds: int,
        identity_of: Callable[[int], RunIdentity],
    ) -> tuple[State, int]:
        """Return the saved state and the number of rounds done.

        Without a file these are the given state and 0.

        Parameters
        ----------
        state : State
            Before the first round.
        recorder : Recorder
            It has measured the start, and is set to the saved measurements.
        rounds : int
            Number of rounds of this run.
        identity_of : function
            Number of rounds -> identity of this run with that number.

        Raises
        ------
        InputError
            If the file is of another run.
        DataError
            If it is damaged.
        """
        if not Path(self.path).exists():
            return state, 0
        with reading(self.path, "a checkpoint"):
            document: CheckpointDocument
            stored_tensors, document = storage.read(self.path, _KIND)
            self._refuse_other_numbers(document.get("random_format", 1))
            measures = storage.under("measure", stored_tensors)
            clients = storage.under("client", stored_tensors)
            stored: Mapping[str, Any] = document["identity"]
            measured, t = document["rounds"], int(document["t"])
            before = stored.get("rounds", rounds)
            longest = max(map(len, [*measures.values(), *clients.values()]))
            self._check_rounds(t, before, measured, longest)
            if before < rounds:
                self._refuse_to_grow(recorder.algorithm, stored, t)
            self._refuse_another(
                stored, storage.read_back(identity_of(min(before, rounds)))
            )
            stored_arrays.check_measures(measures, len(measured), state.x.shape[0])
            self._check_start(recorder, measures)
            device = state.x.device
            fields_of_state = storage.under("state", stored_tensors)
            saved = {name: v.to(device) for name, v in fields_of_state.items()}
            self._check_shapes(state, saved)
            stored_arrays.check_state(state, saved)
            state = replace(state, **saved, **_values(document["values"]))
            recorder.restore(document, _by_round(measures), _by_round(clients), state)
            if before < rounds and t == before and t % stored.get("evaluate_every", 1):
                # measured as the last round, which it no longer is
                recorder.forget_last()
        log.info(f"resumed after {t} of {rounds} rounds from {self.path}")
        return state, t

    def _check_rounds(
        self, t: int, before: int, measured: list[int], longest: int
    ) -> None:
        """Raise DataError unless t of ``before`` rounds can be so measured.

        ``longest`` is the largest number of values of a measure.
        """
        in_range = 0 <= t <= before and all(0 <= r <= t for r in measured)
        if not in_range or longest > len(measured):
            raise DataError(
                f"{self.path} is damaged: {t} of {before} rounds, measured"
                f" {len(measured)} times"
            )

    def _refuse_other_numbers(self, version: object) -> None:
        if version != RANDOM_FORMAT:
            self._refuse(
                f"a run whose random_format is {version!r:.20}: this version draws the"
                f" random numbers of format {RANDOM_FORMAT}"
            )

    def _refuse_another(
        self, stored: Mapping[str, Any], identity: Mapping[str, Any]
    ) -> None:
        theirs, ours = stored.get("arguments", {}), identity["arguments"]
        names = sorted({*theirs, *ours})
        differ = [name for name in names if theirs.get(name) != ours.get(name)]
        if differ:
            self._refuse(
                f"another run: its task was made with another {', '.join(differ)}"
            )
        for name in [*identity, *(stored.keys() - identity.keys() - {"depends_on"})]:
            if stored.get(name) == identity.get(name):
                continue
            self._refuse(
                f"another run: its {name} is {_brief(stored.get(name))}, not"
                f" {_brief(identity.get(name))}",
                forcible=name not in _NEVER_FORCED,
            )
        if stored["metrics"].keys() != identity["metrics"].keys():
            self._refuse("another run: its metrics have other names", forcible=False)

    def _check_start(self, recorder: Recorder, measures: Mapping[str, Tensor]) -> None:
        """Compare what this run measured at its start with what the stored one did."""
        for name in ("loss", "grad_norm_sq"):
            now, then = recorder.values[name][0], measures[name].numpy()[0]
            if not np.allclose(now, then, rtol=1e-3, atol=1e-6, equal_nan=True):
                line = f"its {name} at the start is {then[0]:.6g}, not {now[0]:.6g}"
                self._refuse(f"a run on other data: {line}")

    def _check_shapes(self, state: State, stored: Mapping[str, Tensor]) -> None:
        """Refuse a stored state of other shapes, which only a forced run gets to."""
        for name, tensor in stored.items():
            own = getattr(state, name, None)
            if isinstance(own, Tensor) and own.shape != tensor.shape:
                shapes = f"{list(tensor.shape)}, not {list(own.shape)}"
                self._refuse(
                    f"another run: the shape of its {name} is {shapes}", forcible=False
                )

    def _refuse_to_grow(
        self, algorithm: Algorithm, stored: Mapping[str, Any], t: int
    ) -> None:
        finishes = type(algorithm).finish is not Algorithm.finish
        if t == stored["rounds"] and finishes:
            why = "it has finished its last round"
        elif stored.get("depends_on") != []:
            why = "its rounds depend on how many there are"
        else:
            return
        line = f"a run of {stored['rounds']} rounds that cannot go on to more: {why}"
        self._refuse(line, forcible=False)

    def _refuse(self, why: str, *, forcible: bool = True) -> None:
        """Raise InputError, or log it if the difference is forced."""
        if forcible and self.force:
            log.warning(f"resumed although {self.path} is the checkpoint of {why}")
            return
        remedy = "give another path, or delete it"
        if forcible:
            remedy += ", or force it (Checkpoint(..., force=True), --force)"
        raise InputError(f"{self.path} is the checkpoint of {why}; {remedy}")


_NEVER_FORCED = ("rounds", "seeds", "evaluate_every")
"""What the stored measurements are indexed by."""


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


def _values(stored: Mapping[str, Any]) -> dict[str, object]:
    """Return the fields that :func:`~dfltheory.training.local.kept_values` gave."""
    values = dict(stored)
    for name, value in stored.items():
        if isinstance(value, dict):
            values[name] = slice(*value["slice"])
    return values


def _by_round(tensors: Mapping[str, Tensor]) -> dict[str, list[np.ndarray]]:
    """Return arrays (R, S, ...) as lists of arrays (S, ...)."""
    return {name: list(tensor.numpy()) for name, tensor in tensors.items()}


def identity(
    algorithm: Algorithm,
    task: Task,
    sequences: Mapping[str, MixingSequence],
    x0: Tensor,
    *,
    rounds: int,
    seeds: Sequence[int],
    seed: int,
) -> RunIdentity:
    """Return what must agree for a run to be resumed.

    These are hyperparameters, task, seeds, start and networks.
    """
    networks = {
        name: [type(sequence).__name__, value_digest(sequence)]
        for name, sequence in sequences.items()
    }
    kinds = {"algorithm": type(algorithm), "task": type(task)}
    sources = {name: source_digest(kind) for name, kind in kinds.items()}
    own = {name: source for name, source in sources.items() if source is not None}
    document: RunIdentity = {
        "algorithm": recorded(algorithm),
        "task": [task.name, task.m, task.d, str(task.dtype)],
        "arguments": task.arguments,
        "rounds": rounds,
        "seeds": list(seeds),
        "seed": seed,
        "start": value_digest(x0),
        "network": networks.pop(MIX, None),
    }
    if networks:
        document["further networks"] = networks
    if own:
        document["own code"] = own
    return document


__all__ = ["Checkpoint", "RunIdentity", "identity"]
