"""The documentation builds strictly, its code runs, its commands work, and it covers
every public name.
"""

import ast
import contextlib
import doctest
import importlib
import inspect
import io
import json
import os
import re
import shlex
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from dfltheory.cli import run

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
# these have tests of their own: tests/testing/test_page.py,
# tests/experiments/test_config.py
ELSEWHERE = ("property-testing.md", "experiment-files.md")
PAGES = sorted(
    p
    for p in (*DOCS.glob("*.md"), *DOCS.glob("guides/*.md"))
    if p.name not in ELSEWHERE
)
PACKAGES = (
    *(
        "graphs",
        "bounds",
        "tasks",
        "models",
        "algorithms",
        "training",
        "verdicts",
        "rates",
        "exact",
    ),
    *("counterexamples", "experiments", "plots", "bound_atlas", "testing"),
)


def blocks(path, language):
    found = re.findall(
        r"^```(\S*)\n(.*?)^```", path.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    return [text for name, text in found if name == language]


def named(path):
    return str(path.relative_to(DOCS))


RUN = [p for p in PAGES if blocks(p, "python")]
LONG = "guides/bound.md"
"""400 rounds of 16 seeds, and three fits of rates."""
SLOW = (LONG, "guides/theorem-in-python.md", "gallery.md")


@pytest.fixture(autouse=True)
def registrations_end_with_the_test(monkeypatch):
    """Remove algorithms that a page's code registers, so that later tests do not see
    them.
    """
    from dfltheory import algorithms

    monkeypatch.setattr(algorithms, "_REGISTERED", dict(algorithms._REGISTERED))


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=[pytest.mark.slow] * (named(p) in SLOW), id=named(p))
        for p in RUN
    ],
)
def test_the_code_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in blocks(page, "python"):
            exec(compile(code, named(page), "exec"), names)


def test_code_of_a_page_registers_nothing_for_later_tests():
    """Runs after the tests of the pages, one of which registers an algorithm."""
    from dfltheory import algorithms

    assert any("\n@register\n" in "".join(blocks(page, "python")) for page in RUN)
    assert "damped" not in algorithms.names()


def test_what_the_longest_page_takes_from_the_package_is_there():
    """Checks its imports and the package's functions that it calls."""
    import dfltheory as dfl

    code = ast.parse("\n".join(blocks(DOCS / LONG, "python")))
    imports = [
        node for node in ast.walk(code) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    exec(compile(ast.Module(imports, []), LONG, "exec"), {})
    called = {
        ast.unparse(node) for node in ast.walk(code) if isinstance(node, ast.Attribute)
    }
    names = [text for text in called if re.fullmatch(r"dfl(\.\w+)+", text)]
    assert len(names) > 5
    for name in names:
        eval(name, {"dfl": dfl})


@pytest.mark.parametrize(
    "page", [p for p in PAGES if "](#" in p.read_text()], ids=named
)
def test_links_within_a_page_lead_somewhere(page):
    text = page.read_text()
    headings = re.findall(r"^#+ (.*?)(?:\s*\{:.*)?$", text, flags=re.MULTILINE)
    known = {
        re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-")
        for one in headings
    }
    known |= set(re.findall(r"\{:[^}]*#([\w-]+)", text)) | set(
        re.findall(r'id="([^"]+)"', text)
    )
    assert not set(re.findall(r"\]\(#([^)\s]+)\)", text)) - known


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "pycon")], ids=named)
def test_what_a_page_shows_is_what_comes_out(page):
    text = "\n".join(blocks(page, "pycon"))
    test = doctest.DocTestParser().get_doctest(text, {}, named(page), str(page), 0)
    assert test.examples
    output = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(test, out=output.write)
    assert runner.failures == 0, output.getvalue()


# `falsify` and `audit` are slow; `data fetch` downloads; DIR, FILE, NAME stand for the
# reader's own
SKIPPED = re.compile(r"falsify|audit|data fetch|FILE|DIR|NAME|cifar10|mine\.npz")
COMMANDS = sorted(
    {
        line.split("  #")[0].strip()
        for page in PAGES
        for block in blocks(page, "")
        for line in block.splitlines()
        if line.startswith("dfltheory ") and not SKIPPED.search(line)
    }
)


