"""Partitions of labeled examples over clients: IID, Dirichlet, or few classes each.

Every partition is seeded, ends after a bounded number of attempts, assigns each example
to at most one client, and divides a test set so that each client's test labels follow
its training labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dfltheory.errors import InputError, checked_name, whole_number

_IMAGES_AT_ONCE = 4096
"""Number of images whose labels are drawn in one call."""

PartitionKind = Literal["iid", "dirichlet", "dirichlet_by_image", "shards"]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Partition:
    """Assignment of examples to m clients.

    Attributes
    ----------
    kind : str
        The method.
    train, test : tuple of m arrays of int
        Sorted indices of each client's training and test examples.
    counts, test_counts : (m, classes) arrays of int
        Number of each label among each client's training and test examples.
    """

    kind: PartitionKind
    train: tuple[Indices, ...]
    test: tuple[Indices, ...]
    counts: NDArray[np.int64]
    test_counts: NDArray[np.int64]

    @property
    def m(self) -> int:
        """Number of clients."""
        return len(self.train)

    def statistics(self) -> dict[str, float]:
        """Return sizes, labels per client, and the distance of the label distributions.

        ``label_distance`` is the mean over clients of the total variation distance to
        the overall distribution, from 0 (all clients identical) to 1.
        """
        sizes = self.counts.sum(1)
        ratios = self.counts / sizes[:, None]
        overall = self.counts.sum(0) / sizes.sum()
        labels_per_client = (self.counts > 0).sum(1)
        distances = np.abs(ratios - overall).sum(1) / 2
        return {
            "clients": float(self.m),
            "examples": float(sizes.sum()),
            "smallest": float(sizes.min()),
            "largest": float(sizes.max()),
            "labels_per_client": float(labels_per_client.mean()),
            "label_distance": float(distances.mean()),
        }


def partition_labels(
    labels: ArrayLike,
    m: int,
    kind: PartitionKind = "iid",
    *,
    alpha: float = 0.3,
    classes_per_client: int = 2,
    seed: int = 0,
    test_labels: ArrayLike | None = None,
) -> Partition:
    """Divide labeled examples over m clients.

    Parameters
    ----------
    labels : (n,) array of int
        Labels >= 0 of the training examples.
    m : int
        Number of clients.
    kind : {"iid", "dirichlet", "dirichlet_by_image", "shards"}
        ``iid``: a random division into equal parts. ``dirichlet``: each client draws
        its label ratios from Dir(alpha) and then an equal number of examples (the
        papers' method; Hsu et al. 2019); when a label is exhausted, the client
        continues with the remaining ones. ``dirichlet_by_image``: the same ratios, but
        images are assigned one at a time to random clients, so that labels are
        exhausted for all clients at the same time. This is the partition of the papers'
        code; it is milder at the same alpha (label distance 0.47 on average, against
        0.58 for ``dirichlet``, for 10 balanced labels, m = 10, alpha = 0.3).
        ``shards``: each client has exactly ``classes_per_client`` labels (the
        pathological partition; McMahan et al. 2017).
    alpha : float
        Parameter > 0 of the Dirichlet distribution. The smaller it is, the more the
        clients differ.
    classes_per_client : int
        Number of labels of each client for ``shards``.
    seed : int
        Seed >= 0 of all random choices.
    test_labels : (k,) array of int, optional
        Labels of the test set. The test examples of a label are divided in the same
        proportions as its training examples. A client that would get none gets one test
        example of its most frequent label, shared with another client.

    Returns
    -------
    Partition

    Raises
    ------
    InputError
        If an argument is out of range, or the division is impossible.
    """
    y = _labels(labels, "labels")
    t = np.zeros(0, np.int64)
    if test_labels is not None:
        t = _labels(test_labels, "test labels")
    checked_name("partition", kind, get_args(PartitionKind))
    whole_number("a partition's seed", seed, at_least=0)
    for name, value in (("m", m), ("classes_per_client", classes_per_client)):
        whole_number(f"a partition's {name}", value, at_least=1)
    if m > len(y):
        raise InputError(
            f"{len(y)} examples are too few for {m} clients: use fewer clients"
        )
    if not 0 < alpha < np.inf:
        raise InputError(f"alpha = {alpha} of the Dirichlet distribution must be > 0")
    C = 1 + max(int(y.max()), int(t.max()) if len(t) else 0)
    rng = np.random.default_rng(np.random.SeedSequence([seed, m]))
    if kind == "iid":
        parts = np.array_split(rng.permutation(len(y)), m)
        train = tuple(np.sort(part) for part in parts)
    elif kind in ("dirichlet", "dirichlet_by_image"):
        fill = _fill_image_by_image if kind == "dirichlet_by_image" else _fill_in_order
        remaining, ratios = _ratios(y, m, C, alpha, rng)
        sizes = np.array([len(part) for part in np.array_split(y, m)])
        train = _deal(y, fill(ratios, remaining, sizes, rng), rng)
    else:
        train = _deal_few_classes(y, m, C, classes_per_client, rng)
    counts = _count(y, train, C)
    sizes = counts.sum(1)
    if not sizes.min():
        raise InputError(
            f"client {sizes.argmin()} gets no example: use fewer clients or more"
            " classes per client"
        )
    test = _divide_test_examples(t, counts, rng) if len(t) else (t,) * m
    return Partition(kind, train, test, counts, _count(t, test, C))


def _labels(labels: ArrayLike, name: str) -> Indices:
    """Return labels as an array of integers; ``name`` is theirs in messages."""
    y = np.asarray(labels)
    is_list = y.ndim == 1 and len(y) > 0
    if not is_list or not np.issubdtype(y.dtype, np.integer) or y.min() < 0:
        raise InputError(
            f"{name} must be a list of integers >= 0, one for each example"
        )
    return y.astype(np.int64)


def _count(y: Indices, parts: tuple[Indices, ...], C: int) -> NDArray[np.int64]:
    """Return the number of examples of each label in each part, (m, C)."""
    return np.stack([np.bincount(y[part], minlength=C) for part in parts])


def _deal(
    y: Indices, counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Indices, ...]:
    """Assign counts[i, c] random examples of label c to client i, without overlap."""
    m, C = counts.shape
    shares: list[list[Indices]] = [[] for _ in range(m)]
    for c in range(C):
        shuffled = rng.permutation(np.flatnonzero(y == c))
        ends = counts[:, c].cumsum()
        for share, part in zip(shares, np.split(shuffled, ends)[:-1], strict=True):
            share.append(part)
    return tuple(np.sort(np.concatenate(share)) for share in shares)


def _ratios(
    y: Indices, m: int, C: int, alpha: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the number of examples of each label, and clients' label ratios (m, C)."""
    totals = np.bincount(y, minlength=C)
    present = totals > 0
    ratios = np.zeros((m, C))
    ratios[:, present] = rng.dirichlet(np.full(int(present.sum()), alpha), size=m)
    return totals, ratios


def _weights(
    ratios: NDArray[np.float64], remaining: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return a client's probabilities of the labels that are not exhausted."""
    weight = np.where(remaining > 0, ratios, 0.0)
    if not weight.sum() > 0:
        weight = remaining.astype(float)
    return weight / weight.sum()


def _fill_in_order(
    ratios: NDArray[np.float64],
    remaining: NDArray[np.int64],
    missing: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return label counts (m, C) if clients draw one after another.

    The order of the clients is random.
    """
    counts = np.zeros(ratios.shape, dtype=np.int64)
    for i in rng.permutation(len(missing)):
        while missing[i]:  # each draw assigns an image or exhausts a label
            take = rng.multinomial(missing[i], _weights(ratios[i], remaining))
            take = np.minimum(take, remaining)
            counts[i] += take
            remaining, missing[i] = remaining - take, missing[i] - take.sum()
    return counts


def _fill_image_by_image(
    ratios: NDArray[np.float64],
    remaining: NDArray[np.int64],
    sizes: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Return label counts (m, C) if a random client draws each image.

    Until a label is exhausted, the labels of consecutive images are independent and are
    drawn in one call.
    """
    counts = np.zeros(ratios.shape, dtype=np.int64)
    order = _draw_turns(sizes, rng)
    assigned = 0
    while assigned < len(order):
        clients = order[assigned : assigned + _IMAGES_AT_ONCE]
        weights = np.where(remaining > 0, ratios[clients], 0.0)
        without_labels = np.flatnonzero(~(weights.sum(1) > 0))
        # probabilities of a client whose labels are exhausted depend on the remaining
        until = without_labels[0] if len(without_labels) else len(clients)
        if until == 0:
            probabilities = _weights(ratios[clients[0]], remaining)
            labels = np.array([rng.choice(len(remaining), p=probabilities)])
        else:
            labels = _draw_labels(weights[:until], remaining, rng)
        np.add.at(counts, (clients[: len(labels)], labels), 1)
        remaining = remaining - np.bincount(labels, minlength=len(remaining))
        assigned += len(labels)
    return counts


def _draw_turns(sizes: NDArray[np.int64], rng: np.random.Generator) -> Indices:
    """Return the client of each image, uniformly random among those not yet full."""
    m, total = len(sizes), int(sizes.sum())
    taken = np.zeros(m, dtype=np.int64)
    parts: list[Indices] = []
    while (taken < sizes).any():
        open_clients = np.flatnonzero(taken < sizes)
        clients = rng.choice(open_clients, size=total)
        # index of each draw among the draws of its client
        by_client = np.argsort(clients, kind="stable")
        starts = np.searchsorted(clients[by_client], clients[by_client])
        turn = np.empty(total, dtype=np.int64)
        turn[by_client] = np.arange(total) - starts
        kept = clients[turn + taken[clients] < sizes[clients]]
        taken += np.bincount(kept, minlength=m)
        parts.append(kept)
    return np.concatenate(parts)


def _draw_labels(
    weights: NDArray[np.float64], remaining: NDArray[np.int64], rng: np.random.Generator
) -> Indices:
    """Draw labels for consecutive images, up to the first that exhausts a label."""
    cumulative = weights.cumsum(1)
    levels = rng.random(len(weights)) * cumulative[:, -1]
    labels = (cumulative <= levels[:, None]).sum(1)
    labels = np.minimum(labels, np.flatnonzero(remaining > 0)[-1])
    last = len(labels) - 1
    for c in np.unique(labels):
        with_label = np.flatnonzero(labels == c)
        if len(with_label) >= remaining[c]:
            exhausted_at = int(with_label[remaining[c] - 1])
            last = min(last, exhausted_at)
    return labels[: last + 1]


def _deal_few_classes(
    y: Indices, m: int, C: int, c: int, rng: np.random.Generator
) -> tuple[Indices, ...]:
    """Divide the examples so that each client has exactly c of the C labels."""
    totals = np.bincount(y, minlength=C)
    present = np.flatnonzero(totals)
    if not 1 <= c <= len(present):
        raise InputError(
            f"classes_per_client = {c} must be between 1 and {len(present)}, the number"
            " of labels"
        )
    if m * c < len(present):
        raise InputError(
            f"{m} clients with {c} labels each cannot cover all {len(present)} labels:"
            " increase either number"
        )
    # number of clients that have a label, as equal as possible
    slots = np.zeros(C, dtype=np.int64)
    slots[present] = m * c // len(present)
    slots[rng.choice(present, m * c % len(present), replace=False)] += 1
    holds, remaining = np.zeros((m, C), dtype=bool), slots.copy()
    for i in range(m):  # taking the labels with most slots first always succeeds
        most_slots_first = np.lexsort((rng.random(C), -remaining))
        holds[i, most_slots_first[:c]] = True
        remaining = remaining - holds[i]
    counts = np.zeros((m, C), dtype=np.int64)
    for k in present:
        holders = rng.permutation(np.flatnonzero(holds[:, k]))
        parts = np.array_split(np.empty(totals[k]), len(holders))
        counts[holders, k] = [len(part) for part in parts]
    return _deal(y, counts, rng)


def _divide_test_examples(
    t: Indices, counts: NDArray[np.int64], rng: np.random.Generator
) -> tuple[Indices, ...]:
    """Divide test examples in the proportions of ``counts``.

    Each client's total is also proportional, up to rounding.
    """
    m, C = counts.shape
    totals = np.bincount(t, minlength=C)
    wanted = totals * counts / np.maximum(counts.sum(0), 1)
    assigned = np.floor(wanted).astype(np.int64)
    behind = np.zeros(m)  # accumulated rounding deficit of each client
    for c in range(C):
        behind += wanted[:, c] - assigned[:, c]
        rest = round(float(wanted[:, c].sum())) - int(assigned[:, c].sum())
        # one more example for those with the label that are most behind
        deficit = np.where(counts[:, c] > 0, behind, -np.inf)
        chosen = np.lexsort((rng.random(m), -deficit))[:rest]
        assigned[chosen, c] += 1
        behind[chosen] -= 1
    parts = list(_deal(t, assigned, rng))
    for i in np.flatnonzero(assigned.sum(1) == 0):
        most_frequent_first = np.argsort(-counts[i], kind="stable")
        in_both_sets = (counts[i] > 0) & (totals > 0)
        labels = most_frequent_first[in_both_sets[most_frequent_first]]
        if len(labels):
            parts[i] = rng.choice(np.flatnonzero(t == labels[0]), 1)
    return tuple(parts)
