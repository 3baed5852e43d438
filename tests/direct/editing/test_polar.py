"""Polar decompositions: those of an SVD with its smallest direction flipped, for any matrix whatever."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from cajole.direct.editing.polar import (
    SERIES_LIMIT,
    compute_rodrigues_coefficients,
    compute_rodrigues_coefficients_series,
    compute_rotation_vectors,
    decompose_polar,
)

Array = NDArray[np.float64]


def by_svd(F: Array) -> tuple[Array, Array]:
    """The twin: F = U diag(s) Vᵀ by LAPACK, the smallest direction flipped where U Vᵀ is a reflection."""
    U, s, Vt = np.linalg.svd(F)
    flip = np.where(np.linalg.det(U) * np.linalg.det(Vt) < 0, -1.0, 1.0)
    U[:, :, 2] *= flip[:, None]
    s[:, 2] *= flip
    return U @ Vt, np.swapaxes(Vt, 1, 2) @ (s[:, :, None] * Vt)


def with_singular_values(values: tuple[float, float, float], count: int = 200) -> Array:
    one, two = Rotation.random(2 * count, rng=np.random.default_rng(3)).as_matrix().reshape(2, count, 3, 3)
    return np.asarray(one @ np.diag(values) @ two)


@pytest.mark.parametrize(
    "values",
    [
        (1.0, 1.0, 1.0),
        (1.6, 1.1, 0.7),
        (3.0, 0.4, 0.2),
        (40.0, 1.0, 0.5),
        (1.4, 1.0, -0.6),
        (1.0, 0.8, -0.1),
        (1.0, 0.9, 1e-7),
        (1.0, 0.9, 1e-3),
        (1.0, 1e-3, 1e-5),
    ],
)
def test_svd_agreement(values: tuple[float, float, float]) -> None:
    F = with_singular_values(values)
    Q, S = decompose_polar(F)
    expected_Q, expected_S = by_svd(F)
    # the condition of Q is one over the sum of the two smallest singular values
    reach = 1e-14 * max(values) / (values[1] + values[2])
    np.testing.assert_allclose(Q, expected_Q, atol=reach)
    np.testing.assert_allclose(S, expected_S, atol=max(values) * reach)


@pytest.mark.parametrize(
    "values",
    [(1.0, 0.5, 0.0), (1.0, 1e-5, 1e-5), (1.0, 1e-9, 1e-11), (1.0, 1.0, -1.0), (1.0, 0.0, 0.0), (0.0, 0.0, 0.0),
     (1e-200, 1e-200, 1e-201), (1e200, 1e190, -1e180)],
)  # fmt: skip
def test_rotation_identity(values: tuple[float, float, float]) -> None:
    """Flat, collapsed, inverted, huge and tiny: Q is a rotation and Q S is F, to rounding."""
    F = with_singular_values(values)
    Q, S = decompose_polar(F)
    np.testing.assert_allclose(Q @ np.swapaxes(Q, 1, 2), np.tile(np.eye(3), (len(F), 1, 1)), atol=4e-15)
    np.testing.assert_allclose(np.linalg.det(Q), 1.0, atol=4e-15)
    np.testing.assert_allclose(Q @ S, F, rtol=0, atol=1e-14 * max(values))
    np.testing.assert_array_equal(S, np.swapaxes(S, 1, 2))


def test_special_identity() -> None:
    """Matrices whose eigenvectors are the axes: nothing to rotate, exactly."""
    F = np.stack([np.eye(3), np.zeros((3, 3)), np.diag([2.0, 1.0, -0.5]), np.diag([1.0, 2.0, 0.0])])
    np.testing.assert_allclose(decompose_polar(F)[0], np.tile(np.eye(3), (4, 1, 1)), atol=1e-16)


def test_rotation_vector_reference() -> None:
    """scipy's rotation vectors, from no turn to almost half a turn."""
    axes = np.random.default_rng(1).standard_normal((60, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    angles = np.concatenate([[0.0, 1e-12, 1e-6, np.pi - 1e-6], np.linspace(1e-3, np.pi - 1e-3, 56)])
    vectors = axes * angles[:, None]
    np.testing.assert_allclose(compute_rotation_vectors(Rotation.from_rotvec(vectors).as_matrix()), vectors, atol=1e-13)


def test_half_turn_identity() -> None:
    """At half a turn either axis will do, but it must turn by that much."""
    Q = Rotation.from_rotvec(np.pi * np.eye(3)).as_matrix()
    found = compute_rotation_vectors(Q)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), np.pi, atol=1e-15)
    np.testing.assert_allclose(Rotation.from_rotvec(found).as_matrix(), Q, atol=1e-15)


def test_factor_reference() -> None:
    """The series and the functions give sin x / x and (1 - cos x) / x², the latter as 2 sin²(x/2) / x²."""
    for angle in np.linspace(0.05, np.sqrt(SERIES_LIMIT), 40):
        expected = np.sin(angle) / angle, 2 * (np.sin(angle / 2) / angle) ** 2
        np.testing.assert_allclose(compute_rodrigues_coefficients_series(angle**2), expected, rtol=6e-16)
        np.testing.assert_allclose(compute_rodrigues_coefficients(angle**2), expected, rtol=6e-16)
    assert compute_rodrigues_coefficients_series(0.0) == (1.0, 0.5)
