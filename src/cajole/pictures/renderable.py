"""Subjects of pictures: coloured triangles and their positions at each frame, from meshes, skins and animations."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.animation import Animation
from cajole.animation.animation import compute_skin_positions
from cajole.arrays import Array
from cajole.checks import (
    count_axes,
    require_instance,
    require_real_array,
    require_sequence,
    require_unit_interval_array,
)
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, Skin
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.pictures.render_mesh import RenderMesh, build_render_mesh

INPUT_COLOR = (0.97, 0.78, 0.15)
OUTPUT_COLOR = (0.82, 0.16, 0.12)
ROLE_COLORS = {"input": INPUT_COLOR, "output": OUTPUT_COLOR}
# vertices with more gloss, such as eyes, keep their colours when a role colours the rest
WET_GLOSS = 0.5
RenderSource = Animation | Skin | MeshTet | MeshTri | MeshLine


@dataclass(frozen=True, eq=False)
class Renderable:
    """Triangles that may move: positions_at(frame) -> (n, 3) [m]; colors: (n, 3) sRGB; gloss: (n,).

    map_from_cage: positions (cage_vertex_count, 3) of the cage, or of the mesh itself, to positions (n, 3) of the
    triangles' vertices. tube_owners: (n,) line vertex of each tube vertex of a MeshLine; None for other meshes.
    """

    mesh: MeshTri
    colors: Array
    gloss: Array
    frames: int
    fps: float
    positions_at: Callable[[int], Array]
    cage_vertex_count: int
    map_from_cage: Callable[[Array], Array]
    is_flat_shaded: bool
    tube_owners: NDArray[np.int64] | None = None

    def build_mesh(self, frame: int, *, smooth: bool | None = None) -> RenderMesh:
        """The triangles at a frame; smooth shading is the default for all but surfaces of tets."""
        soft = not self.is_flat_shaded if smooth is None else smooth
        return build_render_mesh(
            self.compute_positions(frame), self.mesh.triangles, self.colors, self.gloss, smooth=soft
        )

    def compute_positions(self, frame: int) -> Array:
        """(n, 3) [m] at a frame; the last one for later frames."""
        return self.positions_at(min(frame, self.frames - 1))

    def with_colors(self, colors: ArrayLike, name: str = "colors") -> Renderable:
        """A copy in one colour (3,) or in colours per vertex (n, 3), of lines per line vertex; sRGB in 0..1."""
        single = count_axes(colors) == 1
        count = len(self.colors) if self.tube_owners is None else self.cage_vertex_count
        array = require_unit_interval_array(colors, name, (3,) if single else (count, 3))
        if self.tube_owners is not None and not single:
            array = array[self.tube_owners]
        return replace(self, colors=np.broadcast_to(array, self.colors.shape))

    def with_role_color(self, role: str) -> Renderable:
        """A copy in the colour of an input (yellow) or an output (red); glossy parts such as eyes keep theirs."""
        return replace(self, colors=np.where(self.gloss[:, None] > WET_GLOSS, self.colors, ROLE_COLORS[role]))

    def with_ghost_tint(self) -> Renderable:
        """A copy tinted red, to distinguish a ghost from a subject of the same colours."""
        return replace(self, colors=self.colors + 0.75 * (np.array((0.80, 0.22, 0.10)) - self.colors))

    def with_positions(self, positions: ArrayLike, name: str = "positions") -> Renderable:
        """A still copy, with the cage or the mesh itself at positions (n, 3) [m]."""
        there = self.map_from_cage(require_real_array(positions, name, (self.cage_vertex_count, 3)))
        return replace(self, frames=1, positions_at=lambda frame: there)


def find_render_source(value: Any, name: str = "subject") -> RenderSource:
    """The value itself if it is a mesh, skin or animation, otherwise its `.animation`, `.skin` or `.mesh`.

    Raises InputError for objects without any of them.
    """
    if isinstance(value, RenderSource):
        return value
    for part in (getattr(value, attribute, None) for attribute in ("animation", "skin", "mesh")):
        if isinstance(part, RenderSource):
            return part
    if callable(getattr(value, "get_display_mesh", None)):  # a net of springs without a mesh of its own
        return cast(RenderSource, value.get_display_mesh())
    hint = "; call its .animation()" if callable(getattr(value, "animation", None)) else ""
    if is_position_array(value):
        hint = "; for a pose write picture(mesh, positions=...)"
    raise InputError(
        f"{name} is of type {type(value).__name__}, but must be a MeshTri, MeshTet, MeshLine, Skin, Animation, or have "
        f"one, as scenes, bodies and shots do{hint}"
    )


def build_renderable(value: Any, name: str = "subject") -> Renderable:
    """Triangles of a mesh, skin or animation, or of an object that has one, see `find_render_source`."""
    shape = find_render_source(value, name)
    if isinstance(shape, Animation):
        return _build_from_animation(shape)
    return _build_from_skin(shape) if isinstance(shape, Skin) else _build_from_mesh(shape)


def build_state_renderable(renderable: Renderable, state: Any, name: str) -> Renderable:
    """`renderable` at positions `state` (n, 3) [m], or another subject."""
    return renderable.with_positions(state, name) if is_position_array(state) else build_renderable(state, name)


def is_position_array(state: Any) -> bool:
    """True for arrays and nested lists of numbers, false for objects with a shape of their own."""
    if isinstance(state, list | tuple):
        return len(state) > 0 and all(np.ndim(row) == 1 and not isinstance(row, str) for row in state)
    return isinstance(state, np.ndarray)


def find_most_deformed_frame(animation: RenderSource) -> int:
    """The frame with the largest mean square displacement from the rest shape; 0 for other sources."""
    if not isinstance(animation, Animation):
        return 0
    rest = animation.mesh.vertices
    return int(np.argmax([np.square(positions - rest).mean() for positions in animation.positions]))


def _build_from_animation(animation: Animation) -> Renderable:
    skin = animation.skin
    still = _build_from_mesh(animation.mesh) if skin is None else _build_from_skin(skin)
    return replace(
        still,
        frames=animation.frames,
        fps=animation.fps,
        positions_at=lambda frame: still.map_from_cage(animation.frame(frame)),
    )


def _build_from_skin(skin: Skin) -> Renderable:
    cage = len(skin.mesh.vertices) if skin.embedding is None else skin.embedding.vertex_count
    rest = skin.mesh.vertices
    return Renderable(
        skin.mesh,
        skin.colors,
        skin.gloss,
        1,
        1.0,
        lambda frame: rest,
        cage,
        lambda x: compute_skin_positions(skin, x),
        False,
    )


def _build_from_mesh(mesh: MeshTet | MeshTri | MeshLine) -> Renderable:
    if isinstance(mesh, MeshLine):
        return _build_from_lines(mesh)
    surface = mesh.surface
    n = len(mesh.vertices)
    colors = np.broadcast_to(np.array(DEFAULT_COLOR), (n, 3))
    return Renderable(
        surface, colors, np.zeros(n), 1, 1.0, lambda frame: mesh.vertices, n, lambda x: x, isinstance(mesh, MeshTet)
    )


def _build_from_lines(mesh: MeshLine) -> Renderable:
    """Lines as thin tubes of triangles."""
    tubes = mesh.tube_mesh
    n = len(tubes.vertices)
    colors = np.broadcast_to(np.array(DEFAULT_COLOR), (n, 3))
    return Renderable(
        tubes,
        colors,
        np.zeros(n),
        1,
        1.0,
        lambda frame: tubes.vertices,
        len(mesh.vertices),
        mesh.compute_tube_vertices,
        False,
        mesh.tube_line_vertices,
    )


@dataclass(frozen=True, eq=False)
class Prop:
    """An object beside the subject, which does not move the camera. shape: an animation plays along.

    color: sRGB, the shape's own if None; opacity: 1 is opaque, less for water and glass. Raises InputError for an
    opacity outside 0..1 and a bad colour.
    """

    name: str
    shape: MeshTri | MeshTet | Skin | Animation
    color: tuple[float, float, float] | None = None
    opacity: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.opacity <= 1:
            raise InputError(f"the opacity of {self.name} is {self.opacity}, but must be above 0 and at most 1")
        self.build_renderable()

    def build_renderable(self) -> Renderable:
        """The prop as `picture` draws it."""
        plain = build_renderable(self.shape, self.name)
        return plain if self.color is None else plain.with_colors(self.color, f"the colour of {self.name}")


def build_prop_renderables(props: Iterable[Prop] | None) -> tuple[tuple[Renderable, float], ...]:
    """Renderables of props with their opacities. Raises InputError for other objects."""
    listed = () if props is None else require_sequence(props, "props", "a list of Prop")
    for prop in listed:
        require_instance(prop, Prop, "each of props")
    return tuple((prop.build_renderable(), prop.opacity) for prop in listed)
