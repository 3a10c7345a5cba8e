"""Corrected variants that another one covers are those that the page lists.

A variant covers another one with the same left-hand side if, on every run that the
other covers, its scope, assumptions and conditions hold and its bound is not larger.
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.proofs.implication import not_implied

PAGE = Path(__file__).parents[2] / "docs" / "corrected-variants.md"
POINTS = 5_000


def listed_pairs():
    """Return (statement, covered variant, covering variant) of the page's table."""
    section = PAGE.read_text(encoding="utf-8").partition("## Covered variants")[2]
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \| `(\w+)` \|", section, re.M)
    return set(rows)


def comparable_pairs():
    """Return pairs with one left-hand side, in which the second needs no more.

    The second has the same scope, no further assumption and no further quantity.
    """
    by_key = {}
    for theorem in registry.statements():
        if theorem.variant.startswith("corrected"):
            by_key.setdefault(theorem.key, []).append(theorem)
    return [
        (covered, covering)
        for variants in by_key.values()
        for covered, covering in itertools.permutations(variants, 2)
        if covered.lhs == covering.lhs
        and covered.scope == covering.scope
        and set(covering.assumptions) <= set(covered.assumptions)
        and set(covering.needs) <= set(covered.needs)
    ]


def drawn_values(theorem):
    """Return random values of a statement's quantities, (POINTS,) each."""
    rng = np.random.default_rng(0)
    values = {}
    for name in theorem.needs:
        quantity = theorem.glossary[name]
        if math.isfinite(quantity.high):
            width = quantity.high - quantity.low
            drawn = quantity.low + width * rng.beta(0.4, 0.4, POINTS)
        else:
            drawn = quantity.low + 10.0 ** rng.uniform(-4, 3, POINTS)
        values[name] = np.floor(drawn) if quantity.integer else drawn
    if "eta" in values:  # small steps, at which conditions hold
        values["eta"] = 10.0 ** rng.uniform(-9, 0, POINTS)
    if "lam_admm" in values:
        values["lam_admm"] = values["eta"] * 10.0 ** rng.uniform(0, 4, POINTS)
    return values


def holds(theorem, values):
    """Return at which points all conditions hold."""
    sides = [truth for _, _, truth in theorem.check_conditions(**values)]
    return np.logical_and.reduce(np.broadcast_arrays(*sides, np.full(POINTS, True)))


def is_covered(covered, covering):
    """Return whether no drawn point contradicts that one variant covers another."""
    values = drawn_values(covered)
    applies = holds(covered, values)
    assert applies.sum() > 50, (covered, "hardly any point meets the conditions")
    with np.errstate(all="ignore"):
        larger = covered.evaluate(where="ignore", **values)
        smaller = covering.evaluate(
            where="ignore", **{name: values[name] for name in covering.needs}
        )
    shared = {name: values[name] for name in values if name in covering.glossary}
    fits = holds(covering, {n: v for n, v in shared.items() if n in covering.symbols})
    finite = applies & np.isfinite(larger)
    return bool(
        (fits[applies]).all() and (smaller <= larger * (1 + 1e-9))[finite].all()
    )


def test_covered_variants_are_those_of_the_page():
    found = {
        (covered.key, covered.variant, covering.variant)
        for covered, covering in comparable_pairs()
        if is_covered(covered, covering)
    }
    assert found == listed_pairs()
    assert len(found) == 2


@pytest.mark.slow
def test_variant_of_dfedadmm_with_a_larger_penalty_covers_by_the_kernel():
    """1/(1 - x) <= 2 for x = lam_admm L <= 1/2, and the other terms agree."""
    covered = registry.get("dfedadmm.theorem_1", "corrected_second_moment")
    covering = registry.get("dfedadmm.theorem_1", "corrected_larger_penalty")
    assert not_implied(covered, covering, {}) == []
    assert not_implied(covering, covered, {}) != []


