"""Histories and checkpoints contain a digest of their content, which readers verify."""

import contextlib
import json
import logging
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory import algorithms, graphs, tasks
from dfltheory.errors import DataError, DFLTheoryError, InputError
from dfltheory.training import Checkpoint, History, storage


def run(checkpoint=None):
    task, ring = tasks.quadratic(m=4, d=3, sigma=0.1), graphs.ring(4)
    algorithm = algorithms.DFedSAM(eta=0.01, rho=0.1, K=1)
    return dfl.train(
        algorithm, task, ring, rounds=4, seeds=2, progress=False, checkpoint=checkpoint
    )


READERS = {"history": History.load, "checkpoint": run}


def saved(kind, path):
    """Return a valid file of this kind."""
    history = run(path)
    if kind == "history":
        history.save(path)
    return path


def parts(path):
    """Return header and body of a safetensors file."""
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
def test_file_without_a_digest_is_rejected(kind, tmp_path):
    path = saved(kind, tmp_path / "file")
    head, body = parts(path)
    del head["__metadata__"]["sha256"]
    write(path, head, body)
    with pytest.raises(InputError, match="sha256") as error:
        READERS[kind](path)
    assert str(path) in str(error.value)


def flipped(raw, bit):
    """Return the bytes with one bit changed."""
    changed = bytearray(raw)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_flipped_bit_is_detected_or_changes_nothing(kind, data, intact_files):
    path, history = intact_files[kind]
    raw = path.read_bytes()
    changed = path.with_name("changed")
    changed.write_bytes(flipped(raw, data.draw(st.integers(0, 8 * len(raw) - 1))))
    with contextlib.suppress(DFLTheoryError):
        read = READERS[kind](changed)
        assert read == replace(history, seconds=read.seconds)


@pytest.fixture(scope="module")
def intact_files(tmp_path_factory):
    """Return a file of each kind, and the run that it contains."""
    folder = tmp_path_factory.mktemp("intact")
    files = {}
    for kind, read in READERS.items():
        path = saved(kind, folder / kind)
        files[kind] = path, read(path)
    return files


def changed_arrays(array):
    """Yield arrays with other shapes, number formats and values."""
    yield array.reshape(-1)[:0]
    yield array.reshape(-1)[:1].reshape(())
    yield array.reshape(-1)
    yield array[None]
    yield np.concatenate([array, array])
    yield array[..., :-1] if array.ndim else array[None]
    for kind in ("int64", "float16", "bool", "uint8"):
        yield array.astype(kind)
    if array.dtype.kind == "f":
        yield np.full_like(array, np.inf)
        yield np.full_like(array, -np.inf)


def is_possible_x(array):
    """Return whether these may be final models, with fewer parameters or digits."""
    right_clients = array.ndim == 3 and array.shape[:2] == (2, 4)
    return right_clients and array.dtype.kind == "f" and np.isfinite(array).all()


ARRAYS_OF_A_HISTORY = [
    "x",
    "x0_sq",
    "x0_spread",
    "x0_gradient_sq",
    "rounds_measured",
    "excess",
    "sent_bits",
    "model_sq",
    "measure/loss",
    "measure/grad_norm_sq",
    "measure/consensus",
]


@pytest.mark.drawn(3)
@pytest.mark.parametrize("name", ARRAYS_OF_A_HISTORY)
def test_history_with_an_impossible_array_is_rejected(name, tmp_path):
    tensors, document = run()._content()
    array = np.asarray(tensors[name])
    for number, changed in enumerate(changed_arrays(array)):
        unchanged = changed.dtype == array.dtype and np.array_equal(changed, array)
        if unchanged or (name == "x" and is_possible_x(changed)):
            continue
        path = storage.write_tensors(
            tmp_path / str(number), {**tensors, name: changed}, document
        )
        with pytest.raises(DataError, match=str(path)):
            History.load(path)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["state/x", "measure/loss", "measure/consensus"])
def test_checkpoint_with_an_impossible_array_is_rejected(name, tmp_path):
    path = saved("checkpoint", tmp_path / "file")
    tensors, document = storage.read(path, "dfltheory.Checkpoint")
    array = tensors[name].numpy()
    for changed in changed_arrays(array):
        infinite_measure = name != "state/x" and not np.isfinite(changed).all()
        if infinite_measure or np.array_equal(changed, array):
            continue
        storage.write_tensors(path, {**tensors, name: changed}, document)
        with pytest.raises(DFLTheoryError, match=str(path)):
            run(path)


def test_state_that_is_not_finite_is_not_saved(tmp_path):
    task = tasks.quadratic(m=4, d=3)
    algorithm = algorithms.DFedAvg(eta=1e200, K=1)
    checkpoint = Checkpoint(tmp_path / "file", every=1)
    options = {"rounds": 20, "evaluate_every": 20, "progress": False}
    history = dfl.train(algorithm, task, "ring", checkpoint=checkpoint, **options)
    assert history.diverged_at == 20
    again = dfl.train(algorithm, task, "ring", checkpoint=checkpoint, **options)
    assert again == replace(history, seconds=again.seconds)


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
