"""The algorithms are compared with their authors' code or other public code, executed
in a separate process.

``DFLTHEORY_PEERS`` names a folder with clones, for example of relaysgd; without it,
these tests are skipped. The results are written to ``tests/fidelity/found.json``, from
which ``docs/fidelity.md`` is generated.
"""

import dataclasses
import hashlib
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch

import dfltheory as dfl
import dfltheory.algorithms as alg
from tests.fidelity.page import FOUND, ROWS, page

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
M, D, ROUNDS, ETA = 5, 3, 12, 0.2
TREE, RING = nx.Graph([(0, 1), (1, 2), (1, 3), (3, 4)]), nx.cycle_graph(5)
MOMENTUM = 0.6
OURS = {
    "gossip": alg.DPSGD(eta=ETA, order="adapt-then-combine"),
    "gossip, overlap": alg.DPSGD(eta=ETA),
    "gradient_tracking": alg.DSGT(eta=ETA),
    "d2": alg.D2(eta=ETA),
    "exact_diffusion": alg.D2(eta=ETA, lazy=True),
    "quasi_global_momentum": alg.QGDSGDm(
        eta=ETA / (1 + MOMENTUM), alpha=MOMENTUM / (1 + MOMENTUM), mu=MOMENTUM
    ),
    "RelayMechanism": alg.RelaySGD(eta=ETA),
    "train_FedAvg": alg.FedAvg(eta=ETA, K=3),
    "train_FedProx": alg.FedProx(eta=ETA, K=3, lam=0.4),
    "train_SCAFFOLD": alg.SCAFFOLD(eta=ETA, K=3),
    "train_FedDyn": alg.FedDyn(eta=ETA, K=3, lam=0.4),
    "DFedSAMMModelTrainer": alg.DFedSAM(eta=ETA, K=3, rho=0.3, decay=0.9),
    "MyModelTrainer": alg.DFedMDC(
        eta_u=ETA, eta_v=0.3, K_u=2, K_v=1, alpha=0.5, decay=0.9, weight_decay=0.01
    ),
    "DFedAvgMModelTrainer": alg.DFedAvgM(
        eta=ETA, K=3, alpha=0.6, decay=0.9, weight_decay=0.01
    ),
    "dispflAPI": alg.DisPFL(
        eta=0.02, K=3, sparsity=0.5, prune=0.6, decay=0.9, weight_decay=0.01
    ),
    "Ditto": alg.Ditto(eta=ETA, K=3, K_v=2, lam=0.4, decay=0.9),
    "FedROD": alg.FedRoD(eta=ETA, K=3, decay=0.9),
    "FedRep": alg.FedRep(eta_u=ETA, eta_v=ETA, K_u=2, K_v=3, decay=0.9),
    "FedBABU": alg.FedBABU(eta=ETA, K=3, K_v=2, decay=0.9),
    "DFedSAM": alg.DFedSAM(eta=ETA, K=3, rho=0.3, Q=2),
    "DGD": alg.DPSGD(eta=ETA),
    "EXTRA": alg.EXTRA(eta=ETA),
    "ED": alg.D2(eta=ETA, lazy=True),
    "KGT": alg.KGT(eta=ETA, K=3, eta_s=0.7),
    "LT_ADMM": alg.LTADMM(eta=ETA, K=3, lam=1.0, beta=0.1),
    "FedPD": alg.FedPD(eta=ETA, K=3, lam=0.8),
}


