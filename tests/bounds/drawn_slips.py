"""Twenty statements with one random error each, which measure how many errors the
checks find.

The draw does not depend on the checks: it chooses a kind of error among those that
apply to the statement, then its place. ``drawn_slips.json`` contains the draws of
:func:`draws`; :func:`slipped` applies one. An error counts as detected if the checks
report an error or a warning that they do not report for the original statement
(:func:`new_alarms`).
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import sympy as sp

from dfltheory import bounds
from dfltheory.bounds.clauses import Condition
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.finding import AuditFinding
from dfltheory.checks.run import audit_statement

SEED = 46
NEWER = "wang_joshi2021"
COUNT = 10
DIMENSIONLESS = ("K", "T", "Q", "K_u", "K_v", "delta")
Slip = tuple[str, str, Theorem]
"""Kind, place, and the changed statement."""


def statements() -> list[Theorem]:
    """Ten statements of the newer paper, and the first ten corrected ones."""
    newer = [t for t in bounds.statements() if t.key.startswith(f"{NEWER}.")]
    corrected = [
        t
        for t in bounds.statements()
        if t.variant == "corrected" and t.kind in ("theorem", "corollary")
    ]
    more = [
        t
        for t in bounds.statements()
        if t.variant.startswith("corrected_") and t.kind in ("theorem", "corollary")
    ]
    return [*newer[:COUNT], *(corrected + more)[:COUNT]]


def own(theorem: Theorem) -> Theorem:
    """Return the statement under a key that has no other variants."""
    return replace(theorem, key=f"slips.{theorem.key.replace('.', '_')}", variant="own")


def _with_term(theorem: Theorem, name: str, term: sp.Expr) -> Theorem:
    return replace(theorem, parts={**theorem.parts, name: term})


def unit_slips(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions in which a term lacks one factor with a unit."""
    for name, term in theorem.parts.items():
        for base in sorted(term.free_symbols, key=str):
            powers: Any = sp.factor(term)
            powers = powers.as_powers_dict()
            known = base.name in theorem.glossary and base in powers
            if known and base.name in ("L", "eta", "sigma_l", "rho", "L_u", "eta_u"):
                yield "unit", f"{name}: {base}", _with_term(theorem, name, term / base)


