"""Ranges of hyperparameters: descriptions and predicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from typing import Literal, get_args, get_origin, get_type_hints

Range = tuple[str, Callable[..., bool]]
"""The range of a hyperparameter: a description and a predicate."""


def _is_positive(value: float) -> bool:
    return value > 0


def _is_nonnegative(value: float) -> bool:
    return value >= 0


def _is_positive_share(value: float) -> bool:
    return 0 < value <= 1


def _is_share_below_one(value: float) -> bool:
    return 0 <= value < 1


def _is_share(value: float) -> bool:
    return 0 <= value <= 1


def _is_count(value: int) -> bool:
    return 1 <= value <= 10**9


_KINDS: tuple[tuple[str, str, Callable[..., bool]], ...] = (
    ("eta eta_u eta_v eta_s lam beta", "a number > 0", _is_positive),
    ("rho weight_decay clip", "a number >= 0", _is_nonnegative),
    ("gamma share decay participation", "a number in (0, 1]", _is_positive_share),
    ("alpha theta sparsity", "a number in [0, 1)", _is_share_below_one),
    ("mu prune", "a number in [0, 1]", _is_share),
    ("K K_u K_v Q levels", "an integer >= 1 (and at most 10^9)", _is_count),
)


_RANGES: dict[str, Range] = {
    name: (words, fits) for names, words, fits in _KINDS for name in names.split()
}


def ranges(names: str) -> dict[str, Range]:
    """Return the standard ranges of hyperparameters, given names such as "eta K"."""
    return {name: _RANGES[name] for name in (*names.split(), "decay", "weight_decay")}


def python_number(value: object, whole: bool) -> int | float | None:
    """Convert a number of any library to a Python number; return None for other types.

    Sweeps over arrays pass such numbers.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, Integral):
        return value if isinstance(value, int) else int(value)
    if isinstance(value, Real) and not whole:
        return value if isinstance(value, float) else float(value)
    return None


@cache
def word_choices(kind: type) -> dict[str, tuple[str, ...]]:
    """Return the allowed words of each hyperparameter whose type is Literal."""
    try:
        hints = get_type_hints(kind)
    except NameError:  # annotations with names that are imported only for type checking
        return {}
    literals = [f.name for f in fields(kind) if get_origin(hints[f.name]) is Literal]
    return {name: get_args(hints[name]) for name in literals}


__all__ = ["Range", "python_number", "ranges", "word_choices"]
