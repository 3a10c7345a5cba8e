"""Documents of experiment files, for tests."""

import copy

KEY = "dfedsam.theorem_4_5"
BASE = {
    "task": {"name": "quadratic", "m": 4, "d": 2, "sigma": 0.2},
    "topology": {"name": "ring"},
    "algorithm": {"name": "dfedsam", "eta": 0.05, "K": 2, "rho": 0.01},
    "run": {"rounds": 5, "seeds": 2},
}


def changed(**sections):
    """Return BASE with other fields in its sections; sections given as None are
    omitted.
    """
    document = copy.deepcopy(BASE)
    for name, table in sections.items():
        if table is None:
            del document[name]
        elif isinstance(table, dict) and name != "sweep":
            document.setdefault(name, {}).update(table)
        else:
            document[name] = table
    return document
