"""The quantities in which the inequalities of DFedADMM's proofs are examined.

A box has the ranges of new quantities, and the theorem's quantities in terms of them.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import symbols as s
from dfltheory.proofs.script import Range
from validation.papers.dfedadmm.algorithm import BEFORE, THETA, WEIGHTS, L, pen, share
from validation.papers.dfedadmm.notation import gamma

# gamma_ is gamma: the kernel shows that it is positive, as its first weight is positive
ratio, c, gamma_ = sp.symbols("r c gamma", positive=True)
R_RANGE = (
    Range(ratio, share, high=sp.S.One),
    Range(gamma_, WEIGHTS.meanings[gamma], high=sp.S.One),
)
ANY = (R_RANGE, {s.eta: ratio * pen})
SMALL = (
    (Range(c, L * pen, high=sp.Rational(1, 2)), *R_RANGE),
    {s.eta: ratio * c / L, pen: c / L},
)
BELOW_ONE = (
    (Range(c, L * pen / (1 - L * pen)), *R_RANGE),
    {s.eta: ratio * c / (1 + c) / L, pen: c / (1 + c) / L},
)
drift_, offset = sp.symbols("a_ y_", nonnegative=True)
consensus_, v, z = sp.symbols("q_ v z", nonnegative=True)
WITHOUT = (
    (
        Range(c, L * pen, high=sp.Rational(1, 4)),
        *R_RANGE,
        Range(offset, L * pen * THETA, high=sp.Rational(1, 4)),
        Range(drift_, L * pen * BEFORE, high=sp.Rational(1, 32)),
        Range(consensus_, L * pen * s.lam / (1 - s.lam), high=sp.Rational(1, 8)),
        Range(v, s.sigma_l + L * s.rho),
        Range(z, s.sigma_g + L * s.rho),
    ),
    {
        s.eta: ratio * c / L,
        pen: c / L,
        gamma: c / (c + offset),
        BEFORE: drift_ / c,
        s.lam: consensus_ / (c + consensus_),
        s.sigma_l: v - L * s.rho,
        s.sigma_g: z - L * s.rho,
    },
)
Box = tuple[tuple[Range, ...], dict[sp.Symbol, sp.Expr]]
"""Ranges of new quantities, and the theorem's quantities as formulas in them.

In all, ratio is eta/lam_admm <= 1 and gamma <= 1.

- ANY: any penalty
- SMALL: c = L lam_admm <= 1/2
- BELOW_ONE: c = L lam_admm/(1 - L lam_admm), where L lam_admm < 1
- WITHOUT bounded gradients (B2): c = L lam_admm <= 1/4, offset = L lam_admm theta,
  drift_ = L lam_admm p and consensus_ = L lam_admm lam/(1 - lam)
"""
