"""Statements use known names of measures, aggregates, algorithms, hyperparameters and
quantities.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, dataclass, fields, replace

import pytest
import sympy as sp

import dfltheory as dfl
from dfltheory.bounds import (
    GLOSSARY,
    Condition,
    Definition,
    LeftSide,
    Quantity,
    Scope,
    Theorem,
)
from dfltheory.bounds.algorithm_names import HYPERPARAMETERS_BY_CLASS, ONE_STEP
from dfltheory.bounds.document import theorem_from_document, theorem_to_document
from dfltheory.bounds.measures import KNOWN_MEASURES, MEASURES_OF_RUNS
from dfltheory.bounds.symbols import GRADIENT_SQ, LENGTH_SQ, VALUE
from dfltheory.bounds.units import ONE
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError
from dfltheory.verdicts.hyperparameters import hyperparameter_values
from dfltheory.verdicts.measures import DERIVED, METRICS
from tests.bounds.texts import STATEMENTS

PRINTED = dfl.bounds.get("wang_joshi2021.theorem_1_network")
S = {name: entry.symbol for name, entry in GLOSSARY.items()}
SCOPE = Scope(("DPSGD",), "symmetric", common_start=True)
STEP = Condition("step", S["eta"] * S["L"], sp.Integer(1))
UNKNOWN = sp.Symbol("zeta_own", positive=True)


def statement(**changes):
    given = {
        "key": "own.theorem",
        "variant": "printed",
        "kind": "theorem",
        "title": "a statement",
        "source": "a test",
        "lhs": LeftSide("grad_norm_sq", "X", "mean"),
        "parts": {"optimization": 2 * S["f0_gap"] / (S["eta"] * S["T"])},
        "conditions": (STEP,),
        "scope": SCOPE,
    }
    return Theorem(**given | changes)


# -- the tables are those of the package


def made(cls):
    """Return an algorithm with values for hyperparameters without a default."""
    values = {"K": 2, "K_u": 2, "K_v": 2}
    required = [
        f.name
        for f in fields(cls)
        if f.default is MISSING and f.default_factory is MISSING
    ]
    return cls(**{name: values.get(name, 0.5) for name in required})


def test_algorithms_and_their_hyperparameters_are_those_of_the_package():
    dfl.bounds.statements()
    found = {}
    for cls in dfl.algorithms.ALGORITHMS.values():
        algorithm = made(cls)
        names = {
            *hyperparameter_values(algorithm),
            *(f.name for f in fields(cls)),
            *algorithm.theory_values(8),
        }
        found[cls.__name__] = names
    assert {
        name: set(known.split()) for name, known in HYPERPARAMETERS_BY_CLASS.items()
    } == found


def test_measures_of_runs_are_those_that_runs_record():
    W, start = (
        dfl.graphs.metropolis(dfl.graphs.ring(4)),
        {"rounds": 1, "progress": False},
    )
    coupled = dfl.tasks.get("coupled", m=4, p=2, seed=1)
    plain = dfl.tasks.quadratic(m=4, d=2, seed=1)
    personal = dfl.algorithms.DFedMDC(eta_u=0.01, eta_v=0.01, K_u=1, K_v=1)
    runs = [
        dfl.train(personal, coupled, W, **start),
        dfl.train(dfl.algorithms.DFedADMM(eta=0.1, K=1, lam=0.5), plain, W, **start),
    ]
    recorded = {name for run in runs for name in run.measures()}
    of_examples = {"accuracy", "client_accuracy"}  # of tasks with test data
    assert recorded | of_examples | {*DERIVED, *METRICS} == set(MEASURES_OF_RUNS)


def test_measures_of_proofs_are_those_of_the_registry():
    used = {theorem.lhs.measure for theorem in STATEMENTS} & set(KNOWN_MEASURES)
    assert set(KNOWN_MEASURES) - set(MEASURES_OF_RUNS) == used - set(MEASURES_OF_RUNS)


# -- measures


@pytest.mark.parametrize(
    "measure", ["grad_nrom_sq", "grad_norm_sqq", "fgap", "consensu"]
)
def test_a_misspelled_measure_is_rejected_even_with_a_unit(measure):
    for unit in (None, GRADIENT_SQ):
        with pytest.raises(UnknownNameError, match="measure"):
            LeftSide(measure, "X", "mean", unit=unit)


def test_a_metric_of_ones_own_is_declared_by_its_unit():
    with pytest.raises(InputError, match="unit"):
        LeftSide("lyapunov", "X", "mean")
    assert LeftSide("lyapunov", "X", "mean", unit=VALUE).unit == VALUE
    with pytest.raises(InputError, match="latex"):
        LeftSide("lyapunov", aggregate="mean", unit=VALUE)


@pytest.mark.parametrize("measure", [None, "", 3])
def test_a_measure_is_text(measure):
    with pytest.raises(InputError, match="measure"):
        LeftSide(measure, "X", "mean", unit=VALUE)


def test_a_known_measure_has_its_unit():
    assert LeftSide("f_gap", "X", "mean").unit == VALUE
    assert LeftSide("dist_sq", "X", "mean", unit=LENGTH_SQ).unit == LENGTH_SQ
    with pytest.raises(InputError, match="unit"):
        LeftSide("f_gap", "X", "mean", unit=GRADIENT_SQ)
    with pytest.raises(InputError, match="unit"):
        LeftSide("f_gap", "X", "mean", unit="c")


@pytest.mark.parametrize(
    ("field", "value"),
    [("start", -1), ("start", 0.5), ("first", S["K"]), ("last", None)],
)
def test_the_other_fields_of_a_left_side_are_checked(field, value):
    with pytest.raises(DFLTheoryError, match=field):
        LeftSide("grad_norm_sq", "X", "mean", **{field: value})


# -- scopes


@dataclass(frozen=True)
class Own(dfl.algorithms.Algorithm):
    eta: float
    damping: float = 0.5


@pytest.mark.parametrize(
    "name", ["DPSDG", "dpsgd", "Own", "", ":Own", "module:", "module:3"]
)
def test_an_unknown_algorithm_is_rejected(name):
    with pytest.raises(DFLTheoryError, match="algorithm"):
        Scope((name,), "symmetric")


def test_an_algorithm_is_a_class_or_text():
    for algorithm in (Own(eta=0.1), 5, None):
        with pytest.raises(InputError, match="algorithms"):
            Scope((algorithm,), "symmetric")


def test_algorithms_of_ones_own_are_accepted():
    assert Scope((Own,), "symmetric", hyperparameters={"damping": 0.5}).covers(
        Own(eta=0.1)
    )
    assert Scope(
        ("mine.py:Own",), "symmetric", hyperparameters={"anything": 0.5}
    ).names == ("Own",)


@pytest.mark.parametrize(
    "algorithms", [("DPSGD",), (Own,), (dfl.algorithms.DPSGD,), ("DPSGD", Own)]
)
def test_an_unknown_hyperparameter_is_rejected(algorithms):
    with pytest.raises(UnknownNameError, match="hyperparameter"):
        Scope(algorithms, "symmetric", hyperparameters={"ordre": "adapt-then-combine"})
    Scope(algorithms, "symmetric", hyperparameters={"eta": 0.5})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("network", "symetric"),
        ("network", ["symmetric"]),
        ("hyperparameters", None),
        ("notation", ["L"]),
        ("participation", "half"),
        ("common_start", "yes"),
        ("two_blocks", 1),
    ],
)
def test_the_other_fields_of_a_scope_are_checked(field, value):
    with pytest.raises(DFLTheoryError, match=field):
        Scope(**{"algorithms": ("DPSGD",), "network": "symmetric", field: value})


# -- theorems


@pytest.mark.parametrize("kind", ["Theorem", "theorm", "", None, ["theorem"]])
def test_an_unknown_kind_is_rejected(kind):
    with pytest.raises(DFLTheoryError, match="kind"):
        statement(kind=kind)


def test_carried_quantities_and_notation_are_those_of_the_theorem():
    delay = Quantity("delay_own", r"\tau", ONE, "delay, in rounds", integer=True)
    carried = LeftSide("grad_norm_sq", "X", "mean", carries=("delay_own",))
    written = Scope(("DPSGD",), "symmetric", notation={"delay_own": "d"})
    stated = statement(
        lhs=carried, scope=written, parts={"all": delay.symbol}, quantities=(delay,)
    )
    assert "d" in stated.latex()
    with pytest.raises(UnknownNameError, match="carries"):
        statement(lhs=carried)
    with pytest.raises(UnknownNameError, match="notation"):
        statement(scope=written)


@pytest.mark.parametrize("field", ["key", "variant", "title", "source"])
def test_names_are_text(field):
    for value in ("", None, 3):
        with pytest.raises(InputError, match=field):
            statement(**{field: value})


@pytest.mark.parametrize("parts", [{}, None, (S["L"],), {"": S["L"]}, {3: S["L"]}])
def test_a_bound_has_terms(parts):
    with pytest.raises(InputError, match="parts"):
        statement(parts=parts)


@pytest.mark.parametrize(
    "term", [None, True, "L", sp.Le(S["L"], 1), sp.Matrix([1]), sp.nan]
)
def test_a_term_is_an_expression(term):
    with pytest.raises(InputError, match="optimization"):
        statement(parts={"optimization": term})


@pytest.mark.parametrize(
    "term",
    [
        sp.oo,
        sp.I * S["L"],
        sp.sqrt(sp.Integer(-1)) + S["L"],
        sp.Function("f")(S["L"]),
        sp.zeta(S["L"] + 1),
        sp.Sum(S["L"], (sp.Symbol("k"), 0, S["T"])),
        sp.Integral(S["L"], (sp.Symbol("k"), 0, 1)),
        sp.Derivative(sp.Function("f")(S["L"]), S["L"]),
        sp.Piecewise((S["L"], S["L"] > 1), (1, True)),
    ],
    ids=str,
)
def test_a_term_calls_known_functions_of_real_numbers(term):
    with pytest.raises(InputError, match="optimization contains"):
        statement(parts={"optimization": term})
    with pytest.raises(InputError, match="step contains"):
        statement(conditions=(Condition("step", term, sp.Integer(1)),))


@pytest.mark.parametrize(
    "function", [sp.exp, sp.log, sp.Abs, sp.sign, sp.floor, sp.ceiling, sp.sin, sp.tanh]
)
def test_known_functions_are_evaluated_and_audited(function):
    theorem = statement(parts={"optimization": function(S["eta"] * S["L"] + 2)})
    assert theorem.evaluate(eta=0.5, L=1.0) == pytest.approx(
        float(function(sp.Rational(5, 2)))
    )
    assert dfl.audit(theorem) is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"parts": {"noise": UNKNOWN}},
        {"conditions": (Condition("noise", S["eta"], 1 / UNKNOWN),)},
        {"schedule": {"eta": UNKNOWN}},
        {
            "definitions": (Definition(sp.Symbol("own"), UNKNOWN, "o"),),
            "parts": {"noise": sp.Symbol("own")},
        },
    ],
)
def test_a_symbol_that_is_nowhere_defined_is_rejected(changes):
    with pytest.raises(InputError, match=r"zeta_own.*quantities"):
        statement(**changes)


def test_symbols_that_are_defined_are_accepted():
    own, later = sp.Symbol("own"), sp.Symbol("later")
    first, second = (
        Definition(own, S["L"] ** 2, "o"),
        Definition(later, own / S["L"], "l"),
    )
    theorem = statement(definitions=(first, second), parts={"all": later})
    assert dfl.audit(theorem) is not None
    assert theorem.needs == ("eta", "L")
    with pytest.raises(InputError, match="own"):
        statement(definitions=(second, first), parts={"all": later})
    tau = Quantity("tau_own", r"\tau", ONE, "delay")
    assert "tau_own" in statement(parts={"all": tau.symbol}, quantities=(tau,)).needs


def test_a_theorem_brings_quantities_that_hold_for_it_alone():
    delay = Quantity("delay_own", r"\tau", ONE, "delay, in rounds", integer=True)
    theorem = statement(
        parts={"all": delay.symbol / S["T"]}, conditions=(), quantities=(delay,)
    )
    assert theorem.needs == ("T", "delay_own")
    assert theorem.evaluate(T=10, delay_own=5) == 0.5
    with pytest.raises(InputError, match="delay_own"):
        theorem.evaluate(T=10, delay_own=0.5)
    with pytest.raises(UnknownNameError, match="delay_own"):
        statement().evaluate(delay_own=5, **dict.fromkeys(statement().needs, 0.1))
    assert "delay_own" not in GLOSSARY


@pytest.mark.parametrize(
    "quantities",
    [
        [Quantity("own", "o", ONE, "a list")],
        ("own",),
        (Quantity("L", "L", ONE, "length of a queue"),),
        (Quantity("psi", r"\psi", ONE, "a symbol of the papers"),),
        (Quantity("no name", "n", ONE, "a blank"),),
        (Quantity("own", "o", ONE, "first"), Quantity("own", "o", ONE, "second")),
    ],
)
def test_quantities_that_a_theorem_cannot_bring_are_rejected(quantities):
    with pytest.raises(InputError):
        statement(quantities=quantities)


def test_a_symbol_that_only_shares_a_name_is_rejected():
    with pytest.raises(InputError, match="GLOSSARY"):
        statement(parts={"all": sp.Symbol("L")})


@pytest.mark.parametrize(
    "conditions",
    [
        "eta <= 1/L",
        ("eta <= 1/L",),
        STEP,
        (sp.Le(S["eta"], 1),),
        (Condition("step", "eta", 1),),
        (Condition("step", sp.Le(S["eta"], 1), sp.true),),
        (Condition("step", S["eta"], sp.Integer(1), strict="no"),),
        (Condition(None, S["eta"], sp.Integer(1)),),
        sp.Le(S["eta"], 1),
        None,
        5,
    ],
)
def test_a_condition_is_an_inequality_of_two_expressions(conditions):
    with pytest.raises(InputError, match=r"condition|step"):
        statement(conditions=conditions)


def test_a_schedule_gives_hyperparameters():
    with pytest.raises(InputError, match="schedule"):
        statement(schedule={"etaa": 1 / S["L"]})
    for schedule in (None, 5, {"L": S["K"]}, {"T": S["K"]}):
        with pytest.raises(InputError, match="schedule"):
            statement(schedule=schedule)
    own = Scope((Own,), "symmetric")
    assert statement(scope=own, schedule={"damping": sp.Rational(1, 2)}).schedule


def test_a_definition_does_not_redefine_a_quantity_of_the_glossary():
    for symbol in (S["L"], sp.Symbol("L")):
        with pytest.raises(InputError, match="definitions"):
            statement(definitions=(Definition(symbol, S["K"], "L"),))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("scope", None),
        ("lhs", "grad_norm_sq"),
        ("order", 1),
        ("of", "dfedsam.theorem_4_5"),
        ("assumptions", "smooth"),
        ("definitions", (1,)),
    ],
)
def test_the_other_fields_of_a_theorem_are_checked(field, value):
    with pytest.raises(InputError, match=field):
        statement(**{field: value})


# -- documents


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("lhs", "measure"), "grad_nrom_sq"),
        (("lhs", "aggregate"), "avg"),
        (("scope", "algorithms"), ["DPSDG"]),
        (("scope", "letters"), {"ordre": 1}),
        (("kind",), "theorm"),
        (("parts",), {}),
        (("schedule",), {"etaa": 1}),
    ],
)
def test_documents_have_the_same_checks(path, value):
    document = json.loads(json.dumps(theorem_to_document(statement())))
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(InputError, match=path[0]):
        theorem_from_document(document)


def test_carried_quantities_of_a_document_are_checked():
    document = json.loads(json.dumps(theorem_to_document(statement())))
    document["lhs"]["carries"] = ["l_u"]
    with pytest.raises(InputError, match="carries"):
        theorem_from_document(document)


def test_quantities_of_a_document_belong_to_its_theorem_alone():
    tau = Quantity("tau_own", r"\tau", ONE, "delay")
    stated = statement(parts={"all": tau.symbol}, quantities=(tau,))
    document = json.loads(json.dumps(theorem_to_document(stated)))
    with pytest.raises(InputError, match="etaa"):
        theorem_from_document(document | {"schedule": {"etaa": 1}})
    read = theorem_from_document(document)
    assert read.quantities == (tau,)
    assert "tau_own" in read.needs
    assert "tau_own" not in GLOSSARY


def test_statements_of_the_registry_survive_replacement():
    """All checks of the constructor pass again for each statement."""
    for theorem in dfl.bounds.statements():
        assert replace(theorem).bound == theorem.bound
        assert replace(theorem.lhs) == theorem.lhs


def test_local_steps_are_the_rounds_of_classes_whose_round_is_one_step():
    """With exact gradients, the mean model takes one step per round, whatever K is."""
    for name in ONE_STEP:
        kind = dfl.algorithms.get(name)
        local_steps = {f.name: 3 for f in fields(kind) if f.name == "K"}
        task = dfl.tasks.quadratic(m=4, d=2, zeta=0.0, sigma=0.0)
        network = dfl.graphs.ring(4) if kind.needs_topology else None
        algorithm = kind(eta=0.1, **local_steps)
        run = dfl.train(algorithm, task, network, rounds=1, seeds=1)
        first, last = run.loss[0, 0], run.loss[0, -1]
        step = dfl.algorithms.DPSGD(eta=0.1)
        one = dfl.train(step, task, dfl.graphs.ring(4), rounds=1, seeds=1)
        assert first == pytest.approx(one.loss[0, 0])
        assert last == pytest.approx(one.loss[0, -1])


@pytest.mark.parametrize(
    ("algorithm", "measure"),
    [
        ("CooperativeSGD", "grad_norm_sq"),
        ("DFedAvg", "grad_norm_sq at mean model, over local steps"),
    ],
)
def test_local_steps_are_measured_where_they_are_rounds(tmp_path, algorithm, measure):
    text = PRINTED.to_toml().replace('"CooperativeSGD"', f'"{algorithm}"')
    text = text.replace("[statement.left]", '[statement.left]\nover = "local steps"')
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert dfl.bounds.load(str(path)).lhs.measure == measure
