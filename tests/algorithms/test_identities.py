"""Identities that the theory states for the updates: invariants, closed forms and
special cases.
"""

from dataclasses import fields, replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dfltheory.algorithms as alg
from dfltheory.training import train
from tests.algorithms.problems import (
    Matrices,
    Rows,
    Scripted,
    dense_mix,
    permuted_average,
    ring_matrix,
)
from tests.algorithms.table import HYPERPARAMETERS

F64 = torch.float64


def gradients(K, shape=(1, 4, 3), seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator, dtype=F64) for _ in range(K)]


def start(shape=(1, 4, 3)):
    return torch.randn(shape, generator=torch.Generator().manual_seed(99), dtype=F64)


def directed(m, seed=0):
    P = np.eye(m) + (np.random.default_rng(seed).random((m, m)) < 0.4)
    return P / P.sum(axis=0)


KEEPS_MEANS = [
    name
    for name, kind in alg.ALGORITHMS.items()
    if kind.needs_topology
    and kind.mixing != "row-stochastic"
    and kind.links == "directed"
]
"""Algorithms with a state for every arc need a network's arcs; their sums are tested in
test_families.py.
"""


EVERY_ROUND = {"cooperativesgd": {"K": 1}}
"""Hyperparameters with which neighbors communicate in every round."""


@pytest.mark.parametrize("name", KEEPS_MEANS)
def test_communication_keeps_the_mean_and_lets_go_of_what_was_for_it_alone(name):
    """If columns sum to 1, communication preserves the mean; temporary fields are
    dropped.

    It is applied twice, since all fields of the state matter.
    """
    hyperparameters = HYPERPARAMETERS[name] | EVERY_ROUND.get(name, {})
    algorithm, state = alg.get(name)(**hyperparameters), None
    for t in range(2):
        scripted = Scripted(gradients(3, seed=t))
        scripted.shared = slice(0, 2)
        state = algorithm.init(start(), scripted) if state is None else state
        local = algorithm.local_update(state, scripted)
        alone = algorithm.communicate(local, dense_mix(np.eye(4)))
        state = algorithm.communicate(
            local, dense_mix(permuted_average(4, np.random.default_rng(1)))
        )
        torch.testing.assert_close(state.x.mean(1), alone.x.mean(1), rtol=0, atol=1e-13)
        assert not torch.allclose(state.x, alone.x)
        state = replace(state, z=state.x)
        passing = [
            f.name for f in fields(state) if f.default is None and f.name != "shared"
        ]
        assert [name for name in passing if getattr(state, name) is not None] == []


@pytest.mark.parametrize("name", ["dfedmdc", "dfedsmdc"])
def test_partial_personalization_keeps_the_bodies_mean_and_every_head(name):
    algorithm = alg.get(name)(**HYPERPARAMETERS[name])
    scripted = Scripted(gradients(3))
    scripted.shared = slice(0, 2)
    local = algorithm.local_update(algorithm.init(start(), scripted), scripted)
    mixed = algorithm.communicate(
        local, dense_mix(permuted_average(4, np.random.default_rng(1)))
    )
    torch.testing.assert_close(
        mixed.x[..., :2].mean(1), local.z[..., :2].mean(1), rtol=0, atol=1e-13
    )
    assert not torch.allclose(mixed.x[..., :2], local.z[..., :2])
    assert torch.equal(mixed.x[..., 2:], local.z[..., 2:])


@given(
    name=st.sampled_from(["sgp", "osgp", "dfedsgpm", "dfedsgpsm"]),
    seed=st.integers(0, 10**6),
    rounds=st.integers(1, 12),
    m=st.integers(1, 7),
)
def test_push_sum_weights_sum_to_m_and_stay_positive(name, seed, rounds, m):
    algorithm = alg.get(name)(**HYPERPARAMETERS[name])
    state = algorithm.init(
        torch.ones(1, m, 2, dtype=F64), Scripted(gradients(1, (1, m, 2)))
    )
    for t in range(rounds):
        local = algorithm.local_update(
            state, Scripted(gradients(2, (1, m, 2), seed + t))
        )
        total = local.z.sum(1)
        state = algorithm.communicate(local, dense_mix(directed(m, seed + t)))
        torch.testing.assert_close(
            state.w.sum(1), torch.full((1, 1), float(m), dtype=F64)
        )
        assert (state.w > 0).all()
        # column sums of one: the mean of x is kept
        torch.testing.assert_close(state.x.sum(1), total)
        torch.testing.assert_close(algorithm.models(state) * state.w, state.x)


