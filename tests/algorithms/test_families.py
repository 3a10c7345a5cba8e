"""Properties of families of algorithms: convergence with a constant step size, and
exact expectations of affine algorithms.
"""

from dataclasses import fields, replace

import networkx as nx
import numpy as np
import pytest

import dfltheory as dfl
import dfltheory.algorithms as alg
from dfltheory.errors import InputError, UnsupportedError
from dfltheory.exact import RandomMixing, average_over, exact_history, stationary
from tests import reference
from tests.algorithms.problems import ring_matrix
from tests.algorithms.table import hyperparameters_of, network_for
from tests.exact.test_exact import START, W2, agree, enumerated, tiny

M, D = 5, 3
RING = ring_matrix(M)
L, MU = 1.0, 0.8
DIGRAPH = nx.DiGraph([(i, (i + 1) % M) for i in range(M)] + [(0, 2)])
EIGENVALUES = np.linalg.eigvalsh(RING)  # 1, .539 twice, -.206 twice
K = 2
EXTRA_STEP = 2 * MU * (1 + EIGENVALUES[0]) / 2 / L**2  # Shi et al. 2015, theorem 3.7
SCAFFOLD_STEP = 1 / (81 * K * L)  # Karimireddy et al. 2020, theorem III, eta_s = 1
EXACT = {
    "EXTRA": alg.EXTRA(eta=0.9 * EXTRA_STEP),
    "D^2": alg.D2(eta=0.2 / L),
    "Exact Diffusion": alg.D2(eta=0.2 / L, lazy=True),
    "DSGT": alg.DSGT(eta=0.1 / L),
    "DIGing": alg.DSGT(eta=0.1 / L, order="combine-then-adapt"),
    "K-GT": alg.KGT(eta=0.1 / (K * L), K=K, eta_s=0.9),
    "push-pull": alg.PushPull(eta=0.1 / L),
    "AB": alg.PushPull(eta=0.1 / L, order="combine-then-adapt"),
    "LT-ADMM": alg.LTADMM(eta=0.1 / (K * L), K=K, lam=0.5),
    "LT-ADMM, two step sizes": alg.LTADMM(eta=0.1 / (K * L), K=K, lam=0.5, beta=0.1),
    "RelaySGD": alg.RelaySGD(eta=0.1 / L),
    "SCAFFOLD, option I": alg.SCAFFOLD(eta=SCAFFOLD_STEP, K=K, option="I"),
    "SCAFFOLD, option II": alg.SCAFFOLD(eta=SCAFFOLD_STEP, K=K),
    "SCAFFOLD, some clients": alg.SCAFFOLD(eta=SCAFFOLD_STEP, K=K, participation=0.4),
    "FedDyn": alg.FedDyn(eta=0.2 / L, K=K, lam=0.5),
    "FedDyn, some clients": alg.FedDyn(eta=0.2 / L, K=K, lam=0.5, participation=0.4),
    "FedPD": alg.FedPD(eta=0.2 / L, K=K, lam=0.5),
}
BIASED = {
    "D-PSGD": alg.DPSGD(eta=0.1 / L),
    "D-PSGD, adapt then combine": alg.DPSGD(eta=0.1 / L, order="adapt-then-combine"),
    "QG-DSGDm": alg.QGDSGDm(eta=0.1 / L, alpha=0.5),
    "AD-PSGD": alg.ADPSGD(eta=0.1 / L),
    "FedAvg": alg.FedAvg(eta=0.1 / L, K=K),
    "FedProx": alg.FedProx(eta=0.1 / L, K=K, lam=1.0),
}


def clients():
    """Return noiseless quadratics with different Hessians (eigenvalues in [MU, L]) and
    minimizers.
    """
    rng = np.random.default_rng(4)
    bases = [np.linalg.qr(rng.normal(size=(D, D)))[0] for _ in range(M)]
    A = np.array([Q @ np.diag(np.linspace(MU, L, D)) @ Q.T for Q in bases])
    return dfl.tasks.Quadratic(A, rng.normal(size=(M, D)))


def distance(algorithm, rounds=3000):
    """Return max_i

    x_i - x*

    after the given number of rounds.
    """
    task = clients()
    topology = DIGRAPH if algorithm.further else network_for(algorithm, M)
    run = dfl.train(
        algorithm, task, topology, rounds, evaluate_every=rounds, progress=False
    )
    A, b = task.A.numpy(), task.b.numpy()
    minimizer = np.linalg.solve(A.mean(0), np.einsum("mij,mj->i", A, b) / M)
    return np.linalg.norm(run.x[0] - minimizer, axis=-1).max()


@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", EXACT)
def test_a_constant_step_reaches_the_minimizer_of_clients_that_differ(name):
    slow = isinstance(
        EXACT[name], alg.SCAFFOLD
    )  # the theorem of this algorithm requires a small step size
    assert distance(EXACT[name], 3000 if slow else 500) < 1e-10


