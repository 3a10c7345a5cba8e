"""What verdicts cover and find, simulated.

``python -m validation.coverage docs/coverage.json docs/verdicts.md`` writes both. A
cell is one law of the seeds and one number of seeds. It draws samples of a known
expectation, 1, again and again, and asks the intervals that ``compare`` asks: how often
the lower end lies above 1 (a true bound is called violated), how often the upper end
lies below it (a false bound is said to hold), and how wide the interval is, over that
of an oracle, who knows the law and has the central interval of the estimate itself. The
power of a cell is how often a bound that the expectation exceeds by a ratio is found to
be violated. Seeds are fixed: the same machine gives the same numbers.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.files import json_text, write_text
from dfltheory.markdown import between, table
from dfltheory.verdicts.evidence import (
    in_bounds,
    log_evidence,
    lower_limits,
    upper_limit,
)
from dfltheory.verdicts.simultaneous_limits import ENOUGH
from dfltheory.verdicts.statistics import Method, min_interval, upper_of_mean

Draw = Callable[[np.random.Generator, int], NDArray[Any]]
SEEDS = (2, 4, 8, 16, 32)
RATIOS = (1.1, 1.5, 2.0, 10.0)
TAIL = 0.025
POWER = 0.8
ROUNDS = 20
_MOST_SEEDS = 4096
MARK = "<!-- coverage: make generated -->"
"""What stands above and below the page's tables."""


def walk(
    rng: np.random.Generator, seeds: int = 16, freedom: int = 10, memory: float = 0.8
) -> NDArray[np.float64]:
    """Squared norms of an AR(1) process of Gaussian vectors that has settled, (seeds,
    ROUNDS), mean 1.
    """
    noise = rng.normal(size=(ROUNDS, seeds, freedom))
    for t in range(1, ROUNDS):
        noise[t] = memory * noise[t - 1] + np.sqrt(1 - memory**2) * noise[t]
    return (noise**2).mean(-1).T


_APART = np.where(np.arange(ROUNDS) == 7, 1.0, 30.0)
_COSINE = (1 + np.exp(-2 * 0.35**2)) / 2
MEANS: dict[str, Draw] = {
    "chi^2_1": lambda rng, n: rng.chisquare(1, (n, 1)),
    "chi^2_10": lambda rng, n: rng.chisquare(10, (n, 1)) / 10,
    "left-skewed cos^2": lambda rng, n: (
        np.cos(rng.normal(0, 0.35, (n, 1))) ** 2 / _COSINE
    ),
    "rare drop (0 in 5 %)": lambda rng, n: (rng.random((n, 1)) >= 0.05) / 0.95,
    "rare jump (20 times in 5 %)": lambda rng, n: (
        (1 + 19.0 * (rng.random((n, 1)) < 0.05)) * rng.chisquare(50, (n, 1)) / 50 / 1.95
    ),
    "lognormal(1.5)": lambda rng, n: rng.lognormal(-(1.5**2) / 2, 1.5, (n, 1)),
    "mean of AR(1) rounds": walk,
    "Pareto(2.2)": lambda rng, n: 1.2 * rng.pareto(2.2, (n, 1)),
}
MINIMA: dict[str, Draw] = {
    "minimum of equal rounds": walk,
    "minimum of separated rounds": lambda rng, n: walk(rng, n) * _APART,
}
LAWS = MEANS | MINIMA
BOUNDED: dict[str, tuple[float, Draw]] = {
    "20 in 5 %, else 0": (20.0, lambda rng, n: 20.0 * (rng.random((n, 1)) < 0.05)),
    "10 beta(0.1, 0.9)": (10.0, lambda rng, n: 10 * rng.beta(0.1, 0.9, (n, 1))),
    "rare drop (0 in 5 %)": (1 / 0.95, MEANS["rare drop (0 in 5 %)"]),
}
"""Laws of mean 1 with the number that none of their seeds exceeds."""


def cell(
    law: str, seeds: int, trials: int, method: Method = "student"
) -> dict[str, float]:
    """Shares of false ``violated`` and ``holds``, and the median width over the
    oracle's.
    """
    rng = np.random.default_rng([list(LAWS).index(law), seeds])
    data = [LAWS[law](rng, seeds) for _ in range(trials)]
    if law in MINIMA:
        found = [min_interval(x, 1 - 2 * TAIL) for x in data]
        middle, low, high = (
            np.array([getattr(f, end) for f in found])
            for end in ("estimate", "low", "high")
        )
    else:  # as mean_interval, all at once
        each = np.stack([x.mean(axis=1) for x in data], axis=1)
        middle, low = each.mean(axis=0), lower_limits(each, TAIL)
        high = np.array([upper_of_mean(x, TAIL, method) for x in data])
    ends = np.quantile(middle, [TAIL, 1 - TAIL])
    return {
        "violated": float(np.mean(low > 1)),
        "holds": float(np.mean(high < 1)),
        "width": float(np.median(high - low) / (ends[1] - ends[0])),
    }


def bounded_cell(law: str, seeds: int, trials: int) -> dict[str, float]:
    """Shares of false ``holds`` by ``bounded`` alone, by ``student`` alone, and as
    ``compare`` has it: by either of them.
    """
    rng, (most, draw) = (
        np.random.default_rng([len(LAWS), list(BOUNDED).index(law), seeds]),
        BOUNDED[law],
    )
    data = [draw(rng, seeds) for _ in range(trials)]
    bounded = np.array([upper_limit(x, most, TAIL) for x in data]) < 1
    student = np.array([upper_of_mean(x, TAIL) for x in data]) < 1
    found = {"bounded": bounded, "student": student, "either": bounded | student}
    return {name: float(share.mean()) for name, share in found.items()}


