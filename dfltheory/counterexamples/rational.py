"""A counterexample checked in rational numbers, with neither torch nor the search: both sides as fractions.

Each number is taken to six digits, for a reader to check by hand: two clients on the line with ramps, K steps
(SAM, momentum, duals), Q gossip steps; and noise of which all coins lead to one state. The measure stays once
the state repeats, or gradients are constant for all that is to come. Rounds that are not known count as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import inf, isqrt
from typing import Any, NamedTuple

import numpy as np

from dfltheory.bounds.measures import GRADIENT_MEASURES
from dfltheory.bounds.rational_values import RationalValues
from dfltheory.bounds.theorem import Theorem
from dfltheory.counterexamples.digits import about, short
from dfltheory.errors import InputError

ROUNDS, BITS, ZERO = 5000, 30000, Fraction(0)  # at most: the digits grow with every step
FREE = {"rho": 0, "Q": 1, "alpha": 0, "lam": 0}  # beside eta and K; and what absent ones are
STEPS = {"dfedsam", "dfedavg", "fedavg", "dfedsgpsm", "dfedadmmsam", "dfedadmm"}
PLAIN = {"decay": 1, "weight_decay": 0, "participation": 1, "offset": None}  # at these values nothing is done
_six: Callable[[float], Fraction] = lambda number: Fraction(f"{number:.6g}")  # noqa: E731


class Exact(NamedTuple):
    """Both sides, the glossary's ``values``, and ``why`` the left side of rounds not computed is known."""

    left: Fraction
    right: Fraction
    values: dict[str, Fraction]
    why: str

    def __str__(self) -> str:
        told = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        sides = f"{short(self.left)} {'>' if self.left > self.right else '<='} {short(self.right)}"
        ratio = about(self.left / self.right, 6) if self.right else "inf"
        return f"in rational numbers {sides}, ratio {ratio}; {told}; {self.why}"


