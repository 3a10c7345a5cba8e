"""Tasks by name: sizes are checked before memory is allocated."""

import pytest
import torch

from dfltheory import tasks
from dfltheory.errors import DFLTheoryError
from dfltheory.tasks import registry, sizes

HUGE = [
    ("quadratic", {"d": 1_000_000_000}, "8e\\+09 GB"),
    ("quadratic", {"d": 10**12, "hessians": "diagonal"}, "1.36e\\+05 GB"),
    ("quadratic", {"m": 10**9, "d": 10**3, "hessians": "random"}, "GB"),
    ("sinusoidal", {"d": 10**13}, "1.28e\\+06 GB"),
    ("clipped", {"m": 10**13}, "GB"),
    ("coupled", {"p": 10**13}, "GB"),
]


@pytest.mark.parametrize(("name", "sizes", "words"), HUGE)
def test_sizes_beyond_the_machines_memory_are_refused(name, sizes, words):
    sizes_in_any_order = "".join(
        f"(?=.* {k} = {v}[, ])" for k, v in sizes.items() if k != "hessians"
    )
    line = (
        f"^the task {name} with{sizes_in_any_order} .*needs at least .*{words} of memory, and this"
        " machine has .* GB: use"
    )
    with pytest.raises(DFLTheoryError, match=line) as caught:
        tasks.get(name, **sizes)
    assert "\n" not in str(caught.value)


def tensors(value, seen):
    """Return all tensors that an object holds, by storage."""
    if isinstance(value, torch.Tensor):
        return {value.untyped_storage().data_ptr(): value.untyped_storage().nbytes()}
    if id(value) in seen or not hasattr(value, "__dict__"):
        return {}
    return {
        k: v
        for part in vars(value).values()
        for k, v in tensors(part, {*seen, id(value)}).items()
    }


@pytest.mark.parametrize("name", sorted(registry._FACTORIES))
def test_the_figure_is_no_more_than_what_a_task_holds(name, monkeypatch):
    """So no task that fits into memory is rejected."""
    held = sum(tensors(tasks.get(name), set()).values())
    # more memory is used during construction
    monkeypatch.setattr(sizes, "memory", lambda: 1.2 * held)
    tasks.get(name)
    monkeypatch.setattr(sizes, "memory", lambda: held / 8)
    for make in (lambda: tasks.get(name), registry.factory(name)):
        with pytest.raises(DFLTheoryError, match="needs at least"):
            make()


def test_a_machine_that_does_not_tell_its_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(sizes.os, "sysconf", lambda name: int("none"))
    assert sizes.memory() == float("inf")
