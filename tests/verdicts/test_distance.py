"""Theorems on the distance to a minimizer: the metric that runs must record, and what
they then know.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.errors import InputError

mu, x_star_sq = s.mu, s.x_star_sq

CONTRACTION = bounds.get("lean.gd_contraction")
ETA = 0.4


def run(hessian=(0.5, 0.5), metrics=(dfl.verdicts.dist_sq,), **options):
    """Run gradient descent on (x - b)' diag(hessian) (x - b)/2 from 0 with b = (1, 2),
    so

    x_0 - x*

    ^2 = 5.
    """
    task = dfl.tasks.Quadratic(
        np.diag(hessian)[None].repeat(3, 0), np.tile([1.0, 2.0], (3, 1))
    )
    algorithm = dfl.algorithms.FedAvg(eta=ETA, K=1)
    return dfl.train(
        algorithm, task, None, 12, metrics=list(metrics), progress=False, **options
    )


def test_the_distance_and_its_start_are_known_from_the_run():
    verdict = dfl.compare(run(), CONTRACTION)
    assert verdict.kind == "holds"
    assert verdict.measured.estimate == pytest.approx(5 * 0.8**24)
    assert verdict.bound == pytest.approx(5 * 0.8**12)
    assert verdict.at["x_star_sq"] == pytest.approx(5)


@pytest.mark.parametrize(("share", "kind"), [(1.001, "holds"), (0.999, "violated")])
def test_compare_separates_the_sharp_rate_from_one_that_is_too_fast(share, kind):
    """If all eigenvalues are mu,

    x_T - x*

    ^2 = (1 - eta mu)^(2 T)

    x_0 - x*

    ^2.
    """
    claim = (1 - s.eta * mu) ** (2 * s.T) * x_star_sq * share
    sharp = replace(CONTRACTION, key="mine.sharp", parts={"optimization": claim})
    assert dfl.compare(run(), sharp).kind == kind


def test_verdict_names_the_metric_that_was_not_requested():
    verdict = dfl.compare(run(metrics=()), CONTRACTION)
    assert verdict.kind == "not applicable"
    assert "dist_sq" in verdict.reason
    assert "metrics=[dfl.verdicts.dist_sq]" in verdict.suggestions.note


def test_what_the_run_knows_cannot_be_given_otherwise():
    with pytest.raises(InputError, match=r"x_star_sq = 6"):
        dfl.compare(run(), CONTRACTION, x_star_sq=6.0)


def test_a_task_without_a_minimizer_says_so():
    task = dfl.tasks.digits(m=3)
    with pytest.raises(InputError, match=r"x_star .*dist_sq"):
        dfl.verdicts.dist_sq(task, None, torch.zeros(1, task.d))
