"""The lines of a proof that declare hypotheses, symbols and the statement."""

import ast
from fractions import Fraction

import polynomials
from expressions import (
    BLOCKS_HAVE_NO_K,
    FUNCTIONS,
    RESERVED,
    UPDATES,
    Expressions,
    Formula,
)
from formatting import shown
from linear import Fact
from polynomials import DEMANDS, SYMBOLS, ProofError, need, number, symbol
from rules import ONE

EXPONENTIAL = {
    "E1": "(1 - 1/K)**K <= 367879442/1000000000",
    "E2": "367879441/1000000000 <= (1 - 1/K)**(K - 1)",
}
"""(1 - 1/K)^K <= 1/e <= (1 - 1/K)^(K-1), for the factors of hints."""
WEIGHT_FIELDS = ("total", "squares", "at", "before", "squared")
"""The parts of a line ``weights`` after the weight."""
OF_A_STEP = {"k", "lag", "count"}
"""Symbols of one step, which a statement and its quantities do not contain."""


class Declarations(Expressions):
    """What a file has declared so far."""

    def __init__(self):
        super().__init__()
        self.claim = ""
        self.assumed = {}
        self.weights = {}
        without_symbols = dict.fromkeys(("at", "before", "squared"), "-")
        self.weights["1"] = {"total": "count", "squares": "count", **without_symbols}
        self.coordinates, self.definitions, self.conditions = {}, {}, {}
        self.terms, self.parent, self.left, self.bounded = {}, None, None, set()

    def flush(self):
        """Show everything that expressions and rules demanded."""
        done = set()
        while DEMANDS:
            quotient, relation = DEMANDS.pop()
            key = (polynomials.text(quotient), relation)
            if key in done:
                continue
            done.add(key)
            if not self.region.holds(quotient, relation):
                raise ProofError(
                    f"cannot show that {shown(quotient)} {relation} 0; a line hint or"
                    " coordinate before this one may help"
                )

    def declare(self, name, value):
        """Give a new name to a value."""
        self.need_unused(name)
        self.names[name] = value

    def need_unused(self, name):
        """Reject a name that has a meaning, and what is not a name."""
        # Python reads some names with other characters as the same name
        need(name.isidentifier() and name.isascii(), f"{name[:100]!r} is not a name")
        need(
            not (name in SYMBOLS or name in FUNCTIONS or name in RESERVED),
            f"{name} has a meaning in the format of proofs; choose another name",
        )
        declared = name in self.names or name in self.region.ranges
        need(not declared, f"{name} is declared twice")

    def weight_symbols(self):
        """Return the symbols of the totals of all weights."""
        keys = ("at", "before", "squared")
        parts = {weights[key] for weights in self.weights.values() for key in keys}
        return {part for part in parts if part.isidentifier()}

    def need_statement(self, formula):
        """Reject a part of the statement that contains quantities of the proof."""
        known = {*SYMBOLS, *self.definitions, *self.weight_symbols()} - OF_A_STEP
        strange = sorted(names_in(formula) - known)
        need(
            not strange,
            f"the statement contains {', '.join(strange)}; it may contain symbols of"
            " the format, abbreviations of earlier lines define, and totals of weights",
        )

    def line_claim(self, name):
        """Read the name of the statement."""
        need(not self.claim, f"the claim is {self.claim} already")
        self.claim = name

    def line_assume(self, hypothesis, words):
        """Read a hypothesis, and the statement's words for it."""
        self.assumed[hypothesis] = words

    def line_condition(self, name, source):
        """Read an inequality that holds in the region."""
        need(" <= " in source, f"condition {name} must be 'L <= R'")
        need(name not in self.conditions, f"condition {name} is declared twice")
        need(name not in EXPONENTIAL, f"{name} is a condition of the format")
        self.need_statement(source)
        self.conditions[name] = source

    def line_coordinate(self, source, *ends):
        """Read a new quantity with its range, or the range of a total of weights."""
        name, _, formula = source.partition(" = ")
        value, strict = self.evaluate(formula), ends[0] == "> 0"
        need(
            not value.names & OF_A_STEP,
            f"{name} depends on a step; a coordinate is a quantity of the statement",
        )
        totals = {weights["at"]: weights for weights in self.weights.values()}
        if name in totals:
            total = self.evaluate(totals[name]["total"], count=symbol("K"))
            need(
                value == total,
                f"{name} is the sum of K weights, {shown(total)}; a line coordinate"
                " cannot give it another value",
            )
            strict = self.region.ranges[name][2]
        else:
            self.need_unused(name)
            DEMANDS.append((value, ">" if strict else ">="))
        high = Fraction(ends[1].removeprefix("<= ")) if len(ends) > 1 else None
        if high is not None:
            DEMANDS.append((number(high) - value, ">="))
            need(high > 0, f"the upper end of {name} is {high}; it must be > 0")
        self.flush()
        self.coordinates[name] = value
        self.region.ranges[name] = (0, high, strict, high is None)

    def line_value(self, source):
        """Read a symbol, or a power of one, in terms of the coordinates."""
        text, _, formula = source.partition(" = ")
        old = self.evaluate(text)
        in_symbols = self.evaluate(formula, **self.coordinates)
        if in_symbols != old:
            DEMANDS.extend([(in_symbols - old, ">="), (old - in_symbols, ">=")])
            self.flush()
        name = single_symbol(old)
        need(name, f"{text} must be a symbol, or b**n with a symbol n")
        new = self.evaluate(formula)
        if name in polynomials.POWERS:
            polynomials.POWER_VALUES[name] = new
        else:
            may_have_value = name in SYMBOLS and name not in OF_A_STEP
            need(may_have_value, f"{name} is not a symbol of the statement")
            need(name not in self.names, f"{name} has a value already")
            self.names[name] = new

    def line_weights(self, name, weight, *sums):
        """Weights of a sum over steps, and the closed forms of their sums."""
        need(
            len(sums) == len(WEIGHT_FIELDS),
            f"weights {name} need a weight and {', '.join(WEIGHT_FIELDS)}",
        )
        weights = dict(zip(WEIGHT_FIELDS, sums, strict=True))
        for form, term in (("total", weight), ("squares", f"({weight})**2")):
            self.check_closed_form(name, form, weights[form], term)
        DEMANDS.append((self.evaluate(weight), ">="))
        self.flush()
        self.declare(name, name)
        positive = self.region.holds(self.evaluate(weight, lag=ONE), ">")
        for key in ("at", "before", "squared"):
            new = weights[key]
            is_formula = key == "squared" and not new.isidentifier()
            if new != "-" and not is_formula:
                self.need_unused(new)
                strict = positive and key == "at"
                self.region.ranges[new] = (0, None, strict, True)
        self.weights[name] = weights
        closed_forms = self.closed_forms(name)
        if weights["squared"] != "-":
            squared = self.evaluate(weights["squared"], **closed_forms)
            squares = self.evaluate(weights["squares"], count=symbol("K"))
            need(
                squared == squares,
                f"weights {name}: squared = {weights['squared']} must be the sum of K"
                f" squared weights, {weights['squares']} at count = K",
            )

    def check_closed_form(self, name, form, closed_form, term):
        """Check by induction that a formula is the sum of ``count`` terms."""
        start = self.evaluate(closed_form, count=number(0))
        now = self.evaluate(closed_form, count=symbol("count"))
        later = self.evaluate(closed_form, count=symbol("count") + ONE)
        step = self.evaluate(term, lag=symbol("count") + ONE)
        of_lag, of_count = self.evaluate(term).names, now.names
        need(
            not of_lag & {"k", "count"} and not of_count & {"k", "lag"},
            f"weights {name}: {term} may contain lag, and {closed_form} count; neither"
            " may contain another symbol of a step",
        )
        need(
            not start.top and later - now == step,
            f"weights {name}: {form} = {closed_form} is not the sum of {term} over"
            " lag = 1, ..., count",
        )

    def closed_forms(self, name):
        """Return the symbols of weights in closed form."""
        weights, K = self.weights[name], symbol("K")
        pairs = [("at", "total", K), ("before", "total", K - ONE)]
        if weights["squared"].isidentifier():
            pairs.append(("squared", "squares", K))
        return {
            weights[key]: self.evaluate(weights[form], count=n)
            for key, form, n in pairs
        }

    def line_define(self, source, used=None):
        """Read an abbreviation of the statement, and an equal expression to be used."""
        name, _, formula = source.partition(" = ")
        need(name not in self.definitions, f"define {name} is declared twice")
        self.need_statement(formula)
        if used is not None:
            names = names_in(formula) | names_in(used)
            closed = {}
            for weights_name, weights in self.weights.items():
                if weights_name != "1" and names & set(weights.values()):
                    closed |= self.closed_forms(weights_name)
            value = self.evaluate(formula, **closed)
            need(
                self.evaluate(used, **closed, **self.coordinates) == value,
                f"define {name}: the formula after | is not equal to the first",
            )
            bounds = names_in(used) & set(self.coordinates)
            self.bounded |= {name} if self.parent and bounds else set()
        self.definitions[name] = (formula, used)
        if used != name:
            self.declare(name, Formula(formula if used is None else used))

    def line_algorithm(self, source):
        """Read an update of the algorithm."""
        name, _, formula = source.partition(" = ")
        need(name in UPDATES, f"{name} is not one of the updates {', '.join(UPDATES)}")
        need(name not in self.algorithm, f"algorithm {name} is declared twice")
        facts = [n for n, value in self.names.items() if type(value) is Fact]
        need(
            not facts,
            f"algorithm {name} must be declared before the first fact, {facts[:1]}",
        )
        self.algorithm[name] = self.evaluate(formula)
        self.shared = "u" if "kept" in self.algorithm else ""
        need(not (self.has_plain_steps and self.shared), BLOCKS_HAVE_NO_K)

    def line_left(self, source):
        """Read the left-hand side of the statement."""
        need(self.left is None, "the left-hand side is declared twice")
        self.left = self.evaluate(source)

    def line_term(self, source):
        """Read a term of the bound."""
        name, _, formula = source.partition(" = ")
        need(name not in self.terms, f"term {name} is declared twice")
        self.need_statement(formula)
        self.terms[name] = formula

    def line_hint(self, *pairs):
        """Factors of conditions; their sum is used to show later inequalities."""
        conditions = EXPONENTIAL | self.conditions
        products = []
        for factor, name in (pair.split(" times ") for pair in pairs):
            need(
                name in conditions,
                f"there is no condition {name}; declared are {', '.join(conditions)}",
            )
            left, right = map(self.evaluate, conditions[name].split(" <= "))
            products.append((self.evaluate(factor), right - left))
        need(
            self.region.add_hint(products),
            "a factor of the hint may be negative: in the symbols of the format it must"
            " have coefficients >= 0 only",
        )


def names_in(source):
    """Return the names in an expression."""
    nodes = ast.walk(ast.parse(source.strip()))
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def single_symbol(quotient):
    """Return the name of a quotient that is one symbol, else None."""
    if len(quotient.top) != 1 or quotient.bottom:
        return None
    ((monomial, coefficient),) = quotient.top.items()
    if coefficient != 1 or len(monomial) != 1 or monomial[0][1] != 1:
        return None
    return monomial[0][0]
