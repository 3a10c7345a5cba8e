"""``dfltheory worst-case``: how bad can it be?  From below, from above, and what the theorem says."""

from __future__ import annotations

from typing import Annotated

import typer

from dfltheory.cli.output import AsJson, Values, Variant, emit, leave, values_of


def worst_case(
    context: typer.Context,
    key: Annotated[str, typer.Argument(help="A theorem of the registry, or FILE.py:NAME.")],
    variant: Variant = None,
    set_: Values = None,
    seconds: Annotated[float, typer.Option(help="Processor time of the search from below.")] = 10.0,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    json: AsJson = False,
) -> None:
    """The worst case of a theorem's left-hand side, from both sides, beside its bound.

    Without noise and SAM, over all L-smooth clients and all networks whose contraction is at most lam. From
    above: a semidefinite program, whose value is certified in rational arithmetic; from below: the worst run
    of the training core that a search finds. Few rounds and local steps. Needs pip install '.[pep]'.

    Exit status 1 when the run exceeds the theorem's bound, 0 otherwise.

    Examples:

        dfltheory worst-case dfedsam.theorem_4_5 --variant corrected --set T=3 K=2 L=1 eta=0.04 lam=0.4
        sigma_g=0.5 f0_gap=1

        dfltheory worst-case dfedadmm.theorem_1 --variant corrected --set T=4 K=2 L=1 eta=0.1 lam_admm=0.25
        lam=0.5 B=1 f0_gap=1 --json
    """
    from dfltheory.analysis.worst_case import bracket

    told = bracket(key, variant, seconds=seconds, seed=seed, **values_of(context, set_))
    emit(told.to_dict(), str(told), json)
    leave(told.lower <= told.bound)
