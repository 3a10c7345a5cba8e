"""Random admissible values of every glossary name, for comparing formulas."""

from __future__ import annotations

import random

WHOLE = ("m", "K", "T", "Q", "K_u", "K_v", "window")
SHARES = ("lam", "lam_2", "lam_min", "omega_l", "p_W", "alpha", "q", "delta")


def point(rng: random.Random, names) -> dict[str, float]:
    """One value per name: whole numbers for counts, inside (0, 1) for shares, of order
    one otherwise.
    """
    values: dict[str, float] = {}
    for name in sorted(names):
        if name == "t":
            values[name] = rng.randint(0, 6)
        elif name == "T":
            values[name] = rng.randint(5, 400)
        elif name == "Q":
            values[name] = rng.randint(1, 4)
        elif name in WHOLE:
            values[name] = rng.randint(2, 12)
        elif name in SHARES:
            values[name] = rng.uniform(0.15, 0.9)
        elif name.startswith("eta"):
            values[name] = rng.uniform(0.01, 0.4)
        else:
            values[name] = rng.uniform(0.3, 1.9)
    return values
