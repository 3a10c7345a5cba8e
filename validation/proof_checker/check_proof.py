"""Check a proof of a convergence theorem that is written as flat text.

``python check_proof.py FILE`` prints what FILE proves, or its first wrong line (exit
status 1). It uses Python's standard library and the files next to it:

``polynomials``  quotients of polynomials in fractions, and their signs
``linear``       vectors, moments, and linear combinations of them
``rules``        inequalities from textbooks
``expressions``  the values of expressions
``check_proof``  the lines of a proof

docs/proof-format.md documents the format and what is trusted.
"""

import ast
import sys
from fractions import Fraction
from pathlib import Path

import current
import polynomials
from expressions import FUNCTIONS, RESERVED, UPDATES, Expressions, Formula, linear
from linear import Fact, Linear, free, phase
from polynomials import DEMANDS, SYMBOLS, ProofError, Region, need, number, symbol
from rules import ONE, RULES, SCHEMAS

STATEMENT = ("claim", "assume", "condition", "define", "algorithm", "left", "term")
STATEMENT += ("corollary", "schedule")
EXPONENTIAL = {
    "E1": "(1 - 1/K)**K <= 367879442/1000000000",
    "E2": "367879441/1000000000 <= (1 - 1/K)**(K - 1)",
}
"""(1 - 1/K)^K <= 1/e <= (1 - 1/K)^(K-1), for the factors of hints."""
MOST_CHARACTERS = 500_000
"""Longer files are rejected."""
MOST_CASES = 50
"""Values of K that are checked one by one."""


