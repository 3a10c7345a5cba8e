"""Checkpoints, from which an interrupted run resumes bit-identically."""

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
SAVE_SECONDS = 10.0
"""Seconds between two saves if ``every`` is None; each save syncs the disk."""

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
"""Properties that must be equal for a run to be resumed."""


class CheckpointDocument(RecorderDocument):
    """The JSON document of a checkpoint."""

    kind: str
    random_format: int
    t: int
    identity: RunIdentity
    values: dict[str, object]


@dataclass(frozen=True)
class Checkpoint:
    """The path of a checkpoint, and how often it is written.

    For example ``train(..., checkpoint=Checkpoint("run.ckpt", every=10))``.

    The state and all measures are saved after every ``every`` rounds and after the last
    round. They are stored in one safetensors file, which is replaced atomically and can
    be written by only one process at a time.

    If the file exists, ``train`` with the same arguments resumes from it. It raises an
    error that names the differences if the arguments of the run, the task or the
    network differ, or if the source code of user-defined classes and functions has
    changed. With ``force=True`` it logs a warning instead and resumes; only seeds,
    measured rounds and shapes must still agree. ``rounds`` may be larger than before if
    no round depends on the number of rounds. No generator state is stored, because
    randomness is a function of seed and round.

    Parameters
    ----------
    path : path
        The file.
    every : int, optional
        Number of rounds between saves; by default, the state is saved when ten seconds
        have passed since the last save.
    force : bool
        Whether to resume a run whose arguments or code differ.
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
        """Return a Checkpoint unchanged, or create one at a path."""
        if isinstance(given, (str, os.PathLike)):
            return cls(given)
        if not isinstance(given, cls):
            raise InputError(
                f"checkpoint = {given!r} must be a path, or Checkpoint(path, every=10)"
            )
        return given

    def due(self, t: int, rounds: int, idle: float) -> bool:
        """Return whether to save after t of all rounds.

        Parameters
        ----------
        t, rounds : int
            Number of rounds so far, and in all.
        idle : float
            Seconds since the last save.
        """
        if t == rounds:
            return True
        if self.every is None:
            return idle >= SAVE_SECONDS
        return t % self.every == 0

    def save(
        self, t: int, state: State, recorder: Recorder, identity: RunIdentity
    ) -> None:
        """Save a state and the measurements so far.

        A state that is not finite is not saved. The run has diverged, and is resumed
        from the last finite state.

        Parameters
        ----------
        t : int
            Number of rounds so far.
        state : State
            The state after t rounds.
        recorder : Recorder
            Its measurements are saved.
        identity : RunIdentity
            Properties that must be equal for the run to be resumed.
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
        storage.write_tensors(self.path, arrays, document)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Lock the file for this process; it must be writable."""
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
        """Return the saved state and its round; without a file, ``state`` and 0.

        Parameters
        ----------
        state : State
            The state before the first round.
        recorder : Recorder
            Has measured the start; the saved measurements are restored to it.
        rounds : int
            Number of rounds of this run.
        identity_of : function
            Maps a number of rounds to the identity of this run with that number.

        Raises
        ------
        InputError
            If the file belongs to another run.
        DataError
            If the file is damaged.
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
            stored_arrays.check_stored_state(state, saved)
            state = replace(state, **saved, **_values(document["values"]))
            recorder.restore(document, _by_round(measures), _by_round(clients), state)
            if before < rounds and t == before and t % stored.get("evaluate_every", 1):
                # it was measured as the last round, but no longer is the last
                recorder.forget_last()
        log.info(f"resumed after {t} of {rounds} rounds from {self.path}")
        return state, t

    def _check_rounds(
        self, t: int, before: int, measured: list[int], longest: int
    ) -> None:
        """Raise DataError unless the numbers of rounds and measurements are consistent.

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
        """Refuse a stored run that differs from this one, naming the differences."""
        stored_arguments = stored.get("arguments", {})
        arguments = identity["arguments"]
        names = sorted({*stored_arguments, *arguments})
        changed = [n for n in names if stored_arguments.get(n) != arguments.get(n)]
        if changed:
            self._refuse(
                f"another run: its task was created with another {', '.join(changed)}"
            )
        for name in [*identity, *(stored.keys() - identity.keys() - {"depends_on"})]:
            if stored.get(name) == identity.get(name):
                continue
            self._refuse(
                f"another run: its {name} is {_short_text(stored.get(name))}, not"
                f" {_short_text(identity.get(name))}",
                forcible=name not in _NEVER_FORCED,
            )
        if stored["metrics"].keys() != identity["metrics"].keys():
            self._refuse("another run: its metrics have other names", forcible=False)

    def _check_start(self, recorder: Recorder, measures: Mapping[str, Tensor]) -> None:
        """Compare the measurements at the start of this run with the stored ones."""
        for name in ("loss", "grad_norm_sq"):
            now, then = recorder.values[name][0], measures[name].numpy()[0]
            if not np.allclose(now, then, rtol=1e-3, atol=1e-6, equal_nan=True):
                line = f"its {name} at the start is {then[0]:.6g}, not {now[0]:.6g}"
                self._refuse(f"a run on other data: {line}")

    def _check_shapes(self, state: State, stored: Mapping[str, Tensor]) -> None:
        """Reject a stored state with other shapes (if the resume is forced)."""
        for name, tensor in stored.items():
            current = getattr(state, name, None)
            if isinstance(current, Tensor) and current.shape != tensor.shape:
                shapes = f"{list(tensor.shape)}, not {list(current.shape)}"
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
            why = "its rounds depend on their number"
        else:
            return
        line = f"a run of {stored['rounds']} rounds that cannot be extended: {why}"
        self._refuse(line, forcible=False)

    def _refuse(self, why: str, *, forcible: bool = True) -> None:
        """Raise InputError, or log a warning if the difference is forced."""
        if forcible and self.force:
            log.warning(f"resumed although {self.path} is the checkpoint of {why}")
            return
        remedy = "use another path, or delete the file"
        if forcible:
            remedy += ", or force it (Checkpoint(..., force=True), --force)"
        raise InputError(f"{self.path} is the checkpoint of {why}; {remedy}")


_NEVER_FORCED = ("rounds", "seeds", "evaluate_every")
"""Differences that cannot be forced, because they index the stored measurements."""


def _short_text(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


def _values(stored: Mapping[str, Any]) -> dict[str, object]:
    """Invert :func:`~dfltheory.training.local.kept_values`."""
    values = dict(stored)
    for name, value in stored.items():
        if isinstance(value, dict):
            values[name] = slice(*value["slice"])
    return values


def _by_round(tensors: Mapping[str, Tensor]) -> dict[str, list[np.ndarray]]:
    """Convert arrays (R, S, ...) to lists of arrays (S, ...)."""
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
    """Return the properties that must be equal for a run to be resumed.

    Parameters
    ----------
    algorithm : Algorithm
    task : Task
    sequences : mapping of str to MixingSequence
        Networks of the run by the name of the matrix.
    x0 : (S, m, d) tensor
        Starting models.
    rounds : int
        Number of rounds T.
    seeds : sequence of int
        Indices of the seeds.
    seed : int
        Root seed.
    """
    networks = {
        name: [type(sequence).__name__, value_digest(sequence)]
        for name, sequence in sequences.items()
    }
    kinds = {"algorithm": type(algorithm), "task": type(task)}
    sources = {name: source_digest(kind) for name, kind in kinds.items()}
    user_sources = {
        name: source for name, source in sources.items() if source is not None
    }
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
    if user_sources:
        document["own code"] = user_sources
    return document


__all__ = ["Checkpoint", "RunIdentity", "identity"]
