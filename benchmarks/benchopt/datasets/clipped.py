"""Clients with clipped gradients around individual centers, on a topology.

All constants of the problem are exact.
"""

from typing import Any

from benchopt import BaseDataset

import dfltheory as dfl


class Dataset(BaseDataset):
    name = "clipped"
    parameters = {  # noqa: RUF012
        "topology": ["ring", "complete"],
        "m": [8],
    }

    topology: str
    m: int

    def get_data(self) -> dict[str, Any]:
        task = dfl.tasks.clipped(
            m=self.m, d=4, L=1.0, B=1.0, sigma=0.3, spread=6.0, distance=10.0, seed=0
        )
        return {
            "task": task,
            "network": dfl.graphs.metropolis(
                dfl.graphs.topology(self.topology, self.m)
            ),
        }