@pytest.mark.slow
@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_the_guides_works(line, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    capsys.readouterr()


def test_the_commands_were_found():
    assert len(COMMANDS) >= 5


def public(package):
    module = importlib.import_module(f"dfltheory.{package}")
    return [(name, getattr(module, name)) for name in module.__all__]


@pytest.mark.drawn(99)
@pytest.mark.parametrize("package", [*PACKAGES, "constants", "errors", "files"])
def test_every_public_name_says_what_it_is(package):
    things = [
        (n, t)
        for n, t in public(package)
        if inspect.isclass(t) or inspect.isroutine(t) or inspect.ismodule(t)
    ]
    assert things
    protocols = [t for _, t in things if getattr(t, "_is_protocol", False)]
    inherited = {
        k
        for p in protocols
        for k, method in vars(p).items()
        if inspect.isfunction(method) and method.__doc__
    }
    silent = []
    for name, thing in things:
        if not (inspect.getdoc(thing) or "").strip():
            silent.append(name)
        if inspect.isclass(thing):
            own = [
                k
                for k, method in vars(thing).items()
                if inspect.isfunction(method) and k[0] != "_"
            ]
            silent += [
                f"{name}.{k}"
                for k in own
                if not inspect.getdoc(getattr(thing, k)) and k not in inherited
            ]
    assert silent == []


def build(out):
    """Build the site strictly: warnings of MkDocs are errors (with ``--quiet`` they
    would be ignored).
    """
    pytest.importorskip("mkdocs", reason="the [docs] extra is not installed")
    pytest.importorskip(
        "mkdocstrings_handlers.python", reason="the [docs] extra is not installed"
    )
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        str(out),
    ]
    built = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr[-3000:]
    return out


@pytest.mark.slow
def test_the_site(tmp_path):
    """A single test, because building the site is slow; `make docs` builds it as
    strictly.
    """
    site = build(tmp_path / "site")
    every_public_name_is_in_the_reference(site)
    what_a_parameter_is_is_no_type(site)
    every_statement_has_its_formulas(site)
    every_algorithm_is_shown_next_to_its_code(site)
    nothing_is_fetched_from_elsewhere(site)
    every_command_symbol_and_notebook_has_its_place(site)


