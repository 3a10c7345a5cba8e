"""The tool that changes code one place at a time: its limits are of the processor, not
of the clock, and its changes are found again wherever their function is.
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


SOURCE = """def doubled(x):
    return 2 * x


class Shop:
    def price(self, x):
        return x + 1
"""


def names(text):
    return [name for name, *_ in mutation.changes(text)]


def test_a_change_is_named_by_function_and_text_whatever_its_line():
    assert names(SOURCE) == [
        "doubled: Mult -> Div in: return 2 * x",
        "doubled: 2 -> 3 in: return 2 * x",
        "Shop.price: Add -> Sub in: return x + 1",
        "Shop.price: 1 -> 2 in: return x + 1",
    ]
    assert set(names(SOURCE)) < set(names(f"START = 5\n\n\n{SOURCE}"))
    assert names("if TYPE_CHECKING:\n    import ast\n") == []


def test_outcomes_follow_a_function_to_another_file_and_end_with_its_text():
    change, gone = names(SOURCE)[0], "doubled: 3 -> 4 in: return 3 * x"
    kept = {f"old.py {change}": "killed", f"old.py {gone}": "killed"}
    today = [f"new.py {name}" for name in names(SOURCE)]
    assert mutation.renewed(kept, today) == {f"new.py {change}": "killed"}
    assert mutation.renewed(kept, [f"old.py {change}", *today]) == {
        f"old.py {change}": "killed"
    }
    twice = [*today, f"third.py {change}"]  # which one it is cannot be known
    assert mutation.renewed(kept, twice) == {}


def test_the_drawn_changes_are_the_known_ones_and_the_same_others_in_every_file():
    old, new = ({f"{file} {n}": Path(file) for n in names(SOURCE)} for file in "ab")
    few, more = mutation.drawn(old, [], 2), mutation.drawn(old, [], 3)
    assert more[:2] == few
    moved = [mutation.without_file(name) for name in mutation.drawn(new, [], 2)]
    assert moved == [mutation.without_file(name) for name in few]
    known = [more[2]]
    assert mutation.drawn(old, known, 2) == [*known, few[0]]
    assert mutation.drawn(old, more, 1) == more
