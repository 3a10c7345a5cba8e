"""One run to be done, as objects and as one document.

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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from dfltheory import algorithms, graphs, tasks
from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.reference import names_theorem_file
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.files import plain
from dfltheory.graphs.files import read_matrix_file
from dfltheory.graphs.matrices import to_dense
from dfltheory.own import Trust, require_trust, trusting
from dfltheory.schemas import Schema
from dfltheory.tasks.task import Task
from dfltheory.training import loop
from dfltheory.training.document import SECTIONS, located, read_sections
from dfltheory.training.history import History
from dfltheory.training.options import builder, converted, name_of, options_of
from dfltheory.training.setup import network_called, seed_indices


@dataclass(frozen=True, eq=False)
class Instance:
    """A task, an algorithm, a network, and how long they run.

    The numbers of a run depend on nothing else.

    Attributes
    ----------
    task : Task
        What is learned.
    algorithm : Algorithm
        With its hyperparameters.
    network : object
        Graph, matrix (m, m), sequence... as :func:`dfltheory.train` takes it; None for
        a server.
    rounds : int
        T.
    seeds : int or sequence of int
        Number of independent runs, or their indices.
    x0 : array, optional
        Start (d,), (m, d) or (S, m, d); None: the task's own.
    seed : int
        Root seed.
    evaluate_every : int
        Measure rounds 0, n, 2n, ... and the last.
    metrics : sequence of str
        Names of measures of every client, as :func:`dfltheory.train` takes them.
    sources : mapping
        Sections of the document from which task and network were built, each with the
        built object.
    """

    task: Task
    algorithm: Algorithm
    network: Any = None
    rounds: int = 100
    seeds: Sequence[int] | int = (0,)
    x0: Any = None
    seed: int = field(default=0, kw_only=True)
    evaluate_every: int = field(default=1, kw_only=True)
    metrics: Sequence[str] = field(default=(), kw_only=True)
    sources: Mapping[str, tuple[Any, Mapping[str, Any]]] = field(
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
            Further options of :func:`dfltheory.train`: checkpoint, further metrics...
        """
        further = recording.pop("metrics", ())
        options: dict[str, Any] = {
            "rounds": self.rounds,
            "seeds": self._count,
            "seed": self.seed,
            "x0": self.x0,
            "evaluate_every": self.evaluate_every,
            "metrics": (*self.metrics, *further),
        }
        return loop.train(
            self.algorithm, self.task, self.network, **{**options, **recording}
        )

    @property
    def _count(self) -> int | list[int]:
        """The seeds in a document: S if they are 0..S-1."""
        seeds = list(seed_indices(self.seeds))
        return len(seeds) if seeds == list(range(len(seeds))) else seeds

    @classmethod
    def of(
        cls,
        document: Mapping[str, Any],
        source: str = "the document",
        folder: Path | None = None,
        own: Trust = False,
    ) -> Self:
        """Build the instance of a document.

        Parameters
        ----------
        document : mapping
            The sections [task], [topology], [algorithm] and [run].
        source : str
            Name of the document in errors.
        folder : Path, optional
            Where its relative paths begin; None: the document may name no file.
        own : bool or set of str
            May the document name algorithms, tasks and a task's model by MODULE:NAME?
            Their modules are imported, and so their code runs: only for documents that
            the caller trusts. A set of references allows these.

        Raises
        ------
        InputError, UnknownNameError
            Every problem, as "source: place: reason".
        """
        with located(source), trusting(own):
            parts = checked(
                {n: v for n, v in document.items() if n != "title"}, folder, own
            )
            check_algorithm(parts["algorithm"])
            task = make_task(parts["task"], folder)
            network = (
                make_network(parts["topology"], task.m, folder)
                if "topology" in parts
                else None
            )
            sources = {"task": (task, parts["task"])}
            if network is not None and "file" not in parts["topology"]:
                sources["topology"] = (network, parts["topology"])
            run = {
                name: value
                for name, value in parts["run"].items()
                if name != "keep_models"
            }
            return cls(
                task,
                make_algorithm(parts["algorithm"]),
                network,
                sources=sources,
                **run,
            )

    def document(self) -> dict[str, Any]:
        """Return the document that builds this instance again, in JSON's types.

        Raises
        ------
        InputError
            A part was made in Python, and no document can say how.
        """
        algorithm: dict[str, Any] = {"name": name_of(type(self.algorithm))}
        for hyperparameter in fields(self.algorithm):
            value = getattr(self.algorithm, hyperparameter.name)
            if value is not None:
                algorithm[hyperparameter.name] = value
        run: dict[str, Any] = {
            name: getattr(self, name) for name in ("rounds", "seed", "evaluate_every")
        }
        run["seeds"] = self._count
        if self.metrics:
            run["metrics"] = list(self.metrics)
        if self.x0 is not None:
            run["x0"] = np.asarray(self.x0)
        document = {"task": self._section("task", self.task), "algorithm": algorithm}
        if self.network is not None:
            document["topology"] = self._section("topology", self.network)
        return plain({**document, "run": run})

    def _section(self, section: str, made: Any) -> Mapping[str, Any]:
        """Return the section of a task or network."""
        built, table = self.sources.get(section, (None, {}))
        if built is made:
            return table
        if isinstance(made, Mapping):
            raise InputError(
                f"the network is one for each of {', '.join(map(str, made))}, and a"
                " document has a single [topology]: give one network, whose links all"
                " of them get, or keep the instance in Python"
            )
        if section == "topology":
            sequence = graphs.as_sequence(made)
            if isinstance(sequence, graphs.Constant):
                return {"matrix": to_dense(sequence.W)}
            if isinstance(sequence, graphs.Periodic):
                return {"matrices": [to_dense(W) for W in sequence.Ws]}
        what = "task" if section == "task" else "network"
        raise InputError(
            f"the {what} {getattr(made, 'name', type(made).__name__)} was made in"
            " Python, and no document can say how: build the instance with"
            f" Instance.of, whose [{section}] names it"
        )


