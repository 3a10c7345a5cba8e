"""Theory in continuous integration: claims on one's own algorithms and networks, and the plugin of pytest.

>>> @respects("dfedsam.theorem_4_5", variant="corrected")     # doctest: +SKIP
... @dataclass(frozen=True)
... class Mine(Algorithm): ...

pytest finds the plugin by its entry point and makes one test of every claim that stands on a class or
function of a test module, imported ones too. Nothing heavy is imported before a claim is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

Subject = TypeVar("Subject")
CLAIMS = "__dfltheory_claims__"


class Claim(NamedTuple):
    """``kind`` (respects, reduces_to), what it speaks of, and how."""

    kind: str
    of: Any
    options: dict[str, Any]

    def __str__(self) -> str:
        of = self.of if isinstance(self.of, str) else getattr(self.of, "__name__", str(self.of))
        options = ", ".join(f"{n}={v}" for n, v in self.options.items() if v is not None and n != "examples")
        return f"{self.kind} {of}" + (f" ({options})" if options else "")


def respects(
    theorem: Any, *, variant: str | None = None, examples: int = 100
) -> Callable[[Subject], Subject]:
    """Claim that an algorithm, or a network, keeps what a theorem promises.

    What is decorated is an algorithm's class; or a function that gives an algorithm, and takes by name the
    letters that are drawn (eta, K, Q...); or one that gives a network, and takes ``m`` and, if it likes,
    ``seed``. ``examples`` problems of the theorem's scope are drawn; the test fails with the smallest that
    breaks the bound: exactly where expectations are computed, else by evidence that a true bound shows less
    than once in 10^6 such tests.

    Parameters
    ----------
    theorem : a Theorem, a key of the registry, or ``FILE.py:NAME``; ``variant`` of a registered one
    """
    return _claim(Claim("respects", theorem, {"variant": variant, "examples": examples}))


def reduces_to(other: Any, /, *, examples: int = 30, **letters: Any) -> Callable[[Subject], Subject]:
    """Claim that with these ``letters`` an algorithm runs through the models of another one (a class or a
    function that gives it), given the same other letters, without noise.

    >>> @reduces_to(dfl.algorithms.DFedAvg, rho=0.0)     # doctest: +SKIP
    """
    return _claim(Claim("reduces_to", other, {**letters, "examples": examples}))


def _claim(claim: Claim) -> Callable[[Subject], Subject]:
    def put(subject: Subject) -> Subject:
        setattr(subject, CLAIMS, [*vars(subject).get(CLAIMS, ()), claim])
        return subject

    return put


# -- pytest ------------------------------------------------------------------------------------------------


@cache
def _item() -> type[Any]:
    import pytest

    class ClaimItem(pytest.Item):
        """One claim as one test."""

        def __init__(self, *, subject: Any, claim: Claim, **options: Any):
            super().__init__(**options)
            self.subject, self.claim = subject, claim

        def runtest(self) -> None:
            from dfltheory.testing import check_claim

            check_claim(self.subject, self.claim)

        def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
            broken = isinstance(excinfo.value, AssertionError)
            return str(excinfo.value) if broken else super().repr_failure(excinfo, style)

        def reportinfo(self) -> tuple[Any, None, str]:
            return self.path, None, self.name

    return ClaimItem


def pytest_pycollect_makeitem(collector: Any, name: str, obj: Any) -> Any:
    """pytest's hook: the claims of an object of a test module as tests."""
    if not issubclass(type(obj), (type, FunctionType)):  # a proxy may raise whatever it is asked for
        return None
    claims = vars(obj).get(CLAIMS)
    if not claims:
        return None
    make = _item().from_parent
    return [make(collector, name=f"{name} {claim}", subject=obj, claim=claim) for claim in claims]


__all__ = ["Claim", "reduces_to", "respects"]
