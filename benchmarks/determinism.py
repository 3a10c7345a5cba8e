"""Which changes preserve results bit for bit.

``python benchmarks/determinism.py`` prints a table. Each row runs the same set-ups
twice, with one thing changed, and counts the set-ups whose measures are bit-identical.
For the others it reports the largest difference of the last models, relative to their
norm, and of the measures, relative to their largest value in the run. Some rows use
environment variables to change the kernels that BLAS, torch and numpy select for the
processor. Probes, small computations with each library, show whether such a variable
has an effect. Spectral gaps of random networks, computed by numpy's BLAS, are also
compared.
"""

from __future__ import annotations

import argparse
import functools
import operator
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

TASKS = ("quadratic", "digits")
ALGORITHMS: dict[str, dict[str, float]] = {
    "DFedAvg": {},
    "DFedSAM": {"rho": 0.05},
    "DFedADMM": {"lam": 0.1},
}
TOPOLOGIES = ("ring", "complete")
CASES = [
    (task, name, topology)
    for task in TASKS
    for name in ALGORITHMS
    for topology in TOPOLOGIES
]


def measures(
    task: str,
    name: str,
    topology: str,
    seeds: Any,
    chunk: int | None = None,
    **how: bool,
) -> dict[str, np.ndarray]:
    """Return the measures and last models of one run, each of shape (seeds, ...)."""
    import dfltheory as dfl
    from dfltheory import algorithms, graphs, tasks

    sizes = {"d": 64, "sigma": 0.3} if task == "quadratic" else {}
    cls = getattr(algorithms, name)
    letters = {"eta": 0.05, "K": 3} | ALGORITHMS[name]
    W = graphs.weights(graphs.topology(topology, 8), "metropolis")
    problem = tasks.get(task, m=8, **sizes)
    if chunk is not None:
        problem.chunk = lambda seeds: chunk
    history = dfl.train(
        cls(**letters), problem, W, rounds=20, seeds=seeds, progress=False, **how
    )
    return {**history.measures(), "x": history.x}


def variant(name: str) -> list[dict[str, np.ndarray]]:
    """Run every case with the change called ``name``, if it is made in the process."""
    import torch

    torch.set_num_threads(2 if "2 threads" in name else 1)
    if name == "seeds alone":
        alone = [[measures(*case, seeds=[s]) for s in range(4)] for case in CASES]
        return [
            {n: np.concatenate([run[n] for run in runs]) for n in runs[0]}
            for runs in alone
        ]
    chunk = 3 if name == "chunks of 3 clients" else None
    # quadratics have no chunks
    divided = [case for case in CASES if chunk is None or case[0] == "digits"]
    how = {"deterministic": "deterministic" in name}
    return [
        measures(*case, 4, chunk, **how) if case in divided else {} for case in CASES
    ]


def probes() -> dict[str, np.ndarray]:
    """Return results of each library whose last bits depend on its kernels."""
    import torch

    draw = functools.partial(torch.randn, generator=torch.Generator().manual_seed(0))
    a, b, double = draw(100_001), draw(257, 300), draw(257, 300, dtype=torch.float64)
    image, filters = draw(4, 3, 12, 12), draw(8, 3, 3, 3)
    numbers = np.random.default_rng(0).normal(size=(64, 300))
    return {
        "torch": (
            torch.cat([a.sum().reshape(1), a.exp(), b.log_softmax(1).ravel()]).numpy()
        ),
        "products": np.r_[
            (b @ b.T).numpy().ravel(), (double @ double.T).numpy().ravel()
        ],
        "QR": torch.linalg.qr(double)[0].numpy(),
        "convolution": torch.nn.functional.conv2d(image, filters).numpy(),
        "numpy": np.r_[np.exp(numbers).ravel(), numbers.sum()],
        "numpy's BLAS": np.r_[
            (numbers @ numbers.T).ravel(), np.linalg.eigvalsh(numbers @ numbers.T)
        ],
    }


def gaps() -> np.ndarray:
    """Return the spectral gaps of 20 random networks, computed by LAPACK."""
    from dfltheory import graphs

    networks = [
        graphs.topology("erdos_renyi", 8 + 3 * n, p=0.5, seed=n) for n in range(20)
    ]
    return np.array(
        [graphs.spectral_gap(graphs.weights(g, "metropolis")) for g in networks]
    )


