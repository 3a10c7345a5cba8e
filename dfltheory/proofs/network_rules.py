"""Rules of the network and of the rounds: contraction, recursions, the start."""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.facts import Fact, over_all, rule, single_moment
from dfltheory.proofs.hilbert_rules import HILBERT
from dfltheory.proofs.moments import (
    DUAL,
    XBAR,
    Algorithm,
    Claim,
    Demand,
    Moment,
    Vec,
    X,
    form,
    need,
    one,
    root,
    value,
)

_OPERATOR_NORM = (
    "||(W - P) U|| <= ||W - P|| ||U||: Horn and Johnson, Matrix Analysis, 5.6"
)


@rule(_OPERATOR_NORM, h.CONTRACTS)
def gossip(alg: Algorithm) -> Claim:
    """Bound the disagreement after one gossip step.

    root[next](x - mean x) <= lam root(U - mean U), one gossip step a round, for the U
    that is sent.
    """
    need(
        alg.gossips == 1,
        "the rule covers one gossip step per round, not {}: use gossip_steps",
        alg.gossips,
    )
    distance = root(X.within(alg.shared).dev())
    return Claim({distance.at(rounds="next"): sp.S.One}, {root(alg.sent.dev()): s.lam})


@rule(
    f"{_OPERATOR_NORM}; W of one gossip step is independent of those before",
    h.CONTRACTS,
    h.FRESH,
)
def gossip_steps(alg: Algorithm) -> Claim:
    """Bound the disagreement after Q gossip steps.

    root[next](x - mean x) <= lam^Q root(U - mean U), Q gossip steps, for the U that is
    sent.
    """
    whole = type(alg.gossips) is sp.Integer or alg.gossips in (s.Q, sp.S.One)
    need(
        whole and alg.gossips.is_positive,
        "{} is not a number of gossip steps",
        alg.gossips,
    )
    distance = root(X.within(alg.shared).dev())
    return Claim(
        {distance.at(rounds="next"): sp.S.One},
        {root(alg.sent.dev()): s.lam**alg.gossips},
    )


@rule(
    "sigma_2(D'^(-1/2) P D^(1/2)) <= q: Horn and Johnson, Matrix Analysis, 5.6",
    h.WEIGHTS,
    h.PUSHES,
)
def push(alg: Algorithm) -> Claim:
    """Bound the disagreement after a push-sum step.

    root_w[next](x - xbar) <= q (root_w(x - xbar) + delta^(-1/2) root(H)), one push-sum
    step a round, for the numerators' move H.
    """
    _need_one_step_of_push_sum(alg)
    distance = root(X - XBAR, weighted=True)
    return Claim(
        {distance.at(rounds="next"): sp.S.One},
        {distance: s.q, root(alg.moved): s.q / sp.sqrt(s.delta)},
    )


def _need_one_step_of_push_sum(alg: Algorithm) -> None:
    need(
        alg.gossips == 1,
        "the contraction is assumed of one push-sum step a round, not of {}",
        alg.gossips,
    )


_CONVOLUTION = (
    "Young's inequality for convolutions (Hardy, Littlewood and Polya, Inequalities);"
    " Minkowski"
)


@rule(
    f"the sums of q^floor(j/B) and of its squares; {_CONVOLUTION}",
    h.WEIGHTS,
    h.WINDOWED,
)
def push_windows(alg: Algorithm) -> Claim:
    """Bound the disagreement where windows of rounds contract.

    root_w[mean t](x - xbar) <= (B/(T (1 - q^2)))^(1/2) root_w[start](x - xbar) + ((B -
    1 + q)/(1 - q)) delta^(-1/2) root[mean t](H), B = window, one push-sum step a round,
    for the numerators' moves H: in every round the norm does not grow, and in any B
    rounds it contracts by q.
    """
    _need_one_step_of_push_sum(alg)
    distance, far = root(X - XBAR, weighted=True), (s.window - 1 + s.q) / (1 - s.q)
    right = {
        distance.at(rounds="start"): sp.sqrt(s.window / (s.T * (1 - s.q**2))),
        root(alg.moved).at(rounds="mean"): far / sp.sqrt(s.delta),
    }
    return Claim(
        {distance.at(rounds="mean"): sp.S.One},
        right,
        (Demand(1 - s.q, "a contraction", strict=True),),
    )


def _recursion(
    fact: Fact,
) -> tuple[Moment, Expr, dict[Moment, Expr], tuple[Demand, ...]]:
    """Return the factor and the rest of a recursion over the rounds.

    root[next](U) <= p root(U) + rest, and p, the rest, and what must hold of p.
    """
    after = single_moment(fact, "root")
    need(after.rounds == "next", "the recursion must bound a root at the next round")
    now = after.at(rounds="")
    rest = dict(fact.right)
    p = rest.pop(now, sp.S.Zero)
    need(
        all(m.kind in ("root", "one") and not m.rounds and not m.free for m in rest)
        and not now.free,
        "the other terms of the recursion must be roots or constants of this round: {}",
        fact,
    )
    signs = (Demand(c, "a coefficient of the recursion") for c in rest.values())
    return (
        now,
        p,
        rest,
        (
            Demand(p, "a contraction"),
            Demand(1 - p, "a contraction", strict=True),
            *signs,
        ),
    )