def every_public_name_is_in_the_reference(site):
    inventory = zlib.decompress(
        (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    ).decode()
    known = {line.split()[0].rsplit(".", 1)[-1] for line in inventory.splitlines()}
    assert [
        f"{p}.{name}" for p in PACKAGES for name, _ in public(p) if name not in known
    ] == []


def what_a_parameter_is_is_no_type(site):
    page = (site / "reference" / "tasks" / "index.html").read_text()
    assert "of all tensors that the task takes and returns" in page
    assert "<code>Type and device of all" not in page
    assert "<blockquote>" not in page, "an example is not shown as code"


def every_statement_has_its_formulas(site):
    from dfltheory import bounds
    from validation.papers import appendix
    from validation.papers.erratum import errata

    papers = bounds.registry.papers()
    text = "".join(
        (site / "theory" / paper / "index.html").read_text() for paper in papers
    )
    lemmas = [theorem for paper in papers for theorem in appendix(paper)]
    keys = (*bounds.keys(all=True), *dict.fromkeys(theorem.key for theorem in lemmas))
    assert [key for key in keys if key not in text] == []
    assert text.count("<math") >= len(bounds.statements()) + len(lemmas)
    mistakes = [erratum.id for paper in papers for erratum in errata(paper)]
    assert [m for m in mistakes if f">{m}</a>: " not in text] == []
    targets = re.findall(
        r'href="([\w.]+/)#([\w-]+)">',
        (site / "theory" / "index.html").read_text(),
    )
    assert len(targets) > len(papers)
    assert [
        a
        for page, a in targets
        if f'id="{a}"' not in (site / "theory" / page / "index.html").read_text()
    ] == []
    pages = "".join(page.read_text() for page in site.rglob("*.html"))
    assert "arithmatex" not in pages, "a formula was left as it is written"
    assert ":func:<code>" not in pages
    assert "{{ source" not in pages


def test_assumptions_and_rates_are_mathematics(monkeypatch):
    from latex2mathml.converter import convert

    from dfltheory import bounds
    from dfltheory.bounds import GLOSSARY
    from dfltheory.bounds.display import expression_latex, plain_prose

    monkeypatch.syspath_prepend(DOCS / "_site")
    theory = importlib.import_module("theory")
    for theorem in bounds.statements():
        for text in (*theorem.assumptions, theorem.lhs.averaging):
            prose, formulas = (text.split("$")[k::2] for k in (0, 1))
            assert not re.search(r"[\^<=|]|_\w|\bgrad\b", " ".join(prose)), text
            assert text.count("$") % 2 == 0
            assert not re.search(r"[$\\]", plain_prose(text, theorem))
            for formula in formulas:
                assert "<math" in convert(formula)
                assert formula.count("(") == formula.count(")"), text
            symbols = {
                n: expression_latex(GLOSSARY[n].symbol, theorem) for n in ("m", "lam")
            }
            for start, end in (
                (r"11'/m\| = ", f"{symbols['lam']} < 1"),
                ("(1/", f"{symbols['m']})"),
            ):
                assert all(rest.startswith(end) for rest in text.split(start)[1:]), text
    corrected = bounds.get(
        "dfedadmm.theorem_1", "corrected_no_bounded_gradients"
    )  # psi in the notation of the paper
    stated = [plain_prose(text, corrected) for text in corrected.assumptions]
    assert any("periodic with ||W_t - 11'/m|| <= lam < 1" in text for text in stated)
    assert "(1/m) sum_i ||grad f_i(x) - grad f(x)||^2 <= sigma_g^2 for all x" in stated
    corrected = bounds.get("dfedsam.corollary_4_6", "corrected")
    orders = [theory._order(monomial, corrected) for monomial in corrected.rate()]
    assert orders[0] == r"\frac{L \Delta_0}{\sqrt{K} \sqrt{T}}"
    assert (
        r"\frac{\lambda^{2 Q} \sigma_l^{2}}{T \left(1 - \lambda^{Q}\right)^{2}}"
        in orders
    )


def every_algorithm_is_shown_next_to_its_code(site):
    from dfltheory.algorithms import ALGORITHMS

    text = re.sub(r"<[^>]+>", "", (site / "algorithms" / "index.html").read_text())
    assert [
        cls.__name__
        for cls in ALGORITHMS.values()
        if f"class {cls.__name__}(" not in text
    ] == []


def nothing_is_fetched_from_elsewhere(site):
    index = json.loads((site / "search" / "search_index.json").read_text())
    assert len(index["docs"]) > 100
    for page in site.rglob("*.html"):
        fetched = re.findall(
            r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"',
            page.read_text(),
        )
        assert fetched == [], page


def every_command_symbol_and_notebook_has_its_place(site):
    import typer

    from dfltheory.bounds import symbols as glossary
    from dfltheory.cli import app

    commands = (site / "commands" / "index.html").read_text()
    assert [
        o
        for o in options(typer.main.get_command(app))
        if f"<code>{o}</code>" not in commands
    ] == []
    symbols = (site / "theory" / "symbols" / "index.html").read_text()
    # other tests in this process may have defined some
    own = [entry.name for entry in glossary._ENTRIES]
    assert [name for name in own if f"<code>{name}</code>" not in symbols] == []
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        assert (
            "<pre" in (site / "lessons" / notebook.stem / "index.html").read_text()
        ), notebook


def options(command):
    """Return the long options of a command and its subcommands, except ``--help``."""
    for within in getattr(command, "commands", {}).values():
        yield from options(within)
    if not hasattr(command, "commands"):
        yield from (
            o
            for p in command.params
            for o in p.opts
            if o.startswith("--") and o != "--help"
        )
