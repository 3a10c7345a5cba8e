"""The glossary's page: every name with its symbol, unit, range and meaning."""

from __future__ import annotations

import re


def page() -> str:
    """symbols.md, from the glossary and from the notation that each paper writes in its
    place.
    """
    from dfltheory.bounds import registry
    from dfltheory.bounds.symbols import GLOSSARY

    said = {name: registry.paper(name) for name in registry.papers()}
    lines = [
        "# Symbols and units",
        "",
        (
            "One name for one thing, in `evaluate`, in `task.constants`, in files and"
            " in code; pages write each paper's own notation. Units: under $x \\to s x$"
            " and $f \\to c f$ a quantity scales as its unit says; $r$ scales the"
            " personal block $v$. A theorem must say the same in every unit."
        ),
        "",
        "| name | symbol | unit | admissible | meaning | other symbols |",
        "|---|---|---|---|---|---|",
    ]
    for name, entry in GLOSSARY.items():
        other = "; ".join(
            f"${paper.notation[name]}$ in {paper.title}"
            for paper in said.values()
            if name in paper.notation and paper.notation[name] != entry.latex
        )
        meaning = entry.meaning.replace("|", r"\|").replace("``", "`")
        unit = re.sub(r"\^(\S+)", r"^{\1}", str(entry.unit)).replace(" ", r"\,")
        lines.append(
            f"| `{name}` | ${entry.latex}$ | ${unit}$ | {entry.range} | {meaning} |"
            f" {other} |"
        )
    return "\n".join(lines) + "\n"
