"""The evaluations of an instance, and whether they refute a statement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypedDict

from dfltheory import number_format as numerals


class ConditionSlack(TypedDict):
    """One condition of a theorem at an instance."""

    condition: str
    slack: float
    holds: bool


@dataclass(frozen=True)
class Certificate:
    """Two independent evaluations of an instance, and whether the theorem covers it.

    They are the exact expectation in floating point, and runs of the training core. If
    the exact expectation is unknown, the runs alone decide (:mod:`.run_certificate`).

    Attributes
    ----------
    exact : dict or None
        ``ratio, measured, bound`` at the horizon ``T`` of the instance. None if the
        exact expectation is unknown.
    core : dict
        ``rounds`` that were run; ``measured, bound, ratio`` at the horizon ``T`` of the
        ratio; with noise ``low``, the lower confidence limit; and ``still``, whether
        the state is stationary, so that the measure is known in all later rounds.
    core_at_horizon : float or None
        The core's ratio at the horizon of the instance, if it ran that far or is
        stationary, or if the rounds that it ran alone exceed the bound there.
    conditions : list of dict
        Each condition with its slack.
    obstacles : list of str
        Why the theorem does not cover the instance; empty if it does.
    undecided : list of str
        Why floating point cannot decide (:mod:`.confirm`); empty if it can.
    """

    exact: dict[str, float] | None
    core: dict[str, float]
    core_at_horizon: float | None
    conditions: list[ConditionSlack] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return core_says(asdict(self))

    @property
    def sides(self) -> dict[str, float]:
        """``ratio, measured, bound`` and ``T`` of the exact expectation, or of runs.

        They are those of the runs if the runs alone decide.
        """
        return self.core if self.exact is None else self.exact

    @property
    def violated(self) -> bool:
        """Whether the instance refutes the statement, confirmed at 50 digits.

        It does if both evaluations exceed the bound and the theorem covers the
        instance.
        """
        return self.suspected and not self.undecided

    @property
    def suspected(self) -> bool:
        """Whether the instance refutes the statement in floating point.

        It does if both evaluations exceed the bound and the theorem covers the
        instance.
        """
        core_ratio = max(
            self.core.get("low", self.core["ratio"]), self.core_at_horizon or 0.0
        )
        return not self.obstacles and self.sides["ratio"] > 1 and core_ratio > 1


def core_says(certificate: Mapping[str, Any]) -> str:
    """Describe the result of the training core in words.

    Parameters
    ----------
    certificate : mapping
        ``exact``, ``core`` and ``core_at_horizon`` of a certificate.
    """
    core, same = certificate["core"], certificate.get("core_at_horizon")
    if same is not None:
        T = int(certificate["exact"]["T"])
        if core["rounds"] >= T:
            reason = "run in full"
        elif "low" in core:
            reason = (
                f"in closed form, with which {core['seeds']:.0f} runs of"
                f" {core['rounds']:.0f} rounds agree"
            )
        elif core["still"]:
            reason = f"its state repeats after {core['rounds']:.0f} rounds"
        else:
            reason = f"by its first {core['rounds']:.0f} rounds alone"
        return f"{four_digits(same)} at T = {T} ({reason})"
    row = (
        f"{four_digits(core['ratio'])} at T = {core['T']:.0f},"
        f" {four_digits(core['measured'])} against the bound"
        f" {four_digits(core['bound'])}"
    )
    if core.get("low") is None:
        return row
    return f"{row}, and at least {four_digits(core['low'])} with confidence 99.9 %"


def four_digits(value: float) -> str:
    """Return a number with four digits; ``none`` for nan."""
    return numerals.format_number(float(value), 4, "none")


__all__ = ["Certificate", "ConditionSlack", "core_says", "four_digits"]
