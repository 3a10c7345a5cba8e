"""The power of the search: how many planted false versions of theorems it refutes.

The versions are of the corrected theorems, and planted by rule.

    python -m validation.counterexamples.power docs/power.json --seconds 60

plants, for every corrected theorem and corollary with constants of the registry: each
term left out; each term times one more power of each quantity in it, towards less
(:func:`lowered`); each term's constant made smaller where it was seen sharp
(:func:`smaller`); each condition left out; each assumption of the scope on starts and
samples left out; where windows of rounds contract, that rounds do. Nothing is chosen by
hand, so that some of them are true, or say nothing new. Which are false is known of
those that some search has refuted: this one, or a longer one from another seed
(``--again SECONDS``) of what it left; of those that a closed form violates
(:mod:`dfltheory.counterexamples.closed_forms`); and of those in :data:`FALSE`. Only the
last two are known without a search. Others are listed separately, with a reason
in :data:`OPEN` where there is one, and are no part of the share that is refuted.
Seconds are of the processor, so that a busy machine counts no less.

Every row says which search made it (:func:`searcher`). Rows that are in the file
already are left out where the version was refuted, whichever search did, or where this
search has looked as long: a run that was stopped goes on, and a better search tries
again what survived.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dfltheory.admm import gamma
from dfltheory.bounds import symbols as s
from dfltheory.bounds.theorem import Condition
from dfltheory.bounds.units import ONE, Scaling, Unit
from dfltheory.counterexamples import closed_forms
from dfltheory.counterexamples.closed_forms import strongest
from dfltheory.counterexamples.falsification import best_of
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.files import write_json
from validation.counterexamples.survey import outcome_file, searched

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

SEARCH = (
    "batch",
    "candidate_oracle",
    "candidate_values",
    "certify",
    "core",
    "cube",
    "decoding",
    "left_sides",
    "networks",
    "problems",
    "ramps",
    "reach",
    "score",
    "search",
    "search_spaces",
    "shared_numbers",
    "splits",
    "step_sizes",
)
"""The modules on which it depends what a search finds."""
_WITHOUT = "without the assumption of"
ENOUGH = 1.05
"""The search for a planted version ends beyond this ratio."""
_IMPLIED = (
    "the other conditions imply it where (lam chi)^2 <= {}, and the problems of the"
    " search have chi <= 1"
)
OPEN = {
    (
        "dfedadmm.theorem_1",
        "eta <= lam_admm",
    ): "the point w of its left-hand side is defined there alone",
    (
        "dfedadmm.corollary_1",
        "T >= 4 K",
    ): "the version is true: see `power.slack_of_short_horizons`",
    (
        "dfedmdc.theorem_1",
        "b <= 1/16",
    ): "the other conditions imply it: b <= a <= (1 - lam)/32",
    (
        "dfedmdc.theorem_2",
        "b <= 1/16",
    ): "the other conditions imply it: b <= a <= (1 - lam)/32",
    ("dfedmdc.theorem_1", "27 lam^2 chi^2 a b <= (1 - lam)^2"): _IMPLIED.format(37.9),
    ("dfedmdc.theorem_2", "27 lam^2 chi^2 a b <= (1 - lam)^2"): _IMPLIED.format(37.9),
    ("dfedmdc.rate_theorem_1", "T >= 125 lam^2 chi^2/(1 - lam)^2"): _IMPLIED.format(
        8.19
    ),
    ("dfedmdc.rate_theorem_2", "T >= 125 lam^2 chi^2/(1 - lam)^2"): _IMPLIED.format(
        8.19
    ),
}
"""Planted versions of which no instance is known that violates them: the statement, and
the condition that is left out; and why. The search tries them all the same.
"""

_LED = (
    "a client that noise leads astray violates it, whose personal part rests: the"
    " search has it for one block"
)
FALSE = {
    ("dfedmdc.theorem_2", f"{_WITHOUT} smooth samples"): _LED,
    ("dfedmdc.rate_theorem_2", f"{_WITHOUT} smooth samples"): _LED,
}
"""Planted versions that are known to be false, by the closed forms of
:mod:`dfltheory.counterexamples.families`, though the search does not reach what
violates them; and what does.
"""
UNSEEN = "no search has refuted"
KINDS = {
    "without the term": "terms left out",
    "1/": "constants made smaller",
    "one more power": "one more power",
    "without the condition": "conditions left out",
    _WITHOUT: "assumptions left out",
    "with rounds": "rounds in place of windows",
}
"""How the name of a version of each kind begins, and what the kind is called."""

_B0 = ("dfedadmm.theorem_1", "corrected_small_steps")
IMPLIED: dict[tuple[str, ...], str] = {
    (*_B0, term): "corrected_any_penalty"
    for term in (
        "drift",
        "dual",
        "consensus of the local steps",
        "consensus of the dual",
    )
}
"""Terms that are not necessary: without one of them the bound is never below that
variant, which is proved.