def client_slips(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions in which a term has an extra factor 1/m."""
    m = theorem.glossary["m"].symbol
    for name, term in theorem.parts.items():
        yield "1/m", name, _with_term(theorem, name, term / m)


def power_slips(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions in which a power of a gap or a dimensionless number is too
    favorable by one.
    """
    for name, term in theorem.parts.items():
        for power in sorted(term.atoms(sp.Pow), key=str):
            base, exponent = power.as_base_exp()
            if not exponent.is_Integer or abs(exponent) < 1:
                continue
            names = {s.name for s in base.free_symbols}
            if base.is_Add and names <= {"lam", "q", "alpha", "Q"} and exponent < 0:
                better = term.xreplace({power: base ** (exponent + 1)})
                yield "power", f"{name}: {power}", _with_term(theorem, name, better)
        for base in sorted(term.free_symbols, key=str):
            if base.name in DIMENSIONLESS and base in term.as_powers_dict():
                lower = term.as_powers_dict()[base]
                if base.name != "delta" and lower != 0:
                    better = term / base
                    yield "power", f"{name}: {base}", _with_term(theorem, name, better)


def sign_slips(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions in which a term, or a sum inside a term, has the wrong sign."""
    for name, term in theorem.parts.items():
        if len(theorem.parts) > 1:
            yield "sign", name, _with_term(theorem, name, -term)
        for inner in sorted(term.atoms(sp.Add), key=str):
            last = inner.args[-1]
            wrong = term.xreplace({inner: inner - 2 * last})
            yield "sign", f"{name}: {inner}", _with_term(theorem, name, wrong)


def condition_slips(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions in which one condition is reversed or omitted."""
    for condition in theorem.conditions:
        others = tuple(c for c in theorem.conditions if c is not condition)
        turned = Condition(
            condition.name, condition.right, condition.left, condition.strict
        )
        reversed_ = replace(theorem, conditions=(*others, turned))
        yield "condition", f"{condition.name} reversed", reversed_
        lost = replace(theorem, conditions=others)
        yield "condition", f"{condition.name} left out", lost


def index_slips(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions with the last round in place of all, or with a count too large by
    one.
    """
    last = replace(theorem.lhs, aggregate="last", latex="")
    yield "index", "left side: last round", replace(theorem, lhs=last)
    for name, term in theorem.parts.items():
        for count in sorted(term.free_symbols, key=str):
            if count.name in ("T", "K", "m") and term.as_powers_dict()[count] < 0:
                better = term.xreplace({count: count + 1})
                yield "index", f"{name}: {count} + 1", _with_term(theorem, name, better)


def lost_terms(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions without one of the terms."""
    for name in theorem.parts:
        rest = {n: e for n, e in theorem.parts.items() if n != name}
        if rest:
            yield "lost term", name, replace(theorem, parts=rest)


def wrong_corollaries(theorem: Theorem) -> Iterator[Slip]:
    """Yield versions with another power of T in the schedule, or with terms that
    decrease too fast.
    """
    T = theorem.glossary["T"].symbol
    if theorem.kind != "corollary" or theorem.of is None:
        return
    for name, term in theorem.parts.items():
        faster = _with_term(theorem, name, term / sp.sqrt(T))
        yield "wrong corollary", f"{name}: T^(-1/2)", faster
    for name, step in theorem.schedule.items():
        larger = {**theorem.schedule, name: step * sp.sqrt(T)}
        yield (
            "wrong corollary",
            f"schedule of {name}",
            replace(theorem, schedule=larger),
        )


KINDS: tuple[Callable[[Theorem], Iterator[Slip]], ...] = (
    unit_slips,
    client_slips,
    power_slips,
    sign_slips,
    condition_slips,
    index_slips,
    lost_terms,
    wrong_corollaries,
)


def slipped(theorem: Theorem, kind: str, place: str) -> Theorem:
    """Return the statement with the slip of one draw."""
    for slips in KINDS:
        for own_kind, own_place, wrong in slips(theorem):
            if (own_kind, own_place) == (kind, place):
                return wrong
    raise LookupError(f"{theorem} has no slip {kind}, {place}")


def draws(seed: int = SEED) -> list[dict[str, str]]:
    """Draw one error for each statement: first its kind, then its place."""
    rng = random.Random(seed)
    rows: list[dict[str, str]] = []
    for theorem in statements():
        mine = own(theorem)
        by_kind = [found for slips in KINDS if (found := list(slips(mine)))]
        kind, place, _ = rng.choice(rng.choice(by_kind))
        key = {"key": theorem.key, "variant": theorem.variant}
        rows.append({**key, "kind": kind, "place": place})
    return rows


def alarms(theorem: Theorem) -> list[AuditFinding]:
    """Return the errors and warnings of the checks."""
    return [f for f in audit_statement(theorem) if f.severity != "note"]


def new_alarms(
    theorem: Theorem, wrong: Theorem
) -> tuple[list[AuditFinding], list[AuditFinding]]:
    """Return the errors on the original statement, and the alarms on the changed one
    only.
    """
    before = alarms(theorem)
    known = {(f.check, f.severity, f.place) for f in before}
    after = [f for f in alarms(wrong) if (f.check, f.severity, f.place) not in known]
    return [f for f in before if f.severity == "error"], after


PAGE_HEAD = """\
# Twenty drawn slips

Generated by `python -m tests.bounds.drawn_slips docs/drawn-slips.md`.

A seeded script draws one slip for each of twenty statements that are true or not
known to be false: ten of Wang and Joshi (2021) and ten corrected ones. The draw does
not depend on the checks. Each statement is audited as if it were new, with and without
its slip. *Found by* lists the checks that report an error or a warning only with it;
*seconds* are of processor time, for both audits. `tests/bounds/test_floors.py` compares
this page with the checks.

"""


def judged(row: dict[str, str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of errors on the original statement, and the checks that detect
    the change.
    """
    theorem = own(bounds.get(row["key"], variant=row["variant"]))
    errors, found = new_alarms(theorem, slipped(theorem, row["kind"], row["place"]))
    return len(errors), tuple(dict.fromkeys(f.check for f in found))


def table_row(row: dict[str, str], found: tuple[str, ...]) -> str:
    """Return a row of the table, without the seconds."""
    names = ", ".join(found) or "not found"
    place = row["place"].replace("*", r"\*")
    return f"| {row['key']}:{row['variant']} | {row['kind']} | {place} | {names} |"


def page() -> str:
    """Return the text of the page; this takes a minute."""
    lines = [
        "| statement | slip | place | found by | seconds |",
        "|---|---|---|---|---|",
    ]
    wrongly, count = 0, 0
    rows = draws()
    for row in rows:
        start = time.process_time()
        errors, found = judged(row)
        seconds = time.process_time() - start
        lines.append(f"{table_row(row, found)} {seconds:.1f} |")
        wrongly += errors
        count += bool(found)
    summary = (
        f"**{count} of {len(rows)} slips are found.** Errors on the statements without"
        f" a slip: {wrongly}.\n\n"
    )
    return PAGE_HEAD + summary + "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
