"""Geometry: tet, triangle and line meshes, their files, embedding, subdivision and voxelisation."""

from __future__ import annotations

from cajole.mesh.base import MeshTri, compute_vertex_normals
from cajole.mesh.closest_point import ClosestPointQuery, ClosestPointResult, find_closest_points
from cajole.mesh.embedding import Embedding, embed
from cajole.mesh.files import read_bou, read_mesh, read_veg, write_mesh
from cajole.mesh.formats.veg import VegFile
from cajole.mesh.line import MeshLine
from cajole.mesh.primitives import box_tets, grid_triangles
from cajole.mesh.repair import drop_degenerate_triangles, remove_slivers
from cajole.mesh.skin import Skin
from cajole.mesh.subdivision import subdivide
from cajole.mesh.tet import MeshTet
from cajole.mesh.voxels import voxelise

__all__ = [
    "ClosestPointQuery",
    "ClosestPointResult",
    "Embedding",
    "MeshLine",
    "MeshTet",
    "MeshTri",
    "Skin",
    "VegFile",
    "box_tets",
    "compute_vertex_normals",
    "drop_degenerate_triangles",
    "embed",
    "find_closest_points",
    "grid_triangles",
    "read_bou",
    "read_mesh",
    "read_veg",
    "remove_slivers",
    "subdivide",
    "voxelise",
    "write_mesh",
]
