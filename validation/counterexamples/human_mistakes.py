"""False versions of the kinds of mistakes that people make in statements.

    python -m validation.counterexamples.human_mistakes draw FILE
    python -m validation.counterexamples.human_mistakes known FILE
    python -m validation.counterexamples.human_mistakes search FILE --seconds 15

``draw`` makes every version of every corrected statement with constants, and of those
of Wang and Joshi (2021), by the rules of :data:`MISTAKES`, and draws :data:`COUNT` of
them with the seed :data:`SEED`, about as many of each rule. A version whose bound is
nowhere smaller than the original's is not made, as the original implies it. The draw
depends on the statements that are registered, so that a file keeps its rows when
others are added; its versions are found by their names. ``known`` compares each row
with the saved problems of ``docs/counterexamples``, those of :mod:`.hand_made` and the
closed forms, and stores what refutes it. ``search`` searches each version that has no
such search yet, and stores the instance where it finds one.

A version is *known to be false* if its row holds an instance that the training core
confirms, or a closed form with a ratio above 1. Nothing is known of the others, some
of which may be true.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from dfltheory.counterexamples.certify import certify, exact_expectation
from dfltheory.counterexamples.document import built
from dfltheory.counterexamples.falsification import best_of
from dfltheory.counterexamples.reach import class_of
from dfltheory.counterexamples.search import processor, search
from dfltheory.counterexamples.search_spaces import search_spaces
from dfltheory.errors import DFLTheoryError
from dfltheory.files import write_json
from validation.counterexamples.hand_made import HAND_MADE
from validation.counterexamples.power import ENOUGH, known_without_search
from validation.counterexamples.survey import searched
from validation.searched import FOLDER

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.training.instance import Instance

COUNT, SEED = 60, 45
PAPER = "wang_joshi2021"
POINTS = 400
"""Random values of the constants at which two bounds are compared."""
Row = dict[str, Any]
NAMES = ("key", "variant", "mistake", "place")
"""Fields of a row that name its version."""


@dataclass(frozen=True)
class Version:
    """A statement with one mistake in one place."""

    theorem: Theorem
    mistake: str
    place: str

    @property
    def name(self) -> tuple[str, str, str, str]:
        """Key, variant, mistake and place, which identify the version."""
        return self.theorem.key, self.theorem.variant, self.mistake, self.place


# -- mistakes in the left-hand side


def last_for_mean(theorem: Theorem) -> Iterator[Version]:
    """Yield the version with the last round in place of the mean over rounds."""
    if theorem.lhs.aggregate == "mean":
        yield _with_left_side(theorem, "last for mean", aggregate="last")


def maximum_for_mean(theorem: Theorem) -> Iterator[Version]:
    """Every round in place of the mean over rounds."""
    if theorem.lhs.aggregate == "mean":
        yield _with_left_side(theorem, "max for mean", aggregate="max")


def mean_for_minimum(theorem: Theorem) -> Iterator[Version]:
    """Yield the version with the mean over rounds where the best round is bounded.

    Only statements about the best round have one.
    """
    if theorem.lhs.aggregate == "min":
        yield _with_left_side(theorem, "mean for min", aggregate="mean")


def shifted_rounds(theorem: Theorem) -> Iterator[Version]:
    """Yield versions whose rounds, or model that defines f0_gap, are off by one."""
    lhs = theorem.lhs
    later = {"first": lhs.first + 1, "last": lhs.last + 1}
    yield _with_left_side(theorem, "index off by one", "rounds", **later)
    yield _with_left_side(theorem, "index off by one", "f0_gap", start=lhs.start + 1)


def _with_left_side(
    theorem: Theorem, mistake: str, place: str = "left side", **fields: Any
) -> Version:
    lhs = replace(theorem.lhs, latex="", **fields)
    return Version(replace(theorem, lhs=lhs), mistake, place)


# -- mistakes in one term of the bound


def one_for_m(theorem: Theorem) -> Iterator[Version]:
    """Yield versions where a factor m is lost, or one more 1/m appears."""
    yield from _scaled_terms(theorem, "1 for m", ("m",), _divided)


def lost_steps(theorem: Theorem) -> Iterator[Version]:
    """Yield versions where a factor K is lost."""
    yield from _scaled_terms(theorem, "a lost K", ("K", "K_u", "K_v"), _divided)


def squared_eigenvalue(theorem: Theorem) -> Iterator[Version]:
    """lam^2 in place of lam, or lam^3 of lam^2."""
    yield from _scaled_terms(theorem, "lam^2 for lam", ("lam", "q"), _multiplied)


def eigenvalue_gap(theorem: Theorem) -> Iterator[Version]:
    """1 - lam^2 in place of 1 - lam in a denominator."""
    yield from _scaled_terms(theorem, "1 - lam^2 for 1 - lam", ("lam", "q"), _wider_gap)


def lost_gap(theorem: Theorem) -> Iterator[Version]:
    """1 - lam in place of (1 - lam)^2 in a denominator."""
    yield from _scaled_terms(theorem, "1 - lam for its square", ("lam", "q"), _lost_gap)


def squared_clients(theorem: Theorem) -> Iterator[Version]:
    """sigma^2/m^2 in place of sigma^2/m."""
    for name, part in theorem.parts.items():
        symbols = _symbols(theorem, part)
        if {"sigma_l", "sigma_u", "sigma_v"} & symbols and "m" in symbols:
            factor = 1 / sp.Symbol("m", positive=True)
            yield _with_factor(theorem, "sigma^2/m^2", name, _own(theorem, factor))


def shifted_horizon(theorem: Theorem) -> Iterator[Version]:
    """T + 1 in place of T in a denominator."""
    yield from _scaled_terms(theorem, "T + 1 for T", ("T",), _next_horizon)


def _divided(x: Any) -> Any:
    return 1 / x


def _multiplied(x: Any) -> Any:
    return x


def _wider_gap(x: Any) -> Any:
    return 1 / (1 + x)


def _lost_gap(x: Any) -> Any:
    return 1 - x


def _next_horizon(x: Any) -> Any:
    return x / (x + 1)


def _scaled_terms(
    theorem: Theorem,
    mistake: str,
    names: tuple[str, ...],
    factor: Callable[[Any], Any],
) -> Iterator[Version]:
    """One version for each term and each of the quantities that occurs in it."""
    for term, part in theorem.parts.items():
        for name in names:
            if name in _symbols(theorem, part):
                own = _own(theorem, factor(sp.Symbol(name, positive=True)))
                yield _with_factor(theorem, mistake, term, own)


def _symbols(theorem: Theorem, part: Any) -> set[str]:
    """Names of the quantities of a term, inside of definitions too."""
    defined = {d.symbol: d.expr for d in theorem.definitions}
    for _ in defined:
        part = part.xreplace(defined)
    return {str(symbol) for symbol in part.free_symbols}


def _own(theorem: Theorem, factor: Any) -> Any:
    """Return the factor in the statement's own symbols."""
    known = {str(s): s for part in theorem.parts.values() for s in part.free_symbols}
    for definition in theorem.definitions:
        known |= {str(s): s for s in definition.expr.free_symbols}
    return factor.xreplace({s: known[str(s)] for s in factor.free_symbols})


