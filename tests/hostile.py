"""Documents of unknown origin: every field of a valid one is changed, and errors must
have one line for each problem.
"""

import copy

from dfltheory.errors import DFLTheoryError


def places(node, path=(), most=1):
    """Return the paths of all fields, and of the first ``most`` items of every list."""
    if path:
        yield path
    found = enumerate(node[:most]) if isinstance(node, list) else ()
    for key, value in node.items() if isinstance(node, dict) else found:
        yield from places(value, (*path, key), most)


def put(document, path, value=None, drop=False):
    """Return a copy of the document with this value at this place, or without the
    place.
    """
    changed = copy.deepcopy(document)
    node = changed
    for key in path[:-1]:
        node = node[key]
    if drop:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return changed


def refused(read, *arguments):
    """Return the error message, or None if the document is accepted.

    It has one line, or one for each of several problems.
    """
    try:
        read(*arguments)
    except DFLTheoryError as wrong:
        error = wrong
    else:
        return None
    lines = str(error).split("\n")
    assert len(lines) == len(getattr(error, "problems", [error]))
    assert all(0 < len(line) < 1000 for line in lines)
    return str(error)
