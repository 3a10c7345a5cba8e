"""A comparison for benchopt: ``benchopt run benchmarks/benchopt``, with this package
installed in the same environment.

A curve for what each theorem's own algorithm leaves of the theorem's left-hand side
after T rounds at its schedule, and one for the bound that is proved of it; T is the
axis.
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
