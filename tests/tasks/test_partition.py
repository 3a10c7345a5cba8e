"""Partitions: every example is assigned exactly once, the laws of each kind hold, and
impossible requests are rejected.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dfltheory.errors import InputError, UnknownNameError
from dfltheory.tasks.partition import _divide_test_examples, partition_labels

KINDS = ["iid", "dirichlet", "dirichlet_by_image", "shards"]


def labels(n: int, classes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(np.arange(n) % classes)


@given(
    kind=st.sampled_from(KINDS),
    m=st.integers(1, 12),
    classes=st.integers(2, 7),
    seed=st.integers(0, 10**6),
    alpha=st.sampled_from([0.01, 0.3, 5.0]),
)
def test_every_example_has_one_client_and_counts_tell_the_truth(
    kind, m, classes, seed, alpha
):
    y, t = labels(40 * m, classes, seed), labels(15 * m, classes, seed + 1)
    c = max(2, -(-classes // m))
    parts = partition_labels(
        y,
        m,
        kind,
        alpha=alpha,
        seed=seed,
        test_labels=t,
        classes_per_client=min(c, classes),
    )
    assert np.array_equal(np.sort(np.concatenate(parts.train)), np.arange(len(y)))
    for i in range(m):
        np.testing.assert_array_equal(
            np.bincount(y[parts.train[i]], minlength=classes), parts.counts[i]
        )
        np.testing.assert_array_equal(
            np.bincount(t[parts.test[i]], minlength=classes), parts.test_counts[i]
        )
        assert parts.test_counts[i].sum() >= 1
        assert not np.any(parts.test_counts[i][parts.counts[i] == 0]), (
            "tested on a label never seen"
        )
    if kind in ("iid", "dirichlet", "dirichlet_by_image"):
        sizes = parts.counts.sum(1)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_partition_and_another_seed_another(kind):
    y = labels(600, 10)
    a, b, c = (partition_labels(y, 6, kind, seed=s) for s in (1, 1, 2))
    assert all(np.array_equal(p, q) for p, q in zip(a.train, b.train, strict=True))
    assert not all(np.array_equal(p, q) for p, q in zip(a.train, c.train, strict=True))


@given(
    m=st.integers(1, 30),
    classes=st.integers(2, 10),
    c=st.integers(1, 10),
    seed=st.integers(0, 10**6),
)
def test_shards_hold_exactly_c_labels_each_and_share_them_evenly(m, classes, c, seed):
    c = min(c, classes)
    assume(m * c >= classes)
    y = labels(60 * m * classes, classes, seed)
    parts = partition_labels(y, m, "shards", classes_per_client=c, seed=seed)
    assert ((parts.counts > 0).sum(1) == c).all()
    holders = (parts.counts > 0).sum(0)
    assert holders.max() - holders.min() <= 1
    for k in range(classes):
        held = parts.counts[:, k][parts.counts[:, k] > 0]
        assert held.max() - held.min() <= 1


@pytest.mark.parametrize("kind", ["dirichlet", "dirichlet_by_image"])
def test_alpha_governs_how_far_the_clients_differ(kind):
    y = labels(20_000, 10)
    distance = [
        partition_labels(y, 20, kind, alpha=a, seed=3).statistics()["label_distance"]
        for a in (0.1, 1.0, 100.0)
    ]
    assert distance[0] > 0.6 > distance[1] > 0.2 > 0.1 > distance[2]
    assert partition_labels(y, 20, "iid", seed=3).statistics()["label_distance"] < 0.06


def image_by_image(y, m, alpha, rng):
    """Follow the papers' code: a random client that is not full, and labels until one
    is available.
    """
    left = np.bincount(y)
    prior = rng.dirichlet(np.full(len(left), alpha), size=m).cumsum(1)
    missing, counts = np.full(m, len(y) // m), np.zeros((m, len(left)), int)
    while missing.sum():
        if not missing[i := rng.integers(m)]:
            continue
        for _ in range(1000):
            if left[c := int(np.argmax(rng.uniform() <= prior[i]))]:
                break
        else:  # all of its labels are used up; their code would loop forever
            c = int(rng.choice(len(left), p=left / left.sum()))
        left[c], missing[i], counts[i, c] = (
            left[c] - 1,
            missing[i] - 1,
            counts[i, c] + 1,
        )
    return np.abs(counts / counts.sum(1, keepdims=True) - 0.1).sum(1).mean() / 2


@pytest.mark.parametrize("draws", [5, pytest.param(16, marks=pytest.mark.slow)])
def test_service_image_by_image_is_milder_and_is_the_papers_rule(draws):
    """Checks the documented values, within four standard errors of the mean (0.03 each
    for 16 draws).
    """
    y, seeds = labels(1000, 10), range(draws)
    error = 0.12 / draws**0.5
    mean = {
        kind: np.mean(
            [
                partition_labels(y, 10, kind, alpha=0.3, seed=s).statistics()[
                    "label_distance"
                ]
                for s in seeds
            ]
        )
        for kind in ("dirichlet", "dirichlet_by_image")
    }
    assert mean["dirichlet"] == pytest.approx(0.58, abs=error)
    assert mean["dirichlet_by_image"] == pytest.approx(0.47, abs=error)
    literal = np.mean(
        [image_by_image(y, 10, 0.3, np.random.default_rng(s)) for s in seeds]
    )
    assert mean["dirichlet_by_image"] == pytest.approx(literal, abs=error)


def test_dirichlet_ratios_have_the_moments_of_the_distribution():
    alpha, classes, m = 0.5, 5, 400
    y = labels(400 * 500, classes)
    ratios = partition_labels(y, m, "dirichlet", alpha=alpha, seed=0).counts / 500
    # Var of one coordinate of Dir(alpha 1_C): (1/C)(1 - 1/C) / (C alpha + 1); the few
    # clients that meet used-up labels shrink it somewhat
    variance = (1 / classes) * (1 - 1 / classes) / (classes * alpha + 1)
    np.testing.assert_allclose(ratios.mean(0), 1 / classes, atol=0.01)
    assert 0.85 * variance < ratios.var() < 1.05 * variance


@pytest.mark.parametrize("kind", KINDS)
def test_test_labels_follow_the_training_labels_of_each_client(kind):
    y, t = labels(50_000, 10), labels(10_000, 10, 1)
    parts = partition_labels(y, 20, kind, alpha=0.3, seed=5, test_labels=t)
    assert np.array_equal(np.sort(np.concatenate(parts.test)), np.arange(len(t)))
    np.testing.assert_allclose(
        parts.test_counts, parts.counts * (10_000 / 50_000), atol=1.0
    )
    np.testing.assert_allclose(
        parts.test_counts.sum(1), parts.counts.sum(1) / 5, atol=1.5
    )


def test_tiny_test_sets_still_leave_every_client_something():
    parts = partition_labels(
        labels(1000, 10), 100, "iid", seed=0, test_labels=labels(30, 10)
    )
    assert [len(p) for p in parts.test] == [1] * 100
    assert len(np.unique(np.concatenate(parts.test))) == 30


def test_a_client_for_which_no_test_example_remains_gets_one_of_its_most_frequent_label():
    """Or of the next label, if the test set has none of that label."""
    y, t = labels(4000, 10), np.arange(9)  # no test example of the label 9
    parts = partition_labels(y, 100, "dirichlet", seed=2, test_labels=t)
    assert [len(p) for p in parts.test] == [1] * 100
    held = np.array([t[p[0]] for p in parts.test])
    wanted = parts.counts[:, :9].argmax(1)
    top = parts.counts[np.arange(100), held] == parts.counts[np.arange(100), wanted]
    assert top.sum() >= 100 - 9, "nine may have been dealt another"
    assert (parts.counts.argmax(1) == 9).sum() > 3


def test_a_label_of_which_there_is_one_example_is_tested_where_that_example_is():
    y, t = np.array([0] * 300 + [1]), np.array([0] * 100 + [1] * 4)
    parts = partition_labels(y, 3, "iid", seed=0, test_labels=t)
    np.testing.assert_array_equal(parts.test_counts[:, 1], 4 * parts.counts[:, 1])
    rare = np.array([0] * 297 + [1] * 3)
    for seed in range(20):
        parts = partition_labels(
            rare, 9, "iid", seed=seed, test_labels=np.array([0] * 99 + [1])
        )
        assert parts.counts[parts.test_counts[:, 1] == 1, 1].tolist() in ([1], [2], [3])


def test_dirichlet_with_scarce_labels_ends():
    y = np.array([0] * 990 + [1] * 10)
    parts = partition_labels(y, 50, "dirichlet", alpha=0.01, seed=0)
    assert parts.counts.sum() == 1000
    assert (parts.counts.sum(1) == 20).all()
    # ratios are exactly 0 once a client's only label is used up
    for seed in range(5):
        parts = partition_labels(labels(100, 10), 5, "dirichlet", alpha=1e-5, seed=seed)
        assert parts.counts.sum(1).tolist() == [20] * 5


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_that_only_the_test_set_has_is_nobodys(kind):
    y, t = labels(90, 3), labels(60, 6)
    parts = partition_labels(y, 3, kind, alpha=1.0, seed=1, test_labels=t)
    assert parts.counts.shape == parts.test_counts.shape == (3, 6)
    assert parts.counts.sum(0).tolist() == [30, 30, 30, 0, 0, 0]
    assert parts.test_counts.sum(0).tolist() == [10, 10, 10, 0, 0, 0]


def test_one_client_with_one_example():
    parts = partition_labels([0], 1, test_labels=[0])
    assert (parts.m, parts.train[0].tolist(), parts.test[0].tolist()) == (1, [0], [0])
    assert partition_labels([0, 1], 1).statistics()["labels_per_client"] == 2.0


def test_gaps_in_the_label_numbers_are_no_labels():
    y = np.repeat([0, 3, 7], 30)
    for kind in KINDS:
        parts = partition_labels(y, 3, kind, alpha=1.0, seed=1, test_labels=y)
        assert parts.counts.shape == (3, 8)
        assert parts.counts[:, [1, 2, 4, 5, 6]].sum() == 0
    assert ((partition_labels(y, 3, "shards", seed=1).counts > 0).sum(1) == 2).all()


def test_statistics_of_a_known_partition():
    parts = partition_labels(
        np.repeat([0, 1], 50), 2, "shards", classes_per_client=1, seed=0
    )
    found = parts.statistics()
    assert found == {
        "clients": 2.0,
        "examples": 100.0,
        "smallest": 50.0,
        "largest": 50.0,
        "labels_per_client": 1.0,
        "label_distance": 0.5,
    }
    uneven = partition_labels(
        np.repeat([0, 1], [3, 4]), 2, "shards", classes_per_client=1, seed=0
    ).statistics()
    assert (uneven["smallest"], uneven["largest"], uneven["examples"]) == (
        3.0,
        4.0,
        7.0,
    )
    assert uneven["label_distance"] == pytest.approx((4 / 7 + 3 / 7) / 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"m": 0}, "a partition's m = 0 must be an integer >= 1"),
        ({"m": 2.5}, "a partition's m = 2.5 must"),
        ({"m": True}, "a partition's m = True must"),
        ({"m": 3, "seed": -1}, "a partition's seed = -1 must be an integer >= 0"),
        (
            {"m": 3, "kind": "shards", "classes_per_client": 2.5},
            "a partition's classes_per_client = 2.5 must",
        ),
        ({"m": 101}, "100 examples are too few for 101 clients"),
        ({"m": 5, "kind": "shards", "classes_per_client": 11}, "between 1 and 10"),
        ({"m": 2, "kind": "shards", "classes_per_client": 2}, "cannot cover all 10"),
        ({"m": 100, "kind": "shards", "classes_per_client": 2}, "gets no example"),
        ({"m": 5, "kind": "dirichlet", "alpha": 0.0}, "alpha"),
        ({"m": 5, "kind": "dirichlet", "alpha": float("nan")}, "alpha"),
    ],
)
def test_partition_rejects_impossible_options_in_one_line(options, words):
    with pytest.raises(InputError, match=words) as caught:
        partition_labels(labels(100, 10), **options)
    assert "\n" not in str(caught.value)


def test_unknown_kinds_and_bad_labels():
    with pytest.raises(UnknownNameError, match="dirichlet"):
        partition_labels(labels(100, 10), 5, "dirchlet")
    for bad in ([], np.zeros(0, int), [[1]], [0.5], [-1, 0]):
        with pytest.raises(InputError, match="integers"):
            partition_labels(bad, 1)


def test_a_client_whose_share_of_tests_rounds_to_none_gets_its_largest_class_and_of_ties_the_first():
    rng = np.random.default_rng(0)
    t, counts = np.arange(40), rng.integers(1, 3, (900, 40))  # 40 tests for 900 clients
    tests = _divide_test_examples(t, counts, rng)
    assert all(len(part) >= 1 for part in tests)
    assert (
        sum(
            part.tolist() == [own.argmax()]
            for part, own in zip(tests, counts, strict=True)
        )
        >= 860
    )
