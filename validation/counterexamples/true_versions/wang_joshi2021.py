"""Proofs of versions of Wang and Joshi (2021), of D-PSGD and of local SGD.

A step is a round here. The clients' objectives are identical, so that with the gradient
G_i at client i's model and g at the mean model

    -<g, mean G> = -(sq(g) + sq(G) - sq(g - G))/2, where sq(g - G) <= L^2 sq(dev x).

The descent thus leaves sq(G), which pays for the disagreement that the gradients cause.
In the mean over the rounds 1..T, the last gradient is bounded by what F(w^T) exceeds
the minimum by, and the first one is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.inequalities.polynomials import VariableRange
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs import kernel as r
from dfltheory.proofs.algorithm_rounds import ROUNDS
from dfltheory.proofs.comparison import check
from dfltheory.proofs.implication import not_implied
from dfltheory.proofs.moments import AlgorithmRound, G, N, X, one, sq
from dfltheory.proofs.script import Script
from validation.counterexamples.true_versions.version import (
    Missing,
    Name,
    other_runs,
    version,
)

K, T, L, eta, lam = s.K, s.T, s.L, s.eta, s.lam
HALF = sp.Rational(1, 2)
GRADIENTS, NOISES = G.sum(K), N.sum(K)
"""The gradients and the noise of the only local step, written as sums over steps."""


def change_of_objective(A: AlgorithmRound) -> r.Fact:
    """Bound F(w) of the next round less F(w) of this one."""
    w = A.mean_model
    g, own = A.full(w), A.grad(w)
    step, noise = GRADIENTS.mean(), NOISES.mean()
    move = r.chain(
        r.one_step(r.pythagoras(A, G.mean() * -eta, N.mean() * -eta)),
        r.young((1,), (-eta, step)),
        r.young((1,), (-eta, noise)),
        r.one_step(r.chain(r.clients(A, N), r.square(r.variance(A)))),
    )
    identical = r.weaken(r.diversity(A, w), {one("diversity"): sp.S.Zero})
    error = r.chain(
        r.minkowski((-1, G - own), (-1, own - g)), r.lipschitz(A, X, w), identical
    )
    of_clients = (g - GRADIENTS).dev()
    round_ = r.chain(
        r.descent(A, w, (step + noise) * -eta),
        r.bilinear(g, (-eta, step), (-eta, noise)),
        r.unbiased(A, g, N.mean()),
        r.polarization(g, step),
        r.one_step(r.projection(g - G)),
        r.square(r.one_step(error)),
        move,
        r.one_step(r.projection(G)),
        r.young((1,), (-1, of_clients)),
    )
    return r.weaken(round_, {sq(of_clients): sp.S.Zero})


def mean_gradient(
    A: AlgorithmRound, disagreement: r.Fact, to_end: bool = False
) -> r.Fact:
    """Bound the mean of ||grad F(w)||^2 over the rounds 0..T-1, or 1..T.

    ``disagreement`` bounds sq[mean t](dev x) by gradients and noise.
    """
    gradient = sq(A.full(A.mean_model))
    left = {gradient.at(rounds="mean"): sp.S.One}
    summed = r.telescope
    unused = {sq(GRADIENTS).at(rounds="mean"): sp.S.Zero}
    if to_end:
        summed = r.telescope_to_end
        last, first = gradient.at(rounds="end"), gradient.at(rounds="start")
        left |= {last: 1 / T, first: -1 / T}
        unused |= {last: sp.S.Zero, first: sp.S.Zero}
    whole = r.chain(summed(A, change_of_objective(A)), disagreement)
    return r.weaken(r.solve(whole, left, 2 / eta), unused)


# -- D-PSGD

DPSGD = ROUNDS["DPSGD"]
STATED = registry.get("wang_joshi2021.corollary_3", "printed").assumptions
"""The assumptions of D-PSGD, in the words with which Corollary 3 is registered."""
GRANTS: Mapping[str, tuple[h.Hypothesis, ...]] = dict(
    zip(
        STATED,
        (
            (h.SMOOTH,),
            (h.BELOW,),
            # the gradients of all clients are those of one F
            (h.UNBIASED, h.INDEPENDENT, h.DIVERSITY),
            (h.VARIANCE,),
            (h.KEPT, h.CONTRACTS),
            (h.COMMON,),
        ),
        strict=True,
    )
)


def disagreement_of_gossip() -> r.Fact:
    """Bound the disagreement of D-PSGD in the mean over the rounds.

    Noise is orthogonal to what is known before it. The weights of what is known are (1
    + lam^2)/2 and (1 - lam^2)/2.
    """
    known = X.dev() - G.dev() * eta
    shares = ((1 + lam**2) / 2, (1 - lam**2) / 2)
    sent = r.chain(
        r.one_step(r.pythagoras(DPSGD, known, N.dev() * -eta)),
        r.one_step(r.young(shares, (1, X.dev()), (-eta, G.dev()))),
        r.square(r.dev_of(GRADIENTS)),
        r.young((1,), (-eta, NOISES.dev())),
        r.square(r.dev_of(NOISES)),
        r.square(r.one_step(r.variance(DPSGD))),
    )
    mixed = r.chain(r.square(r.gossip(DPSGD)), sent)
    start = r.square(r.common_start(DPSGD))
    return r.solve(r.chain(r.sum_rounds(mixed), start))


HALF_GAP = Condition("eta L <= (1 - lam)/2", 2 * eta * L, 1 - lam)
"""What :func:`later_rounds_of_gossip` needs of the step size."""


def large_step_is_excluded(condition: Condition) -> Missing:
    """Show that a condition excludes every eta L > (1 - lam)/2.

    With eta L = (1/2 + excess)(1 - lam), its left side exceeds its right side.
    """
    excess = sp.Symbol("excess", nonnegative=True)
    step = (HALF + excess) * (1 - lam) / L
    violated = -condition.slack.subs(eta, step)
    region = Region([], {excess: VariableRange()})
    if region.holds(violated, strict=True):
        return []
    return [f"not shown: {condition.name} excludes large steps"]


def later_rounds_of_gossip(name: Name) -> Missing:
    """Prove the version of theorem 1 with the mean over the rounds 1..T.

    The kernel proves it for all eta L <= (1 - lam)/2, with the assumptions of Corollary
    3, which are those of the paper.
    """
    stated = version(name)
    bound, *others = stated.conditions
    proved = replace(stated, assumptions=STATED, conditions=(HALF_GAP, *others))

    def prove() -> r.Fact:
        return mean_gradient(DPSGD, disagreement_of_gossip(), to_end=True)

    checked = check(proved, Script(":".join(name[:2]), prove, GRANTS))
    return [*checked.missing, *large_step_is_excluded(bound)]


# -- local SGD

LOCAL_SGD = ROUNDS["LocalSGD"]
AVERAGES = "every window-th step, and no other, ends with an exact average"
OF_LOCAL_SGD = (*STATED[:4], AVERAGES, STATED[5])
"""The assumptions, with exact averages in place of Assumption 5."""
GRANTS_OF_LOCAL_SGD = {**GRANTS, AVERAGES: (h.KEPT, h.AVERAGES)}
COROLLARY = registry.get("wang_joshi2021.corollary_2", "restated")


def disagreement_between_averages() -> r.Fact:
    """Bound the disagreement of local SGD in the mean over the rounds."""
    noise = r.chain(
        r.young((1,), (-eta, NOISES.dev())),
        r.square(r.dev_of(NOISES)),
        r.square(r.one_step(r.variance(LOCAL_SGD))),
    )
    gradients = r.chain(
        r.young((1,), (-eta, GRADIENTS.dev())), r.square(r.dev_of(GRADIENTS))
    )
    apart = r.exact_averages(LOCAL_SGD, noise, (HALF, HALF))
    return r.chain(apart, r.average(gradients, "t"))


def with_window(theorem: Theorem) -> Theorem:
    """Return a statement on local SGD in the symbols of the kernel.

    The kernel counts the local steps of a round, here one, by K, and the rounds from
    one exact average to the next by ``window``. The statement calls these K.
    """

    def renamed(expr: Expr) -> Expr:
        return expr.subs(K, s.window)

    conditions = (
        replace(c, left=renamed(c.left), right=renamed(c.right))
        for c in theorem.conditions
    )
    return replace(
        theorem,
        parts={term: renamed(part) for term, part in theorem.parts.items()},
        conditions=tuple(conditions),
        assumptions=OF_LOCAL_SGD,
    )


def of_local_sgd(theorem: Theorem, to_end: bool) -> Missing:
    """Return what the kernel does not prove of a statement on local SGD."""

    def prove() -> r.Fact:
        return mean_gradient(LOCAL_SGD, disagreement_between_averages(), to_end)

    script = Script(f"{theorem.key}:{theorem.variant}", prove, GRANTS_OF_LOCAL_SGD)
    return [*check(with_window(theorem), script).missing]


def later_rounds_of_local_sgd(name: Name) -> Missing:
    """Prove the version of Corollary 2 with the mean over the rounds 1..T."""
    return of_local_sgd(version(name), to_end=True)


def step_of_corollary(half: Condition) -> Missing:
    """Show that Corollary 2's condition on the step follows from half of (16).

    With z = eta L, the slack of the corollary is at least half of that of half of (16)
    plus 5/4 (z - 3/10)^2.
    """
    of_corollary = COROLLARY.conditions[0]
    square = sp.Rational(5, 4) * (eta * L - sp.Rational(3, 10)) ** 2
    rest = of_corollary.slack - half.slack / 2 - square
    if Region().holds(sp.expand(rest)):
        return []
    return [f"not shown: {half.name} implies the condition of {COROLLARY}"]


def weaker_condition(name: Name) -> Missing:
    """Prove the version of theorem 1 for exact averages with half of (16).

    It has the bound of Corollary 2 and a stronger condition.
    """
    stated = version(name)
    missing = of_local_sgd(COROLLARY, to_end=False)
    missing += step_of_corollary(stated.conditions[0])
    missing += other_runs(stated, COROLLARY)
    under_condition = replace(COROLLARY, conditions=COROLLARY.conditions[1:])
    return [*missing, *not_implied(stated, under_condition, {})]


PROOFS = {
    (
        "wang_joshi2021.theorem_1",
        "printed",
        "index off by one",
        "rounds",
    ): later_rounds_of_gossip,
    (
        "wang_joshi2021.corollary_2",
        "restated",
        "index off by one",
        "rounds",
    ): later_rounds_of_local_sgd,
    (
        "wang_joshi2021.theorem_1_exact",
        "restated",
        "a condition weakened by 2",
        "(16)",
    ): weaker_condition,
}
"""Functions of the name of a version that return what is not proved of it."""

__all__ = ["PROOFS"]