Of B0, whose K eta >= lam_admm: gamma >= 1 - 1/e and p <= 1, so that theta + lam/(1 -
lam) + 2 p <= 2.6/(1 - lam); the square of that, 6.8 (L lam_admm S)^2/(1 - lam)^2, is
less than the consensus of the dual (12 in place of 6.8), and than that of the local
steps (384); noise and optimization are larger too.
"""
_APART = (
    "it needs noise and coupling together, and what the search expects of noise is"
    " exact without coupling"
)
_BESIDE = (
    "B^2 stands beside sigma_l^2 in the consensus, and where the search has noise B is"
    " far larger"
)
UNREACHED: dict[tuple[str, ...], str] = {
    (*_B0, "noise"): _BESIDE,
    ("dfedsgpsm.theorem_1", "corrected_any_step", "noise"): _BESIDE,
    (
        "dfedmdc.theorem_1",
        "corrected_same_round",
        "change of the personal part",
    ): _APART,
    (
        "dfedmdc.theorem_2",
        "corrected_same_round",
        "change of the personal part",
    ): _APART,
}
"""Terms that no problem of the search can show to be necessary, and why."""


def unshown(key: str, variant: str, term: str, most: str) -> str:
    """Say what is known of a term without which the largest ratio is ``most``.

    The reason is included if it is known.
    """
    place = (key, variant, term)
    if place in IMPLIED:
        return f"no: without it the bound is never below that of {IMPLIED[place]}"
    return f"not shown: {most}" + (
        f"; {UNREACHED[place]}" if place in UNREACHED else ""
    )


def slack_of_short_horizons(K: int, step: float) -> float:
    r"""Return by how much Corollary B(i) of DFedADMM-SAM exceeds a true bound.

    The excess is that at c = L lam_admm = sqrt(K/T), in units of S^2.

    It is never negative, so that its condition T >= 4 K may be dropped. Two bounds hold
    for every T. For c >= 1/2, by the triangle inequality (every step's gradient is at
    most S in root mean square), grad f(w) <= L rho + S (1 + c (theta + lam/(1 - lam))).
    For c < 1, by the sharper Theorem B1, whose noise is that of the steps and no more
    than V' = min(V, S^2): 2 Delta/(lam_admm T) + c Gamma2 V'/(m (1 - c)) + (L rho + c S
    (theta + lam/(1 - lam) + 2 p))^2. The corollary has 2.24 c V/(K m) for the noise,
    and 1.87 for theta or theta + 2 p. So it exceeds the first wherever c (1.87 - theta)
    >= 1, and the second by c^2 S^2 (1.87^2 - (theta + 2 p)^2) - (Gamma2/(1 - c) -
    2.24/K) c V'/m at least, of which the worst is m = 1, V' = S^2.
    """
    c, far = step, float(gamma(1.0, K, K))
    theta, p = (1 - far) / far, 1 - (1 - 1 / K) ** (K - 1)
    first = c * (1.87 - theta) - 1
    if first >= 0:
        return first
    noise = (2 - far) / ((2 * K - 1) * far) / (1 - c) - 2.24 / K
    return c**2 * (1.87**2 - (theta + 2 * p) ** 2) - max(noise, 0.0) * c


def unproved(row: Mapping[str, Any]) -> str | None:
    """Why a planted version is not known to be false; None where it is false."""
    key, version = row["key"], row["version"]
    reason = OPEN.get((key, version.removeprefix("without the condition ")))
    if (
        reason
        or row["refuted"]
        or row.get("again", {}).get("refuted")
        or row.get("for ever", 0.0) > 1
    ):
        return reason
    return None if (key, version) in FALSE else UNSEEN


def planted(
    theorem: Theorem, shares: Mapping[str, Mapping[str, float]] | None = None
) -> Iterator[tuple[str, Theorem]]:
    """Yield versions of one theorem that may be false.

    Each is what was done to it, and what came of it.

    ``shares``: of each term, the largest ``share`` that measured / bound has reached
    where it rules.
    """
    if "window" in theorem.needs:
        rounds = {
            name: part.xreplace({s.window: sp.S.One})
            for name, part in theorem.parts.items()
        }
        conditions = (*theorem.conditions, Condition("window >= 1", sp.S.One, s.window))
        yield (
            "with rounds in place of windows",
            replace(theorem, parts=rounds, conditions=conditions),
        )
        return  # else as without windows
    parts = theorem.parts
    for name in parts:
        if len(parts) > 1:
            yield f"without the term {name}", replace(theorem, parts=_but(parts, name))
    for name, share in (shares or {}).items():
        if divisor := smaller(float(share["share"])):
            yield (
                f"1/{divisor} of the term {name}",
                _times(theorem, name, sp.Rational(1, divisor)),
            )
    for name, part in parts.items():
        for words, factor in lowered(theorem, part):
            yield f"{words} in the term {name}", _times(theorem, name, factor)
    scope = theorem.scope
    if scope.common_start:
        yield (
            f"{_WITHOUT} a common start",
            replace(theorem, scope=replace(scope, common_start=False)),
        )
    if scope.samplewise and {"rho", "rho0"} & set(theorem.needs):
        yield (
            f"{_WITHOUT} smooth samples",
            replace(theorem, scope=replace(scope, samplewise=False)),
        )
    for condition in theorem.conditions:
        left = tuple(c for c in theorem.conditions if c is not condition)
        yield (
            f"without the condition {condition.name}",
            replace(theorem, conditions=left),
        )


def smaller(share: float) -> int:
    """Return the power of two by which a bound of one term cannot be divided.

    It is 16 at most. Measured is ``share`` of the bound somewhere: 2 beyond 1/2, 4
    beyond 1/4; 0 where it was not seen sharp.
    """
    return next((n for n in (2, 4, 8, 16) if n * share > 1), 0)


def lowered(theorem: Theorem, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield changes of a term that lower it, in words, and their factors.

    For each quantity of a term: one more power of it, or of 1/x for counts and for
    definitions that never are in (0, 1), of x or 1 - x for shares (whichever the term
    has a power of). The factor multiplies the whole term, where that is a sum, too.

    Quantities with units are counted in those of the smoothness and of f(x^0) - f*,
    which therefore keep their own exponents: an exponent of a radius rho goes up with
    rho sqrt(L/Delta).
    """
    defined = {d.symbol: d.expr for d in theorem.definitions}
    units = {
        str(d.symbol): Scaling({n: theorem.glossary[n].unit for n in theorem.needs})
        for d in theorem.definitions
    }
    for x in sorted(part.free_symbols, key=str):
        name = str(x)
        q = theorem.glossary.get(name) if x not in defined else None
        unit = q.unit if q else units[name].of(defined[x].xreplace(defined))
        if name in ("f0_gap", "L", "L_u", "L_v"):
            continue
        if (
            q.integer
            if q
            else unit == ONE and _never_small(theorem, defined[x].xreplace(defined))
        ):
            yield f"one more power of 1/{name}", 1 / x
        elif q and q.high == 1:
            below: Any = sp.factor(sp.denom(sp.together(part)))
            below = sp.Mul.make_args(below)
            if any(f.subs(x, 1) == 0 for f in below):
                yield f"one more power of 1 - {name}", 1 - x
            if part.subs(x, 0) == 0 or any(f.subs(x, 0) == 0 for f in below):
                yield f"one more power of {name}", x
        else:
            yield f"one more power of {name}", x / _scale(unit, theorem)


