r"""Statements in O(.), and the two-block theorems of DFedMDC.

An O(.) hides a constant, so that no single run contradicts it: what does is a family of problems, with one
parameter that grows, along which measured / expression grows without bound. Random bases are drawn, each
parameter in turn is multiplied by 1, 4, 16, ..., the training core measures (no noise, so that one run is
the expectation), and the exponent of the ratio is fitted to the last points.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.analysis.rate_fit import fit_exponent
from dfltheory.errors import DFLTheoryError

if TYPE_CHECKING:
    from dfltheory.analysis.falsify.finding import Finding
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.history import History

FACTORS = (1.0, 4.0, 16.0, 64.0)
DIVERGES = 0.2
"""A ratio counts as growing when its last two local exponents exceed this."""
SETTLED = 0.1
"""How far the expression's last local exponent may be from the one that it has in the limit."""
STRUCTURE = ("T", "K", "K_u", "K_v", "gap", "alpha")
"""Parameters that no O(.) may hide; the others are constants of the problem, which authors may mean to."""
JOINT = {False: ("T*K",), True: ("T*K_u",)}
"""Parameters that grow together, tried beside each alone (one block, two blocks)."""
Numbers = dict[str, float]


@dataclass(frozen=True)
class Divergence:
    """A one-parameter family: ``ratios`` = measured / expression at ``values`` of ``parameter``.

    ``T*K``: both grow by the same factor; ``gap`` and ``alpha`` stand for 1/(1 - lam) and 1/(1 - alpha).
    ``exponent`` [``low``, ``high``] of the ratio in the parameter.  ``structural``: is it one that no O(.)
    may hide?  ``settled``: has the expression's own exponent come to its limit?  ``base``: the first member.
    """

    parameter: str
    values: tuple[float, ...]
    ratios: tuple[float, ...]
    exponent: float
    low: float
    high: float
    structural: bool
    settled: bool
    base: dict[str, float]

    @property
    def diverges(self) -> bool:
        """Does the ratio grow in a parameter that no O(.) may hide, and not only before the limit sets in?"""
        grows = self.low > DIVERGES and self.ratios[-1] > 3 * self.ratios[0]
        return grows and self.settled and self.structural

    def __str__(self) -> str:
        ratios = ", ".join(f"{r:.3g}" for r in self.ratios)
        fit = f"{self.parameter}^{self.exponent:.3g} [{self.low:.3g}, {self.high:.3g}]"
        if self.diverges:
            return f"measured/expression diverges like {fit}: {ratios}"
        why = "" if self.structural else ", a constant of the problem, which an O(.) may mean to hide"
        why += "" if self.settled else ", before the limit of the expression sets in"
        return f"no diverging family found; the steepest grows like {fit}{why}: {ratios}"


def falsify_order(theorem: Theorem, seconds: float, seed: int) -> Finding:
    """Search for a family along which measured / expression grows without bound.

    A two-block theorem with constants is searched at random instead, for one ratio above 1.
    """
    from dfltheory.analysis.falsify.finding import Finding

    started, rng = time.monotonic(), np.random.default_rng(seed)
    two = theorem.lhs.measure.startswith("two_block")
    draw, measure = (_two_block_base, _two_block) if two else (_one_block_base, _one_block)
    if not theorem.order:
        return _with_constants(theorem, seconds, seed)
    best: Divergence | None = None
    top, evaluations = 0.0, 0
    told: dict[str, dict[str, float]] = {}
    while time.monotonic() - started < seconds:
        base = draw(rng)
        for parameter in [*(JOINT[two]), *base]:
            found = _along(theorem, base, parameter, measure)
            evaluations += len(FACTORS)
            if found is None:
                continue
            row = told.setdefault(parameter, {"ratio": 0.0, "evaluations": 0})
            row["ratio"], row["evaluations"] = (
                max(row["ratio"], *found.ratios),
                row["evaluations"] + len(FACTORS),
            )
            top = max(top, *found.ratios)
            best = found if best is None or _rank(found) > _rank(best) else best
            if time.monotonic() - started > seconds:
                break
        if best is not None and best.diverges:
            break
    violated = best is not None and best.diverges
    grown = top if best is None else best.ratios[-1] / best.ratios[0]
    return Finding(
        theorem.key,
        theorem.variant,
        violated,
        grown,
        evaluations,
        time.monotonic() - started,
        seed,
        divergence=best,
        families=told,
    )