def _with_factor(theorem: Theorem, mistake: str, term: str, factor: Any) -> Version:
    parts = {**theorem.parts, term: factor * theorem.parts[term]}
    return Version(replace(theorem, parts=parts), mistake, term)


# -- mistakes in a condition


def weakened_condition(theorem: Theorem) -> Iterator[Version]:
    """Yield versions with a condition that admits twice as much."""
    for index, condition in enumerate(theorem.conditions):
        if sp.simplify(2 * condition.left / condition.right) in (2, 4):
            continue  # such as 2 sigma <= sigma, which then says nothing
        weaker = replace(condition, left=condition.left / 2)
        conditions = [*theorem.conditions]
        conditions[index] = weaker
        changed = replace(theorem, conditions=tuple(conditions))
        yield Version(changed, "a condition weakened by 2", condition.name)


MISTAKES = (
    last_for_mean,
    maximum_for_mean,
    mean_for_minimum,
    shifted_rounds,
    one_for_m,
    lost_steps,
    squared_eigenvalue,
    eigenvalue_gap,
    lost_gap,
    squared_clients,
    shifted_horizon,
    weakened_condition,
)


def originals() -> list[Theorem]:
    """Return the corrected statements with constants, and those of the paper."""
    statements = [*searched(variant="corrected"), *searched(prefix=PAPER)]
    return [theorem for theorem in statements if not theorem.order]


