"""Files saved by released versions are read, or rejected by an error with file and
format.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dfltheory.bounds import get
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.theorem_file import read_theorem_file
from dfltheory.counterexamples.document import read_document
from dfltheory.counterexamples.saved import replay
from dfltheory.errors import DFLTheoryError
from dfltheory.experiments.experiment_file import load_experiment, read_experiment
from dfltheory.experiments.results import load_results
from dfltheory.identity import value_digest
from dfltheory.training.history import History
from tests.formats.make import FOLDER, trained
from tests.hostile import refused

VERSIONS = sorted(
    path for path in Path(__file__).parent.glob("[0-9]*") if path.is_dir()
)


def same_numbers(found, expected, rounds=None):
    for name, values in expected.measures().items():
        np.testing.assert_allclose(
            found.measures()[name][:, :rounds],
            values[:, :rounds],
            rtol=1e-9,
            atol=1e-12,
        )


def comparable(folder):
    """Return how many measurements do not depend on the random number format."""
    return None if folder == FOLDER else 1


@pytest.fixture(params=VERSIONS, ids=[path.name for path in VERSIONS])
def folder(request):
    return request.param


def test_history_of_a_version_is_read(folder):
    history = History.load(folder / "history.safetensors")
    assert (history.rounds, history.seeds, history.m) == (4, 2, 3)
    assert type(history.algorithm).__name__ == "DFedSAM"
    assert history.network_facts.kind == "fixed"
    same_numbers(history, trained(), comparable(folder))


def test_checkpoint_of_a_version_is_resumed_or_rejected_by_name(folder, tmp_path):
    file = tmp_path / "checkpoint.safetensors"
    shutil.copyfile(folder / file.name, file)
    message = refused(trained, 6, file)
    if message is None:
        same_numbers(trained(6, file), trained(6))
    else:
        assert str(file) in message


@pytest.mark.drawn(1)
def test_counterexample_of_a_version_is_replayed(folder):
    finding = replay(folder / "counterexample.json")
    assert finding.violated
    assert finding.key == read_document(folder / "counterexample.json")["key"]


def test_experiment_of_a_version_is_read(folder):
    cell = load_experiment(folder / "experiment.toml").cell
    assert cell.instance().run(progress=False).rounds == 4
    assert [theorem.variant for theorem in cell.theorems] == ["printed"]


def test_sweep_of_a_version_is_read_and_its_record_runs_again(folder):
    (cell,) = load_results(folder / "sweep").cells
    assert cell.status == "done"
    assert [verdict.variant for verdict in cell.verdicts] == ["printed"]
    assert cell.history.rounds == 4
    again = read_experiment(cell.configuration).cell
    if folder == FOLDER:
        assert again.key == cell.key
    else:  # random numbers of format 1 have no part in the key
        assert value_digest(again.document()) == cell.key != again.key
    run = again.instance().run(progress=False)
    same_numbers(run, cell.history, comparable(folder))


def test_file_of_another_kind_is_rejected_by_name(folder):
    with pytest.raises(
        DFLTheoryError, match=r"checkpoint\.safetensors.*dfltheory\.Checkpoint"
    ):
        History.load(folder / "checkpoint.safetensors")


def test_counterexample_of_an_unknown_format_is_rejected_by_name(folder, tmp_path):
    document = json.loads((folder / "counterexample.json").read_text(encoding="utf-8"))
    for number in (1, 99):
        file = tmp_path / f"format_{number}.json"
        file.write_text(json.dumps({**document, "format": number}), encoding="utf-8")
        with pytest.raises(DFLTheoryError, match=rf"format_{number}\.json.*format"):
            read_document(file)


SEARCHES = ("theorem.toml", "refuting_instance.json", "growing_family.json")
SEARCHES += ("outcome.json",)


def test_present_version_has_a_file_of_every_kind():
    assert {path.name for path in FOLDER.iterdir()} == {
        "checkpoint.safetensors",
        "counterexample.json",
        "experiment.toml",
        "history.safetensors",
        "sweep",
        *SEARCHES,
    }


def saved(name):
    """Parametrize a test by the versions that saved a file."""
    files = [folder / name for folder in VERSIONS if (folder / name).is_file()]
    return pytest.mark.parametrize("file", files, ids=[f.parent.name for f in files])


@saved("theorem.toml")
def test_theorem_file_of_a_version_is_the_same_statement(file):
    (theorem,) = read_theorem_file(file).theorems
    registered = get("dfedsam.theorem_4_5", "printed")
    assert statement_hash(theorem) == statement_hash(registered)
    assert theorem.assumptions == registered.assumptions


@saved("theorem.toml")
@pytest.mark.parametrize("number", [0, 2, "1", True])
def test_theorem_file_of_an_unknown_format_is_rejected_by_name(file, number, tmp_path):
    text = file.read_text(encoding="utf-8")
    assert text.count("format = 1\n") == 1
    later = tmp_path / "later.toml"
    written = text.replace("format = 1\n", f"format = {json.dumps(number)}\n")
    later.write_text(written, encoding="utf-8")
    with pytest.raises(DFLTheoryError, match=r"later\.toml, .*format"):
        read_theorem_file(later)


@saved("refuting_instance.json")
def test_refuting_instance_of_a_version_is_replayed(file):
    document = read_document(file)
    finding = replay(file)
    assert finding.violated
    assert finding.ratio == pytest.approx(document["ratio"], rel=1e-9)


@pytest.mark.slow
@saved("growing_family.json")
def test_growing_family_of_a_version_is_replayed(file):
    family = read_document(file)["divergence"]
    finding = replay(file)
    assert finding.growing
    assert not finding.violated
    assert finding.divergence.exponent == pytest.approx(family["exponent"], rel=1e-9)
    assert finding.divergence.ratios == pytest.approx(family["ratios"], rel=1e-9)


@saved("outcome.json")
def test_outcome_of_a_version_is_read_and_its_best_candidate_replayed(file):
    document = read_document(file)
    assert not document["violated"]
    finding = replay(file)
    assert (finding.key, finding.variant) == ("dfedsam.theorem_4_5", "corrected")
    assert not finding.violated
    assert finding.ratio == pytest.approx(document["ratio"], rel=1e-9)


@pytest.mark.parametrize("name", [n for n in SEARCHES if n.endswith(".json")])
def test_search_of_an_unknown_format_is_rejected_by_name(name, tmp_path):
    document = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    for change in ({"format": 1}, {"format": 3}, {"kind": "dfltheory.other"}):
        file = tmp_path / name
        file.write_text(json.dumps(document | change), encoding="utf-8")
        with pytest.raises(DFLTheoryError, match=rf"{name}.*{next(iter(change))}"):
            read_document(file)


def test_experiment_with_an_unknown_section_is_rejected_by_name(folder, tmp_path):
    file = tmp_path / "later.toml"
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    file.write_text(text + "\n[later]\nfield = 1\n", encoding="utf-8")
    with pytest.raises(DFLTheoryError, match=r"later\.toml: .*'later'"):
        load_experiment(file)
