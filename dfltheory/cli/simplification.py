"""Simplified and stored counterexamples on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dfltheory.cli.output import emit, exit_unless
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.files import alone, check_writable

if TYPE_CHECKING:
    from dfltheory.bounds import Theorem
    from dfltheory.counterexamples import Finding, Instance


AUTOMATIC = 10.0
"""Maximum number of seconds for simplifying the result of a search."""


def _simple_file(file: Path) -> Path:
    """Return the name of the file for the simplified counterexample."""
    return file.with_name(f"{file.stem}-simple.json")


def simplify_file(
    file: Path, theorem: Theorem | None, out: Path | None, as_json: bool
) -> None:
    """Write a simpler counterexample or family; exit status 1 if it refutes."""
    target = out or Path(_simple_file(file).name)
    if target.exists() and target.samefile(file):
        raise InputError(
            f"--out {target} is the file to be simplified: write to another file"
        )
    check_writable(target)
    with alone(target):
        finding, lines = _simplified(file, theorem)
        finding.save(target)
    document = finding.to_dict() | {"file": str(target)}
    contents = "family of problems" if finding.growing else "counterexample"
    emit(document, "\n".join([*lines, f"{contents}: {target}"]), as_json)
    exit_unless(ok=finding.growing)


def _simplified(file: Path, given: Theorem | None) -> tuple[Finding, list[str]]:
    """Return the simplified instance or family of a file, and lines describing it."""
    from dfltheory.counterexamples.describe import counterexample_lines
    from dfltheory.counterexamples.document import read_document
    from dfltheory.counterexamples.saved import replay, single_instance
    from dfltheory.counterexamples.simplify import simplify
    from dfltheory.counterexamples.simplify.growing import simplify_family
    from dfltheory.counterexamples.simplify.lines import hand_check_lines

    if read_document(file).get("divergence") is not None:
        finding = simplify_family(replay(file, given))
        return finding, [str(finding), *counterexample_lines(finding)]
    instance, theorem, family = single_instance(file, given)
    simpler = simplify(instance, theorem, family=family)
    return simpler.finding, [str(simpler), *hand_check_lines(simpler.finding)]


def _has_noise(instance: Instance) -> bool:
    """Return whether the task of an instance has noise."""
    task = instance.document()["task"]
    return any(task.get(name) for name in ("sigma", "sigma_u", "sigma_v"))


def simplify_hit(
    finding: Finding, file: Path, seconds: float, checks: float, as_json: bool
) -> None:
    """Write a simpler version next to the result of a search, if there is one.

    Families of statements in O(.) and instances with noise, whose confirmation is
    expensive, are not simplified.
    """
    if finding.instance is None or finding.theorem is None:
        return
    if _has_noise(finding.instance):
        if not as_json:
            print("not simplified: instances with noise are not")
        return
    from dfltheory.counterexamples.simplify import simplify
    from dfltheory.counterexamples.simplify.lines import hand_check_lines

    try:
        simpler = simplify(
            finding.instance.document(),
            finding.theorem,
            seconds=seconds,
            checks=checks,
            family=finding.family,
        )
        if simpler.steps:
            simpler.finding.save(_simple_file(file))
    except (OSError, DFLTheoryError) as wrong:
        if not as_json:
            print(f"not simplified: {wrong}")
        return
    if not simpler.steps:
        if not as_json:
            print(
                "no simpler counterexample was found within the budget of the search;"
                f" `dfltheory falsify --simplify {file}` has no time limit"
            )
        return
    if not as_json:
        lines = [str(simpler), *hand_check_lines(simpler.finding)]
        print("\n  ".join(lines))
        print(f"simplified counterexample: {_simple_file(file)}")


def show_stored(reference: str, as_json: bool) -> None:
    """Print the stored status of a statement; status 1 if it is refuted."""
    from dfltheory.bounds.reference import load
    from dfltheory.counterexamples.simplify.stored import lines_of

    theorem = load(reference)
    status = theorem.status
    lines = [f"{theorem}: {status}"]
    lines += [f"  {line}" for line in status.counterexample]
    simple = lines_of(theorem) if status.refuted else ()
    if simple:
        lines += ["simplified:", *(f"  {line}" for line in simple)]
    if status.refuted:
        lines.append(
            f"again: {status.command} (file of the source distribution);"
            f" {status.search}"
        )
    elif status.search:
        lines.append(
            f"search again: dfltheory falsify {theorem.key} --variant {theorem.variant}"
        )
    document = {
        "key": theorem.key,
        "variant": theorem.variant,
        "status": status.to_dict(),
    }
    if simple:
        document["simplified"] = list(simple)
    emit(document, "\n".join(lines), as_json)
    exit_unless(not status.refuted)


__all__ = ["AUTOMATIC", "show_stored", "simplify_file", "simplify_hit"]
