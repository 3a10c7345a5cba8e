"""Algorithms: hyperparameters, a state, and the rounds that change it.

A round is ``communicate(local_update(state))``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, TypeVar

import torch
from torch import Tensor

from dfltheory.algorithms.hyperparameters import (
    Range,
    python_number,
    ranges,
    word_choices,
)
from dfltheory.algorithms.protocol import MIX, Edges, Index, Mix, Oracle, Parameters
from dfltheory.algorithms.scaled_norms import scaled_norm
from dfltheory.errors import InputError

Law = Literal["doubly stochastic", "column-stochastic", "row-stochastic"]
"""What an update may assume of a matrix that it mixes by."""


@dataclass(frozen=True, eq=False)
class State:
    """The stacked models x, and what is sent after local work, both (S, m, d).

    An algorithm's own state adds fields: tensors (S, m) and (S, m, ...) are the
    clients' own, and local work may see some clients' part of them; tensors (S, 1, ...)
    or of at most one axis, numbers, flags and text are common to all clients, and local
    work leaves them alone. What is common is there from ``init`` on. Fields may be one
    tensor or views of each other; containers hold no tensors. Fields that ``per_edge``
    names hold something for every arc of the network, (S, E, ...) in the order of
    ``grad.edges``.

    A state that is passed in is never changed, neither by an algorithm nor by the core:
    its tensors may be kept by anybody. What changes is a new tensor of the returned
    state.
    """

    x: Tensor
    z: Tensor

    per_edge: ClassVar[tuple[str, ...]] = ()


S = TypeVar("S", bound=State)
Copied = TypeVar("Copied")


@dataclass(frozen=True)
class Algorithm(Generic[S]):
    """Base of all algorithms: a frozen record of hyperparameters.

    The state, of type S, lives outside of it.

    ``decay``: the step size of round t is eta * decay**t.  ``weight_decay``: every
    local step adds weight_decay * y to the gradient, at the unperturbed y, as SGD's
    option of that name does.
    """

    decay: float = field(default=1.0, kw_only=True)
    weight_decay: float = field(default=0.0, kw_only=True)

    needs_topology: ClassVar[bool] = True
    """Is there a network to be chosen? False where a server averages, or where nothing
    is sent.
    """
    mixing: ClassVar[Law] = "doubly stochastic"
    """What the update assumes of the matrices that it mixes by."""
    further: ClassVar[Mapping[str, Law]] = {}
    """Further matrices of a round by name, for ``mix(z, W=name)``, and what is assumed
    of them.
    """
    links: ClassVar[Literal["directed", "undirected", "tree"]] = "directed"
    """Which networks will do: any; those whose links go both ways; trees of such
    links.
    """
    symmetric: ClassVar[bool] = False
    """Does the update assume W = W', in addition to the law of ``mixing``?"""
    fixed: ClassVar[bool] = False
    """Must the network stay the same, because neighbors keep what only messages of
    every round make up?
    """
    one_start: ClassVar[bool] = False
    """Do all clients begin at one model, because sums over them are 0 there only?"""
    inactive_when_isolated: ClassVar[bool] = False
    """Are clients that no link of W_t touches inactive in round t?  Then
    ``grad.active`` names those that participate.
    """
    personal: ClassVar[bool] = False
    """Are the clients' models meant to differ, so that each is judged on its own
    client's data?
    """
    glossary: ClassVar[dict[str, str]] = {}
    """Hyperparameters that the glossary calls otherwise: field -> glossary name."""
    source: ClassVar[str] = ""
    ranges: ClassVar[Mapping[str, Range]] = ranges("")
    """Ranges of hyperparameters; one that is not named here may be anything."""
    implied: ClassVar[Mapping[str, float | str]] = {}
    """What a family's rules take for hyperparameters that one of its classes lacks, as
    rho = 0 without SAM.
    """
    _repeats_gossip: ClassVar[bool] = False
    """Do rounds of this family take Q gossip steps?"""
    summed_up: ClassVar[
        Mapping[str, tuple[tuple[str, ...], Callable[[Any, int], float]]]
    ] = {}
    """Quantities that stand for several hyperparameters in theorems: glossary name ->
    (hyperparameters, value at self, d).
    """

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.type in (float, int, "float", "int") and isinstance(
                value, (str, list, tuple, dict)
            ):
                raise InputError(
                    f"{type(self).__name__}: {f.name} = {value!r:.60} must be a number"
                )
            if f.name not in self.ranges:
                continue
            if value is None and f.default is None:
                continue
            words, fits = self.ranges[f.name]
            number = python_number(value, whole="integer" in words)
            if number is None or not (math.isfinite(number) and fits(number)):
                raise InputError(
                    f"{type(self).__name__}: {f.name} = {value!r} must be {words}"
                )
            if number is not value:
                object.__setattr__(self, f.name, number)
        for name, words in word_choices(type(self)).items():
            if getattr(self, name) not in words:
                value, known = getattr(self, name), " or ".join(map(str, words))
                raise InputError(
                    f"{type(self).__name__}: {name} = {value!r} must be {known}"
                )

    def hyperparameter(self, name: str) -> Any:
        """Return a hyperparameter, or the value that the family implies for it."""
        return getattr(self, name) if hasattr(self, name) else self.implied[name]

    @property
    def name(self) -> str:
        """The name in papers' tables and on the command line, lower case."""
        return type(self).__name__.lower()

    @property
    def gossip_steps(self) -> int:
        """Q, the number of gossip steps of a round; 1 in families without Q.

        On a network that changes, round t begins with its matrix W_{tQ}.
        """
        return self.hyperparameter("Q") if self._repeats_gossip else 1

    @property
    def least_eigenvalue(self) -> float:
        """What no eigenvalue of a constant symmetric W may lie below."""
        return -math.inf

    @property
    def draws(self) -> bool:
        """Whether its rounds draw further random numbers.

        Sampled clients and ``grad.uniform`` count. Training rejects draws of an
        algorithm that does not declare them.
        """
        return getattr(self, "participation", 1.0) < 1

    # -- one round

    def init(self, x0: Tensor, grad: Oracle) -> S | State:
        """Return the state before round 0 from stacked models x0 (S, m, d)."""
        return State(x=x0, z=x0)

    def local_update(self, state: S, grad: Oracle) -> S:
        """Each client alone: gradients, no network.

        ``state`` may be that of some of the clients, so that nothing may depend on the
        others. Its tensors stay as they are: what changes is a new tensor of the
        returned state. A client that does not take part (``grad.active``) keeps what it
        has, and may not be asked.
        """
        raise TypeError(
            f"{type(self).__name__} does not say what its clients do alone"
            " (local_update)"
        )

    def communicate(self, state: S, mix: Mix) -> S:
        """Neighbours only: the network, no gradients.

        What is sent is z; ``state.x`` are the models from before local work, and
        ``mix`` changes nothing.
        """
        raise TypeError(
            f"{type(self).__name__} does not say what its clients exchange"
            " (communicate)"
        )

    def finish(self, state: S, grad: Oracle) -> S:
        """Return what the clients do alone after the last round."""
        return state

    # -- what is measured

    def models(self, state: S) -> Tensor:
        """Return the models that the clients would use now (S, m, d)."""
        return state.x

    def mean(self, state: S) -> Tensor:
        """Return the point xbar (S, d) of the theorems."""
        return state.x.mean(-2)

    def auxiliary(self, state: S) -> Tensor | None:
        """Return the auxiliary point w (S, d) of a theorem, where it is not xbar.

        The theorem bounds the gradient at this point.
        """
        return None

    def theory_values(self, d: int | None = None) -> dict[str, float]:
        """Return the hyperparameters by glossary name, for ``Theorem.evaluate``.

        For models of ``d`` numbers what sums up several of them is among them.
        """
        values: dict[str, object] = dict(self.implied)
        for f in fields(self):
            if f.name not in ("decay", "weight_decay"):
                values[self.glossary.get(f.name, f.name)] = getattr(self, f.name)
        if d is not None:
            for name, (_, value) in self.summed_up.items():
                values[name] = value(self, d)
        return {
            k: v
            for k, v in values.items()
            if isinstance(v, (int, float)) and not isinstance(v, bool)
        }

    # -- parts that the families share

    def decayed(self, eta: float, t: int) -> float:
        """Return the step size of round t, eta * decay**t."""
        if self.decay == 1.0:
            return eta
        object.__setattr__(self, "_decays", True)  # see refuse_ignored_decay
        return eta * self.decay**t

    def step(self, eta: float, t: int, k: int) -> float:
        """Return the step size of local step k = 0, 1, ... of round t."""
        return self.decayed(eta, t)

    def refuse_ignored_decay(self) -> None:
        """Raise an error if a decay was given and no step size used it.

        Called after the first round.
        """
        if self.decay != 1.0 and not hasattr(self, "_decays"):
            raise InputError(
                f"{type(self).__name__} ignores decay = {self.decay}: take"
                " self.decayed(self.eta, grad.t) as the step size of its local_update,"
                " or run it with decay = 1"
            )

    def slope(
        self,
        grad: Oracle,
        y: Tensor,
        rho: float = 0.0,
        block: Index | None = None,
        batch: tuple[object] | None = None,
    ) -> Tensor:
        """Return a stochastic (SAM) gradient at y with weight decay, a new tensor.

        Both evaluations use one minibatch: the one of ``batch``, or a fresh one. With
        ``block``, SAM perturbs these coordinates.
        """
        xi = grad.sample() if batch is None else batch[0]
        g = grad(y, xi)
        if rho:
            g = grad(perturbed(y, g, rho, block, out=g), xi)
        return g.add_(y, alpha=self.weight_decay) if self.weight_decay else g


