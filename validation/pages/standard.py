"""docs/standard.md, the field's standard theorems side by side.

``python -m validation.pages.standard --measure`` performs the runs and writes
``docs/standard.json``; ``python -m validation.pages.standard docs/standard.md`` writes
the page from it and from the searches in ``docs/standard_searches.json``.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.files import write_json, write_text
from dfltheory.verdicts.run_values import run_values
from validation.pages.standard_notes import NOTES
from validation.pages.standard_table import comparison, in_short, overview

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

Array = NDArray[np.float64]
DOCS = Path(__file__).parents[2] / "docs"
MEASURED = DOCS / "standard.json"
SEARCHED = DOCS / "standard_searches.json"
CLIENTS, DIMENSION, SEEDS, STEPS_BETWEEN = 16, 10, 4, 5
HORIZONS = 10 * 2 ** np.arange(22)
STEPS = 10.0 ** (-np.arange(0, 241) / 40)
"""Step sizes in units of 1/L."""

BOUNDS = (
    ("wang_joshi2021.theorem_1", "printed"),
    ("wang_joshi2021.corollary_1", "printed"),
    ("wang_joshi2021.corollary_1_long", "printed"),
    ("wang_joshi2021.corollary_3", "printed"),
    ("wang_joshi2021.corollary_3_tuned", "printed"),
    ("wang_joshi2021.theorem_2", "printed"),
    ("wang_joshi2021.theorem_1_network", "printed"),
    ("wang_joshi2021.corollary_1_network", "printed"),
    ("wang_joshi2021.corollary_1_network_long", "printed"),
    ("wang_joshi2021.theorem_2_network", "printed"),
    ("wang_joshi2021.theorem_3", "printed"),
    ("yuan2023.theorem_11", "appendix"),
    ("yuan2023.consensus", "composed"),
    ("vogels2023.theorem_6", "homogeneous"),
    ("vogels2023.theorem_9", "restated"),
)
"""Statements with constants on what runs measure."""
OTHERS: dict[tuple[str, str], str] = {
    ("yuan2023.lemma_10", "printed"): "left-hand side that no run records",
    ("yuan2023.lemma_10", "restated"): "right-hand side of the run itself",
    ("yuan2023.theorem_11", "restated"): "an order, whose step size is not entered",
    ("yuan2023.theorem_18", "restated"): "an order of a mean that no run records",
    ("yuan2023.theorem_22", "printed"): "a lower bound of a time, over many runs",
    ("vogels2023.theorem_6", "printed"): "left-hand side that no run records",
    ("vogels2023.theorem_9", "printed"): "left-hand side that no run records",
    ("lu_desa2023.theorem_1", "restated"): "a lower bound, an order",
    ("lu_desa2023.corollary_2", "restated"): "a lower bound, an order",
}
"""Statements without a row in the comparison, and why."""


STEP_OF = {("yuan2023.consensus", "composed"): ("yuan2023.theorem_11", "appendix")}
"""Statements that are least at a step size of 0, and whose step size they take."""


@dataclass(frozen=True)
class Setting:
    """A network by name, heterogeneity ``zeta``, noise, and rounds."""

    title: str
    network: str
    zeta: float
    sigma: float
    rounds: int

    @property
    def matrix(self) -> Array:
        """(I + W)/2 with Metropolis weights W."""
        graph = getattr(dfl.graphs, self.network)(CLIENTS)
        W = np.asarray(dfl.graphs.metropolis(graph))
        return (np.eye(CLIENTS) + W) / 2

    def task(self) -> Any:
        """Quadratics of one Hessian with eigenvalues from 0.1 to 1."""
        return dfl.tasks.quadratic(
            m=CLIENTS, d=DIMENSION, zeta=self.zeta, sigma=self.sigma, seed=0
        )


SETTINGS = (
    Setting("one data set, complete graph", "complete", 0.0, 0.3, 1000),
    Setting("one data set, ring", "ring", 0.0, 0.3, 2000),
    Setting("different data, torus", "torus", 0.3, 0.3, 2000),
)


def algorithm_of(theorem: Theorem, eta: float) -> Any:
    """Return the algorithm of the statement's scope."""
    name = str(theorem.scope.algorithms[0])
    letters: dict[str, Any] = {
        field: value
        for field, value in theorem.scope.letters.items()
        if field in ("order", "lazy")
    }
    if name in ("CooperativeSGD", "EASGD"):
        letters["K"] = STEPS_BETWEEN
    kind: Any = dfl.algorithms.get(name)
    return kind(eta=eta, **letters)


