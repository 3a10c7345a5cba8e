"""Decentralized partial personalization: DFedMDC and DFedSMDC."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from dfltheory.algorithms.blocks import Phase, Phased, SharedState
from dfltheory.algorithms.hyperparameters import ranges
from dfltheory.algorithms.local_steps import Index


@dataclass(frozen=True)
class TwoBlock(Phased[SharedState]):
    """Base of DFedMDC and DFedSMDC.

    A round changes v with u fixed, then u with the new v fixed, and mixes u.
    """

    personal: ClassVar[bool] = True
    implied: ClassVar = {"rho": 0.0, "sam": ""}

    def phases(self, u: Index, v: Index) -> list[Phase]:
        """Return the phase on v and the phase on u."""
        sam_blocks = self.hyperparameter("sam")
        rho_u = self.hyperparameter("rho") if "u" in sam_blocks else 0.0
        rho_v = self.hyperparameter("rho") if "v" in sam_blocks else 0.0
        return [
            (v, self.hyperparameter("eta_v"), self.hyperparameter("K_v"), rho_v),
            (u, self.hyperparameter("eta_u"), self.hyperparameter("K_u"), rho_u),
        ]


@dataclass(frozen=True)
class DFedMDC(TwoBlock):
    """DFedMDC: local steps on the head v, then on the body u; gossip of the bodies.

        K_v times:  v_i <- v_i - eta_v grad_v F_i(u_i, v_i; xi)
        K_u times:  u_i <- u_i - eta_u grad_u F_i(u_i, v_i; xi)      with the new v_i
        u_i <- sum_l w_il u_l

    Line 13 of the paper prints w_il z_i, which involves no neighbor; here it is the
    body of client l.

    Parameters
    ----------
    eta_u, eta_v : float
        Step sizes of the body u and the head v.
    K_u, K_v : int
        Numbers of local steps on the body u and the head v.
    alpha : float
        Momentum of the local steps, reset to v = 0 in each phase; 0 in the
        algorithm, 0.9 in the paper's experiments.
    fresh : bool
        Whether each local step draws a minibatch. False: one per round, as in
        line 5 of the paper.

    References
    ----------
    DFedMDC paper, Algorithm 1, Option I.
    """

    eta_u: float
    eta_v: float
    K_u: int
    K_v: int
    alpha: float = field(default=0.0, kw_only=True)
    fresh: bool = field(default=True, kw_only=True)

    source: ClassVar[str] = "DFedMDC paper"
    ranges: ClassVar = ranges("eta_u eta_v K_u K_v alpha")


@dataclass(frozen=True)
class DFedSMDC(TwoBlock):
    """DFedSMDC: DFedMDC with SAM steps on the body, the head or both.

        K_u times:  g = grad_u F_i(u, v; xi)
                    u <- u - eta_u grad_u F_i(u + rho g/||g||, v; xi), the same xi

    Parameters
    ----------
    eta_u, eta_v : float
        Step sizes of the body u and the head v.
    K_u, K_v : int
        Numbers of local steps on the body u and the head v.
    rho : float
        SAM radius; 0.7 in the paper's experiments.
    sam : {"u", "v", "uv"}
        Blocks with SAM steps.
    alpha : float
        Momentum of the local steps, as in DFedMDC.
    fresh : bool
        Whether each local step draws a minibatch, as in DFedMDC.

    References
    ----------
    DFedMDC paper, Algorithm 1, Option II; Table 4 for -V and -UV; rho: appendix B.
    """

    eta_u: float
    eta_v: float
    K_u: int
    K_v: int
    rho: float = 0.7
    sam: Literal["u", "v", "uv"] = "u"
    alpha: float = field(default=0.0, kw_only=True)
    fresh: bool = field(default=True, kw_only=True)

    source: ClassVar[str] = "DFedMDC paper"
    ranges: ClassVar = ranges("eta_u eta_v K_u K_v rho alpha")


__all__ = ["DFedMDC", "DFedSMDC", "TwoBlock"]
