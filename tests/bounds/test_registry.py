"""The registry loads only statements, and contains none about a line of an appendix."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dfltheory import bounds
from dfltheory.bounds import registry
from dfltheory.errors import UnknownNameError
from validation.papers import PAPERS, appendix

ROOT = Path(__file__).parents[2]
LEMMAS = [lemma for paper in PAPERS for lemma in appendix(paper)]


def test_keys_list_theorems_corollaries_and_rates_and_of_a_named_paper_lower_bounds():
    kinds = {theorem.kind for key in bounds.keys() for theorem in map_variants(key)}  # noqa: SIM118
    assert kinds == {"theorem", "corollary", "rate"}  # all lower bounds are controls
    of_controls = {
        t.kind for key in bounds.keys("bubeck2015") for t in map_variants(key)
    }
    assert "lower bound" in of_controls
    assert not set(bounds.keys("bubeck2015")) & set(bounds.keys())
    assert set(bounds.keys("bubeck2015")) <= set(bounds.keys(all=True))
    assert set(bounds.keys()) < set(bounds.keys(all=True))
    assert "wang2021.lemma_1" in bounds.keys("wang2021", all=True)
    assert "wang2021.lemma_1" not in bounds.keys("wang2021")
    assert bounds.get("wang2021.lemma_1").kind == "lemma"


def map_variants(key):
    """Return every variant of a statement."""
    return [bounds.get(key, variant) for variant in bounds.variants(key)]


@pytest.mark.parametrize("paper", PAPERS)
def test_papers_of_the_package_state_no_line_of_an_appendix(paper):
    kinds = {theorem.kind for theorem in bounds.statements(paper)}
    assert kinds <= {"theorem", "corollary", "rate"}
    assert bounds.keys(paper) == bounds.keys(paper, all=True)
    for lemma in appendix(paper):
        assert not registry.known(lemma.key, lemma.variant)
        with pytest.raises(UnknownNameError):
            bounds.get(lemma.key, lemma.variant)


def test_wheel_contains_no_case_study():
    """It contains neither their folders nor modules that state lemmas of the four
    papers.
    """
    packages = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'include = ["dfltheory*"]' in packages
    folder = ROOT / "dfltheory" / "bounds" / "papers"
    modules = {path.stem for paper in PAPERS for path in (folder / paper).glob("*.py")}
    assert not modules & {
        "proof",
        "ledger",
        "errata",
        "worlds",
        "derivations",
        "appendix",
    }
    parts = [path for paper in PAPERS for path in (folder / paper).glob("*.py")]
    sources = [
        path.read_text(encoding="utf-8")
        for path in parts
        if path.stem in ("printed", "corrected")
    ]
    for lemma in LEMMAS:
        assert not any(
            f'"{lemma.key.partition(".")[2]}"' in source for source in sources
        ), lemma.key


def test_a_registry_with_further_statements_leaves_the_default_one_as_it_is():
    lemma = LEMMAS[0]
    paper = lemma.key.split(".")[0]
    larger = registry.REGISTRY.including([lemma])
    assert larger.get(lemma.key, lemma.variant) is lemma
    assert lemma in larger.statements(paper)
    assert larger.registered(lemma)
    assert set(larger.peers(lemma)) == {lemma, *bounds.statements(paper)}
    assert not registry.known(lemma.key, lemma.variant)
    theorem = bounds.get("dfedsam.theorem_4_5")
    assert larger.get("dfedsam.theorem_4_5") is theorem


def test_registries_are_independent_objects():
    own = registry.Registry()
    theorem = own.get("lian2017.rate", "restated")
    assert own.registered(theorem)
    assert not registry.registered(theorem)
    assert registry.get("lian2017.rate", "restated").bound == theorem.bound


@pytest.mark.parametrize(
    "call",
    [
        pytest.param("get('dfedsam.theorem_4_5')", marks=pytest.mark.slow),
        pytest.param("statements()", marks=pytest.mark.slow),
        pytest.param("keys()", marks=pytest.mark.slow),
    ],
)
def test_reading_statements_imports_no_proof(call):
    """Scripts, steps and normal forms are only imported on demand."""
    code = f"""
import sys
from dfltheory import bounds
bounds.{call}
parts = {{name.rpartition(".")[2] for name in sys.modules if ".bounds.papers.dfed" in name}}
assert not parts & {{"script", "derivations"}}, parts
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


COLD = """
import sys
import sympy
before = set(sys.modules)
from dfltheory import bounds
bounds.get("dfedsam.theorem_4_5")
new = set(sys.modules) - before
print(*sorted(name for name in new if "." not in name))
papers = {name for name in new if ".bounds.papers.dfed" in name}
print(*(name.rpartition(".")[2] for name in papers), file=sys.stderr)
"""


def test_reading_a_statement_imports_no_package_for_arrays_or_schemas():
    """Nor a proof. ``benchmarks/bench_bounds.py`` measures the time."""
    run = subprocess.run(
        [sys.executable, "-c", COLD],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    imported = set(run.stdout.split())
    assert "dfltheory" in imported
    assert not {"script", "derivations"} & {*run.stderr.split()}
    assert not {"numpy", "pydantic", "scipy", "torch", "email"} & imported
