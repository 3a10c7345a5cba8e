"""Moments and rules as a theorem file writes them.

Examples are ``sq(dev(x))`` and ``young([1/2, 1/2], x, -eta*g)``.

Python's grammar reads the text, and nothing of it is run: the syntax tree is walked by
an explicit list of node types.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import sympy as sp

from dfltheory.bounds.limited_formulas import build, small
from dfltheory.bounds.real_numbers import RuleError
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.proofs import kernel
from dfltheory.proofs.linear_facts import LinearFact, from_claim
from dfltheory.proofs.moments import (
    EHAT,
    AlgorithmRound,
    Atom,
    Conclusion,
    E,
    G,
    Moment,
    N,
    Vec,
    X,
    inner,
    k,
    one,
    root,
    sq,
    value,
)

MOST_LEVELS, MOST_CHARACTERS, MOST_PARTS = 30, 1000, 300
"""Nesting, characters and nodes of one text."""
ALIASES = {
    "jensen": "mean_of",
    "cauchy_schwarz": "steps_mean",
    "smoothness": "lipschitz",
    "telescoping": "telescope",
    "recursion": "convolution",
}
"""Other names of rules."""
RULE_NAMES = (
    "minkowski",
    "young",
    "mean_of",
    "dev_of",
    "steps_mean",
    "steps_max",
    "polarization",
    "bilinear",
    "lipschitz",
    "descent",
    "diversity",
    "bounded",
    "second_moment",
    "variance",
    "sam",
    "pythagoras",
    "unbiased",
    "martingale",
    "clients",
    "gossip",
    "gossip_steps",
    "convolution",
    "invariant",
    "common_start",
    "any_start",
    "telescope",
    "average",
    "largest",
    "square",
    "take_root",
)
"""Rules of the kernel that a step can name; sums of inequalities are algebra."""
_WHERE = {
    "next": {"rounds": "next"},
    "start": {"rounds": "start"},
    "mean_t": {"rounds": "mean"},
    "mean_k": {"steps": "mean"},
    "max_k": {"steps": "max"},
}


@dataclass(frozen=True)
class _Scaled:
    """A vector with a factor, which rules for sums of vectors need to see."""

    vec: Vec
    factor: Expr = sp.S.One

    @property
    def whole(self) -> Vec:
        return self.vec * self.factor


NotationValue: TypeAlias = (
    "sp.Expr | _Scaled | Moment | LinearFact | NotationList | dict[Moment, sp.Expr]"
)
"""What a part of a rule or of a moment can be."""
NotationList: TypeAlias = "list[NotationValue]"


class StepNotation:
    """Reads the moments and the rules of one statement.

    Parameters
    ----------
    symbols : quantities and definitions by name
    algorithm : the round that rules are about; None: no rule about one can be used
    moments : named moments that are known
    facts : claims of earlier steps by name
    """

    def __init__(
        self,
        symbols: Mapping[str, Expr],
        algorithm: AlgorithmRound | None,
        moments: Mapping[str, Moment],
        facts: Mapping[str, LinearFact],
    ):
        self._algorithm = algorithm
        self._moments = moments
        self._facts = facts
        self._names: dict[str, NotationValue] = {**symbols, "k": k, **facts}
        vectors = {"x": X, "g": G, "n": N, "e": E, "e_mean": EHAT, "xbar": X.mean()}
        if algorithm is not None:
            vectors |= {"y": algorithm.local, "sent": algorithm.sent}
        self._names |= {name: _Scaled(vec) for name, vec in vectors.items()}
        self._nodes = 0

    def moment(self, name: str, text: str) -> Moment:
        """Return the moment that a text denotes.

        ``nonnegative`` and ``real`` are numbers of their own.
        """
        if text == "nonnegative":
            return sq(_own_vector(name))
        if text == "real":
            return value(_own_vector(name))
        moment = self._read(text)
        if not isinstance(moment, Moment):
            raise InputError(
                f"{text!r:.80} is not a moment: write sq, root, inner or value of"
                " vectors, or nonnegative or real"
            )
        return moment

    def rule(self, text: str) -> LinearFact:
        """Return what a rule with its arguments gives."""
        fact = self._read(text if "(" in text else f"{text}()")
        if not isinstance(fact, LinearFact):
            raise InputError(f"{text!r:.80} is not a rule: {_known_rules()}")
        return fact

    # -- the syntax tree

    def _read(self, text: str) -> NotationValue:
        self._nodes = 0
        if len(text) > MOST_CHARACTERS:
            raise InputError(
                f"a rule or a moment has at most {MOST_CHARACTERS} characters"
            )
        try:
            tree = ast.parse(text.strip().replace("^", "**"), mode="eval")
        except (SyntaxError, RecursionError, MemoryError, ValueError):
            raise InputError(f"{text!r:.80} is not a rule or a moment") from None
        try:
            return self._value(tree.body, 0)
        except RuleError as wrong:
            raise RuleError(f"{text!r:.80} does not apply: {wrong}") from None
        except (InputError, UnknownNameError) as wrong:
            raise InputError(f"{text!r:.80}: {wrong}") from None

    def _value(self, node: ast.expr, depth: int) -> NotationValue:
        self._nodes += 1
        if depth > MOST_LEVELS or self._nodes > MOST_PARTS:
            raise InputError(
                f"at most {MOST_LEVELS} deep and {MOST_PARTS} parts are read"
            )
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return small(sp.Integer(number))
            case ast.Constant(value=float() as number):
                exact = Fraction(str(number))
                return small(sp.Rational(exact.numerator, exact.denominator))
            case ast.Name(id=name):
                return self._value_of_name(name)
            case ast.UnaryOp(op=ast.USub(), operand=inside):
                return _product(sp.S.NegativeOne, self._value(inside, depth + 1))
            case ast.BinOp(left=left, op=sign, right=right):
                operands = self._value(left, depth + 1), self._value(right, depth + 1)
                return _operation(sign, *operands)
            case ast.List(elts=entries):
                return [self._value(entry, depth + 1) for entry in entries]
            case ast.Dict(keys=keys, values=entries):
                return self._weights(keys, entries, depth + 1)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments, depth + 1)
        raise InputError("this is not part of a rule or a moment")

    def _value_of_name(self, name: str) -> NotationValue:
        if name not in self._names and ALIASES.get(name, name) in RULE_NAMES:
            return self._apply(ALIASES.get(name, name), [])
        if name not in self._names:
            raise UnknownNameError("vector, quantity or step", name, set(self._names))
        return self._names[name]

    def _weights(
        self, keys: Sequence[ast.expr | None], entries: Sequence[ast.expr], depth: int
    ) -> dict[Moment, Expr]:
        """Weights by the name of a moment; ``one`` is the constant."""
        weights = {}
        for key, entry in zip(keys, entries, strict=True):
            name = key.id if isinstance(key, ast.Name) else ""
            if name != "one" and name not in self._moments:
                raise UnknownNameError("moment", name, set(self._moments))
            moment = one("") if name == "one" else self._moments[name]
            weights[moment] = _scalar(self._value(entry, depth))
        return weights

    def _call(
        self, name: str, arguments: Sequence[ast.expr], depth: int
    ) -> NotationValue:
        if name == "own":
            if len(arguments) != 1 or not isinstance(arguments[0], ast.Name):
                raise InputError("own(NAME) needs the name of one of your vectors")
            return _Scaled(_own_vector(arguments[0].id))
        values = [self._value(argument, depth) for argument in arguments]
        if name in _VECTORS or name in ("grad", "full", "sum"):
            return _Scaled(self._vector(name, values))
        if name in _MOMENTS:
            return _MOMENTS[name](*_vectors(name, values, 2 if name == "inner" else 1))
        if name in _WHERE:
            return _moment_argument(name, values)
        return self._apply(ALIASES.get(name, name), values)

    def _vector(self, name: str, values: list[NotationValue]) -> Vec:
        if name == "sum":
            n = GLOSSARY["K"].symbol if len(values) == 1 else _scalar(values.pop())
            return _vectors(name, values, 1)[0].sum(n)
        (vec,) = _vectors(name, values, 1)
        if name in _VECTORS:
            return _VECTORS[name](vec)
        if self._algorithm is None:
            raise RuleError("no round of the scope's first algorithm is known")
        return getattr(self._algorithm, name)(vec)

    # -- rules

    def _apply(self, name: str, values: list[NotationValue]) -> LinearFact:
        """Return what a rule of the kernel says, with claims of steps as facts.

        The rule's function is called without the wrapper that makes a fact of the
        kernel: an author's claim is not one.
        """
        if name in self._facts and name not in RULE_NAMES:
            raise InputError(
                f"{name} is a step, not a rule: leave it out of by, since the claims of"
                " the steps in from are used without a rule"
            )
        if name not in RULE_NAMES:
            raise UnknownNameError("rule", name, {*RULE_NAMES, *ALIASES})
        says: Callable[..., Conclusion] = getattr(kernel, name).__wrapped__
        arguments = self._arguments(name, says, values)
        claim = says(*arguments)
        return from_claim(name, claim, arguments)

    def _arguments(
        self, name: str, says: Callable[..., Conclusion], values: list[NotationValue]
    ) -> list[object]:
        arguments: list[object] = []
        remaining = list(values)
        for parameter in inspect.signature(says).parameters.values():
            kind = str(parameter.annotation)
            if kind == "AlgorithmRound":
                if self._algorithm is None:
                    raise RuleError("no round of the scope's first algorithm is known")
                arguments.append(self._algorithm)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                arguments += map(_part, remaining)
                remaining = []
            elif remaining:
                arguments.append(_argument(kind, remaining.pop(0)))
            elif parameter.default is parameter.empty:
                raise InputError(f"{name} needs its argument {parameter.name}")
            else:
                break
        if remaining:
            raise InputError(f"{name} takes fewer arguments than {len(values)}")
        return arguments


_VECTORS: Mapping[str, Callable[[Vec], Vec]] = {"mean": Vec.mean, "dev": Vec.dev}
_MOMENTS: Mapping[str, Callable[..., Moment]] = {
    "sq": sq,
    "root": root,
    "inner": inner,
    "value": value,
}


def _own_vector(name: str) -> Vec:
    return Vec.of(((Atom(f"own {name}"), sp.S.One),))


def _scalar(notation_value: NotationValue) -> Expr:
    if not isinstance(notation_value, sp.Basic):
        raise InputError("a number or a formula of quantities must be here")
    return notation_value


def _vectors(name: str, values: list[NotationValue], count: int) -> list[Vec]:
    vectors = [v.whole for v in values if isinstance(v, _Scaled)]
    if len(values) != count or len(vectors) != count:
        raise InputError(f"{name} takes {count} vector{'s' * (count > 1)}")
    return vectors


def _moment_argument(name: str, values: list[NotationValue]) -> Moment:
    if len(values) != 1 or not isinstance(values[0], Moment):
        raise InputError(f"{name} takes one moment")
    return values[0].at(**_WHERE[name])


def _part(notation_value: NotationValue) -> tuple[Expr, Vec]:
    if not isinstance(notation_value, _Scaled):
        raise InputError("the parts of a sum are vectors with factors")
    return notation_value.factor, notation_value.vec


def _argument(kind: str, notation_value: NotationValue) -> object:
    """Return a value as the parameter of a rule asks for it."""
    if kind.startswith("Vec") and isinstance(notation_value, _Scaled):
        return notation_value.whole
    if kind == "Fact" and isinstance(notation_value, LinearFact):
        return notation_value
    if kind == "Iterable[Expr]" and isinstance(notation_value, list):
        return [_scalar(entry) for entry in notation_value]
    if kind.startswith("Mapping[Moment") and isinstance(notation_value, dict):
        return notation_value
    if kind.startswith(("Expr", "sp.Symbol")):
        return _scalar(notation_value)
    if kind == "str" and str(notation_value) in ("k", "t"):
        return str(notation_value)
    raise InputError(f"an argument must be of the kind {kind}")


def _product(factor: Expr, notation_value: NotationValue) -> NotationValue:
    if isinstance(notation_value, _Scaled):
        return _Scaled(notation_value.vec, factor * notation_value.factor)
    return build("Mul", [factor, _scalar(notation_value)])


def _operation(
    sign: ast.operator, left: NotationValue, right: NotationValue
) -> NotationValue:
    match sign:
        case ast.Add() | ast.Sub():
            return _sum(left, right, isinstance(sign, ast.Sub))
        case ast.Mult() if isinstance(right, _Scaled):
            return _product(_scalar(left), right)
        case ast.Mult():
            return _product(_scalar(right), left)
        case ast.Div():
            return _product(build("Pow", [_scalar(right), sp.S.NegativeOne]), left)
        case ast.Pow():
            return build("Pow", [_scalar(left), _scalar(right)])
    raise InputError("signs are + - * / ^")


def _sum(left: NotationValue, right: NotationValue, minus: bool) -> NotationValue:
    if minus:
        right = _product(sp.S.NegativeOne, right)
    if isinstance(left, _Scaled) and isinstance(right, _Scaled):
        return _Scaled(left.whole + right.whole)
    return build("Add", [_scalar(left), _scalar(right)])


def _known_rules() -> str:
    return f"rules are algebra, assumption, {', '.join(RULE_NAMES)}"


__all__ = ["ALIASES", "RULE_NAMES", "StepNotation"]
