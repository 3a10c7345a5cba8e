"""An instance and its document describe the same run; what documents cannot express is
rejected.
"""

import copy
import dataclasses
import json
import sys

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.training.document import SECTIONS
from tests.algorithms.table import HYPERPARAMETERS

DOCUMENT = {
    "task": {"name": "quadratic", "m": 4, "d": 2, "sigma": 0.3, "dtype": "float32"},
    "topology": {"name": "ring", "weights": "lazy"},
    "algorithm": {"name": "dfedsam", "eta": 0.05, "K": 2, "rho": 0.01},
    "run": {
        "rounds": 6,
        "seeds": [0, 3],
        "seed": 5,
        "x0": [1.0, -2.0],
        "evaluate_every": 2,
    },
}
OWN = """
from dataclasses import dataclass

import dfltheory as dfl


@dataclass(frozen=True)
class Mine(dfl.algorithms.DFedAvg):
    boost: float = 1.0

    def local_update(self, state, grad):
        return super().local_update(state, grad)


def problem(m: int = 3, sigma: float = 0.1):
    return dfl.tasks.quadratic(m=m, d=2, sigma=sigma)


def nothing():
    return 3
"""


def without(section, *names):
    return {
        **DOCUMENT,
        section: {n: v for n, v in DOCUMENT[section].items() if n not in names},
    }


def test_the_document_is_the_run():
    found = dfl.Instance.of(DOCUMENT).run(progress=False)
    task = dfl.tasks.get(
        "quadratic", m=4, d=2, sigma=0.3, dtype=__import__("torch").float32
    )
    direct = dfl.train(
        dfl.algorithms.DFedSAM(eta=0.05, K=2, rho=0.01),
        task,
        dfl.graphs.weights(dfl.graphs.ring(4), "lazy"),
        rounds=6,
        seeds=[0, 3],
        seed=5,
        x0=[1.0, -2.0],
        evaluate_every=2,
    )
    assert found.rounds_measured.tolist() == [0, 2, 4, 6]
    np.testing.assert_array_equal(found.grad_norm_sq, direct.grad_norm_sq)


def test_it_goes_through_json_and_back():
    instance = dfl.Instance.of(DOCUMENT)
    again = dfl.Instance.of(json.loads(json.dumps(instance.document())))
    assert again.document() == instance.document()
    assert (again.seeds, again.seed, again.rounds) == ((0, 3), 5, 6)
    np.testing.assert_array_equal(
        again.run(progress=False).loss, instance.run(progress=False).loss
    )


def test_what_is_replaced_is_what_the_document_says():
    instance = dataclasses.replace(dfl.Instance.of(DOCUMENT), rounds=3, seeds=2)
    assert instance.document()["run"]["rounds"] == 3
    assert instance.document()["run"]["seeds"] == 2
    faster = dataclasses.replace(instance, algorithm=dfl.algorithms.DPSGD(eta=0.5))
    assert faster.document()["algorithm"]["name"] == "dpsgd"
    W = dfl.graphs.metropolis(dfl.graphs.star(4))
    star = dataclasses.replace(instance, network=W)
    np.testing.assert_array_equal(star.document()["topology"]["matrix"], W)
    assert dfl.Instance.of(star.document()).network.matrix(0).tolist() == W.tolist()
    other = dataclasses.replace(instance, task=dfl.tasks.quadratic(m=4, d=2, sigma=9.0))
    with pytest.raises(InputError, match="task quadratic"):
        other.document()


@pytest.mark.slow
def test_every_run_of_the_registry_has_a_document():
    for name, kind in dfl.algorithms.ALGORITHMS.items():
        made = dfl.Instance.of(
            {**DOCUMENT, "algorithm": {"name": name} | HYPERPARAMETERS[name]}
        )
        assert type(made.algorithm) is kind
        assert (made.network is None) == (not kind.needs_topology)
        assert dfl.Instance.of(made.document()).algorithm == made.algorithm


def test_what_is_made_in_python_runs_and_says_why_it_has_no_document():
    @dataclasses.dataclass(frozen=True)
    class Local(dfl.algorithms.DFedAvg):
        pass

    class Own(type(dfl.tasks.quadratic(m=2))):
        name = "own"

    task, W = Own(1.0, np.zeros((3, 2))), dfl.graphs.metropolis(dfl.graphs.complete(3))
    instance = dfl.Instance(task, dfl.algorithms.DFedAvg(eta=0.1, K=1), W, 2, seeds=3)
    assert instance.seeds == (0, 1, 2)
    assert instance.run(progress=False).seeds == 3
    with pytest.raises(InputError, match="task own "):
        instance.document()
    named = dataclasses.replace(
        dfl.Instance.of(DOCUMENT), algorithm=Local(eta=0.1, K=1)
    )
    with pytest.raises(InputError, match="Local"):
        named.document()
    moving = dataclasses.replace(dfl.Instance.of(DOCUMENT), network=lambda t: np.eye(4))
    with pytest.raises(InputError, match="was created in Python"):
        moving.document()
    several = dataclasses.replace(moving, network={"W": np.eye(4), "B": np.eye(4)})
    with pytest.raises(InputError, match="W, B"):
        several.document()


