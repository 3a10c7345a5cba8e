"""Tasks of training a torch module on the clients' examples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor, nn

from dfltheory.constants import ProblemConstants
from dfltheory.errors import InputError, checked_name, whole_number
from dfltheory.models import split
from dfltheory.tasks.batching import (
    LOSSES,
    Loop,
    Loss,
    choose,
    uses_channels_last,
)
from dfltheory.tasks.data_sets import Examples, is_data_set
from dfltheory.tasks.examples import client_weights, in_a_row, tests_in_a_row
from dfltheory.tasks.minibatches import Batch, MinibatchTask
from dfltheory.tasks.modules import Layout, has_dropout, refuse_mismatch, refuse_unfit
from dfltheory.tasks.proved_constants import proved_constants


class Supervised(MinibatchTask):
    """The task of training a torch module on the clients' examples.

    f_i(x) = (m p_i / n_i) sum_j loss(module_x(X_ij), y_ij) + (weight_decay / 2)||x||^2,
    and f is their mean.

    By default p_i = 1/m: all clients have equal weights for any n_i. The vector x of
    length d consists of the module's parameters, flattened in the order of
    ``named_parameters``.

    Parameters
    ----------
    module : Module
        Any torch.nn.Module without buffers that change in training (such as batch
        norm). With dropout, each client has its own seed for each minibatch; f and its
        gradient are measured without dropout. Since this is not the function that is
        trained, no constants are known.
    clients : sequence
        [(X_1, y_1), ...], the examples of each client; the n_i may differ. Instead of a
        pair, an item may be a PyTorch data set of pairs (input, target) or a loader,
        which is read into memory once. :func:`~dfltheory.tasks.supervised_from` divides
        one data set.
    batch : int or None
        Number B of examples per minibatch; None for all of a client's examples, so that
        gradients are exact.
    test : pair, data set or list, optional
        ``(X, y)`` or a data set for all clients, or a list with one for each client.
    loss : str or callable, optional
        ``cross_entropy``, ``mse``, or a function (outputs, targets) -> mean over the
        examples; by default cross-entropy for integer targets and mean squared error
        for others.
    sampling : {"iid", "epochs"}
        ``iid``: with replacement, as in the theory; ``epochs``: reshuffled at the start
        of each round and after each pass, as in the papers' experiments.
    weights : {"uniform", "sizes"} or sequence of float
        p_i, which sum to 1: ``uniform``, ``sizes`` (n_i / n, as in FedAvg, so that
        every example has equal weight), or m numbers > 0. They are factors of the f_i;
        f is still the unweighted mean of the f_i, so all theorems apply to these f_i
        and their constants. A server or network that averages without weights then
        takes the weighted step; for K = 1 this is FedAvg's weighted average.
    weight_decay : float
        Coefficient of the squared norm in the objective; measured losses and gradients
        include it.
    personal : str or sequence of str, optional
        Dotted names of the personal parameters v (for example ``"head"``); the others
        are the shared u. By default the last submodule with parameters of its own.
    start : {"module", "fresh"}
        ``module``: x^0 is the module's current parameters; ``fresh``: each seed draws
        its own x^0 through the modules' ``reset_parameters``.
    preprocess : callable, optional
        Applied to inputs whenever they are used, for example to scale bytes.
    augment : callable, optional
        Function (X (S, m, B, ...), one generator per seed) -> X, applied to the inputs
        of minibatches only, for all clients at once.
    strategy : {"auto", "batched", "loop"}
        How clients are evaluated (see tasks.batching).
    channels_last : bool or "auto"
        Whether to pass images in channels-last memory format if clients are evaluated
        one after another; ``auto``: on a CPU, for a Sequential of torch's own layers
        with convolutions.
    dtype : torch.dtype, optional
        Type of the parameters and of floating-point inputs; by default the module's.
    device : device or str
        Device of all tensors.
    constants : ProblemConstants or callable, optional
        Known constants of the problem, or a function of the task that computes them on
        first access (``estimate.piloted``); by default those proved by :meth:`known`.
    name : str
        Name of the task in messages and results.

    Raises
    ------
    InputError
        If a client has no examples, lengths differ, or the module cannot be used.
    """

    name = "supervised"

    def __init__(
        self,
        module: nn.Module,
        clients: Sequence[Examples],
        batch: int | None = 20,
        *,
        test: Examples | Sequence[Examples] | None = None,
        loss: str | Loss | None = None,
        sampling: Literal["iid", "epochs"] = "iid",
        weights: Literal["uniform", "sizes"] | Sequence[float] | Tensor = "uniform",
        weight_decay: float = 0.0,
        personal: str | Sequence[str] | None = None,
        start: Literal["module", "fresh"] = "module",
        preprocess: Callable[[Tensor], Tensor] | None = None,
        augment: Callable[[Tensor, Sequence[torch.Generator]], Tensor] | None = None,
        strategy: str = "auto",
        channels_last: bool | Literal["auto"] = "auto",
        dtype: torch.dtype | None = None,
        device: torch.device | str = "cpu",
        constants: (
            ProblemConstants | Callable[[Supervised], ProblemConstants] | None
        ) = None,
        name: str = "supervised",
    ):
        refuse_unfit(module, dtype)
        if is_data_set(clients):
            raise InputError(
                f"clients is one {type(clients).__name__}: pass a list with one data"
                " set for each client, or divide it with"
                " tasks.supervised_from(data_set, module, m=10)"
            )
        clients = list(clients)
        self.name = name
        self.layout = Layout.of(module)
        self.d, self.m = self.layout.d, len(clients)
        self.dtype = dtype or next(module.parameters()).dtype
        self.device = torch.device(device)
        self.network = (
            copy.deepcopy(module).to(dtype=self.dtype, device=self.device).eval()
        )
        self.preprocess = preprocess
        self.augment = augment
        self.X, self.y, self.sizes, self.offsets = in_a_row(
            clients, "client", self.dtype, self.device
        )
        self._test = tests_in_a_row(test, self.m, self.dtype, self.device)
        scale = client_weights(weights, self.sizes)
        self.scale = None if scale is None else scale.to(self.dtype)
        self.batch = None
        if batch is not None:
            self.batch = whole_number(
                "batch", batch, at_least=1, more=", or None for all examples"
            )
        self.weight_decay = float(weight_decay)
        if not 0 <= self.weight_decay < torch.inf:
            raise InputError(f"weight_decay = {weight_decay} must be a number >= 0")
        checked_name("kind of sampling", sampling, {"iid", "epochs"})
        checked_name("kind of start", start, {"module", "fresh"})
        self.sampling, self._start = sampling, start
        self.shared = split(self.network, personal).shared
        self.criterion = self._criterion(loss)
        first_input = self._prepared(self.X[:1])
        self._classes = self._number_of_outputs(first_input)
        last = uses_channels_last(channels_last, self.network, self.device)
        self.drops = has_dropout(self.network, first_input)
        if self.drops and (self.batch is None or strategy not in ("auto", "loop")):
            raise InputError(
                "dropout is drawn for each client's minibatch, one network after"
                f" another: batch = {batch} must be a number, and strategy ="
                f' "{strategy}" must be "loop"'
            )
        strategy = "loop" if self.drops else strategy
        made_of = (self.network, self.criterion, self.layout)
        self.strategy = choose(strategy, made_of, last)
        self._single = Loop(*made_of, channels_last=last)
        self._given_constants = constants

    # -- module, constants and start

    def _criterion(self, loss: str | Loss | None) -> Loss:
        """Return a loss function unchanged, or that of the given or default name."""
        if callable(loss):
            return loss
        name = loss or ("mse" if self.y.is_floating_point() else "cross_entropy")
        return LOSSES[checked_name("loss", name, LOSSES)]

    def _number_of_outputs(self, first_input: Tensor) -> int:
        """Return the length of the network's output; refuse data that do not fit."""
        is_cross_entropy = self.criterion is LOSSES["cross_entropy"]
        has_labels = is_cross_entropy and not self.y.is_floating_point()
        known_loss = self.criterion if self.criterion in LOSSES.values() else None
        output = refuse_mismatch(
            self.network, first_input, self.y, has_labels, known_loss
        )
        return output.shape[-1]

    def module(
        self, run: object, client: int | None = None, seed: int = 0
    ) -> nn.Module:
        """Return the mean model of a finished run, or a client's model, as a module.

        Parameters
        ----------
        run : History or tensor
            A run, or models (S, m, d), (m, d) or (d,).
        client : int, optional
            The client; None for the mean model.
        seed : int
            Index of one of the S seeds.

        Returns
        -------
        Module
            In ``eval`` mode. It takes the same inputs as the task's network, after
            ``preprocess``.

        Raises
        ------
        InputError
            If the models do not fit this network, or if the client or seed does not
            exist.
        """
        x = torch.as_tensor(getattr(run, "x", run), device=self.device)
        if x.ndim not in (1, 2, 3) or x.shape[-1] != self.d:
            raise InputError(
                f"models of shape {tuple(x.shape)} do not fit a network of d = {self.d}"
            )
        missing_axes = [1] * (3 - x.ndim)
        x = x.view(*missing_axes, *x.shape)
        seeds, clients, _ = x.shape
        if not 0 <= seed < seeds:
            raise InputError(f"seed = {seed} must be in 0..{seeds - 1}")
        if client is not None and not 0 <= client < clients:
            raise InputError(f"client = {client} must be in 0..{clients - 1}")
        chosen = x[seed].mean(0) if client is None else x[seed, client]
        module = copy.deepcopy(self.network)
        parameters = chosen.to(self.dtype, copy=True)
        nn.utils.vector_to_parameters(parameters, module.parameters())
        return module

    @cached_property
    def constants(self) -> ProblemConstants:
        """The known constants of this problem: those given, proved or estimated."""
        constants_or_estimator = self._given_constants
        proved = self.known()
        if isinstance(constants_or_estimator, ProblemConstants):
            return constants_or_estimator
        if constants_or_estimator is None or self.drops:
            return proved
        # The estimators read the constants that are already known.
        vars(self)["constants"] = proved
        with torch.enable_grad():  # the training loop may disable gradients
            return constants_or_estimator(self)

    def known(self) -> ProblemConstants:
        """Return the proved constants; see :mod:`dfltheory.tasks.proved_constants`."""
        return proved_constants(self)

    def with_constants(self, constants: ProblemConstants) -> Supervised:
        """Return the same task with these constants, for example estimated ones."""
        other = copy.copy(self)
        vars(other)["constants"] = constants
        return other

    def start(self, generator: torch.Generator) -> Tensor:
        """Return the start x^0 (d,) for a seed."""
        if self._start == "module":
            return self.layout.flat(self.network)
        fresh = copy.deepcopy(self.network)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(generator.initial_seed())
            for part in fresh.modules():
                if callable(getattr(part, "reset_parameters", None)):
                    part.reset_parameters()  # type: ignore[operator]
        return self.layout.flat(fresh)

    # -- the interface for algorithms

    def gradient(self, x: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the gradients at stacked models."""
        return self._gradient(x, batch, None)

    def balanced_gradient(self, x: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the gradients of the balanced softmax.

        The outputs are shifted by the logarithms of the client's class frequencies.
        """
        return self._gradient(x, batch, self.log_frequencies)

    def _gradient(self, x: Tensor, batch: Batch | None, shift: Tensor | None) -> Tensor:
        """Return the gradients; ``shift`` (m, classes) is added to the outputs."""
        offset = None
        if shift is not None:
            offset = shift.expand(len(x), *shift.shape).unsqueeze(2)
        if batch is None:
            total = self._gradient_of_everything(x, offset)
        else:
            total = self._gradient_of_batch(x, batch, offset)
        return total.add_(x, alpha=self.weight_decay) if self.weight_decay else total

    def _gradient_of_everything(self, x: Tensor, offset: Tensor | None) -> Tensor:
        """Return the gradients of all examples, without weight decay."""
        total = torch.zeros_like(x)
        for i in range(self.m):
            client_offset = None if offset is None else offset[:, i]
            for X, y, weight in self._everything(len(x), i):
                gradient = self.strategy.gradient(x[:, i], X, y, client_offset)
                total[:, i].add_(gradient, alpha=weight)
        return total

    def _gradient_of_batch(
        self, x: Tensor, batch: Batch, offset: Tensor | None
    ) -> Tensor:
        """Return the gradients of a minibatch, without weight decay."""
        merged = _merged(x), _merged(batch.X), _merged(batch.y)
        merged_offset = None if offset is None else _merged(offset)
        if batch.dropped is None:
            total = self.strategy.gradient(*merged, merged_offset)
        else:
            dropped = _merged(batch.dropped)
            _, total = self._single.loss_and_gradient(*merged, merged_offset, dropped)
        total = total.view_as(x)
        if self.scale is not None:
            total.mul_(self.scale.unsqueeze(-1))
        return total

    def loss(self, x: Tensor, batch: Batch | None = None) -> Tensor:
        """Return the losses (S, m) at stacked models."""
        if batch is None:
            losses = x.new_zeros(x.shape[:2])
            for i in range(self.m):
                for X, y, weight in self._everything(len(x), i):
                    losses[:, i].add_(self.strategy.loss(x[:, i], X, y), alpha=weight)
        else:
            merged = _merged(x), _merged(batch.X), _merged(batch.y)
            if batch.dropped is None:
                losses = self.strategy.loss(*merged).view(x.shape[:2])
            else:
                dropped = _merged(batch.dropped)
                copy_losses, _ = self._single.loss_and_gradient(*merged, None, dropped)
                losses = torch.stack(copy_losses).view(x.shape[:2])
            losses = losses if self.scale is None else losses * self.scale
        if not self.weight_decay:
            return losses
        return losses + self.weight_decay / 2 * (x * x).sum(-1)

    # -- measurements

    def global_loss(self, x: Tensor) -> Tensor:
        """Return f at points x (S, d) -> (S,)."""
        return torch.stack([self._at(point, slope=False)[0] for point in x])

    def global_gradient(self, x: Tensor) -> Tensor:
        """Return grad f at points x (S, d) -> (S, d)."""
        return self.global_loss_and_gradient(x)[1]

    def global_loss_and_gradient(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return f and grad f at points x (S, d)."""
        values_and_gradients = [self._at(point, slope=True) for point in x]
        values = torch.stack([value for value, _ in values_and_gradients])
        return values, torch.stack([gradient for _, gradient in values_and_gradients])

    def _at(self, x: Tensor, slope: bool) -> tuple[Tensor, Tensor]:
        """Return f and its gradient at one point (d,); the gradient is 0 unless asked.

        One model evaluates all examples, in pieces of equally weighted clients.
        """
        if self.measured is not None:
            return self.measured._at(x, slope)
        value, gradient = x.new_zeros(()), torch.zeros_like(x)
        for X, y, weight in self._everything(1):
            if slope:
                loss, g = self._single.loss_and_gradient(x[None], X, y)
                gradient.add_(g[0], alpha=weight)
            else:
                loss = self._single.loss(x[None], X, y)
            value = value + weight * loss[0]
        if self.weight_decay:
            value = value + self.weight_decay / 2 * (x @ x)
            gradient.add_(x, alpha=self.weight_decay)
        return value, gradient

    def client_loss(self, x: Tensor) -> Tensor:
        """Return f_i(x_i): (..., m, d) -> (..., m)."""
        return self.loss(x) if self.measured is None else self.measured.loss(x)


def _merged(t: Tensor) -> Tensor:
    """Return a tensor with seeds and clients on one axis."""
    return t.flatten(0, 1)
