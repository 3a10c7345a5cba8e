"""Simplification of counterexamples, so that they can be checked by hand.

:func:`simplify` takes an instance that refutes a statement, and tries simpler ones:
fewer clients, fewer pieces of the functions, fewer rounds, then shorter numbers. A step
is kept only if the result satisfies every condition and assumption of the statement and
still exceeds its bound. Each kind of step is a class, a
:class:`~dfltheory.counterexamples.simplify.simplification.Simplification`.
"""

from dfltheory.counterexamples.simplify.greedy import Simplified, simplify

__all__ = ["Simplified", "simplify"]
