"""Writer of docs/proofs.md: what is proved, by which rules, and what is trusted.

``python -m validation.pages.proofs docs/proofs.md`` writes it, and
``docs/proofs.json``, the results of the checks by hash of the statement, from which
``python -m validation.statuses`` takes them. It takes a minute or two, since every
script runs.
"""

from __future__ import annotations

import sys
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, get_args

from dfltheory.bounds import inequalities, registry
from dfltheory.bounds.canonical import statement_hash
from dfltheory.bounds.theorem import Theorem
from dfltheory.checks.code_digest import PACKAGE, code_digest
from dfltheory.checks.extremes import limits
from dfltheory.files import read_json, write_json, write_text
from dfltheory.markdown import table
from dfltheory.proofs import comparison, kernel
from dfltheory.proofs.moments import shown
from dfltheory.proofs.script import Corollary
from validation import papers
from validation.papers import checked, scripts

Method = Literal["kernel-checked", "paper"]
"""How a statement is proved: see the page's introduction."""
PROOFS = PACKAGE / "proofs"
_LANGUAGE = ("weights", "vectors", "moments", "hypotheses")
CODE = (PACKAGE / "bounds", PACKAGE / "proofs", Path(papers.__file__).parent)
"""The code from which the page follows."""

_INTRODUCTION = """# What a machine has checked

This page says which corrected statements the proof kernel has checked, and what has to be trusted
(`python -m validation.pages.proofs docs/proofs.md` writes it).

- **kernel-checked**: the whole proof, expectations included, is a script of rules whose last fact implies the
  statement; or the statement is a corollary of one with such a script.
- **paper**: a proof on paper, or none.

{counts}

<!-- from code {digest} -->

## What is trusted

- The {rules} rules in `dfltheory/proofs` (`facts.py` and the files `..._rules.py`, {kernel} lines) and their language
  in `weights.py`, `vectors.py`, `moments.py` and `hypotheses.py` ({moments} lines). A rule alone makes a fact. Each cites its textbook statement. The
  tests attack each with random finite probability spaces in exact rational arithmetic (`next_dual`: with runs).
  It holds there. With the constants of its terms of one kind one in a hundred smaller it does not, unless its
  right-hand side is zero.
- The comparison of the last fact with the statement, in `dfltheory/proofs/comparison.py` ({proved} lines),
  with what a left-hand side is (`left_side.py`) and which ranges quantities have (`script_region.py`, the glossary). A
  corollary follows from its parent: scope, left-hand side, ranges and mechanisms are the parent's, its assumptions
  contain the parent's, and with the schedule substituted, the parent's conditions hold and its bound
  is at most the corollary's. Where a proof has two cases, they are a condition and its opposite.
- The inequalities that remain, in `dfltheory/bounds/inequalities/` ({inequalities} lines). Expressions become
  quotients of polynomials; roots, maxima and powers become variables with intervals. A polynomial has a sign
  by its form, by its Bernstein coefficients, by the statement's conditions, by cases n = 1, 2, ... of a whole
  number, or by induction over it.
- SymPy's arithmetic, expansion and factoring of polynomials, and its answer that a formula is zero.
- For powers of 1 - 1/n: 0.367879441 < 1/e < 0.367879442 and (1 - 1/n)^n <= 1/e <= (1 - 1/n)^(n-1).
- That a quantity that a statement does not contain is absent (`rho = 0`), as its scope says, and that the further
  classes of a scope are special cases of the first.
- The updates of each algorithm as vectors, in `algorithm_rounds.py`: a script's algorithm must have those of
  the first class of the statement's scope. The tests run it literally, every outcome of every sample
  enumerated, and every fact of the proof holds there.
- Which hypotheses the statement's own words are, which a script enters: that these words mean those
  hypotheses is read by people, not by a machine.
- `real_numbers.py`, which accepts expressions of exact types and demands what makes them real. A script is
  Python: the kernel rejects wrong arguments, but cannot stop code that changes the kernel itself.
- That all moments are finite: a finite start, smoothness and finite variance keep them so.
- The second checker covers the nine main corrections ([format](proof-format.md)). It shares no code with the kernel,
  but it has the same authors, who can misunderstand a rule twice.

What is *not* trusted: how the weights of a script were found, and any floating-point number.
"""


