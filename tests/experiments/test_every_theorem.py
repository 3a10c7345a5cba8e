"""``compare`` applies to every statement of the registry, with the literal left-hand
side.
"""

import math
from dataclasses import fields
from functools import cache

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds.measures import MEASURES_OF_RUNS
from dfltheory.bounds.symbols import GLOSSARY, WRITTEN_OUT
from dfltheory.errors import ConditionError, InputError, UnknownNameError
from dfltheory.experiments.cases import validate
from dfltheory.files import json_text
from dfltheory.training.history import History
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.schedule import covered_algorithm, scheduled_algorithm
from tests.bounds.texts import of_all

ROUNDS, SCHEDULES = 12, of_all("SCHEDULES")
STATEMENTS = [
    t for t in bounds.statements() if t.kind in ("theorem", "corollary", "rate")
]
CLOSED = [
    t
    for t in STATEMENTS
    if not t.order and set(t.needs) <= GLOSSARY.keys() - WRITTEN_OUT
]
"""Statements whose constants a run knows; others, such as li2020, have their own tests.
"""


UNBOUNDED = (
    ("dfedsgpsm.theorem_1", "corrected_any_step"),
    ("dfedadmm.theorem_1", "corrected_any_penalty"),
)
"""Statements whose conditions do not bound the step size from above."""


def barred(thm):
    """Return the quantities that must be 0: the value 1 violates a condition."""
    alone = [
        (c.slack, *c.slack.free_symbols)
        for c in thm.conditions
        if len(c.slack.free_symbols) == 1
    ]
    return {symbol.name for slack, symbol in alone if slack.subs(symbol, 1) < 0}


def problem(thm, m=4, K=2, network="ring", Q=1, sigma=0.1, alpha=0.5):
    """Return a small task with exact constants, a network, and the hyperparameters
    without a schedule.
    """
    server, graph = thm.scope.network == "none", dfl.graphs.topology(network, m)
    W = None if server else dfl.graphs.metropolis(graph)
    if thm.scope.network == "column-stochastic":
        directed = (
            graph.to_directed()
            if network == "complete"
            else dfl.graphs.directed_exponential(m)
        )
        W = dfl.graphs.weights(directed, "column_stochastic")
    if thm.scope.two_blocks:
        task = dfl.tasks.get("coupled", m=m, p=3, sigma_u=sigma, sigma_v=sigma)
    elif thm.scope.bounded_gradients:
        task = dfl.tasks.get("clipped", m=m, d=3, sigma=sigma)
    else:
        zero = barred(thm)
        sigma = 0.0 if "sigma_l" in zero else sigma
        zeta = 0.1 if m > 1 and "sigma_g" not in zero else 0.0
        task = dfl.tasks.quadratic(
            m=m, d=3, sigma=0.0 if server else sigma, zeta=zeta, seed=0
        )
    kind = covered_algorithm(thm)
    own = {kind.glossary.get(f.name, f.name) for f in fields(kind)}
    hyperparameters = {"K": 1 if server else K, "K_u": K, "K_v": K, "Q": Q}
    hyperparameters |= {"alpha": alpha} if "alpha" in thm.needs else {}
    return (
        task,
        W,
        {name: value for name, value in hyperparameters.items() if name in own},
    )


SMALL_STEPS = {
    "wang_joshi2021.theorem_1_exact",
    "wang_joshi2021.theorem_2_exact",
    "wang_joshi2021.theorem_3",
}
"""Statements without a network whose conditions exclude the step size 1/L."""