class _Clients:
    """f_i'(x) = left_i + sum_k s_ik min(max(x - a_ik, 0), w_ik), the noise as i = 2; constants and rounds."""

    def __init__(self, task: Mapping[str, Any]):
        *led, last = task.get("led") or ([], [], [], [0])
        self.coins, self.left = (1, -1) if task.get("led") else (0,), list(map(_six, (*task["left"], *last)))
        rows = zip(*([*task[n], one] for n, one in zip(("knots", "widths", "slopes"), led, strict=True)))
        self.ramps = [[tuple(map(_six, ramp)) for ramp in zip(*row, strict=True)] for row in rows]
        self.knots = sorted({p for client in self.ramps for a, w, _ in client for p in (a, a + w)})

    def slope(self, i: int, x: Fraction) -> Fraction:
        return self.left[i] + sum((s * min(max(x - a, ZERO), w) for a, w, s in self.ramps[i]), ZERO)

    def mean(self, x: Fraction) -> Fraction:
        return (self.slope(0, x) + self.slope(1, x)) / 2

    def value(self, x: Fraction) -> Fraction:
        parts = ((a, w, s, min(max(x - a, ZERO), w)) for client in self.ramps[:2] for a, w, s in client)
        areas = (s * (inside**2 / 2 + w * (max(x - a, ZERO) - inside)) for a, w, s, inside in parts)
        return sum(areas, sum(self.left[:2], ZERO) * x) / 2

    def constants(self) -> dict[str, Fraction]:
        """L, B, sigma_g (its root rounded up), sigma_l, f*: attained at knots, or f* where f' crosses 0."""
        if self.mean(self.knots[0]) > 0 or self.mean(self.knots[-1]) < 0:
            raise InputError("f is unbounded below: there is no f*")
        pieces = [
            (a, b, self.mean(a), self.mean(b)) for a, b in zip(self.knots, self.knots[1:], strict=False)
        ]
        zeros = [a + (b - a) * f / (f - g) for a, b, f, g in pieces if f * g < 0]
        rises = (abs(self.slope(i, b) - self.slope(i, a)) / (b - a) for a, b, *_ in pieces for i in (0, 1))
        spread = max((self.slope(0, p) - self.slope(1, p)) ** 2 / 4 for p in self.knots)
        sigma_g = Fraction(isqrt(spread.numerator * 10**40 // spread.denominator) + bool(spread), 10**20)
        B, noise = (max(abs(self.slope(i, p)) for p in self.knots for i in who) for who in ((0, 1), (2,)))
        f_star = min(self.value(p) for p in (*self.knots, *zeros))
        return {"L": max(rises), "B": B, "sigma_g": sigma_g, "sigma_l": noise, "f_star": f_star}

    def steps(self, i: int, x: Fraction, dual: Fraction, by: Mapping[str, Any]) -> tuple[Any, ...]:
        """What client i sends after K steps from x, its dual, its way, and how far slopes stay there."""
        y, v, points, pull = x, ZERO, [x], 1 / by["lam"] if by["lam"] else ZERO
        for _ in range(by["K"]):
            ends = set()
            for g, coin in ((self.slope(i, y) + coin * self.slope(2, y), coin) for coin in self.coins):
                points += [y, at := y + by["rho"] * ((g > 0) - (g < 0))]
                kept = by["alpha"] * v + self.slope(i, at) + coin * self.slope(2, at)
                ends.add((y - by["eta"] * (kept - dual + pull * (y - x)), kept))
            if len(ends) > 1:
                raise InputError("its coins lead the run to several states")
            ((y, v),) = ends
        way = (y > x) - (y < x)
        far: Any = min(((k - p) * way for k in self.knots for p in points if (k - p) * way > 0), default=inf)
        flat = all(self.slope(j, p) == self.slope(j, p + way * min(far, 1)) for p in points for j in range(3))
        return y - by["lam"] * dual, dual + pull * (x - y), way, far if flat else 0


def _in_scope(theorem: Theorem, name: str, given: Mapping[str, Any]) -> None:
    """Refuse an algorithm, or a value of a hyperparameter, that the theorem does not cover."""
    named = [
        a if isinstance(a, str) else f"{a.__module__}:{a.__qualname__}" for a in theorem.scope.algorithms
    ]
    ours = [a.rpartition(":")[2].lower() for a in named if ":" not in a or a.startswith("dfltheory.")]
    if name not in ours:
        raise InputError(f"{theorem} covers {', '.join(theorem.scope.names)}, and this instance runs {name}")
    for letter, value in theorem.scope.letters.items():
        if letter in given and given[letter] != value:
            raise InputError(
                f"{theorem} covers {letter} = {value!r}, and this instance has {given[letter]!r}"
            )


def verify(instance: Mapping[str, Any], theorem: Theorem) -> Exact:
    """Both sides of ``theorem`` for the instance of a counterexample file; InputError where it has none."""
    task, letters, run = instance["task"], dict(instance["algorithm"]), instance["run"]
    name, T, x = letters.pop("name"), int(run["rounds"]), [_six(row[0]) for row in run["x0"]]
    if ":" in name:
        raise InputError(f"rational numbers know the steps of {', '.join(sorted(STEPS))}, and not of {name}")
    given = {n: v for n, v in letters.items() if n not in PLAIN or v != PLAIN[n]}
    odd = name not in STEPS or set(given) - {"eta", "K", *FREE} or (task.get("sigma") and not task.get("led"))
    if odd or "b" in task or len(x) != 2 or theorem.lhs.measure not in GRADIENT_MEASURES:
        raise InputError("rational numbers need two clients with ramps, no noise, gradient steps and gossip")
    _in_scope(theorem, name, given)
    by = {n: v if n in ("K", "Q") else _six(v) for n, v in {**FREE, **given}.items()}
    W, dual = instance.get("topology", {}).get("matrix", [[0.5, 0.5], [0.5, 0.5]]), [ZERO, ZERO]
    law = theorem.scope.network
    if callable(law) and (broken := law(np.array(W, dtype=float))) is not None:
        raise InputError(f"{theorem} does not cover this network: {broken}")
    w, start_apart = _six(W[0][1]), theorem.scope.common_start and x[0] != x[1]
    if start_apart or not 0 < w == _six(W[1][0]) < 1 or 0 < by["lam"] < by["eta"]:
        raise InputError(f"the weight {w}, the start {x[0]}, {x[1]} or eta is outside the range of {theorem}")
    clients, lam, x0_sq = _Clients(task), (1 - 2 * w) ** by["Q"], sum((v**2 for v in x), ZERO) / 2
    far = (
        (1 - by["eta"] / by["lam"]) ** by["K"]
        if theorem.lhs.measure == "grad_norm_sq_w" and by["lam"]
        else ZERO
    )
    span, data, means, more, why = theorem.lhs.rounds(T), [], [], 0, f"all {T} rounds were computed"
    for t in range(min(span.stop, ROUNDS + 1)):
        means.append(sum(x, ZERO) / 2)
        data.append(clients.mean(means[-1] - by["lam"] * far / (1 - far) * sum(dual, ZERO) / 2) ** 2)
        (z0, d0, way0, room0), (z1, d1, way1, room1) = (clients.steps(i, x[i], dual[i], by) for i in (0, 1))
        new = [(z0 + z1 - side * lam * (z1 - z0)) / 2 for side in (1, -1)]
        apart = way0 * way1 == -1 and sum(new) == sum(x) and way1 * (new[1] - new[0] - x[1] + x[0]) >= 0
        if apart and room0 == room1 == inf and lam >= 0 == by["lam"]:
            more = T
            why = f"from round {t} on the mean stands still, as constant gradients pull clients apart"
        elif [*new, d0, d1] == [*x, *dual]:
            more, why = T, f"from round {t} on the mean stands still, as the state repeats"
        elif by["lam"] == 0 and x[0] == x[1] and new[0] == new[1] and t >= theorem.lhs.start:
            more = int(min(room0, room1, T * abs(new[0] - x[0])) // abs(new[0] - x[0]))
            why = f"from round {t} on gradients stay as they are" if more else why
        if more or x[0].denominator.bit_length() > BITS:
            break
        x, dual = new, [d0, d1]
    have, end = data[span.start : span.stop], len(data) + more
    left = sum(have, ZERO) + max(0, min(span.stop, end) - max(len(data), span.start)) * data[-1]
    match theorem.lhs.aggregate:
        case "mean" | "last":
            left = left / len(span)
        case "min":
            left = min(have or data[-1:]) * (end >= span.stop)
        case "max":
            left = max([*have, *data[-1:]] if end > span.start else [ZERO])
        case "sum":
            pass
        case other:
            raise InputError(f"{theorem}: the aggregate {other!r} is not checked in rational numbers")
    why = why if end >= span.stop else f"the rounds after {end - 1} count as 0"
    gossip = dict.fromkeys(("lam", "q"), abs(1 - 2 * w)) | {"m": 2, "C": 1, "delta": 1, "x0_sq": x0_sq}
    values: dict[str, Any] = by | gossip | clients.constants() | {"lam_admm": by["lam"], "T": T}
    values["f0_gap"] = clients.value(means[: theorem.lhs.start + 1][-1]) - values["f_star"]
    if missing := set(theorem.needs) - set(values):
        raise InputError(f"no rational number is known for {', '.join(sorted(missing))}")
    known = {name: Fraction(values[name]) for name in theorem.needs}
    exact = RationalValues(theorem, known)
    for c in theorem.conditions:
        if (slack := exact.slack(c)) < 0 or (c.strict and slack == 0):
            raise InputError(f"in rational numbers condition {c.name} fails by {about(-slack, 15)}")
    return Exact(left, exact.bound(), known, why)
