"""Edge cases of DisPFL's masks: small layers, full masks, the end of the run, and
entries that no client has.
"""

import math
from fractions import Fraction

import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.algorithms.sparse import (
    MaskedState,
    erk,
    exchanged_mask,
    sum_over_clients,
)
from dfltheory.tasks import Supervised
from tests.algorithms.problems import dense_mix

F64 = torch.float64
OWN = {"density": "uniform", "first": "own"}


class FixedOracle:
    """An oracle whose gradients are all 1, 2, ..., and whose random numbers are drawn
    once.
    """

    def __init__(self, d, blocks=None, t=0, horizon=4, m=3):
        self.d, self.m, self.t, self.horizon = d, m, t, horizon
        self.blocks = blocks or (slice(0, d),)
        self.shapes = tuple((b.stop - b.start,) for b in self.blocks)
        self.asked = 0

    def begin(self, x):
        return x.clone()

    def sample(self):
        self.asked += 1

    def __call__(self, y, batch):
        return torch.arange(1.0, self.d + 1, dtype=F64).expand_as(y).clone()

    def uniform(self, shape):
        generator = torch.Generator().manual_seed(0)
        return torch.rand((1, *shape), generator=generator, dtype=F64)


def start(algorithm, grad):
    return algorithm.init(torch.full((1, grad.m, grad.d), 3.0, dtype=F64), grad)


@pytest.mark.parametrize("first", ["common", "own"])
@pytest.mark.parametrize(
    ("sparsity", "n", "living"),
    [
        (0.5, 6, 3),
        (0.9, 3, 1),
        (0.9, 5, 1),
        (0.25, 8, 6),
        (0.0, 4, 4),
        (0.55, 6, 2),
        (0.55, 100, 45),
    ],
)
def test_every_layer_of_every_client_starts_with_its_share_of_weights_and_at_least_one(
    sparsity, n, living, first
):
    """The max(1, floor((1 - sparsity) n)) weights with the largest random numbers are
    active.

    0.45 of 6 is 2.7; 0.45 of 100 is 45, although the floating-point product is smaller.
    Clients have a common mask or individual ones.
    """
    layers = (slice(0, 2), slice(2, 2 + n))
    grad = FixedOracle(2 + n, layers)
    state = start(
        alg.DisPFL(eta=0.1, K=1, sparsity=sparsity, density="uniform", first=first),
        grad,
    )
    drawn = grad.uniform((grad.m, grad.d))
    if first == "common":
        drawn = drawn.mean(1, keepdim=True).expand_as(drawn)
    # a byte, not a number of the models' precision
    assert state.mask.dtype == torch.uint8
    assert set(state.mask.unique().tolist()) <= {0, 1}
    assert (state.mask[..., layers[1]].sum(-1) == living).all()
    assert (
        state.mask[..., layers[0]].sum(-1) == max(1, math.floor(2 * (1 - sparsity)))
    ).all()
    for i in range(grad.m):
        kept, uniform = state.mask[0, i, layers[1]] > 0, drawn[0, i, layers[1]]
        assert kept.all() or uniform[kept].min() > uniform[~kept].max()
    assert torch.equal(state.x, 3 * state.mask)


def test_the_common_draw_does_not_know_the_clients_order():
    uniform = torch.rand((2, 300, 40), generator=torch.Generator().manual_seed(1))
    common = sum_over_clients(uniform)
    assert common.shape == (2, 1, 40)
    torch.testing.assert_close(
        common, uniform.double().sum(1, keepdim=True), rtol=1e-12, atol=0
    )
    assert torch.equal(common, sum_over_clients(uniform.flip(1)))
    # also in 16 bits they are different numbers
    assert len(common[0, 0].unique()) == 40
    assert len(sum_over_clients(uniform.bfloat16())[0, 0].unique()) == 40


SHAPES = ((16, 3, 3, 3), (16,), (16, 64), (10, 16), (10,))


