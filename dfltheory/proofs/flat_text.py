"""Proofs as flat text, which a checker without this package can read.

:func:`flat_proof` writes the statement, the quantities of its script, and one line for
each rule of the proof: its arguments and what it says. ``docs/proof-format.md`` is the
format. Rules that only add inequalities (chain, add, weaken, label, solve) become
``combine`` with the factor of each inequality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError
from dfltheory.proofs.facts import without_sign
from dfltheory.proofs.flat_statement import WEIGHTS_NAME, FlatStatement
from dfltheory.proofs.kernel import Fact
from dfltheory.proofs.moments import (
    PLAIN,
    AlgorithmRound,
    Atom,
    Form,
    Lag,
    Moment,
    Vec,
    combination,
    form,
    root,
)
from dfltheory.proofs.script import Corollary, Script

_KINDS = {"e^": "ehat"}
_NOT_IN_FORMAT = (
    "exact_averages",
    "largest_martingale",
    "one_step",
    "projection",
    "push_windows",
    "steps_sum",
    "sum_rounds",
    "telescope_to_end",
)
Combination = list[tuple[Fact, Expr]]


class FlatProof(FlatStatement):
    """The lines of a proof as they are written.

    Parameters
    ----------
    theorem : the statement
    script : its proof, of one case
    fact : the last fact of the script
    """

    def __init__(self, theorem: Theorem, script: Script, fact: Fact):
        super().__init__(theorem, script)
        self.fact = fact
        self.facts: dict[int, str] = {}
        self.vectors: dict[Vec, str] = {}

    # -- texts

    def vector(self, vec: Vec) -> str:
        """Return the name of a vector, which is declared at its first use."""
        if vec not in self.vectors:
            pairs = sorted((self.atom(a), self.expr(c)) for a, c in vec.terms)
            parts = [a if c == "1" else f"({c})*{a}" for a, c in pairs]
            name = f"v{len(self.vectors) + 1}"
            self.lines.append(f"{name} = {' + '.join(parts) or '0*x'}")
            self.vectors[vec] = name
        return self.vectors[vec]

    def atom(self, atom: Atom) -> str:
        """Text of an atom."""
        if atom.point is not None:
            text = f'grad({self.vector(atom.point)}, "{atom.block}")'
        elif atom.block:
            text = f'block("{atom.block}", {_KINDS.get(atom.name, atom.name)})'
        else:
            text = _KINDS.get(atom.name, atom.name)
        if isinstance(atom.step, tuple):
            weights, n = atom.step
            text = f"sum({text}, {self.expr(n)}, {_weights(weights)})"
        if atom.pushed:
            text = f"pushed({text})"
        return f"mean({text})" if atom.mean and atom.name != "xbar" else text

    def moment(self, moment: Moment) -> str:
        """Text of a moment."""
        if moment.kind == "one":
            text = f'one("{moment.label}")'
        elif moment.kind == "inner":
            text = f"inner({self.vector(moment.vec)}, {self.vector(moment.other)})"
        else:
            kind = f"{moment.kind}_w" if moment.weighted else moment.kind
            text = f"{kind}({self.vector(moment.vec)})"
        if moment.steps:
            text = f"{moment.steps}_k({text})"
        return f"{moment.rounds}_t({text})" if moment.rounds else text

    def form(self, linear: Form) -> str:
        """Text of a linear combination of moments."""
        parts = [f"({self.coefficient(c)})*{self.moment(m)}" for m, c in linear.items()]
        return " + ".join(parts) or "0"

    def argument(self, value: object) -> str:
        """Text of an argument of a rule."""
        if isinstance(value, Fact):
            return self.facts[id(value)]
        if isinstance(value, Vec):
            return self.vector(value)
        if isinstance(value, Lag):
            return _weights(value)
        if isinstance(value, Mapping):
            pairs = [f"{self.moment(m)}: {self.expr(c)}" for m, c in value.items()]
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.argument, value))})"
        if value is None or isinstance(value, str):
            return repr(value)
        return self.expr(sp.sympify(value))

    # -- the proof

    def step(self, fact: Fact) -> None:
        """Write the lines of one rule."""
        if fact.rule in _NOT_IN_FORMAT:
            raise InputError(f"the format of proofs has no rule {fact.rule}")
        writer = _WRITERS.get(str(fact.rule))
        if writer is not None:
            writer(self, fact)
        else:
            self.rule(str(fact.rule), self.arguments(fact), fact)

    def arguments(self, fact: Fact) -> list[Any]:
        """Return the arguments of a rule in their order, without the algorithm."""
        fact.arguments.apply_defaults()
        arguments = [*fact.arguments.args, *fact.arguments.kwargs.values()]
        return [a for a in arguments if not isinstance(a, AlgorithmRound)]

    def rule(self, name: str, arguments: Iterable[object], fact: Fact) -> None:
        """Write a line for a rule, and the fact's name."""
        texts = [self.argument(a) for a in arguments]
        self.facts[id(fact)] = self.line(name, texts, fact.left, fact.right, fact.equal)

    def line(
        self, name: str, texts: Iterable[str], left: Form, right: Form, equal: bool
    ) -> str:
        """Write a line for a rule, and return the name of what it says."""
        sign = "==" if equal else "<="
        claim = f"{self.form(left)} {sign} {self.form(right)}"
        new = f"f{len(self.facts) + 1}"
        # the line before may have a name that is not that of a fact of the kernel
        while new in self.facts.values() or self.lines[-1].startswith(f"{new} = "):
            new += "a"
        self.lines.append(f"{new} = {name}({', '.join(texts)}) |- {claim}")
        return new

    def write_proof(self) -> None:
        """Write the algorithm, the left-hand side, and a line for each rule."""
        algorithm = self.fact.of
        assert algorithm is not None
        self.lines.append(f"algorithm gossips = {self.expr(algorithm.gossips)}")
        for name in ("kept", "personal", "local", "sent", "mean_model", "dual"):
            update = getattr(algorithm, name)
            if update is not None:
                label = "dual_after" if name == "dual" else name
                self.lines.append(f"algorithm {label} = {self.vector(update)}")
        self.lines.append(f"left {self.form(self.fact.left)}")
        self.write_hints([d.expr for d in self.fact.demands])
        for fact in self.fact.trail():
            self.step(fact)
        self.lines.append(f"prove {self.facts[id(self.fact)]}")

    def combine(self, fact: Fact, pairs: Combination) -> None:
        """Write a sum of facts."""
        self.rule("combine", pairs, fact)


