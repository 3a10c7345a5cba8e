"""Simulated error rates and power of the verdicts.

``python -m validation.coverage docs/coverage.json docs/verdicts.md`` writes both files.
A cell is a distribution of the values over seeds, with expectation 1, and a number of
seeds. For many samples, it computes the confidence intervals that ``compare`` uses, and
reports

- how often the lower end lies above 1 (a true bound is called violated),
- how often the upper end lies below 1 (a false bound is said to hold),
- the width of the interval relative to the central interval of the estimate's
  distribution, which only an oracle knows.

The power of a cell is the share of samples in which a violation is detected if the
expectation exceeds the bound by a given ratio. All random seeds are fixed, so results
are reproducible on the same machine.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.files import read_json, write_json, write_text
from dfltheory.markdown import between, table
from dfltheory.verdicts.evidence import (
    evidence_lower_limits,
    in_bounds,
    log_evidence,
    upper_limit,
)
from dfltheory.verdicts.simultaneous_limits import ENOUGH_SEEDS
from dfltheory.verdicts.statistics import Method, min_interval, upper_of_mean
from validation.pages.templates import filled

Sample = NDArray[np.float64]
"""Numbers of shape (seeds, rounds)."""
Draw = Callable[[np.random.Generator, int], Sample]
SEEDS = (2, 4, 8, 16, 32)
RATIOS = (1.1, 1.5, 2.0, 10.0)
TAIL = 0.025
POWER = 0.8
ROUNDS = 20
_MOST_SEEDS = 4096
HEADS = ["law of the seeds", *(f"{n} seeds" for n in SEEDS)]
Cells = dict[str, dict[str, float]]
"""Number of seeds -> name of a share or width -> its value."""
MARK = "<!-- coverage: make generated -->"
"""The line above and below the page's tables."""


def walk(
    rng: np.random.Generator, seeds: int = 16, freedom: int = 10, memory: float = 0.8
) -> Sample:
    """Return squared norms of a stationary AR(1) process of Gaussian vectors.

    Shape (seeds, ROUNDS), mean 1.
    """
    noise = rng.normal(size=(ROUNDS, seeds, freedom))
    for t in range(1, ROUNDS):
        noise[t] = memory * noise[t - 1] + np.sqrt(1 - memory**2) * noise[t]
    return (noise**2).mean(-1).T


def separated_rounds(rng: np.random.Generator, seeds: int) -> Sample:
    """Return a walk whose eighth round lies far below the others."""
    scale = np.full(ROUNDS, 30.0)
    scale[7] = 1.0
    return walk(rng, seeds) * scale


def chi_squared_1(rng: np.random.Generator, seeds: int) -> Sample:
    """Return chi-squared samples with one degree of freedom."""
    return rng.chisquare(1, (seeds, 1))


def chi_squared_10(rng: np.random.Generator, seeds: int) -> Sample:
    """Return means of ten squared standard normal samples."""
    return rng.chisquare(10, (seeds, 1)) / 10


def squared_cosine(rng: np.random.Generator, seeds: int) -> Sample:
    """Return squared cosines of normal angles; their distribution is left-skewed."""
    mean = (1 + math.exp(-2 * 0.35**2)) / 2
    return np.cos(rng.normal(0, 0.35, (seeds, 1))) ** 2 / mean


def rare_drop(rng: np.random.Generator, seeds: int) -> Sample:
    """Return a constant with probability 95 %, else 0."""
    return (rng.random((seeds, 1)) >= 0.05) / 0.95


def rare_jump(rng: np.random.Generator, seeds: int) -> Sample:
    """Return scaled chi-squared samples of which 5 % are 20 times as large."""
    size = 1 + 19.0 * (rng.random((seeds, 1)) < 0.05)
    return size * rng.chisquare(50, (seeds, 1)) / 50 / 1.95


def lognormal(rng: np.random.Generator, seeds: int) -> Sample:
    """Return lognormal samples with sigma = 1.5."""
    return rng.lognormal(-(1.5**2) / 2, 1.5, (seeds, 1))


def pareto(rng: np.random.Generator, seeds: int) -> Sample:
    """Return samples of a Pareto (Lomax) distribution with exponent 2.2."""
    return 1.2 * rng.pareto(2.2, (seeds, 1))


