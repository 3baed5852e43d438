"""Every derivative a body offers is the derivative of what it offers one level below."""

from __future__ import annotations

import numpy as np
import pytest

from bodies import Array, springs_many
from cajole.body import Body, BodySolid, BodySprings
from derivatives import check_derivative


@pytest.fixture
def point(body: Body, random: np.random.Generator) -> tuple[Array, Array, Array]:
    """A deformed shape, and two directions."""
    u, v, w = random.uniform(-1, 1, (3, body.vertex_count, 3))
    return 0.06 * u, 0.5 * v, 0.5 * w


def test_checker_refuses_wrong_slope_derivative(random: np.random.Generator) -> None:
    x, d = random.normal(size=(2, 5))
    check_derivative(lambda y: np.sin(y), np.cos(x) * d, x, d)
    with pytest.raises(AssertionError, match="order"):
        check_derivative(lambda y: np.sin(y), 1.001 * np.cos(x) * d, x, d)
    with pytest.raises(AssertionError, match="order"):
        check_derivative(lambda y: y**2, 2 * x * d + 1e-8, x, d)


def test_energy_force_derivative(body: Body, point: tuple[Array, Array, Array]) -> None:
    u, v, _ = point
    check_derivative(body.energy, (body.force(u) * v).sum(), u, v)


def test_force_stiffness_derivative(body: Body, point: tuple[Array, Array, Array]) -> None:
    u, v, _ = point
    check_derivative(lambda x: body.force(x).ravel(), body.stiffness(u) @ v.ravel(), u, v)


def test_force_stiffness_at_rest_derivative(body: Body, point: tuple[Array, Array, Array]) -> None:
    _, v, _ = point
    check_derivative(lambda x: body.force(x).ravel(), body.stiffness() @ v.ravel(), np.zeros_like(v), v)


def test_stiffness_change_derivative(body: Body, point: tuple[Array, Array, Array]) -> None:
    u, v, w = point
    change = body.stiffness_derivative(u, v)
    check_derivative(lambda x: body.stiffness(x) @ w.ravel(), change @ w.ravel(), u, v)


def test_damping_matrix_derivative(body: Body, point: tuple[Array, Array, Array]) -> None:
    u, v, w = point
    if isinstance(body, BodySolid) and not body.alpha:
        assert not body.damping_force(u, v).any()
        assert not body.damping_matrix(u).data.any()
        return
    check_derivative(lambda x: body.damping_force(u, x).ravel(), body.damping_matrix(u) @ w.ravel(), v, w)


def test_damping_slope_derivative(body: Body, point: tuple[Array, Array, Array]) -> None:
    u, v, w = point
    if isinstance(body, BodySolid) and not body.alpha:
        assert not body.damping_force_jacobian(u, v).data.any()
        return
    check_derivative(lambda x: body.damping_force(x, v).ravel(), body.damping_force_jacobian(u, v) @ w.ravel(), u, w)


def test_symmetry_identity(body: Body, point: tuple[Array, Array, Array]) -> None:
    u, v, _ = point
    for matrix in (body.stiffness(u), body.stiffness_derivative(u, v), body.damping_matrix(u), body.mass):
        assert abs(matrix - matrix.T).max() <= 1e-14 * max(abs(matrix).max(), 1e-300)


def test_total_force_agreement(body: Body, point: tuple[Array, Array, Array]) -> None:
    u, v, _ = point
    parts = body.force(u) + body.damping_force(u, v)
    np.testing.assert_allclose(body.total_force(u, v), parts, rtol=0, atol=1e-12 * abs(parts).max())


@pytest.mark.parametrize("tangent", ["exact", "symmetric", "clamped"])
def test_system_agreement(body: Body, point: tuple[Array, Array, Array], tangent: str) -> None:
    """The matrix of an implicit step is the combination of the public pieces, and the force comes with it."""
    u, v, _ = point
    inertia, drag = 37.0, 4.3
    out = np.full(body.pattern.nnz, np.nan)
    force = body.assemble_system(u, v, inertia, drag, out, tangent=tangent)
    want = inertia * body.mass + drag * body.damping_matrix(u) + body.stiffness(u) + body.damping_force_jacobian(u, v)
    if isinstance(body, BodySprings):
        slope, clamped = body.damping_force_jacobian(u, v), body.stiffness(u, clamped=True)
        want = {
            "exact": want,
            "symmetric": want + 0.5 * (slope.T - slope),
            "clamped": want - slope - body.stiffness(u) + clamped,
        }[tangent]
    assert abs(body.pattern.build_matrix(out) - want).max() <= 1e-13 * abs(want).max()
    np.testing.assert_allclose(force, body.total_force(u, v), rtol=0, atol=1e-12 * abs(force).max())


@pytest.mark.parametrize("clamp", [0.0, 0.05, 1.0])
def test_clamped_stiffness_positive_identity(clamp: float, random: np.random.Generator) -> None:
    net = springs_many(clamp)
    u = random.uniform(-0.15, 0.15, (net.vertex_count, 3))
    exact = np.linalg.eigvalsh(net.stiffness(u).toarray())
    clamped = np.linalg.eigvalsh(net.stiffness(u, clamped=True).toarray())
    assert exact[0] < -1e-3 * exact[-1], "the shape must be one where the exact stiffness is indefinite"
    assert clamped[0] >= -1e-13 * clamped[-1]


def test_clamp_exact_in_tension_agreement(random: np.random.Generator) -> None:
    net = springs_many(0.0)
    stretch = 0.6 * net.vertices + random.uniform(-0.01, 0.01, (net.vertex_count, 3))
    placed = net.vertices + stretch
    lengths = np.linalg.norm(placed[net.edges[:, 0]] - placed[net.edges[:, 1]], axis=1)
    assert (lengths > net.rest_lengths).all()
    difference = abs(net.stiffness(stretch, clamped=True) - net.stiffness(stretch)).max()
    assert difference <= 1e-13 * abs(net.stiffness(stretch)).max()