def _with_constants(theorem: Theorem, seconds: float, seed: int) -> Finding:
    """Random problems at the least horizon that the conditions admit; the best ratio that was seen."""
    from dfltheory.analysis.falsify.finding import Finding

    started, rng = time.monotonic(), np.random.default_rng(seed)
    top, evaluations = 0.0, 0
    while time.monotonic() - started < seconds and top <= 1:
        base = _two_block_base(rng)
        gap = 1 + 0.5 * rng.random()
        base |= {"gap": gap, "T": float(np.ceil(1024 * gap**2)), "coupling": base["coupling"] / 10}
        measured, values = _two_block(theorem, base)
        bound = expression(theorem, values)
        evaluations += 1
        if np.isfinite(measured) and bound > 0:
            top = max(top, measured / bound)
    spent = time.monotonic() - started
    row = {"two blocks, bounded coupling": {"ratio": top, "evaluations": evaluations}}
    return Finding(theorem.key, theorem.variant, top > 1, top, evaluations, spent, seed, families=row)


def _rank(found: Divergence) -> tuple[bool, bool, float]:
    return found.diverges, found.structural and found.settled, found.low


def _along(
    theorem: Theorem,
    base: Numbers,
    parameter: str,
    measure: Callable[[Theorem, Numbers], tuple[float, Numbers]],
) -> Divergence | None:
    values, ratios, bounds = [], [], []
    last: Numbers = {}
    for factor in FACTORS:
        at = base | {name: base[name] * factor for name in parameter.split("*")}
        try:
            measured, last = measure(theorem, at)
            bound = expression(theorem, last)
        except DFLTheoryError:
            return None  # outside of the range of an algorithm, a task or the statement
        if not (np.isfinite([measured, bound]).all() and bound > 0 and measured / bound > 1e-12):
            return None
        values.append(base[parameter.split("*")[0]] * factor)
        ratios.append(measured / bound)
        bounds.append(bound)
    fit = fit_exponent(values[-3:], ratios[-3:])
    now = float(np.log(bounds[-1] / bounds[-2]) / np.log(values[-1] / values[-2]))
    structural = set(parameter.split("*")) <= set(STRUCTURE)
    return Divergence(
        parameter,
        tuple(values),
        tuple(ratios),
        fit.estimate,
        _lowest(values, ratios),
        fit.high,
        structural,
        not structural or abs(now - _limit(theorem, last, parameter)) <= SETTLED,
        base,
    )


def _limit(theorem: Theorem, last: Numbers, parameter: str) -> float:
    """The exponent of the expression alone as the parameter goes to infinity, all else as it is."""
    logs = []
    for factor in (1e8, 1e10):
        moved = dict(last)
        if parameter == "gap":
            moved |= {name: 1 - (1 - last[name]) / factor for name in ("lam", "q") if name in last}
        elif parameter == "alpha" and "alpha" in last:
            moved["alpha"] = 1 - (1 - last["alpha"]) / factor
        moved |= {
            name: last[name] * factor
            for name in parameter.split("*")
            if name in ("T", "K", "K_u", "K_v") and name in last
        }
        logs.append(np.log(expression(theorem, moved)))
    return float((logs[1] - logs[0]) / np.log(1e2))


def expression(theorem: Theorem, values: Numbers) -> float:
    """The right-hand side without its hidden constant; nan where a condition fails."""
    return float(np.asarray(theorem.evaluate(where="nan", **values)))


def _lowest(values: list[float], ratios: list[float]) -> float:
    """The least of the last two local exponents: a ratio that levels off has a small one at the end."""
    slopes = np.diff(np.log(ratios)) / np.diff(np.log(values))
    return float(slopes[-2:].min())


# -- one block: two clients on a clipped quadratic each -----------------------------------------------


def _one_block_base(rng: np.random.Generator) -> Numbers:
    def log(low: float, high: float) -> float:
        return float(low * (high / low) ** rng.random())

    return {
        "T": float(rng.choice([16, 32])),
        "K": float(rng.choice([1, 2])),
        "gap": log(2, 20),
        "alpha": log(1.01, 5),
        "L": log(0.1, 10),
        "distance": log(0.1, 10),
        "spread": log(0.01, 1),
        "rho0": log(0.1, 3),
    }


def _one_block(theorem: Theorem, at: Numbers) -> tuple[float, Numbers]:
    from dfltheory import algorithms
    from dfltheory.tasks.separable import Clipped
    from dfltheory.training import train

    T, K = round(at["T"]), round(at["K"])
    numbers = {"T": T, "K": K, "L": at["L"], "m": 2, "rho0": at["rho0"], "alpha": 1 - 1 / at["alpha"]}
    step = _schedule(theorem, numbers)
    rho = float(step.get("rho", 0.0))
    paper = theorem.key.split(".")[0]
    algorithm: Any = {
        "dfedsam": lambda: algorithms.DFedSAM(eta=step["eta"], K=K, rho=rho),
        "dfedmdc": lambda: algorithms.DFedSAM(eta=1 / (at["L"] * (K * T) ** 0.5), K=K),
        "dfedadmm": lambda: algorithms.DFedADMMSAM(eta=step["eta"], K=K, lam=step["lam_admm"], rho=rho),
        "dfedsgpsm": lambda: algorithms.DFedSGPSM(eta=step["eta"], K=K, alpha=numbers["alpha"], rho=rho),
    }[paper]()
    c = np.array([[at["distance"] + at["spread"]], [at["distance"] - at["spread"]]])
    task = Clipped(c, h=at["L"], r=2 * float(np.abs(c).max()))
    w = 1 / (2 * at["gap"])  # lam = 1 - 2w = 1 - 1/gap
    run = train(algorithm, task, np.array([[1 - w, w], [w, 1 - w]]), rounds=T, progress=False)
    extra = numbers | {"lam": 1 - 1 / at["gap"], "delta": 1.0, "C": 1.0, "q": 1 - 1 / at["gap"]}
    return _over(theorem, run, extra)


