"""The bracket of a worst case: known values, a literal twin of its program, and runs inside it."""

import json
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dfltheory as dfl
from dfltheory import cli
from dfltheory.analysis import worst_case
from dfltheory.analysis.reading import measured
from dfltheory.analysis.worst_case import Program, bracket
from dfltheory.analysis.worst_case.certificate import certified, positive, upper
from dfltheory.analysis.worst_case.program import MissingExtraError
from dfltheory.errors import InputError

pytest.importorskip("cvxpy")
MEAN = dfl.bounds.get("dfedsam.theorem_4_5", "corrected")
LEAST = replace(MEAN, lhs=replace(MEAN.lhs, aggregate="min"))
ONE = {"L": 1.0, "f0_gap": 1.0, "sigma_g": 0.5, "eta": 0.1, "K": 1, "T": 3, "lam": 0.5}


def solved(theorem, **values):
    """The program's certified value, without a search from below."""
    known = {"Q": 1, "rho": 0.0, "m": 2, "rho0": 0.0} | ONE | values
    program = Program.of(theorem, worst_case.algorithm(theorem, known), known)
    value, proved, status = upper(program)
    assert status in ("optimal", "optimal_inaccurate")
    assert proved == pytest.approx(value, rel=5e-3)
    return proved


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("N", [1, 4])
def test_clients_that_are_one_function_have_the_known_worst_case_of_gradient_descent(N, lam):
    # eta = 1/L, min over x^0..x^N: 4 L (f0 - f*)/(3 N + 2)   (Abbaszadehpeivasti, de Klerk, Zamani 2022)
    found = solved(LEAST, T=N + 1, L=2.0, f0_gap=3.0, eta=0.5, sigma_g=0.0, lam=lam)
    exact = 4 * 2.0 * 3.0 / (3 * N + 2)
    assert exact * (1 - 1e-6) <= found <= exact * (1 + 5e-3)  # lam = 1 leaves the program without an interior


def test_where_all_meet_in_every_round_one_local_step_is_gradient_descent_for_any_diversity():
    assert solved(LEAST, T=2, eta=1.0, sigma_g=3.0, lam=0.0) == pytest.approx(4 / 5, rel=1e-5)


def test_the_first_round_is_the_trivial_bound_and_is_reached():
    found = bracket(MEAN, **ONE | {"T": 1, "L": 2.0, "f0_gap": 3.0}, seconds=0.5)
    assert found.upper == pytest.approx(2 * 2.0 * 3.0, rel=1e-6)
    assert found.lower == pytest.approx(found.upper, rel=1e-3)
    assert found.accurate


def test_the_network_is_felt_in_the_third_round_first():
    # lam = 1, K = 1, one common start: the mean of x^1 has moved by eta g^0 as in gradient descent, so that
    # the network is felt at x^2 first
    two = [solved(MEAN, T=2, lam=lam, sigma_g=1.0) for lam in (0.2, 0.9)]
    assert two[0] == pytest.approx(two[1], rel=5e-4)
    four = [solved(MEAN, T=4, lam=lam, sigma_g=1.0, eta=0.125) for lam in (0.5, 0.9)]
    assert four[0] < four[1] * (1 - 2e-3)


def test_a_given_network_is_no_worse_than_its_class():
    W = np.array([[0.75, 0.25], [0.25, 0.75]])
    given = of_network(W, eta=0.1, T=2, sigma_g=0.5)
    assert given <= solved(MEAN, T=2) * (1 + 1e-4)
    one = of_network(np.eye(1), eta=1.0, T=2, sigma_g=0.0)
    assert one == pytest.approx(solved(MEAN, T=2, eta=1.0, sigma_g=0.0, lam=0.0), rel=1e-3)


def test_without_the_extra_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvxpy", None)
    with pytest.raises(MissingExtraError, match=r"\[pep\]"):
        solved(MEAN, T=1)


def of_network(W, eta, T, sigma_g):
    """The largest mean over T rounds of ||grad f(xbar^t)||^2 of gossip on one W, L = f0_gap = 1, by PEPit."""
    pytest.importorskip("PEPit")
    from PEPit import PEP, Expression
    from PEPit.functions import SmoothFunction

    problem, m, f_star, squares = PEP(), len(W), Expression(), []
    clients = [problem.declare_function(SmoothFunction, L=1.0) for _ in range(m)]
    x = m * [problem.set_initial_point()]
    total = lambda parts: sum(parts[1:], parts[0]) / m  # noqa: E731 - PEPit's points do not add to 0
    for t in range(T):
        slopes, values = zip(*(f.oracle(total(x)) for f in clients), strict=True)
        slope, value = total(slopes), total(values)
        problem.add_constraint(f_star <= value - slope**2 / 2)
        problem.add_constraint(total([(g - slope) ** 2 for g in slopes]) <= sigma_g**2)
        if t == 0:
            problem.set_initial_condition(value - f_star <= 1)
        squares.append(slope**2)
        z = [y - eta * f.gradient(y) for f, y in zip(clients, x, strict=True)]
        x = [m * total([float(w) * y for w, y in zip(row, z, strict=True)]) for row in W]
    problem.set_performance_metric(sum(squares[1:], squares[0]) / T)
    return float(problem.solve(wrapper="cvxpy", solver="CLARABEL", verbose=0))


