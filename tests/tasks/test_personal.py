"""Two-block tasks: parts, minimizers and prescribed constants.

Their constants are attacked in test_every_constant.py.
"""

from __future__ import annotations

import math

import pytest
import torch

from dfltheory.errors import InputError
from dfltheory.tasks import Coupled, coupled
from tests.tasks.attack import diversity, own_parts
from tests.tasks.problems import PERSONAL

MANY = pytest.mark.parametrize("name", PERSONAL)


@pytest.fixture
def task(name):
    return PERSONAL[name]()


@MANY
def test_chi_and_the_shared_slice(task):
    known = task.constants
    assert known.chi == pytest.approx(
        max(known.L_uv, known.L_vu) / math.sqrt(known.L_u * known.L_v)
    )
    assert task.shared == slice(0, task.d_u) == task.blocks[0]
    assert task.d == task.d_u + task.d_v


def test_partial_diversity_by_enumeration_of_the_signs():
    task = coupled(m=6, p=1, L_u=1.3, L_v=0.9, chi=0.7, spread=1.1, seed=11)
    every = float(diversity(task, own_parts(task, n=0)).max())
    assert task.constants.delta_u == pytest.approx(every, rel=1e-9)


def test_prescribed_constants():
    known = coupled(
        m=3, p=4, L_u=2.0, L_v=0.5, chi=0.4, sigma_u=0.2, sigma_v=0.3
    ).constants
    constants = known.L_u, known.L_v, known.chi, known.sigma_u, known.sigma_v
    assert constants == pytest.approx((2, 0.5, 0.4, 0.2, 0.3))
    assert known.sigma_l == pytest.approx(math.hypot(0.2, 0.3))


def test_prescribed_spread_and_diversity_of_few_clients():
    for m in (2, 5):
        centre = coupled(m=m, p=3, spread=0.7, seed=3).centre.unflatten(1, (2, 3))
        gaps = centre - centre.mean(0)
        assert gaps.square().sum(-1).mean(0).sqrt().tolist() == pytest.approx(
            [0.7, 0.7]
        )
    known = coupled(m=3, p=2, L_u=1.0, L_v=1.0, chi=0.0, spread=0.7).constants
    assert known.delta_u == pytest.approx(0.7)
    assert (known.chi, known.L_uv, known.L_u) == (0.0, 0.0, 1.0)


def test_noise_of_each_block():
    task = coupled(m=2, p=3, sigma_u=0.4, sigma_v=0.1)
    xi = task.sample([torch.Generator().manual_seed(s) for s in range(20_000)])
    u, v = task.blocks
    assert float(xi[..., u].square().sum(-1).mean().sqrt()) == pytest.approx(
        0.4, rel=0.02
    )
    assert float(xi[..., v].square().sum(-1).mean().sqrt()) == pytest.approx(
        0.1, rel=0.02
    )
    trace = task.noise.covariance(2, 6).diagonal(dim1=1, dim2=2)
    assert float(trace[:, u].sum(1)[0]) == pytest.approx(0.16)
    assert float(trace[:, v].sum(1)[0]) == pytest.approx(0.01)
    assert (
        coupled(m=2, p=3, sigma_u=0.0, sigma_v=0.0).sample([torch.Generator()]) is None
    )


ZERO = torch.zeros(2, 2, dtype=torch.float64)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: coupled(L_u=0.0), "L_u"),
        (lambda: coupled(chi=1.5), "chi"),
        (lambda: coupled(chi=-0.1), "chi"),
        (lambda: coupled(sigma_u=-1.0), "sigma_u"),
        (lambda: Coupled(ZERO, torch.zeros(2, 3)), "shape"),
        (lambda: Coupled(ZERO, ZERO, h_u=0.0), "h_u"),
    ],
)
def test_bad_input_is_rejected_in_one_line(build, words):
    with pytest.raises(InputError, match=words) as caught:
        build()
    assert "\n" not in str(caught.value)