@rule(_CONVOLUTION)
def convolution(fact: Fact) -> Claim:
    """Solve a recursion of roots in the mean over the rounds.

    root[next](U) <= p root(U) + sum_j c_j b_j in every round gives root[mean t](U) <=
    root[start](U)/sqrt(T (1 - p^2)) + (1/(1 - p)) sum_j c_j b_j[mean t].
    """
    now, p, rest, demands = _recursion(fact)
    right = {}
    for moment, c in rest.items():
        over_rounds = moment if moment.kind == "one" else moment.at(rounds="mean")
        right[over_rounds] = c / (1 - p)
    started = {now.at(rounds="start"): 1 / sp.sqrt(s.T * (1 - p**2))}
    return Claim(
        {now.at(rounds="mean"): sp.S.One}, form((right, 1), (started, 1)), demands
    )


@rule("induction over the rounds")
def invariant(fact: Fact, start: Fact) -> Claim:
    """Bound a root in every round by induction.

    root[next](U) <= p root(U) + c in every round and root[start](U) <= 0 give root(U)
    <= c/(1 - p).
    """
    now, p, rest, demands = _recursion(fact)
    need(
        single_moment(start, "root") == now.at(rounds="start") and not start.right,
        "the second premise must be: the root at the start is at most 0",
    )
    need(all(m.kind == "one" for m in rest), "the recursion may add only constants")
    return Claim({now: sp.S.One}, {m: c / (1 - p) for m, c in rest.items()}, demands)


@rule("the sum over the rounds; a square is not negative")
def sum_rounds(fact: Fact) -> Claim:
    """Bound the mean over the rounds by that of the next values.

    From sq[next](U) <= r in every round: sq[mean t](U) <= sq[start](U)/T + r[mean t],
    because the first T squares are the first one and at most the next T.
    """
    after = single_moment(fact, "sq")
    need(after.rounds == "next", "a square at the next round must be bounded: {}", fact)
    now = after.at(rounds="")
    need(not now.free, "{} still depends on the step", now)
    need(
        all(m.kind != "root" for m in fact.right),
        "the mean over the rounds is taken of squares, not of roots: {}",
        fact,
    )
    right = form(
        (over_all(fact.right, set(), rounds="mean"), 1),
        ({now.at(rounds="start"): 1 / s.T}, 1),
    )
    return Claim({now.at(rounds="mean"): sp.S.One}, right)


@rule("the assumption itself", h.COMMON)
def common_start(alg: Algorithm) -> Claim:
    """State that all clients start at one model.

    root[start](x - mean x) <= 0.
    """
    return Claim({root(X.dev()).at(rounds="start"): sp.S.One}, {})


@rule(
    "the definitions (push-sum: w = 1 at the start); Id - mean is an orthogonal"
    f" projection: {HILBERT}"
)
def any_start(
    alg: Algorithm, pushed: bool = False, size: sp.Symbol = s.x0_spread
) -> Claim:
    """Bound the disagreement at the start.

    root[start](x - mean x) <= sqrt(x0_spread) <= sqrt(x0_sq); push-sum: root_w[start](x
    - xbar).
    """
    need(size in (s.x0_spread, s.x0_sq), "{} is not a size of the start", size)
    distance = (
        root(X - XBAR, weighted=True) if pushed else root(X.within(alg.shared).dev())
    )
    return Claim({distance.at(rounds="start"): sp.S.One}, {one("start"): sp.sqrt(size)})


@rule("the algorithm's own line")
def dual_start(alg: Algorithm, v: Vec = DUAL) -> Claim:
    """State that the second state starts at 0.

    root[start](U) <= 0 for the dual, its mean, or what is left of it without the mean.
    """
    return Claim({alg.root_of_dual(v).at(rounds="start"): sp.S.One}, {})


@rule("the algorithm's own line")
def next_dual(alg: Algorithm, v: Vec = DUAL) -> Claim:
    """Give the second state in the next round.

    root[next](U) = root(what the algorithm makes of U) for the same U as in dual_start.
    """
    after = alg.root_of_dual(v).at(rounds="next")
    return Claim({after: sp.S.One}, {root(alg.following(v)): sp.S.One}, equal=True)


@rule("telescoping sum", h.BELOW, h.KEPT)
def telescope(alg: Algorithm, fact: Fact) -> Claim:
    """Sum the changes of f over the rounds.

    E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round gives 0 <=
    f0_gap/T + mean of r_t.
    """
    w = alg.mean_model
    need(
        w.known(None, "v") and w.part(alg.shared).common,
        "the mean model is a mean of states",
    )
    first = Vec.of((a, c) for a, c in w.terms if a.name != "dual")
    starts = (
        (X.mean(), XBAR)
        if alg.kept is None
        else (X.within("u").mean() + X.within("v"),)
    )
    need(
        first in starts,
        "the mean model does not start where f0_gap is taken, but at {}",
        first,
    )
    after = alg.following(w)
    need(after != w, "the mean model does not move: there is no change of f to sum")
    change = form(({value(after): sp.S.One}, 1), ({value(w): sp.S.One}, -1))
    need(
        fact.left == change,
        "the left-hand side must be the change of f at the mean model in a round",
    )
    need(
        all(m.kind != "root" for m in fact.right),
        "the mean over the rounds is taken of squares, not of roots: {}",
        fact,
    )
    return Claim(
        {},
        form(
            (over_all(fact.right, set(), rounds="mean"), 1),
            ({one("f"): s.f0_gap / s.T}, 1),
        ),
    )


__all__ = [
    "any_start",
    "common_start",
    "convolution",
    "dual_start",
    "gossip",
    "gossip_steps",
    "invariant",
    "next_dual",
    "push",
    "push_windows",
    "sum_rounds",
    "telescope",
]
