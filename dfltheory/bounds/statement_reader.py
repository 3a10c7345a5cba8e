"""One statement of a theorem file: texts to formulas, tables to a theorem."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import sympy as sp

from dfltheory.bounds.algorithm_names import ONE_STEP
from dfltheory.bounds.clauses import Condition, Definition, symbol_names
from dfltheory.bounds.comparisons import comparison_conditions
from dfltheory.bounds.computed import in_order, read_computation
from dfltheory.bounds.expansion import check_expansion, formulas_of
from dfltheory.bounds.file_reader import CODE, FileReader, KeyPath
from dfltheory.bounds.formula_writer import name_in_latex
from dfltheory.bounds.formulas import read_comparison
from dfltheory.bounds.left_side_reader import LeftSideReader
from dfltheory.bounds.numeric_functions import numeric_function
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.part_reader import PartReader
from dfltheory.bounds.plain_tables import plain_table
from dfltheory.bounds.proof_steps import (
    ProofStep,
    read_claim,
    step_problems,
)
from dfltheory.bounds.quantity import Quantity
from dfltheory.bounds.real_numbers import sign_of, signed_symbol
from dfltheory.bounds.scope import LAWS, Scope
from dfltheory.bounds.symbols import with_quantities
from dfltheory.bounds.theorem import Theorem
from dfltheory.bounds.units import Expr
from dfltheory.problems import Problems

if TYPE_CHECKING:  # the data models are slow to import
    from dfltheory.bounds.theorem_models import (
        DefinitionTable,
        ScopeTable,
        StatementTable,
        StepTable,
    )

EXACT_GRADIENTS = "exact gradients"
"""Name of the condition sigma_l = 0, which ``noise = "none"`` adds."""

_WORDS = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class StatementReader(PartReader):
    """Reads one statement of a file.

    Parameters
    ----------
    file : the file
    number : index of the statement in the file
    table : its table
    quantities : those that the file adds to the glossary
    paper : the source of the file
    """

    def __init__(
        self,
        file: FileReader,
        number: int,
        table: StatementTable,
        quantities: tuple[Quantity, ...],
        paper: Paper,
    ):
        symbols: dict[str, Expr] = {
            name: quantity.symbol
            for name, quantity in with_quantities(quantities).items()
        }
        super().__init__(file, ("statement", number), symbols)
        self._table = table
        self._quantities = quantities
        self._paper = paper
        self._problems = Problems()
        self._known: dict[sp.Symbol, Expr] = {}

    def theorem(self, parent: tuple[str, str] | None) -> Theorem:
        """Return the statement.

        ``parent`` is key and variant of the statement from which it is derived.

        Raises
        ------
        InputError
            The message has a line for each problem of the statement.
        """
        table, problems = self._table, self._problems
        definitions = self._definitions()
        self._known = {definition.symbol: definition.expr for definition in definitions}
        parts = self._formulas("terms", table.terms)
        conditions = self._conditions()
        schedule = self._formulas("schedule", table.schedule)
        used = self._used_quantities(definitions, parts, conditions, schedule)
        with problems.collecting():
            self._check_size(definitions, parts, conditions, schedule)
        with problems.collecting():
            left = LeftSideReader(
                self._file,
                self._path,
                table.left,
                ONE_STEP.issuperset(table.scope.algorithms),
                self._symbols,
                self._known,
            ).left_side()
        with problems.collecting():
            scope = self._scope(table.scope, used)
        steps = self._steps(sp.Add(*parts.values()))
        problems.raise_any()
        return self._reading(
            (),
            None,
            Theorem,
            key=table.key,
            variant=table.variant,
            kind=table.kind,
            title=table.title,
            source=table.source,
            lhs=left,
            parts=parts,
            scope=scope,
            definitions=definitions,
            conditions=conditions,
            assumptions=tuple(table.assumptions),
            schedule=schedule,
            order=table.kind == "rate" if table.order is None else table.order,
            of=parent,
            remark=table.remark,
            quantities=used,
            control=table.control,
            steps=steps,
            moments=dict(table.moments),
        )

    def _formulas(self, section: str, texts: Mapping[str, str]) -> dict[str, Expr]:
        """Return the formulas of a table by name; problems are recorded."""
        formulas: dict[str, Expr] = {}
        for name, text in texts.items():
            with self._problems.collecting():
                formulas[name] = self._formula((section, name), text)
        return formulas

    # -- definitions

    def _definitions(self) -> tuple[Definition, ...]:
        """Return the definitions, each after those that it contains.

        Their symbols become known.
        """
        tables = {
            name: plain_table("definition", {"formula": entry})
            if isinstance(entry, str)
            else entry
            for name, entry in self._table.definitions.items()
        }
        for name in [name for name in tables if name in self._symbols]:
            message = f"{name} is a quantity already: choose another name"
            path = (*self._path, "definitions", name)
            self._problems.add(self._file.problem(path, message))
            del tables[name]
        definitions: dict[str, Definition] = {}
        for name in tables:
            self._define(name, tables, definitions, ())
        return tuple(definitions.values())

    def _define(
        self,
        name: str,
        tables: Mapping[str, DefinitionTable | SimpleNamespace],
        definitions: dict[str, Definition],
        within: tuple[str, ...],
    ) -> None:
        """Add one definition to ``definitions``, after those that it contains.

        ``within`` are the definitions that lead to this one. The symbol of an invalid
        definition becomes known, too, so that formulas that contain it are read.
        """
        if name in self._symbols:
            return
        if name in within:
            cycle = " -> ".join((*within[within.index(name) :], name))
            self._file.stop(
                (*self._path, "definitions", name),
                f"the definitions contain each other: {cycle}",
            )
        with self._problems.collecting():
            for word in dict.fromkeys(_WORDS.findall(tables[name].formula)):
                if word in tables:
                    self._define(word, tables, definitions, (*within, name))
            definitions[name] = self._definition(name, tables[name])
        if name in definitions:
            self._symbols[name] = definitions[name].symbol
        else:
            self._symbols[name] = signed_symbol(name, "positive")

    def _definition(
        self, name: str, table: DefinitionTable | SimpleNamespace
    ) -> Definition:
        """Return one definition; those that it contains are known."""
        path = ("definitions", name)
        expression = self._formula(path, table.formula)
        symbol = signed_symbol(name, table.sign or sign_of(expression))
        numeric = None
        takes: tuple[str, ...] = ()
        if table.function is not None:
            place = (*path, "function")
            numeric, takes = self._reading(
                place, None, numeric_function, str(table.function)
            )
        return Definition(
            symbol,
            expression,
            table.latex or name_in_latex(name),
            table.meaning,
            takes,
            numeric,
        )

    # -- conditions

    def _conditions(self) -> tuple[Condition, ...]:
        """Return the conditions, and sigma_l = 0 if gradients are exact."""
        conditions: list[Condition] = []
        for name, text in self._table.conditions.items():
            place = ("conditions", name)
            with self._problems.collecting():
                comparison = self._reading(
                    place, text, read_comparison, text, self._symbols
                )
                conditions += self._reading(
                    place, text, comparison_conditions, name, *comparison
                )
        if self._table.scope.noise == "none":
            (exact,) = comparison_conditions(
                EXACT_GRADIENTS, self._symbols["sigma_l"], "==", sp.S.Zero
            )
            stated = [(c.left, c.right) for c in conditions]
            if (exact.left, exact.right) not in stated:
                conditions.append(exact)
        return tuple(conditions)

    def _check_size(
        self,
        definitions: tuple[Definition, ...],
        parts: Mapping[str, Expr],
        conditions: tuple[Condition, ...],
        schedule: Mapping[str, Expr],
    ) -> None:
        formulas = formulas_of(parts, conditions, schedule)
        self._reading((), None, check_expansion, definitions, formulas)

    def _used_quantities(
        self,
        definitions: tuple[Definition, ...],
        parts: Mapping[str, Expr],
        conditions: tuple[Condition, ...],
        schedule: Mapping[str, Expr],
    ) -> tuple[Quantity, ...]:
        """Return the file's quantities that the statement contains."""
        formulas = [*(d.expr for d in definitions), *parts.values(), *schedule.values()]
        formulas += [side for c in conditions for side in (c.left, c.right)]
        names = symbol_names(formulas)
        for step in self._table.steps:
            names.update(_WORDS.findall(step.claim))
        names.update(self._table.left.constants)
        added_names = frozenset(q.name for q in self._quantities)
        for quantity in reversed(in_order(self._quantities)):
            if quantity.name in names:
                names |= read_computation(str(quantity.of), added_names).needs
        return tuple(q for q in self._quantities if q.name in names)

    # -- steps of the proof

    def _steps(self, bound: Expr) -> tuple[ProofStep, ...]:
        """Return the declared steps.

        Each claim is read, so that problems have their place.
        """
        table = self._table
        steps = tuple(map(_step_of_table, table.steps))
        for index, field, message in step_problems(steps, table.moments, self._symbols):
            place = ("moments",) if index is None else ("steps", index)
            path = (*self._path, *place, field)
            self._problems.add(self._file.problem(path, message))
        for index, step in enumerate(steps):
            with self._problems.collecting():
                self._reading(
                    ("steps", index, "claim"),
                    step.claim,
                    read_claim,
                    step.claim,
                    self._symbols,
                    table.moments,
                    bound,
                )
        return steps

    # -- scope

    def _scope(self, table: ScopeTable, used: tuple[Quantity, ...]) -> Scope:
        algorithms = tuple(
            self._named(("scope", "algorithms"), name) for name in table.algorithms
        )
        network: Any = table.network
        if network not in LAWS:
            network = self._named(("scope", "network"), network)
        known = with_quantities(used)
        notation = {
            name: latex for name, latex in self._paper.notation.items() if name in known
        }
        if self._table.notation is not None:
            notation = self._table.notation
        return self._reading(
            ("scope",),
            None,
            Scope,
            algorithms=algorithms,
            network=network,
            sequence=tuple(table.sequence),
            common_start=table.common_start,
            participation=table.participation,
            bounded_gradients=table.bounded_gradients,
            two_blocks=table.blocks == 2,
            samplewise=table.noise != "clients",
            push_sum=table.push_sum,
            hyperparameters=table.hyperparameters,
            notation=notation,
        )

    def _named(self, path: KeyPath, name: str) -> Any:
        """Return a name as it is, or the object that ``FILE.py:NAME`` names."""
        if CODE.fullmatch(name):
            return self._file.code((*self._path, *path), name)
        if ":" in name:
            self._file.stop(
                (*self._path, *path),
                f"{name!r:.60} names code: write it as FILE.py:NAME",
            )
        return name


def _step_of_table(table: StepTable) -> ProofStep:
    by = (table.by,) if isinstance(table.by, str) else tuple(table.by)
    return ProofStep(table.claim, tuple(table.from_), by, table.name)


def parent_of(
    table: StatementTable, others: list[StatementTable]
) -> tuple[str, str] | None:
    """Return key and variant of the statement that the field ``of`` names.

    If it names no variant, the first one in ``others`` is meant, or ``stated`` if the
    file does not contain the statement.
    """
    if table.of is None:
        return None
    key, _, variant = table.of.partition(":")
    known = [other.variant for other in others if other.key == key]
    return key, variant or next(iter(known), "stated")


__all__ = ["StatementReader", "parent_of"]
