"""Compare another library with this one, in alternating rounds.

``python -m benchmarks.peers fluke`` creates an environment for the library if needed,
and prints the median CPU time of a round of W1 on both sides, their ratio, and both
losses. No ratio is printed if the loss did not decrease as ours did, since the library
then has not done the same work.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.bench_training import ByHand, rounds_of
from benchmarks.peers import work
from dfltheory import algorithms, graphs
from dfltheory.tasks.supervised import Supervised
from dfltheory.training import train

HERE = Path(__file__).parent
# pinned, because the latest version may download gigabytes of GPU libraries
TORCH = ["torch==2.13.0", "torchvision==0.28.0"]
REQUIREMENTS = {
    # FedJAX 0.0.17 calls functions that later versions of JAX have removed
    "fedjax": [
        "fedjax==0.0.17",
        "jax==0.4.25",
        "jaxlib==0.4.25",
        "dm-haiku<0.0.13",
        "numpy<2",
        "scipy<1.13",
    ],
    "pfl-research": ["pfl[pytorch]==0.6.0", TORCH[0]],
    "fluke": ["fluke-fl==0.8.1", *TORCH],
    "FedLab": ["fedlab==1.3.0", *TORCH],
    "gossipy": ["gossipy-dfl==0.0.1", *TORCH],
}
QUOTED = {
    "PFLlib": 440,
    "DA-DPFL": 878,
    "DisPFL": 917,
    "Flower with Ray": 5900,
}
"""Milliseconds for a round of W1, measured once on a machine on which hand-written
batched products took 72 to 76.
"""

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def environment(name: str, folder: Path, install: bool) -> Path | None:
    """Return the Python of a library's environment; None if it is not installed.

    If ``install``, a missing environment is created.
    """
    python = folder / name / "bin" / "python"
    if not python.exists():
        if not install:
            return None
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        done = subprocess.run(
            [str(python), "-m", "pip", "install", "-q", *REQUIREMENTS[name]],
            check=False,
        )
        if done.returncode:
            # an incomplete environment would be mistaken for a complete one
            shutil.rmtree(folder / name)
            sys.exit(f"{name} cannot be installed here: {' '.join(REQUIREMENTS[name])}")
    return python


def measure(name: str, python: Path, turns: int) -> None:
    """Print the median CPU time of a round on both sides, and their ratio."""
    X, y = map(torch.from_numpy, work.data())
    W = graphs.metropolis(graphs.ring(work.CLIENTS))
    task = Supervised(work.module(), list(zip(X, y)), batch=work.BATCH)
    algorithm = algorithms.DFedAvg(eta=work.ETA, K=work.STEPS)
    ours = rounds_of(algorithm, task, W)
    by_hand = ByHand(X, y, work.module(), task.X.new_tensor(W))
    peer = subprocess.Popen(
        [str(python), str(HERE / f"w1_{name.lower().replace('-', '_')}.py")],
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert peer.stdin is not None
    assert peer.stdout is not None

    def answer() -> list[float]:
        line = peer.stdout.readline() if peer.stdout else ""
        if not line:
            sys.exit(f"{name} ended: see its message above")
        return [float(word) for word in line.split()]

    def theirs() -> float:
        print(file=peer.stdin, flush=True)
        return answer()[0]

    def seconds(f) -> float:
        start = time.process_time()
        f()
        return time.process_time() - start

    for side in (ours, by_hand, theirs, theirs):  # warm-up
        side()
    rows = [(seconds(ours), seconds(by_hand), theirs()) for _ in range(turns)]
    peer.stdin.close()
    compare_losses(
        name,
        answer(),
        train(algorithm, task, W, rounds=turns + 2, progress=False).loss[0],
    )
    peer.wait()
    mine, hand, other = (1e3 * statistics.median(side) for side in zip(*rows))
    ratio = statistics.median(a / c for a, _, c in rows)
    print(
        f"W1, CPU ms a round: ours {mine:.1f}, batched products by hand {hand:.1f},"
        f" {name} {other:.1f}"
    )
    print(
        f"ours / {name} = {ratio:.3f}: {1 / ratio:.2f} times faster (median of {turns}"
        " turns)"
    )


def compare_losses(name: str, theirs: list[float], ours: Sequence[float]) -> None:
    """Exit unless both losses start equal and theirs falls 0.7 to 1.4 times as much.

    The decrease differs slightly, since most libraries sample a client's data without
    replacement and average over all clients, whereas ours samples with replacement and
    averages over a ring.
    """
    print(
        f"loss on all data: ours {ours[0]:.4f} -> {ours[-1]:.4f}, {name}"
        f" {theirs[0]:.4f} -> {theirs[1]:.4f}"
    )
    fall = (theirs[0] - theirs[1]) / (ours[0] - ours[-1])
    if abs(theirs[0] - ours[0]) > 1e-3 or not 0.7 < fall < 1.4:
        sys.exit(
            f"{name} has not done the same work: its loss fell {fall:.2f} times as far"
            " as ours"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__
    )
    parser.add_argument(
        "peer", choices=sorted(REQUIREMENTS), nargs="?", help="default: those installed"
    )
    parser.add_argument(
        "--folder", type=Path, default=Path.home() / ".cache" / "dfltheory-peers"
    )
    parser.add_argument("--turns", type=int, default=21)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in [options.peer] if options.peer else sorted(REQUIREMENTS):
        python = environment(name, options.folder, install=options.peer is not None)
        if python is None:
            print(
                f"{name}: not installed, skipped (python -m benchmarks.peers {name}"
                " installs it)"
            )
        else:
            measure(name, python, options.turns)
    print(
        "quoted, not measured here (ms a round where ours by hand took 72 to 76):",
        end=" ",
    )
    print(", ".join(f"{name} {value}" for name, value in QUOTED.items()))


if __name__ == "__main__":
    main()
