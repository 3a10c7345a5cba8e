"""One entry of a table: a method on a data set, division, network and seed.

A cell that has been run is one JSON file, named by a digest of the document that says
what was run. It is written when the run has ended, so that a killed command goes on
where it was, and tables share cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray

import dfltheory as dfl
from dfltheory import models
from dfltheory.algorithms.base import State
from dfltheory.errors import UnknownNameError
from dfltheory.files import read_json, write_json
from dfltheory.identity import value_digest
from dfltheory.randomness import RANDOM_FORMAT, RunGenerators
from dfltheory.tasks.images import ImageSet, load
from dfltheory.training.oracle import RoundOracle
from dfltheory.training.sections import make_network
from validation.paper_setups import PaperSetup, paper_file, paper_setup
from validation.reproduce.landscape import probed
from validation.reproduce.scales import PAPERS_CLIENTS, Scale, pooled_cnn

TOPOLOGIES = {"ring": "ring", "grid": "grid", "exp": "exponential", "full": "complete"}
"""The papers' names of fixed topologies; ``random`` is their time-varying one."""


Measured = float | list[float] | list[list[float]]
"""A number at the end of a run, or the places and heights of a loss surface."""


class TaskSection(TypedDict):
    """The federated problem."""

    name: str
    m: int
    model: str
    batch: int
    seed: int
    sampling: Literal["epochs"]
    test: Literal["all", "own"]
    partition: Literal["iid", "dirichlet_by_image", "shards"]
    alpha: NotRequired[float]
    classes_per_client: NotRequired[int]


class RunSection(TypedDict):
    """Rounds, root seed and the rounds between measurements."""

    rounds: int
    seed: int
    evaluate_every: int


class ImageCounts(TypedDict):
    """How many images are drawn first; None: all are taken."""

    train: int | None
    test: int | None


class Document(TypedDict):
    """What is run: the sections of an experiment, and more.

    ``epochs`` is local work, ``probe`` whether sharpness is measured.
    """

    task: TaskSection
    algorithm: Mapping[str, float | str]
    epochs: Mapping[str, int]
    run: RunSection
    images: ImageCounts
    papers_model: str
    probe: bool
    topology: NotRequired[Mapping[str, object]]


