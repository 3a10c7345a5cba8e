"""No false alarms: in corner cases of every theorem, the corrected variants hold
without warnings.

The corner cases are m = 1, T = 1, K = 1, lam = 0, many gossip steps, no SAM, no noise,
no momentum, and all at once. There, formulas may divide by zero, spectra are empty, and
intervals have no width. Warnings are errors in this test suite.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.errors import ConditionError, InputError
from dfltheory.experiments.cases import case_of, perform
from dfltheory.experiments.report import Study
from dfltheory.verdicts.compare import compare
from tests.drawing import drawing
from tests.experiments.test_every_theorem import CLOSED, problem, run_of

# corner cases of networks
CLOSED = [t for t in CLOSED if t.scope.network != "none"]
CORNERS = {
    "inside": {},
    "m=1": {"m": 1},
    "T=1": {"T": 1},
    "K=1": {"K": 1},
    "lam=0": {"network": "complete"},
    "Q=50": {"Q": 50},
    "rho=0": {"rho0": 0.0},
    "sigma=0": {"sigma": 0.0},
    "alpha=0": {"alpha": 0.0},
    "all": {
        "m": 1,
        "T": 1,
        "K": 1,
        "network": "complete",
        "rho0": 0.0,
        "sigma": 0.0,
        "alpha": 0.0,
    },
}
OWN = {"Q=50": "Q", "alpha=0": "alpha"}  # for the theorems with this hyperparameter


def cases():
    for thm in CLOSED:
        for corner, change in CORNERS.items():
            if OWN.get(corner, thm.needs[0]) in thm.needs:
                further = thm.variant.startswith("corrected_") and corner not in (
                    "inside",
                    "all",
                )
                # their terms are a subset of those of the main variant
                marks = [pytest.mark.slow] * further
                yield pytest.param(
                    thm, change, id=f"{thm.key}-{thm.variant}-{corner}", marks=marks
                )


def judged(thm, seeds=1, **change):
    """Return the verdict on one run in the corner case, at the corollary's schedule or
    the theorem's largest step size.
    """
    run = run_of(thm, seeds, long=140, **change)
    return compare(run, thm, **({"S2": 4.0} if "S2" in thm.needs else {}))


def check(thm, verdict):
    assert verdict.kind in (
        "holds",
        "vacuous",
        "undecided",
        "violated",
        "not applicable",
    )
    if (
        verdict.kind == "not applicable"
    ):  # the reason is a violated condition, not a missing constant
        failing = [name for name, slack in verdict.slack.items() if slack < 0]
        assert failing, verdict.reason
        assert all(name in verdict.reason for name in failing)
        return
    assert np.isfinite([verdict.bound, verdict.ratio, *verdict.terms.values()]).all()
    assert verdict.trivial > 0  # inf: without a theorem, nothing is known about it
    assert verdict.bound > 0
    if thm.variant.startswith("corrected"):
        assert verdict.kind != "violated", str(verdict)
        # even the single random run is below
        assert verdict.ratio <= 1, str(verdict)


@pytest.mark.drawn(6)
@pytest.mark.parametrize(("thm", "change"), list(cases()))
def test_at_its_corners_a_corrected_theorem_holds_and_nothing_complains(thm, change):
    if (thm.variant, change.get("Q")) == ("appendix_q1", 50):
        with pytest.raises(ConditionError):
            judged(thm, **change)
        return
    verdict = judged(thm, **change)
    check(thm, verdict)
    if change.get("sigma") == 0.0 and verdict.kind != "not applicable":
        # the run is deterministic: one seed decides
        assert verdict.kind in ("holds", "vacuous") or not thm.variant.startswith(
            "corrected"
        )
        assert (
            verdict.measured.low == verdict.measured.estimate == verdict.measured.high
        )


@pytest.mark.parametrize("examples", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_corners_meet(examples):
    @settings(max_examples=examples, deadline=None)
    @given(
        st.sampled_from([t for t in CLOSED if t.variant.startswith("corrected")]),
        st.lists(st.sampled_from(sorted(CORNERS)), min_size=2, max_size=5),
        st.integers(1, 3),
    )
    def meet(thm, chosen, seeds):
        change = {}
        for name in chosen:
            change |= CORNERS[name]
        check(thm, judged(thm, seeds, **change))

    meet()


@pytest.mark.slow
def test_most_corners_are_judged_and_not_set_aside():
    """Otherwise the test above would pass if all verdicts were "not applicable"."""
    corrected = [t for t in CLOSED if t.variant.startswith("corrected")]
    aside = {
        (f"{t.key} {t.variant}", corner)
        for t in corrected
        for corner in ("inside", "m=1")
        if judged(t, **CORNERS[corner]).kind == "not applicable"
    }
    patient = {
        (f"dfedmdc.rate_theorem_{n} corrected", c)
        for n in (1, 2)
        for c in ("inside", "m=1")
    }
    # one requires m >= 2, the others require T >= 1024/(1 - lam)^2
    assert aside == {("dfedsgpsm.theorem_1 corrected_any_step", "m=1"), *patient}


@pytest.mark.slow
@pytest.mark.parametrize("corner", ["m=1", "all"])
def test_the_report_of_a_corner_is_written_without_complaint(
    corner, tmp_path, monkeypatch
):
    """Its figures are drawn in one format."""
    monkeypatch.setattr("dfltheory.plots.look.write_figure", drawing(".svg"))
    thm, change = bounds.get("dfedsam.theorem_4_5"), {"T": 12, **CORNERS[corner]}
    there = {n: v for n, v in change.items() if n not in ("T", "rho0")}
    task, W, hyperparameters = problem(thm, **there)
    outcome = perform(
        case_of(
            thm.key,
            task,
            W,
            change["T"],
            K=hyperparameters["K"],
            step="largest",
            seeds=1,
        )
    )
    page = Study(title="corner", outcomes=[outcome]).save(tmp_path)
    assert "corner" in page.read_text(encoding="utf-8")


def test_what_is_outside_every_corner_gets_one_line():
    with pytest.raises(InputError, match=r"^m = 0 "):
        dfl.tasks.quadratic(m=0, d=3)
    with pytest.raises(InputError, match="a single client has no heterogeneity"):
        dfl.tasks.quadratic(m=1, d=3, zeta=0.1)
