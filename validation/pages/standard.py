"""Generate docs/standard.md, a comparison of the field's standard theorems.

``python -m validation.pages.standard --measure`` performs the runs and writes
``docs/standard.json``. ``python -m validation.pages.standard docs/standard.md`` writes
the page from that file and the searches in ``docs/standard_searches.json``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.arrays import FloatArray
from dfltheory.files import read_json, write_json, write_text
from dfltheory.verdicts.run_values import run_values
from validation.pages.standard_table import Row, comparison, in_short, overview
from validation.pages.templates import filled

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.tasks.quadratics import Quadratic
    from dfltheory.training.history import History

Values = Mapping[str, float]
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
"""Statements with constants whose left-hand side can be measured."""
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
"""Statement without a row in the comparison -> the reason."""


STEP_OF = {("yuan2023.consensus", "composed"): ("yuan2023.theorem_11", "appendix")}
"""Statement whose bound is smallest at step size 0 -> statement whose step size it uses.
"""


@dataclass(frozen=True)
class Setting:
    """A network, the heterogeneity ``zeta``, the noise ``sigma``, and the rounds."""

    title: str
    network: str
    zeta: float
    sigma: float
    rounds: int

    @property
    def matrix(self) -> FloatArray:
        """The mixing matrix (I + W)/2 with Metropolis weights W."""
        graph = getattr(dfl.graphs, self.network)(CLIENTS)
        W = np.asarray(dfl.graphs.metropolis(graph))
        return (np.eye(CLIENTS) + W) / 2

    def task(self) -> Quadratic:
        """Return quadratics with a common Hessian with eigenvalues from 0.1 to 1."""
        return dfl.tasks.quadratic(
            m=CLIENTS, d=DIMENSION, zeta=self.zeta, sigma=self.sigma, seed=0
        )


SETTINGS = (
    Setting("one data set, complete graph", "complete", 0.0, 0.3, 1000),
    Setting("one data set, ring", "ring", 0.0, 0.3, 2000),
    Setting("different data, torus", "torus", 0.3, 0.3, 2000),
)


def algorithm_of(theorem: Theorem, eta: float) -> dfl.algorithms.Algorithm:
    """Return the first algorithm in the statement's scope."""
    name = str(theorem.scope.algorithms[0])
    required = theorem.scope.hyperparameters
    options: dict[str, Any] = {
        field: required[field] for field in ("order", "lazy") if field in required
    }
    if name in ("CooperativeSGD", "EASGD"):
        options["K"] = STEPS_BETWEEN
    options["eta"] = eta
    return dfl.algorithms.get(name)(**options)


def trained(setting: Setting, theorem: Theorem, eta: float, rounds: int) -> History:
    """Run the statement's algorithm with step size ``eta``."""
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


def convex_constants(task: Quadratic) -> dict[str, Any]:
    """Return the constants of the quadratics that runs do not report."""
    mu = task.constants.mu
    assert mu is not None
    return {"mu_each": mu, "sigma_star": task.zeta}


def values_of(setting: Setting, theorem: Theorem) -> Values:
    """Return the constants of the setting, by name."""
    return values_in(trained(setting, theorem, 1e-3, 1), setting, theorem)


def values_in(run: History, setting: Setting, theorem: Theorem) -> Values:
    """Return the constants of a run in the setting, by name."""
    values = dict(run_values(run, theorem)) | convex_constants(setting.task())
    return {name: values[name] for name in theorem.needs if name in values}


def best(theorem: Theorem, values: Values, T: int) -> tuple[float, float]:
    """Return the smallest bound at horizon T and its step size.

    The result is (inf, nan) if no step size is admissible.
    """
    at: dict[str, Any] = {**values, "T": float(T)}
    steps = STEPS / float(values["L"])
    if "eta" in theorem.schedule:
        schedule = theorem.schedule["eta"]
        constants = {symbol: at[str(symbol)] for symbol in schedule.free_symbols}
        steps = np.array([float(schedule.subs(constants))])
    if "eta" in theorem.needs:
        at["eta"] = steps
    bound = np.broadcast_to(theorem.evaluate(where="nan", **at), steps.shape)
    if not np.isfinite(bound).any():
        return math.inf, math.nan
    index = int(np.nanargmin(bound))
    return float(bound[index]), float(steps[index])


