"""``dfltheory falsify``: search for a counterexample, or run a saved one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from dfltheory.cli.guard import keeping
from dfltheory.cli.output import (
    AsJson,
    TrustOption,
    Variant,
    emit,
    exit_unless,
    on_the_line,
)
from dfltheory.cli.simplification import (
    AUTOMATIC,
    show_stored,
    simplify_file,
    simplify_hit,
)
from dfltheory.errors import DFLTheoryError, InputError, whole_number
from dfltheory.files import alone, check_writable
from dfltheory.progress import reported, search_progress

if TYPE_CHECKING:
    from dfltheory.bounds import Theorem
    from dfltheory.counterexamples import Finding


def falsify(
    context: typer.Context,
    key: Annotated[
        str | None,
        typer.Argument(
            help=(
                "KEY or KEY:VARIANT, as listed by `dfltheory bound`, FILE.toml or"
                " FILE.py:NAME; with --replay too."
            )
        ),
    ] = None,
    variant: Variant = None,
    seconds: Annotated[
        float,
        typer.Option(help="Time budget of the search, without that of confirmation."),
    ] = 60.0,
    candidates: Annotated[
        int | None,
        typer.Option(
            help=(
                "Budget as a number of candidate problems instead of seconds; the"
                " search is then the same on any machine."
            )
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    enough: Annotated[
        float,
        typer.Option(
            help="Stop once measured/bound exceeds this; inf uses the whole budget."
        ),
    ] = float("inf"),
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write the counterexample, if one is found."),
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(help="Run the counterexample in this file again.")
    ] = None,
    simplify: Annotated[
        Path | None,
        typer.Option(
            help=(
                "Simplify the counterexample in this file, and write the simpler one to"
                " a new file (--out)."
            )
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            help=(
                "With --replay: check the counterexample in rational numbers, without"
                " torch and without a search."
            )
        ),
    ] = False,
    show: Annotated[
        str | None,
        typer.Option(
            metavar="KEY[:VARIANT]",
            help=(
                "Print the stored counterexample to a statement, and how to run it"
                " again; no search."
            ),
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=(
                "Search a negative control of the statement, as `dfltheory referee`"
                " does: halved, power_of_T, ..."
            ),
        ),
    ] = None,
    trust: TrustOption = False,
    as_json: AsJson = False,
) -> None:
    """Search for a problem that meets a theorem's assumptions and violates its bound.

    Corollaries are searched under their schedule. For statements in O(.) the search
    looks for a family of problems along which measured/expression grows. Such a family
    is saved, but it refutes nothing, because the ratio may stop growing later. The
    training core confirms each hit, which is then written to a small JSON file (--out,
    or counterexample-KEY-VARIANT.json in the working folder) for --replay. Then a
    simpler instance with fewer pieces and digits is searched for, at most as long as
    the search and at most 10 s, and written to a file whose name ends in -simple.json.
    --simplify FILE does the same for a saved counterexample, without a time limit.

    Exit status 1 if a counterexample is found, replayed or shown; 0 if none is found,
    which proves nothing; 2 if a replay is undecided, because a bound or a condition
    overflows or underflows, or because an evaluation at 50 digits does not confirm the
    refutation. If the algorithm or network of your theorem is your own code, replay its
    counterexample with FILE.py:NAME --replay COUNTEREXAMPLE.

    Examples:

        dfltheory falsify dfedsam.theorem_4_5 --variant printed --seconds 60

        dfltheory falsify dfedadmm.theorem_1 --variant printed --enough 2 --json

        dfltheory falsify mine.toml

        dfltheory falsify my_theorems.py:mine

        dfltheory falsify --show dfedsam.theorem_4_5:printed

        dfltheory falsify --replay counterexample-dfedsam.theorem_4_5-printed.json

        dfltheory falsify --replay counterexample-dfedsam.theorem_4_5-printed.json
        --exact

        dfltheory falsify --simplify counterexample-dfedsam.theorem_4_5-printed.json

        dfltheory falsify my_theorems.py:mine --replay counterexample-mine-printed.json
    """
    if candidates is not None and on_the_line(context, "seconds"):
        raise InputError(
            "--seconds and --candidates are alternative budgets: omit one of them"
        )
    if exact and replay is None:
        raise InputError("--exact checks a saved counterexample: add --replay FILE")
    whole_number("seed", seed, 0)
    if show is not None:
        _check_show((key, variant, replay, simplify, control, out))
        show_stored(show, as_json)
    elif simplify is not None:
        _check_simplify(replay, control)
        simplify_file(simplify, _loaded(key, variant, trust), out, as_json)
    elif replay is not None:
        _check_replay(key, control, out)
        work = _replay_exactly if exact else _replay
        work(replay, _loaded(key, variant, trust), as_json)
    else:
        theorem = _loaded(key, variant, trust)
        if theorem is None:
            raise InputError(
                "the theorem is missing: name its key (`dfltheory bound` lists all),"
                " FILE.toml or FILE.py:NAME, or add --replay FILE"
            )
        if control is not None:
            theorem = _control(theorem, control)
        budget = _Budget(seconds, candidates, seed, enough)
        _search(context, theorem, budget, out, as_json)


def _loaded(key: str | None, variant: str | None, trust: bool) -> Theorem | None:
    """Return the statement of the command; None without a key."""
    from dfltheory.bounds.reference import load

    return None if key is None else load(key, variant, trust=trust)


def _check_show(others: Sequence[object]) -> None:
    """Raise InputError if another argument or option is given with --show."""
    if any(given is not None for given in others):
        raise InputError(
            "--show KEY[:VARIANT] prints a stored counterexample: omit the theorem,"
            " --variant, --replay, --simplify, --control and --out"
        )


def _check_simplify(replay: Path | None, control: str | None) -> None:
    """Raise InputError if a conflicting option is given with --simplify."""
    if replay is not None:
        raise InputError("--simplify and --replay cannot be combined: run two commands")
    if control is not None:
        raise InputError(
            f"--control {control} applies to a search: omit it with --simplify, whose"
            " file names its statement"
        )


class _Budget(NamedTuple):
    """The limits of a search."""

    seconds: float
    candidates: int | None
    seed: int
    enough: float


def _check_replay(key: str | None, control: str | None, out: Path | None) -> None:
    """Check that no conflicting option is given with --replay.

    Raises
    ------
    InputError
        A registered key, a control or an output is given.
    """
    from dfltheory.bounds.reference import is_registered_key

    if control is not None:
        raise InputError("--control applies to a search: omit it with --replay")
    if key is not None and is_registered_key(key):
        raise InputError(
            f"{key} cannot be combined with --replay, whose file names its theorem:"
            " omit the key. Only a theorem of your own is named with --replay, as"
            " FILE.toml or FILE.py:NAME"
        )
    if out is not None:
        raise InputError(f"--replay writes no file: omit --out {out}")


def _search(
    context: typer.Context,
    theorem: Theorem,
    budget: _Budget,
    out: Path | None,
    as_json: bool,
) -> None:
    """Search, and write what was found; exit status 1 if it refutes the statement."""
    from dfltheory.counterexamples import falsify

    file = out or Path(f"counterexample-{theorem.key}-{theorem.variant}.json")
    check_writable(file)
    context.with_resource(alone(file))
    with (
        keeping("no counterexample so far; nothing is written"),
        reported("search") as update,
    ):
        finding = falsify(theorem, **budget._asdict(), progress=search_progress(update))
    is_hit = finding.violated or finding.growing
    document = finding.to_dict() | {"file": str(file) if is_hit else None}
    warnings = [] if is_hit else _warnings(theorem)
    emit(document, partial(_print, finding, warnings), as_json)
    if not is_hit:
        return
    _save(finding, file, document, as_json)
    seconds, checks = min(budget.seconds, AUTOMATIC), math.inf
    if budget.candidates is not None:
        seconds, checks = AUTOMATIC, float(budget.candidates)
    simplify_hit(finding, file, seconds, checks, as_json)
    if not as_json:
        print(f"{_describe_contents(finding)}: {file}")
    exit_unless(not finding.violated)


def _warnings(theorem: Theorem) -> list[str]:
    """Return what a statement that is not registered leaves open about its runs."""
    from dfltheory.bounds import registry
    from dfltheory.bounds.unstated import unstated

    if registry.known(theorem.key, theorem.variant):
        return []
    return unstated(theorem)


def _describe_contents(finding: Finding) -> str:
    """Return what the file of a finding contains."""
    return "family of problems" if finding.growing else "counterexample"


def _replay(file: Path, theorem: Theorem | None, as_json: bool) -> None:
    """Run a saved counterexample again; status 1 if it refutes, 2 if undecided."""
    from dfltheory.counterexamples import replay

    finding = replay(file, theorem)
    emit(finding.to_dict() | {"file": str(file)}, partial(_print, finding), as_json)
    if not as_json:
        print(f"{_describe_contents(finding)}: {file}")
    if finding.undecided:
        raise typer.Exit(2)
    exit_unless(not finding.violated)


def _control(theorem: Theorem, name: str) -> Theorem:
    """Return the negative control of a statement with this name."""
    from dfltheory.errors import checked_name
    from dfltheory.experiments.negative_controls import negative_controls

    controls = {control.name: control.theorem for control in negative_controls(theorem)}
    checked_name(f"negative control of {theorem}", name, controls)
    return controls[name]


def _replay_exactly(file: Path, given: Theorem | None, as_json: bool) -> None:
    """Print both sides of a saved counterexample as fractions.

    Exit status 1 if the left one is larger.
    """
    from dfltheory.counterexamples.digits import all_digits
    from dfltheory.counterexamples.rational import verify_rationally
    from dfltheory.counterexamples.saved import instance_of

    instance, theorem = instance_of(file, given)
    comparison = verify_rationally(instance, theorem)
    fields = {name: all_digits(value) for name, value in comparison.values.items()}
    sides = {
        "left": all_digits(comparison.left),
        "right": all_digits(comparison.right),
        "refuted": comparison.left > comparison.right,
    }
    document = sides | {"why": comparison.why, "values": fields}
    emit(document, str(comparison), as_json)
    exit_unless(comparison.left <= comparison.right)


def _save(
    finding: Finding, file: Path, document: Mapping[str, object], as_json: bool
) -> None:
    """Write the counterexample, or print it if writing fails.

    The printed document can be copied to a file for --replay.
    """
    try:
        finding.save(file)
    except (OSError, DFLTheoryError, KeyboardInterrupt):
        if not as_json:  # else the document contains it
            emit(document, "", as_json=True)
        raise


def _best_first(family: tuple[str, dict[str, float]]) -> float:
    """Return a key that sorts families by ratio in descending order.

    Families without a ratio are last.
    """
    ratio = family[1]["ratio"]
    return math.inf if math.isnan(ratio) else -ratio


def _by_reason(refused: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the families without candidates, by reason."""
    families: dict[str, list[str]] = {}
    for name, reason in refused.items():
        families.setdefault(reason, []).append(name)
    return families


def _print(finding: Finding, warnings: Sequence[str] = ()) -> None:
    """Print a finding with tables of its families and conditions, then warnings."""
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, soft_wrap=True)
    console.print(str(finding), markup=False)
    if finding.families:
        from dfltheory.counterexamples.finding import shown_ratio

        table = Table("family", "best measured/bound", "candidates")
        for name, row in sorted(finding.families.items(), key=_best_first):
            table.add_row(name, shown_ratio(row["ratio"]), f"{row['evaluations']:.0f}")
        console.print(table)
    if finding.refused:
        console.print("families without candidates:")
        for reason, names in _by_reason(finding.refused).items():
            console.print(f"  {reason}: {', '.join(names)}", markup=False)
    conditions = () if finding.certificate is None else finding.certificate.conditions
    for condition in conditions:
        console.print(
            f"condition {condition['condition']}: slack {condition['slack']:.3g}",
            markup=False,
        )
    for warning in warnings:
        console.print(f"warning: {warning}", markup=False)
