"""Hyperparameters of algorithms: signatures, documentation, ranges; names of classes."""

import dataclasses
import inspect
import re
from typing import ClassVar

import numpy as np
import pytest

import dfltheory.algorithms as alg
from dfltheory.algorithms.base import check_class
from dfltheory.algorithms.gossip import LocalSteps
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError
from dfltheory.training.options import algorithm_name, section_names
from tests.algorithms.table import (
    MIXING,
    PERSONAL,
    SIGNATURES,
    WITHOUT_NETWORK,
    make_algorithm,
)
from tests.algorithms.user_algorithms import MixesTwice, Plain

REGISTERED = sorted(alg.ALGORITHMS)


@pytest.mark.drawn(99)
@pytest.mark.parametrize("name", REGISTERED)
def test_signature_and_kind_of_each_algorithm(name):
    """Checks the order, kinds and defaults of the hyperparameters."""
    cls = alg.get(name)
    hyperparameters = dict(inspect.signature(cls).parameters)
    for common, default in (("decay", 1.0), ("weight_decay", 0.0)):
        parameter = hyperparameters.pop(common)
        assert (parameter.default, parameter.kind) == (default, parameter.KEYWORD_ONLY)
    plain = [
        parameter.replace(annotation=parameter.empty)
        for parameter in hyperparameters.values()
    ]
    assert str(inspect.Signature(plain)) == SIGNATURES[name]
    assert cls.needs_topology is (name not in WITHOUT_NETWORK)
    assert cls.personal is (name in PERSONAL)
    assert cls.mixing == MIXING.get(name, "doubly stochastic")


def documented_parameters(cls):
    """Return the names in the section "Parameters" of a class's docstring."""
    _, _, rest = inspect.getdoc(cls).partition("\nParameters\n----------\n")
    names = re.findall(r"^(\w+(?:, \w+)*) : \S", rest.partition("\n\n")[0], re.M)
    return {name for names_of_line in names for name in names_of_line.split(", ")}


@pytest.mark.drawn(99)
@pytest.mark.parametrize("name", REGISTERED)
def test_class_is_documented_and_frozen(name):
    cls = alg.get(name)
    own = {f.name for f in dataclasses.fields(cls)} - {"decay", "weight_decay"}
    assert documented_parameters(cls) == own
    assert "\nReferences\n----------\n" in inspect.getdoc(cls)
    assert cls.source
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_algorithm(name).decay = 0.5
    assert make_algorithm(name) == make_algorithm(name)


BAD = {
    "eta": (0.0, -1.0, float("nan"), float("inf"), "0.1", True),
    "eta_u": (0.0, float("nan")),
    "eta_v": (0.0, -1.0, None),
    "beta": (0.0, -1.0, "1"),
    "eta_s": (0.0, float("inf"), "1"),
    "lam": (0.0, -0.5, float("inf")),
    "rho": (-0.1, float("nan"), None),
    "alpha": (-0.1, 1.0),
    "gamma": (0.0, 1.1),
    "share": (0.0, 1.1),
    "levels": (0, 1.5),
    "compressor": ("topk",),
    "mu": (-0.1, 1.1, True),
    "K": (0, -1, 1.5, True, "3"),
    "K_u": (0, 2.0),
    "K_v": (0, -2),
    "Q": (0, 1.5),
    "R": (0, 1.5),
    "sparsity": (1.0, -0.1),
    "prune": (1.5, -0.1),
    "clip": (-1.0, float("nan"), None),
    "density": ("ERK",),
    "first": ("mine",),
    "growth": ("gradients",),
    "participation": (0.0, 1.5),
    "decay": (0.0, 1.1),
    "weight_decay": (-1e-4, float("nan")),
    "sam": ("w",),
    "option": ("i", 2),
    "order": ("adapt",),
    "offset": (0.0, -2.0, float("inf")),
}


@pytest.mark.parametrize("name", REGISTERED)
def test_algorithm_rejects_bad_hyperparameters_in_one_line(name):
    for f in dataclasses.fields(alg.get(name)):
        if f.type == "bool":
            continue
        for value in BAD[f.name]:
            with pytest.raises(DFLTheoryError, match=rf"{f.name} = ") as caught:
                make_algorithm(name, **{f.name: value})
            assert "\n" not in str(caught.value)


def test_numbers_of_numpy_are_numbers():
    algorithm = alg.DFedSAM(eta=np.float32(0.5), K=np.int64(3), rho=np.int8(1))
    assert algorithm == alg.DFedSAM(eta=0.5, K=3, rho=1.0)
    assert [type(value) for value in (algorithm.eta, algorithm.K, algorithm.rho)] == [
        float,
        int,
        int,
    ]
    for hyperparameters in (
        {"eta": np.float64(0)},
        {"eta": np.float32("nan")},
        {"K": np.float64(3)},
    ):
        with pytest.raises(DFLTheoryError, match="must be"):
            alg.DFedSAM(**{"eta": 0.5, "K": 3, **hyperparameters})


