"""Common behavior of all commands: options, numbers, and error messages."""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from dfltheory.cli.help_text import FlagsWithoutType, copyable_examples
from dfltheory.cli.output import FIELD_VALUE
from dfltheory.errors import (
    LARGEST_WHOLE,
    DFLTheoryError,
    InputError,
    shown,
)
from dfltheory.problems import error_lines

OPTIONS_ELSEWHERE = {
    "--lr": "--eta",
    "--learning-rate": "--eta",
    "--step-size": "--eta",
    "-m": "--m",
    "-n": "--m",
    "--clients": "--m",
    "--num-clients": "--m",
    "--nodes": "--m",
    "--agents": "--m",
    "--workers": "--m",
    "--local-steps": "--K",
    "--epochs": "--K",
    "--batch-size": "--batch",
    "--momentum": "--alpha",
    "--graph": "--topology",
    "--network": "--topology",
    "--dataset": "--task",
    "--T": "--rounds",
    "--horizon": "--rounds",
    "--iterations": "--rounds",
}
"""Option names of other tools, and the corresponding options here."""

_OF_A_RUN = "For one run, `dfltheory train` takes {0} and `dfltheory validate` {1}"
_OF_TRAINING = "For one run, `dfltheory train` takes {0}"

PLACES_OF_OPTIONS = {
    "--eta": _OF_A_RUN.format("--eta", "--set algorithm.eta=..."),
    "--K": _OF_A_RUN.format("--K", "--K"),
    "--alpha": _OF_A_RUN.format("--alpha", "--set algorithm.alpha=..."),
    "--m": _OF_A_RUN.format("--m", "--m"),
    "--rounds": _OF_A_RUN.format("--rounds", "--rounds"),
    "--topology": _OF_A_RUN.format("--topology", "--topology"),
    "--task": _OF_A_RUN.format("--task", "--task"),
    "--batch": _OF_TRAINING.format("--batch"),
}
"""For messages of commands that lack an option: which commands have it, by its name."""

EXAMINERS = ("audit", "falsify", "referee", "prove")
"""Commands that examine a statement, not one of its settings."""

FIELDS_OF_OPTIONS = {
    "--m": "task.m",
    "--batch": "task.batch",
    "--task": "task.name",
    "--topology": "topology.name",
    "--weights": "topology.weights",
    "--algorithm": "algorithm.name",
    **{f"--{name}": f"algorithm.{name}" for name in ("eta", "K", "rho", "Q", "alpha")},
    **{f"--{name}": f"run.{name}" for name in ("rounds", "seeds", "seed")},
}
"""Options of some commands, and the corresponding fields of experiment files."""

CONSTANTS_OF_OPTIONS = {"--rounds": "T"}
"""Glossary names of options that are called otherwise there."""


CURVES, NETWORKS, TRAINING = "Curves", "Networks", "Training"
THEOREMS, FILES = "Is a theorem right?", "Files"
HEADINGS = (CURVES, NETWORKS, TRAINING, THEOREMS, FILES)
"""Headings of the groups of commands in ``dfltheory --help``, in order."""


_SCIENTIFIC = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d{1,3}")
"""A number in scientific notation, such as 1e6."""
_STOPS = (OSError, MemoryError, KeyboardInterrupt)
"""Exceptions by which the system or the user stops a command."""


class StoppedError(DFLTheoryError):
    """A command was stopped: by a disk, by lack of memory, or by ctrl-C."""


