"""Families of candidates: problems of one kind, fitted to a network and step sizes.

Each family is one file with one class, a
:class:`~dfltheory.counterexamples.families.family.Family`. All have L = 1 before units
are chosen, two clients on the line (or one, which is copied), and gradients that are
sums of ramps. Clients start at one point unless a family says otherwise. For every K,
eta K <= 1 and lam in [0, 1) the left-hand side that a family's file derives is that of
gossip after K (SAM) gradient steps; other algorithms are measured, not derived.
"""

from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.installed import families

__all__ = ["Family", "RoundData", "families"]
