"""Mutation score of any module: ``python -m tests.mutation dfltheory/graphs/mixing.py --tests tests/graphs``.

One change at a time (a number, a truth value, a sign, an operator, a comparison, ``and`` or ``or``, a
condition turned round, ``add_`` or ``sub_``, ``x`` or ``z``, a keyword argument or a statement left out) is
made in a copy of the repository, and the tests run there, one ``--tests`` after the other, until one fails:
give first what catches most. Survivors are printed with their line: each wants a test, or is equivalent. What
only words depend on is left alone: messages, annotations; and so are decorators. ``--sample 100`` takes a
random hundred of all changes, ``--each 40`` forty of every module.

The processes that run the tests are forked off one that has the heavy libraries in memory, where the platform
can do that: most changes are caught within a second or two.
"""

from __future__ import annotations

import argparse
import ast
import gc
import multiprocessing
import os
import random
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import Any

ROOT = Path(__file__).parent.parent
_FORKS = "forkserver" in multiprocessing.get_all_start_methods()
_PROCESSES: Any = multiprocessing.get_context("forkserver" if _FORKS else "spawn")
if _FORKS:
    _PROCESSES.set_forkserver_preload(["torch", "scipy.sparse", "networkx", "hypothesis", "pytest"])
OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.FloorDiv: "/",
    ast.MatMult: "*",
}
COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
NAMES = {
    "add_": "sub_",
    "sub_": "add_",
    "mul_": "div_",
    "div_": "mul_",
    "x": "z",
    "z": "x",
    "min": "max",
    "max": "min",
}


@dataclass(frozen=True)
class Mutant:
    """``path`` with the characters ``start:end`` replaced by ``text``."""

    path: Path
    line: int
    start: int
    end: int
    text: str

    before: str
    code: str

    def applied(self, source: str) -> str:
        data = source.encode()
        return (data[: self.start] + self.text.encode() + data[self.end :]).decode()

    def __str__(self) -> str:
        where = f"{self.path.relative_to(ROOT)}:{self.line}"
        return f"{where}: {self.before!r} -> {self.text!r} in: {self.code}"


def mutants(path: Path) -> Iterator[Mutant]:
    """Every change of one module."""
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def at(node: Any) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def change(node: Any, text: str, span: tuple[int, int] | None = None) -> Mutant:
        start, end = span or at(node)
        code = lines[node.lineno - 1].decode().strip()
        return Mutant(path, node.lineno, start, end, text, data[start:end].decode(), code)

    def operator(left: ast.AST, right: ast.AST, text: str) -> Iterator[Mutant]:
        between = (at(left)[1], at(right)[0])
        token = re.fullmatch(rb"[\s)]*(\S+(?: \w+)?)[\s(]*", data[slice(*between)])
        if token:
            yield change(left, text, (between[0] + token.start(1), between[0] + token.end(1)))

    def without(argument: ast.keyword) -> Mutant:
        start, end = at(argument)
        if data[:start].rstrip().endswith(b","):
            start = data.rindex(b",", 0, start)
        elif data[end:].lstrip().startswith(b","):
            end = data.index(b",", end) + 1
        return change(argument, "", (start, end))

    for node in _live(ast.parse(data)):
        if isinstance(node, ast.Constant) and type(node.value) is bool:
            yield change(node, str(not node.value))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield change(node, f"({node.value!r} + 1)")
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            yield from operator(node.left, node.right, OPERATORS[type(node.op)])
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            yield from operator(node.left, node.comparators[0], COMPARISONS[type(node.ops[0])])
        elif isinstance(node, ast.BoolOp):
            for left, right in pairwise(node.values):
                yield from operator(left, right, "or" if isinstance(node.op, ast.And) else "and")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            start, sign = at(node)[0], "-" if isinstance(node.op, ast.USub) else "not"
            yield change(node, "", (start, start + len(sign)))
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            end = at(node)[1]
            yield change(node, NAMES[node.attr], (end - len(node.attr), end))
        elif isinstance(node, ast.keyword) and node.arg:
            yield without(node)
        elif isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            yield change(node, "None")
        if isinstance(node, (ast.If, ast.IfExp)) and isinstance(
            node.test, (ast.Name, ast.Attribute, ast.Call, ast.NamedExpr)
        ):
            before = data[slice(*at(node.test))].decode()
            yield change(node.test, f"(not ({before}))")


