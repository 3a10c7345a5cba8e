"""Standard ranges of hyperparameters, and the words that a hyperparameter allows."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Literal, get_args, get_origin, get_type_hints

from dfltheory.errors import checked_name
from dfltheory.number_ranges import COUNT, NONNEGATIVE, POSITIVE, NumberRange

_STANDARD_RANGES: dict[str, NumberRange] = {
    **dict.fromkeys(("eta", "eta_u", "eta_v", "eta_s", "lam", "beta"), POSITIVE),
    **dict.fromkeys(("rho", "weight_decay", "clip"), NONNEGATIVE),
    **dict.fromkeys(
        ("gamma", "share", "decay", "participation"), NumberRange(0, 1, open_low=True)
    ),
    **dict.fromkeys(("alpha", "theta", "sparsity"), NumberRange(0, 1, open_high=True)),
    **dict.fromkeys(("mu", "prune"), NumberRange(0, 1)),
    **dict.fromkeys(("K", "K_u", "K_v", "Q", "levels"), COUNT),
}


def ranges(names: str) -> dict[str, NumberRange]:
    """Return the standard ranges of hyperparameters by name.

    Parameters
    ----------
    names : str
        Names separated by blanks, such as "eta K"; those of ``decay`` and
        ``weight_decay``, which every algorithm has, are added.

    Raises
    ------
    UnknownNameError
        If a hyperparameter has no standard range.
    """
    listed = (*names.split(), "decay", "weight_decay")
    for name in listed:
        checked_name("standard range of a hyperparameter", name, _STANDARD_RANGES)
    return {name: _STANDARD_RANGES[name] for name in listed}


@cache
def word_choices(kind: type) -> dict[str, tuple[str, ...]]:
    """Return the allowed words of each hyperparameter whose type is Literal."""
    try:
        hints = get_type_hints(kind)
    except NameError:  # annotations with names that are imported only for type checking
        return {}
    literals = [f.name for f in fields(kind) if get_origin(hints[f.name]) is Literal]
    return {name: get_args(hints[name]) for name in literals}


__all__ = ["ranges", "word_choices"]
