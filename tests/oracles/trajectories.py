"""A recorded trajectory for each algorithm, kind of task, and option that affects
control flow.

``python -m tests.oracles.trajectories`` records them in ``trajectories.json``. A record
has a digest of the bits of every measure and of the final models, and a few values.
Bits depend on the processor's kernels (docs/reliability.md). They are compared only if
a probe has the same bits as on the recording machine; otherwise the values are compared
to 1e-9.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

import dfltheory as dfl
from dfltheory.algorithms import ALGORITHMS
from tests.algorithms.table import HYPERPARAMETERS, network_for

FILE = Path(__file__).with_suffix(".json")
CLIENTS = 5
ROUNDS = 6
SEEDS = 2


def quadratic(**options: Any) -> Any:
    """Return noisy diagonal quadratics."""
    return dfl.tasks.quadratic(m=CLIENTS, d=4, sigma=0.2, seed=3, **options)


def coupled() -> Any:
    """Return noisy problems with a shared and a personal block."""
    return dfl.tasks.get("coupled", m=CLIENTS, seed=3)


def digits() -> Any:
    """Return a small network on the bundled digits, in single precision."""
    return dfl.tasks.get("digits", m=CLIENTS, seed=3)


TASKS = {
    "quadratic": quadratic,
    "sinusoidal": lambda: dfl.tasks.get("sinusoidal", m=CLIENTS, d=3, seed=3),
    "clipped": lambda: dfl.tasks.get("clipped", m=CLIENTS, d=3, seed=3),
    "coupled": coupled,
    "digits": digits,
}
OPTIONS: dict[str, dict[str, dict[str, Any]]] = {
    "dpsgd": {"adapt then combine": {"order": "adapt-then-combine"}},
    "dfedavgm": {"momentum of one round": {"keep_momentum": False}},
    "dfedsam": {
        "rho = 0": {"rho": 0.0},
        "Q = 1": {"Q": 1},
        "decay": {"decay": 0.9},
        "weight decay": {"weight_decay": 0.1},
    },
    "qgdsgdm": {"nesterov": {"nesterov": True}, "mu": {"mu": 0.3}},
    "dsgt": {"combine then adapt": {"order": "combine-then-adapt"}},
    "d2": {"lazy": {"lazy": True}},
    "pushpull": {"combine then adapt": {"order": "combine-then-adapt"}},
    "chocosgd": {
        "rand-k": {"compressor": "rand-k"},
        "sign": {"compressor": "sign"},
        "qsgd": {"compressor": "qsgd"},
    },
    "dfedsmdc": {
        "sam = u": {"sam": "u"},
        "sam = v": {"sam": "v"},
        "momentum": {"alpha": 0.3},
        "not fresh": {"fresh": False},
    },
    "dfedmdc": {"momentum": {"alpha": 0.3}, "not fresh": {"fresh": False}},
    "dispfl": {"uniform density": {"density": "uniform"}},
    "fedavg": {"sampled": {"participation": 0.5}, "momentum": {"alpha": 0.3}},
    "fedsam": {"sampled": {"participation": 0.5}},
    "scaffold": {"option I": {"option": "I"}, "sampled": {"participation": 0.5}},
    "fedprox": {"sampled": {"participation": 0.5}},
    "feddyn": {"sampled": {"participation": 0.5}},
    "ditto": {"sampled": {"participation": 0.5}},
}
NETWORKS = {
    "complete": lambda: dfl.graphs.complete(CLIENTS),
    "random matching": lambda: dfl.graphs.RandomMatching(CLIENTS),
    "client sampling": lambda: dfl.graphs.ClientSampling(CLIENTS, 3),
    "periodic": lambda: [
        dfl.graphs.metropolis(dfl.graphs.ring(CLIENTS)),
        dfl.graphs.metropolis(dfl.graphs.path(CLIENTS)),
    ],
}


def cases() -> dict[str, dict[str, Any]]:
    """Return all set-ups by name: algorithm, hyperparameters, task and network."""
    made: dict[str, dict[str, Any]] = {}
    for name, kind in ALGORITHMS.items():
        two_blocks = {"eta_u", "eta_v"} <= set(HYPERPARAMETERS[name])
        personal = two_blocks or name in ("fedper", "fedbabu", "fedrod")
        for task in ("coupled", "digits") if personal else ("quadratic", "digits"):
            made[f"{name}, {task}"] = {
                "kind": kind,
                "values": HYPERPARAMETERS[name],
                "task": task,
            }
        for option, values in OPTIONS.get(name, {}).items():
            task = "coupled" if personal else "quadratic"
            made[f"{name}, {option}"] = {
                "kind": kind,
                "values": HYPERPARAMETERS[name] | values,
                "task": task,
            }
    for task in ("sinusoidal", "clipped"):
        for name in ("dfedavg", "dfedsam", "dfedadmm", "dsgt"):
            made[f"{name}, {task}"] = {
                "kind": ALGORITHMS[name],
                "values": HYPERPARAMETERS[name],
                "task": task,
            }
    for network in NETWORKS:
        for name in ("dpsgd", "dfedsam"):
            case = {
                "kind": ALGORITHMS[name],
                "values": HYPERPARAMETERS[name],
                "task": "quadratic",
                "network": network,
            }
            made[f"{name}, {network}"] = case
    sequences = {
        "random neighbors": "RandomNeighbors",
        "one-peer exponential": "one_peer_exponential",
    }
    for label, maker in sequences.items():
        made[f"osgp, {label}"] = {
            "kind": ALGORITHMS["osgp"],
            "values": HYPERPARAMETERS["osgp"],
            "task": "quadratic",
            "maker": maker,
        }
    return made


def run(case: dict[str, Any]) -> Any:
    """Train one set-up."""
    algorithm = case["kind"](**case["values"])
    task = TASKS[case["task"]]()
    clients = task.m
    if "maker" in case:
        clients = 4 if case["maker"] == "one_peer_exponential" else CLIENTS
        task = dfl.tasks.quadratic(m=clients, d=4, sigma=0.2, seed=3)
        network = getattr(dfl.graphs, case["maker"])(clients)
    elif "network" in case:
        network = NETWORKS[case["network"]]()
    else:
        network = network_for(algorithm, clients)
    return dfl.train(
        algorithm, task, network, rounds=ROUNDS, seeds=SEEDS, progress=False
    )


def record(case: dict[str, Any]) -> dict[str, Any]:
    """Return the digest and a few values of one set-up, or the error it raises."""
    torch.set_num_threads(1)
    try:
        history = run(case)
    except dfl.DFLTheoryError as error:
        return {"error": type(error).__name__}
    measures = {
        name: np.asarray(values) for name, values in sorted(history.measures().items())
    }
    digest = hashlib.sha256()
    for name, values in (*measures.items(), ("x", np.asarray(history.x))):
        digest.update(f"{name}{values.dtype}{values.shape}".encode())
        digest.update(np.ascontiguousarray(values).tobytes())
    values = {
        name: [float(v) for v in found[:, -1]] for name, found in measures.items()
    }
    values["norm of x"] = [float(np.linalg.norm(one)) for one in np.asarray(history.x)]
    return {"digest": digest.hexdigest(), "values": values}


def probe() -> str:
    """Return a digest of small products and functions, which depends on the kernels."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    digest = hashlib.sha256()
    for dtype in (torch.float32, torch.float64):
        a = torch.randn(37, 65, generator=generator, dtype=dtype)
        for value in (
            a @ a.T,
            a.exp(),
            a.sum(0),
            torch.linalg.qr(a @ a.T)[1],
            torch.sigmoid(a),
        ):
            digest.update(value.numpy().tobytes())
        inputs = torch.randn(10, 20, 64, generator=generator, dtype=dtype)
        weights = torch.randn(10, 64, 32, generator=generator, dtype=dtype)
        hidden = torch.bmm(inputs, weights)
        gradient = torch.bmm(inputs.transpose(1, 2), hidden)
        for value in (hidden, gradient, hidden.log_softmax(-1), inputs[0] @ weights[0]):
            digest.update(value.numpy().tobytes())
    return digest.hexdigest()


def close(ours: dict[str, Any], theirs: dict[str, Any], single: bool) -> bool:
    """Return whether the values agree with the record up to rounding."""
    if ours.keys() != theirs.keys() or "error" in ours:
        return ours == theirs
    if ours["values"].keys() != theirs["values"].keys():
        return False
    tolerance = 1e-3 if single else 1e-9
    for name, value in ours["values"].items():
        expected = theirs["values"][name]
        if not np.allclose(
            value, expected, rtol=tolerance, atol=tolerance, equal_nan=True
        ):
            return False
    return True


def main() -> None:
    found = {
        "probe": probe(),
        "records": {name: record(case) for name, case in cases().items()},
    }
    FILE.write_text(
        json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
