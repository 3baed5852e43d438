"""`body_around`: a solid of cells around any triangles, so that drawn meshes can be edited as if they were bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import IndexArray
from cajole.body.base import Body, fixed_vertices
from cajole.body.material import MaterialStVK
from cajole.body.solid import BodySolid
from cajole.errors import InputError
from cajole.mesh import Embedding, MeshTet, MeshTri, Skin, embed, voxelise
from cajole.mesh.base import point_tree
from cajole.mesh.tri import flat_triangles

# Pieces closer than this many cells are joined: across such a gap cells are already as large as what they bridge.
NEAR = 3.0
# tets of one cell, see `voxelise`
TETS = 6
# Bridges can only join pieces; once is enough unless a bridge grazes a corner of the grid.
MOST_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class BodyAround:
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
        return f"BodyAround({self.mesh!r} in {self.body!r})"


def require_body(value: object) -> None:
    """Raise unless `value` is a Body; of a BodyAround say which part to take."""
    if isinstance(value, BodyAround):
        raise InputError(
            "this works on one body, and a BodyAround is a surface in a solid: pass around.body, whose vertices are "
            "those of the cells, and move the surface by around.skin.follow(around.body.vertices + displacement)"
        )
    checks.require_instance(value, Body, "body")


def body_around(
    mesh: MeshTri,
    material: MaterialStVK | None = None,
    *,
    resolution: int = 24,
    fixed: ArrayLike | None = None,
    damping: tuple[float, float] = (0.0, 0.0),
) -> BodyAround:
    """The cells of a grid that triangles touch or enclose, as one solid that carries every vertex of `mesh`.

    resolution: cells along the longest side; thin parts are as thick as a cell. fixed: vertices of `mesh` whose cells
    are held; damping: as for BodySolid.
    The triangles may be open, not manifold, or in several pieces, which are joined by cells where they are less than
    three cells apart: eyes, feathers and buttons move with what they belong to.
    Raises InputError for pieces farther apart, with the resolution that would join them; edit such meshes one by one.
    """
    checks.require_instance(mesh, MeshTri, "mesh")
    held = fixed_vertices(fixed, len(mesh.vertices))
    cells, embedding = _one_piece(mesh, checks.count(resolution, "resolution"))
    corners = _cell_corners(cells, embedding.tets[held])
    if len(corners) == len(cells.vertices):
        raise InputError(f"every cell is held by the {len(held)} fixed vertices; fix fewer, or raise the resolution")
    return BodyAround(mesh, BodySolid(cells, material, fixed=corners, damping=damping), embedding)


def _cell_corners(cells: MeshTet, tets: IndexArray) -> IndexArray:
    """The vertices of the cells that tets belong to."""
    of_cells = TETS * np.unique(tets // TETS)[:, None] + np.arange(TETS)
    return np.unique(cells.tets[of_cells.ravel()])


def _one_piece(mesh: MeshTri, resolution: int) -> tuple[MeshTet, Embedding]:
    """Cells that hang together, and the mesh in them."""
    bridges = np.empty((0, 3), dtype=np.int64)
    for _ in range(MOST_ROUNDS):
        cells = voxelise(MeshTri(mesh.vertices, np.vstack([mesh.triangles, bridges])), resolution=resolution)
        embedding = embed(mesh, cells)
        pieces = cells.components[embedding.corners[:, 0]]
        if len(np.unique(cells.components)) == 1:
            return cells, embedding
        bridges = np.vstack([bridges, _bridges(mesh, pieces, resolution)])
    raise InputError(f"the cells around this mesh do not hang together at resolution {resolution}; try a lower one")


def _bridges(mesh: MeshTri, pieces: IndexArray, resolution: int) -> IndexArray:
    """Triangles (k, 3) that join the pieces (n,) of the vertices, each to the nearest that is joined already."""
    longest = float(np.ptp(mesh.bounds, axis=0).max())
    used = np.flatnonzero(mesh.used)
    joined = pieces[used] == np.bincount(pieces[used]).argmax()
    bridges = []
    while not joined.all():
        inside, outside = used[joined], used[~joined]
        away, near = point_tree(mesh.vertices[inside]).query(mesh.vertices[outside])
        closest = int(np.argmin(away))
        gap, p, q = float(away[closest]), int(inside[near[closest]]), int(outside[closest])
        if gap * resolution > NEAR * longest:
            _refuse(p, q, gap, longest, resolution, int((pieces[used] == pieces[q]).sum()))
        bridges.append(_bridge(mesh, p, q))
        joined |= pieces[used] == pieces[q]
    return np.array(bridges, dtype=np.int64)


def _bridge(mesh: MeshTri, p: int, q: int) -> tuple[int, int, int]:
    """A triangle from p to q: its third corner is a neighbour of either, the one that gives it most area."""
    around = np.setdiff1d(mesh.triangles[(mesh.triangles == p).any(1) | (mesh.triangles == q).any(1)], [p, q])
    choices = np.column_stack([np.full(len(around), p), np.full(len(around), q), around])
    flat, areas, _ = flat_triangles(mesh.vertices, choices)
    areas = np.where(flat, -1.0, areas)
    best = int(np.argmax(areas))
    if areas[best] < 0:
        raise InputError(
            f"no triangle with an area joins vertices {p} and {q} of separate pieces; join them in the mesh"
        )
    return p, q, int(around[best])


def _refuse(p: int, q: int, gap: float, longest: float, resolution: int, count: int) -> None:
    lower = int(NEAR * longest / gap)
    advice = f"use resolution {lower} or lower, or " if lower >= 1 else ""
    raise InputError(
        f"a piece of {count} vertices is {gap:.3g} m from the rest (vertex {q} from vertex {p}), more than "
        f"{NEAR:g} cells of {longest / resolution:.3g} m; {advice}edit the pieces one by one"
    )