ENVIRONMENTS = {
    "nothing": {},
    "hash seed": {"PYTHONHASHSEED": "12345"},
    "seeds alone": {},
    "chunks of 3 clients": {},
    "deterministic=True": {},
    "2 threads": {"OMP_NUM_THREADS": "2"},
    "2 threads, deterministic=True": {"OMP_NUM_THREADS": "2"},
}
# kernels of other processors: without AVX-512, AVX2 or any vector instructions
KERNELS = (
    "ATEN_CPU_CAPABILITY=avx2",
    "ATEN_CPU_CAPABILITY=default",
    "MKL_CBWR=AVX2",
    "MKL_CBWR=COMPATIBLE",
    "MKL_ENABLE_INSTRUCTIONS=AVX2",
    "ONEDNN_MAX_CPU_ISA=SSE41",
    "NPY_DISABLE_CPU_FEATURES=X86_V3 X86_V4 AVX512_ICL",
    "OPENBLAS_CORETYPE=Haswell",
    "OPENBLAS_CORETYPE=Nehalem",
)
ENVIRONMENTS |= {
    name: {name.partition("=")[0]: name.partition("=")[2]} for name in KERNELS
}
OLD = "all of an old processor"
ENVIRONMENTS[OLD] = functools.reduce(
    operator.or_, (ENVIRONMENTS[name] for name in KERNELS)
)  # of each variable, the last value


def in_a_process(
    name: str, folder: Path
) -> tuple[list[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """Run a variant in a new process; return all cases' measures and the probes."""
    path = folder / "results.npz"
    environment = (
        os.environ
        | {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        | ENVIRONMENTS[name]
    )
    words = [sys.executable, __file__, "--variant", name, str(path)]
    subprocess.run(words, env=environment, check=True)
    with np.load(path) as stored:
        parts = [
            {k.split("/", 1)[1]: stored[k] for k in stored if k.startswith(f"{part}/")}
            for part in (*range(len(CASES)), "probes")
        ]
    return parts[:-1], parts[-1]


def differences(
    one: dict[str, np.ndarray], other: dict[str, np.ndarray]
) -> tuple[float, float] | None:
    """Return the relative differences of the last models and of the measures.

    The second is the largest over all measures. Returns None if all values are
    bit-identical.
    """
    if all(values.tobytes() == other[name].tobytes() for name, values in one.items()):
        return None
    sizes = {name: np.max(np.abs(v)) for name, v in one.items()}
    # a consensus error that consists of rounding has no meaningful size
    rounding = 1e-12 * np.mean(one["x"] ** 2)
    far = {
        n: np.max(np.abs(v - other[n])) / sizes[n]
        for n, v in one.items()
        if sizes[n] > rounding
    }
    models = np.linalg.norm(one["x"] - other["x"]) / np.linalg.norm(one["x"])
    return float(models), float(
        max(value for name, value in far.items() if name != "x")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variant", nargs=2, metavar=("NAME", "FILE"))
    parser.add_argument(
        "--only", choices=list(ENVIRONMENTS), action="append", help="default: all"
    )
    options = parser.parse_args()
    if options.variant:
        cases = variant(options.variant[0])
        results = {**dict(enumerate(cases)), "probes": probes() | {"gaps": gaps()}}
        np.savez(
            options.variant[1],
            **{f"{n}/{k}": v for n, c in results.items() for k, v in c.items()},
        )
        return
    heads = (
        "changed, runs, the same bits, difference of last models, of measures, the same"
        " gaps, difference, probes"
    )
    print(f"| {heads.replace(', ', ' | ')} |\n|{'---|' * 8}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        plain, before = in_a_process("nothing", Path(folder))
        for name in options.only or ENVIRONMENTS:
            single = name == "2 threads, deterministic=True"
            reference = (
                in_a_process("deterministic=True", Path(folder))[0] if single else plain
            )
            changed, after = in_a_process(name, Path(folder))
            far = [differences(a, b) for a, b in zip(reference, changed) if b]
            differ = [f for f in far if f is not None]
            most = " | ".join(f"{max(kind):.1e}" for kind in zip(*differ)) or " | "
            old, new = before["gaps"], after["gaps"]
            same = (
                f"{np.sum(old == new)} of {len(old)} | {np.max(np.abs(old - new)):.1e}"
            )
            moved = ", ".join(
                k
                for k in before
                if k != "gaps" and before[k].tobytes() != after[k].tobytes()
            )
            print(
                f"| {name} | {len(far)} | {len(far) - len(differ)} | {most} | {same} |"
                f" {moved or 'none'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
