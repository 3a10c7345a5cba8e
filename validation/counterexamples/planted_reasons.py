"""What is known about planted versions without a search, from ``planted.toml``.

This module reads the tables of the file. :func:`unproved` and :func:`unshown` combine
them with the rows of ``docs/power.json``.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NotRequired, TypedDict

from dfltheory.admm import gamma

WITHOUT_CONDITION = "without the condition"
UNSEEN = "no search has refuted"
PlantedRow = TypedDict(
    "PlantedRow",
    {
        "key": str,
        "variant": str,
        "version": str,
        "refuted": bool,
        "ratio": float | None,
        "seconds": float,
        "spent": float,
        "evaluations": int,
        "family": str | None,
        "search": NotRequired[str],
        "date": str,
        "for ever": NotRequired[float],
        "closed form": NotRequired[str | None],
    },
)
"""A planted version of a statement, and the result of a search.

``for ever`` is the largest measured / bound of the closed forms, attained by
``closed form``.
"""

_KNOWN: dict[str, list[dict[str, str]]] = tomllib.loads(
    Path(__file__).with_name("planted.toml").read_text(encoding="utf-8")
)
OPEN = {(row["key"], row["condition"]): row["why"] for row in _KNOWN["open"]}
"""(statement, condition) -> why the statement may hold without the condition."""
FALSE = {(row["key"], row["version"]): row["why"] for row in _KNOWN["false"]}
"""(statement, version) -> the closed form that violates the version."""
IMPLIED = {(r["key"], r["variant"], r["term"]): r["by"] for r in _KNOWN["implied"]}
"""(statement, variant, unnecessary term) -> a proved variant with a smaller bound."""
UNREACHED = {(r["key"], r["variant"], r["term"]): r["why"] for r in _KNOWN["unreached"]}
"""(statement, variant, term) -> why no search can show that the term is necessary."""


def unshown(key: str, variant: str, term: str, most: str) -> str:
    """Describe what is known about a term that no search showed to be necessary.

    ``most`` is the largest measured / bound without the term.
    """
    place = (key, variant, term)
    if place in IMPLIED:
        return f"no: without it the bound is never below that of {IMPLIED[place]}"
    reason = f"; {UNREACHED[place]}" if place in UNREACHED else ""
    return f"not shown: {most}{reason}"


def unproved(row: PlantedRow) -> str | None:
    """Return why a planted version is not known to be false; None if it is."""
    key, version = row["key"], row["version"]
    reason = OPEN.get((key, version.removeprefix(f"{WITHOUT_CONDITION} ")))
    if reason or row["refuted"] or known_false(row):
        return reason
    return UNSEEN


def known_false(row: PlantedRow) -> bool:
    """Return whether a version is known to be false without a search."""
    return row.get("for ever", 0.0) > 1 or (row["key"], row["version"]) in FALSE


def slack_of_short_horizons(K: int, step: float) -> float:
    r"""Return by how much Corollary B(i) of DFedADMM-SAM exceeds a true bound.

    The excess is evaluated at c = L lam_admm = sqrt(K/T), the argument ``step``, in
    units of S^2. It is never negative, so the condition T >= 4 K may be dropped.

    Two bounds hold for every T. For c >= 1/2, the triangle inequality gives grad f(w)
    <= L rho + S (1 + c (theta + lam/(1 - lam))), since every step's gradient is at most
    S in root mean square. For c < 1, the sharper Theorem B1, whose noise is that of the
    steps and at most V' = min(V, S^2), gives 2 Delta/(lam_admm T) + c Gamma2 V'/(m (1 -
    c)) + (L rho + c S (theta + lam/(1 - lam) + 2 p))^2. The corollary has 2.24 c V/(K
    m) for the noise, and 1.87 in place of theta or theta + 2 p. So it exceeds the first
    bound if c (1.87 - theta) >= 1, and the second by at least c^2 S^2 (1.87^2 - (theta
    + 2 p)^2) - (Gamma2/(1 - c) - 2.24/K) c V'/m, which is least for m = 1, V' = S^2.
    """
    c, far = step, float(gamma(1.0, K, K))
    theta = (1 - far) / far
    p = 1 - (1 - 1 / K) ** (K - 1)
    first = c * (1.87 - theta) - 1
    if first >= 0:
        return first
    noise = (2 - far) / ((2 * K - 1) * far) / (1 - c) - 2.24 / K
    return c**2 * (1.87**2 - (theta + 2 * p) ** 2) - max(noise, 0.0) * c
