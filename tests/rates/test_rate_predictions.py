"""Predicted exponents: the registry's monomials agree with numerical derivatives of the
bounds.
"""

from fractions import Fraction

import numpy as np
import pytest

from dfltheory import bounds
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.rates import predict
from dfltheory.rates.predicted import (
    QUANTITIES,
    order,
    predicted_transient,
    rate_of,
    size,
)

HALF = Fraction(1, 2)
QUICK = (
    "dfedsam.corollary_4_6",
    "dfedadmm.corollary_1",
    "dfedsgpsm.corollary_1",
    "dfedmdc.theorem_1",
)
THEOREMS = [
    (key, variant)
    for key in bounds.keys(all=True)
    for variant in bounds.variants(key)
    if bounds.get(key, variant).schedule
]
TYPICAL = {
    "L": 1.0,
    "K": 4,
    "m": 6,
    "Q": 1,
    "lam": 0.5,
    "rho0": 1.0,
    "rho": 1.0,
    "alpha": 0.5,
    "sigma_l": 1.0,
}
TYPICAL |= {
    "sigma_g": 1.0,
    "beta": 1.0,
    "B": 1.0,
    "S2": 1.0,
    "x0_sq": 1.0,
    "x0_spread": 1.0,
    "f0_gap": 1.0,
}
TYPICAL |= {
    "delta": 0.5,
    "C": 1.0,
    "q": 0.5,
    "K_u": 4,
    "K_v": 4,
    "L_u": 1.0,
    "L_v": 1.0,
    "L_uv": 1.0,
}
TYPICAL |= {
    "L_vu": 1.0,
    "chi": 1.0,
    "sigma_u": 1.0,
    "sigma_v": 1.0,
    "delta_u": 1.0,
    "theta": 0.5,
    "mu": 1.0,
}
TYPICAL = {n: 0.5 if q.high == 1 else 1.0 for n, q in bounds.GLOSSARY.items()} | TYPICAL
SOURCES = (
    "f0_gap",
    "sigma_l",
    "sigma_g",
    "beta",
    "B",
    "S2",
    "rho0",
    "sigma_u",
    "sigma_v",
    "delta_u",
    "x_star_sq",
    "sigma_star",
)
ALONE = dict.fromkeys(SOURCES, 0.0) | {"x0_sq": 0.0, "x0_spread": 0.0, "rho": 0.0}
"""No source of error."""
NOTHING = "nothing"
LIMITS = {
    "K": (1000, 10_000),
    "m": (1000, 10_000),
    "sigma_l": (1000, 10_000),
    "sigma_g": (1000, 10_000),
}
LIMITS |= {"1 - lam": (1e-3, 1e-4)}
"""Two values of a parameter near its limit."""


def quantities_of(key, variant):
    """Return the quantities on which a bound under its schedule depends."""
    theorem = bounds.get(key, variant)
    steps = [e for name, e in theorem.schedule.items() if name in theorem.needs]
    return {s.name for e in (theorem.bound, *steps) for s in e.free_symbols}


def name_of(parameter):
    return "lam" if parameter == "1 - lam" else parameter


def marked(cases):
    """Mark all cases as slow except the first ones of the theorems in QUICK."""
    return [
        pytest.param(
            *case,
            marks=(
                () if case[0] in QUICK and case[1] == "corrected" else pytest.mark.slow
            ),
        )
        for case in cases
    ]


SOURCED = [(k, v, s) for k, v in THEOREMS for s in SOURCES if s in quantities_of(k, v)]
LONE = [*SOURCED, *((k, v, NOTHING) for k, v in THEOREMS)]
LIMITED = [
    (k, v, p)
    for k, v in THEOREMS
    for p in LIMITS
    if name_of(p) in bounds.get(k, v).needs
]


def corollary(variant="corrected"):
    return bounds.get("dfedsam.corollary_4_6", variant)


def at(theorem: Theorem, T: float, values):
    """Evaluate the bound with its own step sizes at these values."""
    given = {**TYPICAL, **values, "T": T}
    if set(theorem.schedule) & set(theorem.needs):
        given |= theorem.step_sizes(**given)
    return float(
        theorem.evaluate(where="ignore", **{n: given[n] for n in theorem.needs})
    )


def test_what_is_left_out_below_is_not_there_to_be_tested():
    """Checks that the tests below omit only pairs that do not occur, and that their
    number does not decrease.

    A pair of a rate and a source is tested if the rate has the source, and each rate
    without any source; pairs with a parameter, if the bound has it.
    """
    assert len(THEOREMS) >= 58
    assert len(SOURCED) >= 204
    assert len(LIMITED) >= 180
    assert set(QUICK) == {
        key for key, variant, _ in LIMITED if key in QUICK and variant == "corrected"
    }


