"""decent-bench's own steps on our quadratics, in a separate process, for Python 3.13
and later.

python3.13 decent.py decent:NAME FOLDER IN.npz OUT.npz
"""

import sys
from pathlib import Path

import networkx as nx
import numpy as np

if __name__ == "__main__":
    name, folder, source, target = sys.argv[1:]
    sys.path.insert(0, str(Path(folder).resolve()))
    from decent_bench.agents import Agent
    from decent_bench.algorithms import federated, p2p
    from decent_bench.costs import QuadraticCost
    from decent_bench.networks import FedNetwork, P2PNetwork

    what = name.partition(":")[2]
    with np.load(source) as found:
        given = dict(found)
    A, b, x0, near = (given.pop(key) for key in ("A", "b", "x0", "near"))
    agents = [Agent(QuadraticCost(a, -a @ c)) for a, c in zip(A, b, strict=True)]
    options = {key: value.item() for key, value in given.items()}
    start = dict(zip(agents, x0, strict=True))
    if hasattr(p2p, what):
        network, kind = (
            P2PNetwork(nx.from_numpy_array(near), agents),
            getattr(p2p, what),
        )
    else:
        network, kind = FedNetwork(agents), getattr(federated, what)
    rounds = options.pop("rounds")
    algorithm = kind(iterations=rounds, x0=start, **options)
    path = [x0]

    def seen(_):
        path.append(
            np.array(
                [np.array(agent.aux_vars.get("center", agent.x)) for agent in agents]
            )
        )

    algorithm.run(network, progress_callback=seen)
    np.savez(target, found=np.stack(path))
