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
    assert set(state.mask.unique().tolist()) <= {0.0, 1.0}
    assert (state.mask[..., layers[1]].sum(-1) == living).all()
    assert (state.mask[..., layers[0]].sum(-1) == max(1, round(2 * (1 - sparsity)))).all()
    for i in range(grad.m):
        kept, luck = state.mask[0, i, layers[1]] > 0, drawn[0, i, layers[1]]
        assert kept.all() or luck[kept].min() > luck[~kept].max()
    assert torch.equal(state.x, 3 * state.mask)


def test_clients_are_drawn_some_at_a_time():
    """10^6 weights at once: 12 clients of 10^5 take two goes, and get what they would get alone."""
    d = 10**5
    grad = Luck(d, m=12)
    state = start(alg.DisPFL(eta=0.1, K=1), grad)
    threshold = grad.uniform((12, d)).sort(-1).values[..., d // 2 - 1 : d // 2]
    assert torch.equal(state.mask, (grad.uniform((12, d)) > threshold).to(F64))


def test_masks_rest_where_nothing_is_pruned_or_nothing_is_dead():
    """No gradient is asked for then: rate 0 at the end of the annealing, or prune = 0, or a full mask."""
    for algorithm, t in (
        (alg.DisPFL(eta=0.1, K=2), 4),
        (alg.DisPFL(eta=0.1, K=2, prune=0.0), 0),
        (alg.DisPFL(eta=0.1, K=2, sparsity=0.0), 0),
    ):
        grad = Luck(8, t=t)
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
    assert ((local.mask - state.mask) == 1).sum(-1).tolist() == [[changed] * 3]
    assert ((local.mask - state.mask) == -1).sum(-1).tolist() == [[changed] * 3]
    assert grad.asked == 2
    assert torch.equal(local.z, local.z * local.mask)
    born = local.mask > state.mask
    assert (local.z[born] == 0).all()  # a weight is born at 0


def test_a_run_of_no_rounds_has_a_schedule():
    assert torch.isfinite(alg.DisPFL(eta=0.1, K=1).local_update(*_no_rounds()).z).all()


def _no_rounds():
    grad = Luck(8, horizon=0)
    return start(alg.DisPFL(eta=0.1, K=1), grad), grad


def test_the_smallest_die_and_the_steepest_dead_are_born():
    mask = torch.tensor([[[1.0, 1, 1, 1, 0, 0, 0, 0]]], dtype=F64)
    y = torch.tensor([[[-5.0, 0.1, 3, -0.2, 0, 0, 0, 0]]], dtype=F64)
    slope = torch.tensor([[[9.0, 9, 9, 9, 1, 4, 3, 2]]], dtype=F64)
    assert reborn(y, slope, mask, 0.5).tolist() == [[[1, 0, 1, 0, 0, 1, 1, 0]]]
    assert reborn(y, slope, mask, 0.1) is mask  # round(0.4) = 0
    full = torch.ones_like(mask)
    assert reborn(y, slope, full, 0.5) is full  # none is dead
    almost = full.clone()
    almost[..., 7] = 0
    y[..., 4:7] = 1.0
    one = reborn(y, slope, almost, 0.9)  # one is dead: one changes, not six
    assert one[0, 0].tolist() == [1, 0, 1, 1, 1, 1, 1, 1]


def test_the_first_clients_count_is_every_clients():
    """Two seeds, two clients with as many living weights in other places."""
    mask = torch.zeros(2, 2, 6, dtype=F64)
    mask[0, 0, :2] = mask[0, 1, 2:4] = mask[1, 0, 4:] = mask[1, 1, ::4] = 1
    y, slope = torch.ones(2, 2, 6, dtype=F64), torch.arange(6.0, dtype=F64).expand(2, 2, 6)
    assert (reborn(y, slope, mask, 0.5).sum(-1) == 2).all()


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
