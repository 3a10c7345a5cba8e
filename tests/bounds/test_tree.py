"""Formulas as plain data: round trips of the whole registry; hostile input is neither
executed nor slow.
"""

import json
import time

import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import symbols as s
from dfltheory.bounds.registry import papers
from dfltheory.bounds.tree import from_text, from_tree, to_tree
from dfltheory.errors import DFLTheoryError

HOSTILE = "__import__('os').system('touch {}')"


def formulas(theorem):
    yield from theorem.parts.values()
    yield from (d.expr for d in theorem.definitions)
    yield from (sp.sympify(e) for e in theorem.schedule.values())
    yield from (side for c in theorem.conditions for side in (c.left, c.right))


@pytest.mark.parametrize("paper", papers())
def test_every_formula_of_the_registry_goes_through_json_and_back(paper):
    count = 0
    for theorem in bounds.statements(paper):
        own = {d.symbol.name: d.symbol for d in theorem.definitions}
        own |= {quantity.name: quantity.symbol for quantity in theorem.quantities}
        own |= {quantity.name: quantity.symbol for quantity in theorem.quantities}
        for formula in formulas(theorem):
            tree = json.loads(json.dumps(to_tree(formula)))
            assert from_tree(tree, own) == formula
            count += 1
    assert count >= len(bounds.statements(paper)) > 0


def test_functions_beyond_the_registry_go_there_and_back():
    for formula in (
        sp.exp(s.q * s.T),
        sp.log(1 + s.K),
        sp.Abs(s.L - 1),
        sp.Min(s.K, s.T),
        sp.exp(1),
        s.lam**s.T,
        sp.Float(0.1) * s.L,
        2 ** (s.K - 1),
        sp.floor(s.T / 2),
        sp.Integer(7),
    ):
        assert from_tree(json.loads(json.dumps(to_tree(formula)))) == formula
    assert from_tree(["sqrt", "L"]) == sp.sqrt(s.L)


def test_symbols_outside_the_glossary_are_given_or_refused():
    own = sp.Symbol("nobodys", positive=True)
    assert from_tree(to_tree(own * s.L), {"nobodys": own}) == own * s.L
    with pytest.raises(DFLTheoryError, match="'nobodys'"):
        from_tree(["Mul", "nobodys", "L"])
    with pytest.raises(DFLTheoryError, match="not the glossary's"):
        to_tree(sp.Symbol("L"))
    with pytest.raises(DFLTheoryError, match="sin cannot"):
        to_tree(sp.sin(s.L))


def deep(n):
    tree = "L"
    for _ in range(n):
        tree = ["Add", tree, 1]
    return tree


def tower(n):
    tree = 10
    for _ in range(n):
        tree = ["Pow", tree, 100]
    return tree


HOSTILE_TREES = [
    None,
    True,
    {},
    [],
    "",
    float("nan"),
    float("inf"),
    [[]],
    ["Add"],
    ["Add", None],
    ["Pow", "L"],
    ["Pow", 1, 2, 3],
    ["__import__", "os"],
    ["Symbol", "L"],
    ["Add.__class__", 1],
    ["eval", "1"],
    [1, 2],
    {"Add": [1, 2]},
    "L + K",
    "L.__class__",
    ["Rational", 1, 0],
    ["Rational", "1", 2],
    ["Rational", 1.5, 2],
    ["Rational", True, 2],
    ["Pow", 10, 10**12],
    ["Pow", "L", 10**12],
    ["Pow", ["Mul", 2, "L"], 10**5],
    tower(8),
    10**5000,
    1 << 5000,
    ["Pow", 2, ["Pow", 10, 12]],
    ["exp", ["Mul", 10**12, ["log", 2]]],
    ["exp", 10**12],
    ["Pow", 0, -1],
    ["log", 0],
    ["Pow", 2, ["Mul", 1e12, 1]],
    ["Pow", 2, ["Mul", 10**12, "K"]],
    ["Pow", 0.0, -1],
    deep(100),
    ["Add", *["L"] * 6000],
    ["Max", *[["Add", "L", n] for n in range(100)]],
    ["Max", ["sqrt", -1], 1],
    ["Pow", 2, ["Rational", 1, 10**30]],
    ["Pow", ["Pow", ["Pow", ["Mul", 2, "L"], 1000], 1000], 1000],
]


@pytest.mark.parametrize("number", range(len(HOSTILE_TREES)))
def test_what_is_no_formula_gets_one_line_at_once(number):
    started = time.monotonic()
    with pytest.raises(DFLTheoryError) as caught:
        from_tree(HOSTILE_TREES[number])
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "make",
    [lambda t: t, lambda t: [t, 1], lambda t: ["Add", t, 1], lambda t: ["Pow", "L", t]],
)
def test_code_in_any_place_is_not_run(make, tmp_path):
    witness = tmp_path / "ran"
    with pytest.raises(DFLTheoryError):
        from_tree(make(HOSTILE.format(witness)))
    assert not witness.exists()


@pytest.mark.drawn(1)
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "paper", [p for p in papers() if any(t.schedule for t in bounds.statements(p))]
)
def test_the_atoms_of_every_rate_are_read_from_their_text(paper, every):
    """Tests the first variant of every statement, and in the slow suite all variants,
    since deriving a rate is slow.
    """
    from sympy.parsing.sympy_parser import parse_expr

    count = 0
    for theorem in bounds.statements(paper):
        if not every and theorem.variant != bounds.variants(theorem.key)[0]:
            continue
        if theorem.kind not in ("theorem", "corollary", "rate") or not theorem.schedule:
            continue
        own = {d.symbol.name: d.symbol for d in theorem.definitions}
        known = {name: entry.symbol for name, entry in s.GLOSSARY.items()} | own
        for atom in {a for row in theorem.rate() for a, _ in row.exponents}:
            assert from_text(atom, own) == parse_expr(atom, known)
            count += 1
    assert count


@pytest.mark.parametrize(
    "text",
    [
        "L.__class__",
        "L[0]",
        "lambda: 1",
        "open('x')",
        "[L]",
        "1 if L else 2",
        "L; K",
        "",
        "L +",
        "'L'",
        "10**10**10",
        "(" * 400 + "L" + ")" * 400,
        "L+" * 3000 + "L",
        "f'{L}'",
        "exp(x=1)",
        "True",
        "1j",
        "9" * 4400,
        "-" * 3000 + "L",
    ],
)
def test_text_that_is_no_formula_gets_one_line(text):
    with pytest.raises(DFLTheoryError) as caught:
        from_text(text)
    assert "\n" not in str(caught.value)


def test_a_schedule_takes_numbers_alone(tmp_path):
    theorem, witness = (
        bounds.get("dfedsam.corollary_4_6", "corrected"),
        tmp_path / "ran",
    )
    numbers = {"L": 2.0, "K": 4, "T": 100, "rho0": 0.0}
    assert theorem.step_sizes(**numbers)["eta"] == pytest.approx(1 / 40)
    for name in ("L", "K", "T"):
        with pytest.raises(DFLTheoryError, match=f"{name} = "):
            theorem.step_sizes(**(numbers | {name: HOSTILE.format(witness)}))
    assert not witness.exists()


@pytest.mark.parametrize("exponent", [101, 400, -400, 457, -9999])
def test_a_power_of_powers_is_written_with_exponents_that_are_read(exponent):
    for formula in ((s.T + 1) ** exponent, s.K / (s.T + 1) ** exponent):
        assert from_tree(to_tree(formula)) == formula
