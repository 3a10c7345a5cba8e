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

    ``None`` means unknown. ``L`` is the smoothness of every f_i [c s^-2], and ``mu``
    the strong convexity of f [c s^-2]. ``sigma_l`` bounds the stochastic noise (per
    client, root mean square), ``sigma_g`` and ``beta`` the heterogeneity (root mean
    square and maximum over clients), and ``B`` ||grad f_i|| [c s^-1]. ``f_star`` is the
    infimum of f [c]. The two-block constants are those of partially personalized
    problems F_i(u, v_i).

    ``standing`` states the evidence for each number, by default ``exact``.
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
        names = (f.name for f in fields(self) if f.name != "standing")
        return {n: float(v) for n in names if (v := getattr(self, n)) is not None}

    def standing_of(self, name: str) -> Standing:
        """Return the evidence for a constant; ``exact`` by default."""
        return self.standing.get(name, "exact")


@dataclass(frozen=True)
class NetworkConstants:
    """Constants of a mixing matrix, or of a sequence of them.

    ``m`` is the number of clients (0 if unknown), and ``lam`` = ||W - 11'/m||, which is
    max(|lambda_2|, |lambda_m|) for symmetric W (for i.i.d. random W_t, the root mean
    square contraction). ``lam_min`` is the smallest eigenvalue of a symmetric W, the
    minimum over a period. For push-sum, ``delta`` is the smallest weight, ``C`` and
    ``q`` are the constants of ||z_i^t - xbar^t|| <= C q^t (...), and ``window`` is the
    number of rounds over which q contracts. ``None`` means unknown or undefined for
    this network.
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
        names = (f.name for f in fields(self) if f.name not in ("standing", "errors"))
        values = {n: v for n in names if (v := getattr(self, n)) is not None}
        if not self.m:
            del values["m"]
        return values

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
