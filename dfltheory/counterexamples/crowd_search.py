"""The last stage of a search: runs of many clients with noise.

For each crowd, a few runs estimate measured / bound. If the estimate exceeds 1, fresh
runs, of which there are as many as the estimate requires, decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.crowds import (
    CROWDS,
    crowd_instance,
    has_crowds,
    seconds_of_runs,
    with_runs,
)
from dfltheory.counterexamples.run_certificate import verdict_on_runs
from dfltheory.counterexamples.search import CANDIDATES_PER_SECOND
from dfltheory.errors import DFLTheoryError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.counterexamples.certificate import Certificate
    from dfltheory.training.instance import Instance

MANY_CLIENTS = "many clients with noise, decided by runs"
"""Name of the problems of :mod:`.crowds`."""
PILOT_SHARE = 0.3
"""Largest fraction of a search's budget for the pilot runs."""
PILOT_RUNS = 4
"""Number of runs that estimate a ratio."""
PILOT_SEED = 1
"""Root seed of the pilot runs. Instances have the root seed 0, so that the runs that
decide are independent of it. Neither depends on the seed of the search, so that
searches with other seeds do not repeat the test.
"""
MARGIN = 1.5
"""Number of runs that decide, divided by the number that the estimate requires."""
FEWEST_RUNS, MOST_RUNS = 8, 64
"""Smallest and largest number of runs that decide."""
LONGEST_DECISION = 120.0
"""Largest expected number of seconds of these runs, which are made after the search."""


@dataclass(frozen=True)
class CrowdSearch:
    """The crowds that one search of a statement can afford.

    Attributes
    ----------
    theorem : Theorem
    pilots : tuple of Instance
        The crowds with the pilot runs.
    reserved_share : float
        The fraction of the search's budget that the pilot runs take.
    """

    theorem: Theorem
    pilots: tuple[Instance, ...]
    reserved_share: float

    @classmethod
    def within(
        cls, theorem: Theorem, budget: float, in_candidates: bool = False
    ) -> CrowdSearch:
        """Return the crowds whose pilot runs fit into the share of a budget.

        Parameters
        ----------
        theorem : Theorem
            The statement.
        budget : float
            The budget of the whole search.
        in_candidates : bool
            Whether the unit of the budget is candidates instead of seconds.
        """
        seconds = budget / CANDIDATES_PER_SECOND if in_candidates else budget
        spent = 0.0
        pilots: list[Instance] = []
        for crowd in CROWDS if has_crowds(theorem) else ():
            instance = crowd_instance(theorem, crowd)
            if instance is None:
                continue
            cost = seconds_of_runs(instance, PILOT_RUNS)
            if spent + cost <= PILOT_SHARE * seconds:
                pilots.append(with_runs(instance, PILOT_RUNS, PILOT_SEED))
                spent += cost
        return cls(theorem, tuple(pilots), spent / seconds)

    def refutation(self) -> tuple[str, Instance, Certificate] | None:
        """Return the name, the instance and the certificate of a refutation.

        The result is None if there is none, or if the search is interrupted (Ctrl-C).
        """
        for pilot in self.pilots:
            try:
                refuted = self._refuted_by(pilot)
            except DFLTheoryError:  # the statement does not cover such runs
                continue
            except KeyboardInterrupt:
                return None
            if refuted is not None:
                return MANY_CLIENTS, *refuted
        return None

    def _refuted_by(self, pilot: Instance) -> tuple[Instance, Certificate] | None:
        """Return the instance and the certificate if a crowd refutes the statement."""
        instance = self._decisive_instance(pilot)
        if instance is None:
            return None
        certificate = certify(instance, self.theorem)
        return (instance, certificate) if certificate.violated else None

    def _decisive_instance(self, pilot: Instance) -> Instance | None:
        """Return the crowd with the number of runs that its pilot runs suggest.

        The result is None if they do not exceed the bound, or if so many runs take too
        long.
        """
        verdict = verdict_on_runs(pilot, self.theorem)
        if not verdict.ratio > 1 or verdict.seeds_needed is None:
            return None
        runs = math.ceil(MARGIN * verdict.seeds_needed)
        runs = min(max(FEWEST_RUNS, runs), MOST_RUNS)
        if seconds_of_runs(pilot, runs) > LONGEST_DECISION:
            return None
        return with_runs(pilot, runs)


__all__ = ["MANY_CLIENTS", "CrowdSearch"]
