"""Standard ranges of hyperparameters, and the words that a hyperparameter allows."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Literal, get_args, get_origin, get_type_hints

from dfltheory.number_ranges import COUNT, NONNEGATIVE, POSITIVE, NumberRange

_KINDS: tuple[tuple[str, NumberRange], ...] = (
    ("eta eta_u eta_v eta_s lam beta", POSITIVE),
    ("rho weight_decay clip", NONNEGATIVE),
    ("gamma share decay participation", NumberRange(0, 1, open_low=True)),
    ("alpha theta sparsity", NumberRange(0, 1, open_high=True)),
    ("mu prune", NumberRange(0, 1)),
    ("K K_u K_v Q levels", COUNT),
)


_RANGES: dict[str, NumberRange] = {
    name: allowed for names, allowed in _KINDS for name in names.split()
}


def ranges(names: str) -> dict[str, NumberRange]:
    """Return the standard ranges of hyperparameters, given names such as "eta K"."""
    return {name: _RANGES[name] for name in (*names.split(), "decay", "weight_decay")}


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
