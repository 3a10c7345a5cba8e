"""The greedy search for a simpler counterexample."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.certificate import Certificate
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.document import Document, built, is_decided_by_runs
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.simplify.check import ratio_of
from dfltheory.counterexamples.simplify.complexity import Complexity
from dfltheory.counterexamples.simplify.reductions import (
    FewerClients,
    FewerPieces,
    FewerRounds,
    NoNoise,
    SmallerCounts,
)
from dfltheory.counterexamples.simplify.rounding import FewerDigits
from dfltheory.counterexamples.simplify.simplification import Simplification
from dfltheory.counterexamples.simplify.symmetry import MoreSymmetry
from dfltheory.counterexamples.simplify.units import Units
from dfltheory.errors import DFLTheoryError, InputError

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

SIMPLIFICATIONS: tuple[Simplification, ...] = (
    FewerClients(),
    FewerPieces(),
    NoNoise(),
    FewerRounds(),
    Units(),
    MoreSymmetry(),
    SmallerCounts(),
    FewerDigits(),
)
"""Kinds of simplifications, in the order of application."""
RATIO_FRACTIONS = (0.9, 0.7, 0.5)
"""Fractions of the initial ratio that must remain, each for one pass over all kinds, so
that early kinds leave room for later ones.
"""


@dataclass(frozen=True)
class Simplified:
    """A simplified counterexample.

    Attributes
    ----------
    finding : Finding
        The simplified instance, confirmed by the training core.
    instance : dict
        The simplified instance as plain data.
    ratio_before : float
        measured / bound of the original instance.
    before, after : Complexity
        Complexity of the original and the simplified instance.
    steps : tuple of str
        The kinds of the simplifications that were kept, in order.
    """

    finding: Finding
    instance: Document
    ratio_before: float
    before: Complexity
    after: Complexity
    steps: tuple[str, ...]

    def __str__(self) -> str:
        old, new = self.before, self.after
        return (
            f"simplified: measured/bound = {self.finding.ratio:.6g}"
            f" ({self.ratio_before:.6g} before), {new.clients} clients"
            f" ({old.clients}), {new.pieces} pieces ({old.pieces}), T = {new.rounds}"
            f" ({old.rounds}), {new.digits} digits ({old.digits})"
        )


def simplify(
    instance: Document,
    theorem: Theorem,
    *,
    seconds: float = math.inf,
    checks: float = math.inf,
    family: str = "",
) -> Simplified:
    """Simplify a counterexample, one step at a time.

    Parameters
    ----------
    instance : dict
        The instance as plain data, as in a counterexample file. It is not modified.
    theorem : Theorem
        The statement that it refutes.
    seconds : float
        Time limit of the search for simpler instances.
    checks : float
        Maximum number of instances to evaluate.
    family : str
        Name of the family of candidates that the instance is from.

    Returns
    -------
    Simplified
        Its ratio exceeds 1 and half of the original ratio.

    Raises
    ------
    InputError
        The instance does not refute the statement, or only runs decide it.
    """
    started = time.monotonic()
    if is_decided_by_runs(instance):
        raise InputError(
            "the instance cannot be simplified, as its exact expectation is unknown and"
            " only runs decide whether it refutes a statement"
        )
    ratio = ratio_of(instance, theorem)
    first = ratio(instance)
    if not first > 1:
        raise InputError(
            f"the instance does not refute {theorem}, so there is nothing to simplify"
        )
    search = _Search(ratio, first, started + seconds, checks)
    history = [("", deepcopy(instance))]
    for share in RATIO_FRACTIONS:
        search.floor = max(1.0, share * first)
        for kind in SIMPLIFICATIONS:
            _apply(kind, history, search)
    index, certificate = _confirmed([entry for _, entry in history], theorem)
    simplest = history[index][1]
    finding = Finding(
        key=theorem.key,
        variant=theorem.variant,
        violated=certificate.violated,
        ratio=certificate.sides["ratio"],
        evaluations=search.count,
        seconds=time.monotonic() - started,
        seed=0,
        family=family,
        instance=built(simplest, theorem.scope.algorithms),
        certificate=certificate,
        theorem=theorem,
    )
    return Simplified(
        finding=finding,
        instance=simplest,
        ratio_before=first,
        before=Complexity.of(instance),
        after=Complexity.of(simplest),
        steps=tuple(name for name, _ in history[1 : index + 1]),
    )


class _Search:
    """A budget of evaluations, and the test that candidates must pass."""

    def __init__(
        self,
        ratio: Callable[[Document], float],
        first: float,
        deadline: float,
        checks: float,
    ):
        self.ratio = ratio
        self.floor = first
        self.deadline = deadline
        self.left = checks
        self.count = 0

    @property
    def over(self) -> bool:
        """Whether the budget is spent."""
        return self.left <= 0 or time.monotonic() > self.deadline

    def accepts(self, candidate: Document) -> bool:
        """Return whether the candidate refutes the statement by a sufficient margin."""
        self.left -= 1
        self.count += 1
        ratio = self.ratio(candidate)
        return ratio > 1 and ratio >= self.floor


def _apply(
    kind: Simplification, history: list[tuple[str, Document]], search: _Search
) -> None:
    """Apply one kind of simplification until no candidate is accepted."""
    progress = True
    while progress:
        progress = False
        current = history[-1][1]
        for candidate in kind.candidates(current):
            if search.over:
                return
            if kind.is_simpler(candidate, current) and search.accepts(candidate):
                history.append((kind.name, candidate))
                progress = True
                break


def _confirmed(instances: list[Document], theorem: Theorem) -> tuple[int, Certificate]:
    """Return the index and certificate of an instance that the core confirms.

    The last instance is tried first, then earlier ones at doubling distances.

    Raises
    ------
    InputError
        No instance is confirmed.
    """
    back, index = 1, len(instances) - 1
    while True:
        try:
            with np.errstate(all="ignore"):
                known = built(instances[index], theorem.scope.algorithms)
                certificate = certify(known, theorem)
            if certificate.violated:
                return index, certificate
        except (DFLTheoryError, ArithmeticError):
            pass
        if index == 0:
            raise InputError(
                f"the training core does not confirm the counterexample to {theorem}"
            )
        index, back = max(0, index - back), 2 * back


__all__ = ["SIMPLIFICATIONS", "Simplified", "simplify"]
