"""Families of candidates: problems of one kind, fitted to a network and step sizes.

Each family is a class in a file of its own, a
:class:`~dfltheory.counterexamples.families.family.Family`. All families have L = 1
before units are chosen, two clients on the line (or one, which is copied), and
gradients that are sums of ramps. Clients have a common start unless a family says
otherwise. The left-hand sides derived in the files are those of gossip after K (SAM)
gradient steps, for every K with eta K <= 1 and every lam in [0, 1). For other
algorithms they are measured.
"""

from dfltheory.counterexamples.families.family import Family, RoundData
from dfltheory.counterexamples.families.installed import problem_families

__all__ = ["Family", "RoundData", "problem_families"]
