"""A third-party paper in its own package is found by its entry point, in commands and
test suites.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dfltheory.cli import run

PAPER = """
import sympy as sp

from dfltheory.bounds import Condition, LeftSide, Scope, Theorem, symbols as s
from dfltheory.bounds.paper import Paper

PAPER = Paper("D-PSGD on a tiny example", "Tiny 2026", provenance="this file")


def statements():
    return [
        Theorem(
            key="{key}",
            variant="printed",
            kind="theorem",
            title="A tiny theorem",
            source="Tiny 2026, Theorem 1",
            lhs=LeftSide("grad_norm_sq", "g", "mean", averaging="mean over the rounds 0..T-1"),
            parts={{"optimization": 2 * s.f0_gap / (s.eta * s.T), "noise": s.L * s.{step} * s.sigma_l**2}},
            scope=Scope(("DPSGD",), "symmetric", hyperparameters={{"order": "combine-then-adapt"}}),
            conditions=(Condition("eta L <= 1", s.eta * s.L, sp.Integer(1)),),
        )
    ]
"""
BOUND = [
    "bound",
    "tiny.theorem_1",
    "--json",
    "--set",
    "L=1",
    "T=100",
    "eta=0.5",
    "sigma_l=2",
    "f0_gap=3",
]
COMMANDS = {
    "evaluated": BOUND,
    "its theorem": ["audit", "tiny.theorem_1", "--json"],
    "the paper": ["audit", "tiny", "--check", "units", "--json"],
    "mistaken": ["audit", "mistaken", "--check", "units", "--json"],
}
GOOD, MISTAKEN = (
    ("tiny", "tiny.theorem_1", "eta"),
    ("mistaken", "mistaken.theorem_1", "rho"),
)
REFUSED = {
    "another key": [("broken", "strange.theorem_1", "eta")],
    "as the package's own": [("dfedsam", "dfedsam.theorem_1", "eta")],
    "as another package's": [GOOD, GOOD],
}
"""The installed papers: name, key of the theorem, and the step size in its noise term.
"""
FURTHER = ("its theorem", "as the package's own", "as another package's")
"""Cases of the slow suite."""
SCRIPT = """
import contextlib, importlib, io, json, sys
from dfltheory.bounds import registry
from dfltheory.cli import run

def said(arguments):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(arguments)
    return status, out.getvalue(), err.getvalue()

command_results = {}
for case, folders, commands in json.loads(sys.argv[1]):
    sys.path[:0] = folders
    importlib.invalidate_caches()
    command_results |= {name or case: said(arguments) for name, arguments in commands.items()}
    if case != "found":
        del sys.path[: len(folders)]
        registry.REGISTRY.clear()
found = registry.get("tiny.theorem_1")
if "listed" in command_results:
    command_results["python"] = [registry.keys("tiny"), registry.papers(), found.title,
                  registry.resting_on(("symmetric",)), registry.paper("tiny").provenance,
                  found.evaluate(L=1, T=100, eta=0.5, sigma_l=2, f0_gap=3)]
