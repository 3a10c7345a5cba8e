"""A theorem by its name: a key, a theorem file, or a user's object.

This is the only place where names of theorems are resolved. Every command and function
that takes a theorem takes each of these forms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from dfltheory.bounds.registry import REGISTRY, Registry, refuse_loose_steps
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.theorem_file import read_theorem_file, with_parents
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.own import Trust, own, own_module

Reference: TypeAlias = Theorem | str | PathLike[str]
"""What :func:`load` accepts."""
_FILE = re.compile(
    r"(?P<path>.+\.toml)(?::(?P<key>[^:]+))?(?::(?P<variant>[^:]+))?", re.IGNORECASE
)


def is_registered_key(reference: Theorem | str) -> bool:
    """Return whether a reference is written as KEY or KEY:VARIANT of the registry."""
    return _registered_name(reference, REGISTRY) is not None


def _registered_name(
    reference: Theorem | str, registry: Registry
) -> tuple[str, str | None] | None:
    """Return key and variant of KEY or KEY:VARIANT; None for any other reference.

    A text with a colon names a statement if a paper of the registry has its key, or if
    the paper is known and no module has its name, as for a key with a typing error.
    """
    if not isinstance(reference, str) or names_theorem_file(reference):
        return None
    key, colon, variant = reference.partition(":")
    if not colon:
        return key, None
    paper = key.partition(".")[0]
    if key.endswith(".py") or "." not in key or paper not in registry.papers():
        return None
    if key in registry.load(paper) or find_spec(paper) is None:
        return key, variant
    return None


def _one_variant(
    reference: Theorem | str, named: str | None, variants: Iterable[str] | None
) -> Iterable[str] | None:
    """Return the variants that are meant by KEY:VARIANT and a list of variants."""
    if named is None:
        return variants
    for variant in variants or ():
        if variant != named:
            raise InputError(
                f"variant = {variant!r} contradicts {reference}, which names the"
                f" variant {named!r}: omit one of them"
            )
    return (named,)


def names_theorem_file(reference: object) -> bool:
    """Return whether a reference names a theorem file, or a statement of one."""
    return isinstance(reference, str) and _FILE.fullmatch(reference) is not None


def load(
    reference: Reference, variant: str | None = None, *, trust: Trust = False
) -> Theorem:
    """Return the theorem that ``reference`` names.

    Parameters
    ----------
    reference : a Theorem, which is taken as it is; ``KEY`` or ``KEY:VARIANT`` of the
        registry; ``FILE.toml`` or its path, the only statement of a theorem file;
        ``FILE.toml:KEY`` or ``FILE.toml:KEY:VARIANT``, one of several; or
        ``FILE.py:NAME`` or ``MODULE:NAME``, a user's own object. That file or module is
        imported: it is code that the caller trusts
    variant : of a registered statement or of a theorem file; its first one where none
        is given
    trust : may a theorem file name code as ``FILE.py:NAME``? It is imported, and so it
        runs

    Raises
    ------
    UnknownNameError
        No statement of the registry or of the file is called so.
    InputError
        There is no such file, module or name; it is no theorem; a theorem file has
        several statements and none is named; a ``variant`` is given with a theorem that
        has another one.
    """
    reference = _path_as_text(reference)
    registered = _registered_name(reference, REGISTRY)
    if registered is not None:
        key, named = registered
        variants = None if variant is None else (variant,)
        chosen = tuple(
            _one_variant(reference, named, variants) or REGISTRY.variants(key)
        )
        return REGISTRY.get(key, chosen[0])
    theorems = load_all(reference, None if variant is None else (variant,), trust=trust)
    keys = list(dict.fromkeys(theorem.key for theorem in theorems))
    if len(keys) > 1:
        raise InputError(
            f"{reference} has several statements, {', '.join(keys)}: name one, for"
            f" example {reference}:{keys[0]}"
        )
    return theorems[0]


def load_all(
    reference: Reference,
    variants: Iterable[str] | None = None,
    *,
    trust: Trust = False,
    registry: Registry = REGISTRY,
) -> tuple[Theorem, ...]:
    """Return all theorems that ``reference`` names.

    They are all variants of a key, or all statements of a theorem file.

    Parameters
    ----------
    reference, trust : see :func:`load`
    variants : only these variants, in this order; None: all
    registry : where keys are looked up
    """
    reference = _path_as_text(reference)
    registered = _registered_name(reference, registry)
    if registered is not None:
        key, named = registered
        chosen_names = _one_variant(reference, named, variants)
        names = registry.variants(key) if chosen_names is None else chosen_names
        return tuple(registry.get(key, variant) for variant in names)
    if not names_theorem_file(reference):
        given_theorem = _object(reference)
        for variant in variants or ():
            if variant != given_theorem.variant:
                raise InputError(
                    f"variant = {variant!r} contradicts the given object"
                    f" {given_theorem}: omit the variant"
                )
        return (given_theorem,)
    stated = _of_file(reference, trust)
    if variants is None:
        return stated
    known = {theorem.variant for theorem in stated}
    chosen: list[Theorem] = []
    for variant in variants:
        if variant not in known:
            raise UnknownNameError(f"variant of {reference}", variant, known)
        chosen += [theorem for theorem in stated if theorem.variant == variant]
    return tuple(chosen)


def _path_as_text(reference: Reference) -> Theorem | str:
    """Return a path as a text, and any other reference as it is."""
    return fspath(reference) if isinstance(reference, PathLike) else reference


def _of_file(reference: object, trust: Trust) -> tuple[Theorem, ...]:
    """Return the statements of a theorem file that a reference names."""
    match = _FILE.fullmatch(str(reference))
    assert match is not None, "the caller has checked names_theorem_file"
    theorems = with_parents(
        read_theorem_file(Path(match["path"]), trust=trust).theorems
    )
    if match["key"] is None:
        return theorems
    of_key = tuple(theorem for theorem in theorems if theorem.key == match["key"])
    if not of_key:
        raise UnknownNameError(
            f"statement of {match['path']}", match["key"], {t.key for t in theorems}
        )
    if match["variant"] is None:
        return of_key
    of_variant = tuple(
        theorem for theorem in of_key if theorem.variant == match["variant"]
    )
    if not of_variant:
        known = {theorem.variant for theorem in of_key}
        raise UnknownNameError(f"variant of {match['key']}", match["variant"], known)
    return of_variant


def _object(reference: Theorem | str) -> Theorem:
    theorem = reference
    if isinstance(reference, str):
        theorem = own(reference)
        place = reference.rpartition(":")[0]
        refuse_loose_steps(place, own_module(place))
    if not isinstance(theorem, Theorem):
        raise InputError(
            f"{reference} is of type {type(theorem).__name__}: it must be a"
            " dfltheory.bounds.Theorem"
        )
    return theorem


__all__ = ["Reference", "is_registered_key", "load", "load_all", "names_theorem_file"]
