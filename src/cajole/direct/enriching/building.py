"""Regions from paint, from subdivision, and from single points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import IndexArray
from cajole.direct.enriching.regions import Regions
from cajole.errors import InputError
from cajole.mesh import MeshTri, closest_points, subdivide

Labels = ArrayLike | Sequence[str | None]

# distance from the guide's surface, in its sizes, up to which a fine vertex counts as lying on it
ON_SURFACE = 1e-3


def regions_subdivided(coarse: MeshTri, levels: int = 1) -> tuple[MeshTri, Regions]:
    """The guide's mesh with every edge halved `levels` times, and one region a guide vertex: its hat function.

    The hats weigh alike on both meshes, §4.1 of Bergou 2007: fine @ P is the guide's mass matrix (n̄, n̄), P from
    `subdivide`.
    """
    checks.require_instance(coarse, MeshTri, "coarse")
    _require_used(coarse, "coarse")
    fine, P = subdivide(coarse, levels=levels)
    lift = sp.csr_array(P)
    rows = sp.csr_array(lift.T @ area_matrix(fine))
    return fine, Regions(coarse, fine, area_matrix(coarse), rows, lift=lift)


def regions_painted(
    guide_mesh: MeshTri,
    guide_labels: Labels,
    fine_mesh: MeshTri,
    fine_labels: Labels,
    *,
    guide_on: str | None = None,
    fine_on: str | None = None,
) -> Regions:
    """One region for each label that is painted on both meshes, which may have any triangles, holes and handles.

    guide_labels, fine_labels: a whole number or a word for each vertex, or for each triangle, and -1 or None where
    there is no paint. Their length tells which; guide_on, fine_on: "vertices" or "triangles" say it where both fit.
    Painted vertices weigh with their hat functions, painted triangles evenly.
    """
    for mesh, what in ((guide_mesh, "guide_mesh"), (fine_mesh, "fine_mesh")):
        checks.require_instance(mesh, MeshTri, what)
    names, guide_codes, on_guide_faces = _read(guide_labels, guide_mesh, "guide_labels", guide_on)
    fine_names, codes, on_faces = _read(fine_labels, fine_mesh, "fine_labels", fine_on)
    _require_pairs(names, fine_names)
    guide = membership(guide_codes, len(names)) @ _measure(guide_mesh, on_guide_faces)
    fine = membership(codes, len(names)) @ _measure(fine_mesh, on_faces)
    lift = surface_lift(guide_mesh, fine_mesh)
    return Regions(guide_mesh, fine_mesh, guide, fine, names, lift=lift, faces=codes if on_faces else None)


def regions_interpolating(
    guide_mesh: MeshTri,
    fine_mesh: MeshTri,
    guide_vertices: ArrayLike | None = None,
    fine_vertices: ArrayLike | None = None,
) -> Regions:
    """Single points instead of averages: fine vertices that must be where guide vertices are.

    What tracking is compared with in Figures 3 and 4 of Bergou 2007: where the guide accelerates, such points tug.
    guide_vertices, fine_vertices: (k,) indices, pair by pair; all of the guide when left out, and the fine ones nearest
    to them in the undeformed shapes.
    """
    checks.require_instance(guide_mesh, MeshTri, "guide_mesh")
    checks.require_instance(fine_mesh, MeshTri, "fine_mesh")
    bar, n = len(guide_mesh.vertices), len(fine_mesh.vertices)
    ours = np.arange(bar) if guide_vertices is None else checks.indices_or_mask(guide_vertices, "guide_vertices", bar)
    if fine_vertices is None:
        theirs = np.asarray(fine_mesh.nearest(guide_mesh.vertices[ours]))
    else:
        theirs = checks.index_array(fine_vertices, "fine_vertices", (len(ours),), n)
    values, times = np.unique(theirs, return_counts=True)
    if (times > 1).any():
        raise InputError(
            f"vertex {values[times > 1][0]} of the fine mesh would have to be at several guide vertices; name one "
            "fine vertex for each guide vertex"
        )
    names = tuple(f"vertex {vertex}" for vertex in ours)
    lift = surface_lift(guide_mesh, fine_mesh)
    return Regions(guide_mesh, fine_mesh, _picks(ours, bar), _picks(theirs, n), names, lift=lift)


def area_matrix(mesh: MeshTri) -> sp.csr_array:
    """(n, n) [m²] integrals of products of hat functions: A_j / 6 on the diagonal, A_jl / 12 beside it."""
    t, a = mesh.triangles, mesh.areas
    rows, columns = np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()
    local = (np.ones((3, 3)) + np.eye(3)).ravel() / 12
    n = len(mesh.vertices)
    return sp.csr_array(sp.coo_array(((a[:, None] * local).ravel(), (rows, columns)), shape=(n, n)))


def triangle_weights(mesh: MeshTri) -> sp.csr_array:
    """(triangles, n) [m²] the integral of each hat function over each triangle: a third of its area."""
    count = len(mesh.triangles)
    starts = np.arange(0, 3 * count + 1, 3)
    shares = np.repeat(mesh.areas / 3, 3)
    return sp.csr_array((shares, mesh.triangles.ravel(), starts), shape=(count, len(mesh.vertices)))


def surface_lift(guide_mesh: MeshTri, fine_mesh: MeshTri) -> sp.csr_array | None:
    """(n, n̄) fine vertices as averages of the corners of the guide's triangle they lie on; None where any is off it."""
    found = closest_points(fine_mesh.vertices, guide_mesh)
    if found.distance.max() > ON_SURFACE * guide_mesh.size:
        return None
    corners = guide_mesh.triangles[found.triangle]
    x = guide_mesh.vertices[corners]
    edges = np.stack([x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]], axis=2)
    pair = np.linalg.pinv(edges) @ (found.point - x[:, 0])[:, :, None]
    shares = np.column_stack([1.0 - pair[:, 0, 0] - pair[:, 1, 0], pair[:, :, 0]])
    n, bar = len(fine_mesh.vertices), len(guide_mesh.vertices)
    return sp.csr_array((shares.ravel(), corners.ravel(), np.arange(0, 3 * n + 1, 3)), shape=(n, bar))


