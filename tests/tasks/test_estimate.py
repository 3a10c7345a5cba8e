"""Estimates agree with known constants of tasks, and with dense linear algebra."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from dfltheory import models, tasks
from dfltheory.confidence import upper_limits
from dfltheory.errors import InputError
from dfltheory.tasks import Quadratic, Supervised, estimate
from dfltheory.tasks.estimate.constants import interval_of_noise, models_at
from tests.tasks.attack import (
    client_norms,
    climb,
    differing_points,
    heterogeneity,
    infimum,
    near_pairs,
    slopes,
    special,
    starts,
)
from tests.tasks.problems import (
    PERSONAL,
    PROBLEMS,
    QUADRATICS,
    SYNTHETIC,
    random_support,
    small_network,
)


def dense_hessian(
    task: Supervised, x: torch.Tensor, client: int | None
) -> torch.Tensor:
    """Compute the Hessian by autograd of the plain loss, client by client."""

    def loss(z: torch.Tensor) -> torch.Tensor:
        W1, b1, W2, b2 = z[:20].view(5, 4), z[20:25], z[25:40].view(3, 5), z[40:]
        total = 0.0
        for i in range(task.m) if client is None else [client]:
            first, n = int(task.offsets[i]), int(task.sizes[i])
            X, y = task.X[first : first + n], task.y[first : first + n]
            out = torch.tanh(X @ W1.T + b1) @ W2.T + b2
            total = total + nn.functional.cross_entropy(out, y) / (
                task.m if client is None else 1
            )
        return total + task.weight_decay / 2 * z @ z

    return torch.autograd.functional.hessian(loss, x)


@pytest.mark.parametrize("client", [None, 0, 2])
@pytest.mark.parametrize("sizes", [(7, 7, 7), (3, 8, 5)])
def test_hessian_products_of_a_network(client, sizes, monkeypatch):
    task = small_network(sizes, weight_decay=0.1)
    x = task.start(torch.Generator())
    H = dense_hessian(task, x, client)
    v = torch.randn(
        task.d, generator=torch.Generator().manual_seed(2), dtype=torch.float64
    )
    for piece in (1000, 2):  # in one chunk with the graph retained, and in many
        monkeypatch.setattr("dfltheory.tasks.estimate.hessian._PIECE", piece)
        torch.testing.assert_close(
            estimate.hessian_product(task, x, client)(v), H @ v, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("client", [None, 1])
def test_extremes_of_a_network_against_a_dense_solver(client):
    task = small_network()
    x = task.start(torch.Generator())
    values = torch.linalg.eigvalsh(dense_hessian(task, x, client))
    found = estimate.hessian_extremes(task, x, client, steps=43)
    assert (found.low, found.high) == pytest.approx(
        (float(values[0]), float(values[-1])), rel=1e-8
    )
    few = estimate.hessian_extremes(task, x, client, steps=25)
    assert few.high <= values[-1] + 1e-12
    assert (
        few.norm_bracket[0] - 1e-12 <= float(values.abs().max()) <= few.norm_bracket[1]
    )
    if client is None:
        assert estimate.largest_hessian_eigenvalue(task, x, steps=43) == pytest.approx(
            float(values[-1]), rel=1e-8
        )


@pytest.mark.parametrize("kind", ["common", "random"])
def test_hessian_products_of_synthetic_tasks(kind):
    task = tasks.quadratic(m=3, d=5, hessians=kind, seed=1)
    v = torch.randn(5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    H = task.hessian(torch.zeros(3, 5, dtype=torch.float64))
    x = torch.ones(5, dtype=torch.float64)
    torch.testing.assert_close(estimate.hessian_product(task, x, 1)(v), H[1] @ v)
    torch.testing.assert_close(estimate.hessian_product(task, x)(v), H.mean(0) @ v)
    curved = tasks.sinusoidal(m=2, d=4)
    y = torch.ones(4, dtype=torch.float64)
    v = torch.randn(4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(
        estimate.hessian_product(curved, y)(v), curved.global_hessian(y) @ v
    )


def test_lanczos_brackets_hold_as_often_as_they_say():
    """For symmetric matrices with clustered large eigenvalues and few steps, the stated
    95 percent hold.
    """
    rng = np.random.default_rng(0)
    missed = 0
    for trial in range(200):
        values = torch.tensor(np.sort(rng.beta(2, 0.7, 300)) - 0.3)
        found = estimate.extremes(
            lambda v, a=values: a * v, 300, values, steps=12, seed=trial
        )
        assert found.low >= values[0] - 1e-12
        assert found.high <= values[-1] + 1e-12
        missed += not (
            values[-1] <= found.high + found.slack
            and values[0] >= found.low - found.slack
        )
    assert missed <= 10 + 9  # 5 percent plus three standard deviations


def test_lanczos_ends_where_its_space_ends():
    values = torch.tensor([1.0, 1.0, 2.0, 2.0, 5.0], dtype=torch.float64)
    found = estimate.lanczos(
        lambda v: values * v, torch.ones(5, dtype=torch.float64), 30
    )
    assert found.exact
    np.testing.assert_allclose(found.values, [1, 2, 5], rtol=1e-12)
    np.testing.assert_allclose(found.weights, [0.4, 0.4, 0.2], rtol=1e-12)
    zero = estimate.extremes(torch.zeros_like, 4, values)
    assert (zero.low, zero.high, zero.slack) == (0.0, 0.0, 0.0)


# -- constants


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", [*QUADRATICS, *SYNTHETIC, *PERSONAL])
def test_every_synthetic_task_is_bracketed_where_its_suprema_are(name):
    """At points that adversaries found, exact constants lie in the bracket, and bounds
    above its low end.
    """
    task = PROBLEMS[name]()
    top = [best(*climb(lambda p: slopes(task, p), near_pairs(task), 60, 0.02))[0]]
    top.append(
        best(
            *climb(
                lambda x: client_norms(task, x),
                torch.cat([starts(task), special(task)]),
                60,
            )
        )
    )
    top += [
        best(
            *climb(
                lambda x, k=k: heterogeneity(task, x)[k],
                differing_points(task),
                60,
                0.02,
            )
        )
        for k in range(2)
    ]
    points = torch.cat([torch.stack(top), special(task)[:6]])
    found = estimate.along(task, points, draws=100, curvature_points=len(points))
    held_against(task, {n: found[n] for n in ("L", "sigma_l", "sigma_g", "beta", "B")})
    known = task.constants
    assert found["L"].low <= found["L_sample"].low <= known.L * (1 + 1e-9)
    if task.shared is None:  # for the others, f* is that of F, below the values of f
        truth = float(task.global_loss(points[:1])) - infimum(task)
        gap = found["f0_gap"]
        assert gap.low - 1e-6 <= truth <= gap.high + 1e-6
        assert (gap.low == gap.high) or known.standing_of("f_star") == "bound"
    assert all(e.sampled and e.not_sampled for e in found.values())


def best(values: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    return where[values.argmax()]


def held_against(task, found) -> None:
    known = task.constants
    for constant, e in found.items():
        claimed = getattr(known, constant)
        if claimed is None:
            continue
        assert e.low <= e.value <= e.high < math.inf, constant
        assert e.low <= claimed * (1 + 1e-9) + 1e-9, constant
        if known.standing_of(constant) == "exact" and math.isfinite(claimed):
            assert claimed <= e.high * (1 + 2e-3) + 1e-9, constant


@pytest.mark.parametrize("client", [0, 2])
def test_minibatch_hessians_of_a_network_and_of_a_sum(client):
    task = small_network((3, 8, 5), weight_decay=0.1)
    x = task.start(torch.Generator())
    batch = task.sample([torch.Generator().manual_seed(3)])
    g = torch.Generator().manual_seed(2)
    v = torch.randn(task.d, generator=g, dtype=torch.float64)
    step = 1e-5 * v
    turned = task.gradient((x + step).expand(1, 3, -1), batch) - task.gradient(
        (x - step).expand(1, 3, -1), batch
    )
    found = estimate.hessian_product(task, x, client, batch)(v)
    torch.testing.assert_close(found, turned[0, client] / 2e-5, rtol=1e-6, atol=1e-8)
    sums, v = least_squares(m=3, batch=1), v[:4]
    drawn = sums.sample([torch.Generator().manual_seed(3)])
    one = drawn.X[0, client, 0]
    found = estimate.hessian_product(
        sums, torch.ones(4, dtype=torch.float64), client, drawn
    )(v)
    torch.testing.assert_close(found, 2 * one * (one @ v), rtol=1e-10, atol=1e-12)
    top = estimate.hessian_extremes(sums, v, client, batch=drawn)
    assert top.norm == pytest.approx(2 * float(one @ one), rel=1e-9)


def least_squares(m, batch):
    """Return four examples in R^4 per client, some much larger than others, with proved
    L of every minibatch.
    """
    g = torch.Generator().manual_seed(1)
    X = torch.logspace(-1, 0, 4).unsqueeze(1) * torch.randn(
        m, 4, 4, generator=g, dtype=torch.float64
    )
    module = torch.nn.Linear(4, 1, bias=False).double()
    return Supervised(module, [(own, torch.ones(4).double()) for own in X], batch)


def test_sample_wise_smoothness_is_the_roughest_minibatch_that_was_drawn():
    task = least_squares(m=2, batch=1)
    x = torch.zeros(1, 4, dtype=torch.float64)
    # of each example's Hessian, the same everywhere
    norms = 2 * task.X.square().sum(-1)
    many = estimate.along(task, x, minibatches=40, draws=2)
    assert many["L_sample"].value == pytest.approx(float(norms.max()), rel=1e-9)
    assert many["L_sample"].value == pytest.approx(task.constants.L, rel=1e-9)
    assert many["L"].value == pytest.approx(
        2 * float(torch.linalg.matrix_norm(task.X.view(2, 4, 4), 2).square().max() / 4),
        rel=1e-9,
    )
    # some draw only flat examples
    few = [estimate.along(task, x, draws=2, seed=s) for s in range(8)]
    assert min(e["L_sample"].value for e in few) == pytest.approx(many["L"].value)
    assert max(e["L_sample"].value for e in few) > 1.1 * many["L"].value
    assert "L_sample" not in estimate.along(task, x, minibatches=0, draws=2)
    plain = estimate.along(tasks.quadratic(m=2, d=4), x, draws=2)
    assert plain["L"].sampled.endswith(f", slopes between {len(x)}")
    assert plain["L_sample"].value == pytest.approx(plain["L"].value, rel=1e-12)


def test_estimates_come_near_where_the_suprema_are_attained():
    task = tasks.sinusoidal(m=4, d=2, seed=1)
    at = task.c  # client i's curvature peaks at its centre
    assert estimate.along(task, at, curvature_points=4)["L"].value == pytest.approx(
        task.constants.L, rel=1e-6
    )
    steep = task.c + math.pi / 2 / task.w
    assert estimate.along(task, steep)["B"].value == pytest.approx(
        task.constants.B, rel=1e-9
    )


@pytest.mark.parametrize("trials", [40, pytest.param(100, marks=pytest.mark.slow)])
def test_noise_interval_covers_as_often_as_it_says(trials):
    task = Quadratic(1.0, torch.zeros(1, 2), random_support(1.0, 3, 2, seed=5))
    x = torch.zeros(1, 2, dtype=torch.float64)
    covered = 0
    for trial in range(trials):
        e = estimate.along(task, x, draws=30, seed=1000 * trial)["sigma_l"]
        covered += e.low <= 1.0 <= e.high
    # 95 percent less three standard deviations
    assert covered >= int(0.95 * trials - 3 * (0.0475 * trials) ** 0.5)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("freedom", [1, 2, 10])
@pytest.mark.parametrize("others", [0.0, 0.05, 1.0])
def test_noise_interval_of_skewed_squares_fails_no_more_often_than_it_says(
    freedom, others
):
    """Squared norms with few degrees of freedom: a single point and client dominates,
    or all are identical.
    """
    rng, trials, draws = np.random.default_rng(1), 400, 12
    scale = np.full((4, 1, 5), others)
    scale[2, 0, 3] = 1.0
    low = high = student = 0
    for _ in range(trials):
        squares = rng.chisquare(freedom, size=(4, draws, 5)) / freedom * scale
        value, least, most = interval_of_noise(
            squares.swapaxes(0, 1).reshape(draws, -1), 0.95
        )
        assert value == pytest.approx(math.sqrt(squares.mean(axis=1).max()))
        low += least > 1
        high += most < 1
        one = squares[2, :, 3]
        student += (
            one.mean()
            + stats.t.isf(0.025, draws - 1) * one.std(ddof=1) / math.sqrt(draws)
            < 1
        )
    assert low <= trials * 0.025
    assert high <= trials * (0.025 + 0.025)  # three deviations
    assert high == 0 or others < 1
    # why Student's limits are not taken
    assert student > trials * 0.045 or freedom == 10


def test_noise_interval_is_the_literal_one():
    squares = np.array([[4.0, 1.0], [6.0, 1.5], [5.0, 2.0]])  # (draws, clients)
    _, low, high = interval_of_noise(squares, 0.9)
    lows = [
        mean - stats.t.isf(0.05 / 2, 2) * spread / math.sqrt(3)
        for mean, spread in ((5, 1), (1.5, 0.5))
    ]
    assert low == pytest.approx(math.sqrt(max(lows)))
    assert high == pytest.approx(math.sqrt(upper_limits(squares, 0.05).max()))
    assert high > math.sqrt(5 + stats.t.isf(0.05, 2) / math.sqrt(3))
    found = estimate.along(
        tasks.quadratic(m=2, d=2), torch.zeros(1, 2), draws=3, confidence=0.9
    )["sigma_l"]
    assert (found.confidence, found.sampled) == (
        0.9,
        "3 minibatches at 1 points, 2 clients",
    )


def test_estimated_constants_are_marked_and_proved_ones_kept():
    task = small_network()
    found = estimate.along(task, estimate.pilot(task, steps=4, keep=2), draws=4)
    known = found.constants()
    assert (
        found["L_sample"].value
        == known.L
        > found["L"].value
        == found.constants(sample_wise=False).L
    )
    assert {known.standing_of(n) for n in ("L", "sigma_l", "sigma_g", "beta", "B")} == {
        "estimate"
    }
    assert (known.f_star, known.standing_of("f_star")) == (0.0, "bound")
    assert [e.name for e in found.values()] == list(found)
    assert "sigma_l = " in str(found)
    exact = tasks.quadratic(m=2, d=3)
    kept = estimate.along(exact, torch.zeros(1, 3), draws=4).constants()
    assert kept == exact.constants


def test_exact_measures_at_points_are_exact():
    task = small_network((3, 8, 5))
    x = estimate.pilot(task, steps=3, keep=2)
    found = estimate.along(task, x, draws=2)
    g = torch.stack([task.gradient(p.expand(1, 3, -1))[0] for p in x])
    gaps = (g - g.mean(1, keepdim=True)).norm(dim=-1)
    assert found["sigma_g"].value == pytest.approx(
        float(gaps.square().mean(1).max().sqrt())
    )
    assert found["beta"].value == pytest.approx(float(gaps.max()))
    assert found["B"].value == pytest.approx(float(g.norm(dim=-1).max()))


@pytest.mark.slow  # quickly: in test_compare.py
def test_a_finished_run_is_estimated_where_it_began_and_where_it_ended():
    task = small_network()
    start = task.start(torch.Generator())
    # two seeds
    ends = start + torch.arange(1.0, 3.0)[:, None, None] * torch.ones(2, task.m, task.d)
    found = estimate.of_run(task, ends.numpy(), draws=2)
    pilot = estimate.pilot(task)
    points = torch.cat([pilot, ends.mean(1).to(task.dtype)])
    for name, value in estimate.along(task, points, draws=2).items():
        assert found[name] == value
    g = torch.stack(
        [
            task.gradient(x.expand(1, task.m, -1))[0]
            for x in (start, *ends.mean(1).double())
        ]
    )
    assert found["B"].value >= float(g.norm(dim=-1).max()) * (1 - 1e-9)
    assert estimate.along(task, pilot, draws=2)["B"].value < found["B"].value


def test_digits_estimates_its_constants_when_asked():
    task = tasks.digits(m=2)
    known = task.constants
    assert {known.standing_of(n) for n in ("sigma_l", "sigma_g", "beta", "B")} == {
        "estimate"
    }
    # proved, and kept
    assert {known.standing_of(n) for n in ("L", "f_star")} == {"bound"}
    assert known is task.constants
    # softmax regression is (||X||^2 / 2n)-smooth: measurements on the f_i lie
    # below that
    exact = tasks.digits(m=2, batch=None)
    proved = Supervised.known(exact).L
    L = estimate.along(exact, torch.zeros(1, task.d), clients=[0])["L"]
    assert 0.1 * proved < L.high < proved < known.L
    other = task.with_constants(tasks.quadratic(m=2, d=2).constants)
    assert other.constants.standing == {}


@pytest.mark.slow
def test_curvature_of_a_convolutional_network():
    g = torch.Generator().manual_seed(0)
    clients = [
        (torch.randn(6, 3, 16, 16, generator=g), torch.randint(10, (6,), generator=g))
        for _ in range(2)
    ]
    task = Supervised(models.cifar_cnn(size=16), clients, 3)
    x = task.start(torch.Generator())
    product = estimate.hessian_product(task, x)
    v, w = torch.randn(2, task.d, generator=g)
    assert float(w @ product(v)) == pytest.approx(
        float(v @ product(w)), rel=1e-2, abs=1e-3
    )
    found = estimate.hessian_extremes(task, x, steps=8)
    assert found.high > 0 > found.low


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: estimate.along(t, torch.zeros(3)), "shape"),
        (lambda t: estimate.along(t, torch.full((1, 4), math.nan)), "not finite"),
        (lambda t: estimate.along(t, torch.zeros(1, 4), draws=1), "2 draws"),
        (lambda t: estimate.along(t, torch.zeros(1, 4), minibatches=-1), "minibatches"),
        (
            lambda t: estimate.hessian_product(
                t, torch.zeros(4), batch=torch.zeros(1, 2, 4)
            ),
            "belongs to one client",
        ),
        (lambda t: estimate.pilot(t, steps=2, keep=5), "keep"),
        (lambda t: estimate.hessian_product(t, torch.zeros(4), 9), "client 9"),
        (lambda t: estimate.hessian_product(t, torch.zeros(5)), "shape"),
        (
            lambda t: estimate.hessian_extremes(t, torch.zeros(4), confidence=1.0),
            "confidence",
        ),
        (
            lambda t: estimate.hessian_extremes(t, torch.zeros(4), steps=0),
            "at least one step",
        ),
        (lambda t: estimate.blocks(t, torch.zeros(1, 4)), "shared and a personal"),
    ],
)
def test_bad_input_is_rejected_in_one_line(call, words):
    with pytest.raises(InputError, match=words):
        call(tasks.quadratic(m=2, d=4))


def test_points_come_to_the_device_of_the_task():
    task = SimpleNamespace(m=2, d=3, dtype=torch.float32, device=torch.device("meta"))
    with pytest.raises(RuntimeError, match="meta"):  # its values cannot be read
        models_at(task, torch.zeros(1, 3))
    task.device = torch.device("cpu")
    assert models_at(task, torch.zeros(1, 3)).shape == (1, 2, 3)


def test_lanczos_slack_is_the_published_bound():
    """Kuczynski and Wozniakowski (1992), theorem 4.2, solved for the slack by hand.

    k = 12 steps, d = 300, each end with 2.5 percent: epsilon solves
    1.648 sqrt(d) exp(-sqrt(epsilon) (2 k - 1)) = 0.025, and the slack s is
    epsilon (high + s - low + s).
    """
    values = torch.linspace(-1, 1, 300, dtype=torch.float64)
    ends = estimate.extremes(lambda v: values * v, 300, values, steps=12, seed=1)
    epsilon = (math.log(1.648 * math.sqrt(300) / 0.025) / 23) ** 2
    width = ends.high - ends.low + 2 * ends.slack
    assert ends.slack == pytest.approx(epsilon * width, rel=1e-12)
    assert ends.steps == 12


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("clients", []),
        ("clients", [16]),
        ("clients", [-1]),
        ("confidence", 2),
        ("confidence", 0.0),
        ("steps", 0),
        ("draws", 1),
        ("minibatches", -1),
    ],
)
def test_effort_out_of_range_is_rejected_by_name(field, value):
    task = tasks.quadratic(m=16, d=3)
    with pytest.raises(InputError, match=f"client|{field}"):
        estimate.along(task, torch.ones(2, 3, dtype=task.dtype), **{field: value})


def test_the_estimate_of_one_client_examines_only_this_client():
    task = tasks.quadratic(m=4, d=3, hessians="random")
    points = torch.ones(2, 3, dtype=task.dtype)
    estimates = estimate.along(task, points, clients=[0], minibatches=0)
    assert estimates["L"].sampled.startswith("Hessians of 1 of 4 clients")
