"""Image sets as tasks: partitions, preprocessing, augmentation, options and names."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dfltheory import models, tasks
from dfltheory.errors import InputError, UnknownNameError
from dfltheory.tasks import Supervised, federated, images


def generators(S: int, first: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(first + s) for s in range(S)]


def toy(n: int = 60, shape: tuple[int, int, int] = (3, 16, 16)) -> images.ImageSet:
    rng = np.random.default_rng(0)

    def draw(k: int) -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(0, 256, (k, *shape), dtype=np.uint8), np.arange(k) % 10

    return images.ImageSet("toy", *draw(n), *draw(n // 2), labels=tuple("0123456789"))


def test_digits_over_clients():
    task = tasks.digits(m=5, partition="dirichlet", alpha=0.3, batch=7, seed=3)
    assert (task.m, task.d, task.name) == (5, 650, "digits")
    assert sorted(task.sizes.tolist()) == [288, 288, 288, 289, 289]
    batch = task.sample(generators(2))
    assert batch.X.shape == (2, 5, 7, 1, 8, 8)
    whole = images.load_images("digits")
    parts = tasks.partition.partition_labels(
        whole.train_y, 5, "dirichlet", alpha=0.3, seed=3
    )
    first = int(task.offsets[2])
    own = parts.train[2]
    torch.testing.assert_close(
        task.X[first : first + len(own)], whole.normalized(whole.train_x[own])
    )
    assert task.y[first : first + len(own)].tolist() == whole.train_y[own].tolist()


def test_own_tests_follow_the_clients_labels():
    task = tasks.digits(m=5, partition="shards", classes_per_client=2, test="own")
    x = torch.zeros(1, task.m, task.d)
    for _ in range(60):
        x = x - 0.1 * task.gradient(x)
    alone = task.client_accuracy(x)
    assert alone.shape == (1, 5)
    assert float(alone.min()) > 0.9, "two labels are easy to distinguish"
    assert float(task.accuracy(x[:, 0])) < 0.5, (
        "another client's labels were never seen"
    )


def test_networks_are_seeded_and_leave_the_callers_chance_alone():
    torch.manual_seed(5)
    before = torch.get_rng_state()
    a, b, c = (
        tasks.digits(m=2, model="mlp", seed=s).start(torch.Generator())
        for s in (0, 0, 1)
    )
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(a, b)
    assert not torch.equal(a, c)


def test_any_module_and_any_loaded_set():
    task = federated.image_task(
        toy(), m=3, model=models.mlp(3 * 256, (4,), 10), batch=4, personal="head"
    )
    assert task.shared == slice(0, 768 * 4 + 4)
    assert task.gradient(task.start(torch.Generator()).expand(1, 3, -1)).shape == (
        1,
        3,
        task.d,
    )
    assert federated.image_task(toy(), m=3).d == 769 * 10, (
        "softmax regression by default"
    )


def test_large_sets_stay_bytes_until_they_are_used(monkeypatch):
    some = toy()
    ready = federated.image_task(some, m=3, batch=5)
    monkeypatch.setattr(federated, "_LARGE", 10)
    late = federated.image_task(some, m=3, batch=5)
    assert (ready.X.dtype, late.X.dtype) == (torch.float32, torch.uint8)
    x = torch.randn(2, 3, late.d, generator=torch.Generator().manual_seed(0)) / 30
    torch.testing.assert_close(
        ready.gradient(x), late.gradient(x), rtol=1e-4, atol=1e-5
    )
    torch.testing.assert_close(
        ready.gradient(x, ready.sample(generators(2))),
        late.gradient(x, late.sample(generators(2))),
    )
    assert torch.equal(ready.accuracy(x[:, 0]), late.accuracy(x[:, 0]))


@pytest.mark.filterwarnings("error")
def test_large_sets_may_be_arrays_that_cannot_be_written(monkeypatch):
    some = toy()
    for pixels in (some.train_x, some.test_x):
        pixels.flags.writeable = False
    monkeypatch.setattr(federated, "_LARGE", 10)
    assert federated.image_task(some, m=3, batch=5).X.dtype == torch.uint8


def test_fewer_examples_for_quick_experiments():
    task = federated.image_task(toy(), m=3, examples=30, test_examples=10, seed=1)
    assert int(task.sizes.sum()) == 30
    for name, count in (("examples", 61), ("test_examples", 0)):
        with pytest.raises(InputError, match=f"^{name} = {count}"):
            federated.image_task(toy(), **{name: count})


def test_every_name_builds_and_teaches_its_options():
    written_down = {"quadratic", "sinusoidal", "clipped", "coupled"}
    assert set(tasks.names()) == written_down | {"npz", *images.NAMES}
    for name in written_down:
        task = tasks.get(name, m=3, seed=1)
        assert task.m == 3
        assert task.constants.known()
        assert task.gradient(torch.zeros(2, 3, task.d, dtype=task.dtype)).shape == (
            2,
            3,
            task.d,
        )
    assert isinstance(tasks.get("digits", m=3, model="mlp"), Supervised)
    with pytest.raises(UnknownNameError, match=r"\bpartition\b"):
        tasks.get("digits", partitions="iid")
    with pytest.raises(UnknownNameError, match="cifar10"):
        tasks.get("cifar")
    with pytest.raises(UnknownNameError, match="test"):
        tasks.get("digits", test="mine")


@pytest.mark.data
@pytest.mark.slow
def test_cifar10_is_learned_far_above_chance(data_root):
    """Tests network, files and partition together, on the official files."""
    task = tasks.get(
        "cifar10",
        m=2,
        batch=64,
        partition="dirichlet",
        alpha=0.6,
        data_root=data_root,
        examples=6000,
        test_examples=2000,
    )
    x = task.start(torch.Generator()).expand(1, 2, -1)
    for k in range(150):
        x = x - 0.05 * task.gradient(x, task.sample(generators(1, first=k)))
        x = x.mean(1, keepdim=True).expand(-1, 2, -1)
    assert float(task.accuracy(x[:, 0])) > 0.22  # random guessing has accuracy 0.1


@pytest.mark.slow
@pytest.mark.data
def test_mnist_with_a_hundred_clients(data_root):
    task = tasks.get(
        "mnist",
        m=100,
        batch=20,
        partition="shards",
        classes_per_client=2,
        data_root=data_root,
    )
    assert (task.m, task.d) == (100, 199_210)
    x = task.start(torch.Generator()).expand(1, 100, -1)
    for k in range(15):
        x = x - 0.1 * task.gradient(x, task.sample(generators(1, first=k)))
        x = x.mean(1, keepdim=True).expand(-1, 100, -1)
    assert float(task.accuracy(x[:, 0])) > 0.6


@pytest.mark.parametrize("name", ["examples", "test_examples"])
@pytest.mark.parametrize("count", [0, 2.5, True, "many"])
def test_a_number_of_examples_that_is_no_positive_integer_is_rejected(name, count):
    with pytest.raises(InputError, match=f"{name} = "):
        tasks.image_task("digits", **{name: count})
