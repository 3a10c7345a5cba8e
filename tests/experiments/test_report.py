"""A folder with a report is complete and belongs to one study; browsers open the page
without errors.
"""

import html
import json
import os
import re
import shutil
import subprocess

import pytest

import dfltheory as dfl
from dfltheory import files
from dfltheory.experiments.cases import case_of, perform_all
from dfltheory.experiments.report import Study


def study(title):
    return Study(
        title=title,
        outcomes=[],
        not_tested=["anything"],
        command=title,
        versions={"python": "3"},
    )


class Killed(BaseException):
    """Represents a killed process: no handler catches it."""


@pytest.mark.parametrize("each", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_study_that_is_stopped_at_any_write_leaves_nothing_of_two(
    tmp_path, monkeypatch, each
):
    """Quickly, at each third write."""
    replace, writes = os.replace, []

    def dies(source, target):
        writes.append(target)
        if len(writes) == at:
            raise Killed
        replace(source, target)

    at = -1
    study("zebra").save(tmp_path)
    monkeypatch.setattr(files.os, "replace", dies)
    study("quokka").save(tmp_path)
    every = len(writes)
    assert every >= 6
    monkeypatch.undo()
    for at in range(1, every + 1, each):  # noqa: B007  (dies reads it)
        study("zebra").save(tmp_path)
        assert "zebra" in (tmp_path / "report.html").read_text()
        with monkeypatch.context() as patch:
            patch.setattr(files.os, "replace", dies)
            writes.clear()
            with pytest.raises(Killed):
                study("quokka").save(tmp_path)
        texts = [
            p.read_text() for p in tmp_path.iterdir() if p.suffix in (".json", ".html")
        ]
        assert (
            len(
                {
                    "zebra" in text
                    for text in texts
                    if "zebra" in text or "quokka" in text
                }
            )
            < 2
        )
        study("quokka").save(tmp_path)
        assert "quokka" in (tmp_path / "report.html").read_text()
        assert json.loads((tmp_path / "config.json").read_text())["title"] == "quokka"
        assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "({{ 7 * 7 }})",
    "[/red]",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text_in_the_report(tmp_path, name):
    page = study(name).save(tmp_path).read_text()
    assert html.escape(name, quote=False) in html.unescape(page).replace(
        "<", "&lt;"
    ).replace(">", "&gt;")
    for tag in ("<script>alert", "<img src=x", "(49)"):
        assert tag not in page


def test_further_pictures_have_a_section_with_title_and_caption(tmp_path):
    from matplotlib.figure import Figure

    with_picture = Study(
        title="A study", outcomes=[], pictures=[("Zebra <b>", Figure, "a caption & b")]
    )
    page = with_picture.save(tmp_path).read_text()
    assert '<h2 id="s-' in page
    assert "Zebra &lt;b&gt;</h2>" in page
    assert "a caption &amp; b</figcaption>" in page
    assert page.count("Zebra &lt;b&gt;</a>") == 1, "in the contents"
    assert len(list(tmp_path.glob("zebra-b-*"))) == 3


# -- in a real browser: from a file, without network access

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    task, W = (
        dfl.tasks.quadratic(m=4, d=2, sigma=0.1, seed=0),
        dfl.graphs.metropolis(dfl.graphs.ring(4)),
    )
    options = {"variants": ("printed", "corrected"), "seeds": 3, "K": 1}
    cases = [
        case_of("dfedsam.theorem_4_5", task, W, 150, Q=Q, row=f"Q = {Q}", **options)
        for Q in (1, 2)
    ]
    study = Study(
        title="A small study",
        outcomes=perform_all(cases),
        not_tested=["The remaining <theorems>."],
    )
    return study.save(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def opened(report, tmp_path_factory):
    """Return the page's DOM, console output and requests in a headless Chromium."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    folder = tmp_path_factory.mktemp("browser")
    quiet = (
        "headless no-sandbox disable-gpu disable-background-networking no-first-run"
        " disable-sync "
    )
    quiet += (
        "disable-component-update disable-dev-shm-usage disable-extensions"
        " enable-logging=stderr"
    )
    profile_options = [
        f"--log-net-log={folder / 'net.json'}",
        f"--user-data-dir={folder / 'user'}",
    ]
    command = [
        browser,
        *(f"--{flag}" for flag in quiet.split()),
        *profile_options,
        "--dump-dom",
        report.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    log = json.loads((folder / "net.json").read_text(encoding="utf-8"))
    urls = {e["params"]["url"] for e in log["events"] if "url" in e.get("params", {})}
    return done.stdout, re.findall(r".*CONSOLE.*", done.stderr), urls


@pytest.mark.slow
def test_a_browser_shows_it_without_complaint(opened):
    dom, console, _ = opened
    assert "A small study" in dom
    for words in (
        "How to read this page",
        "Statements of the theorems",
        "What was not tested",
        "</mfrac>",
    ):
        assert words in dom
    assert dom.count("data:image/svg+xml;base64,") >= 1
    assert "The remaining &lt;theorems&gt;." in dom
    assert console == []


@pytest.mark.slow
def test_a_browser_asks_the_network_for_nothing(opened):
    asked = {
        url
        for url in opened[2]
        if url.startswith(("http", "ws", "ftp")) and "google" not in url
    }
    # Google's own update and account services are the browser's, not the page's
    assert asked == set()
