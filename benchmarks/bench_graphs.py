"""W4: spectral gaps of ring, torus and exponential graph for m = 10^3 to 10^6.

They are compared with dense and sparse eigensolvers. Run with ``pytest
benchmarks/bench_graphs.py --benchmark-only -o python_files='bench_*.py'``. The ratio
tests measure both sides in one process; the memory test uses a fresh process.
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from dfltheory import graphs

NAMES = ["ring", "torus", "exponential"]


@pytest.mark.parametrize("m", [10**3, 10**4, 10**5, 10**6])
@pytest.mark.parametrize("name", NAMES)
def test_gap_by_name(benchmark, name, m):
    benchmark(graphs.spectral_gap, name, m=m)


@pytest.mark.parametrize("name", NAMES)
def test_gap_of_a_sparse_matrix(benchmark, name):
    W = graphs.metropolis(graphs.topology(name, 2000), sparse=True)
    benchmark(graphs.spectral_gap, W)


def seconds(call, repeat):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


@pytest.mark.parametrize("name", NAMES)
def test_ratio_to_eigensolvers_at_2000(benchmark, name):
    """Compare the automatic method with LAPACK (dense) and ARPACK (sparse)."""
    W = graphs.metropolis(graphs.topology(name, 2000), sparse=True)
    full = W.toarray()

    def dense():
        return 1 - np.sort(np.abs(np.linalg.eigvalsh(full)))[-2]

    def sparse():
        return (
            1
            - np.sort(np.abs(eigsh(W, k=3, which="LM", return_eigenvectors=False)))[-2]
        )

    ours = benchmark.pedantic(
        graphs.spectral_gap, args=(name,), kwargs={"m": 2000}, rounds=30
    )
    assert ours == pytest.approx(dense(), abs=1e-10)
    lapack, arpack = seconds(dense, 3), seconds(sparse, 3)
    named = seconds(lambda: graphs.spectral_gap(name, m=2000), 30)
    csr = seconds(lambda: graphs.spectral_gap(W), 30)
    array = seconds(lambda: graphs.spectral_gap(full), 5)
    benchmark.extra_info |= {
        "dense eigensolver / by name": lapack / named,
        "dense eigensolver / CSR": lapack / csr,
        "dense eigensolver / dense array": lapack / array,
        "sparse eigensolver / by name": arpack / named,
    }
    print(
        f"\n{name}, m = 2000: LAPACK {lapack:.3g} s, ARPACK {arpack:.3g} s. Times"
        " faster than LAPACK:",
        end=" ",
    )
    print(
        f"by name {lapack / named:.0f}, from CSR {lapack / csr:.0f}, from a dense array"
        f" {lapack / array:.0f}"
    )
    assert lapack / named >= 100
    assert lapack / csr >= 100


CHILD = """
import resource, sys, time
from dfltheory import graphs
start = time.perf_counter()
gap = graphs.spectral_gap(sys.argv[1], m=10**6)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(time.perf_counter() - start, peak, gap)
"""


@pytest.mark.parametrize("name", NAMES)
def test_a_million_clients_in_2_seconds_and_1_gib(benchmark, name):
    def child():
        done = subprocess.run(
            [sys.executable, "-c", CHILD, name],
            capture_output=True,
            text=True,
            check=True,
        )
        return [float(x) for x in done.stdout.split()]

    took, peak, gap = benchmark.pedantic(child, rounds=1)
    benchmark.extra_info |= {"seconds": took, "GiB": peak}
    print(f"\n{name}, m = 10^6: {took:.3f} s, peak {peak:.2f} GiB, gap {gap:.6g}")
    assert took < 2
    assert peak < 1
