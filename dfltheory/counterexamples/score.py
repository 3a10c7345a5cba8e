"""Measured over bound for P candidates at once, each at the horizon that is worst for the theorem."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.counterexamples.core import CYCLE, FULL, Batch, Path, fixed_points, run
from dfltheory.counterexamples.reach import convex
from dfltheory.errors import InputError
from dfltheory.verdicts.rounding import LEAST, Sizes, measure_error, memory_of

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Array = NDArray[Any]
LONG = (10**3, 10**4, FULL, 10**5, 10**6, 10**7, 10**9)
"""Horizons beyond the simulated rounds, for candidates in which nothing moves any more."""
NOISY = 20000
"""The longest horizon of a counterexample with noise, which the training core runs in full."""
INADMISSIBLE = -1e3
FLOOR = 1e-9
"""Squared gradients below this share of B^2 count as zero: rounding must never look like a violation."""
ADDS_UP = ("f_gap", "dist_sq", "consensus")
"""Measures whose rounding error grows with the horizon, as errors of the models add up."""
SIMULATED = 4096
"""Rounds that are simulated at most; later ones repeat the last where nothing moves any more."""


@dataclass(frozen=True, eq=False)
class Scores:
    """``ratio`` measured / bound (nan where the theorem says nothing), ``fitness`` to be maximized, the
    horizon ``T``, and the start ``x0`` (P, m, d) that was found worst. ``niches`` (P, 2 n) of the n terms:
    the largest ratio where the term is half of the bound or more, and the largest measured / (bound without).
    """

    ratio: Array
    fitness: Array
    T: Array
    x0: Array
    niches: Array


def score(theorem: Theorem, batch: Batch, rounds: int, T: int = 0) -> Scores:
    """Simulate, extend to long horizons where the state stands still, and compare with the bound.

    ``T``: the horizon, where a schedule or enumerated noise has fixed it; else the worst one is sought. Where
    clients may start apart, fixed points of the rounds nearby are starts too.
    """
    rounds = int(min(rounds, batch.longest))
    if T:
        horizons = np.array([T])
    else:
        long = [far for far in LONG if far <= NOISY or not batch.chance]
        horizons = np.array([*np.unique(np.round(np.geomspace(2, rounds - 1, 12)).astype(int)), *long])
    first = int(min(T, batch.longest)) if 0 < T <= SIMULATED else rounds
    path = run(batch, simulated(theorem, first), "S2" in theorem.needs)
    best = compared(theorem, batch, path, horizons)
    if theorem.scope.common_start or batch.sigma.any() or batch.period > 1:
        return best
    at = path.x if not T or batch.two else batch.x0
    resting = replace(batch, x0=fixed_points(batch, at))
    still = compared(theorem, resting, run(resting, 3, "S2" in theorem.needs), horizons)
    return better(still, best)


def simulated(theorem: Theorem, rounds: int) -> int:
    """Rounds to be run so that the measure is known before round ``rounds``: of two blocks it looks ahead."""
    return rounds + theorem.scope.two_blocks


def admissible(theorem: Theorem, batch: Batch, T: int) -> bool:
    """Does any candidate meet every condition, as far as two rounds tell?"""
    known, valid = glossary(theorem, batch, run(batch, 2, "S2" in theorem.needs))
    known |= {"T": np.full(batch.size, float(T or LONG[0]))}
    known["rho0"] = known["rho"] * np.sqrt(known["T"])
    return bool((valid & (violation(theorem, {n: known[n] for n in theorem.needs}) == 0)).any())


def better(one: Scores, other: Scores) -> Scores:
    """Candidate by candidate the one that is fitter; ``other`` where both are equal."""
    wins = one.fitness > other.fitness

    def pick(a: Array, b: Array) -> Array:
        return np.where(wins.reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return Scores(*(pick(getattr(one, f.name), getattr(other, f.name)) for f in fields(Scores)))


TWO_BLOCK_BODIES = {
    "two_block": "grad_u_sq",
    "two_block_next": "grad_u_sq_next",
    "two_block_weighted": "grad_u_sq_next",
}
"""The two-block measures, and the shared gradient that each contains."""


def left_side(theorem: Theorem, batch: Batch, path: Path, known: dict[str, Any]) -> Array:
    """The measure of the theorem in every round, (R, P), less its rounding error; nan where the algorithm has
    none.

    Where the errors of the rounds add up, a last row holds what is left at any later horizon: of a state that
    stands still, as its steps may only be rounded away, and 0 of others, of which nothing is known.
    """
    name = theorem.lhs.measure
    if name in TWO_BLOCK_BODIES:
        body = path.left[TWO_BLOCK_BODIES[name]]
        data = _two(theorem, body, path.left["grad_v_sq"], known)
    elif name == "f_gap":
        data = path.value - known["f_star"]
    else:
        data = path.left.get(name)
    if data is None:
        return np.full_like(path.value, np.nan)
    sizes = sizes_of(theorem, batch, path, known)
    if name not in ADDS_UP:
        return measure_error(theorem.lhs, sizes).lowered(data)
    rounds = np.append(np.arange(1, len(data) + 1), LONG[-1])[:, None]
    error = measure_error(theorem.lhs, replace(sizes, rounds=rounds))
    least = error.lowered(np.append(data, data[-1:], 0))
    least[-1, path.still != 1] = 0.0
    return least


def sizes_of(theorem: Theorem, batch: Batch, path: Path, known: dict[str, Any], T: int = LONG[-1]) -> Sizes:
    """What the rounding errors of candidates are multiples of, after ``T`` rounds."""
    reach = np.sqrt(known["x0_sq"]) + 2 * np.sqrt(known.get("x_star_sq", 0.0))
    size = np.maximum(path.size, reach)
    noise = np.sqrt((batch.sigma**2).sum(-1))
    lam, eta = known.get("lam", known.get("q")), known.get("eta")
    unsure = batch.clients.unsure(batch.x0[..., 0])
    blocks = {f"_{b}": (known.get(f"eta_{b}"), known.get(f"K_{b}", 1), known.get(f"L_{b}")) for b in "uv"}
    return Sizes(
        eps=np.finfo(float).eps,
        tiny=np.finfo(float).tiny,
        rounds=min(T, batch.longest),
        size=size,
        gradient=batch.clients.parts(size).max(1) + noise,
        slope=np.sqrt(np.nan_to_num(path.left["grad_norm_sq"]).max(0))
        if "grad_norm_sq" in path.left
        else 0.0,
        eta=eta,
        last_eta=eta,
        local_steps=known.get("K", 1),
        gossip_steps=batch.algorithm.gossip_steps if batch.algorithm.needs_topology else 0,
        clients=batch.x0.shape[1],
        L=known.get("L"),
        mu=known.get("mu"),
        lam=None if lam is None or batch.drawn else 1 - (1 - lam) / batch.period,
        memory=min(memory_of(batch.algorithm), len(path.value)),  # later rounds repeat the same state
        value_error=unsure["f_error"] if theorem.lhs.measure != "consensus" else 0.0,
        minimizer_error=unsure["x_error"],
        weights=_weights(theorem, known),
        blocks=blocks,
    )


def _weights(theorem: Theorem, known: dict[str, Any]) -> dict[str, Any]:
    """The weight of each block's squared gradient in the measure."""
    if theorem.lhs.measure == "two_block_weighted":
        return {f"_{b}": known[f"eta_{b}"] * known[f"K_{b}"] / 4 for b in "uv"}
    if theorem.lhs.measure in TWO_BLOCK_BODIES:
        return {f"_{b}": 1 / known[f"L_{b}"] for b in "uv"}
    return {}


