"""The search's batched rounds agree with those of the training core, for every
algorithm.
"""

import dataclasses
from itertools import product

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.algorithms import DFedADMM, DFedMDC, DFedSAM
from dfltheory.counterexamples.aggregates import at_T
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.core import fixed_points, simulate
from dfltheory.counterexamples.problems import RampTask
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.score import score, some_admissible
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.counterexamples.splits import Splits
from dfltheory.errors import InputError
from dfltheory.training.instance import Instance


def bowls(h=0.8, c=(0.5, -1.0), reach=1e3):
    """Return two clients with f_i(x) = h (x - c_i)^2/2 for |x - c_i| <= reach."""
    slopes = np.full((2, 1), h)
    return Ramps.one(
        np.array(c)[:, None] - reach,
        np.full((2, 1), 2 * reach),
        slopes,
        [-h * reach] * 2,
    )


def pair(w):
    return np.array([[[[1 - w, w], [w, 1 - w]]]])


STATEMENTS = [
    ("dfedsam.theorem_4_5", "corrected_different_starts"),
    ("dfedadmm.theorem_1", "corrected"),
    ("dfedsgpsm.theorem_1", "corrected"),
    ("dfedmdc.theorem_2", "corrected"),
]


def drawn(theorem, family, n, seed=0):
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        return family.decode(rng.random((n, family.dimension)), family.draw(rng))


@pytest.mark.drawn(1)
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("key", "variant"),
    [*STATEMENTS[:-1], pytest.param(*STATEMENTS[-1], marks=pytest.mark.slow)],
)  # quickly, on two blocks: of the ratio, below
def test_every_candidate_runs_as_it_does_alone_in_the_core(key, variant, every):
    """For every fifth family in the quick case."""
    theorem, seen = dfl.bounds.get(key, variant), 0
    for family in search_spaces(theorem)[::every]:
        batch = dataclasses.replace(
            drawn(theorem, family, 2),
            sigma=np.zeros((2, theorem.scope.two_blocks + 1)),
            drawn=False,
        )  # matrices are used in turn instead of randomly
        path = simulate(batch, 8)
        for index in np.flatnonzero(batch.valid):
            x0 = batch.x0[index]
            core = batch.alone(index, batch.x0, 8).run(progress=False).measures()
            for name, data in path.left.items():
                expected = core[name][0][: len(data)]
                expected = expected[: np.isfinite(expected).sum()]
                scale = expected.max() + 1e-20 * (x0**2).max() + 1e-300
                np.testing.assert_allclose(
                    data[: len(expected), index] / scale, expected / scale, atol=1e-8
                )
            seen += 1
    assert seen >= (20 if every == 1 else 8)


def test_both_gradients_of_a_sam_step_see_the_same_minibatch_and_variances_are_those_of_every_outcome():
    """Enumerates all outcomes of coins for f_1' = h (x - 1), f_2' = h (x + 1) and noise
    +-sigma.
    """
    eta, rho, sigma, T, K, w, h = 0.3, 40.0, 1.5, 2, 2, 0.2, 0.8
    total, most = np.zeros((4, T + 1)), {}
    for outcome in product([-1, 1], repeat=T * K * 2):
        noise, x = sigma * np.array(outcome).reshape(T, K, 2), np.array([90.3, 79.4])
        for t in range(T + 1):
            mean = x.mean()
            seen = (h * mean) ** 2, ((x - mean) ** 2).mean(), h * (mean**2 + 1) / 2, 1.0
            total[:, t] += np.array(seen) / 2 ** (T * K * 2)
            if t == T:
                break
            for k in range(K):
                g = h * (x - [1, -1]) + noise[t, k]
                g = h * (x + rho * np.sign(g) - [1, -1]) + noise[t, k]
                most[t, k] = most.get((t, k), 0.0) + (g**2).mean() / 2 ** (T * K * 2)
                x = x - eta * g
            x = np.array([(1 - w) * x[0] + w * x[1], w * x[0] + (1 - w) * x[1]])
    x0 = np.array([[[90.3], [79.4]]])
    batch = CandidateBatch(
        DFedSAM(eta, K, rho), bowls(h, (1, -1)), x0, pair(w), np.array([[sigma]])
    )
    path = simulate(batch, T, moments=True)
    for name, rows in zip(
        ("grad_norm_sq", "consensus", "loss"), total[:3], strict=True
    ):
        # the additive constant of f is arbitrary
        shift = path.left[name][0, 0] - rows[0] if name == "loss" else 0.0
        np.testing.assert_allclose(
            path.left[name][:, 0] - shift, rows, rtol=1e-9, err_msg=name
        )
    assert path.moment[0] == pytest.approx(max(most.values()), rel=1e-12)


