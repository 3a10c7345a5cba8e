"""A counterexample to a user's theorem is replayed with the theorem's own file."""

import json
from pathlib import Path

import pytest

from dfltheory import cli

SAVED = (
    Path(__file__).parents[2]
    / "docs"
    / "counterexamples"
    / "dfedsam.theorem_4_5-printed.json"
)
CODE = """
from dataclasses import dataclass, replace
from dfltheory import bounds
from dfltheory.algorithms import DFedSAM

@dataclass(frozen=True)
class Own(DFedSAM):
    pass

def law(W):
    return None if W[0, 0] != 0.5 else "it mixes at once"

base = bounds.get("dfedsam.theorem_4_5", "printed")
scope = replace(base.scope, algorithms=(Own,), hyperparameters={})
own_algorithm = replace(base, key="own.algorithm", scope=scope)
own_law = replace(base, key="own.law", scope=replace(base.scope, network=law))
own_bound = replace(base, key="own.bound", parts={n: p / 2 for n, p in base.parts.items()})
other = replace(own_algorithm, parts={n: 2 * p for n, p in base.parts.items()})
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Create a folder with three theorems of a user and a counterexample to each."""
    from dfltheory.bounds.document import theorem_to_document
    from dfltheory.bounds.reference import load

    folder = tmp_path_factory.mktemp("own")
    code = folder / "theorems_of_a_user.py"
    code.write_text(CODE)
    saved = {
        k: v
        for k, v in json.loads(SAVED.read_text()).items()
        if k not in ("families", "command")
    }
    for name in ("own_algorithm", "own_law", "own_bound"):
        theorem = load(f"{code}:{name}")
        document = saved | {"kind": "dfltheory.counterexample", "key": theorem.key}
        document["theorem"] = theorem_to_document(theorem)
        if name == "own_algorithm":
            algorithm = document["theorem"]["scope"]["algorithms"][0]
            document["instance"] = document["instance"] | {
                "algorithm": document["instance"]["algorithm"] | {"name": algorithm}
            }
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


@pytest.fixture
def registry_without_own_theorems(monkeypatch):
    """Simulate a process that has not imported the user's module."""
    import sys

    monkeypatch.delitem(sys.modules, "dfltheory_own_theorems_of_a_user", raising=False)


def run(folder, capsys, *arguments):
    status = cli.run(["falsify", *arguments])
    return status, capsys.readouterr()


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["own_algorithm", "own_law", "own_bound"])
def test_falsify_replays_the_counterexample_of_a_users_theorem(
    name, folder, registry_without_own_theorems, capsys
):
    reference, file = f"{folder}/theorems_of_a_user.py:{name}", folder / f"{name}.json"
    status, captured = run(folder, capsys, reference, "--replay", str(file), "--json")
    assert status == 1, captured.err
    assert json.loads(captured.out)["violated"]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", ["own_law", "own_bound"])
def test_falsify_replays_a_users_theorem_in_rational_numbers(
    name, folder, registry_without_own_theorems, capsys
):
    reference, file = f"{folder}/theorems_of_a_user.py:{name}", folder / f"{name}.json"
    status, captured = run(
        folder, capsys, reference, "--replay", str(file), "--exact", "--json"
    )
    assert status == 1, captured.err
    assert json.loads(captured.out)["refuted"]


@pytest.mark.parametrize("exact", [[], ["--exact"]])
@pytest.mark.parametrize("name", ["own_algorithm", "own_law"])
def test_replay_asks_for_the_file_of_a_users_theorem_without_it(
    name, exact, folder, registry_without_own_theorems, capsys
):
    status, captured = run(
        folder, capsys, "--replay", str(folder / f"{name}.json"), *exact
    )
    assert status == 2
    assert "FILE.py:NAME" in captured.err
    assert "contains no counterexample" not in captured.err


def test_exact_replay_rejects_an_algorithm_of_a_user(
    folder, registry_without_own_theorems, capsys
):
    reference = f"{folder}/theorems_of_a_user.py:own_algorithm"
    status, captured = run(
        folder,
        capsys,
        reference,
        "--replay",
        str(folder / "own_algorithm.json"),
        "--exact",
    )
    assert status == 2
    assert "theorems_of_a_user:Own" in captured.err


@pytest.mark.parametrize("name", ["own_bound", "other"])
def test_replay_rejects_another_theorem_than_that_of_the_file(name, folder, capsys):
    reference = f"{folder}/theorems_of_a_user.py:{name}"
    status, captured = run(
        folder, capsys, reference, "--replay", str(folder / "own_algorithm.json")
    )
    assert status == 2
    assert "own_algorithm.json" in captured.err


def test_exact_replay_rejects_a_network_that_breaks_the_users_law(
    folder, tmp_path, capsys
):
    document = json.loads((folder / "own_law.json").read_text())
    document["instance"]["topology"]["matrix"] = [[0.5, 0.5], [0.5, 0.5]]
    file = tmp_path / "sent.json"
    file.write_text(json.dumps(document))
    reference = f"{folder}/theorems_of_a_user.py:own_law"
    status, captured = run(folder, capsys, reference, "--replay", str(file), "--exact")
    assert status == 2
    assert "mixes at once" in captured.err


@pytest.fixture
def imported(folder, monkeypatch):
    """Return the counterexample to own_algorithm as saved by a process that imported
    the user's module.
    """
    import sys

    from dfltheory.bounds.document import theorem_to_document
    from dfltheory.bounds.reference import load

    def save(module):
        monkeypatch.delitem(
            sys.modules, "dfltheory_own_theorems_of_a_user", raising=False
        )
        monkeypatch.syspath_prepend(str(folder))
        theorem = load(f"{module}:own_algorithm")
        # removed after the test
        monkeypatch.setitem(sys.modules, module, sys.modules[module])
        document = json.loads((folder / "own_algorithm.json").read_text())
        document["theorem"] = theorem_to_document(theorem)
        (name,) = document["theorem"]["scope"]["algorithms"]
        assert name == f"{module}:Own"
        document["instance"]["algorithm"]["name"] = name
        file = folder / f"saved-by-{module}.json"
        file.write_text(json.dumps(document))
        return file

    yield save
    for module in (
        "theorems_of_a_user",
        "package_of_a_user.theorems_of_a_user",
        "package_of_a_user",
    ):
        sys.modules.pop(module, None)


@pytest.mark.drawn(1)
@pytest.mark.parametrize("still_imported", [True, False])
@pytest.mark.parametrize(
    "module", ["theorems_of_a_user", "package_of_a_user.theorems_of_a_user"]
)
def test_counterexample_saved_from_a_module_replays_with_its_file(
    module, still_imported, folder, imported, capsys
):
    import sys

    (folder / "package_of_a_user").mkdir(exist_ok=True)
    (folder / "package_of_a_user" / "theorems_of_a_user.py").write_text(CODE)
    file = imported(module)
    if not still_imported:
        del sys.modules[module]
    reference = f"{folder}/theorems_of_a_user.py:own_algorithm"
    status, captured = run(folder, capsys, reference, "--replay", str(file), "--json")
    assert status == 1, captured.err
    assert json.loads(captured.out)["violated"]


def test_counterexample_saved_from_a_module_is_not_of_another_class(
    folder, imported, capsys
):
    file = imported("theorems_of_a_user")
    file.write_text(
        file.read_text().replace("theorems_of_a_user:Own", "theorems_of_a_user:Other")
    )
    reference = f"{folder}/theorems_of_a_user.py:own_algorithm"
    status, captured = run(folder, capsys, reference, "--replay", str(file))
    assert status == 2
    assert "Other" in captured.err
