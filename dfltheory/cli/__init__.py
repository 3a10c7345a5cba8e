"""The command line ``dfltheory``, a thin layer with one module for each command.

The modules import nothing heavy before their command is called, so that ``dfltheory
--help`` is fast. An error is a single line on stderr, or one line for each problem of a
file. Exit status: 0 for success; 1 if a check failed; 2 if the command could not run:
wrong usage or input, an output that cannot be written, too little memory, ctrl-C.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated

import typer
from typer.main import get_command

from dfltheory.cli.atlas import atlas
from dfltheory.cli.audit import audit
from dfltheory.cli.bound import bound
from dfltheory.cli.compare import compare
from dfltheory.cli.data import app as data
from dfltheory.cli.falsify import falsify
from dfltheory.cli.guard import (
    CURVES,
    FILES,
    NETWORKS,
    THEOREMS,
    TRAINING,
    Command,
    Group,
    escape_unencodable,
    exit_status,
    flushed,
    print_errors,
    usage_message,
)
from dfltheory.cli.new import new
from dfltheory.cli.output import COMMAND_SETTINGS
from dfltheory.cli.prove import prove
from dfltheory.cli.referee import referee
from dfltheory.cli.schema import schema
from dfltheory.cli.sweep import sweep
from dfltheory.cli.topology import app as topology
from dfltheory.cli.train import train
from dfltheory.cli.validate import validate

app = typer.Typer(
    name="dfltheory",
    cls=Group,
    help=(
        "Test the convergence theorems of decentralized federated learning against"
        " reality."
    ),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


def _version(requested: bool) -> None:
    """Print the version and exit, if the option is given."""
    if requested:
        from dfltheory import __version__

        print(f"dfltheory {__version__}")
        raise typer.Exit


@app.callback()
def main_options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Test convergence theorems of decentralized federated learning on runs.

    `dfltheory COMMAND --help` explains a command, with examples.
    """


def add_command(
    command: Callable[..., object], group: str, with_values: bool = False
) -> None:
    """Add a command to a group of ``--help``.

    Parameters
    ----------
    command : function
        The command; its name is the name of the function.
    group : str
        Heading in ``dfltheory --help``.
    with_values : bool
        Whether the command accepts several NAME=VALUE arguments after ``--set``.
    """
    settings = COMMAND_SETTINGS if with_values else None
    register = app.command(
        cls=Command, context_settings=settings, rich_help_panel=group
    )
    register(command)


add_command(validate, CURVES)
add_command(compare, CURVES, with_values=True)
add_command(sweep, CURVES)
add_command(bound, CURVES, with_values=True)
app.add_typer(topology, rich_help_panel=NETWORKS)
add_command(train, TRAINING, with_values=True)
app.add_typer(data, rich_help_panel=TRAINING)
add_command(new, THEOREMS)
add_command(audit, THEOREMS)
add_command(falsify, THEOREMS)
add_command(referee, THEOREMS)
add_command(prove, THEOREMS)
add_command(atlas, THEOREMS, with_values=True)
add_command(schema, FILES)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line, and exit with its status by raising SystemExit."""
    status = run(arguments)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # no traceback for ctrl-C while workers shut down
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status)


def run(arguments: list[str] | None = None) -> int:
    """Run one command, by default that of ``sys.argv``, and return its exit status."""
    escape_unencodable()
    return exit_status(partial(_run, arguments))


def _pipe_is_closed(stop: SystemExit) -> bool:
    """Return whether a command ended because its output pipe was closed.

    This happens with readers such as ``head``. Rich then exits at the place where it
    writes. Click wraps the stream, which must not be flushed.
    """
    wrapped = type(sys.stdout).__name__.endswith("PacifyFlushWrapper")
    return wrapped or isinstance(stop.__context__, BrokenPipeError)


@cache
def _commands() -> Callable[..., object]:
    """Return the group of all commands. Typer itself creates it anew for each call."""
    return get_command(app)


def _run(arguments: list[str] | None) -> int:
    """Run one command, and return its exit status or report a usage error."""
    try:
        status = _commands()(arguments, "dfltheory", standalone_mode=False)
        flushed()
    except typer.Exit as stop:
        return stop.exit_code
    except SystemExit as stop:  # from third-party code, or from click for a closed pipe
        if _pipe_is_closed(stop):
            return 0
        return print_errors(
            f"code that this command called ended it by sys.exit({stop.code!r}):"
            " raise an exception there instead"
        )
    except typer.Abort:
        return print_errors("stopped by the user")
    except typer.TyperException as wrong:  # unknown option, missing argument...
        return print_errors(usage_message(wrong))
    return status if isinstance(status, int) else 0
