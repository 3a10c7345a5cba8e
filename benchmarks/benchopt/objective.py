"""A benchmark for benchopt: ``benchopt run benchmarks/benchopt``.

This package must be installed in the same environment. Over the number of rounds T, it
draws the left-hand side of each theorem for the theorem's own algorithm at the schedule
for T, and the proved bound.
"""

from typing import Any

from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "Left-hand side of a convergence theorem"
    min_benchopt_version = "1.6"

    def set_data(self, task: Any, network: Any) -> None:
        self.task, self.network = task, network

    def get_objective(self) -> dict[str, Any]:
        return {"task": self.task, "network": self.network}

    def evaluate_result(self, value: float) -> dict[str, float]:
        return {"value": value}

    def get_one_result(self) -> dict[str, float]:
        return {"value": 1.0}
