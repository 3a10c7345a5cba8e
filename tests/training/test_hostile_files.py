"""Histories, checkpoints, results and experiment files of unknown origin are read, or
rejected in one line.

Every field of a valid file is replaced by values of other types and sizes, and removed;
headers are forged; the JSON inside is a bomb. Reading must soon return a result or a
one-line error.
"""

import json
import os
import struct
import subprocess
import sys
import time

import pytest
import safetensors.torch

import dfltheory as dfl
from dfltheory import algorithms, graphs, tasks
from dfltheory.counterexamples.document import read_document
from dfltheory.experiments.experiment_file import MAX_BYTES, load_experiment
from dfltheory.experiments.results import MANIFEST, load_results
from dfltheory.experiments.verdict_documents import load_verdicts
from dfltheory.training import storage
from dfltheory.training.history import History
from tests.hostile import places, put, refused

HOSTILE = [None, "x", 1e308, -1, [], {}, True, 10**12, "../../x"]
BOMBS = [
    "[" * 10**5,
    '{"a":' * 9000,
    "9" * 5000,
    "null",
    "3",
    "[1]",
    "{}",
    '{"kind": []}',
    "\x00",
    "",
]
DOCUMENT = ("__metadata__", "json")


def run(checkpoint):
    task, W = tasks.quadratic(m=4, d=2, sigma=0.1), graphs.metropolis(graphs.ring(4))
    algorithm = algorithms.DFedSAM(eta=0.01, rho=0.1, K=1)
    return dfl.train(
        algorithm,
        task,
        W,
        rounds=4,
        seeds=2,
        progress=False,
        checkpoint=str(checkpoint),
    )


def joined(head, body):
    """Return a file with this header and body, and the digest of its content if it can
    be parsed.
    """
    raw = packed(head, body)
    try:
        tensors = safetensors.torch.load(raw)
    except safetensors.SafetensorError:
        return raw
    metadata = head["__metadata__"]
    fitting = metadata | {"sha256": storage.digest(tensors, metadata["json"])}
    return packed(head | {"__metadata__": fitting}, body)


def packed(head, body):
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + body


def forged(raw, step):
    """Yield the file with one thing changed at a time: of the hostile values, each
    ``step``-th one for each field.
    """
    size = struct.unpack("<Q", raw[:8])[0]
    head, body = json.loads(raw[8 : 8 + size]), raw[8 + size :]
    yield from (
        b"",
        raw[:20],
        raw[:-8],
        raw + b"more",
        struct.pack("<Q", 2**63) + raw[8:],
    )
    yield from (struct.pack("<Q", 2**40) + raw[8:], struct.pack("<Q", 3) + raw[8:])
    for k, path in enumerate(
        places({k: v for k, v in head.items() if k != "__metadata__"})
    ):
        yield joined(put(head, path, drop=True), body)
        yield from (
            joined(put(head, path, value), body) for value in HOSTILE[k % step :: step]
        )
    document = json.loads(head["__metadata__"]["json"])
    for k, path in enumerate(places(document)):
        yield joined(
            put(head, DOCUMENT, json.dumps(put(document, path, drop=True))), body
        )
        for value in HOSTILE[k % step :: step]:
            yield joined(
                put(head, DOCUMENT, json.dumps(put(document, path, value))), body
            )
    yield from (joined(put(head, DOCUMENT, bomb), body) for bomb in BOMBS)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step", [30, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["history", "checkpoint"])
def test_histories_and_checkpoints(tmp_path, kind, step):
    good, file = tmp_path / "good", tmp_path / "sent.safetensors"
    history, read = run(good), {"history": History.load, "checkpoint": run}[kind]
    if kind == "history":
        history.save(good)
    assert not refused(read, good)
    files, lines = 0, 0
    for raw in forged(good.read_bytes(), step):
        file.write_bytes(raw)
        started = time.monotonic()
        line = refused(read, file)
        assert line is None or str(file) in line
        lines += line is not None
        assert time.monotonic() - started < 20
        files += 1
    assert files > 600 / step
    assert lines > files / 3


@pytest.mark.parametrize(
    "text",
    [
        *BOMBS,
        '{"cells": 3}',
        '{"title": 1, "cells": [{}]}',
        '{"title": "a", "cells": [{"key": "../../x", "settings": {}}]}',
        '{"title": "a", "cells": [{"key": 7, "settings": 3}]}',
    ],
)
def test_results_and_verdicts(tmp_path, text):
    (tmp_path / MANIFEST).write_text(text)
    assert str(tmp_path) in refused(load_results, tmp_path)
    if text != "[1]":
        (tmp_path / "verdicts.json").write_text(text)
        assert str(tmp_path) in refused(load_verdicts, tmp_path / "verdicts.json")


def test_a_record_that_is_none_has_not_happened(tmp_path):
    cell = {"key": "abc", "settings": {}}
    (tmp_path / MANIFEST).write_text(json.dumps({"title": "a", "cells": [cell]}))
    (tmp_path / "cells").mkdir()
    for text in BOMBS:
        (tmp_path / "cells" / "abc.json").write_text(text)
        assert load_results(tmp_path).cells[0].status == "missing"


