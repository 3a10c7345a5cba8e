"""Rules of sums over the rounds: telescoping sums, and the mean of next values."""

from __future__ import annotations

from dfltheory.bounds import symbols as s
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.averages import over_all
from dfltheory.proofs.facts import Fact, rule, single_moment
from dfltheory.proofs.moments import (
    XBAR,
    AlgorithmRound,
    Conclusion,
    Form,
    Vec,
    X,
    combination,
    form,
    need,
    one,
    sq,
    upper_bound,
    value,
)


@rule("the sum over the rounds; a square is not negative")
def sum_rounds(fact: Fact) -> Conclusion:
    """Bound the mean over the rounds by that of the next values.

    From sq[next](U) <= r in every round: sq[mean t](U) <= sq[start](U)/T + r[mean t],
    because the first T squares are the first one and T - 1 of the next values. The next
    value that is left out is not negative.
    """
    after = single_moment(fact, "sq")
    need(after.rounds == "next", "a square at the next round must be bounded: {}", fact)
    now = after.at(rounds="")
    need(not now.free, "{} still depends on the step", now)
    first = {now.at(rounds="start"): 1 / s.T}
    right = form((_right_in_mean(fact), 1), (first, 1))
    return upper_bound(now.at(rounds="mean"), right)


def _right_in_mean(fact: Fact) -> Form:
    """Return the mean over the rounds of a fact's right-hand side."""
    need(
        all(m.kind != "root" for m in fact.right),
        "the mean over the rounds is taken of squares, not of roots: {}",
        fact,
    )
    return over_all(fact.right, set(), rounds="mean")


@rule("telescoping sum", h.BELOW, h.KEPT)
def telescope(alg: AlgorithmRound, fact: Fact) -> Conclusion:
    """Sum the changes of f over the rounds.

    E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round gives 0 <=
    f0_gap/T + mean of r_t.
    """
    return Conclusion({}, _summed_changes(alg, fact))


@rule(
    "telescoping sum; f* <= f(w - grad f(w)/L) <= f(w) - ||grad f(w)||^2/(2 L):"
    " Nesterov, Lectures on Convex Optimization, 2nd ed., 1.2.3",
    h.BELOW,
    h.KEPT,
    h.SMOOTH,
)
def telescope_to_end(alg: AlgorithmRound, fact: Fact) -> Conclusion:
    """Sum the changes of f over the rounds, and keep the gradient after the last one.

    E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round gives 0 <=
    f0_gap/T + mean of r_t - sq[end](grad f(w))/(2 L T), because f(w^T) - f* is at least
    ||grad f(w^T)||^2/(2 L). Only for models of one block.
    """
    need(alg.kept is None, "the rule is about models of one block")
    last_gradient = {sq(alg.full(alg.mean_model)).at(rounds="end"): 1 / (2 * s.L * s.T)}
    return Conclusion({}, form((_summed_changes(alg, fact), 1), (last_gradient, -1)))


def _summed_changes(alg: AlgorithmRound, fact: Fact) -> Form:
    """Return f0_gap/T and the mean of what bounds the change of f in a round."""
    w = alg.mean_model
    need(
        # before the first phase, "v", only states, and gradients at states, are known
        w.known(None, "v") and w.part(alg.shared).common,
        "the mean model {} must be known at the start of a round, and its shared part"
        " the same for all clients",
        w,
    )
    # the second state starts at 0
    first = Vec.of((a, c) for a, c in w.terms if a.name != "dual")
    starts = [X.mean(), XBAR]
    if alg.kept is not None:
        starts = [X.within("u").mean() + X.within("v")]
    need(
        first in starts,
        "the mean model does not start where f0_gap is taken, but at {}",
        first,
    )
    after = alg.following(w)
    need(after != w, "the mean model does not move: there is no change of f to sum")
    change = combination((1, value(after)), (-1, value(w)))
    need(
        fact.left == change,
        "the left-hand side must be the change of f at the mean model in a round",
    )
    start = {one("f"): s.f0_gap / s.T}
    return form((_right_in_mean(fact), 1), (start, 1))


__all__ = ["sum_rounds", "telescope", "telescope_to_end"]
