"""Expressions of a proof, in Python's syntax: numbers, vectors and moments."""

import ast

import current
import rules
from linear import (
    PHASES,
    Atom,
    Linear,
    atom_vector,
    block_of,
    following,
    full,
    gradient,
    known,
    mean,
    moment_of,
    moved,
    noise,
    steps,
    weighted_sum,
)
from polynomials import (
    SYMBOLS,
    ProofError,
    Quotient,
    need,
    number,
    power,
    spend,
    symbol,
)
from rules import quantity
from signs import Region

BLOCKS_HAVE_NO_K = (
    "K is the number of steps of an algorithm without blocks; an algorithm with a kept"
    " block has K_u and K_v"
)


class Formula(str):
    """The formula of an abbreviation, evaluated where it is used."""


class Expressions:
    """The names that a proof has declared, and the values of its expressions."""

    def __init__(self):
        self.names, self.algorithm, self.shared = {}, {}, ""
        self.has_plain_steps = False
        self.region = Region()

    def evaluate(self, source, **values):
        """Return the value of an expression, where some names have other values."""
        spend(1 + len(source) // 4)
        return self.value(ast.parse(source.strip(), mode="eval").body, values)

    def value(self, node, values):
        """Return the value of a node of Python's syntax tree."""
        spend(1)
        if isinstance(node, ast.Constant):
            return number(node.value) if type(node.value) is int else node.value
        if isinstance(node, ast.Name):
            return self.named(node.id, values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self.value(node.operand, values)
        if isinstance(node, ast.BinOp):
            return self.operation(node, values)
        if isinstance(node, ast.Tuple):
            return tuple(self.value(element, values) for element in node.elts)
        if isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            parts = [
                self.value(moment, values) * self.value(coefficient, values)
                for moment, coefficient in pairs
            ]
            return Linear([term for part in parts for term in part.terms])
        if not isinstance(node, ast.Call):
            raise ProofError(
                f"{ast.unparse(node)[:100]!r} has no meaning; an expression consists of"
                " whole numbers, names, + - * / **, tuples, dictionaries and calls"
            )
        arguments = [self.value(argument, values) for argument in node.args]
        return self.call(node.func.id, arguments)

    def divided(self, left, node, values):
        """Return a quotient by a product, one factor after the other."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            quotient = self.divided(left, node.left, values)
            return self.divided(quotient, node.right, values)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            exponent = self.value(node.right, values)
            if exponent == number(2):
                quotient = self.divided(left, node.left, values)
                return self.divided(quotient, node.left, values)
        return left / self.value(node, values)

    def operation(self, node, values):
        """Return a sum, product, quotient or power."""
        if isinstance(node.op, ast.Div):
            return self.divided(self.value(node.left, values), node.right, values)
        left, right = self.value(node.left, values), self.value(node.right, values)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return right * left if type(right) is Linear else left * right
        need(
            isinstance(node.op, ast.Pow),
            f"{type(node.op).__name__} is not an operation of proofs; allowed are"
            " + - * / and **",
        )
        return power(left, right)

    def named(self, name, values):
        """Return what a name means.

        It is that of an argument, a declaration, a vector or a symbol.
        """
        if name in values:
            return values[name]
        if name in self.names:
            value = self.names[name]
            return self.evaluate(value) if type(value) is Formula else value
        if name in self.algorithm:
            return self.algorithm[name]
        if name in ("x", "dual"):
            return atom_vector(name)
        if name in ("g", "n", "e", "ehat"):
            return atom_vector(name, "k")
        if name == "xbar":
            return atom_vector("xbar", mean=True)
        need(
            name in SYMBOLS or name in self.region.ranges,
            f"{name} is neither a symbol of the format nor declared on an earlier line",
        )
        self.has_plain_steps |= name == "K"
        need(not (self.has_plain_steps and self.shared), BLOCKS_HAVE_NO_K)
        return symbol(name)

    def call(self, name, arguments):
        """Return a moment, a moment over steps or rounds, or a vector."""
        if name in ("sq", "root", "root_w", "inner", "value"):
            need(
                all(is_vector(argument) for argument in arguments),
                f"{name} takes vectors, not numbers or moments",
            )
            count = 2 if name == "inner" else 1
            need(
                len(arguments) == count,
                f"{name} takes {count} vectors, not {len(arguments)}",
            )
            return moment_of(name, *arguments)
        if name == "one":
            return moment_of("one", str(arguments[0]))
        if name in PLACES:
            (place,) = PLACES[name]
            terms = arguments[0].terms
            need(
                len(terms) == 1 and terms[0][1] == number(1),
                f"{name} takes one moment, not a combination of {len(terms)}",
            )
            moment = terms[0][0]
            need(
                not getattr(moment, place),
                f"{name} is applied to a moment that is about certain {place} already;"
                " each moment may have one of them",
            )
            return arguments[0].replace(**PLACES[name])
        need(
            name in FUNCTIONS,
            f"there is no function {name}; the functions are {', '.join(FUNCTIONS)}",
        )
        return FUNCTIONS[name](*arguments)

    def inequality(self, source, **values):
        """left, relation, right."""
        node = ast.parse(source.strip(), mode="eval").body
        relation = None
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            relation = {ast.LtE: "<=", ast.Eq: "=="}.get(type(node.ops[0]))
        need(relation, f"{source.strip()[:100]!r} must be 'L <= R' or 'L == R'")
        left = self.value(node.left, values)
        right = self.value(node.comparators[0], values)
        return left, relation, right


def is_vector(value):
    """Return whether a value is a linear combination of atoms; 0 is one."""
    return type(value) is Linear and all(type(atom) is Atom for atom, _ in value.terms)


def linear(value):
    """Return a value that is a linear combination; 0 is one, too."""
    if type(value) is Quotient and not value.top:
        return Linear()
    need(
        type(value) is Linear,
        "a side of a fact must be 0 or a sum of moments; write a number c as"
        ' c*one("name")',
    )
    return value


def pushed(v):
    """Return a vector over the push-sum weights."""
    need(
        not any(atom.pushed for atom, _ in v.terms),
        "pushed(U) is not defined for a vector over the push-sum weights",
    )
    return v.replace(pushed=True)


def block(name, v):
    """Return a vector in a block of coordinates."""
    return v.replace(block=name)


def not_mean(v):
    """Return whether a vector has no mean over the clients."""
    return not any(atom.mean for atom, _ in v.terms)


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
    "sum": weighted_sum,
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
