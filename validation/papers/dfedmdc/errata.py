"""Errata of Shi et al. 2023 (DFedMDC and DFedSMDC), by number."""

from __future__ import annotations

from validation.papers.dfedmdc import errata_of_proofs, errata_of_statements
from validation.papers.erratum import Erratum


def _number(erratum: Erratum) -> int:
    return int(erratum.id.partition("-E")[2])


ERRATA: tuple[Erratum, ...] = tuple(
    sorted((*errata_of_statements.ERRATA, *errata_of_proofs.ERRATA), key=_number)
)

__all__ = ["ERRATA"]
