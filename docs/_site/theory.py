"""The theory pages: each theorem of the registry with its variants, terms, conditions,
rate and findings.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path


def _order(monomial, theorem) -> str:
    """A monomial of a rate as mathematics, without its constant."""
    import sympy as sp

    from dfltheory.bounds.display import expression_latex
    from dfltheory.bounds.tree import from_text

    own = {d.symbol.name: d.symbol for d in theorem.definitions}
    own |= {quantity.name: quantity.symbol for quantity in theorem.quantities}
    powers = [from_text(atom, own) ** sp.Rational(e) for atom, e in monomial.exponents]
    return expression_latex(sp.Mul(*powers), theorem)


def pages(docs: Path) -> dict[str, str]:
    """theory/index.md and a page for each paper; ``docs`` holds the generated pages of
    findings.
    """
    made = {f"theory/{paper}.md": _paper(paper, docs) for paper in _registry().papers()}
    return {"theory/index.md": _index(), **made}


@cache
def _registry():
    """The registry with the statements of the papers' appendices."""
    from dfltheory.bounds.registry import REGISTRY
    from validation.papers import PAPERS, appendix

    return REGISTRY.including(
        theorem for paper in PAPERS for theorem in appendix(paper)
    )


def _index() -> str:
    """A table of the papers: their main statements, the others, and their errata."""
    from dfltheory.markdown import table
    from validation.papers import PAPERS

    registry = _registry()
    rows = []
    for paper in registry.papers():
        keys = registry.keys(paper, all=True)
        shown = [key for key in keys if main(_first(key))]
        links = ", ".join(
            f"[{key.partition('.')[2]}]({paper}.md#{anchor(key)})" for key in shown
        )
        rest = len(keys) - len(shown)
        others = f"[{rest}]({paper}.md#the-rest)" if rest else ""
        errata = f"[errata](../errata/{paper}.md)" if paper in PAPERS else ""
        title = f"[{registry.paper(paper).title}]({paper}.md)"
        rows.append((title, links, others, errata))
    heads = ("paper", "theorems and corollaries", "other statements", "errata")
    return "\n".join(
        [
            "# The theorems",
            "",
            "Made from the registry at build time. Each statement has variants:"
            " *printed* (the main text), *appendix* (as derived there, where that"
            " differs) and *corrected* (re-derived with proof).",
            "",
            table(heads, rows),
            "",
        ]
    )


def _first(key: str):
    """The first variant of a statement."""
    registry = _registry()
    return registry.get(key, variant=registry.variants(key)[0])


def main(theorem) -> bool:
    """Whether a statement has a section of its own: theorems and corollaries have."""
    return theorem.kind in ("theorem", "corollary")


def anchor(key: str) -> str:
    """The anchor of a statement's section on its paper's page."""
    return key.replace(".", "-").replace("_", "-")


def _paper(paper: str, docs: Path) -> str:
    from validation.papers.erratum import errata

    registry = _registry()
    said = registry.paper(paper)
    lines = [f"# {said.title}", "", "Made from the registry at build time.", ""]
    if said.provenance:
        lines += [f"Entered from: {_sentence(said.provenance)}", ""]
    lesser = []
    for key in registry.keys(paper, all=True):
        first = _first(key)
        if main(first):
            lines += _statement(key, docs)
        else:
            lesser.append((key, first))
    lines += [
        "## Lemmas, displayed equations, definitions and quoted rates {#the-rest}",
        "",
    ]
    for key, first in lesser:
        lines += [
            f"**`{key}`** ({first.kind}; {first.source}): {_sentence(first.title)}",
            f"{{: #{anchor(key)} }}",
            "",
        ]
        for variant in registry.variants(key):
            theorem = registry.get(key, variant=variant)
            lines += [f"*{variant}*", "", f"$$\n{theorem.latex()}\n$$", ""]
        lines += _errata(key)
    keys = set(registry.keys(paper, all=True))
    elsewhere = [erratum for erratum in errata(paper) if not keys & _claims(erratum)]
    if elsewhere:
        lines += ["## Errata of other lines {#other-lines}", "", *_listed(elsewhere)]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else text + "."