def rare_20(rng: np.random.Generator, seeds: int) -> Sample:
    """Return 20 with probability 5 %, else 0."""
    return np.where(rng.random((seeds, 1)) < 0.05, 20.0, 0.0)


def beta_10(rng: np.random.Generator, seeds: int) -> Sample:
    """Return 10 times beta samples, most of them close to 0."""
    return 10 * rng.beta(0.1, 0.9, (seeds, 1))


MEANS: dict[str, Draw] = {
    "chi^2_1": chi_squared_1,
    "chi^2_10": chi_squared_10,
    "left-skewed cos^2": squared_cosine,
    "rare drop (0 in 5 %)": rare_drop,
    "rare jump (20 times in 5 %)": rare_jump,
    "lognormal(1.5)": lognormal,
    "mean of AR(1) rounds": walk,
    "Pareto(2.2)": pareto,
}
MINIMA: dict[str, Draw] = {
    "minimum of equal rounds": walk,
    "minimum of separated rounds": separated_rounds,
}
LAWS = MEANS | MINIMA
BOUNDED: dict[str, tuple[float, Draw]] = {
    "20 in 5 %, else 0": (20.0, rare_20),
    "10 beta(0.1, 0.9)": (10.0, beta_10),
    "rare drop (0 in 5 %)": (1 / 0.95, rare_drop),
}
"""Distributions with mean 1, each with its upper bound."""


def cell(
    law: str, seeds: int, trials: int, method: Method = "student"
) -> dict[str, float]:
    """Return the shares of false ``violated`` and ``holds``, and the relative width.

    The relative width is the median width divided by that of the oracle's interval.
    """
    rng = np.random.default_rng([list(LAWS).index(law), seeds])
    data = [LAWS[law](rng, seeds) for _ in range(trials)]
    if law in MINIMA:
        intervals = [min_interval(x, 1 - 2 * TAIL) for x in data]
        middle = np.array([interval.estimate for interval in intervals])
        low = np.array([interval.low for interval in intervals])
        high = np.array([interval.high for interval in intervals])
    else:  # as mean_interval, vectorized over the trials
        seed_means = np.stack([x.mean(axis=1) for x in data], axis=1)
        middle = seed_means.mean(axis=0)
        low = evidence_lower_limits(seed_means, TAIL)
        high = np.array([upper_of_mean(x, TAIL, method) for x in data])
    width_of_oracle = np.quantile(middle, 1 - TAIL) - np.quantile(middle, TAIL)
    return {
        "violated": float(np.mean(low > 1)),
        "holds": float(np.mean(high < 1)),
        "width": float(np.median(high - low) / width_of_oracle),
    }


def bounded_cell(law: str, seeds: int, trials: int) -> dict[str, float]:
    """Return the shares of false ``holds`` of each method, and of either one."""
    largest, draw = BOUNDED[law]
    rng = np.random.default_rng([len(LAWS), list(BOUNDED).index(law), seeds])
    data = [draw(rng, seeds) for _ in range(trials)]
    bounded = np.array([upper_limit(x, largest, TAIL) for x in data]) < 1
    student = np.array([upper_of_mean(x, TAIL) for x in data]) < 1
    errors = {"bounded": bounded, "student": student, "either": bounded | student}
    return {name: float(error.mean()) for name, error in errors.items()}


def found_at(law: str, seeds: int, ratio: float, trials: int) -> float:
    """Return how often a violation by the factor ``ratio`` is detected."""
    rng = np.random.default_rng([list(LAWS).index(law), seeds])
    # (seeds, rounds, trials)
    data = np.stack([LAWS[law](rng, seeds) for _ in range(trials)], axis=-1)
    if law not in MINIMA:
        data = data.mean(axis=1, keepdims=True)
    ratios = in_bounds(data.reshape(seeds, -1), 1 / ratio)
    evidence = log_evidence(ratios).reshape(data.shape[1:])
    return float(np.mean(evidence.min(axis=0) >= -np.log(TAIL)))


