"""Hessians of f_i and f as matrix-free operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import torch
from torch import Tensor

from dfltheory.errors import InputError
from dfltheory.tasks.minibatches import Batch
from dfltheory.tasks.supervised import Supervised
from dfltheory.tasks.task import Task

_PIECE = 1000
"""Number of examples whose second derivatives share one autograd graph."""

HessianProduct = Callable[[Tensor], Tensor]
"""v (d,) -> H v (d,)."""


def hessian_product(
    task: Task, x: Tensor, client: int | None = None, batch: object = None
) -> HessianProduct:
    """Return v -> H v for the Hessian H of f or f_i at a point.

    The gradient is differentiated a second time. For a network with kinks (ReLU), H is
    the Hessian of the smooth piece that contains x. For a network, H v costs about two
    gradients over the examples.

    Parameters
    ----------
    task : Task
    x : (d,) tensor
        The point.
    client : int, optional
        The i of f_i; None for f.
    batch : object, optional
        A minibatch from ``task.sample`` for one seed. Then H is the Hessian of
        F_i(.; xi_i).

    Returns
    -------
    callable
        Maps v (d,) to H v (d,).
    """
    if x.shape != (task.d,):
        raise InputError(
            f"a Hessian is taken at one point of shape ({task.d},), not"
            f" {tuple(x.shape)}"
        )
    if client is not None and not 0 <= client < task.m:
        raise InputError(f"client {client} must be in 0..{task.m - 1}")
    if client is None and batch is not None:
        raise InputError(
            "a minibatch belongs to one client: pass the client of F_i(.; xi)"
        )
    x = x.detach().to(dtype=task.dtype, device=task.device)
    if isinstance(task, Supervised):
        assert batch is None or isinstance(batch, Batch)
        return _network_product(task, x, client, batch)
    point = x.clone().requires_grad_(True)
    gradients = task.gradient(point.expand(1, task.m, task.d), batch)[0]
    gradient = gradients.mean(0) if client is None else gradients[client]
    if not gradient.requires_grad:  # f_i is linear
        return torch.zeros_like

    def product(v: Tensor) -> Tensor:
        return torch.autograd.grad(gradient, point, v, retain_graph=True)[0]

    return product


def draw_minibatches(task: Task, seeds: Iterable[int]) -> list[object]:
    """Return a minibatch for each seed; none if the task draws none: F_i is f_i."""
    batches: list[object] = []
    for seed in seeds:
        batch = task.sample([torch.Generator(task.device).manual_seed(seed)])
        if batch is not None:
            batches.append(batch)
    return batches


def _network_product(
    task: Supervised, x: Tensor, client: int | None, batch: Batch | None
) -> HessianProduct:
    """Return v -> H v for a network, as a sum over pieces of the examples."""
    point = x.clone().requires_grad_(True)
    shapes = zip(task.layout.names, task.layout.shapes, task.layout.slices, strict=True)
    parameters = {name: point[part].view(shape) for name, shape, part in shapes}

    def gradient(X: Tensor, y: Tensor, weight: float) -> Tensor:
        """Return ``weight`` times the gradient of the mean loss, with its graph."""
        outputs = torch.func.functional_call(task.network, parameters, (X,))
        loss = weight * task.criterion(outputs, y)
        return torch.autograd.grad(loss, point, create_graph=True)[0]

    def gradients() -> Iterator[Tensor]:
        """Yield the gradients of the pieces, whose sum is that of the loss."""
        if client is not None and batch is not None:
            weight = 1.0 if task.scale is None else float(task.scale[client])
            yield gradient(batch.X[0, client], batch.y[0, client], weight)
        for begin, end, weight in pieces:
            yield gradient(task._prepared(task.X[begin:end]), task.y[begin:end], weight)

    pieces = [] if batch is not None else list(task.pieces(_PIECE, client))
    # for a single piece, keep its graph: each product is then one backward pass
    kept = list(gradients()) if len(pieces) < 2 else None

    def product(v: Tensor) -> Tensor:
        out = task.weight_decay * v
        for g in gradients() if kept is None else kept:
            out = out + torch.autograd.grad(g, point, v, retain_graph=True)[0]
        return out

    return product
