"""Theorems: inputs, conditions, rounds, LaTeX and special cases."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from dfltheory import bounds
from dfltheory.bounds import LeftSide, Scope, Theorem
from dfltheory.bounds import symbols as s
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.symbols import CURVATURE
from dfltheory.bounds.units import ONE
from dfltheory.errors import ConditionError, InputError, UnknownNameError
from tests.bounds.texts import of_all

POINT = {
    "L": 1,
    "K": 5,
    "T": 1000,
    "Q": 1,
    "m": 16,
    "eta": 0.005,
    "rho": 0.01,
    "lam": 0.8,
    "sigma_l": 1,
    "sigma_g": 1,
    "f0_gap": 1,
}
KEY = "dfedsam.theorem_4_5"


def test_terms_sum_to_the_bound():
    for theorem in bounds.statements():
        assert sp.expand(theorem.bound - sum(theorem.terms.values())) == 0
        assert {x.name for x in theorem.bound.free_symbols} <= set(theorem.needs)


def test_names_of_terms():
    for variant in ("printed", "appendix", "corrected"):
        assert list(bounds.get(KEY, variant).terms) == [
            "optimization",
            "noise",
            "drift",
            "consensus",
            "sharpness",
        ]


def test_rounds_that_the_left_side_runs_over():
    printed, corrected = bounds.get(KEY).lhs, bounds.get(KEY, "corrected").lhs
    assert (printed.aggregate, printed.rounds(10), printed.start) == (
        "min",
        range(1, 11),
        1,
    )
    assert (corrected.aggregate, corrected.rounds(10), corrected.start) == (
        "mean",
        range(10),
        0,
    )


def test_every_theorem_names_the_rounds_of_its_bound():
    """Bounds are on the mean over rounds 0..T-1 unless the paper says otherwise, here
    for T = 10.
    """
    said = of_all("ROUNDS")
    for theorem in bounds.statements():
        lhs, name = theorem.lhs, (theorem.key, theorem.variant)
        if theorem.kind in ("theorem", "corollary"):
            expected = said.get(name, ("mean", range(10), 0))
            assert (
                lhs.aggregate,
                lhs.rounds(10),
                lhs.start,
            ) == expected, f"{theorem}: not ROUNDS of its text"


def test_unknown_names_tell_the_nearest():
    with pytest.raises(UnknownNameError, match=r"dfedsam\.theorem_4_5"):
        bounds.get("dfedsam.theorem_45")
    with pytest.raises(UnknownNameError, match="corrected"):
        bounds.get(KEY, "correct")
    with pytest.raises(UnknownNameError, match="sigma_l"):
        bounds.get(KEY).evaluate(**POINT, sigmal=1)
    with pytest.raises(UnknownNameError, match=r"lam$"):
        bounds.get(KEY).evaluate(**POINT, psi=1)


def test_missing_names_are_listed():
    given = {k: v for k, v in POINT.items() if k not in ("L", "rho")}
    with pytest.raises(InputError, match=r"rho, L$"):
        bounds.get(KEY).evaluate(**given)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("K", 0),
        ("K", 2.5),
        ("rho", -0.1),
        ("L", 0),
        ("lam", 1),
        ("lam", -0.1),
        ("T", np.nan),
        ("sigma_l", np.inf),
        ("eta", 0),
        ("m", 0),
        ("L", "one"),
        ("f0_gap", -1),
        ("Q", [1, 2, 0]),
    ],
)
def test_values_out_of_range_are_refused_in_one_line(name, value):
    with pytest.raises(InputError, match=f"^{name} = ") as caught:
        bounds.get(KEY).evaluate(**{**POINT, name: value})
    assert "\n" not in str(caught.value)


def test_names_of_the_glossary_that_are_not_needed_are_ignored():
    theorem = bounds.get(KEY)
    assert theorem.evaluate(**POINT, B=3, chi=-1) == theorem.evaluate(**POINT)


def test_a_failing_condition_is_named_with_its_numbers():
    with pytest.raises(
        ConditionError,
        match=r"'eta <= 1/\(10 K L\)'.*= 25 > 1 \(K = 5, eta = 0.5, L = 1\)",
    ):
        bounds.get(KEY).evaluate(**{**POINT, "eta": 0.5})
    with pytest.raises(ConditionError, match=r"\(2,\)"):
        bounds.get(KEY).evaluate(**{**POINT, "eta": [0.001, 0.02, 0.021]})


def test_a_condition_met_with_equality_holds_in_spite_of_rounding():
    for K in range(1, 60):
        for L in (0.1, 0.3, 0.7, 1.1, 3.3):
            bounds.get(KEY).evaluate(
                **{**POINT, "K": K, "L": L, "eta": 1 / (10 * K * L)}
            )


def test_where():
    theorem = bounds.get(KEY)
    values = {**POINT, "eta": np.array([[0.001], [0.5]]), "T": np.array([10, 20, 30])}
    grid = theorem.evaluate(where="nan", **values)
    assert grid.shape == (2, 3)
    assert np.isfinite(grid[0]).all()
    assert np.isnan(grid[1]).all()
    assert np.isfinite(theorem.evaluate(where="ignore", **values)).all()
    with pytest.raises(InputError, match="where"):
        theorem.evaluate(where="drop", **values)  # type: ignore[arg-type]


def test_terms_of_a_grid_have_its_shape_and_sum_to_it():
    theorem = bounds.get(KEY, "corrected")
    values = {**POINT, "lam": np.linspace(0, 0.8, 4)[:, None], "m": np.array([2, 4])}
    terms = theorem.evaluate_terms(**values)
    assert {v.shape for v in terms.values()} == {(4, 2)}
    np.testing.assert_allclose(
        sum(terms.values()), theorem.evaluate(**values), rtol=1e-14
    )


def test_arrays_that_do_not_broadcast():
    with pytest.raises(InputError, match=r"eta \(2,\).*lam \(3,\)"):
        bounds.get(KEY).evaluate(
            **{**POINT, "eta": [0.01, 0.01], "lam": [0.1, 0.2, 0.3]}
        )


def test_without_sam_there_is_no_sharpness():
    for variant in ("printed", "appendix", "corrected"):
        assert (
            bounds.get(KEY, variant).evaluate_terms(**{**POINT, "rho": 0})["sharpness"]
            == 0
        )


def test_d_psgd_on_a_complete_graph_has_neither_drift_nor_consensus_in_the_corrected_bound():
    terms = bounds.get(KEY, "corrected").evaluate_terms(
        **{**POINT, "rho": 0, "lam": 0, "K": 1}
    )
    assert terms["drift"] == terms["consensus"] == 0
    assert terms["optimization"] == pytest.approx(606 / 271 / (0.005 * 1000))


def test_derivative_against_a_difference():
    theorem = bounds.get(KEY, "corrected")
    slope = theorem.derivative("lam").subs(
        {x: POINT[x.name] for x in theorem.symbols.values()}
    )
    h = 1e-6
    low, high = (theorem.evaluate(**{**POINT, "lam": 0.8 + d}) for d in (-h, h))
    assert float(slope) == pytest.approx((high - low) / (2 * h), rel=1e-6)
    with pytest.raises(InputError, match="'beta'"):
        theorem.derivative("beta")


def formulas(every=1):
    """Return each formula of every n-th statement as it is rendered, shortest first."""
    from dfltheory.bounds.display import expression_latex

    found = set()
    for theorem in bounds.statements()[::every]:
        for expr in (*theorem.parts.values(), *(d.expr for d in theorem.definitions)):
            found.add(f"${expression_latex(expr, theorem)}$")
    return sorted(found, key=lambda formula: (len(formula), formula))


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_latex_is_balanced_and_what_is_in_it_is_drawn_by_mathtext(every):
    """Renders each command and symbol of the registry in a formula that contains it,
    and the longest formula.
    """
    from matplotlib.mathtext import MathTextParser

    for theorem in bounds.statements()[::every]:
        text = theorem.latex()
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
    parser, drawn = MathTextParser("path"), set()
    *others, longest = formulas(every)
    for formula in (*others, longest):
        written = set(re.findall(r"\\[A-Za-z]+|[^A-Za-z0-9\s]", formula))
        if formula is longest or not written <= drawn:
            parser.parse(formula)
            drawn |= written
    assert len(drawn) > 30


@pytest.mark.slow
def test_every_formula_is_drawn_by_mathtext():
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    for formula in formulas():
        parser.parse(formula)


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_whole_statements_are_latex_that_a_converter_reads(every):
    """mathtext does not support the left-hand side, ``aligned``, ``Big`` or
    ``mathcal``.
    """
    converter = pytest.importorskip("latex2mathml.converter")
    for theorem in bounds.statements()[::every]:
        mathml = converter.convert(theorem.latex())
        assert mathml.startswith("<math")
        # an unknown command would be left as text
        assert "\\" not in mathml, theorem


def test_every_quantity_has_its_own_symbol():
    assert len({q.symbol for q in bounds.GLOSSARY.values()}) == len(bounds.GLOSSARY)
    assert s.L.is_positive
    assert s.rho.is_nonnegative
    with pytest.raises(AttributeError, match="gamma"):
        _ = s.gamma


def test_step_sizes_are_the_schedule_at_these_numbers():
    theorem = bounds.get("dfedsam.theorem_4_5", variant="printed")
    steps = theorem.step_sizes(L=2.0, K=4, T=100, rho0=3.0, m=7)
    assert steps == pytest.approx({"eta": 1 / (2.0 * 2 * 10), "rho": 0.3}, rel=1e-15)
    with pytest.raises(InputError, match=r"\(printed\).*\brho0\b"):
        theorem.step_sizes(L=2.0, K=4, T=100)


def test_an_infinite_constant_is_refused_for_being_infinite():
    quantity = bounds.GLOSSARY["sigma_g"]
    with pytest.raises(InputError, match=r"sigma_g = inf"):
        quantity.check([1.0, np.inf])
    with pytest.raises(InputError, match=r"sigma_g = -1"):
        quantity.check(-1.0)


def test_the_glossary_is_immutable():
    with pytest.raises(TypeError):
        bounds.GLOSSARY["mu_test"] = bounds.GLOSSARY["mu"]
    with pytest.raises(TypeError):
        bounds.NEUTRAL["L"] = 1.0
    assert not hasattr(bounds, "define")


def test_quantities_of_a_theorem_have_ranges_signs_and_neutral_values():
    mu = Quantity("mu_test", r"\mu", CURVATURE, "strong convexity", open_low=True)
    omega = Quantity("omega_test", r"\omega", ONE, "compression", neutral=0.0)
    least = Quantity(
        "lam_min_test", r"\lambda_m", ONE, "least eigenvalue of W", low=-1, high=1
    )
    step = Quantity(
        "eta_server_test",
        r"\eta_g",
        ONE,
        "step of the server",
        open_low=True,
        step=True,
    )
    assert mu.symbol.is_positive
    assert least.symbol.is_nonnegative is None
    own = Theorem(
        "mine.sharp",
        "printed",
        "theorem",
        "own symbols",
        "here",
        LeftSide("grad_norm_sq", "G"),
        {
            "all": mu.symbol * (1 + omega.symbol) * (1 + least.symbol),
            "step": step.symbol,
        },
        Scope(("DPSGD",), "definition 1"),
        quantities=(mu, omega, least, step),
    )
    assert own.needs == ("mu_test", "omega_test", "lam_min_test", "eta_server_test")
    assert own.neutral["omega_test"] == 0.0
    assert own.step_names == ("eta_server_test",)
    values = {
        "mu_test": 2.0,
        "omega_test": 0.5,
        "lam_min_test": -0.5,
        "eta_server_test": 1.0,
    }
    assert own.evaluate(**values) == 2.5
    with pytest.raises(InputError, match="lam_min_test = -2"):
        own.evaluate(**values | {"lam_min_test": -2})


def test_latex_of_a_comparison_with_zero_has_a_zero():
    from dfltheory.bounds.comparisons import comparison_conditions
    from dfltheory.bounds.display import condition_latex

    zero = s.L - s.L
    for sign, latex in (("==", "L = 0"), (">", "L > 0"), ("<=", "L = 0")):
        (condition,) = comparison_conditions("name", s.L, sign, zero)
        assert condition_latex(condition) == latex


def test_prose_for_a_terminal_has_no_words_of_latex():
    from dfltheory.bounds.display import plain_prose

    theorem = bounds.get("wang_joshi2021.corollary_3")
    text = plain_prose(
        r"$F(x) \ge F_{\inf}$, $W \mathbf{1} = \mathbf{1}$, $W^\top$", theorem
    )
    assert text == "F(x) >= F_inf, W 1 = 1, W^T"


def test_names_of_several_letters_are_upright_in_latex():
    from dfltheory.bounds.formula_writer import name_in_latex

    assert name_in_latex("gap") == r"\mathrm{gap}"
    assert (name_in_latex("kappa"), name_in_latex("x")) == (r"\kappa", "x")


def test_latex_has_the_notation_of_the_paper():
    printed = bounds.get("dfedadmm.theorem_1", "corrected").latex()
    assert r"\psi" in printed  # the network's contraction
    assert r"\lambda_{\mathrm{pen}}" not in printed
    assert r"\lambda" in printed  # the penalty
    assert r"\lambda" in bounds.get("dfedsam.theorem_4_5").latex()
    assert r"\eta_l" in bounds.get("dfedsgpsm.theorem_1", "corrected").latex()


def test_text_is_no_formula(tmp_path):
    witness = tmp_path / "run"
    hostile = f"__import__('pathlib').Path({str(witness)!r}).touch()"
    theorem = bounds.get(KEY)
    condition = replace(theorem.conditions[0], left=hostile)
    for changes in (
        {"parts": {"all": hostile}},
        {"schedule": {"eta": hostile}},
        {"conditions": (condition,)},
        {"definitions": (replace(theorem.definitions[0], expr=hostile),)},
    ):
        with pytest.raises(InputError, match="is text"):
            replace(theorem, **changes)
    with pytest.raises(InputError, match="is text"):
        replace(theorem.lhs, last=hostile)
    assert not witness.exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scope", None),
        ("kind", 1),
        ("lhs", "f"),
        ("parts", ["L"]),
        ("definitions", "alpha"),
        ("definitions", (s.L,)),
        ("conditions", None),
        ("conditions", (s.L < s.K,)),
        ("assumptions", "smooth"),
        ("assumptions", (1,)),
        ("schedule", ("eta",)),
        ("order", 1),
        ("steps", []),
        ("steps", ("claim",)),
        ("moments", ("x",)),
    ],
)
def test_a_field_of_another_type_is_refused_by_its_name(name, value):
    with pytest.raises(InputError, match=rf": {name}\b"):
        replace(bounds.get(KEY), **{name: value})


def test_the_latex_has_each_condition_where_asked():
    theorem = bounds.get("dfedsam.theorem_4_5", "corrected")
    plain, whole = theorem.latex(), theorem.latex(conditions=True)
    assert len(theorem.conditions) == 2
    assert whole.count(r"\text{where }") == 2
    assert whole.replace(r"\end{aligned}", "").startswith(
        plain.replace(r" \end{aligned}", "")
    )
    assert r"8 K L \eta \le 1" in whole
