"""Properties that every registered algorithm must have."""

import dataclasses
import inspect

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.errors import DFLTheoryError, UnknownNameError
from dfltheory.randomness import RunGenerators
from dfltheory.testing import check_algorithm
from dfltheory.training import train
from dfltheory.training.oracle import RoundOracle
from tests.algorithms.problems import Rows, dense_mix
from tests.algorithms.table import (
    HYPERPARAMETERS,
    MIXING,
    PERSONAL,
    SIGNATURES,
    WITHOUT_NETWORK,
    network_for,
)

REGISTERED = sorted(alg.ALGORITHMS)
VARIANTS = {
    "dpsgd, adapt then combine": ("dpsgd", {"order": "adapt-then-combine"}),
    "dfedavgm, momentum reset": ("dfedavgm", {"keep_momentum": False}),
    "dispfl, other choices": (
        "dispfl",
        {
            "clip": 0.1,
            "density": "uniform",
            "first": "own",
            "growth": "random",
            "order": "search-then-send",
        },
    ),
    "dsgt, combine then adapt": ("dsgt", {"order": "combine-then-adapt"}),
    "d2, lazy": ("d2", {"lazy": True}),
    "pushpull, combine then adapt": ("pushpull", {"order": "combine-then-adapt"}),
    "ltadmm, two step sizes": ("ltadmm", {"beta": 0.1}),
    "qgdsgdm, nesterov": ("qgdsgdm", {"mu": 0.8, "nesterov": True}),
    "chocosgd, signs": ("chocosgd", {"compressor": "sign"}),
    "scaffold, option I": ("scaffold", {"option": "I"}),
    "dfedsmdc, one minibatch": ("dfedsmdc", {"fresh": False, "sam": "u", "alpha": 0.5}),
}
NAMES = [*REGISTERED, *VARIANTS]
WITHOUT_ARCS = [
    name for name in NAMES if alg.get(name.split(",")[0]).links == "directed"
]
"""Algorithms whose network can be replaced by a matrix product; the public contract
covers the others as well.
"""
D = 6


def make(name, **changes):
    name, hyperparameters = VARIANTS.get(name, (name, {}))
    return alg.get(name)(**{**HYPERPARAMETERS[name], **hyperparameters, **changes})


def unmasked(name):
    """Disable masks, which are drawn in the run's precision and on its device."""
    return make(name, **({"sparsity": 0.0} if hasattr(make(name), "sparsity") else {}))


def problem(batch=2, dtype=torch.float64, **options):
    return Rows(
        d=D,
        batch=batch,
        shared=slice(0, 4),
        parts=((0, 3), (3, D)),
        dtype=dtype,
        **options,
    )


def tensors(state):
    values = {f.name: getattr(state, f.name) for f in dataclasses.fields(state)}
    return {k: v for k, v in values.items() if isinstance(v, torch.Tensor)}


@pytest.mark.drawn(99)
@pytest.mark.parametrize("name", SIGNATURES)
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


@pytest.mark.drawn(99)
@pytest.mark.parametrize("name", REGISTERED)
def test_is_documented_and_frozen(name):
    cls = alg.get(name)
    for f in dataclasses.fields(cls):
        if f.name in ("decay", "weight_decay", "participation"):
            continue
        assert (
            f"``{f.name}``" in cls.__doc__
            or f"``{f.name}," in cls.__doc__
            or f", {f.name}``" in cls.__doc__
        )
    assert "Source:" in cls.__doc__
    assert cls.source
    with pytest.raises(dataclasses.FrozenInstanceError):
        make(name).decay = 0.5
    assert make(name) == make(name)


@pytest.mark.drawn(8)
@pytest.mark.parametrize("name", NAMES)
def test_keeps_the_public_contract(name):
    check_algorithm(make(name))
    if unmasked(name) != make(name):
        check_algorithm(unmasked(name), checks=["stationary point"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", NAMES)
def test_trains_in_other_precisions(name, dtype):
    algorithm = unmasked(name)
    topology = network_for(algorithm, 5)
    run, fine = (
        train(algorithm, problem(dtype=kind), topology, rounds=3, seeds=2)
        for kind in (dtype, torch.float64)
    )
    assert run.x.dtype == np.float32  # numpy has no bfloat16
    assert run.diverged_at is None
    tolerance = 1e-4 if dtype == torch.float32 else 0.1
    np.testing.assert_allclose(run.loss, fine.loss, rtol=0, atol=tolerance)


class Elsewhere(Rows):
    """The same problem on a simulated device whose tensors cannot be combined with CPU
    tensors.
    """

    def __init__(self):
        super().__init__(d=D, shared=slice(0, 4), parts=((0, 3), (3, D)), batch=None)
        self.device = torch.device("meta")
        self.rows = self.rows.to(self.device)


class OracleWithoutGenerators(RoundOracle):
    """Arbitrary random numbers on a device without a generator."""

    def uniform(self, shape):
        return torch.empty(
            len(self._generators),
            *shape,
            dtype=self._task.dtype,
            device=self._task.device,
        )


@pytest.mark.parametrize("name", WITHOUT_ARCS)
def test_stays_on_the_device_of_its_models(name):
    """Combining with a tensor on another device, or reading values on the host, raises
    an error.
    """
    task, algorithm = Elsewhere(), make(name)
    generators = RunGenerators(3, range(2))
    grad = OracleWithoutGenerators(task, generators, 0, 5)
    state = algorithm.init(
        torch.zeros(2, task.m, D, dtype=torch.float64, device="meta"), grad
    )
    W = torch.zeros(task.m, task.m, device="meta")
    for t in range(2):
        grad = OracleWithoutGenerators(task, generators, t, 5)
        state = algorithm.communicate(algorithm.local_update(state, grad), dense_mix(W))
    state = algorithm.finish(state, grad)
    for tensor in (
        *tensors(state).values(),
        algorithm.models(state),
        algorithm.mean(state),
    ):
        assert tensor.device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("name", NAMES)
def test_runs_on_a_gpu(name):
    from dfltheory.tasks import quadratic

    algorithm = unmasked(name)
    topology = network_for(algorithm, 5)
    runs = [
        train(
            algorithm,
            quadratic(m=5, d=4, sigma=0.0, seed=0, device=device),
            topology,
            rounds=3,
        )
        for device in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(runs[0].x, runs[1].x, rtol=0, atol=1e-10)


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
                make(name, **{f.name: value})
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
