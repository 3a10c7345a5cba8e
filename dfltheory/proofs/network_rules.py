"""Rules of the network and of the rounds: contraction, recursions, the start."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.averages import over_all
from dfltheory.proofs.facts import Fact, rule, single_moment
from dfltheory.proofs.hilbert_rules import HILBERT
from dfltheory.proofs.moments import (
    DUAL,
    XBAR,
    AlgorithmRound,
    Conclusion,
    Demand,
    Form,
    Moment,
    Vec,
    X,
    combination,
    equality,
    form,
    need,
    one,
    root,
    upper_bound,
    value,
)

_OPERATOR_NORM = (
    "W U - mean U = (W - J)(U - mean U), J = 11'/m; ||(W - J) V|| <= ||W - J|| ||V||,"
    " of a drawn W in mean square: Horn and Johnson, Matrix Analysis, 5.6"
)


@rule(_OPERATOR_NORM, h.CONTRACTS)
def gossip(alg: AlgorithmRound) -> Conclusion:
    """Bound the disagreement after one gossip step.

    root[next](x - mean x) <= lam root(U - mean U), one gossip step a round, for the U
    that is sent.
    """
    need(
        alg.gossips == 1,
        "the rule covers one gossip step per round, not {}: use gossip_steps",
        alg.gossips,
    )
    return upper_bound(_next_disagreement(alg), {root(alg.sent.dev()): s.lam})


@rule(
    f"{_OPERATOR_NORM}; W of one gossip step is independent of those before",
    h.CONTRACTS,
    h.FRESH,
)
def gossip_steps(alg: AlgorithmRound) -> Conclusion:
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
    factor = s.lam**alg.gossips
    return upper_bound(_next_disagreement(alg), {root(alg.sent.dev()): factor})


def _next_disagreement(alg: AlgorithmRound) -> Moment:
    """root[next](x - mean x) of what the network mixes."""
    return root(X.within(alg.shared).dev()).at(rounds="next")


@rule(
    "sigma_2(D'^(-1/2) P D^(1/2)) <= q: Horn and Johnson, Matrix Analysis, 5.6",
    h.WEIGHTS,
    h.PUSHES,
)
def push(alg: AlgorithmRound) -> Conclusion:
    """Bound the disagreement after a push-sum step.

    root_w[next](x - xbar) <= q (root_w(x - xbar) + delta^(-1/2) root(H)), one push-sum
    step a round, for the numerators' move H.
    """
    _need_one_step_of_push_sum(alg)
    distance = root(X - XBAR, weighted=True)
    right = {distance: s.q, root(alg.moved): s.q / sp.sqrt(s.delta)}
    return upper_bound(distance.at(rounds="next"), right)


def _need_one_step_of_push_sum(alg: AlgorithmRound) -> None:
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
def push_windows(alg: AlgorithmRound) -> Conclusion:
    """Bound the disagreement where windows of rounds contract.

    root_w[mean t](x - xbar) <= (B/(T (1 - q^2)))^(1/2) root_w[start](x - xbar) + ((B -
    1 + q)/(1 - q)) delta^(-1/2) root[mean t](H), B = window, one push-sum step a round,
    for the numerators' moves H: in every round the norm does not grow, and in any B
    rounds it contracts by q.
    """
    _need_one_step_of_push_sum(alg)
    distance = root(X - XBAR, weighted=True)
    sum_of_powers = (s.window - 1 + s.q) / (1 - s.q)
    sum_of_squares = s.window / (1 - s.q**2)
    right = {
        distance.at(rounds="start"): sp.sqrt(sum_of_squares / s.T),
        root(alg.moved).at(rounds="mean"): sum_of_powers / sp.sqrt(s.delta),
    }
    contracts = Demand(1 - s.q, "a contraction", strict=True)
    return upper_bound(distance.at(rounds="mean"), right, (contracts,))


@dataclass(frozen=True)
class _Recursion:
    """A recursion over the rounds: ``root[next](U) <= p root(U) + rest``.

    Attributes
    ----------
    moment : root(U)
    p : the factor
    rest : roots and constants with their coefficients
    demands : 0 <= p < 1, and no coefficient of the rest is negative
    """

    moment: Moment
    p: Expr
    rest: Form
    demands: tuple[Demand, ...]


def _recursion(fact: Fact) -> _Recursion:
    """Return the parts of a recursion over the rounds."""
    after = single_moment(fact, "root")
    need(after.rounds == "next", "the recursion must bound a root at the next round")
    now = after.at(rounds="")
    rest = dict(fact.right)
    p = rest.pop(now, sp.S.Zero)
    of_this_round = not now.free
    for moment in rest:
        is_root = moment.kind in ("root", "one")
        of_this_round &= is_root and not moment.rounds and not moment.free
    need(
        of_this_round,
        "the other terms of the recursion must be roots or constants of this round: {}",
        fact,
    )
    contracts = (
        Demand(p, "a contraction"),
        Demand(1 - p, "a contraction", strict=True),
    )
    signs = [Demand(c, "a coefficient of the recursion") for c in rest.values()]
    return _Recursion(now, p, rest, (*contracts, *signs))


@rule(_CONVOLUTION)
def convolution(fact: Fact) -> Conclusion:
    """Solve a recursion of roots in the mean over the rounds.

    root[next](U) <= p root(U) + sum_j c_j b_j in every round, with 0 <= p < 1, c_j >= 0
    and roots or constants b_j of this round, gives root[mean t](U) <=
    root[start](U)/sqrt(T (1 - p^2)) + (1/(1 - p)) sum_j c_j b_j[mean t], where
    constants stay as they are.
    """
    recursion = _recursion(fact)
    now, p = recursion.moment, recursion.p
    terms = []
    for moment, c in recursion.rest.items():
        over_rounds = moment if moment.kind == "one" else moment.at(rounds="mean")
        terms.append((c / (1 - p), over_rounds))
    terms.append((1 / sp.sqrt(s.T * (1 - p**2)), now.at(rounds="start")))
    return upper_bound(now.at(rounds="mean"), combination(*terms), recursion.demands)


@rule("induction over the rounds")
def invariant(fact: Fact, start: Fact) -> Conclusion:
    """Bound a root in every round by induction.

    root[next](U) <= p root(U) + c in every round, 0 <= p < 1 and c >= 0, and
    root[start](U) <= 0 give root(U) <= c/(1 - p).
    """
    recursion = _recursion(fact)
    now, rest = recursion.moment, recursion.rest
    need(
        single_moment(start, "root") == now.at(rounds="start") and not start.right,
        "the second premise must be: the root at the start is at most 0",
    )
    need(all(m.kind == "one" for m in rest), "the recursion may add only constants")
    right = {m: c / (1 - recursion.p) for m, c in rest.items()}
    return upper_bound(now, right, recursion.demands)


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


@rule("the assumption itself", h.COMMON)
def common_start(alg: AlgorithmRound) -> Conclusion:
    """State that all clients start at one model.

    root[start](x - mean x) <= 0.
    """
    return upper_bound(root(X.dev()).at(rounds="start"), {})


@rule(
    "the definitions (push-sum: w = 1 at the start); Id - mean is an orthogonal"
    f" projection: {HILBERT}"
)
def any_start(
    alg: AlgorithmRound, pushed: bool = False, size: sp.Symbol = s.x0_spread
) -> Conclusion:
    """Bound the disagreement at the start.

    root[start](x - mean x) <= sqrt(x0_spread) <= sqrt(x0_sq); push-sum: root_w[start](x
    - xbar).
    """
    need(size in (s.x0_spread, s.x0_sq), "{} is not a size of the start", size)
    if pushed:
        distance = root(X - XBAR, weighted=True)
    else:
        distance = root(X.within(alg.shared).dev())
    return upper_bound(distance.at(rounds="start"), {one("start"): sp.sqrt(size)})


@rule("the algorithm's own line")
def dual_start(alg: AlgorithmRound, v: Vec = DUAL) -> Conclusion:
    """State that the second state starts at 0.

    root[start](U) <= 0 for the dual, its mean, or what is left of it without the mean.
    """
    alg.check_part_of_dual(v)
    return upper_bound(root(v).at(rounds="start"), {})


@rule("the algorithm's own line")
def next_dual(alg: AlgorithmRound, v: Vec = DUAL) -> Conclusion:
    """Give the second state in the next round.

    root[next](U) = root(what the algorithm makes of U) for the same U as in dual_start.
    """
    alg.check_part_of_dual(v)
    after = root(v).at(rounds="next")
    return equality(after, {root(alg.following(v)): sp.S.One})


@rule("telescoping sum", h.BELOW, h.KEPT)
def telescope(alg: AlgorithmRound, fact: Fact) -> Conclusion:
    """Sum the changes of f over the rounds.

    E f(w^{t+1}) - E f(w^t) <= r_t at the mean model w in every round gives 0 <=
    f0_gap/T + mean of r_t.
    """
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
    return Conclusion({}, form((_right_in_mean(fact), 1), (start, 1)))


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
