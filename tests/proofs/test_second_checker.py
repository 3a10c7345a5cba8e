"""The second checker accepts the proofs that the kernel writes, but no wrong ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dfltheory.cli import run
from tests.proofs.mutants import accepted, draw, equivalent
from validation.papers import checked
from validation.proof_checker.export import CASES, CLAIMS, file_of, proof_text
from validation.proof_checker.loading import ProofError, check

PROGRAM = Path(__file__).parents[2] / "validation/proof_checker/check_proof.py"
SHORT = "dfedsgpsm.corollary_1:corrected"
SLOW = [c for c in CLAIMS if not c.startswith("dfedsgpsm")]


def source(claim):
    return file_of(claim).read_text(encoding="utf-8")


def run_program(path, folder):
    """Run the checker in a Python without site packages, outside the repository."""
    command = [sys.executable, "-E", "-S", str(PROGRAM), str(path)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )


def test_program_needs_the_standard_library_alone(tmp_path):
    done = run_program(file_of(SHORT), tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("proved: ")
    assert SHORT in done.stdout


def test_program_prints_the_vectors_of_the_algorithm_and_the_weights(tmp_path):
    done = run_program(file_of(SHORT), tmp_path)
    printed = done.stdout.splitlines()
    for line in source(SHORT).splitlines():
        word, _, value = line.partition(" = ")
        if word in ("algorithm local", "algorithm sent"):
            assert any(x.startswith(f"{value} = ") for x in printed)
        if line.startswith("weights "):
            assert line in printed
    assert not any("|-" in line for line in printed)


def test_program_ends_with_status_1_and_the_line_of_a_wrong_proof(tmp_path):
    wrong = tmp_path / "wrong.txt"
    lines = source(SHORT).replace("term t6 = 3*", "term t6 = 2*").splitlines()
    wrong.write_text("\n".join(lines))
    done = run_program(wrong, tmp_path)
    assert done.returncode == 1
    place = next(i for i, x in enumerate(lines, start=1) if x.startswith("prove "))
    assert done.stdout.startswith(f"not proved: line {place}: ")


@pytest.mark.parametrize("claim", [SHORT])
def test_saved_proof_is_what_the_kernel_writes_today(claim):
    assert proof_text(claim) == source(claim)


@pytest.mark.slow
@pytest.mark.parametrize("claim", SLOW)
def test_saved_proofs_are_current_and_accepted(claim):
    assert checked(claim).proved
    assert proof_text(claim) == source(claim)
    assert check(source(claim)).proved[-1] == claim


@pytest.mark.parametrize("hypothesis", ["smooth", "unbiased", "independent", "below"])
def test_proof_without_a_hypothesis_is_rejected(hypothesis):
    lines = source(SHORT).splitlines()
    kept = [x for x in lines if not x.startswith(f"assume {hypothesis} |")]
    assert len(kept) == len(lines) - 1
    with pytest.raises(ProofError):
        check("\n".join(kept))


@pytest.mark.drawn(1)
@pytest.mark.parametrize("place", range(1, 7))
def test_smaller_bound_is_rejected(place):
    lines = source("dfedsgpsm.theorem_1:corrected").splitlines()
    own = f"term t{place} = "
    smaller = [
        f"{own}99*({x.removeprefix(own)})/100" if x.startswith(own) else x
        for x in lines
    ]
    assert smaller != lines
    with pytest.raises(ProofError):
        check("\n".join(smaller))


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "line",
    [
        "term t9 = -1",
        "assume diversity | none",
        "f999 = common_start() |- start_t(root(v1)) <= 0",
    ],
)
def test_nothing_follows_the_end_of_a_proof(line):
    with pytest.raises(ProofError):
        check(source("dfedsgpsm.theorem_1:corrected") + line + "\n")


@pytest.mark.parametrize(
    "line",
    ["g = x - x", "eta = x", "define q = 0", "sum = x", "weights M | 1 | 1 | 1 | -"],
)
def test_names_with_a_meaning_are_not_declared_again(line):
    lines = source("dfedsgpsm.theorem_1:corrected").splitlines()
    place = next(i for i, x in enumerate(lines) if x.startswith("f1 = "))
    with pytest.raises(ProofError):
        check("\n".join([*lines[:place], line, *lines[place:]]))


def with_cases(changes=()):
    """Return the corollary shown by cases of K, with changes in its own lines."""
    theorem, head, own = source(CASES).partition(f"corollary {CASES}\n")
    for old, new in changes:
        assert old in own
        own = own.replace(old, new)
    return theorem + head + own


def test_corollary_by_cases_is_accepted():
    assert check(with_cases()).proved[-1] == CASES


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "change",
    [
        [("18463/10000", "18462/10000"), ("8463/10000", "8462/10000")],
        [("term t1 = 2*L", "term t1 = 199*L/100*1")],
        [("term t2 = 20*V/(9*", "term t2 = 216*V/(100*")],
        [("4*K <= T", "3*K <= T")],
        [("cases K 19", "cases K 5")],
        [("cases K 19\n", "")],
        [("cases K 19", "cases T 19")],
        [("cases K 19", "cases K 0")],
        [("| (10/9 - c_n)/K", "| (109/100 - c_n)/K")],
        [("define theta = (1 - 1/K)**K", "define theta = (1 - 1/K)**(K - 1)")],
        [("times E2", "times E1")],
        [("condition C1", "condition E1")],
    ],
    ids=str,
)
def test_wrong_corollary_by_cases_is_rejected(change):
    with pytest.raises(ProofError):
        check(with_cases(change))


def test_cases_begin_a_corollary():
    lines = source(SHORT).splitlines()
    for place in (1, len(lines) - 8):
        with pytest.raises(ProofError):
            check("\n".join([*lines[:place], "cases K 3", *lines[place:]]))


def test_telescoping_takes_no_roots():
    """The root of a mean square is larger than the mean of roots."""
    lines = source("dfedsgpsm.theorem_1:corrected").splitlines()
    place = next(i for i, x in enumerate(lines) if " = telescope(" in x)
    assert check("\n".join(lines)).proved
    name, claim = lines[place].split(" = telescope(")[0], lines[place - 1]
    left, _, right = claim.split(" |- ")[1].partition(" <= ")
    rooted = f"{right} + (1)*root(v4)"
    added = [
        f"r1 = combine(({claim.split(' = ')[0]}, 1)) |- {left} <= {rooted}",
        f"{name} = telescope(r1) |- 0 <= {rooted}",
    ]
    with pytest.raises(ProofError) as rejected:
        check("\n".join([*lines[:place], *added]))
    assert (rejected.value.line, rejected.value.rule) == (place + 2, "telescope")


BEFORE_FACTS = {
    "rule": "f0 = nothing() |- 0 <= 0",
    "hypothesis": "f0 = second_moment() |- root(g + n) <= S2**(1/2)*one('moment')",
    "number of arguments": "f0 = mean_of(x, x) |- root(mean(x)) <= root(x)",
    "kind of argument": "f0 = square(x) |- sq(x) <= sq(x)",
    "side condition": "f0 = variance(x) |- root(x) <= sigma_l*one('noise')",
    "conclusion": "f0 = mean_of(x) |- root(mean(x)) <= 1/2*root(x)",
    "name": "v0 = y",
    "condition of a hint": "hint 1 times C9",
    "fact": "prove f9999",
    "value": "value 2*L = 2*L",
    "weights": "weights N | 1",
    "schedule": "schedule y = 1",
    "update": "algorithm y = x",
    "relation": "f0 = mean_of(x) |- root(mean(x)) < root(x)",
    "expression": "v0 = [x]",
}


@pytest.mark.parametrize("name", BEFORE_FACTS)
def test_message_has_the_line_and_the_rule_of_a_wrong_line(name):
    lines = source("dfedsgpsm.theorem_1:corrected").splitlines()
    place = next(i for i, x in enumerate(lines) if x.startswith("f1 = "))
    wrong = BEFORE_FACTS[name]
    with pytest.raises(ProofError) as rejected:
        check("\n".join([*lines[:place], wrong, *lines[place:]]))
    error = rejected.value
    head, _, call = wrong.partition(" = ")
    assert error.line == place + 1
    assert error.rule == (call if "|-" in wrong else head).split("(")[0].split()[0]
    assert str(error).startswith(f"line {place + 1}: ")
    assert str(error).endswith(f": {wrong}")


def unlike(claim, count, seed):
    """Return the changed proofs that are accepted but not equivalent."""
    text = source(claim)
    passed = [m for m in draw(text, count, seed) if accepted(m)]
    return [m.lines[m.place] for m in passed if not equivalent(m, text)]


def test_changed_proofs_are_rejected():
    assert unlike("dfedsgpsm.theorem_1:corrected", 14, 5) == []


@pytest.mark.slow
def test_two_hundred_changed_proofs_are_rejected():
    assert unlike("dfedsgpsm.theorem_1:corrected", 200, 0) == []


@pytest.mark.slow
def test_prove_exports_what_the_checker_accepts(tmp_path, capsys):
    out = tmp_path / "proof.txt"
    command = ["prove", SHORT, "--script", "validation.papers.dfedsgpsm.proof:SCRIPTS"]
    assert run([*command, "--export", str(out)]) == 0
    assert "proved from" in capsys.readouterr().out
    assert check(out.read_text(encoding="utf-8")).proved[-1] == SHORT


def test_prove_without_a_script_of_the_statement_is_an_error(capsys):
    command = ["prove", "dfedsam.theorem_4_5:printed"]
    script = ["--script", "validation.papers.dfedsam.proof:SCRIPTS"]
    assert run([*command, *script]) == 2
    assert "dfedsam.theorem_4_5:corrected" in capsys.readouterr().err
