"""Claims on algorithms and networks, tried on drawn problems: the smallest that breaks a claim is told.

The problems are quadratic clients of one Hessian (where gradients must be bounded: clipped ones; of two
blocks: coupled ones), a common start, and networks of the theorem's law, all from short lists of plain
numbers. Step sizes lie at the edge of the theorem's conditions, or below it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from hypothesis import HealthCheck, Phase, assume, given, settings, target
from hypothesis import strategies as st
from hypothesis.errors import Flaky, Unsatisfiable

from dfltheory import graphs
from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.reference import load
from dfltheory.bounds.regions import conditions_of, equalities, values_of
from dfltheory.bounds.symbols import GLOSSARY, NEUTRAL, step_names
from dfltheory.bounds.theorem import Theorem
from dfltheory.constants import NetworkConstants
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.exact import exactly
from dfltheory.graphs.matrices import to_dense
from dfltheory.tasks.personal import Coupled
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.tasks.separable import Clipped
from dfltheory.testing.networks import column_stochastic_matrices, mixing_matrices
from dfltheory.training.facts import NetworkFacts
from dfltheory.training.instance import Instance
from dfltheory.verdicts.applicable import law_obstacle, unrestricted_steps
from dfltheory.verdicts.compare import Verdict, compare
from dfltheory.verdicts.schedule import algorithm_class, largest_steps, network_values

_SEEDS, _CHANCE = 32, 1e-6
_COUNTS = {"K": 4, "Q": 3, "K_u": 3, "K_v": 3}
_SHARES = {"alpha": (0.0, 0.5, 0.9), "rho": (0.0, 0.0, 0.1), "rho0": (0.0,)}


class BrokenClaimError(AssertionError):
    """A claim that an instance breaks; the message holds the smallest one found."""


def check_claim(subject: Any, claim: Any) -> None:
    """Try one claim, as :func:`dfltheory.respects` and :func:`dfltheory.reduces_to` put it.

    Raises
    ------
    BrokenClaimError
        An instance breaks it.
    InputError
        It cannot be tried: no instance was drawn of which the theorem speaks; a letter is not known.
    """
    options = dict(claim.options)
    examples = options.pop("examples")
    if claim.kind == "respects":
        trial = _respects(subject, load(claim.of, options["variant"]), claim)
    else:
        trial = _reduces(subject, claim.of, options, claim)
    silent: list[str] = []
    spoken: list[bool] = []

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large),
        phases=(Phase.generate, Phase.target, Phase.shrink),
    )
    @given(st.data())
    def tried(data: Any) -> None:
        if not spoken and len(silent) > 2 * examples:
            raise Unsatisfiable
        why = trial(data.draw)
        (spoken if why is None else silent).append(why is None or why)  # type: ignore[arg-type]
        assume(why is None)

    try:
        tried()
    except BrokenClaimError as broken:
        raise BrokenClaimError(str(broken)) from None
    except (Unsatisfiable, Flaky):  # Flaky: it was stopped, after nothing but silence
        if spoken:
            raise
    if not spoken:
        raise InputError(f"{claim}: no instance was drawn of which it speaks; the last one: {silent[-1]}")


# -- what is drawn -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawn:
    """A problem: its task, start, network (m, m) or None, rounds, and how it is told."""

    task: Any
    x0: np.ndarray
    W: Any
    rounds: int
    told: str


def _network(law: Any) -> st.SearchStrategy[Any]:
    if law == "none":
        return st.none()
    if law == "column-stochastic":
        return column_stochastic_matrices(1, 5)
    if callable(law) or law in ("definition 1", "symmetric", "doubly stochastic"):
        return mixing_matrices(1, 5)
    raise InputError(f"no matrices of the law {law!r} can be drawn")


def _problem(
    draw: Callable[..., Any],
    W: Any,
    rounds_of: Any,
    bounded: bool = False,
    noise: bool = True,
    two_blocks: bool = False,
) -> Drawn:
    m = draw(st.integers(1, 4)) if W is None else graphs.as_sequence(W).m
    d, rounds = 2 if two_blocks else draw(st.integers(1, 2)), draw(rounds_of)
    plain = st.sampled_from([0.0, 1.0, -1.0, 2.0, -3.0])
    h = draw(st.lists(st.sampled_from([1.0, 0.3, 0.1, 0.01]), min_size=d, max_size=d))
    rows = [draw(st.lists(plain, min_size=d, max_size=d)) for _ in range(m)]
    x0 = np.array(draw(st.lists(plain.filter(bool), min_size=d, max_size=d)))
    sigma = draw(st.sampled_from([0.0, 0.1, 1.0])) if noise else 0.0
    b = np.array(rows)
    if two_blocks:
        options = {"h_u": h[0], "h_v": h[1], "k": draw(st.sampled_from([0.0, 0.1, 1.0]))}
        options |= {"sigma_u": sigma, "sigma_v": sigma}
        task: Any = Coupled(b[:, :1], b[:, 1:], **options)
        told = f"Coupled(a={b[:, :1].tolist()}, b={b[:, 1:].tolist()}, "
        told += ", ".join(f"{n}={v:g}" for n, v in options.items()) + ")"
    elif bounded:
        task = Clipped(b, noise=sigma)
        told = f"Clipped(c={b.tolist()}, h=1, r=1, noise={sigma:g})"
    else:
        task = Quadratic.diagonal([h], b, sigma)
        told = f"Quadratic.diagonal([{h}], b={b.tolist()}, noise={sigma:g})"
    network = "" if W is None else f", W = {np.round(_first(W), 4).tolist()}"
    return Drawn(task, x0, W, rounds, f"task = {told}, x0 = {x0.tolist()}, T = {rounds}{network}")


def _first(W: Any) -> np.ndarray:
    return to_dense(graphs.as_sequence(W).matrix(0, np.random.default_rng(0)))


def _letters(draw: Callable[..., Any], names: set[str]) -> dict[str, Any]:
    counts = {n: draw(st.integers(1, high)) for n, high in _COUNTS.items() if n in names}
    return counts | {n: draw(st.sampled_from(v)) for n, v in _SHARES.items() if n in names}


def _made(subject: Any, letters: dict[str, Any]) -> Any:
    """What the class or function gives for the letters that it takes."""
    taken = inspect.signature(subject).parameters
    own = getattr(subject, "glossary", {})
    chosen = {n: letters[own.get(n, n)] for n in taken if own.get(n, n) in letters}
    missing = [n for n, p in taken.items() if p.default is p.empty and p.kind < 2 and n not in chosen]
    if missing:
        name = getattr(subject, "__name__", subject)
        raise InputError(f"{name} takes {missing[0]}, which is not drawn: give it a default, or a function")
    return subject(**chosen)


# -- respects ----------------------------------------------------------------------------------------------


def _respects(subject: Any, theorem: Theorem, claim: Any) -> Callable[[Callable[..., Any]], str | None]:
    gives_network = "m" in inspect.signature(subject).parameters
    if gives_network and theorem.scope.network == "none":
        raise InputError(f"{theorem} is about no network")
    letters_of_it = {*theorem.needs, *(["rho"] if "rho0" in theorem.needs else [])}
    bounded = theorem.scope.bounded_gradients or "S2" in theorem.needs
    # where a schedule is put in, T has to be large
    at_once = set(step_names()) & set(theorem.needs) or not theorem.schedule
    rounds = st.integers(1, 24) if at_once else st.sampled_from([16, 64, 256])
    name = getattr(subject, "__name__", str(subject))

    def trial(draw: Callable[..., Any]) -> str | None:
        own = name
        try:
            if gives_network:
                given = {"m": draw(st.integers(2, 8)), "seed": draw(st.integers(0, 9))}
                W, own = _made(subject, given), f"{name}(m={given['m']})"
                broken = _broken_law(theorem, W)
                if broken is not None:
                    raise BrokenClaimError(f"{own} breaks {claim}: {broken}")
            else:
                W = draw(_network(theorem.scope.network))
            here = _problem(draw, W, rounds, bounded, two_blocks=theorem.scope.two_blocks)
            letters = {"K": 1} | _letters(draw, letters_of_it)
            share = draw(st.sampled_from([1 - 1e-9, 0.5, 0.1]))
            kind = algorithm_class(theorem)
            free = dict.fromkeys(unrestricted_steps(theorem, kind), share / here.task.constants.known()["L"])
            letters |= _steps(theorem, here, letters, share)
            algorithm = _made(kind if gives_network else subject, NEUTRAL | free | letters)
            verdict = _verdict(theorem, algorithm, here, gives_network, claim.options["examples"])
        except DFLTheoryError as wrong:  # the subject's own refusal, or conditions that fail
            return str(wrong)
        if verdict.kind == "not applicable":
            return verdict.reason
        if verdict.kind == "violated":
            raise BrokenClaimError(
                f"{own} breaks {claim}: {verdict.reason}\n  smallest instance found: {here.told}, {algorithm}"
            )
        if math.isfinite(verdict.ratio):
            target(verdict.ratio, label="measured/bound")
        return None

    return trial


def _broken_law(theorem: Theorem, W: Any) -> str | None:
    """What of the theorem's law, or of the range of its constants, a network does not keep; or None."""
    try:
        sequence = graphs.as_sequence(W)
        facts = NetworkFacts.of(sequence, 200, NetworkConstants(m=sequence.m))
        broken = law_obstacle(facts, theorem.scope, sequence, 200, gossip_steps=1)
        for n, v in ({} if broken else network_values(theorem, sequence)).items():
            if n in theorem.needs:
                GLOSSARY[n].check(v)
    except DFLTheoryError as wrong:
        return str(wrong)
    return broken


