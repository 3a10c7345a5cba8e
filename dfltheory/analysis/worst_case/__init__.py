r"""A bracket for the worst case of a left-hand side: a semidefinite program above, the search below.

Without noise and SAM, for all L-smooth clients and *all* networks with ||W - 11'/m|| <= lam, from a common
start. The algorithm's own rounds are run once on coordinates: every gradient that it asks for is a vector of
its own, and so is what every exchange leaves of the clients' disagreement. What is left is a program in
inner products (Drori and Teboulle 2014; Taylor et al. 2017):

- clients can change places in it, so that an optimum does not change when they do (Colla and Hendrickx
  2024). Then it consists of the inner products of means over clients, M, and of deviations from them, D,
  with <v_i, w_i> = M(v, w) + D(v, w): two positive semidefinite matrices, whose size does not grow with m;
- an exchange keeps the mean and shrinks deviations z to d with D(d, d) <= lam^2Q D(z, z). Where the scope
  asks for one W for all rounds, W acts on all deviations alike, so that lam^2Q D(z^s, z^t) - D(d^s, d^t) is
  positive semidefinite in (s, t), and of a symmetric W D(d^s, z^t) = D(z^s, d^t) (Colla and Hendrickx 2023);
- clients obey the interpolation inequalities of smooth functions. f* <= f - ||grad f||^2/(2L), the diversity
  sigma_g and a bound B of gradients are posed at the points of the program alone.

Each is necessary, so that the value is an upper bound on every run without noise; it need not be sharp. The
lower bound is a run of the training core: two clients on a network with an eigenvalue lam or -lam (or any
even m: two groups that agree). Needs the extra: ``pip install '.[pep]'``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.analysis.falsify.members import algorithm
from dfltheory.analysis.falsify.reach import algorithm_class
from dfltheory.analysis.worst_case.below import below
from dfltheory.analysis.worst_case.certificate import upper as proved_upper
from dfltheory.analysis.worst_case.program import Program
from dfltheory.bounds import symbols as s
from dfltheory.bounds.reference import load
from dfltheory.errors import InputError, squarable, whole_number

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.instances.instance import Instance

ABSENT = {"sigma_l": 0.0, "rho": 0.0, "rho0": 0.0, "x0_spread": 0.0}
"""What the bracket is about has none of these."""
USUAL = {"Q": 1, "m": 2, "K": 1}
ACCURATE = 1e-3
"""A certificate may be larger than the solver's value by this share."""


@dataclass(frozen=True)
class Bracket:
    """``lower`` <= worst case <= ``upper``, with the theorem's ``bound`` (nan where a condition fails).

    ``upper`` is proved by the solver's multipliers in rational arithmetic where ``certified``; else it is the
    ``solver``'s value, with its word ``status``. ``instance``: the run that reaches ``lower``, if any.
    """

    lower: float
    upper: float
    bound: float
    solver: float
    status: str
    certified: bool
    instance: Instance | None = None

    @property
    def accurate(self) -> bool:
        """Is the upper end certified, and near to what the solver says?"""
        return self.certified and self.upper <= self.solver * (1 + ACCURATE)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON."""
        instance = None if self.instance is None else self.instance.document()
        return {f.name: getattr(self, f.name) for f in fields(self)} | {
            "accurate": self.accurate,
            "instance": instance,
        }

    def __str__(self) -> str:
        above = "none, a condition fails" if np.isnan(self.bound) else f"{self.bound:.6g}"
        proved = "certified in rational arithmetic" if self.certified else "not certified"
        doubt = "" if self.accurate else "; INACCURATE"
        return (
            f"worst case in [{self.lower:.6g}, {self.upper:.6g}]; the theorem's bound: {above}\n"
            f"below: a run of the training core; above: {proved} (Clarabel: {self.status}, {self.solver:.6g})"
            f"{doubt}"
        )


def bracket(key: str | Theorem, variant: str | None = None, *, seconds: float = 10.0, seed: int = 0,
            **values: float) -> Bracket:  # fmt: skip
    """The worst case of a statement's left-hand side at these values of the glossary's names.

    Parameters
    ----------
    key, variant : the statement, as for :func:`dfltheory.analysis.falsify.falsify`
    seconds : of processor time, for the search from below
    values : L, f0_gap, T, lam, the step sizes, and what else the statement is about; Q = K = 1, m = 2 unless
        given

    Raises
    ------
    InputError
        A statement that the program does not model (two blocks, push-sum, a server, another measure, rounds
        that are not linear in the gradients), a missing value, noise or SAM, an unsolved program.
    MissingExtraError
        cvxpy is not installed.
    """
    theorem = load(key, variant)
    _check(theorem)
    if not seconds > 0:
        raise InputError(f"seconds = {seconds} must be > 0")
    whole_number("seed", seed, 0)
    for name, value in values.items():
        if name not in s.GLOSSARY:
            raise InputError(f"{name} is not in the glossary")
        if (name, value) != ("lam", 1):  # which no theorem is about, and the program can solve
            s.GLOSSARY[name].check(value)
        squarable(name, value)
        if name in ABSENT and value != 0:
            raise InputError(f"worst cases are without noise and SAM, from a common start: omit {name}")
        if name in theorem.schedule and name not in theorem.needs:
            raise InputError(f"{theorem} holds for its own {name} = {theorem.schedule[name]}: omit {name}")
    known: dict[str, Any] = {**USUAL, **ABSENT, **values}
    lacking = [n for n in ("L", "f0_gap", "T", "lam", *theorem.needs) if n not in known]
    if lacking:
        raise InputError(f"{theorem} needs {', '.join(dict.fromkeys(lacking))}: give each as NAME=VALUE")
    if not known["f0_gap"] > 0:
        raise InputError("f0_gap = 0 starts at the minimum: give one above 0")
    made = algorithm(theorem, known)
    solver, proved, status = proved_upper(Program.of(theorem, made, known))
    upper = solver if proved is None else proved
    lower, instance = below(theorem, made, known, upper, seconds, seed)
    numbers = {n: v for n, v in {**made.theory_values(), **known}.items() if n in theorem.needs}
    bound = float(np.asarray(theorem.evaluate(where="nan", **numbers))) if known["lam"] < 1 else math.nan
    return Bracket(lower, upper, bound, solver, status, proved is not None, instance)


def _check(theorem: Theorem) -> None:
    lhs, law = theorem.lhs, theorem.scope.network
    why = None
    if lhs.measure not in ("grad_norm_sq", "grad_norm_sq_w") or lhs.aggregate not in ("min", "mean", "last"):
        why = f"the {lhs.aggregate} of {lhs.measure}"
    elif law not in ("definition 1", "symmetric", "doubly stochastic"):
        why = f"a network of another law ({law})"
    elif not algorithm_class(theorem).needs_topology:
        why = "an algorithm without a network"
    if why is not None:
        raise InputError(f"worst cases are of gradients on doubly stochastic networks; {theorem}: {why}")


__all__ = ["Bracket", "bracket"]
