"""The search for a counterexample, and what it found or did not find."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.bounds import registry
from dfltheory.bounds.document import (
    UnknownLaw,
    theorem_from_document,
    theorem_to_document,
)
from dfltheory.bounds.reference import load
from dfltheory.counterexamples.certify import Certificate, certify
from dfltheory.counterexamples.divergence import Divergence, again, steepest
from dfltheory.counterexamples.document import FORMAT, KINDS, built, read_document
from dfltheory.counterexamples.reach import CodeNeededError, class_of, with_classes
from dfltheory.counterexamples.score import shortest_horizon
from dfltheory.counterexamples.search import Arm, Clock, search, wall
from dfltheory.counterexamples.search_spaces import refused_families, search_spaces
from dfltheory.documents import WrittenNumber
from dfltheory.errors import DataError, InputError, whole_number
from dfltheory.files import write_json
from dfltheory.own import own_name
from dfltheory.training.instance import Instance
from dfltheory.verdicts.rounding import LEAST

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

TRIED = 6
"""How many families' best candidates are handed to the training core, the best
first.
"""
COMMON, APART, LED = "common start", "clients apart", "noise that depends on the state"


@dataclass(frozen=True)
class Finding:
    """What one search says of one variant of one theorem.

    ``violated``: a counterexample was found, and the training core confirms it.
    ``ratio`` measured / bound of the best ``instance``, which ``family`` of candidates
    gave (for statements in O(.): the largest ratio along the diverging family, relative
    to its first), ``evaluations`` how many candidates were looked at, ``families`` the
    best ratio and the evaluations of each family that was tried, ``readings`` the ratio
    under each reading of the statement, the strictest first, and whether it is refuted
    under it, ``first`` the seconds after which a ratio above 1 was seen (of O(.): a
    divergence), and ``terms`` for each term of the bound the largest ratio where it is
    half of the bound or more (``share``) and the largest measured / (bound ``without``
    it), above 1 where it is necessary, and ``refused`` the families that have no
    candidates for the statement, with the reason. A search that finds nothing proves
    nothing.
    """

    key: str
    variant: str
    violated: bool
    ratio: float
    evaluations: int
    seconds: float
    seed: int
    family: str = ""
    instance: Instance | None = None
    certificate: Certificate | None = None
    divergence: Divergence | None = None
    families: dict[str, dict[str, float]] = field(default_factory=dict)
    theorem: Theorem | None = None
    readings: dict[str, dict[str, Any]] = field(default_factory=dict)
    first: float | None = None
    terms: dict[str, dict[str, float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, for JSON; with the theorem itself, where nobody has
        registered it.
        """
        names = (
            "key",
            "variant",
            "violated",
            "ratio",
            "evaluations",
            "seconds",
            "seed",
            "families",
        )
        document: dict[str, Any] = {name: getattr(self, name) for name in names}
        document |= {
            name: told
            for name in ("readings", "family", "first", "terms", "refused")
            if (told := getattr(self, name))
        }
        document["instance"] = (
            None if self.instance is None else self.instance.document()
        )
        if self.divergence is not None:
            document["divergence"] = asdict(self.divergence)
        if self.certificate is not None:
            certificate = asdict(self.certificate)
            if not self.undecided:
                del certificate["undecided"]
            document |= certificate
        if self.theorem is not None and not registry.registered(self.theorem):
            document["theorem"] = theorem_to_document(self.theorem)
        return document

    def save(self, path: str | Path) -> Path:
        """Write the counterexample as a small JSON file, for :func:`replay`."""
        if self.divergence is None and self.instance is None:
            raise InputError(
                f"there is no counterexample to {self.key} [{self.variant}] to be saved"
            )
        told = {k: v for k, v in self.to_dict().items() if k != "families"}
        write_json(
            path, {"kind": KINDS[self.divergence is not None], "format": FORMAT} | told
        )
        return Path(path)

    def record(self, path: str | Path, command: str) -> Path:
        """Write the outcome, found or not, with the command that repeats the search."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_json(
            path,
            {"kind": KINDS[2], "format": FORMAT, "command": command} | self.to_dict(),
        )
        return Path(path)

    def __str__(self) -> str:
        head = f"{self.key} [{self.variant}]: "
        tried = f" of {len(self.families)} families" if self.families else ""
        many = "candidate" if self.evaluations == 1 else "candidates"
        tail = f"{self.evaluations} {many}{tried} in {self.seconds:.0f} s{self._read}"
        if self.divergence is not None:
            return f"{head}{self.divergence} ({tail})"
        if self.undecided:
            return (
                f"{head}undecided: {'; '.join(self.undecided)}; measured/bound is"
                f" {self.ratio:.6g} in floating point ({tail})"
            )
        if math.isnan(self.ratio):
            return (
                f"{head}no candidate could be judged: no problem was found that"
                f" satisfies the conditions and whose bound is above {LEAST:g}"
                f" ({tail}). This proves nothing."
            )
        if not self.violated or self.certificate is None or self.instance is None:
            return (
                f"{head}no counterexample found; the largest measured/bound is"
                f" {self.ratio:.6g}{self._doubt} ({tail}). This proves nothing: other"
                " families, other seeds, more time may find one."
            )
        return (
            f"{head}refuted: measured/bound = {self.ratio:.6g} at T ="
            f" {self.instance.rounds} by the exact expectation, in floating point"
            f" ({self.family}); the training core's measured/bound is"
            f" {self.certificate} ({tail})"
        )

    @property
    def undecided(self) -> list[str]:
        """Why floating point cannot decide; empty when it can."""
        return [] if self.certificate is None else self.certificate.undecided

    @property
    def _read(self) -> str:
        """Each reading with its ratio, where there are several."""
        return "".join(
            f"; {name}:"
            f" {shown_ratio(one['ratio'])}{', refuted' if one['violated'] else ''}"
            for name, one in (self.readings.items() if len(self.readings) > 1 else ())
        )

    @property
    def _doubt(self) -> str:
        """Why a ratio above 1 is no counterexample."""
        if self.certificate is None or not self.ratio > 1:
            return ""
        core, outside = self.certificate.core, "; ".join(self.certificate.obstacles)
        if outside:
            return f", but outside of the assumptions: {outside}"
        return (
            f", which the training core does not confirm: {core['ratio']:.6g} after"
            f" {core['rounds']} rounds"
        )


def shown_ratio(ratio: float) -> str:
    """A ratio measured / bound to four digits; in words where no candidate could be
    judged.
    """
    return "none judged" if math.isnan(ratio) else f"{ratio:.4g}"


Progress = Callable[[str, float, int], None]
"""Called with the stage of a search, its best ratio, and its number of candidates."""


def falsify(
    key: str | Theorem,
    variant: str | None = None,
    *,
    seconds: float = 60.0,
    candidates: int | None = None,
    seed: int = 0,
    enough: float = math.inf,
    progress: Progress | None = None,
) -> Finding:
    """Search for a problem that satisfies every assumption of a theorem and violates
    its bound.

    Parameters
    ----------
    key, variant : the statement: a key of the registry (``printed`` unless a variant is
        given), a Theorem, or ``FILE.py:NAME``
    seconds : budget of the search (the confirmation by the training core comes on top)
    candidates : the budget in problems that are tried, in place of ``seconds``: then
        two searches from one seed try the same ones on any machine
    seed : of the search
    enough : stop once measured / bound exceeds this; else the best ratio in the time
        given is sought
    progress : called now and then with what is done ("searching" or "confirming"), the
        best ratio so far and the number of candidates

    Half of the budget goes to the strictest reading (:func:`readings`), which is told
    first. Corollaries are searched under their schedule. For statements in O(.) it
    looks for a one-parameter family along which measured / expression diverges.

    Raises
    ------
    UnknownNameError
        The key is unknown.
    InputError
        The statement is not searched (lemmas and displays inside proofs), the budget is
        not > 0, or the seed is below 0.
    """
    theorem = load(key, variant)
    budget = seconds if candidates is None else candidates
    whole_number("seed", seed, at_least=0)
    if not budget > 0:
        raise InputError(
            f"{'seconds' if candidates is None else 'candidates'} = {budget} must"
            " be > 0"
        )
    clock: Clock = wall if candidates is None else float
    if theorem.kind not in ("theorem", "corollary") and not theorem.order:
        what = (
            theorem.kind
            if theorem.kind == "lower bound"
            else f"{theorem.kind} inside a proof"
        )
        raise InputError(
            f"{theorem} is a {what}: falsify searches theorems and corollaries"
        )
    if theorem.lhs.aggregate == "each" and not theorem.order:
        raise InputError(
            f"{theorem} bounds each round by itself: state it at a horizon T (aggregate"
            " 'last'), min or mean"
        )
    started, before, found = time.monotonic(), clock(0), dict[str, Finding]()
    for k, (name, reading) in enumerate(asked := readings(theorem)):
        left = budget - (clock(sum(one.evaluations for one in found.values())) - before)
        share = max(left, 0.0) / (len(asked) - k)
        if found and share < 0.05 * budget:
            break
        if theorem.order:
            found[name] = _order(reading, share, seed, clock)
        else:
            found[name] = _constants(reading, share, seed, enough, progress, clock)
        if found[name].violated and (theorem.order or found[name].ratio >= enough):
            break
    return _strictest(found, theorem, time.monotonic() - started)


def readings(theorem: Theorem) -> list[tuple[str, Theorem]]:
    """How a statement can be read, the strictest first: what it is then about, each
    inside of the next.

    ``common start``: all clients start at one point. ``clients apart``: each where it
    likes, where the scope does not exclude it. ``noise that depends on the state``,
    where the scope does not say that samples are as smooth as the clients
    (``samplewise``): else noise is added. What is found under the first no author can
    answer with a start at one point.
    """
    free = {
        "common_start": theorem.scope.common_start,
        "samplewise": theorem.scope.samplewise,
    }
    strict = {"common_start": True, "samplewise": True}
    asked = {COMMON: strict, APART: strict | {"common_start": False}, LED: free}
    allowed = [
        not free[name] and not theorem.order for name in ("common_start", "samplewise")
    ]
    kept = [
        COMMON,
        *(name for name, one in zip((APART, LED), allowed, strict=True) if one),
    ]
    scopes = {name: replace(theorem.scope, **asked[name]) for name in kept}
    return [
        (name, theorem if scope == theorem.scope else replace(theorem, scope=scope))
        for name, scope in scopes.items()
    ]


def _order(theorem: Theorem, budget: float, seed: int, clock: Clock) -> Finding:
    started = time.monotonic()
    best, told, evaluations = steepest(theorem, budget, seed, clock)
    ratio = max((row["ratio"] for row in told.values()), default=0.0)
    ratio = ratio if best is None else best.ratios[-1] / best.ratios[0]
    violated, spent = best is not None and best.diverges, time.monotonic() - started
    parts = {"divergence": best, "families": told, "first": spent if violated else None}
    return Finding(
        theorem.key, theorem.variant, violated, ratio, evaluations, spent, seed, **parts
    )


def _constants(
    theorem: Theorem,
    budget: float,
    seed: int,
    enough: float,
    progress: Progress | None,
    clock: Clock,
) -> Finding:
    started, above = time.monotonic(), list[float]()

    def tell(best: float, count: int) -> None:
        if best > 1 and not above:
            above.append(time.monotonic() - started)
        if progress is not None:
            progress("searching", best, count)

    arms = search(theorem, search_spaces(theorem), budget, seed, enough, tell, clock)
    if progress is not None:
        searched = sum(arm.evaluations for arm in arms)
        ratios = [float(arm.ratio[arm.best]) for arm in arms]
        progress("confirming", float(np.nanmax([0.0, *ratios])), searched)
    found = best_of(theorem, arms)  # which measures further candidates
    count = sum(arm.evaluations for arm in arms)
    families = together(
        (a.space.name, float(a.ratio[a.best]), a.evaluations) for a in arms
    )
    spent = time.monotonic() - started
    if found is None:
        nan = float("nan")
        return Finding(
            theorem.key,
            theorem.variant,
            False,
            nan,
            count,
            spent,
            seed,
            families=families,
            refused=refused_families(theorem),
        )
    parts = {
        "family": found[0],
        "instance": found[1],
        "certificate": found[2],
        "families": families,
        "refused": refused_families(theorem),
    }
    ratio, violated = found[2].exact["ratio"], found[2].violated
    niches = [max(arm.niche(k) for arm in arms) for k in range(2 * len(theorem.parts))]
    told = zip(theorem.parts, niches, niches[len(theorem.parts) :], strict=False)
    parts["terms"] = {
        name: {"share": share, "without": without} for name, share, without in told
    }
    parts["first"] = above[0] if above and violated else None
    return Finding(
        theorem.key, theorem.variant, violated, ratio, count, spent, seed, **parts
    )


def together(rows: Iterable[tuple[str, float, float]]) -> dict[str, dict[str, float]]:
    """Name -> largest ratio and number of candidates, of families by one name
    together.
    """
    families: dict[str, dict[str, float]] = {}
    for name, ratio, evaluations in rows:
        row = families.setdefault(name, {"ratio": float("nan"), "evaluations": 0})
        row["evaluations"] += evaluations
        row["ratio"] = float(np.fmax(row["ratio"], ratio))
    return families


def largest(terms: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """The terms of several searches of one statement: the largest that any has seen."""
    return {
        name: {
            k: max(float(row[name][k]) for row in terms if name in row)
            for k in ("share", "without")
        }
        for name in {name: None for row in terms for name in row}
    }


def _strictest(found: dict[str, Finding], theorem: Theorem, seconds: float) -> Finding:
    """What was found under the strictest reading that refutes; else of the best
    candidate of all readings.
    """
    refuted = [one for one in found.values() if one.violated]
    best = (
        refuted[0]
        if refuted
        else max(found.values(), key=lambda one: np.nan_to_num(one.ratio, nan=-1.0))
    )
    rows = (
        (n, t["ratio"], t["evaluations"])
        for one in found.values()
        for n, t in one.families.items()
    )
    return replace(
        best,
        evaluations=sum(one.evaluations for one in found.values()),
        seconds=seconds,
        families=together(rows),
        terms=largest([one.terms for one in found.values()]),
        refused=_refused_by_all(found.values()),
        readings={
            name: {"ratio": one.ratio, "violated": one.violated}
            for name, one in found.items()
        },
        theorem=theorem,
    )


def _refused_by_all(found: Iterable[Finding]) -> dict[str, str]:
    """The families that have candidates under no reading."""
    every = [one.refused for one in found]
    common = set(every[0]).intersection(*every)
    return {name: reason for name, reason in every[0].items() if name in common}


def best_of(
    theorem: Theorem, arms: list[Arm]
) -> tuple[str, Instance, Certificate] | None:
    """The best candidate that the core confirms, with its family; else the best one
    that it has looked at.
    """
    first = None
    for arm in arms[:TRIED]:
        point = arm.points[arm.best][None]
        scores = arm.evaluate(point)
        if not np.isfinite(scores.ratio[0]):
            continue
        batch = arm.candidates(point)
        T = shortest_horizon(theorem, batch, int(scores.T[0]), float(scores.ratio[0]))
        T = T if not arm.space.horizon(arm.shared) else int(scores.T[0])
        instance = batch.alone(0, scores.x0, T)
        told = arm.space.name, instance, certify(instance, theorem)
        if told[2].violated:
            return told
        first = first or told
        if scores.ratio[0] <= 1:
            break
    return first


def replay(path: str | Path, theorem: Theorem | None = None) -> Finding:
    """Run a saved counterexample, or a saved outcome's best candidate, again.

    Both witnesses are asked: the exact expectation in floating point, and the training
    core.

    Parameters
    ----------
    path : str or Path
    theorem : Theorem, optional
        The statement that the file is about, where that is a user's own: no file
        carries the code of its algorithm or network.

    Raises
    ------
    DataError, UnknownNameError
        The file is none of these, is about another statement than ``theorem``, needs
        code that it does not carry, or a field of it is not what it must be
        (:mod:`.document`).
    """
    started, document = time.monotonic(), read_document(path)
    theorem = _statement(path, document, theorem)
    key, variant = theorem.key, theorem.variant
    if document.get("divergence") is not None:
        family = again(Divergence(**document["divergence"]), theorem)
        grown, count = family.ratios[-1] / family.ratios[0], len(family.ratios)
        spent, parts = (
            time.monotonic() - started,
            {"divergence": family, "theorem": theorem},
        )
        return Finding(key, variant, family.diverges, grown, count, spent, 0, **parts)
    if document.get("instance") is None:
        raise DataError(
            f"{path} holds no counterexample: the search found no admissible problem"
        )
    instance = built(document["instance"], theorem.scope.algorithms)
    name = type(instance.algorithm).__name__
    about = any(
        isinstance(instance.algorithm, class_of(a)) for a in theorem.scope.algorithms
    )
    odd = theorem.order or theorem.lhs.aggregate == "each" or not about
    if odd or theorem.scope.two_blocks is (instance.task.shared is None):
        raise DataError(
            f"{path}: {theorem} is not a statement that one such run of {name} could"
            " refute"
        )
    try:
        # a run that leaves the finite numbers is told as such
        with np.errstate(all="ignore"):
            certificate = certify(instance, theorem)
    except ArithmeticError as wrong:
        raise DataError(
            f"{path}: the instance leaves the finite numbers ({wrong})"
        ) from wrong
    ratio, spent = certificate.exact["ratio"], time.monotonic() - started
    parts = {"instance": instance, "certificate": certificate, "theorem": theorem}
    family = document.get("family", "")
    return Finding(
        key, variant, certificate.violated, ratio, 1, spent, 0, family, **parts
    )


def instance_of(
    path: str | Path, theorem: Theorem | None = None
) -> tuple[dict[str, Any], Theorem]:
    """The instance of a counterexample file as plain data, and the statement that it is
    about.

    A number of a statement that the file carries is the rational number that its digits
    say: 0.1 is 1/10. ``theorem``: the statement itself, as in :func:`replay`.

    Raises
    ------
    DataError, UnknownNameError
        The file is no such document, or holds no single instance.
    """
    document = read_document(path, parse_float=WrittenNumber)
    if document.get("instance") is None:
        raise DataError(f"{path} holds no single instance")
    return document["instance"], _statement(path, document, theorem)


def single_instance(
    path: str | Path, theorem: Theorem | None = None
) -> tuple[dict[str, Any], Theorem, str]:
    """The instance of a counterexample file as plain data, the statement that it is
    about, and the family of candidates that it comes from.

    Parameters
    ----------
    theorem : Theorem, optional
        The statement itself, as in :func:`replay`.

    Raises
    ------
    DataError, UnknownNameError
        The file is no such document, or holds a family of problems and no instance.
    """
    document = read_document(path)
    if document.get("instance") is None:
        raise DataError(
            f"{path} holds no single instance: families of problems, which refute"
            " statements in O(.), are not simplified"
        )
    family = str(document.get("family", ""))
    return document["instance"], _statement(path, document, theorem), family


def _statement(
    path: str | Path, document: dict[str, Any], given: Theorem | None = None
) -> Theorem:
    """The statement that the file is about: the ``given`` one, the one in the file, or
    the registry's.
    """
    about = document.get("divergence") or document
    key, variant = about.get("key", ""), about.get("variant", "")
    if given is not None:
        theorem = given
    elif "theorem" in document:
        theorem = with_classes(theorem_from_document(document["theorem"]))
    else:
        theorem = registry.get(key, variant)
    if (key, variant) != (theorem.key, theorem.variant):
        raise DataError(f"{path} is about {key} [{variant}], not about {theorem}")
    if isinstance(theorem.scope.network, UnknownLaw):
        raise DataError(
            f"{path}: {CodeNeededError(f'the law of the network of {theorem}')}"
        )
    if "theorem" not in document:
        return theorem
    if given is not None and not _same(document["theorem"], given):
        raise DataError(f"{path} carries another statement than the given {theorem}")
    if registry.known(key, variant) and not _same(
        document["theorem"], registry.get(key, variant)
    ):
        raise DataError(
            f"{path} carries another statement under the name of the registered"
            f" {theorem}"
        )
    if document.get("instance") and not theorem.lhs.rounds(
        document["instance"]["run"]["rounds"]
    ):
        raise DataError(
            f"{path}: the left side of {theorem} is about none of the rounds of the run"
        )
    return theorem


def _same(document: Any, theorem: Theorem) -> bool:
    """Is the document that of this statement, however the modules of its algorithms
    were imported?
    """
    given = json.loads(json.dumps(theorem_to_document(theorem)))
    return bool(_with_own_names(document) == _with_own_names(given))


def _with_own_names(document: Any) -> Any:
    """The document of a statement with the algorithms of its scope by
    :func:`own_name`.
    """
    match document:
        case {"scope": {"algorithms": [*algorithms]} as scope}:
            names = [
                own_name(name) if isinstance(name, str) else name for name in algorithms
            ]
            return document | {"scope": scope | {"algorithms": names}}
    return document


__all__ = [
    "Finding",
    "best_of",
    "falsify",
    "instance_of",
    "readings",
    "replay",
    "shown_ratio",
    "single_instance",
    "together",
]