def _two(theorem: Theorem, body: Array, head: Array, known: dict[str, Array]) -> Array:
    match theorem.lhs.measure:
        case "two_block_weighted":
            a, b = known["eta_u"] * known["K_u"], known["eta_v"] * known["K_v"]
            return (a * body + b * head) / 4
        case "two_block" | "two_block_next":
            return body / known["L_u"] + head / known["L_v"]
    raise InputError(f"{theorem}: the measure {theorem.lhs.measure!r} is not one of two blocks")


def floor(theorem: Theorem, batch: Batch, data: Array, known: dict[str, Array]) -> Array:
    """Below this, (P,), a measure counts as zero; what noise adds never does."""
    share = known["B"] ** 2 if theorem.lhs.measure in GRADIENT_MEASURES else data.max(0)
    return np.where(batch.sigma.any(-1), 0.0, FLOOR * share)


def compared(theorem: Theorem, batch: Batch, path: Path, horizons: Array) -> Scores:
    """Left-hand sides at horizons (H,) over the bound there: the worst of each candidate."""
    known, valid = glossary(theorem, batch, path)
    data = left_side(theorem, batch, path, known)
    still, until = path.still, np.inf
    if theorem.lhs.measure in GRADIENT_MEASURES:  # which stays where gradients are constant
        glides = np.where((still == 0) & (data[-1] == data[-2]), path.glides, 0.0)
        still, until = np.where(glides > 0, 1, still), np.where(still > 0, np.inf, glides)
    left = np.stack([at_T(theorem, data, int(T), still, until) for T in horizons])
    counts = np.array([summands(theorem, int(T)) for T in horizons])[:, None]
    left = np.where(left < floor(theorem, batch, data, known) * counts, 0.0, left)
    grid = {name: np.broadcast_to(v, left.shape) for name, v in known.items()}
    grid["T"] = np.repeat(horizons[:, None], batch.size, axis=1)
    grid["rho0"] = grid["rho"] * np.sqrt(grid["T"])
    if path.diversity is not None:
        told = np.sqrt(np.stack([along(path.diversity, int(T)) for T in horizons]))
        grid["delta_u"] = np.where(np.isfinite(told), told, 1.0)
    return judged(theorem, left, grid, valid, batch.x0)


