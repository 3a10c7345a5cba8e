"""Theorem files: the examples of the specification, round trips of the registry, and
messages with positions.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.clauses import Condition, Definition, LeftSide
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.reference import load, load_all
from dfltheory.bounds.registry import FOLDER
from dfltheory.bounds.scope import Scope
from dfltheory.bounds.theorem import ProofStep, Theorem
from dfltheory.bounds.theorem_file import (
    read_theorem_file,
    read_theorems,
    theorem_file_template,
)
from dfltheory.bounds.theorem_models import theorem_schema
from dfltheory.bounds.unit_text import read_range, read_unit, write_range, write_unit
from dfltheory.bounds.units import ONE
from dfltheory.bounds.unstated import unstated
from dfltheory.errors import InputError, UnknownNameError
from tests.bounds.texts import STATEMENTS

EXAMPLES = Path(__file__).parent / "theorem_files"
HEAD = """format = 1
[[statement]]
key = "draft.theorem"
kind = "theorem"
title = "t"
source = "s"
scope = { algorithms = ["DPSGD"], network = "symmetric", common_start = true }
left = { measure = "grad_norm_sq", aggregate = "mean" }
"""


def example(number):
    return str(EXAMPLES / f"example_{number}.toml")


def written(theorem):
    """Write the theorem to a file and read it back."""
    (found,) = read_theorems(theorem.to_toml(), "written.toml").theorems
    return found


# -- the examples of the specification


def test_example_1_explicit_constants():
    theorem = load(example(1))
    values = {
        "f0_gap": 1.0,
        "eta": 0.1,
        "T": 100,
        "L": 2.0,
        "sigma_l": 3.0,
        "m": 8,
        "lam": 0.5,
        "sigma_g": 0.0,
    }
    expected = 2 / (0.1 * 100) + 0.1 * 2 * 9 / 8 + 0.01 * 4 * 9 * 2 * 0.25 / 0.75
    assert theorem.evaluate(where="ignore", **values) == pytest.approx(
        expected, rel=1e-14
    )
    assert [c.name for c in theorem.conditions] == ["step", "homogeneous"]
    with pytest.raises(ValueError, match="homogeneous"):
        theorem.evaluate(**values | {"eta": 1e-3, "sigma_g": 1.0})


def test_example_2_definitions_schedule_and_variants():
    first, second = load_all(example(2))
    assert (first.variant, second.variant) == ("first", "second")
    assert load(f"{example(2)}:draft.theorem_1:second").variant == "second"
    assert load(example(2), "second").variant == "second"
    assert str(first.definitions[0].symbol) == "gap"
    assert first.schedule["eta"] == sp.sqrt(s.m / (s.K * s.T)) / (16 * s.L)
    assert sp.simplify(2 * first.terms["drift"] - second.terms["drift"]) == 0
    assert first.lhs.aggregate == "min"


def test_example_3_a_rate():
    theorem = load(example(3))
    assert theorem.order
    assert theorem.of == ("wang2021.corollary_3", "stated")
    assert theorem.bound == 1 / sp.sqrt(s.m * s.T) + s.m * s.lam**2 / (
        (1 - s.lam**2) * s.T
    )


def test_example_4_a_lower_bound():
    theorem = load(example(4))
    assert theorem.kind == "lower bound"
    assert theorem.control
    assert theorem.lhs.last == s.T
    assert [(c.left, c.right) for c in theorem.conditions] == [
        (2 * s.sigma_l, s.sigma_l)
    ]


def test_example_5_a_computed_quantity():
    theorem = load(example(5))
    (spec,) = theorem.quantities
    assert spec.of == "network: spectrum_sum(l^2/(1 - l^2))/m"
    assert theorem.needs[-1] == "spec"
    assert theorem.lhs.aggregate == "each"


def test_a_statement_has_one_hash_in_python_and_in_a_file():
    network = s.eta**2 * s.L**2 * s.sigma_l**2 * 2 * s.lam**2 / (1 - s.lam**2)
    contraction = s.lam / (1 + s.lam) + 1 / (1 - s.lam)
    step = s.eta * s.L + s.eta**2 * s.L**2 * 2 * s.lam / (1 - s.lam) * contraction
    in_python = Theorem(
        key="another.name",
        variant="printed",
        kind="corollary",
        title="the same in Python",
        source="a test",
        lhs=LeftSide("grad_norm_sq", aggregate="mean"),
        parts={
            "all": 2 * s.f0_gap / (s.eta * s.T) + s.eta * s.L * s.sigma_l**2 / s.m,
            "network": network,
        },
        scope=Scope(
            ("DPSGD",),
            "symmetric",
            common_start=True,
            samplewise=False,
            hyperparameters={"order": "adapt-then-combine"},
        ),
        conditions=(
            Condition("homogeneous", 2 * s.sigma_g, s.sigma_g),
            Condition("step", step, sp.Integer(1)),
        ),
    )
    assert statement_hash(load(example(1))) == statement_hash(in_python)


# -- round trips


@pytest.mark.drawn(4)
@pytest.mark.parametrize("theorem", STATEMENTS, ids=str)
def test_a_written_statement_is_read_back_with_the_same_hash(theorem):
    found = written(theorem)
    assert statement_hash(found) == statement_hash(theorem)
    assert found.status == theorem.status
    names = [f.symbol.name for f in found.definitions]
    assert names == [d.symbol.name for d in theorem.definitions]
    for one, other in zip(found.definitions, theorem.definitions, strict=True):
        assert (one.symbol, one.takes, one.numeric) == (
            other.symbol,
            other.takes,
            other.numeric,
        )


@pytest.mark.parametrize("number", range(1, 6))
def test_an_example_is_written_and_read_and_survives_json(number):
    for theorem in load_all(example(number)):
        assert statement_hash(written(theorem)) == statement_hash(theorem)
        document = json.loads(json.dumps(theorem_to_document(theorem)))
        assert statement_hash(theorem_from_document(document)) == statement_hash(
            theorem
        )


def test_every_field_of_a_theorem_is_written():
    theorem = Theorem(
        key="own.theorem",
        variant="second",
        kind="lemma",
        title="a 'quoted' \"title\" \\ with\ttab",
        source="s",
        lhs=LeftSide(
            "energy",
            r"E_t",
            "max",
            sp.Integer(2),
            s.T,
            3,
            unit=ONE,
            averaging="w",
            carries=("L",),
        ),
        parts={"a term": s.L * s.eta, "b": sp.Symbol("own", nonnegative=True) * s.lam},
        scope=Scope(
            ("DFedSAM", "DPSGD"),
            "column-stochastic",
            sequence=("fixed", "any"),
            participation="sampled",
            bounded_gradients=True,
            two_blocks=True,
            hyperparameters={"alpha": 0.5, "order": "any"},
            notation={"m": "n"},
        ),
        definitions=(
            Definition(sp.Symbol("half", real=True), s.L / 2 - s.K, r"\frac12", "m"),
        ),
        conditions=(
            Condition("equal", s.eta, 1 / s.L),
            Condition("equal", 1 / s.L, s.eta),
            Condition("positive", s.eta / 2, s.eta, strict=True),
            Condition("zero", 2 * s.sigma_g, s.sigma_g),
            Condition("plain", s.K, s.T),
            Condition("plain", s.K, s.m, strict=True),
        ),
        assumptions=("one", "two $x$"),
        schedule={"eta": 1 / s.L},
        order=True,
        of=("other.key", "printed"),
        remark="r",
        quantities=(
            Quantity(
                "own", r"\omega", ONE, "mine", high=1.0, open_high=True, neutral=0.0
            ),
        ),
        control=True,
        moments={"D": "root(dev(x))"},
        steps=(
            ProofStep("D <= L", (), ("assumption",), "start"),
            ProofStep("2*D <= own*L", ("start",), ("algebra", "variance()")),
        ),
    )
    found = written(theorem)
    for name in (
        "key",
        "variant",
        "kind",
        "title",
        "source",
        "lhs",
        "scope",
        "assumptions",
        "order",
        "of",
    ):
        assert getattr(found, name) == getattr(theorem, name), name
    for name in (
        "remark",
        "quantities",
        "control",
        "steps",
        "moments",
        "parts",
        "schedule",
    ):
        assert getattr(found, name) == getattr(theorem, name), name
    assert [(c.left, c.right, c.strict) for c in found.conditions] == [
        (c.left, c.right, c.strict) for c in theorem.conditions
    ]
    assert found.definitions == theorem.definitions
    assert statement_hash(found) == statement_hash(theorem)


def test_what_a_file_cannot_carry_is_refused():
    theorem = bounds.get("lian2017.rate", "restated")
    own_law = replace(theorem, scope=replace(theorem.scope, network=lambda W: None))
    own_class = replace(
        theorem, scope=replace(theorem.scope, algorithms=("mine:Mine",))
    )
    own_function = replace(theorem, parts={"x": sp.sin(s.L)})
    for other in (own_law, own_class, own_function):
        with pytest.raises(InputError):
            other.to_toml()


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*.toml")), ids=lambda path: path.stem
)
def test_papers_of_the_package_are_theorem_files(path):
    found = read_theorem_file(path)
    assert found.paper.citation
    assert found.paper.provenance or path.stem.startswith("dfed")
    assert {theorem.key.split(".")[0] for theorem in found.theorems} == {path.stem}


# -- names


def test_a_theorem_file_is_named_by_a_text_or_by_a_path():
    path = EXAMPLES / "example_1.toml"
    (by_path,), (by_text,) = load_all(path), load_all(str(path))
    assert statement_hash(load(path)) == statement_hash(load(str(path)))
    assert statement_hash(by_path) == statement_hash(by_text)


def test_a_file_with_several_statements_needs_a_key(tmp_path):
    path = tmp_path / "two.toml"
    one = HEAD + 'terms = { x = "L" }\n'
    two = one.replace("format = 1\n", "").replace("draft.theorem", "draft.other")
    path.write_text(one + two)
    assert load(f"{path}:draft.other").key == "draft.other"
    with pytest.raises(InputError, match="several statements"):
        load(str(path))
    with pytest.raises(UnknownNameError):
        load(f"{path}:draft.none")
    with pytest.raises(UnknownNameError):
        load(f"{path}:draft.other:none")


def test_a_corollary_knows_its_parent_in_the_same_file(tmp_path):
    path = tmp_path / "two.toml"
    one = HEAD + 'terms = { x = "L" }\n'
    two = one.replace("format = 1\n", "").replace("draft.theorem", "draft.rate")
    path.write_text(
        one + two.replace('kind = "theorem"', 'kind = "rate"\nof = "draft.theorem"')
    )
    parent = load(f"{path}:draft.rate").of
    assert isinstance(parent, Theorem)
    assert parent.key == "draft.theorem"


def test_code_is_imported_for_those_alone_who_trust_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from dfltheory.algorithms import DPSGD\n"
        "class Mine(DPSGD): ...\n"
        "def law(W): return None\n"
        "open('ran', 'w').close()\n"
    )
    text = HEAD.replace('"DPSGD"', '"mine.py:Mine"').replace(
        '"symmetric"', '"mine.py:law"'
    )
    (folder / "mine.toml").write_text(text + 'terms = { x = "L" }\n')
    with pytest.raises(InputError, match="--trust"):
        load("paper/mine.toml")
    assert not (tmp_path / "ran").exists()
    theorem = load("paper/mine.toml", trust=True)
    assert theorem.scope.names == ("Mine",)
    assert theorem.scope.network(None) is None


# -- messages

MISTAKES = {
    "character": ('terms = { x = "L*\u03b7" }', "line 9, column 18", "U\\+03B7"),
    "name": ('[statement.terms]\nx = "L*sigma"', "line 10, column 8", "sigma_l"),
    "keyword": ('terms = { x = "lambda" }', "line 9, column 16", "use lam"),
    "two_comparisons": (
        'terms = { x = "L" }\nconditions = { c = "0<L < 1" }',
        "line 10, column 25",
        "is a",
    ),
    "no_comparison": (
        'terms = { x = "L" }\nconditions = { c = "L" }',
        "line 10",
        "needs one of",
    ),
    "definition_of_a_known_name": (
        'terms = { x = "L" }\ndefinitions = { m = "2" }',
        "line 10",
        "already",
    ),
    "unknown_function": (
        (
            'terms = { x = "L" }\ndefinitions = { a = { formula = "K", function ='
            ' "os.system" } }'
        ),
        "line 10",
        "registered function",
    ),
    "no_terms": ("terms = {}", "line 9", "terms"),
    "wrong_type": ("terms = { x = 3 }", "line 9", "text"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_message_names_file_line_and_column(name, tmp_path):
    text, place, words = MISTAKES[name]
    path = tmp_path / "mine.toml"
    path.write_text(f"{HEAD}{text}\n", encoding="utf-8")
    with pytest.raises(InputError, match=words) as caught:
        load(str(path))
    assert f"mine.toml, {place}" in str(caught.value)
    assert "\n" not in str(caught.value)


CHANGES = {
    "unknown_key": ('title = "t"', 'title = "t"\ntitel = "t"', "titel"),
    "missing": (", common_start = true", "", "common_start"),
    "kind": ('"theorem"', '"theory"', "kind"),
    "network": ('"symmetric"', '"square"', "network"),
    "algorithm": ('"DPSGD"', '"DPSDG"', "DPSGD"),
    "aggregate": ('"mean"', '"average"', "aggregate"),
    "measure": ('"grad_norm_sq"', '"grad_nrom_sq"', "grad_norm_sq"),
    "format": ("format = 1", "format = 2", "format"),
    "boolean": ("common_start = true", "common_start = 1", "common_start"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_field_is_named(name):
    old, new, words = CHANGES[name]
    text = HEAD + 'terms = { x = "L" }\n'
    assert old in text
    with pytest.raises(InputError, match=words) as caught:
        read_theorems(text.replace(old, new, 1), "mine.toml")
    assert str(caught.value).startswith("mine.toml")


def test_a_statement_says_what_it_leaves_open():
    (theorem,) = read_theorems(HEAD + 'terms = { x = "L/eta" }\n', "mine.toml").theorems
    first, second = unstated(theorem)
    assert "order of mixing" in first
    assert "K = 1" in second
    stated = replace(
        theorem, scope=replace(theorem.scope, hyperparameters={"order": "any"})
    )
    assert len(unstated(stated)) == 1


# -- parts


def test_units_and_ranges_there_and_back():
    for text in ("1", "c", "c*s^-2", "c^2*s^-2*v^-1", "s^(1/2)"):
        assert write_unit(read_unit(text)) == text
    assert read_unit("c/s") == read_unit("c s^-1")
    for text in ("[0, 1)", "(0, inf)", "[-1, 1]", "[0.125, 3]"):
        assert write_range(read_range(text)) == text
    for text in ("x", "c^", "c^(1/0)", ""):
        with pytest.raises(InputError):
            read_unit(text)
    for text in ("0, 1", "[1, 0]", "[a, b]", "(inf, inf)"):
        with pytest.raises(InputError):
            read_range(text)


def test_the_template_is_a_theorem_file_that_says_what_it_leaves_open():
    (theorem,) = read_theorems(theorem_file_template(), "template.toml").theorems
    assert len(unstated(theorem)) == 1


def test_the_schema_lists_the_keys_of_the_format():
    schema = theorem_schema()
    assert set(schema["properties"]) == {"format", "source", "quantities", "statement"}
    statement = schema["$defs"]["StatementTable"]
    assert {"key", "kind", "title", "source", "scope", "left", "terms"} == set(
        statement["required"]
    )
    assert statement["additionalProperties"] is False


# -- several mistakes

SEVERAL = """format = 1
[quantities]
nu = { unit = "q", range = "[0, inf)" }
omega = { unit = "1", range = "0, 1" }
"""


def reported(text):
    """Return the lines of the error of a file."""
    with pytest.raises(InputError) as caught:
        read_theorems(text, "mine.toml")
    return str(caught.value).split("\n")


def test_all_wrong_keys_of_a_file_are_reported():
    text = HEAD.replace('kind = "theorem"', 'kind = "theory"')
    text = text.replace("common_start = true", "common_start = 1") + "titel = 3\n"
    lines = reported(text)  # the terms are missing, too
    for word in ("kind", "common_start", "titel", "terms"):
        assert sum(f": statement.{word}" in line or word in line for line in lines) == 1
    assert len(lines) == 4
    assert all(line.startswith("mine.toml, line ") for line in lines)


def test_all_wrong_quantities_of_a_file_are_reported():
    lines = reported(
        SEVERAL + HEAD.removeprefix("format = 1\n") + 'terms = {x = "L"}\n'
    )
    assert [line.split(": ")[1] for line in lines] == [
        "quantities.nu.unit",
        "quantities.omega.range",
    ]


def test_all_wrong_formulas_of_all_statements_are_reported():
    text = HEAD.replace('"DPSGD"', '"DPSDG"') + (
        'terms = { a = "first + L", b = "L*(", c = "unknown_name", d = "second" }\n'
        'definitions = { first = "L +", second = "first*eta" }\n'
        'conditions = { small = "eta*L", other = "eta <= first" }\n'
        'schedule = { eta = "1/(" }\n'
    )
    second = text.removeprefix("format = 1\n").replace('"hostile', '"second')
    second = second.replace("key = ", 'variant = "second"\nkey = ')
    places = [
        "definitions.first",
        "terms.b",
        "terms.c",
        "conditions.small",
        "schedule.eta",
        "scope",
    ]
    for document, statements in ((text, 1), (text + second, 2)):
        lines = reported(document)
        found = [line.split(": ")[1].removeprefix("statement.") for line in lines]
        assert found == places * statements


def test_definitions_in_a_circle_are_reported_once():
    text = (
        HEAD + 'terms = { x = "a + b" }\ndefinitions = { a = "b + 1", b = "a + 1" }\n'
    )
    (line,) = reported(text)
    assert "a -> b -> a" in line
