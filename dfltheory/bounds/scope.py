"""The runs that a theorem covers: its algorithms, networks and starts, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from dfltheory.bounds.algorithm_names import checked_algorithm, checked_hyperparameters
from dfltheory.constants import FRESH_ROUND, FRESH_STEP, SEQUENCES
from dfltheory.errors import InputError, checked_name

NetworkAssumption = Literal[
    "definition 1", "symmetric", "doubly stochastic", "column-stochastic", "none"
]

PUSH_SUM_SOURCES = ("computed", "cited")
"""Which constants C and q of push-sum a statement means; see ``Scope.push_sum``."""

ALONG_RUN = "along the run"
"""``bounded_gradients`` of a scope that bounds them at the local models only."""

ANY = "any"
"""The value of a hyperparameter in a scope that covers all of its values."""

LAWS: dict[str, str] = {
    "definition 1": "symmetric, doubly stochastic and primitive (Definition 1)",
    "symmetric": "symmetric and doubly stochastic",
    "doubly stochastic": "doubly stochastic",
    "column-stochastic": "column-stochastic",
    "none": "no network",
}
"""Laws that every mixing matrix may have to obey, by name."""


SAVED_KEYS = {"hyperparameters": "letters"}
"""Fields that have another key in documents and in the canonical form of a statement,
so that saved files and digests remain valid.
"""


@dataclass(frozen=True)
class Scope:
    """The runs that a statement covers.

    Attributes
    ----------
    algorithms : classes, names of the package's classes (:mod:`.algorithm_names`), or
        ``"module:Class"``, the most general first; runs of other algorithms are not
        covered
    hyperparameters : required values of hyperparameters that the bound does not
        contain, as ``{"order": "combine-then-adapt"}``. A hyperparameter that is
        neither here nor in the bound must have the value at which its mechanism is
        absent (``NEUTRAL`` of the glossary)
    network : the law that every mixing matrix obeys: a name of ``LAWS``, or a function
        of a matrix (m, m) that returns in one line why the matrix violates the law, or
        None
    sequence : every kind of network sequence that it covers, names of
        :data:`dfltheory.constants.SEQUENCES`; the matrices never depend on the samples
    common_start : must all clients start at one point?
    participation : ``full``, or ``sampled`` if the statement covers rounds in which
        some clients are inactive
    bounded_gradients : does it assume ||grad f_i|| <= B everywhere (True), or only
        (1/m) sum_i E||grad f_i(y_i)||^2 <= B^2 for the models y_i of the local steps
        (``along the run``)?
    samplewise : is every F_i(.; xi) assumed to be as smooth as f_i? Otherwise noise may
        depend on the point and bias SAM, which uses each sample twice
    two_blocks : is it about models with a shared part u and a personal part v?
    push_sum : which constants C and q of push-sum it means: ``computed``, the least
        that work on the network; ``cited``, those of Assran et al. (2019), Lemma 3,
        which its text cites. A counterexample and a verdict ``violated`` then hold with
        the larger of both
    notation : glossary name -> LaTeX, where its author uses another symbol; for display
        only
    """

    algorithms: tuple[str | type, ...]
    network: NetworkAssumption | Callable[..., str | None]
    sequence: tuple[str, ...] = ("fixed",)
    common_start: bool = False
    participation: Literal["full", "sampled"] = "full"
    bounded_gradients: bool | Literal["along the run"] = False
    two_blocks: bool = False
    samplewise: bool = True
    push_sum: Literal["computed", "cited"] = "computed"
    hyperparameters: Mapping[str, object] = field(default_factory=dict[str, object])
    notation: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self._check_algorithms()
        self._check_network()
        for name in ("common_start", "two_blocks", "samplewise"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(
                    f"{name} = {getattr(self, name)!r} must be True or False"
                )
        bounded = self.bounded_gradients
        if not isinstance(bounded, bool) and bounded != ALONG_RUN:
            raise InputError(
                f"bounded_gradients = {bounded!r} must be True, False or {ALONG_RUN!r}"
            )
        if self.participation not in ("full", "sampled"):
            raise InputError(
                f"participation = {self.participation!r} must be full or sampled"
            )
        checked_name("source of C and q of push-sum", self.push_sum, PUSH_SUM_SOURCES)
        covered = tuple(kind for kind in SEQUENCES if kind in self.sequence)
        # in one order, so that equal scopes are equal
        object.__setattr__(self, "sequence", covered)

    def _check_algorithms(self) -> None:
        if isinstance(self.algorithms, (str, type)) or not self.algorithms:
            raise InputError(
                "algorithms of a scope must be a tuple of classes or names such as"
                ' ("DFedSAM",)'
            )
        for algorithm in self.algorithms:
            checked_algorithm(algorithm)
        for name in ("hyperparameters", "notation"):
            if not isinstance(getattr(self, name), Mapping):
                raise InputError(
                    f"{name} = {getattr(self, name)!r} must be a mapping by name"
                )
        checked_hyperparameters(self.algorithms, self.hyperparameters)

    def _check_network(self) -> None:
        if not callable(self.network) and self.network not in tuple(LAWS):
            raise InputError(
                f"network = {self.network!r} must be one of {', '.join(LAWS)}, or a"
                " function that takes a matrix and says what it breaks"
            )
        if isinstance(self.sequence, str) or not self.sequence:
            raise InputError(
                "sequence of a scope must be a tuple of kinds such as"
                ' ("fixed", "periodic")'
            )
        for kind in self.sequence:
            checked_name("kind of network sequence", kind, SEQUENCES)

    @property
    def names(self) -> tuple[str, ...]:
        """The algorithms' names, the most general first."""
        return tuple(map(_name_of, self.algorithms))

    def covers_sequence(self, kind: str, gossip_steps: int) -> bool:
        """Return whether the statement covers a kind of network sequence.

        With one gossip step, a draw for each round is a draw for each gossip step.
        ``any`` includes the given sequences, ``fixed`` and ``periodic`` ones. It does
        not include ``windows``, whose single matrices need not contract, nor fresh
        draws: their lam is a root mean square, and a single draw need not contract.
        """
        kinds = {kind}
        if gossip_steps == 1 and kind in (FRESH_STEP, FRESH_ROUND):
            kinds = {FRESH_STEP, FRESH_ROUND}
        if kind in ("fixed", "periodic"):
            kinds.add("any")
        return not kinds.isdisjoint(self.sequence)

    def covers(self, algorithm: object) -> bool:
        """Return whether an algorithm, an instance or a class, is one of the scope's.

        Subclasses are not covered. Names without a module mean classes of the package,
        not third-party classes of the same name.
        """
        kind = algorithm if isinstance(algorithm, type) else type(algorithm)
        names: set[str | type] = {f"{kind.__module__}:{kind.__qualname__}", kind}
        if kind.__module__.split(".")[0] == __name__.split(".")[0]:
            names.add(kind.__name__)
        return not names.isdisjoint(self.algorithms)


def _name_of(algorithm: str | type) -> str:
    """Return the name of an algorithm without its module."""
    if isinstance(algorithm, str):
        return algorithm.rpartition(":")[2]
    return algorithm.__name__