class Group(FlagsWithoutType, TyperGroup):
    """The root of the command line.

    It raises system errors as :class:`StoppedError`.
    """

    def list_commands(self, ctx: object) -> list[str]:
        """Return the names in the order of ``--help``, by :data:`HEADINGS`."""
        return sorted(self.commands, key=self._position)

    def _position(self, name: str) -> int:
        """Return the position of a command's heading; without one, the last."""
        panel = getattr(self.commands[name], "rich_help_panel", None)
        return HEADINGS.index(panel) if panel in HEADINGS else len(HEADINGS)

    def invoke(self, ctx) -> object:
        """Return the result of the command.

        Raises
        ------
        StoppedError
            The process is stopped, or memory is exhausted.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # typer exits silently when a reader such as `head` closes the pipe
        except _STOPS as stop:
            raise StoppedError(stop_message(stop)) from stop
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            raise StoppedError(stop_message(memory_error(error))) from error


class Command(FlagsWithoutType, TyperCommand):
    """A command that rejects options given twice and numbers out of range.

    Examples of its help that are too long for a line are continued by a backslash.
    """

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.help = copyable_examples(self.help or "")

    def parse_args(self, ctx, args: list[str]) -> list[str]:
        """Return the remaining arguments.

        Raises
        ------
        InputError
            An option is given twice, a path is empty, or a number is out of range.
        """
        args = self._with_whole_numbers(list(args))
        written, _, order = self.make_parser(ctx).parse_args(list(args))
        for parameter, times in Counter(
            p for p in order if isinstance(p, TyperOption)
        ).items():
            if times > 1 and not parameter.multiple and not parameter.is_flag:
                raise InputError(
                    f"{parameter.opts[-1]} occurs {times} times, but is allowed only"
                    " once"
                )
        try:
            left = super().parse_args(ctx, args)
        except typer.BadParameter as wrong:
            given = written.get(getattr(wrong.param, "name", None) or "")
            if isinstance(given, str):
                wrong.message = f"{given!r} cannot be read: {wrong.message}"
            raise
        for parameter in self.params:
            given = ctx.params.get(str(parameter.name))
            # Path("") is the working folder, but an empty argument is usually an unset
            # shell variable
            if isinstance(given, Path) and written.get(str(parameter.name)) == "":
                name = parameter.opts[-1]
                if not isinstance(parameter, TyperOption):
                    name = name.upper()  # help shows arguments in capitals
                raise InputError(f"{name} is empty: give the path of a file or folder")
            for value in given if isinstance(given, (list, tuple)) else [given]:
                _check_number(parameter.opts[-1], value)
        return left

    def _with_whole_numbers(self, args: list[str]) -> list[str]:
        """Rewrite values such as 1e2 as 100 for options that take integers."""
        options = {
            name
            for parameter in self.params
            if isinstance(parameter, TyperOption) and _takes_whole_numbers(parameter)
            for name in parameter.opts
        }
        for position, word in enumerate(args):
            name, equals, value = word.partition("=")
            if name not in options:
                continue
            if equals:
                args[position] = f"{name}={_whole_number(name, value)}"
            elif position + 1 < len(args):
                args[position + 1] = _whole_number(name, args[position + 1])
        return args


def _takes_whole_numbers(parameter: TyperOption) -> bool:
    """Return whether the values of an option are integers."""
    annotation = getattr(parameter.type_descriptor, "annotation", None)
    return annotation in (int, list[int])


def _whole_number(name: str, text: str) -> str:
    """Return an integer in scientific notation as digits.

    Other text is returned unchanged.

    Raises
    ------
    InputError
        The number is not an integer, or too large.
    """
    if _SCIENTIFIC.fullmatch(text) is None:
        return text
    number = Decimal(text)
    if number != number.to_integral_value():
        raise InputError(f"{name} {text} must be a whole number such as 100 or 1e2")
    if abs(number) > LARGEST_WHOLE:
        raise InputError(
            f"{name} {text} does not fit into 64 bits: use a smaller number"
        )
    return str(int(number))


def _check_number(name: str, value: object) -> None:
    """Raise InputError for nan and for integers that exceed 64 bits."""
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise InputError(
            f"{name} {value} does not fit into 64 bits: use a smaller number"
        )
    if isinstance(value, float) and math.isnan(value):
        raise InputError(f"{name} nan is not a number: give a finite number or inf")


def usage_message(wrong: typer.TyperException) -> str:
    """Return the message of a usage error, with a suggestion if there is one.

    Users may give an option of another tool, or an option of another command that is
    ``--set`` here.
    """
    message = _with_what_is_allowed(wrong, wrong.format_message())
    # only of an option that the command lacks
    option, context = getattr(wrong, "option_name", None), getattr(wrong, "ctx", None)
    if not isinstance(option, str) or context is None:
        return message
    meant = OPTIONS_ELSEWHERE.get(option, option)
    parameters = {
        name: param for param in context.command.params for name in param.opts
    }
    if meant in parameters and meant != option:
        explained = _first_sentence(parameters[meant].help or "")
        return f"No such option: {option}; use {meant} here: {explained}"
    if "--set" in parameters:
        of_document = (
            parameters["--set"].metavar == FIELD_VALUE or "--config" in parameters
        )
        name = _name_in_set(meant, of_document)
        if name is not None:
            return f"No such option: {option}; use --set {name}=... here"
    if meant in PLACES_OF_OPTIONS:
        command = context.command_path
        reason = "does not have this option"
        if context.command.name in EXAMINERS:
            reason = "examines a statement for all values that it allows"
        return (
            f"No such option: {option}; `{command}` {reason}."
            f" {PLACES_OF_OPTIONS[meant]}; `{command} --help` lists its options"
        )
    return message


def _with_what_is_allowed(wrong: typer.TyperException, message: str) -> str:
    """Return a message, completed by what an argument is or which commands exist."""
    parameter, context = getattr(wrong, "param", None), getattr(wrong, "ctx", None)
    explained = _first_sentence(getattr(parameter, "help", None) or "")
    if message.startswith("Missing") and explained:
        return f"{message.removesuffix('.')}: {explained}"
    commands = getattr(context and context.command, "commands", None)
    if commands and message.endswith("."):  # no similar name is suggested
        return f"{message} Known: {', '.join(commands)}"
    return message


def _name_in_set(option: str, is_field: bool) -> str | None:
    """Return the name by which ``--set`` sets an option; None if it cannot.

    It is a field of an experiment file if ``is_field``, else a glossary name.
    """
    if is_field:
        return FIELDS_OF_OPTIONS.get(option)
    from dfltheory.bounds.symbols import GLOSSARY

    name = CONSTANTS_OF_OPTIONS.get(option, option.removeprefix("--"))
    return name if name in GLOSSARY else None


def _first_sentence(text: str) -> str:
    """Return the first sentence without its full stop; ``...`` does not end it."""
    return re.split(r"(?<!\.)\.(?:\s|$)", text, maxsplit=1)[0]


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return whether torch failed to allocate a tensor.

    On CPUs torch raises a plain RuntimeError, which only its message identifies.
    """
    return "can't allocate memory" in str(error) or "out of memory" in str(error)


