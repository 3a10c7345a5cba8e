"""Description of a simplified counterexample in at most five lines."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dfltheory.counterexamples.describe import (
    algorithm_line,
    functions_line,
    left_side_words,
    network_line,
)
from dfltheory.counterexamples.digits import about
from dfltheory.counterexamples.finding import Finding
from dfltheory.counterexamples.simplify.check import in_fractions

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem
    from dfltheory.counterexamples.rational import Exact

MOST_CHARACTERS = 24
"""Maximum number of characters of a fraction that is printed in full."""


def hand_check_lines(finding: Finding) -> tuple[str, ...]:
    """Return the lines of a counterexample that is to be checked by hand.

    They are functions, network and start, algorithm, measured value, and bound with
    ratio. Both sides are fractions if possible; long fractions are abbreviated to six
    digits and ``...``.
    """
    instance, theorem = finding.instance, finding.theorem
    if instance is None or theorem is None or finding.certificate is None:
        return ()
    lines = [
        functions_line(instance.task),
        network_line(instance),
        algorithm_line(instance),
    ]
    exact = in_fractions(instance.document(), theorem)
    if exact is None:
        sides = finding.certificate.sides
        measured, bound = Fraction(sides["measured"]), Fraction(sides["bound"])
        return (*lines, *_sides(theorem, measured, bound, "in floating point"))
    reason = f"in fractions; {exact.why}"
    measured_line, bound_line = _sides(theorem, exact.left, exact.right, reason)
    return (*lines, measured_line, f"{bound_line}; {_values(exact)}")


def _sides(
    theorem: Theorem, measured: Fraction, bound: Fraction, how: str
) -> tuple[str, str]:
    """Return the lines of the measured value and of the bound."""
    return (
        f"measured: {left_side_words(theorem)} = {fraction_text(measured)} ({how})",
        f"bound = {fraction_text(bound)}, ratio {fraction_text(measured / bound)}",
    )


def _values(exact: Exact) -> str:
    """Return the nonzero values in the bound, as text.

    The line of the algorithm already contains its hyperparameters.
    """
    shown = {"L", "B", "sigma_l", "sigma_g", "f0_gap", "lam", "C", "q", "m"}
    return ", ".join(
        f"{name} = {fraction_text(value)}"
        for name, value in exact.values.items()
        if name in shown and value
    )


def fraction_text(value: Fraction) -> str:
    """Return the fraction as text, or six digits and ``...`` if it is long."""
    text = str(value)
    return text if len(text) <= MOST_CHARACTERS else f"{about(value, 6)}..."


__all__ = ["fraction_text", "hand_check_lines"]