def at_T(theorem: Theorem, data: Array, T: int, still: Array | int, until: Array | float = np.inf) -> Array:
    """The left-hand side at horizon T, (P,), at least, where the last ``still`` rounds come again ``until``
    a round; nan where nothing is known of later ones. Those after ``until`` count as 0."""
    span, still = theorem.lhs.rounds(T), np.asarray(still, dtype=int)
    have = data[span.start : min(span.stop, len(data))]
    aggregate = theorem.lhs.aggregate
    if aggregate == "min":
        value = (have if len(have) else data[-max(1, int(still.max())) :]).min(0)
        value = np.where(span.stop > np.maximum(until, len(data)), 0.0, value)
    elif aggregate == "max":  # of a cycle that begins after the data every round may be the only one
        value = have.max(0) if len(have) else data[-max(1, int(still.max())) :].min(0)
        value = value if len(have) else np.where(span.start >= np.maximum(until, len(data)), 0.0, value)
    elif aggregate in ("mean", "sum", "last"):
        total, more = have.sum(0), np.clip(until - max(span.start, len(data)), 0, len(span) - len(have))
        for cycle in np.unique(still[still > 0]):
            (whole, part), rows = np.divmod(more, int(cycle)), data[-int(cycle) :]
            total = np.where(still == cycle, total + whole * rows.sum(0) + part * rows.min(0), total)
        value = total if aggregate == "sum" else total / len(span)
    else:
        raise InputError(f"{theorem}: the aggregate {aggregate!r} is not evaluated by the search")
    return value if span.stop <= len(data) else np.where(still > 0, value, np.nan)


def summands(theorem: Theorem, T: int) -> int:
    """How many rounds a sum over rounds adds up at horizon T; 1 for all other aggregates."""
    return len(theorem.lhs.rounds(T)) if theorem.lhs.aggregate == "sum" else 1


def along(diversity: Array, T: int) -> Array:
    """The mean diversity of rounds 0..T-1, at most; the last ones come again."""
    have = diversity[:T]
    return (have.sum(0) + (T - len(have)) * diversity[-CYCLE:].max(0)) / T


def judged(theorem: Theorem, left: Array, grid: dict[str, Array], valid: Array, x0: Array) -> Scores:
    """Left-hand sides (H, P) over the bound at ``grid`` (H, P); nan where a candidate is no problem."""
    horizons = grid["T"]
    grid = {name: grid[name] for name in theorem.needs}
    told = theorem.evaluate_terms(where="nan", **grid).values()
    terms = np.stack([np.broadcast_to(np.asarray(term, dtype=float), left.shape) for term in told])
    bound = terms.sum(0)
    with np.errstate(all="ignore"):
        ratio = np.where(valid & (bound > LEAST), left / bound, np.nan)
        ruled = np.where(terms >= bound / 2, ratio, np.nan)
        others = np.stack([np.delete(terms, k, 0).sum(0) for k in range(len(terms))])
        without = np.where(np.isfinite(ratio) & (others > 0), left / others, np.nan)
    niches = np.fmax.reduce(np.concatenate([ruled, without]), axis=1).T
    known = np.isfinite(ratio)
    at = np.where(known, ratio, -1.0).argmax(0)
    columns = np.arange(left.shape[1])
    ratio, admissible = ratio[at, columns], known.any(0)
    fitness = np.where(admissible, np.log10(np.where(admissible, ratio, 1) + 1e-30), INADMISSIBLE)
    if not admissible.all():
        broken = violation(theorem, {k: v[0] for k, v in grid.items()})
        fitness = np.where(admissible, fitness, INADMISSIBLE - broken)
    return Scores(np.where(admissible, ratio, np.nan), fitness, horizons[at, columns], x0, niches)


