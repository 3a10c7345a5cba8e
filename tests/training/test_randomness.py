"""Chance is a function of root seed, seed index, round and purpose: a stored run must
find it again.
"""

import io
import itertools
import os
import platform
import subprocess
import sys

import numpy as np
import pytest
import torch

import dfltheory as dfl
from benchmarks import determinism
from dfltheory.randomness import Generators, numpy_generator, torch_generator

PURPOSES = ("data", "network", "start", "participation")


@pytest.mark.parametrize("number", range(4))
def test_generators_are_numpys_children_of_the_root_seed(number):
    """Numpy's PCG64 and SeedSequence are fixed for good; so is what a checkpoint's next
    round draws.
    """
    for root, s, t in ((0, 0, 0), (7, 3, 200), (2**40, 0, 1)):
        child = np.random.SeedSequence(root, spawn_key=(s, t, number))
        mine = numpy_generator(root, s, t, PURPOSES[number])
        assert (
            mine.random(4).tolist() == np.random.default_rng(child).random(4).tolist()
        )
        word = int(child.generate_state(1, np.uint64)[0])
        assert torch_generator(root, s, t, PURPOSES[number]).initial_seed() == word // 2


def test_no_two_draw_the_same():
    keys = list(itertools.product((0, 1), (0, 1, 2), (0, 1, 2), PURPOSES))
    assert len({numpy_generator(*key).random() for key in keys}) == len(keys)
    assert len(
        {float(torch.rand(1, generator=torch_generator(*key))) for key in keys}
    ) == len(keys)


def test_generators_of_a_round_are_made_once_and_when_asked_for(monkeypatch):
    made = []
    monkeypatch.setattr(
        "dfltheory.randomness.torch_generator",
        lambda *key: made.append(key) or torch_generator(*key),
    )
    few = Generators(5, [2, 0, 9], 4, "data")
    assert len(few) == 3
    assert made == []
    first = [torch.rand(1, generator=g) for g in few]
    assert made == [(5, s, 4, "data", "cpu") for s in (2, 0, 9)]
    assert first == [
        torch.rand(1, generator=torch_generator(5, s, 4, "data")) for s in (2, 0, 9)
    ]
    assert [few[k] for k in range(3)] == list(few), "the same ones, which go on drawing"
    assert torch.rand(1, generator=few[0]) != first[0]
    assert len(made) == 3


def test_generators_are_made_on_the_tasks_device(monkeypatch):
    made, generator = [], torch.Generator
    monkeypatch.setattr(
        torch, "Generator", lambda device: made.append(device) or generator()
    )
    next(iter(Generators(5, [2], 4, "data", torch.device("cuda", 1))))
    assert made == [torch.device("cuda", 1)]


def test_the_bits_of_a_deterministic_run_do_not_depend_on_threads():
    task = dfl.tasks.quadratic(m=8, d=64, sigma=0.3)
    algorithm, seen = dfl.algorithms.DFedSAM(eta=0.05, K=3, rho=0.05), []

    def look(t, state, recorder):
        seen.append(
            (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())
        )

    def bits(threads, deterministic):
        torch.set_num_threads(threads)
        run = dfl.train(
            algorithm,
            task,
            dfl.graphs.ring(8),
            20,
            4,
            callbacks=[look],
            deterministic=deterministic,
        )
        assert torch.get_num_threads() == threads
        return [
            run.x.tobytes(),
            *(a.tobytes() for a in run.measures().values()),
            repr(run.constants),
        ]

    before = torch.get_num_threads()
    try:
        assert bits(1, True) == bits(2, True)
        assert set(seen) == {(1, True)}
        bits(2, False)
        assert set(seen[-20:]) == {(2, False)}
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("case", determinism.CASES, ids="-".join)
def test_seeds_alone_and_clients_in_chunks_have_the_bits_of_all_at_once(case):
    """The set-ups that docs/reliability.md promises; its other rows need processes of
    their own.
    """
    together = determinism.measures(*case, 4)
    assert len(np.unique(together["loss"][:, -1])) == 4
    alone = determinism.measures(*case, [2])
    assert bits(alone) == {n: v[2].tobytes() for n, v in together.items()}
    if case[0] == "digits":
        assert bits(determinism.measures(*case, 4, chunk=3)) == bits(together)


def bits(found):
    return {name: values.tobytes() for name, values in found.items()}


@pytest.mark.slow  # of a page's tool: two processes
def test_probes_tell_that_a_variable_changes_the_kernels():
    """Rows of docs/reliability.md: numpy's BLAS takes other kernels, and the gaps are
    those numbers still.
    """
    code = (
        "import numpy as np; from benchmarks import determinism as d; found ="
        " d.probes() | {'gaps': d.gaps()}"
    )
    code += "; np.savez(sys.stdout.buffer, **found)"
    told = []
    for name in ("nothing", "OPENBLAS_CORETYPE=Nehalem"):
        environment = (
            os.environ | {"OMP_NUM_THREADS": "1"} | determinism.ENVIRONMENTS[name]
        )
        ended = subprocess.run(
            [sys.executable, "-c", f"import sys; {code}"], env=environment, stdout=-1
        )
        told.append(dict(np.load(io.BytesIO(ended.stdout))))
    plain, changed = told
    gaps = plain.pop("gaps"), changed.pop("gaps")
    moved = {
        name
        for name, values in plain.items()
        if values.tobytes() != changed[name].tobytes()
    }
    # where numpy comes with OpenBLAS
    if sys.platform == "linux" and platform.machine() == "x86_64":
        assert moved == {"numpy's BLAS"}
    np.testing.assert_allclose(*gaps, rtol=0, atol=1e-13)
