"""The JSON schema of experiment files, compared with reader and constructors."""

import json
import math
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfltheory import algorithms, tasks
from dfltheory.cli import run
from dfltheory.errors import DFLTheoryError
from dfltheory.experiments.experiment_file import read_experiment
from dfltheory.experiments.schema import FILE_SECTIONS, experiment_schema
from dfltheory.training.options import builder, options_of, range_in, section_names
from tests.experiments.documents import BASE, KEY, changed

PAGE = Path(__file__).parents[2] / "docs" / "experiment-files.md"


@pytest.fixture(scope="module")
def schema():
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(json.dumps(experiment_schema()))
    jsonschema.Draft202012Validator.check_schema(document)
    return jsonschema.Draft202012Validator(document)


def test_json_schema_accepts_experiment_files(schema):
    first, second, *_ = re.findall(
        r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S
    )
    for text in (first, second):
        schema.validate(tomllib.loads(text))
    own_code = {"name": "mine.py:Method", "anything": 3}
    for document in (
        BASE,
        changed(algorithm=own_code),
        changed() | {"topology": {"file": "W.npy"}},
    ):
        schema.validate(document)


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (changed(rnu={}), []),
        (changed(run={"rounds": 0}), ["run"]),
        (changed(run={"round": 1}), ["run"]),
        (changed(task={"sigm": 1}), ["task"]),
        (changed(algorithm={"K": 1.5}), ["algorithm"]),
        (changed(theorem={"key": KEY, "method": "x"}), ["theorem"]),
    ],
)
def test_json_schema_rejects_what_the_reader_rejects(schema, document, path):
    errors = list(schema.iter_errors(document))
    assert errors
    assert {tuple(error.absolute_path)[:1] for error in errors} == {tuple(path)}
    with pytest.raises(DFLTheoryError):
        read_experiment(document)


def test_json_schema_has_the_ranges_that_constructors_check():
    def bounds(section, name, option):
        rules = experiment_schema()["$defs"][f"{section.title()}Section"]["allOf"]
        (rule,) = (
            r for r in rules if r["if"]["properties"]["name"].get("const") == name
        )
        return rule["then"]["properties"][option]

    assert bounds("algorithm", "dfedsam", "K")["minimum"] == 1
    assert bounds("algorithm", "dfedsam", "eta")["exclusiveMinimum"] == 0
    assert bounds("algorithm", "dfedavgm", "alpha")["exclusiveMaximum"] == 1
    assert bounds("task", "quadratic", "m")["minimum"] == 1
    zeta, null = bounds("task", "quadratic", "zeta")["anyOf"]
    assert zeta["minimum"] == 0
    assert null == {"type": "null"}
    assert bounds("topology", "random_neighbors", "k")["minimum"] == 1


def declared_ranges(section):
    """Return every option with a declared range: name, option, and its range."""
    found = []
    for name in section_names(section):
        if section == "algorithm":
            declared = algorithms.get(name).ranges
            options = [field.name for field in fields(algorithms.get(name))]
            found += [(name, o, declared[o]) for o in options if o in declared]
        else:
            hints = get_type_hints(builder(section, name), include_extras=True)
            for option in options_of(section, name):
                for hint in (hints.get(option), *get_args(hints.get(option))):
                    if range_in(hint) is not None:
                        found.append((name, option, range_in(hint)))
    return found


def outside(draw, allowed):
    """Draw a number outside of a range, of the type of its parameter."""
    kind = st.integers if allowed.integer else st.floats
    sides = []
    if math.isfinite(allowed.low):
        highest = allowed.low if allowed.open_low else math.nextafter(allowed.low, -1e9)
        highest = int(allowed.low) - 1 if allowed.integer else highest
        sides.append(kind(max_value=highest, min_value=-(10**12)))
    if math.isfinite(allowed.high):
        lowest = (
            allowed.high if allowed.open_high else math.nextafter(allowed.high, 1e9)
        )
        lowest = int(allowed.high) + 1 if allowed.integer else lowest
        sides.append(kind(min_value=lowest, max_value=10**12))
    return draw(st.one_of(sides))


def document_with(section, name, option, value):
    options = {"name": name, option: value}
    if section == "algorithm":
        for required, about in options_of(section, name).items():
            if about.required:
                options.setdefault(required, about.placeholder)
    if section == "topology":
        for required, about in options_of(section, name).items():
            if about.required:
                options.setdefault(required, 2)
    return BASE | {section: options}