def _never_small(theorem: Theorem, expr: Any) -> bool:
    """Return whether it is 0, or 1 and more, at all points, and at some more than 1."""
    rng, n = np.random.default_rng(0), 200
    draws: dict[str, Any] = {}
    for x in sorted(expr.free_symbols, key=str):
        entry = theorem.glossary[str(x)]
        share, size = rng.random(n), 10.0 ** rng.uniform(-2, 2, n)
        draws[str(x)] = (
            rng.integers(1, 9, n)
            if entry.integer
            else share
            if entry.high == 1
            else size
        )
    values = sp.lambdify(list(draws), expr, "numpy")(*draws.values()) * np.ones(n)
    return bool(np.all((values == 0) | (values >= 1 - 1e-9)) and (values > 1).any())


def _scale(unit: Unit, theorem: Theorem) -> Any:
    """Return a unit, in those of f(x^0) - f* and of the smoothness."""
    body = s.L_u if theorem.scope.two_blocks else s.L
    lengths = sp.sqrt(s.f0_gap / body), sp.sqrt(s.f0_gap / s.L_v)
    return s.f0_gap**unit.f * lengths[0] ** unit.x * lengths[1] ** unit.v


def _times(theorem: Theorem, name: str, factor: Any) -> Theorem:
    return replace(theorem, parts={**theorem.parts, name: factor * theorem.parts[name]})


