"""Invalid command lines end with one line and status 2, never with a traceback.

Command lines are generated from the commands themselves, so that new options are
covered automatically: every option with every value of a wrong type, every option
twice, every NAME=VALUE with unusual values, and random mixtures. Parsing, checks and
the construction of tasks, networks and algorithms are real. Long computations
(searches, studies, sweeps, downloads, audits) are skipped, and runs have two rounds.
"""

import dataclasses
import importlib
import random
import warnings

import pytest
import typer
from typer.core import TyperGroup

from dfltheory import cli
from dfltheory.checks import run
from dfltheory.errors import DFLTheoryError
from dfltheory.training.options import options_of, section_names

SET = """L=1 K=5 T=1000 Q=1 m=16 eta=0.005 rho=0.01 lam=0.8 sigma_l=1 sigma_g=1 f0_gap=1""".split()  # noqa: SIM905
LINES = {
    "train": {"--task": "quadratic", "--m": "4", "--rounds": "2"},
    "validate": {
        "--m": "4",
        "--rounds": "5",
        "--K": "1",
        "--topology": "ring",
        "--seeds": "2",
    },
    "bound": {"": "dfedsam.theorem_4_5", "--set": [f"--set={item}" for item in SET]},
    "compare": {
        "": ["run.csv", "dfedsam.theorem_4_5"],
        "--algorithm": "dfedavg",
        "--set": ["--set=eta=0.1", "--set=K=2", "--set=L=1", "--set=x0_sq=0"],
    },
    "falsify": {"": "dfedsam.theorem_4_5"},
    "audit": {"": "dfedsam.no_such"},
    "referee": {"": "dfedsam.no_such"},
    "prove": {"": "dfedsam.no_such", "--script": "no_such.py:SCRIPTS"},
    "sweep": {"": "experiment.toml"},
    "atlas": {"--key": "pepit.gradient_descent"},
    "topology show": {"": "ring", "--m": "6"},
    "topology check": {"": "W.csv"},
    "topology compare": {"": "ring", "--m": "6"},
    "data fetch": {"": "mnist"},
    "data verify": {},
    "data show": {"": "digits", "--m": "4"},
    "new": {},
    "schema": {"": "theorem"},
}
KINDS = {str(int): "integer", str(list[int]): "integer", str(float): "float"}
NUMBERS = {
    "integer": ["x", "", "nan", "1.5", "1.5e0", "1e30", "9" * 20, "-" + "9" * 20, "λ"],
    "float": ["x", "", "nan"],
}
"""Invalid values for each type of option."""
ODD_NUMBERS = {
    "integer": ["-1", "0", "1", str(2**63 - 1)],
    "float": ["-1", "0", "inf", "-inf", "1e300", "1e-320"],
}
ODD_TEXT = [
    "",
    " ",
    "λ",
    "../x",
    "[/red]",
    "%s{0}",
    "x" * 300,
    "no/such/place",
    "a=b",
    "true",
    "-1",
]
ODD_VALUES = [
    "x",
    "-1",
    "0",
    "nan",
    "inf",
    "1e300",
    "1e-320",
    "9" * 20,
    "true",
    "λ",
    "0.5",
    "[]",
]
LARGE = {"d", "rounds", "seeds", "m", "K", "Q", "degree", "examples", "count"}
"""Names whose largest values only exhaust memory, and are not tried here."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "folder").mkdir()
    (folder / "file").write_text("text\n")
    (folder / "W.csv").write_text("0.5,0.5\n0.5,0.5\n")
    (folder / "run.csv").write_text("seed,round,grad_norm_sq\n0,0,1.0\n0,1,0.5\n")
    (folder / "experiment.toml").write_text(
        '[task]\nname = "quadratic"\nm = 4\n[topology]\nname = "ring"\n'
        '[algorithm]\nname = "dfedsam"\neta = 0.1\nK = 1\n[run]\nrounds = 2\n'
    )
    return folder


@pytest.fixture
def said(place, monkeypatch, capsys):
    """Call the command line in its own folder, without long computations."""
    from dfltheory.counterexamples import falsification
    from dfltheory.experiments import cases, sweep
    from dfltheory.tasks import download
    from dfltheory.training import loop

    def left_out(*args, **kwargs):
        raise DFLTheoryError("LEFT OUT")

    train = loop.train

    def short(algorithm, *args, rounds=1, seeds=1, **kwargs):
        fewer = {
            n: 2
            for n in ("K", "Q", "K_u", "K_v")
            if (getattr(algorithm, n, 0) or 0) > 2
        }
        if isinstance(seeds, int) and seeds > 2:
            seeds = 2
        return train(
            dataclasses.replace(algorithm, **fewer),
            *args,
            rounds=min(rounds, 2),
            seeds=seeds,
            **kwargs,
        )

    for module, name in (
        (falsification, "search"),
        (falsification, "steepest"),
        (cases, "perform_all"),
        (sweep, "sweep"),
        (download, "fetch"),
        (run, "audit"),
    ):
        monkeypatch.setattr(module, name, left_out)
    for module, name in (
        ("train", "save_run"),
        ("topology_report", "draw_topology"),
    ):  # pictures
        owner = importlib.import_module(f"dfltheory.cli.{module}")
        monkeypatch.setattr(owner, name, lambda *args: None)
    monkeypatch.setattr(loop, "train", short)
    monkeypatch.chdir(place)
    monkeypatch.setenv("DFLTHEORY_DATA_ROOT", str(place / "no-data"))

    def call(words, mistake=False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                status = cli.run(list(words))
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                return f"{words}: {type(error).__name__}: {error}"
        captured = capsys.readouterr()
        if status not in (0, 1, 2):
            return f"{words}: status {status}"
        if mistake and (status != 2 or "LEFT OUT" in captured.err):
            return f"{words}: a mistake, but status {status}: {captured.err or captured.out[:200]}"
        lines = captured.err.strip().splitlines()
        named = [line.startswith("dfltheory: ") for line in lines]
        if status == 2 and not (named and all(named)):
            return f"{words}: not one line for each problem: {captured.err}"
        if "Traceback" in captured.err + captured.out:
            return f"{words}: {captured.err}"
        return None

    return call


COMMAND = typer.main.get_command(cli.app)


def commands(group=COMMAND, above=()):
    """Return every command by its words, from the command line's own tree."""
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, (*above, name))
        else:
            yield " ".join((*above, name)), command


