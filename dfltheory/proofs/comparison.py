"""Compare the last fact of a proof script with a theorem.

:func:`check` runs a script and compares. Its answer says from which assumptions of the
theorem the bound follows, and which the proof does not use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds import symbols as s
from dfltheory.bounds.real_numbers import (
    STEP_SYMBOLS,
    need,
    real_expression,
    sign_is_shown,
)
from dfltheory.bounds.regions import joint_glossary
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL
from dfltheory.bounds.theorem import Condition, Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import InputError
from dfltheory.proofs.algorithm_rounds import (
    ONE_LOCAL_STEP,
    REQUIRED_HYPERPARAMETERS,
    ROUNDS,
    same_round,
)
from dfltheory.proofs.covered_runs import is_of_package, uncovered_runs
from dfltheory.proofs.facts import foreign_steps, symbols_in_proof
from dfltheory.proofs.hypotheses import Hypothesis
from dfltheory.proofs.implication import not_implied
from dfltheory.proofs.kernel import RULES, Fact, genuine
from dfltheory.proofs.left_side import left_moments
from dfltheory.proofs.moments import (
    PLAIN,
    Lag,
    Rule,
    RuleError,
)
from dfltheory.proofs.script import Corollary, Range, Script
from dfltheory.proofs.script_region import ScriptRegion


@dataclass(frozen=True)
class Checked:
    """The kernel's result for a theorem, which is proved if ``missing`` is empty.

    Attributes
    ----------
    theorem : the statement
    facts : the last fact of the proof, or of each of its cases
    assumptions : the theorem's assumptions, as it states them, that the proof uses
    unused : its other assumptions
    idle : hypotheses that these assumptions grant and that the proof does not use
    missing : messages about what is not proved
    """

    theorem: Theorem
    facts: tuple[Fact, ...]
    assumptions: tuple[str, ...]
    unused: tuple[str, ...]
    idle: tuple[Hypothesis, ...]
    missing: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether nothing is missing."""
        return not self.missing

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that the proof uses."""
        names = {f.rule for last in self.facts for f in last.trail()}
        return tuple(r for name, r in RULES.items() if name in names)

    def __str__(self) -> str:
        if self.missing:
            return f"{self.theorem}: not proved: {'; '.join(self.missing)}"
        text = f"{self.theorem}: proved from {'; '.join(self.assumptions)}"
        unused = [*self.unused, *(h.says for h in self.idle)]
        return f"{text}. Not used: {'; '.join(unused)}" if unused else text


Scripts = Mapping[str, Script | Corollary]
"""Scripts by what they claim (key:variant)."""


def check(
    theorem: Theorem, script: Script | Corollary, others: Scripts = MappingProxyType({})
) -> Checked:
    """Run a script and compare its last fact with a theorem.

    Parameters
    ----------
    theorem : the statement
    script : its proof
    others : scripts by claim; that of a corollary's parent is looked up here

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
    if script.case is not None and not _is_decided(theorem, script):
        missing.append("a side of the condition of the cases may not be a real number")
    uses: frozenset[Hypothesis] = frozenset()
    for case, stated in script.cases(theorem):
        fact, missing_in_case = _proof(stated, case)
        facts.append(fact)
        missing += missing_in_case
        uses |= fact.uses
    not_granted, used, idle = _assumptions(theorem, script, uses)
    return _answer(theorem, tuple(facts), used, idle, [*not_granted, *missing])


def _is_decided(theorem: Theorem, script: Script) -> bool:
    """Return whether the case or its opposite holds.

    Both sides must be real numbers, which can be compared.
    """
    assert script.case is not None
    bare = replace(script, ranges=(), values={}, case=None, otherwise=None)
    sides = (theorem.expand(script.case.left), theorem.expand(script.case.right))
    return all(ScriptRegion(theorem, bare).is_real(side) for side in sides)


def _check_script(script: Script) -> None:
    """Raise RuleError unless a script is made of exact types and expressions."""
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
        ends = [r.low] if r.high is None else [r.low, r.high]
        for part in (r.symbol, r.means, *ends):
            real_expression(part)
        need(all(end.is_number for end in ends), "the ends of a range are numbers")
    for old, new in (*script.values.items(), *script.names.items()):
        need(type(old) is sp.Symbol, "{} is not a symbol", old)
        real_expression(new)
    if script.case is not None:
        real_expression(script.case.left)
        real_expression(script.case.right)
    if script.otherwise is not None:
        _check_script(script.otherwise)


