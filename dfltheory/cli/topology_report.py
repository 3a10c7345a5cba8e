"""The report of ``dfltheory topology`` as a document and as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx

from dfltheory import bounds, graphs
from dfltheory.cli.output import console
from dfltheory.errors import InputError
from dfltheory.graphs.spectral import closed_form_report, refuse_too_large
from dfltheory.graphs.topologies import check_sides

if TYPE_CHECKING:
    from dfltheory.graphs import Report, SpectralReport
    from dfltheory.graphs.matrices import Matrix

ReportDocument = dict[str, Any]
"""The report as JSON-compatible data."""
LARGEST_BUILT = 20_000
"""Up to this number of clients the graph is built and its matrix checked even if a
closed form is known.
"""


def describe_large(
    name: str, m: int, rule: str | None, Q: int, options: ReportDocument
) -> ReportDocument | None:
    """Return the document of a large topology from closed forms only.

    The result is None if the topology must be built.
    """
    if m <= LARGEST_BUILT:
        return None
    report = closed_form_report(name, m, rule, **options)
    if report is None:
        return None
    directed = graphs.topology_key(name).startswith("directed")
    document = _head(
        name, m, rule or ("column_stochastic" if directed else "metropolis"), options
    )
    return document | _gossip(report, Q) | {"check": None, "ok": True}


def topology_document(
    name: str, m: int, rule: str | None, Q: int, options: ReportDocument
) -> tuple[ReportDocument, nx.Graph, Matrix]:
    """Build and check a topology; return its document, graph and matrix."""
    refuse_too_large(name, m, options)
    G = graphs.topology(name, m, **options)
    rule = rule or ("column_stochastic" if G.is_directed() else "metropolis")
    W = graphs.weights(G, rule)
    push_sum = rule.replace("-", "_") == "column_stochastic"
    check = graphs.check_push_sum(W) if push_sum else graphs.check_mixing_matrix(W, G)
    doubly = graphs.check_mixing_matrix(W, laws="doubly stochastic").ok
    degree = G.out_degree if isinstance(G, nx.DiGraph) else G.degree
    degrees = [count for _, count in degree()]
    document = _head(G.name, m, rule, options)
    document |= {"links": G.number_of_edges(), "degree": [min(degrees), max(degrees)]}
    if doubly:
        report = closed_form_report(name, m, rule, **options) or graphs.spectral_report(
            W
        )
        document |= _gossip(report, Q)
    if push_sum and check.ok:
        document |= _push_sum(W)
    return document | {"check": report_document(check), "ok": check.ok}, G, W


def report_document(report: Report) -> ReportDocument:
    """Return a check's report as JSON, with the theorems whose assumptions fail."""
    return {
        "ok": report.ok,
        "laws": list(report.laws),
        "failures": [dict(vars(f)) for f in report.failures],
        "takes_away": list(bounds.resting_on(report.breaks)) if report.breaks else [],
        **report.details,
    }


def draw_topology(G: nx.Graph, W: Matrix, rule: str, plot: Path) -> None:
    """Draw the graph and the spectrum to a file."""
    from dfltheory.graphs.plots import plot_topology
    from dfltheory.plots.look import write_figure

    write_figure(plot_topology(G, W, f"{G.name}, {rule} weights"), plot)


def description_text(document: ReportDocument) -> str:
    """Return the document as text."""
    d = document
    lines = [f"{d['topology']}: m = {d['m']}, {d['weights']} weights"]
    if "sides" in d:
        line = {"torus": "ring", "grid": "path"}[d["topology"].partition("(")[0]]
        flat = (
            f": a side of 1 makes it the {line} of {d['m']}" if 1 in d["sides"] else ""
        )
        lines.append(f"  sides                 {d['sides'][0]} x {d['sides'][1]}{flat}")
    if "links" in d:
        low, high = d["degree"]
        lines.append(
            f"  links                 {d['links']}, degree"
            f" {low if low == high else f'{low} to {high}'}"
        )
    if "lam" in d:
        lines += [
            f"  lambda                {d['lam']:.12g}",
            (
                f"  spectral gap          {d['gap']:.6g}   ({d['method']}, +-"
                f" {d['error']:.1g})"
            ),
            f"  Phi(lambda, m, Q={d['Q']})   {d['phi']:.6g}",
            f"  mixing time (1/4)     {d['mixing_time']:.6g} rounds",
        ]
    if "push_sum" in d:
        p, c = d["push_sum"], d["cited"]
        lines += [
            (
                f"  push-sum, {p['standing']:<12}delta = {p['delta']:.6g}, q ="
                f" {p['q']:.6g}, C = {p['C']:.6g}"
            ),
            (
                f"  push-sum, as cited    1 - q = {c['one_minus_q']:.3g}, C ="
                f" {c['C']:.3g}   (Assran et al.)"
            ),
        ]
    lines += _check_lines(d["check"])
    if "plot" in d:
        lines.append(f"  picture               {d['plot']}")
    return "\n".join(lines)