COMMANDS = dict(commands())


def line(command, **change):
    """Return the basic command line of a command, with some options replaced."""
    words = command.split()
    for name, value in (LINES[command] | change).items():
        if isinstance(value, list):
            words += value
        elif name:
            words += [f"{name}={value}"]
        else:
            words += [value]
    return words


def options(command):
    return [
        p
        for p in COMMANDS[command].params
        if p.opts and p.opts[-1].startswith("--") and not p.is_flag
    ]


def test_every_command_is_tried():
    assert set(LINES) == set(COMMANDS)


def hostile(command):
    """Yield (command line, whether it is invalid)."""
    for option in options(command):
        word = option.opts[-1]
        if word == "--plot" and command == "bound":
            for path in ("folder", "file/x.png", "x.exe", ""):
                yield [*line(command), "--plot", "T", path], True
            for name in ("rho", "beta", "λ"):
                yield (
                    [
                        *line(command, **{"--set": ["--set=rho=0"]}),
                        "--plot",
                        name,
                        "x.png",
                    ],
                    name != "rho",
                )
            continue
        kind = KINDS.get(str(option.type_descriptor.annotation), "text")
        for value in NUMBERS.get(kind, ()):
            yield line(command, **{word: value}), True
        for value in ODD_NUMBERS.get(kind, ODD_TEXT):
            if not (kind == "integer" and len(value) > 3 and word.strip("-") in LARGE):
                yield line(command, **{word: value}), False
        if not option.multiple:
            yield [*line(command, **{word: "1"}), f"{word}=1"], True
    yield [*command.split(), "--no-such-option"], True
    yield [*line(command), "--json", "--json=1"], True
    for value in ODD_TEXT:
        yield [*command.split(), value], False


LONG = ("falsify",)
"""Searches."""


@pytest.mark.drawn(3)
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name in LONG), id=name)
        for name in LINES
    ],
)
def test_command_has_no_traceback_for_hostile_arguments(said, command):
    lines = list(hostile(command))
    wrong = [found for words, mistake in lines if (found := said(words, mistake))]
    assert not wrong, f"{len(wrong)} of {len(lines)}:\n" + "\n".join(wrong[:20])


def test_command_has_no_traceback_for_random_arguments(said):
    chance, wrong = random.Random(7), []
    for _ in range(120):
        command = chance.choice(list(LINES))
        words, known = line(command), [p for p in options(command) if p.nargs == 1]
        for option in chance.sample(known, min(len(known), chance.randint(1, 4))):
            word, kind = (
                option.opts[-1],
                KINDS.get(str(option.type_descriptor.annotation), "text"),
            )
            few = [
                v
                for v in ODD_NUMBERS.get(kind, ODD_TEXT)
                if len(v) < 4 or word.strip("-") not in LARGE
            ]
            words.append(f"{word}={chance.choice([*NUMBERS.get(kind, ()), *few])}")
        wrong += filter(None, [said(words)])
    assert not wrong, "\n".join(wrong)


