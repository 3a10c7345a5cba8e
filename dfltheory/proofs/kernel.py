r"""The rules of proofs about expectations: they take facts to facts.

Nothing else makes a fact.

**Meaning.** All is about one round t of one algorithm on m clients with K local steps;
of models of two blocks with K_v steps of the personal part v, then K_u of the shared
part u. A *vector* is a random family ``U = (U_i)_i``, which may depend on the step k;
the product is ``<U, V> = (1/m) sum_i E<U_i, V_i>``, and ``sq(U) = <U, U>``, ``root(U) =
sq(U)^(1/2)``, ``value(U) = (1/m) sum_i E f_i(U_i)``: E f(u) at a common u, E F(u, V)
where u is common and v_i is not. A moment may be taken over the steps (``mean`` over k
< K, of a root the root of the mean square; ``max``: the largest) and then over the
rounds (``mean`` over t < T, in the same way; ``next``: at t + 1; ``start``: at t = 0;
``end``: at t = T). With push-sum, ``U/w`` divides U_i by client i's weight w_i at the
start of round t, and ``root_w(U)^2 = (1/m) sum_i E[w_i ||U_i||^2]``; ``next`` takes w
of round t + 1. A :class:`Fact` ``left <= right`` is linear in moments, with
coefficients in those of the glossary's symbols that are the same in all rounds. It
holds for every round, and for every step k < K where k is free, of every run that has
the hypotheses it ``uses``, where its ``demands`` (signs of expressions) hold. The
*past* of a step is the start, all samples of all clients in earlier steps, phases and
rounds, and the matrices of earlier rounds.

**Trust.** ``facts.py`` makes a Fact of what a function under ``@rule`` says, from
arguments that are facts made so. The rules are in ``hilbert_rules.py``,
``gradient_rules.py``, ``network_rules.py``, ``round_sums.py`` and ``order_rules.py``. A
rule cites its textbook statement; ``tests/bounds/test_kernel.py`` attacks each with
random finite probability spaces in exact arithmetic, and runs the algorithms of the
proofs there. ``comparison.check`` compares the last fact with the registry's bound,
grants hypotheses by the theorem's assumptions and scope, and proves the demands.
Moments are of square-integrable vectors: a finite start, smoothness and finite variance
keep them so.
"""

from __future__ import annotations

from dfltheory.proofs.facts import Fact, all_rules, genuine, rule
from dfltheory.proofs.gradient_rules import (
    bounded,
    clients,
    descent,
    diversity,
    largest_martingale,
    lipschitz,
    martingale,
    pythagoras,
    sam,
    second_moment,
    unbiased,
    variance,
)
from dfltheory.proofs.hilbert_rules import (
    bilinear,
    dev_of,
    mean_of,
    minkowski,
    one_step,
    polarization,
    projection,
    steps_max,
    steps_mean,
    steps_sum,
    unweigh,
    weigh,
    young,
)
from dfltheory.proofs.network_rules import (
    any_start,
    common_start,
    convolution,
    dual_start,
    exact_averages,
    gossip,
    gossip_steps,
    invariant,
    next_dual,
    push,
    push_windows,
)
from dfltheory.proofs.order_rules import (
    add,
    average,
    chain,
    label,
    largest,
    solve,
    square,
    take_root,
    weaken,
)
from dfltheory.proofs.round_sums import sum_rounds, telescope, telescope_to_end

RULES = all_rules()
"""Every rule by its name."""

__all__ = [
    "RULES",
    "Fact",
    "genuine",
    "rule",
    "minkowski",
    "young",
    "mean_of",
    "dev_of",
    "projection",
    "one_step",
    "steps_mean",
    "steps_max",
    "steps_sum",
    "polarization",
    "bilinear",
    "unweigh",
    "weigh",
    "lipschitz",
    "descent",
    "diversity",
    "bounded",
    "second_moment",
    "variance",
    "sam",
    "pythagoras",
    "unbiased",
    "martingale",
    "largest_martingale",
    "clients",
    "gossip",
    "gossip_steps",
    "exact_averages",
    "push",
    "push_windows",
    "convolution",
    "invariant",
    "sum_rounds",
    "common_start",
    "any_start",
    "dual_start",
    "next_dual",
    "telescope",
    "telescope_to_end",
    "average",
    "largest",
    "chain",
    "weaken",
    "label",
    "add",
    "solve",
    "square",
    "take_root",
]
