"""Examination of a claim: search, negative controls, verdicts on standard problems.

:func:`examine` runs them within a stated budget. A report never says that a statement
is true. Its outcome is REFUTED, NOT REFUTED SO FAR or NOT APPLICABLE, along with what
was and was not examined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypedDict

import numpy as np

from dfltheory.bounds.status import Status
from dfltheory.bounds.theorem import Theorem
from dfltheory.counterexamples.describe import excess_words
from dfltheory.counterexamples.falsification import falsify
from dfltheory.counterexamples.finding import Finding
from dfltheory.errors import DFLTheoryError, InputError, whole_number
from dfltheory.experiments.claim_document import ClaimOutcome, SearchOutcome
from dfltheory.experiments.negative_controls import Control, negative_controls
from dfltheory.experiments.standard_problems import (
    StandardVerdict,
    standard_verdicts,
)
from dfltheory.progress import reported, search_progress, silent

ENOUGH_RATIO = 1.01
"""Ratio at which the search of a control stops, since one refutation suffices."""

Say = Callable[[str], None]
"""Called with a line of progress."""


class SearchOptions(TypedDict):
    """The budget as arguments of a search."""

    seconds: float
    candidates: int | None
    seed: int


@dataclass(frozen=True)
class Budget:
    """Budget of each search, in seconds or as a number of candidates.

    With a number of candidates the search is the same on all machines. The confirmation
    of a counterexample takes additional time.
    """

    seconds: float = 20.0
    candidates: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("seed", self.seed, at_least=0)
        if self.candidates is not None:
            whole_number("candidates", self.candidates, at_least=1)
        elif not (0 < self.seconds < math.inf):
            raise InputError(
                f"seconds = {self.seconds:g} must be a finite number > 0: give the"
                " budget of each search"
            )

    @property
    def options(self) -> SearchOptions:
        """Arguments of :func:`~dfltheory.counterexamples.falsification.falsify`."""
        return {
            "seconds": self.seconds,
            "candidates": self.candidates,
            "seed": self.seed,
        }

    @property
    def words(self) -> str:
        """The budget as command-line options."""
        if self.candidates is not None:
            return f"--candidates {self.candidates} --seed {self.seed}"
        return f"--seconds {self.seconds:g} --seed {self.seed}"

    def __str__(self) -> str:
        if self.candidates is not None:
            return f"{self.candidates} candidates"
        return f"{self.seconds:g} s"


@dataclass(frozen=True)
class SearchResult:
    """The outcome of one search.

    Attributes
    ----------
    outcome : str
        As in :class:`~dfltheory.experiments.claim_document.SearchRecord`, or ``not
        run``.
    reason : str
        Why nothing was searched or decided.
    finding : Finding, optional
        The finding of the search.
    """

    outcome: SearchOutcome | Literal["not run"]
    reason: str = ""
    finding: Finding | None = None

    @property
    def ratio(self) -> float | None:
        """Measured/bound of the best candidate."""
        if self.finding is None or not math.isfinite(self.finding.ratio):
            return None
        return float(self.finding.ratio)

    @property
    def candidates(self) -> int:
        """Number of candidates that the search evaluated; 0 without a finding."""
        return 0 if self.finding is None else self.finding.evaluations

    @property
    def seconds(self) -> float:
        """Duration of the search in seconds, rounded to 0.01; 0 without a finding."""
        return 0.0 if self.finding is None else round(self.finding.seconds, 2)


@dataclass(frozen=True)
class ClaimReport:
    """The results of an examination.

    Attributes
    ----------
    theorem : Theorem
        The statement.
    budget : Budget
        Budget of each search.
    search : SearchResult
        Search for a counterexample to the statement.
    controls : list of (Control, SearchResult)
        Searches for counterexamples to the negative controls.
    verdicts : list of StandardVerdict
        Verdicts on three standard problems.
    """

    theorem: Theorem
    budget: Budget
    search: SearchResult
    controls: list[tuple[Control, SearchResult]] = field(default_factory=list)
    verdicts: list[StandardVerdict] = field(default_factory=list)

    def evidence(self, status: Status) -> list[str]:
        """Return the evidence that refutes the statement.

        It consists of the given status, a counterexample, and violated bounds.
        """
        evidence = []
        if status.refuted:
            evidence.append(f"{status.how} (`{status.command}`)")
        if self.search.outcome == "refuted" and self.search.finding is not None:
            evidence.append(f"search: {excess_words(self.search.finding)}")
        evidence += [
            f"run on {result.network}: {result.reason}"
            for result in self.verdicts
            if result.kind == "violated"
        ]
        return evidence

    def outcome(self, status: Status) -> ClaimOutcome:
        """Return REFUTED, NOT REFUTED SO FAR or NOT APPLICABLE."""
        if self.evidence(status):
            return "REFUTED"
        judged = self.search.outcome in ("ratio grows", "not refuted", "undecided")
        applies = any(result.kind != "not applicable" for result in self.verdicts)
        return "NOT REFUTED SO FAR" if judged or applies else "NOT APPLICABLE"

    @property
    def searched(self) -> str:
        """A short description of the search, for the status of the statement."""
        finding = self.search.finding
        if finding is None:
            return ""
        families = f"{finding.evaluations} candidates of {len(finding.families)}"
        ratio = self.search.ratio
        best = "none judged" if ratio is None else f"{ratio:.4g}"
        return (
            f"{families} families in {finding.seconds:.0f} s (budget {self.budget}),"
            f" {self.search.outcome}; largest measured/bound: {best}"
        )

    @property
    def examined(self) -> list[str]:
        """Sentences that describe what was examined."""
        sentences = [f"search: {self.searched or self.search.reason}"]
        finding = self.search.finding
        if finding is not None and finding.families:
            sentences.append(f"families: {'; '.join(finding.families)}")
        ran = [result for _, result in self.controls if result.outcome != "not run"]
        detected = [r for r in ran if r.outcome in ("refuted", "ratio grows")]
        if ran:
            sentences.append(
                f"controls: {len(detected)} of {len(ran)} refuted, or found with a"
                " growing ratio, with the same budget"
            )
        applies = [r for r in self.verdicts if r.kind != "not applicable"]
        sentences.append(
            f"standard problems: the statement applies to {len(applies)} of"
            f" {len(self.verdicts)}"
        )
        return sentences


def examine(theorem: Theorem, budget: Budget, say: Say = silent) -> ClaimReport:
    """Run the search, the controls and the verdicts for one statement.

    Parameters
    ----------
    theorem : Theorem
    budget : Budget
        Budget of each search, of the statement and of each control.
    say : callable
        Called with lines of progress, at least every few seconds.
    """
    controls = negative_controls(theorem)
    say(f"budget: {budget} for each of up to {1 + len(controls)} searches")
    search = _search(theorem, budget, math.inf, "search", say)
    results = []
    for number, control in enumerate(controls, 1):
        label = f"control {number} of {len(controls)}, {control.change}"
        if search.outcome in ("refuted", "not searched"):
            results.append((control, SearchResult("not run", _why_not(search))))
        else:
            results.append(
                (control, _search(control.theorem, budget, ENOUGH_RATIO, label, say))
            )
    with reported("verdicts on three standard problems", say) as update:
        verdicts = standard_verdicts(theorem, update)
    return ClaimReport(theorem, budget, search, results, verdicts)


def _why_not(search: SearchResult) -> str:
    """Return why the controls are not searched."""
    if search.outcome == "refuted":
        return "the statement itself is refuted"
    return search.reason


def _search(
    theorem: Theorem, budget: Budget, enough: float, label: str, say: Say
) -> SearchResult:
    """Search for a counterexample, and report the progress and the outcome."""
    with reported(label, say) as update:
        try:
            with np.errstate(all="ignore"):
                finding = falsify(
                    theorem,
                    **budget.options,
                    enough=enough,
                    progress=search_progress(update),
                )
        except DFLTheoryError as error:
            return SearchResult("not searched", " ".join(str(error).split()))
    result = _result(finding)
    say(f"{label}: {result.outcome}")
    return result


def _result(finding: Finding) -> SearchResult:
    """Return the outcome of a finding, with the reason if nothing was decided."""
    if finding.undecided:
        return SearchResult("undecided", "; ".join(finding.undecided), finding)
    if finding.violated:
        return SearchResult("refuted", "", finding)
    if finding.growing:
        return SearchResult("ratio grows", str(finding.divergence), finding)
    if math.isnan(finding.ratio):
        return SearchResult("no candidate judged", str(finding), finding)
    # the text of a finding contains why a ratio above 1 was not confirmed
    return SearchResult(
        "not refuted", str(finding) if finding.ratio > 1 else "", finding
    )


__all__ = ["Budget", "ClaimReport", "SearchResult", "examine"]