def test_push_sum_finds_the_minimum_on_a_directed_graph_and_plain_gossip_does_not():
    task = Rows(batch=None)
    P = directed(5, seed=3)
    assert not np.allclose(P.sum(1), 1)
    right = train(
        alg.SGP(eta=0.02), task, Matrices([P]), rounds=700, evaluate_every=700
    )
    gossip = {"rounds": 700, "evaluate_every": 700, "check_topology": False}
    wrong = train(alg.DPSGD(eta=0.02), task, Matrices([P]), **gossip)
    assert right.grad_norm_sq[0, -1] < 1e-3 * right.grad_norm_sq[0, 0]
    assert wrong.grad_norm_sq[0, -1] > 10 * right.grad_norm_sq[0, -1]


@pytest.mark.parametrize("K", [1, 2, 5])
@pytest.mark.parametrize("name", ["dfedadmm", "dfedadmmsam"])
def test_what_dfedadmm_sends_is_its_new_dual(name, K):
    """z - x = -lam * (new dual), and K steps have the closed form (7)."""
    eta, lam = 0.2, 0.5
    algorithm = alg.get(name)(eta=eta, K=K, lam=lam)
    g = gradients(K)
    state = algorithm.init(start(), Scripted(g))
    old = gradients(1, seed=5)[0]
    state = type(state)(x=state.x, z=state.z, dual=old)
    scripted = Scripted(g)
    local = algorithm.local_update(state, scripted)
    torch.testing.assert_close(local.z - local.x, -lam * local.dual, rtol=0, atol=1e-13)
    r = eta / lam
    weights = [r * (1 - r) ** (K - 1 - k) for k in range(K)]
    gamma = 1 - (1 - r) ** K
    assert sum(weights) == pytest.approx(gamma)
    moved = -lam * sum(c * gk for c, gk in zip(weights, g)) + gamma * lam * old
    torch.testing.assert_close(local.z + lam * old - local.x, moved, rtol=0, atol=1e-13)


def test_dfedadmms_auxiliary_sequence_moves_by_the_weighted_mean_gradient():
    """w^{t+1} = w^t - lam * (1/m) sum_i sum_k (gamma_k / gamma) g_{i,k}   [Lemma 9]"""
    eta, lam, K = 0.2, 0.5, 3
    algorithm = alg.DFedADMM(eta=eta, K=K, lam=lam)
    r = eta / lam
    gamma = 1 - (1 - r) ** K
    state = algorithm.init(start(), Scripted(gradients(K)))
    for t in range(4):
        g = gradients(K, seed=t)
        w = algorithm.auxiliary(state)
        local = algorithm.local_update(state, Scripted(g))
        state = algorithm.communicate(
            local, dense_mix(permuted_average(4, np.random.default_rng(t)))
        )
        mean = sum(r * (1 - r) ** (K - 1 - k) / gamma * g[k] for k in range(K)).mean(1)
        torch.testing.assert_close(
            algorithm.auxiliary(state), w - lam * mean, rtol=0, atol=1e-13
        )
    at_the_mean = alg.DFedADMM(eta=0.5, K=3, lam=0.5).auxiliary(state)  # gamma = 1
    torch.testing.assert_close(at_the_mean, state.x.mean(1), rtol=0, atol=1e-15)
    assert alg.DFedADMM(eta=0.2, K=3, lam=0.5, decay=0.9).auxiliary(state) is None
    assert alg.DFedADMM(eta=0.6, K=3, lam=0.5).auxiliary(state) is None


