"""Find the contacts of a finished animation with the ground, another surface or itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.contacts import CONTACT_KINDS, Contacts
from cajole.animation.frame_blocks import iter_frame_blocks_with_progress
from cajole.arrays import Array, IndexArray
from cajole.checks import require_choice, require_instance, require_plane, require_positive
from cajole.mesh import ClosestPointQuery, MeshTet, MeshTri
from cajole.mesh.closest_point import has_inside
from cajole.progress import ProgressCallback


class _ContactBlock(NamedTuple):
    """Contacts of a block of frames, one row each.

    position: (k, 3) [m] of the vertex, in a self-contact relative to the vertex touched.
    """

    frame: IndexArray
    vertex: IndexArray
    normal: Array
    other: IndexArray
    position: Array


def find_contacts(
    animation: Animation,
    against: Any,
    *,
    distance: float | None = None,
    kind: str = "sliding",
    progress: ProgressCallback | None = None,
) -> Contacts:
    """The contacts of the animated surface in every frame, in the order of frames and vertices.

    against: "ground", the plane z = 0; a plane ((point), (normal)); a static MeshTri, or the surface of a MeshTet; or
        "self". A vertex is in contact if it is nearer than `distance` or inside: below a plane, or inside a closed mesh
        whose normals point outward.
    distance: [m], 0.002 of the mesh size if None: finished motions keep about that gap or penetration.
    kind: "sliding", "sticking", or "auto": sticking if the vertex moves along the surface by less than a tenth of
        `distance` from or to an adjacent frame of contact.
    Normals point out of the obstacle: that of the plane, or the pseudonormal at the nearest point of a mesh (towards
    the vertex if the mesh is open). "self" finds vertices and triangles within `distance` that were more than four
    times as far apart at rest, so that a flat patch does not touch itself; `other` is the nearest corner of the
    triangle. Of two vertices that touch each other with opposite normals the lower one is kept. Surfaces that
    penetrate each other by more than `distance` are not found.
    Raises InputError for other arguments, Cancelled if `progress` asks to stop.
    """
    require_instance(animation, Animation, "animation")
    require_choice(kind, "kind", (*CONTACT_KINDS, "auto"))
    max_distance = 2e-3 * animation.mesh.size if distance is None else require_positive(distance, "distance (m)")
    if isinstance(against, MeshTet | MeshTri):
        found = _find_surface_contacts(animation, against.surface, max_distance, progress)
    elif isinstance(against, str) and require_choice(against, "against", ("ground", "self")) == "self":
        found = _find_self_contacts(animation, max_distance, progress)
    else:
        plane = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)) if isinstance(against, str) else against
        found = _find_plane_contacts(animation, plane, max_distance, progress)
    blocks = list(found)
    contacts = _ContactBlock(*(np.concatenate(column) for column in zip(*blocks)))
    kinds = np.full(len(contacts.frame), "sliding" if kind == "auto" else kind, dtype="<U8")
    if kind == "auto":
        kinds[_find_sticking_contacts(contacts, animation.n, 0.1 * max_distance)] = "sticking"
    return Contacts(contacts.frame, contacts.vertex, contacts.normal, kinds, contacts.other)


def _iter_position_blocks(animation: Animation, progress: ProgressCallback | None) -> Iterator[tuple[int, Array]]:
    """The first frame and the positions (b, n, 3) of each block of frames."""
    for block in iter_frame_blocks_with_progress(animation.frames, animation.n, progress, "finding contacts"):
        yield block.start, np.ascontiguousarray(animation.positions[block], dtype=np.float64)


def _find_plane_contacts(
    animation: Animation, plane: Any, max_distance: float, progress: ProgressCallback | None
) -> Iterator[_ContactBlock]:
    point, normal = require_plane(plane, "against", alternative="'ground', 'self', a MeshTri, a MeshTet or ")
    vertices = animation.mesh.surface_vertices
    for first, x in _iter_position_blocks(animation, progress):
        frame, k = np.nonzero((x[:, vertices] - point) @ normal <= max_distance)
        vertex = vertices[k]
        normals = np.tile(normal, (len(k), 1))
        yield _ContactBlock(first + frame, vertex, normals, np.full(len(k), -1), x[frame, vertex])


def _find_surface_contacts(
    animation: Animation, surface: MeshTri, max_distance: float, progress: ProgressCallback | None
) -> Iterator[_ContactBlock]:
    from cajole.animation import kernels_contact_search as kernels  # compiled code loads slowly

    target = ClosestPointQuery(surface)
    vertices = animation.mesh.surface_vertices
    k = len(vertices)
    memory = np.zeros((k, 3)), np.zeros(k), np.full(k, -1)
    for first, x in _iter_position_blocks(animation, progress):
        hit, normal = np.zeros((len(x), k), dtype=bool), np.empty((len(x), k, 3))
        kernels.find_surface_contacts(
            x,
            vertices,
            *target.bvh_arrays,
            target.pseudonormals,
            has_inside(surface),
            max_distance,
            *memory,
            hit,
            normal,
        )
        frame, row = np.nonzero(hit)
        vertex = vertices[row]
        yield _ContactBlock(first + frame, vertex, normal[frame, row], np.full(len(row), -1), x[frame, vertex])


def _find_self_contacts(
    animation: Animation, max_distance: float, progress: ProgressCallback | None
) -> Iterator[_ContactBlock]:
    from cajole.animation import kernels_contact_search as kernels

    mesh = animation.mesh
    surface = mesh.surface
    tree, closed = ClosestPointQuery(surface), has_inside(surface)
    triangles, vertices = surface.triangles[tree.triangle_order], mesh.surface_vertices
    corners, boxes = np.empty_like(tree.corners), np.empty_like(tree.boxes)
    for first, x in _iter_position_blocks(animation, progress):
        for at, frame in enumerate(x):
            other, normal = np.full(len(vertices), -1), np.zeros((len(vertices), 3))
            kernels.find_self_contacts(
                frame,
                mesh.vertices,
                vertices,
                triangles,
                corners,
                boxes,
                tree.bvh_nodes,
                closed,
                max_distance,
                4.0 * max_distance,  # nearer at rest are neighbours in a sheet
                other,
                normal,
            )
            # drop pairs that are found the other way round as well, with the opposite normal
            position = np.full(len(frame), -1)
            position[vertices] = np.arange(len(vertices))
            back = position[other]
            mutual = (other >= 0) & (other[back] == vertices) & (other < vertices)
            row = np.flatnonzero((other >= 0) & ~(mutual & ((normal * normal[back]).sum(axis=1) < -0.5)))
            vertex, touched = vertices[row], other[row]
            yield _ContactBlock(
                np.full(len(row), first + at), vertex, normal[row], touched, frame[vertex] - frame[touched]
            )


def _find_sticking_contacts(contacts: _ContactBlock, n: int, max_motion: float) -> NDArray[np.bool_]:
    """(k,) mask of contacts that move less than `max_motion` [m] along the surface from or to an adjacent frame."""
    key = contacts.frame * n + contacts.vertex
    before = np.searchsorted(key, key - n)
    row = np.flatnonzero(
        (key[np.minimum(before, len(key) - 1)] == key - n) & (contacts.other == contacts.other[before])
    )
    before = before[row]
    moved = contacts.position[row] - contacts.position[before]
    moved -= (moved * contacts.normal[row]).sum(axis=1, keepdims=True) * contacts.normal[row]
    slow = np.linalg.norm(moved, axis=1) < max_motion
    still = np.zeros(len(key), dtype=bool)
    still[row[slow]] = True
    still[before[slow]] = True
    return still
