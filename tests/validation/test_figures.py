"""One command draws exactly the pictures that pages show, and reproduces the stored
ones.
"""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread, imsave

from validation import drawings, figures, paper_figures

ROOT = Path(__file__).parents[2]
QUICK = ["linear_in_m"]
SLOW = [name for name in drawings.DRAWINGS if name not in QUICK]


def shown_on(page):
    """Return the pictures of a page as paths relative to the root."""
    text = re.sub(
        r"^(```|~~~).*?^\1", "", page.read_text(), flags=re.DOTALL | re.MULTILINE
    )
    found = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text)
    found += re.findall(r"<img src=\"([^\"]+)\"", text)
    return {os.path.relpath((page.parent / target).resolve(), ROOT) for target in found}


def test_every_picture_that_a_page_shows_is_made_and_every_picture_made_is_shown():
    # it shows all
    every = {ROOT / "README.md", *(ROOT / "docs").rglob("*.md")} - {
        ROOT / figures.GALLERY
    }
    shown = set().union(*map(shown_on, every))
    made = {
        path for path in figures.catalogue().values() if not path.endswith(".ipynb")
    }
    assert "docs/figures/quadratic.png" in made
    trained = {image for image in shown if image.startswith("docs/reproduce/")}
    for (
        image
    ) in trained:  # long runs, for which the page of the same name has its own command
        key = Path(image).stem.rpartition("-")[0]
        assert (
            f"python -m validation.reproduce {key} "
            in (ROOT / image).with_suffix(".md").read_text()
        )
    # drawn by the writers of their pages
    atlas = {
        image for image in shown if image.startswith(("docs/atlas/", "docs/errata/"))
    }
    papers = {f"docs/figures/{name}" for name in paper_figures.FIGURES}
    made |= trained | atlas | {f"{figure}.png" for figure in papers}
    assert shown == made
    made |= {f"{figure}.pdf" for figure in papers}
    lying = {
        p.relative_to(ROOT).as_posix()
        for p in (ROOT / "docs").rglob("*")
        if is_picture(p)
    }
    assert lying == made


def test_stored_figures_of_papers_have_column_width_and_no_type_3_font():
    for name in paper_figures.FIGURES:
        path = ROOT / f"docs/figures/{name}"
        assert imread(path.with_suffix(".png")).shape[1] == 1020  # 3.4 in, 300 dpi
        assert b"/Type3" not in path.with_suffix(".pdf").read_bytes()


def is_picture(path):
    return path.suffix.lower() in {
        ".png",
        ".svg",
        ".jpg",
        ".jpeg",
        ".gif",
        ".webp",
        ".pdf",
    }


def test_every_notebook_with_pictures_is_in_the_catalogue():
    listed = set(figures.catalogue().values())
    for notebook in (ROOT / "notebooks").glob("*.ipynb"):
        draws = "image/png" in notebook.read_text()
        assert (f"notebooks/{notebook.name}" in listed) == draws
        # a notebook executed without its inline backend has lost its pictures, and
        # no other test would find that
        assert draws == bool(re.search(r"\bplt\.|\.plot\(", sources(notebook)))


def sources(notebook):
    return "".join(
        "".join(c["source"]) for c in json.loads(notebook.read_text())["cells"]
    )


def test_the_gallery_is_what_the_command_writes():
    assert (ROOT / figures.GALLERY).read_text() == figures.gallery()


@pytest.mark.parametrize("checked", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_picture_really_is_made_twice_the_same_and_is_the_stored_one(
    checked, tmp_path, capsys
):
    for folder in ("one", "two"):
        assert figures.main(["--only", *QUICK, "--out", str(tmp_path / folder)]) == 0
    one, two = (
        tmp_path / folder / "docs/figures/linear_in_m.png" for folder in ("one", "two")
    )
    assert one.read_bytes() == two.read_bytes()
    assert figures.differing(ROOT / "docs/figures/linear_in_m.png", one) < 0.001
    if checked:
        assert figures.main(["--only", *QUICK, "--check"]) == 0
        assert "as stored" in capsys.readouterr().out


def test_a_stale_picture_fails_the_check(tmp_path, monkeypatch, capsys):
    recorded = json.loads(drawings.TIMES.read_text())
    recorded["seconds"]["ring"][0] *= 3
    (tmp_path / "times.json").write_text(json.dumps(recorded))
    monkeypatch.setattr(drawings, "TIMES", tmp_path / "times.json")
    assert figures.main(["--only", *QUICK, "--check"]) == 1
    assert "DIFFERS" in capsys.readouterr().out


def test_pictures_differ_by_their_share_of_pixels(tmp_path):
    white = np.ones((10, 10, 3))
    dotted = white.copy()
    dotted[0, :5] = 0
    for name, image in (("a", white), ("b", dotted), ("c", np.ones((10, 11, 3)))):
        imsave(tmp_path / f"{name}.png", image)
    a, b, c = (tmp_path / f"{name}.png" for name in "abc")
    assert figures.differing(a, a) == 0
    assert figures.differing(a, b) == pytest.approx(0.05)
    assert figures.differing(a, c) == 1


def test_an_unknown_name_is_wrong_usage(capsys):
    assert figures.main(["--only", "linear"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert "linear" in captured.err
    assert "readme_curves" in captured.err


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_the_stored_picture_is_what_comes_out(name):
    assert figures.main(["--only", name, "--check"]) == 0


@pytest.mark.slow
def test_a_notebook_executed_again_keeps_its_pictures_and_all_else(tmp_path):
    name = "1-what-a-network-costs"
    assert figures.main(["--only", name, "--out", str(tmp_path)]) == 0
    made, stored = (root / f"notebooks/{name}.ipynb" for root in (tmp_path, ROOT))
    assert figures.differing(stored, made) < 0.001
    assert sources(made) == sources(stored)
    assert os.path.getsize(made) == pytest.approx(os.path.getsize(stored), rel=0.05)


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_no_drawn_picture_is_empty(every):
    for name in list(drawings.DRAWINGS)[::every]:
        image = imread(ROOT / f"docs/figures/{name}.png")[..., :3]
        assert 0.02 < (image < 0.9).any(-1).mean() < 0.5
