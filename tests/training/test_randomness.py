"""Random numbers are a function of root seed, seed index, round and purpose, so that
stored runs can be reproduced.
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
from dfltheory import randomness
from dfltheory.randomness import (
    Generators,
    RunGenerators,
    normal,
    numpy_generator,
    torch_generator,
    uniform_numbers,
)

PURPOSES = ("data", "network", "start", "participation")


@pytest.mark.parametrize("number", range(4))
def test_generators_are_numpys_children_of_the_root_seed(number):
    """Numpy's PCG64 and SeedSequence never change, so neither do the draws after a
    checkpoint.
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


DOUBLE = torch.empty(0, dtype=torch.float64)
DRAWS = {"normal": normal, "uniform": uniform_numbers}


def first_numbers(root, seeds, t, purpose, kind, like, size=4):
    """Return the first array of a round as lists, one per seed."""
    generators = RunGenerators(root, seeds).at(t, purpose)
    return DRAWS[kind](generators, (size,), like).tolist()


def test_each_key_of_a_stream_changes_its_numbers():
    keys = itertools.product(
        (0, 1), (0, 1), ("data", "message"), DRAWS, (DOUBLE, DOUBLE.float()), (4, 5)
    )
    firsts = []
    for root, t, purpose, kind, like, size in keys:
        firsts += first_numbers(root, [0, 1], t, purpose, kind, like, size)
    numbers = [first[0] for first in firsts]
    assert len(numbers) == 128
    assert len(set(numbers)) == 128


def test_numbers_of_a_stream_are_those_of_its_documented_state():
    """Checkpoints depend on it: a change needs another random_format."""
    key = np.random.SeedSequence(7, spawn_key=(3, 0, 0, 0, 6)).generate_state(
        2, np.uint64
    )
    generator = np.random.SFC64(0)
    state = np.array([*key, 11, 1], np.uint64)
    generator.state = {
        "bit_generator": "SFC64",
        "state": {"state": state},
        "has_uint32": 0,
        "uinteger": 0,
    }
    generator.random_raw(18)
    expected = np.random.Generator(generator).standard_normal((2, 2, 3))
    streams = RunGenerators(7, [5, 3])
    generators = streams.at(11, "data")
    found = [normal(generators, (2, 3), DOUBLE)[1] for _ in range(2)]
    np.testing.assert_array_equal(torch.stack(found), expected)
    assert randomness.RANDOM_FORMAT == 2


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("like", [DOUBLE, DOUBLE.float()], ids=["double", "single"])
@pytest.mark.parametrize("counts", [(3, 3), (1, 4), (4, 1), (0, 2)])
def test_numbers_do_not_depend_on_how_many_are_drawn_at_once(
    kind, like, counts, monkeypatch
):
    def rounds(seeds):
        streams, arrays = RunGenerators(1, seeds), []
        for t, count in enumerate(counts):
            generators = streams.at(t, "data")
            for _ in range(count):
                arrays.append(DRAWS[kind](generators, (3, 2), like))
                # other sizes have their own streams
                DRAWS[kind](generators, (5,), like)
        return torch.stack(arrays)

    ahead = rounds([4, 2, 0])
    torch.testing.assert_close(rounds([2]), ahead[:, 1:2], rtol=0, atol=0)
    monkeypatch.setattr(randomness, "_MOST_AHEAD", 0)
    torch.testing.assert_close(rounds([4, 2, 0]), ahead, rtol=0, atol=0)
    assert len(set(ahead.flatten().tolist())) == ahead.numel()


def blocks_of(tensors):
    """Return the number of blocks of memory in which tensors of several seeds lie.

    Tensors of one block alternate, so that their ranges overlap.
    """
    blocks = []
    for array in (tensor.numpy() for tensor in tensors):
        if not any(np.may_share_memory(array, block) for block in blocks):
            blocks.append(array)
    return len(blocks)


