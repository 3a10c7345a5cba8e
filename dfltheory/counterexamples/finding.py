"""The result of a search for a counterexample."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.bounds import registry
from dfltheory.bounds.document import theorem_to_document
from dfltheory.counterexamples.certificate import Certificate
from dfltheory.counterexamples.divergence import Divergence
from dfltheory.counterexamples.document import COUNTEREXAMPLE_FORMAT, FILE_KINDS
from dfltheory.errors import InputError
from dfltheory.files import write_json
from dfltheory.training.instance import Instance
from dfltheory.verdicts.rounding import UNDERFLOW_LIMIT

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem


@dataclass(frozen=True)
class Finding:
    """The result of one search for one variant of one theorem.

    A search without a counterexample proves nothing.

    Attributes
    ----------
    key, variant : str
        The statement.
    violated : bool
        Whether a counterexample was found and confirmed by the training core. No finite
        family of problems violates a statement in O(.); see :attr:`growing`.
    ratio : float
        measured / bound of the best ``instance``. For statements in O(.), the last
        ratio of the family relative to its first.
    evaluations : int
        Number of candidates.
    seconds : float
        Duration of the search.
    seed : int
    family : str
        Name of the family of candidates that the instance is from.
    instance : Instance or None
    certificate : Certificate or None
    divergence : Divergence or None
        For a statement in O(.), the family with the steepest growth.
    families : dict
        Best ratio and number of candidates of each family.
    theorem : Theorem or None
    readings : dict
        For each reading of the statement, the strictest first, its ratio and whether it
        is refuted.
    first : float or None
        Seconds until the first ratio above 1, or until a growing family.
    terms : dict
        For each term of the bound, ``share`` is the largest ratio at which the term is
        at least half of the bound, and ``without`` is the largest measured / (bound
        without the term). If that is above 1, the term is necessary.
    refused : dict
        Families without candidates for the statement, with the reason.
    """

    key: str
    variant: str
    violated: bool
    ratio: float
    evaluations: int
    seconds: float
    seed: int
    family: str = ""
    instance: Instance | None = None
    certificate: Certificate | None = None
    divergence: Divergence | None = None
    families: dict[str, dict[str, float]] = field(default_factory=dict)
    theorem: Theorem | None = None
    readings: dict[str, dict[str, float]] = field(default_factory=dict)
    first: float | None = None
    terms: dict[str, dict[str, float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def growing(self) -> bool:
        """Whether measured / expression of a statement in O(.) grows along a family.

        It grows over the range examined, which refutes nothing.
        """
        return self.divergence is not None and self.divergence.grows

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers and text, for JSON.

        The theorem itself is included if it is not registered.
        """
        names = (
            "key",
            "variant",
            "violated",
            "ratio",
            "evaluations",
            "seconds",
            "seed",
            "families",
        )
        document: dict[str, object] = {name: getattr(self, name) for name in names}
        for name in ("readings", "family", "first", "terms", "refused"):
            value = getattr(self, name)
            if value:
                document[name] = value
        document["instance"] = (
            None if self.instance is None else self.instance.document()
        )
        if self.divergence is not None:
            document["divergence"] = asdict(self.divergence)
            document["growing"] = self.growing
        if self.certificate is not None:
            certificate = asdict(self.certificate)
            if not self.undecided:
                del certificate["undecided"]
            document |= certificate
        if self.theorem is not None and not registry.registered(self.theorem):
            document["theorem"] = theorem_to_document(self.theorem)
        return document

    def save(self, path: str | Path) -> Path:
        """Write the counterexample as a small JSON file, for :func:`replay`."""
        if self.divergence is None and self.instance is None:
            raise InputError(
                f"there is no counterexample to {self.key} [{self.variant}] to save"
            )
        document = self.to_dict()
        del document["families"]
        kind = FILE_KINDS[self.divergence is not None]
        write_json(path, {"kind": kind, "format": COUNTEREXAMPLE_FORMAT, **document})
        return Path(path)

    def record(self, path: str | Path, command: str) -> Path:
        """Write the outcome, found or not, with the command that repeats the search."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        write_json(
            path,
            {"kind": FILE_KINDS[2], "format": COUNTEREXAMPLE_FORMAT, "command": command}
            | self.to_dict(),
        )
        return Path(path)

    def __str__(self) -> str:
        head = f"{self.key} [{self.variant}]: "
        tried = f" of {len(self.families)} families" if self.families else ""
        many = "candidate" if self.evaluations == 1 else "candidates"
        effort = f"{self.evaluations} {many}{tried} in {self.seconds:.0f} s"
        tail = f"{effort}{self._readings_text}"
        if self.divergence is not None:
            return f"{head}{self.divergence} ({tail})"
        if self.undecided:
            return (
                f"{head}undecided: {'; '.join(self.undecided)}; measured/bound is"
                f" {self.ratio:.6g} in floating point ({tail})"
            )
        if math.isnan(self.ratio):
            return (
                f"{head}no candidate could be judged: no problem was found that"
                " satisfies the conditions and whose bound is above"
                f" {UNDERFLOW_LIMIT:g}"
                f" ({tail}). This proves nothing."
            )
        if not self.violated or self.certificate is None or self.instance is None:
            return (
                f"{head}no counterexample found; the largest measured/bound is"
                f" {self.ratio:.6g}{self._why_not_refuted} ({tail}). This proves"
                " nothing: other families, other seeds, more time may find one."
            )
        how = "by the exact expectation, in floating point"
        if self.certificate.exact is None:
            how = f"by {self.certificate.core['seeds']} runs of the training core alone"
        return (
            f"{head}refuted: measured/bound = {self.ratio:.6g} at T ="
            f" {self.instance.rounds} {how} ({self.family}); the training core's"
            f" measured/bound is {self.certificate} ({tail})"
        )

    @property
    def undecided(self) -> list[str]:
        """Why floating point cannot decide; empty when it can."""
        return [] if self.certificate is None else self.certificate.undecided

    @property
    def _readings_text(self) -> str:
        """The ratio of each reading as text, if there are several."""
        if len(self.readings) < 2:
            return ""
        text = ""
        for name, reading in self.readings.items():
            text += f"; {name}: {shown_ratio(reading['ratio'])}"
            text += ", refuted" if reading["violated"] else ""
        return text

    @property
    def _why_not_refuted(self) -> str:
        """Why a ratio above 1 is not a counterexample; empty if it is at most 1."""
        if self.certificate is None or not self.ratio > 1:
            return ""
        core, outside = self.certificate.core, "; ".join(self.certificate.obstacles)
        if outside:
            return f", but outside of the assumptions: {outside}"
        return (
            f", which the training core does not confirm: {core['ratio']:.6g} after"
            f" {core['rounds']} rounds"
        )


def shown_ratio(ratio: float) -> str:
    """Return a ratio measured / bound to four digits, as text.

    A ratio that is nan is described in words.
    """
    return "none judged" if math.isnan(ratio) else f"{ratio:.4g}"


__all__ = ["Finding", "shown_ratio"]
