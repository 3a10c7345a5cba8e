"""Algorithms: hyperparameters, a state, and the rounds that change it.

A round is ``communicate(local_update(state))``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, ClassVar, Generic, Literal, NoReturn, TypeVar

import torch
from torch import Tensor

from dfltheory.algorithms.hyperparameters import ranges, word_choices
from dfltheory.algorithms.protocol import MIX, Edges, Index, Mix, Oracle, Parameters
from dfltheory.algorithms.scaled_norms import scaled_norm
from dfltheory.errors import InputError
from dfltheory.number_ranges import NumberRange, Restriction, checked_number

Law = Literal["doubly stochastic", "column-stochastic", "row-stochastic"]
"""Property of a mixing matrix that an update may assume."""


@dataclass(frozen=True, eq=False)
class State:
    """The stacked models x and the messages z sent after local work, both (S, m, d).

    Subclasses add fields. Tensors (S, m) and (S, m, ...) belong to the clients; local
    work may be given only the part of some clients. Tensors (S, 1, ...) or with at most
    one axis, numbers, flags and strings are common to all clients; they exist from
    ``init`` on, and local work does not change them. Fields may share memory, but
    containers must not contain tensors. Fields listed in ``per_edge`` have one entry
    for each arc of the network, (S, E, ...), in the order of ``grad.edges``.

    States are never modified in place, neither by algorithms nor by the core, so any
    caller may keep their tensors. Changed values are new tensors in the returned state.
    """

    x: Tensor
    z: Tensor

    per_edge: ClassVar[tuple[str, ...]] = ()


S = TypeVar("S", bound=State)
Copied = TypeVar("Copied")


@dataclass(frozen=True)
class Algorithm(Generic[S]):
    """Base class of all algorithms: a frozen record of hyperparameters.

    The state, of type S, is stored separately.

    Parameters
    ----------
    decay : float
        The step size of round t is eta * decay**t.
    weight_decay : float
        Every local step adds weight_decay * y to the gradient, at the unperturbed y,
        like the option of the same name of SGD.
    """

    decay: float = field(default=1.0, kw_only=True)
    weight_decay: float = field(default=0.0, kw_only=True)

    needs_topology: ClassVar[bool] = True
    """Whether a network is needed: False if a server averages or nothing is sent."""
    mixing: ClassVar[Law] = "doubly stochastic"
    """Property that the update assumes of its mixing matrices."""
    further: ClassVar[Mapping[str, Law]] = {}
    """Names and assumed properties of further matrices, for ``mix(z, W=name)``.
    """
    links: ClassVar[Literal["directed", "undirected", "tree"]] = "directed"
    """Supported networks: any ("directed"), undirected links only, or undirected trees.
    """
    symmetric: ClassVar[bool] = False
    """Whether the update assumes W = W', in addition to ``mixing``."""
    fixed: ClassVar[bool] = False
    """Whether the network must be constant, because neighbors accumulate every message.
    """
    one_start: ClassVar[bool] = False
    """Whether all clients must start at the same model."""
    inactive_when_isolated: ClassVar[bool] = False
    """Whether clients without a link in W_t are inactive in round t.
    """
    personal: ClassVar[bool] = False
    """Whether models are personal, so that each is evaluated on its own client's data.
    """
    glossary: ClassVar[dict[str, str]] = {}
    """Maps fields to glossary names that differ from them."""
    source: ClassVar[str] = ""
    """Publication that defines the algorithm."""
    ranges: ClassVar[Mapping[str, Restriction]] = ranges("")
    """Ranges of hyperparameters; others are not restricted. The constructor, the reader
    of experiment files and their JSON schema check them.
    """
    implied: ClassVar[Mapping[str, float | str]] = {}
    """Values of hyperparameters of the family that a class lacks, such as rho = 0.
    """
    _repeats_gossip: ClassVar[bool] = False
    """Whether rounds of this family have Q gossip steps."""
    summed_up: ClassVar[
        Mapping[str, tuple[tuple[str, ...], Callable[[Any, int], float]]]
    ] = {}
    """Quantities of theorems that summarize several hyperparameters: maps the glossary
    name to (hyperparameters, function of self and d).
    """

    def __post_init__(self) -> None:
        for f in fields(self):
            self._check_type(f)
            if f.name in self.ranges:
                self._convert_to_range(f)
        for name, words in word_choices(type(self)).items():
            if getattr(self, name) not in words:
                self._refuse(name, " or ".join(map(str, words)))

    def _check_type(self, f: Field[Any]) -> None:
        """Raise InputError if a number or a flag has a value of another type."""
        value = getattr(self, f.name)
        is_container = isinstance(value, (str, list, tuple, dict))
        if f.type in (float, int, "float", "int") and is_container:
            self._refuse(f.name, "a number")
        if f.type in (bool, "bool") and value not in (True, False):
            self._refuse(f.name, "True or False")  # any text would count as True

    def _convert_to_range(self, f: Field[Any]) -> None:
        """Convert a number to its field's type; raise InputError outside its range."""
        value = getattr(self, f.name)
        if value is None and f.default is None:
            return
        number = checked_number(
            f"{type(self).__name__}: {f.name}",
            value,
            self.ranges[f.name],
            integer=f.type in (int, "int"),
        )
        if number is not value:
            object.__setattr__(self, f.name, number)

    def _refuse(self, name: str, allowed: str) -> NoReturn:
        """Raise InputError for a hyperparameter, with the values that are allowed."""
        value = getattr(self, name)
        raise InputError(
            f"{type(self).__name__}: {name} = {value!r:.60} must be {allowed}"
        )

    def hyperparameter(self, name: str) -> Any:
        """Return a hyperparameter, or its implied value if the class lacks it.

        Raises
        ------
        InputError
            If the class neither has the hyperparameter nor implies its value.
        """
        if hasattr(self, name):
            return getattr(self, name)
        if name not in self.implied:
            raise InputError(
                f"{type(self).__name__} has no hyperparameter {name}, which its base"
                f" class uses: add the field `{name}`, or its value to `implied`"
            )
        return self.implied[name]

    @property
    def name(self) -> str:
        """The name in papers' tables and on the command line, lower case."""
        return type(self).__name__.lower()

    @property
    def gossip_steps(self) -> int:
        """Q, the number of gossip steps of a round; 1 in families without Q.

        On a time-varying network, round t starts with the matrix W_{tQ}.
        """
        return self.hyperparameter("Q") if self._repeats_gossip else 1

    @property
    def least_eigenvalue(self) -> float:
        """Lower limit of the eigenvalues of a constant symmetric W."""
        return -math.inf

    @property
    def draws(self) -> bool:
        """Whether rounds draw random numbers other than minibatches.

        Client sampling and ``grad.uniform`` are such draws. Training rejects draws of
        an algorithm that does not declare them.
        """
        return getattr(self, "participation", 1.0) < 1

    # -- one round

    def init(self, x0: Tensor, grad: Oracle) -> S | State:
        """Return the state before round 0 from stacked models x0 (S, m, d)."""
        return State(x=x0, z=x0)

    def local_update(self, state: S, grad: Oracle) -> S:
        """Return the state after local work, which uses gradients but no network.

        ``state`` may contain only some of the clients, so the result must not depend on
        the others. Its tensors must not be modified in place. Clients that do not
        participate (see ``grad.active``) keep their values and may be left out.
        """
        raise TypeError(
            f"{type(self).__name__} does not define local_update, the local work of its"
            " clients"
        )

    def communicate(self, state: S, mix: Mix) -> S:
        """Return the state after communication, which uses the network, no gradients.

        ``state.z`` contains the messages and ``state.x`` the models before local work;
        ``mix`` does not modify its argument.
        """
        raise TypeError(
            f"{type(self).__name__} does not define communicate, the exchange of its"
            " clients"
        )

    def finish(self, state: S, grad: Oracle) -> S:
        """Return the state after local work that follows the last round."""
        return state

    # -- measurements

    def models(self, state: S) -> Tensor:
        """Return the current models of the clients (S, m, d)."""
        return state.x

    def mean(self, state: S) -> Tensor:
        """Return the point xbar (S, d) of the theorems."""
        return state.x.mean(-2)

    def auxiliary(self, state: S) -> Tensor | None:
        """Return the auxiliary point w (S, d) at which a theorem bounds the gradient.

        None if that point is xbar.
        """
        return None

    def theory_values(self, d: int | None = None) -> dict[str, float]:
        """Return the hyperparameters by glossary name, for ``Theorem.evaluate``.

        With ``d``, the number of parameters of a model, the quantities of ``summed_up``
        are included.
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

    # -- methods for subclasses

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
        """Raise InputError if no step size used the decay.

        Called after the first round.
        """
        if self.decay != 1.0 and not hasattr(self, "_decays"):
            raise InputError(
                f"{type(self).__name__} ignores decay = {self.decay}: use"
                " self.decayed(self.eta, grad.t) as the step size in local_update, or"
                " run it with decay = 1"
            )

    def slope(
        self,
        grad: Oracle,
        y: Tensor,
        rho: float = 0.0,
        block: Index | None = None,
        batch: tuple[object] | None = None,
    ) -> Tensor:
        """Return a stochastic (SAM) gradient at y with weight decay, as a new tensor.

        Both evaluations of SAM use the same minibatch: that of ``batch``, or a fresh
        one. With ``block``, SAM perturbs only these coordinates.
        """
        xi = grad.sample() if batch is None else batch[0]
        g = grad(y, xi)
        if rho:
            g = grad(perturbed(y, g, rho, block, out=g), xi)
        return g.add_(y, alpha=self.weight_decay) if self.weight_decay else g


def check_class(kind: type[Algorithm[Any]]) -> None:
    """Raise InputError unless every annotated hyperparameter is a dataclass field.

    Other attributes would be missing from checkpoints and comparisons.
    """
    for owner in kind.__mro__:
        undeclared = _annotations_without_field(owner)
        if undeclared:
            raise InputError(
                f"{owner.__name__}: {', '.join(undeclared)} is not a field, so it would"
                " be missing from checkpoints: put @dataclass(frozen=True) directly"
                f" above class {owner.__name__}"
            )


def _annotations_without_field(owner: type) -> list[str]:
    """Return the annotated attributes of a class that is not itself a dataclass."""
    annotations = inspect.get_annotations(owner)
    if "__dataclass_fields__" in vars(owner) or not annotations:
        return []
    # dataclass itself recognizes all spellings of ClassVar
    namespace = {"__annotations__": annotations, "__module__": owner.__module__}
    reference: Any = dataclass(type(owner.__name__, (), namespace))
    return [f.name for f in fields(reference)]


def sampled(participation: float, m: int) -> int:
    """Return the number of sampled clients, participation * m, at least 1."""
    return max(1, round(participation * m))


def taking_part(grad: Oracle, new: Tensor, old: Tensor | float) -> Tensor:
    """Return ``new`` for participating clients and ``old`` for the others."""
    return new if grad.active is None else torch.where(grad.active, new, old)


def replace(state: Copied, **changes: object) -> Copied:
    """Return a copy of a state with some fields changed.

    Like dataclasses.replace, but faster, which matters in short rounds.
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
    """Return SAM's perturbed point y + rho g / ||g||, per seed and client.

    All tensors are (S, m, d). Where g = 0, the point is y. With ``block``, an index of
    the last axis, g is first restricted to these coordinates. The result is written to
    ``out``, which may be g, or to a new tensor.
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
    "NumberRange",
    "State",
    "check_class",
    "perturbed",
    "ranges",
    "replace",
    "sampled",
    "taking_part",
]
