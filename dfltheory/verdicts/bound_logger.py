"""A theorem's bound next to the measurements of any training loop, while it runs."""

from __future__ import annotations

import copy
import inspect
import logging
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dfltheory.arrays import FloatArray
from dfltheory.bounds.reference import Reference, load
from dfltheory.errors import InputError, checked_name, whole_number
from dfltheory.training.history import History
from dfltheory.training.loggers import Tracker
from dfltheory.training.measurement_files import RESERVED
from dfltheory.training.measurements import algorithm_with
from dfltheory.verdicts.applicability import obstacle_of
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.run_values import run_values

log = logging.getLogger("dfltheory")


FIELDS = frozenset(
    {"accuracy", "consensus", "grad_norm_sq", "loss", "model_sq", "sent_bits"}
)
"""Measures that are fields of a history."""
MOST_EXAMINED = 200
"""Rounds of a network that are examined where the length of the run is unknown."""


class BoundLogger:
    """Logs the measured left-hand side and the bound of a theorem in every round.

    In round t the theorem is evaluated at the horizon T whose last round is t. The
    measured value is the left-hand side over the rounds logged so far, a mean over
    seeds. The entries are ``KEY/measured``, ``KEY/bound``, ``KEY/ratio`` and
    ``KEY/applicable`` (1 or 0). While the theorem is not applicable, only the first and
    the last are written, and each reason is reported once: to Python's logger
    ``dfltheory``, and as text if the tracker has a place for it.

    A ratio above 1 refutes nothing, since one run is not an expectation. For a verdict,
    pass :attr:`history` to :func:`dfltheory.compare`.

    Parameters
    ----------
    theorem : Theorem or str
        A theorem, a key of the registry, or a file.
    logger : object
        A SummaryWriter of TensorBoard, a run or the module of W&B or Trackio, the
        module mlflow, or any function ``(values, step)``.
    variant : str, optional
        Which variant of a key; the first by default.
    **description
        What is known of the run: algorithm, hyperparameters, network, constants,
        start and precision, as :meth:`History.from_measurements` takes them. If the
        constants do not contain T, step sizes that depend on T are compared with the
        schedule for a run that ends in the current round.

    Examples
    --------
    >>> bounds = BoundLogger(  # doctest: +SKIP
    ...     "mine.toml", SummaryWriter(), algorithm=DPSGD(eta=0.1), network=W,
    ...     constants={"L": 1.0, "f0_gap": 2.0}, start="common",
    ... )
    >>> for t in range(T):  # doctest: +SKIP
    ...     bounds.log(t, {"grad_norm_sq": squared_norm(gradient_at_mean())})
    ...     train_one_round()
    """

    def __init__(
        self,
        theorem: Reference,
        logger: object,
        *,
        variant: str | None = None,
        **description: Any,
    ):
        self.theorem = load(theorem, variant)
        self.logger = Tracker(logger)
        self.description = _with_algorithm(description)
        self.reasons: list[str] = []
        """Why the theorem was not applicable, each reason once."""
        self._reported: set[str] = set()
        self._rounds: list[int] = []
        self._logged: dict[str, FloatArray] = {}
        self._first: History | None = None
        self._diverged_at: int | None = None

    @property
    def history(self) -> History:
        """The run as logged so far, for :func:`dfltheory.compare`.

        Raises
        ------
        InputError
            If nothing was logged.
        """
        if not self._rounds:
            raise InputError("nothing was logged: call log(t, values) first")
        measures = {
            name: array[:, : self._count] for name, array in self._logged.items()
        }
        return self._record(self._rounds, measures)

    def _record(self, rounds: list[int], measures: dict[str, FloatArray]) -> History:
        """Return the run with these measured rounds (R) and measures (S, R)."""
        parts: dict[str, Any] = {**self.description, **measures}
        return History.from_measurements(rounds=rounds, **parts)

    @property
    def _count(self) -> int:
        return len(self._rounds)

    def log(self, t: int, values: Mapping[str, object]) -> dict[str, float]:
        """Log the measures of round t, which are those of the models after t rounds.

        Parameters
        ----------
        t : int
            Later than all rounds logged before.
        values : mapping
            Each measure by name: one number, or one for each seed. Names and number of
            seeds are the same in every round. If a value is not finite, the run counts
            as diverged, and the theorem is not applicable from this round on.

        Returns
        -------
        dict of str to float
            The entries that were written, by their full names.

        Raises
        ------
        InputError
            If names, seeds or rounds do not fit those before.
        """
        whole_number("t", t, at_least=0)
        for name in RESERVED & set(values):
            raise InputError(
                f"{name} is the name of a field of a run, not of a measure: rename the"
                " measure"
            )
        rows = {name: _numbers(name, value) for name, value in values.items()}
        if not all(np.isfinite(row).all() for row in rows.values()):
            self._diverged_at = t if self._diverged_at is None else self._diverged_at
        if self._diverged_at is None:
            self._append(t, rows)
            written = self._entries()
        else:
            written = {"applicable": 0.0}
            self._report(f"the run diverged by round {self._diverged_at}")
        named = {f"{self.theorem.key}/{name}": v for name, v in written.items()}
        self.logger(t, named)
        return named

    # -- what was logged -------------------------------------------------------------

    def _append(self, t: int, rows: dict[str, FloatArray]) -> None:
        """Keep the measures of one round."""
        if not rows:
            raise InputError("values are empty: log a measure such as grad_norm_sq")
        if self._rounds and t <= self._rounds[-1]:
            raise InputError(
                f"round {t} follows round {self._rounds[-1]}: log rounds in order"
            )
        if not self._rounds:
            self._logged = {name: row[:, None] for name, row in rows.items()}
            self._first = self._record([t], self._logged)
        expected, logged = _names_and_seeds(self._logged), _names_and_seeds(rows)
        if logged != expected:
            raise InputError(
                f"round {t} has {logged}, but the rounds before have {expected}: log"
                " the same measures of the same seeds in every round"
            )
        for name, row in rows.items():
            array = self._logged[name]
            if self._count == array.shape[1]:  # the array is full: double its length
                array = self._logged[name] = np.concatenate([array, array], axis=1)
            array[:, self._count] = row
        self._rounds.append(t)

    def _run_until_now(self) -> History:
        """Return the logged run at the horizon that ends with the last logged round.

        It is a copy of the record of the first round, so that facts of the network are
        computed only once.
        """
        assert self._first is not None, "a round was logged"
        planned = self._first.rounds if self._has_horizon else MOST_EXAMINED
        self._first.rounds = planned
        _ = self._first.network, self._first.network_facts
        run = copy.copy(self._first)
        run.rounds_measured = np.array(self._rounds)
        run.extra = {}
        for name, array in self._logged.items():
            values = array[:, : self._count]
            if name in FIELDS:
                setattr(run, name, values)
            else:
                run.extra[name] = values
        missing = np.full((run.seeds, self._count), np.nan)
        for name in ("grad_norm_sq", "consensus", "loss"):
            if name not in self._logged:
                setattr(run, name, missing)
        horizon = self._horizon(self._rounds[-1])
        run.rounds = min(horizon, planned) if self._has_horizon else horizon
        return run

    @property
    def _has_horizon(self) -> bool:
        constants = self.description.get("constants")
        return isinstance(constants, Mapping) and "T" in constants

    def _horizon(self, last: int) -> int:
        """Return the T at which ``last`` is the last round that the theorem covers."""
        # T less the last covered round is taken to be the same at all horizons
        other_horizon = last + 2
        last_covered = self.theorem.lhs.rounds(other_horizon).stop - 1
        return max(last + other_horizon - last_covered, 0)

    # -- what is written -------------------------------------------------------------

    def _entries(self) -> dict[str, float]:
        """Return the entries of the last logged round, by their short names."""
        run = self._run_until_now()
        left = LeftHandSide(run, self.theorem)
        entries = {"applicable": 0.0}
        reason = left.unmeasured
        if reason is None:
            entries["measured"] = float(left.over_columns(left.columns.mean(axis=0)))
            values = run_values(run, self.theorem)
            reason = obstacle_of(run, self.theorem, values)
            if reason is None:
                bound = float(self.theorem.evaluate(where="raise", **values.needed))
                ratio = entries["measured"] / bound if bound > 0 else math.inf
                return {**entries, "applicable": 1.0, "bound": bound, "ratio": ratio}
        self._report(reason)
        return entries

    def _report(self, reason: str) -> None:
        """Report a reason, unless it was reported before with other numbers."""
        without_numbers = re.sub(r"[-+.e\d]*\d", "#", reason)
        if without_numbers in self._reported:
            return
        self._reported.add(without_numbers)
        self.reasons.append(reason)
        log.warning(f"{self.theorem.key}: not applicable: {reason}")
        self.logger.note(f"{self.theorem.key}/reason", reason)