@pytest.mark.parametrize("step", [0, 1, 7, 100])
def test_step_sizes_of_fedavg_decrease_with_the_steps_of_the_whole_run(step):
    """The step size is eta gamma/(gamma + s) with s = t K + k (Li et al. 2020)."""
    t, k = divmod(step, 3)
    assert alg.FedAvg(eta=0.5, K=3, offset=4.0).step(0.5, t, k) == pytest.approx(
        0.5 * 4 / (4 + step), rel=1e-15
    )
    assert alg.FedAvg(eta=0.5, K=3).step(0.5, t, k) == 0.5


def test_hyperparameters_of_a_users_algorithm_obey_its_declared_ranges():
    own = dataclasses.make_dataclass(
        "Own", [("alpha", float)], bases=(alg.Algorithm,), frozen=True
    )
    assert own(alpha=2).alpha == 2
    for value in (0.0, 1.1):
        with pytest.raises(DFLTheoryError, match=r"Own: decay = "):
            own(alpha=2, decay=value)
    own.ranges = {"alpha": ("a number > 1", lambda v: v > 1)}
    assert own(alpha=2).alpha == 2
    for value in (1, float("nan"), "2"):
        with pytest.raises(DFLTheoryError, match=r"Own: alpha = "):
            own(alpha=value)


def test_get_accepts_spellings_and_rejects_unknown_names():
    assert alg.get("DFedADMM-SAM") is alg.DFedADMMSAM
    assert alg.get("d_psgd") is alg.DPSGD
    with pytest.raises(UnknownNameError, match="dfedsam"):
        alg.get("dfedsan")


def test_text_and_lists_are_no_numbers_of_a_users_algorithm():
    for value in ("a", [0.1]):
        with pytest.raises(InputError, match=r"\beta\b"):
            Plain(value)  # type: ignore[arg-type]


class Undeclared(Plain):
    step: float = 0.1


class Constants(Plain):
    source: ClassVar[str] = "mine"
    comment: "ClassVar" = 1


def test_hyperparameters_must_be_fields_of_the_class():
    for kind in (*alg.ALGORITHMS.values(), Plain, Constants):
        check_class(kind)
    for refuses in (check_class, alg.register):
        with pytest.raises(InputError, match=r"Undeclared: step\b"):
            refuses(Undeclared)


def test_registered_class_is_found_by_name_and_keeps_its_place_in_documents(
    monkeypatch,
):
    monkeypatch.setattr(alg, "_REGISTERED", {})
    assert alg.register(MixesTwice) is MixesTwice
    assert alg.register(MixesTwice) is MixesTwice  # its module may be imported again
    assert alg.get("mixes-twice") is MixesTwice
    assert "mixestwice" in section_names("algorithm")
    assert "mixestwice" not in alg.ALGORITHMS
    assert algorithm_name(MixesTwice) == "tests.algorithms.user_algorithms:MixesTwice"
    for name in ("DFedAvg", "MixesTwice"):
        with pytest.raises(InputError, match=name.lower()):
            alg.register(type(name, (Plain,), {}))
    with pytest.raises(InputError, match="@register"):
        alg.register(MixesTwice())


@pytest.mark.parametrize("flag", ["no", "False", None, 2, [True]])
def test_a_flag_that_is_neither_true_nor_false_is_rejected(flag):
    with pytest.raises(InputError, match="keep_momentum"):
        alg.DFedAvgM(eta=0.1, K=2, keep_momentum=flag)
    with pytest.raises(InputError, match="nesterov"):
        alg.QGDSGDm(eta=0.1, nesterov=flag)
    assert alg.DFedAvgM(eta=0.1, K=2, keep_momentum=np.True_).keep_momentum


def test_a_hyperparameter_that_a_class_lacks_is_named():
    @dataclasses.dataclass(frozen=True)
    class WithoutStepSize(LocalSteps):
        K: int = 1

    assert WithoutStepSize().hyperparameter("rho") == 0  # implied
    with pytest.raises(InputError, match="eta"):
        WithoutStepSize().hyperparameter("eta")


def test_ranges_rejects_a_name_without_standard_range():
    with pytest.raises(UnknownNameError, match="etta"):
        ranges("etta K")


@pytest.mark.parametrize("alias", sorted(alg.ALIASES))
def test_register_rejects_the_names_by_which_papers_call_other_algorithms(alias):
    with pytest.raises(InputError, match=alias):
        alg.register(type(alias.upper(), (Plain,), {}))
    assert alg.get(alias) is alg.ALIASES[alias][0]
