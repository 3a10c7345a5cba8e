"""Histories and checkpoints state a digest of their content, which readers verify."""

import json
import logging
import struct

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import algorithms, graphs, tasks
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.training import History


def run(checkpoint=None):
    task, ring = tasks.quadratic(m=4, d=3, sigma=0.1), graphs.ring(4)
    algorithm = algorithms.DFedSAM(eta=0.01, rho=0.1, K=1)
    return dfl.train(
        algorithm, task, ring, rounds=4, seeds=2, progress=False, checkpoint=checkpoint
    )


READERS = {"history": History.load, "checkpoint": run}


def saved(kind, path):
    """A good file of this kind."""
    history = run(path)
    if kind == "history":
        history.save(path)
    return path


def parts(path):
    """Header and body of a safetensors file."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8 : 8 + size]), raw[8 + size :]


def write(path, head, body):
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


@pytest.mark.parametrize("kind", READERS)
def test_intact_file_is_read_without_a_warning(kind, tmp_path, caplog):
    path = saved(kind, tmp_path / "file")
    assert len(parts(path)[0]["__metadata__"]["sha256"]) == 64
    with caplog.at_level(logging.WARNING):
        READERS[kind](path)
    assert not caplog.records


@pytest.mark.parametrize("kind", READERS)
def test_changed_tensor_is_rejected_wherever_the_change_is(kind, tmp_path):
    path = saved(kind, tmp_path / "file")
    head, body = parts(path)
    for place in range(0, len(body), 7):
        changed = bytearray(body)
        changed[place] ^= 1
        write(path, head, bytes(changed))
        with pytest.raises(InputError, match=str(path)):
            READERS[kind](path)


@pytest.mark.parametrize("kind", READERS)
def test_changed_document_is_rejected(kind, tmp_path):
    path = saved(kind, tmp_path / "file")
    head, body = parts(path)
    metadata = head["__metadata__"]
    changed = metadata["json"].replace("0.01", "0.02")
    assert changed != metadata["json"]
    write(path, head | {"__metadata__": metadata | {"json": changed}}, body)
    with pytest.raises(InputError, match=str(path)):
        READERS[kind](path)


@pytest.mark.parametrize("kind", READERS)
def test_changed_digest_is_rejected(kind, tmp_path):
    path = saved(kind, tmp_path / "file")
    head, body = parts(path)
    for stated in ("", "0" * 64, "\x1b[2J", head["__metadata__"]["sha256"].upper()):
        write(
            path,
            head | {"__metadata__": head["__metadata__"] | {"sha256": stated}},
            body,
        )
        with pytest.raises(InputError, match=str(path)) as error:
            READERS[kind](path)
        assert str(error.value).isprintable()


def test_names_dtypes_and_shapes_belong_to_the_digest(tmp_path):
    path = saved("history", tmp_path / "file")
    head, body = parts(path)
    names = {
        "measure/loss": head["measure/consensus"],
        "measure/consensus": head["measure/loss"],
    }
    dtype = {"measure/loss": head["measure/loss"] | {"dtype": "I64"}}
    shape = {"measure/loss": head["measure/loss"] | {"shape": [5, 2]}}
    renamed = {
        name.replace("x0_spread", "x0_sprees"): entry for name, entry in head.items()
    }
    for changed in (head | names, head | dtype, head | shape, renamed):
        assert changed != head
        write(path, changed, body)
        with pytest.raises(InputError, match=str(path)):
            History.load(path)


@pytest.mark.parametrize("kind", READERS)
def test_file_without_a_digest_is_read_and_reported_as_unverified(
    kind, tmp_path, caplog
):
    path = saved(kind, tmp_path / "file")
    head, body = parts(path)
    del head["__metadata__"]["sha256"]
    write(path, head, body)
    with caplog.at_level(logging.WARNING):
        history = READERS[kind](path)
    assert [
        str(path) in record.message and "unverified" in record.message
        for record in caplog.records
    ] == [True]
    np.testing.assert_array_equal(history.x, run().x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_states_have_digests(dtype, tmp_path):
    import torch

    task = tasks.quadratic(m=4, d=3, dtype=getattr(torch, dtype))
    options = {"rounds": 3, "progress": False, "checkpoint": tmp_path / "run.ckpt"}
    one, two = (
        dfl.train(algorithms.DFedAvg(eta=0.1, K=1), task, "ring", **options)
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.x, two.x)


def test_digest_of_another_run_is_rejected(tmp_path):
    path = saved("history", tmp_path / "one")
    other = run()
    other.seed = 7
    other.save(tmp_path / "two")
    stolen = parts(tmp_path / "two")[0]["__metadata__"]["sha256"]
    head, body = parts(path)
    write(
        path, head | {"__metadata__": head["__metadata__"] | {"sha256": stolen}}, body
    )
    with pytest.raises(DFLTheoryError, match=str(path)):
        History.load(path)
