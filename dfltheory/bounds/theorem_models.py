"""The format of theorem files, version 1, as data models.

A file is TOML. Reading it never runs code, and unknown keys are errors. The JSON schema
of the format is generated from these models (:func:`theorem_schema`, ``dfltheory schema
theorem``). :mod:`dfltheory.bounds.theorem_file` reads the formulas.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from dfltheory.bounds.clauses import StatementKind
from dfltheory.constants import SEQUENCES
from dfltheory.schemas import Schema

THEOREM_FILE_FORMAT = 1
"""The version of the format that this package reads and writes."""

Line = Annotated[str, Field(max_length=4000)]
FormulaText = Annotated[str, Field(max_length=10_000)]
NonemptyName = Annotated[str, Field(min_length=1, max_length=200)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=60)]
RoundsText = Annotated[str, Field(max_length=200)]
Sequence = Annotated[str, Field(json_schema_extra={"enum": list(SEQUENCES)})]


class SourceTable(Schema):
    """The paper of all statements of the file."""

    title: Line = ""
    """Title of its section on pages."""
    citation: Line = ""
    """As ``Shi et al. 2023, DFedSAM``."""
    provenance: Line = ""
    """The text from which the statements were typed: title, version, address."""
    notation: dict[Identifier, Line] = Field(default_factory=dict, max_length=200)
    """LaTeX of the paper by name of this package, for display only."""


class QuantityTable(Schema):
    """A quantity that the glossary lacks."""

    unit: Line = "1"
    """``1``, or a product of powers of c, s, v: f scales as c, x (and u) as s, personal
    parts as v.
    """
    range: Line = "[0, inf)"
    """An interval; a round bracket excludes the end."""
    integer: bool = False
    """Are only integers admissible?"""
    neutral: float | int | None = None
    """The value at which its mechanism is absent."""
    step: bool = False
    """Is it a step size?"""
    latex: Line = ""
    meaning: Line = ""
    of: Line | None = None
    """How it is computed: ``network: ...``, ``task: ...``, or ``FILE.py:NAME``."""
    point: Line = ""
    """Where the gradient that it measures is taken, in words."""


class ScopeTable(Schema):
    """The runs that a statement covers."""

    algorithms: list[NonemptyName] = Field(min_length=1, max_length=50)
    """Class names of the package, the most general first, or ``FILE.py:NAME``."""
    hyperparameters: dict[NonemptyName, bool | int | float | str] = Field(
        default_factory=dict, max_length=50
    )
    """What a hyperparameter must be that the bound lacks: a value, or ``any``."""
    network: NonemptyName
    """A law of every mixing matrix, or ``FILE.py:NAME``."""
    sequence: list[Sequence] = Field(
        default_factory=lambda: ["fixed"], min_length=1, max_length=20
    )
    """Every kind of network sequence that it covers."""
    common_start: bool
    """Must all clients start at one point?"""
    participation: Literal["full", "sampled"] = "full"
    bounded_gradients: bool | Literal["along the run"] = False
    """Does B bound every gradient, or only those at the models of the local steps?"""
    noise: Literal["clients", "samplewise", "none"] = "clients"
    """Smoothness of each client's gradient, of each sample's, or exact gradients."""
    push_sum: Literal["computed", "cited"] = "computed"
    """The constants C and q of push-sum: the least that work on the network, or those
    of Assran et al. (2019), Lemma 3.
    """
    blocks: Literal[1, 2] = 1
    """2 for models with a shared and a personal part."""


class LeftTable(Schema):
    """The left-hand side."""

    measure: NonemptyName
    """A measure of the package, or a metric of your own with ``unit`` and ``latex``."""
    at: Literal["mean model", "each client", "last iterate"] = "mean model"
    aggregate: Literal["mean", "min", "max", "sum", "last", "each"]
    """How the expectations of the rounds are combined; ``each`` holds in every
    round.
    """
    over: Literal["rounds", "local steps"] = "rounds"
    first: RoundsText = "0"
    """The first round, a formula in T."""
    last: RoundsText = "T - 1"
    """The last round, a formula in T; model t is the one after t rounds."""
    start: RoundsText = "0"
    """The round at which ``f0_gap`` is taken."""
    parts: list[FormulaText] | None = Field(default=None, min_length=2, max_length=2)
    """For two blocks: the factors of the squared gradients of the shared and of the
    personal part.
    """
    unit: Line | None = None
    """The unit of a metric of your own."""
    latex: Line = ""
    """The left-hand side in LaTeX; follows from a measure of the package."""
    words: Line = ""
    """The left-hand side in the words of the source."""
    constants: list[Identifier] = Field(default_factory=list, max_length=50)
    """Quantities that occur in the left-hand side."""


class DefinitionTable(Schema):
    """An abbreviation of the statement."""

    formula: FormulaText
    latex: Line = ""
    meaning: Line = ""
    sign: Literal["positive", "nonnegative", "real"] | None = None
    """What the conditions imply about its sign; follows from the formula where it
    can.
    """
    function: NonemptyName | None = None
    """A registered Python function that computes its numbers where the formula would
    cancel.
    """


Rules = Annotated[str, Field(min_length=1, max_length=1000)]


class StepTable(Schema):
    """A step of the proof, as the author declares it."""

    name: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = Field(
        default="", max_length=60
    )
    """Its name; ``s1``, ``s2``, ... by position where none is given."""
    claim: FormulaText
    """One comparison by ``<=``, ``>=`` or ``==``, linear in the moments."""
    from_: list[Identifier] = Field(default_factory=list, alias="from", max_length=50)
    """Names of earlier steps."""
    by: Rules | Annotated[list[Rules], Field(min_length=1, max_length=20)] = "algebra"
    """``algebra``, ``assumption``, or rules of the kernel with their arguments."""


def _kind_of_definition(value: object) -> str:
    return "formula" if isinstance(value, str) else "table"


DefinitionField = Annotated[
    Annotated[FormulaText, Tag("formula")] | Annotated[DefinitionTable, Tag("table")],
    Discriminator(_kind_of_definition),
]


class StatementTable(Schema):
    """One statement in one variant."""

    key: NonemptyName
    variant: NonemptyName = "stated"
    kind: StatementKind
    order: bool | None = None
    """Is the bound stated in O(.), without a constant that is compared? By default of a
    rate.
    """
    control: bool = False
    """Is it kept as a control? Controls are listed with ``--all``."""
    of: NonemptyName | None = None
    """``KEY`` or ``KEY:VARIANT`` of the statement from which it is derived."""
    title: Line
    source: Line
    assumptions: list[Line] = Field(default_factory=list, max_length=200)
    remark: Line = ""
    notation: dict[Identifier, Line] | None = Field(default=None, max_length=200)
    """LaTeX by name where it differs from the file's."""
    scope: ScopeTable
    left: LeftTable
    definitions: dict[Identifier, DefinitionField] = Field(
        default_factory=dict, max_length=200
    )
    terms: dict[NonemptyName, FormulaText] = Field(min_length=1, max_length=200)
    """The bound is their sum."""
    conditions: dict[NonemptyName, FormulaText] = Field(
        default_factory=dict, max_length=200
    )
    """One comparison of two formulas each."""
    schedule: dict[Identifier, FormulaText] = Field(default_factory=dict, max_length=50)
    """Formulas of hyperparameters."""
    moments: dict[Identifier, Line] = Field(default_factory=dict, max_length=100)
    """Names of the expectations in the proof, as ``sq(dev(x))``."""
    steps: list[StepTable] = Field(default_factory=list[StepTable], max_length=100)
    """The proof."""


class FileTables(Schema):
    """A theorem file."""

    format: Literal[1]
    source: SourceTable = Field(default_factory=SourceTable)
    quantities: dict[Identifier, QuantityTable] = Field(
        default_factory=dict, max_length=200
    )
    statement: list[StatementTable] = Field(min_length=1, max_length=200)


def theorem_schema() -> dict[str, object]:
    """Return the JSON schema of theorem files."""
    return FileTables.model_json_schema()


__all__ = ["THEOREM_FILE_FORMAT", "FileTables", "StatementTable", "theorem_schema"]
