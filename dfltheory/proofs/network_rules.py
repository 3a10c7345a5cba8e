"""Rules of the network: contraction, exact averages, recursions, the start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import real_expression
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.facts import Fact, rule, single_moment, young_weights
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
    sq,
    upper_bound,
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


@rule(
    "Cauchy-Schwarz; martingale differences are orthogonal: Williams, Probability with"
    " Martingales, 12.1",
    h.AVERAGES,
    h.COMMON,
    h.UNBIASED,
)
def exact_averages(
    alg: AlgorithmRound, noise: Fact, weights: Iterable[Expr]
) -> Conclusion:
    """Bound the disagreement between exact averages.

    The round x <- x + U + V, where V is the noise of its steps, ends with an exact
    average if it is a window-th one, and else without mixing. From sq(V - mean V) <= v,
    a constant, and weights w_1, w_2 > 0 with sum at most 1: sq[mean t](x - mean x) <=
    window (window - 1)/(2 w_1) sq[mean t](U - mean U) + (window - 1)/(2 w_2) v. For k
    rounds after an average, sq(sum of U) <= k (sum of sq(U)) and sq(sum of V) <= k v.
    """
    need(alg.kept is None, "the rule is about models of one block")
    need(
        alg.gossips == 1 / s.window,
        "{} does not average exactly after every window-th round",
        alg.name,
    )
    first, second = map(real_expression, weights)
    move = alg.sent - X
    noises = Vec.of((a, c) for a, c in move.terms if a.name == "n")
    of_noise = sq(noises.dev())
    need(
        noises.terms and _bounds_by_constants(noise, of_noise),
        "a constant bound of {} in every round is needed, not {}",
        of_noise,
        noise,
    )
    steps = sq((move - noises).dev()).at(rounds="mean")
    pairs = s.window * (s.window - 1) / 2
    right = form(
        ({steps: sp.S.One}, pairs / first),
        (noise.right, pairs / s.window / second),
    )
    disagreement = sq(X.dev()).at(rounds="mean")
    return upper_bound(disagreement, right, young_weights((first, second)))


def _bounds_by_constants(fact: Fact, moment: Moment) -> bool:
    """Return whether a fact bounds a moment of every round by constants."""
    constants = all(m.kind == "one" for m in fact.right)
    return fact.left == {moment: sp.S.One} and constants


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


__all__ = [
    "any_start",
    "common_start",
    "convolution",
    "dual_start",
    "exact_averages",
    "gossip",
    "gossip_steps",
    "invariant",
    "next_dual",
    "push",
    "push_windows",
]
