"""Largest step size, best step size, dominance, grids and rates."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.monomials import monomials
from dfltheory.bounds.rates import covered, leading
from dfltheory.bounds.tables import axis, rounded_axis
from dfltheory.errors import ConditionError, InputError

VALUES = {
    "L": 2,
    "K": 5,
    "T": 1000,
    "Q": 1,
    "m": 16,
    "rho": 0.01,
    "lam": 0.8,
    "sigma_l": 1,
    "sigma_g": 1,
    "f0_gap": 1,
}
KEY = "dfedsam.theorem_4_5"


def test_largest_step():
    assert bounds.get(KEY).largest_step(**VALUES) == pytest.approx(
        1 / (10 * 5 * 2), rel=1e-12
    )
    corrected = bounds.get(KEY, "corrected")
    assert corrected.largest_step(**VALUES) == pytest.approx(
        0.2 / (8 * 5 * 2 * 0.8), rel=1e-12
    )
    assert corrected.largest_step(**{**VALUES, "lam": 0}) == pytest.approx(
        1 / 80, rel=1e-12
    )
    assert np.isfinite(
        corrected.evaluate(**VALUES, eta=corrected.largest_step(**VALUES))
    )
    with pytest.raises(InputError, match="eta_u"):
        corrected.largest_step("eta_u", **VALUES)


def test_an_interval_with_a_lower_end():
    theorem = bounds.get("dfedadmm.theorem_1")
    values = {
        "L": 1,
        "K": 10,
        "T": 100,
        "m": 4,
        "rho": 0,
        "lam": 0.5,
        "sigma_l": 1,
        "sigma_g": 1,
        "B": 1,
        "f0_gap": 1,
        "lam_admm": 1e-3,
    }
    interval = bounds.admissible_steps(theorem, "eta", **values)
    assert interval.low == pytest.approx(1e-4, rel=1e-12)
    assert interval.high == pytest.approx(1 / 960, rel=1e-12)
    with pytest.raises(ConditionError, match=r"\beta\b"):
        bounds.admissible_steps(theorem, "eta", **{**values, "lam_admm": 1})


def test_steps_that_an_equality_ties_together_move_together():
    theorem = bounds.get("dfedmdc.theorem_1", "corrected")
    values = {
        "T": 1000,
        "m": 16,
        "lam": 0.8,
        "K_u": 5,
        "K_v": 3,
        "L_u": 1,
        "L_v": 2,
        "chi": 0.5,
        "sigma_u": 1,
        "sigma_v": 1,
        "delta_u": 1,
        "f0_gap": 1,
        "x0_spread": 1,
    }
    largest = theorem.largest_step("eta_u", **values)
    assert largest == pytest.approx(0.2 / 32 / 5, rel=1e-12)  # a <= (1 - lam)/32
    assert theorem.largest_step("eta_v", **values) == pytest.approx(
        largest * 5 * 1 / (3 * 2), rel=1e-12
    )
    step, least = theorem.best_step("eta_u", **values)
    assert theorem.evaluate(**values, eta_u=step, eta_v=step * 5 / 6) == pytest.approx(
        least
    )
    grid = np.geomspace(1e-6, largest, 2001)
    assert least <= np.min(
        theorem.evaluate(**values, eta_u=grid, eta_v=grid * 5 / 6)
    ) * (1 + 1e-9)
    with pytest.raises(InputError, match="K_v"):
        theorem.largest_step("eta_u", **{n: v for n, v in values.items() if n != "K_v"})


def test_best_step_is_where_a_fine_grid_puts_it():
    theorem = bounds.get(KEY, "corrected")
    step, least = theorem.best_step(**VALUES)
    grid = np.geomspace(1e-6, theorem.largest_step(**VALUES), 20001)
    bound = theorem.evaluate(where="nan", **VALUES, eta=grid)
    assert least == theorem.evaluate(**VALUES, eta=step)
    assert least <= np.nanmin(bound) * (1 + 1e-9)
    assert step == pytest.approx(grid[np.nanargmin(bound)], rel=1e-2)


def test_best_step_at_the_end_of_the_interval():
    theorem = bounds.get(KEY, "corrected")
    quiet = {**VALUES, "sigma_l": 0, "sigma_g": 0, "rho": 0}
    assert theorem.best_step(**quiet)[0] == pytest.approx(theorem.largest_step(**quiet))


def test_dominance():
    theorem = bounds.get(KEY)
    regimes = bounds.dominance(
        theorem, "T", np.geomspace(1, 1e6, 300), **{**VALUES, "eta": 0.002}
    )
    assert regimes[0].term == "optimization"
    assert len({r.term for r in regimes}) == len(regimes) == 2
    for regime in regimes:
        for T, share in (
            (regime.low, regime.share_low),
            (regime.high, regime.share_high),
        ):
            terms = theorem.evaluate_terms(**{**VALUES, "eta": 0.002, "T": T})
            assert max(terms, key=terms.get) == regime.term
            assert terms[regime.term] / sum(terms.values()) == pytest.approx(share)


def test_axes_of_a_grid():
    name, values = axis("T=1:1000:4")
    assert name == "T"
    assert values == pytest.approx([1, 10, 100, 1000])
    theorem = bounds.get(KEY)
    assert rounded_axis(theorem, "T", np.array([1.2, 1.4, 2.6])).tolist() == [1, 3]
    assert rounded_axis(theorem, "eta", np.array([1.2, 1.4])).tolist() == [1.2, 1.4]
    assert axis("lam=0,0.5")[1].tolist() == [0, 0.5]
    assert axis("eta=0.1:0.4:3")[1] == pytest.approx([0.1, 0.2, 0.4])
    for bad in ("T", "T=a", "T=1:2", "T=0:10:x"):
        with pytest.raises(InputError, match="LOW:HIGH:COUNT"):
            axis(bad)


def exponents(theorem, order=3):
    return {str(mono) for mono in leading(theorem, order)}


def test_rate_of_the_corrected_theorem():
    rate = exponents(bounds.get(KEY, "corrected"), 2)
    assert "L f0_gap / (K^(1/2) T^(1/2))" in rate
    assert "sigma_l^2 / (K^(1/2) T^(1/2) m)" in rate
    assert "K sigma_g^2 / (T)" in rate
    assert any("lam**Q" in mono and mono.startswith("K ") for mono in rate)


def test_rate_of_dfedadmm_as_printed_has_the_square_root_of_K_above():
    rate = exponents(bounds.get("dfedadmm.theorem_1"))
    assert "K^(1/2) L f0_gap / (T^(1/2))" in rate
    assert "B^2 / ((1 - lam)^2 T)" in rate


@pytest.mark.parametrize(
    ("key", "variant"),
    [
        pytest.param(KEY, "printed", marks=pytest.mark.slow),
        pytest.param(KEY, "corrected", marks=pytest.mark.slow),
        ("dfedsgpsm.theorem_1", "printed"),
    ],
)
def test_rates_agree_with_numbers(key, variant):
    """Along the schedule, the bound decreases with the exponent of T of its leading
    monomials.
    """
    theorem = bounds.get(key, variant)
    values = {
        "L": 1.3,
        "K": 4,
        "Q": 2,
        "m": 8,
        "rho0": 0.7,
        "lam": 0.6,
        "sigma_l": 0.8,
        "sigma_g": 1.1,
        "q": 0.5,
        "f0_gap": 0.9,
        "alpha": 0.3,
        "B": 1.0,
        "delta": 0.5,
        "C": 2.0,
        "x0_sq": 1.0,
    }

    def at(T, theorem=theorem, values=values):
        steps = {
            n: float(e.subs({x: {**values, "T": T}[x.name] for x in e.free_symbols}))
            for n, e in theorem.schedule.items()
        }
        return theorem.evaluate(where="ignore", **{**values, **steps, "T": T})

    slope = np.log(at(1e13) / at(1e12)) / np.log(10)
    slowest = max(mono["T"] for mono in theorem.rate())
    assert slope == pytest.approx(float(slowest), abs=1e-3)


def test_covering_is_domination():
    def monos(expr):
        return list(monomials(expr))

    T, K, lam = s.T, s.K, s.lam
    assert covered(monos(1 / T)[0], monos(1 / T**0.5))
    assert not covered(monos(K / T)[0], monos(1 / T))
    assert (
        covered(monos(K / T)[0], monos(1 / T), [{"T": Fraction(1), "K": Fraction(-2)}])
        is False
    )
    assert covered(
        monos(K / T)[0],
        monos(1 / T ** (1 / 2)),
        [{"T": Fraction(1), "K": Fraction(-2)}],
    )
    assert covered(monos(1 / T)[0], monos(1 / (T * (1 - lam) ** 2)))
    assert not covered(monos(1 / (T * (1 - lam) ** 2))[0], monos(1 / (T * (1 - lam))))
    assert covered(
        monos(s.sigma_l * s.sigma_g)[0], monos(s.sigma_l**2 + s.sigma_g**2)
    )  # arithmetic-geometric mean
    assert not covered(monos(s.sigma_l)[0], monos(s.sigma_l**2))
    assert covered(monos(s.sigma_g**2)[0], monos(s.beta**2))  # sigma_g <= beta
    assert not covered(monos(s.beta**2)[0], monos(s.sigma_g**2))
    assert covered(monos(s.L_vu**2)[0], monos(s.chi**2 * s.L_u * s.L_v))


@pytest.mark.parametrize(("c", "s"), [(1e12, 1e-12), (1e-20, 1e10), (1e30, 1.0)])
def test_steps_are_found_in_all_units(c, s):
    """Under f -> c f and x -> s x, a quantity of unit c^a s^b is multiplied by c^a s^b,
    and so is its step size.
    """

    def by(name):
        unit = bounds.GLOSSARY[name].unit
        return c ** float(unit.f) * s ** float(unit.x)

    corrected = bounds.get(KEY, "corrected")
    other = {
        name: value * by(name) if by(name) != 1 else value
        for name, value in VALUES.items()
    }
    assert corrected.largest_step(**other) == pytest.approx(
        corrected.largest_step(**VALUES) * by("eta"), rel=1e-9
    )
    step, least = corrected.best_step(**VALUES)
    found = corrected.best_step(**other)
    assert found == pytest.approx((step * by("eta"), least * c**2 / s**2), rel=1e-6)
