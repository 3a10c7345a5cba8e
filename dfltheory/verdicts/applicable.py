"""Is a theorem about a run at all?  Its algorithm, network, start, mechanisms and conditions, one by one.

A theorem says what it is about by its :class:`~dfltheory.bounds.scope.Scope`, which alone decides.
"""

from __future__ import annotations

import math
from collections import ChainMap
from dataclasses import fields
from typing import Any

import numpy as np
from sympy import sympify

from dfltheory.bounds.scope import LAWS, Scope
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL
from dfltheory.bounds.theorem import Theorem
from dfltheory.constants import SEQUENCES
from dfltheory.errors import InputError
from dfltheory.graphs.sequences import rounds_of
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.history import History

ABSENT: ChainMap[str, Any] = ChainMap(
    {"decay": 1.0, "weight_decay": 0.0, "participation": 1.0, "K": 1, "K_u": 1, "K_v": 1, "theta": 0.0,
     "sparsity": 0.0, "prune": 0.0, "keep_momentum": False, "fresh": True, "offset": None},
    NEUTRAL,  # which grows with the glossary
)  # fmt: skip
"""Neutral values: a hyperparameter that a statement does not contain must have its value here. One without a
neutral value, such as the order of the update, must occur in the statement or in its scope. Step sizes are an
exception: see :func:`unrestricted_steps`."""


def obstacle_of(run: History, thm: Theorem, values: dict[str, Any]) -> str | None:
    """Why the theorem says nothing of this run, or None."""
    if thm.order:
        return "it is stated as O(.) only, without the constant that a comparison needs"
    if thm.kind == "lower bound":
        return "it is no upper bound: it says how hard some problem is, which need not be this one"
    found = _outside(run, thm, thm.scope, values) or _schedule_obstacle(thm, values)
    if found is not None:
        return found
    missing = [n for n in sorted(thm.needs) if n not in values or not np.all(np.isfinite(values[n]))]
    if missing == ["f0_gap"] and thm.lhs.start not in run.rounds_measured:
        where = f"it starts at round {thm.lhs.start}, which was not measured"
        return f"{where}: train with evaluate_every = 1, or give f0_gap=..."
    if missing:
        return (
            f"{', '.join(missing)} not known (or not finite) for this problem: give {missing[0]}=..., or "
            'constants="estimate"'
        )
    scalars = {n: float(np.mean(values[n])) if np.ndim(values[n]) else values[n] for n in thm.needs}
    try:
        checked = thm.check_conditions(**scalars)
    except InputError as outside_range:  # as lam = 1 on a network that never agrees
        return str(outside_range)
    failing = [f"{c.name} fails, by {-float(slack):.3g}" for c, slack, ok in checked if not ok]
    return "; ".join(failing) or None


def _outside(run: History, thm: Theorem, scope: Scope, values: dict[str, Any]) -> str | None:
    """What of the run is outside the theorem's scope, or None."""
    algorithm = run.algorithm
    if not scope.covers(algorithm):
        kind = type(algorithm)
        other = f" of {kind.__module__}, another class of that name" if kind.__name__ in scope.names else ""
        return f"it speaks of {', '.join(scope.names)}, and this run is {kind.__name__}{other}"
    if scope.two_blocks and "two_block_value" not in run.measures():
        return "it is about a shared and a personal part of each model, and this run has no such two blocks"
    if scope.bounded_gradients and not np.all(np.isfinite(values.get("B", math.inf))):
        return "it assumes bounded gradients, and no bound B is known for this problem: give B=..."
    found = _letters_obstacle(algorithm, thm, scope)
    found = found or law_obstacle(run.network_facts, scope, run.topology, run.rounds, algorithm.gossip_steps)
    if found or not scope.common_start or common_start(run):
        return found
    apart = f"mean ||x_i - xbar||^2 = {np.max(run.x0_spread):.3g} here"
    return f"it assumes that all clients start at the same model, and {apart}"


def _letters_obstacle(algorithm: Any, thm: Theorem, scope: Scope) -> str | None:
    """The first hyperparameter that is neither what the scope asks for, nor in the bound, nor absent."""
    own = _hyperparameters(algorithm)
    unheard = [name for name in scope.letters if name not in own]
    if unheard and len(scope.algorithms) == 1:
        return f"its scope speaks of {unheard[0]}, which {scope.names[0]} does not have"
    spoken = spoken_of(thm) | ({"participation"} if scope.participation == "sampled" else set())
    spoken |= {name for whole in spoken & {*algorithm.summed_up} for name in algorithm.summed_up[whole][0]}
    spoken |= unrestricted_steps(thm, type(algorithm))
    for name, value in own.items():
        has = (
            f"this run has {name} = {value:.6g}"
            if isinstance(value, float)
            else f"this run has {name} = {value}"
        )
        if name in scope.letters:
            if value != scope.letters[name]:
                return f"it speaks of {name} = {scope.letters[name]}, and {has}"
        elif name not in spoken and name not in ABSENT:
            return f"it does not say at which {name} (see Scope.letters), and {has}"
        elif name not in spoken and value != ABSENT[name]:
            return f"it speaks of {name} = {ABSENT[name]}, and {has}"
    return None


