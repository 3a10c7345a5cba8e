"""Constants that theorems need, computed from a matrix or a sequence.

For i.i.d. random W_t, lambda is the contraction in mean square:
lambda^2 = ||E[(W - P)'(W - P)]|| with P = 11'/m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from dfltheory.constants import NetworkConstants, Standing
from dfltheory.errors import GraphError, InputError
from dfltheory.graphs.assumptions import DOUBLY_STOCHASTIC, Report
from dfltheory.graphs.definition_1 import check_rounds
from dfltheory.graphs.eigen import report_of
from dfltheory.graphs.matrices import to_dense
from dfltheory.graphs.push_sum import push_sum_constants
from dfltheory.graphs.sequence_conversion import as_sequence
from dfltheory.graphs.sequences import (
    MixingSequence,
    Rounds,
    distinct,
    period_of,
    rounding,
    rounds_of,
)

_MOST_PUSH_SUM_ROUNDS = 200
"""Largest number of rounds from which push-sum constants are estimated."""


def network_constants(
    network: object, *, push_sum: bool | None = None, rounds: int = 200, seed: int = 0
) -> NetworkConstants:
    """Return the constants of a network.

    Parameters
    ----------
    network : object
        Anything that ``as_sequence`` accepts.
    push_sum : bool, optional
        Whether to compute the push-sum constants. By default only if the matrices are
        not doubly stochastic.
    rounds : int
        Number of rounds to examine if the sequence has no period.
    seed : int
        Seed of the draws of a random sequence.

    Returns
    -------
    NetworkConstants
        ``lam`` if every matrix is doubly stochastic: the largest ||W_t - 11'/m|| over
        a period, or the mean-square contraction of random W_t. ``lam_min`` if the
        matrices are symmetric and all of them were examined. ``delta``, ``C`` and
        ``q`` of push-sum; if only windows of rounds contract, ``q`` is the effective
        value for one step (:attr:`PushSumConstants.q_effective`) and ``window`` is 1.
        Values from sampled rounds have the standing "estimate".

    Raises
    ------
    GraphError
        If a matrix is neither doubly stochastic nor column-stochastic, or is not doubly
        stochastic although ``push_sum`` is False.
    """
    sequence = as_sequence(network)
    drawn = rounds_of(sequence, rounds, seed)
    drawn = replace(drawn, matrices=list(distinct(drawn.matrices).values()))
    reports = check_rounds(drawn, DOUBLY_STOCHASTIC)
    is_doubly_stochastic = all(report.ok for report in reports)
    standing: dict[str, Standing] = {}
    errors: dict[str, float] = {}
    lam = lam_min = delta = factor = q = window = None
    if is_doubly_stochastic and sequence.random:
        draws = max(rounds, 4)
        contraction = mean_square_contraction(sequence, draws=draws, seed=seed)
        lam = contraction.lam
        if not contraction.exact:
            standing["lam"] = "estimate"
            errors["lam"] = contraction.standard_error
    elif is_doubly_stochastic:
        lam, lam_min = _largest_lam(drawn, sequence.m)
        if not drawn.exact:
            standing["lam"] = "estimate"
            errors["lam"] = 0.0  # the largest of a sample has no standard error
    if push_sum or (push_sum is None and not is_doubly_stochastic):
        for report in reports:
            if not _is_column_stochastic(report):
                report.raise_if_failed()
        constants = push_sum_constants(
            sequence, rounds=min(rounds, _MOST_PUSH_SUM_ROUNDS), seed=seed
        )
        delta = constants.delta
        factor = constants.C
        q = constants.q_effective
        window = 1
        if not drawn.exact:
            standing |= dict.fromkeys(("delta", "C", "q"), "estimate")
    else:
        for report in reports:
            report.raise_if_failed()
    return NetworkConstants(
        m=sequence.m,
        lam=lam,
        lam_min=lam_min,
        delta=delta,
        C=factor,
        q=q,
        window=window,
        standing=standing,
        errors=errors,
    )


def _largest_lam(drawn: Rounds, m: int) -> tuple[float, float | None]:
    """Return the largest lambda over the rounds, and the smallest eigenvalue.

    The eigenvalue is None if a matrix is not symmetric or the rounds are a sample.
    """
    reports = [report_of(W, drawn.eps) for W in drawn.matrices]
    lam = max(report.lam for report in reports)
    if not drawn.exact:
        return lam, None
    if m == 1:
        return lam, 1.0
    known = [report.lambda_m for report in reports if report.lambda_m is not None]
    return lam, min(known) if len(known) == len(reports) else None


def _is_column_stochastic(report: Report) -> bool:
    """Return whether no law other than the row sums fails."""
    return all(failure.law == "row sums" for failure in report.failures)


@dataclass(frozen=True)
class MeanSquareContraction:
    """lambda such that E||(W_t - P) x||^2 <= lambda^2 ||x||^2, with P = 11'/m.

    Attributes
    ----------
    lam : float
        lambda.
    standard_error : float
        Standard error of lambda; 0 for exact values and for the largest of a sample.
    method : str
        "exact": E[W'W] has a closed form, or W_t is not random. "trace": the clients
        are exchangeable, and the trace of E[W'W] is estimated without bias. "draws":
        half of the draws determine a direction, and the contraction along it is
        averaged over the other half. In expectation this does not exceed lambda.
        "rounds": W_t is neither random nor periodic, and lambda is the largest
        ||W_t - P|| of the first rounds, a lower bound.
    draws : int
        Number of draws or rounds.
    """

    lam: float
    standard_error: float
    method: str
    draws: int

    @property
    def exact(self) -> bool:
        """Whether lambda is exact."""
        return self.method == "exact"

    def __str__(self) -> str:
        how = "exact"
        if self.method == "rounds":
            how = f"or more (largest of {self.draws} rounds)"
        elif not self.exact:
            error = f"{self.standard_error:.1g}"
            how = f"+- {error} (standard error, {self.draws} draws)"
        return f"lambda = {self.lam:.6g} {how}"


def mean_square_contraction(
    network: object, *, draws: int = 400, seed: int = 0
) -> MeanSquareContraction:
    """Return the mean-square contraction of doubly stochastic matrices.

    For a sequence that is not random, lambda is the largest ||W_t - P||, over a period
    or else over the first ``draws`` rounds. For a random sequence it is exact if the
    sequence has a closed form (``contraction_squared``). If the clients are
    exchangeable, E[W'W] = a I + b 11' and lambda^2 = (E tr W'W - 1)/(m - 1). Otherwise
    lambda^2 is estimated along the leading eigenvector of half of the draws, with the
    other half.

    Parameters
    ----------
    network : object
        Anything that ``as_sequence`` accepts.
    draws : int
        Number of draws of a random sequence, or of rounds of one that is neither random
        nor periodic; at least 4.
    seed : int
        Seed of the draws.

    Returns
    -------
    MeanSquareContraction
        lambda and how it was computed.

    Raises
    ------
    GraphError
        If a matrix is not doubly stochastic.
    InputError
        If ``draws`` is below 4.
    """
    if draws < 4:
        raise InputError(f"draws = {draws} must be at least 4")
    sequence = as_sequence(network)
    m = sequence.m
    exact = _exact_contraction(sequence, seed)
    if exact is not None:
        return MeanSquareContraction(exact, 0.0, "exact", 0)
    rng = np.random.default_rng(seed)
    if not sequence.random:
        eps = rounding(sequence)
        lams = [report_of(sequence.matrix(t, rng), eps).lam for t in range(draws)]
        return MeanSquareContraction(max(lams), 0.0, "rounds", draws)
    if getattr(sequence, "exchangeable", False):
        traces: list[float] = []  # of W'W
        for t in range(draws):
            W = _draw(sequence, t, rng)
            traces.append(float((W.data**2).sum()))
        return _estimate((np.array(traces) - 1) / (m - 1), "trace", draws)
    matrices = [_draw(sequence, t, rng) for t in range(draws)]
    half = draws // 2
    products = [to_dense(sp.csr_array(W.T @ W)) for W in matrices[:half]]
    moment = np.sum(products, axis=0) / half - 1.0 / m
    vector = np.linalg.eigh((moment + moment.T) / 2)[1][:, -1]
    centered = vector - vector.mean()
    centered /= np.linalg.norm(centered)
    squares = [np.linalg.norm(W @ centered) ** 2 for W in matrices[half:]]
    return _estimate(np.array(squares), "draws", draws)


def _exact_contraction(sequence: MixingSequence, seed: int) -> float | None:
    """Return lambda if it can be computed without sampling, else None."""
    period = period_of(sequence)
    if period is not None:
        rng = np.random.default_rng(seed)
        eps = rounding(sequence)
        matrices = [sequence.matrix(t, rng) for t in range(period)]
        return max(report_of(W, eps).lam for W in matrices)
    closed_form = getattr(sequence, "contraction_squared", None)
    square = None if closed_form is None else closed_form()
    if square is not None:
        return math.sqrt(max(square, 0.0))
    return 0.0 if sequence.m == 1 else None


def _draw(sequence: MixingSequence, t: int, rng: np.random.Generator) -> sp.csr_array:
    """Return W_t; raise GraphError if it is not doubly stochastic."""
    W = sequence.matrix(t, rng)
    rounds = Rounds([W], False, rounding(sequence))
    (report,) = check_rounds(rounds, DOUBLY_STOCHASTIC)
    if not report.ok:
        raise GraphError(
            f"round {t} is not doubly stochastic: {report.failures[0].message}"
        )
    return sp.csr_array(W)


def _estimate(values: np.ndarray, method: str, draws: int) -> MeanSquareContraction:
    """Return lambda from independent estimates of lambda^2."""
    lam = math.sqrt(max(float(values.mean()), 0.0))
    error_of_square = float(values.std(ddof=1)) / math.sqrt(len(values))
    error = error_of_square / (2 * lam) if lam > 0 else math.sqrt(error_of_square)
    return MeanSquareContraction(lam, error, method, draws)
