from collections.abc import Sequence

from sympy import Matrix, Rational

class InfeasibleLPError(Exception): ...
class UnboundedLPError(Exception): ...

def linprog(
    c: Matrix,
    A: Matrix | None = None,
    b: Matrix | None = None,
    A_eq: Matrix | None = None,
    b_eq: Matrix | None = None,
    bounds: Sequence[tuple[int | None, int | None]] | None = None,
) -> tuple[Rational, list[Rational]]: ...
