"""Facts about a run's network that verdicts need.

Files store these facts instead of the network itself, which may be a callable. A loaded
history therefore gets the same verdict as a new one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dfltheory.constants import SEQUENCES, NetworkConstants
from dfltheory.errors import checked_name
from dfltheory.graphs.assumptions import DOUBLY_STOCHASTIC
from dfltheory.graphs.definition_1 import DRAWS, check_rounds
from dfltheory.graphs.matrices import Matrix, asymmetry, entry_tolerance
from dfltheory.graphs.sequences import (
    MOST_MATRICES,
    MixingSequence,
    Rounds,
    distinct,
    kind_of,
    period_of,
    rounding,
)
from dfltheory.randomness import numpy_generator

NetworkKind = Literal["none", "fixed", "periodic", "varying", "random", "losses"]


@dataclass(frozen=True)
class NetworkFacts:
    """Facts about the mixing matrices of a run.

    Attributes
    ----------
    kind : str
        ``fixed`` (W_t = W), ``periodic``, ``varying`` (not random, without a known
        period), ``random`` (drawn independently of the samples), ``losses`` (chosen by
        the clients' losses), or ``none`` (a server or no communication; the other
        fields are then meaningless).
    m : int
        Number of clients.
    proved : bool
        Whether all matrices of the run were examined. Random matrices, and more than
        10,000 matrices, are only sampled.
    directed : bool
        Whether some examined matrix is not symmetric.
    definition_1, doubly_stochastic, column_stochastic, row_stochastic : str or None
        None if every examined matrix satisfies the law, else the first failure (law,
        place, value).
    lam, lam_found : float or None, str or None
        The contraction ||W - 11'/m|| of :class:`~dfltheory.constants.NetworkConstants`
        and its standing (``exact``, ``bound``, ``estimate``); None if it does not
        exist.
    fingerprint : str
        SHA-256 of the sparsity patterns and weights of the examined matrices.
    sequence : str
        The kind of the sequence, a name of :data:`dfltheory.constants.SEQUENCES`. Files
        of earlier versions lack it; it is then ``any`` unless the matrices are fixed or
        periodic.
    """

    kind: NetworkKind
    m: int
    proved: bool = True
    directed: bool = False
    definition_1: str | None = None
    doubly_stochastic: str | None = None
    column_stochastic: str | None = None
    row_stochastic: str | None = None
    lam: float | None = None
    lam_found: str | None = None
    fingerprint: str = ""
    sequence: str = ""

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.sequence == "":
            known = self.kind if self.kind in ("fixed", "periodic") else "any"
            object.__setattr__(self, "sequence", known)
        checked_name("kind of network sequence", self.sequence, SEQUENCES)

    @classmethod
    def of(
        cls, sequence: MixingSequence, used: int, known: NetworkConstants
    ) -> NetworkFacts:
        """Return the facts about the sequence of mixing matrices of a run.

        A periodic sequence is examined over a whole period. Otherwise all matrices that
        the run used are examined, up to 10,000, or up to 20 if they depend on
        randomness or losses.

        Parameters
        ----------
        sequence : MixingSequence
        used : int
            Number of matrices that the run used.
        known : NetworkConstants
            Constants of the sequence.
        """
        period = period_of(sequence)
        is_given = not (sequence.random or getattr(sequence, "needs_losses", False))
        most = MOST_MATRICES if is_given else DRAWS
        matrices = list(drawn(sequence, range(period or max(1, min(used, most)))))
        examined_all = period is not None or (is_given and used <= most)
        different = distinct(matrices)
        reports = check_rounds(
            Rounds(list(different.values()), examined_all, rounding(sequence))
        )

        def first_failure(laws: Iterable[str] | None = None) -> str | None:
            """Return the first failure of some laws, by default all, or None."""
            for t, report in zip(different, reports, strict=True):
                for failure in report.failures:
                    if laws is None or failure.law in laws:
                        return (
                            failure.message
                            if period == 1
                            else f"round {t}: {failure.message}"
                        )
            return None

        return cls(
            kind=_kind(sequence, period),
            m=int(sequence.m),
            proved=examined_all,
            directed=any(
                asymmetry(W) > entry_tolerance(rounding(sequence))
                for W in different.values()
            ),
            definition_1=first_failure(),
            doubly_stochastic=first_failure(DOUBLY_STOCHASTIC),
            column_stochastic=first_failure(
                [law for law in DOUBLY_STOCHASTIC if law != "row sums"]
            ),
            row_stochastic=first_failure(
                [law for law in DOUBLY_STOCHASTIC if law != "column sums"]
            ),
            lam=known.lam,
            lam_found=None if known.lam is None else known.standing_of("lam"),
            fingerprint=fingerprint(matrices),
            sequence=kind_of(sequence),
        )


def _kind(sequence: MixingSequence, period: int | None) -> NetworkKind:
    """Return the kind of a sequence, see :class:`NetworkFacts`."""
    if getattr(sequence, "needs_losses", False):
        return "losses"
    if sequence.random:
        return "random"
    if period is None:
        return "varying"
    return "fixed" if period == 1 else "periodic"


def drawn(sequence: MixingSequence, rounds: Iterable[int]) -> Iterable[Matrix]:
    """Yield matrices as a run's first seed draws them, at equal losses."""
    needs_losses = getattr(sequence, "needs_losses", False)
    losses = (np.zeros(sequence.m),) if needs_losses else ()
    rng = np.random.default_rng(0)
    for t in rounds:
        if sequence.random or needs_losses:
            rng = numpy_generator(0, 0, t, "network")
        yield sequence.matrix(t, rng, *losses)


def fingerprint(matrices: Iterable[Matrix]) -> str:
    """Return the SHA-256 of shapes, sparsity patterns and weights (float64)."""
    digest = hashlib.sha256()
    for W in matrices:
        integers, weights = [np.array(W.shape)], W
        if not isinstance(W, np.ndarray):
            integers += [W.indptr, W.indices]
            weights = W.data
        for values in integers:
            digest.update(np.ascontiguousarray(values, dtype=np.int64).data)
        digest.update(np.ascontiguousarray(weights, dtype=np.float64).data)
    return digest.hexdigest()


__all__ = ["NetworkFacts", "NetworkKind", "drawn", "fingerprint"]