def _check_lines(check: ReportDocument | None) -> list[str]:
    """Return the lines on the checks of the matrix."""
    if check is None:
        return [
            "  checks                none: known by closed form, no matrix was built"
        ]
    if check["ok"]:
        return [f"  checks                all hold: {', '.join(check['laws'])}"]
    lines = [
        f"  checks                {len(check['failures'])} of {len(check['laws'])} laws"
        " broken"
    ]
    lines += [f"    {f['law']}: {f['message']}" for f in check["failures"]]
    return [*lines, f"    theorems that assume this: {', '.join(check['takes_away'])}"]


def compare_gaps(
    names: list[str], sizes: list[int], rule: str | None
) -> ReportDocument:
    """Return the gaps of topologies at several sizes, and their fitted exponents."""
    if not names:
        raise InputError(
            "the names of topologies are missing: pass them, as in `dfltheory topology"
            " compare ring torus`"
        )
    rows = []
    for name in names:
        key = graphs.topology_key(name)
        # an exponent needs several sizes
        fit = graphs.gap_scaling(key, sizes, rule) if len(sizes) > 1 else None
        reports = (
            fit.reports
            if fit is not None
            else [graphs.spectral_report(key, m=sizes[0], weights=rule)]
        )
        rows.append(
            {
                "topology": name,
                "weights": (
                    rule
                    or (
                        "column_stochastic"
                        if key.startswith("directed")
                        else "metropolis"
                    )
                ),
                "gaps": {str(r.m): r.gap for r in reports},
                "exponent": None if fit is None else fit.exponent,
                "residual": None if fit is None else fit.residual,
                "methods": sorted({r.method for r in reports}),
            }
        )
    return {"m": sizes, "rows": rows}


def comparison_text(document: ReportDocument) -> None:
    """Print the comparison as a table."""
    from rich.table import Table

    rules = {row["weights"] for row in document["rows"]}
    terminal = console(130)
    rule_words = f", {rules.pop()} weights" if len(rules) == 1 else ""
    terminal.print(f"Spectral gap 1 - lambda{rule_words}", style="bold")
    table = Table()
    fitted = len(document["m"]) > 1
    if fitted:
        table.caption = (
            "p: least-squares fit of gap ~ c m^-p; misfit: its worst error in log gap"
        )
    table.add_column("topology", no_wrap=True)
    for title in (
        *(f"m = {m}" for m in document["m"]),
        *(("p", "misfit") if fitted else ()),
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for row in document["rows"]:
        gaps = [f"{row['gaps'][str(m)]:.4g}" for m in document["m"]]
        name = row["topology"] if not rules else f"{row['topology']} ({row['weights']})"
        fit = [f"{row['exponent']:.2f}", f"{row['residual']:.1g}"] if fitted else []
        table.add_row(name, *gaps, *fit)
    terminal.print(table)


def _head(name: str, m: int, rule: str, options: ReportDocument) -> ReportDocument:
    document = {"topology": name, "m": m, "weights": rule}
    if graphs.topology_key(name.partition("(")[0]) in ("grid", "torus"):
        document["sides"] = list(check_sides(m, options.get("sides")))
    return document


def _gossip(report: SpectralReport, Q: int) -> ReportDocument:
    known = {n: getattr(report, n) for n in ("lam", "gap", "method", "error")}
    phi = graphs.phi(min(report.lam, 1.0), m=report.m, Q=Q)
    return known | {"Q": Q, "phi": phi, "mixing_time": graphs.mixing_rounds(report.gap)}


def _push_sum(W: Matrix) -> ReportDocument:
    computed, cited = graphs.push_sum_constants(W), graphs.cited_constants(W)
    return {
        "push_sum": {
            n: getattr(computed, n) for n in ("delta", "q", "C", "window", "standing")
        },
        "cited": {n: getattr(cited, n) for n in ("one_minus_q", "C", "D", "diameter")},
    }
