"""Replay of saved counterexamples."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds import registry
from dfltheory.bounds.document import (
    UnknownLaw,
    theorem_from_document,
    theorem_to_document,
)
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.divergence import Divergence, again
from dfltheory.counterexamples.document import Document, built, read_document
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.reach import CodeNeededError, class_of, with_classes
from dfltheory.documents import WrittenNumber
from dfltheory.errors import DataError
from dfltheory.own import own_name

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


def replay(path: str | Path, theorem: Theorem | None = None) -> Finding:
    """Run a saved counterexample, or the best candidate of a saved outcome, again.

    The exact expectation in floating point and the training core both evaluate it. If
    there is no exact expectation, runs of the training core decide.

    Parameters
    ----------
    path : str or Path
    theorem : Theorem, optional
        The statement of the file. It is required if the statement uses third-party code
        for its algorithm or network, which no file contains.

    Raises
    ------
    DataError, UnknownNameError
        The file is not such a document, is about another statement than ``theorem``,
        needs code that it does not contain, or has an invalid field
        (:mod:`.document`).
    """
    started, document = time.monotonic(), read_document(path)
    theorem = _statement(path, document, theorem)
    if document.get("divergence") is not None:
        family = again(Divergence(**document["divergence"]), theorem)
        return Finding(
            key=theorem.key,
            variant=theorem.variant,
            violated=False,
            ratio=family.ratios[-1] / family.ratios[0],
            evaluations=len(family.ratios),
            seconds=time.monotonic() - started,
            seed=0,
            divergence=family,
            theorem=theorem,
        )
    if document.get("instance") is None:
        raise DataError(
            f"{path} contains no counterexample: the search found no admissible problem"
        )
    instance = built(document["instance"], theorem.scope.algorithms)
    name = type(instance.algorithm).__name__
    about = any(
        isinstance(instance.algorithm, class_of(a)) for a in theorem.scope.algorithms
    )
    odd = theorem.order or theorem.lhs.aggregate == "each" or not about
    if odd or theorem.scope.two_blocks is (instance.task.shared is None):
        raise DataError(
            f"{path}: a single run of {name} on this task cannot refute {theorem}"
        )
    try:
        # a run that leaves the finite numbers is reported as such
        with np.errstate(all="ignore"):
            certificate = certify(instance, theorem)
    except ArithmeticError as wrong:
        raise DataError(
            f"{path}: the run of the instance overflows ({wrong})"
        ) from wrong
    return Finding(
        key=theorem.key,
        variant=theorem.variant,
        violated=certificate.violated,
        ratio=certificate.sides["ratio"],
        evaluations=1,
        seconds=time.monotonic() - started,
        seed=0,
        family=document.get("family", ""),
        instance=instance,
        certificate=certificate,
        theorem=theorem,
    )


def instance_of(
    path: str | Path, theorem: Theorem | None = None
) -> tuple[Document, Theorem]:
    """Return the instance of a counterexample file, and its statement.

    The instance is plain data. Decimal numbers of a statement in the file are read as
    exact rational numbers: 0.1 is 1/10. For ``theorem``, see :func:`replay`.

    Raises
    ------
    DataError, UnknownNameError
        The file is not such a document, or does not contain a single instance.
    """
    document = read_document(path, parse_float=WrittenNumber)
    if document.get("instance") is None:
        raise DataError(f"{path} contains no single instance")
    return document["instance"], _statement(path, document, theorem)


def single_instance(
    path: str | Path, theorem: Theorem | None = None
) -> tuple[Document, Theorem, str]:
    """Return the instance of a counterexample file, its statement and its family.

    The instance is plain data, and the family the name of the family of candidates that
    it is from.

    Parameters
    ----------
    path : str or Path
    theorem : Theorem, optional
        The statement itself, as in :func:`replay`.

    Raises
    ------
    DataError, UnknownNameError
        The file is not such a document, or contains a family of problems instead of an
        instance.
    """
    document = read_document(path)
    if document.get("instance") is None:
        raise DataError(
            f"{path} contains a family of problems, which refutes a statement in O(.),"
            " instead of a single instance"
        )
    family = str(document.get("family", ""))
    return document["instance"], _statement(path, document, theorem), family


def _statement(
    path: str | Path, document: Document, given: Theorem | None = None
) -> Theorem:
    """Return the statement of a file, after checking that all its sources agree.

    It is the ``given`` one, the one in the file, or else the registered one.
    """
    about = document.get("divergence") or document
    key, variant = about.get("key", ""), about.get("variant", "")
    if given is not None:
        theorem = given
    elif "theorem" in document:
        theorem = with_classes(theorem_from_document(document["theorem"]))
    else:
        theorem = registry.get(key, variant)
    if (key, variant) != (theorem.key, theorem.variant):
        raise DataError(f"{path} is about {key} [{variant}], not about {theorem}")
    if isinstance(theorem.scope.network, UnknownLaw):
        raise DataError(
            f"{path}: {CodeNeededError(f'the law of the network of {theorem}')}"
        )
    if "theorem" not in document:
        return theorem
    if given is not None and not _contains_statement(document["theorem"], given):
        raise DataError(f"{path} contains another statement than the given {theorem}")
    if registry.known(key, variant) and not _contains_statement(
        document["theorem"], registry.get(key, variant)
    ):
        raise DataError(
            f"{path} contains another statement under the name of the registered"
            f" {theorem}"
        )
    if document.get("instance") and not theorem.lhs.rounds(
        document["instance"]["run"]["rounds"]
    ):
        raise DataError(
            f"{path}: the left-hand side of {theorem} covers no round of the run"
        )
    return theorem


def _contains_statement(document: Document, theorem: Theorem) -> bool:
    """Return whether a document contains this statement.

    Differences in how the modules of its algorithms were imported are ignored.
    """
    expected = json.loads(json.dumps(theorem_to_document(theorem)))
    return _with_own_names(document) == _with_own_names(expected)


def _with_own_names(document: Document) -> Document:
    """Return the document of a statement with canonical names of its algorithms.

    See :func:`own_name`.
    """
    match document:
        case {"scope": {"algorithms": [*algorithms]} as scope}:
            names = [own_name(str(name)) for name in algorithms]
            return document | {"scope": scope | {"algorithms": names}}
    return document


__all__ = ["instance_of", "replay", "single_instance"]
