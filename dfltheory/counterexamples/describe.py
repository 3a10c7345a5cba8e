"""Description of a counterexample in at most five lines of text.

The lines describe functions, network and start, algorithm, and outcome.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.algorithms.base import Algorithm
from dfltheory.bounds.growth import family_order, growth_words, pacing
from dfltheory.counterexamples.divergence import Divergence, enlarged
from dfltheory.counterexamples.growth import MEMBERS
from dfltheory.counterexamples.problems import RampTask, SplitTask
from dfltheory.counterexamples.ramps import Ramps
from dfltheory.graphs import Constant, Periodic, as_sequence
from dfltheory.graphs.matrices import Matrix, to_dense
from dfltheory.tasks.separable import Clipped
from dfltheory.tasks.task import Task
from dfltheory.training.instance import Instance

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.counterexamples.finding import Finding

MOST_PRINTED_CLIENTS = 64
"""Largest number of clients whose mixing matrix is printed entry by entry."""


def counterexample_lines(finding: Finding) -> tuple[str, ...]:
    """Describe the counterexample of a finding in lines of text.

    For a statement in O(.), the last member of the family is described.
    """
    theorem, divergence = finding.theorem, finding.divergence
    if divergence is not None and theorem is not None:
        factor = divergence.values[-1] / divergence.values[0]
        numbers = enlarged(divergence.base, divergence.parameter, factor)
        instance, _ = MEMBERS[divergence.member].make(theorem, numbers)
        return (*_instance_lines(instance), *_family_lines(divergence))
    if finding.instance is None or finding.certificate is None or theorem is None:
        return ()
    sides = finding.certificate.sides
    sides_line = (
        f"measured {_text(sides['measured'])}, bound {_text(sides['bound'])}"
        f" ({left_side_words(theorem)})"
    )
    return (*_instance_lines(finding.instance), sides_line)


def excess_words(finding: Finding) -> str:
    """Describe by how much a finding exceeds the bound of its statement."""
    divergence = finding.divergence
    if divergence is None:
        return f"{finding.ratio:.3g} times the bound"
    return f"measured/claimed grows {growth_words(vars(divergence))}"


def _instance_lines(instance: Instance) -> list[str]:
    return [
        functions_line(instance.task),
        network_line(instance),
        algorithm_line(instance),
    ]


def network_line(instance: Instance) -> str:
    """Describe the mixing matrix and the start."""
    return f"{_network(instance)}; {_start(instance)}"


def algorithm_line(instance: Instance) -> str:
    """Describe the algorithm, its hyperparameters and the number of rounds."""
    algorithm = instance.algorithm
    usual = {f.name: f.default for f in fields(Algorithm)}
    chosen = {f.name: getattr(algorithm, f.name) for f in fields(algorithm)}
    steps = [
        f"{n} = {_text(v)}"
        for n, v in chosen.items()
        if v is not None and v != usual.get(n)
    ]
    return (
        f"{type(algorithm).__name__} with {', '.join(steps)}; T = {instance.rounds}"
        " rounds"
    )


def functions_line(task: Task) -> str:
    """Describe the gradients of the clients' functions."""
    if isinstance(task, Clipped):
        centers = ", ".join(_text(c) for c in np.ravel(task.c))
        return (
            f"{task.m} clients on the line, f_i'(x) = {_text(task.h)} clip(x - c_i,"
            f" -{_text(task.r)}, {_text(task.r)}), c = ({centers}); clip(x, a, b) ="
            " min(max(x, a), b)"
        )
    if isinstance(task, SplitTask):
        problem = task.problem
        blocks = f"F_i(u, v) = r_i(u) + {_text(problem.h[0] / 2)} (v - b_i)^2"
        if problem.k.any():
            blocks += (
                f" + {_text(problem.k[0])} sin({_text(problem.p[0])} u)"
                f" sin({_text(problem.q[0])} v)"
            )
        centers = ", ".join(_text(b) for b in problem.b[0])
        noise = "".join(
            f"; Gaussian noise of standard deviation {_text(sigma)} in the gradient in"
            f" {block}"
            for block, sigma in zip("uv", task.sigmas, strict=True)
            if sigma
        )
        return (
            f"{task.m} clients, {blocks}, b = ({centers}),"
            f" {_ramps(task.body.problem, 'r', 'u')}{noise}"
        )
    if isinstance(task, RampTask):
        noise = ""
        if task.led is not None:
            noise = (
                "; noise +-s(x) with probability 1/2 each, s(x) ="
                f" {_gradient(task.led, 0, 'x')}"
            )
        elif task.sigmas[0]:
            noise = f"; noise +-{_text(task.sigmas[0])} with probability 1/2 each"
        return f"{task.m} clients on the line, {_ramps(task.problem, 'f', 'x')}{noise}"
    return f"{task.m} clients: {task.name}"


