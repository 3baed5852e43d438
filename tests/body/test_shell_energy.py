"""Shells: the energy against a second way to compute it, and a patch under uniform stress."""

from __future__ import annotations

import numpy as np
import pytest
from shell_cases import rich_shell, rough_sheet

from bodies import Array
from cajole.body import BodyShell, MaterialShell
from cajole.mesh import MeshTri


def numpy_energy(body: BodyShell, u: Array) -> float:
    """The energy again, triangle by triangle: F by an inverse, angles by arccos of normals, curvatures as tensors.

    Angles count with the root of their hinge's factor, from the undeformed shape and what has yielded.
    """
    mesh, stuff, X, U, x = body.mesh, body.properties, body.vertices, body.undeformed, body.vertices + u
    roots = {tuple(sorted(h[:2])): root for h, root in zip(mesh.hinges.tolist(), np.sqrt(body.bending_scale))}
    flowed = {tuple(h[:2]): slip for h, slip in zip(mesh.hinges.tolist(), body.plastic_angles)}
    corners = mesh.triangles
    neighbours: dict[tuple[int, int], list[int]] = {}
    for t, abc in enumerate(corners):
        for k in range(3):
            neighbours.setdefault(tuple(sorted((abc[k], abc[(k + 1) % 3]))), []).append(t)

    def other(t: int, k: int) -> int | None:
        both = neighbours[tuple(sorted((corners[t][k], corners[t][(k + 1) % 3])))]
        return next((each for each in both if each != t), None)

    def far(t: int, beyond: int) -> int:
        return next(v for v in corners[beyond] if v not in corners[t])

    def normal(points: Array, t: int) -> Array:
        a, b, c = points[corners[t]]
        return np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))

    def angle(points: Array, t: int, k: int, beyond: int) -> float:
        """Positive where the neighbour rises above the triangle."""
        n, m = normal(points, t), normal(points, beyond)
        rises = (points[far(t, beyond)] - points[corners[t][k]]) @ n
        return float(np.sign(rises) * np.arccos(np.clip(n @ m, -1, 1)))

    def axes(t: int, k: int) -> tuple[Array, Array, float]:
        """Along an edge, into the triangle, and the edge's length."""
        edge = X[corners[t][(k + 1) % 3]] - X[corners[t][k]]
        length = float(np.linalg.norm(edge))
        return edge / length, np.cross(normal(X, t), edge / length), length

    def tensors(t: int) -> list[Array]:
        return [axes(t, k)[2] / (2 * mesh.areas[t]) * np.outer(axes(t, k)[1], axes(t, k)[1]) for k in range(3)]

    def stiffness(t: int) -> Array:
        parts = tensors(t)
        nu = stuff.poisson[t]
        pairs = [[nu * np.trace(p) * np.trace(q) + (1 - nu) * (p * q).sum() for q in parts] for p in parts]
        return mesh.areas[t] * stuff.bending_stiffness[t] * np.array(pairs)

    def freed(t: int, angles: Array) -> Array:
        """With the angles of least energy at edges without a neighbour."""
        free = np.array([other(t, k) is None for k in range(3)])
        C, out = stiffness(t), angles.copy()
        if free.any():
            out[free] = -np.linalg.solve(C[np.ix_(free, free)], C[np.ix_(free, ~free)] @ angles[~free])
        return out

    def plain(t: int) -> Array:
        out = np.zeros(3)
        for k in range(3):
            n, ends = other(t, k), (int(corners[t][k]), int(corners[t][(k + 1) % 3]))
            if n is not None:
                slip = flowed[ends] if ends in flowed else flowed[ends[::-1]]
                out[k] = roots[tuple(sorted(ends))] * (angle(x, t, k, n) - angle(U, t, k, n) - slip)
        return out

    curvature = [sum(a * p for a, p in zip(freed(t, plain(t)), tensors(t))) for t in range(len(corners))]

    def components(t: int, k: int) -> Array:
        s, n, _ = axes(t, k)
        return np.array([s @ curvature[t] @ s, s @ curvature[t] @ n, n @ curvature[t] @ n])

    def share(t: int, k: int, beyond: int) -> float:
        """o of an edge as seen from triangle t."""
        s, _, l = axes(t, k)
        back = next(j for j in range(3) if other(beyond, j) == t)
        s1, s2 = ((X[v] - X[corners[t][k]]) @ s for v in (corners[t][(k + 2) % 3], far(t, beyond)))
        h1, h2 = 2 * mesh.areas[t] / l, 2 * mesh.areas[beyond] / l
        ss, sn, nn = 0.5 * (components(t, k) + components(beyond, back))
        bent = 0.5 * ss * (s1 * (s1 - l) / h1 - s2 * (s2 - l) / h2)
        return float(bent + sn * (s1 + s2 - l) + 0.5 * nn * (h1 - h2)) / 2

    total = 0.0
    for t, abc in enumerate(corners):
        e1 = (U[abc[1]] - U[abc[0]]) / np.linalg.norm(U[abc[1]] - U[abc[0]])
        e2 = np.cross(normal(U, t), e1)
        flat = np.stack([(U[abc[1:]] - U[abc[0]]) @ e1, (U[abc[1:]] - U[abc[0]]) @ e2])
        F = (x[abc[1:]] - x[abc[0]]).T @ np.linalg.inv(flat)
        E = 0.5 * (F.T @ F - np.eye(2))
        area = 0.5 * abs(np.linalg.det(flat))
        total += area * (0.5 * stuff.lam[t] * np.trace(E) ** 2 + stuff.mu[t] * (E * E).sum())
        beyond = [other(t, k) for k in range(3)]
        shifts = np.array([0.0 if n is None else 2 * share(t, k, n) for k, n in enumerate(beyond)])
        seen = freed(t, plain(t) + shifts)
        total += 0.5 * seen @ stiffness(t) @ seen
    return total


