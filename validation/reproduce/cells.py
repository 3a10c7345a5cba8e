"""Cells of a table: a method on a data set, partition, network and seed.

The result of a cell is stored in a JSON file, which is named by a digest of the
document that describes the run. It is written at the end of the run, so that an
interrupted command can be continued and tables can share cells.
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
from dfltheory.tasks.images import ImageSet, load_images
from dfltheory.training.oracle import RoundOracle
from dfltheory.training.sections import make_network
from validation.paper_setups import PaperSetup, paper_file, paper_setup
from validation.reproduce.landscape import probed
from validation.reproduce.scales import PAPERS_CLIENTS, Scale, pooled_cnn

TOPOLOGIES = {"ring": "ring", "grid": "grid", "exp": "exponential", "full": "complete"}
"""The papers' names of fixed topologies; ``random`` is their time-varying one."""


Measured = float | list[float] | list[list[float]]
"""A number at the end of a run, or the grid or the values of a loss surface."""


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
    """Number of rounds, root seed and interval of measurements."""

    rounds: int
    seed: int
    evaluate_every: int


class ImageCounts(TypedDict):
    """Numbers of images that are drawn from the image set; None for all."""

    train: int | None
    test: int | None


class Document(TypedDict):
    """Description of a run: the sections of an experiment file, and more.

    ``epochs`` is the local work; ``probe`` says whether sharpness is measured.
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
    """What a paper varies between the entries of its tables.

    ``partition`` is ``iid``, ``dirichlet 0.3`` or ``classes 2``. ``topology`` is a name
    in :data:`TOPOLOGIES` or ``random``. ``hyperparameters``, ``epochs``, ``rounds`` and
    ``clients`` replace the paper's usual ones. If ``probe``, sharpness is measured at
    the end.
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
        few_classes = self.partition.startswith("classes")
        setup = paper_setup(self.paper, self.method, known, few_classes)
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
        """Return the description of the run at a scale and seed."""
        size, setup = scale.of(self.dataset), self.setup()
        m = max(2, scale.scaled(self.clients, self.dataset))
        rounds = size.rounds or setup.rounds
        task: TaskSection = {
            "name": self.dataset,
            "m": m,
            "model": size.model or self.papers_model,
            "batch": size.batch,
            "seed": seed,
            "sampling": "epochs",
            "test": "own" if self.personal else "all",
            "partition": "iid",
        }
        kind, _, value = self.partition.partition(" ")
        if kind == "dirichlet":  # as in the papers' code
            task["partition"], task["alpha"] = "dirichlet_by_image", float(value)
        elif kind == "classes":
            task["partition"], task["classes_per_client"] = "shards", int(value)
        elif kind != "iid":
            known = {"iid", "dirichlet", "classes"}
            raise UnknownNameError("partition", self.partition, known)
        training_images = size.images and size.images * size.clients
        document: Document = {
            "task": task,
            "algorithm": {"name": setup.cls.__name__.lower(), **setup.hyperparameters},
            "epochs": dict(setup.epochs),
            "run": {
                "rounds": rounds,
                "seed": seed,
                "evaluate_every": max(1, rounds // scale.measurements),
            },
            "images": {"train": training_images, "test": size.tests},
            "papers_model": self.papers_model,
            "probe": self.probe,
        }
        if setup.cls.needs_topology:
            document["topology"] = self._network(m)
        return document

    def _network(self, m: int) -> dict[str, object]:
        """Return the section of the network.

        Fixed topologies have Metropolis weights. On random ones, every client draws new
        neighbors in every round; the graph is directed for push-sum methods.
        """
        if self.topology in TOPOLOGIES:
            return {"name": TOPOLOGIES[self.topology], "weights": "metropolis"}
        if self.topology != "random":
            raise UnknownNameError("topology", self.topology, {*TOPOLOGIES, "random"})
        k, directed = min(self.neighbors, m - 1), self.setup().gossip_directed
        if self.method == "dfedsgpsm-s":
            return {"name": "loss_driven", "k": k}
        # in a symmetric network, a client is also linked to the clients that draw it,
        # about as many as it draws itself
        return {
            "name": "random_neighbors",
            "k": k if directed else max(1, k // 2),
            "directed": directed,
        }


@dataclass(frozen=True)
class Result:
    """Result of a cell.

    ``measures`` has the values at the measured ``rounds`` (accuracies in percent),
    ``final`` the values at the end, and ``diverged`` is the round of divergence, if
    any.
    """

    document: Document
    rounds: list[int]
    measures: Mapping[str, list[float]]
    final: Mapping[str, Measured]
    seconds: float
    diverged: int | None

    def last(self, measure: str) -> float:
        """Return the last value of a measure; nan if the run diverged."""
        values = self.measures[measure]
        return float(values[-1]) if self.diverged is None else math.nan

    def rounds_to(self, accuracy: float, measure: str = "accuracy") -> float:
        """Return the first measured round with this accuracy; inf if never reached."""
        for t, reached in zip(self.rounds, self.measures[measure]):
            if float(reached) >= accuracy:
                return t
        return math.inf


def digest(document: Document) -> str:
    """Return the name of a cell's file.

    It depends on the document and on the version of the random number format.
    """
    return value_digest({"random_format": RANDOM_FORMAT, **document})


def perform(
    document: Document, folder: Path, data_root: Path | None, device: str
) -> Result:
    """Return a cell's result: load its file, or run it and write the file."""
    path = folder / f"{digest(document)}.json"
    if not path.exists():
        write_json(path, run(document, data_root, device).__dict__)
    return Result(**read_json(path))


def run(
    document: Document, data_root: Path | None = None, device: str = "cpu"
) -> Result:
    """Train as described by ``document``, and return the measured values."""
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


_all_images = lru_cache(maxsize=2)(load_images)


def some_images(document: Document, root: Path | None) -> ImageSet:
    """Return the training and test images that the document's seed draws."""
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
    """Return the sorted indices of ``count`` random images."""
    return np.sort(rng.choice(length, min(count, length), replace=False))


def instance_of(
    document: Document, images: ImageSet, device: str = "cpu"
) -> dfl.Instance:
    """Build the instance that a document describes."""
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
    """Build the federated problem of a task section."""
    options: dict[str, Any] = dict(section)
    del options["name"]
    options["model"] = module(section["model"], images, section["seed"])
    return dfl.tasks.image_task(images, device=device, **options)


def module(name: str, images: ImageSet, seed: int) -> torch.nn.Module:
    """Return a network by name, with parameters initialized by the seed."""
    channels, side, _ = images.shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if name == "pooled_cnn":
            return pooled_cnn(channels, side, images.classes)
        return models.get(name, images.shape, images.classes)


def radius(document: Document, images: ImageSet) -> dict[str, float]:
    """Return SAM's radius for a network that is not the paper's; else nothing.

    The ratio of the radius to the norm of the initial parameters is that of the paper.
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
    """Return the accuracy of the model x (d,) on the training images."""
    same = replace(images, test_x=images.train_x, test_y=images.train_y)
    section: TaskSection = {**document["task"], "test": "all"}
    accuracy = make_task(section, same, device).accuracy(x[None])
    assert accuracy is not None
    return float(accuracy[0])


class Personal:
    """A callback that evaluates every client's own model after local work.

    The DFedMDC paper says of FedAvg that "the local model is also the comparable
    personalized model", that is the model after the client's local work. So every
    client performs the local work of one more round, without communication, from its
    current model, and is evaluated on its own test images. The run itself is not
    changed.
    """

    def __init__(self, instance: dfl.Instance):
        self._of = instance
        self._accuracies: dict[int, float] = {}

    def __call__(self, t: int, state: State, recorder: object) -> None:
        """Evaluate the clients' models at the measured rounds."""
        of = self._of
        if t % of.evaluate_every == 0 or t == of.rounds:
            # a seed index that no run has, so that the run's random numbers do not
            # change
            generators = RunGenerators(of.seed, [of.rounds], of.task.device)
            oracle = RoundOracle(of.task, generators, t, of.rounds)
            local_models = of.algorithm.local_update(state, oracle).z
            accuracies = of.task.client_accuracy(local_models)
            assert accuracies is not None
            self._accuracies[t] = 100 * float(accuracies.mean())

    def accuracies(self, rounds: Sequence[int]) -> list[float]:
        """Return accuracies in percent at the measured rounds; nan before round 1."""
        return [self._accuracies.get(t, math.nan) for t in rounds]