def trained(setting: Setting, theorem: Theorem, eta: float, rounds: int) -> History:
    """Return the run of the statement's algorithm with one step size."""
    algorithm = algorithm_of(theorem, eta)
    return dfl.train(
        algorithm,
        setting.task(),
        setting.matrix if algorithm.needs_topology else None,
        rounds=rounds,
        seeds=SEEDS,
        metrics=[dfl.verdicts.dist_sq],
        progress=False,
    )


def convex_constants(task: Any) -> dict[str, Any]:
    """Constants of quadratics with one Hessian that runs do not report."""
    return {"mu_each": task.constants.mu, "sigma_star": task.zeta}


def values_of(setting: Setting, theorem: Theorem) -> dict[str, Any]:
    """Return the constants of the setting, by name."""
    return values_in(trained(setting, theorem, 1e-3, 1), setting, theorem)


def values_in(run: History, setting: Setting, theorem: Theorem) -> dict[str, Any]:
    """Return the constants of a run in the setting, by name."""
    found = dict(run_values(run, theorem)) | convex_constants(setting.task())
    return {name: found[name] for name in theorem.needs if name in found}


def best(theorem: Theorem, values: Mapping[str, Any], T: int) -> tuple[float, float]:
    """Return the least bound at horizon T and its step size.

    The result is (inf, nan) where no step size is admissible.
    """
    at = dict(values) | {"T": float(T)}
    if "eta" in theorem.schedule:
        needed = theorem.schedule["eta"].free_symbols
        step = float(theorem.schedule["eta"].subs({s: at[s.name] for s in needed}))
        steps = np.array([step])
    else:
        steps = STEPS / float(values["L"])
    if "eta" in theorem.needs:
        at["eta"] = steps
    bound = np.broadcast_to(theorem.evaluate(where="nan", **at), steps.shape)
    if not np.isfinite(bound).any():
        return math.inf, math.nan
    index = int(np.nanargmin(bound))
    return float(bound[index]), float(steps[index])


def start_of(run: History, measure: str) -> float:
    """Return the measure before round 0."""
    if measure == "f_gap":
        return float(run.loss[:, 0].mean() - run.constants.f_star)
    return float(run.measures()[measure][:, 0].mean())


def bound_of(
    setting: Setting, key: str, variant: str, values: Mapping[str, Any]
) -> tuple[float, float]:
    """Return the bound in a setting, and the step size."""
    theorem = bounds.get(key, variant)
    other = STEP_OF.get((key, variant))
    if other is None:
        return best(theorem, values, setting.rounds)
    of_step = bounds.get(*other)
    eta = best(of_step, values_of(setting, of_step), setting.rounds)[1]
    at: dict[str, Any] = dict(values) | {"T": float(setting.rounds), "eta": eta}
    return float(theorem.evaluate(**at)), eta


def row(setting: Setting, key: str, variant: str) -> dict[str, Any]:
    """One statement in one setting."""
    theorem = bounds.get(key, variant)
    short = trained(setting, theorem, 1e-3, 1)
    values = values_in(short, setting, theorem)
    bound, eta = bound_of(setting, key, variant, values)
    start = start_of(short, theorem.lhs.measure)
    speaks = [int(T) for T in HORIZONS if best(theorem, values, int(T))[0] < start]
    found: dict[str, Any] = {
        "key": key,
        "variant": variant,
        "setting": setting.title,
        "start": start,
        "informative_from": speaks[0] if speaks else None,
    }
    if not math.isfinite(bound):
        return found | {"kind": "conditions not met"}
    run = trained(setting, theorem, eta, setting.rounds)
    verdict = dfl.compare(run, theorem, **convex_constants(setting.task()))
    return found | {
        "kind": verdict.kind,
        "eta": eta,
        "bound": bound,
        "measured": bound * verdict.ratio,
    }


def measure() -> None:
    """Write every statement in every setting; rows of the file are kept."""
    known: dict[str, Any] = {}
    if MEASURED.exists():
        stored = json.loads(MEASURED.read_text(encoding="utf-8"))
        known = {name_of(entry): entry for entry in stored}
    for setting in SETTINGS:
        for key, variant in BOUNDS:
            name = f"{key}:{variant}, {setting.title}"
            if name not in known:
                known[name] = row(setting, key, variant)
                write_json(MEASURED, list(known.values()))


