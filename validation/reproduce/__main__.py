"""List, show and run the papers' tables and figures."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dfltheory.cli.guard import exit_status
from dfltheory.errors import UnknownNameError
from dfltheory.files import write_text
from dfltheory.markdown import table
from validation import printed_constants
from validation.reproduce.items import Item, items, printed_text
from validation.reproduce.scales import SCALES


def main(arguments: Sequence[str] | None = None) -> int:
    """List, show or run tables and figures; return the exit status."""
    options = _parser().parse_args(arguments)
    return exit_status(partial(_perform, options))


def _perform(options: argparse.Namespace) -> int:
    if options.index is not None:
        write_text(options.index / "index.md", index(options.index))
        return 0
    if options.list or not options.keys:
        print_list()
        return 0
    from validation.reproduce.work import reproduce

    known = items()
    if unknown := [key for key in options.keys if key not in known]:
        raise UnknownNameError("table or figure", unknown[0], set(known))
    for item in (known[key] for key in options.keys):
        print_item(item) if options.show else reproduce(item, options)
    return 0


def index(folder: Path) -> str:
    """Return the page that lists all keys, with links to the results in ``folder``."""
    lines = [
        "# The papers' tables and figures",
        (
            "Every table and figure of the four papers is available with its settings"
            " and printed numbers, and can be run at the paper's scale or at a reduced"
            " one. (The DFedSAM poster repeats tables 1 and 2 and figure 3 of that"
            " paper.) Each page lists its reductions; nothing is claimed beyond what"
            " was run."
        ),
        (
            "Figure 4 of DFedADMM and figures 4 and 5(a) of DFedSAM were run with the"
            " current code. The others were run before 2026-11-22, when Dirichlet"
            " clients were drawn differently, so their commands now give different"
            " numbers: DFedADMM's figure 4, run again, differs by -2.0 to +3.3 points."
        ),
        (
            "`python -m validation.reproduce --list` prints this list, and `python -m"
            " validation.reproduce KEY --show` prints one item with its numbers."
            " `python -m validation.reproduce KEY --scale full --device cuda` runs it"
            " at the paper's scale, which needs a GPU."
        ),
    ]
    rows = []
    for key, item in items().items():
        names = (key, *(f"{key}-{scale}" for scale in SCALES))
        runs = [name for name in names if (folder / f"{name}.md").exists()]
        links = ", ".join(
            f"[{name.removeprefix(key).strip('-') or 'any'} scale]({name}.md)"
            for name in runs
        )
        data = ", ".join(item.papers_datasets) or "none"
        rows.append((f"`{key}`", item.title, data, links or "no"))
    computed = printed_constants.KEY
    link = f"[any scale]({computed}.md)"
    rows.append((f"`{computed}`", printed_constants.TITLE, "none", link))
    lines.append(table(("key", "what it shows", "image sets", "run here"), rows))
    return "\n\n".join(lines) + "\n"


def print_list() -> None:
    """Print all keys, with the title and the required image sets of each."""
    print("Tables and figures, with the image sets that they need:\n")
    for key, item in items().items():
        needs = ", ".join(item.papers_datasets) or "none"
        print(f"  {key:<26}  {item.title}\n{'':30}{item.source}; data: {needs}")
    print(
        "\nShow one with its printed numbers:  python -m validation.reproduce KEY"
        " --show\nRun one on a few cores:             python -m validation.reproduce"
        " KEY --scale small --seeds 2\nRun one at the paper's scale (GPU): python -m"
        " validation.reproduce KEY --scale full --device cuda"
    )


def print_item(item: Item) -> None:
    """Print an item: its setting, its printed numbers and the number of runs."""
    print(f"{item.key}: {item.title}\n{item.source}")
    print(f"setting: {item.setting} {item.unsaid}".rstrip())
    runs = len({repr(cell) for cell in item.cells().values()})
    print(f"{len(item.rows)} rows x {len(item.columns)} columns, {runs} runs a seed")
    if not item.printed:
        print("printed: only drawn; rows " + ", ".join(item.row_labels))
        return
    rows = [(row, *map(printed_text, numbers)) for row, numbers in item.printed.items()]
    print(table(("", *item.column_labels), rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m validation.reproduce", description=__doc__
    )
    add = parser.add_argument
    keys = "such as dfedadmm.table_2; without keys, the list is printed"
    add("keys", nargs="*", metavar="KEY", help=keys)
    index = "write the page that lists all keys into FOLDER, with links to its results"
    add("--index", type=Path, metavar="FOLDER", help=index)
    add("--list", action="store_true", help="list all tables and figures")
    add(
        "--show",
        action="store_true",
        help="print the setting and the printed numbers, without running anything",
    )
    text = (
        "full: the paper's (needs a GPU); small: minutes to an hour on a few cores;"
        " tiny: a smoke test"
    )
    add("--scale", choices=SCALES, default="small", help=text)
    add(
        "--seeds",
        type=int,
        default=1,
        help="number of runs with different randomness, partition and start",
    )
    add(
        "--jobs",
        type=int,
        default=min(4, os.cpu_count() or 1),
        help="number of parallel runs, with one thread each",
    )
    add("--device", default="cpu", help="cpu or cuda")
    add(
        "--data-root",
        type=Path,
        help="folder of the official image files (default: $DFLTHEORY_DATA_ROOT)",
    )
    add(
        "--out",
        type=Path,
        default=Path("results/reproduce"),
        help="folder of tables and figures",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
