"""The lines of a proof that state vectors and facts."""

import ast

import averages  # noqa: F401 - registers its rules
from declarations import Declarations
from expressions import linear
from formatting import shown
from linear import Fact, Linear, blocks, free, phase, several_phases, vectors
from polynomials import DEMANDS, ProofError, need, number
from rules import RULES
from schemas import SCHEMAS


class Facts(Declarations):
    """What a file has declared, and the facts that its rules give."""

    def __init__(self):
        super().__init__()
        self.used = set()
        self.proved, self.complete = [], False

    def step(self, name, source):
        """Declare a vector, or a fact ``rule(arguments) |- left <= right``."""
        call, bar, claim = source.partition(" |- ")
        if not bar:
            value = self.evaluate(source)
            need(
                type(value) is Linear,
                f"{name} must be a vector; a fact is 'NAME = rule(...) |- L <= R'",
            )
            self.declare(name, value)
            return
        node = ast.parse(call.strip(), mode="eval").body
        need(
            isinstance(node, ast.Call),
            f"{call.strip()[:100]!r} is not a rule with its arguments, 'rule(...)'",
        )
        arguments = [self.value(argument, {}) for argument in node.args]
        left, relation, right = self.inequality(claim)
        left, right = linear(left), linear(right)
        rule = node.func.id
        need_equal_facts(
            rule,
            self.apply(rule, arguments, (left, relation, right)),
            (left, relation, right),
        )
        self.declare(name, self.fact(left, relation, right, arguments))

    def apply(self, name, arguments, stated):
        """Return what a rule states about its arguments."""
        need(
            name in SCHEMAS or name in RULES,
            f"there is no rule {name}; docs/proof-format.md lists where the rules are",
        )
        hypotheses = (SCHEMAS.get(name) or RULES[name])[0]
        required = {hypothesis for hypothesis in hypotheses.split(", ") if hypothesis}
        missing = sorted(required - set(self.assumed))
        need(
            not missing,
            f"rule {name} uses hypotheses that the file does not assume:"
            f" {', '.join(missing)}",
        )
        self.used |= required
        if name in RULES:
            return apply_function(name, arguments, stated)
        _, parameters, conclusion, *side_conditions = SCHEMAS[name]
        names = parameters.split()
        need(
            len(names) == len(arguments),
            f"rule {name} takes the arguments ({', '.join(names)}), not"
            f" {len(arguments)} arguments",
        )
        values = dict(zip(names, arguments, strict=True))
        left, relation, right = self.inequality(conclusion, **values)
        for source in side_conditions:
            need(
                self.meets(source, values),
                f"rule {name}({', '.join(names)}) requires {source}, which its"
                " arguments or the algorithm do not meet",
            )
        return linear(left), relation, linear(right)

    def meets(self, source, values):
        """Return whether all side conditions are met."""
        node = ast.parse(f"({source},)", mode="eval").body
        for part in node.elts:
            if isinstance(part, ast.Compare):
                left, right = part.left, part.comparators[0]
                if self.value(left, values) != self.value(right, values):
                    return False
            elif self.value(part, values) is not True:
                return False
        return True

    def fact(self, left, relation, right, arguments):
        """Return a new fact, about the algorithm's blocks and at most one step k."""
        terms = [*left.terms, *right.terms]
        block_names = set()
        for moment, _ in terms:
            block_names = block_names.union(*map(blocks, vectors(moment)))
        allowed = {"u", "v"} if self.shared else {""}
        need(
            block_names <= allowed,
            f"the fact is about the blocks {sorted(block_names)}, but this algorithm"
            f' has {sorted(allowed)} ("" is all coordinates)',
        )
        phases = set()
        for moment, _ in terms:
            if free(moment):
                phases_of_moment = {phase(v) for v in vectors(moment)} - {None}
                # k in coefficients is the step of the only block
                phases |= phases_of_moment or {""}
        if any("k" in c.names for _, c in terms):
            for premise in premises(arguments):
                phases |= premise.phases
        need(len(phases) <= 1, several_phases(phases))
        return Fact(left, right, relation == "==", frozenset(phases))

    def line_prove(self, name):
        """Check the fact that gives the statement."""
        fact = self.names.get(name)
        need(type(fact) is Fact, f"{name} is not a fact of this file")
        if fact.left != self.left:
            raise ProofError(
                f"{name} has the left-hand side {shown(fact.left)}, but the line left"
                f" states {shown(self.left)}"
            )
        rest = number(0)
        for formula in self.terms.values():
            rest = rest + self.evaluate(formula)
        for moment, c in fact.right.terms:
            need(
                moment.kind == "one",
                f"the right-hand side of {name} contains {moment.kind}(...); only"
                " constants are allowed in the bound",
            )
            rest = rest - c
        DEMANDS.append((rest, ">="))
        self.flush()
        self.proved, self.complete = [self.claim], True


def premises(arguments):
    """Yield the facts among the arguments of a rule."""
    for argument in arguments:
        if type(argument) is Fact:
            yield argument
        elif type(argument) is tuple:
            yield from premises(argument)


def apply_function(name, arguments, stated):
    """Return what a rule of ``RULES`` states about its arguments."""
    _, function = RULES[name]
    try:
        left, relation, right = function(stated, *arguments)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        summary = function.__doc__.splitlines()[0]
        raise ProofError(
            f"rule {name} does not take these arguments, {len(arguments)} in number;"
            f" it states: {summary}"
        ) from error
    return left, relation, right


def need_equal_facts(rule, proved, stated):
    """Reject a line that does not state what its rule proves."""
    parts = ("left-hand side", "relation", "right-hand side")
    for part, of_rule, of_line in zip(parts, proved, stated, strict=True):
        if of_rule != of_line:
            raise ProofError(
                f"rule {rule} gives the {part} {shown(of_rule)}, but the line states"
                f" {shown(of_line)}"
            )
