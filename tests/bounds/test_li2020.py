"""FedAvg with decreasing step sizes within a round: Theorem 1 of Li et al. 2020, a
control.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.checks.run import audit
from dfltheory.tasks import Quadratic

THEOREM = bounds.get("li2020.theorem_1", "printed")


def setting(seed, K, clients=3, noise=0.0):
    """Return a random diagonal problem, FedAvg with the theorem's steps, and the other
    constants of the theorem.
    """
    rng = np.random.default_rng(seed)
    h, b = rng.uniform(0.5, 4.0, (clients, 2)), rng.normal(size=(clients, 2))
    offset = max(8 * h.max() / h.min(), K) + 1
    algorithm = dfl.algorithms.FedAvg(eta=2 / (h.min() * offset), K=K, offset=offset)
    best, start = (h * b).mean(0) / h.mean(0), rng.normal(size=2)
    given = {"mu_each": h.min(), "x_star_sq": ((start - best) ** 2).sum()}
    given["Gamma"] = (h * (best - b) ** 2).sum(1).mean() / 2  # f_i* = 0
    return Quadratic.diagonal(h, b, noise), algorithm, start, given, (h, b)


def literal(algorithm, h, b, x, rounds):
    """Run one client and one step at a time; return f at every round and the largest

    grad f_i

    ^2.
    """
    s, worst, values = 0, 0.0, []
    for _ in range(rounds + 1):
        values.append(
            np.mean(
                [(hi * (x - bi) ** 2).sum() / 2 for hi, bi in zip(h, b, strict=True)]
            )
        )
        sent = []
        for hi, bi in zip(h, b, strict=True):
            y = x.copy()
            for k in range(algorithm.K):
                g = hi * (y - bi)
                worst = max(worst, (g**2).sum())
                y = (
                    y
                    - algorithm.eta * algorithm.offset / (algorithm.offset + s + k) * g
                )
            sent.append(y)
        s, x = s + algorithm.K, np.mean(sent, axis=0)
    return np.array(values), worst


@pytest.mark.parametrize("K", [1, 4])
def test_steps_decrease_from_one_local_step_to_the_next(K):
    task, algorithm, start, _, (h, b) = setting(0, K)
    run = dfl.train(algorithm, task, None, rounds=8, x0=start, progress=False)
    values, _ = literal(algorithm, h, b, start, 8)
    np.testing.assert_allclose(run.loss[0], values, rtol=1e-12)
    exact = dfl.exact_history(algorithm, task, None, 8, x0=start)
    np.testing.assert_allclose(exact.loss[0], values, rtol=1e-12)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4, 5))]
)
@pytest.mark.parametrize("K", [1, 3, 40])
def test_it_holds_on_random_problems(seed, K):
    task, algorithm, start, given, (h, b) = setting(seed, K)
    for rounds in (1, 5, 60):
        run = dfl.exact_history(algorithm, task, None, rounds, x0=start)
        S2 = literal(algorithm, h, b, start, rounds)[1]
        verdict = dfl.compare(run, THEOREM, S2=S2, **given)
        assert verdict.kind == "holds", verdict.reason
        assert verdict.ratio < 0.5


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"offset": None}, "offset"),
        ({"eta": 0.01}, "eta = 2/\\(mu \\(gamma \\+ 1\\)\\) fails"),
        ({"participation": 0.5}, "participation = 1.0"),
        ({"alpha": 0.5}, "alpha = 0.0"),
    ],
)
def test_theorem_of_li_covers_only_its_step_sizes(changes, why):
    task, algorithm, start, given, _ = setting(0, 2)
    run = dfl.train(
        replace(algorithm, **changes), task, None, rounds=3, x0=start, progress=False
    )
    verdict = dfl.compare(run, THEOREM, S2=100.0, **given)
    assert verdict.kind == "not applicable"
    assert re.search(why, verdict.reason)


def test_theorem_of_li_names_the_missing_values():
    task, algorithm, start, _, _ = setting(0, 2)
    run = dfl.train(algorithm, task, None, rounds=3, x0=start, progress=False)
    reason = dfl.compare(run, THEOREM).reason
    assert all(name in reason for name in ("Gamma", "mu_each", "S2", "x_star_sq"))


@pytest.mark.slow
def test_the_audit_has_nothing_against_it():
    assert [f for f in audit(THEOREM) if f.severity in ("error", "warning")] == []
