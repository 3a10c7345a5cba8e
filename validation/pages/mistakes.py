"""The section of the docs page on power about mistakes that people make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dfltheory.counterexamples.certificate import four_digits as _number
from dfltheory.counterexamples.falsification import LONG_NOISE
from dfltheory.files import read_json
from dfltheory.markdown import table
from validation.counterexamples.human_mistakes import Row, known_false

FILE = Path(__file__).parents[1] / "counterexamples" / "human_mistakes.json"
_HEADS = (
    "mistake",
    "drawn",
    "known to be false without a search",
    "refuted by the search",
    "proved to be true",
    "undecided",
)


def section(file: Path = FILE) -> str:
    """Return the section on typical mistakes and the share that the search refutes."""
    rows: list[Row] = read_json(file)
    known = [row for row in rows if known_false(row)]
    proved = [row for row in rows if row.get("proved")]
    possible = [row for row in rows if not row.get("proved")]
    searched = [row["search"] for row in rows if "search" in row]
    false = [row for row in rows if row in known or _is_refuted(row)]
    by_form = sum(_is_refuted(row) and _by_long_noise(row) for row in known)
    durations = sorted({search["seconds"] for search in searched})
    seconds = " or ".join(f"{duration:g}" for duration in durations)
    lines = [
        "\n## Mistakes that people make\n",
        f"{len(rows)} versions of the corrected statements with one mistake each were"
        " drawn at random (`python -m validation.counterexamples.human_mistakes`)."
        f" {len(searched)} of them were searched, for {seconds} s of processor time"
        " each.\n\n"
        f"* {len(known)} are known to be false without a search: by a closed form, by a"
        " saved problem or by one made by hand, some of these after the search. **The"
        f" search refuted {_share(known)} of them**, {by_form} by the closed form of"
        " noise with which a search ends, and which is also how they are known to be"
        " false.\n"
        f"* {len(proved)} are proved to be true, by the kernel or by an exact comparison"
        " with a theorem that the kernel proves"
        " (`validation/counterexamples/true_versions`). **Of all others the search"
        f" refuted {_share(possible)}.**\n"
        "* With the versions that only the search refutes,"
        f" {len(false)} are known to be false.\n"
        "* Families of the search were added until it refuted versions of this list that"
        " it had missed: distant clients, flat starts, many clients with noise. The"
        " share of other false statements may be smaller.\n",
        table(_HEADS, _mistakes(rows)),
        "\nFalse, and not refuted by the search:\n",
        table(
            ("statement", "version", "why false"),
            ((*_names(row), _why_false(row)) for row in false if not _is_refuted(row)),
        ),
        "\nUndecided:\n",
        table(
            ("statement", "version", "largest ratio of the search"),
            (
                (*_names(row), _ratio(row["search"]["ratio"]))
                for row in possible
                if row not in false and "search" in row
            ),
        ),
    ]
    return "\n".join(lines)


def _is_refuted(row: Row) -> bool:
    return "search" in row and row["search"]["refuted"]


def _by_long_noise(row: Row) -> bool:
    return "search" in row and row["search"]["family"] == LONG_NOISE


def _names(row: Row) -> tuple[str, str]:
    """Return the statement and the mistake of a version."""
    return f"`{row['key']}` {row['variant']}", f"{row['mistake']}: {row['place']}"


def _why_false(row: Row) -> str:
    """Return what refutes a version without a search."""
    saved, runs = row.get("saved"), row.get("runs")
    if saved is not None:
        return f"{saved['from']}: ratio {_number(saved['ratio'])}"
    if runs is not None:
        number = "one run" if runs["runs"] == 1 else f"{runs['runs']} runs"
        return (
            f"{runs['problem']}, {runs['clients']} clients: ratio"
            f" {_number(runs['ratio'])}, at least {_number(runs['lower'])} ({number})"
        )
    return f"{row.get('closed form')}: ratio {_number(row.get('for ever', 0.0))}"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else _number(ratio)


def _share(rows: Sequence[Row]) -> str:
    refuted = sum(map(_is_refuted, rows))
    percent = f" ({100 * refuted / len(rows):.1f} %)" if rows else ""
    return f"{refuted} of {len(rows)}{percent}"


def _mistakes(rows: Sequence[Row]) -> Iterator[tuple[object, ...]]:
    """Yield a table row for each kind of mistake."""
    for mistake in dict.fromkeys(row["mistake"] for row in rows):
        of_kind = [row for row in rows if row["mistake"] == mistake]
        known = list(map(known_false, of_kind))
        refuted = list(map(_is_refuted, of_kind))
        proved = sum(bool(row.get("proved")) for row in of_kind)
        false = sum(one or other for one, other in zip(known, refuted, strict=True))
        undecided = len(of_kind) - false - proved
        yield mistake, len(of_kind), sum(known), sum(refuted), proved, undecided


__all__ = ["FILE", "section"]
