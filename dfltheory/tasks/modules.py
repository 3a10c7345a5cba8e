"""Torch modules as functions of one flat parameter vector, and checks of modules."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from dfltheory.errors import InputError

CallResult = TypeVar("CallResult")


@dataclass(frozen=True)
class Layout:
    """Positions of a module's parameters in the flat vector, as in named_parameters.

    Attributes
    ----------
    names : tuple of str
    shapes : tuple of torch.Size
    slices : tuple of slice
        Position of each parameter.
    d : int
        Length of the vector.
    """

    names: tuple[str, ...]
    shapes: tuple[torch.Size, ...]
    slices: tuple[slice, ...]
    d: int

    @classmethod
    def of(cls, module: nn.Module) -> Layout:
        """Return the layout of a module."""
        parts = dict(module.named_parameters())
        ends = [0, *accumulate(p.numel() for p in parts.values())]
        if ends[-1] == 0:
            raise InputError("a module without parameters has nothing to train")
        slices = tuple(slice(a, b) for a, b in pairwise(ends))
        return cls(
            tuple(parts), tuple(p.shape for p in parts.values()), slices, ends[-1]
        )

    def views(self, x: Tensor) -> list[Tensor]:
        """Return views (..., *shape) of the parameters in a flat tensor (..., d)."""
        return [
            x[..., s].view(*x.shape[:-1], *shape)
            for s, shape in zip(self.slices, self.shapes)
        ]

    def flat(self, module: nn.Module) -> Tensor:
        """Return a copy of the module's parameters as one vector (d,)."""
        return torch.cat([p.detach().reshape(-1) for p in module.parameters()])


def refuse_unfit(module: nn.Module, dtype: torch.dtype | None = None) -> None:
    """Raise InputError if a module cannot be trained in the given precision.

    This is the case if its forward pass changes state, or if parameters are integers
    or frozen.
    """
    if not isinstance(module, nn.Module):
        raise InputError(
            f"module is {module!r}: pass a torch.nn.Module, such as"
            " torch.nn.Linear(784, 10)"
        )
    if dtype is not None and not dtype.is_floating_point:
        raise InputError(
            f"dtype = {dtype} must be a floating-point type such as torch.float32"
        )
    for name, p in module.named_parameters():
        if not p.is_floating_point():
            raise InputError(
                f"parameter {name} is {p.dtype}: gradients need floating-point"
                " parameters"
            )
        if not p.requires_grad:
            raise InputError(
                f"parameter {name} is frozen (requires_grad = False), but all"
                " parameters are trained: unfreeze it, or make it a buffer"
            )
    for name, part in module.named_modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            raise InputError(
                f"{name or 'the module'} is a batch norm, which couples the losses of"
                " examples and has statistics that gossip does not mix: use"
                f" torch.nn.GroupNorm(groups, {part.num_features})"
            )


def has_dropout(module: nn.Module, one: Tensor) -> bool:
    """Return whether a module draws random numbers in training mode.

    Parameters
    ----------
    module : Module
    one : (1, ...) tensor
        A preprocessed input.

    Raises
    ------
    InputError
        If the module draws in eval mode, in which f is measured, or if it has dropout
        and buffers that change in training.
    """
    trial = copy.deepcopy(module).cpu()
    example_input = one.cpu()
    draws_in_mode: dict[str, bool] = {}
    for mode in ("eval", "training"):
        trial.train(mode == "training")
        with torch.random.fork_rng([]), torch.no_grad(), _DrawDetector() as detector:
            trial(example_input)
        draws_in_mode[mode] = detector.drawn
    if draws_in_mode["eval"]:
        raise InputError(
            "the module draws random numbers in eval mode, in which f and its gradient"
            " are measured: it may draw in training mode only, like"
            " functional.dropout(x, p, training=self.training)"
        )
    if draws_in_mode["training"]:
        for (name, now), then in zip(trial.named_buffers(), module.buffers()):
            if not torch.equal(now, then.cpu()):
                raise InputError(
                    f"buffer {name} changes in training mode, and gossip does not mix"
                    " it: this is allowed only without dropout, when the module stays"
                    " in eval mode"
                )
    return draws_in_mode["training"]


class _DrawDetector(TorchDispatchMode):
    """Detects whether an operation in this thread draws random numbers.

    Draws in other threads are not detected.
    """

    drawn = False

    def __torch_dispatch__(
        self,
        func: OpOverload,
        types: object,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> object:
        before, keywords = torch.get_rng_state(), kwargs or {}
        out = func(*args, **keywords)
        # operations with this tag may draw only for certain arguments
        if torch.Tag.nondeterministic_seeded in func.tags:
            has_generator = any(
                isinstance(value, torch.Generator)
                for value in (*args, *keywords.values())
            )
            self.drawn |= has_generator or not torch.equal(
                before, torch.get_rng_state()
            )
        return out


def refuse_mismatch(
    module: nn.Module,
    one: Tensor,
    y: Tensor,
    classes: bool,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Return the outputs for an input, after checking that module and data fit.

    Parameters
    ----------
    module : Module
    one : (1, ...) tensor
        A preprocessed input.
    y : (n, ...) tensor
        All targets.
    classes : bool
        Whether the targets are labels.
    loss : callable, optional
        Loss to evaluate for the input.

    Raises
    ------
    InputError
        If the module or the loss fails, a label is not one of the module's classes, or
        the loss would broadcast targets to outputs.
    """
    description = f"inputs of shape {tuple(one.shape[1:])}"
    if not one.is_floating_point():
        description += (
            f" of integers ({one.dtype}; pass X.float(), or a preprocess that converts"
            " them)"
        )
    out = _or_refused(f"the module cannot take {description}", partial(module, one))
    if not isinstance(out, Tensor):
        raise InputError(
            f"the module returns a {type(out).__name__}: wrap it so that it returns one"
            " tensor"
        )
    if classes and y.ndim == 1 and out.ndim == 2:
        unknown = torch.nonzero((y < 0) | (y >= out.shape[1]))[:, 0].tolist()
        if unknown:
            k = unknown[0]
            raise InputError(
                f"example {k} has the label {y[k]}: the module has the classes 0 to"
                f" {out.shape[1] - 1}"
            )
    if loss is not None:
        gives, wanted = tuple(out.shape[1:]), tuple(y.shape[1:])
        description = (
            f"the loss cannot compare outputs of shape {gives} with targets of shape"
            f" {wanted}"
        )
        _or_refused(description, partial(loss, out, y[:1]))
    return out


def _or_refused(what: str, call: Callable[[], CallResult]) -> CallResult:
    """Return the result of a call; convert its errors to InputError with ``what``."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.filterwarnings("error", message="Using a target size")
            return call()
    except (RuntimeError, TypeError, ValueError, IndexError, UserWarning) as error:
        raise InputError(f"{what}: {' '.join(str(error).split())[:160]}") from error
