"""DisPFL's masks at their edges: thin layers, full masks, the end of the run, places that nobody has."""

import math

import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.algorithms.sparse import MaskedState, reborn
from tests.algorithms.problems import dense_mix

F64 = torch.float64


class Luck:
    """An oracle whose every gradient is 1, 2, ..., and whose luck is drawn once."""

    def __init__(self, d, blocks=None, t=0, horizon=4, m=3):
        self.d, self.m, self.t, self.horizon = d, m, t, horizon
        self.blocks = blocks or (slice(0, d),)
        self.asked = 0

    def begin(self, x, over=False):
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


@pytest.mark.parametrize(
    ("sparsity", "n", "living"),
    [(0.5, 6, 3), (0.9, 3, 1), (0.9, 5, 1), (0.25, 8, 6), (0.0, 4, 4), (0.6, 6, 2)],
)
def test_every_layer_of_every_client_starts_with_its_share_of_weights_and_at_least_one(sparsity, n, living):
    """max(1, round((1 - sparsity) n)), where the luck is largest; 0.4 of 6 is 2.4, rounded to 2."""
    layers = (slice(0, 2), slice(2, 2 + n))
    grad = Luck(2 + n, layers)
    state = start(alg.DisPFL(eta=0.1, K=1, sparsity=sparsity), grad)
    drawn = grad.uniform((grad.m, grad.d))
    assert state.mask.dtype == torch.uint8  # a byte, not a number of the models' precision
    assert set(state.mask.unique().tolist()) <= {0, 1}
    assert (state.mask[..., layers[1]].sum(-1) == living).all()
    assert (state.mask[..., layers[0]].sum(-1) == max(1, round(2 * (1 - sparsity)))).all()
    for i in range(grad.m):
        kept, luck = state.mask[0, i, layers[1]] > 0, drawn[0, i, layers[1]]
        assert kept.all() or luck[kept].min() > luck[~kept].max()
    assert torch.equal(state.x, 3 * state.mask)


@pytest.mark.parametrize(
    ("m", "d", "at_a_time"), [(12, 10**5, [10, 2]), (13, 90_000, [11, 2]), (2, 10**6 + 1, [1, 1])]
)
def test_clients_are_drawn_some_at_a_time(m, d, at_a_time, monkeypatch):
    """10^6 weights at once, or one client: positions take room. Each gets what it would get alone."""
    drawn, topk = [], torch.Tensor.topk

    def seen(values, *arguments, **options):
        drawn.append(tuple(values.shape))
        return topk(values, *arguments, **options)

    grad = Luck(d, m=m)
    with monkeypatch.context() as watched:
        watched.setattr(torch.Tensor, "topk", seen)
        state = start(alg.DisPFL(eta=0.1, K=1), grad)
    assert drawn == [(1, clients, d) for clients in at_a_time]
    luck = grad.uniform((m, d))
    threshold = luck.kthvalue(d - round(d / 2), dim=-1, keepdim=True).values
    assert torch.equal(state.mask, (luck > threshold).to(torch.uint8))


def test_masks_rest_where_nothing_is_pruned_or_nothing_is_dead():
    """No gradient is asked for then: rate 0 at the end of the annealing, or prune = 0, or a full mask."""
    for algorithm, t, horizon in (
        (alg.DisPFL(eta=0.1, K=2), 4, 4),
        (alg.DisPFL(eta=0.1, K=2), 1, 1),
        (alg.DisPFL(eta=0.1, K=2, prune=0.0), 0, 4),
        (alg.DisPFL(eta=0.1, K=2, sparsity=0.0), 0, 4),
    ):
        grad = Luck(8, t=t, horizon=horizon)
        state = start(algorithm, grad)
        local = algorithm.local_update(state, grad)
        assert torch.equal(local.mask, state.mask)
        assert grad.asked == 2


@pytest.mark.parametrize(
    ("t", "changed"), [(0, 4), (2, 2), (3, round(4 / 2 * (1 + math.cos(0.75 * math.pi))))]
)
def test_the_cosine_says_how_many_weights_change(t, changed):
    """prune = 1: of 4 living weights 4, 2 and 1 (0.59) change in rounds 0, 2 and 3 of 4."""
    algorithm = alg.DisPFL(eta=0.1, K=1, prune=1.0)
    grad = Luck(8, t=t)
    state = start(algorithm, grad)
    local = algorithm.local_update(state, grad)
    assert (local.mask > state.mask).sum(-1).tolist() == [[changed] * 3]
    assert (local.mask < state.mask).sum(-1).tolist() == [[changed] * 3]
    assert grad.asked == 2
    assert torch.equal(local.z, local.z * local.mask)
    born = local.mask > state.mask
    assert (local.z[born] == 0).all()  # a weight is born at 0


