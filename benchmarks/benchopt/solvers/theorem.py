"""The algorithm of each registered theorem on symmetric networks, or the bound that is
proved of it.
"""

from typing import Any

from benchopt import BaseSolver

import dfltheory as dfl
from dfltheory.experiments.cases import validate

THEOREMS = [
    theorem.key
    for theorem in dfl.bounds.statements()
    if (theorem.kind, theorem.variant, theorem.scope.network)
    == ("theorem", "corrected", "symmetric")
]


class Solver(BaseSolver):
    name = "theorem"
    parameters = {  # noqa: RUF012
        "key": THEOREMS,
        "curve": ["measured", "bound"],
    }
    sampling_strategy = "iteration"

    key: str
    curve: str

    def set_objective(self, task: Any, network: Any) -> None:
        self.task, self.network = task, network

    def run(self, n_iter: int) -> None:
        """T = n_iter rounds at the schedule for T; the bound is nan where T is too
        small for the theorem.
        """
        asked: dict[str, Any] = {"K": 2, "seeds": 4, "variants": ["corrected"]}
        found = validate(self.key, self.task, self.network, max(n_iter, 1), **asked)
        self.verdict = found.verdicts[0]

    def get_result(self) -> dict[str, float]:
        return {
            "value": (
                self.verdict.measured.estimate
                if self.curve == "measured"
                else self.verdict.bound
            )
        }
