"""A million clients on named topologies: a fast result, or a one-line error with the
required memory.
"""

import re

import numpy as np
import pytest

from dfltheory import graphs
from dfltheory.errors import DFLTheoryError
from dfltheory.graphs.topologies import TOPOLOGIES

ASKED = {  # seconds for all topologies together, on one busy core
    "spectral_report": lambda name, m: graphs.spectral_report(name, m=m).gap,
    "spectral_gap": lambda name, m: graphs.spectral_gap(name, m=m),
    "lam": lambda name, m: graphs.lam(name, m=m),
    "eigenvalues": lambda name, m: graphs.eigenvalues(name, m=m)[-1],
    "gap_scaling": lambda name, m: graphs.gap_scaling(name, (m // 2, m)).exponent,
}


@pytest.mark.drawn(1)
@pytest.mark.parametrize("asked", ASKED)
def test_by_a_closed_form_or_refused_with_the_figure(asked):
    values, refusals = [], []
    for name in TOPOLOGIES:
        m = 2**20 if name == "hypercube" else 10**6
        try:
            values.append(ASKED[asked](name, m))
        except DFLTheoryError as refused:
            refusals.append(str(refused))
    assert np.isfinite(values).all()
    assert len(values) >= 5
    figure = re.compile(r"\d+ clients|links|m = \d+|no row of Table 1 is called")
    assert [said for said in refusals if not figure.search(said)] == []
