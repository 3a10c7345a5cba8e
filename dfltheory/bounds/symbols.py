"""The glossary: one name for each quantity in all papers.

It is immutable. A theorem adds quantities by ``Theorem.quantities``; they exist only in
that theorem. Read a symbol as an attribute::

    >>> from dfltheory.bounds import symbols as s
    >>> s.L * s.eta
    L*eta
    >>> s.GLOSSARY["lam"].meaning
    'contraction of the mixing matrix, max(|lambda_2|, |lambda_m|); psi in DFedADMM'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType

import sympy as sp

from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.units import ONE, unit
from dfltheory.errors import InputError

GRADIENT = unit(f=1, x=-1)
GRADIENT_SQ = GRADIENT**2
CURVATURE = unit(f=1, x=-2)
STEP = unit(f=-1, x=2)
LENGTH = unit(x=1)
LENGTH_SQ = unit(x=2)
VALUE = unit(f=1)


def _count(
    name: str, meaning: str, latex: str | None = None, neutral: float | None = None
) -> Quantity:
    return Quantity(
        name, latex or name, ONE, meaning, low=1, integer=True, neutral=neutral
    )


_positive = partial(Quantity, open_low=True)
_step = partial(Quantity, open_low=True, step=True)
_contraction = partial(Quantity, unit=ONE, high=1, open_high=True)
BEFORE_STEP = "the personal parts V^t"
"""The point of a two-block gradient at the personal parts before their local steps."""
AFTER_STEP = "the personal parts V^(t+1)"
"""The point of a two-block gradient at the personal parts after their local steps."""
_V_GRADIENT = unit(f=1, v=-1)
_MIXED = unit(f=1, x=-1, v=-1)

_ENTRIES = (
    # -- the algorithm
    _count("m", "clients; n in DFedSGPSM"),
    _count("K", "local steps"),
    _count("T", "communication rounds"),
    _count("Q", "gossip steps per round", neutral=1.0),
    _step("eta", r"\eta", STEP, "local step size; eta_l in DFedADMM and DFedSGPSM"),
    Quantity("rho", r"\rho", LENGTH, "SAM radius", neutral=0.0),
    Quantity(
        "rho0",
        r"\rho_0",
        LENGTH,
        "SAM radius of a schedule: rho = rho0/sqrt(T)",
        neutral=0.0,
    ),
    _contraction("alpha", r"\alpha", meaning="local momentum", neutral=0.0),
    Quantity(
        "omega",
        r"\omega",
        ONE,
        "compression: E||C(x) - x||^2 <= (1 - omega) ||x||^2",
        high=1,
        open_low=True,
    ),
    _step(
        "lam_admm", r"\lambda_{\mathrm{pen}}", STEP, "penalty of DFedADMM; lambda there"
    ),
    # -- the objective
    _positive("L", "L", CURVATURE, "smoothness of every f_i"),
    Quantity("sigma_l", r"\sigma_l", GRADIENT, "local noise, root mean square"),
    Quantity(
        "sigma_g", r"\sigma_g", GRADIENT, "heterogeneity, root mean square over clients"
    ),
    Quantity("beta", r"\beta", GRADIENT, "heterogeneity, maximum over clients"),
    Quantity("B", "B", GRADIENT, "bound of every ||grad f_i||"),
    Quantity(
        "S2",
        "S^2",
        GRADIENT_SQ,
        "second moment of the stochastic gradients, mean over clients",
    ),
    Quantity("f0_gap", r"\Delta_0", VALUE, "f at the start minus its infimum"),
    Quantity("x0_sq", r"X_0", LENGTH_SQ, "mean over clients of ||x_i^0||^2"),
    Quantity(
        "x0_spread",
        r"\Xi_0",
        LENGTH_SQ,
        "mean over clients of ||x_i^0 - xbar^0||^2; of two blocks, of the shared part",
    ),
    # -- the network
    _contraction(
        "lam",
        r"\lambda",
        meaning=(
            "contraction of the mixing matrix, max(|lambda_2|, |lambda_m|); psi in"
            " DFedADMM"
        ),
    ),
    Quantity(
        "lam_min",
        r"\lambda_m",
        ONE,
        "least eigenvalue of a symmetric mixing matrix",
        low=-1,
        high=1,
    ),
    Quantity("delta", r"\delta", ONE, "least push-sum weight", high=1, open_low=True),
    _positive("C", "C", ONE, "push-sum consensus constant"),
    _contraction(
        "q", "q", meaning="push-sum contraction, of one round or over ``window`` rounds"
    ),
    _count(
        "window",
        "rounds over which push-sum contracts by q; 1: in every round",
        "B_w",
        neutral=1.0,
    ),
    # -- two blocks u (shared) and v (personal)
    _count("K_u", "local steps on the shared part", "K_u"),
    _count("K_v", "local steps on the personal part", "K_v"),
    _step("eta_u", r"\eta_u", STEP, "step size of the shared part"),
    _step("eta_v", r"\eta_v", unit(f=-1, v=2), "step size of the personal part"),
    _positive("L_u", "L_u", CURVATURE, "smoothness of grad_u F_i in u"),
    _positive("L_v", "L_v", unit(f=1, v=-2), "smoothness of grad_v F_i in v"),
    Quantity("L_uv", "L_{uv}", _MIXED, "smoothness of grad_u F_i in v"),
    Quantity("L_vu", "L_{vu}", _MIXED, "smoothness of grad_v F_i in u"),
    Quantity("chi", r"\chi", ONE, "max(L_uv, L_vu)/sqrt(L_u L_v)"),
    Quantity("sigma_u", r"\sigma_u", GRADIENT, "local noise of grad_u"),
    Quantity("sigma_v", r"\sigma_v", _V_GRADIENT, "local noise of grad_v"),
    Quantity(
        "delta_u", r"\delta_u", GRADIENT, "partial gradient diversity; delta in DFedMDC"
    ),
    # -- quantities of lemmas: means over clients along the run
    Quantity("t", "t", ONE, "index of a round, from 0", integer=True),
    Quantity(
        "G_x",
        r"G_x",
        GRADIENT_SQ,
        "(1/m) sum_i E||grad f(x_i^t)||^2; at z_i^t in DFedSGPSM",
    ),
    Quantity("G_bar", r"\bar G", GRADIENT_SQ, "E||grad f(xbar^t)||^2"),
    Quantity("G_w", r"G_w", GRADIENT_SQ, "E||grad f(w^t)||^2"),
    Quantity(
        "Xi", r"\Xi", LENGTH_SQ, "(1/m) sum_i E||x_i^t - xbar^t||^2; u_i^t in DFedMDC"
    ),
    Quantity(
        "D_u",
        r"\Delta_{\bar u}",
        GRADIENT_SQ,
        "E||grad_u F(ubar^t, V^t)||^2",
        point=BEFORE_STEP,
    ),
    Quantity(
        "D_v",
        r"\Delta_v",
        _V_GRADIENT**2,
        "(1/m) sum_i E||grad_v F_i(u_i^t, v_i^t)||^2",
    ),
    Quantity(
        "G_u",
        "G_u",
        GRADIENT_SQ,
        "(1/m) sum_i E||grad_u F(u_i^t, V^{t+1})||^2",
        point=AFTER_STEP,
    ),
    Quantity(
        "g_u",
        r"\tilde g",
        GRADIENT,
        "root of E||grad_u F(ubar^t, V^{t+1})||^2",
        point=AFTER_STEP,
    ),
    Quantity("kap", r"\kappa_t", LENGTH, "root of (1/m) sum_i E||u_i^t - ubar^t||^2"),
    Quantity(
        "drift",
        "E",
        LENGTH_SQ,
        "(1/(m K)) sum_i sum_k E||y_i^{t,k} - xbar^t||^2, k = 0..K-1",
    ),
    Quantity(
        "bias", "R", GRADIENT_SQ, "E||grad f - what the mean step estimates it by||^2"
    ),
    Quantity(
        "drift_u",
        "D_u^t",
        LENGTH_SQ,
        "(1/m) sum_i sum_k E||u_i^{t,k} - ubar^t||^2, k = 0..K_u-1",
    ),
    Quantity("step_u", "S_u^t", LENGTH_SQ, "E||ubar^{t+1} - ubar^t||^2"),
    Quantity("step_v", "S_v^t", unit(v=2), "(1/m) sum_i E||v_i^{t+1} - v_i^t||^2"),
    Quantity(
        "push",
        "h",
        LENGTH,
        "largest norm of what a client's local steps of one round move it by",
    ),
    _positive("young", "a", ONE, "parameter of Young's inequality"),
)

OF_ONE_ROUND = frozenset(
    [
        "t",
        "G_x",
        "G_bar",
        "G_w",
        "Xi",
        "D_u",
        "D_v",
        "G_u",
        "g_u",
        "kap",
        "drift",
        "drift_u",
        "bias",
        "step_u",
        "step_v",
        "push",
        "dist_now",
        "gap_now",
    ]
)
"""Quantities with another value in each round. A bound that contains one is another
bound in each round.
"""

_CONVEX = (
    Quantity("mu", r"\mu", CURVATURE, "strong convexity of f; 0: it is convex"),
    Quantity(
        "mu_each",
        r"\mu_{\mathrm{each}}",
        CURVATURE,
        "strong convexity of every f_i; 0: they are convex",
    ),
    Quantity(
        "x_star_sq", r"\Delta_\star", LENGTH_SQ, "E||x^0 - x*||^2, x* a minimizer of f"
    ),
    Quantity(
        "sigma_star",
        r"\sigma_\star",
        GRADIENT,
        "root of (1/m) sum_i ||grad f_i(x*)||^2",
    ),
    Quantity("dist_now", r"r_t^2", LENGTH_SQ, "||xbar^t - x*||^2, x* a minimizer of f"),
    Quantity("gap_now", r"D_t", VALUE, "f(xbar^t) - f*"),
    _positive(
        "offset", r"\gamma", ONE, "step s of the run has eta offset/(offset + s)"
    ),
    Quantity(
        "Gamma", r"\Gamma", VALUE, "f* minus the mean of the clients' own minima f_i*"
    ),
)

GLOSSARY: Mapping[str, Quantity] = MappingProxyType(
    {entry.name: entry for entry in (*_ENTRIES, *_CONVEX)}
)
"""Every quantity by its name, which is its keyword in ``Theorem.evaluate``."""

WRITTEN_OUT = frozenset(entry.name for entry in _CONVEX)
"""Quantities whose unit and range are part of a statement's canonical form and of its
file, as are those that the statement adds to the glossary.
"""


def with_quantities(quantities: Iterable[Quantity]) -> Mapping[str, Quantity]:
    """Return the glossary and these quantities, by name."""
    added = {quantity.name: quantity for quantity in quantities}
    return MappingProxyType({**GLOSSARY, **added}) if added else GLOSSARY


def step_names(glossary: Mapping[str, Quantity] = GLOSSARY) -> tuple[str, ...]:
    """Return the names of step sizes, in the order of the glossary."""
    return tuple(name for name, entry in glossary.items() if entry.step)


def _is_identifier(name: object) -> bool:
    return isinstance(name, str) and name.isidentifier()


def checked_new(quantity: Quantity) -> None:
    """Reject a quantity that no statement can add to the glossary.

    Raises
    ------
    InputError
        Its name is not an identifier, is taken by the glossary, or is what papers call
        another quantity.
    """
    name = quantity.name
    if not _is_identifier(name):
        raise InputError(
            f"{name!r} is not a valid name of a quantity: use a-z, A-Z, digits and _"
        )
    if name in PAPER_SYMBOLS:
        raise InputError(
            f"{name} denotes {PAPER_SYMBOLS[name]} in the papers: choose another name"
        )
    if name in GLOSSARY:
        known = GLOSSARY[name]
        raise InputError(
            f"{name} is already a quantity of the glossary: {known.meaning}"
            f" [{known.unit}], {known.range}; the new quantity is {quantity.meaning}"
            f" [{quantity.unit}], {quantity.range}: choose another name"
        )


NEUTRAL: Mapping[str, float] = MappingProxyType(
    {
        name: entry.neutral
        for name, entry in GLOSSARY.items()
        if entry.neutral is not None
    }
)
"""Values at which a mechanism is absent: no SAM, one gossip step, no momentum, every
round contracts.
"""

PAPER_SYMBOLS: Mapping[str, str] = MappingProxyType(
    {
        "n": "m",
        "psi": "lam",
        "lambda": "lam",
        "lambda_": "lam",
        "eta_l": "eta",
        "lam_pen": "lam_admm",
        "D0": "f0_gap",
        "f0_minus_fstar": "f0_gap",
        "dF": "f0_gap",
        "X0": "x0_sq",
        "Q0": "x0_spread",
        "Xi0": "x0_spread",
    }
)
"""Symbols of the papers for which the glossary has a name of its own."""


def __getattr__(name: str) -> sp.Symbol:
    if name in GLOSSARY:
        return GLOSSARY[name].symbol
    raise AttributeError(f"the glossary has no symbol {name!r}")


__all__ = [
    "AFTER_STEP",
    "BEFORE_STEP",
    "GLOSSARY",
    "PAPER_SYMBOLS",
    "NEUTRAL",
    "WRITTEN_OUT",
    "Quantity",
    "checked_new",
    "step_names",
    "with_quantities",
]