# -- two blocks: personal problems with bounded coupling, so that delta_u is finite and exact ------------


def _two_block_base(rng: np.random.Generator) -> Numbers:
    def log(low: float, high: float) -> float:
        return float(low * (high / low) ** rng.random())

    return {
        "T": float(rng.choice([16, 32])),
        "K_u": float(rng.choice([1, 2])),
        "K_v": float(rng.choice([1, 2])),
        "gap": log(1.1, 20),
        "h_u": log(0.03, 10),
        "h_v": log(0.03, 10),
        "coupling": log(1e-2, 10),
        "start": log(1e-2, 3),
        "apart": log(1e-2, 10),
        "spread": log(1e-2, 1),
    }


def _two_block(theorem: Theorem, at: Numbers) -> tuple[float, Numbers]:
    from dfltheory import algorithms
    from dfltheory.tasks.personal import Coupled
    from dfltheory.training import train

    T, K_u, K_v = (round(at[name]) for name in ("T", "K_u", "K_v"))
    a, b = np.array([[at["spread"]], [-at["spread"]]]), np.array([[0.5], [-0.5]])
    task = Coupled(a, b, h_u=at["h_u"], h_v=at["h_v"], k=at["coupling"])
    known = task.constants.known()
    numbers = {"T": T, "K_u": K_u, "K_v": K_v, "L_u": known["L_u"], "L_v": known["L_v"], "m": 2, "rho0": 0.0}
    step = _schedule(theorem, numbers)
    algorithm = algorithms.DFedMDC(eta_u=step["eta_u"], eta_v=step["eta_v"], K_u=K_u, K_v=K_v)
    x0 = np.array([[at["start"] + at["apart"], 0.5], [at["start"] - at["apart"], -0.5]])
    w = 1 / (2 * at["gap"])
    W = np.array([[1 - w, w], [w, 1 - w]])
    run = train(algorithm, task, W, rounds=T, x0=x0, progress=False)
    first = train(algorithm, task, W, rounds=theorem.lhs.start, x0=x0, progress=False).x
    gap = (
        _common_value(task, first) - known["f_star"]
    )  # f_star is a lower bound, so the gap is never too small
    extra = numbers | {"lam": 1 - 1 / at["gap"], "sigma_u": 0.0, "sigma_v": 0.0, "f0_gap": gap, "rho": 0.0}
    extra |= {name: known[name] for name in ("chi", "L_uv", "L_vu", "delta_u")}
    return _over(theorem, run, extra | {"x0_spread": at["apart"] ** 2})


def _common_value(task: Any, x: Any) -> float:
    """F(ubar, V) of models (1, 2, 2)."""
    import torch

    models = torch.as_tensor(x).clone()
    models[..., :1] = models[..., :1].mean(-2, keepdim=True)
    return float(task.client_loss(models).mean())


# -- what both share ------------------------------------------------------------------------------------


def _schedule(theorem: Theorem, numbers: Numbers) -> Numbers:
    """The step sizes of the statement's own schedule at these numbers."""
    found = {}
    for name, rule in theorem.schedule.items():
        symbols = getattr(rule, "free_symbols", set())
        found[name] = float(rule.subs({s: numbers[s.name] for s in symbols}))
    return found


def _over(theorem: Theorem, run: History, extra: Numbers) -> tuple[float, Numbers]:
    """The left-hand side of a run, and the values at which the expression is to be taken."""
    if theorem.lhs.measure not in run.measures() or run.diverged_at is not None:
        return float("nan"), dict.fromkeys(theorem.needs, 1.0)
    span = theorem.lhs.rounds(run.rounds)
    data = run.measures()[theorem.lhs.measure][0, span.start : span.stop]
    measured = float(data.min() if theorem.lhs.aggregate == "min" else data.mean())
    gap = float(run.loss[0, theorem.lhs.start]) - float(run.constants.f_star or 0.0)
    values = {k: v for k, v in run.values().items() if v is not None and np.all(np.isfinite(v))}
    values |= {"sigma_l": 0.0, "f0_gap": max(gap, 0.0)} | extra
    if set(theorem.needs) - set(values):
        return float("nan"), dict.fromkeys(theorem.needs, 1.0)
    return measured, {name: float(values[name]) for name in theorem.needs}


__all__ = ["Divergence", "expression", "falsify_order"]
