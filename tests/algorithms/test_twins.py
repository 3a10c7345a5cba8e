"""Every algorithm agrees with a literal implementation for one client at a time, to
1e-10 in float64.
"""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.randomness import RunGenerators
from dfltheory.training import train
from dfltheory.training.oracle import RoundOracle
from tests import reference
from tests.algorithms.problems import Matrices, Rows, permuted_average, ring_matrix

ROUNDS, SEEDS, ROOT = 4, 2, 11
U, V = [0, 1, 2], [3, 4]


def case(cls, twin, calls, hyperparameters, **more):
    return cls(**hyperparameters), twin, calls, {**hyperparameters, **more}


GOSSIP = {
    "cooperativesgd": case(
        alg.CooperativeSGD, reference.cooperativesgd, 1, {"eta": 0.2, "K": 2}
    ),
    "dpsgd": case(alg.DPSGD, reference.dpsgd, 1, {"eta": 0.3}),
    "dpsgd-atc": case(
        alg.DPSGD, reference.dpsgd, 1, {"eta": 0.3, "order": "adapt-then-combine"}
    ),
    "dfedavg": case(alg.DFedAvg, reference.dfedavg, 3, {"eta": 0.2, "K": 3}),
    "dfedavgm": case(
        alg.DFedAvgM, reference.dfedavgm, 3, {"eta": 0.2, "K": 3, "alpha": 0.7}
    ),
    "dfedavgm-kept": case(
        alg.DFedAvgM,
        reference.dfedavgm,
        3,
        {"eta": 0.2, "K": 3, "alpha": 0.7, "keep_momentum": True},
    ),
    "dfedsam": case(
        alg.DFedSAM, reference.dfedsam, 3, {"eta": 0.2, "K": 3, "rho": 0.4}
    ),
    "dfedsam-mgs": case(
        alg.DFedSAM, reference.dfedsam, 2, {"eta": 0.2, "K": 2, "rho": 0.4, "Q": 3}
    ),
    "qgdsgdm": case(
        alg.QGDSGDm, reference.qgdsgdm, 1, {"eta": 0.3, "alpha": 0.7, "mu": 0.6}
    ),
    "qgdsgdm-nesterov": case(
        alg.QGDSGDm,
        reference.qgdsgdm,
        1,
        {"eta": 0.2, "alpha": 0.7, "nesterov": True},
        mu=0.7,
    ),
    "dsgt": case(
        alg.DSGT, reference.dsgt, 1, {"eta": 0.3, "order": "adapt-then-combine"}
    ),
    "diging": case(
        alg.DSGT, reference.dsgt, 1, {"eta": 0.3, "order": "combine-then-adapt"}
    ),
    "kgt": case(alg.KGT, reference.kgt, 3, {"eta": 0.2, "K": 3, "eta_s": 0.7}),
    "extra": case(alg.EXTRA, reference.extra, 1, {"eta": 0.3}),
    "d2": case(alg.D2, reference.d2, 1, {"eta": 0.3}),
    "exact-diffusion": case(alg.D2, reference.d2, 1, {"eta": 0.3, "lazy": True}),
    "chocosgd": case(
        alg.CHOCOSGD,
        reference.chocosgd,
        1,
        {"eta": 0.3, "gamma": 0.4, "compressor": "top-k", "share": 0.5},
    ),
    "chocosgd-signs": case(
        alg.CHOCOSGD,
        reference.chocosgd,
        1,
        {"eta": 0.3, "gamma": 0.3, "compressor": "sign"},
    ),
    "sgp": case(alg.SGP, reference.push_sum, 1, {"eta": 0.3}),
    "osgp": case(alg.OSGP, reference.push_sum, 3, {"eta": 0.2, "K": 3}),
    "dfedsgpm": case(
        alg.DFedSGPM, reference.push_sum, 3, {"eta": 0.2, "K": 3, "alpha": 0.6}
    ),
    "dfedsgpsm": case(
        alg.DFedSGPSM,
        reference.push_sum,
        3,
        {"eta": 0.2, "K": 3, "alpha": 0.6, "rho": 0.3},
    ),
    "dfedadmm": case(
        alg.DFedADMM, reference.dfedadmm, 3, {"eta": 0.2, "K": 3, "lam": 0.5}
    ),
    "dfedadmmsam": case(
        alg.DFedADMMSAM,
        reference.dfedadmm,
        3,
        {"eta": 0.2, "K": 3, "lam": 0.5, "rho": 0.3},
    ),
}
NETWORKED = {
    "pushpull": case(
        alg.PushPull, reference.pushpull, 1, {"eta": 0.3, "order": "adapt-then-combine"}
    ),
    "ab": case(
        alg.PushPull, reference.pushpull, 1, {"eta": 0.3, "order": "combine-then-adapt"}
    ),
    "adpsgd": case(alg.ADPSGD, reference.adpsgd, 1, {"eta": 0.3}),
    "ltadmm": case(alg.LTADMM, reference.ltadmm, 3, {"eta": 0.2, "K": 3, "lam": 0.4}),
    "ltadmm-two-step-sizes": case(
        alg.LTADMM, reference.ltadmm, 2, {"eta": 0.2, "K": 2, "lam": 0.4, "beta": 0.3}
    ),
    "relaysgd": case(alg.RelaySGD, reference.relaysgd, 1, {"eta": 0.3}),
}
TWO_BLOCKS = {
    "dfedmdc": case(
        alg.DFedMDC,
        reference.dfedmdc,
        5,
        {"eta_u": 0.2, "eta_v": 0.3, "K_u": 3, "K_v": 2},
        u=U,
        v=V,
    ),
    "dfedmdc-momentum-one-batch": case(
        alg.DFedMDC,
        reference.dfedmdc,
        1,
        {"eta_u": 0.2, "eta_v": 0.3, "K_u": 3, "K_v": 2, "alpha": 0.5, "fresh": False},
        u=U,
        v=V,
    ),
    "dfedsmdc-momentum-one-batch": case(
        alg.DFedSMDC,
        reference.dfedmdc,
        1,
        {
            "eta_u": 0.2,
            "eta_v": 0.3,
            "K_u": 3,
            "K_v": 2,
            "rho": 0.4,
            "alpha": 0.5,
            "fresh": False,
        },
        u=U,
        v=V,
    ),
} | {
    f"dfedsmdc-{sam}": case(
        alg.DFedSMDC,
        reference.dfedmdc,
        5,
        {"eta_u": 0.2, "eta_v": 0.3, "K_u": 3, "K_v": 2, "rho": 0.4, "sam": sam},
        u=U,
        v=V,
    )
    for sam in ("u", "v", "uv")
}
SERVER = {
    "fedavg": case(alg.FedAvg, reference.fedavg, 3, {"eta": 0.2, "K": 3, "alpha": 0.4}),
    "fedsam": case(
        alg.FedSAM, reference.fedavg, 3, {"eta": 0.2, "K": 3, "rho": 0.3, "alpha": 0.4}
    ),
    "localsgd": case(alg.LocalSGD, reference.localsgd, 1, {"eta": 0.2, "K": 3}),
    "easgd": case(alg.EASGD, reference.easgd, 1, {"eta": 0.2, "K": 2}),
    "local": case(alg.Local, reference.local, 3, {"eta": 0.2, "K": 3, "alpha": 0.4}),
    "fedper": case(
        alg.FedPer, reference.fedper, 3, {"eta": 0.2, "K": 3, "alpha": 0.4}, u=U, v=V
    ),
    "fedrep": case(
        alg.FedRep,
        reference.fedrep,
        5,
        {"eta_u": 0.2, "eta_v": 0.3, "K_u": 2, "K_v": 3, "alpha": 0.4},
        u=U,
        v=V,
    ),
    "fedbabu": case(
        alg.FedBABU,
        reference.fedbabu,
        3,
        {"eta": 0.2, "K": 3, "K_v": 2, "alpha": 0.4},
        u=U,
        v=V,
    ),
    "fedrod": case(alg.FedRoD, reference.fedrod, 3, {"eta": 0.2, "K": 3}, u=U, v=V),
    "ditto": case(
        alg.Ditto, reference.ditto, 5, {"eta": 0.2, "K": 3, "K_v": 2, "lam": 0.8}
    ),
    "ditto-as-many": case(
        alg.Ditto,
        reference.ditto,
        6,
        {"eta": 0.2, "K": 3, "K_v": None, "lam": 0.8},
        K_v=3,
    ),
    "fedprox": case(
        alg.FedProx, reference.fedprox, 3, {"eta": 0.2, "K": 3, "lam": 0.8}
    ),
    "scaffold": case(
        alg.SCAFFOLD,
        reference.scaffold,
        3,
        {"eta": 0.2, "K": 3, "eta_s": 0.8, "option": "II"},
    ),
    "scaffold-I": case(
        alg.SCAFFOLD,
        reference.scaffold,
        4,
        {"eta": 0.2, "K": 3, "eta_s": 0.8, "option": "I"},
    ),
    "fedpd": case(
        alg.FedPD, reference.fedpd, 3, {"eta": 0.2, "K": 3, "lam": 0.8, "R": 1}
    ),
    "fedpd-silent": case(
        alg.FedPD, reference.fedpd, 2, {"eta": 0.2, "K": 2, "lam": 0.8, "R": 2}
    ),
    "feddyn": case(alg.FedDyn, reference.feddyn, 3, {"eta": 0.2, "K": 3, "lam": 0.8}),
}
SCHEDULES = {"constant": {}, "decaying": {"decay": 0.8, "weight_decay": 0.3}}


