"""Values by name for saved outcomes, for runs of every statement, and for planned runs.

``recorded_values.json`` contains the quantities that each statement needs, with 15
digits; ``test_run_values.py`` compares them. ``python -m
tests.verdicts.recorded_values`` records those of new statements and saved outcomes, and
keeps the recorded ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.best_bounds import constants
from dfltheory.bounds.theorem import Theorem
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_values import (
    candidate_values,
    counterexample_values,
    simulated_rounds,
)
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.divergence import Divergence
from dfltheory.counterexamples.document import built, read_document
from dfltheory.counterexamples.growth import MEMBERS
from dfltheory.counterexamples.rational import verify_rationally
from dfltheory.errors import InputError
from dfltheory.training.history import History
from dfltheory.verdicts.run_values import run_values
from dfltheory.verdicts.schedule import covered_algorithm, scheduled_algorithm
from tests.experiments.test_every_theorem import problem
from tests.oracles.results import OUTCOMES, appendices
from validation.papers import statement

FILE = Path(__file__).with_suffix(".json")
ROUNDS = 4
"""Number of rounds that are run to read the values."""
GIVEN = {"S2": 4.0, "B": 10.0}
"""Constants that no task of a statement's test run provides."""

Values = dict[str, Any]


def statements() -> list[Theorem]:
    """Return all statements of the registry and of the appendices."""
    return [*bounds.statements(), *appendices()]


def named(theorem: Theorem) -> str:
    return f"{theorem.key}:{theorem.variant}"


def plain(values: Mapping[str, Any], theorem: Theorem) -> Values:
    """Return the values that the statement needs, as lists or numbers."""
    found: Values = {}
    for name in sorted({*theorem.needs} & {*values}):
        numbers = np.asarray(values[name], dtype=float).ravel()
        rounded = [float(f"{number:.15g}") for number in numbers]
        found[name] = rounded[0] if len(set(rounded)) == 1 else rounded
    return found


# -- saved outcomes of the search ------------------------------------------------------


def outcome_names() -> list[str]:
    """Return the names of the saved outcomes, without reading them."""
    return sorted(path.stem for path in OUTCOMES.glob("*.json"))


def outcome(name: str) -> tuple[Theorem, Mapping[str, Any]]:
    """Return statement and document of a saved outcome."""
    document = read_document(OUTCOMES / f"{name}.json")
    about = document.get("divergence") or document
    return statement(f"{about['key']}:{about['variant']}"), document


def outcomes() -> Iterator[tuple[str, Theorem, Mapping[str, Any]]]:
    """Yield name, statement and document of each saved outcome."""
    for name in outcome_names():
        theorem, document = outcome(name)
        yield name, theorem, document


def values_of_outcome(
    theorem: Theorem, document: Mapping[str, Any]
) -> dict[str, Values]:
    """Return the values of a saved outcome, as computed by each module."""
    if document.get("divergence") is not None:
        saved = Divergence(**document["divergence"])
        return {
            "member": plain(
                MEMBERS[saved.member].measure(theorem, saved.base)[1], theorem
            )
        }
    instance = built(document["instance"])
    batch = CandidateBatch.of(instance)
    run = instance.run(rounds=ROUNDS, progress=False)
    found = {
        "run": plain(of_run(run, theorem), theorem),
        "certified": plain(
            of_counterexample(run, theorem, batch, instance.rounds), theorem
        ),
        "candidate": plain(of_candidates(theorem, batch, instance.rounds), theorem),
    }
    fractions = of_fractions(document["instance"], theorem)
    if fractions is not None:
        found["fractions"] = {name: str(value) for name, value in fractions.items()}
    return found


# -- runs of every statement -----------------------------------------------------------


