"""Comparison with other libraries: ``python -m benchmarks.peers fedjax``.

Each library has its own environment and a script here that performs one round of W1 on
request: 100 clients x 100 samples x 784 features, MLP 784-64-10, 5 SGD steps with
minibatches of 20, then averaging. The data, the start and the loss are in ``work.py``.
For libraries that cannot be installed from PyPI, earlier timings are quoted and marked
as such.
"""
