"""Checks of the algorithm suite that compare whole runs."""

from __future__ import annotations

import dataclasses
import logging
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from dfltheory.algorithms.base import Algorithm, State
from dfltheory.errors import InputError
from dfltheory.randomness import RunGenerators
from dfltheory.tasks.quadratics import Quadratic
from dfltheory.testing.problem import (
    TESTED_ROUNDS,
    M,
    assert_equal,
    assert_equal_histories,
    initial_models,
    make_round,
    make_test_task,
    matrix_for,
    record_states,
    state_fields,
)
from dfltheory.training.checkpoint import Checkpoint
from dfltheory.training.loop import train
from dfltheory.training.oracle import RoundOracle


def check_in_pieces(algorithm: Algorithm) -> None:
    """Check that computing a few clients at a time gives the same states."""
    expected = record_states(algorithm, make_test_task())
    for chunk in (1, 2):
        actual = record_states(algorithm, make_test_task(chunk=chunk))
        advice = (
            "local_update may receive only some of the clients: fields of clients have"
            " the shape (S, m) or (S, m, ...), and no value may depend on other clients"
            f" (here {chunk} at a time)"
        )
        assert_equal_histories(actual, expected, advice)


def check_resumed(algorithm: Algorithm) -> None:
    """Check that resuming a run from a checkpoint gives the same states."""
    # Attributes that an instance sets during a run are lost with its process.
    new_instance = dataclasses.replace(algorithm)

    def stop_before_last_round(t: int, state: State, recorder: object) -> bool:
        return t == TESTED_ROUNDS - 1

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.ckpt"
        expected = record_states(dataclasses.replace(algorithm), make_test_task())
        record_states(
            algorithm,
            make_test_task(),
            checkpoint=Checkpoint(file, every=1),
            callbacks=[stop_before_last_round],
        )
        actual = record_states(new_instance, make_test_task(), checkpoint=file)
        assert actual, "the resumed run ran no round"
        advice = "store what a round needs from earlier rounds in fields of the state"
        assert_equal_histories(actual, expected, advice)


def check_seeds_alone(algorithm: Algorithm) -> None:
    """Check that a seed has the same states alone and together with another one."""
    both = record_states(algorithm, make_test_task())
    x0 = initial_models(algorithm, make_test_task())
    alone = record_states(algorithm, make_test_task(), seeds=[1], x0=x0[1:])
    advice = "the first axis is the seeds axis, and seeds must not affect each other"
    for t, (state, state_of_both) in enumerate(zip(alone, both), start=1):
        for name, value in state_fields(state_of_both).items():
            expected = value
            if isinstance(value, Tensor) and value.ndim >= 2:
                expected = value[1:]
            field = f"state.{name} of seed 1 alone after round {t}"
            assert_equal(getattr(state, name), expected, field, advice)


def check_same_bits(algorithm: Algorithm) -> None:
    """Check that equal seeds give bit-identical models."""
    first = record_states(algorithm, make_test_task())[-1].x
    second = record_states(algorithm, make_test_task())[-1].x
    assert torch.equal(first, second), (
        "state.x differs between runs with equal seeds: draw random numbers with"
        " grad.uniform or mix.uniform only"
    )


def check_precision(algorithm: Algorithm) -> None:
    """Check that floating-point fields have the precision of the run."""
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        state = record_states(algorithm, make_test_task(dtype=dtype))[-1]
        for name, value in state_fields(state).items():
            if isinstance(value, Tensor) and value.is_floating_point():
                assert value.dtype == dtype, (
                    f"state.{name} is {value.dtype} in a {dtype} run: create tensors"
                    " with zeros_like and new_full"
                )


def check_decay(algorithm: Algorithm) -> None:
    """Check that decay affects the step size from round 2 on, or is rejected."""
    advice = "the step size of round t is self.decayed(self.eta, grad.t)"
    plain = record_states(dataclasses.replace(algorithm, decay=1.0), make_test_task())
    try:
        with_decay = dataclasses.replace(algorithm, decay=0.5)
        decayed = record_states(with_decay, make_test_task())
    except InputError:
        return
    field = "state.x after round 1 with decay"
    assert_equal(decayed[0].x, plain[0].x, field, advice)
    assert not torch.equal(decayed[1].x, plain[1].x), (
        f"decay = 0.5 has no effect on state.x after round 2: {advice}"
    )


def check_weight_decay(algorithm: Algorithm) -> None:
    """Check that weight decay affects the models, or is rejected."""
    models: list[Tensor] = []
    try:
        for value in (0.1, 0.0):
            changed = dataclasses.replace(algorithm, weight_decay=value)
            models.append(record_states(changed, make_test_task())[-1].x)
    except InputError:
        return
    assert not torch.equal(models[0], models[1]), (
        "weight_decay = 0.1 has no effect: compute gradients with self.slope(grad, y),"
        " or raise InputError in __post_init__"
    )


def check_stationary_point(algorithm: Algorithm) -> None:
    """Check that clients do not move from a common minimizer."""
    minimizer = np.arange(1.0, 4.0)
    task = Quadratic(np.ones(3), np.tile(minimizer, (M, 1)))
    start = torch.as_tensor(minimizer).expand(1, M, 3).clone()
    mix = make_round(algorithm, task, 0, matrix_for(algorithm))
    oracle = RoundOracle(
        task, RunGenerators(3, [0]), TESTED_ROUNDS, TESTED_ROUNDS, mix=mix
    )
    first = algorithm.init(start, oracle)
    if not torch.equal(algorithm.models(first), start):
        return  # the models do not start at x0, for example because of masks
    W = matrix_for(algorithm)
    run = train(algorithm, task, W, TESTED_ROUNDS, x0=start, progress=False)
    distance = float(np.abs(run.x - minimizer).max())
    assert distance <= 1e-6, (
        f"a common minimizer moves by {distance:.2g} with mixing ="
        f" {algorithm.mixing!r}: communication must preserve equal models, and"
        " ``mixing`` must be the law that the algorithm needs"
    )


def check_divergence(algorithm: Algorithm) -> None:
    """Check that huge initial values raise no error."""
    for dtype, size in ((torch.float64, 1e200), (torch.float32, 1e30)):
        task = make_test_task(dtype=dtype)
        x0 = size * initial_models(algorithm, task)[0]
        logging.disable(logging.WARNING)  # the warnings of divergence are expected
        try:
            train(
                algorithm,
                task,
                matrix_for(algorithm),
                TESTED_ROUNDS,
                x0=x0,
                progress=False,
            )
        finally:
            logging.disable(logging.NOTSET)


def check_immutable(algorithm: Algorithm) -> None:
    """Check that a run neither changes hyperparameters nor sets attributes."""
    hyperparameters = dataclasses.asdict(algorithm)
    attributes = set(vars(algorithm))
    record_states(algorithm, make_test_task())
    advice = "store changing values in the state; an algorithm holds hyperparameters"
    assert dataclasses.asdict(algorithm) == hyperparameters, (
        f"a run changes hyperparameters: {advice}"
    )
    added = set(vars(algorithm)) - attributes - {"_decays"}
    assert not added, f"a run sets attributes {', '.join(sorted(added))}: {advice}"
