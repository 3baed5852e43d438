"""`find_contacts`: which vertices of a finished animation touch the ground, another surface or their own one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.blocks import reported_blocks
from cajole.animation.contacts import KINDS, Contacts
from cajole.arrays import Array, IndexArray
from cajole.checks import one_of, positive, require_instance
from cajole.checks import plane as checked_plane
from cajole.mesh import ClosestPoints, MeshTet, MeshTri
from cajole.mesh.closest import has_inside
from cajole.progress import Progress

# a vertex nearer than this share of the body's size touches; finished motions keep about that gap or penetration
NEAR = 2e-3
# surfaces that touch themselves were this many contact distances apart at rest; nearer ones are neighbours in a sheet
APART = 4.0
# a vertex that moves less than this share of the contact distance from frame to frame, along the surface, sticks
STILL = 0.1
GROUND = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))


class _Touch(NamedTuple):
    """Contacts of a block of frames: rows of frame, vertex, normal and other, and where the vertex was [m].

    place: relative to the vertex touched, in a contact of the body with itself.
    """

    frame: IndexArray
    vertex: IndexArray
    normal: Array
    other: IndexArray
    place: Array


def find_contacts(
    animation: Animation,
    against: Any,
    *,
    distance: float | None = None,
    kind: str = "sliding",
    progress: Progress | None = None,
) -> Contacts:
    """The contacts of the animated surface in every frame, in the order of frames and vertices.

    against: "ground", the plane z = 0; a plane ((point), (normal)); a MeshTri that stands still, or the surface of a
        MeshTet; or "self". A vertex touches when it is nearer than `distance` or inside: below a plane, or in a closed
        mesh. What is inside a mesh is told by its normals, which are to point out of it.
    distance: [m], 0.002 of the mesh's size when None.
    kind: "sliding", "sticking", or "auto": sticking where the vertex moves along the surface by less than a tenth of
        `distance` from or to another frame of contact.
    Normals point out of what is touched: the plane's, the pseudonormal of the nearest point of a mesh (towards the
    vertex where the mesh is open). "self" compares vertices and triangles within `distance` that were more than four
    times as far apart at rest, so that a flat patch does not touch itself; `other` is the nearest corner of the
    triangle touched; of two vertices that touch each other with opposite normals the lower one is kept. Surfaces that
    have passed through each other by more than `distance` are not seen to touch.
    Raises InputError for anything else, Cancelled when `progress` asks to stop.
    """
    require_instance(animation, Animation, "animation")
    one_of(kind, "kind", (*KINDS, "auto"))
    reach = NEAR * animation.mesh.size if distance is None else positive(distance, "distance (m)")
    parts = list(_touches(animation, against, reach, progress))
    touch = _Touch(*(np.concatenate(column) for column in zip(*parts)))
    kinds = np.full(len(touch.frame), "sliding" if kind == "auto" else kind, dtype="<U8")
    if kind == "auto":
        kinds[_still(touch, animation.n, STILL * reach)] = "sticking"
    return Contacts(touch.frame, touch.vertex, touch.normal, kinds, touch.other)


def _touches(animation: Animation, against: Any, reach: float, progress: Progress | None) -> Iterator[_Touch]:
    if isinstance(against, MeshTet | MeshTri):
        return _of_surface(animation, against.surface, reach, progress)
    if isinstance(against, str):
        chosen = one_of(against, "against", ("ground", "self"))
        return (
            _of_self(animation, reach, progress) if chosen == "self" else _of_plane(animation, GROUND, reach, progress)
        )
    return _of_plane(animation, against, reach, progress)


def _blocks(animation: Animation, progress: Progress | None) -> Iterator[tuple[int, Array]]:
    """The first frame and the positions (b, n, 3) of one block after another."""
    for block in reported_blocks(animation.frames, animation.n, progress, "finding contacts"):
        yield block.start, np.ascontiguousarray(animation.positions[block], dtype=np.float64)


def _of_plane(animation: Animation, plane: Any, reach: float, progress: Progress | None) -> Iterator[_Touch]:
    point, normal = checked_plane(plane, "against", also="'ground', 'self', a MeshTri, a MeshTet or ")
    vertices = animation.mesh.surface_vertices
    for first, x in _blocks(animation, progress):
        frame, k = np.nonzero((x[:, vertices] - point) @ normal <= reach)
        vertex = vertices[k]
        normals = np.tile(normal, (len(k), 1))
        yield _Touch(first + frame, vertex, normals, np.full(len(k), -1), x[frame, vertex])


def _of_surface(animation: Animation, surface: MeshTri, reach: float, progress: Progress | None) -> Iterator[_Touch]:
    from cajole.animation import kernels_touching as kernels  # compiled code loads slowly

    target = ClosestPoints(surface)
    vertices = animation.mesh.surface_vertices
    k = len(vertices)
    memory = np.zeros((k, 3)), np.zeros(k), np.full(k, -1)
    for first, x in _blocks(animation, progress):
        hit, normal = np.zeros((len(x), k), dtype=bool), np.empty((len(x), k, 3))
        kernels.touch_surface(
            x, vertices, *target.tree, target.normals, has_inside(surface), reach, *memory, hit, normal
        )
        frame, row = np.nonzero(hit)
        vertex = vertices[row]
        yield _Touch(first + frame, vertex, normal[frame, row], np.full(len(row), -1), x[frame, vertex])


def _of_self(animation: Animation, reach: float, progress: Progress | None) -> Iterator[_Touch]:
    from cajole.animation import kernels_touching as kernels

    mesh = animation.mesh
    surface = mesh.surface
    tree, closed = ClosestPoints(surface), has_inside(surface)
    triangles, vertices = surface.triangles[tree.order], mesh.surface_vertices
    corners, boxes = np.empty_like(tree.corners), np.empty_like(tree.boxes)
    for first, x in _blocks(animation, progress):
        for at, frame in enumerate(x):
            other, normal = np.full(len(vertices), -1), np.zeros((len(vertices), 3))
            kernels.touch_self(
                frame, mesh.vertices, vertices, triangles, corners, boxes, tree.links, closed, reach, APART * reach,
                other, normal,
            )  # fmt: skip
            row = _once(vertices, other, normal, len(frame))
            vertex, touched = vertices[row], other[row]
            yield _Touch(np.full(len(row), first + at), vertex, normal[row], touched, frame[vertex] - frame[touched])


def _once(vertices: IndexArray, other: IndexArray, normal: Array, n: int) -> IndexArray:
    """Rows that touch, without those whose pair stands there already the other way round with the opposite normal."""
    row = np.full(n, -1)
    row[vertices] = np.arange(len(vertices))
    back = row[other]
    mutual = (other >= 0) & (other[back] == vertices) & (other < vertices)
    opposite = mutual & ((normal * normal[back]).sum(axis=1) < -0.5)
    return np.flatnonzero((other >= 0) & ~opposite)


def _still(touch: _Touch, n: int, limit: float) -> NDArray[np.bool_]:
    """(k,) which contacts move by less than `limit` [m] along the surface from or to the frame beside."""
    key = touch.frame * n + touch.vertex
    before = np.searchsorted(key, key - n)
    row = np.flatnonzero((key[np.minimum(before, len(key) - 1)] == key - n) & (touch.other == touch.other[before]))
    before = before[row]
    moved = touch.place[row] - touch.place[before]
    moved -= (moved * touch.normal[row]).sum(axis=1, keepdims=True) * touch.normal[row]
    slow = np.linalg.norm(moved, axis=1) < limit
    still = np.zeros(len(key), dtype=bool)
    still[row[slow]] = True
    still[before[slow]] = True
    return still
