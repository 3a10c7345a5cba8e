"""What is stated once for a paper and shown with each of its statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Paper:
    """A paper, as pages and statements name it.

    Attributes
    ----------
    title : title of its section on pages
    citation : such as ``Shi et al. 2023, DFedSAM``
    notation : glossary name -> LaTeX, where the paper uses another symbol
    provenance : the text from which its statements were typed: title, version, address
    """

    title: str
    citation: str
    notation: Mapping[str, str] = field(default_factory=dict[str, str])
    provenance: str = ""
