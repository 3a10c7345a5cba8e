"""Inequalities on numbers, vectors and matrices that proofs use: refuted, proved, cited, or only searched."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import sympy as sp

from dfltheory.bounds import registry
from dfltheory.bounds.checks.finding import Finding, check, found
from dfltheory.bounds.checks.proofs import prove
from dfltheory.bounds.steps import Inequality, Matrices, Scalar
from dfltheory.bounds.theorem import Theorem

_TOLERANCE = 1e-9
_SAMPLES = 20000
_DRAWS = 400
_CHANGES = 80
"""Random samples, and changes of the nearest of them."""
NOTICED = 0.5
"""What comes so near to its right side would be refuted with half the constant."""
_ROUNDING = 1e-3
"""Where the left side is never above it, what is bounded is itself rounding."""
_ENOUGH = 8
"""Samples that refute, of which the simplest is told."""
_BY_HAND = 64
"""Numbers of a sample, or gradients of a world's run, that are worked out in rationals."""
_SHORT = 64
"""Denominators that are read at a glance."""
_NICE = tuple(map(sp.Rational, (1, 2, "1/2", 3, "9/10", 10, 100)))


def has_inequalities(theorem: Theorem) -> bool:
    """Does its proof use a declared inequality?"""
    return any(_uses(theorem, inequality) for inequality in registry.inequalities())


def _uses(theorem: Theorem, inequality: Inequality) -> bool:
    return inequality.key == theorem.key and theorem.variant == "printed"


@check("inequality")
def check_inequalities(theorem: Theorem, declared: Sequence[Inequality] | None = None) -> Iterator[Finding]:
    """Every declared inequality that the proof of this statement uses."""
    for inequality in registry.inequalities() if declared is None else declared:
        if _uses(theorem, inequality):
            yield _judged(inequality)


def _judged(inequality: Inequality) -> Finding:
    kind, says = judge(inequality)
    return found(
        "error" if kind == "refuted" else "note",
        inequality.place,
        f"{inequality.says}{' ' if kind == 'refuted' else ': '}{says}",
        certificate=kind,
    )


@cache
def judge(inequality: Inequality) -> tuple[str, str]:
    """Refuted with numbers, proved (the kind of proof), textbook, or only searched; and that in words."""
    if isinstance(inequality, Matrices):
        found = search(inequality)
        witness, points = found.witness, f"not refuted at {found.samples} points"
        points += f", closest at {found.reached:.2g} of it" if found.reached > _ROUNDING else ""
    else:
        witness, points = _refute_scalar(inequality), f"not refuted at {_SAMPLES} points"
    if witness is not None:
        return "refuted", f"is false: {witness}"
    if isinstance(inequality, Matrices):
        if inequality.textbook:
            return "textbook", f"textbook ({inequality.textbook}); {points}"
    elif proof := prove(inequality):
        return proof.kind, f"proved ({proof.how})"
    return "searched", f"{points}; no proof"


def refute(inequality: Inequality) -> str | None:
    """A witness against it, in words; None where the search found none."""
    kind, says = judge(inequality)
    return says.removeprefix("is false: ") if kind == "refuted" else None


def _refute_scalar(inequality: Scalar) -> str | None:
    names = list(inequality.domain)
    symbols = [{s.name: s for s in (inequality.left - inequality.right).free_symbols}[n] for n in names]
    sides = [inequality.left, inequality.right]
    function = sp.lambdify(symbols, sides, modules="numpy")
    nice = list(itertools.product(*(_plain(inequality, name) for name in names)))
    drawn = [_domain(*inequality.domain[n], n in inequality.whole, i) for i, n in enumerate(names)]
    for exact, values in ((True, np.array(nice, dtype=float).T), (False, drawn)):
        if not len(values[0]):
            continue
        with np.errstate(all="ignore"):
            found = (np.asarray(v, dtype=float) for v in function(*values))
            left, right = (np.broadcast_to(v, values[0].shape) for v in found)
            excess = (left - right) / np.maximum(np.abs(right), 1e-300)
        bad = ~np.isfinite(left) | (excess > _TOLERANCE)
        if not bad.any():
            continue
        i = int(
            np.argmax(bad if exact else np.where(bad, np.where(np.isfinite(left), excess, np.inf), -np.inf))
        )
        point = nice[i] if exact else [f"{v[i]:.6g}" for v in values]
        at = dict(zip(symbols, point, strict=True))
        told = [_number(side.subs(at), v[i]) if exact else _number(v[i], v[i])
                for side, v in zip(sides, (left, right), strict=True)]  # fmt: skip
        place = ", ".join(f"{n} = {v}" for n, v in zip(names, point, strict=True))
        shown = told[0] if np.isfinite(left[i]) else "undefined"
        return f"at {place} the left side is {shown}, the right side {told[1]}"
    return None


def _plain(inequality: Scalar, name: str) -> list[Any]:
    """Simple numbers of a quantity's domain, and its ends."""
    low, high = inequality.domain[name]
    ends = tuple(sp.Rational(str(v)) for v in (low, high))
    inside = [v for v in dict.fromkeys((*_NICE, *ends)) if ends[0] <= v <= ends[1]]
    return [v for v in inside if v.is_integer or name not in inequality.whole]


def _number(value: Any, rounded: Any) -> str:
    """A rational number as it is where that is short."""
    exact = isinstance(value, Fraction) or getattr(value, "is_Rational", False)
    return str(value) if exact and len(str(value)) < 14 else f"{float(rounded):.6g}"


