"""A theorem by whatever it is called: itself, a key of the registry, or where a user's own stands."""

from __future__ import annotations

from dfltheory.bounds import registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError
from dfltheory.own import own


def load(reference: Theorem | str, variant: str | None = None) -> Theorem:
    """The theorem that ``reference`` names.

    Parameters
    ----------
    reference : a Theorem, which is taken as it is; a key of the registry; or ``FILE.py:NAME`` or
        ``MODULE:NAME``, where a user's own theorem stands. The file or module is imported: it is code that
        the caller trusts
    variant : of a registered statement; its first one, ``printed`` as a rule, where none is given

    Raises
    ------
    UnknownNameError
        No statement of the registry is called so.
    InputError
        There is no such file, module or name; what stands there is no theorem; a ``variant`` is given with a
        theorem that has its own.
    """
    if isinstance(reference, str) and ":" not in reference:
        return registry.get(reference, variant or registry.variants(reference)[0])
    found = own(reference) if isinstance(reference, str) else reference
    if not isinstance(found, Theorem):
        raise InputError(f"{reference} is a {type(found).__name__} there, not a dfltheory.bounds.Theorem")
    if variant not in (None, found.variant):
        raise InputError(f"{found} is given as an object: its variant is not {variant!r}")
    return found
