"""Mutation score of each package: ``make mutation`` (``N=30`` changes of each),
``python -m tests.mutation``.

One change at a time (a number, sign, operator, comparison, index, condition, keyword or
statement) is made in a copy of the repository. Before, all quick tests of a package run
once and say which functions they call (kept in ``mutants/`` until a file changes). A
change meets the tests that call its function (of what runs at import: that come to its
module, or all), those of files that say the module's name first, until one fails or
``--seconds`` of tests are over. Messages, annotations and decorators are left alone.
A change is named by its file, function and line of source text, never by the line's
number. Which changes are drawn depends on function and text alone: thirty are the first
ten and twenty more. ``tests/mutants.json`` keeps what became of each, so that a run goes
on where the last one stopped. Those whose function went to another file of the package
keep what became of them; those whose text is nowhere are dropped. Changes that
"survived" are tried again until there is a test, or a judgment in the file:
"equivalent: why" or "not guarded: what". ``--table`` prints the file as a table.
"""

from __future__ import annotations

import argparse
import ast
import cProfile
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dfltheory.files import write_text
from dfltheory.markdown import between

MARK = "<!-- mutants: make generated -->"
ROOT = Path(__file__).parent.parent
KEPT = ROOT / "tests" / "mutants.json"
SAID, MAP = ".said", ".map"
MAPS = ROOT / "mutants"
WAIT = 20
PACKAGES = {  # name: modules, tests
    "graphs": (
        ["graphs/*.py"],
        ["graphs", "verdicts/test_computed_values.py"],
    ),
    "bounds": (
        ["bounds/*.py"],
        ["bounds", "counterexamples/test_replay_confirmation.py"],
    ),
    "inequalities": (
        ["bounds/inequalities/*.py"],
        ["bounds/test_inequalities.py", "proofs/test_inequality_properties.py"],
    ),
    "checks": (
        ["checks/*.py"],
        [
            "bounds/test_audit.py",
            "bounds/test_cancellation.py",
            "bounds/test_conditions.py",
            "bounds/test_convex.py",
            "bounds/test_declared_steps.py",
            "bounds/test_extremes.py",
            "bounds/test_floors.py",
            "bounds/test_measured.py",
            "bounds/test_network_constants.py",
            "bounds/test_neutral*.py",
            "bounds/test_quoted.py",
            "bounds/test_true_statements_audited.py",
            "bounds/test_unit_slips.py",
            "experiments/test_referee.py",
        ],
    ),
    "proofs": (
        ["proofs/*.py"],
        [
            "bounds/test_covered_variants.py",
            "bounds/test_declared_steps.py",
            "bounds/test_formal.py",
            "bounds/test_hostile_proof_steps.py",
            "bounds/test_kernel*.py",
            "bounds/test_small_parts.py",
            "proofs",
            "test_audit_my_proof.py",
            "test_prove_my_theorem.py",
        ],
    ),
    "algorithms": (["algorithms/*.py"], ["algorithms"]),
    "models": (["models/*.py"], ["models"]),
    "training": (
        ["training/*.py"],
        ["training", "algorithms/test_contract*.py"],
    ),
    "tasks": (["tasks/*.py", "tasks/estimate/*.py"], ["tasks"]),
    "statistics": (
        [
            "confidence.py",
            "verdicts/evidence.py",
            "verdicts/simultaneous_limits.py",
            "verdicts/statistics.py",
        ],
        [
            "test_confidence.py",
            "verdicts/test_aggregates.py",
            "verdicts/test_evidence.py",
            "verdicts/test_statistics.py",
        ],
    ),
    "rounding": (
        ["verdicts/rounding.py"],
        ["verdicts/test_rounding.py", "verdicts/test_rounded_constants.py"],
    ),
    "run values": (
        ["verdicts/run_values.py"],
        [
            "verdicts/test_cited_constants.py",
            "verdicts/test_computed_values.py",
            "verdicts/test_measured_elsewhere.py",
            "verdicts/test_run_values.py",
            "verdicts/test_task_facts.py",
        ],
    ),
    "applicability": (
        ["verdicts/applicability.py", "verdicts/starts.py"],
        [
            "bounds/test_lower_bounds.py",
            "verdicts/test_compare.py",
            "verdicts/test_different_starts.py",
            "verdicts/test_network_of_the_run.py",
            "verdicts/test_scope_verdicts.py",
            "verdicts/test_step_free_bounds.py",
        ],
    ),
    "compare": (
        [
            "verdicts/compare.py",
            "verdicts/given_values.py",
            "verdicts/left_hand_side.py",
            "verdicts/measures.py",
        ],
        ["verdicts"],
    ),
    "exact": (["exact/*.py"], ["exact", "algorithms/test_contract_environments.py"]),
    "rates": (["rates/*.py"], ["rates"]),
    "counterexamples": (
        ["counterexamples/*.py"],
        ["counterexamples", "verdicts/test_closed_forms.py"],
    ),
    "counterexample families": (
        ["counterexamples/families/*.py", "counterexamples/growth/*.py"],
        [
            "counterexamples/test_families.py",
            "counterexamples/test_falsify_orders.py",
            "counterexamples/test_falsify_special.py",
            "counterexamples/test_falsify_windows.py",
            "counterexamples/test_growth_laws.py",
            "counterexamples/test_new_families.py",
        ],
    ),
    "simplification": (
        ["counterexamples/simplify/*.py"],
        [
            "counterexamples/test_by_hand.py",
            "counterexamples/test_digits.py",
            "counterexamples/test_simplify.py",
        ],
    ),
    "atlas": (
        ["best_bounds.py", "bound_atlas.py", "step_scales.py", "typical_quadratics.py"],
        ["experiments/test_atlas*.py", "test_best_bounds.py"],
    ),
    "experiments": (["experiments/*.py"], ["experiments"]),
    "plots": (["plots/*.py"], ["plots"]),
    "testing": (["testing/*.py"], ["testing"]),
    "files": (
        [
            "documents.py",
            "files.py",
            "identity.py",
            "npy_files.py",
            "number_ranges.py",
            "own.py",
            "problems.py",
            "schemas.py",
        ],
        [
            "experiments/test_reported_problems.py",
            "formats",
            "test_documents.py",
            "test_files.py",
            "test_identity.py",
            "test_own.py",
            "test_schemas.py",
        ],
    ),
    "numbers": (
        [
            "admm.py",
            "constants.py",
            "momentum.py",
            "number_format.py",
            "randomness.py",
        ],
        [
            "experiments/test_numerals.py",
            "test_admm.py",
            "test_constants.py",
            "training/test_randomness.py",
        ],
    ),
    "cli": (["cli/*.py"], ["cli"]),
}
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Mult: ast.Div,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
}
SWAPS |= {
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.Is: ast.IsNot,
    ast.In: ast.NotIn,
}
SWAPS |= {b: a for a, b in SWAPS.items() if b not in SWAPS} | {
    ast.And: ast.Or,
    ast.Or: ast.And,
}
NAMES = {
    "add_": "sub_",
    "sub_": "add_",
    "mul_": "div_",
    "x": "z",
    "z": "x",
    "min": "max",
    "max": "min",
}