print(json.dumps(command_results))
"""


def install(folder, name, text) -> str:
    """Create a distribution as an installer does: a module, and metadata with its entry
    point.
    """
    module = f"{name}_in_{folder.name}"
    folder.mkdir(parents=True)
    (folder / f"{module}.py").write_text(text)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        f"[dfltheory.papers]\n{name} = {module}\n"
    )
    return str(folder)


@pytest.fixture(scope="module")
def command_results(tmp_path_factory):
    """Return status, output and error of each command in a new interpreter with these
    papers installed.
    """
    refused, commands = (
        {case: x for case, x in cases.items() if case not in FURTHER}
        for cases in (REFUSED, COMMANDS)
    )
    return results_of(tmp_path_factory.mktemp("site"), refused, commands)


@pytest.fixture(scope="module")
def further_results(tmp_path_factory):
    """Return those of the slow cases."""
    refused, commands = (
        {case: x for case, x in cases.items() if case in FURTHER}
        for cases in (REFUSED, COMMANDS)
    )
    return results_of(tmp_path_factory.mktemp("site"), refused, commands)


def result(request, case):
    fixture = "further_results" if case in FURTHER else "command_results"
    return request.getfixturevalue(fixture)[case]


def results_of(root, refused, commands):
    """Return the results of commands, and those of papers that are refused."""
    plan = []
    for k, (case, papers) in enumerate([*refused.items(), ("found", [GOOD, MISTAKEN])]):
        texts = [(name, PAPER.format(key=key, step=step)) for name, key, step in papers]
        folders = [install(root / f"{k}{i}", *paper) for i, paper in enumerate(texts)]
        plan.append(
            (
                case,
                folders,
                commands if case == "found" else {"": ["bound", papers[0][1]]},
            )
        )
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", SCRIPT, json.dumps(plan)]
    done = subprocess.run(
        words, capture_output=True, text=True, env=os.environ | path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_registry_finds_a_paper_by_its_entry_point(tmp_path):
    results = results_of(tmp_path, {}, {"listed": ["bound", "--json"]})
    keys, papers, title, resting, provenance, value = results["python"]
    assert "tiny.theorem_1" in {
        t["key"] for t in json.loads(results["listed"][1])["theorems"]
    }
    assert keys == ["tiny.theorem_1"]
    assert papers[-1] == "tiny"
    assert "dfedsam" in papers
    assert (title, provenance) == ("A tiny theorem", "this file")
    assert "tiny.theorem_1" in resting
    assert value == pytest.approx(2 * 3 / (0.5 * 100) + 0.5 * 4)


def test_registry_does_not_contain_a_paper_that_is_not_installed(capsys):
    assert run(BOUND) == 2
    assert "no theorem is called 'tiny.theorem_1'" in capsys.readouterr().err


def test_bound_evaluates_an_installed_paper(command_results):
    status, out, _ = command_results["evaluated"]
    found = json.loads(out)
    assert status == 0
    assert found["value"] == pytest.approx(2.12)
    assert found["terms"] == pytest.approx({"optimization": 0.12, "noise": 2.0})


@pytest.mark.parametrize(
    "asked", [pytest.param("its theorem", marks=pytest.mark.slow), "the paper"]
)
def test_audit_has_no_error_for_an_installed_paper(request, asked):
    status, out, _ = result(request, asked)
    assert status == 0
    assert json.loads(out)["counts"]["error"] == 0


def test_audit_finds_the_mistake_of_an_installed_paper(command_results):
    """The theorem has L rho sigma^2 in place of L eta sigma^2: a length in place of a
    step size.
    """
    status, out, _ = command_results["mistaken"]
    assert status == 1
    (finding,) = json.loads(out)["findings"]
    assert (finding["check"], finding["severity"], finding["place"]) == (
        "units",
        "error",
        "term noise",
    )


@pytest.mark.parametrize(
    ("case", "words"),
    [
        pytest.param(
            "as the package's own",
            "two papers are called 'dfedsam': ",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "as another package's",
            "two papers are called 'tiny': tiny_in_",
            marks=pytest.mark.slow,
        ),
        (
            "another key",
            (
                "strange.theorem_1 (printed) is stated in broken_in_00: its key must"
                " begin with broken."
            ),
        ),
    ],
)
def test_registry_rejects_an_invalid_paper_in_one_line(request, case, words):
    status, out, error = result(request, case)
    assert (status, out, error.count("\n")) == (2, "", 1)
    assert error.startswith(f"dfltheory: {words}")


THIRD_PARTY = Path(__file__).parent / "third_party"
SUITES = {
    "bounds": (
        "formulas conditions theorem completeness tree rates document convex tuning"
        " audit extremes"
    ),
    "counterexamples": "falsify_reach falsify_page",
    "experiments": "every_theorem",
    "rates": "rate_predictions",
    "verdicts": "true_instances",
    "cli": "bound",
    "validation": "experiments",
}
WHOLE = (
    "independent_twin",
    "terms_sum",
    "names_the_rounds_of_its_bound",
    "latex",
    "is_held_is_stated",
    "beyond_the_four",
    "form_is_recommended",
    "largest_step_is",
    "left_out_below",
    "has_its_outcome",
)
"""Words in the names of tests that run over all papers; tests of one paper contain its
name.
"""


@pytest.mark.slow
def test_a_paper_of_two_files_passes_what_runs_over_all_papers(tmp_path):
    """The paper consists of its statements and their independent evaluation, and is
    mentioned nowhere else.

    It has its own symbol, a corrected theorem, a distance to x*, a corollary with a
    schedule, and a statement in O(.).
    """
    site = install(
        tmp_path / "site", "third_party", (THIRD_PARTY / "paper.py").read_text()
    )
    text = tmp_path / "site/tests/bounds/text/third_party.py"
    text.parent.mkdir(parents=True)
    text.write_text((THIRD_PARTY / "text.py").read_text())
    root = Path(__file__).parents[2]
    files = [
        f"tests/{suite}/test_{name}.py"
        for suite, names in SUITES.items()
        for name in names.split()
    ]
    # import before pytest restricts the namespace ``tests`` to one folder
    plugins = ("-p", "no:cacheprovider", "-p", "tests.bounds.text.third_party")
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        *plugins,
        "-k",
        " or ".join(("third_party", *WHOLE)),
    ]
    path = {"PYTHONPATH": os.pathsep.join([str(root), site, *sys.path])}
    done = subprocess.run(
        [*words, *files],
        capture_output=True,
        text=True,
        cwd=root,
        env=os.environ | path,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert len(re.findall(r"third_party.* PASSED", done.stdout)) >= 40
