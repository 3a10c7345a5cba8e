"""Check certificates of inequalities in exact rational arithmetic: ``python check.py FOLDER``

A formula is a whole number, a name, ["Add" or "Mul", formulas] or ["Pow", formula, whole number or a n + b].
**It is proved >= 0 by being written again without a minus sign**, in numbers, squares and names that are
>= 0: both are multiplied out. Only what is > 0 divides. A certificate says: where its ``symbols``, which are
>= 0 (or > 0; those that are ``whole`` have a least value), meet its ``conditions``, the sum of ``derived`` is
at most that of ``claimed``, and no demand is < 0; in two cases the last condition and its opposite hold.

``facts`` name more that is >= 0: a condition that is "given"; what "is" a formula, proved by another; 1 less
a power of a "share", which is at most 1, as the exponent is >= 0; with "e", what says that (1 - 1/n)^n <= 1/e
<= (1 - 1/n)^(n - 1); what holds for "each" whole n: for the first ones, and from the last of these on, where
name> is how far n is beyond it, by itself or by its step from n to n + 1.
"""

import json
import sys
from fractions import Fraction
from pathlib import Path


def need(holds, why):
    if not holds:
        raise ValueError(why)


def less(a, b):
    return ["Add", a, ["Mul", -1, b]]


def added(*polys):
    """The sum of polynomials {((name, power), ...): number}; powers may be negative."""
    total = {}
    for term, number in (item for poly in polys for item in poly.items()):
        total[term] = total.get(term, 0) + number
    return {term: number for term, number in total.items() if number}


def product(*polys):
    total = {(): Fraction(1)}
    for poly in polys:  # of two terms the powers of names are added
        pairs, total = [(dict(s), t, x * y) for s, x in total.items() for t, y in poly.items()], {}
        for powers, other, number in pairs:
            powers |= {name: powers.get(name, 0) + power for name, power in other}
            term = tuple(sorted(item for item in powers.items() if item[1]))
            total[term] = total.get(term, 0) + number
    return added(total)


class Known(dict):
    """{name of what is >= 0: (is it > 0? the formula that it stands for)}"""

    def __init__(self, symbols, whole, conditions):
        self.whole, self.conditions, self.given = whole, conditions, []
        for name, sure in symbols.items():
            self.add(name, sure)

    def add(self, name, sure, tree=None):
        need(name not in self and "^" not in name, f"{name} has a meaning")
        self.read(tree or 0)  # its names are known before
        self[name] = sure, tree

    def read(self, tree):
        """The polynomial of a formula, and 1 where it is > 0 for sure, 0 where it is >= 0, else -1."""
        if isinstance(tree, int):
            return added({(): Fraction(tree)}), (tree > 0) - (tree < 0)
        if isinstance(tree, str):
            return {((tree, 1),): Fraction(1)}, int(self[tree][0])
        kind, *parts = tree
        polys, signs = zip(*map(self.read, parts))
        if kind == "Add":
            return added(*polys), max(signs) if min(signs) >= 0 else -1
        if kind == "Mul":
            return product(*polys), min(signs)
        (base, exponent), sign, grown, power = polys, signs[0], {(): Fraction(1)}, polys[1].pop((), 0)
        for ((n, once),), a in exponent.items():  # base^(a n + b) is (base^(n - least))^a base^(a least + b)
            power += a * self.whole[n]
            named = isinstance(parts[0], str) and len(exponent) == once == 1
            need(named and a > 0 and a % 1 == 0 and power >= 0, f"{tree} is no power")
            grown = {((f"{parts[0]}^{n}", int(a)),): Fraction(1)}
        need(kind == "Pow" and power % 1 == 0, f"{tree} is not known")
        need(power >= 0 or len(base) == sign == 1, f"{parts[0]} is no product of what is > 0")
        base = {tuple((n, -k) for n, k in s): 1 / x for s, x in base.items()} if power < 0 else base
        return product(grown, *[base] * abs(int(power))), sign if power % 2 else max(sign, 0)

    def prove(self, tree, by):
        """A formula is >= 0, since it is what ``by`` says without a minus sign; is it > 0?"""
        (left, _), (right, sign) = self.read(tree), self.read(by)
        need(sign >= 0, f"{by} may be negative")
        poly = added(left, product(right, {(): -1}))
        for name, (_, meaning) in reversed(self.items()):  # put in, times one power of the name for all
            if any((powers := {i: dict(i).get(name, 0) for i in poly if meaning is not None}).values()):
                once, rest, poly = product(self.read(meaning)[0], {((name, -1),): 1}), poly, {}
                for k in range(max(powers.values()), min(0, *powers.values()) - 1, -1):  # Horner
                    poly = added(product(poly, once), {i: x for i, x in rest.items() if powers[i] == k})
        need(not poly, f"{tree} is not {by}")
        return sign > 0

    def at(self, n, to, tree):
        """A formula where n is ``to``, in what its names stand for as well."""
        if isinstance(tree, list):
            return [tree[0], *(self.at(n, to, part) for part in tree[1:])]
        meaning = self[tree][1] if isinstance(tree, str) else None
        then = to if tree == n else meaning and self.at(n, to, meaning)
        return tree if then == meaning else then

    def learn(self, name, kind, *fact):
        if kind == "given":
            left, right, strict = self.conditions[fact[0]]
            self.add(name, strict, less(right, left))
            self.given.append(name)
        elif kind == "is":
            self.add(name, self.prove(*fact), fact[0])
        elif kind == "share":
            base, n, low, high = fact
            need(base in self, f"{base} is no name of what is >= 0")
            self.add(name, self.prove(less(1, base), low) & self.prove(n, high), less(1, ["Pow", base, n]))
        elif kind == "e":
            base, n, before = fact
            self.prove(less(base, less(1, ["Pow", n, -1])), 0)
            power = ["Mul", 10**9, ["Pow", base, less(n, 1) if before else n]]
            self.add(name, False, less(power, 367879441) if before else less(367879442, power))
        else:
            need(kind == "each", f"{kind} is not known")
            tree, n, first, step, by = fact
            sure = [self.prove(self.at(n, k, tree), p) for k, p in enumerate(first, self.whole[n])]
            free = all(self.at(n, ["Add", n, 1], given) == given for given in self.given)
            need(not step or (first and free), f"{name} rests on a condition on {n}")
            self.add(name + ">", False, less(n, self.whole[n] + len(first) - 1))
            sure.append(self.prove(less(self.at(n, ["Add", n, 1], tree), tree) if step else tree, by) or step)
            del self[name + ">"]
            self.add(name, all(sure), tree)


def check(c, book=Known):
    """An error, or the certificate proves its statement."""
    opposite = [[right, left, False] for left, right, _ in c["conditions"][-1:]]
    need(len(c["cases"]) in (1, 2), "it has no case, or too many")
    for conditions, case in zip((c["conditions"], c["conditions"][:-1] + opposite), c["cases"]):
        known = book(c["symbols"], c["whole"], conditions)
        for name, fact in c["facts"].items():
            known.learn(name, *fact)
        known.prove(less(["Add", *c["claimed"]], ["Add", *case["derived"]]), case["proof"])
        for tree, strict, by in case["demands"]:
            need(known.prove(tree, by) or not strict, f"{tree} may be 0")


if __name__ == "__main__":
    for file in sorted(Path(sys.argv[1]).rglob("*.json")):
        check(json.loads(file.read_text(encoding="utf-8")))
        print(f"{file.stem}: proved")