def construct(section, table):
    """Build the object that a section names."""
    options = {name: value for name, value in table.items() if name != "name"}
    if section == "task":
        return tasks.get(table["name"], **options)
    if section == "topology":
        return builder(section, table["name"])(4, **options)
    return algorithms.get(table["name"])(**options)


@pytest.mark.parametrize("section", ["task", "topology", "algorithm"])
def test_declared_ranges_of_a_section_are_found(section):
    assert len(declared_ranges(section)) > 5


@given(st.data())
def test_value_outside_of_a_declared_range_is_rejected_by_all_three(schema, data):
    section = data.draw(st.sampled_from(["task", "topology", "algorithm"]))
    name, option, allowed = data.draw(st.sampled_from(declared_ranges(section)))
    value = outside(data.draw, allowed)
    document = document_with(section, name, option, value)
    assert not schema.is_valid(document)
    with pytest.raises(DFLTheoryError, match=rf"{section}\.{option}: "):
        read_experiment(document)
    if section == "task" and name not in SMALL_TASKS:
        return  # images may not be installed
    with pytest.raises(DFLTheoryError):
        construct(section, document[section])


SMALL_TASKS = ("quadratic", "clipped", "sinusoidal", "coupled")


NUMBERS = [-1, -0.5, 0, 0.0, 1e-9, 0.25, 1, 1.0, 1.5, 2, 10**9, 10**9 + 1, True, "1"]


@given(st.data())
def test_schema_accepts_what_a_class_of_algorithms_accepts(schema, data):
    name = data.draw(st.sampled_from(section_names("algorithm")))
    declared = algorithms.get(name).ranges
    numbers = [f.name for f in fields(algorithms.get(name)) if f.name in declared]
    option = data.draw(st.sampled_from(numbers))
    value = data.draw(st.sampled_from(NUMBERS))
    document = document_with("algorithm", name, option, value)
    try:
        construct("algorithm", document["algorithm"])
    except DFLTheoryError:
        is_accepted = False
    else:
        is_accepted = True
    if not isinstance(value, float) or not declared[option].integer:
        assert schema.is_valid(document) == is_accepted
    if is_accepted:
        cell = read_experiment(document | {"topology": TOPOLOGY_OF_ALL}).cell
        assert cell["algorithm"][option] == value


TOPOLOGY_OF_ALL = {"name": "complete"}

OWN = """
from dataclasses import dataclass

from dfltheory.algorithms.base import Algorithm, NumberRange, State, ranges


@dataclass(frozen=True)
class Own(Algorithm):
    eta: float
    inertia: float = 0.0
    odd: int = 1
    ranges = ranges("eta") | {
        "inertia": NumberRange(0, 1, open_high=True),
        "odd": ("an odd integer", lambda value: value % 2 == 1),
    }
"""


def test_ranges_of_a_third_party_algorithm_are_in_schema_and_reader(
    tmp_path, monkeypatch, capsys
):
    jsonschema = pytest.importorskip("jsonschema")
    (tmp_path / "own_ranges.py").write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    reference = "own_ranges.py:Own"
    assert run(["schema", "experiment", "--own", reference]) == 0
    printed = json.loads(capsys.readouterr().out)
    validator = jsonschema.Draft202012Validator(printed)
    good = {"name": reference, "eta": 0.1, "inertia": 0.5}
    bad = [good | {"inertia": 1.0}, good | {"eta": "a"}, good | {"unknown": 1}]
    assert validator.is_valid(BASE | {"algorithm": good})
    for table in bad:
        assert not validator.is_valid(BASE | {"algorithm": table})
    for table in [*bad, good | {"odd": 2}]:
        with pytest.raises(DFLTheoryError, match=r"^x: algorithm(\.\w+)?: "):
            read_experiment(BASE | {"algorithm": table}, "x", trust=True)
    assert read_experiment(BASE | {"algorithm": good | {"odd": 3}}, trust=True).cells


def test_schema_of_code_that_makes_nothing_of_an_experiment_is_rejected(capsys):
    assert run(["schema", "experiment", "--own", "math:pi"]) == 2
    assert "math:pi" in capsys.readouterr().err


def test_json_schema_knows_every_section_and_name():
    document = experiment_schema()
    assert set(document["properties"]) == {"title", "sweep", *FILE_SECTIONS}
    for section in ("task", "topology", "algorithm"):
        text = json.dumps(document["$defs"][f"{section.title()}Section"])
        assert all(f'"{name}"' in text for name in section_names(section))
