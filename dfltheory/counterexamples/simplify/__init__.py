"""Simplification of counterexamples, so that they can be checked by hand.

:func:`simplify` tries simpler versions of an instance that refutes a statement: fewer
clients, fewer pieces of the functions, fewer rounds, then shorter numbers. A step is
kept only if the result satisfies all conditions and assumptions of the statement and
still exceeds its bound. Each kind of step is a subclass of
:class:`~dfltheory.counterexamples.simplify.simplification.Simplification`.
"""

from dfltheory.counterexamples.simplify.greedy import Simplified, simplify

__all__ = ["Simplified", "simplify"]
