"""Reported communication agrees with counts by hand, exactly for every algorithm of the
package.
"""

import numpy as np
import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory import graphs
from dfltheory.errors import InputError
from dfltheory.randomness import RunGenerators, numpy_generator, uniform_numbers
from dfltheory.training import Checkpoint, History, train
from dfltheory.training.arcs import Arcs, sent_over_arcs, swapped_over_links
from dfltheory.training.messages import bits_sent, degrees, messages_sent
from tests.algorithms.problems import Rows
from tests.algorithms.table import HYPERPARAMETERS, network_for
from tests.algorithms.user_algorithms import RandomChoco

ROUNDS, D, BODY = 3, 6, 4
RING = graphs.ring(5)  # 10 arcs

SCALARS = {  # numbers in one message, if it is not the whole model
    "dfedmdc": BODY,
    "dfedsmdc": BODY,
    "fedper": BODY,
    "fedrep": BODY,
    "fedbabu": BODY,
    # and the push-sum weight
    **dict.fromkeys(("sgp", "osgp", "dfedsgpm", "dfedsgpsm"), D + 1),
    "relaysgd": D + 1,  # and the number of models in the sum
    # and the variable that tracks or corrects the gradients
    **dict.fromkeys(("dsgt", "kgt", "pushpull", "scaffold"), 2 * D),
}


def task(dtype=torch.float64):
    return Rows(d=D, shared=slice(0, BODY), parts=((0, 3), (3, D)), dtype=dtype)


EVERY = {
    "localsgd": lambda a: a.K,
    "cooperativesgd": lambda a: a.K,
    "easgd": lambda a: a.K,
    "fedpd": lambda a: a.R,
}
"""In which rounds messages are sent: every so many."""


def messages(algorithm):
    """Return the number of messages per round."""
    if algorithm.name == "local":
        return 0
    if not algorithm.needs_topology:
        # uplink and downlink
        return 2 * max(1, round(5 * getattr(algorithm, "participation", 1)))
    return (8 if algorithm.links == "tree" else 10) * algorithm.gossip_steps