@pytest.mark.slow
@pytest.mark.drawn(1)
@pytest.mark.parametrize("name", BIASED)
def test_these_stop_off_the_minimizer_by_the_order_of_the_step(name):
    coarse = distance(BIASED[name], 600)
    fine = distance(replace(BIASED[name], eta=BIASED[name].eta / 10))
    assert coarse > 1e-3
    assert 3 < coarse / fine < 15


def test_d2_needs_eigenvalues_above_minus_a_third_and_exact_diffusion_does_not():
    task = clients()
    # smallest eigenvalue -.81
    away = np.roll(np.eye(M), 1, 0) / 2 + np.roll(np.eye(M), -1, 0) / 2
    runs = [
        dfl.train(
            alg.D2(eta=0.1, lazy=lazy),
            task,
            away,
            600,
            evaluate_every=600,
            check_topology=False,
        )
        for lazy in (False, True)
    ]
    assert runs[0].diverged_at is not None or runs[0].consensus[0, -1] > 1
    assert runs[1].consensus[0, -1] < 1e-10


def test_one_round_of_feddyn_goes_twice_as_far_as_fedprox():
    """h starts at 0: x^1 = mean y - h^1/lam = x^0 + 2 (mean y - x^0)."""
    task, x0 = clients(), np.arange(1.0, D + 1)
    near, far = (
        dfl.train(kind(eta=0.2, K=3, lam=0.7), task, rounds=1, x0=x0).x[0] - x0
        for kind in (alg.FedProx, alg.FedDyn)
    )
    np.testing.assert_allclose(far, 2 * near, rtol=0, atol=1e-14)


def test_fedpd_that_solves_its_local_problems_is_feddyn():
    """If local work reaches the minimizer, its starting point does not matter."""
    near, far = (
        dfl.train(kind(eta=0.4, K=400, lam=0.7), clients(), rounds=4, progress=False).x
        for kind in (alg.FedPD, alg.FedDyn)
    )
    np.testing.assert_allclose(near, far, rtol=0, atol=1e-12)


def test_fedpd_that_skips_the_server_stops_off_the_minimizer_where_clients_differ():
    assert distance(replace(EXACT["FedPD"], R=3)) > 1e-3


# -- exact expectations


UNSUPPORTED = {
    "dispfl": "grad.uniform",
    "ltadmm": "grad.edges",
    "pushpull": "mix(z, W='B')",
    "relaysgd": "grad.edges",
}
"""Algorithm -> a method it calls that exact expectations do not implement."""
NOT_AFFINE = {"adpsgd", "chocosgd", "easgd"}


def affine(name):
    """Return the algorithm with gradient normalization disabled."""
    kind = alg.get(name)
    return kind(
        **hyperparameters_of(kind) | ({"rho": 0.0} if hasattr(kind, "rho") else {})
    )


@pytest.mark.parametrize("name", sorted(alg.ALGORITHMS))
def test_exact_expectations_without_noise_are_the_run(name):
    algorithm, task, rounds = affine(name), clients(), 12
    topology = RING if algorithm.needs_topology else None
    asks_more = (
        algorithm.further
        or algorithm.inactive_when_isolated
        or algorithm.links != "directed"
    )
    asks_more = asks_more or {"sparsity", "compressor"} & {
        f.name for f in fields(algorithm)
    }
    asks_more = asks_more or name == "easgd"  # its center starts at the clients' mean
    assert bool(asks_more) == (name in UNSUPPORTED or name in NOT_AFFINE)
    if name in UNSUPPORTED:
        with pytest.raises(UnsupportedError) as refused:
            exact_history(algorithm, task, topology, rounds)
        assert refused.value.method == UNSUPPORTED[name]
        return
    if name in NOT_AFFINE:
        with pytest.raises(InputError, match="is not an affine recursion"):
            exact_history(algorithm, task, topology, rounds)
        return
    x0 = np.random.default_rng(0).normal(
        size=(1 if topology is None else M, D)
    ) * np.ones((M, 1))
    exact = exact_history(algorithm, task, topology, rounds, x0=x0)
    run = dfl.train(algorithm, task, topology, rounds, x0=x0, progress=False)
    np.testing.assert_allclose(exact.x, run.x, rtol=0, atol=1e-11)
    for name in ("grad_norm_sq", "consensus", "loss"):
        np.testing.assert_allclose(
            getattr(exact, name), getattr(run, name), rtol=1e-9, atol=1e-12
        )


NOISY = [
    name
    for name, algorithm in EXACT.items()
    if getattr(algorithm, "participation", 1.0) == 1
]
NOISY = [
    name
    for name in NOISY
    if EXACT[name].links == "directed" and not EXACT[name].further
]


