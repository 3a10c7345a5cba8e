"""How often `rate_fit` calls a true exponent worse than predicted, by chance.

The left-hand side is T^(-1/2) times a random variable with mean 1, and the predicted
exponent is -1/2. ``python -m validation.rate_errors`` prints the table of
docs/verdicts.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dfltheory.arrays import FloatArray
from dfltheory.rates import fit_exponent, judge

HORIZONS = np.array([10.0, 20.0, 40.0, 80.0])
SEEDS = (4, 8, 20)
TRIALS = 4000

Draw = Callable[[np.random.Generator, tuple[int, int]], FloatArray]


def _normal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return 1 + 0.2 * rng.standard_normal(shape)


def _chi_squared(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return rng.standard_normal(shape) ** 2


def _lognormal(rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    return np.exp(2 * rng.standard_normal(shape) - 2)


LAWS: dict[str, Draw] = {
    "normal(1, 0.2)": _normal,
    "chi^2_1": _chi_squared,
    "lognormal(2)": _lognormal,
}


def false_alarms(law: Draw, seeds: int, trials: int = TRIALS) -> float:
    """Return the share of trials that call the true exponent worse than predicted."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(trials):
        samples = law(rng, (seeds, len(HORIZONS))) * HORIZONS**-0.5
        means = samples.mean(axis=0)
        exponent = fit_exponent(
            HORIZONS, means, deviations=samples / means - 1, limit="up"
        )
        alarms += judge(exponent, -0.5) == "worse"
    return alarms / trials


def table() -> str:
    """Return the shares in percent as a Markdown table."""
    columns = "".join(f" {seeds} seeds |" for seeds in SEEDS)
    lines = [f"| law of the seeds |{columns}", "|---|" + "---|" * len(SEEDS)]
    for name, law in LAWS.items():
        shares = (f" {100 * false_alarms(law, seeds):.1f} |" for seeds in SEEDS)
        lines.append(f"| {name} |{''.join(shares)}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