def starts(task):
    return np.random.default_rng(1).normal(size=(SEEDS, task.m, task.d))


def network(kind, m):
    rng = np.random.default_rng(5)
    moving = [permuted_average(m, rng) for _ in range(4)]
    return {
        "ring": Matrices([ring_matrix(m)]),
        "moving": Matrices(moving),
        "random": Matrices(moving, random=True),
        "directed": Matrices([directed(m, rng) for _ in range(3)]),
    }[kind]


def directed(m, rng):
    """Column-stochastic, with rows that do not sum to one."""
    P = np.eye(m) + (rng.random((m, m)) < 0.4)
    return P / P.sum(axis=0)


def draws_of(task, calls):
    """Return the draws by [t][k][s][i], and those after the last round."""
    drawn = task.drawn
    rounds = [np.array(drawn[t * calls : (t + 1) * calls]) for t in range(ROUNDS)]
    return [*rounds, np.array(drawn[ROUNDS * calls :])]


def agree(run, s, path):
    np.testing.assert_allclose(run.x[s], np.array(path[-1]), rtol=0, atol=1e-10)
    means = np.array([np.mean(x, axis=0) for x in path])
    consensus = [
        np.mean([np.sum((v - mean) ** 2) for v in x]) for x, mean in zip(path, means)
    ]
    return means, np.array(consensus)


