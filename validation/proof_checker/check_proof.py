"""Check a proof of a convergence theorem that is written as flat text.

``python check_proof.py FILE`` prints what FILE proves, or its first wrong line (exit
status 1). It uses Python's standard library and the files next to it:

``polynomials``  quotients of polynomials in fractions
``signs``        where they are nonnegative
``linear``       vectors, moments, and linear combinations of them
``schemas``      inequalities from textbooks, for a fixed number of vectors
``rules``        inequalities with premises, or for any number of vectors
``averages``     the rules about all steps or all rounds
``expressions``  the values of expressions
``formatting``   values as text, for messages
``declarations`` the lines that declare something
``facts``        the lines that state vectors and facts
``check_proof``  the lines of a proof

docs/proof-format.md documents the format and what is trusted.
"""

import sys
from pathlib import Path

import current
import polynomials
from declarations import OF_A_STEP, names_in
from facts import RULES, SCHEMAS, Facts
from polynomials import DEMANDS, SYMBOLS, ProofError, need, number
from signs import Region

RULE_NAMES = sorted([*SCHEMAS, *RULES])
STATEMENT = ("claim", "assume", "condition", "define", "weights", "algorithm", "left")
STATEMENT += ("term", "corollary", "schedule")
MOST_CHARACTERS = 500_000
"""Longer files are rejected."""
MOST_CASES = 50
"""Values of K that are checked one by one."""


class Proof(Facts):
    """What a file has declared and proved so far."""

    def __init__(self):
        super().__init__()
        self.schedule = {}
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
        need(
            not self.complete or word == "corollary",
            f"{self.claim} is proved; only a line corollary may follow, not {word!r}",
        )
        if hasattr(self, f"line_{word}"):
            getattr(self, f"line_{word}")(*rest.split(" | "))
        else:
            self.step(word, rest.removeprefix("= "))
        self.flush()

    # -- a corollary: other step sizes, or larger constants

    def line_corollary(self, name):
        """Begin a corollary, whose statements follow."""
        need(
            self.complete and not self.schedule,
            f"corollary {name} needs a line prove before it, or the line follows of a"
            " corollary without a schedule",
        )
        self.parent = (self.conditions, self.definitions, self.terms)
        self.conditions, self.definitions, self.terms = {}, {}, {}
        self.claim, self.coordinates, self.complete = name, {}, False
        self.bounded = set()
        ranges = {}
        for total in self.weight_symbols():
            ranges[total] = (0, None, self.region.ranges[total][2], True)
        self.region = Region(ranges)
        self.names = {weights: weights for weights in self.weights if weights != "1"}
        polynomials.POWER_VALUES.clear()

    def line_cases(self, source):
        """Collect the lines up to ``follows``, to be checked by cases of K.

        They are checked for K = 1, 2, ..., n one by one, and for all K > n together.
        """
        name, _, count = source.partition(" ")
        need(name == "K", f"cases are by values of K, not of {name!r}")
        first = not (self.conditions or self.definitions or self.schedule)
        need(
            self.parent and first and not self.cases,
            "a line cases must be the first line after the line corollary, once",
        )
        self.block, self.cases = [], int(count)
        need(
            0 < self.cases <= MOST_CASES,
            f"{count} cases of K; the number must be 1 to {MOST_CASES}",
        )

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
                self.check_case_line(value, line)
            need(self.complete, "the lines of cases must end with a line follows")

    def check_case_line(self, value, line):
        """Declare or check one line for a value of K."""
        try:
            self.line(line)
        except ProofError as error:
            case = f"K = {value}" if value <= self.cases else f"K >= {value}"
            raise ProofError(f"for {case}, {line[:100]!r}: {error}") from error

    def line_schedule(self, source):
        """Read a step size of the corollary, in its range."""
        name, _, formula = source.partition(" = ")
        need(
            name in SYMBOLS and name not in {*OF_A_STEP, *self.schedule},
            f"{name} is not a symbol of the statement, or has a schedule already",
        )
        self.need_statement(formula)
        low, high, strict, _ = SYMBOLS[name]
        value = self.evaluate(formula)
        need(
            low == 0 and high is None,
            f"{name} cannot have a schedule; only symbols with values from 0 to"
            " infinity can, such as step sizes",
        )
        DEMANDS.append((value, ">" if strict else ">="))
        self.schedule[name] = value

    def line_follows(self, _=""):
        """Check that the corollary follows from its parent.

        The parent's conditions hold, and its bound is at most the corollary's.
        """
        conditions, definitions, terms = self.parent
        values = dict(self.schedule)
        for name, (formula, used) in definitions.items():
            if name in self.bounded:
                again, used = self.definitions[name]
                need(
                    self.evaluate(formula, **values) == self.evaluate(again),
                    f"define {name}: the formula before | must be that of the theorem,"
                    f" {formula}, with the corollary's step sizes",
                )
                values[name] = self.evaluate(used)
                continue
            changed = names_in(formula) & (set(values) | set(definitions))
            known = {*SYMBOLS, *self.weight_symbols(), *values}
            fixed = used is not None and not changed and names_in(used) <= known
            values[name] = self.evaluate(used if fixed else formula, **values)
        for source in conditions.values():
            left, right = (
                self.evaluate(side, **values) for side in source.split(" <= ")
            )
            DEMANDS.append((right - left, ">="))
        new_terms = {name: self.evaluate(term) for name, term in self.terms.items()}
        if set(terms) == set(self.terms):
            differences = [
                new_terms[name] - self.evaluate(terms[name], **values)
                for name in new_terms
            ]
        else:
            rest = number(0)
            for formula in terms.values():
                rest = rest - self.evaluate(formula, **values)
            differences = [sum(new_terms.values(), start=rest)]
        DEMANDS.extend((rest, ">=") for rest in differences)
        self.flush()
        self.proved = list(dict.fromkeys([*self.proved, self.claim]))
        self.complete = True


