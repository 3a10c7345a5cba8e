"""The second checker quickly rejects files that need too much work."""

from __future__ import annotations

import pytest

from tests.proofs.mutants import draw
from validation.proof_checker.export import file_of
from validation.proof_checker.loading import ProofError, check, check_proof

SHORT = file_of("dfedsgpsm.theorem_1:corrected")
BEGIN = SHORT.read_text(encoding="utf-8").partition("\nv3 = ")[0]
MOST = check_proof.polynomials


FEW = "assume b | c\nf1 = combine((f2, 1), (f3, 1)) |- 0 <= 0\nprove f1\n"


def doubled(first, count):
    """Return abbreviations, each the square of the previous one."""
    names = [f"define V{i} = V{i - 1}*V{i - 1}" for i in range(1, count)]
    return "\n".join([f"define V0 = {first}", *names, f"v90 = V{count - 1}*x"])


def nested_points(vector, count):
    """Return vectors with gradients at the previous vector."""
    lines = [f"v{i} = {vector.format(f'v{i - 1}')}" for i in range(91, 91 + count)]
    last = f"v{90 + count}"
    lines.append(f"f900 = minkowski((1, {last})) |- root({last}) <= root({last})")
    return "\n".join(["v90 = x", *lines])


def many_factors():
    """Return a product of powers of many sums."""
    return "v90 = x/(" + "*".join(f"(L + {i}*eta)**9" for i in range(1, 40)) + ") + x"


def many_ends():
    """Return quantities with two ends, in a sum that must not be 0."""
    names = [f"c{i}" for i in range(40)]
    lines = [f"coordinate {name} = L*at*eta | >= 0 | <= 1/2" for name in names]
    return "\n".join([*lines, f"v90 = x/({' + '.join(names)})"])


LARGE = {
    "power of a long sum": "v90 = (L + eta + rho + sigma_l + T)**40*x",
    "power of a power": f"v90 = {'(' * 8}1 + L{'**40)' * 8}*x",
    "power of a number": f"v90 = {'(' * 8}2{'**40)' * 8}*x",
    "long number": f"v90 = {'9' * 4000}*x",
    "exponent": "v90 = L**41*x",
    "power of a denominator": "v90 = x*((((1 + L)**(-40))**40)**40)**40 + x",
    "root of a root": f"v90 = {'(' * 30}L + 1{' + 1)**(1/2)' * 30}*x",
    "power with a symbol": f"v90 = {'(' * 30}L + 1{')**K' * 30}*x",
    "abbreviations": doubled("L + 1", 40),
    "abbreviations of a number": doubled("1", 60),
    "gradients at gradients": nested_points(
        'grad({0} + x, "") + grad({0} - x, "")', 40
    ),
    "means of gradients": nested_points('grad({0}, "") + mean(grad({0}, ""))', 60),
    "parentheses": f"v90 = {'(' * 10_000}",
    "long line": f"v90 = {' + '.join(['x'] * 20_000)}",
    "factors": many_factors(),
    "corners": many_ends(),
    "long file": "claim a\n" * 100_000,
}
SECONDS = ("abbreviations of a number", "corners", "gradients at gradients")


def cases():
    """Return the names of the large files; rejecting some takes seconds."""
    return [
        pytest.param(name, marks=[pytest.mark.slow] if name in SECONDS else [])
        for name in LARGE
    ]


@pytest.mark.drawn(2)
@pytest.mark.parametrize("name", cases())
def test_large_file_is_rejected_within_the_budget(name):
    with pytest.raises(ProofError):
        check(f"{BEGIN}\n{LARGE[name]}\n")
    assert MOST.WORK[0] <= MOST.MOST_WORK + MOST.MOST_PRODUCTS + MOST.MOST_TERMS


@pytest.mark.parametrize("limit", ["MOST_WORK", "MOST_BITS", "MOST_PRODUCTS"])
def test_saved_proof_is_rejected_under_a_tiny_limit(limit, monkeypatch):
    monkeypatch.setattr(MOST, limit, 3)
    with pytest.raises(ProofError):
        check(SHORT.read_text(encoding="utf-8"))


def test_saved_proof_needs_a_tenth_of_the_budget():
    check(SHORT.read_text(encoding="utf-8"))
    assert 0 < MOST.WORK[0] < MOST.MOST_WORK / 10


def test_work_of_an_earlier_file_does_not_count(monkeypatch):
    text = SHORT.read_text(encoding="utf-8")
    check(text)
    monkeypatch.setattr(MOST, "MOST_WORK", MOST.WORK[0])
    assert check(text).proved


def test_proof_with_two_push_sum_steps_is_rejected():
    text = SHORT.read_text(encoding="utf-8")
    changed = text.replace("algorithm gossips = 1", "algorithm gossips = 2")
    assert changed != text
    with pytest.raises(ProofError):
        check(changed)


def test_draw_uses_other_changes_where_one_kind_has_few():
    found = draw(SHORT.read_text(encoding="utf-8"), 120, 0)
    assert len({m.text for m in found}) == 120


@pytest.mark.slow
def test_draw_ends_where_a_proof_has_too_few_changes():
    with pytest.raises(ValueError, match="changes"):
        draw(FEW, 1000, 0)