@given(alpha=st.floats(0, 0.99), K=st.integers(1, 8))
def test_k_momentum_steps_in_closed_form(alpha, K):
    """x_{1/2} = x - eta sum_s c_s g_s, c_s = (1 - alpha^{K-s+1})/(1 - alpha)   [DFedSGPSM, Lemma 1]"""
    g = gradients(K)
    c = [(1 - alpha ** (K - s + 1)) / (1 - alpha) for s in range(1, K + 1)]
    expected = start() - 0.3 * sum(cs * gs for cs, gs in zip(c, g))
    cases = [
        alg.DFedAvgM(eta=0.3, K=K, alpha=alpha),
        alg.DFedSGPM(eta=0.3, K=K, alpha=alpha),
        alg.DFedSGPSM(eta=0.3, K=K, alpha=alpha, rho=0.0),
        alg.FedAvg(eta=0.3, K=K, alpha=alpha),
        alg.FedSAM(eta=0.3, K=K, alpha=alpha, rho=0.0),
        alg.FedPer(eta=0.3, K=K, alpha=alpha),
        alg.Local(eta=0.3, K=K, alpha=alpha),
        alg.DFedMDC(eta_u=0.3, eta_v=9.0, K_u=K, K_v=1, alpha=alpha),
        alg.FedRep(eta_u=0.3, eta_v=9.0, K_u=K, K_v=1, alpha=alpha),
        alg.FedBABU(eta=0.3, K=K, alpha=alpha),
    ]
    for algorithm in cases:
        scripted = Scripted(g)
        local = algorithm.local_update(algorithm.init(start(), scripted), scripted)
        torch.testing.assert_close(local.z, expected, rtol=0, atol=1e-11)


def test_sam_moves_by_rho_along_the_gradient_and_not_at_all_without_one():
    y, g = start(), gradients(1)[0]
    g[0, 2] = 0
    moved = alg.perturbed(y, g, 0.7) - y
    torch.testing.assert_close(
        moved[0, [0, 1, 3]].norm(dim=-1), torch.full((3,), 0.7, dtype=F64)
    )
    torch.testing.assert_close(moved[0, 0], 0.7 * g[0, 0] / g[0, 0].norm())
    assert torch.equal(moved[0, 2], torch.zeros(3, dtype=F64))
    room = g.clone()
    assert alg.perturbed(y, room, 0.7, out=room) is room
    torch.testing.assert_close(room, moved + y)
    block = alg.perturbed(y, g, 0.7, block=slice(0, 2)) - y
    assert (block[..., 2] == 0).all()
    torch.testing.assert_close(block[0, 0].norm(), torch.tensor(0.7, dtype=F64))


def path(algorithm, topology=None, rounds=4, **options):
    task = Rows(d=6, **options)
    run = train(
        algorithm,
        task,
        topology,
        rounds=rounds,
        seeds=2,
        seed=3,
        x0=np.linspace(-1, 1, 6),
    )
    return run.x


RING = ring_matrix(5)
COMPLETE = np.full((5, 5), 0.2)