PUSH_SUM = ("sgp", "osgp", "dfedsgpm", "dfedsgpsm")
PAIRS = [(name, kind) for name in GOSSIP for kind in ("ring", "moving", "random")]
PAIRS += [(name, "directed") for name in PUSH_SUM]


def scheduled(case, schedule):
    """Return the case with or without decaying step sizes and weight decay, and the
    twin's hyperparameters.
    """
    algorithm, twin, calls, hyperparameters = case
    return (
        replace(algorithm, **SCHEDULES[schedule]),
        twin,
        calls,
        {**hyperparameters, **SCHEDULES[schedule]},
    )


@pytest.mark.drawn(20)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_over_networks(name, kind, schedule):
    algorithm, twin, calls, hyperparameters = scheduled(GOSSIP[name], schedule)
    task = Rows()
    sequence = network(kind, task.m)
    x0 = starts(task)
    options = {"rounds": ROUNDS, "seeds": SEEDS, "x0": x0, "seed": ROOT}
    # twins also agree on networks that D^2, EXTRA and CHOCO-SGD reject
    run = train(algorithm, task, sequence, **options, check_topology=False)
    draws = draws_of(task, calls)
    of_seed = SEEDS if kind == "random" else 1
    every = (
        hyperparameters["K"] if name == "cooperativesgd" else 1
    )  # rounds per exchange
    given = np.array(sequence.given).reshape(
        ROUNDS // every, of_seed, hyperparameters.get("Q", 1), task.m, task.m
    )
    given = given.repeat(every, axis=0)
    for s in range(SEEDS):
        path = twin(
            list(x0[s]),
            task.one_gradient,
            [d[:, s] for d in draws[:-1]],
            given[:, s % of_seed],
            **hyperparameters,
        )
        means, consensus = agree(run, s, path)
        if name in PUSH_SUM and kind == "directed":
            continue  # there xbar is the mean of x, not of x / w
        np.testing.assert_allclose(run.consensus[s], consensus, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(run.grad_norm_sq[s], squares(task, means), rtol=1e-9)
        if "lam" in hyperparameters and "decay" not in hyperparameters:
            w = reference.auxiliary_sequence(
                means,
                hyperparameters["eta"],
                hyperparameters["K"],
                hyperparameters["lam"],
            )
            np.testing.assert_allclose(
                run.extra["grad_norm_sq_w"][s], squares(task, w), rtol=1e-9
            )


def pair(m, i, j):
    """Return a matrix that averages clients i and j; the others are inactive."""
    W = np.eye(m)
    W[np.ix_([i, j], [i, j])] = 0.5
    return W


TREE = nx.Graph([(0, 1), (1, 2), (1, 3), (3, 4)])


def asked(name, m):
    """Return the topology for algorithms with special requirements, and its matrix of
    each round.
    """
    rng = np.random.default_rng(6)
    if name in ("pushpull", "ab"):
        rows, columns = (
            [directed(m, rng).T for _ in range(3)],
            [directed(m, rng) for _ in range(2)],
        )
        given = [(rows[t % 3], columns[t % 2]) for t in range(ROUNDS)]
        return {"W": Matrices(rows), "B": Matrices(columns)}, given
    if name == "adpsgd":
        pairs = [pair(m, 0, 3), pair(m, 1, 3), pair(m, 2, 4)]
        return pairs, [[pairs[t % 3]] for t in range(ROUNDS)]
    graph = TREE if name == "relaysgd" else nx.Graph([*TREE.edges, (0, 4), (2, 4)])
    return graph, [[nx.to_numpy_array(graph, nodelist=range(m))]] * ROUNDS


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", NETWORKED)
def test_what_asks_more_of_the_network(name, schedule):
    algorithm, twin, calls, hyperparameters = scheduled(NETWORKED[name], schedule)
    task = Rows()
    x0, (topology, given) = starts(task), asked(name, task.m)
    run = train(algorithm, task, topology, rounds=ROUNDS, seeds=SEEDS, x0=x0, seed=ROOT)
    draws = draws_of(task, calls)
    for s in range(SEEDS):
        path = twin(
            list(x0[s]),
            task.one_gradient,
            [d[:, s] for d in draws[:-1]],
            given,
            **hyperparameters,
        )
        _, consensus = agree(run, s, path)
        np.testing.assert_allclose(run.consensus[s], consensus, rtol=1e-9, atol=1e-12)


def squares(task, points):
    gradients = [task.mean_gradient(point) for point in points]
    return [g @ g for g in gradients]


@pytest.mark.drawn(8)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("split", ["slice", "positions"])
@pytest.mark.parametrize("name", TWO_BLOCKS)
def test_two_blocks(name, split, schedule):
    algorithm, twin, calls, hyperparameters = scheduled(TWO_BLOCKS[name], schedule)
    u = [0, 1, 2] if split == "slice" else [0, 2, 4]
    v = [j for j in range(5) if j not in u]
    task = Rows(m=4, d=5, shared=slice(0, 3) if split == "slice" else torch.tensor(u))
    sequence, x0 = network("moving", task.m), starts(task)
    run = train(algorithm, task, sequence, rounds=ROUNDS, seeds=SEEDS, x0=x0, seed=ROOT)
    draws = draws_of(task, calls)
    given = np.array(sequence.given).reshape(ROUNDS, 1, task.m, task.m)
    for s in range(SEEDS):
        hyperparameters = {**hyperparameters, "u": u, "v": v}
        path = twin(
            list(x0[s]),
            task.one_gradient,
            [d[:, s] for d in draws[:-1]],
            given,
            **hyperparameters,
        )
        _, consensus = agree(run, s, path)
        np.testing.assert_allclose(run.consensus[s], consensus, rtol=1e-9, atol=1e-12)


@pytest.mark.drawn(24)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("name", SERVER)
def test_with_a_server(name, share, schedule):
    algorithm, twin, calls, hyperparameters = scheduled(SERVER[name], schedule)
    if samples := hasattr(algorithm, "participation"):
        algorithm = replace(algorithm, participation=share)
    task = Rows(m=4, d=5, shared=slice(0, 3))
    x0 = starts(task)
    if "u" not in hyperparameters:
        x0 = np.repeat(x0[:, :1], task.m, axis=1)  # all clients have the server's model
    run = train(algorithm, task, rounds=ROUNDS, seeds=SEEDS, x0=x0, seed=ROOT)
    draws = draws_of(task, calls)
    for s in range(SEEDS):
        active = [list(range(task.m)) for _ in range(ROUNDS)]
        if share < 1 and samples:
            generators = RunGenerators(ROOT, range(SEEDS))
            masks = [
                RoundOracle(task, generators, t, ROUNDS, share).active
                for t in range(ROUNDS)
            ]
            active = [mask[s, :, 0].nonzero()[:, 0].tolist() for mask in masks]
            assert all(len(clients) == 2 for clients in active)
        first = (
            [task.one_gradient]
            if name != "fedrod"
            else [task.one_gradient, task.one_balanced_gradient]
        )
        path = twin(
            list(x0[s]),
            *first,
            [d[:, s] if len(d) else d for d in draws],
            active,
            **hyperparameters,
        )
        _, consensus = agree(run, s, path)
        if not name.startswith(("ditto", "fedrod")):  # their mean is the server's model
            np.testing.assert_allclose(
                run.consensus[s, -1:], consensus[-1:], rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("order", ["send-then-search", "search-then-send"])
@pytest.mark.parametrize(
    ("first", "density", "living"),
    [("common", "erk", (4, 1, 2)), ("own", "uniform", (5, 1, 1))],
)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_dispfl(schedule, first, density, living, order):
    """A matrix of shape (3, 3) and vectors of sizes 2 and 3.

    60 % of the 14 weights are active; the densities by ERK are .509, .764 and .764.
    """
    task = Rows(d=14, parts=((0, 9), (9, 11), (11, 14)), shapes=((3, 3), (2,), (3,)))
    sequence, x0 = network("moving", task.m), starts(task)
    hyperparameters = {
        "eta": 0.3,
        "K": 2,
        "sparsity": 0.4,
        "prune": 0.8,
        "clip": 0.7,
        "density": density,
    }
    hyperparameters |= {"order": order, **SCHEDULES[schedule]}
    algorithm = alg.DisPFL(first=first, **hyperparameters)
    run = train(algorithm, task, sequence, rounds=ROUNDS, seeds=SEEDS, x0=x0, seed=ROOT)
    grad = RoundOracle(task, RunGenerators(ROOT, range(SEEDS)), ROUNDS, ROUNDS)
    masks = algorithm.init(torch.tensor(x0), grad).mask.numpy()
    blocks = [range(9), range(9, 11), range(11, 14)]
    for block, count in zip(blocks, living, strict=True):
        assert (masks[..., block].sum(-1) == count).all()
    draws = draws_of(task, 3)
    given = np.array(sequence.given).reshape(ROUNDS, 1, task.m, task.m)
    for s in range(SEEDS):
        draw = [d[:, s] for d in draws[:-1]]
        path = reference.dispfl(
            list(x0[s]),
            task.one_gradient,
            draw,
            given,
            list(masks[s]),
            blocks,
            **hyperparameters,
        )
        agree(run, s, path)
    for block, count in zip(blocks, living, strict=True):
        assert ((run.x[..., block] != 0).sum(-1) <= count).all()


def test_every_algorithm_has_a_twin():
    tested = [
        c[0].name
        for table in (GOSSIP, NETWORKED, TWO_BLOCKS, SERVER)
        for c in table.values()
    ] + ["dispfl"]
    assert set(tested) == set(alg.ALGORITHMS)


@pytest.mark.parametrize("name", PUSH_SUM)
def test_neighbours_that_losses_choose(name):
    """In round t of DFedSGPSM-S, the network gets f_i(x_i / w_i) of every client before
    local work.
    """
    algorithm, twin, calls, hyperparameters = GOSSIP[name]
    task, losses_of_rounds, P = Rows(), [], directed(5, np.random.default_rng(8))

    class Driven(Matrices):
        needs_losses = True

        def matrix(self, t, rng, losses=None):
            losses_of_rounds.append(losses)
            self.given.append(P[np.argsort(losses)][:, np.argsort(losses)])
            return self.given[-1]

    sequence, x0 = Driven([P], random=True), starts(task)
    run = train(algorithm, task, sequence, rounds=ROUNDS, seeds=SEEDS, x0=x0, seed=ROOT)
    draws = draws_of(task, calls)
    given = np.array(sequence.given).reshape(ROUNDS, SEEDS, 1, task.m, task.m)
    for s in range(SEEDS):
        path = twin(
            list(x0[s]),
            task.one_gradient,
            [d[:, s] for d in draws[:-1]],
            given[:, s],
            **hyperparameters,
        )
        np.testing.assert_allclose(run.x[s], np.array(path[-1]), rtol=0, atol=1e-10)
        for t, models in enumerate(path[:-1]):
            losses = [one_loss(task, i, z) for i, z in enumerate(models)]
            np.testing.assert_allclose(
                losses_of_rounds[t * SEEDS + s], losses, rtol=1e-9
            )


def one_loss(task, i, z):
    """Return the mean of log(1 + exp(-a z)) over the rows a of client i, plus 0.05
    |z|^2.
    """
    return np.mean([np.log1p(np.exp(-float(a @ z))) for a in task.a[i]]) + 0.05 * float(
        z @ z
    )
