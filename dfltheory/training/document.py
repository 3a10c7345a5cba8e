"""Pydantic models of the sections [task], [topology], [algorithm] and [run].

A document (a TOML or JSON file, or a mapping) describes one run by these sections.
:func:`read_sections` validates a document and builds nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, create_model

from dfltheory.errors import DFLTheoryError
from dfltheory.files import plain
from dfltheory.schemas import Schema, read_model
from dfltheory.training.options import Option, builder, document_type, options_of

Table = Mapping[str, Any]
"""A validated section: its own fields, and its options by name."""

# -- types of fields


def _different(indices: int | list[int]) -> int | list[int]:
    if isinstance(indices, list) and len(set(indices)) < len(indices):
        raise ValueError("must be different indices")
    return indices


def _one_shape(start: list[object]) -> list[object]:
    if _shape(start) is None:
        raise ValueError(
            "must be numbers, or lists of numbers that are all of one length"
        )
    return start


def _shape(value: object) -> tuple[int, ...] | None:
    """Return the shape of nested lists; None if their lengths differ."""
    if not isinstance(value, list):
        return ()
    shapes = {_shape(entry) for entry in value}
    shape = shapes.pop()
    return None if shapes or shape is None else (len(value), *shape)


def _square(matrix: list[list[float]]) -> list[list[float]]:
    if any(len(row) != len(matrix) for row in matrix):
        raise ValueError("must be a square matrix")
    return matrix


def _reject_blank(name: str) -> str:
    if not name.strip():
        raise ValueError("must be a name")
    return name


ClientMetric = Literal["client_accuracy", "client_loss"]
Name = Annotated[str, AfterValidator(_reject_blank)]
Matrix = Annotated[list[list[float]], Field(min_length=1), AfterValidator(_square)]
Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Seeds = Annotated[
    Count | Annotated[list[Index], Field(min_length=1)], AfterValidator(_different)
]
Point = Annotated[list[float], Field(min_length=1)]
Start = Annotated[
    list[float | Annotated[list[float | Point], Field(min_length=1)]],
    Field(min_length=1),
    AfterValidator(_one_shape),
]


# -- sections


class TaskSection(Schema):
    """The learning problem. All further keys are options of the named task."""

    name: Name = Field(
        description=(
            "which task, as `dfltheory train --help` lists them; MODULE:NAME or"
            " FILE.py:NAME for a function or class of your own that makes one"
        )
    )


class TopologySection(Schema):
    """The network: a topology or a sequence by name, or a matrix in a file.

    It has as many clients as the task. All further keys are options of the named
    topology. The section is ignored for algorithms with a server, which have no
    network.
    """

    name: Name | None = Field(
        None, description="which topology, as `dfltheory topology` lists them"
    )
    file: Name | None = Field(
        None,
        description=(
            "in place of a name, a mixing matrix or edge list; the path is relative to"
            " the experiment file"
        ),
    )
    matrix: Matrix | None = Field(
        None,
        description=(
            "in place of a name or file, the mixing matrix itself, as a list of rows"
        ),
    )
    matrices: Annotated[list[Matrix], Field(min_length=1)] | None = Field(
        None,
        description=(
            "in place of a matrix, a list of those of a period of rounds, which is"
            " repeated"
        ),
    )
    weights: Name | None = Field(
        None,
        description=(
            "weight rule; without it Metropolis weights, column-stochastic ones on"
            " directed graphs"
        ),
    )


class AlgorithmSection(Schema):
    """The algorithm.

    All further keys are its hyperparameters, in the papers' notation.
    """

    name: Name = Field(
        description=(
            "which algorithm, lower case, as in dfedsam; MODULE:CLASS or FILE.py:CLASS"
            " for your own"
        )
    )


class RunSection(Schema):
    """The number of rounds, the seeds and the measurements."""

    rounds: Count = Field(100, description="rounds T")
    seeds: Seeds = Field(
        1,
        description=(
            "number of independent runs S, or a list of different indices of them;"
            " confidence intervals are over them"
        ),
    )
    seed: Index = Field(
        0, description="root seed of the runs (the task has a seed of its own)"
    )
    x0: Start | None = Field(
        None,
        description=(
            "where the models start: d numbers, m lists of them, or these for each"
            " seed; without it the task's own start"
        ),
    )
    evaluate_every: Count = Field(
        1, description="measure rounds 0, n, 2n, ... and the last"
    )
    metrics: Annotated[list[ClientMetric], Field(min_length=1)] | None = Field(
        None,
        description=(
            "measures of every client's own model, client_accuracy or client_loss; the"
            " table has their mean, extremes and quantiles over clients"
        ),
    )
    keep_models: bool = Field(
        False, description="keep the final models (seeds, m, d) in a sweep's cells"
    )


SECTIONS: dict[str, type[Schema]] = {
    "task": TaskSection,
    "topology": TopologySection,
    "algorithm": AlgorithmSection,
    "run": RunSection,
}
"""The sections that describe one run, in their customary order."""
NAMED = ("task", "topology", "algorithm")
"""The sections whose further keys are options of the object given by ``name``."""


# -- reading


def section_model(title: str, name: str) -> type[Schema]:
    """Return the model of a section of ``NAMED``, including the options of its object.

    Raises
    ------
    UnknownNameError
        If the section does not know the name.
    """
    with located(f"{title}.name"):
        build = builder(title, name)
    if ":" in name:  # a user's code, which may change
        return _model_with_options(title, name)
    return _known_section_model(title, name, build)


@lru_cache(maxsize=256)
def _known_section_model(title: str, name: str, build: object) -> type[Schema]:
    """Return the cached model of a section whose object is created by ``build``."""
    return _model_with_options(title, name)


def _model_with_options(title: str, name: str) -> type[Schema]:
    # hyperparameters may come from the schedule of a theorem
    given_later = title == "algorithm"
    fields: dict[str, Any] = {
        f"option_{number}": _option_field(option_name, option, given_later)
        for number, (option_name, option) in enumerate(options_of(title, name).items())
    }
    return create_model(f"{title} {name}", __base__=SECTIONS[title], **fields)


def _option_field(
    name: str, option: Option, given_later: bool
) -> tuple[object, object]:
    """Return the type and field of an option; its alias is the option's name."""
    kind: Any = document_type(option.hint)
    if option.required and not given_later:
        return kind, Field(alias=name, description=f"option {name}")
    if option.default is None and not option.required:
        kind = kind | None
    default = None if option.required else plain(option.default)
    return kind, Field(default, alias=name)