def name_of(entry: Mapping[str, Any]) -> str:
    """Return the name of a row."""
    return f"{entry['key']}:{entry['variant']}, {entry['setting']}"


# -- the page


def everything() -> str:
    """Return the table of all statements, of docs/standard.md and docs/atlas.md."""
    entries = json.loads(MEASURED.read_text(encoding="utf-8"))
    searches = json.loads(SEARCHED.read_text(encoding="utf-8"))
    titles = [setting.title for setting in SETTINGS]
    return overview(BOUNDS, OTHERS, entries, searches, titles)


def for_users() -> str:
    """Return the least bounds for D-PSGD in the three settings."""
    entries = json.loads(MEASURED.read_text(encoding="utf-8"))
    return in_short(entries, [setting.title for setting in SETTINGS])


COLUMNS = f"""*Sharpest instance*: the worst problem that a search found, with the
time of the search; *ratio* is measured/bound there, so that the statement with all
terms divided by more than 1/ratio is refuted. *Terms needed*: those without which some
candidate of the search exceeds the rest of the bound; the search sees their constants,
and not those of the other terms. The cell is empty where that is not recorded. *Vacuous below* and *bound/measured* are for three settings with {CLIENTS}
clients: {"; ".join(setting.title for setting in SETTINGS)}. Below that T the bound
exceeds the measure of the start at every admissible step size, or no step size is
admissible. Each statement is at its own best step size."""
"""What the columns of the table mean."""


def markdown() -> str:
    """Return the text of docs/standard.md."""
    entries = json.loads(MEASURED.read_text(encoding="utf-8"))
    parts = [
        "# The standard theorems",
        (
            "Generated by `python -m validation.pages.standard docs/standard.md`. The"
            " statements of Wang and Joshi (2021), Yuan, Alghunaim and Huang (2023),"
            " Vogels, Hendrikx and Jaggi (2023) and Lu and De Sa (2023), with their"
            " places in the texts. *Restated*, *composed* and *homogeneous* variants"
            " differ from what is printed; [the theorems](theory/index.md) say how."
        ),
        "## Statements and searches",
        COLUMNS,
        everything(),
        (
            "The searches are `python -m validation.pages.standard_searches KEY"
            " VARIANT SECONDS`. None found a counterexample, which proves nothing. A"
            " ratio near 1 at a step size near 0 says that the bound starts at the"
            " start's own value."
        ),
        "## What a D-PSGD user gets",
        for_users(),
        (
            f"{CLIENTS} clients with quadratics in {DIMENSION} dimensions, eigenvalues"
            " from 0.1 to 1, noise 0.3, Metropolis weights W as (I + W)/2. Each"
            " statement is at its own best admissible step size, with the algorithm of"
            " its scope: D-PSGD in the order that it covers, `D2` (exact diffusion) for"
            f" `yuan2023`, and `CooperativeSGD` with K = {STEPS_BETWEEN} for"
            " `..._network`, `EASGD` with the same K for Theorem 3. *Measured* is the"
            f" left-hand side of that run, over {SEEDS} seeds. *Start* is the measure"
            " before round 0: a bound above it is vacuous. *Informative from* is the"
            " first T of 10, 20, 40, ... at which the bound, at its best step size, is"
            " below the start. Disagreement is 0 at the start, and least without steps:"
            " `yuan2023.consensus` takes the step size of `yuan2023.theorem_11`. Bounds"
            " on different measures are not comparable; their ratios to what they"
            " bound are."
        ),
    ]
    for setting in SETTINGS:
        own = [entry for entry in entries if entry["setting"] == setting.title]
        heading = f"### {setting.title[:1].upper()}{setting.title[1:]}"
        words = f"zeta = {setting.zeta:g}, T = {setting.rounds}."
        parts += [heading, words, comparison(own)]
    parts += [
        "![Bound over measured value in three settings](figures/paper_standard.png)",
        NOTES,
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> None:
    """Write the measurements, or the page."""
    if arguments == ["--measure"]:
        measure()
        return
    write_text(Path(arguments[0]), markdown())


if __name__ == "__main__":
    main(sys.argv[1:])