def _but(parts: Any, name: str) -> dict[str, Any]:
    return {n: part for n, part in parts.items() if n != name}


def examined(variant: str = "corrected") -> Iterator[Theorem]:
    """Yield the corrected statements with constants that versions are made of.

    One variant of each key, and where windows of rounds contract, that one too; of
    those that say the same, the first.
    """
    seen = []
    for theorem in searched(variant=variant):
        said = (
            theorem.parts,
            theorem.conditions,
            theorem.lhs,
            theorem.scope,
            theorem.schedule,
        )
        if (
            not theorem.order
            and (theorem.variant == variant or "window" in theorem.needs)
            and said not in seen
        ):
            seen.append(said)
            yield theorem


def shares_of(folder: Path, theorem: Theorem) -> dict[str, dict[str, float]]:
    """Return what the outcome file of a statement says of its terms.

    It is empty where there is no file.
    """
    path = outcome_file(folder, theorem)
    return (
        json.loads(path.read_text(encoding="utf-8")).get("terms", {})
        if path.exists()
        else {}
    )


def searcher() -> str:
    """Return a fingerprint of the search: of its code."""
    told = hashlib.sha256()
    folder = Path(closed_forms.__file__).parent
    files = [folder / f"{name}.py" for name in SEARCH]
    for file in (*files, *sorted((folder / "families").glob("*.py"))):
        told.update(file.read_bytes())
    return told.hexdigest()[:12]


