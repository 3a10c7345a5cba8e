"""Draws every picture of the README, the documentation and the notebooks.

``python -m validation.figures`` (``make figures``) writes all pictures, reproducibly,
and the page that lists them. ``--check`` draws them in a temporary folder and compares
them with the stored ones. The one picture of running times is drawn from recorded
times; ``--measure`` records new ones. Figures of the gallery are also written as PDF.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dfltheory.errors import DFLTheoryError
from dfltheory.files import replacing, write_text
from dfltheory.plots.look import save, write_figure
from validation import drawings
from validation.paper_figures import FIGURES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = Path(__file__).parent.parent
FOLDER = "docs/figures"
GALLERY = f"{FOLDER}/index.md"


def catalogue() -> dict[str, str]:
    """Return the paths of all pictures, and of notebooks with pictures, by name."""
    books = [
        path
        for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
        if pictures_in(path)
    ]
    names = (*drawings.DRAWINGS, *FIGURES)
    drawn = {name: f"{FOLDER}/{name}.png" for name in names}
    return drawn | {path.stem: f"notebooks/{path.name}" for path in books}


def pictures_of(cell: Any) -> list[str]:
    """Return the PNG pictures (base64) among the outputs of a notebook's cell."""
    shown = [
        output.get("data", {}).get("image/png") for output in cell.get("outputs", ())
    ]
    return ["".join(data).strip() for data in shown if data]


def pictures_in(notebook: Path) -> list[bytes]:
    """Return the PNG pictures of a notebook, in order."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [base64.b64decode(data) for cell in cells for data in pictures_of(cell)]


def execute(to: Path) -> None:
    """Execute the stored notebook of this name and write it with its outputs to ``to``.

    If its pictures do not change, the notebook stays the same, byte for byte.
    """
    import nbformat
    from nbclient import NotebookClient

    stored = ROOT / "notebooks" / to.name
    old, new = (nbformat.read(stored, as_version=4) for _ in range(2))
    drawing = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
    }
    place = {"metadata": {"path": str(stored.parent)}}
    client = NotebookClient(new, timeout=1800, resources=place, coalesce_streams=True)
    client.execute(env={**os.environ, **drawing, "OMP_NUM_THREADS": "1"})
    pairs = list(zip(old.cells, new.cells, strict=True))
    if any(pictures_of(before) != pictures_of(after) for before, after in pairs):
        for before, after in pairs:
            if "outputs" in before:
                before.outputs = after.outputs
    write_text(to, nbformat.writes(old) + "\n")


def gallery() -> str:
    """Return the page that lists the pictures, each with its source and its command."""
    lines = [
        "# Figures",
        (
            "One command draws every picture of these pages and of the"
            " [lessons](../lessons/index.md), reproducibly:"
        ),
        (
            "```\nmake figures                           # python -m"
            " validation.figures\npython -m validation.figures --check   # compare"
            " with the stored pictures\n```"
        ),
        (
            "The [papers' tables and figures](../reproduce/index.md) are runs of up to"
            " an hour: each of their pages prints its own command."
        ),
    ]
    for name, (_, source) in drawings.DRAWINGS.items():
        title, command = (
            name.replace("_", " ").capitalize(),
            f"python -m validation.figures --only {name}",
        )
        lines += [
            f"## {title}",
            f"![{title}]({name}.png)",
            f"Drawn from {source}: `{command}`.",
        ]
    return "\n\n".join(lines) + "\n"


# -- comparison of stored and new pictures


def differing(stored: Path, made: Path) -> float:
    """Return the largest share of visibly different pixels of any picture.

    It is 1 if the number of pictures or their shapes differ.
    """
    old, new = pixels(stored), pixels(made)
    if [a.shape for a in old] != [b.shape for b in new]:
        return 1.0
    return max(
        (float((np.abs(a - b) > 0.1).any(-1).mean()) for a, b in zip(old, new)),
        default=0.0,
    )


def pixels(path: Path) -> list[np.ndarray]:
    """Return each picture of a PNG file or a notebook as an array in [0, 1].

    Shape (height, width, 3 or 4).
    """
    from matplotlib.image import imread

    if path.suffix == ".png":
        return [imread(path)]
    return [imread(io.BytesIO(data), format="png") for data in pictures_in(path)]


# -- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw or check the pictures; return the exit status."""
    options = _parser().parse_args(arguments)
    known = catalogue()
    unknown = [name for name in options.only or () if name not in known]
    if unknown:
        print(
            f"error: unknown picture {unknown[0]}; known: {', '.join(known)}",
            file=sys.stderr,
        )
        return 2
    import matplotlib as mpl
    import torch

    mpl.use("Agg")
    torch.set_num_threads(1)
    if options.measure:
        drawings.measure_times(ROOT / FOLDER / "linear_in_m.json")
    chosen = {name: known[name] for name in options.only or known}
    if options.check:
        return check(chosen)
    for name, path in chosen.items():
        _write(name, (options.out or ROOT) / path)
    if not options.out and not options.only:
        write_text(ROOT / GALLERY, gallery())
    return 0


def check(chosen: dict[str, str], tolerance: float = 0.001) -> int:
    """Compare newly drawn pictures with the stored ones; return 1 if any differs."""
    stale = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path in chosen.items():
            made = Path(folder) / path
            if not _write(name, made):
                continue
            share = differing(ROOT / path, made)
            stale += share > tolerance
            if share <= tolerance:
                print("  as stored")
            else:
                print(f"  DIFFERS in {share:.1%} of its pixels")
    return int(stale > 0)


def _write(name: str, to: Path) -> bool:
    """Write a picture or notebook; return False if something it needs is missing."""
    _, source = drawings.DRAWINGS.get(name, (None, "its own runs or cells"))
    print(f"{to.name}: from {source}", flush=True)
    to.parent.mkdir(parents=True, exist_ok=True)
    try:
        if name in FIGURES:
            figure = FIGURES[name]().get_figure(root=True)
            assert figure is not None
            for path in (to, to.with_suffix(".pdf")):
                save(figure, path)
        elif name in drawings.DRAWINGS:
            _write_picture(drawings.DRAWINGS[name][0](), to)
        else:
            execute(to)
    except DFLTheoryError as error:
        print(f"  not drawn: {error}", file=sys.stderr)
        return False
    return True


def _write_picture(picture: Figure | bytes, to: Path) -> None:
    if isinstance(picture, bytes):
        with replacing(to) as unfinished:
            unfinished.write_bytes(picture)
    else:
        write_figure(picture, to)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m validation.figures", description=__doc__
    )
    add = parser.add_argument
    add(
        "--check",
        action="store_true",
        help="compare new pictures with the stored ones",
    )
    add("--only", nargs="+", metavar="NAME", help="draw only these pictures")
    add(
        "--out", type=Path, metavar="DIR", help="write below DIR, not in the repository"
    )
    add("--measure", action="store_true", help="measure running times again (minutes)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