def run_of(theorem: Theorem) -> History:
    """Return a short run of the statement's algorithm, with the step sizes of its
    schedule.
    """
    task, network, hyperparameters = problem(theorem)
    own = {f.name for f in fields(covered_algorithm(theorem))}
    given = {
        "eta": 0.01,
        "eta_u": 0.01,
        "eta_v": 0.02,
        "lam": 0.03,
        "rho": 0.0,
        "rho0": 0.1,
    }
    if theorem.schedule:
        given = {"rho0": 0.1}
    hyperparameters |= {
        name: value for name, value in given.items() if name in own | {"rho0"}
    }
    method = scheduled_algorithm(theorem, task, ROUNDS, network, **hyperparameters)
    asked = [dfl.verdicts.dist_sq] if getattr(task, "x_star", None) is not None else []
    starts = np.linspace(0.5, 1.5, 2 * task.m * task.d).reshape(2, task.m, task.d)
    return dfl.train(
        method, task, network, rounds=ROUNDS, seeds=2, x0=starts, metrics=asked
    )


def values_of_statement(theorem: Theorem) -> dict[str, Values]:
    """Return the values of a run of the statement, fresh and from a file, and of its
    typical constants.
    """
    found: dict[str, Values] = {}
    if not theorem.order:
        given = {"L": 2.0, "m": 8.0, "lam": 0.5}
        given |= {q.name: 0.25 for q in theorem.quantities if q.of is not None}
        found["typical"] = plain(of_constants(theorem, given), theorem)
    try:
        run = run_of(theorem)
    except (InputError, TypeError):
        return found
    with TemporaryDirectory() as folder:
        loaded = History.load(run.save(Path(folder) / "run"))
    given = {name: value for name, value in GIVEN.items() if name in theorem.needs}
    found["run"] = plain(of_run(run, theorem), theorem)
    fresh = of_run(run, theorem)  # a file has no matrix to compute quantities from
    computed = {q.name for q in theorem.quantities if q.of is not None} & fresh.keys()
    matrix = {name: fresh[name] for name in computed}
    found["loaded"] = plain(of_run(loaded, theorem, matrix), theorem)
    found["given"] = plain(of_run(run, theorem, given | {"f0_gap": 1e3}), theorem)
    return found


# -- the mappings ----------------------------------------------------------------------


def of_run(
    run: History, theorem: Theorem, given: Mapping[str, float] | None = None
) -> Values:
    return dict(run_values(run, theorem, given))


def of_counterexample(
    run: History, theorem: Theorem, batch: CandidateBatch, T: int
) -> Values:
    return counterexample_values(run, theorem, batch, T)


def of_candidates(theorem: Theorem, batch: CandidateBatch, T: int) -> Values:
    rounds = int(min(simulated_rounds(theorem, ROUNDS), batch.longest))
    path = simulate(batch, rounds, "S2" in theorem.needs)
    values, _ = candidate_values(theorem, batch, path, [T])
    return values


def of_fractions(instance: Mapping[str, Any], theorem: Theorem) -> Values | None:
    shorter = dict(instance) | {
        "run": {**instance["run"], "rounds": min(20, instance["run"]["rounds"])}
    }
    try:
        return verify_rationally(shorter, theorem).values
    except InputError:
        return None


def of_constants(theorem: Theorem, given: Mapping[str, float]) -> Values:
    usual = {name: value for name, value in given.items() if name in theorem.needs}
    return constants(theorem, usual)


def record(known: Mapping[str, Any]) -> dict[str, dict[str, Values]]:
    """Return values by name for every saved outcome and every statement; those in
    ``known`` are kept.
    """
    found: dict[str, dict[str, Values]] = {}
    with np.errstate(all="ignore"):
        for name, theorem, document in outcomes():
            found[name] = (
                known[name] if name in known else values_of_outcome(theorem, document)
            )
        for theorem in statements():
            name = named(theorem)
            found[name] = dict(
                known[name] if name in known else values_of_statement(theorem)
            )
            found[name].pop("loaded", None)  # equal to those of the run
    return found


def recorded() -> dict[str, dict[str, Values]]:
    """Return the content of the committed file."""
    return json.loads(FILE.read_text(encoding="utf-8"))


def main() -> None:
    """Record new statements and outcomes, and drop removed ones."""
    rows = [
        f"{json.dumps(name)}: {json.dumps(values)}"
        for name, values in sorted(record(recorded()).items())
    ]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