@dataclass(frozen=True)
class Cell:
    """What the paper varies.

    ``partition``: ``iid``, ``dirichlet 0.3`` or ``classes 2``; ``topology``: a name of
    :data:`TOPOLOGIES` or ``random``; ``hyperparameters`` and ``epochs`` replace
    the paper's usual ones; ``rounds`` and ``clients`` where they are not its usual
    ones; ``probe``: measure sharpness at the end.
    """

    paper: str
    method: str
    dataset: str
    partition: str = "dirichlet 0.3"
    topology: str = "random"
    hyperparameters: Mapping[str, float | str] = field(default_factory=dict)
    epochs: Mapping[str, int] = field(default_factory=dict)
    clients: int = PAPERS_CLIENTS
    neighbors: int = 10
    rounds: int | None = None
    personal: bool = False
    probe: bool = False

    @property
    def papers_model(self) -> str:
        """The paper's network for this data set."""
        return paper_file(self.paper)["models"][self.dataset]

    def setup(self) -> PaperSetup:
        """Return the paper's set-up of the method, with this cell's changes."""
        known = "cifar10" if self.dataset == "fashion_mnist" else self.dataset
        setup = paper_setup(
            self.paper, self.method, known, self.partition.startswith("classes")
        )
        hyperparameters = dict(setup.hyperparameters)
        if "participation" in hyperparameters:
            hyperparameters["participation"] = self.neighbors / 100
        hyperparameters.update(self.hyperparameters)
        return replace(
            setup,
            hyperparameters=hyperparameters,
            epochs={**setup.epochs, **self.epochs},
            rounds=self.rounds or setup.rounds,
        )

    def document(self, scale: Scale, seed: int) -> Document:
        """Return what is run at this scale."""
        own, setup = scale.of(self.dataset), self.setup()
        m = max(2, scale.scaled(self.clients, self.dataset))
        rounds = own.rounds or setup.rounds
        task: TaskSection = {
            "name": self.dataset,
            "m": m,
            "model": own.model or self.papers_model,
            "batch": own.batch,
            "seed": seed,
            "sampling": "epochs",
            "test": "own" if self.personal else "all",
            "partition": "iid",
        }
        kind, _, value = self.partition.partition(" ")
        if kind == "dirichlet":  # as the papers' code
            task["partition"], task["alpha"] = "dirichlet_by_image", float(value)
        elif kind == "classes":
            task["partition"], task["classes_per_client"] = "shards", int(value)
        elif kind != "iid":
            known = {"iid", "dirichlet", "classes"}
            raise UnknownNameError("partition", self.partition, known)
        document: Document = {
            "task": task,
            "algorithm": {"name": setup.cls.__name__.lower(), **setup.hyperparameters},
            "epochs": dict(setup.epochs),
            "run": {
                "rounds": rounds,
                "seed": seed,
                "evaluate_every": max(1, rounds // scale.measurements),
            },
            "images": {
                "train": own.images and own.images * own.clients,
                "test": own.tests,
            },
            "papers_model": self.papers_model,
            "probe": self.probe,
        }
        if setup.cls.needs_topology:
            document["topology"] = self._network(m)
        return document

    def _network(self, m: int) -> dict[str, object]:
        """Return the section of the network.

        Fixed topologies have Metropolis weights; on random ones every client draws its
        neighbors anew in every round, and push-sum methods get a directed one.
        """
        if self.topology in TOPOLOGIES:
            return {"name": TOPOLOGIES[self.topology], "weights": "metropolis"}
        if self.topology != "random":
            raise UnknownNameError("topology", self.topology, {*TOPOLOGIES, "random"})
        k, directed = min(self.neighbors, m - 1), self.setup().gossip_directed
        if self.method == "dfedsgpsm-s":
            return {"name": "loss_driven", "k": k}
        # a link of a symmetric network works both ways: about as many draw a client as
        # it draws
        return {
            "name": "random_neighbors",
            "k": k if directed else max(1, k // 2),
            "directed": directed,
        }


@dataclass(frozen=True)
class Result:
    """What a cell gave.

    ``measures`` over the measured ``rounds`` (accuracies in percent), numbers at the
    end in ``final``, and the round at which the run ``diverged``.
    """

    document: Document
    rounds: list[int]
    measures: Mapping[str, list[float]]
    final: Mapping[str, Measured]
    seconds: float
    diverged: int | None

    def last(self, measure: str) -> float:
        """Return the measure at the end: nan if the run diverged."""
        values = self.measures[measure]
        return float(values[-1]) if self.diverged is None else math.nan

    def rounds_to(self, accuracy: float, measure: str = "accuracy") -> float:
        """Return the first measured round with this accuracy; inf if there is none."""
        for t, reached in zip(self.rounds, self.measures[measure]):
            if float(reached) >= accuracy:
                return t
        return math.inf


def digest(document: Document) -> str:
    """Return the name of a cell's file.

    It depends on the document and on the format of random numbers.
    """
    return value_digest({"random_format": RANDOM_FORMAT, **document})


def perform(
    document: Document, folder: Path, data_root: Path | None, device: str
) -> Result:
    """Return the cell's result: read from its file, or run and written."""
    path = folder / f"{digest(document)}.json"
    if not path.exists():
        write_json(path, run(document, data_root, device).__dict__)
    return Result(**read_json(path))


def run(
    document: Document, data_root: Path | None = None, device: str = "cpu"
) -> Result:
    """Train, and measure."""
    images = some_images(document, data_root)
    instance = instance_of(document, images, device)
    task, algorithm = instance.task, instance.algorithm
    assert isinstance(task, dfl.tasks.Supervised)
    personal = None
    if document["task"]["test"] == "own" and not algorithm.personal:
        personal = Personal(instance)
    history = instance.run(callbacks=[personal] if personal else [], progress=False)
    measures = {}
    for name, values in history.measures().items():
        unit = 100 if "accuracy" in name else 1
        measures[name] = (unit * values[0]).tolist()
    rounds = [int(t) for t in history.rounds_measured]
    if personal:
        measures["client_accuracy"] = personal.accuracies(rounds)
    final: dict[str, Measured] = {"rho": getattr(algorithm, "rho", 0.0)}
    if history.diverged_at is None:
        mean = torch.as_tensor(history.x[0]).to(task.device, task.dtype).mean(0)
        final["train_accuracy"] = 100 * train_accuracy(document, images, mean, device)
        if document["probe"]:
            final |= probed(task, mean)
    return Result(
        document, rounds, measures, final, history.seconds, history.diverged_at
    )


_all_images = lru_cache(maxsize=2)(load)


def some_images(document: Document, root: Path | None) -> ImageSet:
    """Return so many training and test images, drawn by the seed."""
    images = _all_images(document["task"]["name"], root)
    rng = np.random.default_rng([document["run"]["seed"], 7])
    counts = document["images"]
    if counts["train"] is not None:
        kept = _drawn(rng, len(images.train_y), counts["train"])
        x, y = images.train_x[kept], images.train_y[kept]
        images = replace(images, train_x=x, train_y=y)
    if counts["test"] is not None:
        kept = _drawn(rng, len(images.test_y), counts["test"])
        x, y = images.test_x[kept], images.test_y[kept]
        images = replace(images, test_x=x, test_y=y)
    return images


def _drawn(rng: np.random.Generator, length: int, count: int) -> NDArray[np.int64]:
    """Return the sorted indices of images that are drawn."""
    return np.sort(rng.choice(length, min(count, length), replace=False))


def instance_of(
    document: Document, images: ImageSet, device: str = "cpu"
) -> dfl.Instance:
    """Return the document as objects."""
    task = make_task(document["task"], images, device)
    options: dict[str, Any] = dict(document["algorithm"])
    build = dfl.algorithms.get(str(options.pop("name")))
    for symbol, epochs in document["epochs"].items():
        options[symbol] = epochs * task.steps_per_epoch
    options |= radius(document, images)
    network = None
    if "topology" in document:
        network = make_network(document["topology"], task.m, None)
    return dfl.Instance(task, build(**options), network, **document["run"])


def make_task(
    section: TaskSection, images: ImageSet, device: str
) -> dfl.tasks.Supervised:
    """Return the federated problem."""
    options: dict[str, Any] = dict(section)
    del options["name"]
    options["model"] = module(section["model"], images, section["seed"])
    return dfl.tasks.image_task(images, device=device, **options)


def module(name: str, images: ImageSet, seed: int) -> torch.nn.Module:
    """Return a network by its name, drawn by the seed."""
    channels, side, _ = images.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name == "pooled_cnn":
            return pooled_cnn(channels, side, images.classes)
        return models.get(name, images.shape, images.classes)


def radius(document: Document, images: ImageSet) -> dict[str, float]:
    """Return SAM's radius for a network that is not the paper's.

    It is as large relative to the initial parameters.
    """
    rho = document["algorithm"].get("rho")
    names = (document["task"]["model"], document["papers_model"])
    if not rho or names[0] == names[1]:
        return {}
    seed = document["run"]["seed"]
    ours, theirs = (norm(module(name, images, seed)) for name in names)
    return {"rho": float(f"{float(rho) * ours / theirs:.3g}")}


def norm(network: torch.nn.Module) -> float:
    """Return the Euclidean norm of all parameters together."""
    return math.sqrt(
        sum(float(p.detach().double().square().sum()) for p in network.parameters())
    )


def train_accuracy(
    document: Document, images: ImageSet, x: torch.Tensor, device: str
) -> float:
    """Share of the training images that the model x (d,) classifies rightly."""
    same = replace(images, test_x=images.train_x, test_y=images.train_y)
    section: TaskSection = {**document["task"], "test": "all"}
    accuracy = make_task(section, same, device).accuracy(x[None])
    assert accuracy is not None
    return float(accuracy[0])


class Personal:
    """A callback that evaluates every client's own model after local work.

    The DFedMDC paper says of FedAvg that "the local model is also the comparable
    personalized model": what a client has after its own local work. So every client
    takes one more round of it, without communication, from the models at hand, and is
    judged on its own test images; the run itself is not changed.
    """

    def __init__(self, instance: dfl.Instance):
        self._of = instance
        self._found: dict[int, float] = {}

    def __call__(self, t: int, state: State, recorder: object) -> None:
        """Evaluate the clients' models at the measured rounds."""
        of = self._of
        if t % of.evaluate_every == 0 or t == of.rounds:
            # minibatches of a seed index that no run has: the run's own chance is not
            # used up
            generators = RunGenerators(of.seed, [of.rounds], of.task.device)
            chance = RoundOracle(of.task, generators, t, of.rounds)
            own = of.task.client_accuracy(of.algorithm.local_update(state, chance).z)
            assert own is not None
            self._found[t] = 100 * float(own.mean())

    def accuracies(self, rounds: Sequence[int]) -> list[float]:
        """In percent, at the measured rounds; nan before round 1."""
        return [self._found.get(t, math.nan) for t in rounds]
