"""The two-block constants of partial personalization agree with known ones and with
dense blocks.
"""

from __future__ import annotations

import math

import pytest
import torch

from dfltheory import tasks
from dfltheory.errors import InputError
from dfltheory.tasks import estimate
from tests.tasks.attack import climb, diversity, own_parts
from tests.tasks.problems import PERSONAL, PROBLEMS, small_network
from tests.tasks.test_estimate import best, dense_hessian, held_against


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", PERSONAL)
def test_both_blocks_are_bracketed_where_their_suprema_are(name):
    task = PROBLEMS[name]()
    where = climb(lambda x: diversity(task, x), own_parts(task), 100, 0.05)
    found = estimate.blocks(
        task, torch.stack([best(*where), *own_parts(task, n=1)[1:4]]), draws=100
    )
    assert set(found) == {
        "L_u",
        "L_v",
        "L_uv",
        "L_vu",
        "chi",
        "sigma_u",
        "sigma_v",
        "delta_u",
        "L_u_sample",
    }
    # additive noise does not change curvature
    assert found["L_u_sample"].value == pytest.approx(found["L_u"].value)
    held_against(task, {name: e for name, e in found.items() if name != "L_u_sample"})


def test_the_diversity_is_measured_at_the_mean_of_the_shared_parts():
    g = torch.Generator().manual_seed(0)
    plain = tasks.coupled(m=3, p=2, L_u=1.0, chi=0.0, spread=0.7)
    # the diversity is measured at the mean of the u_i
    different_models = torch.randn(1, 3, plain.d, generator=g)
    for points in (torch.zeros(1, plain.d), different_models):
        assert estimate.blocks(plain, points, draws=2)[
            "delta_u"
        ].value == pytest.approx(0.7)


def test_block_constants_of_coupled_problems_at_their_peaks():
    task = tasks.coupled(m=3, p=2, L_u=2.0, L_v=1.0, chi=0.6, seed=1)
    known = task.constants
    peak = torch.full((1, task.d), math.pi / 2, dtype=torch.float64)
    peak[:, task.d_u :] *= -1
    found = estimate.blocks(
        task, torch.cat([peak, torch.zeros(1, task.d).double()]), draws=2
    )
    for constant in ("L_u", "L_v", "L_uv", "chi"):
        assert found[constant].value == pytest.approx(
            getattr(known, constant), rel=1e-9
        ), constant
    assert found["delta_u"].value <= known.delta_u


def test_blocks_of_a_network_against_dense_blocks():
    task = small_network()
    x = task.start(torch.Generator())
    found = estimate.blocks(task, x.unsqueeze(0), draws=4, steps=30)
    u, v = slice(0, 25), slice(25, 43)
    H = [dense_hessian(task, x, i) for i in range(3)]
    for name, (a, b) in {
        "L_u": (u, u),
        "L_v": (v, v),
        "L_uv": (u, v),
        "L_vu": (v, u),
    }.items():
        exact = max(float(torch.linalg.matrix_norm(h[a, b], 2)) for h in H)
        assert found[name].value == pytest.approx(exact, rel=1e-6), name
    batch = task.sample([torch.Generator().manual_seed(104_729)])
    bent = [
        torch.stack(
            [
                estimate.hessian_product(task, x, i, batch)(e)
                for e in torch.eye(43).double()
            ]
        )
        for i in range(3)
    ]
    rough = max(float(torch.linalg.matrix_norm(h[u, u], 2)) for h in [*H, *bent])
    assert found["L_u_sample"].value == pytest.approx(rough, rel=1e-6)
    assert found.constants().L_u == found["L_u_sample"].value > found["L_u"].value
    assert found.constants(sample_wise=False).L_u == found["L_u"].value
    assert "L_u_sample" not in estimate.blocks(
        task, x.unsqueeze(0), draws=2, minibatches=0
    )
    with pytest.raises(InputError, match="minibatches = -1"):
        estimate.blocks(task, x.unsqueeze(0), minibatches=-1)
