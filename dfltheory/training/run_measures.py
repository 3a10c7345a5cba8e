"""The fields of a run's record, and tables of its measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm
from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError
from dfltheory.graphs.sequences import MixingSequence
from dfltheory.tasks.task import Task
from dfltheory.training.client_measures import over_clients
from dfltheory.version import __version__

if TYPE_CHECKING:
    import pandas as pd


MEASURES = ("grad_norm_sq", "consensus", "loss", "accuracy")
"""Measures that are fields of a record."""
KNOWN_CONSTANTS = "_known_constants"
"""Where a record keeps its constants; None until the task is asked for them."""


class _ConstantsOfRun:
    """The field ``History.constants``: as given, else those of the task.

    Tasks may have to estimate their constants, which takes longer than many runs.
    """

    def __get__(self, run: RunMeasures | None, owner: type) -> ProblemConstants:
        if run is None:
            return None  # type: ignore[return-value]  # the field's default: ask the task
        values = vars(run)
        if values[KNOWN_CONSTANTS] is None:
            problem = run.problem
            values[KNOWN_CONSTANTS] = (
                ProblemConstants() if problem is None else problem.constants
            )
        return values[KNOWN_CONSTANTS]

    def __set__(self, run: RunMeasures, constants: ProblemConstants | None) -> None:
        vars(run)[KNOWN_CONSTANTS] = constants


@dataclass(frozen=True)
class RunFacts:
    """The start of a run and its arithmetic.

    Attributes
    ----------
    precision : str
        As in "float64".
    eps : float
        The rounding unit of this precision.
    common_start : bool or None
        Whether the clients of every seed start at one model, bit for bit; None: a run
        that was measured elsewhere does not state it.
    dfltheory, torch : str
        The versions.
    broken_assumption : str or None
        Why no theorem applies to the run's task, as the task says it.
    """

    precision: str
    eps: float
    common_start: bool | None
    dfltheory: str
    torch: str
    broken_assumption: str | None = None

    @classmethod
    def of(cls, start: Tensor, broken_assumption: str | None = None) -> RunFacts:
        """Return the facts of a run that begins at the models x^0 (S, m, d)."""
        return cls(
            precision=str(start.dtype).removeprefix("torch."),
            eps=torch.finfo(start.dtype).eps,
            common_start=bool((start == start[:, :1]).all()),
            dfltheory=__version__,
            torch=str(torch.__version__),
            broken_assumption=broken_assumption,
        )


@dataclass(repr=False, eq=False)
class RunMeasures:
    """The fields of a :class:`~dfltheory.training.history.History`, and its tables."""

    algorithm: Algorithm[Any]
    rounds: int
    rounds_measured: np.ndarray
    grad_norm_sq: np.ndarray
    consensus: np.ndarray
    loss: np.ndarray
    accuracy: np.ndarray | None
    x: np.ndarray
    x0_sq: np.ndarray
    x0_spread: np.ndarray
    constants: ProblemConstants = _ConstantsOfRun()  # type: ignore[assignment]
    problem: Task[Any] | None = None
    task: str = "task"
    seed: int = 0
    extra: dict[str, np.ndarray] = field(default_factory=dict)
    diverged_at: int | None = None
    stopped_at: int | None = None
    seconds: float = 0.0
    topology: MixingSequence | None = None
    excess: np.ndarray | None = None
    facts: RunFacts | None = None
    sent_bits: np.ndarray | None = None
    chance: bool = True
    consensus_rounding: np.ndarray | None = None
    model_sq: np.ndarray | None = None
    x0_gradient_sq: np.ndarray | None = None
    stated: Mapping[str, float] | None = None
    clients: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """Number of seeds S."""
        return self.x.shape[0]

    @property
    def m(self) -> int:
        """Number of clients."""
        return self.x.shape[1]

    @property
    def last_measured(self) -> int:
        """The last column that was measured before the run ended."""
        end = self.rounds if self.stopped_at is None else self.stopped_at
        end = end if self.diverged_at is None else self.diverged_at
        return int(np.flatnonzero(self.rounds_measured <= end)[-1])

    def sent(self) -> dict[str, np.ndarray]:
        """Return what was sent over all links, (S, len(rounds_measured)) each.

        The result is empty if it was not counted.

        ``sent_bits`` in total until then, ``sent_scalars`` in numbers of the run's
        precision, ``sent_models`` in numbers of one model, where models are kept; with
        ``_per_round``, since the measurement before, for each round.
        """
        if self.sent_bits is None or self.facts is None:
            return {}
        width = torch.finfo(getattr(torch, self.facts.precision)).bits
        units = {"sent_bits": 1, "sent_scalars": width}
        # a sweep keeps no models: how large one was is not known then
        if self.x.shape[-1]:
            units["sent_models"] = width * self.x.shape[-1]
        total = {name: self.sent_bits / unit for name, unit in units.items()}
        rounds = np.diff(self.rounds_measured, prepend=self.rounds_measured[0] - 1)
        each = {
            f"{n}_per_round": np.diff(v, axis=1, prepend=v[:, :1]) / rounds
            for n, v in total.items()
        }
        return total | each

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy table with one row per seed, round and measure.

        Its columns are seed, round, measure and value.
        """
        import pandas as pd

        S, R = self.loss.shape
        seed, t = np.repeat(np.arange(S), R), np.tile(self.rounds_measured, S)
        return pd.concat(
            [
                pd.DataFrame(
                    {
                        "seed": seed,
                        "round": t,
                        "measure": name,
                        "value": array.reshape(-1),
                    }
                )
                for name, array in (self.measures() | self.sent()).items()
            ],
            ignore_index=True,
        )

    def measures(self) -> dict[str, np.ndarray]:
        """Every recorded measure by name, (S, len(rounds_measured)) each."""
        own = {name: getattr(self, name) for name in MEASURES}
        recorded = {name: array for name, array in own.items() if array is not None}
        if self.stated is not None:  # what was not measured elsewhere is NaN
            recorded = {n: v for n, v in recorded.items() if not np.isnan(v).all()}
        return recorded | self.extra

    def client_quantiles(
        self, measure: str, levels: float | Sequence[float] = (0.1, 0.5, 0.9)
    ) -> np.ndarray:
        """Return quantiles over the clients of each seed, (len(levels), S, R).

        Parameters
        ----------
        measure : str
            A measure of single clients, as "client_accuracy".
        levels : float or sequence of float
            In [0, 1]: 0 is the smallest value of a client, 1 the largest. A single
            number gives (S, R).

        Raises
        ------
        InputError
            If no measure of single clients has this name, or a level is not in [0, 1].
        """
        values = self.of_clients(measure)
        if not all(0 <= level <= 1 for level in np.atleast_1d(levels)):
            raise InputError(f"levels = {levels!r} must lie between 0 and 1")
        return over_clients(values, levels)

    def of_clients(self, measure: str) -> np.ndarray:
        """Return a measure of every client, (S, len(rounds_measured), m).

        Parameters
        ----------
        measure : str
            A name in ``clients``.

        Raises
        ------
        InputError
            If no measure of single clients has this name.
        """
        if measure not in self.clients:
            known = ", ".join(self.clients) or "none"
            raise InputError(
                f"measure = {measure!r}: of single clients this run recorded {known};"
                " train with metrics=[...], as in"
                ' metrics=["client_accuracy", "client_loss"]'
            )
        return self.clients[measure]

    def clients_frame(self) -> pd.DataFrame:
        """Return a tidy table of the measures of single clients.

        Its columns are seed, round, client, measure and value.
        """
        import pandas as pd

        columns = ("seed", "round", "client", "measure", "value")
        parts = []
        for name, array in self.clients.items():
            seed, column, client = np.indices(array.shape).reshape(3, -1)
            t = self.rounds_measured[column]
            parts.append(
                pd.DataFrame(
                    dict(zip(columns, (seed, t, client, name, array.reshape(-1))))
                )
            )
        if not parts:
            return pd.DataFrame(columns=columns)
        return pd.concat(parts, ignore_index=True)


__all__ = ["KNOWN_CONSTANTS", "MEASURES", "RunFacts", "RunMeasures"]