def membership(codes: IndexArray, count: int) -> sp.csr_array:
    """(count, k) a one wherever entry k has the code of the row; -1 has none."""
    there = np.flatnonzero(codes >= 0)
    ones = np.ones(len(there))
    return sp.csr_array(sp.coo_array((ones, (codes[there], there)), shape=(count, len(codes))))


def _measure(mesh: MeshTri, on_faces: bool) -> sp.csr_array:
    return triangle_weights(mesh) if on_faces else area_matrix(mesh)


def _picks(vertices: IndexArray, count: int) -> sp.csr_array:
    k = len(vertices)
    return sp.csr_array((np.ones(k), vertices, np.arange(k + 1)), shape=(k, count))


def _read(labels: Labels, mesh: MeshTri, name: str, on: str | None) -> tuple[tuple[str, ...], IndexArray, bool]:
    """Names of the labels in order, the number of each entry's name or -1, and whether the entries are triangles."""
    entries = np.asarray(labels, dtype=object)
    if entries.ndim != 1:
        raise InputError(f"{name} has shape {entries.shape}, but must be a list: one label a vertex, or a triangle")
    on_faces = _is_on_faces(len(entries), mesh, name, on)
    keys = [_key(value, f"{name}[{place}]") for place, value in enumerate(entries)]
    # numbers before words, each in its own order
    known = sorted({key for key in keys if key is not None}, key=_order)
    if not known:
        raise InputError(f"{name} paints nothing: all {len(keys)} labels are -1 or None; paint at least one region")
    number = {key: row for row, key in enumerate(known)}
    codes = np.array([-1 if key is None else number[key] for key in keys], dtype=np.int64)
    return tuple(known), codes, on_faces


def _order(key: str) -> tuple[bool, int, str]:
    return not key.isdigit(), len(key) if key.isdigit() else 0, key


def _key(value: Any, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} is {value!r}; a label is a whole number or a word, -1 or None where there is none")
    if value < -1:
        raise InputError(f"{name} is {value}; number the regions from 0, and give -1 where there is none")
    return None if value == -1 else str(int(value))


def _is_on_faces(length: int, mesh: MeshTri, name: str, on: str | None) -> bool:
    n, m = len(mesh.vertices), len(mesh.triangles)
    if on is not None:
        on_faces = checks.one_of(on, f"{name.removesuffix('labels')}on", ("vertices", "triangles")) == "triangles"
        if length != (m if on_faces else n):
            raise InputError(f"{name} has {length} labels, but the mesh has {m if on_faces else n} {on}")
        return on_faces
    if length not in (n, m):
        raise InputError(
            f"{name} has {length} labels, but the mesh has {n} vertices and {m} triangles; give one label for each "
            "vertex, or for each triangle"
        )
    if n == m:
        option = f"{name.removesuffix('labels')}on"
        raise InputError(f"{name} fits the {n} vertices and the {m} triangles alike; say which: {option}='vertices'")
    return length == m


def _require_pairs(guide: tuple[str, ...], fine: tuple[str, ...]) -> None:
    for here, there, one, other in ((guide, fine, "guide", "fine mesh"), (fine, guide, "fine mesh", "guide")):
        lone = [name for name in here if name not in there]
        if lone:
            raise InputError(
                f"region {lone[0]} is painted on the {one}, but empty on the {other} ({len(lone)} such); paint it on "
                "both, or on neither"
            )


def _require_used(mesh: MeshTri, name: str) -> None:
    if not mesh.used.all():
        raise InputError(
            f"vertex {int(np.argmin(mesh.used))} of {name} belongs to no triangle, so that its region covers no area; "
            "remove unused vertices: mesh, numbers = mesh.compacted()"
        )
