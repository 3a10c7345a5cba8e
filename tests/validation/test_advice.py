"""Rank correlations of advice: on cells where both are numbers; the grid asks both
advisors in every cell.
"""

import numpy as np
import pytest

from validation.advice import LOCAL, SHARES, TOPOLOGIES, correlation, grid


def test_only_cells_where_both_are_numbers_count():
    told = correlation([1.0, 2.0, np.nan, 4.0, 3.0], [10.0, 30.0, 0.0, 40.0, np.inf])
    assert told == {"rho": pytest.approx(1.0), "cells": 3}
    assert correlation([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])["rho"] == pytest.approx(-1.0)
    assert np.isnan(correlation([1.0, np.nan, 3.0], [3.0, 2.0, 1.0])["rho"])


def test_where_the_bound_is_the_measure_it_ranks_perfectly():
    values = {"m": 4, "L": 2.0, "sigma_l": 0.5, "sigma_g": 0.5, "f0_gap": 1.0}
    asked = []

    def measured(algorithm, W, rounds):
        asked.append((algorithm.eta, algorithm.K, rounds))
        return -algorithm.eta * algorithm.K

    told = grid(values, 50, (1, 5), measured)
    assert told["all"] == len(asked) == len(TOPOLOGIES) * 2 * len(SHARES)
    assert sorted({round(eta * K * 2.0, 12) for eta, K, _ in asked}) == sorted(SHARES)
    # conditions fail at 1/2
    assert told["bound"]["cells"] < told["all"] == told["exact"]["cells"]
    # with little noise, longer steps are better in both
    assert told["bound"]["rho"] > 0.5
    assert len(LOCAL) == 4
