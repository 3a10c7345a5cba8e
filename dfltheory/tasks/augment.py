"""The papers' augmentation, on tensors and for all seeds and clients at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class CropAndFlip:
    """Each image is padded, cropped to its size at a random place, and mirrored with probability 1/2.

    ``padding`` pixels on every side (4 in the papers), of the value ``fill`` (channels,): black, after
    normalization. Called with images (S, ..., channels, height, width) and one generator for each seed;
    every image draws for itself, and a seed's draws depend on its own generator alone.
    """

    padding: int
    fill: Tensor
    flip: bool = True

    def __call__(self, X: Tensor, generators: Sequence[torch.Generator]) -> Tensor:
        *lead, C, H, W = X.shape
        N, p, device = X.shape[:-3].numel(), self.padding, X.device
        each = tuple(lead[1:])
        # one draw of three numbers for an image: where the crop begins, and whether it is mirrored
        u = torch.stack([torch.rand((*each, 3), generator=g, device=device) for g in generators]).reshape(
            N, 3
        )
        top, left = ((2 * p + 1) * u[:, :2]).long().unbind(1)
        columns = torch.arange(W, device=device)
        if self.flip:
            columns = torch.where(u[:, 2:] < 0.5, columns.flip(0), columns)
        rows = torch.arange(H, device=device) + top[:, None]
        columns = columns + left[:, None]
        fill = self.fill.to(X).view(C, 1, 1)
        wide = fill.repeat(N, 1, H + 2 * p, W + 2 * p).view(N, C, H + 2 * p, W + 2 * p)
        wide[:, :, p : p + H, p : p + W] = X.reshape(N, C, H, W)
        image = torch.arange(N, device=device)[:, None, None, None]
        channel = torch.arange(C, device=device)[None, :, None, None]
        return wide[image, channel, rows[:, None, :, None], columns[:, None, None, :]].reshape(X.shape)


__all__ = ["CropAndFlip"]
