"""Regions from painted labels, from subdivision, and from single vertices."""

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
from cajole.mesh import MeshTri, find_closest_points, subdivide

RegionLabels = ArrayLike | Sequence[str | None]


def regions_subdivided(coarse: MeshTri, levels: int = 1) -> tuple[MeshTri, Regions]:
    """Subdivide the mesh of the guide `levels` times, with one region per guide vertex: its hat function.

    The hat functions have equal weights on both meshes, §4.1 of Bergou 2007: fine_weights @ P is the mass matrix of the
    guide (n̄, n̄), P from `subdivide`.
    """
    checks.require_instance(coarse, MeshTri, "coarse")
    if not coarse.used_vertex_mask.all():
        raise InputError(
            f"vertex {int(np.argmin(coarse.used_vertex_mask))} of coarse belongs to no triangle, so that its region "
            "covers no area; remove unused vertices: mesh, numbers = mesh.compacted()"
        )
    fine, P = subdivide(coarse, levels=levels)
    lift = sp.csr_array(P)
    rows = sp.csr_array(lift.T @ build_area_matrix(fine))
    return fine, Regions(coarse, fine, build_area_matrix(coarse), rows, interpolation=lift)


def regions_painted(
    guide_mesh: MeshTri,
    guide_labels: RegionLabels,
    fine_mesh: MeshTri,
    fine_labels: RegionLabels,
    *,
    guide_labels_on: str | None = None,
    fine_labels_on: str | None = None,
) -> Regions:
    """Build one region for each label on both meshes, which may differ in triangles, holes and handles.

    guide_labels, fine_labels: an integer or a word for each vertex, or for each triangle, and -1 or None for no label.
    Their length decides which; guide_labels_on, fine_labels_on: "vertices" or "triangles", required if both fit.
    Labelled vertices have the weights of their hat functions, labelled triangles uniform weights.
    """
    for mesh, what in ((guide_mesh, "guide_mesh"), (fine_mesh, "fine_mesh")):
        checks.require_instance(mesh, MeshTri, what)
    names, guide_codes, on_guide_faces = _parse_labels(guide_labels, guide_mesh, "guide_labels", guide_labels_on)
    fine_names, codes, on_faces = _parse_labels(fine_labels, fine_mesh, "fine_labels", fine_labels_on)
    for here, there, one, other in (
        (names, fine_names, "guide", "fine mesh"), (fine_names, names, "fine mesh", "guide"),
    ):  # fmt: skip
        lone = [name for name in here if name not in there]
        if lone:
            raise InputError(
                f"region {lone[0]} is painted on the {one}, but empty on the {other} ({len(lone)} such); paint it on "
                "both, or on neither"
            )
    guide_areas = build_triangle_weights(guide_mesh) if on_guide_faces else build_area_matrix(guide_mesh)
    fine_areas = build_triangle_weights(fine_mesh) if on_faces else build_area_matrix(fine_mesh)
    guide = build_membership_matrix(guide_codes, len(names)) @ guide_areas
    fine = build_membership_matrix(codes, len(names)) @ fine_areas
    lift = build_surface_interpolation(guide_mesh, fine_mesh)
    return Regions(
        guide_mesh, fine_mesh, guide, fine, names, interpolation=lift, triangle_labels=codes if on_faces else None
    )


def regions_interpolating(
    guide_mesh: MeshTri,
    fine_mesh: MeshTri,
    guide_vertices: ArrayLike | None = None,
    fine_vertices: ArrayLike | None = None,
) -> Regions:
    """Constrain single fine vertices to the positions of guide vertices, instead of averages.

    Figures 3 and 4 of Bergou 2007 compare tracking with this: such points jerk the shell when the guide accelerates.
    guide_vertices, fine_vertices: (k,) indices in pairs; default: all of the guide, and the nearest fine vertices in
    the undeformed shapes.
    """
    checks.require_instance(guide_mesh, MeshTri, "guide_mesh")
    checks.require_instance(fine_mesh, MeshTri, "fine_mesh")
    bar, n = len(guide_mesh.vertices), len(fine_mesh.vertices)
    ours = (
        np.arange(bar)
        if guide_vertices is None
        else checks.require_indices_or_mask(guide_vertices, "guide_vertices", bar)
    )
    if fine_vertices is None:
        theirs = np.asarray(fine_mesh.nearest(guide_mesh.vertices[ours]))
    else:
        theirs = checks.require_index_array(fine_vertices, "fine_vertices", (len(ours),), n)
    values, times = np.unique(theirs, return_counts=True)
    if (times > 1).any():
        raise InputError(
            f"vertex {values[times > 1][0]} of the fine mesh would have to be at several guide vertices; name one "
            "fine vertex for each guide vertex"
        )
    names = tuple(f"vertex {vertex}" for vertex in ours)
    lift = build_surface_interpolation(guide_mesh, fine_mesh)
    k = len(ours)
    guide, fine = (
        sp.csr_array((np.ones(k), vertices, np.arange(k + 1)), shape=(k, count))
        for vertices, count in ((ours, bar), (theirs, n))
    )
    return Regions(guide_mesh, fine_mesh, guide, fine, names, interpolation=lift)


