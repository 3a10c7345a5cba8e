"""``dfltheory falsify``: a counterexample is written, printed as JSON, and replayed
from its file.
"""

import json
from pathlib import Path

import pytest

from dfltheory import cli

HIT = (
    Path(__file__).parents[2]
    / "docs"
    / "counterexamples"
    / "dfedadmm.theorem_1-appendix.json"
)


@pytest.fixture(scope="module")
def hit():
    """Replay a saved counterexample once."""
    from dfltheory.counterexamples import replay

    return replay(HIT)


@pytest.fixture
def dfltheory(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        status = cli.run(["falsify", *arguments])
        return status, capsys.readouterr()

    return call


@pytest.mark.parametrize(
    "searched", [pytest.param(True, marks=pytest.mark.slow), False]
)
def test_a_hit_is_written_and_replayed(searched, hit, dfltheory, tmp_path, monkeypatch):
    """Quickly, a known hit in place of what the search finds."""
    import dfltheory.counterexamples as engine

    if not searched:
        monkeypatch.setattr(engine, "falsify", lambda *a, **k: hit)
    # the search stops at the first hit, within seconds; a busy machine may take longer
    budget = ("--seconds", "300") if searched else ("--candidates", "8")
    status, captured = dfltheory(
        "dfedadmm.theorem_1", *budget, "--enough", "1.2", "--json"
    )
    assert status == 1
    document = json.loads(captured.out)
    assert document["ratio"] > 1
    assert document["evaluations"] > 0
    assert document["key"] == "dfedadmm.theorem_1"
    saved = tmp_path / document["file"]
    status, again = dfltheory("--replay", str(saved), "--json")
    assert status == 1
    assert json.loads(again.out)["ratio"] == pytest.approx(document["ratio"], rel=1e-12)
    monkeypatch.setattr(engine, "replay", lambda *a, **k: hit)
    status, text = dfltheory("--replay", str(saved))
    assert status == 1
    assert "refuted" in text.out
    assert "condition" in text.out


@pytest.mark.slow
def test_a_growing_family_is_written_and_replayed_and_refutes_nothing(
    dfltheory, tmp_path, monkeypatch
):
    """As a search finds it (tests/counterexamples/test_falsify_orders.py), which takes
    longer.
    """
    import dfltheory.counterexamples as engine

    known = engine.replay(HIT.with_name("dfedsam.corollary_4_6-printed.json"))
    monkeypatch.setattr(engine, "falsify", lambda *a, **k: known)
    (tmp_path / ".family-of_a_kil.json").touch()  # killed while it wrote
    status, captured = dfltheory(
        "dfedsam.corollary_4_6", "--out", "family.json", "--json"
    )
    assert status == 0
    assert [path.name for path in tmp_path.iterdir()] == ["family.json"]
    document = json.loads(captured.out)
    assert document["divergence"]["member"] == "opposing clients"
    assert document["file"] == "family.json"
    again, replay = [], engine.replay
    monkeypatch.setattr(
        engine, "replay", lambda path, own: again.append(replay(path)) or again[-1]
    )
    status, captured = dfltheory("--replay", str(tmp_path / "family.json"), "--json")
    assert status == 0
    replayed = json.loads(captured.out)
    assert replayed["divergence"] == document["divergence"]
    assert (replayed["growing"], replayed["violated"]) == (True, False)
    # in words what was run just now
    monkeypatch.setattr(engine, "replay", lambda path, own: again[-1])
    status, text = dfltheory("--replay", str(tmp_path / "family.json"))
    assert status == 0
    assert "grows like (1/(1 - lambda))^" in text.out
    assert "at the end of the range searched" in text.out
    assert ", with T growing like its square," in text.out


def test_no_hit_is_status_0_and_says_how_far_it_looked(dfltheory, tmp_path):
    status, captured = dfltheory(
        "dfedsgpsm.theorem_1", "--variant", "corrected", "--candidates", "16"
    )
    assert status == 0
    assert "proves nothing" in captured.out
    assert "piecewise" in captured.out
    assert not list(tmp_path.iterdir())


def test_falsify_prints_a_counterexample_before_it_saves_it(
    dfltheory, hit, monkeypatch, capsys
):
    import dfltheory.counterexamples as engine

    seen = []
    monkeypatch.setattr(engine, "falsify", lambda *a, **k: hit)
    monkeypatch.setattr(
        engine.Finding, "save", lambda self, path: seen.append(capsys.readouterr().out)
    )
    assert dfltheory("dfedadmm.theorem_1", "--candidates", "8")[0] == 1
    assert "refuted" in seen[0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "theorem"),
        (["dfedsam.theorem_4_5", "--replay", "x.json"], "--replay"),
        (["dfedsam.theorem_45"], "did you mean"),
        (["--replay", "absent.json"], "absent.json"),
        (["dfedsam.theorem_4_5", "--seconds", "0"], "seconds"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(dfltheory, arguments, words):
    status, captured = dfltheory(*arguments)
    assert status == 2
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert not captured.out


def test_a_counterexample_that_cannot_be_saved_is_printed(
    dfltheory, hit, tmp_path, monkeypatch
):
    import dfltheory.counterexamples as engine
    from dfltheory.counterexamples.finding import Finding

    def full(self, path):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Finding, "save", full)
    monkeypatch.setattr(engine, "falsify", lambda *a, **k: hit)
    status, captured = dfltheory("dfedadmm.theorem_1")
    assert status == 2
    assert "No space left" in captured.err
    (tmp_path / "saved.json").write_text(captured.out[captured.out.index("\n{\n") :])
    assert dfltheory("--replay", "saved.json")[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--show", "dfedsam.theorem_4_5:printed", "--control", "halved"),
        ("--show", "dfedsam.theorem_4_5:printed", "--simplify", str(HIT)),
        ("--simplify", str(HIT), "--control", "halved"),
    ],
)
def test_options_that_would_have_no_effect_are_rejected(dfltheory, arguments):
    status, printed = dfltheory(*arguments)
    assert status == 2
    assert all(option in printed.err for option in arguments[::2])
