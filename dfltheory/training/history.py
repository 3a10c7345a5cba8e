"""The record of a run: measures per seed and round, final models, constants."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dfltheory.algorithms.base import Algorithm
from dfltheory.constants import NetworkConstants, ProblemConstants
from dfltheory.errors import GraphError, InputError, shown
from dfltheory.files import reading
from dfltheory.graphs.sequences import MOST_MATRICES, matrices_used
from dfltheory.training import storage
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.history_file import (
    ARRAYS,
    RECORDS,
    SCALARS,
    fields_of_file,
    plain_record,
)
from dfltheory.training.records import recorded
from dfltheory.training.run_measures import KNOWN_CONSTANTS, RunMeasures


class History(RunMeasures):
    """The record of one run with S seeds over T = ``rounds`` rounds.

    Arrays (S, R) have a column for each of the R measured rounds, which are all rounds
    t = 0..T unless ``evaluate_every`` is given. Rounds after ``diverged_at`` are NaN.
    Further fields are those of
    :class:`~dfltheory.training.run_measures.RunMeasures`.

    Attributes
    ----------
    rounds : int
        T.
    rounds_measured : (R,) array of int
        The round of each column.
    grad_norm_sq : (S, R) array
        ||grad f(xbar^t)||^2.
    consensus : (S, R) array
        (1/m) sum_i ||x_i^t - xbar^t||^2, over the models that the clients use.
    loss : (S, R) array
        f(xbar^t).
    accuracy : (S, R) array, optional
        Fraction of test examples that xbar^t classifies correctly; None if there are no
        classes.
    extra : dict of str to (S, R) array
        Further measures by name (``grad_norm_sq_w``, ``two_block``, the user's
        metrics...).
    clients : dict of str to (S, R, m) array
        Measures of each client by name, from metrics such as "client_accuracy" and
        "client_loss". Their means and quantiles over clients are in ``extra``.
    sent_bits : (S, R) array, optional
        Bits sent over all links so far; None if not counted.
    x : (S, m, d) array
        Final models.
    x0_sq, x0_spread : (S,) arrays
        mean_i ||x_i^0||^2 and mean_i ||x_i^0 - xbar^0||^2.
    constants : ProblemConstants
        Constants of the problem.
    diverged_at : int, optional
        The first measured round that was not finite or out of scale.
    """

    @classmethod
    def from_measurements(
        cls,
        grad_norm_sq: ArrayLike | None = None,
        /,
        *,
        algorithm: Algorithm[Any] | str,
        hyperparameters: Mapping[str, object] | None = None,
        network: object = None,
        constants: Mapping[str, float] | ProblemConstants | None = None,
        start: str | Mapping[str, ArrayLike] | None = None,
        rounds: Sequence[int] | None = None,
        precision: str = "float64",
        task: str = "measurements made elsewhere",
        **measures: ArrayLike,
    ) -> History:
        """Return the record of a run that other code made and measured.

        Values that are not given are unknown and are never guessed: a verdict that
        needs one of them is *not applicable* and lists it.

        Parameters
        ----------
        grad_norm_sq, **measures : (seeds, rounds) or (rounds,) arrays
            Measures by name, those of the package (``grad_norm_sq``, ``loss``,
            ``f_gap``, ``dist_sq``, ``consensus``, ``model_sq`` = mean_i ||x_i||^2, ...)
            or a metric that a theorem names.
        algorithm : Algorithm or str
            The algorithm of the run: an instance, or the name of a class.
        hyperparameters : mapping, optional
            Hyperparameters of an algorithm given by name. Only those whose default
            turns their mechanism off may be omitted.
        network : matrix, weighted graph, list of matrices or sequence, optional
            Mixing matrices of the run, in any form that :func:`dfltheory.train` takes.
        constants : mapping or ProblemConstants, optional
            Values by glossary name: constants of the problem (L, sigma_l, f_star, ...),
            f0_gap, x0_sq, x0_spread, m, T, and, without ``network``, constants of the
            network. A number is treated as an upper bound (mu: a lower bound);
            ProblemConstants can mark a value as an estimate.
        start : {"common", "different"} or mapping, optional
            Whether all clients start at the same model; or x0_sq and x0_spread, each
            one number or one for each seed.
        rounds : sequence of int, optional
            The round of each column; by default 0, 1, 2, ... Round t means the models
            after t rounds, so round 0 is the start.
        precision : {"float64", "float32", "float16", "bfloat16"}
            Precision of the run's arithmetic.
        task : str
            Name of the problem, for figures.

        Returns
        -------
        History
            T is the last measured round unless ``constants`` state a later one.

        Raises
        ------
        InputError
            If shapes differ, a value is not finite, or two values contradict each
            other.
        """
        from dfltheory.training.measurements import measured_run

        if grad_norm_sq is not None:
            if "grad_norm_sq" in measures:
                raise InputError("grad_norm_sq is given twice: pass it once")
            measures = {"grad_norm_sq": grad_norm_sq, **measures}
        return cls(
            **measured_run(
                measures,
                algorithm=algorithm,
                hyperparameters=hyperparameters,
                network=network,
                constants=constants,
                start=start,
                rounds=rounds,
                precision=precision,
                task=task,
            )
        )

    def __getstate__(self) -> dict[str, object]:
        """Return the state for copies and pickles.

        The task, which may be large, is omitted if the constants are known.
        """
        state = dict(vars(self))
        if state[KNOWN_CONSTANTS] is not None:
            state["problem"] = None
        return state

    @cached_property
    def network(self) -> NetworkConstants:
        """The constants of the mixing matrices, computed on first access.

        If none exist, only m is known.
        """
        if self.topology is None:
            return NetworkConstants(m=self.m)
        from dfltheory import graphs

        # push-sum has its own constants, even on doubly stochastic matrices
        is_push_sum = self.algorithm.mixing == "column-stochastic"
        examined = (
            200 if self.random_network else min(self._matrices_used, MOST_MATRICES)
        )
        for push_sum in (True, None) if is_push_sum else (None,):
            with contextlib.suppress(GraphError):
                return graphs.network_constants(
                    self.topology, push_sum=push_sum, rounds=examined
                )
        return NetworkConstants(m=self.m)  # not connected: there are no constants

    @cached_property
    def network_facts(self) -> NetworkFacts | None:
        """The facts about the mixing matrices that verdicts need.

        They are computed or read from a file; ``None`` if the record was created
        without a topology, so that they are unknown.
        """
        if self.topology is not None:
            return NetworkFacts.of(self.topology, self._matrices_used, self.network)
        return None if self.algorithm.needs_topology else NetworkFacts("none", self.m)

    @property
    def _matrices_used(self) -> int:
        """Number of mixing matrices that the run used."""
        if self.topology is None:
            return 0
        steps = self.algorithm.gossip_steps
        return matrices_used(self.topology, self.rounds, steps)

    @cached_property
    def random_network(self) -> bool:
        """Whether W_t is random; True if the network is unknown."""
        return bool(getattr(self.topology, "random", True))

    def __repr__(self) -> str:
        """Return one line with the run, its length, and its first and last measures."""
        seeds = f"{self.seeds} seeds" if self.seeds > 1 else "1 seed"
        rounds = f"{self.rounds} rounds" if self.rounds != 1 else "1 round"
        what = (
            f"{self.algorithm.name} on {self.task}, m = {self.m or 'unknown'}, {seeds},"
            f" {rounds}"
        )
        shown_names = ("loss", "grad_norm_sq", "consensus", "accuracy")
        changes = []
        for name, values in self.measures().items():
            if name in (*shown_names, "client_accuracy", "client_loss"):
                first, last = values[:, 0].mean(), values[:, self.last_measured].mean()
                changes.append(f"{name} {first:.3g} -> {last:.3g}")
        ended = ""
        if self.diverged_at is not None:
            ended += f"; diverged by round {self.diverged_at}"
        if self.stopped_at is not None:
            ended += f"; stopped at round {self.stopped_at}"
        return f"<{type(self).__name__}: {shown(what)}: {', '.join(changes)}{ended}>"

    def __eq__(self, other: object) -> bool:
        """Return whether two records are equal.

        NaN equals NaN, and the topology objects are not compared.
        """
        if not isinstance(other, History):
            return NotImplemented
        plain = (*SCALARS, *RECORDS, "algorithm", "random_network", "stated")
        if any(getattr(self, n) != getattr(other, n) for n in plain):
            return False
        mine, theirs = (run.measures() | run._stored() for run in (self, other))
        return mine.keys() == theirs.keys() and all(
            np.array_equal(array, theirs[name], equal_nan=True)
            for name, array in mine.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def _stored(self) -> dict[str, np.ndarray]:
        """Return the arrays that are not measures."""
        arrays = {name: getattr(self, name) for name in ARRAYS}
        stored = {name: array for name, array in arrays.items() if array is not None}
        for name, array in self.clients.items():
            stored[f"client/{name}"] = array
        return stored

    @property
    def f0_gap(self) -> np.ndarray | None:
        """f(xbar^0) - f* of each seed (S,).

        ``None`` if f* is unknown, or round 0 was not measured. Values that are negative
        only through rounding are 0.
        """
        known = self._gap()
        return None if known is None else known[0]

    @property
    def f0_gap_error(self) -> np.ndarray | None:
        """Bound of the rounding error of ``f0_gap`` for each seed (S,).

        If the task computes the difference itself (:meth:`Task.excess`), it also bounds
        the error. Otherwise the bound is 16 eps (|f(xbar^0)| + |f*|) + L (eps
        ||x^0||)^2, with the rounding unit eps of the run's precision. It covers the
        subtraction, and the rounding of the minimizer at which f* was evaluated.
        """
        known = self._gap()
        return None if known is None else known[1]

    def gap_at(self, t: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return f(xbar^t) - f* and its rounding error, (S,) each.

        None if f* is unknown or round t was not measured.
        """
        at, f_star = np.flatnonzero(self.rounds_measured == t), self.constants.f_star
        if not at.size:
            return None
        if self.stated is not None and "f_gap" in self.extra:
            return self._measured_gap(int(at[0]))
        if f_star is None or (self.stated is not None and np.isnan(self.loss).all()):
            return None
        loss = self.loss[:, at[0]].astype(float)
        eps = self.facts.eps if self.facts is not None else np.finfo(float).eps
        L = self.constants.L or 0.0
        size_sq = (
            self.x0_sq
            if self.model_sq is None
            else self.model_sq[:, : self.last_measured + 1].max(axis=1)
        )
        # f at a rounded x* is slightly above the minimum
        flat = eps**2 * np.nan_to_num(size_sq) * (L if np.isfinite(L) else 0.0)
        gap, error = loss - f_star, 16 * eps * (np.abs(loss) + abs(f_star)) + flat
        if (
            t == 0
            and self.excess is not None
            and (np.abs(gap - self.excess[0]) <= error + self.excess[1]).all()
        ):
            gap, error = self.excess  # more accurate, unless another f* was given
        return np.where((gap < 0) & (gap >= -error), 0.0, gap), error

    def _measured_gap(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Return an f - f* that other code measured, and its rounding error.

        The error is that of a difference of numbers of the size of f and f*, if known.
        """
        gap = self.extra["f_gap"][:, column]
        eps = np.finfo(float).eps if self.facts is None else self.facts.eps
        size = np.abs(gap) + 2 * np.nan_to_num(np.abs(self.loss[:, column]))
        size = size + abs(self.constants.f_star or 0.0)
        error = 16 * eps * size
        return np.where((gap < 0) & (gap >= -error), 0.0, gap), error

    def _gap(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return f(xbar^0) - f* and its rounding error, (S,) each, if known."""
        return self.gap_at(0)

    def values(self) -> dict[str, float]:
        """Return the values of this run by glossary name, for ``Theorem.evaluate``.

        These are the hyperparameters, ``T``, ``m``, the known constants of the network
        and of the problem, ``f0_gap`` = f(xbar^0) - f* (mean over seeds, if f* is
        known), ``x0_sq`` and ``x0_spread``.
        """
        named: dict[str, float] = {
            **self.network.known(),
            **self.constants.known(),
            "T": self.rounds,
        }
        unknown_size = self.stated is not None and not self.x.shape[-1]
        named |= self.algorithm.theory_values(
            None if unknown_size else self.x.shape[-1]
        )
        named |= {
            "x0_sq": float(self.x0_sq.mean()),
            "x0_spread": float(self.x0_spread.mean()),
        }
        if (gap := self.f0_gap) is not None:
            named["f0_gap"] = float(gap.mean())
        if self.stated is None:
            return named
        known = {name: value for name, value in named.items() if value == value}
        return {**self.stated, **known}

    # -- storage

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write one safetensors file atomically, for ``History.load``."""
        return storage.write_tensors(path, *self._content())

    def packed(self) -> bytes:
        """Return the bytes that ``save`` writes."""
        return storage.packed(*self._content())

    def _content(self) -> tuple[dict[str, np.ndarray], dict[str, object]]:
        """Return the arrays and the document that a file of this record contains."""
        document: dict[str, object] = {name: getattr(self, name) for name in SCALARS}
        document |= {name: plain_record(getattr(self, name)) for name in RECORDS}
        document |= {
            "kind": "dfltheory.History",
            "algorithm": recorded(self.algorithm),
            "random_network": self.random_network,
        }
        if self.stated is not None:
            document["stated"] = dict(self.stated)
        measures = {f"measure/{name}": v for name, v in self.measures().items()}
        return measures | self._stored(), document

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> History:
        """Read a file written by ``save``.

        A user-defined algorithm is found if its module has been imported. Files never
        cause an import; if the class is not found, the algorithm is a
        :class:`~dfltheory.training.records.Recorded`.
        """
        tensors, document = storage.read(path, "dfltheory.History")
        with reading(path, "a history"):
            arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
            arguments, computed = fields_of_file(path, arrays, document)
            history = cls(**arguments)
            history.__dict__ |= computed
            return history


__all__ = ["History"]
