"""Properties that all commands share."""

import typer

from dfltheory.cli import app

PRINT_A_FILE = {"new", "schema"}
"""These commands print a file's content: a theorem file in TOML, or a JSON schema."""


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def test_every_command_prints_one_document_where_it_is_asked_for_json():
    """Checks that the option exists; each command's own tests check the output."""
    found = dict(commands(typer.main.get_command(app)))
    assert len(found) >= 14
    without = {
        name
        for name, c in found.items()
        if "--json" not in [o for p in c.params for o in p.opts]
    }
    assert without == PRINT_A_FILE
