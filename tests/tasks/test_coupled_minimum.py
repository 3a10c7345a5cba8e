"""The certified lower bound of the minimum of coupled problems."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import dfltheory as dfl
from dfltheory.tasks.coupled_minimum import Coupling, coordinate_floor, coupled_floor

CASES = {
    "convex": Coupling(0.7, 0.7, 0.3),
    "not convex in u": Coupling(0.2, 1.0, 0.8),
    "two wells": Coupling(0.05, 2.0, 1.5),
    "without coupling": Coupling(0.7, 0.4, 0.0),
}


def least_value(coupling, a, b):
    """Minimize g by grids in u and v and a local search."""
    v = np.linspace(-6, 6, 4001)[:, None]

    def g(u):
        inner = coupling.h_v / 2 * (v - b) ** 2
        inner = inner + coupling.k * np.sin(u) * np.sin(v)
        best = v[inner.argmin(0), 0]
        for _ in range(20):
            slope = coupling.h_v * (best - b)
            slope += coupling.k * np.sin(u) * np.cos(best)
            best -= slope / (coupling.h_v - coupling.k * np.sin(u) * np.sin(best))
        inner = coupling.h_v / 2 * (best - b) ** 2
        inner += coupling.k * np.sin(u) * np.sin(best)
        return coupling.h_u / 2 * ((u - a) ** 2).mean() + inner.mean()

    points = np.linspace(-8, 8, 400)
    start = points[np.argmin([g(u) for u in points])]
    bounds = (start - 0.05, start + 0.05)
    return minimize_scalar(g, bounds=bounds, options={"xatol": 1e-10}).fun


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", CASES)
def test_floor_is_the_minimum_and_never_above_it(name):
    rng = np.random.default_rng(0)
    for _ in range(3):
        a, b = rng.normal(size=(2, 3))
        floor = coordinate_floor(CASES[name], a, b)
        least = least_value(CASES[name], a, b)
        assert least - 3e-9 <= floor <= least + 1e-12


def test_bound_between_points_holds_for_both_signs_of_the_curvature():
    rng = np.random.default_rng(1)
    for coupling in (CASES["convex"], CASES["two wells"]):
        a, b = rng.normal(size=(2, 3))
        points = rng.uniform(-3, 3, size=50)
        lower, _, slope = coupling.values(points, a, b)
        for radius in (0.01, 0.1, 1.0):
            floors = coupling.within(lower, slope, radius)
            for shift in np.linspace(-radius, radius, 21):
                upper = coupling.values(points + shift, a, b)[1]
                assert (floors <= upper).all()


def test_second_differences_are_at_least_the_curvature():
    rng = np.random.default_rng(2)
    for name in ("convex", "not convex in u", "two wells"):
        a, b = rng.normal(size=(2, 3))
        points, h = rng.uniform(-3, 3, size=200), 1e-3
        left, middle, right = (
            CASES[name].values(points + shift, a, b)[1] for shift in (-h, 0, h)
        )
        second = (left - 2 * middle + right) / h**2
        assert second.min() >= CASES[name].curvature - 1e-4


def test_strong_coupling_has_the_bound_k_for_each_coordinate():
    a, b = np.array([[1.0, 0.0], [3.0, 0.0]]), np.zeros((2, 2))
    assert coupled_floor(Coupling(2.0, 0.5, 0.5), a, b) == 1.0 - 0.5 * 2


@pytest.mark.parametrize("p", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_constant_of_the_task_is_a_tight_bound(p):
    task = dfl.tasks.get("coupled", m=4, p=p, seed=2)
    sums = 0.0
    for j in range(p):
        a, b = task.centre[:, j].numpy(), task.centre[:, p + j].numpy()
        sums += least_value(Coupling(task.h_u, task.h_v, task.k), a, b)
    assert task.constants.f_star == pytest.approx(sums, abs=1e-8)
    assert task.constants.f_star <= sums
    assert task.constants.standing["f_star"] == "bound"