class Holder:
    @dataclasses.dataclass(frozen=True)
    class Inner(dfl.algorithms.DFedAvg):
        pass


def test_an_algorithm_inside_of_another_class_is_found_again():
    instance = dataclasses.replace(
        dfl.Instance.of(DOCUMENT), algorithm=Holder.Inner(eta=0.1, K=1)
    )
    assert (
        dfl.Instance.of(instance.document(), own=True).algorithm == instance.algorithm
    )


@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
def test_a_start_is_of_all_shapes_that_training_takes(shape):
    x0 = np.arange(np.prod(shape)).reshape(shape) / 8
    run = {**DOCUMENT["run"], "seeds": 2, "x0": x0.tolist()}
    document = {**DOCUMENT, "task": {**DOCUMENT["task"], "d": 3}, "run": run}
    np.testing.assert_array_equal(dfl.Instance.of(document).x0, x0)


def test_options_of_recording_take_the_documents_place():
    run = dfl.Instance.of(DOCUMENT).run(progress=False, evaluate_every=3)
    assert run.rounds_measured.tolist() == [0, 3, 6]


@pytest.mark.parametrize(
    ("document", "line"),
    [
        ({**DOCUMENT, "theorem": {}}, "no field is called 'theorem'"),
        (without("algorithm", "eta"), r"algorithm\.eta: "),
        ({**DOCUMENT, "run": {"seeds": [0, 0]}}, r"run\.seeds: "),
        ({**DOCUMENT, "run": {"x0": [1.0, "a"]}}, r"run\.x0\[1\]: "),
        ({**DOCUMENT, "run": {"x0": [[1.0], [2.0, 3.0]]}}, r"run\.x0: "),
        (
            {**DOCUMENT, "run": {"x0": [[[1.0], [2.0]], [[1.0], [2.0, 3.0]]]}},
            r"run\.x0: ",
        ),
        ({**DOCUMENT, "run": {"x0": [10**400]}}, r"run\.x0\[0\]: "),
        ({**DOCUMENT, "run": {"x0": [[], []]}}, r"run\.x0\[0\]: "),
        ({**DOCUMENT, "topology": {"matrix": [[1.0], [2.0]]}}, r"topology\.matrix: "),
        (
            {**DOCUMENT, "topology": {"matrix": [[1.0, [2.0]], [0.5, 0.5]]}},
            r"topology\.matrix\[0\]\[1\]: ",
        ),
        (
            {**DOCUMENT, "topology": {"matrix": [[[1.0]]]}},
            r"topology\.matrix\[0\]\[0\]: ",
        ),
        (
            {**DOCUMENT, "topology": {"matrix": [[10**400]]}},
            r"topology\.matrix\[0\]\[0\]: ",
        ),
        ({**DOCUMENT, "topology": {"matrix": []}}, r"topology\.matrix: "),
        ({**DOCUMENT, "topology": {"file": "W.npy"}}, r"topology\.file: "),
        (
            {**DOCUMENT, "algorithm": {"name": "os:system"}},
            "would run code of the module",
        ),
        (
            {**DOCUMENT, "task": {"name": "os:system", "command": "true"}},
            "would run code of the module",
        ),
    ],
)
def test_one_line_says_what_is_wrong(document, line):
    kept = copy.deepcopy(document)
    with pytest.raises(
        (InputError, UnknownNameError), match=f"^the document: .*{line}"
    ) as refused:
        dfl.Instance.of(document)
    lines = str(refused.value).splitlines()
    assert all(text.startswith("the document: ") for text in lines)
    assert document == kept


