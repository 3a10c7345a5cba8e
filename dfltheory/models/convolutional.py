"""Convolutional networks of the papers, with group norm instead of batch norm.

The papers replace batch norm because gossip does not mix its running statistics. The
last layer is called ``head``. No module works in place or draws random numbers, so each
can be evaluated for all clients in one batch.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from dfltheory.errors import InputError

_VGG11_WIDTHS = ((64,), (128,), (256, 256), (512, 512), (512, 512))
"""Output channels of the convolutions, one tuple for each block between poolings."""


def cifar_cnn(classes: int = 10, channels: int = 3, size: int = 32) -> nn.Sequential:
    """Return conv5x5(64) - pool - conv5x5(64) - pool - 384 - 192 - classes.

    The convolutions have no padding. CIFAR-10 gives 797962 parameters.

    Parameters
    ----------
    classes : int
        Number of classes.
    channels : int
        Number of channels of an image.
    size : int
        Height and width of an image in pixels, at least 16.

    Returns
    -------
    torch.nn.Sequential
        Maps (batch, channels, size, size) to logits (batch, classes).

    Raises
    ------
    InputError
        If ``size`` is below 16.

    References
    ----------
    DFedADMM, appendix A.1; DFedSGPSM, appendix.
    """
    side = ((size - 4) // 2 - 4) // 2
    if side < 1:
        raise InputError(
            f"size = {size}: cifar_cnn needs images of at least 16 x 16 pixels"
        )
    return nn.Sequential(
        OrderedDict(
            conv1=nn.Conv2d(channels, 64, 5),
            relu1=nn.ReLU(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(64, 64, 5),
            relu2=nn.ReLU(),
            pool2=nn.MaxPool2d(2),
            flatten=nn.Flatten(),
            hidden1=nn.Linear(64 * side * side, 384),
            relu3=nn.ReLU(),
            hidden2=nn.Linear(384, 192),
            relu4=nn.ReLU(),
            head=nn.Linear(192, classes),
        )
    )


def vgg11(
    classes: int = 10, channels: int = 3, size: int = 32, groups: int = 32
) -> nn.Sequential:
    """Return VGG-11 for small images: eight convolutions and one linear head.

    Each convolution is followed by group norm. CIFAR-10 gives 9231114 parameters.

    Parameters
    ----------
    classes : int
        Number of classes.
    channels : int
        Number of channels of an image.
    size : int
        Height and width of an image in pixels, at least 32.
    groups : int
        Number of groups of each group norm.

    Returns
    -------
    torch.nn.Sequential
        Maps (batch, channels, size, size) to logits (batch, classes).

    Raises
    ------
    InputError
        If ``size`` is below 32.

    References
    ----------
    Simonyan & Zisserman (2014), configuration A; DFedSAM, appendix B.1.
    """
    if size < 32:
        raise InputError(
            f"size = {size}: vgg11 halves images five times and needs at least 32 x 32"
            " pixels"
        )
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    width = channels
    index = 0
    for block, widths in enumerate(_VGG11_WIDTHS, start=1):
        for out in widths:
            index += 1
            layers[f"conv{index}"] = nn.Conv2d(width, out, 3, padding=1)
            layers[f"norm{index}"] = nn.GroupNorm(groups, out)
            layers[f"relu{index}"] = nn.ReLU()
            width = out
        layers[f"pool{block}"] = nn.MaxPool2d(2)
    layers["mean"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["head"] = nn.Linear(width, classes)
    return nn.Sequential(layers)


class ResidualBlock(nn.Module):
    """relu(skip(x) + norm(conv3x3(relu(norm(conv3x3(x)))))).

    ``skip`` is the identity, or norm(conv1x1(x)) if the block changes the shape.

    Parameters
    ----------
    width : int
        Number of input channels.
    out : int
        Number of output channels.
    stride : int
        Stride of the first convolution.
    groups : int
        Number of groups of each group norm.
    """

    def __init__(self, width: int, out: int, stride: int, groups: int):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(groups, out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(groups, out)
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or width != out:
            self.skip = nn.Sequential(
                nn.Conv2d(width, out, 1, stride, bias=False),
                nn.GroupNorm(groups, out),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output for an input (batch, channels, height, width)."""
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.skip(x) + self.norm2(self.conv2(y)))


def resnet18(classes: int = 10, channels: int = 3, groups: int = 32) -> nn.Sequential:
    """Return ResNet-18 for small images: a 3x3 stem without pooling, and group norm.

    Images have at least 8 x 8 pixels. CIFAR-10 gives 11173962 parameters.

    Parameters
    ----------
    classes : int
        Number of classes.
    channels : int
        Number of channels of an image.
    groups : int
        Number of groups of each group norm.

    Returns
    -------
    torch.nn.Sequential
        Maps (batch, channels, height, width) to logits (batch, classes).

    References
    ----------
    He et al. (2016); DFedMDC, section 5; DFedSAM, appendix B.1.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv=nn.Conv2d(channels, 64, 3, padding=1, bias=False),
        norm=nn.GroupNorm(groups, 64),
        relu=nn.ReLU(),
    )
    width = 64
    for stage, out in enumerate((64, 128, 256, 512), start=1):
        for block in (1, 2):
            stride = 2 if block == 1 and stage > 1 else 1
            layers[f"block{stage}_{block}"] = ResidualBlock(width, out, stride, groups)
            width = out
    layers["mean"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["head"] = nn.Linear(width, classes)
    return nn.Sequential(layers)
