"""Letters of methods with a server: how steps shrink, and which have to be named."""

import inspect

import pytest

from dfltheory.algorithms import FedAvg, server


@pytest.mark.parametrize("step", [0, 1, 7, 100])
def test_steps_of_fedavg_shrink_with_the_steps_of_the_whole_run(step):
    """eta gamma/(gamma + s), s = t K + k (Li et al. 2020)."""
    t, k = divmod(step, 3)
    assert FedAvg(eta=0.5, K=3, offset=4.0).step(0.5, t, k) == pytest.approx(
        0.5 * 4 / (4 + step), rel=1e-15
    )
    assert FedAvg(eta=0.5, K=3).step(0.5, t, k) == 0.5


def test_momentum_the_offset_and_participation_have_to_be_named():
    """So that no third number in a row is taken for another letter than was meant."""
    seen = 0
    own = [
        c
        for c in vars(server).values()
        if getattr(c, "__module__", "") == server.__name__
    ]
    for cls in filter(inspect.isclass, own):
        letters = inspect.signature(cls).parameters
        for name in {"alpha", "offset", "participation"} & set(letters):
            assert letters[name].kind is inspect.Parameter.KEYWORD_ONLY, (cls, name)
            seen += 1
    assert seen >= 12
