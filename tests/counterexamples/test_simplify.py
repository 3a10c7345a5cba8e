"""Each kind of simplification on its own, the greedy search, and its command."""

import copy
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from dfltheory import cli
from dfltheory.bounds import registry
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.document import built
from dfltheory.counterexamples.rational import verify_rationally
from dfltheory.counterexamples.saved import replay, single_instance
from dfltheory.counterexamples.simplify import simplify
from dfltheory.counterexamples.simplify.check import ratio_of
from dfltheory.counterexamples.simplify.complexity import (
    Complexity,
    significant_digits,
)
from dfltheory.counterexamples.simplify.reductions import (
    FewerClients,
    FewerPieces,
    FewerRounds,
    NoNoise,
    SmallerCounts,
)
from dfltheory.counterexamples.simplify.rounding import (
    FewerDigits,
    changed,
    simpler_numbers,
)
from dfltheory.counterexamples.simplify.symmetry import MoreSymmetry
from dfltheory.counterexamples.simplify.units import in_units
from dfltheory.errors import DataError, InputError

FOLDER = Path(__file__).parents[2] / "docs" / "counterexamples"


@pytest.fixture
def instance():
    file = FOLDER / "dfedadmm.theorem_1-printed.json"
    return json.loads(file.read_text(encoding="utf-8"))["instance"]


@pytest.fixture
def theorem():
    return registry.get("dfedadmm.theorem_1", "printed")


@pytest.mark.parametrize(
    ("number", "digits"), [(0.0, 0), (1.0, 1), (0.98, 2), (6e-06, 1), (1000, 1)]
)
def test_significant_digits_leave_out_zeros_at_the_ends(number, digits):
    assert significant_digits(number) == digits


def test_simpler_numbers_are_near_and_have_fewer_digits():
    tried = list(simpler_numbers(0.99908))
    assert {0.0, 1.0, 0.999} <= set(tried)
    assert all(significant_digits(number) < 5 for number in tried)
    assert not list(simpler_numbers(1e-05))[1:]


def test_clients_with_a_copy_are_dropped_first_and_rows_keep_the_sum_one(instance):
    task = instance["task"]
    for name in ("knots", "widths", "slopes", "left"):
        task[name].insert(0, copy.deepcopy(task[name][0]))
    task["left"][0] = 0.5
    instance["run"]["x0"].append([0.0])
    third = 1 / 3
    instance["topology"]["matrix"] = [[third] * 3 for _ in range(3)]
    first = next(FewerClients().candidates(instance))
    assert first["task"]["left"] == [0.5, 0.0]
    assert [sum(row) for row in first["topology"]["matrix"]] == pytest.approx([1, 1])


def test_two_clients_of_a_network_are_not_made_fewer(instance):
    assert not list(FewerClients().candidates(instance))


def test_a_piece_is_dropped_for_all_clients_or_for_one(instance):
    before = Complexity.of(instance).pieces
    after = [Complexity.of(c).pieces for c in FewerPieces().candidates(instance)]
    assert after == [before - 2] * 3 + [before - 1] * 6


def test_fewer_rounds_are_ascending_and_of_one_digit(instance):
    instance["run"]["rounds"] = 300
    rounds = [c["run"]["rounds"] for c in FewerRounds().candidates(instance)]
    assert rounds == [1, 2, 5, 10, 20, 50, 100, 200]


def test_counts_become_smaller_only(instance):
    instance["algorithm"]["K"] = 3
    kind = SmallerCounts()
    tried = list(kind.candidates(instance))
    assert [c["algorithm"]["K"] for c in tried] == [1, 2]
    assert kind.is_simpler(tried[0], instance)
    assert not kind.is_simpler(instance, tried[0])


def test_counts_that_are_tried_have_one_digit(instance):
    instance["algorithm"]["K"] = 64
    tried = [c["algorithm"]["K"] for c in SmallerCounts().candidates(instance)]
    assert tried == sorted(set(tried))
    assert {1, 2, 10} <= set(tried)
    assert {significant_digits(count) for count in tried} == {1}


def test_noise_is_removed_where_there_is_some(instance):
    assert not list(NoNoise().candidates(instance))
    instance["task"]["sigma"] = 0.25
    (quiet,) = NoNoise().candidates(instance)
    assert quiet["task"]["sigma"] == 0


def test_symmetry_tries_equal_weights_first(instance):
    first = next(MoreSymmetry().candidates(instance))
    assert first["topology"]["matrix"] == [[0.5, 0.5], [0.5, 0.5]]


def test_rounding_keeps_equal_lengths_equal_and_rows_with_the_sum_one(instance):
    rounded = next(FewerDigits().candidates(instance))
    assert rounded["task"]["knots"][0] == [-1.0, 0.0, 1.0]
    assert rounded["task"]["widths"][0] == [1.0, 1.0, 1.0]
    assert rounded["topology"]["matrix"] == [[0.6, 0.4], [0.4, 0.6]]