EXPERIMENTS = {
    "deep list.toml": "a = " + "[" * 10**5,
    "deep list that ends.toml": "a = " + "[" * 200 + "]" * 200,
    "deep keys.toml": "a." * 10**4 + "b = 1",
    "deep but legal.toml": "a." * 60 + "b = 1",
    "long number.toml": "a = 1" + "0" * 5000,
    "null.toml": "\x00",
    "long.toml": "#" * (MAX_BYTES + 1),
    "rounds.toml": "[run]\nrounds = 1" + "0" * 400,
    "deep.json": '{"a":' * 60 + "1" + "}" * 60,
    "infinite.json": '{"run": {"rounds": Infinity}}',
} | {f"bomb {n}.json": bomb for n, bomb in enumerate(BOMBS)}


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_files(tmp_path, name):
    (tmp_path / name).write_text(EXPERIMENTS[name])
    assert str(tmp_path) in refused(load_experiment, tmp_path / name)


@pytest.mark.parametrize("section", ["task", "run", "algorithm"])
def test_long_values_are_shortened_in_messages(tmp_path, section):
    good = {
        "task": {"name": "quadratic", "m": 4},
        "topology": {"name": "ring"},
        "algorithm": {"name": "dfedsam", "eta": 0.1, "K": 1},
        "run": {"rounds": 2},
    }
    fields = [
        (section,),
        *((section, name) for name in good[section]),
        ("title",),
        ("sweep",),
        ("sweep", "run.seed"),
    ]
    for path in fields:
        for value in ("x" * 3000, [1] * 1000, {"a": "x" * 3000}):
            (tmp_path / "sent.json").write_text(
                json.dumps(put({"sweep": {}} | good, path, value))
            )
            line = refused(load_experiment, tmp_path / "sent.json")
            assert line is None or (len(line) < 600 and str(tmp_path) in line), (
                path,
                line,
            )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("precision", -1),
        ("precision", "int64"),
        ("precision", "nn"),
        ("eps", 1e300),
        ("eps", "x"),
        ("common_start", "no"),
        ("torch", "\x1b[31m"),
    ],
)
def test_facts_of_a_history_are_read_with_their_types(tmp_path, name, value):
    good = run(tmp_path / "run").save(tmp_path / "good").read_bytes()
    size = struct.unpack("<Q", good[:8])[0]
    head = json.loads(good[8 : 8 + size])
    document = json.loads(head["__metadata__"]["json"])
    changed = json.dumps(put(document, ("facts", name), value))
    (tmp_path / "sent").write_bytes(
        joined(put(head, DOCUMENT, changed), good[8 + size :])
    )
    assert f"{tmp_path / 'sent'}: facts.{name} = " in refused(
        History.load, tmp_path / "sent"
    )


def recorded_as(tmp_path, **fields):
    """Return a valid history with some fields of its document changed."""
    tensors, document = storage.read(
        run(tmp_path / "run").save(tmp_path / "good"), "dfltheory.History"
    )
    return storage.write_tensors(tmp_path / "sent", tensors, document | fields)


LAZY = """
import sys
import numpy, scipy, torch
before = set(sys.modules)
from dfltheory.training.records import algorithm_of
for module, kind in (("scipy", "datasets.face"), ("torch", "_inductor.config"), ("torch", "classes.a.b")):
    print(type(algorithm_of(["x", {}, module, kind])).__name__)
assert not [n for n in set(sys.modules) - before if n.startswith(("scipy.datasets", "torch._inductor"))]
"""


@pytest.mark.slow
def test_names_of_algorithms_import_nothing_that_a_module_would_fetch():
    ended = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split() == ["Recorded"] * 3


def test_what_a_history_is_called_comes_out_escaped(tmp_path):
    shown = repr(History.load(recorded_as(tmp_path, task="\x1b[31m" + "x" * 9000)))
    assert shown.isprintable()
    assert len(shown) < 2000


@pytest.mark.parametrize("kind", [0, None, "k" * 5000, "\x1b[31m"])
def test_kind_of_a_file_is_shortened_and_escaped_in_messages(tmp_path, kind):
    line = refused(History.load, recorded_as(tmp_path, kind=kind))
    assert line.isprintable()


def test_cells_are_named_once_by_short_names(tmp_path):
    for keys in (["a" * 300], ["abc", "abc"]):
        cells = [{"key": key, "settings": {}} for key in keys]
        (tmp_path / MANIFEST).write_text(json.dumps({"title": "a", "cells": cells}))
        assert refused(load_results, tmp_path)


@pytest.mark.parametrize("what", ["folder", "pipe", "device", "error"])
def test_a_record_that_is_no_file_has_not_happened(tmp_path, what):
    (tmp_path / MANIFEST).write_text(
        json.dumps({"title": "a", "cells": [{"key": "abc", "settings": {}}]})
    )
    file = tmp_path / "cells" / "abc.json"
    file.parent.mkdir()
    if what == "folder":
        file.mkdir()
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "device":
        file.symlink_to("/dev/zero")
    else:
        file.write_text('{"status": "failed", "error": "x"}')
    (cell,) = load_results(tmp_path).cells
    assert (cell.status, cell.error, cell.configuration) == ("missing", None, {})


@pytest.mark.parametrize("read", [load_verdicts, read_document])
def test_devices_are_not_read(tmp_path, read):
    (tmp_path / "sent").symlink_to("/dev/zero")
    assert str(tmp_path / "sent") in refused(read, tmp_path / "sent")


def test_verdicts_that_are_none_name_their_file(tmp_path):
    (tmp_path / "verdicts.json").write_text("[{}]")
    assert str(tmp_path) in refused(load_verdicts, tmp_path / "verdicts.json")