def _ramps(problem: Ramps, function: str, variable: str) -> str:
    """Return the gradients of all clients as formulas; one if all are equal."""
    texts = [_gradient(problem, client, variable) for client in range(problem.m)]
    if len(set(texts)) == 1:
        gradients = f"{function}_i'({variable}) = {texts[0]}"
    else:
        numbered = (
            f"{function}_{i}'({variable}) = {text}"
            for i, text in enumerate(texts, start=1)
        )
        gradients = ", ".join(numbered)
    if "clip(" not in gradients:
        return gradients
    return f"{gradients}; clip(x, a, b) = min(max(x, a), b)"


def _gradient(problem: Ramps, client: int, variable: str) -> str:
    """Return the gradient of one client as a formula: constant, ramps, and curve."""
    parts = [_text(problem.left[0, client])] if problem.left[0, client] else []
    ramps = zip(
        problem.knots[0, client],
        problem.widths[0, client],
        problem.slopes[0, client],
        strict=True,
    )
    for knot, width, slope in ramps:
        if not (width and slope):
            continue
        shifted = (
            variable if not knot else f"{variable} - {_text(knot)}".replace("- -", "+ ")
        )
        parts.append(f"{_text(slope)} clip({shifted}, 0, {_text(width)})")
    curve = float(problem.curve[0])
    if curve:
        parts.append(f"{_text(curve)} {variable}")
    return " + ".join(parts).replace("+ -", "- ") or "0"


def _network(instance: Instance) -> str:
    if instance.network is None:
        return "a server"
    sequence = as_sequence(instance.network)
    if isinstance(sequence, Constant):
        return f"W = {_matrix(sequence.W)}"
    if isinstance(sequence, Periodic):
        return f"W = {', '.join(_matrix(W) for W in sequence.Ws)} in turn"
    return f"a random sequence of matrices: {type(sequence).__name__}"


def _matrix(W: Matrix) -> str:
    dense = to_dense(W)
    if len(dense) > MOST_PRINTED_CLIENTS:
        return _equal_weights(dense)
    rows = [f"[{', '.join(map(_text, row))}]" for row in dense]
    return f"[{', '.join(rows)}]"


def _equal_weights(W: np.ndarray) -> str:
    """Return a large matrix as a formula if all clients have equal weights."""
    m, other = len(W), float(W[0, 1])
    own = float(W[0, 0]) - other
    if np.allclose(own * np.eye(m) + other, W, rtol=0, atol=1e-12):
        return f"{_text(own)} I + {_text(m * other)} 11'/{m}"
    return f"a {m} x {m} matrix"


def _start(instance: Instance) -> str:
    if instance.x0 is None:
        return "start: the task's own"
    rows = np.asarray(instance.x0, dtype=float)
    points = [_point(row) for row in rows]
    if len(set(points)) == 1:
        return f"all clients start at {points[0]}"
    return f"the clients start at {', '.join(points)}"


def _point(row: np.ndarray) -> str:
    numbers = [_text(entry) for entry in np.ravel(row)]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"


def _family_lines(divergence: Divergence) -> list[str]:
    ratios = ", ".join(f"{ratio:.4g}" for ratio in divergence.ratios)
    low, high = divergence.values[0], divergence.values[-1]
    along = (
        f"{family_order(divergence.parameter)} = {low:.4g} .."
        f" {high:.4g}{pacing(divergence.parameter)}"
    )
    return [
        f"measured/claimed {ratios} along {along}; these are the numbers of the last"
        " member"
    ]


def left_side_words(theorem: Theorem) -> str:
    """Describe the left-hand side of the statement in a few words."""
    lhs = theorem.lhs
    return f"{lhs.aggregate} of {lhs.measure} over rounds {lhs.first} .. {lhs.last}"


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


__all__ = [
    "algorithm_line",
    "counterexample_lines",
    "functions_line",
    "left_side_words",
    "network_line",
    "excess_words",
]
