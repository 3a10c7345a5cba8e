"""What every test relies on: strict floating point where it matters, quiet figures,
Hypothesis profiles.
"""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("SYMPY_CACHE_SIZE", "20000")  # many statements share terms

import pytest
from hypothesis import HealthCheck, settings

_common = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=25, **_common)
settings.register_profile(
    "ci", max_examples=50, derandomize=True, print_blob=True, **_common
)
settings.register_profile(
    "nightly", max_examples=int(os.environ.get("EXAMPLES", "1000")), **_common
)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev")
)


def pytest_collection_finish():
    """What collection made lives until the end: no need to look through it for garbage
    again and again, nor so often through SymPy's many small objects, few of which are
    in cycles.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture
def undrawn(monkeypatch):
    """Figures become empty files, where what they show is not the point."""
    from tests.drawing import drawing

    monkeypatch.setattr("dfltheory.plots.look.write", drawing())


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
