"""Rank correlations of bounds and exact expectations with measured values.

``python -m validation.advice docs/advice.json`` computes it on quadratics, exactly, and
on MNIST and CIFAR-10 (ten clients, one label distribution each) by runs, where the data
root has them, and writes whatever it is. A cell of the grid is a topology, K and a step
size c/(K L); what it gives is the mean over rounds of ||grad f||^2.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.best_bounds import best_bounds
from dfltheory.errors import InputError
from dfltheory.exact import average_over
from dfltheory.files import write_json
from dfltheory.typical_quadratics import expectation, model

KEY, VARIANT = "dfedsam.theorem_4_5", "corrected"
TOPOLOGIES, LOCAL = ("ring", "exponential", "complete"), (1, 2, 5, 10)
SHARES = (1 / 128, 1 / 32, 1 / 8, 1 / 2)
"""c of the step sizes c/(K L): the theorem asks for 1/8 or less, and for less on sparse
networks.
"""
IMAGES = ("mnist", "cifar10")
Result = Callable[[Any, Any, int], float]


def correlation(predicted: Any, measured: Any) -> dict[str, float]:
    """Return Spearman's correlation of the finite pairs, and their number."""
    both, rho = np.isfinite(predicted) & np.isfinite(measured), math.nan
    if both.sum() > 2:
        pairs = np.asarray(predicted)[both], np.asarray(measured)[both]
        rho = float(spearmanr(*pairs).statistic)
    return {"rho": rho, "cells": int(both.sum())}


def grid(
    values: Mapping[str, float], rounds: int, local: tuple[int, ...], result: Result
) -> dict[str, Any]:
    """Return the rank correlations over a grid of topologies, K and step sizes.

    ``result`` measures (algorithm, matrix, rounds) in every cell.
    """
    theorem, m = bounds.get(KEY, VARIANT), int(values["m"])
    table: dict[str, list[float]] = {
        "bound": [],
        "regardless": [],
        "exact": [],
        "measured": [],
    }
    for name, K, share in product(TOPOLOGIES, local, SHARES):
        W = dfl.graphs.metropolis(dfl.graphs.topology(name, m))
        eta = share / (K * values["L"])
        here = {
            **values,
            "K": K,
            "T": rounds,
            "lam": dfl.graphs.lam(W),
            "eta": eta,
            "Q": 1,
            "rho": 0.0,
        }
        table["bound"].append(float(best_bounds(theorem, here)[0][0]))
        known = {n: here[n] for n in theorem.needs}
        table["regardless"].append(float(theorem.evaluate(where="ignore", **known)))
        table["exact"].append(expectation(theorem, here, {"eta": eta}, W))
        table["measured"].append(
            result(dfl.algorithms.DFedAvg(eta=eta, K=K), W, rounds)
        )
    found = {
        n: correlation(table[n], table["measured"])
        for n in ("bound", "regardless", "exact")
    }
    fixed = {"rounds": rounds, "K": list(local), "constants": dict(values)}
    useful = np.array(table["bound"]) < 2 * values["L"] * values["f0_gap"]
    return (
        found | fixed | {"not vacuous": int(useful.sum()), "all": len(table["bound"])}
    )


def quadratics(rounds: int = 400) -> dict[str, Any]:
    """Return the correlations on a quadratic with the constants of the model.

    Its clients differ from the model's, and so does its dimension.
    """
    values = {"m": 10, "L": 1.0, "sigma_l": 1.0, "sigma_g": 1.0, "f0_gap": 1.0}
    task = model(values, d=12, seed=7)

    def exact_mean(algorithm: Any, W: Any, rounds: int) -> float:
        return average_over(algorithm, task, W, rounds)["grad_norm_sq"]

    return grid(values, rounds, LOCAL, exact_mean)


def images(name: str, rounds: int = 30) -> dict[str, Any]:
    """Return the correlations on images, with constants estimated along a pilot run.

    Runs have one seed and are measured every third round.
    """
    task = dfl.tasks.get(
        name, m=10, model="softmax", partition="dirichlet", alpha=0.3, examples=2000
    )
    from dfltheory.tasks.estimate import along, pilot

    found = along(task, pilot(task))
    values = {
        n: float(found[n].value) for n in ("L", "sigma_l", "sigma_g", "f0_gap")
    } | {"m": 10}

    def run(algorithm: Any, W: Any, rounds: int) -> float:
        run = dfl.train(
            algorithm, task, W, rounds=rounds, evaluate_every=3, progress=False
        )
        return float(np.mean(run.grad_norm_sq[0, :-1]))

    return grid(values, rounds, (1, 5), run)


def main(arguments: list[str]) -> None:
    """Write what was found to the file that is named."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m validation.advice docs/advice.json")
    found: dict[str, Any] = {
        "theorem": f"{KEY} ({VARIANT})",
        "quadratics": quadratics(),
    }
    for name in IMAGES:
        try:
            found[name] = images(name)
        except InputError as missing:
            found[name] = {"not run": str(missing)}
    write_json(Path(arguments[0]), found)


if __name__ == "__main__":
    main(sys.argv[1:])
