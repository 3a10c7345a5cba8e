"""DIGing's Theorem 10, typed from the formal statement: nothing here knows SymPy or the
package.

"alpha <= 1.5 (sqrt(J_1^2 + (1 - delta^2) J_1) - delta J_1)^2/(mubar J_1 (J_1 + 1)^2)",
"lambda = (1 - alpha mubar/1.5)^(1/(2B))", "J_1 = 3 kappabar B^2 (1 + 4 sqrt(n)
sqrt(kappabar))", "||x(k) - 1 (x*)'||_F <= C lambda^k"; B = 1.
"""

from __future__ import annotations


def theorem_10(T, eta, mu_each, **_):
    rate = (1 - eta * mu_each / 1.5) ** (1 / 2)
    return {"optimization": (rate**T) ** 2}


def conditions(m, eta, L, lam, mu_each, sigma_l, **_):
    condition_number = L / mu_each
    J = 3 * condition_number * (1 + 4 * m**0.5 * condition_number**0.5)
    split = (
        1.5
        * ((J**2 + (1 - lam**2) * J) ** 0.5 - lam * J) ** 2
        / (mu_each * J * (J + 1) ** 2)
    )
    return [
        (mu_each * eta, mu_each * split),
        (2 * sigma_l, sigma_l),
        (mu_each / 2, mu_each),
        (mu_each, L),
    ]


KEY = "nedic2017.theorem_10", "printed"
TERMS, CONDITIONS, SCHEDULES = {KEY: theorem_10}, {KEY: conditions}, {}
LABELS = {
    "Algorithm 1": ("algorithms:DSGT",),
    "Theorem 10": (
        "nedic2017.theorem_10:printed",
        "nedic2017.theorem_10:printed@every $f_i$",
    ),
}
