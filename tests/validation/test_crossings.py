"""Measured curves exceed the printed bounds, but not the corrected ones."""

import dataclasses

import numpy as np
import pytest
import torch

from dfltheory.experiments.cases import perform, perform_all
from dfltheory.plots import bound_over, families
from validation import crossings as experiment


@pytest.fixture(scope="module")
def outcomes():
    """Perform the runs, with fewer rounds where these suffice."""
    sam, admm, momentum = experiment.cases()
    return perform_all([sam, admm.with_run(rounds=1500), momentum])


@pytest.fixture(scope="module")
def family():
    return experiment.growing((256, 1024, 4096))


@pytest.mark.slow
def test_every_printed_theorem_with_constants_is_crossed_and_no_corrected_one(outcomes):
    for outcome in outcomes:
        mine = families(outcome.verdicts)
        printed, corrected = mine["printed"][0], mine["corrected"]
        assert printed.kind == "violated"
        assert printed.ratio > 1.5
        assert {v.kind for v in corrected} <= {"holds", "vacuous", "not applicable"}
        assert corrected[0].kind == "holds"
        assert corrected[0].ratio > 0.1  # the corrected bound is not merely large
        early = bound_over(printed, np.array([2.0, printed.rounds]))
        assert early[0] > printed.measured.estimate > early[1], (
            "the curve crosses the bound"
        )


@pytest.mark.slow
def test_the_o_of_dfedsmdc_grows_and_the_corrected_bound_is_never_reached(family):
    printed, corrected = family
    assert np.all(
        np.diff(np.log(printed.ratios)) / np.diff(np.log(printed.horizons)) > 0.9
    )
    assert corrected.horizons == (4096.0,)  # for smaller T, its conditions fail
    assert max(corrected.ratios) < 1


@pytest.mark.slow
def test_the_trap_holds_sam_and_not_plain_descent():
    case = experiment.cases()[0].with_run(rounds=600)
    outcome = perform(case)
    kinds = {v.variant: v.kind for v in outcome.verdicts}
    assert kinds["printed"] == kinds["appendix"] == "violated"
    assert kinds["corrected"] == "holds"
    np.testing.assert_array_equal(outcome.run.grad_norm_sq, 1.0)
    free = case.with_run(
        algorithm=dataclasses.replace(case.instance.algorithm, rho=0.0)
    )
    assert perform(free).run.grad_norm_sq[0, -1] < 1e-3
    assert {v.kind for v in perform(free).verdicts} == {"holds"}


def test_the_traps_constants():
    task = experiment.sam_trap(3, L=2.0, rho=0.5, B=1.7)
    x = torch.linspace(-2, 3, 5001, dtype=torch.float64)
    each = x[:, None, None].expand(-1, 3, 1)
    slope, value = task.client_gradient(each)[:, 1, 0], task.client_loss(each)[:, 1]
    numeric = (value[2:] - value[:-2]) / (x[2:] - x[:-2])
    assert torch.allclose(numeric, slope[1:-1], atol=2e-3)
    assert float((slope.diff() / x.diff()).abs().max()) == pytest.approx(
        task.constants.L
    )
    assert float(value.min()) == pytest.approx(task.constants.f_star)
    assert float(slope.max()) == pytest.approx(task.constants.B)
    assert float(value[x.abs().argmin()] - value.min()) == pytest.approx(
        2.0 * 0.5**2 / 2
    )


@pytest.mark.slow
def test_the_cover_says_what_its_verdicts_say(outcomes, family):
    import matplotlib.pyplot as plt

    from validation import run_all

    draw, caption = run_all._cover(outcomes, family)
    assert "corrected" in caption
    assert run_all._cover([], family) is None
    figure = draw()
    panels = figure.axes
    assert len(panels) == 2 * (len(outcomes) + 1)
    for row, meaning in enumerate(("printed", "corrected")):
        for ax, outcome in zip(panels[4 * row : 4 * row + 3], outcomes, strict=True):
            verdict = families(outcome.verdicts)[meaning][0]
            (annotation,) = [text.get_text().replace("\n", " ") for text in ax.texts]
            assert (
                annotation
                == f"{verdict.kind}: measured is {verdict.ratio:.2g} times the bound"
            )
            lines = {line.get_label(): line for line in ax.get_lines()}
            label = f"bound, {verdict.variant}" + (
                " (refuted)" if verdict.status.refuted else ""
            )
            assert lines[label].get_ydata()[-1] == pytest.approx(verdict.bound)
        line = panels[4 * row + 3].get_lines()[0]
        np.testing.assert_allclose(line.get_ydata(), family[row].ratios)
    plt.close(figure)