REDUCTIONS = {
    "rho = 0: DFedSAM is DFedAvg": (
        alg.DFedSAM(eta=0.2, K=3, rho=0.0),
        alg.DFedAvg(eta=0.2, K=3),
    ),
    "alpha = 0: DFedAvgM is DFedAvg": (
        alg.DFedAvgM(eta=0.2, K=3, alpha=0.0),
        alg.DFedAvg(eta=0.2, K=3),
    ),
    "K = 1: DFedAvg is D-PSGD, adapt then combine": (
        alg.DFedAvg(eta=0.2, K=1),
        alg.DPSGD(eta=0.2, order="adapt-then-combine"),
    ),
    "alpha = 0: QG-DSGDm remembers, but does not use it": (
        alg.QGDSGDm(eta=0.2, alpha=0.0, mu=0.7),
        alg.DPSGD(eta=0.2, order="adapt-then-combine"),
    ),
    "all is sent, gamma = 1: CHOCO-SGD is D-PSGD, adapt then combine": (
        alg.CHOCOSGD(eta=0.2, gamma=1.0, share=1.0),
        alg.DPSGD(eta=0.2, order="adapt-then-combine"),
    ),
    "K = 1: K-GT is gradient tracking": (alg.KGT(eta=0.2, K=1), alg.DSGT(eta=0.2)),
    "complete graph: K-GT is SCAFFOLD": (
        alg.KGT(eta=0.2, K=3, eta_s=0.7),
        alg.SCAFFOLD(eta=0.2, K=3, eta_s=0.7),
        COMPLETE,
    ),
    "complete graph: gradient tracking is D-PSGD, adapt then combine": (
        alg.DSGT(eta=0.2),
        alg.DPSGD(eta=0.2, order="adapt-then-combine"),
        COMPLETE,
    ),
    "complete graph: D^2 is D-PSGD, adapt then combine": (
        alg.D2(eta=0.2),
        alg.DPSGD(eta=0.2, order="adapt-then-combine"),
        COMPLETE,
    ),
    "A = B doubly stochastic: push-pull is gradient tracking": (
        alg.PushPull(eta=0.2),
        alg.DSGT(eta=0.2),
        ({"W": RING, "B": RING}, RING),
    ),
    "K = 1: Cooperative SGD is D-PSGD, adapt then combine": (
        alg.CooperativeSGD(eta=0.2, K=1),
        alg.DPSGD(eta=0.2, order="adapt-then-combine"),
    ),
    "complete graph: Cooperative SGD is local SGD": (
        alg.CooperativeSGD(eta=0.2, K=3),
        alg.LocalSGD(eta=0.2, K=3),
        COMPLETE,
    ),
    "all clients participate: AD-PSGD is D-PSGD": (
        alg.ADPSGD(eta=0.2),
        alg.DPSGD(eta=0.2),
    ),
    "K = 1, one step size: LT-ADMM is EXTRA with W = I - eta lam (Laplacian)": (
        alg.LTADMM(eta=0.2, K=1, lam=0.5),
        alg.EXTRA(eta=0.2),
        (RING, np.eye(5) - 0.2 * 0.5 * 3 * (np.eye(5) - RING)),
    ),
    "two clients: RelaySGD is D-PSGD, adapt then combine": (
        alg.RelaySGD(eta=0.2),
        alg.DPSGD(eta=0.2, order="adapt-then-combine"),
        (nx.path_graph(2), np.full((2, 2), 0.5)),
        {"m": 2},
    ),
    "lazy W: Exact Diffusion is D^2": (
        alg.D2(eta=0.2, lazy=True),
        alg.D2(eta=0.2),
        (RING, (np.eye(5) + RING) / 2),
    ),
    "identity matrix: EXTRA is Local": (
        alg.EXTRA(eta=0.2),
        alg.Local(eta=0.2, K=1),
        np.eye(5),
    ),
    "identity matrix: D^2 is Local": (
        alg.D2(eta=0.2),
        alg.Local(eta=0.2, K=1),
        np.eye(5),
    ),
    "identity matrix: K-GT is Local": (
        alg.KGT(eta=0.2, K=3),
        alg.Local(eta=0.2, K=3),
        np.eye(5),
    ),
    "K = 1: FedProx has not left the server's model, and is FedAvg": (
        alg.FedProx(eta=0.2, K=1, lam=0.7),
        alg.FedAvg(eta=0.2, K=1),
    ),
    "a pull without strength: FedProx is FedAvg": (
        alg.FedProx(eta=0.2, K=3, lam=1e-300),
        alg.FedAvg(eta=0.2, K=3),
    ),
    "MGS is one step with W^Q": (
        alg.DFedSAM(eta=0.2, K=2, rho=0.1, Q=3),
        alg.DFedSAM(eta=0.2, K=2, rho=0.1),
        (RING, np.linalg.matrix_power(RING, 3)),
    ),
    "alpha = rho = 0: DFedSGPSM is OSGP": (
        alg.DFedSGPSM(eta=0.2, K=3, alpha=0.0, rho=0.0),
        alg.OSGP(eta=0.2, K=3),
        directed(5),
    ),
    "rho = 0: DFedSGPSM is DFedSGPM": (
        alg.DFedSGPSM(eta=0.2, K=3, alpha=0.6, rho=0.0),
        alg.DFedSGPM(eta=0.2, K=3, alpha=0.6),
        directed(5),
    ),
    "K = 1: momentum that starts at 0 has no say in DFedAvgM": (
        alg.DFedAvgM(eta=0.2, K=1, alpha=0.9),
        alg.DFedAvg(eta=0.2, K=1),
    ),
    "rho = 0: FedSAM is FedAvg": (
        alg.FedSAM(eta=0.2, K=3, rho=0.0, alpha=0.5),
        alg.FedAvg(eta=0.2, K=3, alpha=0.5),
    ),
    "K = 1, eta = lam: DFedADMM drops its duals, and is DFedAvg": (
        alg.DFedADMM(eta=0.3, K=1, lam=0.3),
        alg.DFedAvg(eta=0.3, K=1),
    ),
    "a pull towards the server without strength: Ditto is Local": (
        alg.Ditto(eta=0.2, K=2, K_v=3, lam=1e-300),
        alg.Local(eta=0.2, K=3),
        RING,
        {"batch": None},
    ),
    "K = 1: OSGP is SGP": (alg.OSGP(eta=0.2, K=1), alg.SGP(eta=0.2), directed(5)),
    "doubly stochastic W: DFedSGPSM without momentum is DFedSAM": (
        alg.DFedSGPSM(eta=0.2, K=3, alpha=0.0, rho=0.2),
        alg.DFedSAM(eta=0.2, K=3, rho=0.2),
    ),
    "doubly stochastic W: DFedSGPM is DFedAvgM": (
        alg.DFedSGPM(eta=0.2, K=3, alpha=0.7),
        alg.DFedAvgM(eta=0.2, K=3, alpha=0.7),
    ),
    "rho = 0: DFedADMM-SAM is DFedADMM": (
        alg.DFedADMMSAM(eta=0.2, K=3, lam=0.4, rho=0.0),
        alg.DFedADMM(eta=0.2, K=3, lam=0.4),
    ),
    "rho = 0: DFedSMDC is DFedMDC": (
        alg.DFedSMDC(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1, rho=0.0, sam="uv"),
        alg.DFedMDC(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1),
        RING,
        {"shared": slice(0, 4)},
    ),
    "everything shared: DFedMDC is DFedAvg": (
        alg.DFedMDC(eta_u=0.2, eta_v=9.0, K_u=3, K_v=2),
        alg.DFedAvg(eta=0.2, K=3),
        RING,
        {"shared": None, "batch": None},
    ),
    "everything shared: DFedSMDC is DFedSAM": (
        alg.DFedSMDC(eta_u=0.2, eta_v=9.0, K_u=3, K_v=2, rho=0.3),
        alg.DFedSAM(eta=0.2, K=3, rho=0.3),
        RING,
        {"shared": None, "batch": None},
    ),
    "everything shared: FedPer is FedAvg": (
        alg.FedPer(eta=0.2, K=3),
        alg.FedAvg(eta=0.2, K=3),
        RING,
        {"shared": None, "batch": None},
    ),
    "everything shared: FedRep is FedAvg": (
        alg.FedRep(eta_u=0.2, eta_v=9.0, K_u=3, K_v=2),
        alg.FedAvg(eta=0.2, K=3),
        RING,
        {"shared": None, "batch": None},
    ),
    "nothing shared: FedPer is Local": (
        alg.FedPer(eta=0.2, K=3),
        alg.Local(eta=0.2, K=3),
        RING,
        {"shared": slice(0, 0)},
    ),
    "nothing shared: DFedMDC is Local": (
        alg.DFedMDC(eta_u=9.0, eta_v=0.2, K_u=1, K_v=3),
        alg.Local(eta=0.2, K=3),
        RING,
        {"shared": slice(0, 0)},
    ),
    "identity matrix: DFedAvg is Local": (
        alg.DFedAvg(eta=0.2, K=3),
        alg.Local(eta=0.2, K=3),
        np.eye(5),
    ),
    "complete graph: DFedAvg is FedAvg with full participation": (
        alg.DFedAvg(eta=0.2, K=3),
        alg.FedAvg(eta=0.2, K=3),
        COMPLETE,
    ),
    "complete graph: DFedSAM is FedSAM with full participation": (
        alg.DFedSAM(eta=0.2, K=3, rho=0.2),
        alg.FedSAM(eta=0.2, K=3, rho=0.2),
        COMPLETE,
    ),
    "complete graph: DFedMDC is FedRep": (
        alg.DFedMDC(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1),
        alg.FedRep(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1),
        COMPLETE,
        {"shared": slice(0, 4)},
    ),
    "sparsity 0: DisPFL is DFedAvg": (
        alg.DisPFL(eta=0.2, K=3, sparsity=0.0),
        alg.DFedAvg(eta=0.2, K=3),
    ),
}
"""Two equivalent algorithms, their network (the ring, or one for each), and the
arguments of the task.

A network is passed only to algorithms that take one.
"""


