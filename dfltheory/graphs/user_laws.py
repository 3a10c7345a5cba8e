"""User-defined laws of mixing matrices: a function, with a name and a witness.

A law of a matrix is a function of W (m, m). A law of a sequence is a function of the
list of its matrices: one period, or the first rounds of a sequence without a period.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, overload

import numpy as np

from dfltheory.errors import GraphError, InputError, checked_name
from dfltheory.graphs.assumptions import Failure
from dfltheory.graphs.matrices import as_matrix, to_dense
from dfltheory.graphs.sequence_conversion import as_sequence
from dfltheory.graphs.sequences import rounds_of

LawFunction = Callable[..., object]
"""A function of a matrix W (m, m), or of the list of matrices of a sequence."""
LawSelection = str | LawFunction | Iterable[str | LawFunction] | None
"""Names of laws, user-defined laws, or both; None for all named laws."""

EXAMINED_ROUNDS = 20
"""Number of rounds checked if a sequence has no period."""


class NetworkLaw:
    """An assumption on a mixing matrix, or on a sequence of matrices.

    It can be the ``network`` of a :class:`~dfltheory.bounds.Scope`: called with a
    matrix, it returns None if the law holds, and otherwise a message.

    Parameters
    ----------
    function : callable
        A function of a dense W (m, m), or of a list of such matrices. It returns None
        or True if the law holds. Otherwise it returns False, a message, or the witness:
        a client, or the row and the column of an entry.
    name : str
        Name of the law in reports.
    of : {"matrix", "sequence"}
        The argument of the function.

    Attributes
    ----------
    name : str
        The name.
    of : str
        "matrix" or "sequence".
    """

    def __init__(
        self,
        function: LawFunction,
        name: str,
        of: Literal["matrix", "sequence"] = "matrix",
    ):
        checked_name("argument of a law", of, {"matrix", "sequence"})
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.of = of

    def __repr__(self) -> str:
        return f"law of a {self.of}: {self.name}"

    def __call__(self, W: object) -> str | None:
        """Return None if a matrix satisfies the law, and otherwise a message."""
        failure = self.failure_of([W])
        return None if failure is None else failure.message

    def failure_of(self, matrices: Sequence[object]) -> Failure | None:
        """Return the first failure among the matrices of some rounds, or None.

        Parameters
        ----------
        matrices : sequence of (m, m) matrix
            The matrices of the rounds 0, 1, ...

        Returns
        -------
        Failure or None
            Its ``place`` is the witness.
        """
        dense = [to_dense(as_matrix(W)) for W in matrices]
        if self.of == "sequence":
            return self._failure(self.function(dense), dense, "")
        for t, W in enumerate(dense):
            prefix = f"round {t}: " if len(dense) > 1 else ""
            failure = self._failure(self.function(W), [W], prefix)
            if failure is not None:
                return failure
        return None

    def witness(self, network: object) -> Failure | None:
        """Return where a matrix, a graph or a sequence breaks the law, or None.

        If a sequence has no period, its first rounds are examined.
        """
        return self.failure_of(
            rounds_of(as_sequence(network), EXAMINED_ROUNDS).matrices
        )

    def holds(self, network: object) -> bool:
        """Return whether a matrix, a graph or a sequence satisfies the law."""
        return self.witness(network) is None

    def check(self, network: object) -> None:
        """Raise :class:`GraphError` if a network breaks the law."""
        failure = self.witness(network)
        if failure is not None:
            raise GraphError(failure.message)

    def _failure(
        self, answer: object, matrices: list[np.ndarray], prefix: str
    ) -> Failure | None:
        """Convert the return value of the user's function to a failure."""
        if answer is None or (isinstance(answer, (bool, np.bool_)) and answer):
            return None
        place = f"the whole {self.of}"
        value = float("nan")
        if isinstance(answer, str):
            message = answer
        elif isinstance(answer, (bool, np.bool_)):
            message = f"{self.name} does not hold"
        else:
            clients = self._clients(answer, len(matrices[0]))
            if len(clients) == 1:
                place = f"client {clients[0]}"
                message = f"{self.name} does not hold at client {clients[0]}"
            else:
                i, j = clients
                place = f"({i}, {j})"
                message = f"{self.name} does not hold at entry ({i}, {j})"
                if self.of == "matrix":
                    value = float(matrices[0][i, j])
                    message += f", which is {value:.6g}"
        return Failure(self.name, prefix + place, value, 0.0, prefix + message)

    def _clients(self, answer: object, m: int) -> tuple[int, ...]:
        """Return a witness as one client, or as the row and column of an entry."""
        array = np.atleast_1d(np.asarray(answer))
        is_witness = (
            array.ndim == 1 and len(array) in (1, 2) and array.dtype.kind in "iu"
        )
        if not is_witness or array.min() < 0 or array.max() >= m:
            raise InputError(
                f"law {self.name} returned {answer!r}: return None or True if it holds,"
                " and otherwise False, a message, a client, or a pair (row, column)"
                f" with numbers 0..{m - 1}"
            )
        return tuple(int(client) for client in array)


@overload
def law(function: LawFunction, /) -> NetworkLaw: ...


@overload
def law(
    *, name: str | None = None, of: Literal["matrix", "sequence"] = "matrix"
) -> Callable[[LawFunction], NetworkLaw]: ...


def law(
    function: LawFunction | None = None,
    /,
    *,
    name: str | None = None,
    of: Literal["matrix", "sequence"] = "matrix",
) -> NetworkLaw | Callable[[LawFunction], NetworkLaw]:
    """Turn a function into a law of networks (decorator).

    Parameters
    ----------
    function : callable
        See :class:`NetworkLaw`.
    name : str, optional
        Name in reports; by default the function's name with spaces.
    of : {"matrix", "sequence"}
        Whether the function takes a matrix or the list of matrices of a sequence.

    Returns
    -------
    NetworkLaw or callable
        The law; with ``name`` or ``of`` only, a decorator that returns it.

    Examples
    --------
    >>> @law
    ... def half_of_it_stays(W):
    ...     too_small = np.flatnonzero(W.diagonal() < 0.5)
    ...     return too_small[0] if len(too_small) else None
    >>> print(half_of_it_stays([[0.6, 0.4], [0.7, 0.3]]))
    half of it stays does not hold at client 1
    """
    if function is None:
        return functools.partial(_named_law, name=name, of=of)
    return _named_law(function, name, of)


def _named_law(
    function: LawFunction,
    name: str | None,
    of: Literal["matrix", "sequence"],
) -> NetworkLaw:
    """Return the law of a function; by default its name with spaces is the law's."""
    if not callable(function):
        raise InputError(f"law = {function!r} must be a function of W or of a sequence")
    function_name = getattr(function, "__name__", type(function).__name__)
    return NetworkLaw(function, name or function_name.replace("_", " "), of)


__all__ = ["LawFunction", "LawSelection", "NetworkLaw", "law"]
