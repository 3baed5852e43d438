"""`embed_in_solid`: a solid of grid cells around a triangle mesh, so that any mesh can be edited as a body."""

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

# components closer than this many cells are joined: cells bridge such a gap without changing the shape noticeably
MAX_BRIDGE_CELLS = 3.0


@dataclass(frozen=True, eq=False)
class EmbeddedMesh:
    """A triangle mesh, the solid around it, and the embedding of its vertices in the tets of the solid."""

    mesh: MeshTri
    body: BodySolid
    embedding: Embedding

    @property
    def fixed(self) -> IndexArray:
        """Vertices of the mesh whose tets have fixed corners only."""
        return np.flatnonzero(np.isin(self.embedding.corners, self.body.fixed).all(axis=1))

    @property
    def skin(self) -> Skin:
        """The mesh as a skin that follows the solid."""
        return Skin(self.mesh, embedding=self.embedding)

    def __repr__(self) -> str:
        return f"EmbeddedMesh({self.mesh!r} in {self.body!r})"


def require_body(value: object) -> None:
    """Raise InputError unless `value` is a Body; for an EmbeddedMesh the message names the part to use."""
    if isinstance(value, EmbeddedMesh):
        raise InputError(
            "this works on one body, and an EmbeddedMesh is a surface in a solid: pass embedded.body, whose vertices "
            "are those of the cells, and move the surface by "
            "embedded.skin.deform(embedded.body.vertices + displacement)"
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
    """Build a solid from the cells of a grid that the triangles touch or enclose; it carries every vertex of `mesh`.

    resolution: cells along the longest side; thin parts are as thick as a cell. fixed: vertices of `mesh` whose cells
    are fixed; damping: as for BodySolid.
    The triangles may be open, not manifold, or in several components. Components less than three cells apart are
    joined by cells: eyes, feathers and buttons move with the part that they belong to.
    Raises InputError for components farther apart, with the resolution that would join them; edit such meshes one by
    one.
    """
    checks.require_instance(mesh, MeshTri, "mesh")
    held = check_fixed_vertices(fixed, len(mesh.vertices))
    cells, embedding = _voxelise_as_one_component(mesh, checks.require_integer(resolution, "resolution"))
    # `voxelise` divides each cell into six consecutive tets
    tets = 6 * np.unique(embedding.tets[held] // 6)[:, None] + np.arange(6)
    corners = np.unique(cells.tets[tets.ravel()])
    if len(corners) == len(cells.vertices):
        raise InputError(f"every cell is held by the {len(held)} fixed vertices; fix fewer, or raise the resolution")
    return EmbeddedMesh(mesh, BodySolid(cells, material, fixed=corners, damping=damping), embedding)


def _voxelise_as_one_component(mesh: MeshTri, resolution: int) -> tuple[MeshTet, Embedding]:
    """Connected cells, and the embedding of the mesh in them."""
    bridges = np.empty((0, 3), dtype=np.int64)
    # bridges only join components; one round is enough unless a bridge only touches a corner of the grid
    for _ in range(4):
        cells = voxelise(MeshTri(mesh.vertices, np.vstack([mesh.triangles, bridges])), resolution=resolution)
        embedding = embed(mesh, cells)
        if len(np.unique(cells.component_labels)) == 1:
            return cells, embedding
        components = cells.component_labels[embedding.corners[:, 0]]
        bridges = np.vstack([bridges, _find_bridges(mesh, components, resolution)])
    raise InputError(f"the cells around this mesh do not hang together at resolution {resolution}; try a lower one")


def _find_bridges(mesh: MeshTri, components: IndexArray, resolution: int) -> IndexArray:
    """Triangles (k, 3) that join the components (n,) of the vertices, each to the nearest one joined already."""
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
            lower, count = int(MAX_BRIDGE_CELLS * longest / gap), int((components[used] == components[q]).sum())
            advice = f"use resolution {lower} or lower, or " if lower >= 1 else ""
            raise InputError(
                f"a piece of {count} vertices is {gap:.3g} m from the rest (vertex {q} from vertex {p}), more than "
                f"{MAX_BRIDGE_CELLS:g} cells of {longest / resolution:.3g} m; {advice}edit the pieces one by one"
            )
        bridges.append(_find_bridge(mesh, p, q))
        joined |= components[used] == components[q]
    return np.array(bridges, dtype=np.int64)


def _find_bridge(mesh: MeshTri, p: int, q: int) -> tuple[int, int, int]:
    """Triangle from p to q; its third corner is the neighbour of either that gives it the largest area."""
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