@pytest.mark.drawn(14)
@pytest.mark.parametrize("claim", REDUCTIONS)
def test_reduction(claim):
    one, other, *more = REDUCTIONS[claim]
    network, options = (*more, *(RING, {})[len(more) :])
    networks = network if isinstance(network, tuple) else (network, network)
    found = [
        path(a, n if a.needs_topology else None, **options)
        for a, n in zip((one, other), networks)
    ]
    np.testing.assert_allclose(*found, rtol=0, atol=1e-12)


def test_dittos_and_fedrods_server_model_is_fedavgs():
    def server_model(algorithm):
        means = []

        def keep(t, state, recorder):
            means.append(state.x[:, 0].clone())

        task = Rows(d=6, batch=None, shared=slice(0, 4))
        task.balanced_gradient = task.gradient
        train(algorithm, task, rounds=3, callbacks=[keep])
        return torch.stack(means)

    fedavg = server_model(alg.FedAvg(eta=0.2, K=2))
    torch.testing.assert_close(server_model(alg.Ditto(eta=0.2, K=2, K_v=3)), fedavg)
    torch.testing.assert_close(server_model(alg.FedRoD(eta=0.2, K=2)), fedavg)


@pytest.mark.parametrize(
    ("body", "head"), [(slice(0, 4), slice(4, 6)), (slice(2, 6), slice(0, 2))]
)
def test_fedbabu_keeps_its_head_until_it_fine_tunes(body, head):
    task = Rows(d=6, shared=body)
    heads = []

    def keep(t, state, recorder):
        heads.append(state.x[..., head].clone())
        assert (state.x[..., body] != x0[body]).all()

    x0 = torch.arange(6.0, dtype=F64)
    run = train(
        alg.FedBABU(eta=0.2, K=2, K_v=1), task, rounds=3, x0=x0, callbacks=[keep]
    )
    for kept in heads[:-1]:
        assert torch.equal(kept, x0[head].expand_as(kept))
    assert not np.allclose(run.x[..., head], x0[head].numpy())