@cache
def run_of(thm, seeds=3, T=None, rho0=0.1, long=600, **corner):
    """Run the theorem's algorithm with its schedule (for ``long`` rounds) or with
    admissible step sizes.
    """
    task, network, hyperparameters = problem(thm, **corner)
    if not {"rho", "rho0"} & set(thm.needs) and thm.key != "dfedmdc.theorem_1":
        hyperparameters["rho"] = 0.0
    if not thm.schedule:
        hyperparameters |= {"eta": 0.01 if network is not None else 1.0}  # 1/L
    if thm.key in SMALL_STEPS:
        hyperparameters |= {"eta": 0.05}
    stated = any(n in thm.needs for n in ("eta", "eta_u"))
    rounds = T or (ROUNDS if stated or thm.order else long)
    largest = stated and thm.schedule and (thm.key, thm.variant) not in UNBOUNDED
    step = "largest" if largest else "schedule"
    method = scheduled_algorithm(
        thm, task, rounds, network, step=step, rho0=rho0, **hyperparameters
    )
    asked = [dfl.verdicts.dist_sq] if thm.lhs.measure == "dist_sq" else []
    return dfl.train(
        method,
        task,
        network,
        rounds=rounds,
        seeds=seeds,
        x0=[1.0] * task.d,
        metrics=asked,
    )


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    "thm",
    [
        pytest.param(
            t, id=str(t), marks=[pytest.mark.slow] * t.key.startswith("dfedmdc.rate")
        )  # thousands of rounds
        for t in STATEMENTS
        if (t.order and t.lhs.measure in MEASURES_OF_RUNS) or t in CLOSED
    ],
)
def test_compare_applies_to_every_statement_and_to_its_run_from_a_file(thm, tmp_path):
    """For a statement in O(.), the left-hand side is measured without a verdict."""
    # from 1024/(1 - lam)^2 rounds on
    patient = thm.key.startswith("dfedmdc.rate_theorem")
    run = run_of(thm, long=2400 if patient else 600)
    given = {"S2": 4.0} if "S2" in thm.needs else {}
    verdict = compare(run, thm, **given)
    again = History.load(run.save(tmp_path / "run"))
    assert json_text(compare(again, thm, **given).to_dict()) == json_text(
        verdict.to_dict()
    )
    if thm.order:
        assert verdict.kind == "not applicable"
        assert "O(.)" in verdict.reason
        assert verdict.measured.estimate == pytest.approx(literal(run, thm), rel=1e-12)
        return
    assert verdict.kind != "not applicable", verdict.reason
    assert verdict.bound > 0
    assert verdict.bound == pytest.approx(sum(verdict.terms.values()), rel=1e-9)
    assert verdict.measured.estimate == pytest.approx(literal(run, thm), rel=1e-12)
    # for a minimum from the start on, or bounded gradients, a trivial bound is known
    # without a theorem
    bounded = thm.lhs.measure.startswith("grad_norm_sq") and math.isfinite(
        run.constants.B or math.inf
    )
    assert math.isfinite(verdict.trivial) == (thm.lhs.aggregate == "min" or bounded)


def literal(run, thm):
    """Return the left-hand side per round and seed, computed from the recorded
    gradients only.
    """
    extra = run.extra
    hyperparameters = run.algorithm.theory_values()
    c = run.constants
    T = run.rounds
    measured = {
        "grad_norm_sq": lambda s, t: run.grad_norm_sq[s, t],
        "grad_norm_sq_w": lambda s, t: extra["grad_norm_sq_w"][s, t],
        "consensus": lambda s, t: run.consensus[s, t],
        "dist_sq": lambda s, t: extra["dist_sq"][s, t],
        "f_gap": lambda s, t: run.loss[s, t] - c.f_star,
        "two_block": lambda s, t: (
            extra["grad_u_sq"][s, t] / c.L_u + extra["grad_v_sq"][s, t] / c.L_v
        ),
        "two_block_next": lambda s, t: (
            extra["grad_u_sq_next"][s, t] / c.L_u + extra["grad_v_sq"][s, t] / c.L_v
        ),
        "two_block_weighted": lambda s, t: (
            hyperparameters["eta_u"]
            * hyperparameters["K_u"]
            / 4
            * extra["grad_u_sq_next"][s, t]
            + hyperparameters["eta_v"]
            * hyperparameters["K_v"]
            / 4
            * extra["grad_v_sq"][s, t]
        ),
    }[thm.lhs.measure]
    first, rounds = {"min": (1, T), "mean": (0, T), "last": (T, 1)}[thm.lhs.aggregate]
    rounds = range(first, first + rounds)
    sums_from_one = thm.key.startswith(
        "dfedmdc.theorem"
    ) and not thm.variant.startswith("corrected")
    if sums_from_one or thm.key == "shi2015.theorem_3_5":
        rounds = range(1, T + 1)  # (1/T) sum over t = 1..T
    if thm.key.startswith(("koloskova", "yuan2023")):
        rounds = range(T + 1)
    if thm.key.startswith("dfedmdc.rate_quoted"):
        rounds = range(T)
    means = [sum(measured(s, t) for s in range(run.seeds)) / run.seeds for t in rounds]
    return min(means) if thm.lhs.aggregate == "min" else sum(means) / len(means)


