"""The training core agrees with exact expectations, at a given false-alarm rate."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

import dfltheory as dfl
from dfltheory.exact import RandomMixing, exact_history
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.measures import is_deterministic

RING = dfl.graphs.metropolis(dfl.graphs.ring(6))
DIRECTED = np.array([[0.5, 0, 0.3], [0.5, 0.6, 0], [0, 0.4, 0.7]])
FALSE_ALARM = 1e-6
"""Probability that such a test fails although the core is right, over all its rounds
and measures (Bonferroni).
"""


def cases():
    a = dfl.algorithms
    ring = {
        "dfedsam": a.DFedSAM(eta=0.1, K=3, Q=2, rho=0.0),
        "dpsgd": a.DPSGD(eta=0.2),
        "dpsgd-atc": a.DPSGD(eta=0.2, order="adapt-then-combine"),
        "dfedavgm": a.DFedAvgM(
            eta=0.05, K=2, alpha=0.7, keep_momentum=True, decay=0.98, weight_decay=0.02
        ),
        "dfedadmm": a.DFedADMM(eta=0.1, K=3, lam=0.3),
    }
    directed = {"sgp": a.SGP(eta=0.2), "dfedsgpm": a.DFedSGPM(eta=0.05, K=3, alpha=0.6)}
    pairs = [pytest.param(v, RING, id=k) for k, v in ring.items()]
    mixing = RandomMixing([np.eye(6), RING, np.full((6, 6), 1 / 6)], [0.5, 0.3, 0.2])
    return [
        *pairs,
        *(pytest.param(v, DIRECTED, id=k) for k, v in directed.items()),
        pytest.param(a.DFedSAM(eta=0.1, K=2, Q=2, rho=0.0), mixing, id="random-mixing"),
        pytest.param(
            a.DFedADMM(eta=0.1, K=2, lam=0.5), mixing, id="random-mixing-dfedadmm"
        ),
        pytest.param(a.FedAvg(eta=0.1, K=2, alpha=0.5), None, id="fedavg"),
        pytest.param(a.Local(eta=0.1, K=2), None, id="local"),
    ]


def worst_p_value(run, exact):
    """Return the smallest p-value of Student's tests over rounds and measures, times
    their number.
    """
    least, tests = 1.0, 0
    for name, expected in exact.measures().items():
        # measures that need the next round's models have no last value
        known = np.isfinite(expected[0])
        data, expected = run.measures()[name][:, known], expected[:, known]
        spread = data.std(0, ddof=1)
        # after a server's average only rounding differs
        moving = spread > 1e-12 * np.abs(data).max() + 1e-20
        z = (data.mean(0) - expected[0])[moving] / (spread[moving] / np.sqrt(len(data)))
        least = min([least, *(2 * stats.t.sf(np.abs(z), len(data) - 1))])
        tests += int(moving.sum())
        np.testing.assert_allclose(
            data.mean(0)[~moving], expected[0][~moving], rtol=1e-10, atol=1e-18
        )
    return least * tests


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("algorithm", "topology"), cases())
def test_the_core_agrees_within_its_band(algorithm, topology):
    """Without noise, every algorithm agrees exactly; see
    tests/algorithms/test_families.py.
    """
    m = (
        topology.m
        if isinstance(topology, RandomMixing)
        else 6
        if topology is None
        else len(topology)
    )
    noisy = dfl.tasks.quadratic(m=m, d=3, mu=0.2, sigma=0.8, hessians="random", seed=3)
    exact = exact_history(algorithm, noisy, topology, rounds=30)
    run = dfl.train(algorithm, noisy, topology, rounds=30, seeds=300, seed=11)
    assert worst_p_value(run, exact) > FALSE_ALARM


def test_the_false_alarm_rate_is_not_above_the_level_that_is_set():
    # 40 independent comparisons at 5 percent have at most 7 false alarms (99.9
    # percent of the time 7)
    task = dfl.tasks.quadratic(m=6, d=3, mu=0.2, sigma=0.8, seed=3)
    algorithm, groups = dfl.algorithms.DFedAvg(eta=0.1, K=2), 40
    exact = exact_history(algorithm, task, RING, rounds=6)
    run = dfl.train(algorithm, task, RING, rounds=6, seeds=150 * groups, seed=5)
    alarms = 0
    for part in np.split(np.arange(150 * groups), groups):
        names = ("grad_norm_sq", "consensus", "loss")
        few = dataclasses.replace(
            run, **{n: getattr(run, n)[part] for n in names}, x=run.x[part]
        )
        alarms += worst_p_value(few, exact) < 0.05
    assert alarms <= 7


def test_the_band_catches_a_core_that_is_slightly_wrong():
    task = dfl.tasks.quadratic(m=6, d=3, mu=0.2, sigma=0.8, seed=3)
    run = dfl.train(
        dfl.algorithms.DFedAvg(eta=0.1, K=3), task, RING, rounds=30, seeds=300, seed=11
    )
    for wrong in (
        dfl.algorithms.DFedAvg(eta=0.12, K=3),
        dfl.algorithms.DFedAvg(eta=0.1, K=4),
    ):
        assert (
            worst_p_value(run, exact_history(wrong, task, RING, rounds=30))
            < FALSE_ALARM
        )


def test_an_exact_history_is_judged_like_a_run_and_saves_like_one(tmp_path):
    task = dfl.tasks.quadratic(m=6, d=3, mu=0.1, sigma=0.5, seed=0)
    run = exact_history(dfl.algorithms.DFedAvg(eta=0.01, K=2), task, RING, rounds=400)
    verdict = compare(run, "dfedsam.theorem_4_5", variant="corrected")
    assert verdict.measured.estimate == pytest.approx(
        run.grad_norm_sq[0, :400].mean(), rel=1e-12
    )
    assert 0 < verdict.ratio < 1
    assert is_deterministic(run)
    assert verdict.measured.low == verdict.measured.high
    back = dfl.training.History.load(run.save(tmp_path / "run.safetensors"))
    np.testing.assert_array_equal(back.grad_norm_sq, run.grad_norm_sq)
    assert is_deterministic(back)
