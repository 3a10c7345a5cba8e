"""Measure one peer: make its environment if there is none, then ours and theirs in turns."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
REQUIREMENTS = {
    # FedJAX 0.0.17 calls what later versions of JAX have removed
    "fedjax": ["fedjax==0.0.17", "jax==0.4.25", "jaxlib==0.4.25", "dm-haiku<0.0.13", "numpy<2", "scipy<1.13"],
}
QUOTED = {
    "pfl-research": 212,
    "fluke": 250,
    "FedLab": 273,
    "gossipy": 349,
    "PFLlib": 440,
    "DA-DPFL": 878,
    "DisPFL": 917,
    "Flower with Ray": 5900,
}
"""Milliseconds for a round of W1, seen once on a machine where batched products by hand took 72 to 76."""

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}


def environment(name: str, folder: Path, install: bool) -> Path | None:
    """The peer's own Python; None where there is none and none is wanted."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        if not install:
            return None
        subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
        done = subprocess.run([str(python), "-m", "pip", "install", "-q", *REQUIREMENTS[name]], check=False)
        if done.returncode:
            sys.exit(f"{name} cannot be installed here: {' '.join(REQUIREMENTS[name])}")
    return python


def measure(name: str, python: Path, turns: int) -> None:
    """Median CPU seconds of a round, both sides in turns, and their ratio."""
    from benchmarks.bench_training import ByHand, rounds_of, w1
    from dfltheory import algorithms
    from dfltheory.tasks.supervised import Supervised

    X, y, module, W = w1()
    task = Supervised(module, list(zip(X, y)), batch=20)
    ours = rounds_of(algorithms.DFedAvg(eta=0.1, K=5), task, W)
    by_hand = ByHand(X, y, module, task.X.new_tensor(W))
    peer = subprocess.Popen(
        [str(python), str(HERE / f"w1_{name}.py")],
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert peer.stdin is not None
    assert peer.stdout is not None

    def theirs() -> float:
        print(file=peer.stdin, flush=True)
        line = peer.stdout.readline() if peer.stdout else ""
        if not line:
            sys.exit(f"{name} ended: see its message above")
        return float(line)

    def seconds(f) -> float:
        start = time.process_time()
        f()
        return time.process_time() - start

    ours(), by_hand(), theirs(), theirs()  # what is compiled or read once
    rows = [(seconds(ours), seconds(by_hand), theirs()) for _ in range(turns)]
    peer.stdin.close()
    peer.wait()
    mine, hand, other = (1e3 * statistics.median(side) for side in zip(*rows))
    ratio = statistics.median(a / c for a, _, c in rows)
    print(f"W1, CPU ms a round: ours {mine:.1f}, batched products by hand {hand:.1f}, {name} {other:.1f}")
    print(f"ours / {name} = {ratio:.3f}: {1 / ratio:.2f} times faster (median of {turns} turns)")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("peer", choices=sorted(REQUIREMENTS), nargs="?", help="default: those installed")
    parser.add_argument("--folder", type=Path, default=Path.home() / ".cache" / "dfltheory-peers")
    parser.add_argument("--turns", type=int, default=21)
    options = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    for name in [options.peer] if options.peer else sorted(REQUIREMENTS):
        python = environment(name, options.folder, install=options.peer is not None)
        if python is None:
            print(f"{name}: not installed, skipped (python -m benchmarks.peers {name} installs it)")
        else:
            measure(name, python, options.turns)
    print("quoted, not measured here (ms a round where ours by hand took 72 to 76):", end=" ")
    print(", ".join(f"{name} {value}" for name, value in QUOTED.items()))


if __name__ == "__main__":
    main()