def test_noise_in_two_blocks_adds_the_variance_that_many_runs_of_the_core_show():
    clients = Splits.of(bowls(), np.array([[1.0, -0.5]]), np.array([1.3]), np.zeros(1))
    x0 = np.array([[[2.0, 1.0], [-1.0, 0.0]]])
    batch = CandidateBatch(
        DFedMDC(0.4, 0.3, 2, 1), clients, x0, pair(0.3), np.array([[1.5, 0.9]])
    )
    core = batch.alone(0, x0, 8).run(seeds=1500, progress=False)
    path, still = (
        simulate(batch, 9),
        simulate(dataclasses.replace(batch, sigma=0 * batch.sigma), 9),
    )
    for name, row in (path.left | {"two_block_value": path.value}).items():
        data = core.measures()[name][:, :8]
        error = data.std(0, ddof=1) / np.sqrt(len(data))
        assert (np.abs(data.mean(0) - row[:8, 0]) <= 5.5 * error + 1e-9).all(), name
    assert path.left["grad_u_sq"][-1, 0] > 1.1 * still.left["grad_u_sq"][-1, 0]
    assert not path.cycle[0]


def test_fixed_points_of_two_opposing_clients_have_the_closed_form():
    # f_1' = x - 1, f_2' = x + 1 near 0: by symmetry x_1 = -x_2
    w, eta = 0.1, 0.2
    x0 = np.array([[[0.3], [0.1]]])
    batch = CandidateBatch(
        DFedSAM(eta, 1, 0.0), bowls(1.0, (1, -1), 6.0), x0, pair(w), np.zeros((1, 1))
    )
    x = fixed_points(batch, x0)
    lam = 1 - 2 * w
    expected = lam * eta / (1 - lam * (1 - eta))
    np.testing.assert_allclose(x[0, :, 0], [expected, -expected], rtol=1e-10)
    assert simulate(dataclasses.replace(batch, x0=x), 3).cycle[0]
    assert not simulate(batch, 3).cycle[0]


def test_state_is_stationary_once_it_moves_by_less_than_its_rounding():
    one = np.ones((2, 1, 1))
    # f' = -1 left of 0, then x - 1
    ramps = Ramps(0 * one, 1e9 * one, one, -one[..., 0])
    x0 = np.array([1.0, 2.0])[:, None, None]
    path = simulate(
        CandidateBatch(
            DFedSAM(1e-30, 1, 0.0), ramps, x0, one[..., None], np.zeros((2, 1))
        ),
        3,
    )
    assert path.cycle.all()
    moving = simulate(
        CandidateBatch(
            DFedSAM(1e-3, 1, 0.0), ramps, x0, one[..., None], np.zeros((2, 1))
        ),
        3,
    )
    np.testing.assert_array_equal(moving.cycle, [True, False])