def _live(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that results depend on: no messages, annotations, docstrings, formatted text."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.Raise, ast.JoinedStr, ast.arg)):
            continue
        if isinstance(child, ast.AnnAssign):
            children = [child.value] if child.value else []
        elif isinstance(child, ast.ClassDef):
            children = child.body
        elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            children = [*child.body, *child.args.defaults, *(d for d in child.args.kw_defaults if d)]
        else:
            yield child
            yield from _live(child)
            continue
        for grandchild in children:
            if not isinstance(grandchild, (ast.Raise, ast.JoinedStr)):
                yield grandchild
                yield from _live(grandchild)


def survives(mutant: Mutant, copy: Path, tests: list[str], timeout: float) -> bool:
    """Do all tests pass with the change?  The module's own go first; an endless loop counts as caught."""
    target = copy / mutant.path.relative_to(ROOT)
    original = target.read_text()
    own = [str(p.relative_to(copy)) for t in tests for p in (copy / t).rglob(f"test_{mutant.path.stem}*.py")]
    try:
        target.write_text(mutant.applied(original))
        return all(_pass(copy, [each], timeout) for each in (*own, *tests))
    finally:
        target.write_text(original)


def _pass(copy: Path, tests: list[str], timeout: float, compiled: bool = True) -> bool:
    """Do these tests pass in the copy, in a process of their own?  It keeps what it must compile unless told
    that all is ``compiled``: a change made within the second would be taken for what was there before.

    Where none runs, since all are slow, none fails: pytest's exit status of such a run catches nothing."""
    process = _PROCESSES.Process(target=_pytest, args=(str(copy), tests, compiled))
    process.start()
    process.join(timeout)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode in (0, 5)


def _pytest(copy: str, tests: list[str], compiled: bool) -> None:
    """In a fresh process: pytest on the copy, in silence."""
    sys.dont_write_bytecode = compiled
    gc.freeze()  # what is in memory already need not be looked through again
    os.chdir(copy)
    os.environ["PYTHONPATH"] = copy
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    sys.path[:] = [copy, *(p for p in sys.path if p not in ("", str(ROOT)))]
    for name in [n for n in sys.modules if n.split(".")[0] in ("dfltheory", "tests")]:
        del sys.modules[name]
    import pytest

    early = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is in memory already
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them takes longer than many a test
    plain = ["-o", "addopts=--strict-markers --import-mode=importlib"]
    quiet = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow"]
    code = pytest.main([*early, *plain, *quiet, *tests])
    os._exit(int(code))  # at once: nothing that the tests left running is waited for


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument(
        "--tests", action="append", required=True, help="a folder or file; give it again for more"
    )
    parser.add_argument("--sample", type=int, help="how many changes, at random; default all")
    parser.add_argument(
        "--inside", action="append", help="only changes inside functions of this name; give it again for more"
    )
    parser.add_argument("--each", type=int, help="how many changes of every module, at random; default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for the tests of one change")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    draw = random.Random(options.seed)
    everything = {
        module: [m for m in mutants(module.resolve()) if _inside(m, options.inside) and _compiles(m)]
        for module in options.modules
    }
    chosen: list[Mutant] = []
    for all_of_one in everything.values():
        some = options.each and options.each < len(all_of_one)
        chosen += draw.sample(all_of_one, options.each) if some else all_of_one
    if options.sample and options.sample < len(chosen):
        chosen = draw.sample(chosen, options.sample)
    alive: list[Mutant] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for k in range(options.jobs):
            copy = Path(folder).resolve() / str(k)
            keep_out = shutil.ignore_patterns(
                ".git", ".venv", "*.egg-info", "__pycache__", ".hypothesis", "results", "site"
            )
            shutil.copytree(ROOT, copy, ignore=keep_out)
            if not _pass(copy, options.tests, 10 * options.timeout, compiled=False):
                parser.error(f"the tests fail without any change: {' '.join(options.tests)}")
            copies.put(copy)

        def judge(mutant: Mutant) -> None:
            copy = copies.get()
            try:
                if survives(mutant, copy, options.tests, options.timeout):
                    alive.append(mutant)
                    print(f"survived {mutant}", flush=True)
            finally:
                copies.put(copy)

        list(pool.map(judge, chosen))
    made, left = Counter(m.path for m in chosen), Counter(m.path for m in alive)
    for module, all_of_one in everything.items():
        path = module.resolve()
        if made[path]:
            print(f"{made[path] - left[path]}/{made[path]} {module} ({len(all_of_one)} changes in all)")
    caught = len(chosen) - len(alive)
    print(f"{caught}/{len(chosen)} = {100 * caught / max(len(chosen), 1):.1f} %")
    return 0


def _inside(mutant: Mutant, names: list[str] | None) -> bool:
    nodes = ast.walk(ast.parse(mutant.path.read_bytes()))
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name in (names or ())]
    return names is None or any(f.lineno <= mutant.line <= (f.end_lineno or 0) for f in functions)


def _compiles(mutant: Mutant) -> bool:
    try:
        with warnings.catch_warnings(action="ignore"):  # of comparisons with literals
            compile(mutant.applied(mutant.path.read_text()), str(mutant.path), "exec")
    except SyntaxError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
