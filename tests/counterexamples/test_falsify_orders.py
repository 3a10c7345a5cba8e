"""Statements in O(.): a family is reported only where the ratio still grows at
the end, refutes nothing by itself, and replays from its file.
"""

import dataclasses
import json

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.bounds import symbols
from dfltheory.counterexamples import falsify, replay
from dfltheory.counterexamples.divergence import (
    Divergence,
    family_along,
    right_side_value,
)
from dfltheory.counterexamples.document import read_document
from dfltheory.counterexamples.families import RoundData
from dfltheory.counterexamples.families.two_wells import well_limit
from dfltheory.counterexamples.growth import MEMBERS, Member, kinds
from dfltheory.counterexamples.noisy_parabola import NoisyParabola
from dfltheory.errors import DFLTheoryError, InputError


def made_up(power, parameter="T", level=0.0):
    """Apply :func:`family_along` to a synthetic measure = expression * parameter^power, which
    may level off at ``level``.
    """
    theorem = dfl.bounds.get("dfedsam.rate_abstract", "printed")

    def measure(theorem, at):
        values = {"T": at["T"], "K": at["K"], "lam": 1 - 1 / at["gap"]}
        x = at[parameter] ** power
        return (
            right_side_value(theorem, values) * (x / (1 + x / level) if level else x),
            values,
        )

    class MadeUp(Member):
        def measure(self, theorem, at):
            return measure(theorem, at)

        def core(self, theorem, at):
            return None

    return family_along(
        theorem,
        MadeUp("made up", None, {}),
        {"T": 1e6, "K": 1.0, "gap": 2.0},
        parameter,
    )


def test_a_family_diverges_when_its_ratio_grows_and_the_limit_has_set_in():
    found = made_up(0.5)
    assert found.grows
    assert found.exponent == pytest.approx(0.5, abs=1e-9)
    # continued by one more factor
    assert found.ratios[-1] / found.ratios[0] == pytest.approx(16.0)
    assert len(made_up(0.0).ratios) == 4
    assert not made_up(0.0).grows
    assert not made_up(0.1).grows
    assert not made_up(-0.5).grows
    assert not dataclasses.replace(found, settled=False).grows
    assert not dataclasses.replace(found, structural=False).grows
    assert not dataclasses.replace(found, core=found.ratios[-1] / 2).grows
    assert dataclasses.replace(found, core=found.ratios[-1]).grows
    values = (1.0, 4.0, 16.0, 64.0)
    doubled = dataclasses.replace(found, values=values, ratios=(1.0, 1.3, 1.7, 2.3))
    assert doubled.grows
    assert not dataclasses.replace(doubled, ratios=(1.0, 1.2, 1.5, 1.95)).grows
    assert "before the limit" in str(dataclasses.replace(found, settled=False))
    assert "constant of the problem" in str(
        dataclasses.replace(found, structural=False)
    )


@pytest.mark.parametrize("level", [1e3, 3e3, 6e3])
def test_a_ratio_that_grows_for_a_while_and_levels_off_is_no_divergence(level):
    assert not made_up(0.5, level=level).grows


def test_constants_of_the_problem_may_hide_in_an_order_and_structure_may_not():
    theorem = dfl.bounds.get("dfedsam.corollary_4_6", "printed")
    rng = np.random.default_rng(0)
    member = MEMBERS["clipped clients"]
    base = member.draw(rng) | {"T": 16.0, "K": 1.0}
    assert not family_along(theorem, member, base, "L").structural
    assert family_along(theorem, member, base, "gap").structural
    # lam = -1 is out of range
    assert family_along(theorem, member, base | {"gap": 0.5}, "T") is None
    assert family_along(theorem, member, base, "T", late=lambda: True) is None


