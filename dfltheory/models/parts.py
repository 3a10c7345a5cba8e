"""Partial personalization: shared (u) and personal (v) parameters of a module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dfltheory.errors import InputError, UnknownNameError


@dataclass(frozen=True, eq=False)
class Split:
    """The parameters of a module, divided into a shared body and a personal head.

    Attributes
    ----------
    body : tuple of str
        Names of the shared parameters, in the order of ``named_parameters``.
    head : tuple of str
        Names of the personal parameters, in the same order.
    shared_mask : (d,) bool tensor
        For each coordinate of the flattened parameters, whether it is shared.
    """

    body: tuple[str, ...]
    head: tuple[str, ...]
    shared_mask: Tensor

    @property
    def shared(self) -> slice | Tensor:
        """Indices of the shared coordinates: a slice if they are contiguous."""
        index = self.shared_mask.nonzero().squeeze(1)
        if len(index) == 0:
            return slice(0, 0)
        start = int(index[0])
        stop = int(index[-1]) + 1
        return slice(start, stop) if stop - start == len(index) else index


def split(module: nn.Module, head: str | Sequence[str] | None = None) -> Split:
    """Divide the parameters of a module into a shared body and a personal head.

    Parameters
    ----------
    module : torch.nn.Module
        A module with at least one parameter.
    head : str or sequence of str, optional
        Dotted names of the personal submodules or parameters, for example "head",
        "classifier.6" or "layer4.1.bias"; an empty sequence makes everything shared. By
        default the last submodule that holds parameters of its own, which is the
        classifier of the usual networks.

    Returns
    -------
    Split
        Names of both parts and the mask of shared coordinates.

    Raises
    ------
    InputError
        If the module has no parameters.
    UnknownNameError
        If ``head`` names no parameter or submodule with parameters.
    """
    names = [name for name, _ in module.named_parameters()]
    if not names:
        raise InputError("module has no parameters: there is nothing to split")
    if head is None:
        prefixes = [names[-1].rpartition(".")[0] or names[-1]]
    else:
        prefixes = [head] if isinstance(head, str) else list(head)
    for prefix in prefixes:
        if not any(_belongs_to(name, prefix) for name in names):
            known = _names_with_parents(names)
            raise UnknownNameError("part of the module with parameters", prefix, known)
    body: list[str] = []
    personal: list[str] = []
    masks: list[Tensor] = []
    for name, parameter in module.named_parameters():
        is_personal = any(_belongs_to(name, prefix) for prefix in prefixes)
        part = personal if is_personal else body
        part.append(name)
        masks.append(torch.full((parameter.numel(),), not is_personal))
    return Split(tuple(body), tuple(personal), torch.cat(masks))


def _belongs_to(name: str, prefix: str) -> bool:
    """Return whether ``prefix`` is the parameter ``name`` or a module that holds it."""
    return name == prefix or name.startswith(prefix + ".")


def _names_with_parents(names: Sequence[str]) -> set[str]:
    """Return the dotted names and the names of all modules above them."""
    known = set(names)
    for name in names:
        parts = name.split(".")
        for depth in range(1, len(parts)):
            known.add(".".join(parts[:depth]))
    return known
