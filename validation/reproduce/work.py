"""Run the cells of an item, and write its table, page and figure."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path

from dfltheory.errors import InputError
from dfltheory.files import filling, remove_halves
from dfltheory.progress import counted
from validation.reproduce import pictures
from validation.reproduce.cells import Document, Result, digest, perform
from validation.reproduce.items import Entry, Item
from validation.reproduce.outcome import Outcome
from validation.reproduce.scales import SCALES


def reproduce(item: Item, options: argparse.Namespace) -> list[Path]:
    """Write the files of one item.

    Cells that have been run, for this or another item, are not run again.
    """
    if options.seeds < 1 or options.jobs < 1:
        raise InputError("--seeds and --jobs must be at least 1")
    scale, seeds = SCALES[options.scale], range(options.seeds)
    documents = {}
    for entry, cell in item.cells().items():
        for seed in seeds:
            documents[entry, seed] = cell.document(scale, seed)
    (options.out / "cells").mkdir(parents=True, exist_ok=True)
    with filling(options.out) as new:
        remove_halves(options.out / "cells" / "*.json")
        results = perform_all(documents, options)
        outcome = Outcome.of(item, scale, seeds, results)
        saved = [*outcome.save(new), *pictures.save(outcome, results, new)]
    written = [options.out / path.name for path in saved]
    print(outcome.page())
    print("written: " + ", ".join(map(str, written)))
    return written


def perform_all(
    documents: Mapping[tuple[Entry, int], Document],
    options: argparse.Namespace,
) -> dict[tuple[Entry, int], Result]:
    """Return the results of all documents.

    The longest runs start first, so that the processes end at about the same time.
    """
    from joblib import Parallel, delayed

    different = {digest(document): document for document in documents.values()}
    work = {name: _work(document) for name, document in different.items()}
    order = sorted(work, key=work.__getitem__, reverse=True)
    places = (options.out / "cells", options.data_root, options.device)
    calls = [delayed(_perform_cell)(different[name], *places) for name in order]
    runs = Parallel(n_jobs=options.jobs, return_as="generator")(calls)
    by_name = {}
    with counted(len(different)) as report:
        for name, result in zip(order, runs):
            by_name[name] = result
            report("runs", 1)
    return {place: by_name[digest(document)] for place, document in documents.items()}


def _perform_cell(
    document: Document, folder: Path, data_root: Path | None, device: str
) -> Result:
    import torch

    torch.set_num_threads(1)  # parallel cells use a machine better than threads do
    return perform(document, folder, data_root, device)


def _work(document: Document) -> float:
    """Estimate the work of a run, up to a constant."""
    algorithm = document["algorithm"]
    passes = sum(document["epochs"].values()) * (2 if algorithm.get("rho") else 1)
    share = float(algorithm.get("participation", 1.0))
    clients = math.ceil(document["task"]["m"] * share)
    return passes * clients * document["run"]["rounds"]