def _weights(weights: Lag) -> str:
    return '"1"' if weights == PLAIN else WEIGHTS_NAME


def _chain(out: FlatProof, fact: Fact) -> None:
    """Write a chain as a sum: each bound counts by the coefficient that it replaces."""
    first, *others = out.arguments(fact)
    right = dict(first.right)
    pairs: Combination = [(first, sp.S.One)]
    for by in others:
        (moment,) = by.left
        factor = right.pop(moment)
        pairs.append((by, factor))
        right = form((right, 1), (by.right, factor))
    out.combine(fact, pairs)


def _write_same(out: FlatProof, fact: Fact) -> None:
    out.combine(fact, [(out.arguments(fact)[0], sp.S.One)])


def _add(out: FlatProof, fact: Fact) -> None:
    weights, *facts = out.arguments(fact)
    out.combine(fact, list(zip(facts, map(sp.sympify, weights), strict=True)))


def _solve(out: FlatProof, fact: Fact) -> None:
    premise, left, times = out.arguments(fact)
    if times is None:
        ((moment, _),) = (left or premise.left).items()
        change = form((premise.left, 1), (premise.right, -1))
        times = 1 / change[moment]
    out.combine(fact, [(premise, sp.sympify(times))])


def _young(out: FlatProof, fact: Fact) -> None:
    """Write Young's inequality as Minkowski's, squared with weights."""
    weights, *parts = out.arguments(fact)
    (square,) = fact.left
    terms = [(without_sign(sp.sympify(c)), root(v)) for c, v in parts]
    roots = combination(*terms)
    texts = [out.argument(part) for part in parts]
    left = {root(square.vec): sp.S.One}
    minkowski = out.line("minkowski", texts, left, roots, False)
    shares = out.argument(dict(zip(roots, weights, strict=True)))
    out.facts[id(fact)] = out.line(
        "square", [minkowski, shares], fact.left, fact.right, False
    )


def _bounded(out: FlatProof, fact: Fact) -> None:
    if out.arguments(fact)[0]:
        raise InputError("the format has no bound of the gradients at the states")
    out.rule("bounded", (), fact)


def _any_start(out: FlatProof, fact: Fact) -> None:
    pushed = out.arguments(fact)[0]
    out.rule("any_push_start" if pushed else "any_start", (), fact)


_WRITERS: Mapping[str, Callable[[FlatProof, Fact], None]] = {
    "chain": _chain,
    "weaken": _write_same,
    "label": _write_same,
    "add": _add,
    "solve": _solve,
    "young": _young,
    "any_start": _any_start,
    "bounded": _bounded,
}


def flat_proof(
    theorem: Theorem,
    script: Script | Corollary,
    parent: tuple[Theorem, Script] | None = None,
) -> str:
    """Return a proof as flat text.

    Parameters
    ----------
    theorem : the statement
    script : its proof
    parent : of a corollary: the statement from which it follows, and its proof

    Raises
    ------
    InputError
        A corollary has no parent, or the proof has two cases or a rule that the format
        does not have.
    """
    if isinstance(script, Corollary):
        if parent is None:
            raise InputError(
                f"{script.claim} follows from {script.of}, whose proof is missing:"
                " pass it"
            )
        return flat_proof(*parent) + _corollary(theorem, *parent)
    if script.case is not None:
        raise InputError(f"{script.claim}: the format has no proofs of two cases")
    fact = script.prove(**script.weights)
    text = FlatProof(theorem, script, fact)
    text.write_statement(fact.uses)
    text.write_proof()
    return "\n".join(text.lines) + "\n"


def _corollary(theorem: Theorem, source: Theorem, script: Script) -> str:
    bare = replace(script, ranges=(), values={})
    text = FlatStatement(theorem, bare)
    text.write_corollary(source)
    return "\n".join(text.lines) + "\n"


__all__ = ["flat_proof"]