def needed(law: str, ratio: float, trials: int) -> int | None:
    """Return how many seeds detect a violation with probability ``POWER``.

    The number is accurate to 4 percent. None means more than 4096.
    """
    low, high = 1, 2
    while found_at(law, high, ratio, trials) < POWER:
        if high >= _MOST_SEEDS:
            return None
        low, high = high, 2 * high
    while high - low > max(1, high // 25):
        middle = (low + high) // 2
        if found_at(law, middle, ratio, trials) >= POWER:
            high = middle
        else:
            low = middle
    return high


def simulate(means: int = 2000, minima: int = 500, power: int = 200) -> dict[str, Any]:
    """Return the simulated cells of every distribution.

    The result is {"trials": ..., "student": {law: {seeds: cell}}, "bootstrap": ...,
    "bounded": {law: {seeds: bounded_cell}}, "needed": {law: {ratio: seeds}}}.
    """
    student, bootstrap, bounded, seeds_needed = {}, {}, {}, {}
    for law in LAWS:
        trials = means if law in MEANS else minima
        student[law] = {str(n): cell(law, n, trials) for n in SEEDS}
        seeds_needed[law] = {str(r): needed(law, r, power) for r in RATIOS}
    for law in MEANS:
        enough = [n for n in SEEDS if n >= ENOUGH_SEEDS]
        bootstrap[law] = {str(n): cell(law, n, minima, "bootstrap") for n in enough}
    for law in BOUNDED:
        bounded[law] = {str(n): bounded_cell(law, n, minima) for n in SEEDS}
    return {
        "trials": {"means": means, "minima": minima, "power": power},
        "student": student,
        "bootstrap": bootstrap,
        "bounded": bounded,
        "needed": seeds_needed,
    }


# -- the tables of the page


def percent_row(label: str, cells: Cells, name: str) -> list[str]:
    """Return a row of one share in percent; cells that were not simulated are empty."""
    return [label, *(_percent(cells.get(str(seeds)), name) for seeds in SEEDS)]


def _percent(cell: dict[str, float] | None, name: str) -> str:
    return f"{100 * cell[name]:.1f}" if cell else ""


def share_table(laws: dict[str, Cells], name: str) -> str:
    """Return the table of one share by distribution and number of seeds."""
    return table(HEADS, [percent_row(law, cells, name) for law, cells in laws.items()])


def bounded_table(laws: dict[str, Cells]) -> str:
    """Return the table of false ``holds`` of bounded distributions, by method."""
    rows = []
    for law, cells in laws.items():
        methods = ("bounded", "student", "either")
        rows += [percent_row(f"{law}: {name}", cells, name) for name in methods]
    return table(HEADS, rows)


def width_table(laws: dict[str, Cells]) -> str:
    """Return the table of the intervals' relative widths."""
    rows = []
    for law, cells in laws.items():
        widths = [f"{float(cells[str(n)]['width']):.2g}" for n in SEEDS]
        rows.append([law, *(width.replace("inf", "infinite") for width in widths)])
    return table(HEADS, rows)


def needed_table(laws: dict[str, dict[str, int | None]]) -> str:
    """Return the table of seeds needed to detect a violation, by ratio."""
    rows = []
    for law, seeds in laws.items():
        numbers = (seeds[str(ratio)] for ratio in RATIOS)
        rows.append([law, *(number or f"> {_MOST_SEEDS}" for number in numbers)])
    return table(["law of the seeds", *(f"ratio {r:g}" for r in RATIOS)], rows)


def tables(known: dict[str, Any]) -> str:
    """Return the tables of the page."""
    return filled(
        "coverage",
        means=known["trials"]["means"],
        minima=known["trials"]["minima"],
        violated=share_table(known["student"], "violated"),
        holds=share_table(known["student"], "holds"),
        bootstrap=share_table(known["bootstrap"], "holds"),
        bounded=bounded_table(known["bounded"]),
        widths=width_table(known["student"]),
        power=f"{100 * POWER:g}",
        needed=needed_table(known["needed"]),
    )


def with_tables(page: str, known: dict[str, Any]) -> str:
    """Return ``page`` with the tables inserted between its two marks."""
    return between(page, MARK, tables(known))


def main(arguments: list[str]) -> int:
    """Simulate, write the data, and insert the tables into the page."""
    if len(arguments) != 2:
        print("usage: python -m validation.coverage DATA.json PAGE.md", file=sys.stderr)
        return 2
    data, page = map(Path, arguments)
    write_json(data, simulate())
    known = read_json(data)
    write_text(page, with_tables(page.read_text(encoding="utf-8"), known))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
