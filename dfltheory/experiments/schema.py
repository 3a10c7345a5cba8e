"""The model of experiment files, and its JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, create_model

from dfltheory.schemas import Schema, fields_by_name
from dfltheory.training.document import NAMED, SECTIONS, Name, section_model
from dfltheory.training.options import names_of
from dfltheory.verdicts.admissible_steps import Step
from dfltheory.verdicts.statistics import Method

Share = Annotated[float, Field(gt=0, lt=1)]
Variants = Annotated[list[str], Field(min_length=1)]


class TheoremSection(Schema):
    """The statement that the runs are tested against.

    Without this section there is no test.
    """

    key: Name = Field(
        description=(
            "which statement, as `dfltheory bound` lists them, or FILE.py:NAME for one"
            " of your own"
        )
    )
    variants: Variants | None = Field(
        None, description="a list of printed, appendix, corrected...; without it all"
    )
    confidence: Share = Field(0.95, description="of the two-sided intervals")
    method: Method = Field(
        "student",
        description=(
            "how the intervals are computed; bootstrap, from 8 seeds on, where a few"
            " seeds dominate the mean"
        ),
    )
    schedule: bool = Field(
        False,
        description=(
            "take the hyperparameters that [algorithm] leaves out from the statement's"
            " own schedule"
        ),
    )
    steps: Step = Field(
        "schedule",
        description=(
            "with schedule = true: its step sizes; admissible: reduced where a"
            " condition of a variant demands it, from 1/L where the statement has no"
            " schedule;"
            " largest: the largest at which all conditions hold"
        ),
    )
    constants: dict[str, float] = Field(
        default={},
        description=(
            "glossary names that complete or replace what the task knows, as "
            "{ rho0 = 1.0, sigma_g = 0.3 }"
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
                    "what reports and tables call this file; without it the file's name"
                ),
            ),
        ),
        **{title: (kind, Field(None)) for title, kind in sections.items()},
        "sweep": (
            dict[str, object],
            Field(
                default={},
                description=(
                    "Lists of values over dotted fields; the cells are all"
                    " combinations. A name with commas moves fields together, and the"
                    " name of a whole section takes tables, which are laid over the"
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


def experiment_schema() -> dict[str, object]:
    """Return the JSON schema of experiment files.

    The allowed options depend on the name in their section. No field is required, since
    [sweep] may supply any of them. Options of third-party code are not restricted.
    """
    kinds = {title: model | None for title, model in FILE_SECTIONS.items()}
    schema = _file_model(kinds).model_json_schema()
    for title, model in FILE_SECTIONS.items():
        section = schema["$defs"][model.__name__]
        section.pop("required", None)
        if title in NAMED:
            _add_options(section, title)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _add_options(section: dict[str, object], title: str) -> None:
    """Make the allowed options of a section depend on its field ``name``."""
    del section["additionalProperties"]
    section_fields = fields_by_name(SECTIONS[title])
    rules = []
    for name in names_of(title):
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
            "if": _with_name({"enum": names_of(title)}),
            "else": {"additionalProperties": True},
        }
    )
    section["allOf"] = rules
    section["unevaluatedProperties"] = False


def _with_name(rule: dict[str, object]) -> dict[str, object]:
    return {"properties": {"name": rule}, "required": ["name"]}


__all__ = ["FILE_SECTIONS", "Outline", "TheoremSection", "experiment_schema"]
