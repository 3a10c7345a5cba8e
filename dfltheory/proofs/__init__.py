"""Proofs of convergence theorems as scripts whose steps are rules of textbooks.

=====================  ============================================================
``hypotheses``         the assumptions that a rule may use
``weights``            weights of sums over local steps
``vectors``            random vectors of an algorithm
``moments``            moments of their products; a round of an algorithm
``facts``              inequalities between moments, made only by rules
``hilbert_rules``      rules of norms, means and sums
``gradient_rules``     rules of gradients and samples
``network_rules``      rules of the network and the start
``round_sums``         rules of sums over the rounds
``order_rules``        rules of sums, means, squares and roots of inequalities
``kernel``             all rules, and their meaning
``algorithm_rounds``   the updates of the algorithms that proofs are about
``script``             what a proof consists of
``script_region``      which numbers the symbols of a script may be
``left_side``          a theorem's left-hand side as moments
``comparison``         ``check(theorem, script)``: does the last fact give the theorem?
``declared_steps``     the steps of a theorem file, each judged by its premises
``step_notation``      moments and rules as a theorem file writes them
``deduction``          does an inequality follow from others? proof or witness
``step_corrections``   what premises give instead of a wrong coefficient
=====================  ============================================================
"""

from dfltheory.proofs.comparison import Checked, check
from dfltheory.proofs.script import Corollary, Range, Script

__all__ = ["Checked", "Corollary", "Range", "Script", "check"]
