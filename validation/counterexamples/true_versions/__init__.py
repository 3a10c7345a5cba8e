"""Proofs of versions with a planted mistake that are true.

The bound of such a version is smaller than that of the corrected statement, or it has
weaker conditions, so that its proof has other weights or further steps. The kernel
checks all proofs. Some versions follow from a theorem that the kernel proves by an
exact comparison. Its inequalities are confirmed by
:func:`dfltheory.proofs.implication.not_implied` and
:class:`dfltheory.bounds.inequalities.region.Region`, its identities by SymPy. The
docstrings say why that suffices: substitutions, cases, and which terms are not
negative.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from validation.counterexamples.true_versions import (
    dfedadmm,
    dfedmdc,
    dfedsam,
    dfedsgpsm,
    wang_joshi2021,
)
from validation.counterexamples.true_versions.version import Missing, Name

PROOFS: Mapping[Name, Callable[[Name], Missing]] = MappingProxyType(
    {
        **dfedadmm.PROOFS,
        **dfedmdc.PROOFS,
        **dfedsam.PROOFS,
        **dfedsgpsm.PROOFS,
        **wang_joshi2021.PROOFS,
    }
)
"""For each version, a function of its name that returns what is not proved of it."""

__all__ = ["PROOFS"]