@pytest.mark.drawn(1)
@pytest.mark.parametrize("families", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("key", "variant"),
    [
        *STATEMENTS,
        pytest.param("dfedsam.corollary_4_6", "corrected", marks=pytest.mark.slow),
    ],
)
def test_the_ratio_of_a_candidate_is_the_one_that_is_certified_of_it_alone(
    key, variant, families
):
    theorem, seen = dfl.bounds.get(key, variant), 0
    for family in search_spaces(theorem)[:families]:
        rng = np.random.default_rng(3)
        for _ in range(16):
            shared = family.draw(rng)
            with np.errstate(all="ignore"):
                batch = family.decode(rng.random((64, family.dimension)), shared)
                if some_admissible(theorem, batch, family.horizon(shared)):
                    break
        with np.errstate(all="ignore"):
            scores = score(theorem, batch, family.rounds, family.horizon(shared))
        positive = np.flatnonzero(np.isfinite(scores.ratio) & (scores.ratio > 1e-6))
        for index in positive[np.argsort(-scores.ratio[positive])][:1]:
            T = int(scores.T[index])
            certificate = certify(batch.alone(index, scores.x0, T), theorem)
            assert not certificate.obstacles
            assert certificate.exact["ratio"] == pytest.approx(
                scores.ratio[index], rel=1e-6
            )
            seen += 1
    assert seen >= 1


@pytest.mark.slow
def test_a_false_one_over_m_squared_is_refuted_by_many_clients(tmp_path):
    """If DFedSAM's noise term is divided by m once more, refuting it takes sixteen
    clients.
    """
    from dfltheory.bounds.symbols import GLOSSARY
    from dfltheory.counterexamples import falsify, replay

    true = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    parts = {
        n: part / GLOSSARY["m"].symbol if n == "noise" else part
        for n, part in true.parts.items()
    }
    false = dataclasses.replace(true, key="mine.squared", parts=parts)
    found = falsify(false, seconds=120, enough=1.3)
    assert found.violated
    again = replay(found.save(tmp_path / "hit.json"))
    assert again.violated
    assert again.ratio == pytest.approx(found.ratio, rel=1e-9)


def test_second_moment_of_noisy_steps_has_the_closed_form_and_identical_clients_share_gradients():
    """Also for an algorithm that modifies the gradient it was given."""
    one = np.ones((1, 1, 1))
    ramps = Ramps(-100 * one, 200 * one, 0.5 * one, -50 * one[..., 0])
    q, noise = 0.8, (0.4 * 1.5) ** 2  # x <- q x + noise, and g = x/2 + noise
    moments = [
        (q ** (2 * t) + noise * (1 - q ** (2 * t)) / (1 - q**2)) / 4 + 1.5**2
        for t in range(4)
    ]
    batch = CandidateBatch(
        DFedSAM(0.4, 1, 0.0), ramps, one, one[None], np.array([[1.5]])
    )
    assert simulate(batch, 4, True).moment[0] == pytest.approx(max(moments))
    # its first step is gradient descent's
    dual = dataclasses.replace(batch, algorithm=DFedADMM(0.4, 1, 0.4))
    assert simulate(dual, 1, True).moment[0] == pytest.approx(moments[0])
    two = dataclasses.replace(
        batch, clients=ramps.repeated(2), x0=np.ones((1, 2, 1)), W=pair(0.3)
    )
    separate_clients = dataclasses.replace(
        two, W=np.array([[[[0.7, 0.3], [0.3 + 1e-15, 0.7 - 1e-15]]]])
    )
    # the first client's gradients are used for both
    for name in ("grad_norm_sq", "consensus", "loss"):
        np.testing.assert_allclose(
            simulate(two, 4).left[name],
            simulate(separate_clients, 4).left[name],
            rtol=1e-9,
        )


def test_noise_on_gradients_that_bend_is_refused():
    task = RampTask([[0.0, 2.0]], [[1.0, 1.0]], [[1.0, 1.0]], [-1.0], sigma=1.0)
    with pytest.raises(InputError, match="affine gradients"):
        CandidateBatch.of(Instance(task, DFedSAM(0.1, 1, 0.0), np.ones((1, 1)), 3))


