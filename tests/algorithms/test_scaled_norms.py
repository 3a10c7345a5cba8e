"""Norms whose squares overflow or underflow: SAM and QSGD.

Scaling by powers of two is exact, so results agree up to rounding.
"""

import pytest
import torch

import dfltheory.algorithms as alg
from dfltheory.algorithms.compressors import QSGD
from dfltheory.algorithms.scaled_norms import scaled_norm

EXPONENTS = {
    torch.float16: (-12, 12),
    torch.bfloat16: (-100, 100),
    torch.float32: (-100, 100),
    torch.float64: (-900, 900),
}
"""Powers of two for which squared norms underflow or overflow, but the vectors do not.
"""
CASES = [
    (dtype, 2.0**exponent)
    for dtype, exponents in EXPONENTS.items()
    for exponent in exponents
]


def rows(dtype):
    """Return vectors of ordinary size, one of which is zero."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(2, 4, 7, generator=generator, dtype=torch.float64).to(dtype)
    x[1, 2] = 0
    return x


def relative_error(dtype):
    return 8 * torch.finfo(dtype).eps


@pytest.mark.parametrize(("dtype", "scale"), CASES)
def test_scaled_norm_is_the_norm_at_every_scale(dtype, scale):
    norm = scaled_norm(rows(dtype) * scale)
    measured = norm.value.double() * norm.unit
    expected = rows(dtype).double().norm(dim=-1, keepdim=True) * scale
    torch.testing.assert_close(measured, expected, rtol=relative_error(dtype), atol=0)
    torch.testing.assert_close(norm.vector * norm.unit, rows(dtype) * scale)


@pytest.mark.parametrize(("dtype", "scale"), CASES)
def test_sam_moves_by_rho_whatever_the_size_of_the_gradient(dtype, scale):
    g, y = rows(dtype), torch.zeros_like(rows(dtype))
    expected = alg.perturbed(y, g, 0.5)
    moved = alg.perturbed(y, g * scale, 0.5)
    tolerance = relative_error(dtype)
    torch.testing.assert_close(moved, expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(moved[1, 2], y[1, 2])


def test_a_row_out_of_range_changes_no_bit_of_the_others():
    g = rows(torch.float32)
    y = torch.ones_like(g)
    alone = alg.perturbed(y, g, 0.3)
    g[0, 1] *= 2.0**100
    together = alg.perturbed(y, g, 0.3)
    others = [0, 2, 3]
    assert torch.equal(together[0, others], alone[0, others])
    assert torch.equal(together[1], alone[1])


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_sam_of_a_gradient_that_is_not_finite_is_not_finite(value):
    g = rows(torch.float32)
    g[0, 1, 4] = value
    moved = alg.perturbed(torch.zeros_like(g), g, 0.3)
    assert not torch.isfinite(moved[0, 1]).all()
    assert torch.isfinite(moved[1]).all()


@pytest.mark.parametrize(("dtype", "scale"), CASES)
def test_qsgd_commutes_with_a_change_of_units(dtype, scale):
    x = rows(dtype)
    compressor = QSGD(4)

    def uniform(shape):
        return torch.full(shape, 0.4, dtype=dtype)

    measured = compressor(x * scale, uniform)
    expected = compressor(x, uniform) * scale
    torch.testing.assert_close(measured, expected, rtol=relative_error(dtype), atol=0)
