"""Runs that exceed a printed bound although the corrected bound holds.

There is one problem for each printed main theorem with constants. It is small enough to
be checked by hand, or taken from the committed counterexamples. The runs are noiseless,
so a single seed equals the expectation:

* DFedSAM and DFedADMM-SAM are trapped at a point whose SAM ascent step leads to a
  stationary point, so they do not move.
* DFedSGPSM uses local momentum on two identical clients. This is the saved
  counterexample with other numbers, for which the corrected bound is nonvacuous (for
  the saved numbers it is vacuous). The printed bound uses the cited constants, which
  are the larger ones.

The printed statement on DFedSMDC is in O(.). As the horizon grows, the ratio of the
measured value to its expression grows over the whole range that is run; the ratio to
the corrected bound does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import dfltheory as dfl
from dfltheory.counterexamples.divergence import right_side_value
from dfltheory.counterexamples.document import built, read_document
from dfltheory.counterexamples.growth import MEMBERS
from dfltheory.counterexamples.problems import RampTask
from dfltheory.experiments.cases import Case, perform_all
from dfltheory.files import read_json
from validation.claims import bound_claims
from validation.searched import FOLDER

NOT_TESTED = (
    "Whether a printed bound fails on problems other than these; the searches look for"
    " such problems."
)
MOMENTUM = Path(__file__).with_name("crossing_dfedsgpsm.json")
GROUP = "where the printed bound fails"
ORDER = "dfedmdc.theorem_2"
HORIZONS = (16, 64, 256, 1024, 4096, 16384)


def sam_trap(m: int, L: float, rho: float, B: float) -> RampTask:
    """Return a problem on which SAM never leaves x = 0, a point that is not stationary.

    f'(x) = L max(rho - |x|, 0) up to x = 2 rho; beyond, f' rises with slope L to
    B > L rho, so that the bound B on gradients does not determine the gradient at 0.
    f'(0) = L rho, so the ascent step leads from 0 to x = rho, where f' = 0. The update
    is therefore zero forever, and ||grad f||^2 = L^2 rho^2 in every round. All clients
    are identical and noiseless, so sigma_l = sigma_g = beta = 0. The minimum
    f* = f(0) - L rho^2/2 is attained for x <= -rho.
    """
    starts, lengths, slopes = [-rho, 0.0, 2 * rho], [rho, rho, B / L], [L, -L, L]
    return RampTask([starts] * m, [lengths] * m, [slopes] * m, [0.0] * m)


def cases(quick: bool = True) -> list[Case]:
    """Return a run for each printed theorem that has constants."""
    task = sam_trap(4, L=1.0, rho=1.0, B=2.0)
    W = dfl.graphs.metropolis(dfl.graphs.complete(4))
    trapped = (
        "f'(x) = L max(ρ − |x|, 0) on 4 identical noiseless clients that start at 0,"
        " where SAM's ascent step leads to a stationary point: the squared gradient"
        " norm stays L²ρ² forever"
    )
    K, eta = 2, 1 / (4 * 192)
    sam = dfl.algorithms.DFedSAM(eta=0.004, K=5, rho=1.0)
    admm = dfl.algorithms.DFedADMMSAM(eta=eta, K=K, lam=0.9 * K * eta, rho=1.0)
    place: dict[str, Any] = {"group": GROUP, "row": ""}
    key = "dfedsgpsm.theorem_1"
    saved = built(read_document(MOMENTUM)["instance"])
    momentum = replace(saved, seeds=1, rounds=10000)
    return [
        Case(
            instance=dfl.Instance(task, sam, W, rounds=3000, seeds=1),
            key="dfedsam.theorem_4_5",
            column="DFedSAM, Theorem 4.5",
            note=(
                f"Theorem 4.5: {trapped}, while the printed bound tends to about L²ρ²"
                " K/(2K − 1)."
            ),
            **place,
        ),
        Case(
            instance=dfl.Instance(task, admm, W, rounds=3000, seeds=1),
            key="dfedadmm.theorem_1",
            variants=None,
            constants={"S2": 4.0},
            column="DFedADMM-SAM, Theorem 1",
            note=(
                "Theorem 1 of the DFedADMM paper: the same problem; its printed"
                " sharpness term carries a factor λ that goes to zero with the step"
                " size."
            ),
            **place,
        ),
        Case(
            instance=momentum,
            key=key,
            variants=None,
            column="DFedSGPSM, Theorem 1",
            note=(
                "Theorem 1 of the DFedSGPSM paper: two identical clients on a complete"
                " graph, momentum 0.8: validation/crossing_dfedsgpsm.json has the"
                " problem."
            ),
            **place,
        ),
    ]


@dataclass(frozen=True)
class Family:
    """Ratios of measurement to expression of one variant as the horizon grows.

    Each variant is measured by its own left-hand side.
    """

    variant: str
    horizons: tuple[float, ...]
    ratios: tuple[float, ...]


def growing(horizons: tuple[int, ...] = HORIZONS) -> list[Family]:
    """Measure the saved family that refutes Theorem 2 of the DFedMDC paper.

    It is compared with the printed expression, and with the corrected bound at the
    horizons that its conditions admit.
    """
    saved = read_json(FOLDER / f"{ORDER}-printed.json")["divergence"]
    families = []
    for variant in ("printed", "corrected_same_round"):
        theorem, ratios = dfl.bounds.get(ORDER, variant), []
        for T in horizons:
            measured, values = MEMBERS[saved["member"]].measure(
                theorem, saved["base"] | {"T": float(T)}
            )
            ratios.append(measured / right_side_value(theorem, values))
        finite = np.isfinite(ratios)
        known = np.array(horizons, dtype=float)[finite].tolist()
        values = np.array(ratios)[finite].tolist()
        families.append(Family(variant, tuple(known), tuple(values)))
    return families


def run(quick: bool = True) -> tuple:
    """Return (claims, outcomes)."""
    outcomes = perform_all(cases(quick))
    return bound_claims(outcomes, NOT_TESTED), outcomes
