"""The corrected theorems 1 and 2, of DFedMDC and DFedSMDC, as scripts of the kernel.

The methods of :class:`Proof` return facts. The last fact of a script implies its
theorem.

A round moves the personal parts v with the clients' u_i fixed (first phase), then the
shared parts u with the new v fixed (second phase), and mixes u.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs import kernel as r
from dfltheory.proofs.moments import (
    E_U,
    G_U,
    G_V,
    N_U,
    N_V,
    X_U,
    X_V,
    AlgorithmRound,
    Moment,
    k,
    one,
    root,
    sq,
)
from dfltheory.proofs.script import Corollary, Range, Script

L_u, L_v, K_u, K_v, eta_u, eta_v = s.L_u, s.L_v, s.K_u, s.K_v, s.eta_u, s.eta_v
a, b = eta_u * K_u * L_u, eta_v * K_v * L_v
HALVES, THIRDS = (sp.Rational(1, 2),) * 2, (sp.Rational(1, 3),) * 3
Weights = Mapping[str, Sequence[sp.Expr]]
WEIGHTS: Weights = {
    # the change of the personal gradients in a round: the gradient and the noise
    "bend": HALVES,
    # the personal step of a round: the gradient and the noise
    "step": HALVES,
    # the shared step of a round: its mean and its noise
    "noise": HALVES,
    # the error of the shared gradients: the drift, the disagreement and SAM (without
    # SAM its weight is not used)
    "near": THIRDS,
    # the drift of the shared part: the disagreement, the gradient and s
    "way": THIRDS,
    # the disagreement: the start, the gradient and s
    "spread": tuple(sp.Rational(n, 4) for n in (2, 1, 1)),
}
"""Weights of the terms of a sum when it is squared, by what the sum bounds.

