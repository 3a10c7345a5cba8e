"""The gallery's code is short and runs; the gallery contains every public figure."""

import contextlib
import functools
import io
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import dfltheory as dfl
from validation import paper_figures

PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"
TEXT = PAGE.read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
PICTURES = re.findall(r"\]\(figures/(\w+)\.png\)", TEXT)
DRAWN_BY_A_PAGE_OF_ITS_OWN = "paper_standard"
train = dfl.train


def train_briefly(*arguments, rounds, seeds, **options):
    """Replace the gallery's run by one with a few rounds."""
    options["progress"] = False
    return train(*arguments, rounds=min(rounds, 4), seeds=2, **options)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_code_of_the_gallery_draws_every_public_figure(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dfl, "train", train_briefly)
    saved = []

    def keep(figure, path):
        assert figure.axes
        saved.append(path)
        return [Path(path)]

    monkeypatch.setattr(dfl.plots, "save", keep)
    names = {}
    for code in BLOCKS:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code, "gallery.md", "exec"), names)
    assert len(saved) == len(set(saved)) == len(BLOCKS)
    listed = re.findall(r"^\| `dfl\.plots\.(\w+)\(", TEXT, flags=re.MULTILINE)
    code = "\n".join(BLOCKS)
    assert len(listed) >= 8
    assert [name for name in listed if f"dfl.plots.{name}(" not in code] == []


@pytest.mark.parametrize("code", BLOCKS)
def test_code_of_the_gallery_has_at_most_ten_lines(code):
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


def test_every_picture_of_the_gallery_has_a_command_and_both_files():
    assert set(PICTURES) == set(paper_figures.FIGURES)
    for name in PICTURES:
        for suffix in (".png", ".pdf"):
            assert (PAGE.parent / "figures" / f"{name}{suffix}").is_file()


@pytest.fixture(scope="module")
def small():
    """Replace the runs of the pictures by ones with a few rounds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper_figures, "ROUNDS", 30)
        patch.setattr(paper_figures, "SEEDS", 2)
        learned = functools.partial(paper_figures.learned, rounds=4, seeds=2)
        patch.setattr(paper_figures, "learned", learned)
        paper_figures.run_on.cache_clear()
        yield
        paper_figures.run_on.cache_clear()


@pytest.mark.drawn(1)
@pytest.mark.parametrize(
    "name", [n for n in paper_figures.FIGURES if n != DRAWN_BY_A_PAGE_OF_ITS_OWN]
)
def test_picture_is_drawn_within_one_column(small, name):
    ax = paper_figures.FIGURES[name]()
    figure = ax.figure
    figure.draw_without_rendering()
    assert figure.get_figwidth() == 3.4
    box = ax.get_tightbbox()
    assert figure.bbox.x0 - 1 <= box.x0
    assert box.x1 <= figure.bbox.x1 + 1
    assert figure.bbox.y0 - 1 <= box.y0
    assert {t.get_fontsize() for t in ax.get_legend().get_texts()} == {8.0}
