"""Bounds on grids of parameters, as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dfltheory.bounds.theorem import Theorem
from dfltheory.errors import InputError, MissingExtraError
from dfltheory.files import replacing

if TYPE_CHECKING:
    import pandas as pd


MOST = 10**6
"""Most points of a grid, a table of about 100 MB."""


def axis(text: str) -> tuple[str, np.ndarray]:
    """Read an axis of a grid: a name and its values.

    ``T=10:1e6:60`` are 60 values in geometric progression; ``lam=0.5,0.9`` are two
    values.

    Raises
    ------
    InputError
        The text has neither form.
    """
    name, sign, values = text.partition("=")
    points = np.empty(0)
    try:
        if ":" in values:
            low, high, count = values.split(":")
            if not (float(low) > 0 and float(high) > 0 and 0 < int(count) <= MOST):
                raise ValueError(text)
            points = np.geomspace(float(low), float(high), int(count))
        else:
            points = np.array([float(v) for v in values.split(",")])
    except ValueError:
        sign = ""
    if not sign:
        raise InputError(
            f"{text!r} is not of the form NAME=LOW:HIGH:COUNT (both ends > 0, at most"
            f" {MOST} points) or NAME=A,B,C"
        )
    return name, points


def rounded_axis(theorem: Theorem, name: str, points: np.ndarray) -> np.ndarray:
    """Return the points of an axis; those of a count rounded, without repetitions."""
    if name in theorem.glossary and theorem.glossary[name].integer:
        return np.unique(np.round(points))
    return points


def grid_table(
    theorem: Theorem, axes: Sequence[str], values: Mapping[str, object]
) -> pd.DataFrame:
    """Return the bound on a grid, with a row for each point.

    Parameters
    ----------
    theorem : the statement
    axes : texts of axes, see :func:`axis`
    values : values of the other quantities by name

    Returns
    -------
    pandas.DataFrame
        The columns are the axes, ``bound``, and one for each term. Bound and terms are
        nan at points where a condition fails.
    """
    import pandas as pd

    named: dict[str, np.ndarray] = {}
    for name, points in map(axis, axes):
        if name in named:
            raise InputError(f"the grid contains {name} twice: keep one of them")
        named[name] = rounded_axis(theorem, name, points)
    if math.prod(map(len, named.values())) > MOST:
        raise InputError(f"the grid has more than {MOST} points: use fewer")
    mesh = np.meshgrid(*named.values(), indexing="ij")
    columns = {name: m.ravel() for name, m in zip(named, mesh, strict=True)}
    all_values = {**values, **columns}
    bound = np.broadcast_to(theorem.evaluate(where="nan", **all_values), mesh[0].size)
    terms = theorem.evaluate_terms(where="nan", **all_values)
    return pd.DataFrame(
        {
            **columns,
            "bound": bound,
            **{n: np.broadcast_to(t, mesh[0].size) for n, t in terms.items()},
        }
    )


def write_axis_table(table: pd.DataFrame, path: Path) -> Path:
    """Write ``table`` to a .csv or .parquet file, and return the path.

    An interrupted write leaves no partial file.
    """
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path} must end in .csv or .parquet")
    with replacing(path) as temporary:
        if path.suffix == ".csv":
            table.to_csv(temporary, index=False)
            return path
        try:
            table.to_parquet(temporary, engine="pyarrow", index=False)
        except ImportError:
            raise MissingExtraError("a .parquet file", "parquet") from None
    return path