def examine() -> dict[Theorem, Method]:
    """How each corrected theorem and corollary is proved: every script runs."""
    found: dict[Theorem, Method] = {}
    for t in filter(_main, registry.statements()):
        claim = f"{t.key}:{t.variant}"
        found[t] = (
            "kernel-checked"
            if claim in scripts() and checked(claim).proved
            else "paper"
        )
    return found


def proof_results(methods: dict[Theorem, Method]) -> dict[str, Any]:
    """Return what was proved, by hash of the statement.

    Each result has the method, the hypotheses used, and a corollary's parent.
    Statements that are proved on paper alone are left out.
    """
    results: dict[str, Any] = {}
    for theorem, method in methods.items():
        if method != "kernel-checked":
            continue
        claim = f"{theorem.key}:{theorem.variant}"
        answer, script = checked(claim), scripts()[claim]
        used = {h.name for fact in answer.facts for h in fact.uses}
        result: dict[str, Any] = {
            "statements": [claim],
            "method": method,
            "hypotheses": sorted(used),
            "rules": len(answer.rules),
        }
        if isinstance(script, Corollary):
            result["from"] = script.of
        digest = statement_hash(theorem)
        if digest in results:
            result["statements"] = [*results[digest]["statements"], claim]
        results[digest] = result
    return results


_LIMITS = """
## Limits

At the ends of the ranges, for many gossip steps, and under the schedule for many rounds. *Proved*: the bound
is made of continuous functions, and no divisor vanishes there; for T -> infinity the bound is at most c/T^p,
p > 0. *Sampled*: neither was proved.
"""
_LOOSE = """
## Terms beyond a factor 2

What remains to be proved better, or attacked better. *Reached*: the largest measured/bound that the
searches for counterexamples (`docs/counterexamples`) found where the term is half of the bound or more;
*loose*: one over it. *Without*: the largest measured/bound where the term is left out; above 1 the term is
needed.
"""


def _loose(statuses: dict[Theorem, Method], searched: Path) -> list[tuple[str, ...]]:
    """Return the terms of which no instance has reached a half, the loosest first."""
    rows = []
    for t in statuses:
        file = searched / f"{t.key}-{t.variant}.json"
        terms = read_json(file)["terms"] if file.is_file() else {}
        for name, reached in terms.items():
            share, without = float(reached["share"]), float(reached["without"])
            loose = f"{1 / share:.3g}" if share else "no instance"
            cells = (loose, f"{share:.3g}", f"{without:.3g}", f"`{t.key}`", t.variant)
            if share < 1 / 2:
                rows.append((share, (*cells, _plain(name))))
    return [cells for _, cells in sorted(rows, key=itemgetter(0))]


