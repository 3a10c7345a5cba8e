"""Two real processes over gloo give the trajectory of one, also when they were interrupted on the way."""

import os
import socket
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from dfltheory.algorithms import State
from dfltheory.errors import DFLTheoryError
from dfltheory.tasks.task import Task
from dfltheory.training import History, train
from dfltheory.training.ranks import Team
from tests.algorithms.problems import Rows
from tests.training.distributed_cases import images

# what a user would write under torchrun: every rank runs this
SCRIPT = """
import os, sys
import psutil, torch
import dfltheory as dfl
from tests.training.distributed_cases import CASES
torch.set_num_threads(1)
def halt(t, state, recorder):
    if t == 2:
        raise KeyboardInterrupt
rank = int(os.environ["RANK"])
for name, case in CASES.items():
    file = f"{sys.argv[1]}/{name}.checkpoint"
    try:
        each = dfl.training.Checkpoint(file, every=1)
        dfl.train(**case(), distributed=True, progress=False, checkpoint=each, callbacks=[halt])
    except KeyboardInterrupt:
        torch.distributed.barrier()
    history = dfl.train(**case(), distributed=True, progress=False, checkpoint=file)
    if rank == 1:
        history.save(f"{sys.argv[1]}/{name}")
def refused(part, **change):
    try:
        dfl.train(**case() | change, distributed=True, progress=False)
    except dfl.errors.InputError as wrong:
        assert part in str(wrong), wrong
    else:
        raise AssertionError(part)
doors = [c.laddr.ip for c in psutil.Process().net_connections("tcp") if c.status == "LISTEN"]
assert len(doors) == 2 - rank and {*doors} == {"127.0.0.1"}, doors  # gloo's, and where rank 0 met the other
case = CASES["two-blocks"]
own = f"{sys.argv[1]}/" + ("absent", "two-blocks.checkpoint")[rank]
refused("the ranks find 0, 4 rounds in", checkpoint=own)
refused("the ranks were given different runs", checkpoint=f"{sys.argv[1]}/new", seed=rank)
broken = ("rank 1 cannot begin with", "another run")[rank]
refused(broken, checkpoint=f"{sys.argv[1]}/" + ("new", "two-blocks.checkpoint")[rank], seed=7)
torch.distributed.barrier()  # gloo aborts a rank whose partner leaves while it still listens
torch.distributed.destroy_process_group()
print("whole", flush=True)
"""
ABORTED = "terminate called without an active exception"
"""What a thread of gloo may say while a process ends, rarely, though its group was left in order: torch's own
fault (https://github.com/pytorch/pytorch/issues/190489), which no result can suffer from any more."""


@pytest.mark.distributed
def test_two_processes_are_one(tmp_path):
    from tests.training.distributed_cases import CASES

    with socket.create_server(("127.0.0.1", 0)) as free:
        told = {"WORLD_SIZE": "2", "MASTER_PORT": str(free.getsockname()[1])}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd(), **told}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(tmp_path)],
            env=environment | {"RANK": str(rank), "PYTHONHASHSEED": str(rank)},  # nor does its order matter
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank, (told, wrong) in [(rank, rank.communicate(timeout=120)) for rank in ranks]:
        assert told.endswith("whole\n"), wrong
        assert rank.returncode == 0 or wrong.strip() == ABORTED, wrong
    for name, case in CASES.items():
        alone, together = train(**case()), History.load(tmp_path / name)
        np.testing.assert_allclose(together.x, alone.x, rtol=0, atol=1e-12, err_msg=name)
        assert together.measures().keys() == alone.measures().keys()
        np.testing.assert_array_equal(together.sent_bits, alone.sent_bits, err_msg=name)
        for measure, values in alone.measures().items():
            np.testing.assert_allclose(
                together.measures()[measure], values, rtol=1e-9, atol=1e-12, err_msg=name
            )


def test_some_clients_see_what_they_would_see_among_all():
    from dfltheory.training.oracle import RoundOracle

    def louder(X, generators):
        return X + torch.stack([torch.rand(X.shape[1:], generator=g, dtype=X.dtype) for g in generators])

    for options in ({}, {"sampling": "epochs"}, {"augment": louder}):
        task, rows = images(**options), slice(1, 4)
        whole, oracle = (RoundOracle(task, range(2), 0, 3, 9) for _ in range(2))
        some = oracle.of(rows)
        for _ in range(3):
            every, own = whole.sample(), some.sample()
            assert torch.equal(own.X, every.X[:, rows])
            assert torch.equal(own.y, every.y[:, rows])
        assert torch.equal(
            some.of(slice(1, 3)).sample().X, RoundOracle(task, range(2), 0, 3, 9).sample().X[:, 2:4]
        )
    luck = RoundOracle(task, range(2), 0, 3, 9).uniform((5, 4))
    assert torch.equal(RoundOracle(task, range(2), 0, 3, 9).of(rows).uniform((3, 4)), luck[:, rows])


