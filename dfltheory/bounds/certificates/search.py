"""The search for a way to write a polynomial without minus signs. Nothing here is trusted."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from dfltheory.bounds.certificates import check
from dfltheory.bounds.certificates.statement import rational
from dfltheory.bounds.tree import Tree

Poly = dict[Any, Fraction]


class NotFoundError(ValueError):
    """No proof of this form was found."""


def sum_of(terms: Sequence[Tree]) -> Tree:
    return terms[0] if len(terms) == 1 else ["Add", *terms] if terms else 0


def product_of(number: Fraction, powers: Iterable[tuple[str, int]]) -> Tree:
    factors = [rational(number)] if number != 1 else []
    factors += [name if k == 1 else ["Pow", name, k] for name, k in powers if k]
    return ["Mul", *factors] if len(factors) > 1 else factors[0] if factors else 1


class Search:
    """Proofs in the checker's own book ``known``: ``lows`` and ``highs`` are ends of ranges, with the names
    of the distances to them; ``stay``: variables that have a meaning, and ``old``: what is written in them;
    ``aside``: what is known and not tried as a fact."""

    def __init__(self, known: check.Known, most: int):
        self.known, self.most = known, most
        self.lows: dict[str, tuple[Fraction, str]] = {}
        self.highs: dict[str, Fraction] = {}
        self.old: dict[str, Poly] = {}
        self.stay: set[str] = set()
        self.aside: set[str] = set()

    def boxed(self, poly: Poly) -> tuple[Poly, dict[str, int]]:
        """A polynomial in variables that stay, and the powers of names by which it was multiplied for it."""
        by: dict[str, int] = {}
        facts: list[tuple[str, Poly | None]] = [
            (n, None) for n in self.known if n not in self.stay | self.old.keys()
        ]
        for name, meaning in reversed(
            [*facts, *self.old.items(), *facts]
        ):  # what old ones are divided by is a fact
            powers = {dict(term).get(name, 0) for term in poly}
            if not any(powers) or (meaning is None and self.known[name][1] is None):
                continue
            once = self.known.read(self.known[name][1])[0] if meaning is None else meaning
            least = min(powers)
            if least < 0 and len(once) > 1:
                whole, under = self.boxed(once)
                if len(whole) == 1:
                    once = check.product(
                        whole, {tuple((n, -k) for n, k in sorted(under.items())): Fraction(1)}
                    )
                else:
                    by[name] = by.get(name, 0) - least
                    poly = check.product(poly, {((name, -least),): Fraction(1)})
            columns: dict[int, Poly] = {}
            for term, number in poly.items():
                k = dict(term).get(name, 0)
                columns.setdefault(k, {})[tuple(i for i in term if i[0] != name)] = number
            poly = check.added(*[check.product(column, _power(once, k)) for k, column in columns.items()])
        return poly, by

    def plain(self, poly: Poly) -> Tree:
        """A polynomial in variables that stay without minus signs."""
        if any(e < 0 for term in poly for _, e in term):
            poly, shared = _stripped(poly)
            return ["Mul", self.plain(poly), product_of(Fraction(1), shared)]
        try:
            return self._grouped(poly, self.highs.keys())
        except NotFoundError:
            return self._grouped(poly, self.highs.keys() | self.lows.keys())

    def _grouped(self, poly: Poly, bounded: Any) -> Tree:
        groups: dict[Any, Poly] = {}
        for term, number in poly.items():
            key = tuple(i for i in term if i[0] not in bounded)
            groups.setdefault(key, {})[tuple(i for i in term if i[0] in bounded)] = number
        alike: dict[Any, list[tuple[Fraction, Any]]] = {}
        for key, group in groups.items():
            scale = max(abs(x) for x in group.values())
            alike.setdefault(frozenset((t, x / scale) for t, x in group.items()), []).append((scale, key))
        terms = [
            ["Mul", self._group(dict(sorted(group))), sum_of([product_of(x, key) for x, key in keys])]
            for group, keys in alike.items()
        ]
        return sum_of(terms)

    def _group(self, poly: Poly) -> Tree:
        if min(poly.values()) >= 0:
            return sum_of([product_of(x, term) for term, x in poly.items()])
        return self._paired(poly) or self._bernstein(poly)

    def _paired(self, poly: Poly) -> Tree | None:
        """Each term c t r with r <= 1 that is subtracted is taken from a larger c t, and leaves c t (1 - r);
        None where they are not enough."""
        left = {t: x for t, x in poly.items() if x > 0}
        terms: list[Tree] = []
        for term in sorted((t for t, x in poly.items() if x < 0), key=_degree):
            wanted = -poly[term]
            for larger in sorted(left, key=_degree, reverse=True):
                (ratio,) = _power(check.product(_power({term: Fraction(1)}, -1), {larger: Fraction(1)}), -1)
                if not all(e > 0 and self.highs.get(n) == 1 for n, e in ratio):
                    continue
                taken = min(wanted, left[larger])
                for i, (n, e) in enumerate(ratio):
                    sums = sum_of([product_of(Fraction(1), [(n, k)]) for k in range(e)])
                    terms.append(["Mul", product_of(taken, (*larger, *ratio[:i], (f"{n}<", 1))), sums])
                wanted, left[larger] = wanted - taken, left[larger] - taken
                if not left[larger]:
                    del left[larger]
                if not wanted:
                    break
            if wanted:
                return None
        return sum_of([*terms, *(product_of(x, t) for t, x in left.items())])

    def _bernstein(self, poly: Poly) -> Tree:
        names = sorted({n for term in poly for n, _ in term})
        table: dict[tuple[int, ...], Fraction] = {
            tuple(dict(t).get(n, 0) for n in names): x for t, x in poly.items()
        }
        degrees = [max(powers[i] for powers in table) for i in range(len(names))]
        for i, name in enumerate(names):
            table = self._along(table, i, degrees[i], name)
        least = min(table.values(), default=Fraction(0))
        if least < 0:
            raise NotFoundError(f"least coefficient {float(least):.3g}")
        full = math.prod(d + 1 for d in degrees)
        least = least if len(table) == full and all(n in self.highs for n in names) else Fraction(0)
        terms = [rational(least)] if least else []
        for index, x in table.items():
            x -= least
            powers = []
            for n, k, d in zip(names, index, degrees, strict=True):
                if n in self.highs:
                    x *= Fraction(math.comb(d, k)) / self.highs[n] ** d
                    powers += [(n, k), (f"{n}<", d - k)]
                else:
                    powers.append((self.lows[n][1], k))
            if x:
                terms.append(product_of(x, powers))
        return sum_of(terms)

    def _along(self, table: Mapping[tuple[int, ...], Fraction], i: int, degree: int, name: str) -> Any:
        """Bernstein coefficients in one variable from 0 to its end, or Taylor coefficients at its low end."""
        columns: dict[Any, list[Fraction]] = {}
        for powers, x in table.items():
            columns.setdefault(powers[:i] + powers[i + 1 :], [Fraction(0)] * (degree + 1))[powers[i]] = x
        found = {}
        for rest, a in columns.items():
            if name in self.highs:
                a = [x * self.highs[name] ** k / math.comb(degree, k) for k, x in enumerate(a)]
                a = [sum(math.comb(k, j) * a[j] for j in range(k + 1)) for k in range(degree + 1)]
            else:
                low = self.lows[name][0]
                a = [
                    sum(math.comb(j, k) * low ** (j - k) * a[j] for j in range(k, degree + 1))
                    for k in range(degree + 1)
                ]
            found |= {(*rest[:i], k, *rest[i:]): x for k, x in enumerate(a) if x}
        return found

    def prove(self, tree: Tree, by: Iterable[tuple[Tree, str]] = ()) -> Tree:
        """``tree`` without minus signs: what it is already, or ``by``, factors and what they multiply, and a
        rest, for which more may be found."""
        poly = self.known.read(tree)[0]
        meanings = {n: meaning for n, (_, meaning) in self.known.items()}
        same = [n for n, what in meanings.items() if n == tree or (what and self.known.read(what)[0] == poly)]
        if same:
            return same[0]
        terms, rest = [], tree
        for factor, fact in by:
            terms.append(["Mul", self.prove(factor), fact])
            rest = check.less(rest, ["Mul", factor, fact])
        over, under = self.boxed(self.known.read(rest)[0])
        if over:
            terms.append(["Mul", self._found(over), *(["Pow", n, -k] for n, k in under.items())])
        return sum_of(terms)

    def _found(self, poly: Poly) -> Tree:
        poly, shared = _stripped(poly)
        return ["Mul", self._without(poly, self.most), product_of(Fraction(1), shared)]

    def _without(self, poly: Poly, most: int) -> Tree:
        """A polynomial in variables that stay without minus signs, by at most so many facts: their products
        with factors, and a rest."""
        try:
            return self.plain(poly)
        except NotFoundError as first:
            reason = first
        facts = [n for n, (_, meaning) in self.known.items() if meaning is not None and n not in self.aside]
        for more, name in itertools.product(range(most), reversed(facts)):
            fact, times = self.boxed({((name, 1),): Fraction(1)})
            for factor in self._factors(poly, fact):
                rest = check.added(*[poly, check.product({(): Fraction(-1)}, check.product(factor, fact))])
                try:
                    terms = [["Mul", self.plain(factor), name, *(["Pow", n, k] for n, k in times.items())]]
                    return sum_of([*terms, self._without(rest, more)] if rest else terms)
                except NotFoundError:
                    continue
        raise reason

    def _factors(self, poly: Poly, fact: Poly) -> Iterator[Poly]:
        """What of a fact can be taken from a polynomial so that (negative) terms vanish: by each term that is
        subtracted in the fact."""
        for pivot, negative in itertools.product(
            [t for t, x in sorted(fact.items(), reverse=True) if x < 0], (True, False)
        ):
            factor = _quotient(poly, fact, pivot, negative)
            if factor:
                yield factor


def _degree(term: Any) -> int:
    return sum(e for _, e in term)


def _power(poly: Poly, k: int) -> Poly:
    if k < 0:
        poly, k = {tuple((n, -e) for n, e in term): 1 / x for term, x in poly.items()}, -k
    total: Poly = {(): Fraction(1)}
    for _ in range(k):
        total = check.product(total, poly)
    return total


def _stripped(poly: Poly) -> tuple[Poly, tuple[tuple[str, int], ...]]:
    """A polynomial over what all its terms share."""
    least = {n: min(dict(t).get(n, 0) for t in poly) for term in poly for n, _ in term}
    shared = tuple((n, e) for n, e in sorted(least.items()) if e)
    return check.product(poly, {tuple((n, -e) for n, e in shared): Fraction(1)}), shared


def _quotient(poly: Poly, fact: Poly, pivot: Any, negative: bool) -> Poly:
    """The factor of ``fact`` after which no (negative) term of ``poly`` has ``pivot`` in it."""
    left, factor = dict(poly), {}
    for _ in range(200):
        hits = [t for t, x in left.items() if (x < 0 or not negative) and _divides(pivot, t)]
        if not hits:
            return check.added(factor)
        share = {min(hits): left[min(hits)] / fact[pivot]}
        ((quotient, x),) = check.product(share, {tuple((n, -e) for n, e in pivot): Fraction(1)}).items()
        factor[quotient] = factor.get(quotient, Fraction(0)) + x
        for term, y in check.product({quotient: x}, fact).items():
            left[term] = left.get(term, 0) - y
            if not left[term]:
                del left[term]
    return {}


def _divides(pivot: Any, term: Any) -> bool:
    powers = dict(term)
    return all(powers.get(n, 0) >= e for n, e in pivot)
