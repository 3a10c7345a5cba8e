"""Matrices in lower precision than float64 pass up to their own rounding, and
violations are still found.

Users store W in float32 or bfloat16 (torch tensors, files); sums are then off by 1e-8
to 1e-3.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from dfltheory import graphs
from dfltheory.errors import GraphError
from dfltheory.graphs.matrices import ROUNDING_UNIT, to_dense

FORMS = {
    "float32": (lambda W: W.astype(np.float32), 1e-6),
    "float16": (lambda W: W.astype(np.float16), 1e-2),
    "sparse": (lambda W: sp.csr_array(W.astype(np.float32)), 1e-6),
    "torch": (lambda W: torch.tensor(W, dtype=torch.float32), 1e-6),
    "bfloat16": (lambda W: torch.tensor(W, dtype=torch.bfloat16), 5e-2),
    "list": (lambda W: [W.astype(np.float32), W.astype(np.float32)], 1e-6),
    "callable": (lambda W: lambda t: torch.tensor(W, dtype=torch.float32), 1e-6),
    "failures": (lambda W: graphs.LinkFailures(W.astype(np.float32), 0.0), 1e-6),
}
MANY = pytest.mark.parametrize("form", FORMS)
SIZES = pytest.mark.parametrize("m", [7, 100])


def gossip(m: int) -> np.ndarray:
    return to_dense(graphs.metropolis(graphs.erdos_renyi(m, seed=1)))


def directed(m: int) -> np.ndarray:
    return to_dense(
        graphs.column_stochastic(
            graphs.random_out_degree(m, degree=min(6, m // 2), seed=2)
        )
    )


@MANY
@SIZES
def test_gossip_matrices(form, m):
    convert, accuracy = FORMS[form]
    W = gossip(m)
    sequence = graphs.as_sequence(convert(W))
    assert sequence.eps > ROUNDING_UNIT
    report = graphs.check_mixing_matrix(sequence)
    assert report.ok, str(report)
    found = graphs.network_constants(convert(W), rounds=8)
    assert found.lam == pytest.approx(graphs.lam(W), abs=accuracy)
    assert found.q is None
    assert graphs.mean_square_contraction(convert(W), draws=8).lam == pytest.approx(
        graphs.lam(W), abs=accuracy
    )


@pytest.mark.drawn(6)
@MANY
@SIZES
def test_push_sum_matrices(form, m):
    convert, accuracy = FORMS[form]
    P = directed(m)
    report = graphs.check_push_sum(convert(P), rounds=4)
    assert report.ok, str(report)
    exact = graphs.push_sum_constants(P)
    found = graphs.push_sum_constants(convert(P), rounds=60)
    assert (found.delta, found.q) == pytest.approx(
        (exact.delta, exact.q), rel=2 * accuracy
    )
    assert graphs.network_constants(convert(P), rounds=60).q == pytest.approx(
        exact.q, rel=2 * accuracy
    )


@MANY
def test_what_is_wrong_is_still_found(form):
    convert, accuracy = FORMS[form]
    W = gossip(30)
    i, j = np.argwhere((W > 0) & ~np.eye(30, dtype=bool))[0]
    W[i, j] += min(20 * accuracy, 0.6)
    if (
        form == "failures"
    ):  # a link with different weights in the two directions makes the matrix directed
        assert not graphs.LinkFailures(W.astype(np.float32), 0.0).symmetric
    report = graphs.check_mixing_matrix(graphs.as_sequence(convert(W)))
    assert {"row sums", "column sums", "symmetry"} <= {f.law for f in report.failures}
    assert f"row {i}" in str(report)
    assert f"column {j}" in str(graphs.check_push_sum(convert(W), rounds=3))
    for ask in (graphs.network_constants, graphs.push_sum_constants):
        with pytest.raises(GraphError, match="sums to"):
            ask(convert(W), rounds=8)


def test_float64_keeps_its_own_tolerance():
    W = gossip(30)
    assert graphs.as_sequence(W).eps == graphs.as_sequence([W, W]).eps == ROUNDING_UNIT
    W[0, 0] += 1e-7
    for form in (W, [W, W], lambda t: W):
        assert not graphs.check_push_sum(form, rounds=2).ok
        assert not graphs.check_mixing_matrix(graphs.as_sequence(form)).ok
        with pytest.raises(GraphError, match="sums to"):
            graphs.network_constants(form, rounds=4)


def test_columns_that_a_solver_left_a_little_off_settle_all_the_same():
    P = directed(20) * (1 + 5e-11)
    exact, found = graphs.push_sum_constants(directed(20)), graphs.push_sum_constants(P)
    assert (found.delta, found.q) == pytest.approx((exact.delta, exact.q), rel=1e-9)
    assert graphs.push_sum_constants(sp.csr_array(P)).delta == pytest.approx(
        exact.delta, rel=1e-9
    )


def test_failing_links_of_a_rounded_matrix_keep_its_contraction():
    W = to_dense(graphs.metropolis(graphs.star(9)))
    square = graphs.LinkFailures(W, 0.3).contraction_squared()
    rounded = graphs.LinkFailures(torch.tensor(W, dtype=torch.float32), 0.3)
    assert rounded.contraction_squared() == pytest.approx(square, abs=1e-6)
    assert graphs.network_constants(rounded).lam == pytest.approx(square**0.5, abs=1e-6)


def test_no_false_alarm_on_large_float32_matrices():
    m, near = 100_000, (-3, -2, -1, 0, 1, 2, 3)
    i = np.repeat(np.arange(m), len(near))
    j = (i + np.tile(near, m)) % m
    W = sp.csr_array((np.full(len(i), 1 / 7, dtype=np.float32), (i, j)), shape=(m, m))
    assert graphs.check_mixing_matrix(W).ok
    assert graphs.check_push_sum(W).ok