def test_a_users_own_algorithm_and_task_by_reference(tmp_path, monkeypatch):
    (tmp_path / "own_things.py").write_text(OWN)
    file = tmp_path / "own_things.py"
    monkeypatch.syspath_prepend(str(tmp_path))
    for place in (str(file), "own_things"):
        document = {
            "task": {"name": f"{place}:problem", "sigma": 0.2},
            "topology": {"name": "ring"},
            "algorithm": {"name": f"{place}:Mine", "eta": 0.1, "K": 1, "boost": 2.0},
            "run": {"rounds": 2},
        }
        instance = dfl.Instance.of(document, own=True)
        assert (type(instance.algorithm).__name__, instance.algorithm.boost) == (
            "Mine",
            2.0,
        )
        assert instance.run(progress=False).rounds == 2
        again = dfl.Instance.of(instance.document(), own=True)
        assert again.algorithm == instance.algorithm  # one class per file
        for name, line in (
            (
                {"algorithm": {**document["algorithm"], "bost": 1.0}},
                "algorithm: no field .*; did you mean boost",
            ),
            (
                {"algorithm": {"name": f"{place}:problem"}},
                "is not a class of algorithms",
            ),
            ({"task": {"name": f"{place}:nothing"}}, "creates a int, not a task"),
            ({"task": {"name": f"{place}:absent"}}, "absent"),
            (
                {"task": {"name": "no_such_module:x"}},
                "no_such_module cannot be imported",
            ),
        ):
            with pytest.raises(
                InputError if "boost" not in line else UnknownNameError, match=line
            ):
                dfl.Instance.of({**document, **name}, own=True)
    sys.modules.pop("own_things", None)


def test_the_sections_are_those_that_people_write():
    assert list(SECTIONS) == ["task", "topology", "algorithm", "run"]


def test_an_instance_has_exact_expectations_where_its_round_is_affine():
    from dfltheory.exact import exactly

    algorithm = {"name": "dfedavg", "eta": 0.05, "K": 2}
    instance = dfl.Instance.of(
        {**DOCUMENT, "algorithm": algorithm, "run": {"rounds": 4, "x0": [1.0, -2.0]}}
    )
    direct = dfl.exact_history(
        instance.algorithm, instance.task, instance.network, 4, [1.0, -2.0]
    )
    np.testing.assert_array_equal(exactly(instance).grad_norm_sq, direct.grad_norm_sq)
    with pytest.raises(InputError):
        exactly(dfl.Instance.of(DOCUMENT))


@pytest.mark.parametrize(
    ("name", "kind", "Q"),
    [("dfedsam-mgs", "DFedSAM", 4), ("DFedSAM", "DFedSAM", 1), ("asyng", "OSGP", None)],
)
def test_instance_accepts_algorithm_names_of_papers(name, kind, Q):
    document = {
        "task": {"name": "quadratic", "m": 4},
        "topology": {"name": "ring"},
        "run": {"rounds": 1},
    }
    instance = dfl.Instance.of(
        {**document, "algorithm": {"name": name, "eta": 0.1, "K": 1}}
    )
    assert (
        type(instance.algorithm).__name__,
        getattr(instance.algorithm, "Q", None),
    ) == (kind, Q)
    assert dfl.Instance.of(instance.document()).algorithm == instance.algorithm
    if Q:
        given = dfl.Instance.of(
            {**document, "algorithm": {"name": name, "eta": 0.1, "K": 1, "Q": 2}}
        )
        assert given.algorithm.Q == 2


def test_a_name_that_says_the_network_too():
    """DFedSGPSM-S is DFedSGPSM whose clients choose their out-neighbors by their
    losses.
    """
    document = {"task": {"name": "quadratic", "m": 4}, "run": {"rounds": 1}}
    document["algorithm"] = {"name": "dfedsgpsm-s", "eta": 0.1, "K": 1}
    instance = dfl.Instance.of(document)
    assert (type(instance.algorithm).__name__, instance.network.name) == (
        "DFedSGPSM",
        "loss_driven",
    )
    assert dfl.Instance.of(instance.document()).network.name == "loss_driven"
    few = dfl.Instance.of({**document, "topology": {"name": "loss_driven", "k": 2}})
    assert few.network.k == 2
    with pytest.raises(InputError, match=r"dfedsgpsm-s .*loss_driven"):
        dfl.Instance.of({**document, "topology": {"name": "ring"}})


def test_metrics_of_a_document_are_measured_and_written_again():
    run = {**DOCUMENT["run"], "metrics": ["client_loss"]}
    instance = dfl.Instance.of({**DOCUMENT, "run": run})
    assert instance.document()["run"]["metrics"] == ["client_loss"]

    def own(task, models, mean):
        return mean[:, 0]

    history = instance.run(metrics=[own], progress=False)
    assert history.clients.keys() == {"client_loss"}
    assert "own" in history.extra
    assert "metrics" not in dfl.Instance.of(DOCUMENT).document()["run"]
    for wrong in (["loss"], [], "client_loss"):
        with pytest.raises(InputError, match=r"run\.metrics"):
            dfl.Instance.of({**DOCUMENT, "run": {**run, "metrics": wrong}})
