"""Moments as a theorem file writes them."""

from __future__ import annotations

from dfltheory.bounds.formula_writer import write_formula
from dfltheory.bounds.symbols import GLOSSARY
from dfltheory.bounds.units import Expr
from dfltheory.proofs.moments import PLAIN, Atom, Moment, Vec, k

_NAMES = {"e^": "e_mean"}
_ROUNDS = {"next": "next", "start": "start", "mean": "mean_t"}
_STEPS = {"mean": "mean_k", "max": "max_k"}
_K = GLOSSARY["K"].symbol


def text_of(moment: Moment, single: bool = False) -> str:
    """Return a moment as text.

    Parameters
    ----------
    moment : of the kernel
    single : whether a round has one local step; the sum over the steps is that step
    """
    if moment.kind == "one":
        return "1"
    parts = [_vector(moment.vec, single)]
    if moment.kind == "inner":
        parts.append(_vector(moment.other, single))
    text = f"{moment.kind}({', '.join(parts)})"
    if moment.steps:
        text = f"{_STEPS[moment.steps]}({text})"
    return f"{_ROUNDS[moment.rounds]}({text})" if moment.rounds else text


def _vector(vec: Vec, single: bool) -> str:
    """Return a sum of atoms as text; terms with a minus sign come last."""
    pieces: list[str] = []
    for atom, coefficient in sorted(vec.terms, key=_minus_last):
        minus = coefficient.could_extract_minus_sign()
        size = -coefficient if minus else coefficient
        factor = "" if size == 1 else f"{_factor(write_formula(size))}*"
        sign = "-" if minus else ""
        if pieces:
            sign = " - " if minus else " + "
        pieces.append(f"{sign}{factor}{_atom(atom, single)}")
    return "".join(pieces) or "0*x"


def _minus_last(term: tuple[Atom, Expr]) -> tuple[bool, str]:
    _, coefficient = term
    return bool(coefficient.could_extract_minus_sign()), str(term)


def _factor(text: str) -> str:
    return f"({text})" if " " in text else text


def _atom(atom: Atom, single: bool) -> str:
    text = _NAMES.get(atom.name, atom.name)
    if atom.name.startswith("own "):
        text = f"own({atom.name.removeprefix('own ')})"
    if atom.point is not None:
        text = f"grad({_vector(atom.point, single)})"
    if isinstance(atom.step, tuple) and not (single and atom.step == (PLAIN, _K)):
        text = f"sum({text}, k)" if atom.step[1] == k else f"sum({text})"
    return f"mean({text})" if atom.mean else text


__all__ = ["text_of"]
