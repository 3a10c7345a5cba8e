"""A third-party package with its own paper, algorithm, network law and quantity.

It is only installed through an entry point. All commands work with it, whatever was
imported before, and the statements of this package do not know its quantity.
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

pytestmark = pytest.mark.slow  # every command, in two installations

ROOT = Path(__file__).parents[1]

ALGORITHM = '''
from dataclasses import dataclass

from dfltheory.algorithms.base import Algorithm, NumberRange, State, ranges, replace


@dataclass(frozen=True)
class DampedGossip(Algorithm):
    """x_i <- x_i + gamma (sum_l w_il z_l - x_i), z_l = x_l - eta grad f_l(x_l)."""

    eta: float
    gamma: float = 0.5
    ranges = ranges("eta") | {"gamma": NumberRange(0, 1, open_low=True)}

    def init(self, x0, grad):
        return State(x=x0, z=x0)

    def local_update(self, state, grad):
        eta = self.decayed(self.eta, grad.t)
        return replace(state, z=state.x - eta * self.slope(grad, state.x))

    def communicate(self, state, mix):
        return replace(state, x=state.z + self.gamma * (mix(state.z) - state.z))
'''
PAPER = '''
from dataclasses import replace

import numpy as np
import sympy as sp

from dfltheory.bounds import Condition, LeftSide, Quantity, Scope, Theorem, registry, symbols as s
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.units import ONE

from theirs.algorithm import DampedGossip

PAPER = Paper("Damped gossip", "Third party 2026", provenance="this file")
DAMPING = Quantity("gamma", r"\\\\gamma", ONE, "share of the mean that is taken", high=1, open_low=True)


def lazy_and_symmetric(W):
    """Each client keeps a share of its own model."""
    if np.abs(W - W.T).max() > 1e-9:
        return "it is not symmetric"
    return None if W.diagonal().min() > 0 else "a client gives its own model no weight"


def descent(variant, factor):
    """The mean squared gradient on identical clients with exact gradients; false for factors below 1."""
    mixing = 40 * (s.eta * s.L * s.sigma_g / (DAMPING.symbol * (1 - s.lam))) ** 2
    return Theorem(
        key="theirs.descent",
        variant=variant,
        kind="theorem",
        title="Descent of damped gossip",
        source="Third party 2026, Theorem 1",
        lhs=LeftSide("grad_norm_sq", aggregate="mean"),
        parts={"optimization": factor * 2 * s.f0_gap / (s.eta * s.T), "heterogeneity": mixing},
        conditions=(
            Condition("eta <= 1/L", s.eta * s.L, sp.Integer(1)),
            Condition("identical clients", 2 * s.sigma_g, s.sigma_g),
            Condition("exact gradients", 2 * s.sigma_l, s.sigma_l),
        ),
        schedule={"eta": 1 / (2 * s.L)},
        scope=Scope((DampedGossip,), lazy_and_symmetric, common_start=True),
        quantities=(DAMPING,),
    )


def gossip():
    """A statement about an algorithm that the kernel knows."""
    known = registry.get("wang_joshi2021.corollary_3", "printed")
    return replace(known, key="theirs.gossip", title="Gossip", source="Third party 2026, Corollary 2")


def statements():
    return (descent("printed", sp.Integer(1)), descent("eighth", sp.Rational(1, 8)), gossip())
'''
GUIDE = ROOT / "docs" / "guides" / "prove-my-theorem.md"
EXPERIMENT = """
[task]
name = "quadratic"
m = 4
d = 3
zeta = 0.0
sigma = 0.0
[algorithm]
name = "theirs.algorithm:DampedGossip"
gamma = 0.5
[topology]
name = "ring"
[run]
seeds = 1
rounds = 30
[theorem]
key = "theirs.descent"
variants = ["printed"]
schedule = true
"""
GRID = """
[sweep]
"run.rounds" = [20, 40]
"""
VALUES = [
    "L=1",
    "T=100",
    "eta=0.5",
    "f0_gap=3",
    "sigma_g=0",
    "lam=0.5",
    "gamma=0.5",
    "sigma_l=0",
]
OTHERS = ["L=1", "K=5", "T=1000", "Q=1", "m=16", "eta=0.005", "rho=0.01", "lam=0.8"]
OTHERS += ["sigma_l=1", "sigma_g=1", "f0_gap=1"]
SCRIPT = """
import contextlib, importlib, io, json, sys
from pathlib import Path

for module in sys.argv[1].split():
    importlib.import_module(module)
from dfltheory import bounds
from dfltheory.cli import run

if sys.argv[2] == "all":
    bounds.statements()
found = {}
for name, arguments in json.loads(sys.argv[3]).items():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run(arguments)
    found[name] = [status, out.getvalue(), err.getvalue()]

import numpy as np
import dfltheory as dfl
from theirs.algorithm import DampedGossip

