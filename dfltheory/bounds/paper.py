"""What is stated once for a paper and shown with each of its statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Paper:
    """A paper, as pages and statements name it.

    ``title`` of its section on pages, ``citation``, and ``notation``: glossary name ->
    LaTeX, where the paper writes another symbol than the glossary. ``provenance`` is
    the text that its statements were typed from: title, version and address.
    """

    title: str
    citation: str
    notation: Mapping[str, str] = field(default_factory=dict[str, str])
    provenance: str = ""
