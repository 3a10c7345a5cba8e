"""Proof of DFedADMM's corollary 1 with T + 1 for T in the optimization term.

The kernel proves theorem 1 with T + 1 for T and a larger third term: the registered
bound of the distances has slack, and the squared gradient is at most (S + E)^2, where E
bounds the distances. That the corollary follows is an exact comparison.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.polynomials import VariableRange
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.inequalities.rewriting import rational
from dfltheory.bounds.regions import expanded_conditions
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs import kernel as r
from dfltheory.proofs.comparison import check
from dfltheory.proofs.implication import not_implied
from dfltheory.proofs.moments import MEAN, NOISE, SAMPLED, one, root, sq
from dfltheory.proofs.script import Script
from dfltheory.proofs.script_region import glossary_of
from validation.counterexamples.true_versions.version import (
    Missing,
    Name,
    other_runs,
    version,
)
from validation.papers.dfedadmm import boxes
from validation.papers.dfedadmm import proof as admm

HALF = sp.Rational(1, 2)
g, S, T, L, K, lam_admm = admm.g, sp.sqrt(s.S2), s.T, s.L, s.K, s.lam_admm
U = admm.MEAN_STEPS * (1 / admm.gamma)
"""The estimate of the gradient by the mean step."""
MOMENT = registry.get("dfedadmm.theorem_1", "corrected_second_moment")
LARGEST_STEP = next(d.symbol for d in MOMENT.definitions if d.symbol.name == "S")
"""S, the abbreviation of sqrt(S2)."""
THIRD = "dual, consensus and sharpness"
NEXT_ROUND = 1 / (T + 1)
"""The weight of one more round in a mean over T + 1 rounds."""
KEPT = (sp.Rational(101, 200), sp.Rational(99, 200))
"""Weights of the mean step and of its noise that leave some of the squared step."""
MANY = 31
"""The first number of local steps for which the weights ``KEPT`` are used."""


def mean_steps() -> r.Fact:
    """Bound root(m_k), the expected gradient of a step, by sqrt(S2).

    sq(m) = sq(m + n) - sq(n) for the noise n, because <m, m + n> = sq(m).
    """
    orthogonal = r.chain(
        r.polarization(MEAN, NOISE), r.pythagoras(admm.A, MEAN, NOISE * -1)
    )
    square = r.chain(
        r.solve(r.polarization(MEAN, SAMPLED), {sq(MEAN): sp.S.One}, sp.Integer(2)),
        r.bilinear(MEAN, (1, MEAN), (1, NOISE)),
        orthogonal,
        r.polarization(MEAN, MEAN),
        r.square(r.minkowski()),
    )
    without_noise = r.weaken(square, {sq(NOISE): sp.S.Zero})
    moment = r.square(r.second_moment(admm.A))
    return r.take_root(r.chain(without_noise, moment))


def distance() -> r.Fact:
    """Bound root[mean t](g - U) by E."""
    parts = s.lam / (1 - s.lam) + 2 * admm.BEFORE + admm.THETA
    E = L * S * lam_admm * parts + L * s.rho
    distances = admm.distances(admm.assumed_moment())
    return r.weaken(r.take_root(distances), {one("path"): E})


def gradient_by_step() -> r.Fact:
    """Bound root[mean t](g) by E and root[mean t](U)."""
    return r.chain(r.average(r.minkowski((1, g - U), (1, U)), "t"), distance())


def largest_gradient() -> r.Fact:
    """Bound sq[mean t](g) by (S + E)^2."""
    size = r.chain(
        r.minkowski((1 / admm.gamma, admm.MEAN_STEPS)),
        r.steps_max(MEAN.mean(), K, admm.WEIGHTS),
        r.largest(r.mean_of(MEAN)),
        r.largest(mean_steps()),
    )
    gradient = r.chain(gradient_by_step(), r.average(size, "t"))
    return r.square(r.label(gradient, "path"))


def by_largest_gradient(noise: admm.Weights) -> r.Fact:
    """Weigh the registered bound with T/(T + 1), and (S + E)^2 with 1/(T + 1)."""
    registered = admm.by_steps(admm.assumed_moment, noise)
    return r.add((1 - NEXT_ROUND, NEXT_ROUND), registered, largest_gradient())


def by_kept_step(noise: admm.Weights) -> r.Fact:
    """Weigh with T/(T + 1), 2 (E^2 + sq(U)) and (S + E)^2 with half of 1/(T + 1) each.

    What the weights leave of the squared step U in the descent covers sq(U).
    """
    noises, factor = admm.NOISE_STEPS, -lam_admm / admm.gamma
    round_ = r.chain(
        r.descent(admm.A, admm.w, -lam_admm * U + noises * factor),
        r.bilinear(g, (-lam_admm, U), (factor, noises)),
        r.unbiased(admm.A, g, NOISE.mean(), admm.WEIGHTS),
        r.polarization(g, U),
        *admm.split(noise),
    )
    distances = admm.distances(admm.assumed_moment())
    summed = r.chain(r.telescope(admm.A, round_), distances)
    descended = r.solve(summed, {sq(g).at(rounds="mean"): sp.S.One})
    halves = {one("path"): HALF, root(U).at(rounds="mean"): HALF}
    by_step = r.square(gradient_by_step(), halves)
    factors = (1 - NEXT_ROUND, NEXT_ROUND / 2, NEXT_ROUND / 2)
    whole = r.add(factors, descended, by_step, largest_gradient())
    return r.weaken(whole, {sq(U).at(rounds="mean"): sp.S.Zero})


def _root_of(square: Expr) -> Expr:
    """Return C of the square C^2."""
    base, exponent = square.as_base_exp()
    if exponent != 2:
        raise ValueError(f"{square} is no square")
    return base


def squared(E: Expr, size: Expr, kept: bool) -> Expr:
    """Return the third term of :func:`with_next_round`."""
    if kept:
        return E**2 + NEXT_ROUND * (E + size) ** 2 / 2
    return E**2 + NEXT_ROUND * (2 * E * size + size**2)


def with_next_round(kept: bool) -> tuple[Theorem, Script]:
    """Return theorem 1 with T + 1 for T and a larger third term, and its proof."""
    noise = KEPT if kept else (HALF, HALF)
    parts = {
        "optimization": 2 * s.f0_gap / ((T + 1) * lam_admm),
        "noise": MOMENT.parts["noise"] / (2 * noise[1]),
        THIRD: squared(_root_of(MOMENT.parts[THIRD]), LARGEST_STEP, kept),
    }
    conditions = MOMENT.conditions
    if kept:
        most = 4 * MANY
        conditions += (Condition(f"T >= {most}", sp.Integer(most), T),)
    script = Script(
        "dfedadmm.theorem_1:corrected_second_moment",
        by_kept_step if kept else by_largest_gradient,
        admm.GRANTS,
        *boxes.SMALL,
        (admm.WEIGHTS,),
        admm.NAMES,
        weights={"noise": noise},
    )
    return replace(MOMENT, parts=parts, conditions=conditions), script


PATH_SLOPE = sp.Rational(13, 20)
"""For K >= 31 local steps, 2 p + theta <= 18463/10000 - PATH_SLOPE/K."""
PATH_LIMIT = sp.Rational(18463, 10000)
SPLIT = 2
"""The cases are split where the registered root C of the third term is SPLIT S."""
inverse_steps = sp.Symbol("inverse_steps", nonnegative=True)  # 1/K
root_ratio = sp.Symbol("root_ratio", nonnegative=True)  # sqrt(K/T)
decay_power = sp.Symbol("decay_power", nonnegative=True)  # (1 - 1/K)^K
third_root = sp.Symbol("third_root", nonnegative=True)  # C
size = sp.Symbol("size", nonnegative=True)  # S
share = sp.Symbol("share", nonnegative=True)  # C/S
FEW = VariableRange(high=rational(sp.Rational(1, MANY)))


def next_horizon(name: Name) -> Missing:
    """Prove the corollary with T + 1 for T in the first term.

    For each K <= 30 it follows from the theorem that :func:`by_largest_gradient`
    proves. For larger K it follows from that one where C >= 2 S, also for S = 0, and
    else from that of :func:`by_kept_step`.
    """
    stated = version(name)
    missing: Missing = []
    theorems = {}
    for kept in (False, True):
        theorem, script = with_next_round(kept)
        missing += check(theorem, script).missing
        missing += other_runs(stated, theorem)
        theorems[kept] = theorem
    missing += _few_steps(stated, theorems[False])
    for kept, theorem in theorems.items():
        missing += _many_steps(stated, theorem, kept)
    return [*missing, *_lemmas(stated)]


def _few_steps(stated: Theorem, source: Theorem) -> Missing:
    """Compare the bounds at every K <= 30, and the conditions at all K."""
    about_bound = f"not shown: the bound of {source} is at most that of {stated}"
    missing = not_implied(stated, source, stated.schedule)
    if about_bound in missing:
        missing.remove(about_bound)
    for n in range(1, MANY):
        at_n = _with_steps(stated, n)
        compared = not_implied(at_n, _with_steps(source, n), at_n.schedule)
        missing += [f"K = {n}: {about_bound}"] * (about_bound in compared)
    return missing


def _with_steps(theorem: Theorem, n: int) -> Theorem:
    """Return a theorem for K = n."""

    def at_n(expr: Expr) -> Expr:
        return sp.sympify(expr).subs(K, n)

    return replace(
        theorem,
        parts={term: at_n(part) for term, part in theorem.parts.items()},
        definitions=tuple(replace(d, expr=at_n(d.expr)) for d in theorem.definitions),
        conditions=tuple(
            replace(x, left=at_n(x.left), right=at_n(x.right))
            for x in theorem.conditions
        ),
        schedule={key: at_n(value) for key, value in theorem.schedule.items()},
    )


def _path(before: Expr, power: Expr) -> Expr:
    """Return 2 p + theta for eta = lam_admm/K.

    ``before`` is (1 - 1/K)^(K - 1), and ``power`` is (1 - 1/K)^K.
    """
    return 2 * (1 - before) + power / (1 - power)


def _many_steps(stated: Theorem, source: Theorem, kept: bool) -> Missing:
    """Compare for K >= 31, where :func:`_lemmas` bound 2 p + theta."""
    C = _root_of(stated.parts[THIRD])
    E = C - sp.sqrt(K) * LARGEST_STEP * PATH_SLOPE / K / sp.sqrt(T)
    path = _path((1 - 1 / K) ** (K - 1), (1 - 1 / K) ** K)
    between = replace(
        stated,
        parts={**stated.parts, THIRD: squared(E, LARGEST_STEP, kept)},
        conditions=(
            *stated.conditions,
            Condition(f"K >= {MANY}", sp.Integer(MANY), K),
            Condition("2 p + theta", path, PATH_LIMIT - PATH_SLOPE / K),
        ),
    )
    return not_implied(between, source, stated.schedule)


def _lemmas(stated: Theorem) -> Iterator[str]:
    """Yield what is not shown of the inequalities that :func:`_many_steps` leaves."""
    glossary = glossary_of(stated)
    steps = Region([Condition("K", sp.Integer(MANY), K)], glossary=glossary)
    low, high = sp.Rational(367879441, 10**9), sp.Rational(367879442, 10**9)
    decay = 1 - 1 / K
    powers = Region(
        [
            Condition("y", low * (1 - inverse_steps), decay_power),
            Condition("y", low * (1 - sp.Rational(1, MANY)), decay_power),
        ],
        {inverse_steps: FEW, decay_power: VariableRange(high=rational(high))},
    )
    yield from _not_shown(
        ("(1 - 1/K)^K <= 1/e", steps, high - decay**K),
        ("1/e <= (1 - 1/K)^(K - 1)", steps, decay ** (K - 1) - low),
        (
            "2 p + theta",
            powers,
            PATH_LIMIT
            - PATH_SLOPE * inverse_steps
            - _path(decay_power / (1 - inverse_steps), decay_power),
        ),
    )
    C = _root_of(stated.parts[THIRD])
    here = Region(expanded_conditions(stated), glossary=glossary)
    least = stated.expand(C - PATH_LIMIT * sp.sqrt(K) * LARGEST_STEP / sp.sqrt(T))
    yield from _not_shown(
        ("C >= 1.8463 sqrt(K/T) S", here, least),
        ("sqrt(K/T) <= 1/2", here, HALF - sp.sqrt(K) / sp.sqrt(T)),
    )
    box = {
        inverse_steps: FEW,
        root_ratio: VariableRange(high=rational(HALF)),
        size: VariableRange(),
    }
    far = Region(
        [
            Condition("least", PATH_LIMIT * root_ratio * size, third_root),
            Condition("far", SPLIT * size, third_root),
        ],
        {**box, third_root: VariableRange()},
    )
    yield from _not_shown(("C >= 2 S", far, _slack(third_root, kept=False)))
    for n in range(SPLIT):
        near = Region(
            [
                Condition("least", PATH_LIMIT * root_ratio, share),
                Condition("near", sp.Integer(n), share),
            ],
            {**box, share: VariableRange(high=rational(sp.Integer(n + 1)))},
        )
        slack = _slack(share * size, kept=True)
        yield from _not_shown((f"{n} S <= C <= {n + 1} S", near, slack))


def _slack(C: Expr, kept: bool) -> Expr:
    """Return C^2 less the third term of the theorem, for K, T and S as symbols."""
    E = C - PATH_SLOPE * inverse_steps * root_ratio * size
    return (C**2 - squared(E, size, kept)).subs(T, 1 / (inverse_steps * root_ratio**2))


def _not_shown(*inequalities: tuple[str, Region, Expr]) -> Iterator[str]:
    """Yield a message for each expression that is not shown to be nonnegative."""
    for name, region, expr in inequalities:
        if not region.holds(sp.together(expr)):
            yield f"not shown: {name}"


PROOFS = {
    (
        "dfedadmm.corollary_1",
        "corrected",
        "T + 1 for T",
        "optimization",
    ): next_horizon,
}
"""A function of the name of a version that returns what is not proved of it."""

__all__ = ["PROOFS"]
