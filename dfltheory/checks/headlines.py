"""Sentences about a statement: its name in the paper, its status, and its checks."""

from __future__ import annotations

import shlex

from dfltheory.bounds import registry
from dfltheory.bounds.status import Status
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.run import CHECKS, applicable_checks


def statement_name(theorem: Theorem) -> str:
    """Return the name of a statement in its paper, such as ``Theorem 4.5, eq. (7)``.

    It is the title if the source is empty.
    """
    citation = (
        registry.paper(theorem.key.split(".")[0]).citation
        if registry.peers(theorem)
        else ""
    )
    return theorem.source.removeprefix(f"{citation}, ") or theorem.title


def headline(theorem: Theorem, status: Status, errors: int, reference: str = "") -> str:
    """Return the verdict on a statement from its ``status`` and audit errors.

    ``errors`` is the number of errors of the audit. ``reference`` is the name of a
    statement that is not registered, as ``FILE.py:NAME``.
    """
    name = f"{statement_name(theorem)} (`{theorem.key}`)"
    if status.refuted:
        return (
            f"**{name} is false as printed**:"
            f" {refutation(theorem, status)}.{instead(theorem)}"
        )
    if errors:
        count = "1 error" if errors == 1 else f"{errors} errors"
        return f"{name}: the audit reports {count}."
    return f"{name}: {examined(theorem, status, reference=reference)}."


def instead(theorem: Theorem) -> str:
    """Return a sentence that names the registered corrected variant of a statement.

    It is empty where the registry has none.
    """
    corrected = corrected_variant(theorem)
    if corrected is None:
        return ""
    return f" What holds instead: `{corrected.key}:{corrected.variant}`."


def corrected_variant(theorem: Theorem) -> Theorem | None:
    """Return the registered variant ``corrected`` of a statement.

    None if there is none, or if the statement itself is that variant.
    """
    if theorem.variant == "corrected" or not registry.known(theorem.key, "corrected"):
        return None
    return registry.get(theorem.key, "corrected")


def refutation(theorem: Theorem, status: Status) -> str:
    """Return in words what refutes a statement with this status."""
    what = "family of problems" if theorem.order else "instance"
    return f"a saved {what} inside all its assumptions: {status.how}"


def examined(
    theorem: Theorem, status: Status, errors: int = 0, reference: str = ""
) -> str:
    """Return which checks and searches of a statement ran.

    The text gives the commands of those that did not. ``errors`` is the number of
    errors that the audit reports; ``reference`` as in :func:`headline`.
    """
    count = {0: "no error", 1: "1 error"}.get(errors, f"{errors} errors")
    sentences = [f"{_checks(theorem)} {count}", _searched(theorem, status, reference)]
    if status.kind == "not examined":
        sentences.append("its proof was not checked by the proof kernel")
    elif not status.refuted:
        sentences.append(f"{status.kind}: {status.how}")
    return "; ".join(sentences)


def _checks(theorem: Theorem) -> str:
    """Name the checks that examined something, and those with nothing to examine."""
    ran = applicable_checks(theorem)
    idle = [name for name in CHECKS if name not in ran]
    nothing = f"; nothing to examine: {', '.join(idle)}" if idle else ""
    verb = "check reports" if len(ran) == 1 else "checks report"
    return f"audit ({', '.join(ran)}{nothing}): {len(ran)} {verb}"


_FALSIFY_CALL = "dfltheory.falsify(theorem)"
"""Searches a theorem that is neither registered nor in a file that was named."""


def _searched(theorem: Theorem, status: Status, reference: str) -> str:
    """Return what was searched, or the command that searches the statement."""
    if status.search:
        return f"search for a counterexample: {status.search}"
    searchable = theorem.order or theorem.kind in ("theorem", "corollary")
    if not searchable:
        return (
            "not searched for a counterexample: `dfltheory falsify` does not search a"
            f" {theorem.kind}"
        )
    command = f"dfltheory falsify {theorem.key}"
    if registry.known(theorem.key, theorem.variant):
        command += f" --variant {theorem.variant}"
    else:
        command = (
            f"dfltheory falsify {shlex.quote(reference)}"
            if reference
            else _FALSIFY_CALL
        )
    return f"not searched for a counterexample: `{command}` searches"


__all__ = [
    "corrected_variant",
    "examined",
    "headline",
    "instead",
    "statement_name",
    "refutation",
]