@pytest.mark.slow
def test_almost_identical_clients_part_from_a_common_start_and_their_mean_keeps_its_slope():
    theorem = dfl.bounds.get("dfedmdc.theorem_1", "printed")
    at = {
        "T": 400.0,
        "K_u": 2.0,
        "K_v": 1.0,
        "gap": 400.0,
        "h": 2.0,
        "v": 0.3,
        "e": 0.5,
    }
    instance, _ = MEMBERS["parting clients"].make(theorem, at)
    assert (instance.x0 == 0).all()
    both = MEMBERS["parting clients"]
    assert both.core(theorem, at) == pytest.approx(
        both.measure(theorem, at)[0], rel=1e-9
    )
    known = instance.task.problem.constants()
    assert float(known["L_u"][0]) == pytest.approx(2.0)
    assert float(known["delta_u"][0]) == pytest.approx(2 * 0.5 / 400, rel=1e-6)
    u = instance.run(rounds=2000, progress=False).x[0, :, 0]
    eta = at["h"] * instance.algorithm.eta_u
    there = RoundData(np.array([eta]), np.array([1 - 1 / 400]), np.zeros(1), 2)
    mean, half = (
        float(a[0])
        for a in well_limit(np.array([0.3]), np.ones(1), np.array([0.5 / 400]), there)
    )
    np.testing.assert_allclose([u.mean(), np.ptp(u) / 2], [mean, half], rtol=1e-6)


@pytest.mark.parametrize("variant", ["printed", "appendix_eq35"])
def test_noise_in_the_heads_agrees_with_the_closed_form_and_with_the_core(variant):
    # v <- (1 - e) v - (e/h) xi, e = eta h = 1/sqrt(T): E (h v)^2 = sigma^2 (e/(2 - e))
    # (1 - (1 - e)^(2t))
    theorem, member = (
        dfl.bounds.get("dfedmdc.theorem_2", variant),
        MEMBERS["noisy heads"],
    )
    at = {"T": 64.0, "K_u": 1.0, "K_v": 1.0, "gap": 2.0, "h_v": 0.5, "sigma_v": 2.0}
    measured, values = member.measure(theorem, at)
    e, t = 1 / 8, np.arange(1, 65)
    expected = (4.0 * e / (2 - e) * (1 - (1 - e) ** (2 * t))).mean() / 0.5
    assert measured == pytest.approx(expected, rel=1e-12)
    # F at t = 1, over the two clients: (h/2) (eta sigma)^2
    assert values["f0_gap"] == pytest.approx(0.25 * (0.25 * 2.0) ** 2, rel=1e-9)
    assert member.core(theorem, at) == pytest.approx(expected, rel=0.35)


CASES = [
    ("dfedmdc.theorem_1", "appendix", "parting clients", "T*gap"),
    ("dfedmdc.theorem_2", "printed", "noisy heads", "T"),
    ("dfedmdc.theorem_2", "appendix_eq35", "noisy heads", "T"),
    ("dfedsam.corollary_4_6", "appendix_any_rho", "opposing clients", "gap*T*T"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("key", "variant", "name", "parameter"), CASES)
def test_the_printed_orders_that_are_false_diverge(key, variant, name, parameter):
    theorem, member = dfl.bounds.get(key, variant), MEMBERS[name]
    found = family_along(
        theorem, member, member.draw(np.random.default_rng(2)), parameter
    )  # some draws never settle
    assert found.grows, str(found)
    # without the missing term the expression is 1/sqrt(T) of what is measured, or
    # 1/T^1.5 (heads)
    assert found.exponent > {"noisy heads": 0.85, "opposing clients": 0.9}.get(
        name, 0.45
    )


@pytest.mark.slow
def test_the_ratio_to_a_theorem_with_the_noise_of_the_heads_does_not_grow():
    theorem, member = (
        dfl.bounds.get("dfedmdc.theorem_2", "appendix"),
        MEMBERS["noisy heads"],
    )
    for seed in range(3):
        found = family_along(
            theorem, member, member.draw(np.random.default_rng(seed)), "T"
        )
        assert not found.grows
        assert max(found.ratios) < 1


def with_noise_term(formula, tmp_path):
    """Return an O(.) on DFedAvg from round 0 on, with this noise term."""
    file = tmp_path / "theorem.toml"
    file.write_text(NOISY_RATE.format(noise=formula))
    return dfl.bounds.load(file)


NOISY_RATE = """
format = 1
[source]
citation = "A draft"
[[statement]]
key = "draft.rate"
kind = "corollary"
title = "DFedAvg"
source = "a draft"
order = true
assumptions = ["smooth"]
scope = {{ algorithms = ["DFedAvg"], network = "symmetric", common_start = true }}
left = {{ measure = "grad_norm_sq", aggregate = "mean" }}
[statement.terms]
optimization = "f0_gap/sqrt(K*T)"
noise = "{noise}"
[statement.schedule]
eta = "1/(L*sqrt(K*T))"
"""
NOISE_ALONE = {"T": 16.0, "K": 2.0, "m": 2.0, "gap": 2.0, "L": 0.5, "sigma": 300.0}


@pytest.mark.slow
@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("formula", "parameter"),
    [
        ("sigma_l^2/(m^2*sqrt(K*T))", "m"),
        ("sigma_l^2/(m*K*sqrt(K*T))", "T*K"),
        ("sigma_l^2/(m*K*T)", "m*T"),
    ],
)
def test_noise_at_the_minimum_outgrows_a_noise_term_that_is_too_small(
    formula, parameter, tmp_path
):
    member = MEMBERS["noisy clients"]
    assert parameter in member.varied
    theorem = with_noise_term(formula, tmp_path)
    found = family_along(theorem, member, NOISE_ALONE, parameter)
    assert found.grows, str(found)
    assert found.exponent > 0.4


