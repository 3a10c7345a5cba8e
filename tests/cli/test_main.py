"""The command line's entry point: one line on stderr for every error, and the right
exit status.
"""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
import typer

from dfltheory import cli
from dfltheory.cli import guard
from dfltheory.cli.help_text import copyable_examples
from dfltheory.cli.output import assignments, emit
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.files import json_text


def status_of(capsys, *arguments):
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest's own
    return stop.value.code, capsys.readouterr()


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (["train", "--lr", "0.1"], "--eta"),
        (["train", "--clients", "8"], "--m"),
        (["train", "-m", "8"], "--m"),
        (["train", "--epochs", "3"], "--K"),
        (["train", "--momentum", "0.9"], "--alpha"),
        (["validate", "--clients", "8"], "--m"),
        (["validate", "-m", "8"], "--m"),
        (["validate", "--epochs", "3"], "--K"),
        (["validate", "--lr", "0.1"], "--set algorithm.eta=..."),
        (["validate", "--momentum", "0.9"], "--set algorithm.alpha=..."),
        (["validate", "--rho", "0.1"], "--set algorithm.rho=..."),
        (["sweep", "--lr", "0.1"], "--set algorithm.eta=..."),
        (["sweep", "--momentum", "0.9"], "--set algorithm.alpha=..."),
        (["sweep", "--clients", "8"], "--set task.m=..."),
        (["sweep", "-m", "8"], "--set task.m=..."),
        (["sweep", "--epochs", "3"], "--set algorithm.K=..."),
        (["compare", "a.csv", "b", "--lr", "0.1"], "--set eta=..."),
        (["compare", "a.csv", "b", "--momentum", "0.9"], "--set alpha=..."),
        (["compare", "a.csv", "b", "--clients", "8"], "--m"),
        (["compare", "a.csv", "b", "--epochs", "3"], "--set K=..."),
        (["bound", "b", "--T", "3"], "--set T=..."),
    ],
)
def test_main_names_the_own_option_for_an_option_of_another_tool(
    capsys, arguments, option
):
    code, said = status_of(capsys, *arguments)
    assert code == 2
    assert f"use {option} here" in said.err


def test_hint_contains_the_whole_first_sentence_of_the_help(capsys):
    said = status_of(capsys, "train", "--graph", "ring")[1].err
    assert "use --topology here" in said
    assert "topology --list" in said
    assert said.count("(") == said.count(")")


def test_option_of_another_tool_is_not_replaced_by_one_that_the_command_lacks(capsys):
    code, said = status_of(capsys, "schema", "--lr", "0.1")
    assert code == 2
    assert "use --eta" not in said.err
    said = status_of(capsys, "train", "--sigma_l", "0.1")[1].err
    assert "--set" not in said


@pytest.mark.parametrize("command", ["falsify", "audit", "referee", "prove", "schema"])
@pytest.mark.parametrize(
    ("option", "others"),
    [
        ("--lr", ["train` takes --eta", "validate` --set algorithm.eta=..."]),
        ("--clients", ["train` takes --m", "validate` --m"]),
        ("--epochs", ["train` takes --K", "validate` --K"]),
        ("--momentum", ["train` takes --alpha", "validate` --set algorithm.alpha"]),
        ("-m", ["train` takes --m"]),
        ("--batch-size", ["train` takes --batch"]),
    ],
)
def test_command_without_an_option_names_commands_that_have_it(
    capsys, command, option, others
):
    code, said = status_of(capsys, command, option, "1")
    assert code == 2
    assert all(other in said.err for other in others)


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["schema"], ["kind", "claim", "experiment", "theorem"]),
        (["prove", "x"], ["--script", "MODULE:NAME"]),
        (["topology", "check"], ["file", "csv"]),
        (["data", "info"], ["info", "fetch", "verify", "show"]),
        (["train", "--rounds", "ten"], ["--rounds", "'ten'", "integer"]),
    ],
)
def test_message_of_a_usage_error_names_what_is_allowed(capsys, arguments, allowed):
    code, said = status_of(capsys, *arguments)
    assert code == 2
    assert said.err.count("\n") == 1
    assert all(word in said.err for word in allowed)


def test_each_named_command_has_the_option_that_it_is_named_for():
    commands = typer.main.get_command(cli.app).commands
    for option, places in guard.PLACES_OF_OPTIONS.items():
        named = re.findall(r"`dfltheory (\w+)`(?: takes)? (--\w+)", places)
        assert named[0] == ("train", option)
        for command, own in named:
            assert own in [o for p in commands[command].params for o in p.opts]


def test_an_interrupt_while_threads_end_is_no_traceback():
    """A sweep's workers end after its last line of output."""
    late = "threading.main_thread().join(), os.kill(os.getpid(), 2), time.sleep(20)"
    code = (
        "import os, signal, threading, time; threading.Thread(target=lambda:"
        f" ({late})).start()"
    )
    # ignored in background jobs of a shell
    code += "; signal.signal(signal.SIGINT, signal.default_int_handler)"
    script = f"{code}; from dfltheory import cli; cli.main(['--version'])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")