@pytest.mark.parametrize("by_rows", [True, False])
def test_changed_weights_keep_the_sum_one_of_rows_or_of_columns(instance, by_rows):
    W = np.array([[0.75, 0.25], [0.5, 0.5]])
    instance["topology"]["matrix"] = (W if by_rows else W.T).tolist()
    place = ("topology", "matrix", *((0, 1) if by_rows else (1, 0)))
    new = np.array(changed(instance, {place: 0.3})["topology"]["matrix"])
    assert new.sum(axis=1 if by_rows else 0) == pytest.approx(np.ones(2), rel=1e-15)
    assert (new if by_rows else new.T)[1].tolist() == [0.5, 0.5]


def test_other_units_do_not_change_the_ratio_of_a_homogeneous_statement():
    theorem = registry.get("dfedsgpsm.theorem_1", "printed")
    file = FOLDER / "dfedsgpsm.theorem_1-printed.json"
    given = json.loads(file.read_text(encoding="utf-8"))["instance"]
    scaled = in_units(given, 8.0, 2.0)
    assert scaled["algorithm"]["eta"] == 0.5
    first, second = (
        verify_rationally(given, theorem),
        verify_rationally(scaled, theorem),
    )
    before, after = first.left / first.right, second.left / second.right
    assert float(after) == pytest.approx(float(before), rel=1e-4)


@pytest.mark.slow
def test_simplify_keeps_half_of_the_ratio_and_its_argument(instance, theorem):
    given = copy.deepcopy(instance)
    simpler = simplify(instance, theorem)
    assert instance == given
    assert simpler.after.below(simpler.before)
    assert simpler.finding.violated
    assert simpler.finding.ratio >= simpler.ratio_before / 2
    assert simpler.after.digits <= 20
    assert {"pieces", "units", "digits"} <= set(simpler.steps)


def test_simplify_without_a_budget_returns_the_same_instance(instance, theorem):
    simpler = simplify(instance, theorem, checks=0)
    assert simpler.instance == instance
    assert simpler.steps == ()


def test_simplify_rejects_an_instance_that_refutes_nothing(instance, theorem):
    instance["run"]["rounds"] = 10
    with pytest.raises(InputError, match="refute"):
        simplify(instance, theorem)


def test_ratio_of_noise_is_the_exact_expectation_in_floating_point():
    theorem = registry.get("dfedsgpsm.theorem_1", "printed")
    file = FOLDER / "dfedsgpsm.theorem_1-printed.json"
    noisy = json.loads(file.read_text(encoding="utf-8"))["instance"]
    noisy["task"]["sigma"] = 1e-9
    noisy["run"]["rounds"] = 200
    expected = certify(built(noisy), theorem).exact["ratio"]
    assert ratio_of(noisy, theorem)(noisy) == pytest.approx(expected, rel=1e-6)


def test_a_family_of_problems_is_refused():
    with pytest.raises(DataError, match="instance"):
        single_instance(FOLDER / "dfedadmm.corollary_1-printed.json")


SIMPLE = sorted((FOLDER / "simple").glob("*.json"))
FAMILIES = [file for file in SIMPLE if "divergence" in json.loads(file.read_text())]


@pytest.mark.parametrize("file", FAMILIES, ids=lambda file: file.stem)
def test_numbers_of_stored_families_have_at_most_two_digits(file):
    base = json.loads(file.read_text())["divergence"]["base"]
    counts = ("T", "K", "K_u", "K_v")
    sizes = [size for name, size in base.items() if name not in counts]
    assert max(significant_digits(size) for size in sizes) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("file", FAMILIES, ids=lambda file: file.stem)
def test_stored_families_grow(file):
    found = replay(file)
    assert found.growing
    assert not found.violated


@pytest.mark.slow
@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "file", sorted({*SIMPLE} - {*FAMILIES}), ids=lambda file: file.stem
)
def test_stored_simple_counterexamples_replay_and_are_shown(file):
    from dfltheory.counterexamples.simplify.lines import hand_check_lines
    from dfltheory.counterexamples.simplify.stored import lines_of

    found = replay(file)
    assert found.violated
    lines = hand_check_lines(found)
    assert 4 <= len(lines) <= 5
    assert lines == lines_of(found.theorem)


def test_falsify_simplify_writes_a_file_that_replays(tmp_path, monkeypatch):
    """Few steps of the simplification suffice here."""
    short = partial(simplify, checks=20)
    monkeypatch.setattr("dfltheory.counterexamples.simplify.simplify", short)
    source, target = FOLDER / "dfedadmm.theorem_1-printed.json", tmp_path / "s.json"
    before = source.read_bytes()
    status = cli.run(["falsify", "--simplify", str(source), "--out", str(target)])
    assert status == 1
    assert source.read_bytes() == before
    found = replay(target)
    assert found.violated
    assert found.ratio >= json.loads(before)["ratio"] / 2


def test_falsify_simplify_does_not_overwrite_its_source(tmp_path):
    source = tmp_path / "c.json"
    source.write_bytes((FOLDER / "dfedadmm.theorem_1-printed.json").read_bytes())
    before = source.read_bytes()
    status = cli.run(["falsify", "--simplify", str(source), "--out", str(source)])
    assert status not in (0, 1)
    assert source.read_bytes() == before
