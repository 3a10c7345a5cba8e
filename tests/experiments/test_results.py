"""Saved results are equal when loaded."""

import dataclasses
import json
import math
import tomllib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory.bounds.status import STATUS_KINDS, Status
from dfltheory.errors import DataError, InputError, UnknownNameError
from dfltheory.experiments.experiment_file import read_experiment
from dfltheory.experiments.page_parts import latex_table
from dfltheory.experiments.results import load_results
from dfltheory.experiments.sweep import sweep
from dfltheory.experiments.verdict_documents import load_verdicts, verdict_from_dict
from dfltheory.files import json_text, write_json
from dfltheory.training.history import History
from dfltheory.verdicts.compare import compare
from dfltheory.verdicts.measures import is_deterministic
from dfltheory.verdicts.statistics import Interval
from dfltheory.verdicts.suggestions import Change, Suggestion, Suggestions
from dfltheory.verdicts.verdict import Verdict

TEXT = """
title = "two axes"
[task]
name = "quadratic"
m = 4
d = 2
sigma = 0.2
[algorithm]
name = "dfedsam"
K = 1
eta = 0.05
[run]
rounds = 30
seeds = 3
[theorem]
key = "dfedsam.theorem_4_5"
variants = ["printed", "corrected"]
[sweep]
topology.name = ["ring", "complete"]
"algorithm.rho" = [0, 0.1]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return sweep(
        read_experiment(tomllib.loads(TEXT), "x.toml"),
        tmp_path_factory.mktemp("sweep"),
        jobs=1,
    ).results


number = st.floats(allow_nan=False) | st.just(math.nan)
words = st.text(max_size=8)
finite = st.floats(allow_nan=False, allow_infinity=False)
verdicts = st.builds(
    Verdict,
    kind=st.sampled_from(
        ["holds", "violated", "undecided", "vacuous", "not applicable"]
    ),
    key=words,
    variant=words,
    reason=words,
    measured=st.builds(Interval, number, number, number),
    bound=number,
    ratio=number,
    ratio_ci=st.tuples(number, number),
    trivial=number,
    terms=st.dictionaries(words, number, max_size=3),
    slack=st.dictionaries(words, number, max_size=3),
    given=st.dictionaries(words, number, max_size=2),
    at=st.dictionaries(words, number, max_size=3),
    seeds_needed=st.none() | st.integers(2, 10**6),
    conditions=st.lists(words, max_size=2).map(tuple),
    estimated=st.lists(words, max_size=2).map(tuple),
    seeds=st.integers(0, 99),
    rounds=st.integers(0, 10**9),
    confidence=st.floats(0.01, 0.99),
    method=st.sampled_from(["student", "bootstrap", "exact"]),
    status=st.builds(
        Status,
        kind=st.sampled_from(STATUS_KINDS),
        how=words,
        ratio=st.none() | st.floats(-1e300, 1e300),
        counterexample=st.lists(words, max_size=5).map(tuple),
        command=words,
        search=words,
        name=words,
    ),
    suggestions=st.builds(
        Suggestions,
        alternatives=st.lists(
            st.builds(
                Suggestion,
                changes=st.lists(
                    st.builds(Change, words, finite, finite, finite), max_size=2
                ).map(tuple),
                scheduled=st.dictionaries(words, finite, max_size=2),
                tied=st.dictionaries(words, finite, max_size=2),
            ),
            max_size=2,
        ).map(tuple),
        largest_step=st.dictionaries(words, finite, max_size=2),
        note=words,
    ),
)


@given(verdicts)
def test_a_verdict_is_equal_after_json(verdict):
    assert verdict_from_dict(json.loads(json_text(verdict.to_dict()))) == verdict


def test_every_field_of_a_verdict_is_saved():
    # a new field of Verdict must survive to_dict and back, so the strategy
    # above must build it
    drawn = {f.name for f in dataclasses.fields(Verdict) if f.compare}
    built = (
        "kind key variant reason measured bound ratio ratio_ci trivial terms conditions"
        " estimated slack "
    )
    built += "seeds rounds confidence seeds_needed method given at status suggestions"
    assert drawn == set(built.split())


@pytest.mark.parametrize(
    "spoilt", [{"ratio": "much"}, {"ratio_ci": [1]}, {"terms": None}, {"seeds": None}]
)
def test_what_is_no_verdict_is_refused(results, spoilt):
    with pytest.raises(DataError, match="not a verdict"):
        verdict_from_dict(results.cells[0].record["verdicts"][0] | spoilt)
    with pytest.raises(DataError, match="kind"):
        verdict_from_dict({})


def test_verdicts_load_from_a_file(results, tmp_path):
    found = results.cells[0].verdicts
    write_json(tmp_path / "verdicts.json", [v.to_dict() for v in found])
    assert load_verdicts(tmp_path / "verdicts.json") == list(found)
    write_json(tmp_path / "other.json", {})
    with pytest.raises(DataError, match=r"other\.json"):
        load_verdicts(tmp_path / "other.json")
    with pytest.raises(InputError, match=r"none\.json"):
        load_verdicts(tmp_path / "none.json")
    (tmp_path / "half.json").write_text("[")
    with pytest.raises(DataError, match=r"half\.json"):
        load_verdicts(tmp_path / "half.json")


def test_histories_load_back_and_give_the_same_verdicts(results):
    for cell in results.cells:
        assert cell.history.grad_norm_sq.shape == (3, 31)
        for verdict in cell.verdicts:
            assert (
                compare(cell.history, verdict.key, variant=verdict.variant) == verdict
            )
            assert verdict.plot().get_lines()


def test_the_table_is_tidy(results):
    frame = results.frame
    assert len(frame) == 4 * 2  # cells x variants
    assert frame["hash"].nunique() == 4
    row = frame.iloc[2]
    cell = results.cells[1]
    assert (row["topology.name"], row["algorithm.rho"], row["variant"]) == (
        "ring",
        0.1,
        "printed",
    )
    assert row["run.seeds"] == 3
    assert row["constant.L"] == cell.history.constants.L
    assert row["standing.L"] == "exact"
    assert row["network.lam"] == pytest.approx(1 / 3)
    assert row["final.loss"] == pytest.approx(
        cell.history.loss[:, -1].mean(), rel=1e-15
    )
    assert row["final_std.loss"] == pytest.approx(
        cell.history.loss[:, -1].std(ddof=1), rel=1e-12
    )
    assert row["version.torch"] == cell.record["version"]["torch"]
    assert frame["kind"].tolist() == [v.kind for c in results.cells for v in c.verdicts]
    ratios = [v.ratio for c in results.cells for v in c.verdicts]
    np.testing.assert_array_equal(frame["ratio"].to_numpy(float), ratios)


def test_results_csv_holds_the_frame(results):
    on_disk = pd.read_csv(results.folder / "results.csv")
    assert list(on_disk.columns) == list(results.frame.columns)
    for name in ("hash", "kind", "ratio", "algorithm.rho", "topology.name"):
        assert on_disk[name].tolist() == pytest.approx(
            results.frame[name].tolist(), nan_ok=True
        )


def test_cells_are_found_by_their_settings(results):
    rings = results.where(topology__name="ring")
    assert [c.settings["algorithm.rho"] for c in rings] == [0, 0.1]
    assert list(results.runs(rings)) == ["0", "0.1"]
    assert list(results.runs(results.where(algorithm__rho=0))) == ["ring", "complete"]
    with pytest.raises(
        UnknownNameError,
        match=r"'topology\.nam'.*topology\.name\b",
    ):
        results.where(topology__nam="ring")


def test_a_folder_loads_back(results):
    again = load_results(results.folder)
    assert again.title == "two axes"
    assert again.frame.equals(results.frame)
    with pytest.raises(InputError, match=r"sweep\.json"):
        load_results(results.folder / "cells")


def test_columns_of_two_types_become_text(tmp_path):
    document = tomllib.loads(TEXT)
    document["sweep"] = {
        "topology": [{"name": "torus", "sides": [2, 2]}, {"name": "ring"}]
    }
    frame = sweep(read_experiment(document, "x.toml"), tmp_path, jobs=1).results.frame
    assert frame["topology.sides"].iloc[0] == "[2, 2]"
    assert frame["topology.sides"].isna().tolist() == [False, False, True, True]


@pytest.mark.parametrize("random", [True, False])
def test_a_history_loads_back_equal_with_what_is_random_in_it(tmp_path, random):
    task = dfl.tasks.quadratic(m=4, d=2, sigma=0.0, zeta=0.1, seed=1)
    ring = dfl.graphs.metropolis(dfl.graphs.ring(4))
    network = dfl.graphs.RandomMatching(4) if random else ring
    run = dfl.train(
        dfl.algorithms.DFedSAM(eta=0.02, K=5), task, network, rounds=20, x0=[10.0, 10.0]
    )
    again = History.load(run.save(tmp_path / "h.safetensors"))
    assert again == run
    assert is_deterministic(again) is is_deterministic(run) is not random
    variant = "corrected"
    assert compare(again, "dfedsam.theorem_4_5", variant=variant).measured == (
        compare(run, "dfedsam.theorem_4_5", variant=variant).measured
    )
    for name in ("grad_norm_sq", "x"):
        other = History.load(tmp_path / "h.safetensors")
        getattr(other, name)[0, 0] += 1
        assert other != run
    other.seed, other.grad_norm_sq, other.x = 7, run.grad_norm_sq, run.x
    assert other != run
    assert run != "a history"


def test_a_verdict_carries_the_status_of_its_statement():
    task = dfl.tasks.quadratic(m=4, d=2, seed=0)
    run = dfl.train(dfl.algorithms.DPSGD(eta=0.01), task, dfl.graphs.ring(4), rounds=3)
    theorem = dfl.bounds.get("dfedsam.theorem_4_5", variant="corrected")
    assert dfl.compare(run, theorem).status.kind == "proved"
    assert dfl.compare(run, theorem.key, variant="printed").status.kind == "refuted"
    assert (
        dfl.compare(run, dataclasses.replace(theorem, title="mine")).status.kind
        == "proved"
    )
    larger = {name: 2 * part for name, part in theorem.parts.items()}
    assert (
        dfl.compare(run, dataclasses.replace(theorem, parts=larger)).status.kind
        == "not examined"
    )


def test_verdicts_as_a_table_in_latex():
    numbers = {
        "bound": 2e-5,
        "ratio": 615.0,
        "ratio_ci": (1.0, 2.0),
        "trivial": math.inf,
    }
    numbers["status"] = Status("refuted")
    one = Verdict(
        "violated",
        "a.theorem_1",
        "printed",
        "",
        Interval(0.0123, 0.01, 0.014),
        **numbers,
    )
    other = dataclasses.replace(
        one, kind="not applicable", variant="corrected_no_bounded_gradients"
    )
    lines = latex_table([one, other]).splitlines()
    assert lines[4] == (
        r"\texttt{a.theorem\_1} & printed & refuted & violated & $0.0123 [0.01,"
        r" 0.014]$ & "
        r"$2 \cdot 10^{-5}$ & $615$ \\"
    )
    cells = [
        r"\texttt{a.theorem\_1}",
        r"corrected\_no\_bounded\_gradients",
        "refuted",
        "not applicable",
        *("--", "--", "--"),
    ]
    assert lines[5] == " & ".join(cells) + r" \\"