def test_energy_agreement(random):
    body = BodyShell(rough_sheet(), MaterialShell(1e3, 0.3, 0.2, 1.0))
    u = random.uniform(-0.06, 0.06, (body.vertex_count, 3))
    assert body.energy(u) == pytest.approx(numpy_energy(body, u), rel=1e-10)


def test_rich_energy_agreement(random):
    """Every triangle of its own material, every hinge with its own factor, another shape at rest, yielded folds."""
    body = rich_shell(rough_sheet(), random)
    u = random.uniform(-0.06, 0.06, (body.vertex_count, 3))
    after = body.yielded(u)
    assert np.count_nonzero(after.plastic_angles) > 5
    assert body.energy(u) == pytest.approx(numpy_energy(body, u), rel=1e-10)
    assert after.energy(u) == pytest.approx(numpy_energy(after, u), rel=1e-10)


def test_membrane_patch_reference(random):
    """Uniform plane stress on an irregular sheet: exact stretch, uniform stress, no force inside."""
    mesh = rough_sheet()
    flat = MeshTri(mesh.vertices * [1, 1, 0], mesh.triangles)
    body = BodyShell(flat, MaterialShell(1e5, 0.25, 1e-2, 1.0))
    inner = np.setdiff1d(np.arange(body.vertex_count), np.unique(flat.boundary_edges))
    x, stretch = body.vertices, 1e-6
    u = np.column_stack([stretch * x[:, 0], -0.25 * stretch * x[:, 1], 0 * x[:, 0]])
    force = body.force(u)
    assert abs(force[inner]).max() < 1e-9 * abs(force).max()
    # pulled by E t ε across every cut, and by nothing sideways
    assert body.energy(u) == pytest.approx(0.5 * 1e5 * 1e-2 * stretch**2 * flat.area, rel=1e-5)
    assert abs(force[:, 1]).max() < 1e-5 * abs(force[:, 0]).max()
