"""What is to be pictured, whatever it came as: triangles with colours, and where they are at each frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.animation import Animation
from cajole.animation.animation import compute_skin_positions
from cajole.arrays import Array
from cajole.checks import count_axes, require_real_array, require_unit_interval_array
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, Skin
from cajole.mesh.skin import DEFAULT_COLOR
from cajole.pictures.render_mesh import RenderMesh, build_render_mesh

INPUT_COLOR = (0.97, 0.78, 0.15)
OUTPUT_COLOR = (0.82, 0.16, 0.12)
ROLE_COLORS = {"input": INPUT_COLOR, "output": OUTPUT_COLOR}
# eyes keep their colours when a role paints the rest
WET_GLOSS = 0.5
# what a ghost that looks like its subject is drawn towards, and how far: as it is, it would be lost on either
GHOST_TINT, GHOST_TINT_WEIGHT = (0.80, 0.22, 0.10), 0.75

RenderSource = Animation | Skin | MeshTet | MeshTri | MeshLine


@dataclass(frozen=True, eq=False)
class Renderable:
    """Triangles that may move: `at(frame)` gives (n, 3) [m]; colors: (n, 3) sRGB; gloss: (n,).

    `carried` turns positions of the cage (or of the mesh itself) into positions of the triangles' vertices.
    owners: (n,) the vertex of a mesh of lines that each vertex of its tubes belongs to; None of all others.
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
        """The triangles at a frame; flat shaded unless `smooth`, whose default is yes for all but surfaces of tets."""
        soft = not self.is_flat_shaded if smooth is None else smooth
        return build_render_mesh(
            self.compute_positions(frame), self.mesh.triangles, self.colors, self.gloss, smooth=soft
        )

    def compute_positions(self, frame: int) -> Array:
        """(n, 3) [m] at a frame; what has fewer frames holds its last one."""
        return self.positions_at(min(frame, self.frames - 1))

    def with_colors(self, colors: ArrayLike, name: str = "colors") -> Renderable:
        """In one colour (3,) or one per vertex (n, 3), of lines per vertex of theirs, sRGB in 0..1."""
        single = count_axes(colors) == 1
        count = len(self.colors) if self.tube_owners is None else self.cage_vertex_count
        array = require_unit_interval_array(colors, name, (3,) if single else (count, 3))
        if self.tube_owners is not None and not single:
            array = array[self.tube_owners]
        return replace(self, colors=np.broadcast_to(array, self.colors.shape))

    def with_role_color(self, role: str) -> Renderable:
        """In the colour of an input (yellow) or an output (red); wet parts such as eyes stay as they are."""
        return replace(self, colors=np.where(self.gloss[:, None] > WET_GLOSS, self.colors, ROLE_COLORS[role]))

    def with_ghost_tint(self) -> Renderable:
        """Drawn towards the ghosts' own colour."""
        return replace(self, colors=self.colors + GHOST_TINT_WEIGHT * (np.array(GHOST_TINT) - self.colors))

    def with_positions(self, positions: ArrayLike, name: str = "positions") -> Renderable:
        """Still, where the cage (or the mesh itself) is at positions (n, 3) [m]."""
        there = self.map_from_cage(require_real_array(positions, name, (self.cage_vertex_count, 3)))
        return replace(self, frames=1, positions_at=lambda frame: there)


def find_render_source(value: Any, name: str = "subject") -> RenderSource:
    """A mesh, skin or animation, or the one that something has: a shot's `.animation`, a scene's `.skin`, a `.mesh`.

    Raises InputError for what has none of them.
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
    """Whatever has a shape, see `shape_of`, as triangles."""
    shape = find_render_source(value, name)
    if isinstance(shape, Animation):
        return _build_from_animation(shape)
    return _build_from_skin(shape) if isinstance(shape, Skin) else _build_from_mesh(shape)


def build_state_renderable(renderable: Renderable, state: Any, name: str) -> Renderable:
    """`state` as a subject of its own, or when it is an array (n, 3) [m] the same subject at these positions."""
    return renderable.with_positions(state, name) if is_position_array(state) else build_renderable(state, name)


def is_position_array(state: Any) -> bool:
    """Whether a state is given as numbers, not as something that has a shape of its own."""
    if isinstance(state, list | tuple):
        return len(state) > 0 and all(np.ndim(row) == 1 and not isinstance(row, str) for row in state)
    return isinstance(state, np.ndarray)


def find_most_deformed_frame(animation: RenderSource) -> int:
    """The frame whose vertices are, in the mean square, farthest from the rest shape; 0 for what does not move."""
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
    """Lines as thin tubes, which both renderers draw as they draw any triangles."""
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
