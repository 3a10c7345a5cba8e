"""Groups of verdicts that are drawn together, and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dfltheory.bounds.measures import KNOWN_MEASURES
from dfltheory.errors import InputError
from dfltheory.plots import look
from dfltheory.plots.horizons import VerdictLike
from dfltheory.plots.labels import formula
from dfltheory.plots.notation import is_formula, typeset

if TYPE_CHECKING:
    from dfltheory.bounds.clauses import LeftSide

_AGGREGATES = {
    "min": "least over rounds",
    "max": "largest over rounds",
    "mean": "mean over rounds",
    "sum": "sum over rounds",
    "last": "at the last round",
}
"""Names of left-hand sides, by aggregate over the rounds."""


def families(verdicts: Iterable[VerdictLike]) -> dict[str, list[VerdictLike]]:
    """Group verdicts by the meaning of their variants.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Verdicts on one left-hand side.

    Returns
    -------
    dict of str to list of Verdict
        The meanings of :data:`MEANINGS` in order, followed by all other variants by
        name. In each group the variant whose name is the meaning, if present, is
        first: it is drawn as a line.
    """
    groups: dict[str, list[VerdictLike]] = {}
    for verdict in verdicts:
        prefix = verdict.variant.split("_")[0]
        meaning = prefix if prefix in look.MEANINGS else verdict.variant
        groups.setdefault(meaning, []).append(verdict)
    others = [meaning for meaning in groups if meaning not in look.MEANINGS]
    ordered: dict[str, list[VerdictLike]] = {}
    for meaning in [*look.MEANINGS, *others]:
        if meaning in groups:
            exact = [v for v in groups[meaning] if v.variant == meaning]
            rest = [v for v in groups[meaning] if v.variant != meaning]
            ordered[meaning] = exact + rest
    return ordered


def by_left_side(verdicts: Iterable[VerdictLike]) -> list[list[VerdictLike]]:
    """Group verdicts that bound the same measure, aggregate and rounds.

    Parameters
    ----------
    verdicts : iterable of Verdict
        Verdicts with their theorems.

    Returns
    -------
    list of list of Verdict
        The groups, in the order of their first verdicts.
    """
    groups: dict[LeftSide, list[VerdictLike]] = {}
    for verdict in verdicts:
        groups.setdefault(left_side_formula(verdict), []).append(verdict)
    return list(groups.values())


def check_drawable(verdicts: Sequence[VerdictLike]) -> None:
    """Raise InputError if there is no verdict, or one was read without its run."""
    if not verdicts:
        raise InputError("there is no verdict to draw: pass at least one")
    for verdict in verdicts:
        if verdict.left_hand_side is None:
            raise InputError(
                f"the verdict on {verdict.key} ({verdict.variant}) has no run and"
                " cannot be drawn: pass the run to verdict_from_dict"
            )


def refuse_empty(groups: Mapping[str, Sequence[VerdictLike]]) -> None:
    """Raise InputError for a label without a verdict."""
    for label, members in groups.items():
        if not members:
            raise InputError(f"there is no verdict for {label!r}: pass at least one")


def left_side_formula(verdict: VerdictLike) -> LeftSide:
    """Return the left-hand side of a verdict without its description in words."""
    return replace(verdict.theorem.lhs, averaging="")


def side_names(verdicts: Iterable[VerdictLike]) -> dict[LeftSide, str]:
    """Return the distinct left-hand sides of verdicts with their names.

    The name is that of the aggregate, such as "least over rounds", or the formula if
    several left-hand sides have the same aggregate.

    Raises
    ------
    InputError
        If a verdict has no run, or the left-hand sides have different units.
    """
    listed = list(verdicts)
    check_drawable(listed)
    groups = by_left_side(listed)
    units = {str(members[0].theorem.lhs.unit) for members in groups}
    if len(units) != 1:
        shown = "; ".join(map(_variants, groups))
        raise InputError(
            f"verdicts bound left-hand sides in {len(units)} units, which have no axis"
            f" in common: draw each in a figure of its own ({shown})"
        )
    words = [_AGGREGATES[members[0].theorem.lhs.aggregate] for members in groups]
    if len(set(words)) < len(words):
        words = [formula(members[0].theorem) for members in groups]
    return {left_side_formula(members[0]): name for members, name in zip(groups, words)}


def left_sides_label(verdicts: Sequence[VerdictLike]) -> str:
    """Return the axis label of one or several left-hand sides."""
    theorem = verdicts[0].theorem
    if len(by_left_side(verdicts)) == 1:
        return formula(theorem)
    measures = {verdict.theorem.lhs.measure for verdict in verdicts}
    known = KNOWN_MEASURES.get(theorem.lhs.measure)
    if len(measures) == 1 and known is not None and known.latex:
        text = typeset(rf"\mathbb{{E}}\,{known.latex}")
        if is_formula(text):
            return f"${text}$"
    return "left-hand side"


def refuted_note(verdict: VerdictLike) -> str:
    """Return the suffix of a variant's label: " (refuted)" if it is refuted."""
    return " (refuted)" if verdict.status.refuted else ""


def bound_label(verdict: VerdictLike, side: str = "") -> str:
    """Return the label of a bound; ``side`` is one of several left-hand sides."""
    label = f"bound, {verdict.variant}{refuted_note(verdict)}"
    return f"{label}, {side}" if side else label


def _variants(verdicts: Sequence[VerdictLike]) -> str:
    return ", ".join(verdict.variant for verdict in verdicts)


__all__ = [
    "left_sides_label",
    "bound_label",
    "by_left_side",
    "check_drawable",
    "families",
    "left_side_formula",
    "refuse_empty",
    "refuted_note",
    "side_names",
]
