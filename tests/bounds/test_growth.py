"""Description of saved families: the fitted exponent and the range of the fit."""

import json
from pathlib import Path

import pytest

from dfltheory.bounds.growth import growth_words, paces

SAVED = Path(__file__).parents[2] / "docs" / "counterexamples"


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        ("T", "like T^0.62 at the end of the range searched (T = 256 to 4096)"),
        (
            "T*gap",
            (
                "like T^0.62, in step with 1/(1 - lambda), at the end of the"
                " range searched (T = 256 to 4096)"
            ),
        ),
        (
            "gap*T*T",
            (
                "like (1/(1 - lambda))^0.62, with T growing like its square, at the"
                " end of the range searched (1/(1 - lambda) = 256 to 4096)"
            ),
        ),
        (
            "alpha*T*T*T",
            (
                "like (1/(1 - alpha))^0.62, with T growing like its cube, at the end"
                " of the range searched (1/(1 - alpha) = 256 to 4096)"
            ),
        ),
    ],
)
def test_growth_is_an_exponent_over_a_range(parameter, words):
    family = {
        "parameter": parameter,
        "exponent": 0.6203,
        "values": [256.0, 1024.0, 4096.0],
    }
    assert growth_words(family) == words


def test_every_saved_family_has_words():
    for path in SAVED.glob("*.json"):
        family = json.loads(path.read_text(encoding="utf-8")).get("divergence")
        if family:
            text = growth_words(family)
            assert f"{family['exponent']:.2f}" in text
            assert f"{family['values'][-1]:.4g}" in text


def test_a_parameter_that_is_named_twice_is_a_square():
    assert paces("K*T*T") == ["K", "T^2"]