def memory_error(error: RuntimeError) -> MemoryError:
    """Return a memory error of torch as a MemoryError with the same notes."""
    size = re.search(r"tried to allocate ([^.]+)\.", str(error), re.IGNORECASE)
    converted = MemoryError(f"{size[1]} for one tensor" if size else "a tensor")
    for note in getattr(error, "__notes__", ()):
        converted.add_note(note)
    return converted


def stop_message(stop: BaseException) -> str:
    """Return a line that states why and where a command stopped, and what is kept."""
    if isinstance(stop, OSError):
        place = " -> ".join(
            str(name) for name in (stop.filename, stop.filename2) if name is not None
        )
        reason = f"{stop.strerror or stop}" + (f": {place}" if place else "")
    elif isinstance(stop, MemoryError):
        reason = f"not enough memory ({stop})" if str(stop) else "not enough memory"
    else:
        reason = "stopped by the user"
    return "; ".join([reason, *getattr(stop, "__notes__", ())])


@contextlib.contextmanager
def keeping(kept: str) -> Iterator[None]:
    """Add to system errors how far the work got, and the text ``kept`` on results."""
    from dfltheory.progress import reached

    reached.clear()
    try:
        yield
    except (*_STOPS, RuntimeError) as stop:
        stop.add_note("; ".join([*(f"in {where}" for where in reached), kept]))
        raise


def exit_status(work: Callable[[], int]) -> int:
    """Run ``work`` and return its exit status.

    An error is printed as one line, or one for each of its problems; the status is 2.
    """
    try:
        return work()
    except DFLTheoryError as wrong:
        return print_errors(*error_lines(wrong))
    except _STOPS as stop:
        return print_errors(stop_message(stop))
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        return print_errors(stop_message(memory_error(error)))


def print_errors(*messages: str) -> int:
    """Print each error message on its own line, and return exit status 2."""
    for message in messages:
        if message:  # empty if a group has printed its help
            print(f"dfltheory: {shown(' '.join(message.split()))}", file=sys.stderr)
    return 2


def escape_unencodable() -> None:
    """Escape characters that the encoding of a stream lacks.

    An example is Greek characters on an ASCII terminal.
    """
    for stream in (sys.stdout, sys.stderr):
        strict = getattr(stream, "errors", None) in ("strict", "surrogateescape")
        if strict and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flushed() -> None:
    """Flush stdout; redirect it if that fails, so that it cannot fail again at exit."""
    try:
        sys.stdout.flush()
    except OSError as error:
        if error.filename is None:
            error.filename = "standard output"
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise
