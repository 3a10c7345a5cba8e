"""Proof of DFedSGPSM's corollary 1 with T + 1 for T in the drift.

It follows from the sharper variant of Theorem 1, which the kernel proves, because dbar
is at most half of the sum at_before (:func:`half_of_path`). SymPy confirms the
identities of the comparison.
"""

from __future__ import annotations

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.proofs.comparison import check_registered
from dfltheory.proofs.moments import count, is_zero, lag
from validation.counterexamples.true_versions.version import (
    Missing,
    Name,
    other_runs,
    version,
)
from validation.papers.dfedsgpsm.proof import MOMENTUM, PARTIAL, SHARPER

K, L, eta = s.K, s.L, s.eta
R = sp.Rational


def weight(n: Expr) -> Expr:
    """Return c(n), the weight of a momentum step."""
    return MOMENTUM.weight.subs(lag, n)


def total(n: Expr) -> Expr:
    """Return A(n), the sum of n of the weights."""
    return MOMENTUM.total.subs(count, n)


def path(n: Expr) -> Expr:
    """Return P(n), the sum of c(n - j) A(j) over j < n."""
    return PARTIAL.subs(count, K).subs(K, n)


def sum_of_totals(n: Expr) -> Expr:
    """Return S(n) = A(0) + ... + A(n)."""
    return path(n + 1) - s.alpha * path(n)


def first(n: Expr) -> Expr:
    """Return n c(n+1) - A(n)."""
    return n * weight(n + 1) - total(n)


def second(n: Expr) -> Expr:
    """Return (n+1) A(n) - 2 S(n)."""
    return (n + 1) * total(n) - 2 * sum_of_totals(n)


def third(n: Expr) -> Expr:
    """Return A(n) A(n-1) - 2 P(n)."""
    return total(n) * total(n - 1) - 2 * path(n)


def half_of_path() -> dict[str, Expr]:
    """Return expressions that are 0, so that 2 path <= at at_before by induction.

    Each of the functions above is not negative: it is 0 at first, and its next value is
    a sum of products of what is not negative. Their recursions are

        first(n+1) = first(n) + (n+1) alpha^(n+1)
        second(n+1) = second(n) + first(n)
        third(n+1) = alpha third(n) + alpha A(n) c(n) + second(n)
    """
    alpha, zero = s.alpha, sp.S.Zero
    next_third = alpha * third(K) + alpha * total(K) * weight(K) + second(K)
    return {
        "c at first": weight(zero),
        "c": weight(K + 1) - weight(K) - alpha**K,
        "A at first": total(zero),
        "A": total(K + 1) - total(K) - weight(K + 1),
        "S at first": sum_of_totals(zero),
        "S": sum_of_totals(K + 1) - sum_of_totals(K) - total(K + 1),
        "first at first": first(zero),
        "first": first(K + 1) - first(K) - (K + 1) * alpha ** (K + 1),
        "second at first": second(zero),
        "second": second(K + 1) - second(K) - first(K),
        "third at first": third(sp.S.One),
        "third": third(K + 1) - next_third,
    }


SHARES = (R(1, 6), R(1, 3), R(1, 3), R(1, 6))
"""Weights of the consensus, the drift, SAM and the start, as in the corollary's proof.
"""


ROOT = "drift, consensus and sharpness"


def sum_of_squares() -> Expr:
    """Return an expression that is 0, so that (sum x_j)^2 <= sum x_j^2/w_j."""
    x = sp.symbols("x:4", real=True)
    pairs = [(i, j) for i in range(4) for j in range(i)]
    squares = sp.Add(*(x[j] ** 2 / SHARES[j] for j in range(4)))
    gaps = []
    for i, j in pairs:
        gap = x[i] / SHARES[i] - x[j] / SHARES[j]
        gaps.append(SHARES[i] * SHARES[j] * gap**2)
    return squares - sp.Add(*x) ** 2 - sp.Add(*gaps)


def from_sharper(statement: Theorem, source: Theorem) -> dict[str, Expr]:
    """Return expressions that are 0, so that the source implies a version.

    The root in the source is a sum of four terms x_j. Its square is at most the sum of
    x_j^2/w_j, which are terms of the version, except that the version has at_before^2
    T/(T + 1) for dbar^2. As at_before = 2 dbar + rest, with rest >= 0, and T >= 1, this
    is no less.
    """
    given = {str(d.symbol): d.symbol for d in source.definitions}
    G, at, dbar = given["G"], given["at"], given["dbar"]
    of_version = {str(d.symbol): d for d in statement.definitions}
    of_source = {str(d.symbol): d for d in source.definitions}
    schedule = {eta: statement.schedule["eta"], s.rho: statement.schedule["rho"]}
    T, delta, gap = s.T, s.delta, 1 - s.q
    of_start = sp.sqrt(s.x0_spread) * sp.sqrt(1 / (1 - s.q**2))
    x = (
        G * at * eta * s.q / (delta * gap),
        G * dbar * eta / delta,
        s.rho,
        of_start / (sp.sqrt(T) * sp.sqrt(delta)),
    )
    squares = [
        (L**2 * x_j**2 / share).subs(schedule)
        for x_j, share in zip(x, SHARES, strict=True)
    ]
    parts = statement.parts
    rest = sp.Symbol("rest", nonnegative=True)
    drift = parts["drift"].subs(of_version["at_before"].symbol, 2 * dbar + rest)
    # not negative, as T >= 1
    more = ((3 * T - 1) * dbar**2 + 4 * T * dbar * rest + T * rest**2) / (T + 1)
    (condition,), (of_corollary,) = source.conditions, statement.conditions
    used = (condition.left / condition.right).subs(schedule)
    same = {
        f"{name} means the same": of_version[name].expr
        - of_source[name].expr.subs(schedule)
        for name in ("at", "sum_c2", "G")
    }
    return same | {
        "dbar": of_source["dbar"].expr * total(K) - path(K),
        "at": of_version["at"].expr - total(K),
        "at_before": of_version["at_before"].expr - total(K - 1),
        "the condition": of_corollary.slack / T - (1 - used) * (1 + used),
        "the root": L**2 * sp.Add(*x) ** 2 - source.parts[ROOT],
        "optimization": parts["optimization"]
        - source.parts["optimization"].subs(schedule),
        "noise": parts["noise"] - source.parts["noise"].subs(schedule),
        "consensus": parts["consensus"] - squares[0],
        "drift": drift - squares[1] - 3 * G**2 * more / (K**2 * T * delta**2),
        "sharpness": parts["sharpness"] - squares[2],
        "initialization": parts["initialization"] - squares[3],
        "the sum of squares": sum_of_squares(),
    }


def smaller_drift(name: Name) -> Missing:
    """Compare the version with T + 1 for T in the drift with the sharper theorem."""
    statement = version(name)
    source = registry.get("dfedsgpsm.theorem_1", "corrected_sharper")
    zeros = half_of_path() | from_sharper(statement, source)
    missing = [f"{what} is not 0" for what, expr in zeros.items() if not is_zero(expr)]
    if source.parts.keys() != {"optimization", "noise", ROOT}:
        missing.append(f"{source} has other terms")
    missing += other_runs(statement, source)
    return [*missing, *check_registered(SHARPER).missing]


PROOFS = {
    ("dfedsgpsm.corollary_1", "corrected", "T + 1 for T", "drift"): smaller_drift,
}
"""A function of the name of a version that returns what is not proved of it."""

__all__ = ["PROOFS"]
