"""The greedy search for a simpler counterexample."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.counterexamples.certify import Certificate, certify
from dfltheory.counterexamples.document import Document, built
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

KINDS: tuple[Simplification, ...] = (
    FewerClients(),
    FewerPieces(),
    NoNoise(),
    FewerRounds(),
    Units(),
    MoreSymmetry(),
    SmallerCounts(),
    FewerDigits(),
)
"""In the order in which they are applied."""
SHARES = (0.9, 0.7, 0.5)
"""Shares of the first ratio that must be left, one pass over all kinds for each: early
kinds do not spend what later ones need.
"""


@dataclass(frozen=True)
class Simplified:
    """A simplified counterexample.

    Attributes
    ----------
    finding : Finding
        Of the simplified instance, confirmed by the training core.
    instance : dict
        The simplified instance as plain data.
    ratio_before : float
        measured / bound of the instance that was given.
    before, after : Complexity
    steps : tuple of str
        The simplifications that were kept, in order.
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
        The instance as plain data, as a counterexample file holds it; it stays as it
        is.
    theorem : Theorem
        The statement that it refutes.
    seconds : float
        Time limit of the search for simpler instances.
    checks : float
        Largest number of instances that are evaluated.
    family : str
        Name of the family of candidates that the instance comes from.

    Returns
    -------
    Simplified
        Its ratio exceeds 1 and half of that of the given instance.

    Raises
    ------
    InputError
        The instance does not refute the statement.
    """
    started = time.monotonic()
    ratio = ratio_of(instance, theorem)
    first = ratio(instance)
    if not first > 1:
        raise InputError(
            f"the instance does not refute {theorem}, so there is nothing to simplify"
        )
    search = _Search(ratio, first, started + seconds, checks)
    history = [("", deepcopy(instance))]
    for share in SHARES:
        search.floor = max(1.0, share * first)
        for kind in KINDS:
            _apply(kind, history, search)
    index, certificate = _confirmed([entry for _, entry in history], theorem)
    simplest = history[index][1]
    finding = Finding(
        key=theorem.key,
        variant=theorem.variant,
        violated=certificate.violated,
        ratio=certificate.exact["ratio"],
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
    """Evaluates candidates until the budget is spent."""

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
        return self.left <= 0 or time.monotonic() > self.deadline

    def accepts(self, candidate: Document) -> bool:
        """Whether the candidate refutes the statement clearly enough."""
        self.left -= 1
        self.count += 1
        found = self.ratio(candidate)
        return found > 1 and found >= self.floor


def _apply(
    kind: Simplification, history: list[tuple[str, Document]], search: _Search
) -> None:
    """Apply one kind until none of its candidates is accepted."""
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
    """Return an instance that the training core confirms, with its certificate.

    The last one is tried first, then earlier ones in steps that double. The instance is
    given by its index.

    Raises
    ------
    InputError
        It confirms none of them.
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


__all__ = ["KINDS", "Simplified", "simplify"]
