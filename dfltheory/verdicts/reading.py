"""The one place where a run meets a theorem: what the run says under the theorem's own names.

A :class:`Reading` holds the values by glossary name, the left-hand side's samples over the theorem's own
rounds, what rounding may put off, and why the theorem says nothing of the run, if it does not.  Verdicts,
figures, rate fits and certificates draw on it and on nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
import torch
from numpy.typing import NDArray

from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import GraphError, InputError, UnknownNameError
from dfltheory.training.history import History
from dfltheory.training.metrics import AHEAD
from dfltheory.verdicts.applicable import obstacle_of, precision
from dfltheory.verdicts.rounding import LEAST, RoundingError, Sizes, measure_error, memory_of, start_errors
from dfltheory.verdicts.schedule import network_values

Samples = NDArray[np.float64]


# -- measures: what a run recorded, and what follows from it ------------------------------------------------


def _two_block_weighted(run: History) -> Samples | None:
    """(eta_u K_u ||grad_u F||^2 + eta_v K_v Delta_v)/4: a/(4 L_u) and b/(4 L_v) with a = eta_u K_u L_u."""
    known, letters = run.measures(), run.algorithm.theory_values()
    if not {"grad_u_sq_next", "grad_v_sq"} <= set(known):
        return None
    body, head = letters["eta_u"] * letters["K_u"], letters["eta_v"] * letters["K_v"]
    return (body * known["grad_u_sq_next"] + head * known["grad_v_sq"]) / 4


def _f_gap(run: History) -> Samples | None:
    """f(xbar^t) - f*."""
    gap = _above_least(run.loss, run)
    return None if gap is None else gap[0]


def _above_least(values: Samples, run: History) -> tuple[Samples, Samples] | None:
    """Values of f less f*, 0 where rounding makes that negative, and what rounding may put it off by."""
    f_star = run.constants.f_star
    if f_star is None:
        return None
    gap, error = values - f_star, 16 * precision(run) * (np.abs(values) + abs(f_star))
    return np.where(np.abs(gap) <= error, np.maximum(gap, 0.0), gap), error


def dist_sq(task: Any, models: Any, mean: Any) -> Any:
    """||xbar^t - x*||^2, a metric to ask for: ``train(..., metrics=[dfl.verdicts.dist_sq])``.

    For tasks that know a minimizer ``x_star`` (d,) of f, as quadratics do.
    """
    x_star = getattr(task, "x_star", None)
    if x_star is None or x_star.shape != mean.shape[1:]:
        raise InputError(
            f"{type(task).__name__} knows no minimizer x_star of f, to which dist_sq could be told"
        )
    return ((mean.double() - x_star.double()) ** 2).sum(-1)


METRICS = {"dist_sq": dist_sq}
"""Measures that a run records where it is asked to, by name."""


class Derived(NamedTuple):
    """How a measure that no run records follows from what it did, (seeds, rounds), and of which measures."""

    of: Callable[[History], Samples | None]
    parts: tuple[str, ...]


DERIVED: dict[str, Derived] = {
    "two_block_weighted": Derived(_two_block_weighted, ("grad_u_sq_next", "grad_v_sq")),
    "f_gap": Derived(_f_gap, ("loss",)),
}
"""Measures that no run records, by name."""


def measured(run: History, measure: str) -> Samples | None:
    """A measure at every measured round, (seeds, rounds): recorded by the run (a user's metric too), or
    derived; None where it is neither."""
    known = run.measures()
    if measure in known:
        return known[measure]
    return DERIVED[measure].of(run) if measure in DERIVED else None


def ahead(measure: str) -> int:
    """By how many rounds the last model that a measure looks at is ahead of the round it is told of."""
    parts = DERIVED[measure].parts if measure in DERIVED else (measure,)
    return max(AHEAD.get(part, 0) for part in parts)


def bound_error(
    theorem: Theorem,
    values: Mapping[str, Any],
    eps: float = np.finfo(float).eps,
    starts: Mapping[str, RoundingError] | None = None,
) -> Any:
    """How far a bound may be off since its constants are rounded, at ``values`` that it admits.

    Each is rounded by 8 eps of itself; mu, an eigenvalue, by 8 eps of L; a share, as lam, by 2 eps, since a
    weight near 1/2 is no better known, so that nothing is known where 1 - lam is less; and what was measured
    at the start by its rounding error in ``starts``.
    """
    unit, here = 8 * eps, {name: np.asarray(values[name]) for name in theorem.needs}

    def moved(name: str, to: Any) -> Any:
        return np.abs(theorem.evaluate(where="ignore", **{**here, name: to}) - bound)

    bound, total = theorem.evaluate(where="ignore", **here), np.zeros(())
    for name, value in here.items():
        quantity = GLOSSARY[name]
        if quantity.high == 1:
            last = value + 2 * eps >= 1
            off = moved(name, value + np.where(last, -2 * eps, 2 * eps))
            total = total + np.where(last & quantity.open_high & (off > 0), np.inf, off)
        elif starts is not None and name in starts:
            error = starts[name]
            total = total + np.fmax(moved(name, error.raised(value)), moved(name, error.lowered(value)))
        elif not quantity.whole:  # the smaller one, since a pole may be near
            off = unit * (np.maximum(value, values.get("L", 0.0)) if name == "mu" else value)
            down = np.where(value > off, value - off, value)
            down = down if quantity.open_low else np.maximum(down, quantity.low)
            total = total + np.fmin(moved(name, value + off), moved(name, down))
    return np.where(np.isfinite(bound), total, 0.0)


def underflows(theorem: Theorem, values: Mapping[str, Any], bound: Any) -> bool:
    """Is a bound below the range in which floating-point numbers keep their digits, without being exactly 0?

    Whether 0 is exact is asked of the formula, in numbers without a least exponent.
    """
    bound = np.asarray(bound, dtype=float)
    few = np.abs(bound) < LEAST
    if not few.any():
        return False
    names = list(theorem.needs)
    rows = np.broadcast_arrays(few, *(np.asarray(values[name], dtype=float) for name in names))
    small, *columns = (row.reshape(-1) for row in rows)
    for k in np.flatnonzero(small):
        numbers = [sp.Float(float(column[k]), 30) for column in columns]
        at = {theorem.symbols[name]: number for name, number in zip(names, numbers, strict=True)}
        if theorem.bound.xreplace(at).evalf(30) != 0:
            return True
    return False


# -- the reading -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reading:
    """One run as one theorem sees it; ``given``: constants of the problem that the caller knows better.

    Raises
    ------
    UnknownNameError, InputError
        ``given`` names no quantity, is out of its range, or is what the run itself has fixed.
    """

    run: History
    theorem: Theorem
    given: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            if name not in GLOSSARY:
                raise UnknownNameError("constant", name, set(GLOSSARY))
            GLOSSARY[name].check(value)
        if self.given:
            self._refuse_what_the_run_fixed()

    # -- the left-hand side ---------------------------------------------------------------------------------

    @cached_property
    def unmeasured(self) -> str | None:
        """Why the left-hand side was not measured at all, or None."""
        lhs, run = self.theorem.lhs, self.run
        if lhs.aggregate == "each" or measured(run, lhs.measure) is None:
            ask = f"; ask for it: metrics=[dfl.verdicts.{lhs.measure}]" if lhs.measure in METRICS else ""
            return f"its left-hand side ({lhs.measure}, {lhs.aggregate}) is not what this run measured{ask}"
        if run.stopped_at is not None:
            return f"the run was stopped by a callback after {run.stopped_at} of {run.rounds} rounds"
        if not self.rounds.size:
            return "none of the rounds that it speaks of was measured"
        if lhs.aggregate == "sum" and not self.whole:
            planned = len(lhs.rounds(run.rounds))
            return (
                f"its left-hand side is a sum over {planned} rounds, of which {self.rounds.size} were "
                "measured: train with evaluate_every = 1"
            )
        data = measured(run, lhs.measure)
        assert data is not None
        here = data[:, self._inside]
        if run.diverged_at is None and np.isnan(here).any():
            return f"its left-hand side ({lhs.measure}) is not a number in some round"
        if (
            here < -self.rounding.of_zero
        ).any():  # intervals, evidence and margins of rounding are those of quantities >= 0
            least = f"{here.min():.3g}"
            return f"its left-hand side ({lhs.measure}) must not be negative, and falls to {least} here"
        return None

    @cached_property
    def _inside(self) -> NDArray[np.bool_]:
        span, at = self.theorem.lhs.rounds(self.run.rounds), self.run.rounds_measured
        return (at >= span.start) & (at < span.stop)

    @cached_property
    def rounds(self) -> NDArray[np.int64]:
        """The measured rounds that the theorem speaks of."""
        return self.run.rounds_measured[self._inside]

    @cached_property
    def samples(self) -> Samples:
        """The measure at these rounds, (seeds, rounds): infinitely large from where the run diverged on."""
        data = measured(self.run, self.theorem.lhs.measure)
        if data is None:
            raise InputError(f"{self.theorem}: {self.unmeasured}")
        data = data.astype(float)
        if self.run.diverged_at is not None:
            data = np.where(self.run.rounds_measured >= self.run.diverged_at, np.inf, data)
        here = data[:, self._inside]
        return np.where((here < 0) & (here >= -self.rounding.of_zero), 0.0, here)

    @property
    def least(self) -> bool:
        """Is a minimum over rounds bounded?"""
        return self.theorem.lhs.aggregate == "min"

    @property
    def largest(self) -> bool:
        """Is a maximum over rounds bounded?"""
        return self.theorem.lhs.aggregate == "max"

    @property
    def summands(self) -> int:
        """How many rounds a sum over rounds adds up; 1 for all other aggregates."""
        return self.rounds.size if self.theorem.lhs.aggregate == "sum" else 1

    @cached_property
    def columns(self) -> Samples:
        """The quantities whose expectations make the left-hand side, (seeds, k): every round of a minimum or
        a maximum; the one mean of a mean, or sum of a sum."""
        match self.theorem.lhs.aggregate:
            case "min" | "max":
                return self.samples
            case "mean" | "last":
                return self.samples.mean(axis=1, keepdims=True)
            case "sum":
                return self.samples.sum(axis=1, keepdims=True)
        raise InputError(
            f"{self.theorem}: the aggregate {self.theorem.lhs.aggregate!r} is not judged by runs"
        )

    def over_columns(self, values: Any) -> Any:
        """The left-hand side of ``values`` (..., k) of the columns: the largest of a maximum, else the least,
        which is the only one of a mean, a sum or a last round."""
        values = np.asarray(values)
        return values.max(axis=-1) if self.largest else values.min(axis=-1)

    @property
    def horizons(self) -> NDArray[np.int64]:
        """The horizon at which each of the rounds is the last that the theorem speaks of."""
        return self.rounds + self.run.rounds - (self.theorem.lhs.rounds(self.run.rounds).stop - 1)

    @property
    def whole(self) -> bool:
        """Was every round measured that the theorem speaks of?"""
        return self.rounds.size == len(self.theorem.lhs.rounds(self.run.rounds))

    @property
    def seeds(self) -> int:
        return self.run.grad_norm_sq.shape[0]

    @property
    def exact(self) -> bool:
        """Is nothing left to chance, given the starts? Of the starts alone that is so in every run."""
        return without_chance(self.run) or bool(self._at_start.all())

    @property
    def _at_start(self) -> NDArray[np.bool_]:
        """The rounds whose measure looks at no model but those of the start."""
        return self.rounds + ahead(self.theorem.lhs.measure) == 0

    @property
    def sure_rounds(self) -> NDArray[np.bool_]:
        """The rounds of which no seed can differ from another: the start, where all have it in common."""
        return self._at_start & (self.samples == self.samples[:1]).all(axis=0)

    # -- values by glossary name ----------------------------------------------------------------------------

    @cached_property
    def values(self) -> dict[str, Any]:
        """What the run knows under the glossary's names, completed by ``given``.

        f0_gap, x0_sq and x0_spread (numbers, or (S,) where starts differ) are those of each seed's own start,
        as is x_star_sq where the run measured ``dist_sq``; f0_gap is that of the round where the theorem
        starts.

        From these follow rho0 (rho under the theorem's schedule) and, for bounded gradients without SAM, the
        second moment S2 <= B^2 + sigma_l^2.
        """
        return self._values(self.given)

    def _values(self, given: Mapping[str, float]) -> dict[str, Any]:
        run, thm = self.run, self.theorem
        values: dict[str, Any] = dict(run.values())
        values["f0_gap"] = None if self._gap is None else _collapsed(self._gap[0])[()]
        starts = {"x0_sq": _collapsed(run.x0_sq)[()], "x0_spread": _collapsed(run.x0_spread)[()]}
        if (apart := measured(run, "dist_sq")) is not None:
            starts["x_star_sq"] = _collapsed(apart[:, 0])[()]
        values = {name: value for name, value in values.items() if value is not None}
        if run.topology is not None and {"delta", "C", "q"} & set(thm.needs) - set(values):
            # a doubly stochastic network has them too, where push-sum runs on it
            with suppress(GraphError):  # the network breaks a law, which the obstacle names
                values = network_values(thm, run.topology) | values
        values |= dict(given) | starts
        if "f0_gap" in given and self._start_value is not None:
            # one number for all tells f*, and with it the gap of each start
            apart = self._start_value - self._start_value.mean()
            values["f0_gap"] = given["f0_gap"] + _collapsed(apart)[()]
        if "rho0" in thm.needs and "rho0" not in values and "rho" in values and "rho" in thm.schedule:
            unit = thm.step_sizes(**{**values, "rho0": 1.0})["rho"]
            values["rho0"] = values["rho"] / unit
        plain = {"B", "sigma_l"} <= set(values) and values.get("rho", 0.0) == 0
        if "S2" in thm.needs and "S2" not in values and plain:
            # a gradient's point does not depend on its sample: E||g||^2 = ||grad f_i||^2 + noise
            values["S2"] = values["B"] ** 2 + values["sigma_l"] ** 2
        return values

    @cached_property
    def scalars(self) -> dict[str, Any]:
        """The values that the theorem needs, means over seeds; missing ones are missing here."""
        known = {n: self.values[n] for n in self.theorem.needs if n in self.values}
        return {n: float(np.mean(v)) if np.ndim(v) else v for n, v in known.items()}

    @cached_property
    def estimated(self) -> tuple[str, ...]:
        """The constants that were estimated rather than known."""
        sources = (self.run.constants, self.run.network)
        names = {n for s in sources for n in s.standing if s.standing_of(n) == "estimate"}
        names |= {"f0_gap"} if "f_star" in names else set()
        return tuple(sorted(n for n in names & set(self.theorem.needs) if n not in self.given))

    @cached_property
    def obstacle(self) -> str | None:
        """Why the theorem says nothing of this run, or None."""
        told = obstacle_of(self.run, self.theorem, self.values)
        # of another algorithm the left-hand side need not be there, and that is not what is wrong
        return (self.unmeasured if self.theorem.scope.covers(self.run.algorithm) else None) or told

    def _refuse_what_the_run_fixed(self) -> None:
        """Constants of the problem are the caller's knowledge; what the run has done is not."""
        run, given = self.run, self.given
        fixed = run.network.known() | run.algorithm.theory_values(run.x.shape[-1])
        fixed = {name: value for name, value in fixed.items() if run.network.standing_of(name) != "estimate"}
        fixed |= {"T": run.rounds, "m": run.m}
        fixed |= {"x0_sq": float(run.x0_sq.mean()), "x0_spread": float(run.x0_spread.mean())}
        if (apart := measured(run, "dist_sq")) is not None:
            fixed["x_star_sq"] = float(apart[:, 0].mean())
        if "rho0" in given:  # what rho is under the theorem's schedule
            known = self._values({name: value for name, value in given.items() if name != "rho0"})
            fixed |= {"rho0": known["rho0"]} if "rho0" in known else {}
        for name, value in given.items():
            if name in fixed and not math.isclose(value, fixed[name], rel_tol=1e-6):
                raise InputError(
                    f"{name} = {value:g} cannot be given: this run has {name} = {fixed[name]:g}; "
                    "only constants of the problem can, as sigma_g=..."
                )
            if name in run.network.errors:
                known, error = run.network.known()[name], run.network.errors[name]
                if value < (known - 3 * error) * (1 - 1e-6):
                    raise InputError(
                        f"{name} = {value:g} cannot be given: this run's network has {name} = {known:g} +- "
                        f"{error:.1g} (standard error); more is allowed, and less by 3 of these"
                    )
            least, why = self._least_true(name)
            if value < least * (1 - 1e-6):
                raise InputError(
                    f"{name} = {value:g} cannot be given: {why}, and"
                    " with less the assumptions of a theorem are not met; more is allowed"
                )

    def _least_true(self, name: str) -> tuple[float, str]:
        """What a constant that theorems take as an upper bound is at least, and why: its value, where that is
        exact; and f* is no larger than any f that the run came by.

        One that is infinite over all x may be smaller where the run goes, which is for the caller to know.
        """
        constants = self.run.constants
        if name == "f0_gap":
            if constants.standing_of("f_star") == "exact" and self._gap is not None:
                least = float(np.mean(self._gap[0] - self._gap[1]))
                return least, f"this problem has f0_gap = {least:g} exactly"
            if self._start_value is None or self._objective is None:
                return 0.0, ""
            seen = self._objective[np.isfinite(self._objective)]
            fall = float(self._start_value.mean() - seen.min())
            least = fall - 32 * precision(self.run) * float(np.abs(self._start_value).max())
            return least, f"f falls by {least:g} below its start in this run, which f0_gap bounds"
        exact = name != "mu" and constants.known().get(name, math.inf)
        known = exact and math.isfinite(exact) and constants.standing_of(name) == "exact"
        return (float(exact), f"this problem has {name} = {exact:g} exactly") if known else (0.0, "")

    # -- rounding -------------------------------------------------------------------------------------------

    @property
    def _objective(self) -> Samples | None:
        """What the theorem minimizes, along the run: f(xbar^t), or F(ubar^t, V^t) where each client keeps
        its own head; None where that was not measured."""
        run = self.run
        return run.measures().get("two_block_value") if self.theorem.scope.two_blocks else run.loss

    @property
    def _start_value(self) -> Samples | None:
        """Its value at the round where the theorem starts, (S,), if that was measured and is finite."""
        at = np.flatnonzero(self.run.rounds_measured == self.theorem.lhs.start)
        if self._objective is None or not at.size:
            return None
        value = self._objective[:, at[0]].astype(float)
        return value if np.isfinite(value).all() else None

    @cached_property
    def _gap(self) -> tuple[Samples, Samples] | None:
        """f(x) - f* at the round where the theorem starts, and what rounding may put it off by, (S,) each."""
        run, start = self.run, self.theorem.lhs.start
        if not self.theorem.scope.two_blocks:
            return run.gap_at(start)
        return None if self._start_value is None else _above_least(self._start_value, run)

    @cached_property
    def f0_gap_error(self) -> Samples:
        """How far f0_gap may be off by rounding; (S,) or a number. Where it was given: 0, or what may put the
        starts' differences off, where they differ.

        Beside what the run tells of f(x) - f* (:meth:`History.gap_at`), a model is rounded by eps ||x||, and
        a client's loss by that times its gradient, for which ||grad f|| + sigma_g stands in the mean.
        """
        run = self.run
        at = np.flatnonzero(run.rounds_measured == self.theorem.lhs.start)
        if "f0_gap" in self.given and np.ndim(self.values["f0_gap"]) and self._start_value is not None:
            return 32 * precision(run) * np.abs(self._start_value)
        if "f0_gap" in self.given or self._gap is None:
            return np.zeros(())
        sigma_g = run.constants.sigma_g or 0.0
        slope = np.sqrt(np.abs(run.grad_norm_sq[:, at[0]])) + (sigma_g if math.isfinite(sigma_g) else 0.0)
        return _collapsed(self._gap[1] + precision(run) * np.sqrt(run.x0_sq) * slope)

    def lowered(self, values: Any) -> Any:
        """Values of the measure at the lower end of their rounding error."""
        return self._of_aggregate.lowered(values)

    def raised(self, values: Any) -> Any:
        """The same at the upper end."""
        return self._of_aggregate.raised(values)

    @property
    def _of_aggregate(self) -> RoundingError:
        """That of the aggregate: a sum over n rounds has n times the error of one of them."""
        error, n = self.rounding, self.rounds.size if self.theorem.lhs.aggregate == "sum" else 1
        return RoundingError(error.root * math.sqrt(n), error.shift * n, error.relative)

    @cached_property
    def rounding(self) -> RoundingError:
        """Rounding error of the left-hand side's measure."""
        return measure_error(self.theorem.lhs, self.sizes)

    @cached_property
    def start_errors(self) -> dict[str, RoundingError]:
        """Rounding errors of what was measured of the start, by glossary name; none of what is given."""
        return {n: error for n, error in start_errors(self.sizes).items() if n not in self.given}

    @cached_property
    def sizes(self) -> Sizes:
        """What the run's rounding errors are multiples of, over all seeds and measured rounds."""
        run, constants = self.run, self.run.constants.known()
        letters, facts = run.algorithm.theory_values(), run.network_facts
        eta, decay = letters.get("eta"), float(getattr(run.algorithm, "decay", 1.0))
        fixed = facts is not None and facts.kind == "fixed"
        L, value_error = constants.get("L"), 0.0
        if self.theorem.lhs.measure == "consensus" and run.consensus_rounding is not None:
            value_error = _largest(run.consensus_rounding[:, self._inside])
        data = measured(run, self.theorem.lhs.measure)
        heterogeneity = constants.get("sigma_g", math.inf)
        return Sizes(
            eps=precision(run),
            tiny=_smallest(run),
            rounds=run.rounds,
            size=self._size,
            gradient=self._gradient,
            f_star=abs(run.constants.f_star or 0.0),
            value=_largest(np.abs(run.loss)),
            slope=math.sqrt(_largest(np.abs(run.grad_norm_sq))),
            heterogeneity=heterogeneity if math.isfinite(heterogeneity) else self._gradient,
            eta=eta,
            last_eta=None if eta is None else eta * decay**run.rounds,
            local_steps=letters.get("K", 1),
            gossip_steps=run.algorithm.gossip_steps if run.algorithm.needs_topology else 0,
            clients=run.m,
            L=L if L is None or math.isfinite(L) else None,
            mu=constants.get("mu"),
            lam=run.network.known().get("lam") if fixed else None,
            memory=memory_of(run.algorithm),
            value_error=value_error,
            largest=0.0 if data is None else _largest(np.abs(data)),
            weights=self._weights,
            blocks={b: _block(letters, constants, b) for b in self._weights if b},
        )

    @cached_property
    def _size(self) -> float:
        """The largest root mean square of ||x_i||; ||x*|| <= ||x|| + ||x - x*|| is added if it is known."""
        run = self.run
        with np.errstate(over="ignore"):  # of a run that diverged
            squares = [run.x0_sq, (run.x.astype(float) ** 2).sum(-1).mean(-1)]
        if run.model_sq is not None:
            squares.append(run.model_sq)
        size = math.sqrt(max(map(_largest, squares)))
        if run.algorithm.mixing == "column-stochastic":  # its weights may favor one client
            size *= math.sqrt(run.m)
        apart = measured(run, "dist_sq")
        return size if apart is None else 2 * size + math.sqrt(_largest(apart))

    @cached_property
    def _gradient(self) -> float:
        """No client's stochastic gradient was larger, in the root mean square."""
        run, constants = self.run, self.run.constants.known()
        finite = {n: v for n, v in constants.items() if math.isfinite(v)}
        start = 0.0 if run.x0_gradient_sq is None else math.sqrt(_largest(run.x0_gradient_sq))
        mean = math.sqrt(_largest(np.abs(run.grad_norm_sq))) + finite.get("sigma_g", 0.0)
        return max(start, mean) + 2 * finite.get("L", 0.0) * self._size + finite.get("sigma_l", 0.0)

    @property
    def _weights(self) -> dict[str, float]:
        """The weight of each block's squared gradient in the measure, by the suffix of its constants."""
        measure = self.theorem.lhs.measure
        if measure == "two_block_weighted":
            letters = self.run.algorithm.theory_values()
            return {f"_{b}": letters[f"eta_{b}"] * letters[f"K_{b}"] / 4 for b in "uv"}
        if measure in ("grad_u_sq", "grad_u_sq_next", "grad_v_sq"):
            return {f"_{measure[5]}": 1.0}
        if measure in ("two_block", "two_block_next"):
            known = self.run.constants.known()
            return {f"_{b}": 1 / known[f"L_{b}"] for b in "uv" if known.get(f"L_{b}")}
        return {}


def without_chance(run: History) -> bool:
    """Is there nothing random in the run, so that one seed says everything?"""
    if not getattr(run, "chance", True):  # expectations that were computed, not sampled
        return True
    sure = run.constants.sigma_l == 0 and run.constants.standing_of("sigma_l") == "exact"
    facts = run.network_facts
    nobody_mixes = facts is not None and facts.kind == "none"
    return sure and not run.algorithm.draws and (nobody_mixes or not run.random_network)


def _largest(values: Samples) -> float:
    """The largest finite number; 0 where there is none, as in a run that diverged."""
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))


def _smallest(run: History) -> float:
    """The smallest normal number of the run's arithmetic."""
    name = str(run.x.dtype) if run.facts is None else run.facts.precision
    return float(torch.finfo(getattr(torch, name)).tiny)


def _block(letters: Mapping[str, float], constants: Mapping[str, float], suffix: str) -> tuple[Any, Any, Any]:
    """eta, K and L of a block."""
    return letters.get(f"eta{suffix}"), letters.get(f"K{suffix}", 1), constants.get(f"L{suffix}")


def _collapsed(values: Samples) -> Samples:
    """One number where all seeds have the same."""
    with np.errstate(invalid="ignore"):  # of runs that left the numbers
        return values if np.ptp(values) else np.asarray(values.flat[0])