@pytest.mark.drawn(1)
@pytest.mark.parametrize(("key", "variant"), marked(THEOREMS))
def test_a_rate_moves_with_the_sources_that_it_is_said_to_have_and_with_no_other(
    key, variant
):
    theorem, point = bounds.get(key, variant), {**TYPICAL, "T": 1e16}
    here = [size(theorem, row, point) for row in rate_of(theorem)]
    for source in SOURCES:
        more = {**point, source: 2 * point[source]}
        moves = [size(theorem, row, more) for row in rate_of(theorem)] != here
        assert moves == ((key, variant, source) in SOURCED), source


@pytest.mark.drawn(3)
@pytest.mark.parametrize(("key", "variant", "source"), marked(LONE))
def test_the_exponent_in_t_is_that_of_the_bound_itself_far_out(key, variant, source):
    """One source of error at a time, with all others zero, and none.

    Without a source most bounds are 0, as with a source that only multiplies others.
    """
    theorem, values = bounds.get(key, variant), {**TYPICAL, **ALONE}
    if source != NOTHING:
        values[source] = 1.0
    near, far = (at(theorem, T, values) for T in (1e16, 1e18))
    if near == 0:
        with pytest.raises(InputError):
            predict(theorem, "T", [{**values, "T": 1e16}])
        return
    found = predict(theorem, "T", [{**values, "T": 1e16}])
    assert float(found.exponent) == pytest.approx(
        np.log(far / near) / np.log(100), abs=2e-3
    )


@pytest.mark.parametrize(("key", "variant", "parameter"), marked(LIMITED))
def test_where_one_power_rules_its_exponent_is_the_bounds_own(key, variant, parameter):
    """At T = 10^26, with one source at a time and the parameter near its limit.

    In each case, at least one source leaves only one power of the parameter.
    """
    theorem, checked, (one, two) = bounds.get(key, variant), 0, LIMITS[parameter]
    for source in SOURCES:
        values = {**TYPICAL, **ALONE, source: 1.0, "T": 1e26}
        near, far = (
            {**values, name_of(parameter): 1 - v if parameter == "1 - lam" else v}
            for v in (one, two)
        )
        if min(share_of_one_power(theorem, parameter, v) for v in (near, far)) < 0.999:
            continue
        slope = np.log(at(theorem, 1e26, far) / at(theorem, 1e26, near)) / np.log(
            two / one
        )
        assert float(
            predict(theorem, parameter, [near, far]).exponent
        ) == pytest.approx(slope, abs=0.03)
        checked += 1
    assert checked


def share_of_one_power(theorem, parameter, values):
    """Return the largest share of the rate in monomials with equal exponents of the
    parameter.
    """
    shares = {}
    for row in rate_of(theorem):
        power = order(theorem, row, parameter)
        shares[power] = shares.get(power, 0.0) + size(theorem, row, values)
    total = sum(shares.values())
    return max(shares.values()) / total if total else 0.0


@pytest.mark.parametrize(("key", "variant"), marked(THEOREMS))
def test_every_rate_of_the_registry_has_an_order_in_every_parameter(key, variant):
    theorem = bounds.get(key, variant)
    assert rate_of(theorem)
    assert rate_of(theorem) is rate_of(theorem)
    for row in rate_of(theorem):
        for parameter in QUANTITIES:
            assert isinstance(order(theorem, row, parameter), (Fraction, float)), row


def test_the_worst_of_the_terms_that_matter_is_promised():
    theorem = corollary()
    noise = TYPICAL | {
        "sigma_l": 1.0,
        "sigma_g": 0.0,
        "f0_gap": 0.0,
        "rho0": 0.0,
        "K": 2,
        "m": 8,
        "lam": 0.5,
        "T": 1e12,
    }
    assert predict(theorem, "m", [noise]).exponent == -1
    assert predict(theorem, "K", [noise]).exponent == -HALF
    # the start does not depend on the number of clients
    both = {**noise, "f0_gap": 1.0}
    assert predict(theorem, "m", [both]).exponent == 0
    assert predict(theorem, "m", [both]).terms == ("L f0_gap / (K^(1/2) T^(1/2))",)
    # at a short horizon, the drift matters at one of the points; it suffices that
    # it does at one
    short = {**noise, "T": 100.0}
    assert predict(theorem, "m", [short]).exponent == 0
    assert predict(theorem, "m", [noise, short]).exponent == 0
    # for T only the limit counts, in which all existing terms matter
    drift = {**noise, "sigma_g": 1.0, "sigma_l": 1e-3, "T": 100.0}
    assert predict(theorem, "T", [drift]).exponent == -HALF
    assert predict(theorem, "T", [{**drift, "sigma_l": 0.0}]).exponent == -1
    assert (
        predict(theorem, "T", [{**drift, "sigma_l": 0.0, "f0_gap": 1e-16}]).exponent
        == -1
    )
    assert predict(theorem, "m", [noise]).terms == ("sigma_l^2 / (K^(1/2) T^(1/2) m)",)
    # unknown terms are never neglected
    assert predict(theorem, "m", [{**noise, "f0_gap": np.inf}]).exponent == 0
    assert predict(theorem, "m", [{**noise, "f0_gap": np.nan}]).exponent == 0


