"""Stress-free shapes of shells that differ from their mesh: folds, ridges, crinkles and blends of two shapes.

The builders displace vertices along their normals and return positions (n, 3) [m] for `BodyShell(..., undeformed=)` and
`body.with_undeformed_shape`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array
from cajole.body.noise import sample_unit_noise
from cajole.errors import InputError
from cajole.mesh import MeshTri


def build_accordion(
    mesh: MeshTri, *, amplitude: float, wavelength: float, direction: ArrayLike = (1.0, 0.0, 0.0)
) -> Array:
    """Build zigzag folds of height ±amplitude [m] that follow each other along `direction`, with sharp creases.

    wavelength [m]: from crest to crest. Raises InputError if it is shorter than two edges of the mesh, which cannot
    resolve such folds.
    """
    along = _project_onto_direction(mesh, direction) / _require_mesh_resolution(mesh, wavelength, "wavelength (m)", 2.0)
    zigzag = 4.0 * np.abs(along - np.floor(along) - 0.5) - 1.0
    return _displace_along_normals(mesh, checks.require_real_number(amplitude, "amplitude (m)") * zigzag)


def build_ridges(
    mesh: MeshTri, *, height: float, spacing: float, width: float, direction: ArrayLike = (1.0, 0.0, 0.0)
) -> Array:
    """Build ridges across `direction`, `spacing` [m] apart, `width` [m] wide and `height` [m] high.

    A negative height makes grooves. Raises InputError for ridges narrower than two edges of the mesh or wider than
    their spacing.
    """
    apart = checks.require_positive(spacing, "spacing (m)")
    wide = _require_mesh_resolution(mesh, width, "width (m)", 2.0)
    if wide > apart:
        raise InputError(f"ridges {wide:g} m wide do not fit {apart:g} m apart; lower the width or raise the spacing")
    along = _project_onto_direction(mesh, direction)
    away = np.abs(along - apart * np.round(along / apart))
    return _displace_along_normals(
        mesh, checks.require_real_number(height, "height (m)") * np.maximum(0.0, 1.0 - 2.0 * away / wide)
    )


def build_crinkle(mesh: MeshTri, *, amplitude: float, scale: float, seed: int = 0) -> Array:
    """Build noise of root mean square `amplitude` [m] with features of `scale` [m]; equal seeds give equal shapes.

    Raises InputError for features smaller than an edge of the mesh.
    """
    lump = _require_mesh_resolution(mesh, scale, "scale (m)", 1.0)
    noise = sample_unit_noise(mesh.vertices, lump, checks.require_integer(seed, "seed", minimum=0))[:, 0]
    return _displace_along_normals(mesh, checks.require_positive(amplitude, "amplitude (m)", allow_zero=True) * noise)


def blend_shapes(first: ArrayLike, second: ArrayLike, weight: float) -> Array:
    """Blend positions (n, 3) [m] of two shapes: (1 - weight) first + weight second, weight in 0..1.

    Vertices move along lines, so parts that rotate shrink in between.
    """
    a = checks.require_real_array(first, "the first shape", (None, 3))
    b = checks.require_real_array(second, "the second shape", a.shape)
    s = checks.require_real_number(weight, "weight")
    if not 0.0 <= s <= 1.0:
        raise InputError(f"weight is {s}, but must be from 0, the first shape, to 1, the second")
    return (1.0 - s) * a + s * b


def _displace_along_normals(mesh: MeshTri, height: Array) -> Array:
    return np.asarray(mesh.vertices + height[:, None] * mesh.vertex_normals)


def _project_onto_direction(mesh: MeshTri, direction: ArrayLike) -> Array:
    """Coordinate of each vertex along `direction` (n,) [m]."""
    d = checks.require_real_array(direction, "direction", (3,))
    length = float(np.linalg.norm(d))
    if not length > 0:
        raise InputError("direction is zero; give the one in which folds follow each other")
    return np.asarray(mesh.vertices @ (d / length))


def _require_mesh_resolution(mesh: MeshTri, length: float, name: str, min_edges: float) -> float:
    """Check that `length` [m] is at least `min_edges` median edges of the mesh."""
    checks.require_instance(mesh, MeshTri, "mesh")
    given = checks.require_positive(length, name)
    ends = mesh.vertices[mesh.edges]
    usual = float(np.median(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)))
    # a mesh made for the folds has edges of exactly that length, but for rounding
    if given < (1.0 - 1e-9) * min_edges * usual:
        raise InputError(
            f"{name} is {given:g}, but the edges are {usual:.4g} m long and {min_edges:g} of them are the finest that "
            "vertices can show; subdivide the mesh, or ask for more"
        )
    return given