def changes(text: str) -> Iterator[tuple[str, int, ast.AST]]:
    """Each change in turn: its name, line, and the tree, which has it while the caller
    looks.

    The name begins with the function, so that changes above it do not matter.
    """
    tree, lines, seen = ast.parse(text), text.splitlines(), Counter[str]()
    for function, node in live(tree):
        for field, value, words in options(node):
            line = getattr(node, "lineno", 1)
            source = lines[line - 1].strip()
            old, change = getattr(node, field), f"{function}: {words} in: {source}"
            pairs = zip(old, value) if isinstance(value, list) else ()
            line = next(
                (getattr(o, "lineno", line) for o, v in pairs if o is not v), line
            )
            seen[change] += 1
            setattr(node, field, value)
            yield (
                f"{change} #{seen[change]}" if seen[change] > 1 else change,
                line,
                tree,
            )
            setattr(node, field, old)


def options(node: Any) -> Iterator[tuple[str, Any, str]]:
    """A field of a node, its new value, and the change in words."""
    match node:
        case ast.Constant(value=bool()):
            yield "value", not node.value, f"{node.value} -> {not node.value}"
        case ast.Constant(value=int() | float()):
            yield "value", node.value + 1, f"{node.value} -> {node.value + 1}"
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp() if type(node.op) in SWAPS:
            new = SWAPS[type(node.op)]()
            yield "op", new, f"{type(node.op).__name__} -> {type(new).__name__}"
        case ast.Compare(ops=[op]) if type(op) in SWAPS:
            new = SWAPS[type(op)]()
            yield "ops", [new], f"{type(op).__name__} -> {type(new).__name__}"
        case ast.UnaryOp(op=ast.USub()):
            yield "op", ast.UAdd(), "no minus"
        case ast.Attribute() if node.attr in NAMES:
            yield "attr", NAMES[node.attr], f"{node.attr} -> {NAMES[node.attr]}"
        case ast.Call():
            for k, gone in enumerate(node.keywords):
                if gone.arg != "help":
                    less = node.keywords[:k] + node.keywords[k + 1 :]
                    yield "keywords", less, f"no {ast.unparse(gone)[:40]}"
        case ast.If() if _for_types(node):
            return
        case ast.If() | ast.IfExp() if not isinstance(
            node.test, ast.Compare | ast.BoolOp
        ):
            yield (
                "test",
                ast.UnaryOp(ast.Not(), node.test),
                f"not {ast.unparse(node.test)[:40]}",
            )
    for name in ("body", "orelse"):
        body = getattr(node, name, None)
        for k, gone in enumerate(body if isinstance(body, list) else ()):
            call = isinstance(gone, ast.Expr) and isinstance(gone.value, ast.Call)
            if call or (
                isinstance(gone, ast.AugAssign | ast.If) and not _for_types(gone)
            ):
                words = f"no {ast.unparse(gone).splitlines()[0][:60]}"
                yield name, [*body[:k], ast.Pass(), *body[k + 1 :]], words