@pytest.mark.drawn(2)
@pytest.mark.parametrize("parameter", MEMBERS["noisy clients"].varied)
def test_noise_at_the_minimum_stays_below_the_true_noise_term(parameter, tmp_path):
    member = MEMBERS["noisy clients"]
    true = with_noise_term("sigma_l^2/(m*sqrt(K*T))", tmp_path)
    found = family_along(true, member, NOISE_ALONE, parameter)
    assert not found.grows
    assert max(found.ratios) < 1


def test_noisy_clients_have_the_expectation_of_the_closed_form():
    theorem = dfl.bounds.get("dfedsam.corollary_4_6", "printed")
    measured, values = MEMBERS["noisy clients"].measure(theorem, NOISE_ALONE)
    eta = theorem.step_sizes(L=0.5, K=2, T=16, rho0=0)["eta"]
    problem = NoisyParabola(0.5, 0.0, 300.0, eta, 2, 2)
    least = min(problem.expected(t) for t in range(1, 17))
    assert measured == pytest.approx(least, rel=1e-9)
    assert values["sigma_l"] == 300.0


@pytest.mark.slow
def test_sam_never_moves_the_clients_of_a_trap_and_their_ratio_grows():
    """As T grows, rho = rho0/sqrt(T) and f - f* shrink together (DFedSAM-E13)."""
    theorem = dfl.bounds.get("dfedsam.corollary_4_6", "printed")
    member = MEMBERS["SAM trap"]
    at = {"T": 64.0, "K": 1.0, "gap": 2.0, "L": 2.0, "rho0": 3.0}
    measured, values = member.measure(theorem, at)
    assert measured == pytest.approx((2.0 * 3.0) ** 2 / 64)
    assert values["f0_gap"] == pytest.approx(2.0 * 3.0**2 / 64 / 2)
    assert family_along(theorem, member, at, "T*K").grows


def test_a_sam_trap_needs_a_radius():
    theorem = dfl.bounds.get("dfedadmm.corollary_1", "printed_admm")
    member = MEMBERS["SAM trap"]
    with pytest.raises(InputError):
        member.measure(theorem, member.draw(np.random.default_rng(0)))