def _proof(stated: Theorem, script: Script) -> tuple[Fact, list[str]]:
    """Return the last fact of one case, and why it does not imply the theorem there."""
    for symbol in STEP_SYMBOLS:
        need(
            symbol.name not in stated.glossary,
            "rename the quantity {}: proofs use this name for steps",
            symbol,
        )
    fact = script.prove(**script.weights)
    if not genuine(fact):
        raise RuleError("prove of a script must return a fact of the kernel")
    missing = []
    if stated.scope.participation != "full":
        missing.append("the kernel covers only full participation")
    missing += _algorithm(stated, fact)
    missing += _meanings(stated, script, fact)
    missing += _declared_signs(stated, script, fact)
    if not fact.left or fact.left != left_moments(stated, fact):
        missing.append("the last fact is about another left-hand side")
    region = ScriptRegion(stated, script)
    missing += region.complaints
    absent = _values_of_absent(stated)
    for demand in fact.demands:
        if not region.holds(demand.expr.subs(absent), demand.strict):
            missing.append(f"not shown: {demand.why}")
    derived = sp.Add(*fact.right.values()).subs(absent)
    if any(m.kind != "one" for m in fact.right):
        missing.append("the last fact's bound is not a constant")
    elif not region.holds(sp.Add(*stated.parts.values()) - derived):
        missing.append("not shown: what is derived is at most the bound")
    return fact, missing


def _values_of_absent(theorem: Theorem) -> dict[sp.Symbol, int]:
    """Return the values of quantities that a theorem does not have.

    They are those at which a mechanism is absent, and one local step for an algorithm
    that takes one a round. The number of rounds of a window is not 1 in a scope that
    has windows, nor of an algorithm that has them.
    """
    present = {*theorem.needs, *theorem.scope.hyperparameters, *theorem.schedule}
    values = {name: int(value) for name, value in NEUTRAL.items()}
    first = theorem.scope.names[0]
    of_algorithm = first in ROUNDS and ROUNDS[first].gossips.has(s.window)
    if of_algorithm or "windows" in theorem.scope.sequence:
        del values["window"]
    if first in ONE_LOCAL_STEP:
        values["K"] = 1
    return {GLOSSARY[n].symbol: x for n, x in values.items() if n not in present}


def _algorithm(theorem: Theorem, fact: Fact) -> list[str]:
    """Compare the proof's algorithm with the most general one of the scope."""
    first = theorem.scope.algorithms[0]
    name = theorem.scope.names[0]
    if fact.of is None or not is_of_package(first) or name not in ROUNDS:
        return [
            f"the proof is about {fact.of and fact.of.name}, which is not in the"
            " theorem's scope"
        ]
    of_scope = theorem.scope.hyperparameters
    for hyperparameter, required in REQUIRED_HYPERPARAMETERS.get(name, {}).items():
        if hyperparameter not in of_scope or of_scope[hyperparameter] != required:
            return [
                f"the kernel knows {name} with other hyperparameters than those of the"
                " scope"
            ]
    if not same_round(fact.of, ROUNDS[name]):
        return [f"the proof is about another algorithm than {name}: an update differs"]
    return foreign_steps(fact)


def _assumptions(
    theorem: Theorem, script: Script, uses: frozenset[Hypothesis]
) -> tuple[list[str], set[str], tuple[Hypothesis, ...]]:
    """Compare the hypotheses that a proof uses with the theorem's assumptions.

    Returns
    -------
    missing : a message for each hypothesis that is used and not granted
    used : the assumptions that the proof needs
    idle : other hypotheses that these assumptions grant
    """
    granted: dict[Hypothesis, str] = {}
    for text in theorem.assumptions:
        granted |= dict.fromkeys(script.grants.get(text, ()), text)
    missing = [
        f"the proof uses what is not assumed: {h.says}"
        for h in sorted(uses)
        if h not in granted or not h.scope(theorem.scope)
    ]
    used = {granted[h] for h in uses if h in granted}
    idle = tuple(h for h, text in granted.items() if h not in uses and text in used)
    return missing, used, idle


def _meanings(theorem: Theorem, script: Script, fact: Fact) -> list[str]:
    """Return messages for symbols of a proof without a meaning, or with two.

    The weights of sums must be those of the script. A symbol has one meaning, and the
    symbol of a range does not occur in the proof.
    """
    missing = []
    if fact.lags - {PLAIN} - set(script.lags):
        missing.append("the proof has weights that its script does not name")
    meanings: dict[tuple[sp.Symbol, Expr], None] = {}
    for weights in script.lags:
        meanings |= dict.fromkeys(weights.meanings.items())
    names = [str(symbol) for symbol, _ in meanings]
    of_theorem = theorem.symbols
    ambiguous = {name for name in names if names.count(name) > 1 or name in of_theorem}
    symbols = _symbols_of(fact)
    for symbol in symbols:
        if of_theorem.get(str(symbol), symbol) != symbol:
            ambiguous.add(str(symbol))
    missing += [f"{name} has two meanings" for name in sorted(ambiguous)]
    in_proof = {str(symbol) for symbol in symbols} - set(names)
    for r in script.ranges:
        if str(r.symbol) in in_proof:
            missing.append(f"the range of {r.symbol} is not that of a new quantity")
    return missing