def over_random_matrices(name):
    """Return whether exact expectations support random matrices.

    They do not if an algorithm has no network, or its recursion needs one fixed matrix.
    """
    return EXACT[name].needs_topology and not name.startswith(("EXTRA", "D^2", "Exact"))


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        pytest.param(n, drawn, marks=[pytest.mark.slow] * (drawn and n != "K-GT"))
        for n in NOISY
        for drawn in (False, True)
        if over_random_matrices(n) or not drawn
    ],
)
def test_sums_that_stay_do_not_keep_a_stationary_law_away(name, drawn):
    """The stationary law is the limit of 800 exact rounds from any start, also over
    random matrices.
    """
    algorithm = replace(EXACT[name], eta=0.1) if "EXTRA" not in name else EXACT[name]
    task = dfl.tasks.quadratic(m=3, d=1, mu=0.8, L=0.8, zeta=1.0, sigma=0.3, seed=1)
    W = ring_matrix(3) / 2 + np.eye(3) / 2
    topology = RandomMixing([W, np.full((3, 3), 1 / 3)], [0.5, 0.5]) if drawn else W
    topology = topology if algorithm.needs_topology else None
    limit = stationary(algorithm, task, topology)
    assert limit.radius < 0.999
    x0 = np.random.default_rng(3).normal(
        size=(3 if algorithm.needs_topology else 1, 1)
    ) * np.ones((3, 1))
    rounds = exact_history(algorithm, task, topology, 800, x0=x0)
    np.testing.assert_allclose(limit.x, rounds.x[0], rtol=0, atol=1e-9)
    assert limit.measures["grad_norm_sq"] > 1e-6
    for measure in ("grad_norm_sq", "consensus", "loss"):
        np.testing.assert_allclose(
            limit.measures[measure],
            getattr(rounds, measure)[0, -1],
            rtol=1e-7,
            atol=1e-12,
        )
    mean = average_over(algorithm, task, topology, 800, x0=x0)
    assert mean["consensus"] == pytest.approx(
        rounds.consensus[0, :-1].mean(), rel=1e-7, abs=1e-12
    )


@pytest.mark.parametrize("kind", [alg.DPSGD, alg.DSGT])
def test_what_a_start_moves_is_no_sum_that_stays(kind):
    """Without curvature the mean model keeps its start: there is no stationary law."""
    flat = dfl.tasks.Quadratic(np.zeros((3, 1, 1)), np.zeros((3, 1)))
    with pytest.raises(InputError, match="spectral radius"):
        stationary(kind(eta=0.1), flat, ring_matrix(3))


T = 3
ENUMERATED = {
    "DSGT": (
        alg.DSGT(eta=0.3),
        reference.dsgt,
        {"eta": 0.3, "order": "adapt-then-combine"},
    ),
    "DIGing": (
        alg.DSGT(eta=0.3, order="combine-then-adapt"),
        reference.dsgt,
        {"eta": 0.3, "order": "combine-then-adapt"},
    ),
    "K-GT": (
        alg.KGT(eta=0.3, K=1, eta_s=0.7),
        reference.kgt,
        {"eta": 0.3, "K": 1, "eta_s": 0.7},
    ),
    "EXTRA": (alg.EXTRA(eta=0.3), reference.extra, {"eta": 0.3}),
    "D^2": (alg.D2(eta=0.3), reference.d2, {"eta": 0.3}),
    "Exact Diffusion": (
        alg.D2(eta=0.3, lazy=True),
        reference.d2,
        {"eta": 0.3, "lazy": True},
    ),
    "QG-DSGDm": (
        alg.QGDSGDm(eta=0.3, alpha=0.6, mu=0.8),
        reference.qgdsgdm,
        {"eta": 0.3, "alpha": 0.6, "mu": 0.8},
    ),
    "FedProx": (
        alg.FedProx(eta=0.3, K=1, lam=0.5),
        reference.fedprox,
        {"eta": 0.3, "K": 1, "lam": 0.5},
    ),
    "SCAFFOLD": (
        alg.SCAFFOLD(eta=0.3, K=1, eta_s=0.7),
        reference.scaffold,
        {"eta": 0.3, "K": 1, "eta_s": 0.7, "option": "II"},
    ),
    "FedDyn": (
        alg.FedDyn(eta=0.3, K=1, lam=0.5),
        reference.feddyn,
        {"eta": 0.3, "K": 1, "lam": 0.5},
    ),
}


@pytest.mark.parametrize("name", ENUMERATED)
def test_exact_expectations_are_the_means_over_all_minibatches_of_the_twin(name):
    algorithm, twin, hyperparameters = ENUMERATED[name]
    task = tiny()
    network = [[W2]] * T if algorithm.needs_topology else [range(task.m)] * T
    x0 = START if algorithm.needs_topology else [START[0]] * task.m

    def path_of(gradient, draws, _):
        return twin(list(x0), gradient, draws, network, **hyperparameters)

    topology = W2 if algorithm.needs_topology else None
    agree(
        exact_history(algorithm, task, topology, T, x0=np.array(x0)),
        enumerated(task, T, 1, path_of),
    )


def test_lt_admm_keeps_the_duals_of_arcs_that_a_round_lacks():
    ring, star = (
        dfl.graphs.metropolis(graph(M)) for graph in (dfl.graphs.ring, dfl.graphs.star)
    )
    run = dfl.train(EXACT["LT-ADMM"], clients(), [ring, star], 700, evaluate_every=700)
    assert run.grad_norm_sq[0, -1] < 1e-20
    assert run.consensus[0, -1] < 1e-10