def literal_erk(shapes, density):
    """Compute densities in fractions: eps sum(s) active weights per layer; layers that
    would overflow are full.
    """
    sizes = [math.prod(s) for s in shapes]
    full = set()
    while True:
        rest = [l for l in range(len(shapes)) if l not in full]
        ones = density * sum(sizes[l] for l in rest) - (1 - density) * sum(
            sizes[l] for l in full
        )
        eps = ones / sum(sum(shapes[l]) for l in rest)
        raw = {l: Fraction(sum(shapes[l]), sizes[l]) for l in rest}
        if eps * max(raw.values()) <= 1:
            return [
                Fraction(1) if l in full else eps * raw[l] for l in range(len(shapes))
            ]
        full |= {l for l in rest if raw[l] == max(raw.values())}


@pytest.mark.parametrize(
    "density", [Fraction(1, 50), Fraction(1, 5), Fraction(1, 2), Fraction(9, 10)]
)
def test_the_densities_of_layers_are_those_of_erdos_renyi_with_kernels(density):
    shares, sizes = erk(SHAPES, float(density)), [math.prod(s) for s in SHAPES]
    expected = literal_erk(SHAPES, density)
    assert shares == pytest.approx([float(share) for share in expected], rel=1e-12)
    assert sum(share * n for share, n in zip(shares, sizes)) == pytest.approx(
        float(density) * sum(sizes)
    )
    algorithm = alg.DisPFL(eta=0.1, K=1, sparsity=float(1 - density))
    counts = [
        max(1, math.floor(share * n)) for share, n in zip(expected, sizes, strict=True)
    ]
    assert algorithm.active_weights(SHAPES) == tuple(counts)


def test_the_densities_of_layers_at_their_edges():
    """By hand, 0.5 of 14 is 7 = c (6 + 2 + 3), so c = 7/11.

    If all weights are active, no layer can be thinned.
    """
    assert erk([(3, 3), (2,), (3,)], 0.5) == pytest.approx(
        [7 / 11 * 6 / 9, 7 / 11, 7 / 11]
    )
    assert erk([(100, 100), (100,), ()], 0.2) == pytest.approx(
        [(0.2 * 10101 - 101) / 10**4, 1, 1]
    )
    assert erk(SHAPES, 1.0) == [1.0] * 5
    assert erk([(7,)], 0.3) == pytest.approx([0.3])


def test_a_networks_layers_have_their_shapes():
    data = [(torch.zeros(4, 20), torch.zeros(4, dtype=torch.long))] * 2
    task = Supervised(torch.nn.Linear(20, 10), data)
    assert task.shapes == ((10, 20), (10,))
    # 0.3 of 210 is 63 = 23 + 40: c = 63/40 > 1 would fill the biases; then 53/30 of (10
    # + 20)/200 each
    assert alg.DisPFL(eta=0.1, K=1, sparsity=0.7).active_weights(task.shapes) == (
        53,
        10,
    )


@pytest.mark.parametrize("clip", [10.0, 1.0, 0.0])
def test_gradients_are_clipped_whole_before_the_mask_and_the_decay_of_weights(clip):
    """The gradient (1, ..., 8) has the norm 14.28; two clients take two steps."""
    algorithm = alg.DisPFL(eta=0.1, K=2, clip=clip, weight_decay=0.5, prune=0.0)
    grad = FixedOracle(8)
    state = start(algorithm, grad)
    g = torch.arange(1.0, 9, dtype=F64)
    shrunk = g * (clip / float(g.norm()) if clip else 1)
    y = 3 * state.mask.double()
    for _ in range(2):
        y = y - 0.1 * state.mask.double() * (shrunk + 0.5 * y)
    torch.testing.assert_close(
        algorithm.local_update(state, grad).z, y, rtol=1e-14, atol=0
    )
    assert alg.DisPFL(eta=0.1, K=2).clip == 10


def test_a_gradient_whose_squared_norm_overflows_is_clipped_to_its_direction():
    algorithm = alg.DisPFL(eta=1.0, K=1, clip=4.0, sparsity=0.0)
    grad = FixedOracle(4)
    grad.__class__ = type(
        "Large",
        (FixedOracle,),
        {"__call__": lambda self, y, batch: torch.full_like(y, 2.0**900)},
    )
    updated = algorithm.local_update(start(algorithm, grad), grad).z
    assert torch.equal(updated, torch.full_like(updated, 3 - 4.0 / 2))