def test_as_many_arrays_are_drawn_at_once_as_the_round_before_has_taken(monkeypatch):
    streams = RunGenerators(1, range(3))
    for t in range(2):
        generators = streams.at(t, "data")
        arrays = [normal(generators, (2,), DOUBLE) for _ in range(5)]
        assert blocks_of(arrays) == (5 if t == 0 else 1)
    monkeypatch.setattr(randomness, "_MOST_AHEAD", 2 * 3 * 2)
    generators = streams.at(2, "data")
    arrays = [normal(generators, (2,), DOUBLE) for _ in range(5)]
    assert blocks_of(arrays) == 3


def test_a_restarted_round_gives_its_numbers_again():
    streams = RunGenerators(1, [0])
    first = normal(streams.at(4, "data"), (3,), DOUBLE)
    normal(streams.at(5, "data"), (3,), DOUBLE)
    assert torch.equal(normal(streams.at(4, "data"), (3,), DOUBLE), first)


def test_other_precisions_come_from_the_torch_generators():
    half = torch.empty(0, dtype=torch.float16)
    found = uniform_numbers(RunGenerators(1, [2]).at(4, "data"), (3,), half)
    generator = torch_generator(1, 2, 4, "data")
    expected = torch.rand(3, generator=generator, dtype=torch.float16)
    assert torch.equal(found[0], expected)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("axis", ["seeds", "rounds"])
def test_streams_are_independent_and_of_the_stated_law(axis):
    """10^4 streams that differ in one key, with three numbers each."""
    n = 10_000
    if axis == "seeds":
        streams = RunGenerators(0, range(n)).at(0, "data")
        numbers = torch.stack([normal(streams, (1,), DOUBLE) for _ in range(3)])
        numbers = numbers[:, :, 0].T
        shares = uniform_numbers(streams, (1,), DOUBLE)
    else:
        streams = RunGenerators(0, [0])
        rounds = [normal(streams.at(t, "data"), (3,), DOUBLE) for t in range(n)]
        numbers = torch.cat(rounds)
        shares = torch.cat(
            [uniform_numbers(streams.at(t, "data"), (1,), DOUBLE) for t in range(n)]
        )
    tolerance = 5 / n**0.5
    assert numbers.mean(0).abs().max() < tolerance
    assert (numbers.square().mean(0) - 1).abs().max() < tolerance * 2**0.5
    assert (numbers.pow(4).mean(0) - 3).abs().max() < tolerance * 96**0.5
    products = [
        (numbers[:, 0] * numbers[:, 1]).mean(),
        (numbers[:-1] * numbers[1:]).mean(),
        (numbers[:-1, 0] * numbers[1:, 1]).mean(),
    ]
    assert max(map(abs, products)) < tolerance
    counts = torch.histc(shares, bins=10, min=0, max=1)
    assert float(((counts - n / 10) ** 2 / (n / 10)).sum()) < 40


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


@pytest.mark.slow  # quickly: in test_contract.py
@pytest.mark.drawn(1)
@pytest.mark.parametrize("case", determinism.CASES, ids="-".join)
def test_seeds_alone_and_clients_in_chunks_have_the_bits_of_all_at_once(case):
    """The set-ups that docs/reliability.md promises; its other rows need separate
    processes.
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
    """Rows of docs/reliability.md: numpy's BLAS uses other kernels, but the gaps do not
    change.
    """
    code = (
        "import numpy as np; from benchmarks import determinism as d; found ="
        " d.probes() | {'gaps': d.gaps()}"
    )
    code += "; np.savez(sys.stdout.buffer, **found)"
    results = []
    for name in ("nothing", "OPENBLAS_CORETYPE=Nehalem"):
        environment = (
            os.environ | {"OMP_NUM_THREADS": "1"} | determinism.ENVIRONMENTS[name]
        )
        ended = subprocess.run(
            [sys.executable, "-c", f"import sys; {code}"], env=environment, stdout=-1
        )
        results.append(dict(np.load(io.BytesIO(ended.stdout))))
    plain, changed = results
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