# the command line writes and replays a known one in tests/cli/test_falsify.py
@pytest.mark.slow
def test_a_family_is_saved_and_replays_to_the_last_digit(tmp_path):
    found = falsify("dfedsam.corollary_4_6", "printed", seconds=30)
    assert found.growing
    assert found.divergence.member in MEMBERS
    assert list(found.readings) == ["common start"]
    path = found.save(tmp_path / "family.json")
    assert path.stat().st_size < 3000
    assert Divergence(**read_document(path)["divergence"]) == found.divergence
    again = replay(path)
    assert again.growing
    assert again.divergence == found.divergence
    recorded = found.record(tmp_path / "outcome.json", "the command")
    assert replay(recorded).divergence == found.divergence
    assert json.loads(recorded.read_text())["command"] == "the command"


@pytest.mark.parametrize(
    "change", [{"member": "no such kind"}, {"member": "noisy heads", "extra": 1}]
)
def test_replay_rejects_a_damaged_family_in_one_line(tmp_path, change):
    path, family = (
        tmp_path / "family.json",
        dataclasses.asdict(made_up(0.5)) | {"member": "noisy heads"},
    )
    document = {
        "kind": "dfltheory.divergence",
        "format": 2,
        "divergence": family | change,
    }
    path.write_text(json.dumps(document))
    with pytest.raises(DFLTheoryError, match="divergence"):
        replay(path)


def test_each_statement_is_tried_with_the_kinds_that_its_algorithm_allows():
    names = {
        k: {m.name for m in kinds(dfl.bounds.get(k, "printed"))}
        for k in ("dfedmdc.theorem_1", "dfedadmm.corollary_1", "dfedsgpsm.corollary_1")
    }
    assert names["dfedmdc.theorem_1"] == {"noisy heads", "parting clients"}
    plain = {"clipped clients", "opposing clients", "noisy clients", "SAM trap"}
    assert names["dfedadmm.corollary_1"] == plain
    assert names["dfedsgpsm.corollary_1"] == plain | {"long slope"}


@pytest.mark.slow
def test_the_ratio_to_the_rate_of_dfedadmm_grows_with_local_steps_and_rounds():
    # the printed schedule gives sqrt(K/T), and the corollary claims 1/sqrt(T)
    found = falsify("dfedadmm.corollary_1", "printed", seconds=120)
    assert found.growing
    assert found.divergence.parameter in ("K", "T*K")
    assert 0.2 < found.divergence.low <= found.divergence.high
    assert list(found.divergence.ratios) == sorted(found.divergence.ratios)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_rate_that_holds_has_no_growing_family(seed):
    printed = dfl.bounds.get("dfedsgpsm.corollary_1", "printed")
    # one step of momentum is one step: the first term has no factor 1 - alpha where K =
    # 1
    first = printed.parts["optimization"] / (1 - symbols.alpha)
    holds = dataclasses.replace(
        printed, key="made.up", parts={**printed.parts, "optimization": first}
    )
    found = falsify(holds, seconds=40, seed=seed)
    assert not found.growing, str(found)
    assert found.evaluations >= 20
    assert found.seconds < 100


@pytest.mark.slow
def test_momentum_near_1_with_one_step_is_no_longer_a_step_than_without():
    """From a common start, with T like 1/(1 - alpha)^3, every term of the printed rate
    becomes small.
    """
    theorem, member = (
        dfl.bounds.get("dfedsgpsm.corollary_1", "printed"),
        MEMBERS["long slope"],
    )
    base = {"T": 1.0, "K": 1.0, "alpha": 1.5, "gap": 1.2, "L": 1.0, "slope": 100.0}
    at = {**base, "T": 16.0, "alpha": 3.0}
    measured, values = member.measure(theorem, at)
    assert measured == pytest.approx(100.0**2, rel=1e-12)
    # T eta B^2 + B^2/(2 L), eta = 1/(L K sqrt(T))
    assert values["f0_gap"] == pytest.approx(4 * 100.0**2 + 100.0**2 / 2)
    assert member.make(theorem, at)[0].algorithm.alpha == pytest.approx(1 - 1 / 3)
    found = family_along(theorem, member, base, "alpha*T*T*T")
    assert found.grows, str(found)
    assert found.values == tuple(1.5 * 2.0**k for k in range(5))
    assert found.exponent == pytest.approx(1.0, abs=0.1)
    assert member.name not in {
        m.name for m in kinds(dfl.bounds.get("dfedsam.corollary_4_6", "printed"))
    }


