"""Time limits of the mutation tool are in processor time, not wall-clock time."""

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
        # the smallest limit is one second
        pytest.param(spins, 1, 60, "timeout", marks=pytest.mark.slow),
        (lambda *_: time.sleep(30), 0.1, 1, "timeout"),
        # waits without using much processor time, which is not a failure
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
