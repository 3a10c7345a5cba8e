"""The lines of a proof that declare hypotheses, symbols and the statement."""

import ast
from fractions import Fraction

import polynomials
from expressions import FUNCTIONS, RESERVED, UPDATES, Expressions, Formula
from linear import Fact
from polynomials import DEMANDS, SYMBOLS, need, number, symbol
from rules import ONE

EXPONENTIAL = {
    "E1": "(1 - 1/K)**K <= 367879442/1000000000",
    "E2": "367879441/1000000000 <= (1 - 1/K)**(K - 1)",
}
"""(1 - 1/K)^K <= 1/e <= (1 - 1/K)^(K-1), for the factors of hints."""


class Declarations(Expressions):
    """What a file has declared so far."""

    def __init__(self):
        super().__init__()
        self.claim = ""
        self.assumed = {}
        self.weights = {}
        plain = dict.fromkeys(("at", "before", "squared"), "-")
        self.weights["1"] = {"total": "count", "squares": "count", **plain}
        self.coordinates, self.definitions, self.conditions = {}, {}, {}
        self.terms, self.parent, self.left, self.bounded = {}, None, None, set()

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
            need(not start.top and later - now == step, f"{form} is not a sum")
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
        need(name in UPDATES and name not in self.algorithm, f"{name} is not an update")
        facts = [v for v in self.names.values() if type(v) is Fact]
        need(not facts, "the algorithm is declared before the proof")
        self.algorithm[name] = self.evaluate(formula)
        self.shared = "u" if "kept" in self.algorithm else ""
        need(not (self.has_plain_steps and self.shared), "K of a model of two blocks")

    def line_left(self, source):
        """Read the left-hand side of the statement."""
        need(self.left is None, "the left-hand side is declared twice")
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


def names_in(source):
    """Return the names in an expression."""
    return {n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)}


def shown(quotient):
    """Return a short text of a quotient."""
    return polynomials.text(quotient)[:300]