def test_one_network_for_all_rounds_is_no_worse_than_any():
    fixed = replace(MEAN, scope=replace(MEAN.scope, sequence=("fixed",)))
    values = {"T": 4, "sigma_g": 3.0, "eta": 1.0, "lam": 0.9}
    assert solved(MEAN, **values) == pytest.approx(5.5436, rel=5e-3)
    assert solved(fixed, **values) == pytest.approx(3.8843, rel=5e-3)
    run = bracket(fixed, **ONE | values, seconds=0.5)
    assert 0.5 < run.lower <= run.upper


def test_runs_lie_inside_and_the_theorem_outside():
    found = bracket(MEAN, **ONE | {"K": 2, "eta": 0.04}, seconds=2, seed=1)
    assert 1.7 < found.lower <= found.upper < 1.72 < found.bound
    h = found.instance.run(rounds=3, progress=False)
    assert h.grad_norm_sq[0, :3].mean() == pytest.approx(found.lower, rel=1e-12)
    assert float(h.constants.L) <= 1 + 1e-6
    assert float(h.constants.sigma_g) <= 0.5 * (1 + 1e-6)
    assert float(h.loss[0, 0] - h.constants.f_star) <= 1 + 1e-6


def test_duals_and_local_momentum_are_run_on_coordinates_as_they_are_on_numbers():
    # x of a run is the same linear function of its gradients as the trace says
    theorem = dfl.bounds.get("dfedadmm.theorem_1", "corrected")
    known = ONE | {"Q": 1, "rho": 0.0, "m": 2, "rho0": 0.0, "lam_admm": 0.25, "K": 2, "B": 1.0}
    made = worst_case.algorithm(theorem, known)
    program = Program.of(theorem, made, known)
    task = dfl.tasks.Quadratic(np.eye(1), np.array([[1.0], [1.0]]))
    h = dfl.train(made, task, np.full((2, 2), 0.5), rounds=3, progress=False)
    g = np.zeros(program.n)  # of x^2/2 - x along the trace: identical clients, so that means are all there is
    for k, point in enumerate(program.points):
        g[k] = point[: program.n] @ g - 1.0
    assert g[program.asked] ** 2 == pytest.approx(measured(h, "grad_norm_sq_w")[0, :3], rel=1e-12)


def test_a_matrix_is_positive_by_exact_elimination():
    third = Fraction(1, 3)
    singular = np.array([[third, third], [third, third]], dtype=object)
    assert positive(singular)
    singular[1, 1] -= Fraction(1, 10**30)
    assert not positive(singular)
    assert not positive(np.array([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(5)]]))


def test_multipliers_that_prove_nothing_are_told():
    known = {"Q": 1, "rho": 0.0, "m": 2, "rho0": 0.0} | ONE
    program = Program.of(MEAN, worst_case.algorithm(MEAN, known), known)
    good = program.solve(False)
    wrong = replace(good, rules=0 * good.rules)
    assert certified(program, wrong, replace(wrong, weights=np.zeros(0))) is None


@pytest.mark.parametrize(
    ("key", "variant", "values", "said"),
    [
        ("dfedsam.theorem_4_5", "corrected", {"rho": 0.1}, "without noise and SAM"),
        ("dfedsam.theorem_4_5", "corrected", {"sigma_l": 0.1}, "omit sigma_l"),
        ("dfedsam.theorem_4_5", "corrected", {"f0_gap": 0}, "f0_gap = 0"),
        ("dfedsam.theorem_4_5", "corrected", {"T": 1e6}, "more than 60 gradients"),
        ("dfedsam.theorem_4_5", "corrected", {"lam": 2}, r"lam = 2 .* must be in \[0, 1\)"),
        ("dfedsam.theorem_4_5", "corrected", {"mu_": 2}, "mu_ is not in the glossary"),
        ("dfedsam.corollary_4_6", "corrected", {"eta": 0.1}, "its own eta"),
        ("dfedmdc.theorem_1", "corrected", {}, "two_block"),
        ("dfedsgpsm.theorem_1", "corrected", {}, "another law"),
        ("pepit.gradient_descent", "printed", {}, "another law"),
    ],
)
def test_what_is_not_modeled_is_refused_in_one_line(key, variant, values, said):
    with pytest.raises(InputError, match=said):
        bracket(key, variant, **ONE | values)


def test_what_is_missing_is_named_and_rounds_that_are_not_linear_are_refused():
    few = {n: v for n, v in ONE.items() if n not in ("L", "sigma_g")}
    with pytest.raises(InputError, match="needs L, sigma_g"):
        bracket(MEAN, **few)
    known = {"Q": 1, "rho": 0.1, "m": 2, "rho0": 0.0} | ONE
    with pytest.raises(InputError, match="not linear in the gradients"):
        Program.of(MEAN, worst_case.algorithm(MEAN, known), known)


def test_the_command_tells_both_ends_and_the_bound(capsys):
    words = [f"{n}={v}" for n, v in (ONE | {"T": 2}).items()]
    line = [
        "worst-case",
        "dfedsam.theorem_4_5",
        "--variant",
        "corrected",
        "--seconds",
        "0.3",
        "--set",
        *words,
    ]
    assert cli.run(line) == 0
    assert "certified in rational arithmetic" in capsys.readouterr().out
    assert cli.run([*line, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lower"] <= told["upper"] < told["bound"]
    assert told["accurate"] is True
