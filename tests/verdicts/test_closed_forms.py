"""The closed forms agree with exact runs in rational numbers; statements that they
refute.
"""

from fractions import Fraction

import numpy as np
import pytest

from dfltheory.counterexamples import closed_forms
from dfltheory.counterexamples.closed_forms import (
    SPREAD,
    STEEPEST,
    gradients_in_turn,
    matrices_in_turn,
    noise_for_ever,
    parabola_gradients,
    strongest,
    two_parabolas,
)
from validation.counterexamples.planted import examined, planted

CURVATURE = Fraction(1, 4)


def clipped(x):
    return min(max(x, Fraction(-2)), Fraction(2))


def gradients(x_1, x_2):
    """Return f_1' and f_2' of the two parabolas, constant beyond distance 2 from their
    centers.
    """
    return clipped(x_1 - 1), CURVATURE * clipped(x_2 + 1)


def mean_gradient(x):
    return sum(gradients(x, x)) / 2


def squared_gradients(start, K, eta, lams, T):
    """Return f'(xbar^t)^2 of the first T rounds, exactly; matrices with ``lams`` are
    used in turn.
    """
    x, squares = [start, start], []
    for t in range(T):
        squares.append(mean_gradient((x[0] + x[1]) / 2) ** 2)
        for _ in range(K):
            slopes = gradients(*x)
            x = [x[0] - eta * slopes[0], x[1] - eta * slopes[1]]
        mean, half = (x[0] + x[1]) / 2, lams[t % len(lams)] * (x[0] - x[1]) / 2
        x = [mean + half, mean - half]
    return squares


def start_of(gradient):
    """Return the point between the centers at which f' of the mean has this value."""
    total = 1 + CURVATURE
    return (2 * Fraction(float(gradient)) + 1 - CURVATURE) / total


