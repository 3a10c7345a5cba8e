"""Theorem files: TOML text to theorems.

The format is that of :mod:`dfltheory.bounds.theorem_models`. Nothing of a file is run, unless the caller
trusts it and it names code as ``FILE.py:NAME``. Every error names the file, the line and the column.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy as sp

from dfltheory.bounds.clauses import Condition, Definition, LeftSide
from dfltheory.bounds.comparisons import conditions_of
from dfltheory.bounds.expansion import check_expansion, formulas_of
from dfltheory.bounds.file_positions import FilePositions
from dfltheory.bounds.formulas import FormulaError, read_comparison, read_formula
from dfltheory.bounds.measures import BLOCK_FACTORS, MEASURES
from dfltheory.bounds.numeric_functions import numeric_function
from dfltheory.bounds.paper import Paper
from dfltheory.bounds.plain_tables import plain_file, plain_table
from dfltheory.bounds.scope import LAWS, Scope
from dfltheory.bounds.symbols import Quantity, checked_new, with_quantities
from dfltheory.bounds.theorem import ProofStep, Theorem
from dfltheory.bounds.unit_text import read_range, read_unit
from dfltheory.bounds.units import Expr
from dfltheory.errors import DFLTheoryError, InputError
from dfltheory.own import Trust, own, require_trust

if TYPE_CHECKING:
    from pydantic import ValidationError

    from dfltheory.bounds.theorem_models import (
        DefinitionTable,
        FileTables,
        LeftTable,
        QuantityTable,
        ScopeTable,
        StatementTable,
    )

LARGEST = 250_000
"""Most bytes of a theorem file."""
DEEPEST_KEY = 10
"""Most dots in a line, and most brackets that are open, both outside of texts."""
EXACT_GRADIENTS = "exact gradients"
"""Name of the condition sigma_l = 0, which ``noise = "none"`` adds."""

_QUOTED = re.compile(r'"""[\s\S]*?"""|' r"'''[\s\S]*?'''|" r'"[^"\n]*"|' r"'[^'\n]*'|#[^\n]*")
_CODE = re.compile(r".+\.py:[A-Za-z_][\w.]*")
_WORDS = re.compile(r"[A-Za-z_]\w*", re.ASCII)

Path_ = tuple[str | int, ...]


@dataclass(frozen=True)
class TheoremFile:
    """The statements of one file, and what it says of their source once."""

    paper: Paper
    theorems: tuple[Theorem, ...]


def read_theorem_file(path: str | Path, *, trust: Trust = False) -> TheoremFile:
    """The statements of a theorem file.

    Parameters
    ----------
    path : a TOML file
    trust : may the file name code as ``FILE.py:NAME``? It is imported, and so it runs

    Raises
    ------
    InputError
        The file cannot be read, or is no theorem file: one line with the file, the line and the column.
    """
    path = Path(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as wrong:
        raise InputError(f"{path} cannot be read: {wrong.strerror or wrong}") from None
    if len(data) > LARGEST:
        raise InputError(f"{path} has more than {LARGEST} bytes: a theorem file is smaller")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as wrong:
        raise InputError(
            f"{path} is not text in UTF-8: byte {wrong.start} is {data[wrong.start]:#x}"
        ) from None
    return read_theorems(text, str(path), path.parent, trust=trust)


def read_theorems(text: str, name: str, folder: Path | None = None, *, trust: Trust = False) -> TheoremFile:
    """The statements of the text of a theorem file.

    Parameters
    ----------
    text : TOML
    name : what messages call the file
    folder : what the paths of code in it are relative to; None: the working folder
    trust : see :func:`read_theorem_file`

    Raises
    ------
    InputError
        One line with the name, the line and the column.
    """
    return _Reader(text.replace("\r\n", "\n"), name, folder or Path(), trust).file()


def template() -> str:
    """A commented theorem file to start from."""
    return (Path(__file__).parent / "template.toml").read_text(encoding="utf-8")


class _Reader:
    """Reads one file."""

    limited = True
    """Are the sizes of formulas limited?"""

    def __init__(self, text: str, name: str, folder: Path, trust: Trust):
        self._text = text
        self._name = name
        self._folder = folder
        self._trust = trust
        self._positions = FilePositions(text)

    def file(self) -> TheoremFile:
        theorems: dict[tuple[str, str], Theorem] = {}
        for number, table in enumerate(self.tables.statement):
            named = (table.key, table.variant)
            if named in theorems:
                message = f"{table.key} ({table.variant}) is stated twice: give another variant"
                self.stop(("statement", number, "key"), message)
            theorems[named] = self.statement(number)
        return TheoremFile(self.paper, tuple(theorems.values()))

    @cached_property
    def tables(self) -> FileTables:
        return self._tables()

    @cached_property
    def paper(self) -> Paper:
        source = self.tables.source
        return Paper(source.title, source.citation, source.notation, source.provenance)

    @cached_property
    def _quantities(self) -> tuple[Quantity, ...]:
        return tuple(self._quantity(name, table) for name, table in self.tables.quantities.items())

    def statement(self, number: int) -> Theorem:
        """One statement of the file."""
        table = self.tables.statement[number]
        reader = _StatementReader(self, number, table, self._quantities, self.paper)
        return reader.theorem(_parent(table, self.tables.statement))

    def stop(self, path: Path_, message: object, value: object = None, offset: int = 0) -> Any:
        """Raise the one error of this file, with its place."""
        position = self._positions.of(path, value, offset)
        field = ".".join(str(part) for part in path if not isinstance(part, int))
        raise InputError(f"{self._name}, {position}: {field or 'file'}: {message}") from None

    def reading(self, path: Path_, value: object, read: Callable[[], Any]) -> Any:
        """What ``read`` returns; its errors get their place."""
        try:
            return read()
        except FormulaError as wrong:
            character = value[wrong.offset : wrong.offset + 1] if isinstance(value, str) else ""
            at = f" at {character!r}" if character else ""
            self.stop(path, f"{wrong}{at}", value, wrong.offset)
        except DFLTheoryError as wrong:
            self.stop(path, wrong, value)

    def _tables(self) -> FileTables:
        """The file as data models."""
        from pydantic import ValidationError  # slow to import, as are the models

        from dfltheory.bounds.theorem_models import FORMAT, FileTables

        if _depth(self._text) > DEEPEST_KEY:
            raise InputError(f"{self._name}: keys and lists are at most {DEEPEST_KEY} deep in a theorem file")
        try:
            document = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as wrong:
            raise InputError(f"{self._name} is not TOML: {wrong}") from None
        except (RecursionError, ValueError) as wrong:
            raise InputError(f"{self._name} is not TOML: {type(wrong).__name__}") from None
        version = document.get("format")
        if version != FORMAT or isinstance(version, bool):
            self.stop(
                ("format",),
                f"format = {version!r:.40} must be {FORMAT}, the version of the format of theorem files; an "
                "experiment file is given as --config FILE",
            )
        try:
            return FileTables.model_validate(document)
        except ValidationError as wrong:
            self._refuse(wrong)
            raise

    def _refuse(self, wrong: ValidationError) -> None:
        """The first error of pydantic as one of this file."""
        first = wrong.errors(include_url=False, include_context=False)[0]
        path = tuple(
            part
            for part in first["loc"]
            if part not in ("formula", "table", "[key]") or first["loc"][-1] == part
        )
        value = first.get("input")
        messages = {
            "missing": "this key is missing: give it",
            "extra_forbidden": "there is no such key in a theorem file",
        }
        message = messages.get(first["type"], first["msg"])
        shown = "" if isinstance(value, dict | list) or first["type"] in messages else f", not {value!r:.80}"
        self.stop(path, f"{message}{shown}")

    def _quantity(self, name: str, table: QuantityTable) -> Quantity:
        path = ("quantities", name)
        unit = self.reading((*path, "unit"), table.unit, lambda: read_unit(table.unit))
        interval = self.reading((*path, "range"), table.range, lambda: read_range(table.range))
        if table.of is not None and _CODE.fullmatch(table.of):
            of = self.code((*path, "of"), table.of)
        else:
            of = table.of
        neutral = None if table.neutral is None else float(table.neutral)
        quantity = Quantity(
            name=name,
            latex=table.latex or name,
            unit=unit,
            meaning=table.meaning,
            low=interval.low,
            high=interval.high,
            open_low=interval.open_low,
            open_high=interval.open_high,
            integer=table.integer,
            neutral=neutral,
            step=table.step,
            of=of,
        )
        self.reading(path, None, lambda: checked_new(quantity))
        return quantity

    def code(self, path: Path_, reference: str) -> Any:
        """What a trusted file names as ``FILE.py:NAME``, relative to the file."""

        def imported() -> Any:
            require_trust(reference, self._trust, str(path[-1]))
            return own(str(self._folder / reference))

        return self.reading(path, reference, imported)


class PackageFile(_Reader):
    """A theorem file of the package: its format is not checked, and its statements are read one by one.

    Parameters
    ----------
    path : the file
    """

    limited = False

    def __init__(self, path: Path):
        super().__init__(path.read_text(encoding="utf-8"), str(path), path.parent, trust=False)
        self._read: dict[int, Theorem] = {}

    def _tables(self) -> FileTables:
        return plain_file(tomllib.loads(self._text))

    @cached_property
    def numbers(self) -> Mapping[tuple[str, str], int]:
        """The place of each statement in the file, by key and variant."""
        return {(table.key, table.variant): n for n, table in enumerate(self.tables.statement)}

    def find(self, key: str, variant: str) -> Theorem | None:
        """One statement, or None."""
        number = self.numbers.get((key, variant))
        if number is None:
            return None
        if number not in self._read:
            self._read[number] = self.statement(number)
        return self._read[number]

    def theorems(self) -> tuple[Theorem, ...]:
        """All statements."""
        found = (self.find(*name) for name in self.numbers)
        return tuple(theorem for theorem in found if theorem is not None)


def _depth(text: str) -> int:
    """How deep the keys and the lists of a TOML text are at most; the reader of TOML has no limit."""
    bare = _QUOTED.sub("", text)
    deepest = max(line.count(".") for line in bare.split("\n"))
    opened = 0
    for character in re.findall(r"[\[\]{}]", bare):
        opened += 1 if character in "[{" else -1
        deepest = max(deepest, opened)
    return deepest


def with_parents(theorems: tuple[Theorem, ...]) -> tuple[Theorem, ...]:
    """The statements of a file, each with its parent as an object if that is in the same file.

    Statements that are derived from each other in a circle keep the names of their parents.
    """
    by_name = {(theorem.key, theorem.variant): theorem for theorem in theorems}
    linked: dict[tuple[str, str], Theorem] = {}
    for name in by_name:
        line = [name]
        while by_name[line[-1]].of in by_name and by_name[line[-1]].of not in line:
            line.append(by_name[line[-1]].of)  # type: ignore[arg-type]  # it is a key of by_name
        if by_name[line[-1]].of in by_name:
            continue
        for one in reversed(line):
            parent = by_name[one].of
            if one not in linked:
                linked[one] = replace(by_name[one], of=linked[parent]) if parent in linked else by_name[one]
    return tuple(linked.get(name, theorem) for name, theorem in by_name.items())


class _StatementReader:
    """Reads one statement of a file."""

    def __init__(
        self,
        file: _Reader,
        number: int,
        table: StatementTable,
        quantities: tuple[Quantity, ...],
        paper: Paper,
    ):
        self._file = file
        self._table = table
        self._path: Path_ = ("statement", number)
        self._quantities = quantities
        self._paper = paper
        self._known: dict[Any, Expr] = {}
        self._symbols: dict[str, Expr] = {
            name: quantity.symbol for name, quantity in with_quantities(quantities).items()
        }

    def theorem(self, parent: tuple[str, str] | None) -> Theorem:
        """The statement; ``parent`` is the name of the one from which it is derived."""
        table = self._table
        definitions = self._definitions()
        self._known = {definition.symbol: definition.expr for definition in definitions}
        parts = {name: self._formula(("terms", name), text) for name, text in table.terms.items()}
        conditions = self._conditions()
        schedule = {name: self._formula(("schedule", name), text) for name, text in table.schedule.items()}
        if self._file.limited:
            self._check_size(definitions, parts, conditions, schedule)
        used = self._used_quantities(definitions, parts, conditions, schedule)
        fields = {
            "key": table.key,
            "variant": table.variant,
            "kind": table.kind,
            "title": table.title,
            "source": table.source,
            "lhs": self._left(table.left),
            "parts": parts,
            "scope": self._scope(table.scope, used),
            "definitions": definitions,
            "conditions": conditions,
            "assumptions": tuple(table.assumptions),
            "schedule": schedule,
            "order": table.kind == "rate" if table.order is None else table.order,
            "of": parent,
            "remark": table.remark,
            "control": table.control,
            "steps": tuple(ProofStep(step.claim, tuple(step.from_), step.by) for step in table.steps),
        }
        return self._reading((), lambda: Theorem(quantities=used, **fields))

    def _reading(self, path: Path_, read: Callable[[], Any], value: object = None) -> Any:
        return self._file.reading((*self._path, *path), value, read)

    def _formula(self, path: Path_, text: str) -> Expr:
        return self._reading(path, lambda: read_formula(text, self._symbols), text)

    # -- definitions ------------------------------------------------------------------------------

    def _definitions(self) -> tuple[Definition, ...]:
        """The definitions, each after those that it contains; their symbols become known."""
        tables = {name: _as_table(entry) for name, entry in self._table.definitions.items()}
        for name in tables:
            if name in self._symbols:
                message = f"{name} is a quantity already: choose another name"
                self._file.stop((*self._path, "definitions", name), message)
        found: dict[str, Definition] = {}
        for name in tables:
            self._define(name, tables, found, ())
        return tuple(found.values())

    def _define(
        self,
        name: str,
        tables: Mapping[str, DefinitionTable],
        found: dict[str, Definition],
        within: tuple[str, ...],
    ) -> None:
        """Add one definition, after those that it contains."""
        if name in found:
            return
        path = ("definitions", name)
        table = tables[name]
        if name in within:
            cycle = " -> ".join((*within[within.index(name) :], name))
            self._file.stop((*self._path, *path), f"the definitions contain each other: {cycle}")
        for word in dict.fromkeys(_WORDS.findall(table.formula)):
            if word in tables:
                self._define(word, tables, found, (*within, name))
        expression = self._formula(path, table.formula)
        symbol = sp.Symbol(name, **{table.sign or _sign(expression): True})
        numeric = None
        takes: tuple[str, ...] = ()
        if table.function is not None:
            numeric, takes = self._reading((*path, "function"), lambda: numeric_function(str(table.function)))
        self._symbols[name] = symbol
        found[name] = Definition(symbol, expression, table.latex or name, table.meaning, takes, numeric)

    # -- conditions -------------------------------------------------------------------------------

    def _conditions(self) -> tuple[Condition, ...]:
        found: list[Condition] = []
        for name, text in self._table.conditions.items():
            found += self._reading(
                ("conditions", name),
                lambda n=name, t=text: conditions_of(n, *read_comparison(t, self._symbols)),
                text,
            )
        if self._table.scope.noise == "none":
            (exact,) = conditions_of(EXACT_GRADIENTS, self._symbols["sigma_l"], "==", sp.S.Zero)
            if not any((c.left, c.right) == (exact.left, exact.right) for c in found):
                found.append(exact)
        return tuple(found)

    def _check_size(
        self,
        definitions: tuple[Definition, ...],
        parts: Mapping[str, Expr],
        conditions: tuple[Condition, ...],
        schedule: Mapping[str, Expr],
    ) -> None:
        formulas = formulas_of(parts, conditions, schedule)
        self._reading((), lambda: check_expansion(definitions, formulas))

    def _used_quantities(
        self, definitions: Any, parts: Any, conditions: Any, schedule: Any
    ) -> tuple[Quantity, ...]:
        """The file's quantities that the statement contains."""
        formulas = [*(d.expr for d in definitions), *parts.values(), *schedule.values()]
        formulas += [side for c in conditions for side in (c.left, c.right)]
        names = {symbol.name for formula in formulas for symbol in sp.sympify(formula).free_symbols}
        return tuple(q for q in self._quantities if q.name in names | set(self._table.left.constants))

    # -- left-hand side and scope -------------------------------------------------------------------

    def _left(self, table: LeftTable) -> LeftSide:
        first, last, start = (self._round(name, getattr(table, name)) for name in ("first", "last", "start"))
        if not start.is_Integer or start < 0:
            self._file.stop((*self._path, "left", "start"), f"start = {start} must be an integer >= 0")
        unit = None
        if table.unit is not None:
            unit = self._reading(("left", "unit"), lambda: read_unit(str(table.unit)))
        measure = table.measure
        if (table.at, table.over) != ("mean model", "rounds"):
            known = MEASURES.get(measure)
            unit = known.unit if known is not None and unit is None else unit
            measure = f"{measure} at {table.at}, over {table.over}"
        if table.parts is not None:
            self._check_blocks(table)
        return self._reading(
            ("left",),
            lambda: LeftSide(
                measure=measure,
                latex=table.latex,
                aggregate=table.aggregate,
                first=first,
                last=last,
                start=int(start),
                unit=unit,
                averaging=table.words,
                carries=tuple(table.constants),
            ),
        )

    def _round(self, name: str, text: str) -> Expr:
        """A round as a formula in T: without exponents that depend on T, whose values no memory holds."""
        expression = sp.sympify(self._formula(("left", name), text))
        powers = [power.exp for power in expression.atoms(sp.Pow)]
        plain = not expression.has(sp.exp, sp.log) and all(power.is_number for power in powers)
        if not plain or not expression.free_symbols <= {self._symbols["T"]}:
            message = f"{name} = {text!r:.60} must be a round, by T alone"
            self._file.stop((*self._path, "left", name), message)
        return expression

    def _check_blocks(self, table: LeftTable) -> None:
        """The factors of two blocks must be those of the measure."""
        known = BLOCK_FACTORS.get(table.measure)
        if known is None:
            message = f"{table.measure} has no parts: measures of two blocks are {', '.join(BLOCK_FACTORS)}"
            self._file.stop((*self._path, "left", "parts"), message)
        expected = [read_formula(text, self._symbols) for text in known]
        given = [self._formula(("left", "parts"), text).xreplace(self._known) for text in table.parts or []]
        if given != expected:
            message = f"parts must be {' and '.join(known)}, the factors of {table.measure}"
            self._file.stop((*self._path, "left", "parts"), message)

    def _scope(self, table: ScopeTable, used: tuple[Quantity, ...]) -> Scope:
        algorithms = tuple(self._named(("scope", "algorithms"), name) for name in table.algorithms)
        network: Any = table.network
        if network not in LAWS:
            network = self._named(("scope", "network"), network)
        known = with_quantities(used)
        notation = {name: latex for name, latex in self._paper.letters.items() if name in known}
        if self._table.notation is not None:
            notation = self._table.notation
        return self._reading(
            ("scope",),
            lambda: Scope(
                algorithms=algorithms,
                network=network,
                sequence=tuple(table.sequence),
                common_start=table.common_start,
                participation=table.participation,
                bounded_gradients=table.bounded_gradients,
                two_blocks=table.blocks == 2,
                samplewise=table.noise != "clients",
                letters=table.hyperparameters,
                notation=notation,
            ),
        )

    def _named(self, path: Path_, name: str) -> Any:
        """A name of the package as it is, or the object that ``FILE.py:NAME`` names."""
        if _CODE.fullmatch(name):
            return self._file.code((*self._path, *path), name)
        if ":" in name:
            self._file.stop((*self._path, *path), f"{name!r:.60} names code: write it as FILE.py:NAME")
        return name


def _parent(table: StatementTable, others: list[StatementTable]) -> tuple[str, str] | None:
    """Key and variant that ``of`` names: without a variant the first one in the file, else ``stated``."""
    if table.of is None:
        return None
    key, _, variant = table.of.partition(":")
    known = [other.variant for other in others if other.key == key]
    return key, variant or next(iter(known), "stated")


def _as_table(entry: str | DefinitionTable) -> DefinitionTable:
    return plain_table("definition", {"formula": entry}) if isinstance(entry, str) else entry


def _sign(expression: Expr) -> str:
    """The assumption on a definition's symbol that follows from its formula."""
    if expression.is_positive:
        return "positive"
    return "nonnegative" if expression.is_nonnegative else "real"


__all__ = ["PackageFile", "TheoremFile", "read_theorem_file", "read_theorems", "template", "with_parents"]