def test_a_run_of_no_rounds_has_a_schedule():
    assert torch.isfinite(alg.DisPFL(eta=0.1, K=1).local_update(*_no_rounds()).z).all()


def _no_rounds():
    grad = Luck(8, horizon=0)
    return start(alg.DisPFL(eta=0.1, K=1), grad), grad


@pytest.mark.parametrize(
    ("sparsity", "prune", "changed"),
    [
        (0.5, 1.0, [4, 1, 0]),  # all the living of 8 and of 2; the only weight of a layer stays
        (0.5, 0.1, [0, 0, 0]),  # 0.4 and 0.1 of a weight
        (0.25, 1.0, [2, 0, 0]),  # 6 of 8 live: as many as are dead change; 1.5 of 2 is 2: none is dead
        (0.75, 1.0, [2, 1, 0]),  # 0.5 of 2 is 0, and yet one lives
        (0.25, 0.25, [2, 0, 0]),  # a quarter of 6 is 1.5, rounded to 2; of the 8 it would be 2, too
        (0.75, 0.25, [0, 0, 0]),  # a quarter of 2; of the 8 it would be 2
    ],
)
def test_in_every_layer_a_share_of_the_living_changes_and_no_more_than_are_dead(sparsity, prune, changed):
    """Weights are 3 - 0.1 j: the last of the living are the smallest, the last of the dead the steepest."""
    algorithm = alg.DisPFL(eta=0.1, K=1, sparsity=sparsity, prune=prune)
    layers = (slice(0, 8), slice(8, 10), slice(10, 11))
    grad = Luck(11, layers)
    state = start(algorithm, grad)
    local = algorithm.local_update(state, grad)
    for layer, count in zip(layers, changed, strict=True):
        before, after = state.mask[..., layer], local.mask[..., layer]
        assert (before.sum(-1) == algorithm.living(before.shape[-1])).all()
        for old, new in zip(before[0], after[0], strict=True):
            living, dead = (old > 0).nonzero()[:, 0].tolist(), (old == 0).nonzero()[:, 0].tolist()
            assert (new < old).nonzero()[:, 0].tolist() == living[len(living) - count :]
            assert (new > old).nonzero()[:, 0].tolist() == dead[len(dead) - count :]


def test_the_smallest_die_and_the_steepest_dead_are_born():
    mask = torch.tensor([[[1, 1, 1, 1, 0, 0, 0, 0]]], dtype=torch.uint8)
    y = torch.tensor([[[-5.0, 0.1, 3, -0.2, 0, 0, 0, 0]]], dtype=F64)
    slope = torch.tensor([[[9.0, 9, 9, 9, 1, 4, 3, 2]]], dtype=F64)
    before = mask.clone()
    assert reborn(y, slope, mask, 0).tolist() == [[[1, 1, 1, 1, 0, 0, 0, 0]]]
    assert reborn(y, slope, mask, 1).tolist() == [[[1, 0, 1, 1, 0, 1, 0, 0]]]
    assert reborn(y, slope, mask, 2).tolist() == [[[1, 0, 1, 0, 0, 1, 1, 0]]]
    assert reborn(y, slope, mask, 4).tolist() == [[[0, 0, 0, 0, 1, 1, 1, 1]]]
    assert torch.equal(mask, before)


def test_every_client_of_every_seed_chooses_among_its_own_weights():
    """Two seeds, two clients with as many living weights in other places: the last is the steepest."""
    mask = torch.zeros(2, 2, 6, dtype=torch.uint8)
    mask[0, 0, :2] = mask[0, 1, 2:4] = mask[1, 0, 4:] = mask[1, 1, ::4] = 1
    y = -torch.arange(1.0, 7, dtype=F64).expand(2, 2, 6)
    slope = torch.arange(6.0, dtype=F64).expand(2, 2, 6)
    expected = [[[0, 1, 0, 0, 0, 1], [0, 0, 0, 1, 0, 1]], [[0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 1, 1]]]
    assert reborn(y, slope, mask, 1).tolist() == expected


@pytest.mark.parametrize("short", [4096, 2])
def test_what_nobody_has_stays_zero_and_what_some_have_is_their_average(short, monkeypatch):
    monkeypatch.setattr("dfltheory.algorithms.blocks._SHORT", short)
    mask = torch.tensor([[[1.0, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 0]]], dtype=F64)
    z = mask * torch.tensor([[[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]], dtype=F64)
    W = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]], dtype=F64)
    state = MaskedState(x=z, z=z, mask=mask)
    after = alg.DisPFL(eta=0.1, K=1).communicate(state, dense_mix(W))
    expected = [[4.0, 2, 0, 0], [5, 0, 7, 0], [6, 0, 0, 0]]  # 4 = 1/2 + 5/4 + 9/4; 2 = (2/2) / (1/2)
    torch.testing.assert_close(after.x, torch.tensor([expected], dtype=F64))
