"""The experiments on each theorem and corollary, and what they do not test.

Statements in O(.) have no constants to compare with. For them, the ratio of the
measured value to the expression must not grow as the horizon grows.
"""

from __future__ import annotations

from dataclasses import dataclass

from dfltheory.experiments.cases import Case, Outcome, perform_all
from validation.claims import Claim, bound_claims, order_claims
from validation.experiment_cases import (
    MakeCases,
    dfedadmm_corollary,
    dfedadmm_theorem,
    dfedmdc,
    dfedsam_corollary,
    dfedsam_theorem,
    dfedsgpsm_corollary,
    dfedsgpsm_theorem,
)

OTHER_FAMILIES = "Statements in O(.) on other families of problems"
OTHER_STARTS = f"{OTHER_FAMILIES}; clients with different starts."
OTHER_ROUNDS = (
    f"{OTHER_FAMILIES}; networks on which the corrected condition requires more rounds."
)


@dataclass(frozen=True)
class Experiment:
    """A statement, the cases that test it, and what these do not test.

    ``family`` is the row, column or group of the cases on which O(.) statements are
    judged. If it is empty, all cases are used.
    """

    key: str
    cases: MakeCases
    not_tested: str
    family: str = ""

    def growing(self, case: Case) -> bool:
        """Return whether O(.) statements are judged on this case."""
        return not self.family or self.family in (case.row, case.column, case.group)

    def run(self, quick: bool = True) -> tuple[list[Claim], list[Outcome]]:
        """Return claims and outcomes."""
        outcomes = perform_all(list(self.cases(quick)))
        family = [outcome.run for outcome in outcomes if self.growing(outcome.case)]
        claims = bound_claims(outcomes, self.not_tested)
        return claims + order_claims(self.key, family, self.not_tested), outcomes


# the longest first
_ALL = [
    Experiment(
        "dfedadmm.theorem_1",
        dfedadmm_theorem,
        "Problems without bounded gradients, which the theorem excludes; horizons below"
        " T = 9216, at which it does not apply.",
    ),
    Experiment(
        "dfedmdc.theorem_1",
        dfedmdc("dfedmdc.theorem_1", "DFedMDC"),
        OTHER_STARTS,
        family="complete",
    ),
    Experiment(
        "dfedmdc.theorem_2",
        dfedmdc("dfedmdc.theorem_2", "DFedSMDC"),
        OTHER_STARTS,
        family="complete",
    ),
    Experiment(
        "dfedsam.theorem_4_5",
        dfedsam_theorem,
        "Horizons other than those shown, and limits T -> infinity: a verdict is about"
        " this T; Whether the assumptions hold beyond the region that the runs visited,"
        " where constants are estimates; Directed graphs and random sequences W_t:"
        " Theorem 4.5 covers one fixed symmetric W; The corollaries' O(.)"
        " statements: they have no constants that a run could contradict",
    ),
    Experiment(
        "dfedadmm.corollary_1",
        dfedadmm_corollary,
        f"{OTHER_FAMILIES}, and whether K speeds it up as claimed.",
        family="clipped losses, the paper's lambda",
    ),
    Experiment(
        "dfedsam.corollary_4_6",
        dfedsam_corollary("dfedsam.corollary_4_6", 1, ("exponential", "complete")),
        OTHER_ROUNDS,
        family="complete",
    ),
    Experiment(
        "dfedsam.corollary_4_8",  # four gossip steps a round, on a worse network
        dfedsam_corollary("dfedsam.corollary_4_8", 4, ("ring", "complete")),
        OTHER_ROUNDS,
        family="ring",
    ),
    Experiment(
        "dfedsgpsm.corollary_1",
        dfedsgpsm_corollary,
        f"{OTHER_FAMILIES}; momentum other than 0.5.",
    ),
    Experiment(
        "dfedsgpsm.theorem_1",
        dfedsgpsm_theorem,
        "Random sequences of digraphs, whose constants are estimates; losses without"
        " bounded gradients.",
    ),
]
EXPERIMENTS = {experiment.key.replace(".", "_"): experiment for experiment in _ALL}
"""The experiments by the names that ``run_all --only`` accepts."""
