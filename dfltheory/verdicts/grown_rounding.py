"""Disagreement of the clients that exists only because of rounding errors.

Clients with the same objective, start and exact gradients agree in every round of exact
arithmetic. Their rounding errors may differ, and a round may amplify them: with
``combine-then-adapt`` it multiplies a deviation by up to eta L - lam_min.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dfltheory.bounds.clauses import LeftSide
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.training.history import History
from dfltheory.verdicts.applicability import has_common_start
from dfltheory.verdicts.measures import is_deterministic
from dfltheory.verdicts.rounding import measure_error
from dfltheory.verdicts.run_sizes import run_sizes

_CONSENSUS = LeftSide("consensus", aggregate="max", last=GLOSSARY["T"].symbol)


def grown_disagreement(run: History, values: Mapping[str, object]) -> float:
    """Return the largest disagreement of clients that is due to amplified rounding.

    Parameters
    ----------
    run : History
    values : mapping
        Constants by glossary name, with those that the caller gave.

    Returns
    -------
    float
        The largest value of the measure ``consensus``, a mean square. It is 0 if
        rounding errors without amplification explain this value, if it was not
        measured, or if the clients may differ in exact arithmetic.
    """
    if not _agree(run, values):
        return 0.0
    measured = run.consensus[np.isfinite(run.consensus)]
    largest = float(measured.max(initial=0.0))
    explained = np.max(measure_error(_CONSENSUS, run_sizes(run, _CONSENSUS)).of_zero)
    return largest if largest > float(explained) else 0.0


def _agree(run: History, values: Mapping[str, object]) -> bool:
    """Return whether the clients agree in every round of exact arithmetic."""
    algorithm = run.algorithm
    equal_clients = values.get("sigma_g") == 0 and values.get("sigma_l") == 0
    symmetric = algorithm.mixing == "doubly stochastic" and not algorithm.personal
    return bool(
        equal_clients
        and symmetric
        and is_deterministic(run)
        and has_common_start(run) is True
    )


__all__ = ["grown_disagreement"]
