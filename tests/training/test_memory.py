"""At most three copies of the stacked parameters beyond the task's data."""

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys, threading, time
import numpy as np, torch
from torch import nn
import dfltheory.algorithms as alg
from dfltheory import graphs
from dfltheory.tasks.supervised import Supervised
from dfltheory.training import train
torch.set_num_threads(1)
m, features = 500, 10_000
rng = np.random.default_rng(0)
clients = [(rng.normal(size=(1, features)).astype(np.float32), np.array([i % 10])) for i in range(m)]
def now():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
def task(d):
    return Supervised(nn.Linear(d, 10), [(X[:, :d], y) for X, y in clients], batch=1)
algorithm = eval(sys.argv[1])
train(algorithm, task(20), graphs.ring(m), rounds=2, progress=False)  # what libraries take once
big = task(features)
before = now()
peak, done = [before], False
def watch():
    while not done:
        peak.append(max(peak.pop(), now()))
        time.sleep(0.001)
watcher = threading.Thread(target=watch)
watcher.start()
train(algorithm, big, graphs.ring(m), rounds=3, progress=False)
done = True
watcher.join()
print((peak[0] - before) / (4 * m * big.d))
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    ("algorithm", "copies"),
    [
        ("alg.DFedAvg(eta=0.1, K=2)", 3),
        ("alg.DFedSAM(eta=0.1, K=2, rho=0.1)", 3),
        ("alg.DFedAvgM(eta=0.1, K=2, alpha=0.9)", 3),
        ("alg.DFedSGPSM(eta=0.1, K=2, alpha=0.9, rho=0.1)", 3),
        ("alg.DPSGD(eta=0.1)", 3),
        ("alg.DFedADMM(eta=0.1, K=2, lam=0.2)", 4),  # of the parameters 3, and the duals
    ],
)
def test_copies_of_the_stacked_parameters(algorithm, copies):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, algorithm], capture_output=True, text=True, check=True
    )
    measured = float(done.stdout)
    assert 1.9 < measured < copies + 0.6, measured  # and what measuring takes, which grows with the data
