"""Matrices used in turn, nonuniform push-sum weights, and noise that biases SAM."""

from dataclasses import replace

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory.counterexamples.batch import CandidateBatch
from dfltheory.counterexamples.candidate_matrices import MATRIX_KINDS
from dfltheory.counterexamples.certify import certify
from dfltheory.counterexamples.core import simulate
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.document import built
from dfltheory.counterexamples.falsification import readings
from dfltheory.counterexamples.families import RoundData
from dfltheory.counterexamples.families.biased_sam import BiasedSAM
from dfltheory.counterexamples.families.installed import OWN
from dfltheory.counterexamples.networks import candidate_networks
from dfltheory.counterexamples.problems import RampTask
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.errors import DataError, InputError
from dfltheory.graphs import push_sum_constants

PRINTED = dfl.bounds.get("dfedsam.theorem_4_5", "printed")
WINDOWS = dfl.bounds.get("dfedsgpsm.theorem_1", "corrected_windows")


def two_clients(W, algorithm):
    ramps = Ramps.one([[-2.0], [-1.0]], [[4.0], [3.0]], [[1.0], [0.5]], [-1.5, -1.0])
    return CandidateBatch(
        algorithm, ramps, np.array([[[0.5], [-1.0]]]), W, np.zeros((1, 1))
    )


def test_matrices_that_take_turns_are_those_of_the_training_core():
    read = Reader(np.array([[0.9, 0.4]]))
    W = MATRIX_KINDS["in turn"][1](read, False)
    batch = two_clients(W, dfl.algorithms.SGP(eta=0.1))
    path = simulate(batch, 9)
    history = batch.alone(0, batch.x0, 9).run(progress=False)
    assert path.left["grad_norm_sq"][:9, 0] == pytest.approx(
        history.grad_norm_sq[0, :9], rel=1e-12
    )
    again = CandidateBatch.of(built(batch.alone(0, batch.x0, 9).document()))
    assert np.array_equal(again.W, W)
    turned = replace(batch, W=W[:, ::-1].copy())
    assert simulate(turned, 9).left["grad_norm_sq"][5, 0] != pytest.approx(
        path.left["grad_norm_sq"][5, 0]
    )


def test_matchings_in_turn_connect_four_clients_in_two_rounds_and_in_none():
    (W,) = MATRIX_KINDS["matchings"][1](Reader(np.array([[0.5]])), False)
    share = 1e-3 * 970**0.5
    expected = (1 - share) * np.eye(4)
    for i, j in ((0, 1), (1, 0), (2, 3), (3, 2)):
        expected[i, j] = share
    np.testing.assert_allclose(W[0], expected)
    np.testing.assert_allclose(W[1][[0, 3, 1, 2], [3, 0, 2, 1]], share)
    assert [push_sum_constants(list(W)).window, push_sum_constants(list(W)).delta] == [
        2,
        pytest.approx(1),
    ]
    kinds = {net.name: net for net in candidate_networks(WINDOWS)}
    _, values, fits = kinds["matchings"].draw(Reader(np.array([[0.5], [0.9]])), False)
    assert fits.all()
    assert values["q"][0] == pytest.approx(push_sum_constants(list(W)).q)
    assert not {"in turn", "matchings"} & {n.name for n in candidate_networks(PRINTED)}


def test_several_gossip_steps_of_a_round_take_their_own_matrices():
    one, other = (np.array([[1 - w, w], [w, 1 - w]]) for w in (0.3, 0.05))
    batch = two_clients(
        np.array([[one, other, np.eye(2)]]),
        dfl.algorithms.DFedSAM(eta=0.1, K=1, rho=0.0, Q=2),
    )
    history = batch.alone(0, batch.x0, 8).run(progress=False)
    assert simulate(batch, 8).left["grad_norm_sq"][:8, 0] == pytest.approx(
        history.grad_norm_sq[0, :8], rel=1e-12
    )


def test_state_that_another_matrix_moves_is_not_stationary():
    # flat gradients: clients do not move while W = I, and average in every other
    # round
    flat = Ramps.one([[5.0]], [[1.0]], [[1.0]], [0.0]).repeated(2)
    W = np.array([[np.eye(2), np.full((2, 2), 0.5)]])
    batch = replace(two_clients(W, dfl.algorithms.DFedAvg(eta=0.1, K=1)), clients=flat)
    assert not simulate(batch, 1).cycle[0]
    assert simulate(batch, 40).cycle[0]


def test_constants_of_windows_are_the_packages_and_only_statements_of_windows_get_them():
    kinds = {net.name: net for net in candidate_networks(WINDOWS)}
    W, values, fits = kinds["in turn"].draw(
        Reader(np.array([[0.9, 0.4], [0.1, 1.0]])), False
    )
    assert fits.all()
    for k in range(2):
        constants = push_sum_constants(list(W[k]))
        assert constants.window == 2 == values["window"][k]
        assert (values["delta"][k], values["q"][k]) == pytest.approx(
            (constants.delta, constants.q)
        )
    assert "in turn" not in {
        net.name
        for net in candidate_networks(
            dfl.bounds.get("dfedsgpsm.theorem_1", "corrected")
        )
    }
    W, values, _ = kinds["unbalanced"].draw(Reader(np.array([[0.9, 0.2]])), False)
    assert values["delta"][0] < 0.2
    assert W[0, 0].sum(0) == pytest.approx(1)


