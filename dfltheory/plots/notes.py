"""Notes on verdicts: how far bounds are above, and why theorems do not apply."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dfltheory.plots.groups import families, refuted_note
from dfltheory.plots.horizons import VerdictLike
from dfltheory.plots.labels import times_measured
from dfltheory.plots.notation import condition, in_symbols

if TYPE_CHECKING:
    from dfltheory.bounds.theorem import Theorem

_MOST_NOTES = 2
"""Maximum number of reasons in a note; further ones are only counted."""
_ADVICE = re.compile(r": (?:give \w+=|train with ).*$")
"""The part of a reason that advises how to change the call."""


def notes(verdicts: Sequence[VerdictLike], *, with_ratios: bool) -> list[str]:
    """Return notes on verdicts, each without line breaks.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Verdicts on one run.
    with_ratios : bool
        Whether to include how far each applicable bound is above the measurement. All
        other notes state why a bound does not apply, and what would change that.
    """
    texts = _not_applicable_texts(verdicts)
    if not with_ratios:
        return texts
    ratios = _ratios_text(verdicts)
    return [ratios, *texts] if ratios else texts


def obstacle(verdict: VerdictLike) -> str:
    """Return why a theorem does not apply and what would change that, in symbols."""
    text = reason_in_symbols(verdict.reason, verdict.theorem)
    values = verdict.suggestions.values_text
    return f"{text}; {in_symbols(values, verdict.theorem)}" if values else text


def reason_in_symbols(reason: str, theorem: Theorem | None) -> str:
    """Return the reason of a verdict without advice on the call, in symbols."""
    text = _ADVICE.sub("", reason)
    failing: dict[str, str] = {}
    for number, clause in enumerate(theorem.conditions if theorem else ()):
        place = f"\x02{number}\x02"
        shorter = text.replace(f"{clause.name} fails, by", f"{place} fails, by")
        if theorem is not None and shorter != text:
            failing[place] = condition(clause, theorem)
            text = shorter
    text = in_symbols(text, theorem)
    for place, formula in failing.items():
        text = text.replace(place, formula)
    return text


def _ratios_text(verdicts: Sequence[VerdictLike]) -> str:
    """Return how far applicable bounds are above the measurement; empty without any."""
    ratios = []
    for members in families(v for v in verdicts if v.kind != "not applicable").values():
        above = times_measured(members[0].ratio)
        if above:
            factor = above.removesuffix(" measured").replace(" ", "\xa0")
            ratios.append(f"{members[0].variant}\xa0{factor}")
    return f"bound / measured: {', '.join(ratios)}" if ratios else ""


def _not_applicable_texts(verdicts: Sequence[VerdictLike]) -> list[str]:
    """Return why verdicts are not applicable, and what would change that."""
    excluded: dict[str, list[str]] = {}
    for verdict in verdicts:
        if verdict.kind == "not applicable":
            name = f"{verdict.variant}{refuted_note(verdict)}"
            excluded.setdefault(obstacle(verdict), []).append(name)
    texts = []
    for text, variants in list(excluded.items())[:_MOST_NOTES]:
        names = ", ".join(variants[:2])
        more = f" and {len(variants) - 2} more" if len(variants) > 2 else ""
        texts.append(f"{names}{more}, not applicable: {text}")
    if len(excluded) > _MOST_NOTES:
        texts.append(more_reasons(len(excluded) - _MOST_NOTES))
    return texts


def more_reasons(count: int) -> str:
    """Return a note on reasons that are not listed."""
    return f"not applicable: {count} more reason{'s' if count > 1 else ''}"


__all__ = ["more_reasons", "notes", "obstacle", "reason_in_symbols"]