s is sigma_u + delta_u, with SAM sigma_u + delta_u + L_u rho.
"""
V_SAMPLED = G_V + N_V
V_STEP, V_NEXT = X_V - V_SAMPLED.sum(k) * eta_v, X_V - V_SAMPLED.sum(K_v) * eta_v


def _square(
    fact: r.Fact, terms: Sequence[Moment], weights: Sequence[sp.Expr]
) -> r.Fact:
    """Square a fact, each of its terms with its weight."""
    return r.square(fact, dict(zip(terms, weights, strict=True)))


class Proof:
    """One round of DFedMDC, or of DFedSMDC where SAM steps by rho, and its proof.

    Attributes
    ----------
    biased, sampled : the shared gradients with what SAM adds, without and with noise
    sam_part : what SAM adds, as a part of a sum; empty without SAM
    A : the algorithm
    turn : the mean model between the two phases, (ubar, V')
    own, g : the clients' shared gradients at ``turn``, and their mean
    d : the personal gradients at the start of the round
    """

    def __init__(self, name: str, sam: bool):
        self.sam = sam
        self.biased = G_U + E_U if sam else G_U
        self.sampled = self.biased + N_U
        self.sam_part = ((1, E_U),) if sam else ()
        self.A = AlgorithmRound(
            name,
            local=X_U - self.sampled.sum(k) * eta_u + V_NEXT,
            sent=X_U - self.sampled.sum(K_u) * eta_u,
            mean_model=X_U.mean() + X_V,
            personal=X_U + V_STEP,
            kept=V_NEXT,
        )
        self.turn = X_U.mean() + V_NEXT
        self.own, self.g = self.A.grad(self.turn), self.A.full(self.turn)
        self.d = self.A.grad(X_U + X_V, "v")

    def bounds_of_sam(self) -> tuple[r.Fact, ...]:
        """Bound what SAM adds; empty without SAM."""
        return (r.sam(self.A, E_U),) if self.sam else ()

    def personal(self) -> tuple[r.Fact, r.Fact]:
        """Bound the change of the personal gradient, and the personal step of a round.

        Both are bounded by the gradient d at the start of the round and the noise. The
        change is the largest over the steps.
        """
        A = self.A
        drift = r.chain(
            r.minkowski((-eta_v, V_SAMPLED.sum(k))),
            r.steps_max(V_SAMPLED, k, upto=K_v),
        )
        bent = r.chain(r.lipschitz(A, A.personal, X_U + X_V, "v"), drift)
        parts = r.minkowski((1, G_V - self.d), (1, self.d), (1, N_V))
        # the largest stochastic gradient and the change bound each other
        sample = r.chain(parts, bent, r.variance(A, N_V))
        size = r.solve(r.largest(sample))  # as b < 1
        step = r.chain(
            r.minkowski((-eta_v, V_SAMPLED.sum(K_v))),
            r.steps_max(V_SAMPLED, K_v),
            size,
        )
        return r.chain(r.largest(bent), size), step

    def first(self, w: Weights) -> r.Fact:
        """Descent in v at the mean of u: E F(ubar, V') - E F(ubar, V).

        The step is -eta_v K_v (d + f) and noise, with d the gradients at the start of
        the round and f their mean change; e are the gradients at ubar.
        """
        A, d = self.A, self.d
        bend = G_V - d
        e, f = A.grad(self.A.mean_model, "v"), bend.sum(K_v) * (1 / K_v)
        bent, step = self.personal()
        terms = (root(d), one("noise"))
        mean_bend = r.chain(
            r.minkowski((1 / K_v, bend.sum(K_v))), r.steps_max(bend, K_v), bent
        )
        off_mean = r.chain(
            r.lipschitz(A, A.mean_model, X_U + X_V, "v"),
            r.minkowski((-1, X_U.dev())),
        )
        step_of_d, step_of_f = (-eta_v * K_v, d), (eta_v * K_v, -f)
        step_of_noise = (-eta_v, N_V.sum(K_v))
        round_ = r.chain(
            r.descent(A, A.mean_model, V_NEXT - X_V),
            r.bilinear(e, step_of_d, step_of_f, step_of_noise),
            r.unbiased(A, e, N_V),
            # -<e, d> + <e, -f> without sq(e), which cancels:
            # (sq(e - d) + sq(f) - sq(d) - sq(e + f))/2; the last square is dropped
            r.polarization(e, d),
            r.polarization(e, -f),
            r.square(off_mean),
            r.young((1,), (-1, f)),
            _square(mean_bend, terms, w["bend"]),
            _square(step, terms, w["step"]),
        )
        return r.weaken(round_, {sq(e + f): sp.S.Zero})

    def shared(self) -> tuple[r.Fact, r.Fact]:
        """Bound the drift of the shared part, and the largest stochastic gradient.

        Both are bounded by the disagreement, the gradient and s.
        """
        A = self.A
        drift = r.chain(
            r.minkowski((-eta_u, self.sampled.sum(k))),
            r.steps_max(self.sampled, k, upto=K_u),
        )
        parts = [(1, G_U - self.own), (1, self.own - self.g), (1, self.g), (1, N_U)]
        sample = r.chain(
            r.minkowski(*parts, *self.sam_part),
            r.lipschitz(A, A.local, self.turn),
            r.minkowski((1, A.local - V_NEXT - X_U), (1, X_U.dev())),
            drift,
            r.diversity(A, self.turn),
            r.variance(A, N_U),
            *self.bounds_of_sam(),
        )
        # the largest stochastic gradient and the drift bound each other
        size = r.solve(r.largest(r.label(sample, "s")))  # as a < 1
        return r.chain(r.largest(drift), size), size

    def second(self, w: Weights) -> r.Fact:
        """Descent in u at the new v: E F(ubar', V') - E F(ubar, V')."""
        A = self.A
        drift, _ = self.shared()
        U, N = self.biased.mean().sum(K_u) * (1 / K_u), N_U.mean().sum(K_u)
        moved, disagreement = A.local - V_NEXT - X_U, X_U.dev()
        bias_of_step = r.chain(
            r.minkowski((1, G_U - self.own), *self.sam_part),
            r.lipschitz(A, A.local, self.turn),
            r.minkowski((1, moved), (1, disagreement)),
            *self.bounds_of_sam(),
        )
        bias = self.biased - self.own
        mean_bias = r.chain(
            r.minkowski((-1 / K_u, bias.mean().sum(K_u))),
            r.steps_max(bias.mean(), K_u),
            r.largest(r.mean_of(bias)),
            r.largest(bias_of_step),
        )
        noise = r.chain(r.clients(A, N_U), r.square(r.variance(A, N_U)))
        round_ = r.chain(
            r.descent(A, self.turn, U * (-eta_u * K_u) - N * eta_u),
            r.bilinear(self.g, (-eta_u * K_u, U), (-eta_u, N)),
            r.unbiased(A, self.g, N_U.mean()),
            r.polarization(self.g, U),
            r.young(w["noise"], (-eta_u * K_u, U), (-eta_u, N)),
            r.martingale(noise, K_u),
        )
        terms = (root(moved).at(steps="max"), root(disagreement), one("sam"))
        terms_of_drift = (root(disagreement), root(self.g), one("s"))
        return r.chain(
            r.weaken(round_, {sq(U): sp.S.Zero}),
            _square(mean_bias, terms, w["near"]),
            _square(drift, terms_of_drift, w["way"]),
        )

    def spread(self, w: Weights) -> r.Fact:
        """Bound the disagreement of u over the rounds.

        It is bounded by the start, the gradient and s.
        """
        A = self.A
        _, size = self.shared()
        steps = self.sampled.sum(K_u)
        sent = r.chain(
            r.minkowski((1, X_U.dev()), (-eta_u, steps.dev())),
            r.dev_of(steps),
            r.steps_max(self.sampled, K_u),
            size,
        )
        rounds = r.chain(r.convolution(r.chain(r.gossip(A), sent)), r.any_start(A))
        terms = (one("start"), root(self.g).at(rounds="mean"), one("s"))
        return _square(rounds, terms, w["spread"])

    def theorem(
        self,
        share_g: sp.Expr,
        share_d: sp.Expr,
        times: sp.Expr = sp.S.One,
        **w: Sequence[sp.Expr],
    ) -> r.Fact:
        """Sum both descents over the rounds, and solve for the squared gradients.

        Parameters
        ----------
        share_g, share_d : the factors of sq(g) and sq(d) in the theorem's left-hand
            side
        times : what the summed inequality is multiplied by
        w : the weights, as in ``WEIGHTS``
        """
        both = r.add((1, 1), self.first(w), self.second(w))
        summed = r.chain(r.telescope(self.A, both), self.spread(w))
        g, d = sq(self.g).at(rounds="mean"), sq(self.d).at(rounds="mean")
        kept = r.solve(summed, {g: share_g, d: share_d}, times)
        # on the right, the coefficients of sq(g) and sq(d), shares included, are at
        # most 0 by the conditions on a, b and 27 lam^2 chi^2 a b
        return r.weaken(kept, {g: sp.S.Zero, d: sp.S.Zero})

    def same_round(self, **w: Sequence[sp.Expr]) -> r.Fact:
        """Go from V^{t+1} to V^t.

        The shared gradient at V^t is bounded by that at V^{t+1} and by how far the
        personal part has moved.
        """
        A, moved = self.A, V_NEXT - X_V
        _, step = self.personal()
        at_start = A.grad(A.mean_model)
        change = at_start - self.own
        gradient = r.chain(
            r.minkowski((1, self.g), (1, change.mean())),
            r.mean_of(change),
            r.lipschitz(A, A.mean_model, self.turn),
            r.minkowski((-1, moved)),
        )
        gradient_sq = _square(gradient, (root(self.g), root(moved)), HALVES)
        step_sq = _square(step, (root(self.d), one("noise")), HALVES)
        over_rounds = r.average(r.chain(gradient_sq, step_sq), "t")
        theorem = self.theorem(1 / L_u, 1 / L_v, 4 / a, **w)
        times = sp.Max(2, 1 + sp.Rational(46, 10) * (s.chi * b) ** 2)
        both = r.add((1 / L_u, times), over_rounds, theorem)
        g, d = sq(self.g).at(rounds="mean"), sq(self.d).at(rounds="mean")
        g_at_start = sq(at_start.mean()).at(rounds="mean")
        # on the right, with c = 4/(1 - b)^2 <= 4.6 as b <= 1/16, sq(g) has (2 -
        # times)/L_u and sq(d) at most (1 + c (chi b)^2 - times)/L_v: both at most 0
        kept = r.solve(both, {g_at_start: 1 / L_u, d: 1 / L_v}, sp.S.One)
        return r.weaken(kept, {g: sp.S.Zero, d: sp.S.Zero})


lam, chi = s.lam, s.chi
A_, B_ = sp.Symbol("A", positive=True), sp.Symbol("b_", positive=True)
x, S_U = sp.Symbol("x", nonnegative=True), sp.Symbol("size", nonnegative=True)
# x = lam/(1 - lam), so that 1 - lam = 1/(1 + x); S_U is s
RANGES = (
    Range(x, lam / (1 - lam)),
    Range(A_, a / (1 - lam), high=sp.Rational(1, 32)),
    Range(B_, b, high=sp.Rational(1, 16)),
)
VALUES = {lam: x / (1 + x), eta_u: A_ / ((1 + x) * K_u * L_u), eta_v: B_ / (K_v * L_v)}
# theorem 1 has the same assumptions in the same words
GRANTS: dict[str, tuple[h.Hypothesis, ...]] = dict(
    zip(
        registry.get("dfedmdc.theorem_2", "corrected").assumptions,
        (
            (h.SMOOTH,),
            (h.UNBIASED, h.VARIANCE, h.INDEPENDENT),
            (h.SAMPLE_SMOOTH,),
            (h.DIVERSITY,),
            (h.KEPT, h.CONTRACTS),
            (h.BELOW,),
        ),
        strict=True,
    )
)


def scripts(number: int, proof: Proof) -> tuple[Script | Corollary, ...]:
    """Return the scripts of one of the two theorems, and of its rate."""
    name = f"dfedmdc.theorem_{number}"
    of_sam = L_u * s.rho if proof.sam else 0
    sizes = Range(S_U, s.sigma_u + s.delta_u + of_sam)
    x_range, A_range, B_range = RANGES

    def equal_steps(variant: str, prove: Callable[..., r.Fact]) -> Script:
        """Return a script for a = b."""
        return Script(
            f"{name}:{variant}",
            prove,
            GRANTS,
            ranges=(x_range, A_range, sizes),
            values={**VALUES, eta_v: A_ / ((1 + x) * K_v * L_v)},
            weights=WEIGHTS,
        )

    different_steps = Script(
        f"{name}:corrected_different_steps",
        partial(proof.theorem, a / (4 * L_u), b / (4 * L_v)),
        GRANTS,
        ranges=(x_range, A_range, B_range, sizes),
        values=VALUES,
        weights=WEIGHTS,
    )
    theorem = partial(proof.theorem, 1 / L_u, 1 / L_v, 4 / a)
    return (
        different_steps,
        equal_steps("corrected", theorem),
        equal_steps("corrected_same_round", proof.same_round),
        Corollary(f"dfedmdc.rate_theorem_{number}:corrected", f"{name}:corrected"),
    )


SCRIPTS = (
    *scripts(1, Proof("DFedMDC", sam=False)),
    *scripts(2, Proof("DFedSMDC", sam=True)),
)