def found_at(law: str, seeds: int, ratio: float, trials: int) -> float:
    """How often a bound that the expectation exceeds by ``ratio`` is found to be
    violated.
    """
    draw, rng = LAWS[law], np.random.default_rng([list(LAWS).index(law), seeds])
    # (seeds, rounds, trials)
    data = np.stack([draw(rng, seeds) for _ in range(trials)], axis=-1)
    if law not in MINIMA:
        data = data.mean(axis=1, keepdims=True)
    ratios = in_bounds(data.reshape(seeds, -1), 1 / ratio)
    each = log_evidence(ratios).reshape(data.shape[1:])
    return float(np.mean(each.min(axis=0) >= -np.log(TAIL)))


def needed(law: str, ratio: float, trials: int) -> int | None:
    """The fewest seeds (to 4 percent) that find it with a chance of ``POWER``; None:
    more than 4096.
    """
    low, high = 1, 2
    while found_at(law, high, ratio, trials) < POWER:
        if high >= _MOST_SEEDS:
            return None
        low, high = high, 2 * high
    while high - low > max(1, high // 25):
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if found_at(law, middle, ratio, trials) >= POWER
            else (middle, high)
        )
    return high


def simulate(means: int = 2000, minima: int = 500, power: int = 200) -> dict[str, Any]:
    """{"trials": ..., "student": {law: {seeds: cell}}, "bootstrap": ..., "bounded":
    {law: {seeds: bounded_cell}}, "needed": {law: {ratio: seeds}}}, each cell from so
    many trials (the bootstrap's and minima take the longest).
    """
    trials = dict.fromkeys(MEANS, means) | dict.fromkeys(MINIMA, minima)
    enough = [n for n in SEEDS if n >= ENOUGH]
    return {
        "trials": {"means": means, "minima": minima, "power": power},
        "student": {
            law: {str(n): cell(law, n, trials[law]) for n in SEEDS} for law in LAWS
        },
        "bootstrap": {
            law: {str(n): cell(law, n, minima, "bootstrap") for n in enough}
            for law in MEANS
        },
        "bounded": {
            law: {str(n): bounded_cell(law, n, minima) for n in SEEDS}
            for law in BOUNDED
        },
        "needed": {
            law: {str(r): needed(law, r, power) for r in RATIOS} for law in LAWS
        },
    }


def tables(known: dict[str, Any]) -> str:
    """The page's tables."""

    def percent(label: str, cells: dict[str, Any], name: str) -> list[str]:
        return [
            label,
            *(
                f"{100 * cells[str(n)][name]:.1f}" if str(n) in cells else ""
                for n in SEEDS
            ),
        ]

    def shares(name: str, method: str) -> list[list[str]]:
        return [percent(law, cells, name) for law, cells in known[method].items()]

    def widths(cells: dict[str, Any]) -> list[str]:
        found = [float(cells[str(n)]["width"]) for n in SEEDS]
        return [f"{w:.2g}" if np.isfinite(w) else "infinite" for w in found]

    seeds = ["law of the seeds", *(f"{n} seeds" for n in SEEDS)]
    ratios = ["law of the seeds", *(f"ratio {r:g}" for r in RATIOS)]
    power = [
        [law, *("> 4096" if row[str(r)] is None else str(row[str(r)]) for r in RATIOS)]
        for law, row in known["needed"].items()
    ]
    trials = "{means} trials of means and {minima} of minima".format(**known["trials"])
    return "\n\n".join(
        [
            (
                f"False *violated*, in percent of {trials}, at a bound that is the"
                " expectation (at most 2.5):"
            ),
            table(seeds, shares("violated", "student")),
            (
                "False *holds*, in percent, just below the expectation (2.5 if what"
                " `student` assumes is so):"
            ),
            table(seeds, shares("holds", "student")),
            'The same with `method="bootstrap"`, of {minima} trials:'.format(
                **known["trials"]
            ),
            table(seeds, shares("holds", "bootstrap")),
            (
                "The same of bounded laws, where `compare` says `holds` by `bounded` or"
                " else by `student`:"
            ),
            table(
                seeds,
                [
                    percent(f"{law}: {way}", cells, way)
                    for law, cells in known["bounded"].items()
                    for way in ("bounded", "student", "either")
                ],
            ),
            (
                "Median width of the interval over that of the central 95 percent of"
                " the estimate itself:"
            ),
            table(
                seeds,
                [[law, *widths(cells)] for law, cells in known["student"].items()],
            ),
            (
                f"Seeds that find, in {100 * POWER:g} of 100 runs, that the expectation"
                " is so many bounds:"
            ),
            table(ratios, power),
        ]
    )


def with_tables(page: str, known: dict[str, Any]) -> str:
    """``page`` with these tables between its two marks."""
    return between(page, MARK, tables(known))


def main(arguments: list[str]) -> int:
    """Simulate, write the data, and put the tables into the page."""
    if len(arguments) != 2:
        print("usage: python -m validation.coverage DATA.json PAGE.md", file=sys.stderr)
        return 2
    data, page = map(Path, arguments)
    write_text(data, json_text(simulate()) + "\n")
    known = json.loads(data.read_text(encoding="utf-8"))
    write_text(page, with_tables(page.read_text(encoding="utf-8"), known))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