class Proof(Expressions):
    """What a file has declared and proved so far."""

    def __init__(self):
        super().__init__()
        self.claim = ""
        self.assumed, self.used = {}, set()
        self.weights = {}
        plain = dict.fromkeys(("at", "before", "squared"), "-")
        self.weights["1"] = {"total": "count", "squares": "count", **plain}
        self.coordinates, self.definitions, self.conditions = {}, {}, {}
        self.terms, self.schedule, self.parent = {}, {}, None
        self.left, self.proved, self.complete = None, [], False
        self.bounded, self.cases, self.block = set(), 0, None

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

    def flush(self):
        """Show everything that expressions and rules demanded."""
        done = set()
        while DEMANDS:
            quotient, relation = DEMANDS.pop()
            key = (polynomials.text(quotient), relation)
            if key not in done:
                done.add(key)
                holds = self.region.holds(quotient, relation)
                need(holds, f"not shown: {shown(quotient)} {relation} 0")

    def declare(self, name, value):
        """Give a new name to a value."""
        taken = name in SYMBOLS or name in FUNCTIONS or name in RESERVED
        need(name.isidentifier() and not taken, f"{name} is taken")
        need(name not in self.names, f"{name} is declared twice")
        self.names[name] = value

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
        """Return a new fact, about one step k at most."""
        terms = [*left.terms, *right.terms]
        phases = set()
        for m, _ in terms:
            if free(m):
                vectors = [v for v in (m.vec, m.other) if type(v) is Linear]
                # k in coefficients alone is the step of algorithms with one block
                phases |= {phase(v) for v in vectors} - {None} or {""}
        if any("k" in c.names for _, c in terms):
            for premise in premises(arguments):
                phases |= premise.phases
        need(len(phases) <= 1, "the step k of a fact is of one phase")
        return Fact(left, right, relation == "==", frozenset(phases))

    # -- declarations

    def line_claim(self, name):
        """Read the name of the statement."""
        self.claim = name

    def line_assume(self, hypothesis, words):
        """Read a hypothesis, and the statement's words for it."""
        self.assumed[hypothesis] = words

    def line_condition(self, name, source):
        """Read an inequality that holds in the region."""
        taken = name in self.conditions or name in EXPONENTIAL
        need(" <= " in source and not taken, "no new inequality")
        self.conditions[name] = source

    def line_coordinate(self, source, *ends):
        """Read a new quantity with its range, or the range of a total of weights."""
        name, _, means = source.partition(" = ")
        value, strict = self.evaluate(means), ends[0] == "> 0"
        totals = [w["at"] for w in self.weights.values()]
        if name in totals:
            own = next(w for w in self.weights.values() if w["at"] == name)
            need(value == self.evaluate(own["total"], count=symbol("K")), "another sum")
            strict = self.region.ranges[name][2]
        else:
            need(name not in self.names and name not in SYMBOLS, f"{name} is taken")
            DEMANDS.append((value, ">" if strict else ">="))
        high = Fraction(ends[1].removeprefix("<= ")) if len(ends) > 1 else None
        if high is not None:
            DEMANDS.append((number(high) - value, ">="))
            need(high > 0, "an empty range")
        self.flush()
        self.coordinates[name] = value
        self.region.ranges[name] = (0, high, strict, high is None)

    def line_value(self, source):
        """Read a symbol, or a power of one, in terms of the coordinates."""
        name, _, formula = source.partition(" = ")
        old = self.evaluate(name)
        means = self.evaluate(formula, **self.coordinates)
        if means != old:
            DEMANDS.extend([(means - old, ">="), (old - means, ">=")])
            self.flush()
        (((own, degree),), one), *more = old.top.items()
        need(not more and one == degree == 1 and not old.bottom, "no symbol")
        new = self.evaluate(formula)
        if own in polynomials.POWERS:
            polynomials.POWER_VALUES[own] = new
        else:
            need(own in SYMBOLS and own not in self.names, f"{own} has a value")
            self.names[own] = new

    def line_weights(self, name, weight, *sums):
        """Weights of a sum over steps, and the closed forms of their sums."""
        at = dict(
            zip(("total", "squares", "at", "before", "squared"), sums, strict=True)
        )
        for form, term in (("total", weight), ("squares", f"({weight})**2")):
            start, now, later = (
                self.evaluate(at[form], count=n)
                for n in (number(0), symbol("count"), symbol("count") + ONE)
            )
            step = self.evaluate(term, lag=symbol("count") + ONE)
            need(not start.top and later - now == step, f"{form} is no sum")
        DEMANDS.append((self.evaluate(weight), ">="))
        self.flush()
        positive = self.region.holds(self.evaluate(weight, lag=ONE), ">")
        for key in ("at", "before", "squared"):
            if at[key].isidentifier():
                taken = at[key] in SYMBOLS or at[key] in self.names
                need(not taken and at[key] not in RESERVED, f"{at[key]} is taken")
                strict = positive and key == "at"
                self.region.ranges[at[key]] = (0, None, strict, True)
        self.weights[name] = {**at, "weight": weight}
        self.declare(name, name)
        meaning = self.meanings(name)
        if at["squared"] != "-":
            given = self.evaluate(at["squared"], **meaning)
            need(given == self.evaluate(at["squares"], count=symbol("K")), "squares")

    def meanings(self, name):
        """Return the symbols of weights in closed form."""
        at, K = self.weights[name], symbol("K")
        pairs = [("at", "total", K), ("before", "total", K - ONE)]
        if at["squared"].isidentifier():
            pairs.append(("squared", "squares", K))
        return {at[key]: self.evaluate(at[f], count=n) for key, f, n in pairs}

    def line_define(self, source, used=None):
        """Read an abbreviation of the statement, and an equal expression to be used."""
        name, _, formula = source.partition(" = ")
        if used is not None:
            names = names_in(formula) | names_in(used)
            closed = {}
            for weights, own in self.weights.items():
                if weights != "1" and names & set(own.values()):
                    closed |= self.meanings(weights)
            value = self.evaluate(formula, **closed)
            again = self.evaluate(used, **closed, **self.coordinates)
            need(again == value, f"{name}: not the same")
            bounds = names_in(used) & set(self.coordinates)
            self.bounded |= {name} if self.parent and bounds else set()
        self.definitions[name] = (formula, used)
        if used != name:
            self.declare(name, Formula(formula if used is None else used))

    def line_algorithm(self, source):
        """Read an update of the algorithm."""
        name, _, formula = source.partition(" = ")
        need(name in UPDATES and name not in self.algorithm, f"{name} is no update")
        facts = [v for v in self.names.values() if type(v) is Fact]
        need(not facts, "the algorithm is declared before the proof")
        self.algorithm[name] = self.evaluate(formula)
        self.shared = "u" if "kept" in self.algorithm else ""

    def line_left(self, source):
        """Read the left-hand side of the statement."""
        self.left = self.evaluate(source)

    def line_term(self, source):
        """Read a term of the bound."""
        name, _, formula = source.partition(" = ")
        need(name not in self.terms, f"{name} is declared twice")
        self.terms[name] = formula

    def line_hint(self, *pairs):
        """Factors of conditions; their sum is used to show later inequalities."""
        products = []
        for factor, name in (pair.split(" times ") for pair in pairs):
            source = (EXPONENTIAL | self.conditions)[name]
            left, right = map(self.evaluate, source.split(" <= "))
            products.append((self.evaluate(factor), right - left))
        need(self.region.add_hint(products), "a factor may be negative")

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


def names_in(source):
    """Return the names in an expression."""
    return {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}


def premises(arguments):
    """Yield the facts among the arguments of a rule."""
    for given in arguments:
        if type(given) is Fact:
            yield given
        elif type(given) is tuple:
            yield from premises(given)


def shown(quotient):
    """Return a short text of a quotient."""
    return polynomials.text(quotient)[:300]


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
