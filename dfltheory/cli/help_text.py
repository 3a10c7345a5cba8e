"""Layout of ``--help``: examples that can be copied, and flags without a type."""

from __future__ import annotations

import textwrap
from typing import Any

_EXAMPLE_WIDTH = 76
"""Columns of an example, without the margin of the help and the backslash."""


def copyable_examples(text: str) -> str:
    """Return the help of a command whose examples can be pasted into a shell.

    A long example is split into lines that end with a backslash, except for the last.
    """
    explanation, heading, examples = text.partition("Examples:")
    blocks = examples.split("\n\n")
    for number, block in enumerate(blocks):
        if block.startswith("    dfltheory "):
            lines = textwrap.wrap(
                " ".join(block.split()),
                width=_EXAMPLE_WIDTH,
                initial_indent="    ",
                subsequent_indent="      ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            blocks[number] = " \\\n".join(lines)
    return explanation + heading + "\n\n".join(blocks)


class FlagsWithoutType:
    """A command or group whose help shows no type of flags, which take no value."""

    def get_params(self, ctx) -> list[Any]:
        """Return the parameters."""
        parameters = super().get_params(ctx)  # type: ignore[misc]  # of the command
        for parameter in parameters:
            if getattr(parameter, "is_flag", False) and parameter.metavar is None:
                parameter.metavar = ""
        return parameters


__all__ = ["FlagsWithoutType", "copyable_examples"]