def test_two_block_measures():
    """grad_u at (ubar, V^t) and (ubar, V^{t+1}), and grad_v at (u_i, v_i), agree with
    their definitions.
    """
    from dfltheory.constants import ProblemConstants

    class Known(Rows):
        constants = ProblemConstants(L_u=2.0, L_v=4.0)

    task = Known(d=5, shared=slice(0, 3), batch=2)
    states = []
    algorithm = alg.DFedMDC(eta_u=0.2, eta_v=0.3, K_u=2, K_v=1)
    x0 = np.random.default_rng(3).normal(size=(task.m, 5))
    run = train(
        algorithm,
        task,
        RING,
        rounds=3,
        x0=x0,
        callbacks=[lambda t, s, r: states.append(s.x[0].numpy())],
    )
    states = [x0, *states]
    for t in range(4):
        ubar = states[t][:, :3].mean(0)

        def body(heads, ubar=ubar):
            points = [np.concatenate([ubar, x[3:]]) for x in heads]
            g = np.mean(
                [
                    task.one_gradient(i, p, range(task.n))[:3]
                    for i, p in enumerate(points)
                ],
                axis=0,
            )
            return g @ g

        own = [
            task.one_gradient(i, x, range(task.n))[3:] for i, x in enumerate(states[t])
        ]
        head = np.mean([g @ g for g in own])
        assert run.extra["grad_u_sq"][0, t] == pytest.approx(body(states[t]))
        assert run.extra["grad_v_sq"][0, t] == pytest.approx(head)
        assert run.extra["two_block"][0, t] == pytest.approx(
            body(states[t]) / 2 + head / 4
        )
        if t < 3:
            assert run.extra["two_block_next"][0, t] == pytest.approx(
                body(states[t + 1]) / 2 + head / 4
            )
        else:
            assert np.isnan(run.extra["two_block_next"][0, t])
