"""Records that all layers share."""

import pytest

from dfltheory import NetworkConstants, ProblemConstants
from dfltheory.errors import InputError, UnknownNameError


def test_known_and_standing():
    constants = ProblemConstants(
        L=2.0, sigma_l=0.0, f_star=-1.0, standing={"L": "bound"}
    )
    assert constants.known() == {"L": 2.0, "sigma_l": 0.0, "f_star": -1.0}
    assert constants.standing_of("L") == "bound"
    assert constants.standing_of("sigma_l") == "exact"
    assert NetworkConstants(m=3, lam=0.5).known() == {"m": 3, "lam": 0.5}


@pytest.mark.parametrize("wrong", [{"L": -1.0}, {"sigma_l": float("nan")}])
def test_impossible_constants_are_refused(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ProblemConstants(**wrong)


def test_a_misspelt_standing_is_refused():
    with pytest.raises(UnknownNameError, match="sigma_l"):
        ProblemConstants(standing={"sigmal": "exact"})


def test_a_long_list_of_names_stays_one_readable_line():
    short, long = (
        UnknownNameError("symbol", "zz", {"a", "b"}),
        UnknownNameError("x", "zz", {f"n{i}" for i in range(99)}),
    )
    assert str(short) == "no symbol is called 'zz'; known: a, b"
    assert len(str(long)) < 100
    assert "99 in all" in str(long)


def test_the_version_is_the_distributions():
    import tomllib
    from pathlib import Path

    import dfltheory

    project = tomllib.loads(
        (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    )
    assert dfltheory.__version__ == project["project"]["version"]