@pytest.mark.slow
def test_a_term_that_gives_way_only_at_enormous_horizons_has_not_set_in():
    """The 1/T of a term without a constant competes with a 1/sqrt(T) that is 10^7 times
    smaller.
    """
    base = {
        "T": 16.0,
        "K": 2.0,
        "gap": 2.2,
        "alpha": 4.1,
        "L": 0.0017,
        "distance": 0.47,
        "spread": 0.02,
    }
    theorem = dfl.bounds.get("dfedsgpsm.corollary_1", "printed")
    found = family_along(
        theorem, MEMBERS["clipped clients"], base | {"rho0": 0.46}, "T"
    )
    assert found.low > 0.4
    assert not found.settled
    assert not found.grows


@pytest.mark.slow
def test_growth_in_a_constant_of_the_problem_is_no_divergence():
    theorem, member = (
        dfl.bounds.get("dfedsam.corollary_4_6", "printed"),
        MEMBERS["opposing clients"],
    )
    base = {"T": 4.0, "K": 1.0, "gap": 2.4, "L": 2.0, "h": 0.3, "centre": 0.28}
    assert not family_along(theorem, member, base, "L").grows
    found = family_along(theorem, member, base, "gap*T*T")
    assert found.grows, str(found)
    assert found.values == tuple(2.4 * 2.0**k for k in range(5))


@pytest.mark.slow
@pytest.mark.parametrize(
    "key",
    [
        "dfedsam.theorem_4_5",
        pytest.param("dfedsam.corollary_4_6", marks=pytest.mark.slow),
    ],
)
def test_a_budget_in_candidates_is_the_same_search_on_any_machine(key):
    """For a statement with constants and one in O(.)."""
    found = [dfl.falsify(key, candidates=20, seed=3) for _ in range(2)]
    summaries = [(one.ratio, one.evaluations, one.growing) for one in found]
    assert summaries[0] == summaries[1]
    assert 20 < found[0].evaluations < 120  # populations and families are kept together


def test_falsify_rejects_an_empty_budget():
    with pytest.raises(InputError, match="candidates = 0"):
        dfl.falsify("dfedsam.theorem_4_5", candidates=0)


@pytest.mark.parametrize("key", ["lian2017.rate", "koloskova2020.rate"])
def test_order_without_step_sizes_is_rejected_and_not_reported_as_searched(key):
    with pytest.raises(InputError, match=key):
        dfl.falsify(dfl.bounds.get(key, "restated"), seconds=1)


SMALL_STEP = """
format = 1
[source]
citation = "the descent lemma"
[[statement]]
key = "descent.small_step"
kind = "corollary"
order = true
title = "gradient descent with a small step"
source = "the descent lemma"
scope.algorithms = ["DPSGD"]
scope.hyperparameters = { order = "adapt-then-combine" }
scope.network = "symmetric"
scope.common_start = true
scope.noise = "none"
left.measure = "grad_norm_sq"
left.aggregate = "mean"
terms.optimization = "L * f0_gap / sqrt(T)"
terms.drift = "sigma_g^2 / sqrt(T) / (1 - lam)^2"
conditions.network = "25 * sqrt(T) * (1 - lam) >= 1"
schedule.eta = "1/(100*L*sqrt(T))"
"""


def test_a_true_statement_whose_ratio_still_grows_is_not_refuted(tmp_path):
    # by the descent lemma the mean is at most 2 f0_gap/(eta T) = 200 L f0_gap/sqrt(T)
    # for one client; the disagreement of several is of the order of eta^2. At T = 512
    # the models have hardly moved yet, and the ratio grows like sqrt(T).
    file = tmp_path / "small_step.toml"
    file.write_text(SMALL_STEP)
    found = falsify(dfl.bounds.load(str(file)), candidates=4)
    assert found.growing
    assert not found.violated
    assert "refutes nothing" in str(found)
    assert not found.to_dict()["violated"]
