"""The papers' experimental set-ups: hyperparameters of every compared method.

They are stored in ``validation/reproduce/papers/<paper>.toml``. Local work is given in
epochs; :meth:`PaperSetup.build` converts these into local steps, so that all clients
take the same number K of steps, as in the theory. Hyperparameters that a paper does not
state are the defaults of the class.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dfltheory import algorithms
from dfltheory.algorithms import base
from dfltheory.errors import InputError, checked_name

FOLDER = Path(__file__).parent / "reproduce" / "papers"
PAPERS = ("dfedsam", "dfedadmm", "dfedsgpsm", "dfedmdc")


@dataclass(frozen=True)
class PaperSetup:
    """One method in one paper's experiments.

    ``hyperparameters`` maps symbols to values. ``epochs`` maps the symbol that counts
    local steps (K, K_u, K_v) to a number of epochs. ``neighbours`` is the largest
    number of neighbors of a client in a round of the random time-varying topology.
    ``source`` is where the set-up is printed.
    """

    paper: str
    method: str
    cls: type[base.Algorithm]
    hyperparameters: Mapping[str, float | str]
    epochs: Mapping[str, int]
    rounds: int
    source: str
    batch: int = 128
    clients: int = 100
    neighbours: int | None = 10
    gossip_directed: bool = field(default=False)

    def build(self, steps_per_epoch: int, **changes: float) -> base.Algorithm:
        """Return the algorithm, with E epochs as E * steps_per_epoch local steps.

        ``changes`` replace hyperparameters.
        """
        whole = isinstance(steps_per_epoch, int) and steps_per_epoch is not True
        if not whole or steps_per_epoch < 1:
            raise InputError(
                f"steps_per_epoch = {steps_per_epoch!r} must be an integer >= 1"
            )
        hyperparameters: dict[str, Any] = dict(self.hyperparameters)
        for name, epochs in self.epochs.items():
            hyperparameters[name] = epochs * steps_per_epoch
        hyperparameters.update(changes)
        return self.cls(**hyperparameters)


@cache
def paper_file(paper: str) -> dict[str, Any]:
    """Return the content of a paper's file: tables, figures and settings."""
    checked_name("paper", paper, PAPERS)
    return tomllib.loads((FOLDER / f"{paper}.toml").read_text(encoding="utf-8"))


def paper_setup(
    paper: str, method: str, dataset: str = "cifar10", pathological: bool = False
) -> PaperSetup:
    """Return the set-up of a method in a paper's experiments.

    ``paper`` is dfedsam, dfedadmm, dfedsgpsm or dfedmdc.

    ``dataset`` selects the number of rounds and, in the DFedSGPSM paper, the momentum
    on CIFAR-100. If ``pathological``, DFedMDC trains the head for five epochs, as its
    paper does on that partition; otherwise for one.

    >>> paper_setup("dfedadmm", "dfedadmmsam").build(steps_per_epoch=4)
    DFedADMMSAM(eta=0.1, K=20, lam=0.1, rho=0.1, decay=0.998, weight_decay=0.0)
    """
    known = paper_file(paper)
    checked_name(f"method in the {paper} paper", method, known["methods"])
    checked_name(f"data set in the {paper} paper", dataset, known["rounds"])
    row = known["methods"][method]
    cls = getattr(algorithms, row["class"])
    hyperparameters, epochs = dict(row["hyperparameters"]), dict(row["epochs"])
    for name, value in known.get("hyperparameters_on", {}).get(dataset, {}).items():
        if name in hyperparameters:
            hyperparameters[name] = value
    if pathological:
        epochs.update(row.get("epochs_on_few_classes", {}))
    return PaperSetup(
        paper=paper,
        method=method,
        cls=cls,
        hyperparameters=hyperparameters,
        epochs=epochs,
        rounds=known["rounds"][dataset],
        source=known["setups_source"],
        neighbours=10 if cls.needs_topology else None,
        gossip_directed=row.get("directed", False),
    )


def paper_methods(paper: str) -> list[str]:
    """Return the methods that a paper compares."""
    return list(paper_file(paper)["methods"])


__all__ = ["PAPERS", "PaperSetup", "paper_file", "paper_methods", "paper_setup"]
