"""Experiment files: one TOML format for ``dfltheory train``, ``validate`` and ``sweep``.

``sections`` says what each section may hold, ``plan`` how ``[sweep]`` becomes a list of single experiments,
``checks`` what is refused before anything runs, ``build`` how tasks, matrices and algorithms come of them,
and ``page`` writes the documentation of every field.

>>> plan = load_plan("experiment.toml")                   # doctest: +SKIP
>>> [cell.settings for cell in plan.cells]                # doctest: +SKIP
[{'topology.name': 'ring'}, {'topology.name': 'torus'}]
>>> run = load_experiment("single.toml").build().train()  # doctest: +SKIP
"""

from dfltheory.analysis.config.plan import Axis, Experiment, Plan, load_experiment, load_plan, read_plan

__all__ = ["Axis", "Experiment", "Plan", "load_experiment", "load_plan", "read_plan"]
