"""The panel on CIFAR-10: stored runs without a data root, new ones with it."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from dfltheory.errors import DataError
from validation import learning


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_stored_runs_are_those_that_the_command_makes(monkeypatch):
    runs = learning.stored()
    assert tuple(runs) == learning.NAMES
    for name, history in runs.items():
        assert type(history.algorithm).__name__ == name
        assert (history.algorithm.eta, history.algorithm.K) == (0.1, 5)
        assert (history.task, history.m, history.rounds) == ("cifar10", 10, 20)
        accuracy = history.clients["client_accuracy"]
        assert accuracy.shape == (1, 11, 10)
        np.testing.assert_allclose(
            accuracy.mean(-1), history.measures()["client_accuracy"]
        )
        assert history.accuracy[0, -1] > 0.2, "ten classes: chance is 0.1"


def test_panel_without_data_draws_the_stored_runs_and_names_the_command(monkeypatch):
    def absent():
        raise DataError("no data root")

    monkeypatch.setattr(learning, "run", absent)
    title, draw, caption = learning.panel()
    assert title == learning.TITLE
    assert learning.COMMAND in caption
    left, middle, right = draw().axes
    accuracies = [run.accuracy[0] for run in learning.stored().values()]
    drawn = [line.get_ydata() for line in left.get_lines()]
    np.testing.assert_array_equal(drawn, accuracies)
    assert len(middle.collections) == 3
    assert len(right.get_lines()) == 10 + 1 + 3


def test_panel_with_data_draws_new_runs(monkeypatch):
    runs = learning.stored()
    monkeypatch.setattr(learning, "run", lambda: runs)
    monkeypatch.setattr(learning, "stored", None)
    _, draw, caption = learning.panel()
    assert learning.COMMAND not in caption
    assert len(draw().axes) == 3


@pytest.mark.slow
def test_first_round_on_the_real_images_is_the_stored_one(data_root):
    stored, new = learning.stored(), learning.run(rounds=2)
    for name, history in new.items():
        np.testing.assert_allclose(
            history.clients["client_loss"],
            stored[name].clients["client_loss"][:, :2],
            rtol=1e-3,
        )
