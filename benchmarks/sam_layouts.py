"""How far two runs diverge that differ only in rounding.

They differ in the memory layout, or by a start shifted by 1 ulp.

python benchmarks/sam_layouts.py        # 3 minutes on one core
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import dfltheory as dfl
import dfltheory.algorithms as alg


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        *(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 16, 3, padding=1),
            nn.ReLU(),
        ),
        *(nn.MaxPool2d(2), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)),
    )


def run(
    rho: float, dtype: torch.dtype, channels_last: bool = False, moved: bool = False
) -> np.ndarray:
    """Return the models after 40 rounds on 400 digits, with 4 clients on a ring."""
    images = dfl.tasks.digits(m=4, partition="dirichlet", examples=400, dtype=dtype)
    ends = (images.offsets + images.sizes).tolist()
    clients = [
        (images.X[a:b], images.y[a:b])
        for a, b in zip(images.offsets.tolist(), ends, strict=True)
    ]
    task = dfl.tasks.Supervised(
        network(), clients, channels_last=channels_last, strategy="loop", dtype=dtype
    )
    x0 = task.start(torch.Generator())
    if moved:
        x0 = torch.nextafter(x0, torch.full_like(x0, torch.inf))
    algorithm = alg.DFedSAM(eta=0.1, K=5, rho=rho) if rho else alg.DFedAvg(eta=0.1, K=5)
    W = dfl.graphs.metropolis(dfl.graphs.ring(4))
    return dfl.train(algorithm, task, W, rounds=40, x0=x0, evaluate_every=40).x[0]


def main() -> None:
    print("||x - x'|| / ||x||            layout    start moved by 1 ulp")
    for dtype in (torch.float32, torch.float64):
        for rho in (0.0, 0.1):
            plain = run(rho, dtype)
            others = run(rho, dtype, channels_last=True), run(rho, dtype, moved=True)
            layout, moved = (
                np.linalg.norm(other - plain) / np.linalg.norm(plain)
                for other in others
            )
            print(
                f"{str(dtype)[6:]}, rho = {rho:<14} {layout:.1e}    {moved:.1e}",
                flush=True,
            )


if __name__ == "__main__":
    main()
