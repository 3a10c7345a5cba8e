"""A proof script against a theorem: the last fact of the script is compared with the
theorem's bound.

:func:`check` runs a script and compares. Its answer says from which assumptions of the
theorem the bound follows, and which the proof does not use.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.inequalities.region import Region
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import expression, need
from dfltheory.bounds.regions import conditions_of
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL
from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError
from dfltheory.proofs.algorithm_rounds import LETTERS, ROUNDS, same_round
from dfltheory.proofs.hypotheses import Hypothesis
from dfltheory.proofs.kernel import RULES, Fact, genuine
from dfltheory.proofs.moments import (
    DUAL,
    PLAIN,
    X_U,
    X_V,
    XBAR,
    Form,
    Lag,
    Rule,
    RuleError,
    Vec,
    X,
    is_zero,
    sq,
)
from dfltheory.proofs.script import Corollary, Range, Script
from dfltheory.proofs.script_region import ScriptRegion, glossary_of


@dataclass(frozen=True)
class Checked:
    """What the kernel says of a theorem, which is proved where ``missing`` is empty.

    ``facts``: the last ones, one for each case; ``assumptions``: those of the theorem,
    in its words, that the proof uses; ``unused``: the others; ``idle``: the hypotheses
    that an assumption grants and the proof does not need.
    """

    theorem: Theorem
    facts: tuple[Fact, ...]
    assumptions: tuple[str, ...]
    unused: tuple[str, ...]
    idle: tuple[Hypothesis, ...]
    missing: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        return not self.missing

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that the proof uses."""
        names = {f.rule for last in self.facts for f in last.trail()}
        return tuple(r for name, r in RULES.items() if name in names)

    def __str__(self) -> str:
        if self.missing:
            return f"{self.theorem}: not proved: {'; '.join(self.missing)}"
        spare = [*self.unused, *(h.says for h in self.idle)]
        return f"{self.theorem}: proved from {'; '.join(self.assumptions)}" + (
            f". Not used: {'; '.join(spare)}" if spare else ""
        )


Scripts = Mapping[str, Script | Corollary]
"""Scripts by what they claim (key:variant)."""


def check(
    theorem: Theorem, script: Script | Corollary, others: Scripts = MappingProxyType({})
) -> Checked:
    """Run a script and compare its last fact with a theorem.

    Parameters
    ----------
    theorem : the statement that the script shall prove
    script : its proof
    others : where the script of the theorem from which a corollary follows is found

    Raises
    ------
    InputError
        The script of a corollary's parent is missing from ``others``.
    """
    need(
        type(script) in (Script, Corollary),
        "a proof is a Script or a Corollary, not {}",
        type(script),
    )
    if isinstance(script, Corollary):
        return _corollary(theorem, script, others)
    _check_script(script)
    facts, missing = [], []
    if script.case is not None and not _decidable(theorem, script):
        missing.append("the condition of the cases may be no real number")
    for case, stated in script.cases(theorem):
        fact, lacks = _proof(stated, case)
        facts.append(fact)
        missing += lacks
    lacks, used, idle = _assumptions(
        theorem, script, frozenset().union(*(f.uses for f in facts))
    )
    return _answer(theorem, tuple(facts), used, idle, [*lacks, *missing])


def _decidable(theorem: Theorem, script: Script) -> bool:
    """Does the case or its opposite hold, as two real numbers can be compared?"""
    assert script.case is not None
    bare = replace(script, ranges=(), values={}, case=None, otherwise=None)
    sides = (theorem.expand(script.case.left), theorem.expand(script.case.right))
    return all(ScriptRegion(theorem, bare).is_real(side) for side in sides)


def _check_script(script: Script) -> None:
    """Raise RuleError unless a script has exact types and expressions that may enter a
    proof.
    """
    need(type(script) is Script, "a proof is a Script, not {}", type(script))
    need(
        all(type(r) is Range for r in script.ranges),
        "the ranges of a script are of type Range",
    )
    need(
        all(type(w) is Lag for w in script.lags), "the sums of a script are of type Lag"
    )
    need(
        script.case is None or type(script.case) is Condition,
        "the case of a script is a Condition",
    )
    for r in script.ranges:
        for part in (r.symbol, r.means, r.low, *(() if r.high is None else (r.high,))):
            expression(part)
        need(
            r.low.is_number and (r.high is None or r.high.is_number),
            "the ends of a range are numbers",
        )
    for old, new in (*script.values.items(), *script.names.items()):
        need(type(old) is sp.Symbol, "{} is not a symbol", old)
        expression(new)
    if script.case is not None:
        expression(script.case.left)
        expression(script.case.right)
    if script.otherwise is not None:
        _check_script(script.otherwise)