def _for_types(node: ast.AST) -> bool:
    """Whether this is run by type checkers alone."""
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return False


def live(node: ast.AST, function: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The nodes that results depend on, and the functions that they are in."""
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
    yield function or "(module)", node
    for name, field in ast.iter_fields(node):
        if name not in ("annotation", "returns", "decorator_list"):
            for child in field if isinstance(field, list) else [field]:
                if isinstance(child, ast.AST):
                    yield from live(child, function)


def every_change(patterns: list[str]) -> dict[str, Path]:
    """Each change of these modules, and its file."""
    paths = {p for pattern in patterns for p in (ROOT / "dfltheory").glob(pattern)}
    return {
        f"{path.relative_to(ROOT)} {change}": path
        for path in sorted(paths)
        for change, *_ in changes(path.read_text())
    }


def without_file(name: str) -> str:
    return name.partition(" ")[2]


def renewed(kept: dict[str, str], names: Iterable[str]) -> dict[str, str]:
    """What is known of changes that still exist, under the names of today."""
    places: dict[str, list[str]] = {}
    for name in names:
        places.setdefault(without_file(name), []).append(name)
    found = {}
    for old, outcome in kept.items():
        there = places.get(without_file(old), [])
        new = [old] if old in there else there
        if len(new) == 1:
            found[new[0]] = outcome
    return found


def drawn(named: dict[str, Path], first: list[str], n: int) -> list[str]:
    """Return n changes: the known ones ``first``, then others in an order that depends
    on function and text alone.
    """
    order = sorted(
        named, key=lambda name: hashlib.sha256(without_file(name).encode()).digest()
    )
    return list(dict.fromkeys([*first, *order]))[: max(n, len(first))]


def changed_source(name: str, path: Path) -> tuple[int, str]:
    """The line of a change, and the source of its file with it."""
    wanted = without_file(name)
    line, tree = next(
        rest for change, *rest in changes(path.read_text()) if change == wanted
    )
    return line, ast.unparse(ast.fix_missing_locations(tree))


def run(copy: Path, files: list[Path], tests: list[str] | None, limit: float) -> str:
    """What becomes of these tests of these files in the copy, in a process of their
    own; None maps all.

    The ``limit`` is of seconds of processor, so that a busy machine passes none;
    ``WAIT`` times as many on the clock are for tests that wait for ever.
    """
    process = PROCESSES.Process(
        target=_held, args=(limit, str(copy), [str(f) for f in files], tests)
    )
    process.start()
    process.join(WAIT * limit)
    if process.is_alive():
        process.kill()
        return "timeout"
    if process.exitcode == -signal.SIGXCPU:
        return "timeout"
    # 5: all of these tests are slow ones
    return "survived" if process.exitcode in (0, 5) else "killed"


def _held(limit: float, *given: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 5))
    _pytest(*given)


def _pytest(copy: str, files: list[str], tests: list[str] | None) -> None:
    # a change within the second would be taken for what was there before
    sys.dont_write_bytecode = True
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": copy, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    os.dup2(said := os.open(SAID, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1)
    os.dup2(said, 2)
    sys.path[:] = [copy, *(p for p in sys.path if p not in ("", str(ROOT)))]
    for name in [n for n in sys.modules if n.split(".")[0] in ("dfltheory", "tests")]:
        del sys.modules[name]
    plain = [
        "-o",
        "addopts=--strict-markers --import-mode=importlib",
        "-p",
        "no:cacheprovider",
    ]
    # hypothesis is in memory already
    early = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    plugin = Map(copy) if tests is None else Chosen(tests)
    end = pytest.main([*early, *plain, "-x", "-q", "-m", "not slow", *files], [plugin])
    os._exit(int(end))


class Chosen:
    """Runs these tests, in this order."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: k for k, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        known = [item for item in items if item.nodeid in self.place]
        items[:] = sorted(known, key=lambda item: self.place[item.nodeid])


class Map:
    """Writes down each test's seconds of processor, and the functions that it calls, by
    their lines.
    """

    def __init__(self, copy: str) -> None:
        self.start = f"{copy}/dfltheory/"
        self.seconds: dict[str, float] = {}
        self.reached: dict[str, dict[int, list[str]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        # written in C: a function of Python for every call takes several times as long
        profile = cProfile.Profile(subcalls=False, builtins=False)
        began = time.process_time()
        profile.enable()
        try:
            return (yield)
        finally:
            profile.disable()
            self.seconds[item.nodeid] = time.process_time() - began
            codes = {
                entry.code
                for entry in profile.getstats()
                if isinstance(entry.code, types.CodeType)
            }
            own = {code for code in codes if code.co_filename.startswith(self.start)}
            for file, line in {
                (c.co_filename, n) for c in own for _, _, n in c.co_lines() if n
            }:
                tests = self.reached.setdefault(file.removeprefix(self.start), {})
                tests.setdefault(line, []).append(item.nodeid)

    def pytest_sessionfinish(self) -> None:
        Path(MAP).write_text(json.dumps([self.seconds, self.reached]))


def judge(
    package: str, given: Any, kept: dict[str, str], copy: Path, report: Any
) -> dict[str, str]:
    """What becomes of n changes; what is known of them stays."""
    patterns, places = PACKAGES[package]
    tests = sorted(p for place in places for p in (copy / "tests").glob(place))
    files = [
        f for t in tests for f in (sorted(t.rglob("test_*.py")) if t.is_dir() else [t])
    ]
    named = every_change(patterns)
    known = renewed(kept, named)
    found = {name: end for name, end in known.items() if end != "survived"}
    left = {
        name: (named[name], *changed_source(name, named[name]))
        for name in drawn(named, list(known), given.n)
        if name not in found
    }
    files = sorted(
        {f for path, *_ in left.values() for f in _naming(path, files)[: given.files]}
    )
    sources = [
        *files,
        *(
            p
            for pattern in patterns
            for p in sorted((copy / "dfltheory").glob(pattern))
        ),
    ]
    key = hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:12]
    made = MAPS / f"{package}-{key}.json"
    if left and not made.exists():
        if run(copy, files, None, 7200) != "survived":
            said = (copy / SAID).read_text().splitlines()
            print(
                f"{package}: its tests fail without any change:",
                *said[-3:],
                sep="\n",
                file=sys.stderr,
            )
            return kept
        MAPS.mkdir(exist_ok=True)
        shutil.copy(copy / MAP, made)
    took, reached = json.loads(made.read_text()) if left else ({}, {})
    for name, (path, line, text) in left.items():
        lines = reached.get(str(path.relative_to(ROOT / "dfltheory")), {})
        # what runs at import, every test sees that comes to the module; or any, where
        # nothing is ever called
        wanted = (
            lines.get(str(line))
            or sorted({t for some in lines.values() for t in some})
            or sorted(took)
        )
        rank = {str(f.relative_to(copy)): k for k, f in enumerate(_naming(path, files))}
        # tests of this paper alone
        own = re.compile(rf"\[({path.stem}|{path.parent.name})\b")
        wanted.sort(
            key=lambda t: (
                not own.search(t),
                rank.get(t.split("::")[0], len(rank)),
                took[t],
            )
        )
        spent = list(itertools.accumulate(took[t] for t in wanted))
        chosen = [t for t, s in zip(wanted, spent) if s <= given.seconds] or wanted[:1]
        target = copy / path.relative_to(ROOT)
        original = target.read_text()
        target.write_text(text)
        met = [copy / f for f in dict.fromkeys(t.split("::")[0] for t in chosen)]
        limit = 60 + 20 * sum(took[t] for t in chosen)
        found[name] = run(copy, met, chosen, limit) if chosen else "survived"
        target.write_text(original)
        report(found, f"{found[name]:9} {len(chosen)} of {len(wanted)} tests  {name}")
    return found


def _naming(module: Path, files: list[Path]) -> list[Path]:
    """The test files that say a module's name or those of what it defines; those that
    say it most first.
    """
    names = [
        n.name
        for n in ast.parse(module.read_text()).body
        if isinstance(n, ast.FunctionDef | ast.ClassDef)
    ]
    word = re.compile(rf"(?<![a-z])({'|'.join([module.stem, *names])})(?![a-z])")
    uses = Counter(
        {
            f: len(word.findall(f.read_text())) + 99 * (module.stem in f.stem)
            for f in files
        }
    )
    return [f for f, count in uses.most_common() if count] or files[:1]


OUTPUT = ("results", "results-full", "site", "mutants")
"""Folders of the repository that commands write."""


def left_out(folder: str, names: list[str]) -> set[str]:
    """What is not copied of a folder."""
    out = shutil.ignore_patterns(".*", "*.egg-info", "__pycache__")(folder, names)
    return out | (set(OUTPUT) if Path(folder) == ROOT else set())


def table(kept: dict[str, dict[str, str]]) -> str:
    lines = [
        "| package | changes | caught | equivalent | not guarded | caught of those not"
        " equivalent |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for package, found in kept.items():
        ends = Counter(end.split(":")[0] for end in found.values())
        caught, same = ends["killed"] + ends["timeout"], ends["equivalent"]
        score = f"{100 * caught / max(len(found) - same, 1):.0f} %"
        cells = [package, len(found), caught, same, len(found) - caught - same, score]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def with_table(page: str, kept: dict[str, dict[str, str]]) -> str:
    """Return a page with the table of mutants between its two marks."""
    return between(page, MARK, table(kept))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "packages",
        nargs="*",
        metavar="PACKAGE",
        help=f"default all: {', '.join(PACKAGES)}",
    )
    parser.add_argument("-n", type=int, default=30, help="changes of each package")
    parser.add_argument(
        "--files", type=int, help="that say a module's name most often; default: all"
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="of tests for each change"
    )
    parser.add_argument(
        "--table", action="store_true", help="only print the table of what is known"
    )
    parser.add_argument("--page", type=Path, help="only write that table into a page")
    given = parser.parse_args()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if given.page is not None:
        write_text(given.page, with_table(given.page.read_text(encoding="utf-8"), kept))
        return
    if not given.table:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder).resolve() / "copy"
            shutil.copytree(ROOT, copy, ignore=left_out)
            for package in given.packages or PACKAGES:

                def report(
                    found: dict[str, str], line: str = "", package: str = package
                ) -> None:
                    kept[package] = found
                    KEPT.write_text(
                        json.dumps(
                            {p: kept[p] for p in PACKAGES if p in kept}, indent=1
                        )
                        + "\n"
                    )
                    print(line, flush=True)

                report(
                    judge(package, given, kept.get(package, {}), copy, report), package
                )
    print(table(kept))


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    FORKS = "forkserver" in multiprocessing.get_all_start_methods()
    PROCESSES: Any = multiprocessing.get_context("forkserver" if FORKS else "spawn")
    if FORKS:
        PROCESSES.set_forkserver_preload(
            ["torch", "scipy.sparse", "networkx", "hypothesis", "pytest"]
        )
    main()
