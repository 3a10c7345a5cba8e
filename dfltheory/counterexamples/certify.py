"""What the training core itself says of a counterexample, at its horizon or at a shorter one."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory import number_format as numerals
from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.counterexamples.confirm import abnormal, unconfirmed
from dfltheory.counterexamples.core import FULL, Batch
from dfltheory.counterexamples.core import run as simulate
from dfltheory.counterexamples.families import scheduled
from dfltheory.counterexamples.reach import CONVEX
from dfltheory.counterexamples.score import (
    ADDS_UP,
    FLOOR,
    SIMULATED,
    along,
    at_horizon,
    glossary,
    ratio_at,
    simulated,
    sizes_of,
)
from dfltheory.errors import InputError
from dfltheory.graphs import push_sum_constants
from dfltheory.verdicts.applicable import obstacle_of
from dfltheory.verdicts.reading import METRICS, Reading, ahead, bound_error, measured
from dfltheory.verdicts.rounding import measure_error
from dfltheory.verdicts.schedule import network_values
from dfltheory.verdicts.statistics import Interval, max_interval, mean_interval, min_interval

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History
    from dfltheory.training.instance import Instance

ROUNDS = (300, 3000, FULL)
"""Rounds that the core is run for, one after the other, until the bound is seen to be exceeded."""
RUNS = ((4000, 40000), (20000, 80000))
"""Independent runs of an instance with noise, and rounds of all together, at most; then, where their mean is
above the bound and its confidence limit is not."""
COINS = 16
"""Runs that must be the same where noise is to lead all of them one way."""
STILL = 200
"""The last rounds that must repeat a few values to the last bit for the state to count as a fixed point."""


@dataclass(frozen=True)
class Certificate:
    """The two witnesses: the exact expectation in floating point, and the training core.

    ``exact``: ratio, measured and bound at the horizon ``T`` of the instance.  ``core``: rounds that were
    run, the horizon at which the ratio is told, measured, bound, ratio (``low``: lower confidence limit with
    noise), and ``still``: did the core's state stop moving, so that its measure holds for all later rounds.
    ``core_at_horizon``: the core's ratio at the instance's own horizon, where it ran so far or stands still.
    ``obstacles``: why the instance is outside of the theorem; empty when it is inside.  ``undecided``: why
    floating point cannot decide (:mod:`.confirm`); empty when it can.
    """

    exact: dict[str, Any]
    core: dict[str, Any]
    core_at_horizon: float | None
    conditions: list[dict[str, Any]] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return core_says(asdict(self))

    @property
    def violated(self) -> bool:
        """Do both witnesses see the bound exceeded, inside the theorem's assumptions, beyond doubt?"""
        return self.suspected and not self.undecided

    @property
    def suspected(self) -> bool:
        """Do both witnesses see the bound exceeded in floating point, inside the theorem's assumptions?"""
        seen = max(self.core.get("low", self.core["ratio"]), self.core_at_horizon or 0.0)
        return not self.obstacles and self.exact["ratio"] > 1 and seen > 1


def core_says(told: Mapping[str, Any]) -> str:
    """What the training core measured at the horizon of the exact expectation, or where it was run, in words.

    ``told``: ``exact``, ``core`` and ``core_at_horizon`` of a certificate.
    """
    core, same, T = told["core"], told.get("core_at_horizon"), int(told["exact"]["T"])
    if same is not None:
        still = f"its state stands still after {core['rounds']:.0f} rounds"
        return f"{number(same)} at T = {T} ({'run in full' if core['rounds'] >= T else still})"
    row = (
        f"{number(core['ratio'])} at T = {core['T']:.0f}, {number(core['measured'])} against the bound "
        f"{number(core['bound'])}"
    )
    if core.get("low") is None:
        return row
    return f"{row}, and at least {number(core['low'])} with confidence 99.9 %"


def number(value: Any) -> str:
    """Four digits; ``none`` for what is not there."""
    return numerals.number(float(value), 4, "none")


