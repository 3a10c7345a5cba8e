"""Every notebook is a test (nbmake); the one on CIFAR-10 needs its official files, and is slow."""

import os

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "cifar10" in item.nodeid:
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.data)
            if not os.environ.get("DFLTHEORY_DATA_ROOT"):
                why = "no real images: set DFLTHEORY_DATA_ROOT to a folder with the official files"
                item.add_marker(pytest.mark.skip(reason=why))
