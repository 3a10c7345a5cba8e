"""Models: parameter counts, output shapes, and the split into body and head."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch
from torch import nn

from dfltheory import models
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.models.convolutional import ResidualBlock


def count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def linear(a: int, b: int) -> int:
    return (a + 1) * b


def conv(a: int, b: int, k: int, bias: bool = True) -> int:
    return a * b * k * k + bias * b


def vgg11_count(classes: int) -> int:
    widths = [3, 64, 128, 256, 256, 512, 512, 512, 512]
    return sum(conv(a, b, 3) + 2 * b for a, b in pairwise(widths)) + linear(
        512, classes
    )


def resnet18_count(classes: int) -> int:
    total, width = conv(3, 64, 3, bias=False) + 2 * 64, 64
    for out in (64, 128, 256, 512):
        first = (
            conv(width, out, 3, bias=False) + conv(out, out, 3, bias=False) + 4 * out
        )
        if width != out:
            first += conv(width, out, 1, bias=False) + 2 * out
        total += first + 2 * conv(out, out, 3, bias=False) + 4 * out
        width = out
    return total + linear(512, classes)


@pytest.mark.parametrize(
    ("name", "shape", "classes", "parameters"),
    [
        ("softmax", (1, 28, 28), 10, linear(784, 10)),
        ("softmax", (64,), 10, 650),
        ("mlp", (1, 28, 28), 10, linear(784, 64) + linear(64, 10)),
        ("mnist_2nn", (1, 28, 28), 10, 199_210),
        ("cifar_cnn", (3, 32, 32), 10, 797_962),
        (
            "cifar_cnn",
            (1, 28, 28),
            10,
            conv(1, 64, 5) + conv(64, 64, 5) + linear(1024, 384) + 73_920 + 1_930,
        ),
        ("cifar_cnn", (3, 32, 32), 100, 797_962 + 193 * 90),
        ("vgg11", (3, 32, 32), 10, 9_231_114),
        ("resnet18", (3, 32, 32), 10, 11_173_962),
        ("resnet18", (3, 32, 32), 100, 11_220_132),
        ("resnet18", (3, 64, 64), 200, 11_173_962 + 513 * 190),
    ],
)
def test_parameter_counts_and_output_shapes(name, shape, classes, parameters):
    module = models.get(name, shape, classes)
    assert count(module) == parameters
    out = module(torch.zeros(2, *shape))
    assert out.shape == (2, classes)
    assert not list(module.buffers()), (
        "gossip mixes parameters only, so a buffer would not be mixed"
    )


def test_parameter_counts_equal_formulas_of_the_architectures():
    assert vgg11_count(10) == 9_231_114
    assert resnet18_count(10) == 11_173_962
    assert count(models.vgg11(classes=100)) == vgg11_count(100)


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", ["mnist_2nn", "cifar_cnn", "vgg11", "resnet18"])
def test_output_of_an_example_does_not_depend_on_its_batch(name):
    shape = (1, 28, 28) if name == "mnist_2nn" else (3, 32, 32)
    torch.manual_seed(0)
    module, x = models.get(name, shape), torch.randn(3, *shape)
    torch.testing.assert_close(module(x)[1:2], module(x[1:2]), rtol=1e-4, atol=1e-5)


def test_feature_maps_of_resnet18_are_halved_in_each_stage_after_the_first():
    sides, x = [], torch.zeros(1, 3, 32, 32)
    for name, layer in models.resnet18().named_children():
        if name == "mean":
            break
        x = layer(x)
        sides.append(x.shape[-1])
    stem, blocks = sides[:3], sides[3:]
    assert stem == [32, 32, 32]
    assert blocks == [32, 32, 16, 16, 8, 8, 4, 4]


@pytest.mark.parametrize(("out", "stride"), [(4, 1), (8, 1), (4, 2)])
def test_residual_block_with_constant_branch_adds_it_to_the_skip(out, stride):
    torch.manual_seed(0)
    block = ResidualBlock(4, out, stride, groups=2)
    nn.init.zeros_(block.norm2.weight)
    nn.init.normal_(block.norm2.bias)
    x = torch.randn(2, 4, 6, 6)
    constant = block.norm2.bias[:, None, None]
    torch.testing.assert_close(block(x), torch.relu(block.skip(x) + constant))
    assert isinstance(block.skip, nn.Identity) == ((out, stride) == (4, 1))


def test_images_of_16_pixels_are_the_smallest_of_cifar_cnn():
    assert models.cifar_cnn(size=16)(torch.zeros(2, 3, 16, 16)).shape == (2, 10)
    with pytest.raises(InputError, match="size = 15"):
        models.cifar_cnn(size=15)


def test_dense_networks_are_plain_chains_of_linear_and_relu():
    kinds = [type(layer) for layer in models.mlp(5, (4, 3), 2)]
    assert kinds == [nn.Flatten, nn.Linear, nn.ReLU, nn.Linear, nn.ReLU, nn.Linear]


@pytest.mark.parametrize("name", models.names())
def test_the_default_split_makes_the_classifier_personal(name):
    module = models.get(name)
    parts = models.split(module)
    assert parts.head == ("head.weight", "head.bias")
    assert [*parts.body, *parts.head] == [n for n, _ in module.named_parameters()]
    size = count(module.get_submodule("head"))
    assert int((~parts.shared_mask).sum()) == size
    assert parts.shared == slice(0, count(module) - size)


def test_split_by_name_marks_exactly_the_named_coordinates():
    module = models.mlp(5, (4, 3), 2)
    parts = models.split(module, head=["hidden2", "head.bias"])
    assert parts.head == ("hidden2.weight", "hidden2.bias", "head.bias")
    flat = torch.cat(
        [
            torch.full((p.numel(),), float("hidden2" not in n and n != "head.bias"))
            for n, p in module.named_parameters()
        ]
    )
    assert torch.equal(parts.shared_mask, flat.bool())
    assert parts.shared.tolist() == flat.nonzero().flatten().tolist()  # not contiguous
    first = models.split(module, head="hidden1")
    assert first.shared == slice(24, 24 + 15 + 8)
    assert models.split(module, head=["hidden1", "hidden2", "head"]).shared == slice(
        0, 0
    )


def test_split_of_a_users_module():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.encoder = nn.Sequential(nn.Linear(4, 3), nn.Tanh())
            self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(3, 2))

    assert models.split(Own()).head == ("classifier.1.weight", "classifier.1.bias")
    assert models.split(Own(), head="classifier").body == (
        "encoder.0.weight",
        "encoder.0.bias",
    )


@pytest.mark.parametrize(
    ("call", "error", "field"),
    [
        (lambda: models.get("resnet"), UnknownNameError, "resnet18"),
        (lambda: models.get("cifar_cnn", (64,)), InputError, "shape"),
        (lambda: models.get("vgg11", (3, 28, 28)), InputError, "size = 28"),
        (lambda: models.get("cifar_cnn", (3, 8, 8)), InputError, "size = 8"),
        (lambda: models.mlp(5, (0,), 2), InputError, "widths"),
        (lambda: models.split(models.mlp(), head="heads"), UnknownNameError, "head"),
        (lambda: models.split(nn.ReLU()), InputError, "module"),
    ],
)
def test_invalid_argument_raises_error_with_its_name(call, error, field):
    with pytest.raises(error, match=field):
        call()
