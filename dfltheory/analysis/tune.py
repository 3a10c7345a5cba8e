"""What to run because of theory: topology, weights, step size, K, Q, rho and alpha by the least valid bound.

A grid of choices that fit a budget is held against each theorem at its best step sizes. Where every bound
says no more than is known without it, the advisor is the exact expectation on quadratics that have the same
constants (:func:`dfltheory.analysis.atlas.model`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from dfltheory.analysis.atlas import (
    best_bounds,
    check_constants,
    competitors,
    constants,
    expectation,
    yardstick,
)
from dfltheory.analysis.schedule import algorithm_class, letters_of, network_values
from dfltheory.bounds.checks.everyday import everyday
from dfltheory.bounds.reference import load
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL, step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError, squarable, whole_number
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.training.loop import train

_CHOSEN = ("K", "Q", "rho", "alpha")
_NETWORK = ("m", "lam", "delta", "C", "q", "window")
Network = tuple[str, str, Any, int]
"""Name, rule, matrix and largest number of neighbors."""
_FREE = {*_CHOSEN, *_NETWORK, "T", "x0_spread"}
"""What the choice itself fixes, with a common start: all else must be stated."""


@dataclass(frozen=True)
class Budget:
    """What may be spent: communication ``rounds``, ``gradients`` per client, ``models`` that the busiest
    client sends, ``bytes`` that all clients send, of models of ``numbers`` numbers of 4 bytes each. None: any
    number; one of them must be given."""

    rounds: int | None = None
    gradients: int | None = None
    models: int | None = None
    bytes: int | None = None
    numbers: int | None = None

    def __post_init__(self) -> None:
        given = {n: getattr(self, n) for n in ("rounds", "gradients", "models", "bytes")}
        if all(v is None for v in given.values()):
            raise InputError("a budget needs a limit: give rounds, gradients, models or bytes")
        if (self.bytes is None) is not (self.numbers is None):
            raise InputError("bytes and numbers belong together: give the bytes, and a model's numbers")
        for name, value in {**given, "numbers": self.numbers}.items():
            if value is not None:
                whole_number(name, value, at_least=1)

    def horizon(self, K: int, Q: int, degree: int, ascent: bool = False, sent: int = 0) -> int:
        """The largest T within the budget; 0 where not even one round is. SAM's ``ascent`` costs a second
        gradient a step; ``sent``: the bytes of a round."""
        limits = [self.rounds, self.gradients and self.gradients // (K * (1 + ascent))]
        limits += [self.models and self.models // (Q * degree) if degree else None]
        limits += [self.bytes and self.bytes // sent if sent else None]
        return min((n for n in limits if n is not None), default=0)


@dataclass(frozen=True)
class Choice:
    """One way to spend the budget and what is promised of it; ``letters``: K, Q, rho, alpha and step sizes.

    ``share`` is the bound over what is known without it; of the advisor ``bound`` is the exact expectation.
    """

    theorem: Theorem
    topology: str
    weights: str
    T: int
    letters: Mapping[str, float]
    bound: float
    share: float
    terms: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        told = {n: getattr(self, n) for n in ("topology", "weights", "T", "bound", "share")}
        by = {"theorem": self.theorem.key, "variant": self.theorem.variant}
        return by | told | {"letters": dict(self.letters), "terms": dict(self.terms)}

    def __str__(self) -> str:
        letters = ", ".join(f"{n} = {v:.4g}" for n, v in self.letters.items())
        return f"{self.topology} ({self.weights}), T = {self.T}, {letters}"


@dataclass(frozen=True)
class Advice:
    """Choices, the best first: ``by_bound`` says whether a bound ranks them (else the exact expectation on
    quadratics does); ``left_out`` why a theorem was not asked."""

    choices: tuple[Choice, ...]
    by_bound: bool
    least_share: float
    left_out: Mapping[str, str]

    @property
    def best(self) -> Choice:
        return self.choices[0]

    def to_dict(self) -> dict[str, Any]:
        told = {"by_bound": self.by_bound, "least_share": self.least_share, "left_out": dict(self.left_out)}
        return told | {"choices": [c.to_dict() for c in self.choices[:20]]}

    def __str__(self) -> str:
        best = self.best
        if self.by_bound:
            head = (
                f"{best}\nby {best.theorem}: {best.bound:.4g}, {best.share:.3g} of what is known without it"
            )
            rows = [f"  {n:16s} {v:.4g} ({v / best.bound:.0%})" for n, v in best.terms.items()]
        else:
            head = f"every bound is vacuous within this budget (the least is {self.least_share:.3g} of what "
            head += "is known without it)\nthe exact expectation on quadratics advises "
            head += f"{best}: {best.bound:.4g}"
            rows = []
        others: dict[tuple[str, str], Choice] = {}
        for choice in self.choices:
            others.setdefault((choice.topology, choice.weights), choice)
        rows += [f"  instead {c}: {c.bound / best.bound:.3g} times that" for c in [*others.values()][1:]]
        rows += [f"  not asked: {name}: {why}" for name, why in self.left_out.items()]
        return "\n".join([head, *rows])


def tune(
    budget: Budget,
    *,
    m: int,
    theorems: Sequence[Theorem | str] | None = None,
    topologies: Sequence[str] = ("ring", "exponential", "complete"),
    weights: Sequence[str] = ("metropolis",),
    K: Sequence[int] = (1, 2, 5, 10, 20),
    Q: Sequence[int] = (1, 2, 4),
    rho: Sequence[float] = (0.0,),
    alpha: Sequence[float] = (0.0,),
    **values: Any,
) -> Advice:
    """The choice with the least valid bound within a budget.

    Parameters
    ----------
    m : clients
    theorems : whose bounds are asked, valid by the caller's word; None: every corrected theorem on
        E||grad f||^2 at the mean model whose constants are all stated
    topologies, weights : names that may be chosen (:data:`~dfltheory.graphs.TOPOLOGIES`, ``WEIGHT_RULES``)
    K, Q, rho, alpha : values that may be chosen; a theorem without the letter is asked where it is absent
    values : the constants by glossary name, stated or measured: L, sigma_l, sigma_g, f0_gap, B...

    Raises
    ------
    InputError, UnknownNameError
        No theorem's constants are all stated; the budget allows no round; an unknown name.
    """
    check_constants({"m": m, **values})
    for name, value in values.items():
        squarable(name, value)
    fixed = sorted({*_NETWORK, "T"} & set(values))
    if fixed:
        raise InputError(f"{', '.join(fixed)} follows from the budget and the topologies: leave it out")
    whole = (
        t for t in competitors("grad_norm_sq") if t.kind == "theorem" if t.variant.startswith("corrected")
    )
    asked = [load(t) for t in (whole if theorems is None else theorems)]
    lacking = {str(t): sorted(set(t.needs) - _FREE - set(step_names()) - set(values)) for t in asked}
    left_out = {name: f"needs {', '.join(less)}" for name, less in lacking.items() if less}
    left_out |= {str(t): "stated as O(.) only" for t in asked if t.order}
    left_out |= {str(t): "a lower bound" for t in asked if t.kind == "lower bound"}
    left_out |= {str(t): "about two blocks" for t in asked if t.scope.two_blocks}
    asked = [t for t in asked if str(t) not in left_out]
    if not asked:
        told = "; ".join(f"{name} {why}" for name, why in left_out.items())
        raise InputError(f"no theorem can be asked: {told}")
    measures = sorted({t.lhs.measure for t in asked})
    if len(measures) > 1:
        raise InputError(f"bounds on {' and '.join(measures)} cannot be ranked: ask theorems on one of them")
    if len({t.lhs.aggregate == "sum" for t in asked}) > 1:
        raise InputError(
            "bounds on a sum over rounds cannot be ranked with others: ask theorems on one of them"
        )
    grid = _Grid(budget, {"K": K, "Q": Q, "rho": rho, "alpha": alpha}, {"m": m, **values})
    networks = [*_networks(m, topologies, weights)]
    found = [c for t in asked for network in networks for c in grid.by_bound(t, network)]
    if not found:
        raise InputError(
            "no choice is within the budget and some theorem's conditions: allow more, or other K, Q"
        )
    found.sort(key=lambda c: (c.share >= 1, c.bound))
    least = min((c.share for c in found if not math.isnan(c.share)), default=math.nan)
    if not found[0].share >= 1:  # nan: nothing is known without it
        return Advice(tuple(found), True, least, left_out)
    return Advice(tuple(grid.by_expectation(asked, networks)), False, least, left_out)


def _networks(m: int, topologies: Sequence[str], weights: Sequence[str]) -> Iterator[Network]:
    from dfltheory import graphs

    for name, rule in product(topologies, weights):
        graph = graphs.topology(name, m)
        yield name, rule, graphs.weights(graph, rule), max(d for _, d in graph.degree())


def bytes_of_a_round(kind: Any, W: Any, Q: int, numbers: int) -> int:
    """What all clients together send in one round of models of so many numbers of 4 bytes each, as two runs
    of an algorithm (a class) on models of one and of two numbers record it."""
    letters = {**everyday(GLOSSARY), **NEUTRAL, "eta": 1e-3, "K": 1, "Q": Q}
    algorithm, m = kind(**letters_of(kind, letters)), len(W)
    counts = []
    for d in (1, 2):
        task = Quadratic.diagonal(np.ones((1, d)), np.zeros((m, d)))
        run = train(algorithm, task, W if kind.needs_topology else None, rounds=1, progress=False)
        counts.append(int(run.sent()["sent_bits"][0, -1]) // 64)  # runs of quadratics are in double precision
    return 4 * (counts[0] + (counts[1] - counts[0]) * (numbers - 1))


@dataclass(frozen=True)
class _Grid:
    """What may be chosen (K, Q, rho, alpha: their values) within a budget, at these constants."""

    budget: Budget
    letters: Mapping[str, Sequence[float]]
    values: Mapping[str, float]

    def places(self, theorem: Theorem, network: Network) -> list[dict[str, float]]:
        """Every K, Q, rho, alpha that the theorem speaks of, with the T that the budget leaves."""
        _, _, W, degree = network
        own = {n: v if n in theorem.needs else (NEUTRAL.get(n, 1.0),) for n, v in self.letters.items()}
        made = [dict(zip(own, row, strict=True)) for row in product(*own.values())]
        left, sent, kind = self.budget.horizon, dict[int, int](), algorithm_class(theorem)
        for Q in {int(p["Q"]) for p in made} if self.budget.numbers else ():
            sent[Q] = bytes_of_a_round(kind, W, Q, self.budget.numbers or 0)
        made = [
            p | {"T": left(int(p["K"]), int(p["Q"]), degree, p["rho"] > 0, sent.get(int(p["Q"]), 0))}
            for p in made
        ]
        return [p for p in made if p["T"] >= 1]

    def by_bound(self, theorem: Theorem, network: Network) -> Iterator[Choice]:
        """The choices that the theorem's bound admits on one network."""
        (name, rule, W, _), values = network, self.values
        places = self.places(theorem, network)
        if not places:
            return
        columns = {n: np.array([p[n] for p in places], dtype=float) for n in places[0]}
        known = {"x0_spread": 0.0, **network_values(theorem, W), **values, **columns}
        bounds, steps = best_bounds(theorem, known)
        with np.errstate(divide="ignore", invalid="ignore"):  # no gap to close: a share of nothing
            shares = bounds / yardstick(theorem, known)
        for k, place in enumerate(places):
            if not math.isfinite(bounds[k]):
                continue
            letters = {n: values[n] for n in step_names() if n in theorem.needs and n in values}
            letters |= {n: float(v[k]) for n, v in steps.items()} | {n: place[n] for n in _CHOSEN}
            here = constants(theorem, {**known, **place}) | letters
            terms = theorem.evaluate_terms(where="ignore", **{n: here[n] for n in theorem.needs})
            told = {n: float(v) for n, v in terms.items()}
            promised = float(bounds[k]), float(shares[k]), told
            yield Choice(theorem, name, rule, int(place["T"]), letters, *promised)

    def by_expectation(self, theorems: Sequence[Theorem], networks: Sequence[Network]) -> list[Choice]:
        """The choices by the exact expectation on quadratics: a theorem per algorithm, steps 2^-k / (K L)."""
        values = self.values
        unknown = sorted({"L", "sigma_l", "sigma_g", "f0_gap"} - set(values))
        if unknown:
            raise InputError(
                f"every bound is vacuous, and the exact expectation needs {', '.join(unknown)}: state it"
            )
        one = {t.scope.names[0]: t for t in reversed(theorems) if "eta" in t.needs}
        found: list[Choice] = []
        for theorem, network in product(one.values(), networks):
            name, rule, W, _ = network
            for place in self.places(theorem, network):
                tried = [2.0**-k / (place["K"] * values["L"]) for k in range(8)]
                for eta in [values["eta"]] if "eta" in values else tried:
                    truth = expectation(theorem, {**values, **place}, {"eta": eta}, W)
                    if math.isfinite(truth):
                        letters = {"eta": eta} | {n: place[n] for n in _CHOSEN}
                        found.append(Choice(theorem, name, rule, int(place["T"]), letters, truth, math.nan))
        if not found:
            raise InputError(
                "every bound is vacuous, and no exact expectation is known: allow rho = 0 and fewer clients"
            )
        return sorted(found, key=lambda c: c.bound)