def main(arguments: list[str]) -> int:
    """Search every planted version that the file does not have.

    The file is written after each.
    """
    parser = argparse.ArgumentParser(prog="python -m validation.counterexamples.power")
    parser.add_argument(
        "file",
        type=Path,
        help="rows; shares of terms are read from counterexamples/ beside it",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        help="processor time of each version's search",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--again",
        type=float,
        metavar="SECONDS",
        help=(
            "search once more what survived, from the next seed, to learn whether it is"
            " false"
        ),
    )
    parser.add_argument(
        "--most",
        type=int,
        default=None,
        help="versions to be searched in this call at most",
    )
    parser.add_argument(
        "--part",
        type=int,
        nargs=2,
        default=(0, 1),
        metavar=("K", "N"),
        help="the K-th of N parts",
    )
    parser.add_argument(
        "--closed-forms",
        action="store_true",
        help="evaluate the closed forms of all rows again; no search",
    )
    given = parser.parse_args(arguments)
    told: list[dict[str, Any]] = (
        json.loads(given.file.read_text()) if given.file.exists() else []
    )
    folder = given.file.parent / "counterexamples"
    versions = [
        (t, *one) for t in examined() for one in planted(t, shares_of(folder, t))
    ]
    rows = {_place(one): one for one in told}
    if given.closed_forms:
        for theorem, version, false in versions:
            place = (theorem.key, theorem.variant, version)
            if place in rows:
                rows[place] |= known_without_search(false)
        write_json(given.file, list(rows.values()))
        return 0
    mine = versions[given.part[0] :: given.part[1]]
    left = [
        one
        for one in mine
        if _wanted(rows.get((one[0].key, one[0].variant, one[1])), given)
    ]
    open_ = {place for place, row in rows.items() if unproved(row)}
    # what was searched before and is not known to be false comes last, and before it
    # what is slower
    left.sort(
        key=lambda o: ((o[0].key, o[0].variant, o[1]) in open_, o[0].scope.two_blocks)
    )
    for theorem, version, false in left[: given.most]:
        row: dict[str, Any] = {
            "key": theorem.key,
            "variant": theorem.variant,
            "version": version,
        }
        if given.again is None:
            row |= looked(false, given.seconds, given.seed)
        else:
            again = looked(false, given.again, given.seed + 1)
            row = rows[_place(row)] | {
                "again": {
                    n: again[n] for n in ("refuted", "ratio", "seconds", "family")
                }
            }
        rows[_place(row)] = row
        write_json(given.file, list(rows.values()))
        found: dict[str, Any] = row.get("again", row)
        print(
            f"{theorem.key}, {version}:"
            f" {'refuted' if found['refuted'] else 'survives'}, {found['ratio']}",
            flush=True,
        )
    return 0


def looked(false: Theorem, seconds: float, seed: int) -> dict[str, Any]:
    """Search a version once, and return what was found."""
    families, started = search_spaces(false), time.process_time()
    arms = search(false, families, seconds, seed, ENOUGH, clock=processor)
    found = best_of(false, arms)
    return {
        "refuted": found is not None and found[2].violated,
        "ratio": None if found is None else found[2].exact["ratio"],
        "seconds": seconds,
        "spent": round(time.process_time() - started, 1),
        "evaluations": sum(arm.evaluations for arm in arms),
        "family": None if found is None else found[0],
        "search": searcher(),
        "date": date.today().isoformat(),
        **known_without_search(false),
    }


def known_without_search(theorem: Theorem) -> dict[str, Any]:
    """Return the largest measured / bound of the closed forms, and its name."""
    name, ratio = strongest(theorem)
    return {"for ever": ratio, "closed form": name if ratio > 0 else None}


def _wanted(row: dict[str, Any] | None, given: argparse.Namespace) -> bool:
    """Return whether a version is still to be searched, the first time or again."""
    this = (
        row is not None
        and row.get("search") == searcher()
        and row["seconds"] >= given.seconds
    )
    if given.again is None:
        return row is None or not (row["refuted"] or this)
    return (
        row is not None
        and not row["refuted"]
        and row.get("again", {}).get("seconds", 0) < given.again
    )


def _place(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["key"], row["variant"], row["version"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = [
    "FALSE",
    "IMPLIED",
    "KINDS",
    "OPEN",
    "UNSEEN",
    "examined",
    "lowered",
    "planted",
    "searcher",
    "shares_of",
    "slack_of_short_horizons",
    "smaller",
    "unproved",
    "unshown",
]