def test_a_gradient_of_zero_or_below_the_clip_is_left_alone():
    algorithm = alg.DisPFL(eta=1.0, K=1, clip=4.0, sparsity=0.0)
    for g in (torch.zeros(4, dtype=F64), torch.ones(4, dtype=F64)):
        grad = FixedOracle(4)
        grad.__class__ = type(
            "Flat",
            (FixedOracle,),
            {"__call__": lambda self, y, batch, g=g: g.expand_as(y).clone()},
        )
        assert torch.equal(
            algorithm.local_update(start(algorithm, grad), grad).z[0],
            (3 - g).expand(3, 4),
        )


@pytest.mark.parametrize(
    ("m", "d", "at_a_time"),
    [(12, 10**5, [10, 2]), (13, 90_000, [11, 2]), (2, 10**6 + 1, [1, 1])],
)
def test_clients_are_drawn_some_at_a_time(m, d, at_a_time, monkeypatch):
    """Clients are processed in chunks of at most 10^6 weights, since positions need
    memory.

    Each client gets the same mask as on its own.
    """
    drawn, topk = [], torch.Tensor.topk

    def seen(values, *arguments, **options):
        drawn.append(tuple(values.shape))
        return topk(values, *arguments, **options)

    grad = FixedOracle(d, m=m)
    with monkeypatch.context() as watched:
        watched.setattr(torch.Tensor, "topk", seen)
        state = start(alg.DisPFL(eta=0.1, K=1, **OWN), grad)
    assert drawn == [(1, clients, d) for clients in at_a_time]
    uniform = grad.uniform((m, d))
    threshold = uniform.kthvalue(d - d // 2, dim=-1, keepdim=True).values
    assert torch.equal(state.mask, (uniform > threshold).to(torch.uint8))


def test_masks_rest_where_nothing_is_pruned_or_nothing_is_dead():
    """No gradient is computed if the pruning rate is 0 or the mask is full.

    The rate is 0 at the end of the annealing, or if prune = 0.
    """
    for algorithm, t, horizon in (
        (alg.DisPFL(eta=0.1, K=2), 4, 4),
        (alg.DisPFL(eta=0.1, K=2), 1, 1),
        (alg.DisPFL(eta=0.1, K=2, prune=0.0), 0, 4),
        (alg.DisPFL(eta=0.1, K=2, sparsity=0.0), 0, 4),
    ):
        grad = FixedOracle(8, t=t, horizon=horizon)
        state = start(algorithm, grad)
        local = algorithm.local_update(state, grad)
        assert torch.equal(local.mask, state.mask)
        assert grad.asked == 2


@pytest.mark.parametrize(("t", "changed"), [(0, 4), (1, 4), (2, 2), (3, 1)])
def test_the_cosine_says_how_many_weights_change(t, changed):
    """With prune = 1, in rounds 0 to 3 of 4, 4, 3.4, 2 and 0.59 of 4 active weights
    (rounded up) are pruned.

    As many of the inactive weights are regrown; those with the largest gradients are at
    the end.
    """
    algorithm = alg.DisPFL(eta=0.1, K=1, prune=1.0, **OWN)
    grad = FixedOracle(8, t=t)
    state = start(algorithm, grad)
    local = algorithm.local_update(state, grad)
    for old, new, y in zip(state.mask[0], local.mask[0], local.z[0], strict=True):
        dying = set(
            sorted(old.nonzero()[:, 0].tolist(), key=lambda j: abs(float(y[j])))[
                :changed
            ]
        )
        dead = dying | set((old == 0).nonzero()[:, 0].tolist())
        alive = set(old.nonzero()[:, 0].tolist()) - dying | set(sorted(dead)[-changed:])
        assert set(new.nonzero()[:, 0].tolist()) == alive
    assert grad.asked == 2


def test_a_count_that_is_whole_but_for_rounding_is_not_rounded_up():
    """0.55 of 100 is 55, although the floating-point product is larger."""
    assert 0.55 * 100 > 55
    mask = torch.tensor([[[1] * 100 + [0] * 100]], dtype=torch.uint8)
    found = alg.DisPFL(eta=0.1, K=1, prune=0.55).searched(
        mask, mask.double(), FixedOracle(200, m=1)
    )
    assert (found > mask)[0, 0].nonzero()[:, 0].tolist() == list(range(145, 200))


@pytest.mark.parametrize("order", ["send-then-search", "search-then-send"])
def test_sent_model_has_the_mask_of_before_the_search_by_default(order):
    """Regrown weights are not in the models that others average, but their own clients
    keep them.
    """
    algorithm = alg.DisPFL(eta=0.1, K=1, prune=0.5, order=order, **OWN)
    grad = FixedOracle(8)
    state = start(algorithm, grad)
    local = algorithm.local_update(state, grad)
    late = order == "search-then-send"
    assert not torch.equal(local.mask, state.mask)
    assert torch.equal(local.sent, local.mask if late else state.mask)
    assert torch.equal(local.z, local.z * local.sent)
    trained = state.x - state.mask * torch.arange(1.0, 9, dtype=F64) / math.sqrt(204)
    torch.testing.assert_close(
        local.z, trained * (local.mask if late else 1), rtol=1e-14, atol=0
    )
    after = algorithm.communicate(
        local, dense_mix(torch.full((3, 3), 1 / 3, dtype=F64))
    )
    assert after.mask is local.mask
    assert after.sent is None
    senders = local.sent.double().sum(1, keepdim=True)
    expected = local.mask * local.z.sum(1, keepdim=True) / senders.clamp(min=1)
    torch.testing.assert_close(after.x, expected, rtol=1e-14, atol=1e-15)


def test_growth_at_random_asks_for_uniform_and_not_for_a_gradient():
    algorithm = alg.DisPFL(eta=0.1, K=1, prune=0.5, growth="random", **OWN)
    grad = FixedOracle(8)
    state = start(algorithm, grad)
    local = algorithm.local_update(state, grad)
    assert grad.asked == 1
    uniform = grad.uniform((3, 8))
    assert torch.equal(local.mask, exchanged_mask(local.z, uniform, state.mask, 2))


def test_a_run_of_no_rounds_has_a_schedule():
    assert torch.isfinite(alg.DisPFL(eta=0.1, K=1).local_update(*_no_rounds()).z).all()


def _no_rounds():
    grad = FixedOracle(8, horizon=0)
    return start(alg.DisPFL(eta=0.1, K=1), grad), grad


@pytest.mark.parametrize(
    ("sparsity", "prune", "dying"),
    [
        # all active weights of 8 and of 2; a layer of one weight is full
        (0.5, 1.0, [4, 1, 0]),
        (0.5, 0.1, [1, 1, 0]),  # 0.4 and 0.1 of a weight are one
        # 6 of 8 are active: more are pruned than were inactive, so some are regrown
        (0.25, 1.0, [6, 1, 0]),
        (0.75, 1.0, [2, 1, 0]),  # 0.5 of 2 rounds to 0, but one stays active
        (
            0.25,
            0.25,
            [2, 1, 0],
        ),  # a quarter of 6 is 1.5; a quarter of 8 would also be 2
        (0.75, 0.25, [1, 1, 0]),  # a quarter of 2; a quarter of 8 would be 2
    ],
)
def test_in_every_layer_a_share_of_the_living_dies_and_as_many_of_all_dead_are_born(
    sparsity, prune, dying
):
    """Weights are 3 - c j, so the last active ones are smallest and the last inactive
    ones have the largest gradients.
    """
    algorithm = alg.DisPFL(eta=0.1, K=1, sparsity=sparsity, prune=prune, **OWN)
    layers = (slice(0, 8), slice(8, 10), slice(10, 11))
    grad = FixedOracle(11, layers)
    state = start(algorithm, grad)
    local = algorithm.local_update(state, grad)
    for layer, count, living in zip(
        layers, dying, algorithm.active_weights(grad.shapes), strict=True
    ):
        before, after = state.mask[..., layer], local.mask[..., layer]
        assert (before.sum(-1) == living).all()
        for old, new in zip(before[0].tolist(), after[0].tolist(), strict=True):
            kept = [j for j, alive in enumerate(old) if alive][: living - count]
            dead = [j for j in range(len(old)) if j not in kept]
            expected = sorted(kept + dead[len(dead) - count :])
            assert [j for j, alive in enumerate(new) if alive] == expected


def test_the_smallest_die_and_the_steepest_dead_are_born():
    mask = torch.tensor([[[1, 1, 1, 1, 0, 0, 0, 0]]], dtype=torch.uint8)
    y = torch.tensor([[[-5.0, 0.1, 3, -0.2, 0, 0, 0, 0]]], dtype=F64)
    slope = torch.tensor([[[0.0, 0, 9, 0, 1, 4, 3, 2]]], dtype=F64)
    before = mask.clone()
    assert exchanged_mask(y, slope, mask, 0).tolist() == [[[1, 1, 1, 1, 0, 0, 0, 0]]]
    assert exchanged_mask(y, slope, mask, 1).tolist() == [[[1, 0, 1, 1, 0, 1, 0, 0]]]
    assert exchanged_mask(y, slope, mask, 2).tolist() == [[[1, 0, 1, 0, 0, 1, 1, 0]]]
    slope[..., :2] = torch.tensor([3.5, 2.5])  # pruned weights count as inactive
    assert exchanged_mask(y, slope, mask, 2).tolist() == [[[1, 0, 1, 0, 0, 1, 1, 0]]]
    assert exchanged_mask(y, slope, mask, 4).tolist() == [[[1, 0, 1, 0, 0, 1, 1, 0]]]
    slope[..., 1] = 3.5
    assert exchanged_mask(y, slope, mask, 2).tolist() == [[[1, 1, 1, 0, 0, 1, 0, 0]]]
    assert torch.equal(mask, before)


def test_every_client_of_every_seed_chooses_among_its_own_weights():
    """Two seeds and two clients with equally many active weights in different
    positions.

    The last inactive weight has the largest gradient; if the last two are active, the
    pruned one is regrown.
    """
    mask = torch.zeros(2, 2, 6, dtype=torch.uint8)
    mask[0, 0, :2] = mask[0, 1, 2:4] = mask[1, 0, 4:] = mask[1, 1, ::4] = 1
    y = -torch.arange(1.0, 7, dtype=F64).expand(2, 2, 6)
    slope = torch.arange(6.0, dtype=F64).expand(2, 2, 6)
    expected = [
        [[0, 1, 0, 0, 0, 1], [0, 0, 0, 1, 0, 1]],
        [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 1, 1]],
    ]
    assert exchanged_mask(y, slope, mask, 1).tolist() == expected


@pytest.mark.parametrize("short", [4096, 2])
def test_entry_that_no_client_sent_is_zero_and_others_are_averages(short, monkeypatch):
    monkeypatch.setattr("dfltheory.algorithms.blocks._LEAST_WIDTH", short)
    sent = torch.tensor([[[1.0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]]], dtype=F64)
    mask = torch.tensor([[[1, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 0]]], dtype=torch.uint8)
    z = sent * torch.tensor(
        [[[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]], dtype=F64
    )
    W = torch.tensor(
        [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]], dtype=F64
    )
    state = MaskedState(x=z, z=z, mask=mask, sent=sent.to(torch.uint8))
    after = alg.DisPFL(eta=0.1, K=1).communicate(state, dense_mix(W))
    # 4 = 1/2 + 5/4 + 9/4; 2 = (2/2) / (1/2)
    expected = [[4.0, 2, 0, 0], [5, 2, 7, 0], [0, 0, 0, 0]]
    torch.testing.assert_close(after.x, torch.tensor([expected], dtype=F64))
    assert after.mask is mask
