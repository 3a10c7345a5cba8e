"""The memory layout of images during convolutions, which must not affect results."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from dfltheory import tasks
from dfltheory.errors import InputError
from dfltheory.tasks.batching import Loop, layout_does_not_matter
from dfltheory.tasks.modules import Layout


class Net(nn.Module):
    """Convolution, pooling and linear layer; ``seen`` records strides of the input."""

    def __init__(self, colours, flatten, width=3):
        super().__init__()
        self.conv, self.linear = nn.Conv2d(colours, width, 3), nn.Linear(6 * width, 2)
        self.flatten, self.seen = flatten, []

    def forward(self, x):
        self.seen.append(x.stride())
        return self.linear(self.flatten(functional.max_pool2d(self.conv(x).relu(), 2)))


def reshaped(h):
    return h.flatten(1)


def loop(flatten=reshaped, colours=2, dtype=torch.float64, width=3, last=True):
    torch.manual_seed(0)
    net = Net(colours, flatten, width).to(dtype)
    strategy = Loop(net, functional.cross_entropy, Layout.of(net), last)
    strategy.module.seen.clear()
    images, labels = (
        torch.randn(2, 5, colours, 6, 8, dtype=dtype),
        torch.randint(2, (2, 5)),
    )
    return (
        strategy,
        strategy.layout.flat(net).expand(2, -1).contiguous(),
        images,
        labels,
    )


def plainly(strategy, x, images, labels):
    """Return gradients and outputs in torch's default layout, channels first."""
    gradients, outputs = [], []
    for own, X, y in zip(x, images, labels):
        parameters = {
            name: part.clone().requires_grad_()
            for name, part in zip(strategy.layout.names, strategy.layout.views(own))
        }
        out = torch.func.functional_call(strategy.module, parameters, (X,))
        parts = torch.autograd.grad(
            functional.cross_entropy(out, y), list(parameters.values())
        )
        gradients.append(torch.cat([part.reshape(-1) for part in parts]))
        outputs.append(out.detach())
    strategy.module.seen.clear()
    return torch.stack(gradients), torch.stack(outputs)


def test_parameters_that_the_loss_does_not_see_have_gradient_zero():
    strategy, x, images, labels = loop()
    d = x.shape[1]
    strategy.module.extra = nn.Linear(3, 1, bias=False).double()
    more = Loop(
        strategy.module, functional.cross_entropy, Layout.of(strategy.module), True
    )
    g = more.gradient(
        torch.cat([x, torch.ones(2, 3, dtype=x.dtype)], dim=1), images, labels
    )
    assert torch.equal(g[:, :d], strategy.gradient(x, images, labels))
    assert (g[:, d:] == 0).all()


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("colours", [1, 2])
def test_gradients_and_outputs_are_what_they_are_with_colours_first(colours, last):
    strategy, x, images, labels = loop(reshaped, colours, last=last)
    gradients, outputs = plainly(strategy, x, images, labels)
    torch.testing.assert_close(
        strategy.gradient(x, images, labels), gradients, rtol=0, atol=1e-13
    )
    torch.testing.assert_close(strategy.outputs(x, images), outputs, rtol=0, atol=1e-13)
    laid = (48 * colours, 1, 8 * colours, colours) if last else (48 * colours, 48, 8, 1)
    assert strategy.module.seen == [laid] * 4


def test_what_holds_no_images_stays_as_it_is():
    strategy, _, images, _ = loop()
    for X in (images, images[0, 0]):  # five axes, three
        assert strategy._laid_out(X) is X


def test_the_layout_is_chosen_where_it_cannot_matter():
    def image(*layers):
        return nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(2))

    assert layout_does_not_matter(image(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2)))
    assert not layout_does_not_matter(
        image(nn.Conv2d(2, 4, 1), nn.Conv2d(4, 4, 3, groups=2))
    )
    assert not layout_does_not_matter(image(nn.ReLU()))  # nothing is gained
    # its forward is unknown
    assert not layout_does_not_matter(Net(2, reshaped))


@pytest.mark.parametrize(
    ("option", "last"), [("auto", True), (True, True), (False, False)]
)
def test_the_users_choice(option, last):
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(32, 2))
    task = tasks.Supervised(
        net,
        [(torch.randn(4, 1, 6, 6), torch.tensor([0, 1, 0, 1]))],
        channels_last=option,
    )
    assert task.strategy._channels_last == task._single._channels_last == last
    with pytest.raises(InputError, match="channels_last = 'first'"):
        tasks.Supervised(
            net,
            [(torch.randn(4, 1, 6, 6), torch.tensor([0, 1, 0, 1]))],
            channels_last="first",
        )