def _declared_signs(theorem: Theorem, script: Script, fact: Fact) -> list[str]:
    """Return messages for abbreviations whose sign is declared, but not shown.

    A theorem declares the sign of an abbreviation, and rules take it as known. The
    symbols of sums of weights have the sign of the weights.
    """
    of_sums = {symbol for weights in script.lags for symbol in weights.meanings}
    in_proof = symbols_in_proof(fact)
    missing = []
    for symbol in (d.symbol for d in theorem.definitions):
        is_shown = sign_is_shown(symbol, theorem.expand(symbol))
        if symbol in in_proof - of_sums and not is_shown:
            missing.append(f"the sign of {symbol} is not shown: use its formula")
    return missing


def _symbols_of(fact: Fact) -> set[sp.Symbol]:
    """Return the symbols in the coefficients and the demands of a fact."""
    formulas = [*fact.left.values(), *fact.right.values()]
    formulas += [demand.expr for demand in fact.demands]
    symbols: set[sp.Symbol] = set()
    for formula in formulas:
        symbols |= formula.free_symbols
    return symbols


def _answer(
    theorem: Theorem,
    facts: tuple[Fact, ...],
    used: set[str],
    idle: tuple[Hypothesis, ...],
    missing: list[str],
) -> Checked:
    """Return the answer; the assumptions are in the theorem's order."""
    needed = tuple(text for text in theorem.assumptions if text in used)
    unused = tuple(text for text in theorem.assumptions if text not in used)
    all_missing = (*missing, *uncovered_runs(theorem))
    return Checked(theorem, facts, needed, unused, idle, all_missing)


def _corollary(theorem: Theorem, script: Corollary, others: Scripts) -> Checked:
    """Compare the parent, under the corollary's schedule, with the corollary."""
    if script.of not in others:
        raise InputError(
            f"{script.claim} follows from {script.of}, whose proof is missing: pass its"
            " script"
        )
    parent = check_registered(others[script.of], others)
    source, missing = parent.theorem, list(parent.missing)
    same_runs = (source.lhs, source.scope) == (theorem.lhs, theorem.scope)
    if not same_runs or set(source.assumptions) - set(theorem.assumptions):
        missing.append(f"{theorem} covers other runs than {source}")
    for_all_steps = theorem.kind != "theorem" and (
        source.kind == "theorem" or not source.schedule
    )
    if not for_all_steps and source.schedule != theorem.schedule:
        missing.append(f"{theorem} and {source} have different schedules")
    missing += [
        f"{source} is proved only for {symbol} = {value}"
        for symbol, value in _lost_mechanisms(theorem, source).items()
    ]
    if joint_glossary(source, theorem) is None:
        missing.append(f"{theorem} and {source} give a quantity different meanings")
    schedule = theorem.schedule if for_all_steps else {}
    missing += not_implied(theorem, source, schedule)
    return _answer(theorem, parent.facts, set(parent.assumptions), parent.idle, missing)


def _lost_mechanisms(theorem: Theorem, source: Theorem) -> dict[sp.Symbol, int]:
    """Return the quantities that a corollary has and that are absent in its source.

    A quantity of the schedule of a hyperparameter that the source has, such as rho0 in
    rho = rho0/sqrt(T), is not a mechanism of its own.
    """
    absent, without = _values_of_absent(theorem), _values_of_absent(source)
    entered: set[Expr] = set()
    for name, value in theorem.schedule.items():
        if theorem.glossary[name].symbol not in without:
            entered |= sp.sympify(value).free_symbols
    return {
        symbol: value
        for symbol, value in without.items()
        if symbol not in absent and symbol not in entered
    }


_ANSWERS: dict[Script | Corollary, Checked] = {}


def check_registered(
    script: Script | Corollary, others: Scripts = MappingProxyType({})
) -> Checked:
    """Return :func:`check` of the registered statement that a script claims.

    The result is cached.
    """
    if script not in _ANSWERS:
        key, _, variant = script.claim.partition(":")
        _ANSWERS[script] = check(registry.get(key, variant), script, others)
    return _ANSWERS[script]