def start_of(run: History, measure: str) -> float:
    """Return the initial value of a measure."""
    if measure == "f_gap":
        return float(run.loss[:, 0].mean() - run.constants.f_star)
    return float(run.measures()[measure][:, 0].mean())


def bound_of(
    setting: Setting, key: str, variant: str, values: Values
) -> tuple[float, float]:
    """Return the bound in a setting, and the step size."""
    theorem = bounds.get(key, variant)
    other = STEP_OF.get((key, variant))
    if other is None:
        return best(theorem, values, setting.rounds)
    of_step = bounds.get(*other)
    eta = best(of_step, values_of(setting, of_step), setting.rounds)[1]
    at: dict[str, Any] = {**values, "T": float(setting.rounds), "eta": eta}
    return float(theorem.evaluate(**at)), eta


def row(setting: Setting, key: str, variant: str) -> Row:
    """Compare one statement with a run in one setting."""
    theorem = bounds.get(key, variant)
    short = trained(setting, theorem, 1e-3, 1)
    values = values_in(short, setting, theorem)
    bound, eta = bound_of(setting, key, variant, values)
    start = start_of(short, theorem.lhs.measure)
    informative = (int(T) for T in HORIZONS if best(theorem, values, int(T))[0] < start)
    result: Row = {
        "key": key,
        "variant": variant,
        "setting": setting.title,
        "start": start,
        "informative_from": next(informative, None),
        "kind": "conditions not met",
    }
    if math.isfinite(bound):
        run = trained(setting, theorem, eta, setting.rounds)
        verdict = dfl.compare(run, theorem, **convex_constants(setting.task()))
        result["kind"] = verdict.kind
        result["eta"], result["bound"] = eta, bound
        result["measured"] = bound * verdict.ratio
    return result


def measured() -> list[Row]:
    """Return the stored measurements."""
    return read_json(MEASURED) if MEASURED.exists() else []


def measure() -> None:
    """Measure every statement in every setting; keep the rows already in the file."""
    rows = measured()
    known = {(entry["key"], entry["variant"], entry["setting"]) for entry in rows}
    for setting in SETTINGS:
        for name in BOUNDS:
            if (*name, setting.title) not in known:
                rows.append(row(setting, *name))
                write_json(MEASURED, rows)


# -- the page

TITLES = [setting.title for setting in SETTINGS]
COLUMNS = filled(
    "standard_columns", clients=CLIENTS, settings="; ".join(TITLES)
).rstrip()
"""Legend of the table's columns."""


def everything() -> str:
    """Return the table of all statements, for docs/standard.md and docs/atlas.md."""
    return overview(BOUNDS, OTHERS, measured(), read_json(SEARCHED), TITLES)


def for_users() -> str:
    """Return the smallest bounds for D-PSGD in the three settings."""
    return in_short(measured(), TITLES)


def markdown() -> str:
    """Return the text of docs/standard.md."""
    settings = []
    for setting in SETTINGS:
        setting_entries = [
            entry for entry in measured() if entry["setting"] == setting.title
        ]
        heading = f"### {setting.title[:1].upper()}{setting.title[1:]}"
        words = f"zeta = {setting.zeta:g}, T = {setting.rounds}."
        settings += [heading, words, comparison(setting_entries)]
    return filled(
        "standard",
        columns=COLUMNS,
        statements=everything(),
        for_users=for_users(),
        clients=CLIENTS,
        dimension=DIMENSION,
        steps=STEPS_BETWEEN,
        seeds=SEEDS,
        settings="\n\n".join(settings),
    )


def main(arguments: list[str]) -> None:
    """Perform the runs if the argument is ``--measure``; else write the page."""
    if arguments == ["--measure"]:
        measure()
        return
    write_text(Path(arguments[0]), markdown())


if __name__ == "__main__":
    main(sys.argv[1:])
