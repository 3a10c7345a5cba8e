"""Declared proof steps of a statement, each judged by its own premises and rules.

A step that fails does not spoil those after it: each is judged as if the claims of its
premises held.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import sympy as sp

from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.proof_steps import (
    MOST_CLAIM_TERMS,
    ProofStep,
    expanded_size,
    proof_step_names,
    read_claim,
)
from dfltheory.bounds.real_numbers import RuleError, k, sign_is_shown
from dfltheory.bounds.regions import expanded_conditions, relations_of
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.proofs import hypotheses as h
from dfltheory.proofs.deduction import Deduction, Witness
from dfltheory.proofs.hypotheses import Hypothesis
from dfltheory.proofs.linear_facts import ONE_MOMENT, LinearFact, scalings
from dfltheory.proofs.moment_text import text_of
from dfltheory.proofs.moments import Demand, Moment, form, sq
from dfltheory.proofs.step_corrections import StepCorrection, corrections
from dfltheory.proofs.step_notation import StepNotation
from dfltheory.proofs.step_points import Point
from dfltheory.proofs.step_region import StepRegion
from dfltheory.proofs.step_rounds import round_of, single_step

StepOutcome = Literal["follows", "assumed", "does not follow", "not decided"]
MOST_MOMENTS = 30
"""Most moments in a step with its premises."""


@dataclass(frozen=True)
class JudgedStep:
    """What is known of one step.

    Attributes
    ----------
    name, step : as declared
    outcome : ``follows``; ``assumed``; ``does not follow``, with a witness; or
        ``not decided``, with a reason
    reason : why it is not decided, or which demand of a rule fails
    witness : values at which all premises hold and the claim does not
    point : where a demand of a rule fails
    corrections : what the premises give instead of wrong coefficients
    uses : hypotheses of its rules
    """

    name: str
    step: ProofStep
    outcome: StepOutcome
    reason: str = ""
    witness: Witness | None = None
    point: Point | None = None
    corrections: tuple[StepCorrection, ...] = ()
    uses: frozenset[Hypothesis] = frozenset()


class DeclaredProof:
    """The declared proof steps of one statement.

    Parameters
    ----------
    theorem : with ``steps`` and ``moments``

    Raises
    ------
    InputError
        A moment, a rule or a claim cannot be read; the message names the step.
    """

    def __init__(self, theorem: Theorem):
        self.theorem = theorem
        self.names = proof_step_names(theorem.steps)
        self._round = round_of(theorem)
        self._neutral = _neutral_values(theorem)
        quantities = {name: entry.symbol for name, entry in theorem.glossary.items()}
        self._symbols: dict[str, Expr] = {**quantities, **_definitions(theorem)}
        self.moments = self._named_moments()
        self.claims = self._read_claims()
        self._facts: list[list[LinearFact] | str] = []
        for name, step in zip(self.names, theorem.steps, strict=True):
            with self._place_in_errors(name, "by"):
                self._facts.append(self._facts_of(step))
        self._region = self._region_of_steps()

    def judged(self) -> list[JudgedStep]:
        """Return the judgment of every step, in order."""
        steps = zip(self.names, self.theorem.steps, self._facts, strict=True)
        return [self._judge(name, step, facts) for name, step, facts in steps]

    def ends_in_statement(self) -> bool:
        """Return whether the last step claims the statement's left side and bound."""
        lhs = self.theorem.lhs
        horizon = self.theorem.glossary["T"].symbol
        rounds = (lhs.first, lhs.last, lhs.start)
        if self._round is None or rounds != (0, horizon - 1, 0):
            return False
        if lhs.measure != "grad_norm_sq" or lhs.aggregate not in ("mean", "min"):
            return False
        bound = self._coefficient(self.theorem.bound)
        last = self.claims[self.names[-1]]
        stated = form(({ONE_MOMENT: bound}, sp.S.One))
        return last.left == {self.stated_gradient(): 1} and last.right == stated

    def stated_gradient(self) -> Moment:
        """Return the mean over the rounds of E||grad f||^2 at the mean model."""
        assert self._round is not None
        algorithm = self._round.algorithm
        gradient = algorithm.full(algorithm.mean_model)
        mean = LinearFact({sq(gradient).at(rounds="mean"): sp.S.One}, {})
        (moment,) = mean.rewritten(self._moment, self._coefficient).left
        return moment

    def last_gradient(self) -> Moment | None:
        """Return the mean over the rounds of a squared gradient that the steps end in.

        None: the last step does not bound one such moment.
        """
        left = self.claims[self.names[-1]].left
        if self._round is None or len(left) != 1:
            return None
        ((moment, share),) = left.items()
        names = [atom.name for atom, _ in moment.vec.terms]
        of_gradient = names in (["grad"], ["g"]) and moment.kind == "sq"
        over_rounds = moment.rounds == "mean" and share == 1
        return moment if of_gradient and over_rounds else None

    # -- reading

    @contextmanager
    def _place_in_errors(self, name: str, field: str) -> Iterator[None]:
        """Name the step and its field in errors."""
        try:
            yield
        except DFLTheoryError as wrong:
            message = f"{self.theorem}: step {name}: {field}: {wrong}"
            raise InputError(message) from None

    def _notation(self, facts: Mapping[str, LinearFact]) -> StepNotation:
        known = None if self._round is None else self._round.algorithm
        named = getattr(self, "moments", {})
        return StepNotation(self._symbols, known, named, facts)

    def _named_moments(self) -> dict[str, Moment]:
        notation = self._notation({})
        moments = {}
        for name, text in self.theorem.moments.items():
            try:
                moment = notation.moment(name, text)
            except DFLTheoryError as wrong:
                raise InputError(f"{self.theorem}: moments.{name}: {wrong}") from None
            fact = LinearFact({moment: sp.S.One}, {}).rewritten(
                self._moment, self._coefficient
            )
            (moments[name],) = fact.left
        return moments

    def _moment(self, moment: Moment) -> Moment:
        single = self._round is not None and self._round.single
        return single_step(moment) if single else moment

    def _coefficient(self, expr: Expr) -> Expr:
        """Return a coefficient in glossary symbols.

        What the statement does not have is at its neutral value.
        """
        coefficient = self.theorem.expand(sp.sympify(expr)).subs(self._neutral)
        if self._round is not None and self._round.single:
            coefficient = coefficient.subs(k, 0)
        if expanded_size(coefficient) > MOST_CLAIM_TERMS:
            raise InputError(f"a coefficient has more than {MOST_CLAIM_TERMS} terms")
        return coefficient

    def _read_claims(self) -> dict[str, LinearFact]:
        claims = {}
        moments, bound = self.theorem.moments, self.theorem.bound
        for name, step in zip(self.names, self.theorem.steps, strict=True):
            with self._place_in_errors(name, "claim"):
                claim = read_claim(step.claim, self._symbols, moments, bound)
                left, right = map(self._by_moment, (claim.left, claim.right))
                fact = LinearFact(left, right, claim.equal)
                claims[name] = fact.rewritten(self._moment, self._coefficient)
        return claims

    def _by_moment(self, side: Mapping[str, Expr]) -> dict[Moment, Expr]:
        """Return the coefficients of named moments; an empty name is 1."""
        named = {"": ONE_MOMENT, **self.moments}
        return {named[name]: c for name, c in side.items()}

    def _region_of_steps(self) -> StepRegion:
        """Return the region of the statement in the symbols of its steps."""
        conditions = []
        for c in expanded_conditions(self.theorem):
            left, right = self._coefficient(c.left), self._coefficient(c.right)
            conditions.append(Condition(c.name, left, right, c.strict))
        facts = list(self.claims.values())
        for of_step in self._facts:
            facts += of_step if isinstance(of_step, list) else []
        symbols: set[sp.Symbol] = set()
        for fact in facts:
            for coefficient in (*fact.left.values(), *fact.right.values()):
                symbols |= coefficient.free_symbols
            for demand in fact.demands:
                symbols |= demand.expr.free_symbols
        if k in symbols:
            K = self.theorem.glossary["K"].symbol
            conditions.append(Condition("local steps", k + 1, K))
        for condition in conditions:
            symbols |= sp.sympify(condition.slack).free_symbols
        conditions += relations_of(self.theorem, (x.name for x in symbols))
        return StepRegion(conditions, symbols, self.theorem.glossary)

    def _facts_of(self, step: ProofStep) -> list[LinearFact] | str:
        """Return the facts that a step's rules give, or why a rule does not apply."""
        known = {name: self.claims[name] for name in step.premises}
        facts = []
        for text in step.by:
            if text in ("algebra", "assumption"):
                continue
            try:
                fact = self._notation(known).rule(text)
            except RuleError as wrong:
                return str(wrong)
            facts.append(fact.rewritten(self._moment, self._coefficient))
        return facts

    # -- judging

    def _judge(
        self, name: str, step: ProofStep, facts: list[LinearFact] | str
    ) -> JudgedStep:
        if "assumption" in step.by:
            return JudgedStep(name, step, "assumed")
        if isinstance(facts, str):
            return JudgedStep(name, step, "not decided", facts)
        uses = frozenset[Hypothesis]().union(*(fact.uses for fact in facts))
        refused = [use.says for use in sorted(uses) if not self._grants(use)]
        if refused:
            reason = f"the scope does not grant: {'; '.join(refused)}"
            return JudgedStep(name, step, "not decided", reason, uses=uses)
        demands = [demand for fact in facts for demand in fact.demands]
        for demand in demands:
            if not self._region.holds(demand.expr, demand.strict):
                return self._judge_unmet_demand(name, step, demand, uses)
        premises = [*facts, *(self.claims[premise] for premise in step.premises)]
        return self._judge_deduction(name, step, premises, uses)

    def _judge_unmet_demand(
        self, name: str, step: ProofStep, demand: Demand, uses: frozenset[Hypothesis]
    ) -> JudgedStep:
        """Judge a step with a demand of a rule that is not proved.

        The step does not follow if the demand fails at a point; else it is undecided.
        """
        sign = ">" if demand.strict else ">="
        reason = f"the rule needs {demand.expr} {sign} 0 ({demand.why})"
        point = self._region.negative_at(demand.expr, demand.strict)
        outcome: StepOutcome = "not decided" if point is None else "does not follow"
        return JudgedStep(name, step, outcome, reason, point=point, uses=uses)

    def _judge_deduction(
        self,
        name: str,
        step: ProofStep,
        premises: list[LinearFact],
        uses: frozenset[Hypothesis],
    ) -> JudgedStep:
        """Judge whether the claim follows from the premises."""
        slacks = [slack for fact in premises for slack in fact.slacks()]
        claims = self.claims[name].slacks()
        moments: dict[Moment, None] = {}
        for slack in (*claims, *slacks):
            moments |= dict.fromkeys(slack)
        if len({*moments, ONE_MOMENT}) > MOST_MOMENTS:
            reason = f"the step has more than {MOST_MOMENTS} moments"
            return JudgedStep(name, step, "not decided", reason, uses=uses)
        slacks += scalings(moments)
        for claim in claims:
            deduction = Deduction(claim, slacks, self._region, self.claims[name].left)
            if deduction.proved():
                continue
            witness = deduction.witness()
            if witness is None:
                reason = "neither a proof nor a witness was found"
                return JudgedStep(name, step, "not decided", reason, uses=uses)
            wrong = corrections(deduction, witness, self.text, self.theorem.bound)
            return JudgedStep(
                name,
                step,
                "does not follow",
                witness=witness,
                corrections=wrong,
                uses=uses,
            )
        return JudgedStep(name, step, "follows", uses=uses)

    def _grants(self, use: Hypothesis) -> bool:
        """Return whether the scope allows a hypothesis."""
        scope = self.theorem.scope
        if use in (h.BOUNDED, h.MOMENT) and not scope.bounded_gradients:
            return False
        if use == h.SAMPLE_SMOOTH and not scope.samplewise:
            return False
        return bool(use.scope(scope))

    def text(self, moment: Moment) -> str:
        """Return the name of a moment, or how a theorem file would write it."""
        named = {other: name for name, other in self.moments.items()}
        single = self._round is not None and self._round.single
        return named.get(moment) or text_of(moment, single)