@pytest.mark.slow
def test_the_limit_cycle_of_sam_counts_for_ever():
    """With f' = x for x > 0 and k x for x < 0, a step of SAM leads from a to -b, and
    the next one back.
    """
    eta, rho, k, T = 0.5, 0.5, 0.96, 10**9 + 1
    two = Ramps.one([[-9.0, 0.0]], [[9.0, 9.0]], [[k, 1.0]], [-9 * k]).repeated(2)
    algorithm = dfl.algorithms.DFedSAM(eta=eta, K=1, rho=rho)
    W = np.array([[[[0.7, 0.3], [0.3, 0.7]]]])
    batch = CandidateBatch(algorithm, two, np.ones((1, 2, 1)), W, np.zeros((1, 1)))
    path = simulate(batch, 300)
    a = rho * (k - 1 + eta * k) / (1 + k - eta * k)
    b = eta * rho - (1 - eta) * a
    assert min(a, b) > 0
    assert path.cycle[0] == 2
    assert np.sort(path.left["grad_norm_sq"][-2:, 0]) == pytest.approx(
        np.sort([a**2, (k * b) ** 2])
    )
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    for far in (T, T + 1):
        limit_value = at_T(theorem, path.left["grad_norm_sq"], far, path.cycle)[0]
        assert limit_value == pytest.approx((a**2 + (k * b) ** 2) / 2, rel=1e-6)
    exact = certify(batch.alone(0, batch.x0, T), theorem)
    assert exact.exact["still"] is True
    assert exact.exact["measured"] == pytest.approx((a**2 + (k * b) ** 2) / 2, rel=1e-6)
    assert exact.core_at_horizon == pytest.approx(exact.exact["ratio"], rel=1e-6)
    last = dataclasses.replace(
        theorem, lhs=dataclasses.replace(theorem.lhs, aggregate="min")
    )
    assert at_T(last, path.left["grad_norm_sq"][-9:], T, path.cycle)[
        0
    ] == pytest.approx(min(a, k * b) ** 2)


def test_what_comes_again_is_counted_whole_and_no_more():
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
    data = np.array([[9.0], [1.0], [2.0], [4.0]])
    assert at_T(theorem, data, 4, 0)[0] == pytest.approx(4)
    assert np.isnan(at_T(theorem, data, 5, np.array([0]))[0])
    assert at_T(theorem, data, 6, np.array([1]))[0] == pytest.approx((16 + 2 * 4) / 6)
    assert at_T(theorem, data, 6, np.array([2]))[0] == pytest.approx((16 + 2 + 4) / 6)
    assert at_T(theorem, data, 9, np.array([3]))[0] == pytest.approx(
        (16 + 7 + 2 * 1) / 9
    )  # the smaller of the two


@pytest.mark.parametrize(
    ("m", "eta", "far", "inside"),
    [
        (1, 0.5, 1.01, True),
        (1, 0.5, 0.99, False),
        (3, 0.5, 1.01, True),
        (3, 0.5, 0.99, False),
        (2, 2.2, 1e3, False),
    ],
)
def test_noise_that_may_leave_the_parabola_has_no_expectation(m, eta, far, inside):
    """With x <- x - eta (x +- 1), coins lead at most to sum_t eta (1 - eta)^t = 1; for
    eta > 2 iterates are unbounded.
    """
    bowl = Ramps.one([[-far]], [[2 * far]], [[1.0]], [-far]).repeated(m)
    algorithm = dfl.algorithms.DFedAvg(eta=eta, K=1)
    W = np.eye(m)[None, None] * 0.4 + 0.6 / m
    batch = CandidateBatch(algorithm, bowl, np.zeros((1, m, 1)), W, np.ones((1, 1)))
    assert np.isfinite(simulate(batch, 60).value).all() == inside
    knots = batch.alone(0, batch.x0, 60).document()["task"]["knots"]
    assert len(knots) == m
    wide = dataclasses.replace(
        batch,
        clients=Ramps.one([[0.0]], [[1.0]], [[0.0]], [0.0], curve=1.0).repeated(m),
    )
    assert np.isfinite(simulate(wide, 60).value).all()
