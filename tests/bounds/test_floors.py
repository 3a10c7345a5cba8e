"""Floors: each instance is simulated; true bounds lie above it, faulty ones below."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
import torch

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.reference import load_all
from dfltheory.bounds.registry import REGISTRY
from dfltheory.checks import effective_steps
from dfltheory.checks import floor_instances as instances
from dfltheory.checks.floors import check_floors, has_floors
from dfltheory.constants import ProblemConstants
from dfltheory.graphs import assran_constants
from dfltheory.tasks.noise import FiniteSupport
from dfltheory.tasks.separable import Clipped, Separable
from tests.bounds.drawn_slips import draws, judged, table_row

SLIPS = Path(__file__).parent / "slips"
PAGE = Path(__file__).parents[2] / "docs/drawn-slips.md"


class Tent(Separable):
    """Clients with the gradients h'(x) - b and h'(x) + b, h'(x) = L max(r - |x|, 0)."""

    name = "tent"

    def __init__(self, m, L, r, b):
        super().__init__(np.zeros((m, 1)), 0.0)
        self.L, self.r = float(L), float(r)
        signs = torch.ones(m, 1, dtype=torch.float64)
        signs[: m // 2] = -1
        self.pull = float(b) * signs
        self.x_star = torch.tensor([-self.r], dtype=torch.float64)

    def client_loss(self, x):
        inside = x.clamp(-self.r, self.r)
        rest = torch.where(inside < 0, -1.0, 1.0) * inside.square() / 2
        return (self.L * (self.r * inside - rest) + self.pull * x).sum(-1)

    def client_gradient(self, x):
        return self.L * (self.r - x.abs()).clamp(min=0) + self.pull

    @property
    def constants(self):
        pull = float(self.pull.abs().max())
        return ProblemConstants(
            L=self.L, sigma_l=0.0, sigma_g=pull, f_star=-self.L * self.r**2 / 2
        )


def halves(m, lam):
    """Return the matrix that averages within each half, with lam as its other
    eigenvalue.
    """
    signs = np.where(np.arange(m) < m // 2, -1.0, 1.0)
    return (1 + lam * np.outer(signs, signs)) / m


def numbers(**changes):
    """Return the constants of the instances at one point, as fractions."""
    at = {"eta": Fraction(1, 64), "L": Fraction(2), "m": Fraction(4), "T": Fraction(40)}
    at |= {"K": Fraction(2), "steps": Fraction(2), "size": Fraction(3)}
    at |= {"lam": Fraction(3, 4), "n": 4, "aggregate": "mean"}
    at |= {"first": Fraction(0), "last": Fraction(39)}
    at |= {"rho": Fraction(0), "rho0": Fraction(0)}
    at |= {"algorithm": "DFedAvg", "alpha": Fraction(0), **changes}
    return effective_steps.FamilyConstants(**{"lam_admm": at["eta"], **at})


METHODS = {
    "plain": (dfl.algorithms.DFedAvg(eta=1 / 64, K=2), {}),
    "momentum": (
        dfl.algorithms.DFedAvgM(eta=1 / 64, K=4, alpha=0.75),
        {"algorithm": "DFedAvgM", "alpha": Fraction(3, 4), "K": Fraction(4)},
    ),
    "push-sum": (
        dfl.algorithms.DFedSGPM(eta=1 / 64, K=3, alpha=0.5),
        {"algorithm": "DFedSGPM", "alpha": Fraction(1, 2), "K": Fraction(3)},
    ),
    "dual": (
        dfl.algorithms.DFedADMM(eta=1 / 64, K=2, lam=1 / 16),
        {"algorithm": "DFedADMM", "lam_admm": Fraction(1, 16)},
    ),
    "dual as gradient steps": (
        dfl.algorithms.DFedADMM(eta=1 / 64, K=1, lam=1 / 64),
        {"algorithm": "DFedADMM", "K": Fraction(1)},
    ),
}
"""Algorithms and the constants of their instances."""


def method(name, **changes):
    """Return an algorithm, its constants, and the measure of its squared gradients."""
    algorithm, own = METHODS[name]
    at = numbers(**own, **changes)
    at = replace(at, steps=at.K)
    measure = "grad_norm_sq_w" if "dual" in name else "grad_norm_sq"
    return algorithm, at, measure


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", ["plain", "momentum", "push-sum"])
@pytest.mark.parametrize("rounds", [100, 300])
def test_noise_floor_is_below_the_exact_expectation(name, rounds):
    algorithm, at, _ = method(name, last=Fraction(rounds - 1))
    noise = FiniteSupport([[-3.0], [3.0]])
    task = dfl.tasks.Quadratic(np.full((4, 1, 1), 2.0), np.zeros((4, 1)), noise)
    run = dfl.exact_history(
        algorithm, task, halves(4, 0.75), rounds - 1, x0=np.zeros(1)
    )
    for measure, exact in (
        ("grad_norm_sq", run.grad_norm_sq[0]),
        ("f_gap", run.loss[0]),
    ):
        mean, last = float(np.mean(exact)), float(exact[-1])
        floor = float(instances.noise_floor(at, measure))
        assert floor <= mean * (1 + 1e-12)
        assert floor == pytest.approx(mean, rel=12 / rounds)
        final = float(instances.noise_floor(replace(at, aggregate="last"), measure))
        assert final <= last * (1 + 1e-12)
        assert final == pytest.approx(last, rel=12 / rounds)


def test_noise_floor_with_dual_variables_is_that_of_gradient_steps():
    _, at, measure = method("dual as gradient steps")
    plain = replace(at, algorithm="DFedAvg")
    assert instances.noise_floor(at, measure) == instances.noise_floor(plain, measure)
    task = dfl.tasks.Quadratic(np.full((4, 1, 1), 2.0), np.zeros((4, 1)))
    start = np.ones(1)
    runs = [
        dfl.train(algorithm, task, halves(4, 0.75), 5, x0=start)
        for algorithm in (
            METHODS["dual as gradient steps"][0],
            dfl.algorithms.DFedAvg(eta=1 / 64, K=1),
        )
    ]
    dual, plain = runs[0].extra["grad_norm_sq_w"][0], runs[1].grad_norm_sq[0]
    assert np.asarray(dual) == pytest.approx(np.asarray(plain))
    for other in ({"lam_admm": Fraction(1, 16)}, {"K": Fraction(2)}):
        assert instances.noise_floor(replace(at, **other), measure) == 0


def test_noise_floor_is_none_where_models_could_leave_the_parabola():
    _, at, measure = method("momentum", eta=Fraction(2, 5))
    assert instances.noise_floor(at, measure) == 0


def gradients(run, measure):
    """Return the squared gradients at the mean model, or at ADMM's auxiliary point, by
    round.
    """
    found = run.grad_norm_sq if measure == "grad_norm_sq" else run.extra[measure]
    return np.asarray(found[0])


def descent(name, measure):
    """Return the measured left-hand sides of an algorithm on the problem of
    ``descent_floor``.
    """
    algorithm, at, _ = method(name)
    known = instances.descent_constants(at, measure)
    start, slope, L = (float(v) for v in (known["x_star_sq"] ** 0.5, known["B"], 2))
    task = Clipped(np.zeros((4, 1)), h=L, r=slope / L)
    run = dfl.train(algorithm, task, halves(4, 0.75), 39, x0=np.array([start]))
    gaps = run.loss[0] - task.f_star
    assert float(known["f0_gap"]) == pytest.approx(float(gaps[0]), rel=1e-12)
    floor = float(instances.descent_floor(at, measure))
    return gaps if measure == "f_gap" else gradients(run, measure), floor


@pytest.mark.parametrize("measure", ["grad_norm_sq", "f_gap"])
@pytest.mark.parametrize("name", ["plain", "momentum", "push-sum"])
def test_descent_floor_is_the_value_of_the_effective_steps(name, measure):
    measured, floor = descent(name, measure)
    assert float(measured[-1]) == pytest.approx(floor, rel=1e-12)
    assert float(measured.min()) == pytest.approx(floor, rel=1e-12)


@pytest.mark.parametrize("name", ["dual", "dual as gradient steps"])
def test_descent_floor_with_dual_variables_is_the_gradient_at_w(name):
    measured, floor = descent(name, "grad_norm_sq_w")
    assert measured == pytest.approx(floor, rel=1e-12)


@pytest.mark.parametrize("name", ["plain", "momentum", "push-sum", "dual"])
def test_travel_is_the_way_of_a_round_under_a_constant_gradient(name):
    algorithm, at, _ = method(name)
    task = Clipped(np.zeros((4, 1)), h=1.0, r=1.0)
    run = dfl.train(algorithm, task, halves(4, 0.75), 40, x0=np.array([1000.0]))
    moved = np.diff(run.loss[0])
    way = float(effective_steps.travel(at))
    # the steps of ADMM's mean model approach those of w
    assert moved[-1] == pytest.approx(-way, rel=1e-4 if name == "dual" else 1e-9)


def test_travel_of_a_kept_velocity_is_the_limit():
    at = numbers(algorithm=effective_steps.LASTING_MOMENTUM, alpha=Fraction(3, 4))
    algorithm = dfl.algorithms.DFedAvgM(eta=1 / 64, K=2, alpha=0.75, keep_momentum=True)
    task = Clipped(np.zeros((4, 1)), h=1.0, r=1.0)
    run = dfl.train(algorithm, task, halves(4, 0.75), 60, x0=np.array([1000.0]))
    moved = -np.diff(run.loss[0])
    way = float(effective_steps.travel(at))
    assert way == 4 * 2 / 64
    assert (moved <= way * (1 + 1e-9)).all()
    assert moved[-1] == pytest.approx(way, rel=1e-6)


SHARP = [
    dfl.algorithms.DFedSAM(eta=0.1, K=3, rho=0.5),
    dfl.algorithms.DFedSGPSM(eta=0.1, K=3, alpha=0.9, rho=0.5),
    dfl.algorithms.DFedADMMSAM(eta=0.1, K=3, lam=0.2, rho=0.5),
]


@pytest.mark.parametrize("algorithm", SHARP, ids=lambda a: type(a).__name__)
def test_sam_stays_at_its_fixed_point(algorithm):
    at = numbers(rho=Fraction(1, 2), rho0=Fraction(1, 2))
    known = instances.sam_constants(at, "grad_norm_sq")
    task = Tent(4, 2, 0.5, 0)
    run = dfl.train(algorithm, task, halves(4, 0.75), 30, x0=np.zeros(1))
    floor = float(instances.sam_floor(at, "grad_norm_sq"))
    assert np.asarray(run.grad_norm_sq[0]) == pytest.approx(floor)
    assert float(known["B"]) ** 2 == floor
    gap = float(run.loss[0][0]) - task.f_star
    assert float(known["f0_gap"]) == pytest.approx(gap)


@pytest.mark.parametrize(
    ("eta", "K", "lam", "n"),
    [("1/64", 2, "3/4", 4), ("1/1024", 4, "15/16", 16), ("1/8192", 1, "31/32", 128)],
)
def test_consensus_floor_is_below_every_round(eta, K, lam, n):
    at = numbers(eta=Fraction(eta), K=K, steps=K, lam=Fraction(lam), n=n)
    known = instances.consensus_constants(at, "grad_norm_sq")
    radius = float(instances._radius(at))
    task = Tent(4, 2, radius, 3)
    W = halves(4, float(at.lam))
    assert sorted(np.linalg.eigvalsh(W))[-2] == pytest.approx(float(at.lam))
    run = dfl.train(
        dfl.algorithms.DFedAvg(eta=float(at.eta), K=K),
        task,
        W,
        3 * n,
        x0=np.zeros(1),
    )
    floor = float(instances.consensus_floor(at, "grad_norm_sq"))
    least = float(run.grad_norm_sq[0].min())
    assert 0 < floor <= least * (1 + 1e-9)
    assert floor > 0.3 * least
    assert float(known["f0_gap"]) == pytest.approx(2 * radius**2 / 2)
    assert float(run.loss[0][0]) - task.f_star == pytest.approx(float(known["f0_gap"]))


@pytest.mark.parametrize("name", ["momentum", "push-sum", "dual as gradient steps"])
def test_consensus_floor_is_below_every_round_of_other_algorithms(name):
    eta = Fraction(1, 1024)
    algorithm, at, measure = method(name, eta=eta, lam=Fraction(7, 8), n=16)
    at = replace(at, lam_admm=eta)
    changed = {"lam": float(eta)} if "dual" in name else {}
    radius = float(instances._radius(at))
    task = Tent(4, 2, radius, 3)
    run = dfl.train(
        replace(algorithm, eta=float(eta), **changed),
        task,
        halves(4, 0.875),
        48,
        x0=np.zeros(1),
    )
    floor = float(instances.consensus_floor(at, measure))
    least = float(gradients(run, measure).min())
    assert 0.3 * least < floor <= least * (1 + 1e-9)


def test_consensus_floor_approaches_its_limit():
    at = numbers(eta=Fraction(1, 2**30), n=2**7, lam=Fraction(3, 4))
    limit = (at.eta * 2 * 2) ** 2 * 9 * (Fraction(3, 4) / Fraction(1, 4)) ** 2
    assert 0.999 * limit < instances.consensus_floor(at, "grad_norm_sq") < limit


@pytest.mark.parametrize(
    "changes",
    [{}, {"K": Fraction(1), "steps": Fraction(1)}, {"size": Fraction(7)}],
)
def test_span_floor_is_that_of_the_registered_lower_bound(changes):
    at = numbers(**changes)
    registered = bounds.get("bubeck2015.theorem_3_14")
    rounds = int(at.steps * at.last)
    value = registered.evaluate(
        L=2, mu=0, T=rounds, x_star_sq=float(at.size**2), where="ignore"
    )
    assert float(instances.span_floor(at, "f_gap")) == pytest.approx(float(value))


def floors(path):
    return [f for t in load_all(str(path)) for f in check_floors(t)]


def test_true_bound_has_no_floor_above_it():
    theorems = load_all(str(SLIPS / "dfedavg.toml"))
    assert all(has_floors(theorem) for theorem in theorems)
    assert floors(SLIPS / "dfedavg.toml") == []


@pytest.mark.parametrize(("factor", "fewest"), [("2", 9), ("5/2", 11)])
def test_least_number_of_clients_may_be_odd(tmp_path, factor, fewest):
    text = (SLIPS / "dfedavg.toml").read_text(encoding="utf-8")
    false = text.replace("9/4*eta*L*sigma_l^2/m", f"{factor}*eta*L*sigma_l^2/m^2")
    file = tmp_path / "false.toml"
    file.write_text(false, encoding="utf-8")
    theorem = load_all(str(file))[0]
    (finding,) = [f for f in check_floors(theorem) if f.severity == "error"]
    assert finding.evidence["fewest_clients"] == str(fewest)


def test_least_number_of_clients_is_reported():
    (finding,) = floors(SLIPS / "consensus_over_m.toml")
    assert finding.severity == "error"
    evidence = finding.evidence
    theorem = load_all(str(SLIPS / "consensus_over_m.toml"))[0]
    point = {name: float(Fraction(v)) for name, v in evidence["point"].items()}
    floor = float(Fraction(evidence["floor"]))
    assert theorem.evaluate(**point) < floor
    fewer = {**point, "m": point["m"] - 2}
    assert theorem.evaluate(**fewer) >= floor
    assert evidence["fewest_clients"] == evidence["point"]["m"]


def test_gap_with_too_small_a_power_is_below_the_consensus_floor():
    (finding,) = floors(SLIPS / "gap_power.toml")
    assert finding.evidence["term"] == "opposing gradients"
    bound, floor = (Fraction(finding.evidence[n]) for n in ("bound", "floor"))
    assert bound < floor


@pytest.mark.parametrize("name", ["dfedsam.theorem_4_5", "dfedsam.corollary_4_8"])
def test_corrected_statements_are_above_all_floors(name):
    theorem = bounds.get(name, variant="corrected")
    assert list(check_floors(theorem)) == []


@pytest.mark.slow
def test_no_statement_but_the_known_false_ones_is_below_a_floor():
    found = {
        (theorem.key, theorem.variant)
        for theorem in REGISTRY.statements()
        if list(check_floors(theorem))
    }
    false = {("pepit.gradient_descent", "printed"), ("dfedsgpsm.theorem_1", "printed")}
    false |= {("dfedadmm.theorem_1", v) for v in ("printed", "appendix")}
    names = ("printed", "appendix", "appendix_q1")
    false |= {("dfedsam.theorem_4_5", v) for v in names}
    assert found == false


@pytest.mark.parametrize(("push_sum", "floors"), [("cited", 0), ("computed", 1)])
def test_cited_constants_of_push_sum_are_not_those_of_exact_averages(push_sum, floors):
    """With the cited C, which is 20.2 for two clients, C/10 is more than 2."""
    printed = bounds.get("dfedsgpsm.theorem_1", "printed")
    parts = dict(printed.parts)
    parts["optimization"] = s.f0_gap * s.C / (10 * s.eta * s.K * s.T)
    scope = replace(printed.scope, push_sum=push_sum)
    found = list(check_floors(replace(printed, parts=parts, scope=scope)))
    assert len(found) == floors


def test_a_bound_with_cited_constants_is_refuted_with_the_cited_constants():
    printed = bounds.get("dfedsgpsm.theorem_1", "printed")
    (finding,) = check_floors(printed)
    point = {n: Fraction(v) for n, v in finding.evidence["point"].items()}
    cited = assran_constants(m=2, D=2, diameter=1)
    assert point["C"] >= cited.C
    assert point["q"] >= cited.q
    assert printed.evaluate(**{n: float(v) for n, v in point.items()}) < 4
    assert "Assran" in finding.message


def test_printed_gain_from_momentum_is_below_the_effective_step():
    (finding,) = check_floors(bounds.get("dfedsgpsm.theorem_1", variant="printed"))
    assert finding.evidence["term"] == "the way to the minimum"
    assert finding.evidence["point"]["K"] == "1"
    bound, floor = (Fraction(finding.evidence[n]) for n in ("bound", "floor"))
    assert bound < floor


@pytest.mark.parametrize(
    ("key", "part", "share", "floor"),
    [
        ("dfedsgpsm.theorem_1", "optimization", "1/5", "the way to the minimum"),
        ("dfedadmm.theorem_1", "optimization", "1/5", "the way to the minimum"),
        ("dfedsam.theorem_4_5", "sharpness", "0", "SAM's fixed point"),
    ],
)
def test_smaller_terms_are_below_a_floor(key, part, share, floor):
    theorem = bounds.get(key, variant="corrected")
    assert part in theorem.parts
    parts = {**theorem.parts, part: theorem.parts[part] * sp.Rational(share)}
    found = [f.evidence["term"] for f in check_floors(replace(theorem, parts=parts))]
    assert floor in found


def test_a_bound_without_its_noise_term_is_below_the_noise_floor():
    theorem = load_all(str(SLIPS / "dfedavg.toml"))[0]
    parts = {n: e for n, e in theorem.parts.items() if n != "noise"}
    found = [f.evidence["term"] for f in check_floors(replace(theorem, parts=parts))]
    assert "averaged noise" in found


def test_an_unknown_scope_has_no_floors():
    theorem = load_all(str(SLIPS / "dfedavg.toml"))[0]
    scope = theorem.scope
    for changed in (
        replace(scope, participation="sampled"),
        replace(scope, algorithms=("SCAFFOLD",)),
    ):
        assert not has_floors(replace(theorem, scope=changed))


class LateSlope(Separable):
    """The objective of ``late_floor``, for L = 2 and the slope g."""

    name = "late"

    def __init__(self, start, slope):
        super().__init__(np.zeros((4, 1)), 0.0)
        self.g, self.start = float(slope), float(start)
        self.reach = self.g / 2
        self.flat = 2 * self.start**2 / (2 * self.g)
        self.x_star = torch.tensor([2 * self.reach + self.flat], dtype=torch.float64)

    def client_gradient(self, x):
        later = -2 * (2 * self.reach + self.flat - x)
        return torch.maximum(-2 * x.clamp(min=0), torch.tensor(-self.g)).maximum(
            later.clamp(max=0)
        ) * (x > 0)

    def client_loss(self, x):
        rise = x.clamp(max=self.reach, min=0)
        level = (x - self.reach).clamp(min=0, max=self.flat)
        fall = (x - self.reach - self.flat).clamp(min=0, max=self.reach)
        return (-rise.square() - self.g * level - self.g * fall + fall.square()).sum(-1)

    @property
    def constants(self):
        return ProblemConstants(L=2.0, sigma_l=0.0, sigma_g=0.0, f_star=self.f_star)


def test_late_slope_is_reached_in_the_last_round():
    at = numbers(aggregate="last")
    known = instances.late_constants(at, "grad_norm_sq")
    start = 1.5 * (1 + 2 / 64) ** -(2 * 39)
    task = LateSlope(start, 3)
    run = dfl.train(
        dfl.algorithms.DFedAvg(eta=1 / 64, K=2), task, halves(4, 0.75), 39, x0=[start]
    )
    floor = float(instances.late_floor(at, "grad_norm_sq"))
    assert float(run.grad_norm_sq[0][-1]) == pytest.approx(floor, rel=1e-9)
    gap = float(run.loss[0][0]) - task.f_star
    assert float(known["f0_gap"]) == pytest.approx(gap, rel=1e-9)


@pytest.mark.slow
def test_drawn_slips_are_found_without_false_alarms():
    path = Path(__file__).parent / "drawn_slips.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert rows == draws()
    page = PAGE.read_text(encoding="utf-8")
    count = 0
    for row in rows:
        errors, found = judged(row)
        assert errors == 0
        assert table_row(row, found) in page
        count += bool(found)
    assert count >= 17
    assert f"**{count} of {len(rows)} slips are found.**" in page


def test_radius_is_the_spread_after_the_transient():
    at = numbers(n=16)
    radius = instances._radius(at)
    local, lam = at.eta * at.steps, at.lam
    moved = local * at.L * at.n
    spread = lam * (1 - lam**at.n) / (1 - lam)
    slowed = at.size - moved * at.L * radius
    assert local * spread * slowed == radius * (1 + moved)
