"""Templates of generated pages: Markdown files with jinja2 variables."""

from __future__ import annotations

from pathlib import Path

import jinja2

_ENVIRONMENT = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).with_suffix("")),
    undefined=jinja2.StrictUndefined,
    keep_trailing_newline=True,
    trim_blocks=True,
)


def filled(name: str, **values: object) -> str:
    """Return ``templates/NAME.md`` with the variables replaced by values.

    Raises
    ------
    jinja2.UndefinedError
        If the template has a variable without a value.
    """
    return _ENVIRONMENT.get_template(f"{name}.md").render(values)


__all__ = ["filled"]
