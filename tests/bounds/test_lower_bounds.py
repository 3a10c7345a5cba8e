"""Lower bounds: functions on which every first-order method has at least this error,
and their limits.
"""

from __future__ import annotations

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import bounds
from dfltheory.counterexamples import falsify
from dfltheory.errors import DFLTheoryError
from dfltheory.verdicts.applicability import find_obstacle
from dfltheory.verdicts.compare import compare

L = 2.0


def chain(size: int, dimension: int) -> np.ndarray:
    """Return the tridiagonal matrix with 2 on the diagonal and -1 next to it, on
    ``size`` coordinates.
    """
    A = np.zeros((dimension, dimension))
    A[:size, :size] = 2 * np.eye(size) - np.eye(size, k=1) - np.eye(size, k=-1)
    return A


def gaps(A: np.ndarray, b: np.ndarray, T: int) -> dict[str, np.ndarray]:
    """Return f - f* along T rounds from 0 of three methods, on f(x) = x'Ax/2 - b'x.

    They are gradient descent, acceleration, and the minimizer in the span of the
    gradients (conjugate gradients).
    """
    best = np.linalg.lstsq(A, b, rcond=None)[0]

    def gap(x):
        return (x - best) @ A @ (x - best) / 2

    x = z = y = np.zeros(len(b))
    r = p = b
    found: dict[str, list[float]] = {
        "descent": [gap(x)],
        "accelerated": [gap(x)],
        "conjugate": [gap(x)],
    }
    for k in range(T):
        x = x - (A @ x - b) / L
        after = y - (A @ y - b) / L
        z, y = after, after + k / (k + 3) * (after - z)
        step = r @ r / (p @ A @ p)
        w = (found.setdefault("at", [np.zeros(len(b))])[-1]) + step * p  # type: ignore[list-item]
        found["at"].append(w)  # type: ignore[arg-type]
        new = r - step * (A @ p)
        r, p = new, new + (new @ new) / (r @ r) * p
        for name, point in (("descent", x), ("accelerated", z), ("conjugate", w)):
            found[name].append(gap(point))
    return {name: np.array(v) for name, v in found.items() if name != "at"}


def test_no_method_is_below_the_smooth_floor_and_the_best_comes_close():
    T, floor = 40, bounds.get("bubeck2015.theorem_3_14", "printed")
    size = 2 * (T + 1) + 1
    A, b = L / 4 * chain(size, size), L / 4 * np.eye(size)[0]
    far = float(np.sum(np.linalg.solve(A, b) ** 2))
    least = floor.evaluate(T=T, L=L, mu=0.0, x_star_sq=far)
    found = {name: along.min() / least for name, along in gaps(A, b, T).items()}
    assert all(ratio >= 1 for ratio in found.values()), found
    # (1/(T+1) - 1/(2 T+4)) for 1/(2 T+4), and ||x*||^2 for its upper bound
    assert found["conjugate"] < 1.12


def test_no_method_shrinks_faster_than_the_strongly_convex_floor():
    T, kappa, floor = 20, 25.0, bounds.get("bubeck2015.theorem_3_15", "printed")
    d, mu = 400, L / kappa
    A = (L - mu) / 4 * chain(d, d) + mu * np.eye(d)
    b = (L - mu) / 4 * np.eye(d)[0]
    far = float(np.sum(np.linalg.solve(A, b) ** 2))
    least = np.array(
        [floor.evaluate(T=t, L=L, mu=mu, x_star_sq=far) for t in range(1, T + 1)]
    )
    found = {name: along[1:] / least for name, along in gaps(A, b, T).items()}
    assert all(ratio.min() >= 1 for ratio in found.values()), found
    assert found["conjugate"].max() < kappa
    assert np.ptp(np.log(found["conjugate"][5:])) < 0.1


@pytest.mark.parametrize("key", ["bubeck2015.theorem_3_14", "bubeck2015.theorem_3_15"])
def test_a_lower_bound_is_no_upper_bound(key):
    floor = bounds.get(key, "printed")
    assert r"&\ge" in floor.latex()
    assert r"&\le" not in floor.latex()
    run = dfl.train(
        dfl.algorithms.get("FedAvg")(eta=0.1, K=1),
        dfl.tasks.quadratic(3, 2, L=1.0, mu=0.5, seed=0),
        rounds=3,
    )
    verdict = compare(run, floor)
    assert verdict.kind == "not applicable"
    obstacle = find_obstacle(run, floor, {})
    assert obstacle is not None
    assert obstacle.kind == "form"
    assert verdict.reason == obstacle.reason
    with pytest.raises(
        DFLTheoryError, match="is a lower bound: falsify searches theorems"
    ):
        falsify(floor, candidates=10)
