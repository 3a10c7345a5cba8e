"""The fields of a history, and tables of its measures."""

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


HISTORY_MEASURES = ("grad_norm_sq", "consensus", "loss", "accuracy")
"""Measures that are fields of a history."""
KNOWN_CONSTANTS = "_known_constants"
"""Attribute that stores the constants; None until they are read from the task."""


class _ConstantsOfRun:
    """The field ``History.constants``: given values, or else those of the task.

    The task's constants are read on first access, because estimating them may take
    longer than the run.
    """

    def __get__(self, run: RunMeasures | None, owner: type) -> ProblemConstants:
        if run is None:
            return None  # type: ignore[return-value]  # the default: read them later
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
    """Facts about the start and the arithmetic of a run.

    Attributes
    ----------
    precision : str
        For example "float64".
    eps : float
        The rounding unit of this precision.
    common_start : bool or None
        Whether the clients of each seed start at the same model, bit for bit; None if
        unknown for a run that other code measured.
    dfltheory, torch : str
        Versions of both packages.
    broken_assumption : str or None
        Why no theorem applies to the run's task, or None.
    """

    precision: str
    eps: float
    common_start: bool | None
    dfltheory: str
    torch: str
    broken_assumption: str | None = None

    @classmethod
    def of(cls, start: Tensor, broken_assumption: str | None = None) -> RunFacts:
        """Return the facts of a run that starts at the models x^0 (S, m, d)."""
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
    """The fields of a :class:`~dfltheory.training.history.History`, and its tables.

    S, R and m are the numbers of seeds, measured rounds and clients. The fields that
    are not listed here are documented in History.

    Attributes
    ----------
    algorithm : Algorithm
    task : str
        Name of the task.
    seed : int
        Root seed.
    constants : ProblemConstants
        Constants of the problem. If None is assigned, those of ``problem`` are read on
        first access.
    problem : Task, optional
        The task; None in a history that was loaded or sent to another process.
    stopped_at : int, optional
        The round at which the run was stopped early.
    seconds : float
        Duration of the run.
    topology : MixingSequence, optional
        The network.
    excess : (2, S) array, optional
        f(xbar^0) - f* as the task computes it without cancellation, and its rounding
        error; None if the task does not compute it.
    facts : RunFacts, optional
        Facts about the start and the arithmetic of the run.
    chance : bool
        Whether the values are random; False if they are computed expectations.
    consensus_rounding : (S, R) array, optional
        Rounding error of an expected ``consensus``.
    model_sq : (S, R) array, optional
        mean_i ||x_i^t||^2, to which rounding errors are proportional.
    x0_gradient_sq : (S,) array, optional
        mean_i ||grad f_i(xbar^0)||^2, in the same way.
    stated : mapping of str to float, optional
        Values by glossary name, stated by the user, of a run that other code made and
        measured; None for runs of this package. In such a record, unknown measures and
        unknown facts about the start are NaN, and an unknown m is 0.
    """

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
        """Index of the last column that was measured before the run ended."""
        end = self.rounds if self.stopped_at is None else self.stopped_at
        end = end if self.diverged_at is None else self.diverged_at
        return int(np.flatnonzero(self.rounds_measured <= end)[-1])

    def sent(self) -> dict[str, np.ndarray]:
        """Return the communication over all links by name, (S, R) each.

        ``sent_bits`` is the total so far in bits, ``sent_scalars`` in numbers of the
        run's precision, and ``sent_models`` in models (if models are stored). The
        suffix ``_per_round`` denotes the average per round since the previous
        measurement, which is 0 in the first column. The result is empty if
        communication was not counted.
        """
        if self.sent_bits is None or self.facts is None:
            return {}
        width = torch.finfo(getattr(torch, self.facts.precision)).bits
        units = {"sent_bits": 1, "sent_scalars": width}
        # the size of a model is unknown in sweeps, which do not store models
        if self.x.shape[-1]:
            units["sent_models"] = width * self.x.shape[-1]
        total = {name: self.sent_bits / unit for name, unit in units.items()}
        rounds = np.diff(self.rounds_measured, prepend=self.rounds_measured[0] - 1)
        per_round = {
            f"{n}_per_round": np.diff(v, axis=1, prepend=v[:, :1]) / rounds
            for n, v in total.items()
        }
        return total | per_round

    def to_frame(self) -> pd.DataFrame:
        """Return a tidy table with one row per seed, round and measure.

        Its columns are seed (the row 0..S-1 of the arrays), round, measure and value.
        The measures are those of :meth:`measures` and :meth:`sent`.
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
        """Return every recorded measure by name, (S, R) each."""
        by_name = {name: getattr(self, name) for name in HISTORY_MEASURES}
        recorded = {name: array for name, array in by_name.items() if array is not None}
        if self.stated is not None:  # measures that were not supplied are NaN
            recorded = {n: v for n, v in recorded.items() if not np.isnan(v).all()}
        return recorded | self.extra

    def client_quantiles(
        self, measure: str, levels: float | Sequence[float] = (0.1, 0.5, 0.9)
    ) -> np.ndarray:
        """Return quantiles over the clients of each seed, (len(levels), S, R).

        Parameters
        ----------
        measure : str
            A measure of single clients, for example "client_accuracy".
        levels : float or sequence of float
            Quantile levels in [0, 1]; 0 is the smallest value over clients, 1 the
            largest. For a single number, the result is (S, R).

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
        """Return a measure of each client, (S, R, m).

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
                f"measure = {measure!r}: the recorded measures of single clients are"
                f" {known}; train with metrics=[...], for example"
                ' metrics=["client_accuracy", "client_loss"]'
            )
        return self.clients[measure]

    def clients_frame(self) -> pd.DataFrame:
        """Return a tidy table of the measures of single clients.

        Its columns are seed (0..S-1), round, client, measure and value.
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


__all__ = ["KNOWN_CONSTANTS", "HISTORY_MEASURES", "RunFacts", "RunMeasures"]
