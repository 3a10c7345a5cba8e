"""Decorators and a pytest plugin for claims about user-defined algorithms and networks.

>>> @respects("dfedsam.theorem_4_5", variant="corrected")     # doctest: +SKIP
... @dataclass(frozen=True)
... class Mine(Algorithm): ...

pytest finds the plugin by its entry point and collects one test for each claim of a
class or function in a test module. A class that several test modules import is tested
once: in the module that defines it if that is collected, else in the first one. Heavy
imports are delayed until a claim is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    import pytest

Subject = TypeVar("Subject")
CLAIMS = "__dfltheory_claims__"


class Claim(NamedTuple):
    """A claim: its ``kind`` (respects, reduces_to) and options.

    ``of`` is the theorem or algorithm that it refers to.
    """

    kind: str
    of: Any
    options: dict[str, Any]

    def __str__(self) -> str:
        of = (
            self.of
            if isinstance(self.of, str)
            else getattr(self.of, "__name__", str(self.of))
        )
        options = ", ".join(
            f"{n}={v}"
            for n, v in self.options.items()
            if v is not None and n != "examples"
        )
        return f"{self.kind} {of}" + (f" ({options})" if options else "")


def respects(
    theorem: object, *, variant: str | None = None, examples: int = 100
) -> Callable[[Subject], Subject]:
    """Claim that an algorithm or a network satisfies a theorem.

    The decorated object is an algorithm class, a function that returns an algorithm and
    takes the drawn hyperparameters by name (eta, K, Q...), or a function that returns a
    network and takes ``m`` and optionally ``seed``. The test fails with the smallest
    drawn problem that violates the bound: exactly if expectations are computed, and
    otherwise with evidence that occurs less than once in 10^6 such tests if the bound
    is true.

    Parameters
    ----------
    theorem : Theorem or str
        A theorem, a key of the registry, or ``FILE.py:NAME``.
    variant : str, optional
        Variant of a registered theorem.
    examples : int
        Number of problems that are drawn from the theorem's scope.
    """
    return _claim(
        Claim("respects", theorem, {"variant": variant, "examples": examples})
    )


def reduces_to(
    other: object, /, *, examples: int = 30, **hyperparameters: object
) -> Callable[[Subject], Subject]:
    """Claim that an algorithm, with some hyperparameters, computes another's models.

    ``other`` is a class or a function that returns an algorithm. Both algorithms have
    equal values of the remaining hyperparameters, and no noise.

    >>> @reduces_to(dfl.algorithms.DFedAvg, rho=0.0)     # doctest: +SKIP
    """
    return _claim(Claim("reduces_to", other, {**hyperparameters, "examples": examples}))


def _claim(claim: Claim) -> Callable[[Subject], Subject]:
    """Return a decorator that adds a claim to a class or function."""

    def put(subject: Subject) -> Subject:
        setattr(subject, CLAIMS, [*vars(subject).get(CLAIMS, ()), claim])
        return subject

    return put


# -- pytest


@cache
def _item() -> type[Any]:
    """Return the class of tests; pytest is imported at the first call."""
    import pytest

    class ClaimItem(pytest.Item):
        """One claim as one test."""

        def __init__(
            self, *, subject: Callable[..., object], claim: Claim, **options: Any
        ):
            super().__init__(**options)
            self.subject, self.claim = subject, claim

        def runtest(self) -> None:
            from dfltheory.testing import check_claim

            check_claim(self.subject, self.claim)

        def repr_failure(self, excinfo, style=None):  # types are those of pytest
            if isinstance(excinfo.value, AssertionError):
                return str(excinfo.value)
            return super().repr_failure(excinfo, style)

        def reportinfo(self) -> tuple[Path, None, str]:
            return self.path, None, self.name

    return ClaimItem


@cache
def _collection() -> type:
    """Return the class of hooks; pytest is imported at the first call."""
    import pytest

    class ClaimCollection:
        """Hooks that add claims to pytest's collection."""

        @pytest.hookimpl(wrapper=True)
        def pytest_pycollect_makeitem(
            self, collector: pytest.Collector, name: str, obj: object
        ) -> Generator[None, object, object]:
            """Add the claims of an object to its other tests."""
            collected = yield
            claims = _claims_of(obj)
            if not claims:
                return collected
            make = _item().from_parent
            tests = [
                make(collector, name=f"{name} {claim}", subject=obj, claim=claim)
                for claim in claims
            ]
            if collected is None:
                return tests
            others = collected if isinstance(collected, list) else [collected]
            return [*tests, *others]

        @pytest.hookimpl(trylast=True)
        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            """Keep one test of each claim, preferably where its subject is defined."""
            kept: dict[tuple[int, int], object] = {}
            for item in items:
                if isinstance(item, _item()):
                    key = (id(item.subject), id(item.claim))
                    if key not in kept or _defines(item.parent, item.subject):
                        kept[key] = item
            chosen = set(map(id, kept.values()))
            items[:] = [
                item
                for item in items
                if not isinstance(item, _item()) or id(item) in chosen
            ]

    return ClaimCollection


def _claims_of(obj: object) -> Sequence[Claim]:
    """Return the claims of a class or function, without those of base classes."""
    # attributes of a proxy may raise
    if not issubclass(type(obj), (type, FunctionType)):
        return ()
    return vars(obj).get(CLAIMS, ())


def _defines(collector: pytest.Collector, subject: Callable[..., object]) -> bool:
    """Return whether the collected module defines a class or function."""
    module = getattr(collector, "obj", None)
    return getattr(module, "__name__", None) == subject.__module__


def pytest_configure(config: pytest.Config) -> None:
    """Register the hooks that collect claims (hook of pytest)."""
    config.pluginmanager.register(_collection()(), "dfltheory-claims")


__all__ = ["Claim", "reduces_to", "respects"]