def markdown(statuses: dict[Theorem, Method], searched: Path) -> str:
    """Return the page.

    ``searched`` holds the outcomes of searches, a file for each statement.
    """
    methods = list(statuses.values())
    counts = ", ".join(f"{methods.count(kind)} {kind}" for kind in get_args(Method))
    inequality_files = Path(str(inequalities.__file__)).parent.glob("*.py")
    lines = [
        _INTRODUCTION.format(
            counts=f"Of {len(statuses)} corrected theorems and corollaries: {counts}.",
            digest=code_digest(*CODE),
            rules=len(kernel.RULES),
            kernel=sum(map(_length, [*PROOFS.glob("*_rules.py"), PROOFS / "facts.py"])),
            proved=_length(comparison.__file__),
            inequalities=sum(map(_length, inequality_files)),
            moments=sum(_length(PROOFS / f"{name}.py") for name in _LANGUAGE),
        ),
        "## What is proved\n",
    ]
    rows = []
    for t, status in statuses.items():
        unused = ""
        if status == "kernel-checked":
            unused = _unused(f"{t.key}:{t.variant}")
        rows.append((f"`{t.key}`", t.variant, status, _plain(unused)))
    lines.append(table(("statement", "variant", "status", "not used"), rows))
    rows = []
    for t in statuses:
        cells = (_plain(", ".join(names)) for names in limits(t).values())
        rows.append((f"`{t.key}`", t.variant, *cells))
    lines += [_LIMITS, table(("statement", "variant", "proved", "sampled"), rows)]
    heads = ("loose", "reached", "without", "statement", "variant", "term")
    lines += [_LOOSE, table(heads, _loose(statuses, searched))]
    lines += ["", "## From what, by which rules", ""]
    for claim in scripts():
        lines += _section(claim)
    rows = []
    for rule in kernel.RULES.values():
        uses = "; ".join(hypothesis.name for hypothesis in rule.uses)
        rows.append((f"`{rule.name}`", *map(_plain, (rule.says, rule.cites, uses))))
    heads = ("rule", "says", "textbook", "uses")
    lines += ["## The rules", "", table(heads, rows)]
    return "\n".join(lines) + "\n"


def _unused(claim: str) -> str:
    """Return the assumptions and hypotheses that a proof does not use."""
    answer = checked(claim)
    return "; ".join((*answer.unused, *(h.says for h in answer.idle)))


def _main(theorem: Theorem) -> bool:
    return theorem.kind in ("theorem", "corollary") and theorem.variant.startswith(
        "corrected"
    )


def _section(claim: str) -> list[str]:
    """One proof: the algorithm, the hypotheses and their words, the rules."""
    answer, script = checked(claim), scripts()[claim]
    lines = [f"### `{answer.theorem.key}`, {answer.theorem.variant}", ""]
    if isinstance(script, Corollary):
        return [*lines, f"`{script.of}` under the schedule.", ""]
    alg = answer.facts[0].of
    assert alg is not None
    rows = [
        ("local model at step k", alg.local),
        ("sent", alg.sent),
        ("gradient of the theorem at", alg.mean_model),
    ]
    rows += [("second state becomes", alg.dual)] if alg.dual is not None else []
    cases = ""
    if script.case:
        cases = f" in two cases, {script.case.name} and where this fails"
    facts = sum(len(fact.trail()) for fact in answer.facts)
    lines += [f"{alg.name}, {facts} facts{cases}:", ""]
    for name, vector in rows:
        terms = sorted(f"({factor}) {shown(atom)}" for atom, factor in vector.terms)
        lines.append(f"- {name}: `{' + '.join(terms)}`")
    lines += ["", "Hypotheses, and the statement's own words for them:", ""]
    used = {hypothesis for fact in answer.facts for hypothesis in fact.uses}
    for text in answer.assumptions:
        granted = [h.name for h in script.grants[text] if h in used]
        lines.append(f"- {_plain(', '.join(granted))}: {text}")
    names = ", ".join(f"`{r.name}`" for r in answer.rules)
    return [*lines, "", f"Rules: {names}.", ""]


def _length(path: str | Path | None) -> int:
    return len(Path(str(path)).read_text(encoding="utf-8").splitlines())


def _plain(text: str) -> str:
    """Return a cell of a table with the signs of Markdown escaped.

    Formulas, between dollar signs, stay, but for pipes.
    """
    parts = text.split("$")
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = part.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
            continue
        for sign in ("\\", "*", "_", "|", "["):
            part = part.replace(sign, "\\" + sign)
        # whose backslash some readers of Markdown print
        parts[i] = part.replace("<", "&lt;")
    return "$".join(parts)


def main(arguments: list[str]) -> int:
    """Write the page."""
    if len(arguments) != 2:
        print("usage: python -m validation.pages.proofs PAGE", file=sys.stderr)
        return 2
    found = examine()
    page = Path(arguments[1])
    write_text(page, markdown(found, page.parent / "counterexamples"))
    write_json(page.with_suffix(".json"), proof_results(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
