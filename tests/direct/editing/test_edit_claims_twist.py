"""Two full turns of a beam's end, from a motion that stands still: the paper's largest edit."""

from __future__ import annotations

import numpy as np
import pytest
from edit_claims_cases import LONG, Array, long_beam, turned

import cajole as cj

WIDE = 0.2


def volumes(mesh: cj.MeshTet, x: Array) -> Array:
    corners = x[mesh.tets]
    return np.linalg.det(corners[:, 1:] - corners[:, :1]) / 6


def area(triangles: Array, x: Array) -> float:
    a, b, c = np.swapaxes(x[triangles], 0, 1)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


def test_two_turns_claim() -> None:
    """Four corners at once, 15° a step: they land, no tet is inverted, no section swells, the length stays.

    Without the warp the end section would be 12 times as wide.
    """
    body = long_beam()
    mesh = body.mesh
    motion = cj.Animation(mesh, np.tile(mesh.vertices, (12, 1, 1)), fps=30)
    editor = cj.edit(motion, body, 200)
    x, y, z = mesh.vertices.T
    end = np.flatnonzero(x == LONG)
    corners = end[(np.abs(y[end]) > 0.49 * WIDE) & (np.abs(z[end]) > 0.49 * WIDE)]
    face = mesh.surface.triangles[np.isin(mesh.surface.triangles, end).all(axis=1)]
    for degrees in range(15, 721, 15):
        goal = mesh.vertices[corners] @ turned((1, 0, 0), np.radians(degrees)).T
        editor.drag(corners.tolist(), 6, goal)
        if degrees % 90 == 0:
            out = editor.positions(6)
            assert np.abs(out[corners] - goal).max() <= 1e-3 * WIDE * np.sqrt(2)
            assert volumes(mesh, out).min() > 0.3 * volumes(mesh, mesh.vertices).min()
            assert abs(area(face, out) / area(face, mesh.vertices) - 1) < 0.03
            assert np.linalg.norm(out[:, 1:], axis=1).max() < 1.2 * np.linalg.norm([WIDE / 2, WIDE / 2])
            assert out[:, 0].max() <= 1.02 * LONG
    # two turns, not none: followed along an edge from section to section
    edge = np.flatnonzero((y > 0.49 * WIDE) & (z > 0.49 * WIDE))
    edge = edge[np.argsort(x[edge])]
    angles = np.unwrap(np.arctan2(*editor.positions(6)[edge][:, [2, 1]].T))
    assert angles[-1] - angles[0] == pytest.approx(4 * np.pi, abs=0.01)
    # one step of undo for each drag
    for _ in range(48):
        assert editor.undo()
    np.testing.assert_array_equal(editor.positions(6), mesh.vertices)
