"""What is to be pictured, whatever it came as: triangles with colours, and where they are at each frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.animation import Animation
from cajole.animation.animation import skin_positions
from cajole.arrays import Array
from cajole.checks import depth, real_array, share_array
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, Skin
from cajole.mesh.skin import PLAIN
from cajole.pictures.actors import Actor, shaded

INPUT = (0.97, 0.78, 0.15)
OUTPUT = (0.82, 0.16, 0.12)
ROLES = {"input": INPUT, "output": OUTPUT}
# eyes keep their colours when a role paints the rest
WET = 0.5
# what a ghost that looks like its subject is drawn towards, and how far: as it is, it would be lost on either
TINT, TINTED = (0.80, 0.22, 0.10), 0.75

Shape = Animation | Skin | MeshTet | MeshTri | MeshLine


@dataclass(frozen=True, eq=False)
class Subject:
    """Triangles that may move: `at(frame)` gives (n, 3) [m]; colors: (n, 3) sRGB; gloss: (n,).

    `carried` turns positions of the cage (or of the mesh itself) into positions of the triangles' vertices.
    owners: (n,) the vertex of a mesh of lines that each vertex of its tubes belongs to; None of all others.
    """

    mesh: MeshTri
    colors: Array
    gloss: Array
    frames: int
    fps: float
    at: Callable[[int], Array]
    cage_size: int
    carried: Callable[[Array], Array]
    is_coarse: bool
    owners: NDArray[np.int64] | None = None

    def actor(self, frame: int, *, smooth: bool | None = None) -> Actor:
        """The triangles at a frame; flat shaded unless `smooth`, whose default is yes for all but surfaces of tets."""
        soft = not self.is_coarse if smooth is None else smooth
        return shaded(self.position(frame), self.mesh.triangles, self.colors, self.gloss, smooth=soft)

    def position(self, frame: int) -> Array:
        """(n, 3) [m] at a frame; what has fewer frames holds its last one."""
        return self.at(min(frame, self.frames - 1))

    def painted(self, colors: ArrayLike, name: str = "colors") -> Subject:
        """In one colour (3,) or one per vertex (n, 3), of lines per vertex of theirs, sRGB in 0..1."""
        single = depth(colors) == 1
        count = len(self.colors) if self.owners is None else self.cage_size
        array = share_array(colors, name, (3,) if single else (count, 3))
        if self.owners is not None and not single:
            array = array[self.owners]
        return replace(self, colors=np.broadcast_to(array, self.colors.shape))

    def in_role(self, role: str) -> Subject:
        """In the colour of an input (yellow) or an output (red); wet parts such as eyes stay as they are."""
        return replace(self, colors=np.where(self.gloss[:, None] > WET, self.colors, ROLES[role]))

    def tinted(self) -> Subject:
        """Drawn towards the ghosts' own colour."""
        return replace(self, colors=self.colors + TINTED * (np.array(TINT) - self.colors))

    def posed(self, positions: ArrayLike, name: str = "positions") -> Subject:
        """Still, where the cage (or the mesh itself) is at positions (n, 3) [m]."""
        there = self.carried(real_array(positions, name, (self.cage_size, 3)))
        return replace(self, frames=1, at=lambda frame: there)


def shape_of(thing: Any, name: str = "subject") -> Shape:
    """A mesh, skin or animation, or the one that something has: a shot's `.animation`, a scene's `.skin`, a `.mesh`.

    Raises InputError for what has none of them.
    """
    if isinstance(thing, Shape):
        return thing
    for part in (getattr(thing, attribute, None) for attribute in ("animation", "skin", "mesh")):
        if isinstance(part, Shape):
            return part
    if callable(getattr(thing, "drawn_mesh", None)):  # a net of springs without a mesh of its own
        return cast(Shape, thing.drawn_mesh())
    hint = "; call its .animation()" if callable(getattr(thing, "animation", None)) else ""
    if is_positions(thing):
        hint = "; for a pose write picture(mesh, positions=...)"
    raise InputError(
        f"{name} is of type {type(thing).__name__}, but must be a MeshTri, MeshTet, MeshLine, Skin, Animation, or have "
        f"one, as scenes, bodies and shots do{hint}"
    )


def as_subject(thing: Any, name: str = "subject") -> Subject:
    """Whatever has a shape, see `shape_of`, as triangles."""
    shape = shape_of(thing, name)
    if isinstance(shape, Animation):
        return _moving(shape)
    return _of_skin(shape) if isinstance(shape, Skin) else _of_mesh(shape)


def in_other_state(subject: Subject, state: Any, name: str) -> Subject:
    """`state` as a subject of its own, or when it is an array (n, 3) [m] the same subject at these positions."""
    return subject.posed(state, name) if is_positions(state) else as_subject(state, name)


def is_positions(state: Any) -> bool:
    """Whether a state is given as numbers, not as something that has a shape of its own."""
    if isinstance(state, list | tuple):
        return len(state) > 0 and all(np.ndim(row) == 1 and not isinstance(row, str) for row in state)
    return isinstance(state, np.ndarray)


def telling_frame(animation: Shape) -> int:
    """The frame whose vertices are, in the mean square, farthest from the rest shape; 0 for what does not move."""
    if not isinstance(animation, Animation):
        return 0
    rest = animation.mesh.vertices
    return int(np.argmax([np.square(positions - rest).mean() for positions in animation.positions]))


def _moving(animation: Animation) -> Subject:
    skin = animation.skin
    still = _of_mesh(animation.mesh) if skin is None else _of_skin(skin)
    return replace(
        still,
        frames=animation.frames,
        fps=animation.fps,
        at=lambda frame: still.carried(animation.frame(frame)),
    )


def _of_skin(skin: Skin) -> Subject:
    cage = len(skin.mesh.vertices) if skin.embedding is None else skin.embedding.vertex_count
    rest = skin.mesh.vertices
    return Subject(
        skin.mesh, skin.colors, skin.gloss, 1, 1.0, lambda frame: rest, cage, lambda x: skin_positions(skin, x), False
    )


def _of_mesh(mesh: MeshTet | MeshTri | MeshLine) -> Subject:
    if isinstance(mesh, MeshLine):
        return _of_lines(mesh)
    surface = mesh.surface
    n = len(mesh.vertices)
    colors = np.broadcast_to(np.array(PLAIN), (n, 3))
    return Subject(
        surface, colors, np.zeros(n), 1, 1.0, lambda frame: mesh.vertices, n, lambda x: x, isinstance(mesh, MeshTet)
    )


def _of_lines(mesh: MeshLine) -> Subject:
    """Lines as thin tubes, which both renderers draw as they draw any triangles."""
    tubes = mesh.tubes
    n = len(tubes.vertices)
    colors = np.broadcast_to(np.array(PLAIN), (n, 3))
    return Subject(
        tubes, colors, np.zeros(n), 1, 1.0, lambda frame: tubes.vertices, len(mesh.vertices), mesh.tubes_at, False,
        mesh.tube_owners,
    )  # fmt: skip
