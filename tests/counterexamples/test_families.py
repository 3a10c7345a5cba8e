"""The contract of families of candidates, including families of other packages."""

import os
import subprocess
import sys

import pytest

import dfltheory as dfl
from dfltheory.counterexamples.families import installed, problem_families
from dfltheory.counterexamples.search_spaces import refused_families, search_spaces
from dfltheory.errors import InputError

FAMILY = """
from typing import ClassVar
import numpy as np
from dfltheory.counterexamples.families import Family
from dfltheory.counterexamples.families.local_drift import parabolas


class EqualParabolas(Family):
    name: ClassVar[str] = "equal parabolas"
    summary: ClassVar[str] = "f_1'(x) = x - 1 and f_2'(x) = x + 1, from one start"

    def decode(self, read, at):
        start = read.between(-1, 1)
        return parabolas(np.ones((len(start), 2))), np.stack([start, start], -1)


def not_a_family():
    pass
"""
SCRIPT = """
import numpy as np
import dfltheory as dfl
from dfltheory.counterexamples.search_spaces import search_spaces
theorem = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
names = [s.name for s in search_spaces(theorem) if s.name.startswith("equal")]
space = [s for s in search_spaces(theorem) if s.name == names[0]][0]
batch = space.decode(np.full((2, space.dimension), 0.5), {"rho": 0.0})
print(names, batch.clients.constants()["sigma_g"] / batch.clients.constants()["B"])
"""


def install(folder, value):
    """A package that declares a family, as an installer leaves it."""
    (folder / "their_families.py").write_text(FAMILY)
    metadata = folder / "their_families-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: their_families\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        f"[dfltheory.families]\nequal = their_families:{value}\n"
    )


@pytest.mark.slow
def test_a_family_of_another_package_is_searched(tmp_path):
    install(tmp_path, "EqualParabolas")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "equal parabolas, K = 1, two clients" in done.stdout
    assert "[0.5 0.5]" in done.stdout  # the gradients deviate by 1, and reach 2


def test_an_entry_point_that_is_no_family_is_an_error(tmp_path, monkeypatch):
    install(tmp_path, "not_a_family")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    installed._third_party.cache_clear()
    try:
        with pytest.raises(InputError, match="their_families:not_a_family"):
            problem_families()
    finally:
        installed._third_party.cache_clear()
        sys.modules.pop("their_families", None)


def test_names_and_summaries_of_families_differ():
    own = problem_families()
    assert len({family.name for family in own}) == len(own)
    assert len({family.describe() for family in own}) == len(own)
    assert all(family.describe().startswith(family.name) for family in own)


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("key", "variant"),
    [
        ("dfedsam.theorem_4_5", "corrected"),
        ("dfedmdc.theorem_1", "corrected"),
        ("bubeck2015.theorem_3_10", "printed"),
    ],
)
def test_a_refused_family_has_a_reason_and_no_search_space(key, variant):
    theorem = dfl.bounds.get(key, variant)
    refused = refused_families(theorem)
    names = [space.name for space in search_spaces(theorem)]
    for family in problem_families():
        assert family.admits(theorem) == (family.name not in refused)
        if family.name in refused:
            assert refused[family.name]
            assert not any(name.startswith(f"{family.name}, K") for name in names)


def test_search_spaces_have_one_gossip_step_unless_they_are_named_for_more():
    spaces = search_spaces(dfl.bounds.get("dfedsam.theorem_4_5", "corrected"))
    for space in spaces:
        Q = space.counts["Q"]
        assert Q == 1 or f"Q = {Q}" in space.name
    assert spaces[0].counts["Q"] == 1


def test_families_are_about_what_the_statement_is_about():
    refused = refused_families(dfl.bounds.get("dfedsam.theorem_4_5", "corrected"))
    assert "two blocks" in refused["opposing heads"]
    assert "convex" in refused["stationary noise, strongly convex"]
    assert "SAM trap" not in refused
    convex = refused_families(dfl.bounds.get("lean.sgd_strongly_convex", "printed"))
    assert "stationary noise, strongly convex" not in convex
    assert "local drift" in convex
