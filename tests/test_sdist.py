"""The source distribution contains what the documentation and tests need; its links
work elsewhere.
"""

from __future__ import annotations

import importlib.util
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return the source distribution's files by path, as published at an address."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there is no list of files to compare with")
    spec = importlib.util.spec_from_file_location(
        "dist", ROOT / "docs" / "_site" / "dist.py"
    )
    assert spec is not None
    assert spec.loader is not None
    dist = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dist)
    source = dist.tree(
        tmp_path_factory.mktemp("source"), "https://example.org/dfltheory"
    )
    out = tmp_path_factory.mktemp("out")
    dist.built(out, source, ("sdist",))
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        inside = {
            m.name.partition("/")[2]: file.extractfile(m)
            for m in file.getmembers()
            if m.isfile()
        }
        texts = {n: inside[n].read().decode() for n in ("README.md", "PKG-INFO")}
    wanted = {str(p.relative_to(source)) for p in source.rglob("*") if p.is_file()}
    return wanted, set(inside), texts


def test_it_has_every_file_of_the_repository(published):
    """Except files that only a checkout needs: continuous integration, and files for
    git and its hooks.
    """
    wanted, inside, _ = published
    lacking = {
        n
        for n in wanted - inside
        if not n.startswith((".", "build/")) and ".egg-info" not in n
    }
    assert lacking == set()


def test_its_readme_and_metadata_name_the_address(published):
    _, _, texts = published
    assert "](docs/" not in texts["README.md"]
    assert (
        "](https://example.org/dfltheory/raw/main/docs/figures/one_theorem.png)"
        in texts["README.md"]
    )
    assert "Project-URL: Homepage, https://example.org/dfltheory" in texts["PKG-INFO"]
