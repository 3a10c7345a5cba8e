"""Signatures of the released algorithms, and hyperparameters with which the tests run
them.
"""

from dataclasses import MISSING, fields

from dfltheory import graphs
from dfltheory.algorithms import ALGORITHMS, get

SIGNATURES = {
    "dpsgd": "(eta, order='combine-then-adapt')",
    "dfedavg": "(eta, K)",
    "dfedavgm": "(eta, K, alpha=0.9, keep_momentum=False)",
    "dfedsam": "(eta, K, rho=0.01, Q=1)",
    "qgdsgdm": "(eta, alpha=0.9, mu=None, nesterov=False)",
    "dsgt": "(eta, order='adapt-then-combine')",
    "kgt": "(eta, K, eta_s=1.0)",
    "extra": "(eta)",
    "d2": "(eta, lazy=False)",
    "pushpull": "(eta, order='adapt-then-combine')",
    "cooperativesgd": "(eta, K)",
    "easgd": "(eta, K)",
    "adpsgd": "(eta)",
    "ltadmm": "(eta, K, lam=0.5, beta=None)",
    "relaysgd": "(eta)",
    "chocosgd": "(eta, gamma, compressor='top-k', share=0.01, levels=16)",
    "sgp": "(eta)",
    "osgp": "(eta, K)",
    "dfedsgpm": "(eta, K, alpha=0.9)",
    "dfedsgpsm": "(eta, K, alpha=0.9, rho=0.1)",
    "dfedadmm": "(eta, K, lam)",
    "dfedadmmsam": "(eta, K, lam, rho=0.1)",
    "dfedmdc": "(eta_u, eta_v, K_u, K_v, *, alpha=0.0, fresh=True)",
    "dfedsmdc": "(eta_u, eta_v, K_u, K_v, rho=0.7, sam='u', *, alpha=0.0, fresh=True)",
    "dispfl": (
        "(eta, K, sparsity=0.5, *, prune=0.5, clip=10.0, density='erk', first='common',"
        " growth='gradient', order='send-then-search')"
    ),
    "fedavg": "(eta, K, *, participation=1.0, alpha=0.0, offset=None)",
    "fedsam": "(eta, K, rho=0.1, *, participation=1.0, alpha=0.0)",
    "localsgd": "(eta, K)",
    "local": "(eta, K, *, alpha=0.0)",
    "fedper": "(eta, K, *, participation=1.0, alpha=0.0)",
    "fedrep": "(eta_u, eta_v, K_u, K_v, *, participation=1.0, alpha=0.0)",
    "fedbabu": "(eta, K, K_v=1, *, participation=1.0, alpha=0.0)",
    "fedrod": "(eta, K, *, participation=1.0)",
    "ditto": "(eta, K, K_v=None, lam=0.75, *, participation=1.0)",
    "fedprox": "(eta, K, lam=1.0, *, participation=1.0)",
    "scaffold": "(eta, K, eta_s=1.0, option='II', *, participation=1.0)",
    "fedpd": "(eta, K, lam=1.0, R=1)",
    "feddyn": "(eta, K, lam=0.01, *, participation=1.0)",
}
"""Hyperparameters by algorithm, except decay=1.0 and weight_decay=0.0, which all have.
"""

WITHOUT_NETWORK = {
    "fedavg",
    "fedsam",
    "localsgd",
    "local",
    "fedper",
    "fedrep",
    "fedbabu",
    "fedrod",
    "ditto",
}
WITHOUT_NETWORK |= {"easgd", "fedprox", "scaffold", "feddyn", "fedpd"}
PERSONAL = {
    "dfedmdc",
    "dfedsmdc",
    "dispfl",
    "local",
    "fedper",
    "fedrep",
    "fedbabu",
    "fedrod",
    "ditto",
}
MIXING = dict.fromkeys(
    ("sgp", "osgp", "dfedsgpm", "dfedsgpsm"), "column-stochastic"
) | {
    "dispfl": "row-stochastic",
    "pushpull": "row-stochastic",
}
"""Kinds of mixing matrix; doubly stochastic for all other algorithms."""

VALUES = {
    "eta": 0.2,
    "eta_u": 0.2,
    "eta_v": 0.3,
    "eta_s": 0.7,
    "K": 2,
    "K_u": 2,
    "K_v": 1,
    "Q": 2,
}
VALUES |= {
    "lam": 0.5,
    "rho": 0.3,
    "alpha": 0.5,
    "sparsity": 0.5,
    "gamma": 0.4,
    "share": 0.5,
    "keep_momentum": True,
    "R": 2,
    "sam": "uv",
}


def hyperparameters_of(kind):
    """Return a value for each hyperparameter without a default, or whose default
    disables a feature.
    """
    asked = [
        f for f in fields(kind) if f.default is MISSING or f.default or f.type == "bool"
    ]
    return {f.name: VALUES[f.name] for f in asked if f.name in VALUES}


def network_for(algorithm, m):
    """Return a ring, or a path if the algorithm needs a tree; None if it needs no
    network.
    """
    if not algorithm.needs_topology:
        return None
    return graphs.path(m) if algorithm.links == "tree" else graphs.ring(m)


HYPERPARAMETERS = {name: hyperparameters_of(kind) for name, kind in ALGORITHMS.items()}

VARIANTS = {
    "dpsgd, adapt then combine": ("dpsgd", {"order": "adapt-then-combine"}),
    "dfedavgm, momentum reset": ("dfedavgm", {"keep_momentum": False}),
    "dispfl, other choices": (
        "dispfl",
        {
            "clip": 0.1,
            "density": "uniform",
            "first": "own",
            "growth": "random",
            "order": "search-then-send",
        },
    ),
    "dsgt, combine then adapt": ("dsgt", {"order": "combine-then-adapt"}),
    "d2, lazy": ("d2", {"lazy": True}),
    "pushpull, combine then adapt": ("pushpull", {"order": "combine-then-adapt"}),
    "ltadmm, two step sizes": ("ltadmm", {"beta": 0.1}),
    "qgdsgdm, nesterov": ("qgdsgdm", {"mu": 0.8, "nesterov": True}),
    "chocosgd, signs": ("chocosgd", {"compressor": "sign"}),
    "scaffold, option I": ("scaffold", {"option": "I"}),
    "dfedsmdc, one minibatch": ("dfedsmdc", {"fresh": False, "sam": "u", "alpha": 0.5}),
}
"""Name -> algorithm and hyperparameters that enable another branch of its code."""

NAMES = [*sorted(ALGORITHMS), *VARIANTS]
"""All registered algorithms and their variants."""


def make_algorithm(name, **changes):
    """Return the algorithm or variant of this name, with some hyperparameters changed."""
    name, hyperparameters = VARIANTS.get(name, (name, {}))
    return get(name)(**{**HYPERPARAMETERS[name], **hyperparameters, **changes})
