"""Experiment files: their meaning, and error messages for invalid ones."""

import copy
import hashlib
import math
import re
import tomllib
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from dfltheory import algorithms, graphs
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError
from dfltheory.experiments.cases import perform
from dfltheory.experiments.experiment_file import load_experiment, read_experiment
from dfltheory.experiments.schema import FILE_SECTIONS
from dfltheory.identity import value_digest
from dfltheory.training.document import short_label
from dfltheory.training.options import (
    document_type,
    options_of,
    section_names,
)
from dfltheory.verdicts.simultaneous_limits import ENOUGH_SEEDS
from dfltheory.verdicts.statistics import Method
from tests.experiments.documents import BASE, KEY, changed
from validation.pages.config import MARK, fields_page, meaning, renew, words

PAGE = Path(__file__).parents[2] / "docs" / "experiment-files.md"


def only(document):
    plan = read_experiment(document, "x.toml")
    assert len(plan.cells) == 1
    return plan.cells[0]


# -- meaning of a file


def test_a_file_becomes_the_objects_that_it_names(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("""
        title = "one"
        [task]
        name = "quadratic"
        m = 4
        d = 3
        L = 2.0
        dtype = "float32"
        [topology]
        name = "path"
        weights = "max-degree"
        [algorithm]
        name = "DFedSAM"
        eta = 0.05
        K = 2
        Q = 3
        [run]
        rounds = 7
        seeds = 3
        seed = 11
        evaluate_every = 2
        """)
    setup = load_experiment(path).instance()
    assert (setup.task.m, setup.task.d, setup.task.constants.L) == (
        4,
        3,
        pytest.approx(2.0, rel=1e-6),
    )
    assert setup.task.dtype == torch.float32
    assert setup.algorithm == algorithms.DFedSAM(eta=0.05, K=2, Q=3)
    np.testing.assert_array_equal(
        setup.network.matrix(0, None), graphs.max_degree(graphs.path(4))
    )
    run = setup.run(progress=False)
    assert run.rounds_measured.tolist() == [0, 2, 4, 6, 7]
    assert (run.rounds, run.seeds, run.seed) == (7, 3, 11)


def test_undirected_topology_has_metropolis_weights_by_default():
    W = only(changed(topology={"name": "star"})).instance().network.matrix(0, None)
    np.testing.assert_array_equal(W, graphs.metropolis(graphs.star(4)))


def test_sequences_are_topologies_too():
    setup = only(changed(topology={"name": "random-neighbors", "k": 2})).instance()
    assert (setup.network.m, setup.network.k, setup.network.random) == (4, 2, True)
    assert setup.run(progress=False).rounds == 5


def test_changes_take_the_place_of_the_files_values(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        '[task]\nname="quadratic"\n[algorithm]\nname="local"\neta=0.1\nK=1\n'
    )
    cell = load_experiment(path, {"run.rounds": 3, "algorithm.K": 4}).cell
    assert (cell["run"]["rounds"], cell["algorithm"]["K"], cell.title) == (3, 4, "x")


def test_matrix_file_is_relative_to_the_experiment_file_and_its_content_is_hashed(
    tmp_path,
):
    W = graphs.lazy(graphs.ring(4))
    np.save(tmp_path / "W.npy", W)
    path = tmp_path / "x.toml"
    path.write_text(
        '[task]\nname="quadratic"\nm=4\n[topology]\nfile="W.npy"\n'
        '[algorithm]\nname="dfedavg"\neta=0.1\nK=1\n[run]\nrounds=1\n'
    )
    cell = load_experiment(path).cell
    np.testing.assert_array_equal(cell.instance().network.matrix(0, None), W)
    before = value_digest(cell.document())
    np.save(tmp_path / "W.npy", graphs.metropolis(graphs.ring(4)))
    assert value_digest(load_experiment(path).cell.document()) != before


def test_an_algorithm_with_a_server_has_no_topology():
    cell = only(changed() | {"algorithm": {"name": "fedavg", "eta": 0.1, "K": 1}})
    assert not cell["topology"]
    assert "topology" not in cell.document()
    assert cell.instance().run(progress=False).rounds == 5


def test_the_schedule_fills_what_the_file_leaves_out():
    T, K, L, rho0 = 150, 3, 2.0, 0.7
    cell = only(
        changed(
            task={"L": L},
            algorithm=None,
            run={"rounds": T},
            theorem={"key": KEY, "schedule": True, "constants": {"rho0": rho0}},
        )
        | {"algorithm": {"name": "dfedsam", "K": K}}
    )
    made = cell.instance().algorithm
    # Corollary 4.6: eta = 1/(L sqrt(KT)), rho = rho0/sqrt(T)
    assert made.eta == pytest.approx(
        1 / (cell.instance().task.constants.L * math.sqrt(K * T)), rel=1e-12
    )
    assert made.rho == pytest.approx(rho0 / math.sqrt(T), rel=1e-12)


def test_a_schedule_for_two_blocks_refuses_a_task_that_has_none():
    theorem = {"key": "dfedmdc.theorem_1", "schedule": True, "variants": ["corrected"]}
    algorithm = {"name": "dfedmdc", "K_u": 2, "K_v": 2}
    with pytest.raises(
        InputError,
        match=r"x\.toml: .*quadratic",
    ):
        only(changed(theorem=theorem) | {"algorithm": algorithm}).instance()
    task = {"name": "coupled", "m": 4}
    made = only(
        changed(theorem=theorem) | {"algorithm": algorithm, "task": task}
    ).instance()
    assert made.algorithm.eta_u > 0


def test_a_step_size_in_the_file_wins_over_the_schedule():
    theorem = {"key": KEY, "schedule": True, "constants": {"rho0": 1.0}}
    made = only(changed(theorem=theorem, algorithm={"eta": 0.01})).instance().algorithm
    assert (made.eta, made.rho) == (0.01, 0.01)


def test_a_schedule_that_lacks_a_constant_says_which():
    theorem = {"key": KEY, "schedule": True}
    cell = only(changed(theorem=theorem) | {"algorithm": {"name": "dfedsam", "K": 2}})
    with pytest.raises(
        InputError,
        match=r"x\.toml: .*rho0.*\[theorem\.constants\]",
    ):
        cell.instance()


def test_verdicts_use_the_files_variants_confidence_and_constants():
    theorem = {"key": KEY, "variants": ["corrected", "printed"], "confidence": 0.9}
    cell = only(
        changed(
            theorem=theorem | {"constants": {"sigma_g": 123.0}}, algorithm={"eta": 1e-3}
        )
    )
    outcome = perform(cell.case())
    run, verdicts = outcome.run, outcome.verdicts
    assert [v.variant for v in verdicts] == ["corrected", "printed"]
    assert {v.confidence for v in verdicts} == {0.9}
    plain = only(changed(theorem=theorem, algorithm={"eta": 1e-3}))
    without = perform(plain.case()).verdicts
    assert verdicts[0].terms["drift"] > 10 * without[0].terms["drift"]
    assert run.seeds == 2


def test_verdicts_use_the_files_method():
    theorem = {"key": KEY, "variants": ["corrected"]}
    verdicts = {}
    for method in get_args(Method):
        cell = only(
            changed(
                theorem=theorem | {"method": method},
                run={"seeds": ENOUGH_SEEDS, "rounds": 3},
            )
        )
        (verdicts[method],) = perform(cell.case()).verdicts
        assert verdicts[method].method == cell.document()["theorem"]["method"] == method
    assert verdicts["student"].measured.high != verdicts["bootstrap"].measured.high
    default = only(changed(theorem=theorem))
    assert default.document()["theorem"]["method"] == "student"


# -- the grid


def settings_of(sweep):
    return [
        dict(cell.settings)
        for cell in read_experiment(changed(sweep=sweep), "x.toml").cells
    ]


def test_cells_are_all_combinations_in_the_order_of_the_file():
    found = settings_of({"topology.name": ["ring", "star"], "algorithm.K": [1, 2, 3]})
    assert found == [
        {"topology.name": n, "algorithm.K": k}
        for n in ("ring", "star")
        for k in (1, 2, 3)
    ]


def test_bare_and_quoted_keys_mean_the_same():
    bare = tomllib.loads(
        "[sweep]\nrun.rounds = [1, 2]\ntheorem.constants.rho0 = [1.0]"
    )["sweep"]
    theorem = {"key": KEY}
    plan = read_experiment(changed(sweep=bare, theorem=theorem), "x.toml")
    assert [c["run"]["rounds"] for c in plan.cells] == [1, 2]
    assert plan.cells[0]["theorem"]["constants"] == {"rho0": 1.0}


def test_fields_that_move_together():
    plan = read_experiment(
        changed(sweep={"run.rounds, algorithm.eta": [[3, 0.1], [9, 0.2]]}), "x.toml"
    )
    assert [(c["run"]["rounds"], c["algorithm"]["eta"]) for c in plan.cells] == [
        (3, 0.1),
        (9, 0.2),
    ]


def test_a_section_is_laid_over_what_is_there():
    tables = [{"name": "dfedavg"}, {"name": "dfedsam", "rho": 0.5}]
    base = changed(sweep={"algorithm": tables}) | {"algorithm": {"eta": 0.1, "K": 2}}
    plan = read_experiment(base, "x.toml")
    assert plan.cells[0]["algorithm"] == {"name": "dfedavg", "eta": 0.1, "K": 2}
    assert plan.cells[1]["algorithm"] == {
        "name": "dfedsam",
        "eta": 0.1,
        "K": 2,
        "rho": 0.5,
    }


def test_sweeping_does_not_touch_the_document():
    document = changed(sweep={"algorithm.K": [1, 2]})
    kept = copy.deepcopy(document)
    read_experiment(document, "x.toml")
    assert document == kept


def test_one_experiment_is_not_a_sweep(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        '[task]\nname="quadratic"\n[algorithm]\nname="local"\neta=0.1\nK=1\n[sweep]\nrun.seed=[1,2]\n'
    )
    with pytest.raises(InputError, match=r"\[sweep\] of 2"):
        load_experiment(path).instance()


def test_cases_stand_in_columns_along_the_first_axis():
    theorem = {"key": KEY, "variants": ["printed"]}
    document = changed(
        theorem=theorem,
        sweep={"topology.name": ["ring", "star"], "algorithm.Q": [1, 2]},
    )
    cases = read_experiment(document, "x.toml").cases()
    assert [(c.column, c.row) for c in cases] == [
        ("ring", "algorithm.Q = 1"),
        ("ring", "algorithm.Q = 2"),
        ("star", "algorithm.Q = 1"),
        ("star", "algorithm.Q = 2"),
    ]
    assert [c.instance.algorithm.Q for c in cases] == [1, 2, 1, 2]
    assert cases[0].variants == ("printed",)


def test_a_case_needs_a_theorem():
    with pytest.raises(InputError, match=r"x\.toml: .*\[theorem\]"):
        read_experiment(BASE, "x.toml").cases()


# -- rejected input

UNKNOWN = [
    (changed(rnu={"rounds": 3}), "no field", "run"),
    (changed(run={"round": 3}), "run: no field", "rounds"),
    (
        changed(theorem={"key": KEY, "variant": ["printed"]}),
        "theorem: no field",
        "variants",
    ),
    (
        changed(theorem={"key": "dfedsam.theorem_45"}),
        "theorem: no theorem",
        "dfedsam.theorem_4_5",
    ),
    (
        changed(theorem={"key": KEY, "variants": ["pinted"]}),
        "theorem: no variant",
        "printed",
    ),
    (changed(task={"name": "quadratc"}), "task.name: no task", "quadratic"),
    (changed(task={"sigm": 0.1}), "task: no field", "sigma"),
    (changed(topology={"name": "rnig"}), "topology.name: no topology", "ring"),
    (
        changed(topology={"name": "torus", "side": [2, 2]}),
        "topology: no field",
        "sides",
    ),
    (
        changed(topology={"weights": "metropols"}),
        "topology.weights: no weight rule",
        "metropolis",
    ),
    (changed(algorithm={"name": "dfedsma"}), "algorithm.name: no algorithm", "dfedsam"),
    (changed(algorithm={"rh": 0.1}), "algorithm: no field", "rho"),
    (changed(sweep={"rnu.rounds": [1]}), "no section", "run"),
    (changed(sweep={"run.round": [1]}), "run: no field", "rounds"),
    (changed(sweep={"title": ["a"]}), "no section", ""),
]


@pytest.mark.parametrize(("document", "place", "nearest"), UNKNOWN)
def test_unknown_names_are_refused_with_the_nearest(document, place, nearest):
    with pytest.raises(
        UnknownNameError, match=rf"^x\.toml(?: \(.*\))?: {re.escape(place)}"
    ) as refused:
        read_experiment(document, "x.toml")
    assert nearest in str(refused.value)
    assert "\n" not in str(refused.value)


WRONG = [
    (changed(run={"rounds": 0}), "run.rounds"),
    (changed(run={"rounds": True}), "run.rounds"),
    (changed(run={"seeds": 2.0}), "run.seeds"),
    (changed(run={"seeds": []}), "run.seeds"),
    (changed(run={"seeds": [1, 1]}), "run.seeds"),
    (changed(run={"seeds": [1, -1]}), "run.seeds[1]"),
    (changed(run={"seed": -1}), "run.seed"),
    (changed(run={"x0": [[1.0, 2.0], [1.0]]}), "run.x0"),
    (changed(run={"x0": [[1.0, 2.0], [1.0, "a"]]}), "run.x0[1][1]"),
    (changed(run={"keep_models": 1}), "run.keep_models"),
    (changed(run=3), "run"),
    (changed(title=3), "title"),
    (changed(task=None), "task.name"),
    (changed(task={"m": "4"}), "task.m"),
    (changed(task={"m": True}), "task.m"),
    (changed(task={"sigma": math.nan}), "task.sigma"),
    (changed(task={"hessians": "any"}), "task.hessians"),
    (changed(algorithm={"K": 0}), "algorithm.K"),
    (changed(algorithm={"K": 1.5}), "algorithm.K"),
    (changed(algorithm={"rho": -0.1}), "algorithm.rho"),
    (changed() | {"algorithm": {"name": "dfedsam"}}, "algorithm.eta"),
    (changed(topology=None), "topology"),
    (changed(topology={"file": "W.npy"}), "topology"),
    (changed() | {"topology": {}}, "topology"),
    (changed() | {"topology": {"file": "W.npy"}}, "topology.file"),
    (changed() | {"topology": {"matrix": [[1.0, 0.0]]}}, "topology.matrix"),
    (changed(theorem={}), "theorem.key"),
    (changed(theorem={"key": KEY, "method": "bootstrp"}), "theorem.method"),
    (
        changed(theorem={"key": KEY, "method": "bootstrap"}, run={"seeds": 7}),
        "theorem.method, run.seeds",
    ),
    (changed(theorem={"key": KEY, "confidence": 1}), "theorem.confidence"),
    (changed(theorem={"key": KEY, "variants": []}), "theorem.variants"),
    (changed(theorem={"key": KEY, "constants": {"L": "1"}}), "theorem.constants.L"),
    (changed(sweep=[1]), "sweep"),
    (changed(sweep={"run.rounds": 3}), "sweep.'run.rounds'"),
    (changed(sweep={"run.rounds": []}), "sweep.'run.rounds'"),
    (changed(sweep={"run.rounds": [3, 3]}), "sweep.'run.rounds'"),
    (
        changed(sweep={"run.rounds": [3], "run.rounds, run.seed": [[1, 2]]}),
        "sweep.'run.rounds, run.seed'",
    ),
    (changed(sweep={"algorithm.K": [1], "algorithm": [{"K": 2}]}), "sweep.'algorithm'"),
    (changed(sweep={"run.rounds, run.seed": [[1]]}), "sweep.'run.rounds, run.seed'"),
    (changed(sweep={"algorithm": ["dfedsam"]}), "algorithm"),
    (changed(sweep={"task.name.x": [1]}), "task.name.x"),
    (changed(sweep={"run.rounds": [1, 0]}), "run.rounds"),
    (changed(sweep={"algorithm.K": [1, 0]}), "algorithm.K"),
]


@pytest.mark.parametrize(("document", "place"), WRONG)
def test_wrong_values_are_refused_with_file_and_field(document, place):
    with pytest.raises(
        InputError, match=rf"^x\.toml(?: \(.*\))?: {re.escape(place)}: "
    ) as refused:
        read_experiment(document, "x.toml")
    assert "\n" not in str(refused.value)


def test_cell_of_a_sweep_is_named_by_its_settings():
    with pytest.raises(
        InputError, match=r"^x\.toml \(algorithm\.K = 0\): algorithm\.K: "
    ):
        read_experiment(changed(sweep={"algorithm.K": [1, 0]}), "x.toml")


def test_only_cell_of_a_sweep_is_not_named_by_its_settings():
    with pytest.raises(InputError, match=r"^x\.toml: algorithm\.K: "):
        read_experiment(changed(sweep={"algorithm.K": [0]}), "x.toml")


def test_cell_without_a_file_is_named_without_parentheses():
    with pytest.raises(InputError, match=r"^algorithm\.K = 0: algorithm\.K: "):
        read_experiment(changed(sweep={"algorithm.K": [1, 0]}), "")


def test_files_that_are_no_experiment_files(tmp_path):
    with pytest.raises(InputError, match=r"none\.toml"):
        load_experiment(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[task\n")
    with pytest.raises(InputError, match=r"bad\.toml.*line 1"):
        load_experiment(tmp_path / "bad.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"binary\.toml"):
        load_experiment(tmp_path / "binary.toml")


FIELDS = [(s, f) for s, table in BASE.items() for f in table] + [
    ("theorem", "key"),
    ("sweep", "run.rounds"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.sampled_from(FIELDS), VALUES)
def test_whatever_a_file_says_it_is_read_or_every_problem_has_one_line(place, value):
    section, name = place
    document = copy.deepcopy(BASE)
    document.setdefault(section, {})[name] = value
    message = "x.toml"
    try:
        read_experiment(document, "x.toml")
    except DFLTheoryError as refused:
        message = str(refused)
    assert all(line.startswith("x.toml") for line in message.split("\n"))


# -- the name of a configuration


def test_the_hash_is_that_of_the_canonical_json():
    canonical = '{"a":1,"b":{"c":0.5,"d":[1,"x"]}}'
    expected = hashlib.sha256(canonical.encode()).hexdigest()[:16]
    assert value_digest({"b": {"d": [1.0, "x"], "c": 0.5}, "a": 1}) == expected


def hash_of(document):
    return value_digest(only(document).document())


def test_defaults_spelling_titles_and_folders_do_not_count():
    spelled = changed(
        algorithm={"Q": 1, "decay": 1.0}, run={"seed": 0}, task={"mu": 0.1}
    )
    other = changed(algorithm={"name": "DFedSAM"}) | {"title": "another"}
    assert hash_of(spelled) == hash_of(other) == hash_of(BASE)
    here, there = (
        BASE | {"task": {"name": "digits", "data_root": at}} for at in ("here", "there")
    )
    assert hash_of(here) == hash_of(there)


@pytest.mark.parametrize(
    ("section", "field", "value"),
    [
        ("task", "sigma", 0.3),
        ("task", "seed", 1),
        ("task", "m", 5),
        ("topology", "name", "star"),
        ("topology", "weights", "lazy"),
        ("algorithm", "eta", 0.06),
        ("algorithm", "Q", 2),
        ("algorithm", "weight_decay", 0.1),
        ("run", "rounds", 6),
        ("run", "seeds", 3),
        ("run", "seed", 1),
        ("run", "evaluate_every", 2),
        ("run", "keep_models", True),
    ],
)
def test_everything_that_moves_the_numbers_moves_the_hash(section, field, value):
    assert hash_of(changed(**{section: {field: value}})) != hash_of(BASE)


# -- types and documentation


def test_every_default_fits_its_own_type():
    for section in ("task", "topology", "algorithm"):
        for name in section_names(section):
            for about in options_of(section, name).values():
                if (
                    isinstance(about.default, (bool, int, float, str))
                    and not about.required
                ):
                    TypeAdapter(document_type(about.hint)).validate_python(
                        about.default, strict=True
                    )


@pytest.mark.parametrize(
    ("hint", "said", "good", "bad"),
    [
        (int, "an integer", 3, 3.0),
        (float, "a number", 3, "3"),
        (bool, "true or false", True, 1),
        (str | None, "text", "a", 1),
        (str | torch.nn.Module, "text", "a", 1),
        (tuple[int, int] | None, "a list (an integer each)", [1, 2], [1, 2.5]),
        (torch.dtype, "text", "float32", 32),
        (torch.nn.Module, "a value", None, 3),
    ],
)
def test_types_of_parameters_in_documents(hint, said, good, bad):
    kind = TypeAdapter(document_type(hint))
    assert words(kind.json_schema()) == said
    if good is not None:
        kind.validate_python(good, strict=True)
    with pytest.raises(ValidationError):
        kind.validate_python(bad, strict=True)


def test_a_dtype_that_torch_does_not_have():
    with pytest.raises(InputError, match=r"task\.dtype = 'float31'"):
        only(changed(task={"dtype": "float31"})).instance()


def test_labels_are_short():
    assert short_label({"name": "dfedsam", "rho": 0.1}) == "dfedsam (rho = 0.1)"
    assert (short_label(1 / 3), short_label("ring"), short_label([1, 2])) == (
        "0.333333",
        "ring",
        "[1, 2]",
    )


def test_page_of_experiment_files_is_current(tmp_path):
    handwritten, _, generated = PAGE.read_text(encoding="utf-8").partition(MARK)
    renewal = "renew it: python -m validation.pages.config docs/experiment-files.md"
    assert generated.strip() == fields_page().strip(), renewal
    copied = tmp_path / "page.md"
    copied.write_text(f"{handwritten}{MARK}\nold\n")
    renew(copied)
    assert copied.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_every_field_and_option_is_documented():
    page = fields_page()
    for model in FILE_SECTIONS.values():
        for name, field in model.model_fields.items():
            assert f"`{name}`" in page
            assert len(field.description) > 5
    assert set(FILE_SECTIONS) == set(re.findall(r"### `\[(\w+)\]`", page)) - {"sweep"}
    assert all(meaning("task", name) for name in section_names("task"))
    for section in ("algorithm", "topology"):
        meanings = " ".join(meaning(section, name) for name in section_names(section))
        options = {
            option
            for name in section_names(section)
            for option in options_of(section, name)
        }
        silent = {
            option for option in options if not re.search(rf"\b{option}\b", meanings)
        }
        # decay and weight_decay are explained once, in the base class
        assert silent <= {"decay", "weight_decay", "seed"}, section


def test_the_pages_examples_work(tmp_path):
    first, second, *_ = re.findall(
        r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S
    )
    (tmp_path / "topologies.toml").write_text(first)
    plan = load_experiment(tmp_path / "topologies.toml")
    assert len(plan.cells) == 8
    assert {c["run"]["rounds"] for c in plan.cells} == {1000, 4000}
    base = (
        first.partition("[sweep]")[0].replace("schedule = true", "")
        + '[topology]\nname = "ring"\n'
    )
    (tmp_path / "more.toml").write_text(base + second)
    cells = load_experiment(tmp_path / "more.toml").cells
    found = [
        (c["run"]["rounds"], c["algorithm"]["eta"], c["algorithm"]["name"])
        for c in cells
    ]
    assert found == [
        (t, e, a) for t, e in ((100, 0.1), (400, 0.05)) for a in ("dfedavg", "dfedsam")
    ]