def certify(instance: Instance, theorem: Theorem) -> Certificate:
    """Evaluate exactly, run the core, and check assumptions and conditions with the package's own words."""
    batch, T = Batch.of(instance), instance.rounds
    noisy = batch.chance
    only = noisy or scheduled(theorem)  # the steps belong to this horizon
    several = [COINS if batch.led is not None else 1]
    if noisy:
        several = [min(most, max(64, rounds // T)) for most, rounds in RUNS]
    exact: dict[str, Any] = {}
    told: dict[str, Any] = {}
    at_T, again = None, 0
    off = 0.0  # what rounding of the constants may put the bound off by, relatively
    values: dict[str, Any] = {}
    run: Any = None
    asked = [METRICS[theorem.lhs.measure]] if theorem.lhs.measure in METRICS else []
    at_once = noisy or (only and T <= SIMULATED)
    for rounds, seeds in itertools.product((T,) if at_once else ROUNDS, several):
        run = instance.run(rounds=rounds, seeds=seeds, evaluate_every=1, progress=False, metrics=asked)
        if noisy or not values:
            values = known(run, theorem, batch, T)
            exact, again = at_horizon(theorem, batch, values, T)
        off = _relative_error(theorem, values | {"T": T}, exact)
        if noisy:
            told, at_T = _noisy(run, theorem, values), None
        else:
            told, at_T = _sure(run, theorem, values, batch, T, only, again)
        seen = max(told.get("low", told["ratio"]), at_T or 0.0) > 1.0
        seen &= noisy or at_T is not None or T > FULL  # and at its own horizon, where that can be run
        if seen or exact["ratio"] <= 1.0 + off or (noisy and told["ratio"] <= 1.0):  # nothing is open
            break
    obstacles, conditions = _inside(run, theorem, values | {"T": T})
    if 1 < exact["ratio"] <= 1 + off:
        obstacles.append(
            f"it exceeds the bound by {exact['ratio'] - 1:.1g} of it, and rounding may by {off:.1g}"
        )
    if theorem.scope.samplewise and batch.led is not None:
        obstacles.append("it assumes samples as smooth as the clients, and this noise depends on the state")
    data = _measured(run, theorem)
    if batch.led is not None and np.ptp(data, axis=0).max() > 1e-9 * data.max():
        obstacles.append("its runs differ by chance, of which the exact expectation knows one")
    certificate = Certificate(exact, told, at_T, conditions, obstacles)
    return replace(certificate, undecided=_doubts(theorem, values, certificate))


def _relative_error(theorem: Theorem, values: dict[str, Any], exact: dict[str, Any]) -> float:
    """What rounding of the constants may put the bound off by, where it is exceeded."""
    if not (exact["ratio"] > 1 and exact["bound"]):
        return 0.0
    return float(bound_error(theorem, values)) / exact["bound"]


def _doubts(theorem: Theorem, values: dict[str, Any], certificate: Certificate) -> list[str]:
    """Why floating point cannot decide: no normal numbers, or a refutation that is not confirmed."""
    exact, core = certificate.exact, certificate.core
    at_horizon = values | {"T": exact["T"]}
    doubts = abnormal(theorem, at_horizon, exact)
    if doubts or not certificate.suspected:
        return doubts
    doubts = unconfirmed(theorem, at_horizon, exact["bound"], exact["measured"])
    at_once = certificate.core_at_horizon
    if at_once is not None and at_once > 1:
        return doubts
    least = core.get("low", core["ratio"]) * core["bound"]
    at_core = values | {"T": core["T"]}
    return doubts + unconfirmed(theorem, at_core, core["bound"], least, conditions=False)


def known(run: History, theorem: Theorem, batch: Batch, T: int) -> dict[str, Any]:
    """The glossary's values of a run, from the task's and the network's own constants, and what a statement
    asks of the trajectory: the gap at its start, second moment, diversity along it."""
    values: dict[str, Any] = {k: v for k, v in run.values().items() if v is not None}
    if batch.led is not None:  # the run does not tell it, for theorems that are not about such noise
        values["sigma_l"] = float(batch.sigma[0, 0])
    if theorem.lhs.start:
        values["f0_gap"] = float(run.loss[:, theorem.lhs.start].mean()) - float(run.constants.f_star or 0.0)
    if "S2" in theorem.needs:
        values["S2"] = float(simulate(batch, min(T, SIMULATED), moments=True).moment[0])
        values.setdefault("B", values["S2"] ** 0.5)  # along the run, where nothing bounds it everywhere
    if {"delta", "C", "q", "window"} & set(theorem.needs) - set(values):
        values = network_values(theorem, run.topology) | values
    if batch.period > 1 and "window" in theorem.needs:  # a run tells that of one round, in mean square
        told = push_sum_constants(run.topology)
        values |= {name: getattr(told, name) for name in ("delta", "C", "q", "window")}
    if batch.two:
        path = simulate(batch, simulated(theorem, min(T, SIMULATED)))
        told, _ = glossary(theorem, batch, path)
        values |= {name: float(told[name][0]) for name in ("f0_gap", "x0_spread")}
        values["delta_u"] = float(np.sqrt(along(path.diversity, T)[0]))  # type: ignore[arg-type]
    elif missing := CONVEX & (set(theorem.needs) - set(values)):
        told, _ = glossary(theorem, batch, simulate(batch, 1))
        values |= {name: float(told[name][0]) for name in missing}
    if not batch.two:  # what rounding leaves of a gap between large values, as in the search
        values["f0_gap"] = max(values["f0_gap"], 0.0) + _unsure(batch)["f_error"]
    if "rho0" in theorem.needs:  # rho = rho0/sqrt(T)
        values["rho0"] = float(values.get("rho", 0.0)) * T**0.5
    return values


def _unsure(batch: Batch) -> dict[str, float]:
    return {name: float(v[0]) for name, v in batch.clients.unsure(batch.x0[..., 0]).items()}


def _measured(run: History, theorem: Theorem) -> Any:
    """The theorem's measure in every round in which it is known, (seeds, rounds), less what rounding may have
    added to it."""
    name = theorem.lhs.measure
    data = measured(run, name)
    if data is None:
        raise InputError(f"the run does not measure {name}, which {theorem} is about")
    return Reading(run, theorem).lowered(data[:, : run.rounds + 1 - ahead(name)])


def _sure(
    run: History, theorem: Theorem, values: dict[str, Any], batch: Batch, T: int, only: bool, rests: int
) -> tuple[dict[str, Any], float | None]:
    """Without chance: the worst of all horizons up to the rounds that were run (or T ``only``), and T.

    Rounds that were not run repeat the last ``rests`` where the state comes again after so many, as the exact
    expectation sees it, and its measure too; else they count nothing.
    """
    data = _measured(run, theorem)[0]
    floor = FLOOR * (values.get("B", 0.0) ** 2 if theorem.lhs.measure in GRADIENT_MEASURES else data.max())
    if batch.two:
        floor = 0.0
    still = bool(rests) and len(np.unique(data[-STILL:])) <= 4 and bool(data[-1] > 0)
    told, again = (data, rests) if still else (np.append(data, 0.0), 1)
    if still and theorem.lhs.measure in ADDS_UP:  # while steps that are rounded away add up
        sizes = sizes_of(theorem, batch, simulate(batch, 1), values, T)
        largest = 0.0 if run.model_sq is None else np.sqrt(run.model_sq.max())
        sizes = replace(sizes, size=np.maximum(sizes.size, largest))
        last = measure_error(theorem.lhs, sizes).lowered(data[-1:])
        told, again = np.append(data, last if rests == 1 else 0.0), 1
    seen = {int(h) for h in np.geomspace(1, run.rounds - 1, 60)} if not only else set()
    rows = {h: ratio_at(theorem, told, values, h, floor, again) for h in seen | {T}}
    worst = [h for h in sorted(rows) if only or run.rounds > T or h in seen]
    best = rows[max(worst, key=lambda h: rows[h]["ratio"])]
    at_T = rows[T]["ratio"] if run.rounds >= T or still else None
    return {"rounds": run.rounds, **best, "still": still}, at_T


def _noisy(run: History, theorem: Theorem, values: dict[str, Any]) -> dict[str, Any]:
    """The mean of all seeds against the bound, with its lower confidence limit."""
    T, span = run.rounds, theorem.lhs.rounds(run.rounds)
    left = _interval(theorem, _measured(run, theorem)[:, span.start : span.stop], 0.999)
    bound = ratio_at(theorem, np.zeros(1), values, T)["bound"]
    ends = {"ratio": left.estimate / bound, "low": left.low / bound, "measured": left.estimate}
    return {"rounds": T, "T": T, **ends, "bound": bound, "seeds": run.seeds, "still": False}


def _interval(theorem: Theorem, samples: Any, confidence: float) -> Interval:
    """The interval of the left-hand side from its measure in every round, (seeds, rounds)."""
    match theorem.lhs.aggregate:
        case "min":
            return min_interval(samples, confidence)
        case "max":
            return max_interval(samples, confidence)
        case "mean" | "last":
            return mean_interval(samples, confidence)
        case "sum":
            return mean_interval(samples.sum(axis=1, keepdims=True), confidence)
    raise InputError(f"{theorem}: the aggregate {theorem.lhs.aggregate!r} has no interval")


def _inside(run: History, theorem: Theorem, values: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    """Why the run is outside of the theorem's scope or conditions, and each condition with its slack."""
    outside = obstacle_of(run, theorem, values)
    if any(name not in values for name in theorem.needs):
        return [outside or "some quantity is not known"], []
    conditions = [
        {"condition": c.name, "slack": float(np.asarray(slack)), "holds": bool(ok)}
        for c, slack, ok in theorem.check_conditions(**{name: values[name] for name in theorem.needs})
    ]
    broken = [f"condition {c['condition']} fails by {-c['slack']:.3g}" for c in conditions if not c["holds"]]
    return broken or ([] if outside is None else [outside]), conditions


__all__ = ["Certificate", "certify", "core_says", "known", "number"]
