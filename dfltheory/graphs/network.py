"""From a matrix or a sequence to the constants that the theorems ask of a network.

Of i.i.d. random W_t that is the contraction in mean square: lambda^2 = ||E[(W - P)'(W - P)]||, P = 11'/m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from dfltheory.constants import NetworkConstants, Standing
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.assumptions import DOUBLY_STOCHASTIC
from dfltheory.graphs.definition_1 import check_rounds
from dfltheory.graphs.eigen import report_of
from dfltheory.graphs.matrices import to_dense
from dfltheory.graphs.push_sum import push_sum_constants
from dfltheory.graphs.sequences import MixingSequence, Rounds, as_sequence, rounding, rounds_of


def network_constants(
    network: Any, *, push_sum: bool | None = None, rounds: int = 200, seed: int = 0
) -> NetworkConstants:
    """m, lambda, and the push-sum constants of anything that ``as_sequence`` takes.

    ``lam`` is given where every matrix is doubly stochastic: ||W - 11'/m||, the largest of them over a
    period, or the mean-square contraction of random W_t; ``lam_min`` where they are symmetric and all were
    looked at. ``delta, C, q`` are given where a matrix is
    column-stochastic but not doubly so, or where ``push_sum`` is True. Where only windows of rounds
    contract, ``q`` is the effective one-step value that covers both window factors of the bounds
    (:attr:`PushSumConstants.q_effective`), and ``window`` is 1. Values from ``rounds`` sampled rounds are
    marked ``estimate``.
    """
    sequence = as_sequence(network)
    drawn = rounds_of(sequence, rounds, seed)
    reports = check_rounds(drawn, DOUBLY_STOCHASTIC)
    doubly = all(r.ok for r in reports)
    standing: dict[str, Standing] = {}
    errors: dict[str, float] = {}
    lam = lam_min = delta = C = q = window = None
    if doubly and sequence.random:
        square = mean_square_contraction(sequence, draws=max(rounds, 4), seed=seed)
        lam = square.lam
        standing |= {} if square.exact else {"lam": "estimate"}
        errors |= {} if square.exact else {"lam": square.standard_error}
    elif doubly:
        spectra = [report_of(W, drawn.eps) for W in drawn.matrices]
        lam = max(found.lam for found in spectra)
        least = [1.0 if sequence.m == 1 else found.lambda_m for found in spectra]
        known = [value for value in least if value is not None]
        if drawn.exact and len(known) == len(least):
            lam_min = min(known)
        standing |= {} if drawn.exact else {"lam": "estimate"}
        errors |= {} if drawn.exact else {"lam": 0.0}
    if push_sum or (push_sum is None and not doubly):
        if not all(r.ok or _only_rows(r) for r in reports):
            next(r for r in reports if not (r.ok or _only_rows(r))).raise_if_failed()
        constants = push_sum_constants(sequence, rounds=rounds, seed=seed)
        delta, C, q, window = constants.delta, constants.C, constants.q_effective, 1
        if not drawn.exact:
            standing |= dict.fromkeys(("delta", "C", "q"), "estimate")
    elif not doubly:
        next(r for r in reports if not r.ok).raise_if_failed()
    return NetworkConstants(sequence.m, lam, lam_min, delta, C, q, window, standing=standing, errors=errors)


def _only_rows(report: Any) -> bool:
    return all(f.law == "row sums" for f in report.failures)


@dataclass(frozen=True)
class MeanSquareContraction:
    """lambda with E||(W_t - P) x||^2 <= lambda^2 ||x||^2, and how it is known.

    ``method``: ``exact`` (E[W'W] in closed form, or W_t not random), ``trace`` (an exchangeable law: one
    number decides, estimated without bias) or ``draws`` (along the direction that half of the
    draws single out, averaged over the other half: never above the truth but for chance).
    ``standard_error`` is that of lambda; 0 for exact values.
    """

    lam: float
    standard_error: float
    method: str
    draws: int

    @property
    def exact(self) -> bool:
        return self.method == "exact"

    def __str__(self) -> str:
        how = "exact" if self.exact else f"+- {self.standard_error:.1g} (standard error, {self.draws} draws)"
        return f"lambda = {self.lam:.6g} {how}"


def mean_square_contraction(network: Any, *, draws: int = 400, seed: int = 0) -> MeanSquareContraction:
    """The mean-square contraction of a sequence of doubly stochastic matrices.

    A constant or periodic sequence has no chance in it: then lambda is the largest ||W_t - P||. A random one
    is exact where its law gives lambda^2 in closed form (``contraction_squared``); where the law treats all
    clients alike (``exchangeable``), E[W'W] = a I + b 11' and lambda^2 = (E tr W'W - 1)/(m - 1); else
    lambda^2 is read along the leading eigenvector of half of the draws, averaged over the other half.
    """
    if draws < 4:
        raise InputError(f"draws = {draws} must be at least 4")
    sequence = as_sequence(network)
    m = sequence.m
    if not sequence.random and getattr(sequence, "period", None):
        rng = np.random.default_rng(seed)
        eps, period = rounding(sequence), sequence.period  # type: ignore[attr-defined]
        lams = [report_of(sequence.matrix(t, rng), eps).lam for t in range(period)]
        return MeanSquareContraction(max(lams), 0.0, "exact", 0)
    square = getattr(sequence, "contraction_squared", lambda: None)()
    if square is not None:
        return MeanSquareContraction(math.sqrt(max(square, 0.0)), 0.0, "exact", 0)
    if m == 1:
        return MeanSquareContraction(0.0, 0.0, "exact", 0)
    rng = np.random.default_rng(seed)
    if getattr(sequence, "exchangeable", False):
        squares = np.array([float((_draw(sequence, t, rng).data ** 2).sum()) for t in range(draws)])
        return _estimate((squares - 1) / (m - 1), "trace", draws)
    Ws, half = [_draw(sequence, t, rng) for t in range(draws)], draws // 2
    moment = np.sum([to_dense(sp.csr_array(W.T @ W)) for W in Ws[:half]], axis=0) / half - 1.0 / m
    vector = np.linalg.eigh((moment + moment.T) / 2)[1][:, -1]
    centered = vector - vector.mean()
    centered /= np.linalg.norm(centered)
    return _estimate(np.array([np.linalg.norm(W @ centered) ** 2 for W in Ws[half:]]), "draws", draws)


def _draw(sequence: MixingSequence, t: int, rng: np.random.Generator) -> sp.csr_array:
    W = sequence.matrix(t, rng)
    report = check_rounds(Rounds([W], False, rounding(sequence)), DOUBLY_STOCHASTIC)[0]
    if not report.ok:
        raise GraphError(f"round {t} is not doubly stochastic: {report.failures[0].message}")
    return sp.csr_array(W)


def _estimate(values: np.ndarray, method: str, draws: int) -> MeanSquareContraction:
    lam = math.sqrt(max(float(values.mean()), 0.0))
    error = float(values.std(ddof=1)) / math.sqrt(len(values))  # of lambda^2
    return MeanSquareContraction(lam, error / (2 * lam) if lam > 0 else math.sqrt(error), method, draws)
