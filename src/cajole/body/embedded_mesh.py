"""`body_around`: a solid of cells around any triangles, so that drawn meshes can be edited as if they were bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import IndexArray
from cajole.body.base import Body, check_fixed_vertices
from cajole.body.material import MaterialStVK
from cajole.body.solid import BodySolid
from cajole.errors import InputError
from cajole.mesh import Embedding, MeshTet, MeshTri, Skin, embed, voxelise
from cajole.mesh.base import build_kd_tree, find_degenerate_triangles

# Pieces closer than this many cells are joined: across such a gap cells are already as large as what they bridge.
MAX_BRIDGE_CELLS = 3.0
# tets of one cell, see `voxelise`
TETS_PER_CELL = 6
# Bridges can only join pieces; once is enough unless a bridge grazes a corner of the grid.
MAX_BRIDGE_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class EmbeddedMesh:
    """A solid around a triangle mesh. mesh: the triangles; body: the solid; embedding: of the triangles' vertices."""

    mesh: MeshTri
    body: BodySolid
    embedding: Embedding

    @property
    def fixed(self) -> IndexArray:
        """The vertices of the triangles that are held: all corners of their tets are."""
        return np.flatnonzero(np.isin(self.embedding.corners, self.body.fixed).all(axis=1))

    @property
    def skin(self) -> Skin:
        """The triangles as they ride on the solid."""
        return Skin(self.mesh, embedding=self.embedding)

    def __repr__(self) -> str:
        return f"EmbeddedMesh({self.mesh!r} in {self.body!r})"


def require_body(value: object) -> None:
    """Raise unless `value` is a Body; of a EmbeddedMesh say which part to take."""
    if isinstance(value, EmbeddedMesh):
        raise InputError(
            "this works on one body, and a EmbeddedMesh is a surface in a solid: pass around.body, whose vertices are "
            "those of the cells, and move the surface by around.skin.follow(around.body.vertices + displacement)"
        )
    checks.require_instance(value, Body, "body")


def embed_in_solid(
    mesh: MeshTri,
    material: MaterialStVK | None = None,
    *,
    resolution: int = 24,
    fixed: ArrayLike | None = None,
    damping: tuple[float, float] = (0.0, 0.0),
) -> EmbeddedMesh:
    """The cells of a grid that triangles touch or enclose, as one solid that carries every vertex of `mesh`.

    resolution: cells along the longest side; thin parts are as thick as a cell. fixed: vertices of `mesh` whose cells
    are held; damping: as for BodySolid.
    The triangles may be open, not manifold, or in several pieces, which are joined by cells where they are less than
    three cells apart: eyes, feathers and buttons move with what they belong to.
    Raises InputError for pieces farther apart, with the resolution that would join them; edit such meshes one by one.
    """
    checks.require_instance(mesh, MeshTri, "mesh")
    held = check_fixed_vertices(fixed, len(mesh.vertices))
    cells, embedding = _voxelise_as_one_component(mesh, checks.require_integer(resolution, "resolution"))
    corners = _collect_cell_vertices(cells, embedding.tets[held])
    if len(corners) == len(cells.vertices):
        raise InputError(f"every cell is held by the {len(held)} fixed vertices; fix fewer, or raise the resolution")
    return EmbeddedMesh(mesh, BodySolid(cells, material, fixed=corners, damping=damping), embedding)


def _collect_cell_vertices(cells: MeshTet, tets: IndexArray) -> IndexArray:
    """The vertices of the cells that tets belong to."""
    of_cells = TETS_PER_CELL * np.unique(tets // TETS_PER_CELL)[:, None] + np.arange(TETS_PER_CELL)
    return np.unique(cells.tets[of_cells.ravel()])


def _voxelise_as_one_component(mesh: MeshTri, resolution: int) -> tuple[MeshTet, Embedding]:
    """Cells that hang together, and the mesh in them."""
    bridges = np.empty((0, 3), dtype=np.int64)
    for _ in range(MAX_BRIDGE_ROUNDS):
        cells = voxelise(MeshTri(mesh.vertices, np.vstack([mesh.triangles, bridges])), resolution=resolution)
        embedding = embed(mesh, cells)
        pieces = cells.component_labels[embedding.corners[:, 0]]
        if len(np.unique(cells.component_labels)) == 1:
            return cells, embedding
        bridges = np.vstack([bridges, _find_bridges(mesh, pieces, resolution)])
    raise InputError(f"the cells around this mesh do not hang together at resolution {resolution}; try a lower one")


def _find_bridges(mesh: MeshTri, components: IndexArray, resolution: int) -> IndexArray:
    """Triangles (k, 3) that join the pieces (n,) of the vertices, each to the nearest that is joined already."""
    longest = float(np.ptp(mesh.bounds, axis=0).max())
    used = np.flatnonzero(mesh.used_vertex_mask)
    joined = components[used] == np.bincount(components[used]).argmax()
    bridges = []
    while not joined.all():
        inside, outside = used[joined], used[~joined]
        away, near = build_kd_tree(mesh.vertices[inside]).query(mesh.vertices[outside])
        closest = int(np.argmin(away))
        gap, p, q = float(away[closest]), int(inside[near[closest]]), int(outside[closest])
        if gap * resolution > MAX_BRIDGE_CELLS * longest:
            _raise_gap_too_wide(p, q, gap, longest, resolution, int((components[used] == components[q]).sum()))
        bridges.append(_find_bridge(mesh, p, q))
        joined |= components[used] == components[q]
    return np.array(bridges, dtype=np.int64)


def _find_bridge(mesh: MeshTri, p: int, q: int) -> tuple[int, int, int]:
    """A triangle from p to q: its third corner is a neighbour of either, the one that gives it most area."""
    around = np.setdiff1d(mesh.triangles[(mesh.triangles == p).any(1) | (mesh.triangles == q).any(1)], [p, q])
    choices = np.column_stack([np.full(len(around), p), np.full(len(around), q), around])
    flat, areas, _ = find_degenerate_triangles(mesh.vertices, choices)
    areas = np.where(flat, -1.0, areas)
    best = int(np.argmax(areas))
    if areas[best] < 0:
        raise InputError(
            f"no triangle with an area joins vertices {p} and {q} of separate pieces; join them in the mesh"
        )
    return p, q, int(around[best])


def _raise_gap_too_wide(p: int, q: int, gap: float, longest_side: float, resolution: int, vertex_count: int) -> None:
    lower = int(MAX_BRIDGE_CELLS * longest_side / gap)
    advice = f"use resolution {lower} or lower, or " if lower >= 1 else ""
    raise InputError(
        f"a piece of {vertex_count} vertices is {gap:.3g} m from the rest (vertex {q} from vertex {p}), more than "
        f"{MAX_BRIDGE_CELLS:g} cells of {longest_side / resolution:.3g} m; {advice}edit the pieces one by one"
    )