def spoken_of(thm: Theorem) -> set[str]:
    """The quantities that the bound, its conditions, or its schedule speak of."""
    inside = {s.name for rule in thm.schedule.values() for s in sympify(rule).free_symbols}
    return {*thm.needs, *thm.schedule, *inside, *(("rho",) if "rho0" in thm.needs else ())}


def unrestricted_steps(thm: Theorem, kind: type[Any]) -> set[str]:
    """Return the step sizes of an algorithm class that a statement covers at every value, by glossary name.

    A statement with constants that contains no step size at all holds for all of them. One that contains
    some of them leaves the others undefined; one in O(.), or with a schedule, is about step sizes that it
    chooses itself.
    """
    own = {kind.glossary.get(f.name, f.name) for f in fields(kind)}
    steps = {name for name in own if name in GLOSSARY and GLOSSARY[name].step}
    named = spoken_of(thm) | set(thm.scope.letters)
    if thm.order or thm.schedule or thm.kind == "lower bound":
        return set()
    if named & (steps | set(kind.summed_up)):
        return set()
    return steps


def _hyperparameters(algorithm: Any) -> dict[str, Any]:
    """Every hyperparameter, numbers under the glossary's names where these differ from the fields' own."""
    own = {algorithm.glossary.get(f.name, f.name): getattr(algorithm, f.name) for f in fields(algorithm)}
    return own | algorithm.theory_values()


def law_obstacle(
    facts: NetworkFacts | None, scope: Scope, topology: Any, rounds: int, gossip_steps: int
) -> str | None:
    """Which law of the scope's network is broken, or None: over all matrices of a period, or many rounds."""
    law = scope.network
    if facts is None:
        return "the file does not say on which network it ran: train again, or load a file of this version"
    if (law == "none") is not (facts.kind == "none"):
        asked, found = ("no network", "has one") if law == "none" else ("a network", "has none")
        return f"it speaks of {asked}, and this run {found}"
    if law == "none":
        return None
    found = _sequence_obstacle(facts, scope, gossip_steps)
    if found is not None:
        return found
    if callable(law):
        if topology is None:
            return (
                "its own law of the network cannot be checked on a run from a file, which holds no matrices"
            )
        found = (law(W) for W in rounds_of(topology, min(max(rounds, 1), 200)).matrices)
        broken = next((words for words in found if words is not None), None)
        return None if broken is None else f"the mixing matrix breaks its law: {broken}"
    lopsided = "it is not symmetric" if facts.directed else None
    broken = {
        "definition 1": facts.definition_1,
        "symmetric": facts.doubly_stochastic or lopsided,
        "doubly stochastic": facts.doubly_stochastic,
        "column-stochastic": facts.column_stochastic,
    }[law]
    name = "Definition 1" if law == "definition 1" else f"its law ({LAWS[law]})"
    return None if broken is None else f"the mixing matrix breaks {name}: {broken}"


def _sequence_obstacle(facts: NetworkFacts, scope: Scope, gossip_steps: int) -> str | None:
    """Why the statement does not cover this kind of network sequence, or None."""
    if facts.kind == "losses" and scope.sequence != ("fixed",):
        return "it needs mixing matrices that do not depend on the samples, and these follow the losses"
    if facts.kind != "losses" and scope.covers_sequence(facts.sequence, gossip_steps):
        return None
    if scope.sequence == ("fixed",):
        return "it covers one fixed mixing matrix, and this network changes from round to round"
    covered = f"it covers the network sequences {', '.join(scope.sequence)}"
    if facts.sequence != "any":
        steps = f" with Q = {gossip_steps} gossip steps" if gossip_steps > 1 else ""
        return f"{covered}, and this network is: {facts.sequence}{steps}"
    choices = ", ".join(kind for kind in SEQUENCES if kind not in ("fixed", "any"))
    return (
        f"{covered}, and this network does not declare its kind: give as_sequence(f, kind=...), or a "
        f"sequence with an attribute kind, one of {choices}"
    )


def common_start(run: History) -> bool:
    """Did the clients of every seed start at one model? Bit for bit, where the run says so.

    Else, of expectations and of records made by hand, up to the rounding of the mean of equal models.
    """
    if run.facts is not None:
        return run.facts.common_start
    return bool(np.all(run.x0_spread <= (2 * precision(run)) ** 2 * run.x0_sq))


def precision(run: History) -> float:
    """The rounding unit of the arithmetic that the run was made in."""
    return float(np.finfo(run.x.dtype).eps) if run.facts is None else run.facts.eps


def _schedule_obstacle(thm: Theorem, values: dict[str, Any]) -> str | None:
    """A corollary has put its schedule in: it is about no other step sizes."""
    gone = [name for name in thm.schedule if name not in thm.needs and name != "Q"]
    if not gone or not any(name in values for name in gone):
        return None
    try:
        asked = thm.step_sizes(**values)
    except InputError as lacking:
        return str(lacking)
    for name in gone:
        if name in values and not math.isclose(asked[name], values[name], rel_tol=1e-6, abs_tol=1e-300):
            return f"it speaks of {name} = {asked[name]:.6g}, and this run has {name} = {values[name]:.6g}"
    return None