@pytest.mark.parametrize(("m", "world"), [(10, 1), (10, 4), (5, 5), (7, 2), (101, 8)])
def test_clients_are_divided_as_evenly_as_can_be_and_in_order(m, world, monkeypatch):
    pretend(monkeypatch, world, 0)
    here = []
    for rank in range(world):
        pretend(monkeypatch, world, rank)
        team = Team(m, True)
        assert team.first == (rank == 0)
        here.append(list(range(m))[team.rows])
        assert m // world <= len(here[-1]) <= -(-m // world)
        x = torch.arange(2.0 * m * 3).view(2, m, 3)
        assert torch.equal(team.here(State(x, x)).z, x[:, here[-1]])
    assert [i for own in here for i in own] == list(range(m))


@pytest.mark.parametrize(("m", "world"), [(10, 1), (10, 4), (7, 3), (5, 5), (11, 8)])
def test_what_is_gathered_is_all_clients_in_order_and_no_more_is_sent_than_the_widest_share(
    m, world, monkeypatch
):
    g = torch.Generator().manual_seed(m)
    x = torch.randn(2, m, 3, generator=g, dtype=torch.float64)
    lists = torch.randint(2, (2, m, 3, 2), generator=g, dtype=torch.uint8)  # not only models are stacked
    shares, sent = [], []
    for rank in range(world):
        pretend(monkeypatch, world, rank)
        shares.append(Team(m, True).rows)
    widest = max(rows.stop - rows.start for rows in shares)

    def all_gather(parts, mine):
        whole = x if mine.dtype == x.dtype else lists
        sent.append(mine.shape)
        for part, rows in zip(parts, shares, strict=True):
            part.fill_(99)
            part[:, : rows.stop - rows.start] = whole[:, rows]
        assert torch.equal(mine[:, : own.stop - own.start], whole[:, own])

    monkeypatch.setattr(torch.distributed, "all_gather", all_gather)
    for rank, own in enumerate(shares):
        pretend(monkeypatch, world, rank)
        team, here = Team(m, True), x[:, own]
        whole = team.whole(team.here(Lists(x, x, lists, torch.ones(2, 1))))
        assert torch.equal(whole.x, x)
        assert whole.z is whole.x, "what is one tensor is sent once, and stays one"
        assert torch.equal(whole.lists, lists)
        assert torch.equal(whole.shared, torch.ones(2, 1))
        assert torch.equal(team.gather(here), x)
    assert sent == [(2, widest, 3), (2, widest, 3, 2), (2, widest, 3)] * world


@dataclass(frozen=True)
class Lists(State):
    """A state with something of every client beside its models, and something of no client."""

    lists: torch.Tensor
    shared: torch.Tensor


def test_one_process_has_everything_here():
    state, team = State(torch.zeros(1, 2, 3), torch.ones(1, 2, 3)), Team()
    assert team.first is True
    assert team.rows is None
    for give in (team.here, team.whole, team.gather, team.gather_edges):
        assert give(state) is state


def pretend(monkeypatch, world, rank):
    """As if this were a process of a group."""
    known = {"is_initialized": True, "get_world_size": world, "get_rank": rank}
    for name, value in known.items():
        monkeypatch.setattr(torch.distributed, name, lambda value=value: value)


def test_more_processes_than_clients_are_told(monkeypatch):
    pretend(monkeypatch, 4, 0)
    with pytest.raises(DFLTheoryError, match=r"3 clients cannot be divided over 4 processes: start fewer$"):
        Team(3, True)
    assert Team(4, True).rows == slice(0, 1)


def test_a_task_of_anybodys_is_divided_and_one_that_can_do_less_does():
    theirs, rows = Rows(), slice(2, 5)
    part = theirs.restrict(rows)
    assert (theirs.m, part.m, part.d, part.dtype, part.name) == (5, 3, 4, theirs.dtype, "rows")
    x = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for slope in ("gradient", "balanced_gradient"):
        expected = getattr(theirs, slope)(x)
        assert torch.equal(getattr(part, slope)(x[:, rows]), expected[:, rows])
        assert torch.equal(getattr(part.restrict(slice(1, 3)), slope)(x[:, 3:]), expected[:, 3:])
        assert torch.equal(getattr(theirs, slope)(x), expected)
    ours, g = images(), torch.Generator().manual_seed(0)
    batch, y = ours.sample([g, g]), torch.randn(2, 5, ours.d, generator=g, dtype=torch.float64)
    some = ours.restrict(rows)
    torch.testing.assert_close(
        some.gradient(y[:, rows], ours.pick(batch, rows)), ours.gradient(y, batch)[:, rows]
    )
    assert Task.pick(ours, batch, rows) is batch
    plain = Task.restrict(ours, rows)  # the plain way gives the same
    torch.testing.assert_close(plain.gradient(y[:, rows], batch), ours.gradient(y, batch)[:, rows])


@pytest.mark.parametrize(
    ("told", "line"),
    [
        ({}, "init_process_group first"),
        ({"RANK": "one"}, "distributed=True needs RANK, WORLD_SIZE and MASTER_PORT"),
        ({"MASTER_ADDR": "192.0.2.1"}, "MASTER_ADDR 192.0.2.1, MASTER_PORT 9: .*ranks cannot meet there"),
    ],
)
def test_ranks_that_cannot_meet_get_one_clear_line(told, line, monkeypatch):
    for name, value in ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_PORT": "9"} | told if told else {}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DFLTheoryError, match=line):
        Team(4, True)