def _steps(theorem: Theorem, here: Drawn, letters: dict[str, Any], share: float) -> dict[str, float]:
    """The theorem's step sizes: one at a share of the largest admissible, several as in its schedule."""
    known: dict[str, Any] = here.task.constants.known() | {"m": here.task.m, "T": here.rounds}
    if here.W is not None:
        known |= network_values(theorem, here.W)
    gap = float(here.task.global_loss(torch.as_tensor(here.x0, dtype=here.task.dtype)[None])[0])
    known |= {"f0_gap": gap - known["f_star"], "x0_sq": float(here.x0 @ here.x0), "x0_spread": 0.0} | letters
    numbers = {n: v for n, v in known.items() if isinstance(v, (int, float))}
    steps = [n for n in step_names() if n in theorem.needs]
    if not steps:
        return theorem.step_sizes(**numbers)
    tied = equalities(conditions_of(theorem))[0]
    if len(steps) == 1 and steps[0] in tied:  # as gamma = 1/L
        return {
            steps[0]: float(values_of([tied[steps[0]]], {n: np.full(1, v) for n, v in numbers.items()})[0][0])
        }
    if len(steps) == 1:
        most = theorem.largest_step(steps[0], **{n: v for n, v in known.items() if n in theorem.needs})
        return {steps[0]: share * (most if math.isfinite(most) else 1 / known["L"])}
    planned = theorem.step_sizes(**{"rho0": 0.0} | numbers)
    with suppress(InputError):  # no condition bounds them
        planned = largest_steps(theorem, planned, known, None)
    return {n: share * planned[n] for n in steps}


