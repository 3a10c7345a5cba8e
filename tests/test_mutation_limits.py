"""The tool that changes code one place at a time: its limits are of the processor, not
of the clock.
"""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from tests import mutation


def spins(*_):
    while True:
        pass


@pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(),
    reason="functions are sent by fork",
)
@pytest.mark.parametrize(
    ("child", "limit", "wait", "ends"),
    [
        # a second is the least limit
        pytest.param(spins, 1, 60, "timeout", marks=pytest.mark.slow),
        (lambda *_: time.sleep(30), 0.1, 1, "timeout"),
        # waits, and works little: no fault of its own
        (lambda *_: time.sleep(0.1), 0.05, 60, "survived"),
        (lambda *_: os._exit(1), 1, 60, "killed"),
    ],
    ids=["spins", "waits for ever", "waits", "fails"],
)
def test_what_becomes_of_a_child(monkeypatch, child, limit, wait, ends):
    monkeypatch.setattr(
        mutation, "PROCESSES", multiprocessing.get_context("fork"), raising=False
    )
    monkeypatch.setattr(mutation, "_pytest", child)
    monkeypatch.setattr(mutation, "WAIT", wait)
    assert mutation.run(Path(), [], None, limit) == ends
