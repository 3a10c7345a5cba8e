"""Gradients of N copies of one network, each on its own minibatch.

A strategy takes stacked parameters x (N, d), inputs X (N, B, ...) and targets y (N, B,
...), and returns the gradients (N, d) of the mean loss over each copy's B examples.
Both strategies return the same numbers up to rounding; they differ in speed:

``batched``  linear layers with ReLU, tanh or sigmoid, as batched matrix products
``loop``     any network, one copy after another
"""

from __future__ import annotations

import abc
import contextlib
import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from dfltheory.errors import InputError, checked_name
from dfltheory.tasks.modules import Layout

Loss = Callable[[Tensor, Tensor], Tensor]
"""A function (outputs (B, ...), targets (B, ...)) -> mean loss, a scalar."""


def mean_squared(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the mean over all entries of (output - target)^2.

    Outputs with a single column are compared as a vector.
    """
    return functional.mse_loss(
        outputs.squeeze(-1) if outputs.ndim == targets.ndim + 1 else outputs, targets
    )


LOSSES: dict[str, Loss] = {
    "cross_entropy": functional.cross_entropy,
    "mse": mean_squared,
}


class Strategy(abc.ABC):
    """A way to evaluate N copies of a network, each on B examples of its own.

    Parameters
    ----------
    module : Module
        The network; it is copied.
    loss : callable
        Maps (outputs (B, ...), targets (B, ...)) to the mean loss.
    layout : Layout
        Positions of the network's parameters in the flat vector.
    channels_last : bool
        Whether to pass images in channels-last memory format (only for :class:`Loop`).
    """

    name: str

    def __init__(
        self, module: nn.Module, loss: Loss, layout: Layout, channels_last: bool = False
    ):
        self.module, self.criterion, self.layout = copy.deepcopy(module), loss, layout
        self._channels_last = channels_last

    @abc.abstractmethod
    def gradient(
        self, x: Tensor, X: Tensor, y: Tensor, offset: Tensor | None = None
    ) -> Tensor:
        """Return the gradients (N, d) of each copy's mean loss.

        Parameters
        ----------
        x : (N, d) tensor
            Parameters of the copies.
        X : (N, B, ...) tensor
            Inputs of each copy.
        y : (N, B, ...) tensor
            Targets of each copy.
        offset : (N, 1, C) tensor, optional
            Added to the outputs, for the balanced softmax.
        """

    @abc.abstractmethod
    def outputs(self, x: Tensor, X: Tensor) -> Tensor:
        """Return each copy's outputs (N, B, ...)."""

    def loss(self, x: Tensor, X: Tensor, y: Tensor) -> Tensor:
        """Return each copy's mean loss (N,)."""
        out = self.outputs(x, X)
        return torch.stack([self.criterion(o, t) for o, t in zip(out, y)])

    def _call(self, parameters: Sequence[Tensor], X: Tensor) -> Tensor:
        """Return the outputs of one copy."""
        return torch.func.functional_call(
            self.module, dict(zip(self.layout.names, parameters)), (X,)
        )


class Loop(Strategy):
    """Evaluates one copy after another, without copying parameters into the module.

    With ``channels_last``, images are passed to the module in channels-last memory
    format. On a CPU this makes layers such as max pooling up to ten times faster and
    changes results only by rounding.
    """

    name = "loop"

    def gradient(
        self, x: Tensor, X: Tensor, y: Tensor, offset: Tensor | None = None
    ) -> Tensor:
        """Return the gradients at stacked models."""
        return self.loss_and_gradient(x, X, y, offset)[1]

    def loss_and_gradient(
        self,
        x: Tensor,
        X: Tensor,
        y: Tensor,
        offset: Tensor | None = None,
        dropped: Tensor | None = None,
    ) -> tuple[list[Tensor], Tensor]:
        """Return each copy's mean loss and the gradients (N, d), from one pass.

        Parameters
        ----------
        x, X, y, offset : tensors
            As for :meth:`Strategy.gradient`.
        dropped : (N,) tensor, optional
            Seed of each copy's dropout. Without it, nothing is dropped.

        Returns
        -------
        losses : list of N scalar tensors
        gradients : (N, d) tensor
        """
        losses, g = [], torch.empty_like(x)
        with contextlib.ExitStack() as after, torch.enable_grad():
            if dropped is not None:
                after.callback(self.module.eval)  # even after an interrupt
                after.enter_context(
                    torch.random.fork_rng([x.device] if x.is_cuda else [])
                )
                self.module.train()
            for n, copy_parameters in enumerate(x):
                if dropped is not None:
                    torch.manual_seed(int(dropped[n]))
                parameters = [
                    part.detach().requires_grad_()
                    for part in self.layout.views(copy_parameters)
                ]
                out = self._call(parameters, self._laid_out(X[n]))
                loss = self.criterion(out if offset is None else out + offset[n], y[n])
                parts = torch.autograd.grad(loss, parameters, materialize_grads=True)
                torch.cat([part.reshape(-1) for part in parts], out=g[n])
                losses.append(loss.detach())
        return losses, g

    @torch.no_grad()
    def outputs(self, x: Tensor, X: Tensor) -> Tensor:
        """Return each copy's outputs (N, B, ...)."""
        copies = (
            self._call(self.layout.views(copy_parameters), self._laid_out(inputs))
            for copy_parameters, inputs in zip(x, X)
        )
        return torch.stack(list(copies))

    def _laid_out(self, X: Tensor) -> Tensor:
        """Return one copy's inputs; images in channels-last format if requested.

        They are a copy (B, C, H, W) that is stored in memory as (B, H, W, C).
        ``contiguous(memory_format=torch.channels_last)`` would leave single-channel
        images unchanged.
        """
        if not self._channels_last or X.ndim != 4:
            return X
        return (
            X.movedim(1, -1).clone(memory_format=torch.contiguous_format).movedim(-1, 1)
        )


def uses_channels_last(
    channels_last: bool | str, module: nn.Module, device: torch.device
) -> bool:
    """Return whether images are passed in channels-last memory format.

    ``auto``: on a CPU, if this is safe and fast for the module.

    Raises
    ------
    InputError
        If ``channels_last`` is not True, False or "auto".
    """
    if channels_last not in (True, False, "auto"):
        raise InputError(
            f"channels_last = {channels_last!r} must be True, False or auto"
        )
    if channels_last == "auto":
        return device.type == "cpu" and layout_does_not_matter(module)
    return channels_last is True


def layout_does_not_matter(module: nn.Module) -> bool:
    """Return whether channels-last images are safe and fast for a module.

    They are for stacks of torch's own layers with convolutions. A user-defined forward
    may depend on the memory format (``x.view`` rejects some formats, ``x.as_strided``
    reads wrong values), and grouped convolutions are slower with channels last.
    """
    convolutions: list[nn.Conv2d] = []
    for part in module.modules():
        if type(part) is nn.Sequential:
            continue
        is_torchs_own = type(part).__module__.startswith("torch.nn.")
        if not is_torchs_own or list(part.children()):
            return False
        if isinstance(part, nn.Conv2d):
            convolutions.append(part)
    return bool(convolutions) and all(layer.groups == 1 for layer in convolutions)


class Batched(Strategy):
    """Evaluates linear layers with activations between them as batched products."""

    name = "batched"

    def __init__(
        self, module: nn.Module, loss: Loss, layout: Layout, channels_last: bool = False
    ):
        super().__init__(module, loss, layout)
        layers = dense_layers(module)
        if layers is None or loss not in LOSSES.values():
            raise InputError(
                "the batched strategy supports only linear layers with ReLU, tanh or"
                " sigmoid between them"
            )
        self._layers = layers

    @torch.enable_grad()
    def gradient(
        self, x: Tensor, X: Tensor, y: Tensor, offset: Tensor | None = None
    ) -> Tensor:
        """Return the gradients at stacked models."""
        inputs, values, out = self._forward(x, X)
        out = out if offset is None else out + offset
        # All copies have equally many examples, so the mean of means is the mean.
        total = len(x) * self.criterion(out.flatten(0, 1), y.flatten(0, 1))
        # The products are written directly into g.
        g = torch.empty_like(x)
        gradients = dict(zip(self.layout.names, self.layout.views(g)))
        slopes = torch.autograd.grad(total, values)
        for (weight, bias, _), h, delta in zip(
            self._layers, inputs, slopes, strict=True
        ):
            torch.bmm(delta.mT, h, out=gradients[weight])
            if bias is not None:
                torch.sum(delta, dim=1, out=gradients[bias])
        return g

    @torch.no_grad()
    def outputs(self, x: Tensor, X: Tensor) -> Tensor:
        """Return each copy's outputs (N, B, ...)."""
        return self._forward(x, X)[2].detach()

    def _forward(
        self, x: Tensor, X: Tensor
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Return the layers' inputs and pre-activations (N, B, width), and outputs."""
        parameters, h = dict(zip(self.layout.names, self.layout.views(x))), X.flatten(2)
        inputs, values = [], []
        for weight, bias, activation in self._layers:
            W = parameters[weight].mT
            a = (
                torch.bmm(h, W)
                if bias is None
                else torch.baddbmm(parameters[bias].unsqueeze(1), h, W)
            )
            inputs.append(h.detach())
            values.append(a.requires_grad_())
            h = a if activation is None else _ACTIVATIONS[activation](a)
        return inputs, values, h


_ACTIVATIONS = {nn.ReLU: torch.relu, nn.Tanh: torch.tanh, nn.Sigmoid: torch.sigmoid}


def dense_layers(
    module: nn.Module,
) -> list[tuple[str, str | None, type[nn.Module] | None]] | None:
    """Return (weight, bias, activation) of each layer of a stack of linear layers.

    Return None if the module is not such a stack.
    """
    if type(module) not in (nn.Linear, nn.Sequential):
        return None
    # named_children would skip a layer that is used twice
    parts = module._modules if type(module) is nn.Sequential else {"": module}
    layers: list[tuple[str, str | None, type[nn.Module] | None]] = []
    for name, part in parts.items():
        if type(part) is nn.Linear:
            weight = f"{name}.weight".lstrip(".")
            bias = f"{name}.bias".lstrip(".")
            layers.append((weight, None if part.bias is None else bias, None))
        elif type(part) in _ACTIVATIONS and layers and layers[-1][2] is None:
            layers[-1] = (*layers[-1][:2], type(part))
        elif layers or not _flattens_inputs(part):
            return None
    # parameters must be neither shared between layers nor computed
    own_names = {name for name, _ in module.named_parameters()} | {None}
    plain = all(weight in own_names and bias in own_names for weight, bias, _ in layers)
    return layers if layers and layers[-1][2] is None and plain else None


def _flattens_inputs(part: nn.Module | None) -> bool:
    """Return whether a layer flattens all axes except that of the batch."""
    return isinstance(part, nn.Flatten) and (part.start_dim, part.end_dim) == (1, -1)


def choose(
    name: str, made_of: tuple[nn.Module, Loss, Layout], channels_last: bool
) -> Strategy:
    """Return a strategy by name.

    Parameters
    ----------
    name : str
        ``batched``, ``loop``, or ``auto`` for the faster one that supports the module.
    made_of : tuple
        (module, loss, layout), as for :class:`Strategy`.
    channels_last : bool
        As for :class:`Strategy`.

    Raises
    ------
    InputError
        If the strategy does not exist or does not support the module.
    """
    known: dict[str, type[Strategy]] = {s.name: s for s in (Batched, Loop)}
    if name == "auto":
        dense = dense_layers(made_of[0]) is not None and made_of[1] in LOSSES.values()
        name = "batched" if dense else "loop"
    return known[checked_name("batching strategy", name, known)](
        *made_of, channels_last
    )