def glossary(theorem: Theorem, batch: Batch, path: Path) -> tuple[dict[str, Array], Array]:
    """Every quantity that the theorem may ask for, (P,) each, and which candidates are problems at all."""
    known, x0 = batch.clients.constants(), batch.x0
    ones = np.ones(batch.size)
    gap = path.value[min(theorem.lhs.start, len(path.value) - 1)] - known["f_star"]
    shared = x0[..., :1] if batch.two else x0
    valid = batch.valid & np.isfinite(known["f_star"]) & np.isfinite(path.value).all(0)
    noise = dict(zip(("sigma_u", "sigma_v") if batch.two else ("sigma_l",), batch.sigma.T, strict=True))
    values = {
        **known,
        **batch.network,
        **noise,
        **(unsure := batch.clients.unsure(x0[..., 0])),
        "f0_gap": np.maximum(gap, 0.0) + unsure["f_error"],
        "x0_sq": (x0**2).sum(-1).mean(-1),
        "x0_spread": ((shared - shared.mean(1, keepdims=True)) ** 2).sum(-1).mean(-1),
        "S2": path.moment,
        "m": x0.shape[1] * ones,
        "rho": 0.0 * ones,
        **{n: v * ones for n, v in batch.algorithm.theory_values(x0.shape[-1]).items()},
    }
    if convex(theorem):
        values |= batch.clients.at_minimizer(x0.mean((1, 2)))
    safe = {}
    for name, v in values.items():
        fine = np.isfinite(v)
        valid = valid & (fine | (name == "B" not in theorem.needs))
        safe[name] = np.where(fine, v, 0.5 if name in ("lam", "alpha", "q") else 1.0)
    for name in ("L", "L_u", "L_v"):
        if name in safe:
            valid = valid & (safe[name] > 0)
            safe[name] = np.where(safe[name] > 0, safe[name], 1.0)
    return safe, valid


def violation(theorem: Theorem, values: dict[str, Array]) -> Array:
    """By how much, in all, the conditions fail: 0 where they hold, so that the search finds its way in."""
    total: Array = np.zeros(1)
    for _, slack, ok in theorem.check_conditions(**values):
        scale = np.abs(np.asarray(slack)) + 1
        total = total + np.where(ok, 0.0, np.abs(slack) / scale)
    return total


def ratio_at(
    theorem: Theorem, data: Array, values: dict[str, Any], T: int, floor: float = 0.0, still: int = 1
) -> dict[str, float]:
    """Measured, bound and ratio at horizon T of one candidate whose measure is ``data``, the last ``still``
    of which come again; less than ``floor`` counts as 0."""
    measured = float(at_T(theorem, data[:, None], T, still)[0])
    measured = measured if measured > floor * summands(theorem, T) else 0.0
    needed = {name: values[name] for name in theorem.needs if name in values} | {"T": T}
    bound = float(np.asarray(theorem.evaluate(where="ignore", **needed)))
    ratio = measured / bound if bound > 0 else float("inf")
    return {"T": T, "measured": measured, "bound": bound, "ratio": ratio}


def followed(theorem: Theorem, batch: Batch, T: int) -> Path:
    """One candidate for T rounds: :data:`SIMULATED` at most, or :data:`.core.FULL` where it moves on."""
    moments = "S2" in theorem.needs
    path = run(batch, simulated(theorem, min(T, SIMULATED)), moments)
    if T > SIMULATED and not path.still[0]:
        path = run(batch, simulated(theorem, min(T, FULL)), moments)
    return path


def at_horizon(theorem: Theorem, batch: Batch, values: dict[str, Any], T: int) -> tuple[dict[str, Any], int]:
    """Measured, bound and ratio of a batch of one candidate at one horizon, and how many of the last rounds
    come again.

    Beyond the rounds that are :func:`followed` these come again, which is exact; where none do, others count
    as 0.
    """
    path = followed(theorem, batch, T)
    numbers = {name: np.asarray(v, dtype=float) for name, v in values.items()}
    data = left_side(theorem, batch, path, numbers)[:, 0]
    still = int(path.still[0])
    data = data if still else np.append(data, 0.0)
    return ratio_at(theorem, data, values, T, -1.0, still or 1) | {"still": still > 0}, still


__all__ = [
    "FLOOR",
    "NOISY",
    "SIMULATED",
    "Scores",
    "along",
    "at_horizon",
    "better",
    "followed",
    "glossary",
    "ratio_at",
    "score",
    "sizes_of",
]
