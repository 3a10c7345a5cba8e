"""How the API pages read docstrings: ``name : what it is`` describes a parameter, as
this package writes it.

numpydoc would take the words after the colon for a type. Types stand in the signatures
here.
"""

from __future__ import annotations

import re

import griffe

_ITEM = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (?=\S)", flags=re.MULTILINE)
_LISTS = re.compile(
    r"^(Parameters|Attributes)\n-+\n(.*?)(?=^\w+\n-+$|\Z)",
    flags=re.MULTILINE | re.DOTALL,
)
_EXAMPLES = re.compile(r"^Examples\n-+$", flags=re.MULTILINE)
_SESSION = re.compile(r"^>>> .*?(?=\n\n|\Z)", flags=re.MULTILINE | re.DOTALL)


class Described(griffe.Extension):
    """Moves the words after the colon to where griffe looks for a description."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(described(obj.docstring.value))


def fenced(text: str) -> str:
    """Sessions (``>>>`` to the next empty line) as code where no heading says so (else:
    quotations).
    """
    if _EXAMPLES.search(text):
        return text
    return _SESSION.sub(r"```pycon\n\g<0>\n```", text)


def described(text: str) -> str:
    """Every ``name : words`` of the lists of parameters and attributes with the words
    on a line of their own.

    >>> print(described("A sum.\\n\\nParameters\\n----------\\nm, d : numbers\\n    of things"))
    A sum.
    <BLANKLINE>
    Parameters
    ----------
    m, d
        numbers
        of things
    """
    return _LISTS.sub(lambda found: _ITEM.sub(r"\1\n    ", found[0]), text)
