"""What is refused before anything runs: unknown names and options, wrong types and ranges, missing parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfltheory.analysis.config.options import REQUIRED, fits, options_of
from dfltheory.analysis.config.plan import Experiment, short
from dfltheory.errors import DFLTheoryError, InputError, UnknownNameError


def check(cell: Experiment) -> None:
    """Names, options, types and ranges of one experiment; building the task is left for later."""
    at = cell.where
    _check_options(at, "task", cell.task.name, cell.task.options)
    _check_options(at, "algorithm", cell.algorithm.name, cell.algorithm.options)
    scheduled = _check_theorem(cell)
    _check_algorithm(cell, scheduled)
    _check_topology(cell)


def _named(at: str, section: str, error: UnknownNameError) -> UnknownNameError:
    """The same error, with the file and the section before it."""
    located = UnknownNameError.__new__(UnknownNameError)
    DFLTheoryError.__init__(located, f"{at}: [{section}]: {error}")
    return located


def _check_options(at: str, section: str, name: str, given: Mapping[str, Any]) -> None:
    try:
        known = options_of(section, name)
        for option in given:
            if option not in known:
                raise UnknownNameError(f"option of the {section} {name}", option, set(known))
    except UnknownNameError as error:
        raise _named(at, section, error) from None
    for option, value in given.items():
        if not fits(value, known[option].hint):
            raise InputError(
                f"{at}: {section}.{option} = {short(value)!r} must be {known[option].type_words}"
            )
    missing = [n for n, o in known.items() if o.default is REQUIRED and n not in given]
    if missing and section != "algorithm":
        raise InputError(f"{at}: [{section}] lacks {', '.join(missing)}, which {name} needs")


def _check_theorem(cell: Experiment) -> set[str]:
    """The fields of the algorithm that the statement's schedule may fill."""
    asked = cell.theorem
    if asked is None:
        return set()
    from dfltheory import bounds

    try:
        known = bounds.variants(asked.key)
        for variant in asked.variants or ():
            bounds.get(asked.key, variant)
    except UnknownNameError as error:
        raise _named(cell.where, "theorem", error) from None
    from dfltheory.analysis.statistics import checked_method

    try:
        checked_method(asked.method, cell.run.seeds)
    except InputError as error:
        raise InputError(f"{cell.where}: theorem.method, run.seeds: {error}") from None
    if not asked.schedule:
        return set()
    schedule = bounds.get(asked.key, (asked.variants or known)[0]).schedule
    if not schedule:
        raise InputError(f"{cell.where}: {asked.key} has no schedule: give the step sizes under [algorithm]")
    from dfltheory import algorithms
    from dfltheory.analysis.schedule import letters_of

    return set(letters_of(algorithms.get(cell.algorithm.name), dict.fromkeys(schedule, 1)))


def _check_algorithm(cell: Experiment, scheduled: set[str]) -> None:
    from dfltheory import algorithms

    name, given = cell.algorithm.name, dict(cell.algorithm.options)
    known = options_of("algorithm", name)
    missing = [n for n, o in known.items() if o.default is REQUIRED and n not in given]
    lacking = [n for n in missing if n not in scheduled]
    if lacking:
        hint = "" if scheduled or cell.theorem is None else ", or set theorem.schedule = true"
        raise InputError(f"{cell.where}: [algorithm] lacks {', '.join(lacking)}, which {name} needs{hint}")
    # ranges are the algorithm's own business; what the schedule will fill stands in as a small number
    try:
        algorithms.get(name)(**given, **dict.fromkeys(missing, 1e-3))
    except DFLTheoryError as error:
        raise InputError(f"{cell.where}: [algorithm]: {error}") from None


def _check_topology(cell: Experiment) -> None:
    from dfltheory import algorithms, graphs

    asked, at = cell.topology, cell.where
    if asked is None:
        if algorithms.get(cell.algorithm.name).needs_topology:
            raise InputError(f"{at}: {cell.algorithm.name} needs a [topology]: give its name or file")
        return
    if (asked.name is None) == (asked.file is None):
        raise InputError(
            f"{at}: [topology] needs one of name and file, not {'both' if asked.name else 'neither'}"
        )
    if asked.weights is not None and asked.weights.replace("-", "_") not in graphs.WEIGHT_RULES:
        error = UnknownNameError("weight rule", asked.weights, set(graphs.WEIGHT_RULES))
        raise _named(at, "topology", error)
    if asked.name is not None:
        _check_options(at, "topology", asked.name, asked.options)
    elif asked.options:
        raise UnknownNameError(
            f"field of [topology] with a file in {at}", next(iter(asked.options)), {"file", "weights"}
        )
    elif not (cell.folder / str(asked.file)).is_file():
        raise InputError(f"{at}: topology.file = {asked.file!r} is not a file beside the experiment file")


__all__ = ["check"]
