"""Shapes that shells have at rest: folds where they should be, as high as they should be, and the messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from shell_cases import STUFF, lattice, rough_sheet

from cajole.body import BodyShell
from cajole.body.undeformed_shapes import blend_shapes, build_accordion, build_crinkle, build_ridges
from cajole.errors import InputError
from cajole.mesh import box_tets, grid_triangles, subdivide

STRIP = grid_triangles(16, 4, size=(1.6, 0.4))


def test_accordion_reference():
    """Crests and valleys one above the other every half wave, with straight sides between."""
    up = STRIP.vertex_normals[0, 2]
    shape = build_accordion(STRIP, amplitude=0.05, wavelength=0.4)
    np.testing.assert_array_equal(shape[:, :2], STRIP.vertices[:, :2])
    want = np.interp(STRIP.vertices[:, 0] % 0.4, [0.0, 0.2, 0.4], [0.05, -0.05, 0.05])
    np.testing.assert_allclose(up * shape[:, 2], want, atol=1e-12)
    sideways = build_accordion(STRIP, amplitude=0.05, wavelength=0.2, direction=(0.0, 3.0, 0.0))
    assert np.ptp(sideways[np.isclose(STRIP.vertices[:, 1], 0.1), 2]) < 1e-12
    assert np.ptp(sideways[:, 2]) == pytest.approx(0.1)


def test_ridges_reference():
    up = STRIP.vertex_normals[0, 2]
    shape = build_ridges(STRIP, height=0.05, spacing=0.8, width=0.4)
    away = np.abs((STRIP.vertices[:, 0] + 0.4) % 0.8 - 0.4)
    np.testing.assert_allclose(up * shape[:, 2], 0.05 * np.maximum(0.0, 1.0 - away / 0.2), atol=1e-12)
    grooves = build_ridges(STRIP, height=-0.05, spacing=0.8, width=0.4)
    np.testing.assert_allclose(grooves[:, 2], -shape[:, 2])


def test_crinkle_identity():
    """Of the height asked for, along the normals, the seed's own, and smooth at its scale."""
    ball, _ = subdivide(box_tets(1, 1, 1).surface.compacted()[0], levels=5)
    shape = build_crinkle(ball, amplitude=0.01, scale=0.1, seed=4)
    moved = shape - ball.vertices
    height = np.einsum("ij,ij->i", moved, ball.vertex_normals)
    np.testing.assert_allclose(moved, height[:, None] * ball.vertex_normals, atol=1e-15)
    assert np.sqrt((height**2).mean()) == pytest.approx(0.01, rel=0.15)
    np.testing.assert_array_equal(shape, build_crinkle(ball, amplitude=0.01, scale=0.1, seed=4))
    assert abs(build_crinkle(ball, amplitude=0.01, scale=0.1, seed=5) - shape).max() > 0.01
    i, j = ball.edges.T
    rough, smooth = (
        np.abs(
            np.diff(
                np.linalg.norm(build_crinkle(ball, amplitude=0.01, scale=scale) - ball.vertices, axis=1)[[i, j]], axis=0
            )
        )
        for scale in (0.1, 0.8)
    )
    assert smooth.mean() < 0.3 * rough.mean()


def test_blend_identity():
    one, two = STRIP.vertices, build_accordion(STRIP, amplitude=0.05, wavelength=0.4)
    np.testing.assert_array_equal(blend_shapes(one, two, 0.0), one)
    np.testing.assert_array_equal(blend_shapes(one, two, 1.0), two)
    np.testing.assert_allclose(blend_shapes(one, two, 0.25)[:, 2], 0.25 * two[:, 2], atol=1e-15)


def test_folds_bend_claim():
    """Folds at rest turn hinges at their crests and valleys only, by twice the slope of their sides."""
    strip = lattice(16, 4, (1.6, 0.4))
    body = BodyShell(strip, STUFF, undeformed=build_accordion(strip, amplitude=0.05, wavelength=0.4))
    x = strip.vertices[body.hinges.vertices[:, :2], 0]
    at = (np.ptp(x, axis=1) < 1e-9) & (np.abs(x[:, 0] / 0.2 - np.round(x[:, 0] / 0.2)) < 1e-9)
    np.testing.assert_allclose(np.abs(body.rest_angles[at]), 2 * np.arctan(0.5), rtol=1e-12)
    np.testing.assert_allclose(body.rest_angles[~at], 0.0, atol=1e-12)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "mesh": (lambda: build_accordion(box_tets(1, 1, 1), amplitude=1, wavelength=1), "mesh must be a MeshTri"),  # type: ignore[arg-type]
    "fine": (
        lambda: build_accordion(STRIP, amplitude=0.1, wavelength=0.1),
        r"wavelength \(m\) is 0.1, but the edges are 0.1 m long and 2 of them.*subdivide the mesh, or ask for more",
    ),
    "zero": (
        lambda: build_accordion(STRIP, amplitude=0.1, wavelength=0.0),
        r"wavelength \(m\) is 0.0, but must be positive",
    ),
    "amplitude": (lambda: build_accordion(STRIP, amplitude=np.nan, wavelength=1), r"amplitude \(m\) is nan"),
    "direction": (
        lambda: build_accordion(STRIP, amplitude=1, wavelength=1, direction=(0, 0, 0)),
        "direction is zero; give",
    ),
    "wide": (
        lambda: build_ridges(STRIP, height=0.1, spacing=0.3, width=0.4),
        "ridges 0.4 m wide do not fit 0.3 m apart",
    ),
    "scale": (lambda: build_crinkle(STRIP, amplitude=0.1, scale=0.01), r"scale \(m\) is 0.01, but the edges"),
    "seed": (lambda: build_crinkle(STRIP, amplitude=0.1, scale=1.0, seed=-1), "seed is -1"),
    "share": (lambda: blend_shapes(STRIP.vertices, STRIP.vertices, 1.5), "weight is 1.5, but must be from 0"),
    "shapes": (
        lambda: blend_shapes(STRIP.vertices, rough_sheet().vertices, 0.5),
        r"the second shape has shape \(16, 3\)",
    ),
}


@pytest.mark.parametrize("case", list(BAD))
def test_undeformed_bad_input(case):
    call, message = BAD[case]
    with pytest.raises(InputError, match=message):
        call()
