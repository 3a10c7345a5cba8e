"""Detection of divergence, which must not depend on units."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import dfltheory.algorithms as alg
from dfltheory.tasks import Quadratic, Sinusoidal, clipped
from dfltheory.training import Checkpoint, train
from dfltheory.training.divergence import Scale
from dfltheory.training.norms import squared_norm
from dfltheory.verdicts.compare import compare
from tests.algorithms.problems import Rows, ring_matrix

RING = ring_matrix(4)
HESSIANS = np.array([0.3, 1.0, 2.0])
MINIMIZERS = np.random.default_rng(5).normal(size=(4, 3))
powers = st.integers(-12, 12).map(lambda k: 10.0**k)


def ends(eta, s, c, dtype, start=0.0, sigma=0.1, rounds=120):
    """Return where a quadratic diverges in the units x -> s x, f -> c f."""
    task = Quadratic(HESSIANS * c / s**2, MINIMIZERS * s, sigma * c / s, dtype=dtype)
    x0 = np.full(3, start * s)
    run = train(
        alg.DFedAvg(eta=eta * s**2 / c, K=2),
        task,
        RING,
        rounds=rounds,
        seeds=2,
        x0=x0,
    )
    return run.diverged_at


@pytest.mark.parametrize("examples", [5, pytest.param(15, marks=pytest.mark.slow)])
def test_units_do_not_decide(examples):
    @settings(max_examples=examples, deadline=None)
    @given(
        s=powers,
        c=powers,
        dtype=st.sampled_from([torch.float32, torch.float64]),
        eta=st.sampled_from([0.2, 1.3, 8.0]),
        start=st.sampled_from([0.0, 1.0, 3e-9]),
        sigma=st.sampled_from([0.0, 0.1]),
    )
    def check(s, c, dtype, eta, start, sigma):
        here = ends(eta, s, c, dtype, start, sigma)
        assert here == ends(eta, 1.0, 1.0, dtype, start, sigma)
        assert (here is not None) is (eta > 1)

    check()


def test_a_network_that_makes_models_grow_is_seen_where_gradients_are_bounded():
    """Bounded gradients cannot show it; each client's sent model is doubled in every
    round.
    """
    task = clipped(m=4, d=3, seed=1)
    run = train(
        alg.DFedAvg(eta=0.1, K=1), task, 2 * np.eye(4), rounds=120, check_topology=False
    )
    # not before norms are larger by a factor of 1e12, which is about 2^40
    assert 38 <= run.diverged_at <= 44
    assert np.isfinite(run.loss[0, 0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sigma", [0.0, 0.3])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
def test_a_start_at_a_stationary_point_is_no_reason(offset, sigma, dtype):
    """The mean gradient vanishes there, up to rounding; noise and client drift move the
    run away.
    """
    b = np.random.default_rng(1).normal(size=(4, 3))
    b += offset - b.mean(0)
    A = np.stack([h * np.eye(3) for h in (0.5, 1.0, 1.5, 1.0)])
    task = Quadratic(A, b, sigma, dtype=dtype)
    run = train(
        alg.DFedAvg(eta=0.1, K=3),
        task,
        np.full((4, 4), 0.25),
        rounds=60,
        x0=task.x_star.numpy(),
    )
    assert run.diverged_at is None
    assert run.grad_norm_sq[0, 0] < 1e-10 * max(1, offset**2)


def test_where_everything_is_zero_nothing_has_diverged():
    task = Quadratic(1.0, np.zeros((4, 3)))
    assert train(alg.DFedAvg(eta=0.1, K=3), task, RING, rounds=5).diverged_at is None


@pytest.mark.drawn(1)
@pytest.mark.parametrize("start", [1e-30, 1e-9, 1e-4])
def test_an_escape_from_a_saddle_is_no_divergence(start):
    """From 1e-9 next to the saddle of (x^2 - 1)^2 / 4 to its minimum, norms grow by a
    factor of a billion.
    """

    class Wells(Rows):
        def loss(self, x, batch=None):
            return ((x**2 - 1) ** 2 / 4).sum(-1)

        def gradient(self, x, batch=None):
            return x * (x**2 - 1)

    run = train(
        alg.DFedAvg(eta=0.2, K=2),
        Wells(m=4, d=2),
        RING,
        rounds=250,
        x0=np.full(2, start),
    )
    assert run.diverged_at is None
    np.testing.assert_allclose(run.x, 1.0, atol=1e-6)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("start", [0.0, 1e-20])
def test_a_start_at_a_maximum_is_left_along_the_rounding_of_its_gradient(start):
    """sin(pi) is 1.2e-16 in double precision, and the slope is of this size at 0 and at
    twice the start.
    """
    task = Sinusoidal(np.full((4, 2), np.pi))
    run = train(
        alg.DFedAvg(eta=0.02, K=2), task, RING, rounds=1200, x0=np.full(2, start)
    )
    assert run.diverged_at is None
    np.testing.assert_allclose(run.x, np.pi, atol=1e-3)
    assert compare(run, "dfedsam.theorem_4_5", variant="corrected").kind == "holds"


def test_healthy_runs_in_large_units_are_left_alone():
    """Losses are 1e20 and gradients 1e15, from a start near the minimizers."""
    task = Quadratic(HESSIANS * 1e20, MINIMIZERS, 1e15)
    run = train(
        alg.DFedAvg(eta=1e-21, K=2), task, RING, rounds=50, x0=MINIMIZERS.mean(0)
    )
    assert run.diverged_at is None


@pytest.mark.parametrize("measure", ["grad_norm_sq", "consensus", "loss"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_has_diverged(measure, value):
    measured = {name: np.ones(2) for name in ("grad_norm_sq", "consensus", "loss")}
    scale = Scale(Rows(m=4), torch.ones(2, Rows(m=4).d), np.ones(2))
    assert not scale.has_left(measured, measured, np.ones(2))
    assert scale.has_left(
        measured | {measure: np.array([1.0, value])}, measured, np.ones(2)
    )


def test_models_may_grow_twelve_orders_of_magnitude():
    measured = {name: np.ones(2) for name in ("grad_norm_sq", "consensus", "loss")}
    scale = Scale(Rows(m=4), torch.ones(2, Rows(m=4).d), np.ones(2), np.full(2, 4.0))
    higher = measured | {"loss": np.full(2, 1.1)}
    assert not scale.has_left(higher, measured, np.array([1.0, 3.9e24]))
    assert scale.has_left(higher, measured, np.array([1.0, 4.1e24]))
    assert not scale.has_left(measured, measured, np.array([1.0, 4.1e24]))
    large_consensus = measured | {"consensus": np.array([1.0, 4.1e24])}
    assert scale.has_left(large_consensus, measured, np.array([1.0, 4.1e24]))


def test_the_scale_outlives_a_checkpoint(tmp_path):
    """A resumed run diverges where it would have without interruption."""
    task = clipped(m=4, seed=2)

    def go(**options):
        return train(
            alg.DFedAvg(eta=0.1, K=1),
            task,
            2 * RING,
            rounds=200,
            check_topology=False,
            **options,
        ).diverged_at

    class HaltError(Exception):
        pass

    def stop(t, state, recorder):
        if t == 10:
            raise HaltError

    whole = go()
    assert whole is not None
    with pytest.raises(HaltError):
        go(checkpoint=Checkpoint(tmp_path / "c"), callbacks=[stop])
    assert go(checkpoint=Checkpoint(tmp_path / "c")) == whole


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1.0, 1e20, 1e30])
def test_squares_of_single_precision_have_the_range_of_double(size):
    x = torch.tensor([[3.0, 4.0]]) * size
    np.testing.assert_allclose(squared_norm(x).numpy(), 25 * size**2, rtol=1e-6)


def quiet(gradient=1.0, loss=1.0):
    return {
        "grad_norm_sq": np.array([gradient]),
        "consensus": np.ones(1),
        "loss": np.array([loss]),
    }


@pytest.mark.parametrize(
    ("b", "sigma"),
    [(1.0, 0.0), (0.0, 1.0)],
    ids=["curvature around the origin", "noise"],
)
def test_what_a_start_without_slope_is_held_against(b, sigma):
    """At the common minimizer the clients' gradients are 0, so gradients at 0 and 2
    x^0, and noise, define the scale.
    """
    start = torch.full((1, 3), b, dtype=torch.float64)
    scale = Scale(Quadratic(1.0, np.full((4, 3), b), sigma), start, np.ones(1))
    assert not scale.has_left(quiet(1e22, loss=2.0), quiet(0.0), np.ones(1))
    assert scale.has_left(quiet(1e26, loss=2.0), quiet(0.0), np.ones(1))


def test_gradients_may_grow_twelve_orders_of_magnitude():
    start = torch.ones((1, 3), dtype=torch.float64)
    scale = Scale(Quadratic(1.0, np.ones((4, 3))), start, np.ones(1), np.ones(1))
    first = quiet(12.0)
    assert not scale.has_left(quiet(11e24, loss=2.0), first, np.ones(1))
    assert scale.has_left(quiet(13e24, loss=2.0), first, np.ones(1))
    assert not scale.has_left(quiet(13e24), first, np.ones(1))


def test_models_that_begin_next_to_zero_are_held_against_their_first_steps():
    scale = Scale(
        Quadratic(1.0, np.zeros((4, 3))),
        torch.zeros(1, 3, dtype=torch.float64),
        np.full(1, 1e-60),
    )
    assert not scale.has_left(quiet(), quiet(), np.ones(1))
    assert not scale.has_left(quiet(loss=2.0), quiet(), np.full(1, 9e23))
    assert scale.has_left(quiet(loss=2.0), quiet(), np.full(1, 1.1e24))


def test_a_start_whose_gradient_is_no_number_hides_no_later_one():
    task = clipped(m=4, d=2)
    scale = Scale(task, torch.ones(1, 2, dtype=torch.float64), np.ones(1))
    assert scale._is_steeper(np.array([1e60]), np.array([np.inf]))
    assert not scale._is_steeper(np.array([1e-3]), np.array([np.inf]))