@pytest.mark.parametrize("lam", [0, Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize(
    ("K", "eta"), [(1, Fraction(1, 8)), (3, Fraction(1, 16)), (5, Fraction(1, 8))]
)
@pytest.mark.parametrize("T", [1, 2, 25])
def test_left_side_of_two_parabolas_is_that_of_an_exact_run(K, eta, lam, T):
    k = np.array([float(CURVATURE)])
    gradient, left = parabola_gradients(k, K, float(eta), float(lam), T)
    squares = squared_gradients(start_of(gradient[0]), K, eta, [lam], T)
    assert left[0] == pytest.approx(float(sum(squares) / T), rel=1e-9, abs=1e-28)
    if lam == 0:  # the start is stationary
        assert float(squares[-1]) == pytest.approx(
            float(squares[0]), rel=1e-9, abs=1e-28
        )


@pytest.mark.parametrize(("K", "eta"), [(1, Fraction(1, 8)), (3, Fraction(1, 16))])
def test_left_side_of_matrices_in_turn_is_that_of_an_exact_run(K, eta):
    even, odd = (
        value[0]
        for value in gradients_in_turn(np.array([float(CURVATURE)]), K, float(eta))
    )
    squares = squared_gradients(start_of(even), K, eta, [1, 0], 6)
    np.testing.assert_allclose(
        [float(x) for x in squares], [even**2, odd**2] * 3, rtol=1e-9
    )
    assert even**2 > 1e-6


def test_matrices_in_turn_violate_the_bound_at_a_finite_horizon():
    """For W = I and 11'/2 in turn and K = 1, the bound with rounds in place of windows
    tends to 0 with T.
    """
    (theorem,) = (
        t
        for t in examined()
        if (t.key, t.variant) == ("dfedsgpsm.theorem_1", "corrected_windows")
    )
    (false,) = (version for _, version in planted(theorem))
    T, eta = 10**6, Fraction(1, 8)
    even, _ = gradients_in_turn(np.array([float(CURVATURE)]), 1, float(eta))
    left = sum(squared_gradients(start_of(even[0]), 1, eta, [1, 0], 2)) / 2
    values = dict.fromkeys(theorem.needs, 0.0) | {
        "m": 2,
        "K": 1,
        "T": T,
        "eta": float(eta),
        "L": 1.0,
    }
    values |= {
        "B": STEEPEST,
        "delta": 1.0,
        "window": 2,
        "f0_gap": float(even[0] ** 2 / (1 + CURVATURE)),
    }
    assert float(left) > false.evaluate(**{name: values[name] for name in false.needs})
    assert float(left) < theorem.evaluate(
        **{name: values[name] for name in theorem.needs}
    )


def test_constants_of_two_parabolas_hold_with_and_without_a_valley():
    """The valley is a slope of -2 that begins at x = 3 for both clients and ends after
    ``length``.
    """
    x = np.linspace(-20, 120, 140_001)
    length = 100.0
    valley = -np.clip(x - 3, 0, 2) + np.clip(x - 3 - length, 0, 2)
    slopes = [np.clip(x - 1, -2, 2) + valley, 0.25 * np.clip(x + 1, -2, 2) + valley]
    assert max(np.abs(slope).max() for slope in slopes) <= STEEPEST + 1e-9
    assert np.abs(slopes[0] - slopes[1]).max() / 2 <= SPREAD + 1e-9
    assert max(np.abs(np.diff(slope)).max() for slope in slopes) <= (1 + 1e-6) * (
        x[1] - x[0]
    )
    mean = (slopes[0] + slopes[1]) / 2
    values = np.concatenate(
        [[0], np.cumsum((mean[1:] + mean[:-1]) / 2 * (x[1] - x[0]))]
    )
    start = np.searchsorted(x, 0.6)
    assert values[start] - values.min() > 60  # and more with a longer slope
    assert np.argmin(values) > np.searchsorted(x, 100)


def test_noise_of_a_personal_part_is_not_averaged():
    """Compares E f'(v)^2 after n steps v <- v - eta (v + xi) from the minimum with the
    bound that lacks it.
    """
    key, name = (
        "dfedmdc.theorem_1",
        "one more power of sigma_v in the term noise of the personal part",
    )
    theorem = next(t for t in examined() if t.key == key)
    false = dict(planted(theorem))[name]
    eta, sigma, T = Fraction(1, 1000), 1, 300
    moment, total = Fraction(0), 0.0
    for _ in range(T):
        total += float(moment)
        moment = Fraction(float((1 - eta) ** 2 * moment + eta**2 * sigma**2))
    q = (1 - float(eta)) ** (2 * np.arange(T))
    assert total == pytest.approx(
        float(((1 - q) * float(eta) / (2 - float(eta))).sum()), rel=1e-9
    )
    assert noise_for_ever(false) > 100
    assert noise_for_ever(theorem) <= 1


REFUTED = (
    (
        "dfedmdc.rate_theorem_1",
        "corrected",
        "one more power of 1/T in the term drift",
        "two parabolas",
    ),
    (
        "dfedsam.theorem_4_5",
        "corrected",
        "one more power of Z in the term drift",
        "two parabolas",
    ),
    (
        "dfedsam.corollary_4_6",
        "corrected",
        "one more power of Z in the term consensus",
        "two parabolas",
    ),
    (
        "dfedsgpsm.corollary_1",
        "corrected",
        "one more power of G in the term consensus",
        "two parabolas",
    ),
    (
        "dfedsgpsm.theorem_1",
        "corrected_windows",
        "with rounds in place of windows",
        "W = I and 11'/2 in turn",
    ),
)


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("key", "variant", "version", "family"), REFUTED)
def test_closed_forms_refute_versions_that_no_search_has_refuted(
    key, variant, version, family
):
    (theorem,) = (t for t in examined() if (t.key, t.variant) == (key, variant))
    false = dict(planted(theorem))[version]
    ratio = closed_forms.CLOSED_FORMS[family]
    assert ratio(false) > 1.5
    assert ratio(theorem) <= 1


@pytest.mark.parametrize("family", [two_parabolas, matrices_in_turn])
def test_closed_forms_do_not_apply_to_steps_with_a_penalty(family):
    theorem = next(t for t in examined() if t.key == "dfedadmm.theorem_1")
    assert family(theorem) == 0


@pytest.mark.slow
def test_closed_forms_refute_no_corrected_statement():
    for theorem in examined():
        name, ratio = strongest(theorem)
        assert ratio <= 1, (theorem, name)
