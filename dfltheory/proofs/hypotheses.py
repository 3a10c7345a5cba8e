"""What the rules of the kernel may assume.

A script says which of a theorem's own words grant it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dfltheory.constants import FRESH_ROUND, FRESH_STEP


@dataclass(frozen=True, order=True)
class Hypothesis:
    """A hypothesis in words.

    ``says`` it; ``scope``: the scope of a theorem that grants it must pass this.
    """

    name: str
    says: str
    scope: Callable[..., bool] = field(
        default=lambda scope: True, compare=False, repr=False
    )


_ROWS = ("definition 1", "symmetric", "doubly stochastic")
_GOSSIP = {"fixed", "periodic", FRESH_STEP, FRESH_ROUND}
"""The kinds of sequences of which one gossip step contracts by lam, the worst norm or
that in mean square.
"""
SMOOTH = Hypothesis(
    "smooth",
    "every f_i is L-smooth; of two blocks, the gradient in block b is L_b-Lipschitz in"
    " b and chi sqrt(L_b L_c)-Lipschitz in the other block c",
)
SAMPLE_SMOOTH = Hypothesis(
    "sample smooth",
    "F_i(.; xi) is L-smooth for almost every xi, of two blocks L_u-smooth in u; SAM"
    " steps by rho at most",
    lambda scope: scope.samplewise,
)
UNBIASED = Hypothesis(
    "unbiased",
    "E[grad F_i(y; xi) | past] = grad f_i(y): a fresh sample in every local step",
)
VARIANCE = Hypothesis(
    "variance",
    "E[||grad F_i(y; xi) - grad f_i(y)||^2 | past] <= sigma_l^2, of two blocks"
    " sigma_u^2 and sigma_v^2: a fresh sample in every local step",
)
INDEPENDENT = Hypothesis(
    "independent", "given the past, the clients' samples of a step are independent"
)
DIVERSITY = Hypothesis(
    "diversity",
    "(1/m) sum_i ||grad f_i(x) - grad f(x)||^2 <= sigma_g^2 for every x; of two blocks,"
    " delta_u^2 for the shared gradients at (mean of u, V^{t+1})",
)
BOUNDED = Hypothesis(
    "bounded",
    "(1/m) sum_i E||grad f_i(y_i)||^2 <= B^2 for the models y_i = x_i at the start of"
    " every round and for the local models y_i of every step",
)
MOMENT = Hypothesis(
    "moment",
    "(1/m) sum_i E||s_i||^2 <= S2 in every local step of every round, where s_i is the"
    " stochastic gradient (with SAM the second one)",
)
BELOW = Hypothesis("below", "f >= f*")
AVERAGES = Hypothesis(
    "exact averages",
    "every window-th round, and no other, replaces all models by their mean",
    lambda scope: scope.names == ("LocalSGD",),
)
KEPT = Hypothesis(
    "mean kept",
    "the columns of W sum to 1, or models are replaced by their mean, so that mixing"
    " keeps the mean",
    lambda scope: (
        scope.network in (*_ROWS, "column-stochastic") or AVERAGES.scope(scope)
    ),
)
CONTRACTS = Hypothesis(
    "contraction",
    "W is doubly stochastic, and fixed, periodic, or drawn independently of the start,"
    " the samples and the matrices of earlier rounds; multiplied by W, the difference"
    " from the mean shrinks by lam, always or (W drawn) in mean square",
    lambda scope: scope.network in _ROWS and _GOSSIP.issuperset(scope.sequence),
)
FRESH = Hypothesis(
    "fresh draws",
    "W is fixed or periodic, or drawn independently for each gossip step of a round",
    lambda scope: (
        FRESH_ROUND not in scope.sequence or scope.hyperparameters.get("Q") == 1
    ),
)
WEIGHTS = Hypothesis(
    "push-sum weights",
    "P is column-stochastic, and every weight w_i of push-sum is at least delta",
    lambda scope: scope.network == "column-stochastic",
)
PUSHES = Hypothesis(
    "push-sum",
    "in a round the difference from the mean with the weights w_i/m shrinks by q, in"
    " the norm with these weights",
    lambda scope: WEIGHTS.scope(scope) and "windows" not in scope.sequence,
)
WINDOWED = Hypothesis(
    "push-sum windows",
    "no round increases the difference from the mean with the weights w_i/m, in the"
    " norm with these weights, and any `window` rounds together shrink it by q",
    WEIGHTS.scope,
)
COMMON = Hypothesis(
    "common start", "all clients start at one model", lambda scope: scope.common_start
)
