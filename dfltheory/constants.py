"""Constants of problems and networks, and kinds of network sequences.

Names are those of the glossary; units are those of :mod:`dfltheory.bounds.symbols`
under x -> s x, f -> c f.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from dfltheory.errors import InputError, UnknownNameError

Standing = Literal["exact", "bound", "estimate"]
"""Evidence for a number: ``exact`` value, proved ``bound``, or ``estimate`` from
samples.
"""

FRESH_STEP = "fresh draws each gossip step"
FRESH_ROUND = "fresh draws each round"
SEQUENCES: dict[str, str] = {
    "fixed": "one mixing matrix in all rounds",
    "periodic": "a given list of mixing matrices that repeats",
    "windows": (
        "a given sequence of which only products over windows of rounds contract"
    ),
    FRESH_STEP: "an independent draw from one distribution for each gossip step",
    FRESH_ROUND: (
        "an independent draw from one distribution for each round, applied in all its"
        " gossip steps"
    ),
    "any": "any sequence that is not drawn at random, whose matrices contract",
}
"""Kinds of network sequences that runs have and statements cover.

With one gossip step per round, the two kinds of draws are the same.
"""


@dataclass(frozen=True)
class ProblemConstants:
    """Constants of the objectives f_1..f_m and of their stochastic gradients.

    ``None`` means unknown.

    Attributes
    ----------
    L : float, optional
        Smoothness of every f_i [c s^-2].
    mu : float, optional
        Strong convexity of f [c s^-2].
    sigma_l : float, optional
        Largest root mean square of a client's gradient noise [c s^-1].
    sigma_g, beta : float, optional
        Heterogeneity: root mean square, and maximum, over clients of
        ||grad f_i - grad f|| [c s^-1].
    B : float, optional
        Largest ||grad f_i|| [c s^-1].
    f_star : float, optional
        Infimum of f [c].
    L_u, L_v, L_uv, L_vu : float, optional
        Smoothness of F_i(u, v_i) in the shared block u, in the personal block v, of
        grad_u in v, and of grad_v in u [c s^-2].
    chi : float, optional
        Coupling of the blocks, max(L_uv, L_vu) / sqrt(L_u L_v).
    sigma_u, sigma_v : float, optional
        As sigma_l, for the gradients of one block [c s^-1].
    delta_u : float, optional
        Root mean square over clients of ||grad_u F_i - grad_u F|| [c s^-1].
    standing : mapping of str to str
        Evidence for each number, see :data:`Standing`; by default ``exact``.

    Raises
    ------
    UnknownNameError
        If ``standing`` names no constant.
    InputError
        If a constant other than f_star and mu is not a number >= 0.
    """

    L: float | None = None
    mu: float | None = None
    sigma_l: float | None = None
    sigma_g: float | None = None
    beta: float | None = None
    B: float | None = None
    f_star: float | None = None
    L_u: float | None = None
    L_v: float | None = None
    L_uv: float | None = None
    L_vu: float | None = None
    chi: float | None = None
    sigma_u: float | None = None
    sigma_v: float | None = None
    delta_u: float | None = None
    standing: Mapping[str, Standing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = {f.name for f in fields(self)} - {"standing"}
        for name in self.standing:
            if name not in known:
                raise UnknownNameError("problem constant", name, known)
        for name in known - {"f_star", "mu"}:
            value = getattr(self, name)
            if value is not None and not value >= 0:  # also refuses nan
                raise InputError(
                    f"problem constant {name} = {value} must be a number >= 0"
                )

    def known(self) -> dict[str, float]:
        """Return the known constants by name."""
        names = [f.name for f in fields(self) if f.name != "standing"]
        values = {name: getattr(self, name) for name in names}
        return {name: float(v) for name, v in values.items() if v is not None}

    def standing_of(self, name: str) -> Standing:
        """Return the evidence for a constant; ``exact`` by default."""
        return self.standing.get(name, "exact")


@dataclass(frozen=True)
class NetworkConstants:
    """Constants of a mixing matrix, or of a sequence of them.

    ``None`` means unknown or undefined for this network.

    Attributes
    ----------
    m : int
        Number of clients; 0 if unknown.
    lam : float, optional
        ||W - 11'/m||, which is max(|lambda_2|, |lambda_m|) for symmetric W; the largest
        over the rounds, or the root mean square contraction of i.i.d. random W_t.
    lam_min : float, optional
        Smallest eigenvalue of a symmetric W, the minimum over a period.
    delta : float, optional
        Smallest push-sum weight.
    C, q : float, optional
        Constants of push-sum in ||z_i^t - xbar^t|| <= C q^t (...).
    window : int, optional
        Number of rounds over which q contracts.
    standing : mapping of str to str
        Evidence for each number, see :data:`Standing`; by default ``exact``.
    errors : mapping of str to float
        Standard errors of estimates.
    """

    m: int
    lam: float | None = None
    lam_min: float | None = None
    delta: float | None = None
    C: float | None = None
    q: float | None = None
    window: int | None = None
    standing: Mapping[str, Standing] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    """Standard errors of estimates by name. 0 denotes the maximum of a sample, which is
    a lower bound of the true value.
    """

    def known(self) -> dict[str, float]:
        """Return the known constants by name."""
        names = [f.name for f in fields(self) if f.name not in ("standing", "errors")]
        values = {name: getattr(self, name) for name in names}
        if not self.m:
            values["m"] = None
        return {name: value for name, value in values.items() if value is not None}

    def standing_of(self, name: str) -> Standing:
        """Return the evidence for a constant; ``exact`` by default."""
        return self.standing.get(name, "exact")


__all__ = [
    "FRESH_ROUND",
    "FRESH_STEP",
    "SEQUENCES",
    "NetworkConstants",
    "ProblemConstants",
    "Standing",
]
