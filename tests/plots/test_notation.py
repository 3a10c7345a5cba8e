"""Names as symbols of a paper, and lines of limited width."""

import dataclasses
import re

import pytest
from matplotlib.cbook import is_math_text

from dfltheory import bounds
from dfltheory.plots.notation import (
    condition,
    in_symbols,
    is_formula,
    setting_in_symbols,
    symbol,
    text_width,
    typeset,
    wrapped,
)


def formulas(text):
    """Return the formulas in a text."""
    return re.findall(r"(?<!\\)\$([^$]*)\$", text)


def spaced(text):
    return text.replace("\xa0", " ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("eta <= 0.00133, or Q >= 7", r"$\eta \leq$ 0.00133, or $Q \geq$ 7"),
        ("f0_gap not known", r"$\Delta_0$ not known"),
        ("sigma_l = 1e-05", r"$\sigma_l$ = $10^{-5}$"),
        ("T >= 1.1e5 here", r"$T \geq 1.1 \times 10^{5}$ here"),
        ("1 - lam^Q", r"1 − $\lambda ^{Q}$"),
        ("it covers rho = rho0/sqrt(T)", r"it covers $\rho$ = $\rho_0$/$\sqrt{T}$"),
        ("a drift of 3", "a drift of 3"),
        ("it costs $5", r"it costs \$5"),
        ("lambda_min(W) >= 1/2", r"$\lambda_{\min}$(W) $\geq$ 1/2"),
    ],
)
def test_names_become_symbols(text, expected):
    assert spaced(in_symbols(text)) == expected


def test_symbols_are_those_of_the_paper():
    theorem = bounds.get("dfedadmm.theorem_1", "printed")
    assert symbol("lam", theorem) == r"$\psi$"
    assert symbol("lam") == r"$\lambda$"
    assert in_symbols("lam_admm", theorem) == r"$\lambda$"
    # the paper writes beta for L; this condition is in its notation
    paper = bounds.get("bubeck2015.theorem_3_12")
    clause = next(c for c in paper.conditions if "alpha + beta" in c.name)
    assert spaced(condition(clause, paper)) == r"$\eta$ = 2/($\alpha$ + $\beta$)"
    # mu is another constant in this paper than in the glossary
    other = bounds.get("bottou2018.theorem_4_6")
    (clause,) = [c for c in other.conditions if "M_G" in c.name]
    assert condition(clause, other) == r"$L \bar\alpha \leq 1$"
    # a name without such a symbol is kept
    named = dataclasses.replace(clause, name="the step is short")
    assert spaced(condition(named, other)) == "the step is short"


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_matplotlib_can_typeset_every_condition_and_symbol_of_the_registry(every):
    """Quickly, each tenth one."""
    found = set()
    for theorem in bounds.statements():
        texts = [condition(clause, theorem) for clause in theorem.conditions]
        texts += [symbol(name, theorem) for name in theorem.needs]
        for text in texts:
            found |= set(formulas(text))
    assert len(found) > 50
    some = sorted(found)[::every]
    assert [formula for formula in some if not is_formula(formula)] == []
    assert not is_formula(r"\nosuch")


def test_conditions_have_no_names_with_underscores_or_spelled_greek():
    for theorem in bounds.statements():
        for clause in theorem.conditions:
            prose = re.sub(r"\$[^$]*\$", "", condition(clause, theorem))
            names = set(re.findall(r"[A-Za-z]\w*", prose))
            words = {"offset", "drift"}
            assert not names & set(theorem.needs) - words, (theorem.key, clause.name)
            assert not names & {"eta", "lam", "rho", "alpha", "lambda"}


def test_settings_keep_words_that_are_not_assigned():
    text = setting_in_symbols("K = 5, eta = 0.1, m, $x$, beta = y")
    assert text == r"$K$ = 5, $\eta$ = 0.1, m, \$x\$, $\beta$ = y"


def test_wrapped_lines_fit_and_keep_formulas():
    text = "not applicable: " + in_symbols(
        "8 eta K L lam^Q <= 1 - lam^Q fails, by 0.3; applies for eta <= 0.00133"
    )
    lines = wrapped(text, 2.0).split("\n")
    assert len(lines) > 1
    assert max(map(text_width, lines)) <= 2.0
    assert " ".join(lines) == text
    assert all(line.count("$") % 2 == 0 for line in lines)
    assert wrapped("12 × measured", 0.1).split("\n") == ["12\xa0×\xa0measured"]


def test_text_width_is_that_of_matplotlib():
    import matplotlib.pyplot as plt

    figure = plt.figure(dpi=300)
    for text in ("measured, mean over rounds", r"applies for $\eta \leq$ 0.1"):
        assert is_math_text(text) or "$" not in text
        drawn = figure.text(0, 0, text, fontsize=8)
        width = drawn.get_window_extent().width / 300
        assert text_width(text) == pytest.approx(width, rel=0.03)
    plt.close(figure)


def test_typeset_replaces_what_matplotlib_lacks():
    assert typeset(r"\frac1T x\le y") == r"\frac{1}{T} x\leq y"
    assert typeset(r"L_{\mathbf f}") == r"L_{\mathbf{f}}"