# -- the measures themselves, from the states


def states(method, task, network, rounds):
    """Return the models (m, d) after 0, 1, ... rounds of a noiseless run, by separate
    runs.
    """
    x0 = [1.0] * task.d
    runs = [
        dfl.train(method, task, network, rounds=t, x0=x0) for t in range(1, rounds + 1)
    ]
    return [
        torch.tensor(x0, dtype=torch.float64).expand(task.m, -1),
        *(torch.as_tensor(r.x[0]) for r in runs),
    ]


def test_the_auxiliary_sequence_is_measured_where_the_theorem_has_it():
    task = dfl.tasks.quadratic(m=4, d=3, sigma=0.0, zeta=0.3, seed=0)
    network = dfl.graphs.metropolis(dfl.graphs.ring(4))
    eta, K, lam = 0.05, 3, 0.2
    method = dfl.algorithms.DFedADMM(eta=eta, K=K, lam=lam)
    run = dfl.train(method, task, network, rounds=5, x0=[1.0] * 3)
    gamma = 1 - (1 - eta / lam) ** K
    means = [x.mean(0) for x in states(method, task, network, 5)]
    total = 0.0
    for t in range(5):
        before = means[t - 1] if t else means[0]
        w = means[t] + (1 - gamma) / gamma * (means[t] - before)
        gradient = sum(task.gradient(w.expand(1, 4, -1))[0, i] for i in range(4)) / 4
        total += float(gradient @ gradient) / 5
    left = compare(
        run, "dfedadmm.theorem_1", variant="corrected_no_bounded_gradients"
    ).measured
    assert left.estimate == pytest.approx(total, rel=1e-10)


@pytest.mark.parametrize(
    ("variant", "heads", "weights"),
    [
        ("corrected", 1, "over L"),
        ("corrected_same_round", 0, "over L"),
        ("corrected_different_steps", 1, "steps"),
    ],
)
def test_the_two_block_measure_at_V_of_the_right_round(variant, heads, weights):
    task = dfl.tasks.get("coupled", m=4, p=3, sigma_u=0.0, sigma_v=0.0)
    network = dfl.graphs.metropolis(dfl.graphs.ring(4))
    method = dfl.algorithms.DFedMDC(eta_u=0.02, eta_v=0.03, K_u=2, K_v=1)
    run = dfl.train(method, task, network, rounds=4, x0=[1.0] * task.d)
    x, total = states(method, task, network, 4), 0.0
    c = task.constants
    factor = (
        (1 / c.L_u, 1 / c.L_v) if weights == "over L" else (0.02 * 2 / 4, 0.03 * 1 / 4)
    )
    for t in range(4):
        at = x[t].clone()
        at[:, :3] = x[t][:, :3].mean(0)
        at[:, 3:] = x[t + heads][:, 3:]
        body = task.gradient(at.unsqueeze(0))[0, :, :3].mean(0)
        head = task.gradient(x[t].unsqueeze(0))[0, :, 3:]
        total += (
            factor[0] * float(body @ body) + factor[1] * float((head**2).sum(1).mean())
        ) / 4
    left = compare(run, "dfedmdc.theorem_1", variant=variant).measured
    assert left.estimate == pytest.approx(total, rel=1e-10)


def test_the_push_sum_average_is_the_mean_of_the_numerators():
    task, network, _ = problem(bounds.get("dfedsgpsm.theorem_1"))
    task = dfl.tasks.get("clipped", m=4, d=3, sigma=0.0)
    method = dfl.algorithms.SGP(eta=0.1)
    run = dfl.train(method, task, network, rounds=3, x0=[1.0] * 3)
    P = torch.as_tensor(np.asarray(network), dtype=torch.float64)
    x, w, total = (
        torch.ones(4, 3, dtype=torch.float64),
        torch.ones(4, dtype=torch.float64),
        0.0,
    )
    for _ in range(3):
        gradient = task.gradient(x.mean(0).expand(1, 4, -1))[0].mean(0)
        total += float(gradient @ gradient) / 3
        x, w = P @ (x - 0.1 * task.gradient((x / w[:, None]).unsqueeze(0))[0]), P @ w
    left = compare(run, "dfedsgpsm.theorem_1", variant="corrected").measured
    assert left.estimate == pytest.approx(total, rel=1e-10)


