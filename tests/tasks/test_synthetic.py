"""Synthetic tasks: derivatives by autograd, noise by enumeration, minimizers and
prescribed constants.

Their other constants are attacked in test_every_constant.py.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor

from dfltheory import tasks
from dfltheory.errors import InputError
from dfltheory.tasks import Clipped, Sinusoidal
from dfltheory.tasks.synthetic import Synthetic
from tests.tasks.problems import PERSONAL, SYNTHETIC

TASKS = {**SYNTHETIC, **PERSONAL}
MANY = pytest.mark.parametrize("name", TASKS)


@pytest.fixture
def task(name):
    return TASKS[name]()


def points(task, S: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    return scale * torch.randn(S, task.m, task.d, generator=g, dtype=torch.float64)


@MANY
def test_gradients_and_hessians_are_derivatives(task):
    x = points(task, 2).requires_grad_(True)
    gradient = torch.autograd.grad(task.loss(x).sum(), x, create_graph=True)[0]
    torch.testing.assert_close(task.gradient(x), gradient, rtol=1e-10, atol=1e-12)
    v = points(task, 2, seed=1)
    ahead, behind = (task.gradient(x.detach() + step * v) for step in (1e-6, -1e-6))
    bent = (task.hessian(x) @ v.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(bent, (ahead - behind) / 2e-6, rtol=1e-6, atol=1e-7)
    batch = task.sample([torch.Generator().manual_seed(s) for s in range(2)])
    sampled = torch.autograd.grad(task.loss(x, batch).sum(), x)[0]
    torch.testing.assert_close(
        task.gradient(x.detach(), batch), sampled, rtol=1e-10, atol=1e-12
    )


@MANY
def test_clients_and_seeds_do_not_see_each_other(task):
    x = points(task, 3, scale=0.1)
    y = x.clone()
    y[1, 0] += 0.05
    changed = (task.gradient(x) != task.gradient(y)).any(-1)
    assert changed[1, 0]
    assert int(changed.sum()) == 1
    torch.testing.assert_close(
        task.gradient(x)[2], task.gradient(x[2]), rtol=1e-13, atol=1e-14
    )


def test_generators_meet_their_prescriptions():
    for build in (tasks.sinusoidal, tasks.clipped):
        task = build(
            m=6, d=4, L=3.0, B=2.0, sigma=0.25, spread=0.8, distance=1.5, seed=9
        )
        known = task.constants
        assert (known.L, known.B, known.sigma_l) == pytest.approx(
            (3.0, 2.0, 0.25), rel=1e-12
        )
        c = task.c
        assert float((c - c.mean(0)).square().sum(-1).mean().sqrt()) == pytest.approx(
            0.8, rel=1e-12
        )
        assert float(c.mean(0).norm()) == pytest.approx(1.5, rel=1e-12)
        assert known.standing == {}


GENERATORS = {
    "sinusoidal": tasks.sinusoidal,
    "clipped": tasks.clipped,
    "coupled": tasks.coupled,
}


@pytest.mark.parametrize("name", GENERATORS)
def test_a_seed_is_all_that_a_random_task_depends_on(name):
    def gradient(seed):
        task = GENERATORS[name](m=3, seed=seed)
        return task.gradient(points(task, 1))

    torch.manual_seed(1)
    before = torch.get_rng_state()
    one, two, other = (gradient(seed) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_two_clients_at_half_a_period_have_opposite_gradients():
    """f is constant, so each gradient a w sin(w x) is pure deviation."""
    task = Sinusoidal([[0.0], [math.pi / 4.0]], a=3.0, w=4.0)
    known = task.constants
    assert (known.L, known.B, known.f_star) == pytest.approx(
        (48.0, 12.0, 3.0), rel=1e-12
    )
    assert (known.sigma_g, known.beta) == pytest.approx((12.0, 12.0), rel=1e-12)
    x = torch.linspace(0, 2, 9, dtype=torch.float64)[:, None]
    torch.testing.assert_close(
        task.global_loss(x), torch.full((9,), 3.0, dtype=torch.float64)
    )
    torch.testing.assert_close(
        task.global_hessian(x), torch.zeros(9, 1, 1).double(), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("build", [tasks.sinusoidal, tasks.clipped])
def test_constants_are_right_to_the_tasks_precision(build, dtype):
    exact, rounded = (build(m=4, d=3, seed=1, dtype=t) for t in (torch.float64, dtype))
    close = 8 * torch.finfo(dtype).eps
    assert rounded.x_star.dtype == dtype
    torch.testing.assert_close(
        rounded.x_star.double(), exact.x_star, rtol=0, atol=close
    )
    for name, value in exact.constants.known().items():
        assert getattr(rounded.constants, name) == pytest.approx(value, rel=close), name


def test_three_distant_clipped_clients_have_constants_computed_by_hand():
    """Between two of them, one gradient is -1 and the others are 1: the deviations are
    4/3, 2/3 and 2/3 of h r.
    """
    known = Clipped([[-10.0], [0.0], [10.0]], h=2.0, r=1.0).constants
    assert (known.beta, known.sigma_g) == pytest.approx(
        (2 * 4 / 3, 2 * math.sqrt(8 / 9)), rel=1e-12
    )
    for seed in range(6):
        c = tasks.clipped(m=3, d=1, spread=0.8, seed=seed).c
        assert float((c - c.mean(0)).square().mean().sqrt()) == pytest.approx(
            0.8, rel=1e-12
        )


@pytest.mark.parametrize("name", GENERATORS)
def test_random_tasks_have_the_given_dtype(name):
    task = GENERATORS[name](m=3, dtype=torch.float32)
    x = torch.zeros(1, 3, task.d)
    assert (task.dtype, task.gradient(x).dtype, task.loss(x).dtype) == (
        torch.float32,
    ) * 3


def test_default_problem():
    for task in (Sinusoidal([[0.0]]), Clipped([[0.0]])):
        assert (task.constants.L, task.constants.B, task.constants.sigma_l) == (
            1.0,
            1.0,
            0.0,
        )
    for build in (tasks.sinusoidal, tasks.clipped):
        task = build()
        assert (task.m, task.d, task.constants.L, task.constants.B) == pytest.approx(
            (16, 10, 1.0, 1.0)
        )
        assert task.noise.sigma == pytest.approx(0.1, rel=1e-12)
        assert float(
            (task.c - task.c.mean(0)).square().sum(-1).mean().sqrt()
        ) == pytest.approx(0.5)
        assert float(task.c.mean(0).norm()) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
def test_minimizers_of_separable_tasks(seed):
    for build in (tasks.sinusoidal, tasks.clipped):
        task = build(m=1 + seed, d=3, spread=2.0 if seed else 0.0, seed=seed)
        assert float(task.global_gradient(task.x_star.unsqueeze(0)).norm()) < 1e-9
        grid = (
            task.x_star
            + 3
            * torch.randn(
                2000, 3, generator=torch.Generator().manual_seed(seed)
            ).double()
        )
        assert float(task.global_loss(grid).min()) >= task.f_star - 1e-12


def test_even_numbers_of_distant_clipped_clients_have_a_flat_minimum():
    task = Clipped([[-10.0], [10.0]], h=2.0, r=1.0)
    assert float(task.global_gradient(task.x_star.unsqueeze(0)).abs()) < 1e-12
    assert task.f_star == pytest.approx(2.0 * (10 - 0.5))
    assert task.constants.mu == 0.0  # far away f is linear
    assert task.constants.sigma_g == task.constants.beta == pytest.approx(2.0)


def test_one_client_is_homogeneous():
    for build in (tasks.sinusoidal, tasks.clipped):
        known = build(m=1).constants
        assert (known.sigma_g, known.beta) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tasks.sinusoidal(L=0.0), "L = 0"),
        (lambda: tasks.sinusoidal(d=0), "d = 0"),
        (lambda: tasks.clipped(d=-1), "d = -1"),
        (lambda: tasks.clipped(B=math.inf), "B = inf"),
        (lambda: tasks.clipped(spread=-1.0), "spread"),
        (lambda: Sinusoidal([[0.0]], a=-1.0), "amplitude"),
        (lambda: Clipped([[0.0]], r=0.0), "radius"),
        (lambda: Clipped([0.0]), "shape"),
    ],
)
def test_bad_input_is_rejected_in_one_line(build, words):
    with pytest.raises(InputError, match=words) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("m", "d", "wrong"), [(0, 1, "m = 0"), (1, 0, "d = 0"), (-1, 2, "m = -1")]
)
def test_a_task_has_clients_and_parameters(m, d, wrong):
    with pytest.raises(InputError, match=f"^{wrong}"):
        Synthetic.__init__(SimpleNamespace(), m, d)  # the start that all tasks have


@pytest.mark.parametrize("build", [tasks.sinusoidal, tasks.clipped])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("m", 0),
        ("m", 2.0),
        ("d", 0),
        ("L", 0.0),
        ("B", math.nan),
        ("spread", -1.0),
        ("spread", math.inf),
        ("distance", math.inf),
    ],
)
def test_random_centers_reject_an_argument_out_of_range_by_name(build, name, value):
    with pytest.raises(InputError, match=f"^{name} = "):
        build(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("m", 0), ("p", 1.5), ("L_u", 0.0), ("chi", -0.1), ("chi", 1.5), ("spread", -1.0)],
)
def test_coupled_rejects_an_argument_out_of_range_by_name(name, value):
    with pytest.raises(InputError, match=f"^{name} = "):
        tasks.coupled(**{name: value})