def test_the_gaps_worst_exponent_is_the_least():
    theorem = corollary()
    spread = TYPICAL | {
        "sigma_l": 0.0,
        "sigma_g": 1.0,
        "f0_gap": 0.0,
        "rho0": 0.0,
        "K": 2,
        "m": 8,
        "lam": 0.9,
        "T": 1e9,
    }
    found = predict(theorem, "1 - lam", [spread])
    assert found.exponent == -2
    assert found.terms == ("K (lam**Q)^2 sigma_g^2 / ((1 - lam**Q)^2 T)",)


def test_what_is_neglected_gives_slack():
    theorem = corollary()
    noise = TYPICAL | {
        "sigma_l": 1.0,
        "sigma_g": 0.0,
        "f0_gap": 0.0,
        "rho0": 0.0,
        "K": 2,
        "m": 8,
        "lam": 0.5,
        "Q": 1,
    }
    here = {**noise, "T": 1e10}
    sizes = {str(row): size(theorem, row, here) for row in rate_of(theorem)}
    total = sum(sizes.values())
    others = total - sizes["sigma_l^2 / (K^(1/2) T^(1/2) m)"]
    assert 0 < others / total < 0.01
    assert predict(theorem, "m", [here]).slack == pytest.approx(others / total)
    assert predict(theorem, "K", [here]).slack == pytest.approx(others / total / 2)
    assert predict(theorem, "sigma_l", [here]).slack == 0
    assert predict(theorem, "m", [{**noise, "T": 1e26}]).slack == pytest.approx(
        0, abs=1e-8
    )


def test_a_monomial_has_its_numbers():
    theorem = corollary()
    rows = {str(row): row for row in rate_of(theorem)}
    row = rows["K (lam**Q)^2 sigma_g^2 / ((1 - lam**Q)^2 T)"]
    values = {"K": 3, "lam": 0.8, "Q": 2, "sigma_g": 0.5, "T": 100.0}
    by_hand = float(row.coefficient) * 3 * 0.64**2 * 0.25 / (100 * (1 - 0.64) ** 2)
    assert size(theorem, row, values) == pytest.approx(by_hand)
    assert size(theorem, row, {**values, "lam": 1.0}) == np.inf
    for unknown in (np.inf, np.nan):
        assert size(theorem, row, {**values, "sigma_g": unknown}) == np.inf
        assert size(theorem, row, {**values, "sigma_g": 0.0, "K": unknown}) == np.inf
    assert [
        order(theorem, row, p) for p in ("T", "K", "m", "1 - lam", "sigma_g", "rho")
    ] == [
        -1,
        1,
        0,
        -2,
        2,
        0,
    ]
    gone = next(
        r
        for r in rate_of(bounds.get("dfedadmm.theorem_1", "corrected"))
        if "theta" in str(r)
    )
    assert order(bounds.get("dfedadmm.theorem_1", "corrected"), gone, "K") == -np.inf


def share_at(theorem, values):
    return sum(size(theorem, row, values) for row in rate_of(theorem))


def test_the_predicted_transient_of_the_linear_speed_up():
    theorem = corollary()
    values = TYPICAL | {
        "f0_gap": 0.0,
        "rho0": 0.0,
        "K": 4,
        "m": 4,
        "lam": 0.95,
        "T": 1e20,
    }
    found = predicted_transient(theorem, values)
    assert (found.decay, found.growth) == (-0.5, 2)
    # T = (c'/c)^2 where c T^(-1/2) meets c'/T
    noise, drift = ({**values, name: 0.0} for name in ("sigma_g", "sigma_l"))
    meeting = [
        (share_at(theorem, drift | {"m": m}) / share_at(theorem, noise | {"m": m})) ** 2
        for m in (8, 16)
    ]
    assert np.log2(meeting[1] / meeting[0]) == pytest.approx(found.growth, abs=0.05)
    zero = dict.fromkeys(("sigma_l", "sigma_g", "f0_gap", "rho0"), 0.0)
    assert predicted_transient(theorem, values | zero) is None  # a rate that is zero
    # the start is not averaged out
    assert predicted_transient(theorem, values | {"f0_gap": 1.0}) is None
    # neither is heterogeneity
    assert predicted_transient(theorem, values | {"sigma_l": 0.0}) is None
    # its constant is unknown
    assert predicted_transient(theorem, values | {"sigma_l": np.inf}) is None
    assert predicted_transient(theorem, values | {"sigma_g": np.inf}) == found


def test_quantities_have_one_name():
    with pytest.raises(UnknownNameError, match="sigma_l"):
        predict(corollary(), "sigma", [TYPICAL])
