"""One run, as objects and as one document.

>>> instance = Instance.of({
...     "task": {"name": "quadratic", "m": 4},
...     "topology": {"name": "ring"},
...     "algorithm": {"name": "dfedavg", "eta": 0.05, "K": 2},
...     "run": {"rounds": 20},
... })
>>> instance.run(progress=False).rounds
20
>>> Instance.of(instance.document()).algorithm == instance.algorithm
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from dfltheory import graphs
from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError
from dfltheory.files import json_value
from dfltheory.graphs.matrices import to_dense
from dfltheory.own import Trust, trusting
from dfltheory.problems import located
from dfltheory.tasks.task import Task
from dfltheory.training import loop
from dfltheory.training.document import Table
from dfltheory.training.history import History
from dfltheory.training.options import algorithm_name
from dfltheory.training.sections import (
    check_algorithm_section,
    checked_document,
    make_algorithm,
    make_network,
    make_task,
)
from dfltheory.training.setup import seed_indices


@dataclass(frozen=True, eq=False)
class Instance:
    """A task, an algorithm, a network and options, which determine a run.

    Attributes
    ----------
    task : Task
        The learning problem.
    algorithm : Algorithm
        The algorithm with its hyperparameters.
    network : object
        The network in any form that :func:`dfltheory.train` takes; None for a server.
    rounds : int
        T.
    seeds : int or sequence of int
        Number of independent runs, or their indices.
    x0 : array, optional
        Start (d,), (m, d) or (S, m, d); by default the task's own.
    seed : int
        Root seed.
    evaluate_every : int
        Measure rounds 0, n, 2n, ... and the last.
    metrics : sequence of str
        Names of measures of each client, as in :func:`dfltheory.train`.
    sources : mapping
        Maps "task" and "topology" to the built object and the section of the document
        it was built from.
    """

    task: Task
    algorithm: Algorithm
    network: object = None
    rounds: int = 100
    seeds: Sequence[int] | int = (0,)
    x0: Any = None
    seed: int = field(default=0, kw_only=True)
    evaluate_every: int = field(default=1, kw_only=True)
    metrics: Sequence[str] = field(default=(), kw_only=True)
    sources: Mapping[str, tuple[object, Table]] = field(
        default_factory=dict, kw_only=True, repr=False
    )

    def __post_init__(self) -> None:
        """Check the fields."""
        object.__setattr__(self, "seeds", tuple(seed_indices(self.seeds)))

    def run(self, **recording: Any) -> History:
        """Train and return the history.

        Parameters
        ----------
        recording
            Further options of :func:`dfltheory.train`, such as a checkpoint or further
            metrics.
        """
        further = recording.pop("metrics", ())
        options: dict[str, Any] = {
            "rounds": self.rounds,
            "seeds": self._seeds_in_document,
            "seed": self.seed,
            "x0": self.x0,
            "evaluate_every": self.evaluate_every,
            "metrics": (*self.metrics, *further),
        }
        options.update(recording)
        return loop.train(self.algorithm, self.task, self.network, **options)

    @property
    def _seeds_in_document(self) -> int | list[int]:
        """The number S of seeds if they are 0..S-1, else a list of indices."""
        seeds = list(seed_indices(self.seeds))
        return len(seeds) if seeds == list(range(len(seeds))) else seeds

    @classmethod
    def of(
        cls,
        document: Mapping[str, object],
        source: str = "the document",
        folder: Path | None = None,
        own: Trust = False,
    ) -> Self:
        """Build an instance from a document.

        Parameters
        ----------
        document : mapping
            The sections [task], [topology], [algorithm] and [run].
        source : str
            Name of the document in errors.
        folder : Path, optional
            Folder of relative paths; without it, the document must not name files.
        own : bool or set of str
            Whether the document may name algorithms, tasks and a task's model by
            MODULE:NAME. This imports the modules and so runs their code; use it only
            for trusted documents. A set allows only the given references.

        Raises
        ------
        InputError, UnknownNameError
            If the document is invalid; the message lists all problems as "source:
            place: reason".
        """
        with located(source), trusting(own):
            parts = checked_document(
                {n: v for n, v in document.items() if n != "title"}, folder, own
            )
            check_algorithm_section(parts["algorithm"])
            task = make_task(parts["task"], folder)
            sources: dict[str, tuple[object, Table]] = {"task": (task, parts["task"])}
            network = None
            if "topology" in parts:
                network = make_network(parts["topology"], task.m, folder)
                if "file" not in parts["topology"]:
                    sources["topology"] = (network, parts["topology"])
            run = dict(parts["run"])
            run.pop("keep_models", None)
            return cls(
                task,
                make_algorithm(parts["algorithm"]),
                network,
                sources=sources,
                **run,
            )

    def document(self) -> dict[str, Any]:
        """Return a document, in JSON types, from which this instance can be built.

        Raises
        ------
        InputError
            If a part was created in Python and cannot be described by a document.
        """
        algorithm: dict[str, object] = {"name": algorithm_name(type(self.algorithm))}
        for hyperparameter in fields(self.algorithm):
            value = getattr(self.algorithm, hyperparameter.name)
            if value is not None:
                algorithm[hyperparameter.name] = value
        run: dict[str, object] = {
            "rounds": self.rounds,
            "seed": self.seed,
            "evaluate_every": self.evaluate_every,
            "seeds": self._seeds_in_document,
        }
        if self.metrics:
            run["metrics"] = list(self.metrics)
        if self.x0 is not None:
            run["x0"] = np.asarray(self.x0)
        document: dict[str, object] = {
            "task": self._section("task", self.task),
            "algorithm": algorithm,
        }
        if self.network is not None:
            document["topology"] = self._section("topology", self.network)
        return json_value({**document, "run": run})

    def _section(self, section: str, made: object) -> Table:
        """Return the section of a task or network."""
        source = self.sources.get(section)
        if source is not None and source[0] is made:
            return source[1]
        if isinstance(made, Mapping):
            raise InputError(
                "the instance has separate networks for"
                f" {', '.join(map(str, made))}, but a document has a single"
                " [topology]: use one network, whose links all of them have, or keep"
                " the instance in Python"
            )
        if section == "topology":
            sequence = graphs.as_sequence(made)
            if isinstance(sequence, graphs.Constant):
                return {"matrix": to_dense(sequence.W)}
            if isinstance(sequence, graphs.Periodic):
                return {"matrices": [to_dense(W) for W in sequence.Ws]}
        what = "task" if section == "task" else "network"
        raise InputError(
            f"the {what} {getattr(made, 'name', type(made).__name__)} was created in"
            " Python, and a document cannot describe it: build the instance with"
            f" Instance.of from a document whose [{section}] names it"
        )


__all__ = ["Instance"]
