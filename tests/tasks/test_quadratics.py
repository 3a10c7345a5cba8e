"""Quadratics agree with their definitions; constants are attacked and compared with
closed forms.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import dfltheory as dfl
from dfltheory.errors import InputError
from dfltheory.tasks import FiniteSupport, Gaussian, Quadratic, get, quadratic
from tests.tasks.problems import random_support

KINDS = ["common", "diagonal", "commuting", "random"]


def literal_loss(A: np.ndarray, b: np.ndarray, x: np.ndarray) -> float:
    return 0.5 * float((x - b) @ A @ (x - b))


def dense(task: Quadratic) -> np.ndarray:
    return task.hessian(torch.zeros(task.m, task.d, dtype=torch.float64)).numpy()


def random_quadratic(
    seed: int, m: int = 4, d: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(m, d, d))
    return R @ R.transpose(0, 2, 1) + np.eye(d), rng.normal(size=(m, d))


@pytest.mark.parametrize(
    "form", ["matrices", "common", "diagonal", "diagonals", "number"]
)
def test_losses_and_gradients_are_the_definition_in_every_form(form):
    A, b = random_quadratic(0)
    m, d = b.shape
    if form == "matrices":
        task = Quadratic(A, b)
    elif form == "common":
        task, A = Quadratic(A[0], b), np.broadcast_to(A[0], A.shape)
    elif form == "diagonal":
        task, A = (
            Quadratic(A[0, 0] ** 2, b),
            np.broadcast_to(np.diag(A[0, 0] ** 2), A.shape),
        )
    elif form == "diagonals":
        task, A = (
            Quadratic.diagonal(A[:, 0] ** 2, b),
            np.stack([np.diag(h) for h in A[:, 0] ** 2]),
        )
    else:
        task, A = Quadratic(2.5, b), np.broadcast_to(2.5 * np.eye(d), A.shape)
    x = np.random.default_rng(1).normal(size=(5, m, d))
    loss, gradient = (
        task.loss(torch.tensor(x)).numpy(),
        task.gradient(torch.tensor(x)).numpy(),
    )
    for s in range(5):
        for i in range(m):
            assert loss[s, i] == pytest.approx(
                literal_loss(A[i], b[i], x[s, i]), rel=1e-12
            )
            np.testing.assert_allclose(
                gradient[s, i], A[i] @ (x[s, i] - b[i]), rtol=1e-12, atol=1e-12
            )
    np.testing.assert_allclose(dense(task), A, rtol=1e-14)
    np.testing.assert_allclose(
        task.global_hessian(torch.zeros(d, dtype=torch.float64)), A.mean(0), rtol=1e-14
    )
    # two leading axes, or none, are treated like one
    np.testing.assert_allclose(
        task.gradient(torch.tensor(x[None]))[0], gradient, rtol=1e-13, atol=1e-13
    )
    np.testing.assert_allclose(
        task.gradient(torch.tensor(x[0])), gradient[0], rtol=1e-13, atol=1e-13
    )
    at = torch.tensor(x[:, 0])
    np.testing.assert_allclose(
        task.global_loss(at)[0],
        np.mean([literal_loss(A[i], b[i], x[0, 0]) for i in range(m)]),
    )
    np.testing.assert_allclose(
        task.global_gradient(at)[0],
        np.mean([A[i] @ (x[0, 0] - b[i]) for i in range(m)], 0),
        atol=1e-12,
    )
    both = task.global_loss_and_gradient(at)
    assert all(map(torch.equal, both, (task.global_loss(at), task.global_gradient(at))))


@given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(KINDS),
    m=st.integers(1, 7),
    d=st.integers(2, 6),
)
def test_prescribed_constants_are_met_exactly(seed, kind, m, d):
    rng = np.random.default_rng(seed)
    mu, L = np.sort(rng.uniform(0.01, 3.0, 2))
    zeta = 0.0 if m == 1 else float(rng.uniform(0.0, 3.0))
    distance = float(rng.uniform(0.0, 3.0))
    task = quadratic(
        m, d, L, mu, zeta, sigma=0.3, seed=seed, hessians=kind, distance=distance
    )
    A, b = dense(task), task.b.numpy()
    spectra = np.linalg.eigvalsh(A)
    assert np.abs(spectra).max() == pytest.approx(L, rel=1e-12) == task.constants.L
    assert (
        np.linalg.eigvalsh(A.mean(0))[0]
        == pytest.approx(mu, rel=1e-9)
        == task.constants.mu
    )
    x = np.linalg.solve(A.mean(0), np.einsum("ijk,ik->j", A, b) / m)
    np.testing.assert_allclose(task.x_star, x, atol=1e-9)
    assert np.linalg.norm(x) == pytest.approx(distance, abs=1e-9)
    g = np.einsum("ijk,ik->ij", A, x - b)
    assert np.sqrt((g**2).sum(1).mean()) == pytest.approx(zeta, abs=1e-9)
    assert task.zeta == pytest.approx(zeta, abs=1e-9)
    f_star = np.mean([literal_loss(A[i], b[i], x) for i in range(m)])
    assert task.constants.f_star == pytest.approx(f_star, rel=1e-9, abs=1e-12)
    assert task.constants.sigma_l == pytest.approx(0.3, rel=1e-15)
    if kind in ("common", "diagonal") or m == 1:
        assert task.constants.sigma_g == pytest.approx(zeta, abs=1e-9)
        assert task.constants.beta == pytest.approx(
            np.sqrt((g**2).sum(1).max()), abs=1e-9
        )
    else:
        assert task.constants.sigma_g == task.constants.beta == math.inf


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"mu": 0.0}], ids=str)
def test_a_seed_is_all_that_a_random_problem_depends_on(kind, options):
    def build(seed):
        task = quadratic(4, 3, seed=seed, hessians=kind, **options)
        return torch.cat([task.A.reshape(-1), task.b.reshape(-1)])

    torch.manual_seed(1)
    before = torch.get_rng_state()
    one, two, other = (build(seed) for seed in (5, 5, 6))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_hessians_agree_where_they_are_to_and_nowhere_else(kind, d):
    """Each client has its own spectrum from mu to L, with common eigenvectors or its
    own.
    """
    task = quadratic(3, d, L=2.0, mu=0.5, seed=3, hessians=kind)
    A = dense(task)
    spectra = np.linalg.eigvalsh(A)
    assert task.is_diagonal == (kind == "diagonal")
    np.testing.assert_allclose(spectra[:, 0], 0.5, rtol=1e-12)
    if kind in ("common", "diagonal"):
        assert task.common_hessian
        np.testing.assert_allclose(
            spectra, np.tile(np.linspace(0.5, 2.0, d), (3, 1)), rtol=1e-12
        )
        return
    assert not task.common_hessian
    assert spectra.max() == pytest.approx(2.0, rel=1e-12)
    assert np.all(np.diff(np.sort(spectra[:, -1])) > 1e-3)
    swapped = np.abs(A[0] @ A[1] - A[1] @ A[0]).max() < 1e-12
    # in two dimensions, one eigenvector determines the other
    assert swapped == (kind == "commuting" or d == 2)


def test_default_problem():
    task = quadratic()
    assert (task.m, task.d, task.is_diagonal, task.common_hessian) == (
        16,
        10,
        False,
        True,
    )
    known = task.constants
    assert (known.L, known.mu, known.sigma_l, known.sigma_g) == pytest.approx(
        (1.0, 0.1, 0.1, 1.0)
    )
    assert (task.zeta, float(task.x_star.norm())) == pytest.approx((1.0, 1.0))
    assert quadratic(2, 3).zeta == pytest.approx(1.0)
    flat = Quadratic(0.0, np.ones((2, 3))).constants
    assert (flat.L, flat.mu, flat.B, flat.f_star) == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.parametrize("curvature", [1e-6, 1.0, 1e6])
def test_eigenvalue_is_separated_from_rounding_by_the_sizes_of_the_problem(
    d, curvature
):
    """Eigenvalues below about 100 d eps |A| are treated as zero; for diagonal matrices,
    below 100 eps.
    """
    eps, b = np.finfo(float).eps, np.ones((2, d))
    for build, none in (
        (Quadratic, (100 * d + 1) * eps),
        (Quadratic.diagonal, 101 * eps),
    ):
        for part, kept in ((0.9, 0.0), (1.1, 1.0)):
            h = np.array([1.0] + [0.0] * (d - 2) + [part * none]) * curvature
            task = build(np.diag(h) if build is Quadratic else h[None], b)
            np.testing.assert_allclose(
                task.x_star, [1.0] + [0.0] * (d - 2) + [kept], rtol=1e-9
            )
    turned = Quadratic.diagonal(
        curvature * np.array([[0.1 + 0.2, 1.0, 0.0], [-0.3, 1.0, 0.0]]), np.ones((2, 3))
    )
    assert float(turned.A[:, 0].sum()) != 0.0
    assert turned.x_star.tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("d", [2, 30])
@pytest.mark.parametrize("curvature", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_slope_is_separated_from_rounding_by_the_sizes_of_the_problem(
    d, curvature, size
):
    """Along the null space of the mean Hessian, f decreases with slope |pull|; below
    1e4 d eps |A| |b| it is treated as rounding.
    """
    signs = np.ones((2, d))
    signs[1, 1] = -1.0
    tolerance = 1e4 * d * np.finfo(float).eps
    for part, refused in ((0.9, False), (1.1, True)):
        b = np.zeros((2, d))
        # makes the mean pull part * tolerance
        b[:, 1] = size, size * (1 - 2 * part * tolerance)
        if refused:
            with pytest.raises(InputError, match="falls with slope"):
                Quadratic.diagonal(curvature * signs, b)
        else:
            assert float(Quadratic.diagonal(curvature * signs, b).x_star[1]) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_flat_directions_keep_a_minimum_and_its_heterogeneity(kind):
    task = quadratic(5, 4, L=1.0, mu=0.0, zeta=0.9, distance=2.0, seed=6, hessians=kind)
    assert task.constants.mu == pytest.approx(0.0, abs=1e-12)
    assert float(task.global_gradient(task.x_star).norm()) < 1e-10
    assert task.zeta == pytest.approx(0.9, rel=1e-9)
    assert float(task.x_star.norm()) == pytest.approx(2.0, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(torch.float32, 1e-5), (torch.float16, 0.02), (torch.bfloat16, 0.1)],
    ids=["single", "half", "brain"],
)
def test_constants_are_right_to_the_tasks_precision(kind, dtype, tolerance):
    for d, mu in ((20, 0.3), (20, 0.0), (2000 if kind == "diagonal" else 60, 0.1)):
        exact, rounded = (
            quadratic(4, d, 1.0, mu, 1.0, seed=2, hessians=kind, dtype=t)
            for t in (torch.float64, dtype)
        )
        assert rounded.x_star.dtype == dtype
        torch.testing.assert_close(
            rounded.x_star.double(), exact.x_star, rtol=0, atol=tolerance
        )
        for name, value in exact.constants.known().items():
            found = getattr(rounded.constants, name)
            assert found == pytest.approx(value, rel=tolerance, abs=0.1 * tolerance), (
                name
            )


def test_high_dimension_in_single_precision_has_the_minimum_of_double_precision():
    """The threshold for zero eigenvalues does not grow with the dimension, since no
    matrix is decomposed.
    """
    one, two = (
        quadratic(3, 100_000, hessians="diagonal", dtype=t)
        for t in (torch.float32, torch.float64)
    )
    assert one.constants.f_star == pytest.approx(two.constants.f_star, rel=1e-5)
    assert float(one.x_star.norm()) == pytest.approx(1.0, rel=1e-5)
    flat = Quadratic(np.diag([1.0, 1e-9, 0.0]), np.ones((2, 3)))
    np.testing.assert_allclose(flat.x_star, [1.0, 1.0, 0.0], atol=1e-6)


def test_gradient_with_a_minibatch_adds_its_shift_and_the_loss_its_inner_product():
    task = quadratic(3, 2, seed=0, sigma=0.5)
    batch = task.sample([torch.Generator().manual_seed(s) for s in range(4)])
    x = torch.randn(4, 3, 2, dtype=torch.float64)
    torch.testing.assert_close(task.gradient(x, batch) - task.gradient(x), batch)
    torch.testing.assert_close(task.loss(x, batch) - task.loss(x), (batch * x).sum(-1))


def test_a_seed_sees_the_same_noise_alone_and_among_others():
    for noise in (0.5, random_support(0.5, 7, 3)):
        task = Quadratic(1.0, torch.zeros(4, 3), noise)
        many = task.sample([torch.Generator().manual_seed(s) for s in range(5)])
        alone = task.sample([torch.Generator().manual_seed(3)])
        assert torch.equal(many[3], alone[0])
        assert not torch.equal(many[2], many[3])


def test_no_noise_is_no_batch():
    for plain in (
        Quadratic(1.0, [[0.0], [1.0]]),
        Quadratic.diagonal([[1.0]], [[0.0], [1.0]]),
    ):
        assert plain.constants.sigma_l == 0.0  # the default
    task = quadratic(3, 2, sigma=0.0)
    assert task.sample([torch.Generator()]) is None
    assert task.constants.sigma_l == 0.0


@pytest.mark.drawn(2)
@pytest.mark.parametrize(
    "noise",
    [
        Gaussian(0.7),
        Gaussian([0.1, 0.7, 0.3]),
        FiniteSupport.signs(0.7, [1.0, -2.0]),
        random_support(0.7, 5, 2, seed=1),
    ],
    ids=["gaussian", "per client", "signs", "finite"],
)
def test_noise_has_mean_zero_and_exactly_the_claimed_second_moment(noise):
    m, d, n = 3, 2, 20_000
    task = Quadratic(1.0, torch.zeros(m, d), noise)
    assert task.constants.sigma_l == pytest.approx(0.7, rel=1e-12)
    xi = task.sample([torch.Generator().manual_seed(s) for s in range(n)])
    covariance = noise.covariance(m, d)
    trace = covariance.diagonal(dim1=1, dim2=2).sum(1)
    assert float(trace.max().sqrt()) == pytest.approx(0.7, rel=1e-12)
    measured = torch.einsum("smi,smj->mij", xi, xi) / n
    assert float((measured - covariance).abs().max()) < 6 * 0.7**2 / math.sqrt(n)
    assert float(xi.mean(0).norm(dim=-1).max()) < 6 * 0.7 / math.sqrt(n)
    # clients are independent
    across = torch.einsum("si,sj->ij", xi[:, 0], xi[:, 1]) / n
    assert float(across.abs().max()) < 6 * 0.7**2 / math.sqrt(n)


@given(n=st.integers(2, 9), d=st.integers(1, 5), seed=st.integers(0, 1000))
def test_finite_support_is_centred_and_scaled_exactly(n, d, seed):
    noise = random_support(1.3, n, d, seed)
    assert float(noise.shifts.mean(0).norm()) < 1e-12
    assert float(noise.shifts.square().sum(1).mean()) == pytest.approx(
        1.3**2, rel=1e-12
    )
    seen = Quadratic(1.0, torch.zeros(2, d), noise).sample(
        [torch.Generator().manual_seed(s) for s in range(50)]
    )
    gap = (seen.reshape(-1, 1, d) - noise.shifts).norm(dim=-1).amin(1)
    assert float(gap.max()) == 0.0


SHIFTS = np.array(
    [[[1.0, 0], [-1.0, 0]], [[0.0, 3], [0.0, -3]], [[2.0, 2], [-2.0, -2]]]
)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("clients", [1, 200])
def test_shifts_are_centred_to_rounding_of_their_size(clients, size):
    """Each client separately, however small one of its shifts is."""
    for mean, refused in ((0.9e-12, False), (1.1e-12, True)):
        shifts = np.full((clients, 3, 1), size) * np.array(
            [[0.0], [1.0], [-1.0 + 3 * mean]]
        )
        if refused:
            with pytest.raises(InputError, match="not 0: subtract each client's mean"):
                FiniteSupport(shifts)
        else:
            assert FiniteSupport(shifts).sigma == pytest.approx(
                size * math.sqrt(2 / 3), rel=1e-9
            )


def test_no_noise_at_all():
    assert FiniteSupport([[0.0]]).sigma == 0.0


def test_clients_have_their_own_shifts_where_these_are_given():
    noise = FiniteSupport(SHIFTS)
    task = Quadratic(EYE, np.zeros((3, 2)), noise)
    assert task.constants.sigma_l == 3.0
    np.testing.assert_allclose(
        noise.covariance(3, 2), [[[1, 0], [0, 0]], [[0, 0], [0, 9]], [[4, 4], [4, 4]]]
    )
    xi = task.sample([torch.Generator().manual_seed(s) for s in range(40)]).numpy()
    for i in range(3):
        assert {tuple(row) for row in xi[:, i].tolist()} == {
            tuple(row) for row in SHIFTS[i].tolist()
        }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sigma", [0.6, [0.6, 0.0, 1.2]])
def test_gaussian_noise_is_scaled_normal_numbers_of_the_tasks_type(sigma, dtype):
    task = Quadratic(1.0, torch.zeros(3, 4), sigma, dtype=dtype)
    xi = task.sample([torch.Generator().manual_seed(s) for s in (3, 8)])
    sizes = torch.tensor(sigma, dtype=dtype).expand(3)[:, None] / 2  # sqrt(d) = 2
    for own, s in zip(xi, (3, 8), strict=True):
        normal = torch.randn(
            3, 4, generator=torch.Generator().manual_seed(s), dtype=dtype
        )
        torch.testing.assert_close(own, sizes * normal, rtol=1e-6, atol=0)


EYE = np.eye(2)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: Quadratic(np.array([[1.0, 2.0], [0.0, 1.0]]), np.zeros((3, 2))),
            "transpose",
        ),
        (lambda: Quadratic(-EYE, np.zeros((3, 2))), "no minimum"),
        (
            lambda: Quadratic(
                np.stack([np.diag([1.0, 1.0]), np.diag([1.0, -1.0])]), np.eye(2)
            ),
            "slope",
        ),
        (lambda: Quadratic(EYE, np.array([[np.nan, 0.0]])), "not finite"),
        (lambda: Quadratic(np.eye(3), np.zeros((4, 2))), "shape"),
        (lambda: Quadratic(EYE, np.zeros(2)), "shape"),
        (lambda: Quadratic.diagonal(np.ones((3, 2)), np.zeros((4, 2))), "shape"),
        (lambda: Quadratic(np.ones(3), np.zeros((4, 2))), "fit"),
        (lambda: Quadratic(EYE, np.zeros((3, 2)), -0.1), "sigma"),
        (lambda: Quadratic(EYE, np.zeros((3, 2)), math.nan), "sigma"),
        (lambda: Quadratic(EYE, np.zeros((3, 2)), [0.1, 0.2]), "3"),
        (
            lambda: Quadratic(
                EYE, np.zeros((3, 2)), FiniteSupport.signs(1.0, [1.0, 0, 0])
            ),
            "fit",
        ),
        (
            lambda: Quadratic(EYE, np.zeros((3, 2)), FiniteSupport(SHIFTS[:2])),
            r"shape \(2, 2, 2\) do not fit",
        ),
        (lambda: FiniteSupport([[1.0], [1.0]]), "average"),
        (
            lambda: FiniteSupport([[[1.0], [-1.0]], [[1.0], [-1.5]]]),
            "average to norm 0.25, not 0",
        ),
        (lambda: FiniteSupport([1.0, -1.0]), "shape"),
        (lambda: FiniteSupport(np.zeros((0, 2))), "shape"),
        (
            lambda: Quadratic(EYE, np.zeros((3, 2)), "much"),
            "noise sigma = much must be a number",
        ),
        (
            lambda: Quadratic(EYE, np.zeros((3, 2)), None),
            "noise sigma = None must be a number",
        ),
        (
            lambda: Quadratic(EYE, np.zeros((3, 2)), []),
            r"noise sigma = \[\] must be a number",
        ),
        (
            lambda: Quadratic(EYE, np.zeros((3, 2)), [[0.1]]),
            "must be a number >= 0, or one such number",
        ),
        (
            lambda: Quadratic("a", np.zeros((3, 2))),
            "a str is not an array of numbers: 'a'",
        ),
        (
            lambda: Quadratic(1.0, [[0.0], [1.0, 2.0]]),
            r"a list is not an array of numbers: \[\[0.0\], \[1.0, 2.0\]\]",
        ),
        (lambda: Quadratic(1j, np.zeros((3, 2))), "A is complex: use real numbers"),
        (
            lambda: Quadratic(1.0, [[0], [1]], dtype=torch.int64),
            "dtype = torch.int64 must be a floating-point",
        ),
        (lambda: FiniteSupport.signs(1.0, [0.0, 0.0]), "nonzero"),
        (lambda: FiniteSupport("text"), "shifts"),
        (lambda: FiniteSupport([[1.0, 2.0], [3.0]]), "shifts"),
        (lambda: quadratic(mu=2.0, L=1.0), "mu"),
        (lambda: quadratic(d=1), "dimension 1"),
        (lambda: quadratic(m=0), "m = 0"),
        (lambda: quadratic(m=2.0), "m = 2.0"),
        (lambda: quadratic(d=0), "d = 0"),
        (lambda: quadratic(m=1, zeta=1.0), "single client"),
        (lambda: quadratic(zeta=-1.0), "zeta"),
        (lambda: quadratic(distance=-1.0), "distance = -1.0 must be a number >= 0"),
        (lambda: quadratic(distance=math.inf), "distance = inf must"),
    ],
)
def test_bad_input_is_rejected_in_one_line(build, words):
    with pytest.raises(InputError, match=words) as caught:
        build()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(8))
def test_singular_hessian_is_convex_in_spite_of_rounding(seed):
    half = np.random.default_rng(seed).normal(size=(2, 4))
    assert Quadratic(half.T @ half, np.zeros((1, 4))).constants.mu >= 0


def test_negative_curvature_of_a_client_counts_for_smoothness():
    task = Quadratic(
        np.stack([np.diag([-3.0, 1.0]), np.diag([5.0, 1.0])]), np.zeros((2, 2))
    )
    assert (task.constants.L, task.constants.mu) == (5.0, 1.0)
    task = Quadratic(
        np.stack([np.diag([-3.0, 1.0]), np.diag([4.0, 1.0]), np.diag([2.5, 1.0])]),
        np.zeros((3, 2)),
    )
    assert task.constants.L == 4.0
    assert (
        Quadratic(np.stack([-5 * EYE, 3 * EYE, 3 * EYE]), np.zeros((3, 2))).constants.L
        == 5.0
    )


@pytest.mark.parametrize("name", ["quadratic", "clipped", "coupled", "digits"])
def test_quadratic_rejects_options_that_are_no_numbers_in_one_line(name):
    for option, values in {
        "m": ("x", 1.5, True, None, math.nan),
        "seed": ("x", 1.5, None),
    }.items():
        for value in values:
            with pytest.raises(InputError, match=f"option {option} = "):
                get(name, **{option: value})
    numbers = {"digits": "alpha", "coupled": "chi"}.get(name, "sigma")
    for value in ("x", "3", [], True, math.nan):
        with pytest.raises(
            InputError,
            match=f"option {numbers} = ",
        ):
            get(name, **{numbers: value})
    if name == "quadratic":
        assert get(name, m=np.int64(4), zeta=None, sigma=1).constants.sigma_l == 1.0


def test_python_numbers_are_kept_in_full_precision():
    task = Quadratic(0.8, [[0.1, 0.2], [0.3, 0.4]])
    assert task.constants.L == 0.8
    assert task.b[0, 0].item() == 0.1
    W = dfl.graphs.metropolis(dfl.graphs.complete(2))
    run = dfl.train(
        dfl.algorithms.DFedAvg(eta=0.1, K=1), task, W, rounds=0, x0=[0.1, 0.7]
    )
    assert run.x[0, 1, 1] == 0.7