def versions() -> dict[str, list[Version]]:
    """All versions that the original does not imply, by the rule that made them."""
    found: dict[str, list[Version]] = {}
    for rule in MISTAKES:
        found[rule.__name__] = [
            version
            for theorem in originals()
            for version in rule(theorem)
            if not _implied(theorem, version.theorem)
        ]
    return found


def _implied(original: Theorem, changed: Theorem) -> bool:
    """Return whether only the bound is changed, and is smaller at no random point."""
    same = (original.lhs, original.conditions) == (changed.lhs, changed.conditions)
    if not same:
        return False
    values = _random_values(original)
    with np.errstate(all="ignore"):
        before = original.evaluate(where="ignore", **values)
        after = changed.evaluate(where="ignore", **values)
        return not bool((after < before * (1 - 1e-9)).any())  # type: ignore[union-attr]


def _random_values(theorem: Theorem) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    values: dict[str, Any] = {}
    for name in theorem.needs:
        quantity = theorem.glossary[name]
        if quantity.integer:
            values[name] = rng.integers(1, 20, POINTS)
        elif quantity.high == 1:
            values[name] = rng.random(POINTS)
        else:
            values[name] = 10.0 ** rng.uniform(-2, 2, POINTS)
    return values


def drawn(count: int = COUNT, seed: int = SEED) -> list[Version]:
    """``count`` versions at random: the rules take turns until they have no more."""
    rng = np.random.default_rng(seed)
    queues = []
    for rule_versions in versions().values():
        order = rng.permutation(len(rule_versions))
        queues.append([rule_versions[index] for index in order])
    chosen: list[Version] = []
    while len(chosen) < count and any(queues):
        for queue in queues:
            if queue and len(chosen) < count:
                chosen.append(queue.pop())
    return chosen


# -- what is known of a version


def saved_witness(theorem: Theorem) -> Row | None:
    """Return the saved problem that refutes it most, confirmed by the training core."""
    ratios = []
    for name, document in _saved_instances():
        if ("b" in document["task"]) == theorem.scope.two_blocks:
            instance = _built(document, theorem)
            ratio = 0.0 if instance is None else _exact_ratio(instance, theorem)
            if ratio > 1:
                ratios.append((ratio, name, instance))
    ratios.sort(key=_first, reverse=True)
    return _confirmed(theorem, ratios[:3])


def hand_made_witness(theorem: Theorem) -> Row | None:
    """Return the first problem made by hand that refutes it, confirmed by the core."""
    for name, problems in HAND_MADE.items():
        try:
            for instance in problems(theorem):
                ratio = _exact_ratio(instance, theorem)
                found = _confirmed(theorem, [(ratio, name, instance)])
                if found is not None:
                    return found
        except DFLTheoryError:
            continue  # no such algorithm, or step sizes outside of its range
    return None


def _confirmed(
    theorem: Theorem, candidates: list[tuple[float, str, Instance]]
) -> Row | None:
    """Return the first of the candidates that the training core confirms."""
    for ratio, name, instance in candidates:
        if ratio > 1 and certify(instance, theorem).violated:
            return {"ratio": ratio, "from": name, "instance": instance.document()}
    return None


def _first(row: tuple[float, str, Instance]) -> float:
    return row[0]