# -- the schedule in one place


@pytest.mark.parametrize("thm", [t for t in CLOSED if t.schedule], ids=str)
def test_the_schedule_fills_every_step_size(thm):
    task, network, hyperparameters = problem(thm)
    method = scheduled_algorithm(thm, task, 400, network, rho0=0.5, **hyperparameters)
    values = {
        **task.constants.known(),
        **hyperparameters,
        "m": task.m,
        "T": 400,
        "rho0": 0.5,
    }
    if network is not None:
        values |= dfl.graphs.network_constants(network, push_sum=True).known()
    wanted, found = SCHEDULES[thm.key, thm.variant](**values), method.theory_values()
    wanted = {n: v for n, v in wanted.items() if n in thm.schedule}
    assert {n: found[n] for n in wanted} == pytest.approx(wanted, rel=1e-12)


def test_the_largest_step_is_admissible_and_a_larger_one_is_not():
    for thm in CLOSED:
        if not thm.schedule or not any(n in thm.needs for n in ("eta", "eta_u")):
            continue
        task, network, hyperparameters = problem(thm)
        if (thm.key, thm.variant) in UNBOUNDED:
            with pytest.raises(InputError, match="no condition of"):
                scheduled_algorithm(
                    thm, task, 50, network, step="largest", rho0=0.1, **hyperparameters
                )
            continue
        made = scheduled_algorithm(
            thm, task, 50, network, step="largest", rho0=0.1, **hyperparameters
        )
        values = (
            dict.fromkeys(thm.needs, 1.0)
            | dfl.graphs.network_constants(network, push_sum=True).known()
        )
        values |= task.constants.known() | {
            "m": 4,
            "T": 50,
            "rho": 0.1 / 50**0.5,
            "alpha": 0.5,
            "Q": 1,
        }

        def holds(factor, values=values, made=made, thm=thm):
            steps = {n: v for n, v in made.theory_values().items() if n in thm.needs}
            steps |= {
                n: v * factor
                for n, v in steps.items()
                if n in ("eta", "lam_admm", "eta_u", "eta_v")
            }
            here = {n: v for n, v in (values | steps).items() if n in thm.needs}
            return all(ok for *_, ok in thm.check_conditions(**here))

        assert holds(1 - 1e-9), thm
        assert not holds(1 + 1e-6), thm


def test_validate_runs_and_compares_in_one_call():
    task, network, hyperparameters = problem(bounds.get("dfedadmm.theorem_1"))
    outcome = validate(
        "dfedadmm.theorem_1",
        task,
        network,
        30,
        seeds=3,
        step="largest",
        variants=["corrected_small_steps", "corrected"],
        rho=0.0,
        algorithm="dfedadmm",
        **hyperparameters,
    )
    assert [v.variant for v in outcome.verdicts] == [
        "corrected_small_steps",
        "corrected",
    ]
    assert type(outcome.run.algorithm).__name__ == "DFedADMM"
    assert all(v.kind in ("holds", "vacuous", "undecided") for v in outcome.verdicts)


def test_schedule_reports_the_missing_constant():
    task, network, _ = problem(bounds.get("dfedsam.theorem_4_5"))
    with pytest.raises(InputError, match="needs K"):
        scheduled_algorithm("dfedsam.theorem_4_5", task, 100)
    with pytest.raises(InputError, match="step = 'big'"):
        scheduled_algorithm("dfedsam.theorem_4_5", task, 100, step="big", K=2)
    with pytest.raises(UnknownNameError, match="alpha"):
        scheduled_algorithm("dfedsam.theorem_4_5", task, 100, alhpa=0.1, K=2)
    with pytest.raises(InputError, match="lam"):
        scheduled_algorithm(
            "dfedsam.theorem_4_5", task, 100, variant="corrected", step="largest", K=2
        )
    with pytest.raises(ConditionError):
        scheduled_algorithm(
            "dfedsam.theorem_4_5",
            task,
            100,
            network,
            variant="appendix_q1",
            step="largest",
            K=2,
            Q=2,
        )


