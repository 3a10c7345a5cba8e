"""What every command has in common."""

import typer

from dfltheory.cli import app

PRINT_A_FILE = {"new", "schema"}
"""They print a file to be written: a theorem file in TOML, a schema in JSON."""


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def test_every_command_prints_one_document_where_it_is_asked_for_json():
    """Its option is there; what it prints is held by each command's own tests."""
    found = dict(commands(typer.main.get_command(app)))
    assert len(found) >= 14
    without = {
        name
        for name, c in found.items()
        if "--json" not in [o for p in c.params for o in p.opts]
    }
    assert without == PRINT_A_FILE
