"""Facts, and the decorator that lets a rule make one.

A :class:`Fact` is made only by functions decorated with :func:`rule`, and the facts
among their arguments are made in the same way. ``kernel.py`` documents the meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from functools import wraps
from inspect import signature
from types import MappingProxyType
from weakref import WeakSet

import sympy as sp

from dfltheory.bounds.real_numbers import expression, has_poles, reality
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.moments import (
    BLOCKS,
    Algorithm,
    Atom,
    Claim,
    Demand,
    Form,
    Lag,
    Moment,
    Rule,
    RuleError,
    Vec,
    form,
    form_text,
    k,
    need,
    one,
)

_TOKEN = object()
_ISSUED: WeakSet[Fact] = WeakSet()


class Fact:
    """``left <= right`` (``==`` if ``equal``); see the module. Only rules make one."""

    __slots__ = (
        "__weakref__",
        "arguments",
        "demands",
        "equal",
        "lags",
        "left",
        "of",
        "premises",
        "right",
        "rule",
        "uses",
    )

    def __init__(self, token: object, **fields: object) -> None:
        need(token is _TOKEN, "only the rules of the kernel create facts")
        for name, held in fields.items():
            object.__setattr__(self, name, held)
        _ISSUED.add(self)

    def __setattr__(self, name: str, held: object) -> None:
        raise RuleError("facts cannot be changed")

    def __str__(self) -> str:
        relation = "==" if self.equal else "<="
        return f"{form_text(self.left)} {relation} {form_text(self.right)}"

    @property
    def phases(self) -> set[str]:
        """The phase of the step k that the fact is about, if any.

        Where a coefficient has k, the phases of the premises count too.
        """
        phases = set().union(*(m.phases for m in (*self.left, *self.right)))
        if any(
            k in c.free_symbols for c in (*self.left.values(), *self.right.values())
        ):
            phases |= set().union(*(p.phases for p in self.premises))
        return phases

    def trail(self) -> list[Fact]:
        """Return the facts that it follows from, each once, and itself last."""
        return list(
            dict.fromkeys((*(fact for p in self.premises for fact in p.trail()), self))
        )


def genuine(fact: object) -> bool:
    """Return whether it was made by the kernel's rules."""
    return type(fact) is Fact and fact in _ISSUED


def _parts_of(argument: object) -> Iterator[object]:
    """All that an argument is made of: itself, and what is in it."""
    yield argument
    parts: list[object] = []
    if type(argument) in (Algorithm, Atom, Lag, Moment, Vec):
        parts = [getattr(argument, f.name) for f in fields(argument)]  # type: ignore[arg-type]
    elif isinstance(argument, (tuple, list, frozenset, dict)):
        parts = [*argument, *(argument.values() if isinstance(argument, dict) else ())]
    for part in parts:
        yield from _parts_of(part)


_WORDS = (
    tuple,
    list,
    frozenset,
    dict,
    Algorithm,
    Atom,
    Lag,
    Moment,
    Vec,
    int,
    str,
    bool,
    type(None),
)
"""Types of arguments that rules accept; subclasses are rejected, because they could
override behavior."""

_MADE: dict[str, Rule] = {}
_SEALED: list[bool] = []


def all_rules() -> Mapping[str, Rule]:
    """Return the rules by name; after this call there are no further ones."""
    _SEALED.append(True)
    return MappingProxyType(_MADE)


def rule(
    cites: str, *uses: h.Hypothesis
) -> Callable[[Callable[..., Claim]], Callable[..., Fact]]:
    """Turn a function that returns a Claim into a rule, which returns a Fact."""
    need(
        not _SEALED,
        "rules are defined in the kernel: a proof cannot define its own",
    )

    def register(function: Callable[..., Claim]) -> Callable[..., Fact]:
        name = function.__name__.rstrip("_")
        _MADE[name] = Rule(
            name, " ".join((function.__doc__ or "").split()), cites, uses
        )

        @wraps(function)
        def apply(*arguments: object, **named: object) -> Fact:
            with _errors_of(name):
                return make_fact(*arguments, **named)

        def make_fact(*arguments: object, **named: object) -> Fact:
            values = (*arguments, *named.values())
            premises = tuple(a for a in values if isinstance(a, Fact) and genuine(a))
            parts = [part for a in values if not genuine(a) for part in _parts_of(a)]
            strange = [
                p
                for p in parts
                if type(p) not in _WORDS and not isinstance(p, sp.Basic)
            ]
            need(
                not strange,
                "{}: a premise was not created by the kernel, or has an unknown type",
                name,
            )
            real = [demand for part in parts for demand in _demands_of(part)]
            about = {a for a in values if isinstance(a, Algorithm)} | {
                p.of for p in premises if p.of
            }
            need(
                len(about) <= 1, "{}: the premises are about different algorithms", name
            )
            claim = function(*arguments, **named)
            for algorithm in about:
                _need_own_blocks(algorithm, claim)
            need(
                not any(has_poles(d.expr) for d in claim.demands),
                "{}: a side condition of the rule divides by 0",
                name,
            )
            demands = dict.fromkeys(d for p in premises for d in p.demands)
            demands |= dict.fromkeys((*claim.demands, *real))
            fact = Fact(
                _TOKEN,
                left=MappingProxyType(form((claim.left, sp.S.One))),
                right=MappingProxyType(form((claim.right, sp.S.One))),
                equal=claim.equal,
                demands=tuple(d for d in demands if not d.plain),
                uses=frozenset(uses).union(*(p.uses for p in premises)),
                lags=frozenset(p for p in parts if isinstance(p, Lag)).union(
                    *(p.lags for p in premises)
                ),
                premises=premises,
                arguments=signature(function).bind(*arguments, **named),
                rule=name,
                of=next(iter(about), None),
            )
            need(
                len(fact.phases) <= 1,
                "{}: the step k would belong to several phases",
                name,
            )
            return fact

        return apply

    return register


