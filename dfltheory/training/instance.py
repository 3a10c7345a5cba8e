"""One instance of learning: what is run, as objects and as one document.

>>> instance = Instance.of({"task": {"name": "quadratic", "m": 4}, "topology": {"name": "ring"},
...     "algorithm": {"name": "dfedavg", "eta": 0.05, "K": 2}, "run": {"rounds": 20}})
>>> instance.run(progress=False).rounds
20
>>> Instance.of(instance.document()).algorithm == instance.algorithm
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from dfltheory import algorithms, graphs, tasks
from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError, UnknownNameError, one_of
from dfltheory.files import plain
from dfltheory.graphs.files import read_matrix_file
from dfltheory.graphs.matrices import to_dense
from dfltheory.own import Trust, require_trust, trusting
from dfltheory.tasks.task import Task
from dfltheory.training import loop
from dfltheory.training.document import REQUIRED, SECTIONS, builder, converted, located, name_of, options_of
from dfltheory.training.history import History
from dfltheory.training.setup import network_called, seed_indices


@dataclass(frozen=True, eq=False)
class Instance:
    """A task, an algorithm, a network, and how long they run: all that the numbers of a run depend on.

    Attributes
    ----------
    task, algorithm : what is learned, and how
    network : graph, matrix (m, m), sequence... as :func:`dfltheory.train` takes it; None for a server
    rounds : T
    seeds : indices of independent runs; S stands for 0..S-1
    x0 : start (d,), (m, d) or (S, m, d); None: the task's own
    seed : root of all chance
    evaluate_every : measure rounds 0, n, 2n, ... and the last
    told : what the document said of the task and the network, each with the object that it was built into
    """

    task: Task
    algorithm: Algorithm
    network: Any = None
    rounds: int = 100
    seeds: Sequence[int] | int = (0,)
    x0: Any = None
    seed: int = field(default=0, kw_only=True)
    evaluate_every: int = field(default=1, kw_only=True)
    told: Mapping[str, tuple[Any, Mapping[str, Any]]] = field(default_factory=dict, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seeds", tuple(seed_indices(self.seeds)))

    def run(self, **recording: Any) -> History:
        """Train; ``recording`` are further options of :func:`dfltheory.train`: metrics, checkpoint..."""
        given: dict[str, Any] = {
            "rounds": self.rounds,
            "seeds": self._count,
            "seed": self.seed,
            "x0": self.x0,
            "evaluate_every": self.evaluate_every,
        }
        return loop.train(self.algorithm, self.task, self.network, **{**given, **recording})

    @property
    def _count(self) -> int | list[int]:
        """The seeds as a document has them: S where they are 0..S-1."""
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
        """Build what the sections [task], [topology], [algorithm] and [run] of a document say.

        Parameters
        ----------
        source : what errors call the document
        folder : where its relative paths begin; None: the document may name no file
        own : may it name algorithms, tasks and a task's model by MODULE:NAME? Their modules are imported, so
            that their code runs: never for a document from somebody else. A set of references allows these

        Raises
        ------
        InputError, UnknownNameError
            One clear line that names the source and the field.
        """
        with located(source), trusting(own):
            for name in document:
                one_of("section of one run", name, {"title", *SECTIONS})
            parts = checked(document, folder, own)
            task = make_task(parts["task"], folder)
            network = make_network(parts["topology"], task.m, folder) if "topology" in parts else None
            told = {"task": (task, parts["task"])}
            if network is not None and "file" not in parts["topology"]:
                told["topology"] = (network, parts["topology"])
            run = {n: v for n, v in parts["run"].items() if n != "keep_models"}
            return cls(task, make_algorithm(parts["algorithm"]), network, told=told, **run)

    def document(self) -> dict[str, Any]:
        """The document that builds this instance again, in JSON's types.

        Raises
        ------
        InputError
            A part was made in Python, and no document can say how.
        """
        made = {"task": self._part("task", self.task), "algorithm": {"name": name_of(type(self.algorithm))}}
        letters = {f.name: getattr(self.algorithm, f.name) for f in fields(self.algorithm)}
        made["algorithm"] |= {n: v for n, v in letters.items() if v is not None}
        if self.network is not None:
            made["topology"] = self._part("topology", self.network)
        run = {n: getattr(self, n) for n in ("rounds", "seed", "evaluate_every")}
        run |= {"seeds": self._count} | ({} if self.x0 is None else {"x0": np.asarray(self.x0)})
        return plain(made | {"run": run})

    def _part(self, section: str, made: Any) -> Mapping[str, Any]:
        kept, said = self.told.get(section, (None, {}))
        if kept is made:
            return said
        if isinstance(made, Mapping):
            raise InputError(
                f"the network is one for each of {', '.join(map(str, made))}, and a document has a single"
                " [topology]: give one network, whose links all of them get, or keep the instance in Python"
            )
        if section == "topology":
            sequence = graphs.as_sequence(made)
            if isinstance(sequence, graphs.Constant):
                return {"matrix": to_dense(sequence.W)}
            if isinstance(sequence, graphs.Periodic):
                return {"matrices": [to_dense(W) for W in sequence.Ws]}
        what = "task" if section == "task" else "network"
        raise InputError(
            f"the {what} {getattr(made, 'name', type(made).__name__)} was made in Python, and no document "
            f"can say how: build the instance with Instance.of, whose [{section}] names it"
        )


# -- from sections to objects ----------------------------------------------------------------------------


_CODE = (("task", "name"), ("task", "model"), ("algorithm", "name"), ("theorem", "key"))
"""Where a document may name code, by section and field."""


def references(document: Mapping[str, Any]) -> dict[str, str]:
    """The MODULE:NAME and FILE.py:NAME references of a document, by dotted field; nothing is imported."""
    found = {}
    for section, key in _CODE:
        table = document.get(section)
        value = table.get(key) if isinstance(table, Mapping) else None
        if isinstance(value, str) and ":" in value:
            found[f"{section}.{key}"] = value
    return found


def checked(
    document: Mapping[str, Any],
    folder: Path | None = None,
    own: Trust = False,
    filled: Callable[[str], set[str]] = lambda name: set(),
) -> dict[str, dict[str, Any]]:
    """The four sections with their defaults; names, options, types and ranges checked, nothing built.

    ``filled`` says which hyperparameters of the algorithm are given later. An algorithm without a network
    loses [topology], so that such baselines can be swept beside the others.
    """
    given = {n: document.get(n) or {} for n in SECTIONS if n != "topology" or document.get(n) is not None}
    for place, reference in references(given).items():
        require_trust(reference, own, place)
    algorithm = SECTIONS["algorithm"].read(given.pop("algorithm"), filled)
    known = options_of("algorithm", algorithm["name"])
    # ranges are the algorithm's own business; for what is given later a small number stands in
    with located("[algorithm]"):
        make_algorithm({**{n: 1e-3 for n, f in known.items() if f.default is REQUIRED}, **algorithm})
    network = algorithms.spoken(algorithm["name"])[2]
    if not builder("algorithm", algorithm["name"]).needs_topology:
        given.pop("topology", None)
    elif network is not None and given.setdefault("topology", {"name": network}).get("name") != network:
        raise InputError(
            f"{algorithm['name']} is that algorithm over the network {network}: leave out others"
        )
    elif "topology" not in given:
        raise InputError(f"{algorithm['name']} needs a [topology]: give its name or file")
    parts = {n: SECTIONS[n].read(table) for n, table in given.items()} | {"algorithm": algorithm}
    if "topology" in parts:
        _check_topology(parts["topology"], folder)
    return parts


def _check_topology(asked: Mapping[str, Any], folder: Path | None) -> None:
    named = [n for n in ("name", "file", "matrix", "matrices") if n in asked]
    if len(named) != 1:
        told = " and ".join(named) or "none of them"
        raise InputError(f"[topology] needs one of name, file, matrix and matrices, not {told}")
    rule = asked.get("weights")
    if rule is not None and rule.replace("-", "_") not in graphs.WEIGHT_RULES:
        with located("[topology]"):
            raise UnknownNameError("weight rule", rule, set(graphs.WEIGHT_RULES))
    further = set(asked) - set(SECTIONS["topology"].fields)
    if named != ["name"] and further:
        raise UnknownNameError(f"field of [topology] with a {named[0]}", min(further), {*named, "weights"})
    if named == ["file"] and (folder is None or not (folder / asked["file"]).is_file()):
        raise InputError(f"topology.file = {asked['file']!r} is not a file beside the experiment file")


def _options(section: str, table: Mapping[str, Any]) -> dict[str, Any]:
    own = SECTIONS[section].fields
    return converted(section, table["name"], {n: v for n, v in table.items() if n not in own})


def make_task(table: Mapping[str, Any], folder: Path | None) -> Task:
    """The task of a checked [task]; a file of its examples lies beside the document."""
    name, options = table["name"], _options("task", table)
    known = options_of("task", name)
    for option in (n for n in options if known[n].hint is Path):
        if folder is None:
            raise InputError(f"task.{option} = {options[option]!r}: this document may name no file")
        options[option] = folder / options[option]
    if ":" not in name:
        return tasks.get(name, **options)
    made = builder("task", name)(**options)
    if not isinstance(made, Task):
        raise InputError(f"task.name = {name!r} makes a {type(made).__name__}, not a task")
    return made


def make_network(table: Mapping[str, Any], m: int, folder: Path | None) -> Any:
    """The network of a checked [topology], as a sequence of matrices for m clients."""
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
        told = table.get("name") or table.get("file") or "a matrix"
        raise InputError(
            f"topology.weights = {table['weights']!r}: only a graph takes weights, and this is {told}"
        )
    return graphs.as_sequence(graphs.weights(network, table["weights"]))


def make_algorithm(table: Mapping[str, Any]) -> Algorithm:
    """The algorithm of a checked [algorithm]."""
    letters = algorithms.spoken(table["name"])[1] | _options("algorithm", table)
    return builder("algorithm", table["name"])(**letters)


__all__ = ["Instance", "checked", "make_algorithm", "make_network", "make_task", "references"]