def read_sections(
    document: Mapping[str, object], further: Mapping[str, type[Schema]] | None = None
) -> dict[str, Table]:
    """Validate a document, and return its sections with the defaults of their fields.

    Options of named objects are validated, but no defaults are added. Hyperparameters
    of the algorithm may be absent.

    Parameters
    ----------
    document : mapping
        The sections; [topology] and ``further`` ones may be absent.
    further : mapping
        Models of further sections.

    Raises
    ------
    InputError, UnknownNameError
        If the document is invalid; the message lists all problems as "place: reason".
    """
    further = further or {}
    known = {**SECTIONS, **further}
    given = {title: table for title, table in document.items() if title not in known}
    models: dict[str, type[Schema]] = {}
    for title, own_fields in known.items():
        table = document.get(title)
        if table is None and (title == "topology" or title in further):
            continue
        models[title] = _model_for(title, table, own_fields)
        given[title] = {} if table is None else table
    sections = read_model(_document_model(tuple(models.items())), given)
    return {title: given_values(getattr(sections, title)) for title in models}


@lru_cache(maxsize=256)
def _document_model(sections: tuple[tuple[str, type[Schema]], ...]) -> type[Schema]:
    parts: dict[str, Any] = {title: (model, ...) for title, model in sections}
    return create_model("document", __base__=Schema, **parts)


def _model_for(title: str, table: object, own_fields: type[Schema]) -> type[Schema]:
    """Return the model of a section, including the options of the named object."""
    name = table.get("name") if isinstance(table, Mapping) else None
    if title in NAMED and isinstance(name, str) and name.strip():
        return section_model(title, name)
    return own_fields


def given_values(section: Schema) -> Table:
    """Return a section as a table: fields that are not None, and given options."""
    values = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        is_option = field.alias is not None
        if name in section.model_fields_set if is_option else value is not None:
            values[field.alias or name] = value
    return values


# -- labels and places


@contextlib.contextmanager
def located(where: str) -> Iterator[None]:
    """Prefix the messages of this package's errors with a place."""
    try:
        yield
    except DFLTheoryError as error:
        if where and not str(error).startswith(where):
            error.args = (f"{where}: {error}",)
        raise


def short(value: object) -> str:
    """Return a short label of a value; numbers have six digits."""
    if isinstance(value, dict):
        entries = [f"{k} = {short(v)}" for k, v in value.items() if k != "name"]
        parts = [str(value["name"])] if value.get("name") else []
        if entries:
            parts.append(f"({', '.join(entries)})")
        return " ".join(parts)
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else str(plain(value))


__all__ = [
    "NAMED",
    "SECTIONS",
    "Name",
    "Table",
    "located",
    "read_sections",
    "section_model",
    "short",
]