@pytest.mark.drawn(4)
@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["validate", "--no-such-option"],
        ["validate", "--m", "many"],
        ["validate", "--K", "0"],
        ["validate", "--topology", "rnig"],
        ["validate", "--task", "quadratik"],
        ["validate", "--task-option", "zeta"],
        ["validate", "--rounds", "-1"],
        [
            "validate",
            "--confidence",
            "95",
            "--rounds",
            "2",
            "--seeds",
            "2",
            "--topology",
            "ring",
        ],
        ["validate", "--method", "bootstrp"],
        ["validate", "--method", "bootstrap", "--seeds", "4"],
        ["validate", "dfedsam.theorem_9"],
        ["validate", "--variant", "prnted"],
    ],
)
def test_wrong_usage_is_one_line_and_status_2(capsys, arguments):
    code, said = status_of(capsys, *arguments)
    assert code == 2
    assert said.out == ""
    lines = said.err.strip().splitlines()
    assert len(lines) == 1, said.err
    assert lines[0].startswith("dfltheory: ")


@pytest.mark.parametrize("group", [[], ["topology"], ["data"]])
def test_a_group_without_its_command_prints_its_help_and_no_empty_line(capsys, group):
    code, said = status_of(capsys, *group)
    assert (code, said.err) == (2, "")
    assert "Usage: dfltheory" in said.out


def test_version_and_help(capsys):
    code, said = status_of(capsys, "--version")
    assert (code, said.out.split()[0]) == (0, "dfltheory")
    code, said = status_of(capsys, "--help")
    assert code == 0
    for command in ("topology", "bound", "train", "validate"):
        assert command in said.out


@pytest.mark.parametrize(
    "command", ["validate", "topology show", "bound", "train", "sweep"]
)
def test_every_help_teaches_with_an_example(capsys, command):
    code, said = status_of(capsys, *command.split(), "--help")
    assert code == 0
    assert f"dfltheory {command} " in said.out
    assert "--json" in said.out


def test_long_examples_of_help_can_be_pasted():
    text = "What it does.\n\nExamples:\n\n    dfltheory bound a.b"
    assert copyable_examples(text) == text
    values = [f"value_{number}=1" for number in range(20)]
    split = "\n    ".join(["dfltheory bound a.b --set", *values])
    lines = copyable_examples(f"Examples:\n\n    {split}").splitlines()[2:]
    assert len(lines) > 1
    assert max(map(len, lines)) < 80
    assert all(line.endswith(" \\") for line in lines[:-1])
    words = " ".join(lines).replace("\\", "").split()
    assert words == ["dfltheory", "bound", "a.b", "--set", *values]


@pytest.mark.parametrize(
    "command",
    ["", *(command.callback.__name__ for command in cli.app.registered_commands)],
)
def test_help_has_neither_emoji_nor_types_of_flags(capsys, command):
    words = [command, "--help"] if command else ["--help"]
    said = status_of(capsys, *words)[1].out
    unusual = {c for c in said if ord(c) > 127 and not "\u2500" <= c <= "\u257f"}
    assert not unusual
    assert "<bool>" not in said


def test_a_theorem_that_assumes_bounded_gradients_has_a_default_problem_that_bounds_them(
    capsys,
):
    line = (
        "validate dfedadmm.theorem_1 --variant corrected --m 4 --K 2 --rounds 20"
        " --topology complete"
    )
    assert cli.run([*line.split(), "--json"]) == 0
    assert [v["kind"] for v in json.loads(capsys.readouterr().out)["verdicts"]] == [
        "holds"
    ]


def test_validate_prints_json_and_nothing_else(capsys):
    code, said = status_of(
        capsys,
        "validate",
        "--rounds",
        "300",
        "--K",
        "1",
        "--m",
        "4",
        "--topology",
        "complete",
        "--seeds",
        "3",
        "--task-option",
        "d=2",
        "--json",
    )
    document = json.loads(said.out)
    assert code == 0
    assert {v["variant"] for v in document["verdicts"]} == {
        "printed",
        "appendix",
        "corrected",
    }
    assert all(v["kind"] in ("holds", "vacuous") for v in document["verdicts"])


def test_validate_writes_the_folder(capsys, tmp_path, undrawn):
    code, said = status_of(
        capsys,
        "validate",
        "--rounds",
        "20",
        "--m",
        "4",
        "--topology",
        "ring",
        "--seeds",
        "2",
        "--variant",
        "printed",
        "--out",
        str(tmp_path / "new" / "folder"),
    )
    assert code == 0
    assert (tmp_path / "new" / "folder" / "report.html").is_file()
    assert "report.html" in said.out
    assert "here (refuted in general: 52.7 times the bound)" in said.out