def _definitions(theorem: Theorem) -> dict[str, Expr]:
    """Return the symbols of a statement's definitions by name.

    Where the sign that one declares is not shown, it is its formula.
    """
    by_name: dict[str, Expr] = {}
    for symbol in (d.symbol for d in theorem.definitions):
        formula = theorem.expand(symbol)
        shown = sign_is_shown(symbol, formula)
        by_name[symbol.name] = symbol if shown else formula
    return by_name


def _neutral_values(theorem: Theorem) -> dict[Expr, Expr]:
    """Return neutral values of quantities that a statement neither has nor fixes."""
    present = {*theorem.needs, *theorem.scope.hyperparameters}
    return {
        theorem.glossary[name].symbol: sp.nsimplify(value)
        for name, value in theorem.neutral.items()
        if name not in present
    }


def judge_steps(theorem: Theorem) -> list[JudgedStep]:
    """Judge the declared steps of a statement.

    Parameters
    ----------
    theorem : with ``steps`` and ``moments``

    Returns
    -------
    list of JudgedStep
        One for each step, in order.

    Raises
    ------
    InputError
        A moment, a rule or a claim cannot be read.
    """
    return DeclaredProof(theorem).judged()


__all__ = ["DeclaredProof", "JudgedStep", "judge_steps"]
