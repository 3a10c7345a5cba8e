"""How images lie in memory while convolutions work on them, and that nothing else comes of it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional

from dfltheory.tasks import batching
from dfltheory.tasks.batching import Loop, colours_last
from dfltheory.tasks.modules import Layout


class Net(nn.Module):
    """Convolution, pooling, linear; ``seen`` keeps the strides of what it was given."""

    def __init__(self, colours, flatten, width=3):
        super().__init__()
        self.conv, self.linear = nn.Conv2d(colours, width, 3), nn.Linear(6 * width, 2)
        self.flatten, self.seen = flatten, []

    def forward(self, x):
        self.seen.append(x.stride())
        return self.linear(self.flatten(functional.max_pool2d(self.conv(x).relu(), 2)))


def reshaped(h):
    return h.flatten(1)


def viewed(h):
    return h.view(len(h), -1)


def folded(h):
    """Every colour of every image by itself, which one image alone would not mind."""
    return h.view(-1, h.shape[2] * h.shape[3]).softmax(-1).reshape(len(h), -1)


def strided(h):
    """The numbers as they lie in memory: other ones, and nobody is told."""
    return h.as_strided((len(h), h[0].numel()), (h[0].numel(), 1))


def asking(h):
    assert h.is_contiguous()
    return h.flatten(1)


def loop(flatten=reshaped, colours=2, dtype=torch.float64, width=3):
    torch.manual_seed(0)
    net = Net(colours, flatten, width).to(dtype)
    strategy = Loop(net, functional.cross_entropy, Layout.of(net))
    strategy.module.seen.clear()
    images, labels = torch.randn(2, 5, colours, 6, 8, dtype=dtype), torch.randint(2, (2, 5))
    return strategy, strategy.layout.flat(net).expand(2, -1).contiguous(), images, labels


def plainly(strategy, x, images, labels):
    """Gradients and outputs as torch's users get them, colours first."""
    gradients, outputs = [], []
    for own, X, y in zip(x, images, labels):
        parameters = {
            name: part.clone().requires_grad_()
            for name, part in zip(strategy.layout.names, strategy.layout.views(own))
        }
        out = torch.func.functional_call(strategy.module, parameters, (X,))
        parts = torch.autograd.grad(functional.cross_entropy(out, y), list(parameters.values()))
        gradients.append(torch.cat([part.reshape(-1) for part in parts]))
        outputs.append(out.detach())
    strategy.module.seen.clear()
    return torch.stack(gradients), torch.stack(outputs)


@given(shape=st.tuples(*[st.integers(1, 4)] * 4), dtype=st.sampled_from([torch.float32, torch.float64]))
def test_the_colours_lie_last_and_the_images_are_the_same(shape, dtype):
    images = torch.randn(shape, dtype=dtype)
    laid = colours_last(images)
    _, C, H, W = shape
    assert laid.stride() == (C * H * W, 1, C * W, C)
    assert torch.equal(laid, images)
    assert laid.data_ptr() != images.data_ptr()


@pytest.mark.parametrize("colours", [1, 2])
@pytest.mark.parametrize("flatten", [reshaped, viewed, folded, strided, asking])
def test_gradients_and_outputs_are_what_they_are_with_colours_first(flatten, colours):
    strategy, x, images, labels = loop(flatten, colours)
    gradients, outputs = plainly(strategy, x, images, labels)
    torch.testing.assert_close(strategy.gradient(x, images, labels), gradients, rtol=0, atol=1e-13)
    torch.testing.assert_close(strategy.outputs(x, images), outputs, rtol=0, atol=1e-13)
    last, first = (48 * colours, 1, 8 * colours, colours), (48 * colours, 48, 8, 1)
    takes_both = flatten in (reshaped, strided)  # which is seen by trying
    after = last if flatten is reshaped else first
    assert strategy.module.seen == [last, *[first] * takes_both, *[after] * 4]


def test_parameters_that_the_loss_does_not_see_have_gradient_zero():
    strategy, x, images, labels = loop()
    d = x.shape[1]
    strategy.module.extra = nn.Linear(3, 1, bias=False).double()
    more = Loop(strategy.module, functional.cross_entropy, Layout.of(strategy.module))
    g = more.gradient(torch.cat([x, torch.ones(2, 3, dtype=x.dtype)], dim=1), images, labels)
    assert more.module.seen[-1][1] == 1
    assert torch.equal(g[:, :d], strategy.gradient(x, images, labels))
    assert (g[:, d:] == 0).all()


@pytest.mark.parametrize("share", [1.01, 0.99])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_heavy_kernels_keep_colours_first_for_gradients_in_single_precision(share, dtype, monkeypatch):
    strategy, x, images, labels = loop(dtype=dtype, width=4)
    kernels = 4 * 2 * 3 * 3
    monkeypatch.setattr(batching, "_KERNELS_WORTH", share * kernels / images[0].numel())
    keeps = share < 1 and dtype == torch.float32
    strategy.gradient(x, images, labels)
    assert (strategy.module.seen[-1][1] == 48) == keeps
    strategy.outputs(x, images)
    assert strategy.module.seen[-1][1] == 1


def test_what_holds_no_images_stays_as_it_is():
    strategy, _, images, _ = loop()
    for X in (images, images[0, 0], images[0].long(), images[0].to("meta")):  # five axes, three, no colours
        assert strategy._laid_out(X) is X
        assert strategy._any_layout is None  # nothing has been tried
    module = nn.Sequential(nn.Flatten(), nn.Linear(96, 2)).double()
    dense, X = Loop(module, functional.cross_entropy, Layout.of(module)), images[0]
    assert dense._laid_out(X) is X


def test_grouped_convolutions_keep_colours_first():
    module = nn.Sequential(nn.Conv2d(2, 4, 1), nn.Conv2d(4, 4, 3, groups=2)).double()
    strategy, X = Loop(module, functional.cross_entropy, Layout.of(module)), torch.randn(5, 2, 6, 8).double()
    assert strategy._laid_out(X) is X
