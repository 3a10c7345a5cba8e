"""Experiment files: one TOML format for ``dfltheory train``, ``validate`` and ``sweep``.

``plan`` reads them: each cell of the grid is a checked document (see :mod:`dfltheory.training.document`),
that gives an :class:`~dfltheory.training.instance.Instance` and what it is tested against. ``page`` writes
the documentation of every field.

>>> plan = load_plan("experiment.toml")                   # doctest: +SKIP
>>> [cell.settings for cell in plan.cells]                # doctest: +SKIP
[{'topology.name': 'ring'}, {'topology.name': 'torus'}]
>>> run = load_experiment("single.toml").instance().run()  # doctest: +SKIP
"""

from dfltheory.experiments.config.plan import (
    Axis,
    Experiment,
    Plan,
    load_document,
    load_experiment,
    load_plan,
    read_plan,
)

__all__ = ["Axis", "Experiment", "Plan", "load_document", "load_experiment", "load_plan", "read_plan"]