def build_area_matrix(mesh: MeshTri) -> sp.csr_array:
    """Integrals of products of hat functions (n, n) [m²]: A_j / 6 on the diagonal, A_jl / 12 off it."""
    t, a = mesh.triangles, mesh.areas
    rows, columns = np.repeat(t, 3, axis=1).ravel(), np.tile(t, (1, 3)).ravel()
    local = (np.ones((3, 3)) + np.eye(3)).ravel() / 12
    n = len(mesh.vertices)
    return sp.csr_array(sp.coo_array(((a[:, None] * local).ravel(), (rows, columns)), shape=(n, n)))


def build_triangle_weights(mesh: MeshTri) -> sp.csr_array:
    """Integrals of hat functions over each triangle (triangles, n) [m²]: a third of its area."""
    count = len(mesh.triangles)
    starts = np.arange(0, 3 * count + 1, 3)
    shares = np.repeat(mesh.areas / 3, 3)
    return sp.csr_array((shares, mesh.triangles.ravel(), starts), shape=(count, len(mesh.vertices)))


def build_surface_interpolation(guide_mesh: MeshTri, fine_mesh: MeshTri) -> sp.csr_array | None:
    """Barycentric weights (n, n̄) of fine vertices in the triangles of the guide; None if any is off its surface."""
    found = find_closest_points(fine_mesh.vertices, guide_mesh)
    # relative to the size of the guide
    if found.distance.max() > 1e-3 * guide_mesh.size:
        return None
    corners = guide_mesh.triangles[found.triangle]
    x = guide_mesh.vertices[corners]
    edges = np.stack([x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]], axis=2)
    pair = np.linalg.pinv(edges) @ (found.point - x[:, 0])[:, :, None]
    shares = np.column_stack([1.0 - pair[:, 0, 0] - pair[:, 1, 0], pair[:, :, 0]])
    n, bar = len(fine_mesh.vertices), len(guide_mesh.vertices)
    return sp.csr_array((shares.ravel(), corners.ravel(), np.arange(0, 3 * n + 1, 3)), shape=(n, bar))


def build_membership_matrix(labels: IndexArray, count: int) -> sp.csr_array:
    """Matrix (count, k) with ones where entry k has the label of the row; -1 has none."""
    there = np.flatnonzero(labels >= 0)
    ones = np.ones(len(there))
    return sp.csr_array(sp.coo_array((ones, (labels[there], there)), shape=(count, len(labels))))


def _parse_labels(
    labels: RegionLabels, mesh: MeshTri, name: str, labels_on: str | None
) -> tuple[tuple[str, ...], IndexArray, bool]:
    """Names of the labels in order, the index of the name of each entry or -1, and True for labels of triangles."""
    entries = np.asarray(labels, dtype=object)
    if entries.ndim != 1:
        raise InputError(f"{name} has shape {entries.shape}, but must be a list: one label a vertex, or a triangle")
    on_faces = _is_per_triangle(len(entries), mesh, name, labels_on)
    keys = [_parse_label(value, f"{name}[{place}]") for place, value in enumerate(entries)]
    # numbers before words, each in its own order
    sort_key = lambda label: (not label.isdigit(), len(label) if label.isdigit() else 0, label)  # noqa: E731
    known = sorted({key for key in keys if key is not None}, key=sort_key)
    if not known:
        raise InputError(f"{name} paints nothing: all {len(keys)} labels are -1 or None; paint at least one region")
    number = {key: row for row, key in enumerate(known)}
    codes = np.array([-1 if key is None else number[key] for key in keys], dtype=np.int64)
    return tuple(known), codes, on_faces


def _parse_label(value: Any, name: str) -> str | None:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} is {value!r}; a label is a whole number or a word, -1 or None where there is none")
    if value < -1:
        raise InputError(f"{name} is {value}; number the regions from 0, and give -1 where there is none")
    return None if value == -1 else str(int(value))


def _is_per_triangle(length: int, mesh: MeshTri, name: str, labels_on: str | None) -> bool:
    n, m = len(mesh.vertices), len(mesh.triangles)
    if labels_on is not None:
        on_faces = checks.require_choice(labels_on, f"{name}_on", ("vertices", "triangles")) == "triangles"
        if length != (m if on_faces else n):
            raise InputError(f"{name} has {length} labels, but the mesh has {m if on_faces else n} {labels_on}")
        return on_faces
    if length not in (n, m):
        raise InputError(
            f"{name} has {length} labels, but the mesh has {n} vertices and {m} triangles; give one label for each "
            "vertex, or for each triangle"
        )
    if n == m:
        option = f"{name}_on"
        raise InputError(f"{name} fits the {n} vertices and the {m} triangles alike; say which: {option}='vertices'")
    return length == m
