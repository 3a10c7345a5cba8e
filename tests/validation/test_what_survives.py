"""Rates that survive according to the errata: those of the corrected statements,
evaluated numerically.
"""

from __future__ import annotations

import numpy as np

from dfltheory import bounds

CONSTANTS = {"m": 4, "Q": 1, "rho0": 1, "L": 1, "sigma_l": 1, "sigma_g": 1, "f0_gap": 1}


def ratio_to_abstract(K, lam, T):
    """Return the corrected Corollary 4.6 divided by 1/sqrt(K T)."""
    corollary = bounds.get("dfedsam.corollary_4_6", variant="corrected")
    return corollary.evaluate(K=K, lam=lam, T=T, **CONSTANTS) * np.sqrt(K * T)


def test_rates_of_the_dfedsam_abstract_survive_from_the_stated_round_on():
    for K in (1, 4, 64):
        for lam in (0.0, 0.5, 0.99, 0.9999):
            T = np.ceil(64 * K**3 / (1 - lam) ** 4)
            assert ratio_to_abstract(K, lam, T) < 50


def test_fewer_rounds_do_not_suffice():
    K, lams = 1, np.array([0.9, 0.99, 0.999])
    ratios = [
        ratio_to_abstract(K, lam, np.ceil(64 * K / (1 - lam) ** 2)) for lam in lams
    ]
    assert (np.diff(np.log10(ratios)) > 0.9).all()