task = dfl.tasks.Quadratic(np.full((4, 1, 1), 1.0), np.full((4, 1), 0.0))
W = dfl.graphs.metropolis(dfl.graphs.ring(4))
history = dfl.train(DampedGossip(eta=0.5), task, W, rounds=30, x0=np.full(1, 3.0), progress=False)
verdicts = {v: dfl.compare(history, bounds.get("theirs.descent", v)) for v in ("printed", "eighth")}
found["kinds"] = {v: verdict.kind for v, verdict in verdicts.items()}
one_way = dfl.graphs.weights(dfl.graphs.directed_exponential(4), "column_stochastic")
directed = dfl.train(
    DampedGossip(eta=0.5), task, one_way, rounds=3, x0=np.full(1, 3.0), progress=False, check_topology=False
)
found["reason"] = dfl.compare(directed, bounds.get("theirs.descent")).reason
theorem = bounds.get("dfedsam.theorem_4_5")
values = dict(word.split("=") for word in json.loads(sys.argv[4]))
found["value"] = theorem.evaluate(where="ignore", **{n: float(v) for n, v in values.items()}, mu=0.1)
found["hashes"] = [bounds.canonical.statement_hash(t) for t in bounds.statements("lean")]
print(json.dumps(found))
"""
WITHOUT_STATEMENTS = {
    "topology": ["topology", "ring", "--m", "4", "--json"],
    "new": ["new"],
    "schema of theorems": ["schema", "theorem"],
    "data": ["data", "show", "digits", "--m", "4", "--json"],
}
"""Arguments of commands that use no statement, by name."""
ORDERS = {
    "their paper first": ("theirs.paper", "none"),
    "their paper last": ("dfltheory dfltheory.counterexamples.finding", "all"),
    "among others": (
        "dfltheory.verdicts theirs.paper dfltheory.counterexamples",
        "none",
    ),
}


def install(folder: Path) -> None:
    """Create a distribution as an installer does: a package, and metadata with its
    entry point.
    """
    package = folder / "theirs"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "algorithm.py").write_text(ALGORITHM)
    (package / "paper.py").write_text(PAPER)
    (package / "proof.py").write_text(proof_script())
    metadata = folder / "theirs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[dfltheory.papers]\ntheirs = theirs.paper\n"
    )


def proof_script() -> str:
    """Return the script of the guide as a proof of the package's own statement."""
    found = re.search(r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), re.S | re.M)
    assert found is not None
    script = found[1].partition("TUNED = ")[0]
    return script.replace("wang_joshi2021.corollary_3", "theirs.gossip")