def _statement(key: str, docs: Path) -> list[str]:
    registry = _registry()
    first = _first(key)
    lines = [f"## `{key}` {{#{anchor(key)}}}", "", _sentence(first.title), ""]
    for variant in registry.variants(key):
        lines.append(f'=== "{variant}"')
        lines += [
            "",
            *(
                f"    {line}" if line else ""
                for line in _variant(registry.get(key, variant=variant))
            ),
        ]
    lines += _errata(key)
    lines += _outcomes(key, docs / "falsify.md")
    lines += _experiment(key)
    return lines


def _variant(theorem) -> list[str]:
    from dfltheory.bounds.display import condition_latex, expression_latex

    lines = [
        f"{theorem.source}. Status: {theorem.status}.",
        "",
        "$$",
        *theorem.latex().splitlines(),
        "$$",
        "",
    ]
    if theorem.lhs.averaging:
        lines += [f"Left-hand side: {theorem.lhs.averaging}.", ""]
    lines += ["| term | as written |", "|---|---|"]
    lines += [
        f"| {name} | ${expression_latex(part, theorem)}$ |"
        for name, part in theorem.parts.items()
    ]
    lines += [""]
    if theorem.conditions:
        lines += ["Conditions:", ""]
        lines += [f"- ${condition_latex(c, theorem)}$" for c in theorem.conditions] + [
            ""
        ]
    if theorem.assumptions:
        lines += ["Assumes: " + "; ".join(theorem.assumptions) + ".", ""]
    if theorem.schedule:
        set_to = (
            (theorem.glossary[n].symbol, value) for n, value in theorem.schedule.items()
        )
        steps = (
            " = ".join(expression_latex(e, theorem) for e in pair).join("$$")
            for pair in set_to
        )
        lines += ["Schedule: " + ", ".join(steps) + ".", ""]
    # which may break on narrow screens
    rate = " + ".join(f"${_order(m, theorem)}$" for m in theorem.rate())
    lines += [f"Rate under the schedule: {rate}.", ""]
    if theorem.remark:
        lines += [_sentence(theorem.remark), ""]
    return lines


def _errata(key: str) -> list[str]:
    """The errata that begin in a statement or refute it, in any variant."""
    from validation.papers.erratum import errata

    return _listed(
        [erratum for erratum in errata(key.split(".")[0]) if key in _claims(erratum)]
    )


def _claims(erratum) -> set[str]:
    """Keys of the statements in which an erratum begins, or which it refutes."""
    return {claim.partition(":")[0] for claim in (erratum.origin, *erratum.refutes)}


def _listed(entries) -> list[str]:
    if not entries:
        return []
    lines = [
        f"- **[{e.id}](../errata/{e.paper}.md#{e.id.lower()}): {e.severity}.**"
        f" *{e.place}.* {_sentence(e.cause)}"
        for e in entries
    ]
    return [
        "Errata, with corrections and witnesses on"
        f" [their page](../errata/{entries[0].paper}.md):",
        "",
        *lines,
        "",
    ]


def _outcomes(key: str, page: Path) -> list[str]:
    """The rows of ``key`` on the page of counterexamples, under that page's header."""
    if not page.exists():
        return []
    lines = page.read_text().splitlines()
    rows = [line for line in lines if line.startswith(f"| `{key}` |")]
    if not rows:
        return []
    first = lines.index(rows[0])
    rule = max(i for i in range(first) if lines[i].startswith("|---"))
    title = "What the search for counterexamples found ([how](../falsify.md))"
    rows = [re.sub(r'<a id="[^"]*"></a>', "", row) for row in rows]
    rows = [row.replace("](counterexamples/", "](../counterexamples/") for row in rows]
    return [title, "", lines[rule - 1], lines[rule], *rows, ""]


def _experiment(key: str) -> list[str]:
    from validation.experiments import EXPERIMENTS

    name = key.replace(".", "_")
    return (
        [f"Tested against runs: `python -m validation.run_all --only {name}`.", ""]
        if name in EXPERIMENTS
        else []
    )
