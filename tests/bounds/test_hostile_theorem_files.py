"""Hostile theorem files and JSON statements are rejected quickly, with one error
message and little memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

SECONDS, MEMORY = 2.0, 500 * 2**20
"""Limits of the time of reading and the memory of the process."""

HEAD = """format = 1
[[statement]]
key = "hostile.theorem"
kind = "theorem"
title = "t"
source = "s"
scope = { algorithms = ["DPSGD"], network = "symmetric", common_start = true }
left = { measure = "grad_norm_sq", aggregate = "mean" }
"""


def with_term(formula):
    return f"{HEAD}terms = {{ x = {json.dumps(formula)} }}\n"


def with_definitions(formulas, term):
    lines = [f"{name} = {json.dumps(formula)}" for name, formula in formulas.items()]
    return "\n".join(
        [
            f"{HEAD}terms = {{ x = {json.dumps(term)} }}",
            "[statement.definitions]",
            *lines,
            "",
        ]
    )


def squares(first, how="d{0}^2"):
    return {"d0": first} | {f"d{k + 1}": how.format(k) for k in range(60)}


FILES = {
    "deep_parentheses": with_term("(" * 3000 + "L" + ")" * 3000),
    "deep_signs": with_term("-" * 9000 + "L"),
    "deep_powers": with_term("^".join(["L"] * 2000)),
    "deep_calls": with_term("sqrt(" * 500 + "L" + ")" * 500),
    "numbers_that_square": with_definitions(squares("3"), "d60"),
    "symbols_that_square": with_definitions(squares("L"), "d60"),
    "sums_that_square": with_definitions(squares("L + K"), "d60"),
    "products_that_double": with_definitions(squares("L + K", "d{0}*d{0}"), "d60"),
    "exponents_that_square": with_definitions(squares("K", "2^d{0}"), "2^d60"),
    "definitions_in_a_circle": with_definitions({"a": "b + 1", "b": "a + 1"}, "a"),
    "sum_of_1e9_terms": with_term("sum(L/k, k, 1, 10^9)"),
    "sums_in_sums": with_term(
        "sum(sum(sum(i*j*k, i, 1, 1000), j, 1, 1000), k, 1, 1000)"
    ),
    "huge_exponent": with_term("L^(10^12)"),
    "huge_power": with_term("9^9^9^9^9"),
    "huge_exponential": with_term("exp(exp(exp(exp(1000))))"),
    "huge_number": with_term("9" * 9000),
    "huge_decimal_exponent": with_term("1e999999999"),
    "confusable_character": with_term("\u039b*eta"),
    "confusable_minus": with_term("L \u2212 eta"),
    "invisible_character": with_term("L\u200b*eta"),
    "lambda": with_term("lambda: 1"),
    "import": with_term("__import__('os').system('touch ran')"),
    "attribute": with_term("L.__class__.__mro__"),
    "comprehension": with_term("[x for x in (1,)*10^9]"),
    "many_maxima": with_term(
        "max(" + ", ".join(f"L*{n} + K/{n + 1}" for n in range(400)) + ")"
    ),
    "code_in_the_scope": with_term("L").replace('"DPSGD"', '"evil.py:Evil"'),
    "code_as_a_module": with_term("L").replace('"DPSGD"', '"os:system"'),
    "unknown_key": (
        with_term("L").replace('title = "t"', 'title = "t"\nrun = "touch ran"')
    ),
    "deep_lists": "format = 1\nx = " + "[" * 50_000,
    "deep_keys": ".".join(["a"] * 50_000) + " = 1",
    "long_file": "format = 1\n" + "# padding\n" * 200_000,
    "not_text": "\x00\x01",
    "round_that_grows": with_term("L").replace('"mean" }', '"mean", last = "2^T" }'),
}

CODE = """
import json, re, sys, time
from pathlib import Path
from dfltheory.bounds.document import theorem_from_document
from dfltheory.bounds.theorem_file import read_theorem_file
from dfltheory.errors import DFLTheoryError

read = {"file": read_theorem_file, "document": theorem_from_document}
for kind, name, argument in json.loads(sys.stdin.read()):
    started = time.process_time()
    message = "read without an error"
    try:
        read[kind](argument)
    except DFLTheoryError as error:
        message = str(error)
    seconds = time.process_time() - started
    # not ru_maxrss: it begins with the size of the process that forked this one
    peak = re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]
    print(json.dumps([name, seconds, 1024 * int(peak), message]), flush=True)
"""


def _limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (4 * MEMORY, 4 * MEMORY))


def read_in_one_process(inputs, folder):
    """Return processor seconds, peak memory and message of each input by name.

    All inputs are read by one process with limited memory.
    """
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        cwd=folder,
        input=json.dumps(inputs),
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=_limit_memory,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {name: row for name, *row in rows}


def document_with(definitions, term):
    """Return a statement as in a counterexample file, with these definitions and one
    term.
    """
    from dfltheory import bounds
    from dfltheory.bounds.document import theorem_to_document

    document = theorem_to_document(bounds.get("lian2017.rate", "restated"))
    shared = {"latex": "d", "meaning": "", "sign": "positive"}
    document["definitions"] = [
        {"symbol": name, "expr": tree} | shared for name, tree in definitions.items()
    ]
    document["parts"] = {"x": term}
    return document


def square_trees(first, how):
    return {"d0": first} | {f"d{k + 1}": how(f"d{k}") for k in range(60)}


STATEMENTS = {
    "numbers_that_square": (square_trees(3, lambda d: ["Pow", d, 2]), "d60"),
    "symbols_that_square": (square_trees("L", lambda d: ["Pow", d, 2]), "d60"),
    "products_that_double": (
        square_trees(["Add", "L", "K"], lambda d: ["Mul", d, d]),
        "d60",
    ),
    "exponents_that_square": (square_trees("K", lambda d: ["Pow", 2, d]), "d60"),
    "huge_exponent": ({}, ["Pow", "L", 10**12]),
    "long_sum": ({}, ["Add", *["L"] * 3000]),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "evil.py").write_text("open('ran', 'w').close()\nclass Evil: ...\n")
    inputs = []
    for name, text in FILES.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
        inputs.append(("file", name, f"{name}.toml"))
    for name, parts in STATEMENTS.items():
        inputs.append(("document", f"statement {name}", document_with(*parts)))
    found = read_in_one_process(inputs, folder)
    assert not (folder / "ran").exists()
    return found


@pytest.mark.parametrize("name", FILES)
def test_hostile_file_ends_in_one_message(name, answers):
    seconds, memory, message = answers[name]
    assert seconds < SECONDS
    assert memory < MEMORY
    assert "\n" not in message
    assert message.startswith(f"{name}.toml")


@pytest.mark.parametrize("name", STATEMENTS)
def test_hostile_statement_of_a_counterexample_file_ends_in_one_message(name, answers):
    seconds, memory, message = answers[f"statement {name}"]
    assert seconds < SECONDS
    assert memory < MEMORY
    assert message.startswith("theorem")
