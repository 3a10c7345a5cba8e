"""Saving a run to its checkpoint, and resuming from it."""

from __future__ import annotations

import time

from dfltheory.identity import value_digest
from dfltheory.training.checkpoint import Checkpoint, RunIdentity, identity
from dfltheory.training.recording import Recording
from dfltheory.training.run import Run


class Saving:
    """Saves one run to its checkpoint while it performs rounds.

    Parameters
    ----------
    checkpoint : Checkpoint
    run : Run
        The run before its first round.
    recording : Recording
        Its measurements.
    deterministic : bool
        Whether the run is bit-identical for any number of threads.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        run: Run,
        recording: Recording,
        deterministic: bool,
    ):
        self.checkpoint, self._run, self._recording = checkpoint, run, recording
        metrics = {
            name: value_digest(metric)
            for name, metric in recording.recorder.metrics.items()
        }
        self._identity: RunIdentity = {
            **identity(
                run.algorithm,
                run.task,
                run.sequences,
                run.state.x,
                rounds=run.rounds,
                seeds=run.seeds,
                seed=run.seed,
            ),
            "evaluate_every": recording.every,
            "metrics": metrics,
            "deterministic": deterministic,
        }
        self._last = time.monotonic()

    def resume(self) -> int:
        """Restore the saved state, and return the number of completed rounds."""
        run = self._run
        state, done = self.checkpoint.resume(
            run.state, self._recording.recorder, run.rounds, self._identity_of_rounds
        )
        run.state = state
        return done

    def due(self, t: int) -> bool:
        """Return whether to save the run after t rounds."""
        return self.checkpoint.due(t, self._run.rounds, time.monotonic() - self._last)

    def save(self, t: int) -> None:
        """Save the run after t rounds."""
        depends_on = sorted(self._run.dependencies)
        identity: RunIdentity = {**self._identity, "depends_on": depends_on}
        self.checkpoint.save(t, self._run.state, self._recording.recorder, identity)
        self._last = time.monotonic()

    def _identity_of_rounds(self, rounds: int) -> RunIdentity:
        """Return the identity of the same run with another number of rounds."""
        return {**self._identity, "rounds": rounds}


__all__ = ["Saving"]