def _proof(stated: Theorem, script: Script) -> tuple[Fact, list[str]]:
    """The last fact of one case, and what it lacks to be the theorem there."""
    fact = script.prove(**script.weights)
    if not genuine(fact):
        raise RuleError("a proof ends in a fact of the kernel")
    missing = []
    if stated.scope.participation != "full":
        missing.append("the kernel covers full participation")
    missing += _algorithm(stated, fact)
    missing += _meanings(stated, script, fact)
    if not fact.left or fact.left != _left(stated, fact):
        missing.append("the last fact is about another left-hand side")
    region = ScriptRegion(stated, script)
    missing += region.complaints
    spoken = (*stated.needs, *stated.scope.letters)
    absent = {GLOSSARY[n].symbol: int(x) for n, x in NEUTRAL.items() if n not in spoken}
    demands = [(d, d.expr.subs(absent)) for d in fact.demands]
    missing += [
        f"not shown: {d.why}" for d, expr in demands if not region.holds(expr, d.strict)
    ]
    derived = sp.Add(*fact.right.values()).subs(absent)
    if any(m.kind != "one" for m in fact.right):
        missing.append("the last fact's bound is not a constant")
    elif not region.holds(sp.Add(*stated.parts.values()) - derived):
        missing.append("not shown: what is derived is at most the bound")
    return fact, missing


def _algorithm(theorem: Theorem, fact: Fact) -> list[str]:
    """Is the proof about the most general algorithm of the theorem's scope, by its
    updates?
    """
    first = theorem.scope.algorithms[0]
    name = theorem.scope.names[0]
    package = f"{__name__.split('.')[0]}."
    own = (
        ":" not in first
        if isinstance(first, str)
        else first.__module__.startswith(package)
    )
    if fact.of is None or not own or name not in ROUNDS:
        return [
            f"the proof is about {fact.of and fact.of.name}, which is not in the"
            " theorem's scope"
        ]
    letters = theorem.scope.letters
    if any(
        n not in letters or letters[n] != x for n, x in LETTERS.get(name, {}).items()
    ):
        return [
            f"the kernel knows {name} with other hyperparameters than those of the"
            " scope"
        ]
    if not same_round(fact.of, ROUNDS[name]):
        return [f"the proof is about another algorithm than {name}: an update differs"]
    return []


def _assumptions(
    theorem: Theorem, script: Script, uses: frozenset[Hypothesis]
) -> tuple[list[str], set[str], tuple[Hypothesis, ...]]:
    """What is used and not granted by the theorem; the assumptions used; what is
    granted to spare.
    """
    granted = {
        h: text for text in theorem.assumptions for h in script.grants.get(text, ())
    }
    missing = [
        h for h in sorted(uses) if h not in granted or not h.scope(theorem.scope)
    ]
    used = {granted[h] for h in uses if h in granted}
    idle = tuple(h for h, text in granted.items() if h not in uses and text in used)
    return (
        [f"the proof uses what is not assumed: {h.says}" for h in missing],
        used,
        idle,
    )


def _meanings(theorem: Theorem, script: Script, fact: Fact) -> list[str]:
    """The sums whose symbols a proof uses are those of its script; each symbol has one
    meaning, and that of a range is new to the proof.
    """
    missing = ["the proof has weights that its script does not name"] * bool(
        fact.lags - {PLAIN} - set(script.lags)
    )
    pairs = {
        (str(symbol), closed)
        for weights in script.lags
        for symbol, closed in weights.meanings.items()
    }
    names = [name for name, _ in pairs]
    twice = {name for name in names if names.count(name) > 1 or name in theorem.symbols}
    spoken = (
        *fact.left.values(),
        *fact.right.values(),
        *(d.expr for d in fact.demands),
    )
    old = {str(x) for expr in spoken for x in expr.free_symbols} - set(names)
    ranged = [
        f"the range of {r.symbol} is not that of a new quantity"
        for r in script.ranges
        if str(r.symbol) in old
    ]
    entered = {x for expr in (*spoken, *fact.right.values()) for x in expr.free_symbols}
    known = theorem.symbols
    twice |= {str(x) for x in entered if str(x) in known and x != known[str(x)]}
    return missing + [f"{name} has two meanings" for name in sorted(twice)] + ranged


def _answer(
    theorem: Theorem,
    facts: tuple[Fact, ...],
    used: set[str],
    idle: tuple[Hypothesis, ...],
    missing: list[str],
) -> Checked:
    said, unused = (
        tuple(t for t in theorem.assumptions if (t in used) is which)
        for which in (True, False)
    )
    return Checked(theorem, facts, said, unused, idle, tuple(missing))