def rule_of(line):
    """Return the rule that a line applies, or else its first word."""
    word, _, rest = line.partition(" ")
    if " |- " in rest:
        return rest.removeprefix("= ").partition("(")[0]
    return word


def check(source):
    """Check the lines of a file, and return what they prove."""
    proof = current.proof = Proof()
    for table in (DEMANDS, polynomials.POWERS, polynomials.ROOTS):
        table.clear()
    polynomials.POWER_VALUES.clear()
    polynomials.WORK[0] = 0
    need(
        len(source) <= MOST_CHARACTERS,
        f"the file has {len(source)} characters; at most {MOST_CHARACTERS} are allowed",
    )
    for place, line in enumerate(source.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            try:
                proof.line(line)
            except Exception as error:
                raise ProofError(
                    f"line {place}: {explained(error)}: {line[:200]}",
                    line=place,
                    rule=rule_of(line),
                ) from error
    need(
        proof.proved and proof.proved[-1] == proof.claim,
        f"{proof.claim or 'the claim'} is not proved; a proof ends with a line prove,"
        " or follows for a corollary",
    )
    return proof


def statement_lines(source):
    """Return the lines to be read: the statement, and vectors of its first part."""
    lines = source.splitlines()
    end = next(i for i, line in enumerate(lines) if line.startswith("left "))
    for place, line in enumerate(lines):
        word, _, rest = line.partition(" ")
        is_vector = rest.startswith("= ") and " |- " not in rest
        if word in STATEMENT or (is_vector and place < end):
            yield line


def explained(error):
    """Return the message of an error on a line."""
    if isinstance(error, ProofError):
        return str(error)
    return f"the line does not have the format of proofs ({error})"


def main(arguments):
    """Check a file."""
    if len(arguments) != 2:
        print("usage: python check_proof.py FILE", file=sys.stderr)
        return 2
    try:
        source = Path(arguments[1]).read_text(encoding="utf-8")
        proof = check(source)
    except ProofError as error:
        print(f"not proved: {error}")
        return 1
    for line in statement_lines(source):
        print(line)
    print("hypotheses used:", ", ".join(sorted(proof.used)))
    print("proved:", ", ".join(proof.proved))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
