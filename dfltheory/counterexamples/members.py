"""Kinds of problems whose members are named by a few numbers, so that a family is one
number that grows.

Each kind draws a base at random and makes any member: an instance of learning that
every witness can run, from a common start, and what no run tells of it. Without noise
one run of the training core is the expectation; with noise an exact recursion is, and
the core's own runs stand beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.counterexamples.batch import Batch
from dfltheory.counterexamples.candidate_values import CandidateRuns
from dfltheory.counterexamples.core import run
from dfltheory.counterexamples.cube import Reader
from dfltheory.counterexamples.families import RoundData
from dfltheory.counterexamples.families.opposing_gradients import OpposingGradients
from dfltheory.counterexamples.families.shapes import wells
from dfltheory.counterexamples.problems import Ramps, RampTask, SplitTask
from dfltheory.counterexamples.reach import algorithm_class, hyperparameters
from dfltheory.counterexamples.score import at_T, left_side
from dfltheory.errors import InputError
from dfltheory.tasks.separable import Clipped
from dfltheory.training.instance import Instance
from dfltheory.verdicts.measures import measured
from dfltheory.verdicts.run_values import run_values

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

Numbers = dict[str, float]
SEEDS = 16
"""Runs of the training core beside an exact expectation."""


@dataclass(frozen=True)
class Member:
    """One kind: ``make`` a member's instance and what no run tells of it; ``base``: the
    choices of a number (counts), or the ends of its range on a logarithmic scale;
    ``joint``: the products to vary, and the ``parameters``.  ``two_blocks``: is it
    about a shared and a personal part?  ``needs``: the quantity that a statement must
    speak of for it to say anything.  ``apart``: do its clients start at different
    points? A search does not draw it; a saved one is replayed.
    """

    name: str
    make: Callable[[Theorem, Numbers], tuple[Instance, Numbers]]
    base: Mapping[str, Sequence[float]]
    joint: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    two_blocks: bool = False
    needs: str = ""
    apart: bool = False

    def draw(self, rng: np.random.Generator) -> Numbers:
        """A base at random."""
        drawn = {}
        for name, ends in self.base.items():
            if name in ("T", "K", "K_u", "K_v"):
                drawn[name] = float(
                    rng.choice(list(ends)) if len(ends) > 1 else ends[0]
                )
            else:
                low, high = ends[0], ends[-1]
                drawn[name] = (
                    float(low * (high / low) ** rng.random()) if low < high else low
                )
        return drawn

    @property
    def varied(self) -> tuple[str, ...]:
        return (*self.joint, *self.parameters)

    def measure(self, theorem: Theorem, at: Numbers) -> tuple[float, Numbers]:
        """The left-hand side in expectation, and the values at which the expression is
        to be taken.
        """
        instance, told = self.make(theorem, at)
        if isinstance(instance.task, SplitTask):
            return _exactly(theorem, instance, told)
        history, lhs = instance.run(progress=False), theorem.lhs
        data = measured(history, lhs.measure)
        values = {
            k: v
            for k, v in run_values(history, theorem).items()
            if np.all(np.isfinite(v))
        }
        values["sigma_l"] = 0.0
        values.update(told)
        if (
            data is None
            or history.diverged_at is not None
            or set(theorem.needs) - set(values)
        ):
            return float("nan"), dict.fromkeys(theorem.needs, 1.0)
        left = float(at_T(theorem, data.T, history.rounds, False)[0])
        return left, {name: float(values[name]) for name in theorem.needs}

    def core(self, theorem: Theorem, at: Numbers) -> float | None:
        """The left-hand side by the training core, where :meth:`measure` is another
        witness.
        """
        instance, _ = self.make(theorem, at)
        if not isinstance(instance.task, SplitTask):
            return None
        T, seeds = instance.rounds, SEEDS if any(instance.task.sigmas) else 1
        data = measured(
            instance.run(rounds=T + 1, seeds=seeds, progress=False), theorem.lhs.measure
        )
        return None if data is None else float(at_T(theorem, data.T, T, False).mean())


def _exactly(
    theorem: Theorem, instance: Instance, told: Numbers
) -> tuple[float, Numbers]:
    batch, T = Batch.of(instance), instance.rounds
    path = run(batch, theorem.lhs.rounds(T).stop + 1)
    known = run_values(CandidateRuns(batch, path, [T]), theorem).at_upper_gap
    values = {name: float(np.ravel(value)[0]) for name, value in known.items()}
    values |= {
        name: value for name, value in told.items() if name not in ("T", "delta_u")
    }
    data = left_side(
        theorem,
        batch,
        path,
        {name: np.array([value]) for name, value in values.items()},
    )
    return float(at_T(theorem, data, T, True)[0]), {
        name: values[name] for name in theorem.needs
    }


def kinds(theorem: Theorem) -> list[Member]:
    """The kinds of problems that a statement is about."""
    two, speaks = theorem.scope.two_blocks, {"", *theorem.needs}
    return [
        m
        for m in MEMBERS.values()
        if m.two_blocks is two and m.needs in speaks and not m.apart
    ]


def replayed(theorem: Theorem, member: Member) -> bool:
    """Is the statement about problems of this kind? Clients that start apart are
    excluded by a common start.
    """
    within = not (member.apart and theorem.scope.common_start)
    return (
        within
        and member.two_blocks is theorem.scope.two_blocks
        and member.needs in {"", *theorem.needs}
    )


def algorithm(theorem: Theorem, numbers: Numbers) -> Any:
    """The scope's algorithm at these numbers, by glossary name, the rest by the
    statement's schedule.

    Where nothing says how large a SAM radius is there is none.
    """
    cls, (free, fixed) = algorithm_class(theorem), hyperparameters(theorem)
    known = {**theorem.step_sizes(**numbers), **numbers}
    letters = dict(fixed)
    for name, quantity in free.items():
        told = cls.glossary.get(name, name)
        value = known.get(told, quantity.neutral)
        if value is None:
            raise InputError(
                f"{theorem} does not say how large {told} is, and O(.) needs a schedule"
            )
        letters[name] = int(value) if quantity.integer else float(value)
    return cls(**letters)


# -- the kinds


def _counts(at: Numbers) -> dict[str, Any]:
    return {n: round(at[n]) for n in ("T", "K", "K_u", "K_v") if n in at} | {
        "m": 2,
        "rho0": 0.0,
    }


def _network(at: Numbers) -> Numbers:
    lam = 1 - 1 / at["gap"]
    return {"lam": lam, "Q": 1, "delta": 1.0, "C": 1.0, "q": lam, "window": 1}


def _instance(task: Any, made: Any, at: Numbers, x0: Any = None) -> Instance:
    """Two clients over a W with lam = 1 - 1/gap."""
    w = 1 / (2 * at["gap"])
    return Instance(
        task, made, np.array([[1 - w, w], [w, 1 - w]]), round(at["T"]), x0=x0
    )


def _clipped(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Two clients on a clipped quadratic each."""
    numbers = _counts(at) | {
        "L": at["L"],
        "rho0": at["rho0"],
        "alpha": 1 - 1 / at["alpha"],
    }
    c = np.array([[at["distance"] + at["spread"]], [at["distance"] - at["spread"]]])
    task = Clipped(c, h=at["L"], r=2 * float(np.abs(c).max()))
    return _instance(task, algorithm(theorem, numbers), at), numbers | _network(at)


