"""Import a user's own code by reference: ``MODULE:NAME`` or ``FILE.py:NAME``.

Importing runs the code. :func:`own` is the only function that imports a reference, and
:func:`require_trust` the only check: code that a document names runs only if the user
trusts the document or typed the same reference.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from pathlib import Path
from typing import Any

from dfltheory.errors import InputError

Trust = bool | Set[str]
"""What a document may import: everything (True), nothing (False), or the references
that the user typed.
"""

_PREFIX = "dfltheory_own_"
"""Prefix of the names of modules that were loaded from a file."""

_trust: ContextVar[Trust] = ContextVar("trust", default=True)


@contextmanager
def trusting(trust: Trust) -> Iterator[None]:
    """Limit what :func:`own` imports while a document is read and built."""
    token = _trust.set(trust)
    try:
        yield
    finally:
        _trust.reset(token)


def require_trust(reference: object, trust: Trust, field: str = "a document") -> None:
    """Raise InputError if ``reference`` names code that may not be imported.

    Parameters
    ----------
    reference : object
        Any value of a document; only text with a colon names code.
    trust : bool or set of str
        The code that may be imported, see :data:`Trust`.
    field : str
        Field of the document, for the message.

    Raises
    ------
    InputError
        If the reference may not be imported.
    """
    if not isinstance(reference, str) or ":" not in reference:
        return
    if trust is True or (trust is not False and reference in trust):
        return
    module = reference.rpartition(":")[0]
    raise InputError(
        f"{field} = {reference!r} would run code of the module {module}: name one of"
        " dfltheory's, or allow it (--trust on the command line, trust=True or"
        " own=True in Python) if you trust the document"
    )


def own(reference: str) -> Any:
    """Return the object at ``reference``, importing its module.

    A file is loaded once, and reloaded after it has changed, so two references to one
    file share its objects. ``PACKAGE.py:NAME`` refers to a file if it exists, and
    otherwise to the module ``py`` of a package.

    Raises
    ------
    InputError
        If there is no such file, module or name, its import fails, or the document that
        names it is not trusted.
    """
    require_trust(reference, _trust.get())
    place, _, name = reference.rpartition(":")
    if not (place and name):
        raise InputError(
            f"{reference!r} is not a reference: use FILE.py:NAME or MODULE:NAME"
        )
    module = own_module(place)
    try:
        return attrgetter(name)(module)  # supports nested classes
    except AttributeError:
        raise InputError(f"{reference}: {place} defines no {name}") from None


def own_module(place: str) -> object:
    """Return the module at ``place``, ``FILE.py`` or ``MODULE``, importing it.

    Raises
    ------
    InputError
        If there is no such file or module, or its import fails.
    """
    try:
        return (
            _from_file(Path(place))
            if _is_file(place)
            else importlib.import_module(place)
        )
    except InputError:
        raise
    # a user's module may raise anything, and may call sys.exit
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{place} cannot be imported: {reason}") from error


def own_name(reference: str) -> str:
    """Return ``MODULE:NAME`` without the folder or package of the module.

    ``FILE.py:NAME`` and ``PACKAGE.FILE:NAME`` both become ``FILE:NAME``, so the name of
    a user-defined object does not depend on how it was loaded. References to this
    package are returned unchanged.
    """
    module, colon, name = reference.rpartition(":")
    if module.partition(".")[0] == __name__.partition(".")[0]:
        return reference
    return f"{module.rpartition('.')[2].removeprefix(_PREFIX)}{colon}{name}"


def _is_file(place: str) -> bool:
    """Return whether a place is a file rather than a module.

    The working folder is added to the search path of modules.
    """
    if place in sys.modules and not (place.endswith(".py") and Path(place).is_file()):
        return False  # an imported module needs no search
    if "" not in sys.path:  # modules of the working folder, as for `python -m`
        sys.path.insert(0, "")
    if not place.endswith(".py"):
        return False
    if Path(place).is_file() or not place.replace(".", "").isidentifier():
        return True
    try:
        return importlib.util.find_spec(place) is None
    except ModuleNotFoundError:
        return True


def _from_file(path: Path) -> object:
    """Return the module of a file; it is loaded again if the file has changed."""
    if not path.is_file():
        raise InputError(f"{path} is not a file: use FILE.py:NAME or MODULE:NAME")
    file, version = str(path.resolve()), path.stat().st_mtime_ns
    name = f"{_PREFIX}{path.stem}"
    known = sys.modules.get(name)
    if known is not None and getattr(known, "dfltheory_version", None) == (
        file,
        version,
    ):
        return known
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None, "a file that ends in .py has a loader"
    assert spec.loader is not None, "a file that ends in .py has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look up their module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    module.__dict__["dfltheory_version"] = (file, version)
    return module


__all__ = ["Trust", "own", "own_module", "own_name", "require_trust", "trusting"]
