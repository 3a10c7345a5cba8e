"""docs/atlas.md and its pictures: ``python -m validation.pages.atlas PAGE FOUND``."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dfltheory.best_bounds import best_bounds, first_round, transient
from dfltheory.bound_atlas import STATED, Entry, atlas
from dfltheory.bounds import registry
from dfltheory.bounds.theorem import Theorem
from dfltheory.files import read_json, write_text
from dfltheory.number_format import number
from validation.pages import standard
from validation.pages.atlas_pictures import PLACE, PLANES, draw

NOT_ENTERED: dict[str, str] = {
    "Lian et al. 2017 (D-PSGD: Theorem 1, Corollary 2)": "",
    "Sun et al. 2022 (DFedAvgM)": "",
    "Assran et al. 2019 (SGP)": "",
    "Koloskova et al. 2020 (unified theory, but for what a later paper restates)": "",
    "Khaled et al. 2020 (tighter theory for Local SGD; their first paper, of 2019, is entered)": (
        ""
    ),
    "Qu et al. 2022 (FedSAM)": "",
    "FedPD": "",
    "CHOCO-Gossip": "",
    "Nedic and Ozdaglar (distributed subgradients)": "",
    "D^2 (Tang et al. 2018, but for rates that are restated)": "",
    "MATCHA": "",
    "RelaySGD": "",
    "the lower bounds of decentralized SGD of Yuan et al. 2022": "",
    "Koloskova et al. 2021 (gradient tracking), the non-convex rate": (
        "its P is not defined in the text at hand, the paper as submitted. (There the"
        " rate on strongly convex clients has R_0 where the units ask for R_0^2, as on"
        " convex ones; and (11) has ||J^i||^2 = (1 + i^2) ||W^i||^2, where at i = 1 and"
        " W = w I ||J||^2 is 2.618 w^2.)"
    ),
    "Karimireddy et al. 2020 (SCAFFOLD), Lemma 19, summed, on smooth clients": (
        "its controls start from K gradients at x^0, which takes an average over all"
        " clients before the first round."
    ),
    "Nedic et al. 2017, Theorem 18 (Push-DIGing)": (
        "its constant is not given, and its window B of rounds is about n^(n B)."
    ),
    "Shi et al. 2015 (EXTRA), Theorems 3.3 and 3.7": (
        "in a norm of pairs (q, x) that no run records."
    ),
    "Yuan et al. 2016 (DGD), Theorem 2": (
        "its constant asks for a minimizer of the Lyapunov function."
    ),
    "Koloskova et al. 2020 (CHOCO-SGD), Theorem 4.1": (
        "it speaks of Algorithm 2 of an appendix that is not at hand, and its steps and"
        ' "T >= 64 n L^2" have no unit; the copy is of the paper as submitted.'
    ),
    "Li et al. 2020 (FedProx), Theorem 4": (
        "in the inexactness of local solutions and the dissimilarity of "
        "gradients, of which no run knows a bound."
    ),
    "Wang et al. 2020 (FedNova), Theorem 1": (
        "in an O(.) that hides L; the copy has (8) in two ways."
    ),
    "Wang et al. 2020 (SlowMo), Theorem 1": (
        "its right-hand side speaks of the run itself."
    ),
    "Li et al. 2020, Theorems 2 to 4": "sampled clients as numbers; Omega(.).",
    "Lu and De Sa 2023, upper bounds": (
        "DeFacto, DeTAG and DeTAGM are no algorithms of the package."
    ),
}
"""What an atlas of the field should have, and the registry has not; and why, where its
text was read.
"""


def _number(value: float) -> str:
    return "never" if value == math.inf else number(value, nothing="")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def _row(entry: Entry, at: dict[str, float]) -> list[str]:
    theorem = entry.theorem
    steps = ", ".join(f"{name} = {step:.3g}" for name, step in entry.steps.items())
    cells = [_number(v) for v in (entry.bound, entry.share, entry.truth)]
    when = ["", ""]
    if entry.status not in ("silent", "floor"):
        when = [_number(first_round(theorem, at)), _number(transient(theorem, at))]
    why = f": {entry.reason}" if entry.status == "silent" else ""
    false = f", refuted: {entry.refuted}" if entry.refuted else ""
    return [
        f"`{theorem.key}` {theorem.variant}",
        entry.status + false + why,
        *cells,
        steps,
        *when,
    ]


def assumed(entries: Iterable[Entry]) -> str:
    """Return a sentence on the assumed constants, with their usual values."""
    found: dict[str, float] = {}
    for entry in entries:
        found.update(entry.assumed)
    if not found:
        return "No constant was assumed."
    values = ", ".join(f"{name} = {value:g}" for name, value in sorted(found.items()))
    return f"Assumed, since not given: {values}."


def places() -> Iterator[str]:
    """Yield a table for each left-hand side that some theorem bounds with constants.

    A second table has the theorems that are silent only because gradients are noisy.
    """
    head = (
        "theorem",
        "status",
        "bound",
        "of the trivial",
        "exact mean",
        "at its best steps",
        "first T",
        "transient T",
    )
    for measure in sorted(
        {t.lhs.measure for t in registry.statements() if t.kind in STATED}
    ):
        found = atlas(
            None, measure=measure, truth=True, **dict[str, Any](PLACE)
        ).entries
        orders = [
            f"`{e.theorem.key}` {e.theorem.variant}" for e in found if e.theorem.order
        ]
        yield f"### {measure}"
        given = [e for e in found if e.status != "constant not given"]
        if rows := [_row(e, PLACE) for e in given]:
            yield _table(head, rows)
            yield assumed(found)
        silent = [e.theorem for e in found if e.status == "silent"]
        exact = PLACE | {"sigma_l": 0.0}
        entries = (
            atlas(None, measure=measure, theorems=silent, truth=True, **exact).entries
            if silent
            else ()
        )
        if rows := [_row(e, exact) for e in entries if e.status != "silent"]:
            yield (
                "Those that want exact gradients, at sigma_l ="
                f" 0:\n\n{_table(head, rows)}"
            )
            yield assumed(entries)
        if orders:
            yield (
                f"Constant not given, as they are stated as O(.): {', '.join(orders)}."
            )
        needs_network = [
            f"`{e.theorem.key}` {e.theorem.variant}"
            for e in found
            if e.status == "constant not given" and not e.theorem.order
        ]
        if needs_network:
            yield (
                "Evaluated on networks only ([the standard theorems](standard.md)):"
                f" {', '.join(needs_network)}."
            )


def _moved_row(key: str, wrong: Theorem, right: Sequence[Theorem]) -> list[str]:
    """Return the printed bound next to the least corrected one."""
    old = float(best_bounds(wrong, PLACE)[0][0])
    new, best = min((_least_bound(theorem), theorem.variant) for theorem in right)
    first = np.nanmin([first_round(theorem, PLACE) for theorem in right])
    return [
        f"`{key}`",
        _number(old),
        f"{_number(new)} ({best})",
        _number(new / old),
        _number(np.nanmin([first_round(wrong, PLACE)])),
        _number(first),
    ]


def _least_bound(theorem: Theorem) -> float:
    """Return the bound at its best step sizes; infinite if none is admissible."""
    bound = float(best_bounds(theorem, PLACE)[0][0])
    return math.inf if math.isnan(bound) else bound


def moved() -> str:
    """How the answer moves when what is printed is replaced by what is proved."""
    rows = []
    for key in registry.keys():  # noqa: SIM118
        variants = [registry.get(key, variant) for variant in registry.variants(key)]
        stated = [theorem for theorem in variants if not theorem.order]
        for wrong in stated:
            if wrong.variant != "printed" or wrong.kind not in ("theorem", "corollary"):
                continue
            right = [
                theorem
                for theorem in stated
                if theorem.variant.split("_")[0] == "corrected"
                and theorem.lhs.measure == wrong.lhs.measure
            ]
            if right:
                rows.append(_moved_row(key, wrong, right))
    return _table(
        (
            "theorem",
            "printed",
            "least corrected",
            "ratio",
            "first T printed",
            "first T corrected",
        ),
        rows,
    )


def _correlation(found: dict[str, float]) -> str:
    return f"{found['rho']:.2f} ({found['cells']})"


def advice(file: Path) -> str:
    """Return the table of rank correlations that validation/advice.py found."""
    found = read_json(file)
    theorem = found.pop("theorem")
    rows = []
    for task, result in found.items():
        if "all" not in result:
            rows.append([task, result["not run"], "", "", ""])
            continue
        cells = [_correlation(result[n]) for n in ("bound", "regardless", "exact")]
        rows.append([task, *cells, f"{result['not vacuous']} of {result['all']}"])
    head = (
        "task",
        "valid bound",
        "formula, conditions ignored",
        "exact expectation on the model",
        "says something",
    )
    return f"By `{theorem}`:\n\n{_table(head, rows)}"


# -- the page


def markdown(found: Path) -> str:
    """Return the text of docs/atlas.md.

    ``found`` is the file that validation/advice.py wrote.
    """
    place = ", ".join(f"{n} = {v:g}" for n, v in PLACE.items())
    tables = "\n\n".join(places())
    pictures = "\n\n".join(
        f"![{title}](atlas/{name}.png)" for name, (title, *_) in PLANES.items()
    )
    return f"""# The atlas