def check_class(kind: type[Algorithm[Any]]) -> None:
    """Check that every annotated hyperparameter is a field.

    What is no field would be recorded nowhere.
    """
    for owner in kind.__mro__:
        if "__dataclass_fields__" in vars(owner) or not (
            own := inspect.get_annotations(owner)
        ):
            continue
        # what dataclass itself would take for fields: not ClassVar, in whatever
        # spelling
        made: Any = dataclass(
            type(
                owner.__name__,
                (),
                {"__annotations__": own, "__module__": owner.__module__},
            )
        )
        if undeclared := [f.name for f in fields(made)]:
            raise InputError(
                f"{owner.__name__}: {', '.join(undeclared)} is not a field, so that no"
                " checkpoint or comparison knows it: put @dataclass(frozen=True) right"
                f" above class {owner.__name__}"
            )


def sampled(participation: float, m: int) -> int:
    """Return how many of m clients a round samples.

    That is the share ``participation`` of them, at least one.
    """
    return max(1, round(participation * m))


def taking_part(grad: Oracle, new: Tensor, old: Tensor | float) -> Tensor:
    """Return ``new`` for participating clients and ``old`` for the others."""
    return new if grad.active is None else torch.where(grad.active, new, old)


def replace(state: Copied, **changes: object) -> Copied:
    """Return the state with some fields changed.

    As dataclasses.replace, without its cost, which counts in short rounds.
    """
    new = object.__new__(type(state))
    new.__dict__.update(state.__dict__)
    new.__dict__.update(changes)
    return new


def perturbed(
    y: Tensor,
    g: Tensor,
    rho: float,
    block: Index | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """SAM's ascent y + rho g / ||g||, per seed and client; y itself where g = 0.

    (S, m, d) -> (S, m, d)

    With ``block``, an index of the last axis, g is first restricted to these
    coordinates. The result lies in ``out``, which may be g, or in a new tensor.
    """
    if block is not None:
        inside = torch.zeros_like(g)
        inside[..., block] = g[..., block]
        g = inside
    norm = scaled_norm(g)
    scale = torch.where(norm.value > 0, rho / norm.value, torch.zeros_like(norm.value))
    return torch.addcmul(y, norm.vector, scale, out=out)


__all__ = [
    "Algorithm",
    "Edges",
    "Law",
    "MIX",
    "Mix",
    "Oracle",
    "Parameters",
    "State",
    "check_class",
    "perturbed",
    "replace",
    "sampled",
    "taking_part",
]