def _corollary(theorem: Theorem, script: Corollary, others: Scripts) -> Checked:
    """The parent's bound and conditions, with the corollary's schedule substituted,
    against its own.
    """
    if script.of not in others:
        raise InputError(
            f"no script of {script.of} is given, from which {script.claim} shall follow"
        )
    parent = checked(others[script.of], others)
    source, missing = parent.theorem, list(parent.missing)
    if (source.lhs, source.scope) != (theorem.lhs, theorem.scope) or not set(
        source.assumptions
    ) <= set(theorem.assumptions):
        missing.append(f"{theorem} covers other runs than {source}")
    for_all_steps = source.kind == "theorem" and theorem.kind != "theorem"
    if not for_all_steps and source.schedule != theorem.schedule:
        missing.append(f"{theorem} and {source} have different schedules")
    schedule = theorem.schedule if for_all_steps else {}
    missing += _not_implied(theorem, source, schedule)
    return _answer(theorem, parent.facts, set(parent.assumptions), parent.idle, missing)


def _not_implied(
    theorem: Theorem, source: Theorem, schedule: Mapping[str, Expr]
) -> list[str]:
    """What is not shown of: under the corollary's conditions its schedule is in the
    ranges of the step sizes and meets the source's conditions, and then the source's
    bound is at most the corollary's.
    """
    region = Region(conditions_of(theorem), glossary=glossary_of(theorem))
    values = {
        theorem.glossary[name].symbol: sp.sympify(value)
        for name, value in schedule.items()
    }

    def scheduled(expr: Expr) -> Expr:
        return source.expand(expr).subs(values, simultaneous=True)

    missing = [
        f"not shown: {name} = {value} is in its range"
        for name, value in schedule.items()
        if not _in_range(region, theorem.glossary[name], sp.sympify(value))
    ]
    missing += [
        f"not shown: {c.name}, a condition of {source}"
        for c in source.conditions
        if not region.holds(scheduled(c.slack), c.strict)
    ]
    own = {name: theorem.expand(part) for name, part in theorem.parts.items()}
    derived = {name: scheduled(part) for name, part in source.parts.items()}
    if own.keys() == derived.keys():
        differences = [own[name] - derived[name] for name in own]
    else:
        differences = [sp.Add(*own.values()) - sp.Add(*derived.values())]
    if not all(map(region.holds, differences)):
        missing.append(f"not shown: the bound of {source} is at most that of {theorem}")
    return missing


def _in_range(region: Region, quantity: Quantity, value: Expr) -> bool:
    """Is a quantity of a schedule proved to be in its range?"""
    if quantity.integer and not value.is_Integer:
        return False
    above = region.holds(value - sp.Rational(quantity.low), strict=quantity.open_low)
    if math.isinf(quantity.high):
        return above
    return above and region.holds(
        sp.Rational(quantity.high) - value, strict=quantity.open_high
    )


_ANSWERS: dict[Script | Corollary, Checked] = {}


def checked(
    script: Script | Corollary, others: Scripts = MappingProxyType({})
) -> Checked:
    """:func:`check` of a script against the registered statement that it claims; once
    for each script.
    """
    if script not in _ANSWERS:
        key, _, variant = script.claim.partition(":")
        _ANSWERS[script] = check(registry.get(key, variant), script, others)
    return _ANSWERS[script]


def _left(theorem: Theorem, fact: Fact) -> Form:
    """The moments that the theorem's left-hand side is, for the algorithm that the fact
    is about; or none.
    """
    lhs, T, alg = theorem.lhs, GLOSSARY["T"].symbol, fact.of
    if alg is None or (lhs.aggregate, lhs.first, lhs.last, lhs.start) != (
        "mean",
        0,
        T - 1,
        0,
    ):
        return {}
    w = alg.mean_model
    if theorem.scope.two_blocks != (alg.kept is not None):
        return {}
    if alg.kept is not None and w == X_U.mean() + X_V:
        later, shares = X_U.mean() + alg.kept, (1 / s.L_u, 1 / s.L_v)
        halved = (s.eta_u * s.K_u / 4, s.eta_v * s.K_v / 4)
        measured = {
            "two_block": (w, shares),
            "two_block_next": (later, shares),
            "two_block_weighted": (later, halved),
        }
        if lhs.measure not in measured:
            return {}
        at, (first, second) = measured[lhs.measure]
        pair = {sq(alg.full(at)): first, sq(alg.grad(X_U + X_V, "v")): second}
        return {m.at(rounds="mean"): c for m, c in pair.items()}
    measured = {"grad_norm_sq": (X.mean(), XBAR), "grad_norm_sq_w": (_auxiliary(fact),)}
    return (
        {sq(alg.full(w)).at(rounds="mean"): sp.S.One}
        if w in measured.get(lhs.measure, ())
        else {}
    )


def _auxiliary(fact: Fact) -> Vec:
    """xbar - lam_admm ((1 - gamma)/gamma) mean dual, gamma = 1 - (1 - eta/lam_admm)^K
    the weights' sum.
    """
    share = s.eta / s.lam_admm
    gamma = 1 - (1 - share) ** s.K
    totals = [
        w.at
        for w in fact.lags
        if w.at is not None and is_zero(w.meanings[w.at] - gamma)
    ]
    total = totals[0] if totals else gamma
    return X.mean() - DUAL.mean() * (s.lam_admm * (1 - total) / total)
