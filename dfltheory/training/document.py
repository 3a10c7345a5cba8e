"""Pydantic models of the sections [task], [topology], [algorithm] and [run].

A document (a TOML or JSON file, or a mapping) describes one run by these sections.
:func:`read_sections` validates a document and builds nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeGuard

from pydantic import AfterValidator, Field, create_model

from dfltheory import graphs
from dfltheory.errors import UnknownNameError
from dfltheory.files import json_value
from dfltheory.problems import Problems, located
from dfltheory.schemas import Schema, fields_by_name, read_model
from dfltheory.training.options import Option, builder, options_of

Table = Mapping[str, Any]
"""A validated section: its own fields, and its options by name."""

# -- types of fields


def _different(indices: int | list[int]) -> int | list[int]:
    """Return seed indices unchanged; raise ValueError if one occurs twice."""
    if isinstance(indices, list) and len(set(indices)) < len(indices):
        raise ValueError("must be different indices")
    return indices


def _one_shape(start: list[object]) -> list[object]:
    """Return nested lists unchanged; raise ValueError if their lengths differ."""
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
    """Return a matrix unchanged; raise ValueError unless it is square."""
    if any(len(row) != len(matrix) for row in matrix):
        raise ValueError("must be a square matrix")
    return matrix


def _reject_blank(name: str) -> str:
    """Return a name unchanged; raise ValueError if it is blank."""
    if not name.strip():
        raise ValueError("must be a name")
    return name


def _known_weight_rule(rule: str) -> str:
    """Return the name of a weight rule unchanged, if there is such a rule."""
    if rule.replace("-", "_") not in graphs.WEIGHT_RULES:
        raise UnknownNameError("weight rule", rule, set(graphs.WEIGHT_RULES))
    return rule


ClientMetric = Literal["client_accuracy", "client_loss"]
OptionName = Annotated[str, AfterValidator(_reject_blank)]
WeightRule = Annotated[str, AfterValidator(_known_weight_rule)]
MatrixRows = Annotated[list[list[float]], Field(min_length=1), AfterValidator(_square)]
Count = Annotated[int, Field(ge=1)]
ClientIndex = Annotated[int, Field(ge=0)]
Seeds = Annotated[
    Count | Annotated[list[ClientIndex], Field(min_length=1)],
    AfterValidator(_different),
]
ModelPoint = Annotated[list[float], Field(min_length=1)]
StartModels = Annotated[
    list[float | Annotated[list[float | ModelPoint], Field(min_length=1)]],
    Field(min_length=1),
    AfterValidator(_one_shape),
]


# -- sections


class TaskSection(Schema):
    """The learning problem. All further keys are options of the named task."""

    name: OptionName = Field(
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

    name: OptionName | None = Field(
        None, description="which topology, as `dfltheory topology` lists them"
    )
    file: OptionName | None = Field(
        None,
        description=(
            "in place of a name, a mixing matrix or edge list; the path is relative to"
            " the experiment file"
        ),
    )
    matrix: MatrixRows | None = Field(
        None,
        description=(
            "in place of a name or file, the mixing matrix itself, as a list of rows"
        ),
    )
    matrices: Annotated[list[MatrixRows], Field(min_length=1)] | None = Field(
        None,
        description=(
            "in place of a matrix, a list of those of a period of rounds, which is"
            " repeated"
        ),
    )
    weights: WeightRule | None = Field(
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

    name: OptionName = Field(
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
    seed: ClientIndex = Field(
        0, description="root seed of the runs (the task has a seed of its own)"
    )
    x0: StartModels | None = Field(
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
NAMED_SECTIONS = ("task", "topology", "algorithm")
"""The sections whose further keys are options of the object given by ``name``."""


# -- reading


def section_model(title: str, name: str) -> type[Schema]:
    """Return the model of a named section, including the options of its object.

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
    """Return a new model of a section, with the options of the named object."""
    # hyperparameters may come from the schedule of a theorem
    given_later = title == "algorithm"
    fields: dict[str, Any] = {
        f"option_{number}": _option_field(option_name, option, given_later)
        for number, (option_name, option) in enumerate(options_of(title, name).items())
    }
    # the new fields have no docstrings, for which pydantic would search the source
    settings = {"use_attribute_docstrings": False}
    return create_model(
        f"{title} {name}", __base__=SECTIONS[title], __cls_kwargs__=settings, **fields
    )


