"""Proofs of versions of DFedMDC's theorems 1 and 2.

They are those of :mod:`validation.papers.dfedmdc.proof` with other weights in Young's
inequality; the theorems at the same round have other proofs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs import kernel as r
from dfltheory.proofs.comparison import check
from dfltheory.proofs.moments import one, root, sq
from dfltheory.proofs.script import Range, Script
from validation.counterexamples.true_versions.version import Missing, Name, version
from validation.papers.dfedmdc import proof as mdc

START = "initialization"
DIFFERENT, SAME = "corrected_different_steps", "corrected_same_round"
HORIZON, WEAKER = "T + 1 for T", "a condition weakened by 2"


def _rational(*texts: str) -> tuple[sp.Rational, ...]:
    return tuple(map(sp.Rational, texts))


# -- DFedMDC: other weights in Young's inequality

MORE_FOR_THE_START = {
    **mdc.WEIGHTS,
    "near": _rational("3/25", "41/75", "1/3"),
    "way": _rational("1/8", "1/8", "3/4"),
    "spread": _rational("13/20", "17/100", "9/50"),
}
"""Weights with which the initialization is at most half of the registered term.

The disagreement at the start has a larger weight; the drift and the gradient, whose
terms have slack, have smaller ones.
"""


def _proof_of(number: int) -> mdc.Proof:
    """Return the proof of theorem 1, without SAM, or 2, with SAM."""
    return mdc.Proof("DFedSMDC" if number == 2 else "DFedMDC", sam=number == 2)


def _sizes(number: int) -> Range:
    """Return the range of s."""
    of_sam = mdc.L_u * s.rho if number == 2 else 0
    return Range(mdc.S_U, s.sigma_u + s.delta_u + of_sam)


def different_steps(name: Name, weights: mdc.Weights) -> Missing:
    """Prove a version of one of the theorems with different steps by other weights."""
    number = int(name[0][-1])
    prove = partial(
        _proof_of(number).theorem, mdc.a / (4 * mdc.L_u), mdc.b / (4 * mdc.L_v)
    )
    script = Script(
        ":".join(name[:2]),
        prove,
        mdc.GRANTS,
        ranges=(*mdc.RANGES, _sizes(number)),
        values=mdc.VALUES,
        weights=weights,
    )
    return [*check(version(name), script).missing]


def equal_steps(name: Name, weights: mdc.Weights) -> Missing:
    """Prove a version of one of the theorems with a = b by other weights."""
    number = int(name[0][-1])
    prove = partial(_proof_of(number).theorem, 1 / mdc.L_u, 1 / mdc.L_v, 4 / mdc.a)
    x_range, a_range, _ = mdc.RANGES
    b_value = mdc.A_ / ((1 + mdc.x) * mdc.K_v * mdc.L_v)
    script = Script(
        ":".join(name[:2]),
        prove,
        mdc.GRANTS,
        ranges=(x_range, a_range, _sizes(number)),
        values={**mdc.VALUES, mdc.eta_v: b_value},
        weights=weights,
    )
    return [*check(version(name), script).missing]


# -- DFedMDC at the same round, where b is between a/2 and a

TO_START = _rational("3/10", "7/10")
"""Weights of the shared gradient at V^{t+1}, and of how far the personal part moves."""
STEP = _rational("13/20", "7/20")
"""Weights of the personal gradient and of the noise in a personal step."""


def same_round(proof: mdc.Proof, **w: Sequence[sp.Expr]) -> r.Fact:
    """Bound the gradients at V^t for a/2 <= b <= a.

    Unlike :meth:`.Proof.same_round` it leaves the coefficients of the squared gradients
    as they are until the end. The descent gives twice the shared gradient that is
    needed there, and the personal one needs less than it gives, so that b = a/2
    suffices.
    """
    A, moved = proof.A, mdc.V_NEXT - mdc.X_V
    _, step = proof.personal()
    at_start = A.grad(A.mean_model)
    change = at_start - proof.own
    gradient = r.chain(
        r.minkowski((1, proof.g), (1, change.mean())),
        r.mean_of(change),
        r.lipschitz(A, A.mean_model, proof.turn),
        r.minkowski((-1, moved)),
    )
    of_gradient = dict(zip((root(proof.g), root(moved)), TO_START, strict=True))
    of_step = dict(zip((root(proof.d), one("noise")), STEP, strict=True))
    squares = r.chain(r.square(gradient, of_gradient), r.square(step, of_step))
    both = r.add((1, 1), proof.first(w), proof.second(w))
    summed = r.chain(r.telescope(A, both), proof.spread(w))
    times = sp.Max(2, 1 + sp.Rational(46, 10) * (s.chi * mdc.b) ** 2)
    factors = (1 / mdc.L_u, 4 * times / mdc.a)
    whole = r.add(factors, r.average(squares, "t"), summed)
    g, d = sq(proof.g).at(rounds="mean"), sq(proof.d).at(rounds="mean")
    g_at_start = sq(at_start.mean()).at(rounds="mean")
    kept = r.solve(whole, {g_at_start: 1 / mdc.L_u, d: 1 / mdc.L_v}, sp.S.One)
    return r.weaken(kept, {g: sp.S.Zero, d: sp.S.Zero})


def half_as_large(name: Name) -> Missing:
    """Prove the version of theorem 1 at the same round with a/2 <= b in place of a."""
    excess = sp.Symbol("y", nonnegative=True)  # b = a (1 + y)/2
    x_range, a_range, _ = mdc.RANGES
    b_value = mdc.A_ * (1 + excess) / (2 * (1 + mdc.x) * mdc.K_v * mdc.L_v)
    script = Script(
        ":".join(name[:2]),
        partial(same_round, _proof_of(1)),
        mdc.GRANTS,
        ranges=(
            x_range,
            a_range,
            Range(excess, 2 * mdc.b / mdc.a - 1, high=sp.S.One),
            _sizes(1),
        ),
        values={**mdc.VALUES, mdc.eta_v: b_value},
        weights=mdc.WEIGHTS,
    )
    return [*check(version(name), script).missing]


# -- noise of the personal part, as a martingale


class MartingaleProof(mdc.Proof):
    """The theorems' proof in which the noises of a personal step are orthogonal.

    The registered proof adds the roots of the K_v noises. Their sum, of all steps or of
    those before a step, has at most the root sqrt(K_v) sigma_v. With it, sigma_v^2/K_v
    takes the place of sigma_v^2 in all that the two facts below bound.
    """

    def personal(self) -> tuple[r.Fact, r.Fact]:
        """Bound the change of the personal gradient, and the personal step of a round.

        Both are bounded by the gradient d at the start of the round and the noise.
        """
        A, size_of_step = self.A, -mdc.eta_v
        noise = r.square(r.variance(A, mdc.N_V))
        all_noises = r.martingale(noise, mdc.K_v)
        earlier = r.weaken(r.largest_martingale(noise), dict(all_noises.right))
        gradients, noises = mdc.G_V.sum(mdc.k), mdc.N_V.sum(mdc.k)
        bent = r.chain(
            r.lipschitz(A, A.personal, mdc.X_U + mdc.X_V, "v"),
            r.minkowski((size_of_step, gradients), (size_of_step, noises)),
            r.steps_max(mdc.G_V, mdc.k, upto=mdc.K_v),
        )
        bent_most = r.chain(r.largest(bent), r.take_root(earlier))
        sample = r.minkowski((1, mdc.G_V - self.d), (1, self.d))
        # the largest gradient and the change bound each other
        size = r.solve(r.chain(r.largest(sample), bent_most))  # as b < 1
        step = r.chain(
            r.minkowski(
                (size_of_step, mdc.G_V.sum(mdc.K_v)),
                (size_of_step, mdc.N_V.sum(mdc.K_v)),
            ),
            r.steps_max(mdc.G_V, mdc.K_v),
            size,
            r.take_root(all_noises),
        )
        return r.chain(bent_most, size), step


def noise_of_steps(name: Name) -> Missing:
    """Prove the version of theorem 2 at the same round with sigma_v^2/K_v."""
    x_range, a_range, _ = mdc.RANGES
    script = Script(
        ":".join(name[:2]),
        MartingaleProof("DFedSMDC", sam=True).same_round,
        mdc.GRANTS,
        ranges=(x_range, a_range, _sizes(2)),
        values={**mdc.VALUES, mdc.eta_v: mdc.A_ / ((1 + mdc.x) * mdc.K_v * mdc.L_v)},
        weights=mdc.WEIGHTS,
    )
    return [*check(version(name), script).missing]


COUPLING = "27 lam^2 chi^2 a b <= (1 - lam)^2"
PROOFS = {
    ("dfedmdc.theorem_1", DIFFERENT, HORIZON, START): partial(
        different_steps, weights=MORE_FOR_THE_START
    ),
    ("dfedmdc.theorem_1", DIFFERENT, WEAKER, COUPLING): partial(
        different_steps, weights=mdc.WEIGHTS
    ),
    ("dfedmdc.theorem_1", SAME, WEAKER, "a <= b"): half_as_large,
    (
        "dfedmdc.theorem_2",
        SAME,
        "a lost K",
        "noise of the personal part",
    ): noise_of_steps,
    ("dfedmdc.theorem_2", "corrected", HORIZON, START): partial(
        equal_steps, weights=MORE_FOR_THE_START
    ),
    ("dfedmdc.theorem_2", DIFFERENT, "1 - lam^2 for 1 - lam", START): partial(
        different_steps, weights=MORE_FOR_THE_START
    ),
}
"""Functions of the name of a version that return what is not proved of it."""

__all__ = ["PROOFS"]
