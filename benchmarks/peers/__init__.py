"""Other libraries on the same work, side by side: ``python -m benchmarks.peers
fedjax``.

Each peer has an environment of its own and a script here that does one round of W1 (100
clients x 100 samples x 784 features, MLP 784-64-10, 5 SGD steps of batch 20, then an
average) when it is asked to. Data, start and the question whether the loss fell are in
``work.py``. What does not install from PyPI is quoted, and said so.
"""
