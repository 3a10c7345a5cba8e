from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sympy import Expr

_Transformation: TypeAlias = Callable[..., list[tuple[int, str]]]

standard_transformations: tuple[_Transformation, ...]

def parse_expr(
    s: str,
    local_dict: Mapping[str, object] | None = None,
    transformations: Sequence[_Transformation] = ...,
) -> Expr: ...
def rationalize(
    tokens: list[tuple[int, str]], local_dict: object, global_dict: object
) -> list[tuple[int, str]]: ...