def test_a_violated_bound_is_status_1(capsys, monkeypatch):
    from dfltheory.experiments import cases

    perform = cases.perform

    def tampered(case):
        outcome = perform(case)
        outcome.run.grad_norm_sq += 1e6
        found = tuple(
            cases.compare(outcome.run, v.key, variant=v.variant)
            for v in outcome.verdicts
        )
        return cases.Outcome(case, outcome.run, found)

    monkeypatch.setattr(cases, "perform", tampered)
    code, said = status_of(
        capsys,
        "validate",
        "--rounds",
        "300",
        "--K",
        "1",
        "--m",
        "4",
        "--topology",
        "complete",
        "--seeds",
        "3",
    )
    assert code == 1
    assert "violated" in said.out


def test_errors_of_the_library_and_of_the_system_become_one_line(capsys, monkeypatch):
    for error in (
        InputError("K = 0 must be\n an integer >= 1"),
        FileNotFoundError(2, "No such file or directory", "W.npy"),
        KeyboardInterrupt(),
        typer.Abort(),
    ):

        def fail(*args, _error=error, **kwargs):
            raise _error

        monkeypatch.setattr(cli, "_commands", lambda fail=fail: fail)
        code, said = status_of(capsys)
        assert code == 2
        assert said.err.count("\n") == 1
    assert issubclass(InputError, DFLTheoryError)
    assert issubclass(DFLTheoryError, ValueError)


def test_assignments():
    assert assignments(["K=5", "eta=1e-3", "name=x=y", "flag=true"]) == {
        "K": 5,
        "eta": 1e-3,
        "name": "x=y",
        "flag": True,
    }
    for wrong in ("K", "=5", "K="):
        with pytest.raises(InputError, match="NAME=VALUE"):
            assignments([wrong])


def test_json_has_no_bare_nan(capsys):
    emit(
        {"a": float("nan"), "b": [float("inf"), -float("inf")], "c": None, 3: {1.5}},
        "text",
        True,
    )
    document = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert document == {
        "a": "NaN",
        "b": ["Infinity", "-Infinity"],
        "c": None,
        "3": [1.5],
    }
    emit({}, "text\n", False)
    assert capsys.readouterr().out == "text\n"
    assert json_text({"x": 1.5}) == '{\n  "x": 1.5\n}'


def test_the_package_is_a_command_too():
    completed = subprocess.run(
        [sys.executable, "-m", "dfltheory", "--version"], capture_output=True, text=True
    )
    assert completed.returncode == 0
    assert completed.stdout.startswith("dfltheory ")


def test_ctrl_c_says_where_and_what_is_kept(capsys, monkeypatch):
    from dfltheory.training.run import Run

    def stop(self, t):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "round", stop)
    code, said = status_of(
        capsys, "train", "--task", "quadratic", "--m", "4", "--rounds", "7"
    )
    assert code == 2
    assert "in round 1 of 7" in said.err
    assert "nothing is kept" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.slow
def test_a_full_disk_and_an_ascii_terminal(tmp_path):
    line = [sys.executable, "-m", "dfltheory", "topology", "ring", "--m", "4"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    completed = subprocess.run(
        [*line[:4], "λ"], capture_output=True, text=True, env=environment
    )
    assert (completed.returncode, completed.stderr.count("\n")) == (2, 1)


def test_user_module_that_leaves_is_an_error_with_its_name(tmp_path, capsys):
    leaving = tmp_path / "leaving.py"
    leaving.write_text("import sys\nsys.exit(0)\n")
    code, said = status_of(capsys, "audit", f"{leaving}:mine")
    assert (code, said.out) == (2, "")
    assert str(leaving) in said.err


def test_user_function_that_leaves_during_a_command_is_an_error(capsys, monkeypatch):
    def leave(*given, **options):
        sys.exit(0)

    monkeypatch.setattr("dfltheory.checks.run.audit", leave)
    code, said = status_of(capsys, "audit", "dfedsam.theorem_4_5")
    assert (code, said.out) == (2, "")
    assert said.err


SHORT_RUN = ("train", "--task", "quadratic", "--m", "3", "--rounds", "2")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--out", "o", "--checkpoint", "o"), "--checkpoint"),
        (("--out", "o", "--checkpoint", "./p/../o"), "--checkpoint"),
        (("--out", ""), "--out"),
        (("--checkpoint", ""), "--checkpoint"),
        (("--out", "/"), "/"),
    ],
)
def test_output_that_cannot_be_written_is_rejected_before_the_run(
    capsys, tmp_path, monkeypatch, options, named
):
    monkeypatch.chdir(tmp_path)
    code, said = status_of(capsys, *SHORT_RUN, *options)
    assert (code, said.out) == (2, "")
    assert named in said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "options", [pytest.param("--all", marks=pytest.mark.slow), "--help"]
)
def test_closed_pipe_ends_a_command_without_a_message(options):
    command = f"{sys.executable} -m dfltheory bound {options} | head -n 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=False
    )
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""
