"""Floors: each instance is simulated, true bounds lie above, faulty ones below."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.bounds.reference import load_all
from dfltheory.checks import floor_instances as instances
from dfltheory.checks.floors import check_floors, has_floors
from dfltheory.checks.neutral import check_neutral, different_terms, without
from dfltheory.constants import ProblemConstants
from dfltheory.tasks.noise import FiniteSupport
from dfltheory.tasks.separable import Clipped, Separable
from validation.drawn_slip_results import new_alarms
from validation.drawn_slips import draws, own, slipped

SLIPS = Path(__file__).parent / "slips"


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
    """The matrix that averages in each half, with lam as its other eigenvalue."""
    signs = np.where(np.arange(m) < m // 2, -1.0, 1.0)
    return (1 + lam * np.outer(signs, signs)) / m


def numbers(**changes):
    """A point of the instances in fractions."""
    at = {"eta": Fraction(1, 64), "L": Fraction(2), "m": Fraction(4), "T": Fraction(40)}
    at |= {"K": Fraction(2), "steps": Fraction(2), "size": Fraction(3)}
    at |= {"lam": Fraction(3, 4), "n": 4, "aggregate": "mean"}
    at |= {"first": Fraction(0), "last": Fraction(39), **changes}
    return at


@pytest.mark.parametrize("measure", ["grad_norm_sq", "f_gap"])
@pytest.mark.parametrize("rounds", [40, 4000])
def test_noise_floor_is_below_the_exact_expectation(measure, rounds):
    at = numbers(eta=Fraction(1, 4), last=Fraction(rounds - 1))
    noise = FiniteSupport([[-3.0], [3.0]])
    task = dfl.tasks.Quadratic(np.full((4, 1, 1), 2.0), np.zeros((4, 1)), noise)
    run = dfl.exact_history(
        dfl.algorithms.DFedAvg(eta=0.25, K=2),
        task,
        halves(4, 0.75),
        rounds - 1,
        x0=np.zeros(1),
    )
    exact = getattr(run, "grad_norm_sq" if measure == "grad_norm_sq" else "loss")[0]
    mean, last = float(np.mean(exact)), float(exact[-1])
    floor = float(instances.noise_floor(at, measure))
    assert floor <= mean * (1 + 1e-12)
    assert floor == pytest.approx(mean, rel=3 / rounds)
    final = float(instances.noise_floor({**at, "aggregate": "last"}, measure))
    assert final <= last * (1 + 1e-12)
    assert final == pytest.approx(last, rel=3 / rounds)


@pytest.mark.parametrize("measure", ["grad_norm_sq", "f_gap"])
def test_descent_floor_is_the_value_of_gradient_descent(measure):
    at = numbers()
    known = instances.descent_constants(at, measure)
    start, slope, L = (float(v) for v in (known["x_star_sq"] ** 0.5, known["B"], 2))
    task = Clipped(np.zeros((4, 1)), h=L, r=slope / L)
    run = dfl.train(
        dfl.algorithms.DFedAvg(eta=1 / 64, K=2),
        task,
        halves(4, 0.75),
        39,
        x0=np.array([start]),
    )
    gaps = run.loss[0] - task.f_star
    assert float(known["f0_gap"]) == pytest.approx(float(gaps[0]), rel=1e-12)
    measured = run.grad_norm_sq[0] if measure == "grad_norm_sq" else gaps
    floor = float(instances.descent_floor(at, measure))
    assert float(measured[-1]) == pytest.approx(floor, rel=1e-12)
    assert float(measured.min()) == pytest.approx(floor, rel=1e-12)


@pytest.mark.parametrize(
    ("eta", "K", "lam", "n"),
    [("1/64", 2, "3/4", 4), ("1/1024", 4, "15/16", 16), ("1/8192", 1, "31/32", 128)],
)
def test_consensus_floor_is_below_every_round(eta, K, lam, n):
    at = numbers(eta=Fraction(eta), K=K, steps=K, lam=Fraction(lam), n=n)
    known = instances.consensus_constants(at, "grad_norm_sq")
    radius = float(instances._radius(at))
    task = Tent(4, 2, radius, 3)
    W = halves(4, float(at["lam"]))
    assert sorted(np.linalg.eigvalsh(W))[-2] == pytest.approx(float(at["lam"]))
    run = dfl.train(
        dfl.algorithms.DFedAvg(eta=float(at["eta"]), K=K),
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


def test_consensus_floor_approaches_its_limit():
    at = numbers(eta=Fraction(1, 2**30), n=2**7, lam=Fraction(3, 4))
    limit = (at["eta"] * 2 * 2) ** 2 * 9 * (Fraction(3, 4) / Fraction(1, 4)) ** 2
    assert 0.999 * limit < instances.consensus_floor(at, "grad_norm_sq") < limit


@pytest.mark.parametrize(
    "changes",
    [{}, {"K": Fraction(1), "steps": Fraction(1)}, {"size": Fraction(7)}],
)
def test_span_floor_is_that_of_the_registered_lower_bound(changes):
    at = numbers(**changes)
    registered = bounds.get("bubeck2015.theorem_3_14")
    rounds = int(at["steps"] * at["last"])
    value = registered.evaluate(
        L=2, mu=0, T=rounds, x_star_sq=float(at["size"] ** 2), where="ignore"
    )
    assert float(instances.span_floor(at, "f_gap")) == pytest.approx(float(value))


def floors(path):
    return [f for t in load_all(str(path)) for f in check_floors(t)]


def test_true_bound_has_no_floor_above_it():
    theorems = load_all(str(SLIPS / "dfedavg.toml"))
    assert all(has_floors(theorem) for theorem in theorems)
    assert floors(SLIPS / "dfedavg.toml") == []


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
        replace(scope, algorithms=("DFedADMM",)),
        replace(scope, network="column-stochastic"),
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


def test_neutral_terms_are_observations():
    theorem = bounds.get("dfedsam.theorem_4_5", variant="corrected")
    found = list(check_neutral(theorem))
    assert {f.place for f in found} >= {"at Q = 1", "at lam = 0"}
    assert {f.severity for f in found} == {"note"}
    same = different_terms(without(theorem, "rho"), without(theorem, "rho"))
    assert same == ([], [])
    terms = different_terms(without(theorem, "rho"), without(theorem, "lam"))
    assert any("lam" in term for term in terms[0])
    assert any("rho" in term for term in terms[1])


@pytest.mark.slow
def test_drawn_slips_are_found_without_false_alarms():
    path = Path(__file__).parent / "drawn_slips.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert rows == draws()
    found = 0
    for row in rows:
        theorem = own(bounds.get(row["key"], variant=row["variant"]))
        wrong = slipped(theorem, row["kind"], row["place"])
        errors, after = new_alarms(theorem, wrong)
        assert errors == []
        found += bool(after)
    assert found >= 17


def test_radius_is_the_spread_after_the_transient():
    at = numbers(n=16)
    radius = instances._radius(at)
    local, lam = at["eta"] * at["steps"], at["lam"]
    moved = local * at["L"] * at["n"]
    spread = lam * (1 - lam ** at["n"]) / (1 - lam)
    slowed = at["size"] - moved * at["L"] * radius
    assert local * spread * slowed == radius * (1 + moved)
