"""Theorem M of DFedMDC and DFedSMDC as a script of the kernel.

A call applies a rule. The last fact implies the theorem.

A round moves the personal parts v at the clients' u_i, then the shared parts u at the
new v, and mixes u. As on paper, but <d + e, d + f> is expanded exactly, which halves
the room that the personal part's step needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    Algorithm,
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
    "bend": HALVES,
    "step": HALVES,
    "noise": HALVES,
    "near": THIRDS,
    "way": THIRDS,
    "spread": tuple(sp.Rational(n, 4) for n in (2, 1, 1)),
}
"""Of the squares: of the personal gradients' bend and of the personal step the gradient
and the noise; of the shared mean step its mean and its noise; of what bends the shared
gradients the drift, the disagreement and SAM; of the drift the disagreement, the
gradient and the samples; of the disagreement the start and the last two.
"""
V_STEP, V_NEXT = X_V - (G_V + N_V).sum(k) * eta_v, X_V - (G_V + N_V).sum(K_v) * eta_v


def _among(
    terms: Sequence[Moment], weights: Sequence[sp.Expr]
) -> dict[Moment, sp.Expr]:
    return dict(zip(terms, weights, strict=True))


class Proof:
    """One round of DFedMDC, or of DFedSMDC where SAM steps by rho, and its proof."""

    def __init__(self, name: str, sam: bool):
        self.sam, self.sampled = sam, G_U + N_U + E_U if sam else G_U + N_U
        self.biased = G_U + E_U if sam else G_U
        self.A = A = Algorithm(
            name,
            X_U - self.sampled.sum(k) * eta_u + V_NEXT,
            X_U - self.sampled.sum(K_u) * eta_u,
            X_U.mean() + X_V,
            personal=X_U + V_STEP,
            kept=V_NEXT,
        )
        self.turn = X_U.mean() + V_NEXT
        self.own, self.g, self.d = (
            A.grad(self.turn),
            A.full(self.turn),
            A.grad(X_U + X_V, "v"),
        )

    def personal(self) -> tuple[r.Fact, r.Fact]:
        """Bound the bend of the gradient at step k, and the step of a round.

        Both are bounded by the gradient and the noise.
        """
        A = self.A
        drift = r.chain(
            r.minkowski((-eta_v, (G_V + N_V).sum(k))),
            r.steps_max(G_V + N_V, k, upto=K_v),
        )
        bent = r.chain(r.lipschitz(A, A.personal, X_U + X_V, "v"), drift)
        whole = r.chain(
            r.minkowski((1, G_V - self.d), (1, self.d), (1, N_V)),
            bent,
            r.variance(A, N_V),
        )
        size = r.solve(r.largest(whole))
        step = r.chain(
            r.minkowski((-eta_v, (G_V + N_V).sum(K_v))),
            r.steps_max(G_V + N_V, K_v),
            size,
        )
        return r.chain(r.largest(bent), size), step

    def first(self, w: Weights) -> r.Fact:
        """Descent in v at the mean of u: E F(ubar, V') - E F(ubar, V)."""
        A, d = self.A, self.d
        e, f = A.grad(self.A.mean_model, "v"), (G_V - d).sum(K_v) * (1 / K_v)
        bent, step = self.personal()
        terms = (root(d), one("noise"))
        far = r.chain(
            r.minkowski((1 / K_v, (G_V - d).sum(K_v))), r.steps_max(G_V - d, K_v), bent
        )
        round_ = r.chain(
            r.descent(A, A.mean_model, V_NEXT - X_V),
            r.bilinear(e, (-eta_v * K_v, d), (eta_v * K_v, -f), (-eta_v, N_V.sum(K_v))),
            r.unbiased(A, e, N_V),
            r.polarization(e, d),
            r.polarization(e, -f),
            r.square(
                r.chain(
                    r.lipschitz(A, A.mean_model, X_U + X_V, "v"),
                    r.minkowski((-1, X_U.dev())),
                )
            ),
            r.young((1,), (-1, f)),
            r.square(far, _among(terms, w["bend"])),
            r.square(step, _among(terms, w["step"])),
        )
        return r.weaken(round_, {sq(e + f): sp.S.Zero})

    def shared(self) -> tuple[r.Fact, r.Fact]:
        """Bound the drift of the shared part, and the largest sample.

        Both are bounded by the disagreement, gradient and noise.
        """
        A, apart = self.A, r.lipschitz(self.A, self.A.local, self.turn)
        drift = r.chain(
            r.minkowski((-eta_u, self.sampled.sum(k))),
            r.steps_max(self.sampled, k, upto=K_u),
        )
        parts = [(1, G_U - self.own), (1, self.own - self.g), (1, self.g), (1, N_U)]
        more = [apart, r.minkowski((1, A.local - V_NEXT - X_U), (1, X_U.dev())), drift]
        more += [
            r.diversity(A, self.turn),
            r.variance(A, N_U),
            *([r.sam(A, E_U)] if self.sam else []),
        ]
        whole = r.label(
            r.chain(r.minkowski(*parts, *([(1, E_U)] if self.sam else [])), *more), "s"
        )
        size = r.solve(r.largest(whole))
        return r.chain(r.largest(drift), size), size

    def second(self, w: Weights) -> r.Fact:
        """Descent in u at the new v: E F(ubar', V') - E F(ubar, V')."""
        A, drift = self.A, self.shared()[0]
        U, N = self.biased.mean().sum(K_u) * (1 / K_u), N_U.mean().sum(K_u)
        moved = A.local - V_NEXT - X_U
        near = r.chain(
            r.minkowski((1, G_U - self.own), *([(1, E_U)] if self.sam else [])),
            r.lipschitz(A, A.local, self.turn),
            r.minkowski((1, moved), (1, X_U.dev())),
            *([r.sam(A, E_U)] if self.sam else []),
        )
        bias = self.biased - self.own
        far = r.chain(
            r.minkowski((-1 / K_u, bias.mean().sum(K_u))),
            r.steps_max(bias.mean(), K_u),
            r.largest(r.mean_of(bias)),
            r.largest(near),
        )
        terms = (root(moved).at(steps="max"), root(X_U.dev()), one("sam"))
        wide = r.square(
            drift, _among((root(X_U.dev()), root(self.g), one("s")), w["way"])
        )
        return r.chain(
            r.weaken(
                r.chain(
                    r.descent(A, self.turn, U * (-eta_u * K_u) - N * eta_u),
                    r.bilinear(self.g, (-eta_u * K_u, U), (-eta_u, N)),
                    r.unbiased(A, self.g, N_U.mean()),
                    r.polarization(self.g, U),
                    r.young(w["noise"], (-eta_u * K_u, U), (-eta_u, N)),
                    r.martingale(
                        r.chain(r.clients(A, N_U), r.square(r.variance(A, N_U))), K_u
                    ),
                ),
                {sq(U): sp.S.Zero},
            ),
            r.square(far, _among(terms, w["near"])),
            wide,
        )

    def spread(self, w: Weights) -> r.Fact:
        """Bound the disagreement of u over the rounds.

        It is bounded by the start, the gradient and the noise.
        """
        A, size = self.A, self.shared()[1]
        sent = r.chain(
            r.minkowski((1, X_U.dev()), (-eta_u, self.sampled.sum(K_u).dev())),
            r.dev_of(self.sampled.sum(K_u)),
            r.steps_max(self.sampled, K_u),
            size,
        )
        rounds = r.chain(r.convolution(r.chain(r.gossip(A), sent)), r.any_start(A))
        terms = (one("start"), root(self.g).at(rounds="mean"), one("s"))
        return r.square(rounds, _among(terms, w["spread"]))

    def theorem(
        self,
        share_g: sp.Expr,
        share_d: sp.Expr,
        times: sp.Expr = sp.S.One,
        **w: Sequence[sp.Expr],
    ) -> r.Fact:
        """Return both descents, summed over the rounds.

        These shares of the gradients' squares are kept.
        """
        both = r.add((1, 1), self.first(w), self.second(w))
        summed = r.chain(r.telescope(self.A, both), self.spread(w))
        g, d = (sq(v).at(rounds="mean") for v in (self.g, self.d))
        kept = r.solve(summed, {g: share_g, d: share_d}, times)
        return r.weaken(kept, {g: sp.S.Zero, d: sp.S.Zero})

    def same_round(self, **w: Sequence[sp.Expr]) -> r.Fact:
        """Go from V^{t+1} to V^t.

        The shared gradient there is bounded by how far the personal part has moved.
        """
        A, step, moved = self.A, self.personal()[1], V_NEXT - X_V
        at_start = A.grad(A.mean_model)
        far = r.chain(
            r.minkowski((1, self.g), (1, (at_start - self.own).mean())),
            r.mean_of(at_start - self.own),
            r.lipschitz(A, A.mean_model, self.turn),
            r.minkowski((-1, moved)),
        )
        halves = r.square(far, _among((root(self.g), root(moved)), HALVES))
        taken = r.square(step, _among((root(self.d), one("noise")), HALVES))
        near = r.average(r.chain(halves, taken), "t")
        most = sp.Max(2, 1 + sp.Rational(46, 10) * (s.chi * b) ** 2)
        both = r.add((1 / L_u, most), near, self.theorem(1 / L_u, 1 / L_v, 4 / a, **w))
        g, d, here = (
            sq(v).at(rounds="mean") for v in (self.g, self.d, at_start.mean())
        )
        return r.weaken(
            r.solve(both, {here: 1 / L_u, d: 1 / L_v}, sp.S.One),
            {g: sp.S.Zero, d: sp.S.Zero},
        )


lam, chi = s.lam, s.chi
A_, B_ = sp.Symbol("A", positive=True), sp.Symbol("b_", positive=True)
x, SIZE = sp.Symbol("x", nonnegative=True), sp.Symbol("size", nonnegative=True)
RANGES = (
    Range(x, lam / (1 - lam)),
    Range(A_, a / (1 - lam), high=sp.Rational(1, 32)),
    Range(B_, b, high=sp.Rational(1, 16)),
)
VALUES = {lam: x / (1 + x), eta_u: A_ / ((1 + x) * K_u * L_u), eta_v: B_ / (K_v * L_v)}
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
    """Theorem M for one of the two algorithms, and its rate."""
    name = f"dfedmdc.theorem_{number}"
    sizes = Range(SIZE, s.sigma_u + s.delta_u + (L_u * s.rho if proof.sam else 0))
    part, whole = (a / (4 * L_u), b / (4 * L_v)), (1 / L_u, 1 / L_v, 4 / a)
    equal = (*RANGES[:2], sizes), {**VALUES, eta_v: A_ / ((1 + x) * K_v * L_v)}
    made = {
        "corrected_different_steps": (
            partial(proof.theorem, *part),
            (*RANGES, sizes),
            VALUES,
        ),
        "corrected": (partial(proof.theorem, *whole), *equal),
        "corrected_same_round": (proof.same_round, *equal),
    }
    return (
        *(
            Script(f"{name}:{v}", prove, GRANTS, *box, weights=WEIGHTS)
            for v, (prove, *box) in made.items()
        ),
        Corollary(f"dfedmdc.rate_theorem_{number}:corrected", f"{name}:corrected"),
    )


SCRIPTS = (
    *scripts(1, Proof("DFedMDC", sam=False)),
    *scripts(2, Proof("DFedSMDC", sam=True)),
)
