"""Assumptions of theorems on a network, and the report of a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

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
    "spectrum": (
        "(iv) I >= W > -I: no eigenvalue at -1 (not periodic) and none beyond 1"
    ),
}
"""The laws of Definition 1 (gossip matrix), by the names used in failures."""

DOUBLY_STOCHASTIC = ("shape", "finite", "range", "row sums", "column sums")
"""The laws of a doubly stochastic matrix."""

PUSH_SUM = {
    "shape": "P is m x m and holds real numbers",
    "finite": "every weight is a finite number",
    "range": "0 <= p_ij <= 1",
    "column sums": "1' P = 1': each client divides what it sends",
    "self-weights": "p_ii > 0: each client keeps a part",
    "connectivity": (
        "the union of the links over any B rounds in a row is strongly connected"
    ),
}
"""The laws that push-sum assumes of P^0, P^1, ..., by the names used in failures."""

NETWORK_LAWS: dict[str, tuple[str, ...]] = {
    "definition 1": tuple(DEFINITION_1),
    "symmetric": ("shape", "finite", "range", "symmetry", "row sums", "column sums"),
    "doubly stochastic": DOUBLY_STOCHASTIC,
    "column-stochastic": tuple(PUSH_SUM),
}
"""The laws of each network assumption, by its name in the scope of a theorem."""


@dataclass(frozen=True)
class Failure:
    """A law that a matrix breaks.

    Attributes
    ----------
    law : str
        Name of the law.
    place : str
        Where the law is broken: the entry, row, column, client or component.
    value : float
        The value found there.
    tolerance : float
        Largest deviation that rounding can explain.
    message : str
        The failure in words.
    """

    law: str
    place: str
    value: float
    tolerance: float
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Report:
    """The result of a check; truthy if no law is broken.

    Attributes
    ----------
    subject : str
        What was checked.
    laws : tuple of str
        Names of the laws that were checked.
    failures : tuple of Failure
        One failure of each law that is broken.
    details : dict
        Further results, for example the window of push-sum.
    assumption : str
        Which laws were checked: "definition 1" (those of gossip) or "column-stochastic"
        (those of push-sum).
    """

    subject: str
    laws: tuple[str, ...]
    failures: tuple[Failure, ...] = ()
    details: dict[str, object] = field(default_factory=dict[str, object])
    assumption: str = "definition 1"

    @property
    def ok(self) -> bool:
        """Whether no law is broken."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.ok

    @property
    def breaks(self) -> tuple[str, ...]:
        """Names of the network assumptions (keys of :data:`NETWORK_LAWS`) that fail.

        Only assumptions on the checked kind of matrix are considered.
        """
        broken = {failure.law for failure in self.failures}
        is_push_sum = self.assumption == "column-stochastic"
        names: list[str] = []
        for name, laws in NETWORK_LAWS.items():
            same_kind = (name == "column-stochastic") is is_push_sum
            if same_kind and broken & set(laws):
                names.append(name)
        return tuple(names)

    def raise_if_failed(self) -> None:
        """Raise :class:`GraphError` with all broken laws, if there are any."""
        if self.failures:
            broken = "; ".join(
                f"{failure.law}: {failure.message}" for failure in self.failures
            )
            raise GraphError(f"{self.subject}: {broken}")

    def __str__(self) -> str:
        details = "".join(f", {name} = {value}" for name, value in self.details.items())
        if self.ok:
            return f"{self.subject}: ok ({', '.join(self.laws)}{details})"
        count = len(self.failures)
        noun = "law" if count == 1 else "laws"
        lines = [f"{self.subject}: {count} {noun} broken{details}"]
        lines += [f"  {failure.law}: {failure.message}" for failure in self.failures]
        return "\n".join(lines)


def select(laws: Iterable[str] | str | None, known: dict[str, str]) -> tuple[str, ...]:
    """Return the names of the laws to check, in the order of ``known``.

    Parameters
    ----------
    laws : str, iterable of str or None
        Names of laws, or the name of a network assumption; None selects all.
    known : dict of str to str
        :data:`DEFINITION_1` or :data:`PUSH_SUM`.

    Returns
    -------
    tuple of str
        The names.

    Raises
    ------
    UnknownNameError
        If a name is not in ``known``.
    """
    if laws is None:
        return tuple(known)
    if isinstance(laws, str):
        assumption = NETWORK_LAWS.get(laws)
        if assumption is not None and set(assumption) <= set(known):
            return tuple(law for law in known if law in assumption)
    names = (laws,) if isinstance(laws, str) else tuple(laws)
    for name in names:
        if name not in known:
            assumptions = {
                key
                for key, required in NETWORK_LAWS.items()
                if set(required) <= set(known)
            }
            raise UnknownNameError("law", name, {*known, *assumptions})
    return tuple(law for law in known if law in names)
