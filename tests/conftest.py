"""What every test relies on: strict floating point where it matters, quiet figures,
Hypothesis profiles.
"""

import gc
import os
import random

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SYMPY_CACHE_SIZE", "20000")  # many statements share terms

import pytest
from hypothesis import HealthCheck, settings

_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=25, **_common)
settings.register_profile(
    "ci", max_examples=25, derandomize=True, print_blob=True, **_common
)
settings.register_profile(
    "nightly", max_examples=int(os.environ.get("EXAMPLES", "1000")), **_common
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)


QUICK_CASES = 8
"""Of a test with more cases, so many are in the quick suite."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Of a test with many cases some stay quick; the others become slow.

    They are ``QUICK_CASES``, or n where the test is marked ``drawn(n)``. The draw
    depends on the name of the test alone, so that all workers draw the same.
    """
    cases = {}
    for item in items:
        if not item.get_closest_marker("slow"):
            test = item.nodeid.partition("[")[0]
            cases.setdefault(test, []).append(item)
    for test, members in cases.items():
        drawn = members[0].get_closest_marker("drawn")
        count = drawn.args[0] if drawn else QUICK_CASES
        names = sorted(item.nodeid for item in members)
        kept = random.Random(test).sample(names, min(count, len(names)))
        for item in members:
            if item.nodeid not in kept:
                item.add_marker(pytest.mark.slow)


def pytest_sessionstart():
    """Turn garbage collection off while tests are collected: almost all objects stay."""
    gc.disable()


def pytest_collection_finish():
    """What collection made lives until the end: no need to look through it for garbage
    again and again, nor so often through SymPy's many small objects, few of which are
    in cycles.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture
def undrawn(monkeypatch):
    """Figures become empty files, where what they show is not the point."""
    from tests.drawing import draw_only

    draw_only(monkeypatch)


@pytest.fixture(scope="session")
def data_root():
    """The folder with the official image files, or a skip that says how to give one."""
    root = os.environ.get("DFLTHEORY_DATA_ROOT")
    if not root:
        pytest.skip(
            "no real images: set DFLTHEORY_DATA_ROOT to a folder with the official"
            " files"
        )
    return root
