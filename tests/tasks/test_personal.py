"""Two-block tasks: L_u, L_v, L_uv, L_vu, chi, sigma_u, sigma_v, delta_u and F* under attack."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.tasks import Coupled, PersonalQuadratic, coupled, personal_quadratic
from tests.tasks.attack import ascend

TASKS = {
    "coupled": lambda: coupled(m=4, p=2, L_u=2.0, L_v=1.0, chi=0.6, seed=1),
    "coupled, odd": lambda: coupled(m=5, p=1, L_u=1.0, L_v=3.0, chi=0.2, spread=2.0, seed=2),
    "coupled, alone": lambda: coupled(m=1, p=3, seed=2),
    "quadratic": lambda: personal_quadratic(m=3, d_u=3, d_v=2, L_u=2.0, L_v=0.7, chi=0.4, seed=3),
    "quadratic, uncoupled": lambda: personal_quadratic(m=4, d_u=3, d_v=2, chi=0.0, delta_u=0.8, seed=4),
}
MANY = pytest.mark.parametrize("name", TASKS)


@pytest.fixture
def task(name):
    return TASKS[name]()


def starts(task, n: int = 40, seed: int = 0) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    scale = torch.logspace(-1, 1, n, dtype=torch.float64)[:, None, None]
    x = scale * torch.randn(n, task.m, task.d, generator=g, dtype=torch.float64)
    peaks = torch.full((4, task.m, task.d), math.pi / 2, dtype=torch.float64)
    peaks[1, :, task.d_u :] *= -1
    peaks[2:] = 0
    return torch.cat([x, peaks])


def block_slope(task, of: slice, along: slice):
    """(x, direction) -> the largest ||change of a block of grad F_i|| / ||step in a block|| over clients."""

    def slope(pair: Tensor) -> Tensor:
        x, step = pair.unbind(1)
        moved = torch.zeros_like(x)
        size = step[..., along].norm(dim=-1, keepdim=True).clamp_min(1e-12)
        moved[..., along] = 1e-3 * step[..., along] / size
        gap = task.gradient(x + moved) - task.gradient(x)
        return (gap[..., of].norm(dim=-1) / 1e-3).amax(-1)

    return slope


@MANY
@pytest.mark.parametrize("which", ["L_u", "L_v", "L_uv", "L_vu"])
def test_block_smoothness_is_reached_and_not_exceeded(task, which):
    u, v = task.blocks
    of, along = {"L_u": (u, u), "L_v": (v, v), "L_uv": (u, v), "L_vu": (v, u)}[which]
    x = starts(task)
    g = torch.Generator().manual_seed(5)
    pair = torch.stack([x, torch.randn(x.shape, generator=g, dtype=torch.float64)], 1)
    found = float(ascend(block_slope(task, of, along), pair, steps=200, rate=0.05).max())
    claimed = getattr(task.constants, which)
    assert found <= claimed * (1 + 1e-6) + 1e-9
    assert found >= claimed * (1 - 1e-3)


@MANY
def test_chi_and_the_shared_slice(task):
    known = task.constants
    assert known.chi == pytest.approx(max(known.L_uv, known.L_vu) / math.sqrt(known.L_u * known.L_v))
    assert task.shared == slice(0, task.d_u) == task.blocks[0]
    assert task.d == task.d_u + task.d_v


def diversity(task):
    def rms(x: Tensor) -> Tensor:
        common = x[:, :1, : task.d_u].expand(-1, task.m, -1)
        g = task.gradient(torch.cat([common, x[..., task.d_u :]], -1))[..., : task.d_u]
        return (g - g.mean(1, keepdim=True)).square().sum(-1).mean(-1).clamp_min(1e-24).sqrt()

    return rms


def sign_starts(task) -> Tensor:
    """All choices of sin(v) = +-1 with cos(u) = 1, the same for each coordinate."""
    cases = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * task.m).view(-1, task.m)
    x = torch.zeros(len(cases), task.m, task.d, dtype=torch.float64)
    x[..., task.d_u :] = math.pi / 2 * cases.unsqueeze(-1)
    return x


@MANY
def test_partial_diversity_is_reached_and_not_exceeded(task):
    claimed = task.constants.delta_u
    if math.isinf(claimed):
        assert float(diversity(task)(1e4 * starts(task)).max()) > 1e2
        return
    found = ascend(diversity(task), torch.cat([starts(task), sign_starts(task)]), steps=300, rate=0.05)
    assert float(found.max()) <= claimed * (1 + 1e-9) + 1e-9
    assert float(found.max()) >= claimed * (1 - 2e-2) - 1e-9


def test_partial_diversity_by_enumeration_of_the_signs():
    task = coupled(m=6, p=1, L_u=1.3, L_v=0.9, chi=0.7, spread=1.1, seed=11)
    every = float(diversity(task)(sign_starts(task)).max())
    assert task.constants.delta_u == pytest.approx(every, rel=1e-9)


@MANY
def test_nothing_lies_below_F_star(task):
    def minus(x: Tensor) -> Tensor:
        common = x[:, :1, : task.d_u].expand(-1, task.m, -1)
        return -task.loss(torch.cat([common, x[..., task.d_u :]], -1)).mean(-1)

    found = -float(ascend(minus, starts(task), steps=600, rate=0.05).max())
    assert found >= task.constants.f_star - 1e-9
    if isinstance(task, PersonalQuadratic):
        assert found <= task.constants.f_star + 1e-4
        assert float(task.gradient(task.x_star)[:, task.d_u :].norm()) < 1e-10
        assert float(task.gradient(task.x_star)[:, : task.d_u].mean(0).norm()) < 1e-10


def test_prescribed_constants():
    known = personal_quadratic(m=3, L_u=2.0, L_v=0.5, chi=0.4, sigma_u=0.2, sigma_v=0.3).constants
    assert (known.L_u, known.L_v, known.chi, known.sigma_u, known.sigma_v) == pytest.approx(
        (2, 0.5, 0.4, 0.2, 0.3)
    )
    assert known.delta_u == math.inf
    assert known.sigma_l == pytest.approx(math.hypot(0.2, 0.3))
    known = personal_quadratic(m=3, chi=0.0, delta_u=0.7).constants
    assert known.delta_u == pytest.approx(0.7)
    known = coupled(m=3, p=4, L_u=2.0, L_v=0.5, chi=0.4).constants
    assert (known.L_u, known.L_v, known.chi) == pytest.approx((2.0, 0.5, 0.4))


def test_noise_of_each_block():
    task = coupled(m=2, p=3, sigma_u=0.4, sigma_v=0.1)
    xi = task.sample([torch.Generator().manual_seed(s) for s in range(20_000)])
    u, v = task.blocks
    assert float(xi[..., u].square().sum(-1).mean().sqrt()) == pytest.approx(0.4, rel=0.02)
    assert float(xi[..., v].square().sum(-1).mean().sqrt()) == pytest.approx(0.1, rel=0.02)
    trace = task.noise.covariance(2, 6).diagonal(dim1=1, dim2=2)
    assert float(trace[:, u].sum(1)[0]) == pytest.approx(0.16)
    assert float(trace[:, v].sum(1)[0]) == pytest.approx(0.01)
    assert coupled(m=2, p=3, sigma_u=0.0, sigma_v=0.0).sample([torch.Generator()]) is None


EYE = torch.eye(2, dtype=torch.float64).expand(2, 2, 2)
ZERO = torch.zeros(2, 2, dtype=torch.float64)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: personal_quadratic(chi=0.6), "chi"),
        (lambda: personal_quadratic(chi=0.1, delta_u=1.0), "delta_u"),
        (lambda: personal_quadratic(L_u=0.0), "L_u"),
        (lambda: coupled(chi=1.5), "chi"),
        (lambda: coupled(chi=-0.1), "chi"),
        (lambda: coupled(sigma_u=-1.0), "sigma_u"),
        (lambda: Coupled(ZERO, torch.zeros(2, 3)), "shape"),
        (lambda: Coupled(ZERO, ZERO, h_u=0.0), "h_u"),
        (lambda: PersonalQuadratic(EYE, EYE, -EYE, ZERO, ZERO), "positive definite"),
        (lambda: PersonalQuadratic(EYE, 2 * EYE, EYE, ZERO, ZERO), "no minimum"),
        (lambda: PersonalQuadratic(EYE[:1], EYE, EYE, ZERO, ZERO), "P has shape"),
        (lambda: PersonalQuadratic(EYE + torch.triu(EYE[0].fliplr()), EYE, EYE, ZERO, ZERO), "not symmetric"),
    ],
)
def test_bad_input_gets_one_clear_line(build, words):
    with pytest.raises(InputError, match=words) as caught:
        build()
    assert "\n" not in str(caught.value)
