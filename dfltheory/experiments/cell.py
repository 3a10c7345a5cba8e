"""One cell of an experiment file.

A cell is a checked document with its instance, and with the statement to test it
against.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from dfltheory.bounds.theorem import Theorem
from dfltheory.documents import short_text as quoted
from dfltheory.errors import InputError
from dfltheory.experiments.cases import Case, variants_of
from dfltheory.files import json_value
from dfltheory.graphs.matrices import to_dense
from dfltheory.identity import value_digest
from dfltheory.own import Trust
from dfltheory.problems import located
from dfltheory.randomness import RANDOM_FORMAT
from dfltheory.training.document import SECTIONS, short_label
from dfltheory.training.instance import Instance
from dfltheory.training.options import Option, builder, options_of, standard_name
from dfltheory.training.sections import make_network, references
from dfltheory.verdicts.admissible_steps import (
    chosen_steps,
    scheduling,
    supplied_names,
)
from dfltheory.verdicts.hyperparameters import hyperparameter_fields
from dfltheory.verdicts.schedule import scheduled_hyperparameters

RECORDED_CLIENTS = 256
"""Largest network in a file whose matrix is copied into the records of cells."""


Section = dict[str, Any]
"""Fields of a section, checked by its pydantic model."""


@dataclass(frozen=True)
class Cell:
    """One run of an experiment file.

    Attributes
    ----------
    source : str
        Name of the file.
    title : str
        Title of the experiment.
    sections : mapping
        The checked sections with their defaults.
    folder : Path
        Base of relative paths in the document.
    settings : mapping
        Values that ``[sweep]`` sets in this cell, by dotted field; empty without a
        sweep.
    trust : bool or set of str
        Which code that the document names may be imported.
    is_only : bool
        Whether the experiment has no other cell.
    """

    source: str
    title: str
    sections: Mapping[str, Section]
    folder: Path = Path()
    settings: Mapping[str, object] = field(default_factory=dict)
    trust: Trust = False
    is_only: bool = False

    def __getitem__(self, section: str) -> Section:
        """Return a section with its defaults; an empty table if it is missing."""
        return self.sections.get(section, {})

    @property
    def references(self) -> dict[str, str]:
        """The code that the cell refers to, by dotted field.

        References have the form MODULE:NAME or FILE.py:NAME.
        """
        return references(self.sections)

    @property
    def key(self) -> str:
        """Identifier of the cell in a sweep.

        It is a hash of :meth:`document` and of the format of random numbers, so that
        results of different formats are never mixed.
        """
        return value_digest({"random_format": RANDOM_FORMAT, **self.document()})

    @property
    def label(self) -> str:
        """The settings of the cell as text, or the title."""
        return (
            ", ".join(
                f"{name} = {short_label(value)}"
                for name, value in self.settings.items()
            )
            or self.title
        )

    @property
    def where(self) -> str:
        """The file, and which of several cells it is, for error messages."""
        if self.is_only or not self.settings:
            return self.source
        return f"{self.source} ({self.label})" if self.source else self.label

    @property
    def theorems(self) -> list[Theorem]:
        """The variants of the statement that the run is tested against.

        The list is empty without ``[theorem]``.
        """
        theorem = self["theorem"]
        return (
            list(variants_of(theorem["key"], theorem.get("variants")))
            if theorem
            else []
        )

    @cached_property
    def scheduled(self) -> set[str]:
        """The hyperparameters that the statement's schedule supplies.

        If the statement has no schedule, they are its step sizes, unless
        ``theorem.steps`` is "schedule".
        """
        theorem = self["theorem"]
        if not theorem.get("schedule"):
            return set()
        kind = builder("algorithm", self["algorithm"]["name"])
        supplied = supplied_names(self.theorems, theorem.get("steps", "schedule"))
        return set(hyperparameter_fields(kind, dict.fromkeys(supplied, 1)))

    def instance(self) -> Instance:
        """Return task, algorithm and network as objects.

        Step sizes follow from the schedule if the file asks for it.

        Raises
        ------
        InputError
            A part cannot be built, or the schedule lacks a constant.
        """
        parts = {
            title: self.sections[title] for title in SECTIONS if title in self.sections
        }
        algorithm = parts["algorithm"]
        known = options_of("algorithm", algorithm["name"])
        missing = [name for name in sorted(self.scheduled) if name not in algorithm]
        placeholders = {name: known[name].placeholder for name in missing}
        parts["algorithm"] = placeholders | algorithm
        with located(self.where):
            instance = Instance.of(parts, self.where, self.folder, own=self.trust)
            return (
                self._on_schedule(instance, set(placeholders))
                if placeholders
                else instance
            )

    def _on_schedule(self, instance: Instance, lacking: set[str]) -> Instance:
        """Return the instance with the scheduled values of missing hyperparameters."""
        algorithm = instance.algorithm
        known = algorithm.theory_values()
        for name in lacking:
            known.pop(algorithm.glossary.get(name, name), None)
        known |= self["theorem"]["constants"]
        try:
            schedule = scheduling(self.theorems)
            task, network = instance.task, instance.network
            steps = scheduled_hyperparameters(
                schedule, task, instance.rounds, known, network
            )
            all_values = {
                "rho0": 1.0,
                **task.constants.known(),
                **known,
                "m": task.m,
                "T": instance.rounds,
            }
            which = self["theorem"]["steps"]
            steps = chosen_steps(self.theorems, steps, all_values, network, which)
        except InputError as error:
            raise InputError(f"{error} under [theorem.constants]") from error
        values = hyperparameter_fields(type(algorithm), steps)
        unknown = sorted(lacking - set(values))
        if unknown:
            raise InputError(
                f"no value of algorithm.{unknown[0]} follows from"
                f" {self['theorem']['key']} on this task (its L is not known): set it"
            )
        scheduled = {name: values[name] for name in lacking}
        return replace(instance, algorithm=replace(algorithm, **scheduled))

    def case(self, group: str = "", row: str = "", column: str = "") -> Case:
        """Return the cell as a case of a study.

        Without ``[theorem]`` the case has no statement.
        """
        theorem = self["theorem"]
        return Case(
            instance=self.instance(),
            group=group or self.title,
            row=row,
            column=column,
            key=theorem.get("key", ""),
            variants=tuple(variant.variant for variant in self.theorems),
            constants=theorem.get("constants", {}),
            confidence=theorem.get("confidence", 0.95),
            method=theorem.get("method", "student"),
        )

    def document(self) -> dict[str, Section]:
        """Return the full configuration with defaults, as JSON-compatible data.

        It is a self-contained experiment: small matrices are copied from their files.
        Code is identified by the digest of its source, and is rejected if it has
        changed.
        """
        document = {
            title: self._recorded(title, table)
            for title, table in self.sections.items()
        }
        if "theorem" in document:
            document["theorem"]["variants"] = [
                theorem.variant for theorem in self.theorems
            ]
            if document["theorem"].get("steps") == "schedule":
                # the default must not change the hashes of cells
                document["theorem"].pop("steps")
        return json_value(document)

    def _recorded(self, title: str, table: Section) -> Section:
        """Return one section as it is stored in the record of the cell."""
        if "file" in table:
            return self._network_of_file(table)
        if "name" not in table:
            return dict(table)
        name = table["name"]
        defaults = {
            option: about.default
            for option, about in self._with_default(title, name).items()
        }
        recorded = {**defaults, **table, "name": standard_name(title, name)}
        recorded.pop("data_root", None)  # the location of the images does not matter
        if ":" in name:
            recorded["code"] = value_digest(builder(title, name))
        return recorded

    def _with_default(self, title: str, name: str) -> dict[str, Option]:
        """Return options with a default that no schedule supplies."""
        scheduled = self.scheduled if title == "algorithm" else set()
        return {
            option: about
            for option, about in options_of(title, name).items()
            if not about.required and option not in scheduled
        }

    def _network_of_file(self, table: Section) -> Section:
        """Return the recorded [topology] of a network in a file.

        It contains the matrix, or the digest of the file if the matrix is large or
        invalid. The run of the cell reports an invalid file.
        """
        digest = hashlib.sha256((self.folder / table["file"]).read_bytes()).hexdigest()
        by_digest = {**table, "file": digest}
        try:
            network = make_network(table, 0, self.folder)
        except InputError:
            return by_digest
        if network.m is None or network.m > RECORDED_CLIENTS:
            return by_digest
        return {"matrix": to_dense(network.W).tolist()}


def check_code(document: dict[str, object], where: str, force: bool) -> None:
    """Compare recorded digests of code with the current code, and remove them.

    The digests are removed from ``document``.

    Raises
    ------
    InputError
        The code of ``SECTION.name`` has another digest than ``SECTION.code``, and
        ``force`` is false.
    """
    for section in ("task", "algorithm"):
        table = document.get(section)
        if not (
            isinstance(table, dict)
            and "code" in table
            and ":" in str(table.get("name", ""))
        ):
            continue
        if "code" in options_of(section, table["name"]):
            continue
        recorded = table["code"]
        digest = value_digest(builder(section, table["name"]))
        if recorded != digest and not force:
            raise InputError(
                f"{where}: {section}.code = {quoted(recorded)}, but the source of"
                f" {table['name']} has the digest {digest}: restore that source, or run"
                " the present one with force=True (--force)"
            )
        document[section] = {
            name: value for name, value in table.items() if name != "code"
        }


__all__ = ["RECORDED_CLIENTS", "Cell", "check_code"]
