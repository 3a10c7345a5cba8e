"""The result of one comparison of a run with a theorem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from dfltheory.bounds.status import NOT_EXAMINED, Status
from dfltheory.errors import InputError
from dfltheory.verdicts.left_hand_side import LeftHandSide
from dfltheory.verdicts.run_values import RunValues, run_values
from dfltheory.verdicts.statistics import Interval
from dfltheory.verdicts.suggestions import Suggestions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dfltheory.bounds.theorem import Theorem

VerdictKind = Literal["holds", "violated", "undecided", "vacuous", "not applicable"]

ASSUMED = {
    "exact": "exact: computed without sampling, so there is no interval",
    "bounded": "whatever the law of the seeds, none of which can exceed {most:.3g}",
    "student": "if the seeds are no more skewed than squared norms are",
    "bootstrap": "if the seeds show the tails of their law",
}
"""What each method assumes about the seeds if the verdict is that a bound holds."""


class ComputedSuggestions:
    """The field ``suggestions`` of a verdict, which is computed when it is first read.

    The search for suggestions takes longer than the comparison itself.
    """

    def __get__(self, verdict: Verdict | None, owner: type) -> Suggestions:
        """Return the suggestions of a verdict; of the class, the empty default."""
        if verdict is None:
            return Suggestions()
        value = verdict.__dict__["suggestions"]
        if not isinstance(value, Suggestions):
            value = value()
            self.__set__(verdict, value)
        return value

    def __set__(
        self, verdict: Verdict, value: Suggestions | Callable[[], Suggestions]
    ) -> None:
        """Store suggestions, or the function that returns them."""
        verdict.__dict__["suggestions"] = value


@dataclass(frozen=True)
class Verdict:
    """Whether one variant of one theorem holds on one run.

    Attributes
    ----------
    kind : {"holds", "violated", "undecided", "vacuous", "not applicable"}
        See :mod:`dfltheory.verdicts.compare`.
    key, variant : str
        The statement.
    reason : str
        Why the verdict has this kind, with the numbers, in one line.
    measured : Interval
        The left-hand side.
    bound, trivial : float
        The right-hand side, and the smallest bound that holds without any theorem.
    ratio, ratio_ci : float and (float, float)
        measured / bound with its confidence interval: at most 1 if the bound holds. The
        reciprocal is the factor by which the bound is loose.
    terms : dict of str to float
        The terms of the bound, by name.
    conditions : tuple of str
        The conditions of the theorem.
    slack : dict of str to float
        Right minus left side of each condition, by name; negative if it fails.
    estimated : tuple of str
        The constants that were estimated: the verdict is about the theorem at these
        estimates.
    seeds, rounds : int
        Size of the run.
    confidence : float
        Level of the intervals.
    seeds_needed : int or None
        About how many seeds would decide an undecided verdict.
    method : str
        How the upper end of the interval was computed, a key of :data:`ASSUMED`.
    given : dict of str to float
        The constants that the caller gave, by glossary name.
    at : dict of str to float
        The values at which the bound was evaluated, by glossary name; empty if the
        theorem is not applicable.
    status : Status
        Whether the statement is refuted or proved in general, or not examined.
    suggestions : Suggestions
        What would make the theorem apply, if it is not applicable; else empty.
    left_hand_side : LeftHandSide or None
        The measurements; None of a verdict that was read from a file without its run.
    """

    kind: VerdictKind
    key: str
    variant: str
    reason: str
    measured: Interval
    bound: float
    ratio: float
    ratio_ci: tuple[float, float]
    trivial: float
    terms: dict[str, float] = field(default_factory=dict[str, float])
    conditions: tuple[str, ...] = ()
    slack: dict[str, float] = field(default_factory=dict[str, float])
    estimated: tuple[str, ...] = ()
    seeds: int = 0
    rounds: int = 0
    confidence: float = 0.95
    seeds_needed: int | None = None
    method: str = "student"
    given: dict[str, float] = field(default_factory=dict[str, float])
    at: dict[str, float] = field(default_factory=dict[str, float])
    status: Status = NOT_EXAMINED
    suggestions: ComputedSuggestions = ComputedSuggestions()
    left_hand_side: LeftHandSide | None = field(default=None, repr=False, compare=False)

    @cached_property
    def values(self) -> RunValues:
        """The values of the run by glossary name, with their rounding errors.

        Raises
        ------
        InputError
            If the verdict was read from a file without its run.
        """
        measured = self._measurements()
        return run_values(measured.run, measured.theorem, self.given)

    @property
    def theorem(self) -> Theorem:
        """The statement itself; InputError as for `values`."""
        return self._measurements().theorem

    def _measurements(self) -> LeftHandSide:
        if self.left_hand_side is None:
            raise InputError(
                f"the verdict on {self.key} [{self.variant}] was read without its run: "
                "pass the run to verdict_from_dict"
            )
        return self.left_hand_side

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Plot the left-hand side and the bound over the horizon.

        Options are those of :func:`dfltheory.plots.curves`.
        """
        from dfltheory.plots.curves import curves

        return curves(self, ax, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields but the measurements as numbers and text, for JSON.

        :func:`dfltheory.experiments.verdict_documents.verdict_from_dict` reads it.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.compare}
        values["status"] = self.status.to_dict()
        values["suggestions"] = self.suggestions.to_dict()
        measured = values.pop("measured")
        values["measured"] = measured.estimate
        values["measured_ci"] = (measured.low, measured.high)
        return values

    def __str__(self) -> str:
        notes = ""
        if self.estimated:
            notes += f" (at estimated {', '.join(self.estimated)})"
        if self.given:
            notes += (
                f" (given {', '.join(f'{n} = {v:g}' for n, v in self.given.items())})"
            )
        kind = self.kind
        if kind == "holds" and self.status.refuted:
            kind = "within the bound here"
        statement = general_status(self.status)
        reason = self.reason
        if self.suggestions:
            reason += f"; {self.suggestions}"
        return f"{self.key} [{self.variant}]: {kind}{notes}: {reason}; {statement}"


def general_status(status: Status) -> str:
    """Return the status of a statement in words, to be appended to a verdict."""
    if not status.refuted:
        return f"the statement is {status.label}"
    return f"the statement is {str(status).replace('refuted', 'refuted in general', 1)}"


__all__ = ["ASSUMED", "VerdictKind", "Verdict", "general_status"]
