"""Run a module or command as if only the core dependencies were installed.

``python tests/core_only.py dfltheory train --rounds 2`` hides every package that only
extras in ``pyproject.toml`` require, then runs ``python -m dfltheory train --rounds
2``.
"""

from __future__ import annotations

import runpy
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def extra_packages() -> set[str]:
    """Return the import names of packages that extras require but the core does not."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    core = {
        canonicalize_name(Requirement(line).name) for line in project["dependencies"]
    }
    extras = {
        canonicalize_name(Requirement(line).name)
        for lines in project["optional-dependencies"].values()
        for line in lines
    }
    only_extras = extras - core - {"dfltheory"}
    return {
        name
        for name, distributions in packages_distributions().items()
        if {canonicalize_name(d) for d in distributions} & only_extras
    }


class FinderWithout:
    """A finder that hides some packages."""

    def __init__(self, finder: Any, hidden: set[str]):
        self.finder = finder
        self.hidden = hidden

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] in self.hidden:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def main() -> None:
    module, *arguments = sys.argv[1:]
    hidden = extra_packages()
    sys.meta_path[:] = [FinderWithout(finder, hidden) for finder in sys.meta_path]
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