def values_of(section, name, count):
    """Return NAME=VALUE with unusual values, a few for each option, drawn once."""
    chance = random.Random(name)
    return [
        f"{o}={v}"
        for o in options_of(section, name)
        for v in chance.sample(ODD_VALUES, count)
    ]


@pytest.mark.drawn(1)
@pytest.mark.parametrize("task", ["quadratic", "sinusoidal", "clipped", "coupled"])
def test_odd_task_options(said, task):
    base = ["train", f"--task={task}", "--rounds=1", "--algorithm=fedavg"]
    wrong = [
        found
        for item in values_of("task", task, 5)
        if (found := said([*base, f"--task-option={item}"]))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_odd_hyperparameters(said):
    base = ["train", "--task=quadratic", "--m=4", "--rounds=1"]
    wrong = []
    for name in section_names("algorithm"):
        for item in values_of("algorithm", name, 1):
            wrong += filter(
                None, [said([*base, f"--algorithm={name}", f"--set={item}"])]
            )
    assert not wrong, "\n".join(wrong)


def test_odd_topology_options(said):
    from dfltheory import graphs

    wrong = []
    for name in graphs.TOPOLOGIES:
        for item in values_of("topology", name, 6):
            wrong += filter(
                None, [said(["topology", "show", name, "--m=6", f"--option={item}"])]
            )
    assert not wrong, "\n".join(wrong)


def test_odd_values_of_a_bound(said):
    wrong = []
    for item in SET:
        name = item.partition("=")[0]
        others = [f"--set={o}" for o in SET if o != item]
        for value in ODD_VALUES:
            wrong += filter(
                None,
                [
                    said(
                        [
                            "bound",
                            "dfedsam.theorem_4_5",
                            *others,
                            f"--set={name}={value}",
                        ]
                    )
                ],
            )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "words",
    [
        "train --task quadratic --eta 0.2 --set eta=0.1",
        "train --task quadratic --eta 0.2 --eta 0.1",
        "train --task quadratic --set eta=0.2 eta=0.1",
        "train --task quadratic --m 4 --task-option m=5",
        "train --task digits --batch 4 --task-option batch=5",
        "train --task quadratic --task-option d=4 --task-option d=5",
        "validate --m 4 --task-option m=5",
        "validate --m 4 --m 5",
        "bound dfedsam.theorem_4_5 --set L=1 L=2",
        "bound dfedsam.theorem_4_5 --out table.csv",
        "topology show ring --option sides=2x2 --option sides=4x1",
        "atlas --topology ring --set m=16 lam=0.8",
        "train --data file --task quadratic",
        "falsify dfedsam.theorem_4_5 --replay file",
        "falsify --replay file --out other",
        "sweep experiment.toml --set run.rounds=3 --set run.rounds=4",
        "sweep experiment.toml --cluster foo",
        "audit dfedsam --all",
        # impossible values
        "train --task quadratic --out file",
        "train --task quadratic --out file/below",
        "train --task quadratic --checkpoint folder",
        "train --task quadratic --checkpoint /dev/full",
        "train --config absent.toml",
        "validate --out file",
        "validate --out /dev/null",
        "falsify dfedsam.theorem_4_5 --out .",
        "falsify dfedsam.theorem_4_5 --out folder",
        "falsify dfedsam.theorem_4_5 --out file/x.json",
        "falsify --replay folder",
        "sweep experiment.toml --out file",
        "sweep absent.toml",
        "topology show ring --plot folder",
        "topology show ring --plot x.xyz",
        "topology check absent.csv",
        "bound dfedsam.theorem_4_5 --grid T=1:10:3 --out folder",
        "train --task quadratic --task-option dtype=float33",
        "train --task quadratic --task-option device=foo",
        "train --task digits --task-option seed=-1",
        "train --task quadratic --task-option device=cuda:99",
        "train --task digits --eta 1e300",
        "topology show erdos_renyi --m 1000000",
        "topology show two_cliques --m 20000",
        "topology compare erdos_renyi --m 1000000",
    ],
)
def test_commands_reject_contradictory_options_before_any_work(said, words):
    assert said(words.split(), mistake=True) is None
