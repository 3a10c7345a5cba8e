"""The model of experiment files, and its JSON schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field, create_model

from dfltheory.algorithms.base import Algorithm
from dfltheory.errors import InputError
from dfltheory.own import own as load_own
from dfltheory.schemas import Schema, fields_by_name
from dfltheory.training.document import (
    NAMED_SECTIONS,
    SECTIONS,
    OptionName,
    section_model,
)
from dfltheory.training.options import section_names
from dfltheory.verdicts.admissible_steps import StepChoice
from dfltheory.verdicts.statistics import Method

Share = Annotated[float, Field(gt=0, lt=1)]
Variants = Annotated[list[str], Field(min_length=1)]


class TheoremSection(Schema):
    """The statement that the runs are tested against.

    Without this section there is no test.
    """

    key: OptionName = Field(
        description=(
            "the statement: a key listed by `dfltheory bound`, or FILE.py:NAME for one"
            " of your own"
        )
    )
    variants: Variants | None = Field(
        None, description="a list of printed, appendix, corrected...; by default all"
    )
    confidence: Share = Field(0.95, description="confidence of the two-sided intervals")
    method: Method = Field(
        "student",
        description=(
            "how the intervals are computed; bootstrap needs 8 seeds and is for runs in"
            " which a few seeds dominate the mean"
        ),
    )
    schedule: bool = Field(
        False,
        description=(
            "whether hyperparameters that are missing in [algorithm] follow from the"
            " statement's own schedule"
        ),
    )
    steps: StepChoice = Field(
        "schedule",
        description=(
            "used if schedule = true; schedule: its step sizes; admissible: these, or"
            " 1/L without a schedule, reduced if a condition of a variant requires it;"
            " largest: the largest step sizes at which all conditions hold"
        ),
    )
    constants: dict[str, float] = Field(
        default={},
        description=(
            "values by glossary name that supplement or replace those of the task, such"
            " as { rho0 = 1.0, sigma_g = 0.3 }"
        ),
    )


FILE_SECTIONS: dict[str, type[Schema]] = {**SECTIONS, "theorem": TheoremSection}
"""All sections that describe a run and its test, by name."""


def _file_model(sections: Mapping[str, object]) -> type[Schema]:
    """Return the model of a file whose sections have these types."""
    parts: dict[str, Any] = {
        "title": (
            str | None,
            Field(
                None,
                description=(
                    "title in reports and tables; by default the name of the file"
                ),
            ),
        ),
        **{title: (kind, Field(None)) for title, kind in sections.items()},
        "sweep": (
            dict[str, object],
            Field(
                default={},
                description=(
                    "Lists of values for dotted fields; the cells are all"
                    " combinations. A name with commas changes several fields together,"
                    " and the name of a whole section has tables, which update the"
                    " section."
                ),
            ),
        ),
    }
    return create_model(
        "Experiment", __base__=Schema, __doc__="An experiment file.", **parts
    )


Outline = _file_model(dict.fromkeys(FILE_SECTIONS, object))
"""Model of a file before the values of [sweep] are inserted into its sections, so that
these are not checked.
"""


def experiment_schema(own: Iterable[str] = ()) -> dict[str, object]:
    """Return the JSON schema of experiment files.

    The allowed options depend on the name in their section. No field is required, since
    [sweep] may supply any of them. Options of third-party code are not restricted,
    unless ``own`` names it.

    Parameters
    ----------
    own : iterable of str
        Algorithms and tasks as MODULE:NAME or FILE.py:NAME. They are imported.

    Raises
    ------
    InputError
        If a reference is neither an algorithm nor a function or class.
    """
    names = {title: section_names(title) for title in NAMED_SECTIONS}
    for reference in own:
        names[_section_of(reference)].append(reference)
    kinds = {title: model | None for title, model in FILE_SECTIONS.items()}
    schema = _file_model(kinds).model_json_schema()
    for title, model in FILE_SECTIONS.items():
        section = schema["$defs"][model.__name__]
        section.pop("required", None)
        if title in NAMED_SECTIONS:
            _add_options(section, title, names[title])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _section_of(reference: str) -> str:
    """Return the section that a reference to code belongs to."""
    referred = load_own(reference)
    if isinstance(referred, type) and issubclass(referred, Algorithm):
        return "algorithm"
    if not callable(referred):
        raise InputError(
            f"{reference} is neither an algorithm nor a function or class that makes a"
            " task"
        )
    return "task"


def _add_options(section: dict[str, object], title: str, names: list[str]) -> None:
    """Make the allowed options of a section depend on its field ``name``."""
    del section["additionalProperties"]
    section_fields = fields_by_name(SECTIONS[title])
    rules = []
    for name in names:
        properties = section_model(title, name).model_json_schema()["properties"]
        options = {
            option: kind
            for option, kind in properties.items()
            if option not in section_fields
        }
        rules.append(
            {"if": _with_name({"const": name}), "then": {"properties": options}}
        )
    rules.append(
        {
            "if": _with_name({"enum": names}),
            "else": {"additionalProperties": True},
        }
    )
    section["allOf"] = rules
    section["unevaluatedProperties"] = False


def _with_name(rule: dict[str, object]) -> dict[str, object]:
    return {"properties": {"name": rule}, "required": ["name"]}


__all__ = ["FILE_SECTIONS", "Outline", "TheoremSection", "experiment_schema"]
