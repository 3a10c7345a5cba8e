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
    is_cross_entropy = task.criterion is LOSSES["cross_entropy"]
    has_labels = not task.y.is_floating_point()
    unknown_L = ProblemConstants(sigma_l=sigma_l, f_star=0.0, standing=standing)
    if layers is None or len(layers) != 1:
        return unknown_L
    outputs, inputs = task.layout.shapes[0]
    if task.X[0].numel() != inputs or task.augment is not None:
        return unknown_L
    if is_cross_entropy != has_labels:
        return unknown_L
    _, bias, _ = layers[0]
    has_bias = bias is not None
    if task.batch is not None or (is_cross_entropy and outputs > 2 and not has_bias):
        standing["L"] = "bound"
    curvatures = [_curvature(task, i, has_bias) for i in range(task.m)]
    sizes = torch.stack(curvatures)
    if task.scale is not None:
        sizes = sizes * task.scale
    k = 0.5 if is_cross_entropy else 2 / outputs
    L = k * float(sizes.max()) + task.weight_decay
    return ProblemConstants(L=L, sigma_l=sigma_l, f_star=0.0, standing=standing)


def _curvature(task: MinibatchTask, i: int, bias: bool) -> Tensor:
    """Return lambda_max of client i's mean of a a', or max ||a||^2 with minibatches."""
    begin, n = int(task.offsets[i]), int(task.sizes[i])
    a = task._prepared(task.X[begin : begin + n]).reshape(n, -1).double()
    a = torch.cat([a, a.new_ones(n, int(bias))], 1)
    if task.batch is not None:
        return a.square().sum(-1).max()
    # the smaller one of two matrices with the same nonzero eigenvalues
    gram = a.T @ a if n > a.shape[1] else a @ a.T
    return torch.linalg.eigvalsh(gram)[-1] / n


__all__ = ["proved_constants"]
