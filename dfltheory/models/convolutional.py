"""The papers' convolutional backbones, with group norm in place of batch norm; the last layer is ``head``.

Batch norm would make a client's model depend on statistics that gossip does not mix; the papers replace it.
No module works in place and none draws random numbers, so that all of them can be batched over clients.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn

from dfltheory.errors import InputError


def cifar_cnn(classes: int = 10, channels: int = 3, size: int = 32) -> nn.Sequential:
    """conv5x5(64) - pool - conv5x5(64) - pool - 384 - 192 - classes, without padding.

    797962 parameters for CIFAR-10.   [DFedADMM, appendix A.1; DFedSGPSM, appendix]
    """
    side = ((size - 4) // 2 - 4) // 2
    if side < 1:
        raise InputError(f"cifar_cnn needs images of at least 16 x 16 pixels, not {size} x {size}")
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


def vgg11(classes: int = 10, channels: int = 3, size: int = 32, groups: int = 32) -> nn.Sequential:
    """The 8 convolutions of VGG-11, each with group norm, and one linear head (its form for small images).

    9231114 parameters for CIFAR-10.   [Simonyan & Zisserman 2014, configuration A; DFedSAM, appendix B.1]
    """
    if size < 32:
        raise InputError(f"vgg11 halves its images five times: it needs 32 x 32 pixels, not {size} x {size}")
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    width, k = channels, 0
    for block, widths in enumerate([(64,), (128,), (256, 256), (512, 512), (512, 512)], start=1):
        for out in widths:
            k += 1
            layers[f"conv{k}"] = nn.Conv2d(width, out, 3, padding=1)
            layers[f"norm{k}"] = nn.GroupNorm(groups, out)
            layers[f"relu{k}"] = nn.ReLU()
            width = out
        layers[f"pool{block}"] = nn.MaxPool2d(2)
    layers["mean"] = nn.AdaptiveAvgPool2d(1)
    layers["flatten"] = nn.Flatten()
    layers["head"] = nn.Linear(width, classes)
    return nn.Sequential(layers)


class ResidualBlock(nn.Module):
    """relu(skip(x) + norm(conv3x3(relu(norm(conv3x3(x)))))); skip = norm(conv1x1) where the shape changes."""

    def __init__(self, width: int, out: int, stride: int, groups: int):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, padding=1, bias=False)
        self.norm1 = nn.GroupNorm(groups, out)
        self.conv2 = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norm2 = nn.GroupNorm(groups, out)
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or width != out:
            self.skip = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.GroupNorm(groups, out))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.norm1(self.conv1(x)))
        return torch.relu(self.skip(x) + self.norm2(self.conv2(y)))


def resnet18(classes: int = 10, channels: int = 3, groups: int = 32) -> nn.Sequential:
    """ResNet-18 in its form for small images (3x3 stem, no pooling after it), with group norm.

    11173962 parameters for CIFAR-10. Images of any size from 8 x 8 on (Tiny-ImageNet's 64 x 64 too).
    [He et al. 2016; DFedMDC, section 5; DFedSAM, appendix B.1]
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        conv=nn.Conv2d(channels, 64, 3, padding=1, bias=False), norm=nn.GroupNorm(groups, 64), relu=nn.ReLU()
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
