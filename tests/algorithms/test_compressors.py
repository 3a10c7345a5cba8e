"""The contract of compressors, checked by expectations over all random outcomes."""

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.algorithms.compressed import CHOCOSGD
from dfltheory.algorithms.compressors import QSGD, RandK, Sign, TopK
from dfltheory.randomness import Generators, uniform_numbers
from dfltheory.testing import check_algorithm
from dfltheory.testing.algorithms import ALGORITHM_CHECKS
from dfltheory.training import train
from tests.algorithms.problems import Rows, ring_matrix

NUMBERS = st.floats(-1e3, 1e3).map(lambda v: round(v, 6))
VECTORS = st.lists(NUMBERS, min_size=1, max_size=5).map(np.array)
SHARES = st.floats(0.01, 1.0)


def compressed(compressor, x, u=None):
    """Return C(x) for one vector, compressed together with other clients' vectors."""
    stacked = torch.tensor(np.stack([x, 3 - 2 * x])[None], dtype=torch.float64)
    given = (
        torch.full_like(stacked, 0.5)
        if u is None
        else torch.tensor(np.stack([u, u])[None])
    )
    before = stacked.clone()
    out = compressor(stacked, lambda shape: given)
    assert torch.equal(stacked, before)
    return out[0, 0].numpy()


def holds(expected, compressor, x):
    bound = (1 - compressor.delta(len(x))) * (x @ x)
    assert expected <= bound * (1 + 1e-9) + 1e-12
    return bound


@given(x=VECTORS, share=SHARES)
def test_top_k(x, share):
    k = max(1, round(share * len(x)))
    out = compressed(TopK(share), x)
    largest = np.sort(np.abs(x))[::-1][:k]
    np.testing.assert_array_equal(np.sort(np.abs(out))[::-1][:k], largest)
    assert np.isin(out, [0.0, *x]).all()
    assert np.count_nonzero(out) <= k
    holds(np.sum((out - x) ** 2), TopK(share), x)


@given(x=VECTORS, share=SHARES)
def test_rand_k_over_all_orders_of_chance(x, share):
    k, d = max(1, round(share * len(x))), len(x)
    outs = [
        compressed(RandK(share), x, np.array(order) / d)
        for order in permutations(range(d))
    ]
    assert all(np.count_nonzero(out) <= k for out in outs)
    expected = np.mean([np.sum((out - x) ** 2) for out in outs])
    assert expected == pytest.approx((1 - k / d) * (x @ x), rel=1e-9, abs=1e-12)
    holds(expected, RandK(share), x)


@given(x=VECTORS)
def test_sign(x):
    out = compressed(Sign(), x)
    np.testing.assert_allclose(
        out, np.abs(x).sum() / len(x) * np.copysign(1, x), rtol=1e-12
    )
    assert np.sum((out - x) ** 2) == pytest.approx(
        x @ x - np.abs(x).sum() ** 2 / len(x), rel=1e-9, abs=1e-6
    )
    holds(np.sum((out - x) ** 2), Sign(), x)


@given(x=VECTORS, levels=st.integers(1, 20))
def test_qsgd_over_both_roundings(x, levels):
    """Entry j is rounded up if u_j >= 1 - p_j, that is, with probability p_j.

    p_j is the fractional part of s |x_j|/

    x

    .
    """
    d, norm = len(x), math.sqrt(x @ x)
    if norm == 0:
        np.testing.assert_array_equal(compressed(QSGD(levels), x), x)
        return
    fraction = levels * np.abs(x) / norm % 1
    if ((fraction < 1e-9) | (fraction > 1 - 1e-9)).any():
        return  # floating-point rounding decides which of the two it is
    down, up = (
        compressed(QSGD(levels), x, u) for u in (np.zeros(d), np.full(d, 1 - 1e-12))
    )
    tau = QSGD(levels).tau(d)
    mean = (1 - fraction) * down + fraction * up
    np.testing.assert_allclose(tau * mean, x, rtol=1e-9, atol=1e-12 * norm)
    spread = (1 - fraction) * (down - x) ** 2 + fraction * (up - x) ** 2
    holds(spread.sum(), QSGD(levels), x)