def test_variant_of_dfedsgpsm_with_one_last_term_covers_exactly():
    """6 a^2 + 6 b^2 + 3 c^2 + 3 d^2 - (a + b + c + d)^2 is a sum of squares.

    a, b, c and d are consensus, initialization, drift and sharpness, and the path dbar
    is at most at_before.
    """
    a, b, c, d = sp.symbols("a b c d", real=True)
    split = 6 * a**2 + 6 * b**2 + 3 * c**2 + 3 * d**2
    squares = 3 * (a - b) ** 2 + (a + b - c) ** 2 + (a + b - d) ** 2 + (c - d) ** 2
    assert sp.expand(split - (a + b + c + d) ** 2 - squares) == 0
    covered = registry.get("dfedsgpsm.theorem_1", "corrected")
    covering = registry.get("dfedsgpsm.theorem_1", "corrected_sharper")
    s = {name: covered.glossary[name].symbol for name in covered.needs}
    path = {
        definition.symbol.name: definition.symbol for definition in covering.definitions
    }
    together = s["L"] * (
        sp.sqrt(s["x0_spread"])
        * sp.sqrt(1 / (1 - s["q"] ** 2))
        / sp.sqrt(s["T"] * s["delta"])
        + s["rho"]
        + path["G"] * s["eta"] * path["dbar"] / s["delta"]
        + s["eta"] * path["G"] * path["at"] * s["q"] / (s["delta"] * (1 - s["q"]))
    )
    last = covering.parts["drift, consensus and sharpness"]
    assert sp.simplify(last - together**2) == 0
    apart = {"initialization": 6, "sharpness": 3, "drift": 3, "consensus": 6}
    before = next(x.symbol for x in covered.definitions if x.symbol.name == "at_before")
    roots = {
        "initialization": s["L"] ** 2
        * s["x0_spread"]
        / (s["T"] * s["delta"] * (1 - s["q"] ** 2)),
        "sharpness": (s["L"] * s["rho"]) ** 2,
        "drift": (s["L"] * s["eta"] * path["G"] * before / s["delta"]) ** 2,
        "consensus": (
            s["L"]
            * s["eta"]
            * path["G"]
            * path["at"]
            * s["q"]
            / (s["delta"] * (1 - s["q"]))
        )
        ** 2,
    }
    for name, factor in apart.items():
        assert sp.simplify(covered.parts[name] - factor * roots[name]) == 0, name
    for name in ("optimization", "noise"):
        assert covered.parts[name] == covering.parts[name]
    assert [c.slack for c in covered.conditions] == [
        c.slack for c in covering.conditions
    ]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("K", [1, 2, 3, 6])
def test_mean_path_of_momentum_is_at_most_the_longest_path(K):
    """A mean of at(0), ..., at(K-1) with weights >= 0 is at most at(K-1)."""
    alpha = sp.Symbol("alpha", nonnegative=True)
    weights = [sum(alpha**j for j in range(step + 1)) for step in range(K)]
    paths = [sum(weights[:step]) for step in range(K)]
    total = sum(weights)
    covering = registry.get("dfedsgpsm.theorem_1", "corrected_sharper")
    covered = registry.get("dfedsgpsm.theorem_1", "corrected")
    named = {d.symbol.name: d.expr for t in (covered, covering) for d in t.definitions}
    at = {x: sp.Integer(K) for x in named["dbar"].free_symbols if x.name == "K"}
    symbol = next(x for x in named["dbar"].free_symbols if x.name == "alpha")
    # the gradient of the first step stays in the momentum longest
    mean = sum(w * p for w, p in zip(reversed(weights), paths, strict=True)) / total
    dbar = named["dbar"].subs(at).subs(symbol, alpha)
    longest = named["at_before"].subs(at).subs(symbol, alpha)
    assert sp.simplify(dbar - mean) == 0
    assert sp.simplify(longest - paths[-1]) == 0
    assert all(
        coefficient >= 0
        for step in range(K)
        for coefficient in sp.Poly(paths[-1] - paths[step], alpha).all_coeffs()
    )