def _verdict(theorem: Theorem, algorithm: Any, here: Drawn, as_scoped: bool, examples: int) -> Verdict:
    """The bound, exactly where the rounds are affine, else over seeds; what it does not say of an algorithm's
    own letters is the claim's word."""
    if not isinstance(algorithm, Algorithm):
        raise InputError(f"{algorithm!r} is not an algorithm: give a class, or a function that returns one")
    if not as_scoped:
        spoken = set(theorem.needs) | set(theorem.schedule)
        own = {algorithm.glossary.get(f.name, f.name): getattr(algorithm, f.name) for f in fields(algorithm)}
        granted = {n: v for n, v in (own | algorithm.theory_values()).items() if n not in spoken}
        scope = replace(theorem.scope, algorithms=(type(algorithm),), letters=granted)
        theorem = replace(theorem, scope=scope)
    instance = Instance(here.task, algorithm, here.W, here.rounds, _SEEDS, here.x0)
    try:
        run: Any = exactly(instance)
    except InputError:
        run = instance.run(progress=False)
    return compare(run, theorem, confidence=1 - _CHANCE / examples)


# -- reduces_to --------------------------------------------------------------------------------------------


def _reduces(
    subject: Any, other: Any, fixed: dict[str, Any], claim: Any
) -> Callable[[Callable[..., Any]], str | None]:
    takes = [set(inspect.signature(s).parameters) for s in (subject, other)]
    own = getattr(subject, "__name__", str(subject))

    def trial(draw: Callable[..., Any]) -> str | None:
        W = draw(mixing_matrices(1, 5))
        here = _problem(draw, W, st.integers(1, 24), noise=False)
        letters = _letters(draw, takes[0] & takes[1] - set(fixed))
        letters["eta"] = draw(st.sampled_from([0.5, 0.1]))
        one, two = _made(subject, letters | fixed), _made(other, letters)
        ends = []
        for algorithm in (one, two):
            network = W if algorithm.needs_topology else None
            run = Instance(here.task, algorithm, network, here.rounds, 1, here.x0).run(progress=False)
            ends.append(np.asarray(run.x, dtype=float))
        apart = float(np.abs(ends[0] - ends[1]).max())
        if not apart <= 1e-9 * (1 + np.abs(ends[1]).max()):
            raise BrokenClaimError(
                f"{own} breaks {claim}: after {here.rounds} rounds the models are {apart:.3g} apart\n"
                f"  smallest instance found: {here.told}, {one} against {two}"
            )
        return None

    return trial


__all__ = ["BrokenClaimError", "check_claim"]
