"""Partial personalization: which parameters of a module are shared (u) and which are personal (v)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dfltheory.errors import InputError, UnknownNameError


@dataclass(frozen=True, eq=False)
class Split:
    """A module's parameters, in the order of ``named_parameters``, divided into body and head.

    ``body`` and ``head`` are names; ``shared_mask`` (d,) tells for every coordinate of the flattened
    parameters whether it belongs to the body.
    """

    body: tuple[str, ...]
    head: tuple[str, ...]
    shared_mask: Tensor

    @property
    def shared(self) -> slice | Tensor:
        """The body's coordinates: a slice where they are one run of the vector, else their positions."""
        index = self.shared_mask.nonzero().squeeze(1)
        if len(index) == 0:
            return slice(0, 0)
        first, last = int(index[0]), int(index[-1]) + 1
        return slice(first, last) if last - first == len(index) else index


def split(module: nn.Module, head: str | Sequence[str] | None = None) -> Split:
    """Divide a module into its shared body and its personal head.

    ``head`` names the personal part: submodules or parameters, by their dotted names ("head",
    "classifier.6", "layer4.1.bias"). Unless told, it is the last submodule that holds parameters of its own
    (the classifier of the usual networks).
    """
    names = [name for name, _ in module.named_parameters()]
    if not names:
        raise InputError("a module without parameters cannot be split")
    if head is None:
        prefixes = [names[-1].rpartition(".")[0] or names[-1]]
    else:
        prefixes = [head] if isinstance(head, str) else list(head)
    for prefix in prefixes:
        if not any(_within(name, prefix) for name in names):
            known = set(names) | {
                ".".join(n.split(".")[:k]) for n in names for k in range(1, n.count(".") + 1)
            }
            raise UnknownNameError("part of the module with parameters", prefix, known)
    personal = {name for name in names if any(_within(name, prefix) for prefix in prefixes)}
    mask = [torch.full((p.numel(),), name not in personal) for name, p in module.named_parameters()]
    return Split(
        body=tuple(n for n in names if n not in personal),
        head=tuple(n for n in names if n in personal),
        shared_mask=torch.cat(mask),
    )


def _within(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(prefix + ".")