# -- from sections to objects


_CODE = (("task", "name"), ("task", "model"), ("algorithm", "name"), ("theorem", "key"))
"""Where a document may name code, by section and field."""


def references(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the code references of a document, by dotted field.

    They are MODULE:NAME or FILE.py:NAME.
    """
    found = {}
    for section, key in _CODE:
        table = document.get(section)
        value = table.get(key) if isinstance(table, Mapping) else None
        if isinstance(value, str) and ":" in value and not names_theorem_file(value):
            found[f"{section}.{key}"] = value
    return found


def checked(
    document: Mapping[str, Any],
    folder: Path | None = None,
    own: Trust = False,
    further: Mapping[str, type[Schema]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the sections of a document with their defaults.

    Types and names are checked, nothing is built.

    An algorithm without a network loses [topology], so that such baselines can be swept
    together with others.

    Parameters
    ----------
    document : mapping
        The sections.
    folder : Path, optional
        Where relative paths begin; None: the document may name no file.
    own : bool or set of str
        Which code the document may name.
    further : mapping
        Models of more sections than those of ``SECTIONS``.

    Raises
    ------
    InputError, UnknownNameError
        Every problem, as "place: reason".
    """
    for place, reference in references(document).items():
        require_trust(reference, own, place)
    parts = read_sections(_with_network(document), further)
    if "topology" in parts:
        _check_topology(parts["topology"], folder)
    elif builder("algorithm", parts["algorithm"]["name"]).needs_topology:
        raise InputError(
            f"topology: is missing: {parts['algorithm']['name']} needs its name or file"
        )
    return parts


def check_algorithm(
    table: Mapping[str, Any], given_later: Collection[str] = ()
) -> None:
    """Check that an algorithm has its hyperparameters, in their ranges.

    Parameters
    ----------
    table : mapping
        A checked [algorithm].
    given_later : collection of str
        Hyperparameters that a schedule fills.
    """
    name = table["name"]
    required = {
        option: about
        for option, about in options_of("algorithm", name).items()
        if about.required
    }
    lacking = [
        option
        for option in required
        if option not in table and option not in given_later
    ]
    if lacking:
        raise InputError(
            f"algorithm.{lacking[0]}: is missing: {name} needs {', '.join(lacking)};"
            " give it, or [theorem] with schedule = true"
        )
    small_values = {option: about.small_value for option, about in required.items()}
    with located("algorithm"):
        make_algorithm({**small_values, **table})


def _with_network(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with the network that its algorithm needs.

    It is the one that the name implies; a network that cannot be used is left out.
    """
    sections = dict(document)
    table = sections.get("algorithm")
    name = table.get("name") if isinstance(table, Mapping) else None
    if not isinstance(name, str) or not name.strip():
        return sections
    with located("algorithm.name"):
        kind = builder("algorithm", name)
    implied = algorithms.spoken(name)[2]
    if not kind.needs_topology:
        sections.pop("topology", None)
    elif implied is not None:
        given = sections.setdefault("topology", {"name": implied})
        if not isinstance(given, Mapping) or given.get("name") != implied:
            raise InputError(
                f"topology: {name} is that algorithm over the network {implied}: leave"
                " out others"
            )
    return sections


def _check_topology(table: Mapping[str, Any], folder: Path | None) -> None:
    named = [
        source for source in ("name", "file", "matrix", "matrices") if source in table
    ]
    if len(named) != 1:
        found = " and ".join(named) or "none of them"
        raise InputError(
            f"topology: needs one of name, file, matrix and matrices, not {found}"
        )
    rule = table.get("weights")
    if rule is not None and rule.replace("-", "_") not in graphs.WEIGHT_RULES:
        with located("topology.weights"):
            raise UnknownNameError("weight rule", rule, set(graphs.WEIGHT_RULES))
    if named == ["file"] and (folder is None or not (folder / table["file"]).is_file()):
        raise InputError(
            f"topology.file: {table['file']!r} is not a file in the folder of the"
            " experiment file"
        )


def _options(section: str, table: Mapping[str, Any]) -> dict[str, Any]:
    own = SECTIONS[section].model_fields
    given = {option: value for option, value in table.items() if option not in own}
    return converted(section, table["name"], given)


def make_task(table: Mapping[str, Any], folder: Path | None) -> Task:
    """Return the task of a checked [task].

    Files of examples are relative to ``folder``.
    """
    name, options = table["name"], _options("task", table)
    known = options_of("task", name)
    for option in [option for option in options if known[option].hint is Path]:
        if folder is None:
            raise InputError(
                f"task.{option} = {options[option]!r}: this document may name no file"
            )
        options[option] = folder / options[option]
    if ":" not in name:
        return tasks.get(name, **options)
    made = builder("task", name)(**options)
    if not isinstance(made, Task):
        raise InputError(
            f"task.name = {name!r} makes a {type(made).__name__}, not a task"
        )
    return made


def make_network(table: Mapping[str, Any], m: int, folder: Path | None) -> Any:
    """Return the network of a checked [topology], as a sequence for m clients."""
    if "file" in table:
        assert folder is not None, "checked"
        network: Any = read_matrix_file(folder / table["file"])
    elif "matrix" in table:
        network = np.array(table["matrix"], dtype=float)
    elif "matrices" in table:
        network = [np.array(W, dtype=float) for W in table["matrices"]]
    else:
        network = network_called(table["name"])(m, **_options("topology", table))
    if "weights" not in table:
        return graphs.as_sequence(network)
    if not hasattr(network, "edges"):
        given = table.get("name") or table.get("file") or "a matrix"
        raise InputError(
            f"topology.weights = {table['weights']!r}: only a graph takes weights, and"
            f" this is {given}"
        )
    return graphs.as_sequence(graphs.weights(network, table["weights"]))


def make_algorithm(table: Mapping[str, Any]) -> Algorithm:
    """Return the algorithm of a checked [algorithm]."""
    hyperparameters = {
        **algorithms.spoken(table["name"])[1],
        **_options("algorithm", table),
    }
    return builder("algorithm", table["name"])(**hyperparameters)


__all__ = [
    "Instance",
    "check_algorithm",
    "checked",
    "make_algorithm",
    "make_network",
    "make_task",
    "references",
]
