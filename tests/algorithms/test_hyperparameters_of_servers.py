"""Hyperparameters of methods with a server: step sizes and keyword-only arguments."""

import inspect

import pytest

from dfltheory.algorithms import FedAvg, server


@pytest.mark.parametrize("step", [0, 1, 7, 100])
def test_steps_of_fedavg_shrink_with_the_steps_of_the_whole_run(step):
    """The step size is eta gamma/(gamma + s) with s = t K + k (Li et al. 2020)."""
    t, k = divmod(step, 3)
    assert FedAvg(eta=0.5, K=3, offset=4.0).step(0.5, t, k) == pytest.approx(
        0.5 * 4 / (4 + step), rel=1e-15
    )
    assert FedAvg(eta=0.5, K=3).step(0.5, t, k) == 0.5


def test_momentum_offset_and_participation_are_keyword_only():
    """A third positional argument must not be interpreted as another hyperparameter."""
    seen = 0
    own = [
        c
        for c in vars(server).values()
        if getattr(c, "__module__", "") == server.__name__
    ]
    for cls in filter(inspect.isclass, own):
        parameters = inspect.signature(cls).parameters
        for name in {"alpha", "offset", "participation"} & set(parameters):
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY, (cls, name)
            seen += 1
    assert seen >= 12
