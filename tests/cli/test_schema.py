"""``dfltheory schema``: one JSON document for each kind of file."""

import json

import pytest

from dfltheory.cli import run
from dfltheory.cli.schema import SCHEMAS


@pytest.mark.drawn(1)
@pytest.mark.parametrize("kind", SCHEMAS)
def test_schema_of_each_kind_is_one_json_document(capsys, kind):
    assert run(["schema", kind]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["type"] == "object"
    assert printed.err == ""


def test_schema_of_experiments_has_every_section(capsys):
    assert run(["schema", "experiment"]) == 0
    document = json.loads(capsys.readouterr().out)
    sections = {"title", "task", "topology", "algorithm", "run", "theorem", "sweep"}
    assert set(document["properties"]) == sections
    assert document["$defs"]["RunSection"]["properties"]["rounds"]["minimum"] == 1


def test_schema_of_an_unknown_kind_is_rejected(capsys):
    assert run(["schema", "experimnt"]) == 2
    assert "did you mean experiment?" in capsys.readouterr().err
