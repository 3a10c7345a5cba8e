"""Memory is used again when, and only when, nobody can see it any more."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dfltheory.tasks.buffers import Buffers

SHAPE = (2, 500, 300)  # above the size that is worth keeping


def test_memory_is_used_again_once_it_is_free():
    buffers = Buffers()
    one = buffers.empty(SHAPE, torch.float64)
    place = one.data_ptr()
    del one
    assert buffers.empty(SHAPE, torch.float64).data_ptr() == place


@pytest.mark.parametrize(
    "hold",
    [lambda t: t, lambda t: t[0], lambda t: t.view(-1)[5:7], lambda t: t.numpy(), lambda t: [t.mT.detach()]],
    ids=["itself", "row", "slice", "numpy", "list"],
)
def test_memory_that_anything_refers_to_is_left_alone(hold):
    buffers = Buffers()
    one = buffers.empty(SHAPE, torch.float64)
    place = one.data_ptr()
    held = hold(one)
    del one
    another = buffers.empty(SHAPE, torch.float64)
    assert another.data_ptr() != place
    del held, another
    places = {
        t.data_ptr() for t in (buffers.empty(SHAPE, torch.float64), buffers.empty(SHAPE, torch.float64))
    }
    assert place in places


def test_memory_that_is_free_is_given_back_and_no_other():
    buffers = Buffers()
    kept, free = (buffers.empty(SHAPE, torch.float64) for _ in range(2))
    place, row = kept.data_ptr(), kept.fill_(7)[1]
    del kept, free
    buffers.release()
    assert len(buffers._arrays) == 1
    assert row.data_ptr() > place
    del row
    assert buffers.empty(SHAPE, torch.float64).data_ptr() == place
    buffers.release()
    assert not buffers._arrays


@given(keep=st.lists(st.booleans(), min_size=1, max_size=12))
def test_whatever_is_kept_keeps_its_numbers(keep):
    buffers, kept = Buffers(), []
    for k, stays in enumerate(keep):
        tensor = buffers.empty(SHAPE, torch.float64).fill_(float(k))
        if stays:
            kept.append((k, tensor[0, :1]))
        del tensor
    for k, view in kept:
        assert (view == k).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_shapes_and_precisions(dtype):
    buffers = Buffers()
    for shape in (SHAPE, (3,), (0, 4), SHAPE):
        tensor = buffers.empty(shape, dtype)
        assert tensor.shape == shape
        assert tensor.dtype == dtype
