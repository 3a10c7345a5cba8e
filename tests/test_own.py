"""References of the form MODULE:NAME and FILE.py:NAME."""

from pathlib import Path

import pytest

from dfltheory.errors import InputError
from dfltheory.own import own


def test_a_package_with_a_module_called_py_and_a_file_of_that_name(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd_package").mkdir()
    (tmp_path / "odd_package" / "__init__.py").touch()
    (tmp_path / "odd_package" / "py.py").write_text("value = 'the module'\n")
    assert own("odd_package.py:value") == "the module"
    assert own("odd_package.py:value") == "the module"  # imported by now
    # an existing file takes precedence
    (tmp_path / "odd_package.py").write_text("value = 'the file'\n")
    assert own("odd_package.py:value") == own("./odd_package.py:value") == "the file"


def test_imported_module_is_no_file():
    assert own("pathlib:Path") is Path


@pytest.mark.parametrize(
    "place", ["absent.py", "./absent.py", "no/such.py", "/no/such.py", "absent.more.py"]
)
def test_what_is_no_file_and_no_module_is_called_no_file(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"FILE\.py:NAME"):
        own(f"{place}:value")


@pytest.mark.parametrize("reference", ["mine.py:", ":Mine", "mine:"])
def test_reference_without_a_name_is_rejected(reference):
    with pytest.raises(InputError, match=r"FILE\.py:NAME"):
        own(reference)
