"""EXTRA's Theorem 3.5, typed from the formal statement: nothing here knows SymPy or the
package.

"0 < alpha < 2 lambda_min(W~)/L_f", "(1/k) sum_{t=1}^k ||U x^t||_F^2 = O(1/k)"; W~ = (I
+ W)/2.
"""

from __future__ import annotations


def theorem_3_5(T, **_):
    return {"optimization": T**-1}


def conditions(eta, L, lam_min, mu_each, sigma_l, **_):
    half = (1 + lam_min) / 2
    return [(L * eta, 2 * half), (2 * sigma_l, sigma_l), (mu_each, L)]


KEY = "shi2015.theorem_3_5", "printed"
TERMS, CONDITIONS, SCHEDULES = {KEY: theorem_3_5}, {KEY: conditions}, {}
LABELS = {
    "Algorithm 1": ("algorithms:EXTRA",),
    "Theorem 3.5 (3)": ("shi2015.theorem_3_5:printed",),
}
