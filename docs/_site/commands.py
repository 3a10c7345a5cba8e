"""The command line's page: every command with its options and defaults, from the
commands themselves.
"""

from __future__ import annotations


def page() -> str:
    """commands.md: usage, help and a table of options for each command."""
    import typer

    from dfltheory.cli import app

    root = typer.main.get_command(app)
    lines = [
        "# The command line",
        "",
        (
            "Made from the commands themselves when these pages are built. Exit status:"
            " 0 done; 1 a check failed (a violated bound, a failing assumption); 2"
            " wrong usage or input, in one line. `--json` prints one JSON document on"
            " standard output and nothing else."
        ),
        "",
    ]
    return "\n".join(lines + _of(root, "dfltheory", 2))


def _of(command, path: str, depth: int) -> list[str]:
    within = getattr(command, "commands", None)
    if within is not None:
        return [
            line
            for name in sorted(within)
            for line in _of(within[name], f"{path} {name}", depth)
        ]
    positional = [p for p in command.params if p.param_type_name == "argument"]
    usage = " ".join([path, *(_usage(p) for p in positional), "[OPTIONS]"])
    lines = [
        f"{'#' * depth} {path.removeprefix('dfltheory ')}",
        "",
        _text(command.help),
        "",
    ]
    lines += [
        "```text",
        usage,
        "```",
        "",
        "| option | meaning | default |",
        "|---|---|---|",
    ]
    lines += [
        _row(p)
        for p in command.params
        if not getattr(p, "hidden", False) and p.name != "help"
    ]
    return [*lines, ""]


def _usage(parameter) -> str:
    shown = (parameter.metavar or parameter.name).upper()
    return shown if parameter.required else f"[{shown}]"


def _row(parameter) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    said = getattr(parameter, "help", None) or ""
    default = parameter.default
    quiet = (
        default is None
        or isinstance(default, bool)
        or default == ()
        or callable(default)
        or parameter.required
    )
    value = "required" if parameter.required else "" if quiet else f"`{default}`"
    option = ", ".join(f"`{name}`" for name in names)
    return f"| {option} | {_cell(said)} | {value} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _text(text: str | None) -> str:
    import inspect

    return inspect.cleandoc(text or "").replace("\b", "")
