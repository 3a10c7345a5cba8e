"""Counterexample files may come from anyone: every field is attacked, and no attack
executes code.
"""

import json
import sys
import time
from pathlib import Path

import pytest

from dfltheory import cli
from dfltheory.counterexamples import certify, replay
from dfltheory.counterexamples.document import (
    LARGEST_COUNTEREXAMPLE_FILE,
    read_document,
)
from dfltheory.errors import DFLTheoryError
from tests.hostile import places, put
from tests.hostile import refused as refused_by
from validation.counterexamples import survey
from validation.pages import falsify as page

FOLDER = Path(__file__).parents[2] / "docs" / "counterexamples"
CODE = "__import__('os').system('touch {}')"
HOSTILE = [
    CODE,
    "{0.__class__}",
    "1e3",
    "\n",
    "NaN",
    float("nan"),
    float("inf"),
    10**12,
    -(10**400),
    -1,
    1e308,
    0,
    None,
    True,
    [],
    [[[[1]]]],
    [1, [2]],
    {},
    {"a": {"b": 1}},
    "x" * 5000,
]
SHOWN_ONLY = {"command", "file", "obstacles", "condition"}
"""Fields that are only displayed."""


def outcome(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def counterexample(name):
    document = {
        k: v for k, v in outcome(name).items() if k not in ("families", "command")
    }
    return document | {"kind": "dfltheory.counterexample"}


def printed(name):
    document = {
        k: v for k, v in outcome(name).items() if k not in ("kind", "format", "command")
    }
    return document | {"file": "hit.json"}


def family(name):
    return {
        "kind": "dfltheory.divergence",
        "format": 2,
        "divergence": outcome(name)["divergence"],
    }


WHOLE = {
    "outcome, ramps": outcome("dfedsam.theorem_4_5-printed"),
    "outcome, family": outcome("dfedsam.corollary_4_6-printed"),
    "counterexample, momentum": counterexample("dfedsgpsm.theorem_1-printed"),
    "counterexample, penalty": counterexample("dfedadmm.theorem_1-printed"),
    "counterexample, two blocks": counterexample("dfedmdc.theorem_1-corrected"),
    "printed": printed("dfedsam.theorem_4_5-corrected_less_noise"),
    "family": family("dfedmdc.theorem_2-printed"),
}


def refused(path, read=read_document):
    return refused_by(read, path)


def has_same_type(value, original):
    """Return whether ``value`` has the type of ``original``: both numbers, or both
    lists, etc.
    """
    numbers = (int, float)
    if isinstance(original, bool) or isinstance(value, bool):
        return isinstance(original, bool) and isinstance(value, bool)
    if isinstance(original, numbers) or original is None:
        return isinstance(value, numbers) or value is None or value == "NaN"
    return isinstance(value, type(original))


@pytest.mark.drawn(1)
@pytest.mark.parametrize("kind", WHOLE)
def test_every_field_of_every_kind_of_file_is_read_with_its_type(kind, tmp_path):
    witness, file = tmp_path / "ran", tmp_path / "sent.json"
    file.write_text(json.dumps(WHOLE[kind]))
    assert refused(file) is None
    fields, lines = 0, 0
    for path in places(WHOLE[kind]):
        original = WHOLE[kind]
        for key in path:
            original = original[key]
        for value in HOSTILE[fields % 3 :: 3]:  # a third of them for each field
            bad = value.replace("{}", str(witness)) if value == CODE else value
            file.write_text(json.dumps(put(WHOLE[kind], path, bad)))
            line = refused(file)
            if line is None and not SHOWN_ONLY & set(path):
                assert has_same_type(value, original) or (
                    path == ("instance",) and value is None
                ), (
                    path,
                    value,
                )
                assert value != -(10**400)
            if line is not None:
                lines += 1
                assert str(file) in line
        for name in ("extra", "__class__"):  # an unknown field next to each
            if isinstance(original, dict) and path[-1] not in ("families", "base"):
                file.write_text(json.dumps(put(WHOLE[kind], (*path, name), 1)))
                assert name in (refused(file) or "")
        fields += 1
    assert not witness.exists()
    assert fields > 10
    assert lines > 2.5 * fields


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [kind for kind in WHOLE if kind not in ("family", "printed")]
)
def test_what_is_read_replays_to_an_end_or_to_one_line(kind, tmp_path, monkeypatch):
    """Other values and statements cause neither tracebacks nor endless runs."""
    monkeypatch.setattr(certify, "CORE_ROUNDS", (300,))  # keep the many replays short
    file, document = tmp_path / "sent.json", WHOLE[kind]
    content = document.get("divergence") or document["instance"]
    owner = "divergence" if document.get("divergence") else "instance"
    tried = 0
    for path in places({owner: content}):
        if "ratios" in path or "values" in path or len(path) < 2:
            continue
        for value in (0, 1e9, "dfedmdc.theorem_1"):
            file.write_text(json.dumps(put(document, path, value)))
            if refused(file) is not None:
                continue
            started = time.process_time()
            refused(file, replay)
            assert time.process_time() - started < 120
            tried += 1
    assert tried >= 1


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("instance", "algorithm", "K"), 10**12),
        (("instance", "algorithm", "Q"), 10**12),
        (("instance", "run", "rounds"), 10**30),
        (("instance", "run", "evaluate_every"), 2),
        # T = 10^9 cannot be enumerated
        (("instance", "task", "sigma"), 1.0),
        (("instance", "run", "x0"), [[0.0]] * 3),
        (("instance", "topology", "matrix"), [[1.0]]),
        (("instance", "topology"), {"name": "ring"}),
        (("instance", "topology"), {"file": "/etc/hostname"}),
        (("instance", "task", "knots"), [[0.0], [0.0, 1.0]]),
        (("instance", "task", "name"), "cifar10"),
        (("instance", "task", "name"), "os:getcwd"),
        (
            ("instance", "algorithm"),
            {"name": "dfedmdc", "eta_u": 1.0, "eta_v": 1.0, "K_u": 1, "K_v": 1},
        ),
        (("instance", "algorithm", "name"), "ditto"),
        (("instance", "algorithm", "name"), "antigravity:Algorithm"),
        (("key",), "yuan2016.lemma_1"),
        (("key",), "dfedsam.corollary_4_6"),
        (("key",), "dfedadmm.theorem_1"),
        (("variant",), "undefined"),
        (("format",), 1),
        (("format",), 3),
        (("kind",), "dfltheory.history"),
    ],
)
def test_falsify_rejects_a_file_that_cannot_be_run_in_one_line(
    path, value, tmp_path, capsys
):
    file = tmp_path / "sent.json"
    file.write_text(json.dumps(put(WHOLE["outcome, ramps"], path, value)))
    started = time.monotonic()
    assert cli.run(["falsify", "--replay", str(file)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert not captured.out
    assert time.monotonic() - started < 20


def test_a_family_with_code_in_its_base_is_refused_by_the_command(tmp_path, capsys):
    witness, file = tmp_path / "ran", tmp_path / "sent.json"
    for name in ("h_v", "T", "gap"):
        bad = CODE.replace("{}", str(witness))
        file.write_text(
            json.dumps(put(WHOLE["family"], ("divergence", "base", name), bad))
        )
        assert cli.run(["falsify", "--replay", str(file)]) == 2
        assert f"divergence.base.{name} = " in capsys.readouterr().err
    assert not witness.exists()


def test_whole_numbers_of_a_problem_may_be_written_without_a_decimal_point(tmp_path):
    """As in ``"x0": [[-1], [1]]``, which people write; the limits remain those of real
    numbers.
    """
    file = tmp_path / "sent.json"
    for path, number in (
        (("instance", "run", "x0", 0, 0), -1),
        (("instance", "task", "left", 0), -1000),
        (("instance", "task", "widths", 0, 0), 1000),
    ):
        for value in (number, float(number)):
            file.write_text(json.dumps(put(WHOLE["outcome, ramps"], path, value)))
            assert refused(file) is None
        file.write_text(json.dumps(put(WHOLE["outcome, ramps"], path, 10**10)))
        assert refused(file) is not None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 10**5,
        '{"instance": ' + "9" * 5000 + "}",
        "\x00",
        "[]",
        "3",
        " " * (LARGEST_COUNTEREXAMPLE_FILE + 1),
    ],
)
def test_replay_rejects_documents_that_are_no_object_in_one_line(text, tmp_path):
    file = tmp_path / "sent.json"
    file.write_text(text)
    assert str(file) in refused(file)


