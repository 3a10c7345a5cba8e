"""``make dist HOME_URL=URL``: the source distribution and the wheel, with links that
work on a package index.

``URL`` is where the repository is published; it is said here alone. The README's
relative links become absolute, and the project's addresses are written into its
metadata.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)\s]+)\)")


def absolute(readme: str, home: str) -> str:
    """Relative links of a README as links to ``home``: pictures as files, all else as
    pages.

    >>> absolute("![a](docs/a.png) and [b](docs/b.md), [c](https://c.org)", "https://h.org/r")
    '![a](https://h.org/r/raw/main/docs/a.png) and [b](https://h.org/r/blob/main/docs/b.md), [c](https://c.org)'
    """
    return _LINK.sub(
        lambda m: (
            f"{m[1]}{m[2]}({home.rstrip('/')}/{'raw' if m[1] else 'blob'}/main/{m[3]})"
        ),
        readme,
    )


def addresses(home: str) -> str:
    """The table of pyproject.toml that names the project's places."""
    home = home.rstrip("/")
    places = {
        "Homepage": home,
        "Issues": f"{home}/issues",
        "Changelog": f"{home}/blob/main/CHANGELOG.md",
    }
    return "\n[project.urls]\n" + "".join(
        f'{name} = "{place}"\n' for name, place in places.items()
    )


def tree(to: Path, home: str | None = None) -> Path:
    """The repository's files in ``to``, as they are or as they are published at
    ``home``.
    """
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(lambda n: (ROOT / n).is_file(), listed.stdout.splitlines()):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, to / name)
    if home is not None:
        readme, project = to / "README.md", to / "pyproject.toml"
        readme.write_text(
            absolute(readme.read_text(encoding="utf-8"), home), encoding="utf-8"
        )
        project.write_text(
            project.read_text(encoding="utf-8") + addresses(home), encoding="utf-8"
        )
    return to


def built(out: Path, source: Path, kinds: tuple[str, ...] = ("sdist", "wheel")) -> None:
    """Build ``source`` into ``out`` with setuptools."""
    out.mkdir(parents=True, exist_ok=True)
    for kind in kinds:
        call = (
            "from setuptools import build_meta; import sys;"
            f" build_meta.build_{kind}(sys.argv[1])"
        )
        command = [sys.executable, "-c", call, str(out.resolve())]
        subprocess.run(command, cwd=source, check=True, capture_output=True)


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].startswith("https://"):
        sys.exit("give the address of the repository: make dist HOME_URL=https://...")
    with tempfile.TemporaryDirectory() as folder:
        built(ROOT / "dist", tree(Path(folder), sys.argv[1]))
    print("\n".join(sorted(p.name for p in (ROOT / "dist").iterdir())))
