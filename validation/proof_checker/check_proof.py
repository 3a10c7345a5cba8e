"""Check a proof of a convergence theorem that is written as flat text.

``python check_proof.py FILE`` prints what FILE proves, or its first wrong line (exit
status 1). It uses Python's standard library and the files next to it:

``polynomials``  quotients of polynomials in fractions, and their signs
``linear``       vectors, moments, and linear combinations of them
``schemas``      inequalities from textbooks, for a fixed number of vectors
``rules``        the others
``expressions``  the values of expressions
``declarations`` the lines that declare something
``check_proof``  the lines of a proof

docs/proof-format.md documents the format and what is trusted.
"""

import ast
import sys
from pathlib import Path

import current
import polynomials
from declarations import Declarations, names_in
from expressions import linear
from linear import Fact, Linear, blocks, free, phase, vectors
from polynomials import DEMANDS, SYMBOLS, ProofError, Region, need, number
from rules import RULES
from schemas import SCHEMAS

STATEMENT = ("claim", "assume", "condition", "define", "algorithm", "left", "term")
STATEMENT += ("corollary", "schedule")
MOST_CHARACTERS = 500_000
"""Longer files are rejected."""
MOST_CASES = 50
"""Values of K that are checked one by one."""


class Proof(Declarations):
    """What a file has declared and proved so far."""

    def __init__(self):
        super().__init__()
        self.used, self.schedule = set(), {}
        self.proved, self.complete = [], False
        self.cases, self.block = 0, None

    # -- lines

    def line(self, source):
        """One line: declare or check."""
        word, _, rest = source.partition(" ")
        if self.block is not None:
            self.block.append(source)
            if word == "follows":
                self.check_cases()
            return
        need(not self.complete or word == "corollary", "the statement is complete")
        if hasattr(self, f"line_{word}"):
            getattr(self, f"line_{word}")(*rest.split(" | "))
        else:
            self.step(word, rest.removeprefix("= "))
        self.flush()

    def step(self, name, source):
        """Declare a vector, or a fact ``rule(arguments) |- left <= right``."""
        call, bar, claim = source.partition(" |- ")
        if not bar:
            value = self.evaluate(source)
            need(type(value) is Linear, "not a vector")
            self.declare(name, value)
            return
        node = ast.parse(call.strip(), mode="eval").body
        need(isinstance(node, ast.Call), "a fact is made by a rule")
        arguments = [self.value(x, {}) for x in node.args]
        left, relation, right = self.inequality(claim)
        left, right = linear(left), linear(right)
        own = self.apply(node.func.id, arguments, (left, relation, right))
        same = own[0] == left and own[1] == relation and own[2] == right
        need(same, "the rule says something else")
        self.declare(name, self.fact(left, relation, right, arguments))

    def apply(self, name, arguments, stated):
        """Return what a rule says of its arguments."""
        need(name in SCHEMAS or name in RULES, f"there is no rule {name}")
        hypotheses = (SCHEMAS.get(name) or RULES[name])[0]
        wanted = {h for h in hypotheses.split(", ") if h}
        need(wanted <= set(self.assumed), f"uses what is not assumed: {hypotheses}")
        self.used |= wanted
        if name in RULES:
            left, relation, right = RULES[name][1](stated, *arguments)
            return left, relation, right
        _, parameters, says, *sides = SCHEMAS[name]
        own = dict(zip(parameters.split(), arguments, strict=True))
        left, relation, right = self.inequality(says, own)
        for side in sides:
            need(self.side(side, own), f"not so: {side}")
        return linear(left), relation, linear(right)

    def side(self, source, own):
        """Return whether all side conditions are met."""
        node = ast.parse(f"({source},)", mode="eval").body
        for part in node.elts:
            if isinstance(part, ast.Compare):
                left, right = part.left, part.comparators[0]
                if self.value(left, own) != self.value(right, own):
                    return False
            elif self.value(part, own) is not True:
                return False
        return True

    def fact(self, left, relation, right, arguments):
        """Return a new fact, about the algorithm's blocks and at most one step k."""
        terms = [*left.terms, *right.terms]
        used = set().union(*(blocks(v) for m, _ in terms for v in vectors(m)))
        need(used <= ({"u", "v"} if self.shared else {""}), "no such block")
        phases = set()
        for m, _ in terms:
            if free(m):
                own = {phase(v) for v in vectors(m)} - {None}
                if not own:
                    own = {""}  # k in coefficients is the step of the only block
                phases |= own
        if any("k" in c.names for _, c in terms):
            for premise in premises(arguments):
                phases |= premise.phases
        need(len(phases) <= 1, "the step k of a fact is of one phase")
        return Fact(left, right, relation == "==", frozenset(phases))

    def line_prove(self, name):
        """Check the fact that gives the statement."""
        fact = self.names[name]
        need(type(fact) is Fact and fact.left == self.left, "another left-hand side")
        rest = number(0)
        for formula in self.terms.values():
            rest = rest + self.evaluate(formula)
        for m, c in fact.right.terms:
            need(m.kind == "one", "the bound is not a constant")
            rest = rest - c
        DEMANDS.append((rest, ">="))
        self.flush()
        self.proved, self.complete = [self.claim], True

    # -- a corollary: other step sizes, or larger constants

    def line_corollary(self, name):
        """Begin a corollary, whose statements follow."""
        self.parent = (self.conditions, self.definitions, self.terms)
        need(self.proved, "nothing is proved yet")
        self.conditions, self.definitions, self.terms = {}, {}, {}
        self.claim, self.coordinates, self.complete = name, {}, False
        self.bounded = set()
        symbols = {w["at"] for w in self.weights.values()}
        symbols |= {key for w in self.weights.values() for key in w.values()}
        kept = {n: r for n, r in self.region.ranges.items() if n in symbols}
        self.region = Region({n: (0, None, *r[2:3], True) for n, r in kept.items()})
        self.names = {w: w for w in self.weights if w != "1"}
        polynomials.POWER_VALUES.clear()

    def line_cases(self, source):
        """Collect the lines up to ``follows``, to be checked by cases of K.

        They are checked for K = 1, 2, ..., n one by one, and for all K > n together.
        """
        name, _, count = source.partition(" ")
        first = not (self.conditions or self.definitions or self.schedule)
        need(name == "K" and self.parent and first, "cases begin a corollary")
        self.block, self.cases = [], int(count)
        need(0 < self.cases <= MOST_CASES, "too many cases")

    def check_cases(self):
        """Check the lines of all cases."""
        lines, self.block = self.block, None
        tables = ("names", "coordinates", "conditions", "definitions", "terms")
        start = {name: getattr(self, name) for name in (*tables, "schedule")}
        ranges, hints = self.region.ranges, self.region.hints
        for value in range(1, self.cases + 2):
            for name, table in start.items():
                setattr(self, name, dict(table))
            polynomials.POWER_VALUES.clear()
            self.region = Region(ranges)
            self.region.hints, self.bounded, self.complete = list(hints), set(), False
            if value <= self.cases:
                self.names["K"] = number(value)
            else:
                self.region.ranges["K"] = (value, None, False, True)
            for line in lines:
                self.line(line)
            need(self.complete, "a case without an end")

    def line_schedule(self, source):
        """Read a step size of the corollary, in its range."""
        name, _, formula = source.partition(" = ")
        low, high, strict, _ = SYMBOLS[name]
        value = self.evaluate(formula)
        need(low == 0 and high is None, f"{name} has no schedule")
        DEMANDS.append((value, ">" if strict else ">="))
        self.schedule[name] = value

    def line_follows(self, _=""):
        """Check that the corollary follows from its parent.

        The parent's conditions hold, and its bound is at most the corollary's.
        """
        conditions, definitions, terms = self.parent
        own = dict(self.schedule)
        for name, (formula, used) in definitions.items():
            if name in self.bounded:
                again, used = self.definitions[name]
                same = self.evaluate(formula, **own) == self.evaluate(again)
                need(same, f"{name} is not that of the theorem")
                own[name] = self.evaluate(used)
                continue
            moved = names_in(formula) & (set(own) | set(definitions))
            fixed = used is not None and not moved
            own[name] = self.evaluate(used if fixed else formula, **own)
        for source in conditions.values():
            left, right = (self.evaluate(side, **own) for side in source.split(" <= "))
            DEMANDS.append((right - left, ">="))
        pairs = [(self.evaluate(f), terms.get(n)) for n, f in self.terms.items()]
        differences = [mine - self.evaluate(f or "0", **own) for mine, f in pairs]
        if set(terms) != set(self.terms):
            rest = number(0)
            for formula in terms.values():
                rest = rest - self.evaluate(formula, **own)
            differences = [sum((mine for mine, _ in pairs), start=rest)]
        DEMANDS.extend((rest, ">=") for rest in differences)
        self.flush()
        self.proved = list(dict.fromkeys([*self.proved, self.claim]))
        self.complete = True