@pytest.mark.parametrize("name", sorted(HYPERPARAMETERS))
@pytest.mark.parametrize(
    ("dtype", "width"), [(torch.float64, 64), (torch.bfloat16, 16)]
)
def test_every_algorithm_counts_what_it_sends(name, dtype, width):
    algorithm = alg.get(name)(**HYPERPARAMETERS[name])
    run = train(algorithm, task(dtype), network_for(algorithm, 5), ROUNDS, 2)
    scalars = SCALARS.get(name, D)
    if name == "dispfl":
        # neither inactive weights nor the mask are sent
        scalars = sum(algorithm.active_weights(((3,), (3,))))
    if name == "chocosgd":  # half of the numbers, with their positions among six
        scalars = (width + 3) * (D // 2) / width
    each, every = messages(algorithm) * scalars, EVERY.get(name, lambda a: 1)(algorithm)
    sent, total = run.sent(), [each * (t // every) for t in range(ROUNDS + 1)]
    for s in range(2):
        assert sent["sent_scalars"][s].tolist() == total
    np.testing.assert_array_equal(sent["sent_bits"], sent["sent_scalars"] * width)
    np.testing.assert_array_equal(sent["sent_models"], sent["sent_scalars"] / D)
    assert sent["sent_bits_per_round"][0].tolist() == [0, *(width * np.diff(total))]


def test_moving_and_random_networks_are_counted_as_drawn():
    algorithm = alg.DFedSAM(eta=0.1, K=1, Q=2)
    exponential = graphs.one_peer_exponential(5)
    loose = train(
        alg.DFedAvg(eta=0.1, K=1), task(), [np.eye(5), np.full((5, 5), 0.2)], 4
    )
    assert loose.sent()["sent_models"][0].tolist() == [0, 0, 20, 20, 40]
    one = train(alg.SGP(eta=0.1), task(), exponential, 3)
    assert one.sent()["sent_scalars"][0].tolist() == [35 * t for t in range(4)]
    failing = graphs.LinkFailures(graphs.metropolis(RING), 0.5)
    run = train(algorithm, task(), failing, 3, 2)
    for s in range(2):
        total = [0]
        for t in range(3):
            rng = numpy_generator(0, s, t, "network")
            arcs = 0
            for q in range(2):
                W = failing.matrix(2 * t + q, rng)
                arcs += int((W != 0).sum()) - int((W.diagonal() != 0).sum())
            total.append(total[-1] + arcs)
        np.testing.assert_array_equal(run.sent()["sent_models"][s], total)


def test_random_messages_are_counted_as_drawn_by_each_seed():
    """Two arcs leave each client, and every number of a message has 64 bits."""
    network = graphs.metropolis(RING)
    run = train(RandomChoco(0.05), task(), network, 8, 2)
    alone = train(RandomChoco(0.05), task(), network, 8, [1])
    expected_bits = np.zeros((2, 9))
    for t in range(8):
        generators = RunGenerators(0, range(2)).at(t, "message")
        numbers = uniform_numbers(
            generators, (5, D), torch.empty(0, dtype=torch.float64)
        )
        for s in range(2):
            expected_bits[s, t + 1 :] += 2 * 64 * int((numbers[s] < 0.5).sum())
    np.testing.assert_array_equal(run.sent_bits, expected_bits)
    np.testing.assert_array_equal(alone.sent_bits[0], expected_bits[1])
    np.testing.assert_allclose(alone.x[0], run.x[1], rtol=0, atol=1e-14)


def test_what_was_sent_is_in_the_table_and_the_file_and_outlives_a_checkpoint(tmp_path):
    algorithm = alg.DFedAvg(eta=0.1, K=1)
    whole = train(algorithm, task(), RING, 6, 2, evaluate_every=2)
    assert whole.sent()["sent_models"][0].tolist() == [0, 20, 40, 60]
    assert whole.sent()["sent_models_per_round"][0].tolist() == [0, 10, 10, 10]
    frame = whole.to_frame()
    assert frame[
        (frame.measure == "sent_models") & (frame.seed == 1)
    ].value.tolist() == [0, 20, 40, 60]
    assert History.load(whole.save(tmp_path / "h")) == whole
    options = {"evaluate_every": 2, "checkpoint": Checkpoint(tmp_path / "c")}
    train(algorithm, task(), RING, 6, 2, **options, callbacks=[lambda t, *rest: t == 5])
    np.testing.assert_array_equal(
        train(algorithm, task(), RING, 6, 2, **options).sent_bits, whole.sent_bits
    )


# -- parts of a communication round


def test_messages_of_gossip_steps_are_counted_by_receivers():
    W = np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.0, 1.0]])
    assert degrees(W, 0).tolist() == [1, 1, 1]  # client 2 sends to client 1
    assert degrees(W, 1).tolist() == [1, 2, 0]
    assert messages_sent([W, W]).tolist() == [2, 2, 2]
    other = np.eye(3)
    assert messages_sent([W, other]).tolist() == [1, 1, 1]


def test_bits_are_messages_times_size():
    z = torch.zeros(2, 3, 5, dtype=torch.float32)
    messages = np.array([[1.0, 2.0, 0.0]])
    assert bits_sent(z, None, messages, messages.sum(-1)).tolist() == [3 * 5 * 32]
    sizes = torch.tensor([[1, 2, 3], [4, 5, 6]])
    assert bits_sent(z, sizes, messages, messages.sum(-1)).tolist() == [5, 14]
    with pytest.raises(InputError, match="bits"):
        bits_sent(z, -1.0, messages, messages.sum(-1))


def test_values_of_arcs_are_sent_and_swapped_where_the_arc_is_present():
    W = np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.0, 0.25, 0.75]])
    arcs = Arcs.of_sequence(
        graphs.as_sequence(W), 3, torch.zeros(1, dtype=torch.float64)
    )
    without = W.copy()
    without[1, 2] = without[2, 1] = 0.0
    edges = arcs.weighted(without)
    pairs = list(zip(edges.senders.tolist(), edges.receivers.tolist(), strict=True))
    sent = sent_over_arcs(edges, torch.tensor([[1.0, 2.0, 3.0]]))
    expected = [float(i + 1) if {i, j} == {0, 1} else 0.0 for i, j in pairs]
    assert sent.tolist() == [expected]
    numbered = torch.arange(len(pairs), dtype=torch.float64)[None] + 1
    swapped = swapped_over_links(edges, numbered)[0].tolist()
    for (i, j), value in zip(pairs, swapped, strict=True):
        assert value == (pairs.index((j, i)) + 1 if {i, j} == {0, 1} else 0)