@contextmanager
def _errors_of(rule: str) -> Iterator[None]:
    """Set the rule of errors that have none."""
    try:
        yield
    except RuleError as error:
        error.rule = error.rule or rule
        raise


def _demands_of(part: object) -> tuple[Demand, ...]:
    """Refuse an argument, or return what makes its numbers real and finite."""
    if type(part) in (Atom, Lag, Moment, Vec):
        part.__post_init__()  # type: ignore[attr-defined]
    if not isinstance(part, sp.Basic):
        return ()
    return tuple(
        Demand(e, f"{part} is a real number", strict)
        for e, strict in reality(expression(part))
    )


def _need_own_blocks(algorithm: Algorithm, claim: Claim) -> None:
    """Refuse a claim about coordinates that its algorithm does not have."""
    for part in _parts_of(({**claim.left}, {**claim.right})):
        need(
            not isinstance(part, Atom) or part.block in algorithm.blocks,
            "{} is in a block of coordinates that {} does not have",
            part,
            algorithm.name,
        )


def foreign_steps(fact: Fact) -> list[str]:
    """Return which facts of a proof are about local steps that its algorithm lacks."""
    blocks = frozenset() if fact.of is None else fact.of.blocks
    return [
        f"{premise.rule} is about steps of another algorithm"
        for premise in fact.trail()
        if not premise.phases <= blocks
    ]


def size_demand(c: Expr) -> Demand:
    """Demand that an expression, up to its visible sign, is not negative."""
    c = expression(c)
    size = -c if not c.is_Add and c.could_extract_minus_sign() else c
    return Demand(size, "the size of a coefficient")


def single_moment(fact: Fact, kind: str) -> Moment:
    """Return the moment that is alone on the left-hand side."""
    (moment, c), *more = fact.left.items() or ((one(""), 0),)
    need(
        not more and c == 1 and moment.kind == kind,
        "the left-hand side must be one {}: {}",
        kind,
        fact,
    )
    return moment


def young_weights(weights: Iterable[Expr]) -> tuple[Demand, ...]:
    """Demand that weights are positive and sum to at most 1."""
    shares = list(weights)
    positive = (
        Demand(w, "a weight of Young's inequality", strict=True) for w in shares
    )
    return (
        *positive,
        Demand(
            1 - sp.Add(*shares), "the weights of Young's inequality sum to at most 1"
        ),
    )


def over_all(linear: Form, phases: set[str], **where: str) -> Form:
    """Return moments over all steps or rounds.

    Coefficients that depend on the step are replaced by their means over the steps.
    """
    steps, moved = "steps" in where, {}
    for m, c in linear.items():
        varies = m.free if steps else m.kind != "one"
        need(
            m.kind != "value" and not (varies and m.rounds),
            "{} cannot be taken over {}",
            m,
            where,
        )
        need(
            steps or not (m.free or k in c.free_symbols),
            "{} depends on the step k: take its mean or maximum over the steps first",
            m,
        )
        if k in c.free_symbols:
            need(
                not varies and where["steps"] == "mean",
                "({}) {}: k times a moment of step k has no mean over the steps",
                c,
                m,
            )
            K = BLOCKS[next(iter(phases), "")].K
            c = sp.factor(sp.summation(sp.expand(c), (k, 0, K - 1)) / K)
        moved = form((moved, 1), ({m.at(**where) if varies else m: c}, 1))
    return moved


__all__ = [
    "Fact",
    "all_rules",
    "foreign_steps",
    "genuine",
    "over_all",
    "rule",
    "single_moment",
    "size_demand",
    "young_weights",
]