@cache
def _saved_instances() -> list[tuple[str, Row]]:
    found = []
    for path in sorted(FOLDER.glob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        if document.get("instance") is not None:
            found.append((path.name, document["instance"]))
    return found


def _built(document: Row, theorem: Theorem) -> Instance | None:
    """Build an instance for the statement's algorithms from a saved problem."""
    try:
        return built(document, theorem.scope.algorithms)
    except DFLTheoryError:
        return None


def _exact_ratio(instance: Instance, theorem: Theorem) -> float:
    """Return measured / bound by the exact expectation; 0 where it does not apply."""
    if not _covers(theorem, instance.algorithm):
        return 0.0
    try:
        with np.errstate(all="ignore"):
            exact, obstacles = exact_expectation(instance, theorem)
    except (DFLTheoryError, ArithmeticError):
        return 0.0
    return 0.0 if obstacles else float(exact["ratio"])


def _covers(theorem: Theorem, algorithm: Any) -> bool:
    classes = tuple(class_of(name) for name in theorem.scope.algorithms)
    return isinstance(algorithm, classes)


def known(theorem: Theorem) -> Row:
    """Return what refutes a version without a search."""
    saved = saved_witness(theorem) or hand_made_witness(theorem)
    return {"saved": saved, **known_without_search(theorem)}


def looked(theorem: Theorem, seconds: float, seed: int = 0) -> Row:
    """One search, with the instance that it found."""
    started = time.process_time()
    arms = search(
        theorem, search_spaces(theorem), seconds, seed, ENOUGH, clock=processor
    )
    searching = time.process_time() - started
    found = best_of(theorem, arms)
    row: Row = {
        "refuted": False,
        "seconds": seconds,
        "searched in": round(searching, 1),
        "confirmed in": round(time.process_time() - started - searching, 1),
        "evaluations": sum(arm.evaluations for arm in arms),
    }
    if found is None:
        return row
    family, instance, certificate = found
    row |= {"family": family, "ratio": certificate.exact["ratio"]}
    if certificate.violated:
        row |= {"refuted": True, "instance": instance.document()}
    return row


def is_false(row: Row) -> bool:
    """Return whether a version is known to be false."""
    searches = [row[name] for name in ("before", "after") if name in row]
    return any(found["refuted"] for found in searches) or known_false(row)


def known_false(row: Row) -> bool:
    """Return whether a version is known to be false without a search."""
    return row["saved"] is not None or row["for ever"] > 1


def shares(rows: list[Row], name: str) -> dict[str, int]:
    """How many the searches of that name refuted, of the known false, and of all."""
    found = [row for row in rows if name in row]
    return {
        "searched": len(found),
        "refuted": sum(row[name]["refuted"] for row in found),
        "known to be false": sum(map(is_false, found)),
        "known without a search": sum(map(known_false, found)),
        "refuted of these": sum(
            row[name]["refuted"] for row in found if known_false(row)
        ),
    }


def by_name() -> dict[tuple[str, ...], Version]:
    """All versions that can be drawn."""
    return {v.name: v for of_rule in versions().values() for v in of_rule}


def main(arguments: list[str]) -> int:
    """Draw the versions, or learn more of those of a file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("action", choices=("draw", "known", "search", "shares"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--name", choices=("before", "after"), default="after")
    given = parser.parse_args(arguments)
    if given.action == "draw":
        rows = [dict(zip(NAMES, v.name, strict=True)) for v in drawn()]
        write_json(given.file, rows)
        return 0
    rows = json.loads(given.file.read_text(encoding="utf-8"))
    if given.action in ("known", "search"):
        available = by_name()
        for row in rows:
            name = tuple(row[field] for field in NAMES)
            theorem = available[name].theorem
            if given.action == "known":
                row.update(known(theorem))
                print(name, is_false(row), flush=True)
            elif given.name not in row:
                row[given.name] = looked(theorem, given.seconds)
                print(name, row[given.name]["refuted"], flush=True)
            write_json(given.file, rows)
    for name in ("before", "after"):
        print(name, shares(rows, name))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

__all__ = ["MISTAKES", "Version", "drawn", "is_false", "known", "looked", "shares"]