def executed(row, folder, given, tmp_path):
    """Execute their code on this input after checking that it is the pinned version."""
    pinned = hashlib.sha256(
        b"".join((folder / name).read_bytes() for name in row["files"])
    ).hexdigest()
    assert pinned == row["sha256"], (
        f"{folder.name} is not that of commit {row['commit']}: {row['files']}"
    )
    np.savez(tmp_path / "given.npz", **given)
    own = "python" in row  # needs another Python version than the suite
    python = os.environ["DFLTHEORY_PEERS_PYTHON"] if own else sys.executable
    script = HERE / ("decent.py" if own else "peer.py")
    command = [python, script, row["run"], folder, tmp_path / "given.npz", "found.npz"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    completed = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr[-2000:]
    with np.load(tmp_path / "found.npz") as found:
        return found["found"]


def course(algorithm, task, network, x0, see=lambda state: state.x):
    """Return what is observed of one seed's state after each round."""
    path = []
    keep = [lambda t, state, recorder: path.append(see(state)[0].numpy().copy())]
    dfl.train(algorithm, task, network, ROUNDS, x0=x0, callbacks=keep, progress=False)
    return np.stack(path)


def classes(seed, module, scale=1.0, **options):
    """Return features that float32 represents exactly, and labels, for every client.

    The task is in float64.
    """
    rng = np.random.default_rng(seed)
    X = (scale * rng.normal(size=(M, 8, D))).astype("float32").astype("float64")
    y = rng.integers(4, size=(M, 8))
    y[0, 0] = 3  # every class is there
    clients = [(torch.tensor(a), torch.tensor(c)) for a, c in zip(X, y)]
    task = dfl.tasks.Supervised(
        module, clients, None, **{"dtype": torch.float64, **options}
    )
    return task, {"X": X, "y": y, "x0": rng.normal(size=task.d), "rounds": ROUNDS}


def layers(width=3):
    return torch.nn.Sequential(
        torch.nn.Linear(D, width), torch.nn.Tanh(), torch.nn.Linear(width, 4)
    )


def clients():
    rng = np.random.default_rng(0)
    A = np.array(
        [
            Q @ np.diag([0.3, 0.7, 1.0]) @ Q.T
            for Q in np.linalg.qr(rng.normal(size=(M, D, D)))[0]
        ]
    )
    b, x0 = rng.normal(size=(M, D)), np.tile(rng.normal(size=D), (M, 1))
    return {
        "A": A,
        "b": b,
        "x0": x0,
        "near": nx.to_numpy_array(TREE, nodelist=range(M)),
        "rounds": ROUNDS,
    }


def run_of(algorithm, given):
    """Return all models, including the start."""
    network, task = (
        TREE if algorithm.needs_topology else None,
        dfl.tasks.Quadratic(given["A"], given["b"]),
    )
    return np.concatenate(
        [given["x0"][None], course(algorithm, task, network, given["x0"])]
    )


def quadratics(row, algorithm):
    given = clients() | {"eta": ETA}
    given |= {"overlap": True} if row["what"] == "gossip, overlap" else {}
    given |= {"momentum": MOMENTUM} if "momentum" in row["what"] else {}
    return given, run_of(algorithm, given)


def decent(row, algorithm):
    options = {
        "step_size": algorithm.eta,
        "num_local_steps": getattr(algorithm, "K", None),
    }
    options |= {
        "aux_step_size": getattr(algorithm, "eta_s", getattr(algorithm, "beta", None))
    }
    # theirs is 1/lam if a server averages
    if (lam := getattr(algorithm, "lam", None)) is not None:
        options["penalty"] = lam if algorithm.needs_topology else 1 / lam
    given = clients() | {
        name: value for name, value in options.items() if value is not None
    }
    return given, run_of(algorithm, given)


def softmax(row, algorithm):
    task, given = classes(0, torch.nn.Linear(D, 4), dtype=torch.float32)
    given |= {"x0": given["x0"].astype("float32"), "eta": ETA, "K": algorithm.K}
    given |= {
        {"train_FedDyn": "alpha_coef", "train_FedProx": "mu"}.get(
            row["what"], "none"
        ): 0.4
    }
    return given, course(algorithm, task, None, given["x0"])[-1, 0]


def trainers(row, algorithm):
    task, given = classes(1, torch.nn.Linear(D, 4))
    given |= {
        "W": dfl.graphs.metropolis(TREE),
        "epochs": algorithm.K,
        "lr": ETA,
        "lr_decay": algorithm.decay,
    }
    given |= {
        "momentum": getattr(algorithm, "alpha", 0.0),
        "rho": getattr(algorithm, "rho", 0.0),
    }
    given |= {"wd": algorithm.weight_decay}
    return given, course(algorithm, task, given["W"], given["x0"])


def two_blocks(row, algorithm):
    task, given = classes(2, layers(), personal="2")
    given |= {
        "W": dfl.graphs.metropolis(TREE),
        "lr_head": algorithm.eta_v,
        "lr_body": algorithm.eta_u,
    }
    given |= {
        "lr_decay": algorithm.decay,
        "momentum": algorithm.alpha,
        "wd": algorithm.weight_decay,
    }
    given |= {"head_epochs": algorithm.K_v, "body_epochs": algorithm.K_u}
    return given, course(algorithm, task, given["W"], given["x0"])


def masked(row, algorithm):
    task, given = classes(3, layers(6), scale=20.0)
    x0, W = given["x0"], dfl.graphs.metropolis(RING)
    # the seed's first mask, still in place
    unsearched = dataclasses.replace(algorithm, prune=0.0)
    first = course(unsearched, task, W, x0, lambda state: state.mask)[:1]
    x = course(algorithm, task, W, x0)
    masks = np.concatenate(
        [first, course(algorithm, task, W, x0, lambda state: state.mask)]
    )
    # they are searched anew
    assert all((a != b).any() for a, b in itertools.pairwise(masks[:-1]))
    given |= {
        "mask": first[0, 0],
        "comm_round": ROUNDS,
        "dense_ratio": 1 - algorithm.sparsity,
    }
    given |= {
        "anneal_factor": algorithm.prune,
        "lr": algorithm.eta,
        "lr_decay": algorithm.decay,
    }
    given |= {"wd": algorithm.weight_decay, "epochs": algorithm.K}
    return given, np.concatenate([(x0 * first[0])[None], x[:-1], masks])


def personal(row, algorithm):
    task, given = classes(4, layers(), personal="2")
    if row["what"] == "FedROD":
        # generic head, which they copy to the first personal one
        given["x0"][-16:] = 0.0
    K = getattr(algorithm, "K", None) or algorithm.K_u
    K_v = getattr(algorithm, "K_v", 1)
    given |= {
        "local_epochs": K,
        "plocal_epochs": K_v,
        "fine_tuning_epochs": K_v,
        "local_learning_rate": ETA,
    }
    given |= {
        "mu": getattr(algorithm, "lam", 0.0),
        "learning_rate_decay_gamma": algorithm.decay,
    }

    def both(state):
        return torch.stack([state.x, algorithm.models(state)], dim=1)

    start = np.broadcast_to(given["x0"], (1, 2, M, task.d))
    return given, np.concatenate(
        [start, course(algorithm, task, None, given["x0"], both)]
    )


def mixed_twice(row, algorithm):
    task, given = classes(5, torch.nn.Linear(D, 4))
    given |= {"K": algorithm.K, "lr": ETA, "rho": algorithm.rho, "Q": algorithm.Q}
    return given, course(algorithm, task, dfl.graphs.metropolis(RING), given["x0"])


PROBLEMS = {
    "relaysgd": quadratics,
    "FedDyn": softmax,
    "da-dpfl": trainers,
    "DFedPGP": two_blocks,
    "DisPFL": masked,
    "PFLlib": personal,
    "FedProC": mixed_twice,
    "decent-bench": decent,
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["what"])
def test_public_code_takes_the_same_course(row, tmp_path):
    peers = os.environ.get("DFLTHEORY_PEERS")
    folder = Path(peers or "") / row["folder"]
    if not peers or not folder.is_dir():
        pytest.skip(
            f"DFLTHEORY_PEERS has no {row['folder']}: clone {row['code']} there"
        )
    if "python" in row and "DFLTHEORY_PEERS_PYTHON" not in os.environ:
        pytest.skip(
            f"DFLTHEORY_PEERS_PYTHON names no Python {row['python']} for"
            f" {row['folder']}"
        )
    given, ours = PROBLEMS[row["folder"]](row, OURS[row["what"]])
    theirs = executed(row, folder, given, tmp_path)
    assert theirs.shape == ours.shape
    difference = float(np.abs(theirs - ours).max())
    assert difference <= row["within"]
    assert np.abs(ours - given["x0"]).max() > 0.1  # the models have moved
    found = json.loads(FOUND.read_text(encoding="utf-8"))
    found[row["what"]] = float(f"{difference:.1e}")
    FOUND.write_text(
        json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8"
    )


def test_the_page_is_that_of_what_was_found():
    assert (ROOT / "docs" / "fidelity.md").read_text(encoding="utf-8") == page(), (
        "stale: run make generated"
    )


def test_every_row_of_the_page_was_executed():
    assert (
        set(json.loads(FOUND.read_text(encoding="utf-8")))
        == {row["what"] for row in ROWS}
        == set(OURS)
    )