Generated by `python -m validation.pages.atlas docs/atlas.md docs/advice.json`; not typed.

All registered theorems about one left-hand side, side by side. Each is at its own best step sizes (found on
a grid of 40 values a decade), with the mechanisms that it may do without absent (no SAM, no momentum, one
gossip step) and a common start; a doubly stochastic network leaves push-sum's weights at 1. What follows is
at

    {place}

unless an axis says otherwise. Below each table are the constants that its theorems need and that are not in
this list, with the usual values that they took. B and S2 are promised beside the rest: theorems that use them
know more than others.

* **speaks**: some step size meets its conditions, and the bound says more than is known without it: the
  lesser of 2 L (f(x^0) - f*) and, where the theorem bounds gradients, B^2. **vacuous**: it says no more.
  **silent**: no step size is admissible. **floor**: some problem is at least so hard, for every method; it
  bounds no run from above. A bound on a mean over rounds, or on the least of the rounds 1..T,
  also bounds the least of the rounds 0..T, so that all are compared in that unit.
* **exact mean**: of E||grad f||^2 at the mean model over the rounds 0..T-1 (no less than their least) at the
  theorem's best steps, computed without sampling on quadratic clients with exactly these constants
  (eigenvalues L/10..L, network (1 - lam) 11'/m + lam I). Not where a theorem bounds gradients: no
  quadratic's are bounded.
* **first T**: from which round on it says something. **transient T**: from which four times the clients, at
  the same lam, lower the best bound below 4^(-1/4) of itself, half of the way (in logarithms) to linear
  speed-up.

`dfltheory atlas --set T=10000 m=16 lam=0.8` makes such a table anywhere.

## At one place

{tables}

## Printed, and corrected

What the least corrected bound gives in place of the printed one, which may be false
([counterexamples](falsify.md)). Both bound the least of the rounds 0..T; corrected variants may know other
constants (sigma_g in place of B), and each has its own best steps:

{moved()}

## Over planes of constants

Color: whose best bound is the least; white: every one is vacuous or silent. Lines: that bound. Left the
printed theorems, right the corrected ones. (No problem has sigma_g > B.)

{pictures}

![bounds and truth](atlas/truth.png)

Below: a lower bound, which no first-order method beats on every convex function of these constants, and each
paper's least bound above it. On strongly convex ones `bubeck2015.theorem_3_15` is the floor.

![bounds over the floor](atlas/floor.png)

## Does it choose well?

The least valid bound can choose topology, K and step size. How far that is the order in which runs come
out, as Spearman's rank correlation (cells): over topologies, K and step sizes c/(K L), each bound, and the
exact expectation on the quadratic model with the same constants, against the measured mean of ||grad f||^2
over rounds. Cells where the theorem's conditions fail have no valid bound: the columns' cells differ.
`python -m validation.advice docs/advice.json` computes it: on another quadratic of the same constants,
exactly, and on MNIST and CIFAR-10 (softmax, 10 clients, Dirichlet 0.3, 2000 images, 30 rounds, one seed,
constants estimated along a pilot run).

{advice(found)}

## The standard theorems

The statements of Wang and Joshi (2021), Yuan et al. (2023), Vogels et al. (2023) and Lu and De Sa (2023), each
with the sharpest instance that a search found, and in three everyday settings at its own best step size.
[The standard theorems](standard.md) has the settings, the runs and [the figure](standard.md#different-data-torus).

{standard.for_users()}

{standard.COLUMNS}

{standard.everything()}

## Controls, and what is not entered

`pepit.gradient_descent` (example) is a positive control: worst cases of gradient descent at gamma = 1/L,
computed elsewhere as semidefinite programs, which no search may refute. The guarantee that the same
docstring states for every gamma <= 1/L does not hold for small gamma, where nothing moves: at f = x^2/2,
x_0 = 1, n = 10 and gamma = 10^-6 the left side is 1 and the bound 1/15. With gamma = 1/L, as the example
computes it, it stands. So are `pepit.gradient_descent_convex`, which a Huber loss reaches, `pepit.sgd`, and
what textbooks prove (`nesterov2018`, `bubeck2015`) and what is machine-checked in Lean: gradient descent and
SGD (`lean`, `bottou2018`), FedAvg on convex clients (`wang2021`) and SCAFFOLD (`karimireddy2020`).
`lean.sgd_strongly_convex` holds along runs, but as formalized its hypotheses exclude each other in every
space but that of dimension 0.

Not entered, text not at hand: what is not read is not typed from memory. Public copies were searched for all
of these by their abstracts, formulas and titles, and formal libraries by their authors and algorithms.

{" · ".join(name for name, why in NOT_ENTERED.items() if not why)}

Read, and not entered:

{chr(10).join(f"* {name}: {why}" for name, why in NOT_ENTERED.items() if why)}
"""


def main(arguments: Sequence[str]) -> None:
    """Write the page, and its pictures into the folder that is named as it is."""
    page, found = map(Path, arguments)
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    for _ in draw(folder):
        pass
    write_text(page, markdown(found))


if __name__ == "__main__":
    main(sys.argv[1:])
