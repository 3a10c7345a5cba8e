"""Facts, and the decorator that lets a rule make one.

A :class:`Fact` is made only by functions decorated with :func:`rule`, and the facts
among their arguments are made in the same way. ``kernel.py`` documents the meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache, wraps
from inspect import BoundArguments, signature
from types import MappingProxyType
from weakref import WeakSet

import sympy as sp

from dfltheory.bounds.real_numbers import has_poles, real_expression, reality
from dfltheory.bounds.symbols import OF_ONE_ROUND
from dfltheory.bounds.units import Expr
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.moments import (
    AlgorithmRound,
    Atom,
    Conclusion,
    Demand,
    Lag,
    Moment,
    Rule,
    RuleError,
    Vec,
    atom_text,
    form,
    form_text,
    k,
    need,
    one,
)

_TOKEN = object()
_ISSUED: WeakSet[Fact] = WeakSet()


class Fact:
    """A proved inequality ``left <= right`` (``==`` if ``equal``).

    Only rules make facts. ``kernel.py`` documents their meaning.
    """

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
        phases: set[str] = set()
        has_k = False
        for m, c in (*self.left.items(), *self.right.items()):
            phases |= m.phases
            has_k |= k in c.free_symbols
        if has_k:
            for premise in self.premises:
                phases |= premise.phases
        return phases

    def trail(self) -> list[Fact]:
        """Return the facts that it follows from, each once, and itself last."""
        facts: dict[Fact, None] = {}
        for premise in self.premises:
            facts |= dict.fromkeys(premise.trail())
        return [*facts, self]


def genuine(fact: object) -> bool:
    """Return whether an object is a fact that a rule of the kernel has made."""
    return type(fact) is Fact and fact in _ISSUED


def _parts_of(argument: object) -> Iterator[object]:
    """Yield an argument and, recursively, all objects in it."""
    yield argument
    parts: list[object] = []
    if type(argument) in (AlgorithmRound, Atom, Lag, Moment, Vec):
        parts = [getattr(argument, f.name) for f in fields(argument)]  # type: ignore[arg-type]
    elif isinstance(argument, (tuple, list, frozenset)):
        parts = [*argument]
    elif isinstance(argument, dict):
        parts = [*argument, *argument.values()]
    for part in parts:
        yield from _parts_of(part)


_ARGUMENT_TYPES = (
    tuple,
    list,
    frozenset,
    dict,
    AlgorithmRound,
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

_RULES: dict[str, Rule] = {}
_SEALED: list[bool] = []


def all_rules() -> Mapping[str, Rule]:
    """Return the rules by name. After this call, no rule can be defined."""
    _SEALED.append(True)
    return MappingProxyType(_RULES)


def rule(
    cites: str, *uses: h.Hypothesis
) -> Callable[[Callable[..., Conclusion]], Callable[..., Fact]]:
    """Turn a function that returns a Conclusion into a rule, which returns a Fact."""
    need(
        not _SEALED,
        "rules are defined in the kernel: a proof cannot define its own",
    )

    def register(function: Callable[..., Conclusion]) -> Callable[..., Fact]:
        name = function.__name__.rstrip("_")
        says = " ".join((function.__doc__ or "").split())
        new_rule = Rule(name, says, cites, uses)
        _RULES[name] = new_rule

        @wraps(function)
        def apply(*arguments: object, **named: object) -> Fact:
            with _errors_of(name):
                bound = signature(function).bind(*arguments, **named)
                _check_algorithm(name, bound)
                checked = _checked_arguments(name, (*arguments, *named.values()))
                claim = function(*arguments, **named)
                _check_claim(name, claim, checked.algorithm)
                return _fact_of(new_rule, claim, checked, bound)

        return apply

    return register


def _check_algorithm(name: str, bound: BoundArguments) -> None:
    """Refuse anything else in place of the algorithm whose round a rule is about.

    Rules call this argument ``alg``.
    """
    if "alg" in bound.arguments:
        algorithm = bound.arguments["alg"]
        is_one = isinstance(algorithm, AlgorithmRound)
        need(is_one, "{}: {!r} is no round of an algorithm", name, algorithm)


@dataclass(frozen=True)
class _CheckedArguments:
    """What a fact takes over from the arguments of its rule.

    Attributes
    ----------
    premises : the facts among the arguments
    lags : the weights of sums in the other arguments
    demands : what makes the numbers in the other arguments real and finite
    algorithm : the one that the arguments are about; None: they are about none
    """

    premises: tuple[Fact, ...]
    lags: frozenset[Lag]
    demands: tuple[Demand, ...]
    algorithm: AlgorithmRound | None


def _checked_arguments(name: str, values: tuple[object, ...]) -> _CheckedArguments:
    """Refuse facts that the kernel did not make, and values of unknown types."""
    premises: list[Fact] = []
    parts: list[object] = []
    for value in values:
        if isinstance(value, Fact) and genuine(value):
            premises.append(value)
        else:
            parts += _parts_of(value)
    for part in parts:
        need(
            type(part) in _ARGUMENT_TYPES or isinstance(part, sp.Basic),
            "{}: a premise was not created by the kernel, or has an unknown type",
            name,
        )
    demands: list[Demand] = []
    for part in parts:
        _need_constants(name, part)
        demands += _demands_of(part)
    algorithms = {value for value in values if isinstance(value, AlgorithmRound)}
    algorithms |= {premise.of for premise in premises if premise.of}
    need(len(algorithms) <= 1, "{}: the premises are about different algorithms", name)
    lags = frozenset(part for part in parts if isinstance(part, Lag))
    algorithm = next(iter(algorithms), None)
    return _CheckedArguments(tuple(premises), lags, tuple(demands), algorithm)


def _need_constants(name: str, part: object) -> None:
    """Refuse quantities that change from round to round: averages take them out."""
    if isinstance(part, sp.Basic):
        changing = OF_ONE_ROUND.intersection(map(str, part.free_symbols))
        need(
            not changing,
            "{}: {} changes from round to round, and coefficients are constants",
            name,
            ", ".join(sorted(changing)),
        )


def _check_claim(
    name: str, claim: Conclusion, algorithm: AlgorithmRound | None
) -> None:
    """Refuse other blocks than those of the algorithm, and divisions by 0."""
    if algorithm is not None:
        _need_own_blocks(algorithm, claim)
    for demand in claim.demands:
        need(
            not has_poles(demand.expr),
            "{}: a side condition of the rule divides by 0",
            name,
        )


def _fact_of(
    rule: Rule, claim: Conclusion, checked: _CheckedArguments, arguments: BoundArguments
) -> Fact:
    """Make a fact of what a rule says.

    It has the demands, hypotheses and weights of its premises, too.
    """
    demands: dict[Demand, None] = {}
    uses, lags = frozenset(rule.uses), checked.lags
    for premise in checked.premises:
        demands |= dict.fromkeys(premise.demands)
        uses |= premise.uses
        lags |= premise.lags
    demands |= dict.fromkeys((*claim.demands, *checked.demands))
    fact = Fact(
        _TOKEN,
        left=MappingProxyType(form((claim.left, sp.S.One))),
        right=MappingProxyType(form((claim.right, sp.S.One))),
        equal=claim.equal,
        demands=tuple(d for d in demands if not d.plain),
        uses=uses,
        lags=lags,
        premises=checked.premises,
        arguments=arguments,
        rule=rule.name,
        of=checked.algorithm,
    )
    need(
        len(fact.phases) <= 1,
        "{}: the step k would belong to several phases",
        rule.name,
    )
    return fact


@contextmanager
def _errors_of(rule: str) -> Iterator[None]:
    """Add the name of the rule to errors without one."""
    try:
        yield
    except RuleError as error:
        error.rule = error.rule or rule
        raise


def _demands_of(part: object) -> tuple[Demand, ...]:
    """Refuse an argument, or return what makes its numbers real and finite."""
    if type(part) in (AlgorithmRound, Atom, Lag, Moment, Vec):
        part.__post_init__()  # type: ignore[attr-defined]
    if not isinstance(part, sp.Basic):
        return ()
    return _demands_of_number(real_expression(part))


@lru_cache(maxsize=1 << 14)  # a proof writes few coefficients again and again
def _demands_of_number(number: Expr) -> tuple[Demand, ...]:
    """Return what makes a number real and finite, once its types are checked."""
    why = f"{number} is a real number"
    return tuple(Demand(expr, why, strict) for expr, strict in reality(number))


def _need_own_blocks(algorithm: AlgorithmRound, claim: Conclusion) -> None:
    """Refuse a claim about coordinates that its algorithm does not have."""
    for part in _parts_of(({**claim.left}, {**claim.right})):
        need(
            not isinstance(part, Atom) or part.block in algorithm.blocks,
            "{} is in a block of coordinates that {} does not have",
            atom_text(part) if isinstance(part, Atom) else part,
            algorithm.name,
        )


def foreign_steps(fact: Fact) -> list[str]:
    """Return messages for facts about local steps that the algorithm does not have."""
    blocks = frozenset() if fact.of is None else fact.of.blocks
    return [
        f"{premise.rule} is about steps of another algorithm"
        for premise in fact.trail()
        if not premise.phases <= blocks
    ]


def symbols_in_proof(fact: Fact) -> set[sp.Symbol]:
    """Return the symbols in a fact, in those that it follows from, and in arguments."""
    symbols: set[sp.Symbol] = set()
    for step in fact.trail():
        given = (step.arguments.args, step.arguments.kwargs)
        for part in _parts_of(({**step.left}, {**step.right}, given)):
            if isinstance(part, sp.Basic):
                symbols |= part.free_symbols
        for demand in step.demands:
            symbols |= demand.expr.free_symbols
    return symbols


def size_demand(c: Expr) -> Demand:
    """Demand that an expression, up to its visible sign, is not negative."""
    return Demand(without_sign(real_expression(c)), "the size of a coefficient")


def without_sign(c: Expr) -> Expr:
    """Return an expression without its visible minus sign; sums stay."""
    return -c if not c.is_Add and c.could_extract_minus_sign() else c


def single_moment(fact: Fact, kind: str) -> Moment:
    """Return the only moment on the left-hand side; refuse other left-hand sides."""
    (moment, c), *more = fact.left.items() or ((one(""), 0),)
    need(
        not more and c == 1 and moment.kind == kind,
        "the left-hand side must be one {} with coefficient 1: {}",
        kind,
        fact,
    )
    return moment


def young_weights(weights: Iterable[Expr]) -> tuple[Demand, ...]:
    """Demand that weights are positive and sum to at most 1."""
    shares = list(weights)
    positive = [
        Demand(w, "a weight of Young's inequality", strict=True) for w in shares
    ]
    rest = 1 - sp.Add(*shares)
    total = Demand(rest, "the weights of Young's inequality sum to at most 1")
    return (*positive, total)


__all__ = [
    "Fact",
    "all_rules",
    "foreign_steps",
    "genuine",
    "rule",
    "single_moment",
    "size_demand",
    "symbols_in_proof",
    "without_sign",
    "young_weights",
]