def _domain(low: float, high: float, whole: bool, salt: int) -> np.ndarray:
    """Values of [low, high] with both ends: uniform, and geometric where the range spans orders."""
    rng = np.random.default_rng(salt)
    if whole:
        small = np.arange(low, low + 50)
        rest = np.floor(np.exp(rng.uniform(np.log(low), np.log(high), _SAMPLES)))
        return np.minimum(np.concatenate([small, rest])[:_SAMPLES], high)
    plain = rng.uniform(low, high, _SAMPLES)
    if low > 0:
        plain = np.where(
            rng.random(_SAMPLES) < 0.5, plain, np.exp(rng.uniform(np.log(low), np.log(high), _SAMPLES))
        )
    plain[:2] = low, high
    return plain


@dataclass(frozen=True)
class Search:
    """The simplest ``witness`` of a search in words, or None; the largest share of a positive right side that
    the left side ``reached`` (1 where refuted); and how many ``samples`` were tried."""

    witness: str | None
    reached: float
    samples: int


@cache
def search(check: Matrices) -> Search:
    """Random samples; where they stay far from the right side, changes of the one that comes nearest."""
    rng, broken, most, nearest = np.random.default_rng(0), [], 0.0, ()
    draw, tried = check.draw or _FAMILIES[check.family], 0
    while tried < _DRAWS or (0 < most < NOTICED and not broken and tried < _DRAWS + _CHANGES):
        if tried >= _DRAWS and not any(hasattr(part, "changed") for part in nearest):
            break
        sample = draw(rng) if tried < _DRAWS else tuple(_changed(part, rng) for part in nearest)
        tried += 1
        left, right = sides(check, sample)
        if left > right + _TOLERANCE * abs(right) + 1e-12:
            broken.append(sample)
        elif right > 0 and left > most * right:
            most, nearest = float(left / right), sample
        if len(broken) == _ENOUGH:
            break
    if not broken:
        return Search(None, most, tried)
    return Search(_witness(check, min(broken, key=lambda sample: sum(map(_size, sample)))), 1.0, tried)


def sides(check: Matrices, sample: Sequence[Any]) -> tuple[Any, Any]:
    """Left and right side at a sample."""
    return check.left(*sample), check.right(*sample)


def _changed(part: Any, rng: np.random.Generator) -> Any:
    return part.changed(rng) if hasattr(part, "changed") else part


def _witness(check: Matrices, sample: tuple[Any, ...]) -> str:
    """A sample that refutes, and both sides there: in rationals where it is small and no root is taken."""
    left, right = sides(check, sample)
    if sum(map(_size, sample)) <= _BY_HAND:
        with suppress(TypeError):  # a root has no rational value
            left, right = sides(check, tuple(map(_exact, sample)))
    exactly = " (exact arithmetic)" if isinstance(left, Fraction) and left > right else ""
    shown = ", ".join(map(_named, inspect.signature(check.left).parameters, sample))
    told = f"the left side is {_number(left, left)}, the right side {_number(right, right)}"
    named = "a mixing matrix and its power" if check.family == "mixing" else check.family
    return f"for {named} ({shown}) {told}{exactly}"


def _size(part: Any) -> float:
    """How much there is to read, and to work out by hand: small whole numbers first."""
    if isinstance(part, np.ndarray):
        odd = sum(Fraction(float(v)).denominator > _SHORT for v in part.ravel())
        return part.size + 100 * odd + float(np.abs(part).sum()) / 100
    return float(abs(part) if isinstance(part, int | float | np.number) else getattr(part, "size", 0))


def _exact(part: Any) -> Any:
    """In rationals."""
    if isinstance(part, np.ndarray):
        return np.array([Fraction(float(v)) for v in part.ravel()], dtype=object).reshape(part.shape)
    return part.exact() if hasattr(part, "exact") else part


def _named(name: str, part: Any) -> str:
    """A number or an array by the name that the inequality gives it; a world tells its own."""
    return f"{name} = {_shown(part)}" if isinstance(part, int | float | np.number | np.ndarray) else str(part)


def _shown(part: Any) -> str:
    if not isinstance(part, np.ndarray):
        return f"{part:.6g}" if isinstance(part, float) else str(part)
    if part.ndim > 1 and part.shape[-1] > 1:
        return f"[{', '.join(map(_shown, part))}]"
    short = [Fraction(float(v)).limit_denominator(1000) for v in part.ravel()]
    return (
        f"[{', '.join(str(f) if f == v else f'{v:.3g}' for f, v in zip(short, part.ravel(), strict=True))}]"
    )


def _mixing(rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """A symmetric doubly stochastic primitive matrix, and a power: two clients that keep a share of eighths,
    or a mixture of symmetrized permutations and the identity."""
    power = int(rng.integers(1, 6))
    if rng.random() < 0.5:
        kept = int(rng.integers(1, 8)) / 8
        return np.array([[kept, 1 - kept], [1 - kept, kept]]), power
    m = int(rng.integers(2, 6))
    W = rng.uniform(0.1, 0.5) * np.eye(m) + 0.05 * np.full((m, m), 1 / m)
    for _ in range(m):
        P = np.eye(m)[rng.permutation(m)]
        W = W + rng.uniform(0, 1) * (P + P.T) / 2
    return W / W.sum(axis=1)[0], power


def few_vectors(rng: np.random.Generator, n: int) -> np.ndarray:
    """n vectors: small whole numbers, or Gaussian around a common one in R^3."""
    if rng.random() < 0.5:
        return rng.integers(-2, 3, (n, 1)).astype(float)
    return rng.normal(size=(n, 3)) + rng.normal(size=3)


_FAMILIES: dict[str, Callable[[np.random.Generator], tuple[Any, ...]]] = {
    "mixing": _mixing,
    "vectors": lambda rng: (few_vectors(rng, int(rng.integers(1, 6))),),
}


__all__ = ["NOTICED", "Search", "check_inequalities", "few_vectors", "judge", "refute", "search", "sides"]