# -- runs that a theorem does not cover


def test_a_corollary_is_about_its_own_step_sizes():
    run = run_of(bounds.get("dfedsam.corollary_4_6", "corrected"))
    method = type(run.algorithm)(
        eta=1.5 * run.algorithm.eta, K=2, rho=run.algorithm.rho
    )
    task, network, _ = problem(bounds.get("dfedsam.theorem_4_5"))
    other = dfl.train(method, task, network, rounds=600, seeds=2, x0=[1.0] * 3)
    verdict = compare(other, "dfedsam.corollary_4_6", variant="corrected")
    assert verdict.kind == "not applicable"
    assert "eta = " in verdict.reason
    known = compare(run, "dfedsam.corollary_4_6", variant="corrected")
    at = bounds.get("dfedsam.corollary_4_6", "corrected")
    gap = float(run.loss[:, 0].mean()) - run.constants.f_star
    values = {"K": 2, "L": 1.0, "Q": 1, "T": 600, "m": 4, "rho0": 0.1, "f0_gap": gap}
    values |= {"lam": run.network.lam, "sigma_g": run.constants.sigma_g, "sigma_l": 0.1}
    values["L"] = run.constants.L
    assert known.bound == pytest.approx(float(at.evaluate(**values)), rel=1e-9)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (dfl.algorithms.DFedMDC(0.001, 0.001, 2, 2, alpha=0.5), "alpha = 0"),
        (dfl.algorithms.DFedMDC(0.001, 0.001, 2, 2, fresh=False), "fresh = True"),
        (dfl.algorithms.DFedSMDC(0.001, 0.001, 2, 2, rho=0.1, sam="uv"), "sam = u"),
        (dfl.algorithms.DFedSMDC(0.001, 0.001, 2, 2, rho=0.1), None),
    ],
)
def test_compare_names_mechanisms_that_the_theorem_does_not_cover(method, words):
    task, network, _ = problem(bounds.get("dfedmdc.theorem_1"))
    run = dfl.train(method, task, network, rounds=3, seeds=2, x0=[1.0] * task.d)
    verdict = compare(run, "dfedmdc.theorem_2", variant="corrected")
    assert (verdict.kind == "not applicable") is (words is not None)
    assert words is None or words in verdict.reason


def test_the_two_block_gap_is_that_of_the_heads_as_they_are():
    """For clients with different starts, f0_gap is F(ubar^0, V^0) - F*, not that of the
    mean model.
    """
    task, network, _ = problem(bounds.get("dfedmdc.theorem_1"))
    method = dfl.algorithms.DFedMDC(0.001, 0.001, 2, 2)
    run = dfl.train(method, task, network, rounds=3, seeds=2, x0=np.eye(4, 6))
    gap = float(run.extra["two_block_value"][:, 0].mean()) - run.constants.f_star
    assert gap != pytest.approx(float(run.loss[:, 0].mean()) - run.constants.f_star)
    found = compare(run, "dfedmdc.theorem_1", variant="corrected")
    with_given_value = compare(
        run, "dfedmdc.theorem_1", variant="corrected", f0_gap=gap
    )
    assert found.bound == pytest.approx(with_given_value.bound, rel=1e-12)


def test_the_second_moment_follows_from_bounded_gradients_without_sam_alone():
    task, network, _ = problem(bounds.get("dfedadmm.theorem_1"))
    B, sigma = task.constants.B, task.constants.sigma_l
    plain = dfl.train(
        dfl.algorithms.DFedADMM(0.01, 2, 0.02), task, network, rounds=5, x0=[1.0] * 3
    )
    found = compare(plain, "dfedadmm.theorem_1", variant="corrected_second_moment")
    with_given_value = compare(
        plain,
        "dfedadmm.theorem_1",
        variant="corrected_second_moment",
        S2=B**2 + sigma**2,
    )
    assert found.bound == with_given_value.bound
    sam = dfl.train(
        dfl.algorithms.DFedADMMSAM(0.01, 2, 0.02, rho=0.1),
        task,
        network,
        rounds=5,
        x0=[1.0] * 3,
    )
    assert (
        "S2 not known"
        in compare(sam, "dfedadmm.theorem_1", variant="corrected_second_moment").reason
    )
