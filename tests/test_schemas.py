"""All data models of files have one base class, and so the same rules."""

import importlib

import pytest
from pydantic import BaseModel, Field

from dfltheory.errors import InputError
from dfltheory.schemas import Schema, read_model

MODULES = (
    "dfltheory.bounds.theorem_models",
    "dfltheory.experiments.claim_document",
    "dfltheory.experiments.schema",
    "dfltheory.training.document",
)


def test_models_of_files_have_one_base_class():
    for module in MODULES:
        models = [
            value
            for value in vars(importlib.import_module(module)).values()
            if isinstance(value, type) and issubclass(value, BaseModel)
        ]
        assert models, module
        assert all(issubclass(model, Schema) for model in models), module
    package = [m for m in BaseModel.__subclasses__() if m.__module__.startswith("dfl")]
    assert package == [Schema]


class Inner(Schema):
    size: int
    """A size."""


class Outer(Schema):
    """A model with a list of models."""

    name: str | None = None
    parts: list[Inner] = Field(default_factory=list[Inner])
    share: float = 1.0


@pytest.mark.parametrize(
    ("data", "places"),
    [
        ({"parts": [{"size": 1}, {}]}, ["parts[1].size"]),
        ({"parts": [{"size": 1, "sise": 2}]}, ["parts[0]"]),
        ({"name": 3, "share": float("nan")}, ["name", "share"]),
        ({"parts": [{"size": True}], "share": "1"}, ["parts[0].size", "share"]),
        ([], [""]),
    ],
)
def test_each_problem_has_its_place_once(data, places):
    with pytest.raises((InputError, ValueError)) as refused:
        read_model(Outer, data, "file")
    lines = str(refused.value).split("\n")
    expected = [f"file.{place}: " if place else "file: " for place in places]
    assert len(lines) == len(expected)
    assert all(map(str.startswith, lines, expected))


def test_meaning_of_a_missing_field_is_its_docstring():
    with pytest.raises(InputError, match=r"^parts\[0\]\.size: .*A size\."):
        read_model(Outer, {"parts": [{}]})