def _with_algorithm(description: dict[str, Any]) -> dict[str, Any]:
    """Return a description with the algorithm as an object; its names are checked.

    The values of the other parts are checked when the first round is logged.
    """
    if "algorithm" not in description:
        raise InputError(
            "algorithm is missing: pass an object, for example DPSGD(eta=0.1), or the"
            " name of its class and hyperparameters={...}"
        )
    rest = dict(description)
    algorithm = algorithm_with(rest.pop("algorithm"), rest.pop("hyperparameters", None))
    known = inspect.signature(History.from_measurements).parameters
    for name in rest:
        checked_name(
            "part of a run's description", name, set(known) - {"rounds", "measures"}
        )
    return {"algorithm": algorithm, **rest}


def _names_and_seeds(measures: Mapping[str, FloatArray]) -> str:
    """Return measures and their numbers of seeds as text, in alphabetical order."""
    items = sorted(measures.items())
    return ", ".join(f"{name} (seeds: {len(values)})" for name, values in items)


def _numbers(name: str, value: object) -> FloatArray:
    """Return the values of a measure as an array, one number for each seed, (S,)."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().double().numpy()
    try:
        array = np.atleast_1d(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise InputError(f"{name} = {value!r:.60} must be a number") from None
    if array.ndim != 1:
        raise InputError(
            f"{name} has shape {array.shape}: pass one number for each seed"
        )
    return array


__all__ = ["BoundLogger"]