def test_replay_rejects_a_family_with_different_starts_for_a_statement_on_common_starts(
    tmp_path,
):
    file = tmp_path / "sent.json"
    file.write_text(
        json.dumps(put(WHOLE["family"], ("divergence", "key"), "dfedadmm.corollary_1"))
    )
    assert "does not cover problems" in refused(file, replay)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("field", ["command", "families", "core", "exact", "key"])
def test_page_rejects_outcomes_with_a_missing_or_damaged_field(field, tmp_path):
    theorem = next(
        t for t in survey.searched() if str(t) == "dfedsam.theorem_4_5 (printed)"
    )
    file = survey.outcome_file(tmp_path, theorem)
    whole = WHOLE["outcome, ramps"]
    file.write_text(json.dumps(whole))
    page.markdown(tmp_path)
    for damaged in (
        {k: v for k, v in whole.items() if k != field},
        whole | {field: "| `<script>`"},
    ):
        file.write_text(json.dumps(damaged))
        with pytest.raises(DFLTheoryError, match=field):
            page.markdown(tmp_path)


def test_reading_a_file_opens_no_way_to_other_modules(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    file, before = tmp_path / "sent.json", list(sys.path)
    file.write_text(json.dumps(WHOLE["outcome, ramps"]))
    read_document(file)
    assert sys.path == before
    for name in ("antigravity:Algorithm", f"{tmp_path}/own.py:Mine"):
        file.write_text(
            json.dumps(
                put(WHOLE["outcome, ramps"], ("instance", "algorithm", "name"), name)
            )
        )
        assert refused(file)
    assert "antigravity" not in sys.modules
