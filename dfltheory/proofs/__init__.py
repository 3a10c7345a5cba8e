"""The proof kernel: proofs of convergence theorems as scripts whose steps are rules
from textbooks.

=====================  ============================================================
``hypotheses``         the assumptions that a rule may use
``moments``            vectors of the algorithm; moments of their products
``kernel``             the rules: each derives an inequality between moments
``algorithm_rounds``   the updates of the algorithms that proofs are about
``script``             what a proof consists of
``script_region``      which numbers the symbols of a script may be
``comparison``         ``check(theorem, script)``: does the last fact give the theorem?
=====================  ============================================================
"""

from dfltheory.proofs.comparison import Checked, check
from dfltheory.proofs.script import Corollary, Range, Script

__all__ = ["Checked", "Corollary", "Range", "Script", "check"]