def test_the_constants_are_the_best_where_the_contract_is_tight():
    for compressor, worst in ((TopK(0.5), np.ones(4)), (Sign(), np.eye(4)[0])):
        error = np.sum((compressed(compressor, worst) - worst) ** 2)
        assert error == pytest.approx((1 - compressor.delta(4)) * (worst @ worst))
    assert QSGD(4).delta(64) == pytest.approx(1 / (1 + 2))  # min(64/16, 8/4)
    assert QSGD(16).delta(64) == pytest.approx(1 / (1 + 0.25))  # min(64/256, 8/16)


def test_bits():
    """Count the bits of 100 numbers with 32 bits each: all of them, 10 with positions
    of 7 bits, 10, signs with a scale, and 9 levels with the norm.
    """
    kinds = (TopK(0.1), RandK(0.1), Sign(), QSGD(4))
    assert [kind.bits(100, 32) for kind in kinds] == [10 * 39, 320, 132, 100 * 4 + 32]


@pytest.mark.parametrize("kind", [TopK(0.3), RandK(0.3), Sign(), QSGD(3)])
def test_seeds_and_clients_are_compressed_alone_and_precision_stays(kind):
    x, u = torch.randn(2, 3, 7), torch.rand(2, 3, 7)
    out = kind(x, lambda shape: u)
    for s in range(2):
        for i in range(3):
            alone = kind(
                x[s : s + 1, i : i + 1], lambda shape, s=s, i=i: u[s : s + 1, i : i + 1]
            )
            torch.testing.assert_close(alone[0, 0], out[s, i])
    assert kind(x.bfloat16(), lambda shape: u.bfloat16()).dtype == torch.bfloat16


KINDS = {"top-k": TopK(0.3), "rand-k": RandK(0.3), "sign": Sign(), "qsgd": QSGD(5)}


@pytest.mark.parametrize("name", KINDS)
def test_choco_sgd_by_name_on_the_rounds_own_chance(name):
    """The first estimates, from 0, are C(x - eta g) with the random numbers of the
    round.

    Only these are sent, with C's number of bits, to each of two neighbors; mixing the
    estimates sends nothing.
    """
    algorithm = CHOCOSGD(eta=0.1, gamma=0.4, compressor=name, share=0.3, levels=5)
    assert algorithm.compress == KINDS[name]
    assert algorithm.theory_values(10) == algorithm.theory_values() | {
        "omega": KINDS[name].delta(10)
    }
    task, x0 = (
        Rows(d=10, batch=None),
        torch.linspace(-1, 1, 100, dtype=torch.float64).reshape(2, 5, 10),
    )
    kept = []
    run = train(
        algorithm,
        task,
        ring_matrix(5),
        1,
        2,
        x0=x0,
        callbacks=[lambda t, state, recorder: kept.append(state)],
    )
    z = x0 - 0.1 * task.gradient(x0)
    generators = Generators(0, range(2), 0, "message", z.device)
    torch.testing.assert_close(
        kept[0].public,
        KINDS[name](z, lambda shape: uniform_numbers(generators, shape, z)),
    )
    assert run.sent()["sent_bits"][:, 1].tolist() == [10 * KINDS[name].bits(10, 64)] * 2


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["rand-k", "qsgd"])
def test_choco_sgd_keeps_the_public_contract_with_chance_of_its_own(name):
    """CHOCO-SGD keeps the contract, except that randomness makes equal models differ.

    They differ until the estimates, which start at 0, have reached them.
    """
    checks = [check for check in ALGORITHM_CHECKS if check != "stationary point"]
    check_algorithm(
        CHOCOSGD(eta=0.1, gamma=0.2, compressor=name, share=0.5), checks=checks
    )
