"""Each registered theorem on symmetric networks: measured value or bound."""

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
        """Run T = n_iter rounds at the schedule for T, and compare with the bound.

        The bound is nan if T is too small for the theorem.
        """
        options: dict[str, Any] = {"K": 2, "seeds": 4, "variants": ["corrected"]}
        rounds = max(n_iter, 1)
        outcome = validate(self.key, self.task, self.network, rounds, **options)
        self.verdict = outcome.verdicts[0]

    def get_result(self) -> dict[str, float]:
        return {
            "value": (
                self.verdict.measured.estimate
                if self.curve == "measured"
                else self.verdict.bound
            )
        }
