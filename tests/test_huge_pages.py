"""Huge pages are requested before torch allocates memory, unless the user decides
otherwise.
"""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("given", "expected"), [(None, "1"), ("0", "0")])
def test_import_asks_for_huge_pages_unless_the_variable_exists(given, expected):
    environment = dict(os.environ)
    environment.pop("THP_MEM_ALLOC_ENABLE", None)
    if given is not None:
        environment["THP_MEM_ALLOC_ENABLE"] = given
    code = "import os, dfltheory; print(os.environ['THP_MEM_ALLOC_ENABLE'])"
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, stdout=-1, check=True, text=True
    )
    assert ended.stdout.strip() == expected
