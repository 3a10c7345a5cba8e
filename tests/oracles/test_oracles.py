"""Changes that should not affect results reproduce the recorded ones."""

from __future__ import annotations

import json

import pytest

from tests.oracles import results, trajectories

RECORDED = json.loads(trajectories.FILE.read_text(encoding="utf-8"))
CASES = trajectories.cases()


@pytest.fixture(scope="module")
def same_kernels():
    """Return whether this machine has the kernels of the one that recorded the
    trajectories.
    """
    return trajectories.probe() == RECORDED["probe"]


def test_each_case_has_a_record_and_each_record_a_case():
    assert CASES.keys() == RECORDED["records"].keys()


@pytest.mark.drawn(60)
@pytest.mark.parametrize("name", CASES)
def test_trajectory_is_the_recorded_one(name, same_kernels):
    found, record = trajectories.record(CASES[name]), RECORDED["records"][name]
    if same_kernels:
        assert found["digest"] == record["digest"], f"{name}: other bits"
    assert trajectories.close(found, record, CASES[name]["task"] == "digits")


def test_documents_of_statements_are_the_recorded_ones():
    assert results.statements() == results.recorded()["statements"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["findings", "replays", "verdicts"])
def test_results_are_the_recorded_ones(kind):
    assert results.KINDS[kind]() == results.recorded()[kind]
