"""A third-party package with its own paper, algorithm, network law and quantity.

It is only installed through an entry point. All commands work with it, whatever was
imported before, and the statements of this package do not know its quantity.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # every command, in two installations

ROOT = Path(__file__).parents[1]

ALGORITHM = '''
from dataclasses import dataclass

from dfltheory.algorithms.base import Algorithm, Range, State, ranges, replace


@dataclass(frozen=True)
class DampedGossip(Algorithm):
    """x_i <- x_i + gamma (sum_l w_il z_l - x_i), z_l = x_l - eta grad f_l(x_l)."""

    eta: float
    gamma: float = 0.5
    ranges = ranges("eta") | {"gamma": Range(0, 1, open_low=True)}

    def init(self, x0, grad):
        return State(x=x0, z=x0)

    def local_update(self, state, grad):
        eta = self.decayed(self.eta, grad.t)
        return replace(state, z=state.x - eta * self.slope(grad, state.x))

    def communicate(self, state, mix):
        return replace(state, x=state.z + self.gamma * (mix(state.z) - state.z))
'''
PAPER = '''
import numpy as np
import sympy as sp

from dfltheory.bounds import Condition, LeftSide, Quantity, Scope, Theorem, symbols as s
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


def statements():
    return (descent("printed", sp.Integer(1)), descent("eighth", sp.Rational(1, 8)))
'''
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
    metadata = folder / "theirs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        "[dfltheory.papers]\ntheirs = theirs.paper\n"
    )


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the arguments of each command, by name."""
    experiment, grid, saved = (
        folder / name for name in ("one.toml", "grid.toml", "eighth.json")
    )
    experiment.write_text(EXPERIMENT)
    grid.write_text(EXPERIMENT + GRID)
    network = ["--task", "quadratic", "--topology", "ring", "--m", "4"]
    quiet = ["gamma=0.5", "sigma_l=0", "sigma_g=0"]
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


def test_referee_reports_the_errors_of_the_audit_by_its_status(command_results):
    status, out, err = command_results["referee"]
    assert status == 1, err
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
    assert {name: again[name] for name in same} == {
        name: command_results[name] for name in same
    }
    for name in ("kinds", "reason", "value", "hashes"):
        assert again[name] == command_results[name]
    for name, (status, *_) in (
        (name, command_results[name]) for name in commands(tmp_path)
    ):
        assert again[name][0] == status, name
