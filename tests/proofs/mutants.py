"""Wrong proofs: one random change in one line of a proof.

``python -m tests.proofs.mutants FILE [COUNT] [SEED]`` changes numbers, rules, premises
and the order of lines, drops hypotheses, and counts how many of the changed proofs the
checker rejects. An accepted proof is *equivalent* if it is the same proof in another
order, if only a hint differs, or if the proof does not need the changed line.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from validation.proof_checker.loading import ProofError, check, rules

STATEMENT = ("claim", "assume", "condition", "define", "term", "left", "corollary")
Lines = list[str]


@dataclass(frozen=True)
class Mutant:
    """A changed proof."""

    kind: str
    place: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the whole text."""
        return "\n".join(self.lines) + "\n"


def steps(lines: Lines) -> list[int]:
    """Return the positions of the lines that do not belong to the statement."""
    return [
        i for i, line in enumerate(lines) if line and line.split()[0] not in STATEMENT
    ]


def changed_number(lines: Lines, rng: random.Random) -> Mutant | None:
    """Increase one integer by one."""
    place = rng.choice(steps(lines))
    head, line = _split(lines[place])
    found = list(re.finditer(r"(?<![\w.\"])\d+(?!\w)", line))
    if not found:
        return None
    number = rng.choice(found)
    new = line[: number.start()] + str(int(number[0]) + 1) + line[number.end() :]
    return _replaced("number", lines, place, head + new)


def changed_rule(lines: Lines, rng: random.Random) -> Mutant | None:
    """Apply another rule to the same arguments, with the same claim."""
    place = rng.choice([i for i in steps(lines) if "|-" in lines[i]])
    head, line = _split(lines[place])
    old = line.partition("(")[0]
    new = rng.choice([rule for rule in rules() if rule != old])
    return _replaced("rule", lines, place, head + new + line[len(old) :])


def changed_premise(lines: Lines, rng: random.Random) -> Mutant | None:
    """Replace an argument by another fact or vector."""
    place = rng.choice([i for i in steps(lines) if "|-" in lines[i]])
    head, line = _split(lines[place])
    found = list(re.finditer(r"\b[fv]\d+a?\b", line))
    names = [x.split(" = ")[0] for x in lines[:place] if re.match(r"[fv]\d+a? = ", x)]
    if not found:
        return None
    old = rng.choice(found)
    same = [n for n in names if n[0] == old[0][0] and n != old[0]]
    if not same:
        return None
    new = line[: old.start()] + rng.choice(same) + line[old.end() :]
    return _replaced("premise", lines, place, head + new)


def changed_sign(lines: Lines, rng: random.Random) -> Mutant | None:
    """Replace a sum by a difference, or an inequality by an equality."""
    place = rng.choice(steps(lines))
    head, line = _split(lines[place])
    signs = list(re.finditer(r" \+ | <= ", line))
    if not signs:
        return None
    sign = rng.choice(signs)
    other = {" + ": " - ", " <= ": " == "}[sign[0]]
    new = line[: sign.start()] + other + line[sign.end() :]
    return _replaced("sign", lines, place, head + new)


def changed_order(lines: Lines, rng: random.Random) -> Mutant | None:
    """Exchange two lines."""
    one, other = sorted(rng.sample(steps(lines), 2))
    new = list(lines)
    new[one], new[other] = lines[other], lines[one]
    return Mutant("order", one, tuple(new))


def dropped_hypothesis(lines: Lines, rng: random.Random) -> Mutant | None:
    """Remove a hypothesis, a condition or the range of a quantity."""
    places = [
        i for i, line in enumerate(lines) if line.startswith(("assume ", "condition "))
    ]
    place = rng.choice(places)
    return Mutant("hypothesis", place, tuple(lines[:place] + lines[place + 1 :]))


def dropped_premise(lines: Lines, rng: random.Random) -> Mutant | None:
    """Remove one inequality of a sum."""
    place = rng.choice([i for i in steps(lines) if "= combine(" in lines[i]])
    head, line = _split(lines[place])
    pairs = re.findall(r"\(f\d+a?, .*?\)(?=, \(f|\) \|-)", line)
    if len(pairs) < 2:
        return None
    pair = rng.choice(pairs[1:])
    return _replaced("dropped", lines, place, head + line.replace(f", {pair}", "", 1))