def premises(arguments):
    """Yield the facts among the arguments of a rule."""
    for given in arguments:
        if type(given) is Fact:
            yield given
        elif type(given) is tuple:
            yield from premises(given)


def check(source):
    """Check the lines of a file, and return what they prove."""
    proof = current.proof = Proof()
    for table in (DEMANDS, polynomials.POWERS, polynomials.ROOTS):
        table.clear()
    polynomials.POWER_VALUES.clear()
    polynomials.WORK[0] = 0
    need(len(source) <= MOST_CHARACTERS, "the file is too long")
    for place, line in enumerate(source.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            try:
                proof.line(line)
            except Exception as error:
                raise ProofError(f"line {place}: {error}: {line[:200]}") from error
    need(proof.proved and proof.proved[-1] == proof.claim, "the claim is not proved")
    return proof


def main(arguments):
    """Check a file."""
    if len(arguments) != 2:
        print("usage: python check_proof.py FILE", file=sys.stderr)
        return 2
    try:
        source = Path(arguments[1]).read_text(encoding="utf-8")
        found = check(source)
    except ProofError as error:
        print(f"not proved: {error}")
        return 1
    for line in source.splitlines():
        if line.partition(" ")[0] in STATEMENT:
            print(line)
    print("hypotheses used:", ", ".join(sorted(found.used)))
    print("proved:", ", ".join(found.proved))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