def biased_clients(eta=0.01, rho=0.5):
    at = RoundData(np.array([eta]), np.zeros(1), np.array([rho]))
    clients, x0 = BiasedSAM().decode(Reader(np.array([[0.9]])), at)
    return clients, BiasedSAM().noise(clients, at), x0[..., None]


def test_noise_biases_sam_for_every_coin_in_the_training_core():
    clients, noise, x0 = biased_clients()
    w, sigma = clients.constants()["B"][0], noise.constants()["B"][:, None]
    assert sigma[0, 0] == pytest.approx(1.001 * w)
    at = noise.gradient(np.array([[[[0.0]], [[0.5]], [[-0.5]]]]))[0, :, 0, 0]
    assert at == pytest.approx([1.001 * w, -w, w])
    algorithm = dfl.algorithms.DFedSAM(eta=0.01, K=3, rho=0.5)
    batch = CandidateBatch(
        algorithm,
        clients,
        x0,
        np.array([[[[0.8, 0.2], [0.2, 0.8]]]]),
        sigma,
        noise_ramps=noise,
    )
    path = simulate(batch, 30)
    assert path.cycle[0]
    assert path.left["grad_norm_sq"][-1, 0] == pytest.approx(w**2)
    instance = batch.alone(0, x0, 50)
    history = instance.run(seeds=8, progress=False)
    assert history.grad_norm_sq == pytest.approx(w**2, rel=1e-9)
    assert built(instance.document()).task.led is not None
    # each sample's gradient; their mean is the client's gradient
    task, x = instance.task, np.array([[[0.3], [0.3]]])
    both = [
        task.gradient(*map(dfl.training.loop.torch.tensor, (x, c * np.ones_like(x))))
        for c in (1.0, -1.0)
    ]
    assert ((both[0] + both[1]) / 2).numpy() == pytest.approx(w)
    assert abs(both[0] - both[1]).max() / 2 <= sigma[0, 0]


def test_noise_with_different_runs_for_different_coins_refutes_nothing():
    """Without SAM the noise has no bias, but each coin moves its client, and the exact
    path covers only one outcome.
    """
    clients, noise, x0 = biased_clients()
    sigma = noise.constants()["B"][:, None]
    for rho, coins_differ in ((0.5, False), (1e-9, True)):
        algorithm = dfl.algorithms.DFedSAM(eta=0.01, K=3, rho=rho)
        W = np.array([[[[0.8, 0.2], [0.2, 0.8]]]])
        certificate = certify(
            CandidateBatch(algorithm, clients, x0, W, sigma, noise_ramps=noise).alone(
                0, x0, 50
            ),
            PRINTED,
        )
        assert (
            any("random signs" in why for why in certificate.obstacles) is coins_differ
        )
        assert not (coins_differ and certificate.violated)


@pytest.mark.slow
def test_biasing_noise_refutes_only_without_smooth_samples():
    readings_by_name = dict(readings(PRINTED))
    assert [
        (t.scope.common_start, t.scope.samplewise) for t in readings_by_name.values()
    ] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    own = [family.name for family in OWN if family.state_noise]
    for name in ("separate starts", "noise that depends on the state"):
        found = any(
            family.name.startswith(tuple(own))
            for family in search_spaces(readings_by_name[name])
        )
        assert found == (name == "noise that depends on the state")
    clients, noise, x0 = biased_clients()
    W, sigma = np.array([[[[0.8, 0.2], [0.2, 0.8]]]]), noise.constants()["B"][:, None]
    # small L: the terms of noise and sharpness vanish
    f = np.array([1e-3 / clients.constants()["L"][0]])
    algorithm = dfl.algorithms.DFedSAM(eta=1.0, K=1, rho=0.5)
    batch = CandidateBatch(
        algorithm,
        clients.scaled(f, np.ones(1)),
        x0,
        W,
        sigma * f,
        noise_ramps=noise.scaled(f, np.ones(1)),
    )
    found = certify(batch.alone(0, x0, 1500), PRINTED)
    assert found.violated
    assert found.exact["ratio"] > 1.4
    strict = replace(PRINTED, scope=replace(PRINTED.scope, samplewise=True))
    assert "depends on the state" in certify(batch.alone(0, x0, 2), strict).obstacles[0]


