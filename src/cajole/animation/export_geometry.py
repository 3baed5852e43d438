"""Moving triangles or lines for export: the mesh with all its vertices, its surface, or the skin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation, compute_skin_positions
from cajole.checks import require_choice
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTri, Skin

# gloss of a surface of which only the colours are known: between chalk and satin
DEFAULT_GLOSS = 0.3


@dataclass(frozen=True, eq=False)
class ExportGeometry:
    """Moving triangles or lines. positions_at(frame): (n, 3) float64 [m]; colors: (n, 3) sRGB in 0..1, or None."""

    mesh: MeshTri | MeshLine
    frames: int
    positions_at: Callable[[int], NDArray[np.float64]]
    colors: NDArray[np.float64] | None

    @property
    def elements(self) -> NDArray[np.int64]:
        """(m, 3) triangles or (m, 2) lines."""
        return self.mesh.elements

    def as_triangles(self) -> ExportGeometry:
        """The same as triangles only: lines become thin tubes."""
        mesh = self.mesh
        if isinstance(mesh, MeshTri):
            return self
        colors = None if self.colors is None else self.colors[mesh.tube_line_vertices]
        return ExportGeometry(
            mesh.tube_mesh, self.frames, lambda frame: mesh.compute_tube_vertices(self.positions_at(frame)), colors
        )


def select_export_geometry(animation: Animation, vertices: str | None = None) -> ExportGeometry:
    """The triangles or lines of an animation.

    vertices: "all", with the numbering of the mesh; "surface", only vertices that a triangle or line uses, renumbered;
    "skin", the coloured skin; None, the skin if there is one, else the surface.
    """
    choice = ("surface" if animation.skin is None else "skin") if vertices is None else vertices
    if require_choice(choice, "vertices", ("all", "surface", "skin")) == "skin":
        skin = animation.skin
        if skin is None:
            raise InputError('vertices is "skin", but the animation has none; choose "surface" or "all"')
        return ExportGeometry(
            skin.mesh, animation.frames, lambda k: compute_skin_positions(skin, animation.frame(k)), skin.colors
        )
    mesh = animation.mesh if isinstance(animation.mesh, MeshLine) else animation.mesh.surface
    own = None if animation.skin is None or animation.skin.embedding is not None else animation.skin.colors
    if choice == "all" or mesh.used_vertex_mask.all():
        return ExportGeometry(mesh, animation.frames, animation.frame, own)
    kept = np.flatnonzero(mesh.used_vertex_mask)
    small = type(mesh)(mesh.vertices[kept], np.searchsorted(kept, mesh.elements))
    return ExportGeometry(
        small, animation.frames, lambda k: animation.frame(k)[kept], None if own is None else own[kept]
    )


def convert_to_float32(positions: NDArray[np.float64], frame: int, dtype: str = "<f4") -> NDArray[Any]:
    """Positions in single precision. Raises InputError beyond its range."""
    if np.abs(positions).max(initial=0.0) > np.finfo(np.float32).max:
        raise InputError(f"frame {frame} has coordinates beyond 3.4e38, which the file cannot hold; scale it down")
    return np.ascontiguousarray(positions, dtype=dtype)


def srgb_to_linear(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear RGB of sRGB values in 0..1 (IEC 61966-2-1)."""
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    """sRGB of linear values, clipped to 0..1: files may hold lights brighter than white."""
    values = np.clip(colors, 0.0, 1.0)
    return np.clip(np.where(values <= 0.0031308, values * 12.92, 1.055 * values ** (1 / 2.4) - 0.055), 0.0, 1.0)


def build_colored_skin(mesh: MeshTri, colors: NDArray[np.float64], gloss: NDArray[np.float64] | None = None) -> Skin:
    """A skin of one part that is the mesh itself, with the given sRGB colours (n, 3)."""
    n = len(mesh.vertices)
    shine = np.full(n, DEFAULT_GLOSS) if gloss is None else gloss
    return Skin(mesh, colors, ("surface",), np.zeros(n, dtype=np.int64), shine)