def _option_field(
    name: str, option: Option, given_later: bool
) -> tuple[object, object]:
    """Return the type and field of an option; its alias is the option's name."""
    kind: Any = option.document_type
    if option.required and not given_later:
        return kind, Field(alias=name, description=f"option {name}")
    if option.default is None and not option.required:
        kind = kind | None
    default = None if option.required else json_value(option.default)
    return kind, Field(default, alias=name)


def read_sections(
    document: Mapping[str, object],
    problems: Problems,
    further: Mapping[str, type[Schema]] | None = None,
    unread: Collection[str] = (),
) -> dict[str, Table]:
    """Validate a document, and return its valid sections with their fields' defaults.

    Options of named objects are validated, but no defaults are added. Hyperparameters
    of the algorithm may be absent.

    Parameters
    ----------
    document : mapping
        The sections; [topology] and ``further`` ones may be absent.
    problems : Problems
        Where the problems of the other sections are recorded.
    further : mapping
        Models of further sections.
    unread : collection of str
        Sections that are not validated.
    """
    known = {**SECTIONS, **(further or {})}
    for title in document:
        if title not in known:
            problems.add(UnknownNameError("field", title, set(known)))
    sections = {}
    for title, own_fields in known.items():
        table = document.get(title)
        may_be_absent = title == "topology" or title not in SECTIONS
        if title in unread or (table is None and may_be_absent):
            continue
        given = {} if table is None else table
        section = _read_section(title, given, own_fields, problems)
        if section is not None:
            sections[title] = section
    return sections


def _read_section(
    title: str, given: object, own_fields: type[Schema], problems: Problems
) -> Table | None:
    """Return one section with the defaults of its own fields; None if it is invalid.

    The options of an unknown name cannot be checked, but the section's own fields are.
    """
    model: type[Schema] | None = own_fields
    if title in NAMED_SECTIONS and _has_options(given, own_fields):
        name, model = given.get("name"), None
        if isinstance(name, str) and name.strip():
            with problems.collecting():
                model = section_model(title, name)
    with problems.collecting():
        if model is not None:
            return given_values(read_model(model, given, title))
        read_model(own_fields, _own_part(given, own_fields), title)
    return None


def _has_options(
    given: object, own_fields: type[Schema]
) -> TypeGuard[Mapping[str, object]]:
    """Return whether the further keys of a section are options of a named object."""
    if not isinstance(given, Mapping):
        return False
    return "name" in given or own_fields.model_fields["name"].is_required()


def _own_part(given: object, own_fields: type[Schema]) -> object:
    """Return a section without the options of the object that it names."""
    if not isinstance(given, Mapping):
        return given
    known = fields_by_name(own_fields)
    return {field: value for field, value in given.items() if field in known}


def given_values(section: Schema) -> Table:
    """Return a section as a table: fields that are not None, and given options."""
    values = {}
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if field.alias is None:
            if value is not None:
                values[name] = value
        elif name in section.model_fields_set:  # an option may be given as None
            values[field.alias] = value
    return values


# -- labels


def short_label(value: object) -> str:
    """Return a short label of a value; numbers have six digits."""
    if isinstance(value, dict):
        entries = [f"{k} = {short_label(v)}" for k, v in value.items() if k != "name"]
        parts = [str(value["name"])] if value.get("name") else []
        if entries:
            parts.append(f"({', '.join(entries)})")
        return " ".join(parts)
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else str(json_value(value))


__all__ = [
    "NAMED_SECTIONS",
    "SECTIONS",
    "OptionName",
    "Table",
    "read_sections",
    "section_model",
    "short_label",
]
