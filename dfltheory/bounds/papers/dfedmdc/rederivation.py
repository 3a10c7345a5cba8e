"""Theorem M of DFedMDC and DFedSMDC and its rate: the algebra of their proofs."""

from __future__ import annotations

from collections.abc import Sequence

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.papers.dfedmdc import corrected as stated
from dfltheory.bounds.steps import Absorb, Given, Plus, Put, Replace, Step, Times
from dfltheory.bounds.units import Expr

R = sp.Rational
T, rho = s.T, s.rho
u = "dfedmdc."
a, b = s.eta_u * s.K_u * s.L_u, s.eta_v * s.K_v * s.L_v
shared: Expr = s.sigma_u + s.delta_u + s.L_u * rho
kept = Absorb({s.g_u**2: a / (4 * s.L_u), s.D_v: b / (4 * s.L_v)})
gap: Expr = 1 - s.lam
closer: Expr = R(207, 100) * s.x0_spread / (T * gap * (1 + s.lam)) + R(427, 100) * (
    s.lam * s.eta_u * s.K_u / gap
) ** 2 * (s.g_u**2 + shared**2)
same_round: Expr = R(46, 10) * s.chi**2 * b**2
scheduled = {"eta_u": 1 / (s.L_u * s.K_u * sp.sqrt(T)), "eta_v": 1 / (s.L_v * s.K_v * sp.sqrt(T))}


U_STEP: Expr = (
    -(a / s.L_u) * (R(1, 2) - R(64, 10) * a**2) * s.g_u**2
    + (R(3, 2) * a + R(32, 10) * a**3) * s.L_u * s.kap**2
    + R(64, 10) * a**3 * shared**2 / s.L_u
    + R(3, 2) * a * s.L_u * rho**2
    + a**2 * s.sigma_u**2 / (s.m * s.K_u * s.L_u)
)
"""(13) and (27), re-derived."""
V_STEP: Expr = (
    -b / (4 * s.L_v) * s.D_v
    + R(3, 2) * b * s.chi**2 * s.L_u * s.kap**2
    + R(14, 10) * b**2 * s.sigma_v**2 / s.L_v
)
"""(18) and (32), re-derived."""
LEMMA_5: Expr = 8 * s.x0_spread / (3 * T * gap) + 18 * (s.lam * s.eta_u * s.K_u) ** 2 / gap**2 * (
    s.G_u + shared**2
)
"""Lemmas 5 and 6, re-derived."""


def given(name: str, conditions: Sequence[Condition]) -> tuple[Given, ...]:
    """The conditions under which a re-derived display holds."""
    values = {stated.a: a, stated.b: b}
    return tuple(Given(f"{name}, which demands {c.name}", c.slack.xreplace(values)) for c in conditions)


STEPS_GIVEN = (*given("(18)", stated.CONDITIONS[:2]), *given("(13)", stated.CONDITIONS[:2]))


def theorem_m(number: int) -> tuple[Step, ...]:
    """Both blocks' descents with a bound of the spread, a quarter of each gradient kept; then a = b."""
    theorem = f"{u}theorem_{number}"
    without = (Put({"rho": sp.S.Zero}),) if number == 1 else ()
    later = {"rho": s.rho0 / sp.sqrt(T)} if number == 2 else {}
    spread = Replace("kap", sp.sqrt(closer))
    both = (Plus(U_STEP),)
    equal = (Times(4 / a), Given("a <= b, for b/a of Delta_v on its left side", b - a))
    return (
        Step(f"{theorem}:corrected_weighted_sharper",
            "both descents, the spread by 1 - a - lam >= (31/32)(1 - lam)", V_STEP,
            (*both, spread, *without, kept, *STEPS_GIVEN)),
        Step(f"{theorem}:corrected_weighted", "both descents, Lemmas 5 and 6", V_STEP,
            (*both, Replace("kap", sp.sqrt(s.Xi)), Replace("Xi", LEMMA_5),
                Replace("G_u", s.g_u**2), *without, kept, *STEPS_GIVEN,
                *given("Lemma 5", stated.CONDITIONS))),
        Step(f"{theorem}:corrected", "a = b", f"{theorem}:corrected_weighted", equal),
        Step(f"{theorem}:corrected_sharper", "a = b", f"{theorem}:corrected_weighted_sharper", equal),
        Step(f"{theorem}:corrected_same_round", "from V^{t+1} to V^t", f"{theorem}:corrected",
            (Times(sp.Max(2, 1 + same_round)), Plus(same_round * s.sigma_v**2 / s.L_v))),
        Step(f"{u}rate_theorem_{number}:corrected", "a = b = 1/sqrt(T)", f"{theorem}:corrected",
            (Put({**scheduled, **later}),)),
    )  # fmt: skip


STEPS: tuple[Step, ...] = (*theorem_m(1), *theorem_m(2))