def measurements() -> str:
    """Return a table of gradient descent on x^2/2 from x = 3, with eta = 1/2."""
    rows = [f"0,{t},{(3 / 2**t) ** 2},{(3 / 2**t) ** 2}" for t in range(31)]
    return "\n".join(["seed,round,grad_norm_sq,model_sq", *rows]) + "\n"


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the arguments of each command, by name."""
    experiment, grid, saved = (
        folder / name for name in ("one.toml", "grid.toml", "eighth.json")
    )
    experiment.write_text(EXPERIMENT)
    grid.write_text(EXPERIMENT + GRID)
    network = ["--task", "quadratic", "--topology", "ring", "--m", "4"]
    quiet = ["gamma=0.5", "sigma_l=0", "sigma_g=0"]
    table = folder / "measured.csv"
    table.write_text(measurements())
    constants = ["L=1", "eta=0.5", "gamma=0.5", "f0_gap=4.5"]
    run_options = ["--topology", "ring", "--weights", "metropolis", "--m", "4"]
    run_options += ["--start", "common"]
    compared = ["--algorithm", "theirs.algorithm:DampedGossip", *run_options]
    compared += ["--set", *constants, "sigma_l=0", "sigma_g=0", "--json"]
    search = ["falsify", "theirs.descent", "--variant", "eighth", "--json"]
    key, algorithm = "theirs.descent", "theirs.algorithm:DampedGossip"
    return {
        "listed": ["bound", "--json"],
        "bound": ["bound", key, "--json", "--set", *VALUES],
        "bound of another": [
            "bound",
            "dfedsam.theorem_4_5",
            "--set",
            *OTHERS,
            "gamma=0.5",
        ],
        "audit": [
            "audit",
            "theirs",
            "--check",
            "units",
            "--check",
            "conditions",
            "--json",
        ],
        "atlas": [
            "atlas",
            "--key",
            key,
            "--set",
            "T=1000",
            "m=4",
            "lam=0.5",
            *quiet,
            "--json",
        ],
        "atlas of all": [
            "atlas",
            "--set",
            "T=1000",
            "m=4",
            "lam=0.5",
            *quiet,
            "--json",
        ],
        "falsify": [*search, "--seconds", "30", "--enough", "1.2", "--out", str(saved)],
        "replay": ["falsify", "--replay", str(saved), "--json"],
        "train": [
            "train",
            "--algorithm",
            algorithm,
            "--eta",
            "0.1",
            *network,
            "--rounds",
            "5",
            "--trust",
            "--json",
        ],
        "validate": [
            "validate",
            "--config",
            str(experiment),
            "--out",
            str(folder / "validated"),
            "--trust",
        ],
        "sweep": ["sweep", str(grid), "--out", str(folder / "swept"), "--trust"],
        "compare": ["compare", str(table), f"{key}:printed", *compared],
        "compare eighth": ["compare", str(table), f"{key}:eighth", *compared],
        "prove": [
            "prove",
            "theirs.gossip:printed",
            "--script",
            "theirs.proof:SCRIPT",
            "--json",
        ],
        "schema": ["schema", "experiment", "--own", algorithm],
        **WITHOUT_STATEMENTS,
        "referee": ["referee", key, "--out", str(folder / "page.html")],
    }


def outcome(folder: Path, order: str) -> dict:
    """Return the results of all commands in a new interpreter."""
    install(folder)
    path = {
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "MPLBACKEND": "Agg",
    }
    words = [
        sys.executable,
        "-c",
        SCRIPT,
        *ORDERS[order],
        json.dumps(commands(folder)),
        json.dumps(OTHERS),
    ]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env=os.environ | path,
        cwd=folder,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def command_results(tmp_path_factory):
    return outcome(tmp_path_factory.mktemp("site"), "their paper first")


def document(command_results, name):
    status, out, err = command_results[name]
    assert status == 0, (name, out, err)
    return json.loads(out)


def test_bound_lists_and_evaluates_the_statement(command_results):
    assert "theirs.descent" in {
        t["key"] for t in document(command_results, "listed")["theorems"]
    }
    assert document(command_results, "bound")["value"] == pytest.approx(
        2 * 3 / (0.5 * 100)
    )


def test_other_statements_do_not_know_the_quantity(command_results):
    status, out, err = command_results["bound of another"]
    assert (status, out) == (2, "")
    assert "gamma" in err


def test_audit_has_no_error(command_results):
    assert document(command_results, "audit")["counts"]["error"] == 0


@pytest.mark.parametrize("name", ["atlas", "atlas of all"])
def test_atlas_has_the_statement(command_results, name):
    rows = {
        (row["key"], row["variant"]): row
        for row in document(command_results, name)["theorems"]
    }
    assert rows["theirs.descent", "printed"]["status"] in ("informative", "vacuous")


def test_falsify_refutes_the_false_variant_and_replays_it(command_results):
    status, out, err = command_results["falsify"]
    assert status == 1, err
    ratio = json.loads(out)["ratio"]
    assert ratio > 1.2
    status, out, err = command_results["replay"]
    assert status == 1, err
    assert json.loads(out)["ratio"] == pytest.approx(ratio, rel=1e-9)


@pytest.mark.parametrize("name", ["train", "validate", "sweep"])
def test_commands_that_run_or_report_succeed(command_results, name):
    status, out, err = command_results[name]
    assert status == 0, (out, err)


def test_compare_judges_measurements_of_the_packages_algorithm(command_results):
    assert document(command_results, "compare")["kind"] == "holds"
    status, out, err = command_results["compare eighth"]
    assert status == 1, err
    assert json.loads(out)["kind"] == "violated"


def test_prove_checks_a_script_of_the_package(command_results):
    answer = document(command_results, "prove")
    assert answer["proved"]
    assert answer["claim"] == "theirs.gossip:printed"


def test_schema_has_the_range_of_the_packages_hyperparameter(command_results):
    schema = document(command_results, "schema")
    for rule in schema["$defs"]["AlgorithmSection"]["allOf"]:
        if (
            rule["if"]["properties"]["name"].get("const")
            == "theirs.algorithm:DampedGossip"
        ):
            gamma = rule["then"]["properties"]["gamma"]
    assert (gamma["exclusiveMinimum"], gamma["maximum"]) == (0, 1)
    assert "statement" in document(command_results, "schema of theorems")["properties"]


@pytest.mark.parametrize("name", list(WITHOUT_STATEMENTS))
def test_command_without_statements_is_unchanged_by_the_package(
    command_results, capsys, name
):
    status, out, _ = command_results[name]
    assert run(WITHOUT_STATEMENTS[name]) == status == 0
    assert capsys.readouterr().out == out


def test_referee_of_a_statement_without_errors_ends_with_status_0(command_results):
    status, out, err = command_results["referee"]
    assert status == 0, err
    assert "NOT REFUTED SO FAR" in out


def test_verdicts_and_the_network_law(command_results):
    assert command_results["kinds"] == {"printed": "holds", "eighth": "violated"}
    assert "not symmetric" in command_results["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", [order for order in ORDERS if order != "their paper first"]
)
def test_results_do_not_depend_on_what_was_imported_before(
    command_results, order, tmp_path
):
    again = outcome(tmp_path, order)
    same = ("listed", "bound", "bound of another", "audit", "atlas", "atlas of all")
    same += ("prove", "topology", "new", "schema", "schema of theorems", "data")
    assert {name: again[name] for name in same} == {
        name: command_results[name] for name in same
    }
    for name in ("kinds", "reason", "value", "hashes"):
        assert again[name] == command_results[name]
    for name, (status, *_) in (
        (name, command_results[name]) for name in commands(tmp_path)
    ):
        assert again[name][0] == status, name
