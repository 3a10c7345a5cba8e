"""One round of an algorithm as vectors.

``kernel.py`` documents the meaning; nothing here claims that anything holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import sympy as sp

from dfltheory.bounds.real_numbers import need
from dfltheory.bounds.units import Expr
from dfltheory.proofs.vectors import DUAL, XBAR, Atom, G, Vec, X, atom_text


@dataclass(frozen=True, slots=True)
class AlgorithmRound:
    """One round of an algorithm as vectors.

    Attributes
    ----------
    local : the point at which the gradients of step k are taken
    sent : what the network mixes: x <- W sent
    mean_model : the point at which the decrease of f is summed over the rounds; of one
        block, that of the theorem's gradient
    dual : the next value of a second state, which starts at 0
    gossips : how often the network mixes in a round; 1/window: every window-th round
        ends with an exact average, and the others without mixing
    personal : of two blocks, the point at which the gradients of the personal part are
        taken in the first phase
    kept : of two blocks, the next value of the personal part
    """

    name: str
    local: Vec
    sent: Vec
    mean_model: Vec
    dual: Vec | None = None
    gossips: Expr = sp.S.One
    personal: Vec | None = None
    kept: Vec | None = None

    def __post_init__(self) -> None:
        self._check_blocks(self.sent, self.shared)
        if self.kept is not None:
            self._check_blocks(self.kept, "v")

    def _check_blocks(self, state: Vec, block: str) -> None:
        """Refuse a next state of a block with vectors of another one."""
        for a, _ in state.terms:
            need(
                a.block == block,
                "{} of another block is in the next state {}",
                atom_text(a),
                state,
            )

    @property
    def shared(self) -> str:
        """The block that the network mixes."""
        return "" if self.kept is None else "u"

    @property
    def blocks(self) -> frozenset[str]:
        """The blocks of coordinates that its vectors have."""
        return frozenset(("u", "v") if self.shared else ("",))

    def grad(self, point: Vec, block: str | None = None) -> Vec:
        """Return the gradients of the clients at their points.

        (grad f_i(point_i))_i, or its part of a block: by default the shared one.
        """
        part = self.shared if block is None else block
        need(
            part in {self.shared, "v" if self.shared else ""},
            "{} has no block {}",
            self.name,
            part,
        )
        if point == (self.personal if part == "v" else self.local):
            return G.within(part)
        return Vec.of(((Atom("grad", point=point, block=part), sp.S.One),))

    @property
    def first(self) -> Vec:
        """The local model without its terms that are sums over steps."""
        return Vec(frozenset((a, c) for a, c in self.local.terms if a.step is None))

    @property
    def moved(self) -> Vec:
        """Push-sum: the change of the numerators by the local steps."""
        moved = self.sent - X
        need(
            all(a.pushed for a, _ in moved.terms),
            "push-sum sends x plus vectors divided by the weights",
        )
        return Vec.of((replace(a, pushed=False), c) for a, c in moved.terms)

    def following(self, v: Vec) -> Vec:
        """Return what a linear combination of states is in the next round.

        Of the part that is mixed, only the mean is known, if the network keeps it.
        """
        after = Vec()
        for a, c in v.terms:
            need(not a.pushed, "{} is divided by weights of this round", atom_text(a))
            after += self._next_state(a) * c
        return after

    def _next_state(self, a: Atom) -> Vec:
        """Return what a state, or its mean, is in the next round."""
        updates = {("dual", ""): self.dual, ("x", "v"): self.kept}
        update = updates.get((a.name, a.block))
        if update is not None:
            return update.mean() if a.mean else update
        need(
            a.mean and a.name in ("x", "xbar") and a.block == self.shared,
            "{} is not a mean of a state",
            atom_text(a),
        )
        if a.name == "xbar":
            return XBAR + self.moved.mean()
        return self.sent.mean()

    def check_part_of_dual(self, v: Vec) -> None:
        """Refuse what is not the dual, its mean, or what is left without its mean."""
        need(self.dual is not None, "{} has no second state", self.name)
        need(v in (DUAL, DUAL.mean(), DUAL.dev()), "{} is not part of the dual", v)

    def full(self, point: Vec) -> Vec:
        """Return grad f, or its shared part, at a common point."""
        need(
            point.part(self.shared).common,
            "grad f is taken at a common point, not {}",
            point,
        )
        return self.grad(point).mean()
