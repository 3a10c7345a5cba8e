"""The estimate of a constant, and the sampling effort that is spent on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dfltheory.constants import ProblemConstants, Standing
from dfltheory.errors import InputError, whole_number

OFF = "points off the trajectory"
"""Points that no estimate covers."""


@dataclass(frozen=True)
class Estimate:
    """The estimate of one constant.

    With probability at least ``confidence`` over the draws of the estimator, the
    constant is at least ``low``, and the largest value over the sampled points is at
    most ``high``.

    Attributes
    ----------
    name : str
        Glossary name of the constant.
    value, low, high : float
        The estimate, and its interval.
    confidence : float
        Level of the interval; 1 if the estimator draws nothing.
    sampled, not_sampled : str
        What was examined, and what was not, in words.
    """

    name: str
    value: float
    low: float
    high: float
    confidence: float
    sampled: str
    not_sampled: str

    def __str__(self) -> str:
        """Return the text for people."""
        level = "" if self.confidence == 1 else f" ({self.confidence:.0%})"
        return (
            f"{self.name} = {self.value:.6g} in [{self.low:.6g},"
            f" {self.high:.6g}]{level}: {self.sampled}"
        )


def exact_at_points(name: str, value: float, points: str) -> Estimate:
    """Return the estimate of a constant whose value is known exactly at points."""
    return Estimate(name, value, value, value, 1.0, f"exact at {points}", OFF)


class Estimates(dict[str, Estimate]):
    """Estimates by glossary name.

    Parameters
    ----------
    estimates : iterable of Estimate
    known : ProblemConstants
        The constants of the task that are known without estimates.
    """

    def __init__(self, estimates: Iterable[Estimate], known: ProblemConstants):
        super().__init__((estimate.name, estimate) for estimate in estimates)
        self._known = known

    def __str__(self) -> str:
        """Return the text for people."""
        return "\n".join(str(e) for e in self.values())

    def constants(self, sample_wise: bool = True) -> ProblemConstants:
        """Return the values as constants of a task, marked ``estimate``.

        Proved constants of the task are kept. By default, ``L`` (and ``L_u``) is the
        constant of each F_i(.; xi), which the theorems need if rho > 0 and which is
        valid for the others; with ``sample_wise=False`` it is that of the f_i.
        """
        values = self._known.known()
        standing: dict[str, Standing] = dict(self._known.standing)
        for name, estimate in self.items():
            if name in ProblemConstants.__dataclass_fields__ and name not in values:
                values[name], standing[name] = estimate.value, "estimate"
        for name in ("L", "L_u") if sample_wise else ():
            if standing.get(name) == "estimate" and f"{name}_sample" in self:
                values[name] = self[f"{name}_sample"].value
        return ProblemConstants(**values, standing=standing)


@dataclass(frozen=True)
class Effort:
    """The sampling effort of estimates.

    Attributes
    ----------
    draws : int
        Number of minibatches >= 2 for each noise level.
    steps : int
        Number of Lanczos steps >= 1 for each norm of a Hessian.
    clients : sequence of int, optional
        Clients whose Hessians are examined, at least one; None for all.
    minibatches : int
        Number of random minibatches of each client whose Hessians are examined.
    confidence : float
        Level of the intervals, in (0, 1).
    seed : int
        Seed of all random numbers.

    Raises
    ------
    InputError
        If a field is out of range.
    """

    draws: int = 64
    steps: int = 30
    clients: Sequence[int] | None = None
    minibatches: int = 1
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.draws < 2:
            raise InputError(f"a variance needs at least 2 draws, not {self.draws}")
        whole_number("minibatches", self.minibatches, at_least=0)
        whole_number("steps", self.steps, at_least=1)
        if not 0 < self.confidence < 1:
            raise InputError(f"confidence = {self.confidence} must lie between 0 and 1")
        if self.clients is not None and len(self.clients) == 0:
            raise InputError("clients is empty: pass at least one, or None for all")

    def examined_clients(self, m: int) -> Sequence[int]:
        """Return the clients of a task of m clients whose Hessians are examined.

        Raises
        ------
        InputError
            If a client does not exist.
        """
        if self.clients is None:
            return range(m)
        for i in self.clients:
            if not 0 <= i < m:
                raise InputError(f"clients: client {i} must be in 0..{m - 1}")
        return self.clients


def evenly_spaced(last: int, count: int) -> set[int]:
    """Return ``count`` integers from 0 to ``last``, both included if count > 1."""
    return {round(k * last / max(count - 1, 1)) for k in range(count)}


__all__ = [
    "OFF",
    "Effort",
    "Estimate",
    "Estimates",
    "evenly_spaced",
    "exact_at_points",
]
