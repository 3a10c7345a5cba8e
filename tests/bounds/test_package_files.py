"""The package's theorem files are read without the data models, with equal results."""

from __future__ import annotations

from pathlib import Path

import pytest

from dfltheory.bounds import theorem_models as models
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.document import theorem_to_document
from dfltheory.bounds.package_file import PackageFile
from dfltheory.bounds.plain_tables import DEFAULTS
from dfltheory.bounds.registry import FOLDER
from dfltheory.bounds.theorem_file import read_theorem_file

FILES = sorted(FOLDER.glob("*.toml"))
MODELS = {
    "file": models.FileTables,
    "source": models.SourceTable,
    "quantity": models.QuantityTable,
    "scope": models.ScopeTable,
    "left": models.LeftTable,
    "definition": models.DefinitionTable,
    "step": models.StepTable,
    "statement": models.StatementTable,
}


@pytest.mark.parametrize("kind", DEFAULTS)
def test_defaults_are_those_of_the_models(kind):
    fields = {
        n: field
        for n, field in MODELS[kind].model_fields.items()
        if not field.is_required()
    }
    expected = {
        name: field.get_default(call_default_factory=True)
        for name, field in fields.items()
    }
    if kind == "file":
        expected["source"] = {}  # a table whose keys all have defaults
    assert expected == DEFAULTS[kind]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_is_read_as_the_models_read_it(path: Path):
    checked, plain = read_theorem_file(path), PackageFile(path)
    assert plain.paper == checked.paper
    assert [(t.key, t.variant) for t in checked.theorems] == list(plain.numbers)
    for one, other in zip(plain.theorems(), checked.theorems, strict=True):
        assert statement_hash(one) == statement_hash(other)
        assert theorem_to_document(one) == theorem_to_document(other)
        assert (one.of, one.control, one.steps) == (
            other.of,
            other.control,
            other.steps,
        )


def test_statements_are_read_one_by_one():
    file = PackageFile(FOLDER / "dfedsam.toml")
    theorem = file.find("dfedsam.theorem_4_5", "printed")
    assert file.find("dfedsam.theorem_4_5", "printed") is theorem
    assert theorem in file.theorems()
    assert file.find("dfedsam.theorem_4_5", "no such variant") is None