def test_biased_client_stays_biased_at_every_horizon():
    """No coin moves the client, so long horizons are possible as in deterministic runs,
    and all noise terms are small.
    """
    appendix = dfl.bounds.get("dfedsgpsm.theorem_1", "appendix")
    eta, K, w, T = 1e-4, 3, 5e4, 10**8
    at = RoundData(np.array([eta]), np.zeros(1), np.ones(1))
    cube = np.array([[np.log(w / 1e-2) / np.log(1e7)]])
    clients, x0 = BiasedSAM().decode(Reader(cube), at)
    noise = BiasedSAM().noise(clients, at)
    sigma = noise.constants()["B"][:, None]
    algorithm = dfl.algorithms.DFedSGPSM(eta=eta, K=K, alpha=0.0, rho=1.0)
    batch = CandidateBatch(
        algorithm,
        clients,
        x0[..., None],
        np.full((1, 1, 2, 2), 0.5),
        sigma,
        noise_ramps=noise,
    )
    assert not batch.is_random
    assert replace(batch, noise_ramps=None).is_random
    instance = batch.alone(0, batch.x0, T)
    assert built(instance.document()).rounds == T
    found = certify(instance, appendix)
    assert found.violated
    assert found.exact["measured"] == pytest.approx(w**2)
    f0, noise = w * 1.25 + w**2 / 2, (1.001 * w) ** 2
    drift = 8 * K * noise + 64 * K + 64 * K**2 * w**2
    bound = 2 * f0 / (T * K * eta) + eta * K * noise + 3 * eta**2 * drift
    cited = 2 ** (26 / 3) / (1 - 2 ** (-1 / 3)) ** 2  # [C/(1 - q)]^2 of the lemma
    bound += 6 * eta**2 * K**2 * (w**2 + noise) * cited + 3
    assert found.exact["bound"] == pytest.approx(bound, rel=1e-6)
    assert found.core_at_horizon == pytest.approx(w**2 / bound, rel=1e-6)
    with pytest.raises(InputError, match=f"rounds = {T}"):
        built(replace(batch, noise_ramps=None).alone(0, batch.x0, T).document())


def test_a_run_with_such_noise_is_judged_by_no_theorem_unasked():
    clients, noise, x0 = biased_clients()
    sigma = noise.constants()["B"][:, None]
    batch = CandidateBatch(
        dfl.algorithms.DFedSAM(eta=0.01, K=1),
        clients,
        x0,
        np.full((1, 1, 2, 2), 0.5),
        sigma,
        noise_ramps=noise,
    )
    assert batch.alone(0, x0, 5).run(progress=False).constants.sigma_l is None


@pytest.mark.parametrize(
    ("led", "said"),
    [
        ([[0.0], [1.0], [1.0]], "knots, widths and slopes"),
        ([[0.0], [1.0], [1.0], [0.0]], "must be the largest"),
        ([[0.0], [-1.0], [1.0], [0.0]], "widths must be >= 0"),
    ],
)
def test_noise_that_is_no_such_function_is_refused(led, said):
    with pytest.raises(InputError, match=said):
        RampTask([[0.0]], [[1.0]], [[1.0]], [0.0], sigma=0.5, led=led)


def test_a_document_has_few_matrices():
    W = np.full((2, 2), 0.5)
    document = (
        two_clients(W[None, None], dfl.algorithms.DFedAvg(eta=0.1, K=1))
        .alone(0, np.zeros((1, 2, 1)), 3)
        .document()
    )
    document["topology"] = {"matrices": [W.tolist()] * 5}
    with pytest.raises((DataError, InputError), match="matrices"):
        built(document)


def test_the_rate_of_windows_is_not_that_of_rounds():
    from validation.counterexamples.planted import planted

    ((name, false),) = planted(WINDOWS)
    assert name == "with rounds in place of windows"
    clipped = Ramps.one([[-1.0], [-1.0]], [[2.0], [2.0]], [[1.0], [1.0]], [-1.0, -1.0])
    W = np.array([[np.eye(2), [[0.999, 0.9], [0.001, 0.1]]]])  # weights 0.9 : 0.001
    batch = CandidateBatch(
        dfl.algorithms.DFedSGPSM(eta=0.002, K=1, alpha=0.0, rho=0.0),
        clipped,
        np.array([[[0.9], [0.9]]]),
        W,
        np.zeros((1, 1)),
    )
    certificates = [
        certify(batch.alone(0, batch.x0, 300), theorem) for theorem in (WINDOWS, false)
    ]
    constants = push_sum_constants(list(W[0]))
    assert constants.window == 2
    bounds = [
        float(
            theorem.evaluate(
                **{n: known_of(batch, constants)[n] for n in theorem.needs}
            )
        )
        for theorem in (WINDOWS, false)
    ]
    assert [one.exact["bound"] for one in certificates] == pytest.approx(bounds)
    assert certificates[0].exact["bound"] > certificates[1].exact["bound"]


def known_of(batch, constants):
    """Return the values for two clients with max(min(x, 1), -1) that start at 0.9."""
    return {
        "m": 2,
        "K": 1,
        "T": 300,
        "eta": 0.002,
        "rho": 0.0,
        "alpha": 0.0,
        "L": 1.0,
        "sigma_l": 0.0,
        "B": 0.9,  # the largest gradient at the models
        "f0_gap": 0.405,
        "x0_spread": 0.0,
        "delta": constants.delta,
        "q": constants.q,
        "window": 2,
    }
