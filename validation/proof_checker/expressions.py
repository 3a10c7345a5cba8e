"""Expressions of a proof, in Python's syntax: numbers, vectors and moments."""

import ast

import current
import rules
from linear import (
    PHASES,
    Atom,
    Linear,
    atom,
    block_of,
    following,
    full,
    gradient,
    known,
    mean,
    moment,
    moved,
    noise,
    steps,
    total,
)
from polynomials import SYMBOLS, Quotient, Region, need, number, power, spend, symbol
from rules import quantity


class Formula(str):
    """The formula of an abbreviation, evaluated where it is used."""


class Expressions:
    """The names that a proof has declared, and the values of its expressions."""

    def __init__(self):
        self.names, self.algorithm, self.shared = {}, {}, ""
        self.has_plain_steps = False
        self.region = Region()

    def evaluate(self, source, **own):
        """Return the value of an expression."""
        spend(1 + len(source) // 4)
        return self.value(ast.parse(source.strip(), mode="eval").body, own)

    def value(self, node, own):
        """Return the value of a node of Python's syntax tree."""
        spend(1)
        if isinstance(node, ast.Constant):
            return number(node.value) if type(node.value) is int else node.value
        if isinstance(node, ast.Name):
            return self.named(node.id, own)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand, own)
        if isinstance(node, ast.BinOp):
            return self.operation(node, own)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(x, own) for x in node.elts)
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            parts = [self.value(m, own) * self.value(c, own) for m, c in pairs]
            return Linear([term for p in parts for term in p.terms])
        need(isinstance(node, ast.Call), "an expression that has no meaning here")
        arguments = [self.value(x, own) for x in node.args]
        return self.call(node.func.id, arguments)

    def divided(self, left, node, own):
        """Return a quotient by a product, one factor after the other."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            return self.divided(self.divided(left, node.left, own), node.right, own)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            exponent = self.value(node.right, own)
            if exponent == number(2):
                return self.divided(self.divided(left, node.left, own), node.left, own)
        return left / self.value(node, own)

    def operation(self, node, own):
        """Return a sum, product, quotient or power."""
        if isinstance(node.op, ast.Div):
            return self.divided(self.value(node.left, own), node.right, own)
        left, right = self.value(node.left, own), self.value(node.right, own)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return right * left if type(right) is Linear else left * right
        need(isinstance(node.op, ast.Pow), "an operation that has no meaning here")
        return power(left, right)

    def named(self, name, own):
        """Return what a name means.

        It is that of an argument, a declaration, a vector or a symbol.
        """
        if name in own:
            return own[name]
        if name in self.names:
            value = self.names[name]
            return self.evaluate(value) if type(value) is Formula else value
        if name in self.algorithm:
            return self.algorithm[name]
        if name in ("x", "dual"):
            return atom(name)
        if name in ("g", "n", "e", "ehat"):
            return atom(name, "k")
        if name == "xbar":
            return atom("xbar", mean=True)
        need(name in SYMBOLS or name in self.region.ranges, f"{name} is not declared")
        self.has_plain_steps |= name == "K"
        need(not (self.has_plain_steps and self.shared), "K of a model of two blocks")
        return symbol(name)

    def call(self, name, arguments):
        """Return a moment, a moment over steps or rounds, or a vector."""
        if name in ("sq", "root", "root_w", "inner", "value"):
            atoms = [a for v in arguments for a, _ in v.terms]
            need(all(type(a) is Atom for a in atoms), "a moment is one of vectors")
            need(len(arguments) == 1 + (name == "inner"), "wrong number of vectors")
            return moment(name, *arguments)
        if name == "one":
            return moment("one", str(arguments[0]))
        if name in PLACES:
            (place,) = PLACES[name]
            taken = any(getattr(m, place) for m, _ in arguments[0].terms)
            need(not taken, "a moment over two ranges of steps or of rounds")
            return arguments[0].replace(**PLACES[name])
        need(name in FUNCTIONS, f"there is no function {name}")
        return FUNCTIONS[name](*arguments)

    def inequality(self, source, own=None):
        """left, relation, right."""
        node = ast.parse(source.strip(), mode="eval").body
        need(isinstance(node, ast.Compare) and len(node.ops) == 1, "no inequality")
        relation = {ast.LtE: "<=", ast.Eq: "=="}.get(type(node.ops[0]))
        need(relation, "only <= and ==")
        sides = (self.value(x, own or {}) for x in (node.left, node.comparators[0]))
        left, right = sides
        return left, relation, right


def linear(value):
    """Return a value that is a linear combination; 0 is one, too."""
    if type(value) is Quotient and not value.top:
        return Linear()
    need(type(value) is Linear, "not a linear combination")
    return value


def pushed(v):
    """Return a vector over the push-sum weights."""
    return v.replace(pushed=True)


def block(name, v):
    """Return a vector in a block of coordinates."""
    return v.replace(block=name)


def not_mean(v):
    """Return whether a vector has no mean over the clients."""
    return not any(a.mean for a, _ in v.terms)


def noise_size(v):
    """Return sigma of the block of a vector."""
    return quantity(PHASES[block_of(v)][2])


def smoothness(d):
    """Return L of the block of a vector."""
    return quantity(PHASES[block_of(d)][1])


def sam_size():
    """Return L rho of the block that SAM perturbs."""
    return quantity(PHASES[current.proof.shared][1]) * quantity("rho")


def diversity_size():
    """Return the diversity of the gradients in the shared block."""
    return quantity(PHASES[current.proof.shared][3])


PLACES = {
    "max_k": {"steps": "max"},
    "mean_k": {"steps": "mean"},
    "mean_t": {"rounds": "mean"},
    "next_t": {"rounds": "next"},
    "start_t": {"rounds": "start"},
}
FUNCTIONS = {
    "mean": mean,
    "sum": total,
    "pushed": pushed,
    "block": block,
    "grad": gradient,
    "full": full,
    "steps": steps,
    "block_of": block_of,
    "noise": noise,
    "not_mean": not_mean,
    "known": known,
    "noise_size": noise_size,
    "sam_size": sam_size,
    "diversity_size": diversity_size,
    "diversity_at": rules.diversity_at,
    "smoothness": smoothness,
    "steepness": rules.steepness,
    "slope": rules.slope,
    "is_sam": rules.is_sam,
    "shared_dev": rules.shared_dev,
    "moved": moved,
    "following": following,
    "dual_part": rules.dual_part,
}
UPDATES = ("local", "sent", "mean_model", "dual_after", "gossips", "personal", "kept")
RESERVED = {"x", "dual", "xbar", "g", "n", "e", "ehat", "sq", "root", "root_w"}
RESERVED |= {"inner", "value", "one", *PLACES, *UPDATES}
