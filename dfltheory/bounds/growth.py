"""Growth of saved families of problems, in words.

A family's ``parameter`` names what grows along it, separated by ``*``: in
``alpha*T*T*T``, 1/(1 - alpha) grows by a factor in each member, and T by its cube.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MEANT = {"gap": "1/(1 - lambda)", "alpha": "1/(1 - alpha)"}
"""Parameters of families that are no quantities -> the quantity that grows."""
PACES = {
    1: "in step with {}",
    2: "with {} growing like its square",
    3: "with {} growing like its cube",
}
"""How a further quantity grows with the first one, by how often it is named."""


def paces(parameter: str) -> list[str]:
    """Return the growing quantities of a family as powers.

    For ``alpha*T*T*T`` they are ``1/(1 - alpha)`` and ``T^3``.
    """
    names = parameter.split("*")
    powers = {name: names.count(name) for name in names}
    words: list[str] = []
    for name, power in powers.items():
        base = MEANT.get(name, name)
        words.append(f"{base}^{power}" if power > 1 else base)
    return words


def family_order(parameter: str) -> str:
    """Return the first growing quantity of a family, along which its ratio is fitted.

    For ``alpha*T*T*T`` it is ``1/(1 - alpha)``.
    """
    first = parameter.split("*")[0]
    return MEANT.get(first, first)


def pacing(parameter: str) -> str:
    """Return how the other quantities grow with the first one.

    For ``alpha*T*T*T`` the text is ``, with T growing like its cube``; it is empty if
    there is one quantity.
    """
    names = parameter.split("*")
    _, *others = dict.fromkeys(names)
    phrases = [
        PACES[names.count(name)].format(MEANT.get(name, name)) for name in others
    ]
    return f", {' and '.join(phrases)}" if phrases else ""


def growth_words(family: Mapping[str, Any]) -> str:
    """Return the growth of a saved family, fitted to its last points, and its range.

    Parameters
    ----------
    family : mapping
        ``parameter``, ``exponent`` and ``values`` of a saved divergence.

    Returns
    -------
    str
        As ``like T^0.62, in step with 1/(1 - lambda), at the end of the range searched
        (T = 256 to 4096)``.
    """
    parameter = str(family["parameter"])
    name = family_order(parameter)
    base = name if name.isidentifier() else f"({name})"
    power = f"{base}^{float(family['exponent']):.2f}"
    paced = pacing(parameter)
    step = f"{paced}," if paced else ""
    low, high = (float(family["values"][end]) for end in (0, -1))
    searched = f"the range searched ({name} = {low:.4g} to {high:.4g})"
    return f"like {power}{step} at the end of {searched}"


__all__ = ["growth_words", "family_order", "paces", "pacing"]
