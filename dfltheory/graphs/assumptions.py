"""What the theorems assume of a network, law by law, and the report that says which laws fail and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dfltheory.errors import GraphError, UnknownNameError

DEFINITION_1 = {
    "shape": "W is m x m and holds real numbers",
    "finite": "every weight is a finite number",
    "range": "(i) 0 <= w_ij <= 1",
    "graph": "(i) w_ij = 0 where there is no link",
    "links": "(i) w_ij > 0 on every link",
    "self-weights": "(i) w_ii > 0",
    "symmetry": "(ii) W = W'",
    "row sums": "(iii) W 1 = 1",
    "column sums": "(iii) 1' W = 1'",
    "null space": "(iii) null(I - W) = span(1): connected",
    "spectrum": "(iv) I >= W > -I: no eigenvalue at -1 (not periodic) and none beyond 1",
}
"""The laws of Definition 1 (gossip matrix), by the names that failures carry."""

DOUBLY_STOCHASTIC = ("shape", "finite", "range", "row sums", "column sums")
"""The laws of plain double stochasticity."""


PUSH_SUM = {
    "shape": "P is m x m and holds real numbers",
    "finite": "every weight is a finite number",
    "range": "0 <= p_ij <= 1",
    "column sums": "1' P = 1': each client divides what it sends",
    "self-weights": "p_ii > 0: each client keeps a part",
    "connectivity": "the union of the links over any B rounds in a row is strongly connected",
}
"""The laws that push-sum assumes of P^0, P^1, ..., by the names that failures carry."""

NETWORKS: dict[str, tuple[str, ...]] = {
    "definition 1": tuple(DEFINITION_1),
    "symmetric": ("shape", "finite", "range", "symmetry", "row sums", "column sums"),
    "doubly stochastic": DOUBLY_STOCHASTIC,
    "column-stochastic": tuple(PUSH_SUM),
}
"""What a theorem may ask of its network, by the name in its scope -> the laws."""


@dataclass(frozen=True)
class Failure:
    """One law that fails: where, what stands there, how far it might be off by rounding, and in words."""

    law: str
    place: str
    value: float
    tolerance: float
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Report:
    """The outcome of a check: ``ok``, the ``laws`` that were looked at and the ``failures`` among them.

    ``assumption`` is what was checked: ``definition 1`` (gossip) or ``column-stochastic`` (push-sum).
    """

    subject: str
    laws: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    assumption: str = "definition 1"

    @property
    def ok(self) -> bool:
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    @property
    def breaks(self) -> tuple[str, ...]:
        """The names of ``NETWORKS`` whose laws fail: what ``bounds.resting_on`` takes."""
        broken = {f.law for f in self.failures}
        push_sum = self.assumption == "column-stochastic"
        return tuple(
            name
            for name, laws in NETWORKS.items()
            if broken & set(laws) and (name == "column-stochastic") is push_sum
        )

    def raise_if_failed(self) -> None:
        """Raise :class:`GraphError` with the first failure."""
        if self.failures:
            raise GraphError(self.failures[0].message)

    def __str__(self) -> str:
        about = "".join(f", {k} = {v}" for k, v in self.details.items())
        if self.ok:
            return f"{self.subject}: ok ({', '.join(self.laws)}{about})"
        lines = [f"{self.subject}: {len(self.failures)} law{'s' * (len(self.failures) > 1)} broken{about}"]
        lines += [f"  {f.law}: {f.message}" for f in self.failures]
        return "\n".join(lines)


def select(laws: Iterable[str] | str | None, known: dict[str, str]) -> tuple[str, ...]:
    """The laws asked for, in the order in which they are looked at."""
    if laws is None:
        return tuple(known)
    if isinstance(laws, str) and set(NETWORKS.get(laws, ("",))) <= set(known):
        return tuple(law for law in known if law in NETWORKS[laws])
    names = (laws,) if isinstance(laws, str) else tuple(laws)
    for name in names:
        if name not in known:
            wholes = {name for name, own in NETWORKS.items() if set(own) <= set(known)}
            raise UnknownNameError("law", name, {*known, *wholes})
    return tuple(law for law in known if law in names)
