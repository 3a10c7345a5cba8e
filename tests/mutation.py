"""Mutation score of any module: ``python -m tests.mutation dfltheory/graphs/mixing.py --tests tests/graphs``.

One change at a time (a number, a sign, an operator, a comparison, ``and`` or ``or``, ``add_`` or ``sub_``,
``x`` or ``z``, a statement left out) is made in a copy of the repository, and the tests run there until one
fails. Survivors are printed with their line: each wants a test, or is equivalent. What only words depend
on is left alone: messages, annotations. ``--sample 100`` takes a random hundred of all changes.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parent.parent
OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.FloorDiv: "/",
    ast.MatMult: "*",
}
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
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

    def at(node: ast.AST) -> tuple[int, int]:
        return (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )

    def change(node: ast.AST, text: str, span: tuple[int, int] | None = None) -> Mutant:
        start, end = span or at(node)
        code = lines[node.lineno - 1].decode().strip()
        return Mutant(path, node.lineno, start, end, text, data[start:end].decode(), code)

    for node in _live(ast.parse(data)):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield change(node, f"({node.value!r} + 1)")
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            between = (at(node.left)[1], at(node.right)[0])
            text = data[slice(*between)].decode()
            if text.strip(" \n") in ("+", "-", "*", "/", "**", "//", "@"):
                yield change(node, f" {OPERATORS[type(node.op)]} ", between)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            between = (at(node.left)[1], at(node.comparators[0])[0])
            yield change(node, f" {COMPARISONS[type(node.ops[0])]} ", between)
        elif isinstance(node, ast.BoolOp):
            between = (at(node.values[0])[1], at(node.values[1])[0])
            yield change(node, " or " if isinstance(node.op, ast.And) else " and ", between)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            span = at(node)
            yield change(node, "", (span[0], at(node.operand)[0]))
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            end = at(node)[1]
            yield change(node, NAMES[node.attr], (end - len(node.attr), end))
        elif isinstance(node, ast.AugAssign) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            yield change(node, "None")


def _live(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that results depend on: no messages, annotations, docstrings, formatted text."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.Raise, ast.JoinedStr, ast.arg)):
            continue
        if isinstance(child, ast.AnnAssign):
            children = [child.value] if child.value else []
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
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    quiet = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-m", "not slow", "-p", "no:randomly"]
    try:
        target.write_text(mutant.applied(original))
        for chosen in filter(None, (own, tests)):
            run = [sys.executable, "-m", "pytest", *quiet, *chosen]
            done = subprocess.run(run, cwd=copy, env=environment, capture_output=True, timeout=timeout)
            if done.returncode != 0:
                return False
        return True
    except subprocess.TimeoutExpired:
        return False
    finally:
        target.write_text(original)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument(
        "--tests", action="append", required=True, help="a folder or file; give it again for more"
    )
    parser.add_argument("--sample", type=int, help="how many changes, at random; default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=180.0, help="seconds for the tests of one change")
    options = parser.parse_args()
    everything = [m for module in options.modules for m in mutants(module.resolve())]
    chosen = everything
    if options.sample and options.sample < len(everything):
        chosen = random.Random(options.seed).sample(everything, options.sample)
    alive: list[Mutant] = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for k in range(options.jobs):
            copy = Path(folder) / str(k)
            keep_out = shutil.ignore_patterns(
                ".git", ".venv", "*.egg-info", "__pycache__", ".hypothesis", "results", "site"
            )
            shutil.copytree(ROOT, copy, ignore=keep_out)
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
    caught = len(chosen) - len(alive)
    score = 100 * caught / max(len(chosen), 1)
    print(f"caught {caught} of {len(chosen)} ({score:.1f} %), of {len(everything)} changes in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