KINDS: tuple[Callable[[Lines, random.Random], Mutant | None], ...] = (
    changed_number,
    changed_rule,
    changed_premise,
    changed_sign,
    changed_order,
    dropped_hypothesis,
    dropped_premise,
)
DRAWS = 100
"""Attempts per mutant; a short proof has few hypotheses to drop."""


def _split(line: str) -> tuple[str, str]:
    head, equals, rest = line.partition(" = ")
    return (head + equals, rest) if equals else ("", line)


def _replaced(kind: str, lines: Lines, place: int, line: str) -> Mutant | None:
    if line == lines[place]:
        return None
    return Mutant(kind, place, (*lines[:place], line, *lines[place + 1 :]))


def draw(source: str, count: int, seed: int) -> list[Mutant]:
    """Return ``count`` different changed proofs, by all kinds in turn.

    Raises
    ------
    ValueError
        If the proof has too few different changes.
    """
    rng, lines = random.Random(seed), source.splitlines()
    found: dict[str, Mutant] = {}
    for attempt in range(DRAWS * count):
        mutant = KINDS[attempt % len(KINDS)](lines, rng)
        if mutant is not None and mutant.text != source:
            found.setdefault(mutant.text, mutant)
        if len(found) == count:
            return list(found.values())
    raise ValueError(f"{count} different changes were not found, but {len(found)}")


def accepted(mutant: Mutant) -> bool:
    """Return whether the checker accepts a changed proof."""
    try:
        check(mutant.text)
    except ProofError:
        return False
    return True


def needed(lines: Lines) -> set[str]:
    """Return the lines that the proof needs.

    They are the statement, what its last fact follows from, and every declaration
    without a name.
    """
    named = {x.split(" = ")[0]: x for x in lines if re.match(r"[fv]\d+a? = ", x)}
    kept = {x for x in lines if x not in named.values()}
    open_lines = list(kept)
    while open_lines:
        for name in re.findall(r"\b[fv]\d+a?\b", open_lines.pop()):
            if name in named and named[name] not in kept:
                kept.add(named[name])
                open_lines.append(named[name])
    return kept


def canonical(lines: Lines) -> set[str]:
    """Return the needed lines without hints, with each fact named by its claim."""
    claims = {}
    for line in lines:
        name, _, rest = line.partition(" = ")
        if "|-" in rest and re.fullmatch(r"f\d+a?", name):
            claims[name] = rest.partition(" |- ")[2]
    kept = set()
    for line in needed(lines):
        if line.startswith("hint "):
            continue
        name, _, rest = line.partition(" = ")
        body = rest if name in claims else line
        kept.add(re.sub(r"\bf\d+a?\b", lambda m: claims.get(m[0], m[0]), body))
    return kept


def equivalent(mutant: Mutant, source: str) -> bool:
    """Return whether a changed proof is the same proof.

    It may have another order, an equal premise, another hint, or a change in a line
    that it does not need. A hint is a nonnegative multiple of a condition of the
    statement, which the checker verifies. It affects how an inequality is shown, not
    what is proved.
    """
    return canonical(list(mutant.lines)) == canonical(source.splitlines())


def main(arguments: list[str]) -> int:
    """Draw, check and count."""
    if not 2 <= len(arguments) <= 4:
        print("usage: mutants FILE [COUNT] [SEED]", file=sys.stderr)
        return 2
    source = Path(arguments[1]).read_text(encoding="utf-8")
    count, seed = ([int(x) for x in arguments[2:]] + [200, 0][len(arguments) - 2 :])[:2]
    found = draw(source, count, seed)
    passed = [m for m in found if accepted(m)]
    unlike = [m for m in passed if not equivalent(m, source)]
    same = len(passed) - len(unlike)
    print(f"{count} changed proofs: {count - len(passed)} rejected, {same} equivalent")
    for mutant in unlike:
        print(f"ACCEPTED {mutant.kind}: {mutant.lines[mutant.place][:300]}")
    return 1 if unlike else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