def _split_ramps(at: Numbers) -> Ramps:
    """:mod:`.families.two_wells` with L = h and w = 1, whose heterogeneity is e/T."""
    v, one = np.array([at["v"]]), np.ones(1)
    return wells(v, one, np.array([at["e"] / at["T"]])).scaled(at["h"] * one, one)


def _parting(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Almost identical clients that part from a common start on the hill between two
    wells.
    """
    return _split(theorem, at, _split_ramps(at))


def _opposing_ramps(at: Numbers, eta: float, K: float) -> Ramps:
    """The functions of :mod:`.families.opposing_gradients` for a step size eta: L as
    given, sigma_g = L; h and its center as shares.
    """
    lam, one = np.array([1 - 1 / at["gap"]]), np.ones(1)
    fitted = RoundData(np.array([eta * at["L"]]), lam, np.zeros(1), round(K))
    ramps, _ = OpposingGradients().decode(
        Reader(np.array([[(at["h"] - 0.05) / 0.949, at["centre"]]])), fitted
    )
    return ramps.scaled(at["L"] * one, one)


def _opposing(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Opposing gradients from a common start."""
    numbers = _counts(at) | {"L": at["L"]}
    made = algorithm(theorem, numbers)
    task = _task(_opposing_ramps(at, made.eta, at["K"]))
    return _instance(task, made, at, np.zeros((2, 1))), numbers | _network(at)


def _slope(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Identical clients on a slope of one steepness B that T rounds of one step do not
    leave, at the end of which is a minimum: ||grad f|| = B in every round, and f(0) -
    f* = T eta B^2 + B^2/(2L).
    """
    numbers = _counts(at) | {"L": at["L"], "alpha": 1 - 1 / at["alpha"]}
    made = algorithm(theorem, numbers)
    B, width = at["slope"], at["slope"] / at["L"]
    ramps = Ramps.one(
        [[-numbers["T"] * made.eta * B - width]], [[width]], [[at["L"]]], [0.0]
    ).alike(2)
    return _instance(_task(ramps), made, at, np.zeros((2, 1))), numbers | _network(at)


def _heads(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Two identical clients r(u) = u^2/2, (h_v/2) v^2 with noise in v, at the
    minimum.
    """
    ramps = Ramps.one([[-10.0]], [[20.0]], [[1.0]], [-10.0]).alike(2)  # u stays at 0
    return _split(theorem, at, ramps, h=at["h_v"], sigma_v=at["sigma_v"])


def _split(
    theorem: Theorem, at: Numbers, ramps: Ramps, h: float = 1.0, sigma_v: float = 0.0
) -> tuple[Instance, Numbers]:
    """Ramps for u and uncoupled parabolas (h/2) v^2, from 0."""
    task = _task(ramps, SplitTask, b=[0.0, 0.0], h=h, k=0.0, sigma_v=sigma_v)
    L_u, L_v = (float(task.problem.constants()[name][0]) for name in ("L_u", "L_v"))
    made = algorithm(theorem, _counts(at) | {"L_u": L_u, "L_v": L_v})
    return _instance(task, made, at, np.zeros((2, 2))), {"lam": 1 - 1 / at["gap"]}


def _separate_wells(theorem: Theorem, at: Numbers) -> tuple[Instance, Numbers]:
    """Two identical clients with minima at -1 and 2, each of which starts in one: the
    gradient at the mean of their starts is 1/2.
    """
    numbers = _counts(at) | {"K": 1, "L": 1.0}
    ramps = Ramps.one(
        [[-2.0, -0.5, 1.5]], [[1.5, 1.0, 3.0]], [[1.0, -1.0, 1.0]], [-1.0]
    ).alike(2)
    starts = np.array([[-1.0], [2.0]])
    return _instance(
        _task(ramps), algorithm(theorem, numbers), at, starts
    ), numbers | _network(at)


def _task(ramps: Ramps, kind: Any = RampTask, **more: Any) -> Any:
    told = ramps.describe(0)
    return kind(**{n: v for n, v in told.items() if n != "name"}, **more)


MEMBERS: dict[str, Member] = {
    member.name: member
    for member in (
        Member(
            "opposing clients",
            _opposing,
            {
                "T": (16, 32),
                "K": (1, 2, 8),
                "gap": (1.5, 4),
                "L": (1, 1e8),
                "h": (0.3, 0.95),
                "centre": (0.01, 0.6),
            },
            ("gap*T*T",),
            (),
        ),
        Member(
            "long slope",
            _slope,
            {
                "T": (2, 4),
                "K": (1,),
                "alpha": (1.01, 3),
                "gap": (1.1, 2),
                "L": (0.1, 10),
                "slope": (10, 1000),
            },
            ("alpha*T*T*T",),
            (),
            needs="alpha",
        ),
        Member(
            "clipped clients",
            _clipped,
            {
                "T": (16, 32),
                "K": (1, 2),
                "gap": (1.1, 20),
                "alpha": (1.01, 5),
                "L": (1e-3, 10),
                "distance": (0.1, 10),
                "spread": (0.01, 1),
                "rho0": (0.1, 3),
            },
            ("T*K",),
            ("T", "K", "gap", "alpha"),
        ),
        Member(
            "noisy heads",
            _heads,
            {
                "T": (16,),
                "K_u": (1,),
                "K_v": (1, 2),
                "gap": (1.1, 4),
                "h_v": (0.1, 10),
                "sigma_v": (0.1, 10),
            },
            (),
            ("T",),
            two_blocks=True,
        ),
        Member(
            "parting clients",
            _parting,
            {
                "T": (128, 256),
                "K_u": (1, 2),
                "K_v": (1,),
                "gap": (100, 400),
                "h": (1.0, 1.0),
                "v": (0.05, 0.4),
                "e": (0.01, 1),
            },
            ("T*gap",),
            (),
            two_blocks=True,
        ),
        Member(
            "separate wells",
            _separate_wells,
            {"T": (64,), "gap": (64, 64)},
            ("T*gap",),
            (),
            apart=True,
        ),
    )
}

__all__ = ["MEMBERS", "Member", "Numbers", "algorithm", "kinds", "replayed"]
