"""Proved constants of the task of training a network."""

from __future__ import annotations

import torch
from torch import Tensor

from dfltheory.constants import ProblemConstants, Standing
from dfltheory.tasks.batching import LOSSES, dense_layers
from dfltheory.tasks.minibatches import MinibatchTask


def proved_constants(task: MinibatchTask) -> ProblemConstants:
    """Return the proved constants of a task.

    They are f* >= 0 for the named losses, L of linear models, and sigma_l = 0 without
    minibatches.

    The Hessian of one example's loss is C (x) a a', a = (input, 1): for the
    cross-entropy C = diag(q) - q q' with probabilities q, whose norm is at most
    1/2; for the mean squared error of c outputs C = (2/c) I. With k = 1/2 or 2/c,
    exact gradients give

        L = k max_i m p_i lambda_max((1/n_i) sum_j a_ij a_ij') + weight_decay,

    exactly. (For the cross-entropy, the supremum is approached where two classes share
    the probability evenly at every example. This is possible with biases or with only
    two classes; otherwise L is an upper bound.) With minibatches, L is the smoothness
    of every F_i(.; xi), as SAM's analysis needs: at most k max_ij m p_i ||a_ij||^2 +
    weight_decay, which is attained by a minibatch that repeats one example.
    """
    if task.drops:
        return ProblemConstants()
    exact_gradients = task.batch is None and task.augment is None
    sigma_l = 0.0 if exact_gradients else None
    if task.criterion not in LOSSES.values():
        return ProblemConstants(sigma_l=sigma_l)
    standing: dict[str, Standing] = {"f_star": "bound"}
    layers = dense_layers(task.network)
    entropy = task.criterion is LOSSES["cross_entropy"]
    labels = not task.y.is_floating_point()
    linear = (
        layers is not None
        and len(layers) == 1
        and task.X[0].numel() == task.layout.shapes[0][-1]
    )
    if layers is None or not linear or task.augment is not None or entropy != labels:
        return ProblemConstants(sigma_l=sigma_l, f_star=0.0, standing=standing)
    outputs, bias = task.layout.shapes[0][0], layers[0][1] is not None
    if task.batch is not None or (entropy and outputs > 2 and not bias):
        standing["L"] = "bound"
    size = torch.stack([_curvature(task, i, bias) for i in range(task.m)])
    size = size if task.scale is None else size * task.scale
    L = (0.5 if entropy else 2 / outputs) * float(size.max()) + task.weight_decay
    return ProblemConstants(L=L, sigma_l=sigma_l, f_star=0.0, standing=standing)


def _curvature(task: MinibatchTask, i: int, bias: bool) -> Tensor:
    """Return lambda_max of the mean of a a', or max ||a||^2 with minibatches."""
    begin, n = int(task.offsets[i]), int(task.sizes[i])
    a = task._prepared(task.X[begin : begin + n]).reshape(n, -1).double()
    a = torch.cat([a, a.new_ones(n, int(bias))], 1)
    if task.batch is not None:
        return a.square().sum(-1).max()
    return torch.linalg.eigvalsh(a.T @ a if n > a.shape[1] else a @ a.T)[-1] / n


__all__ = ["proved_constants"]
