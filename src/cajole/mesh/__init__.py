"""Geometry: tet and triangle meshes, and what is made from them or read into them."""

from __future__ import annotations

from cajole.mesh.closest import Closest, ClosestPoints, closest_points
from cajole.mesh.embedding import Embedding, embed
from cajole.mesh.files import read_bou, read_mesh, read_veg, write_mesh
from cajole.mesh.formats.veg import VegFile
from cajole.mesh.generate import box_tets, grid_triangles
from cajole.mesh.line import MeshLine
from cajole.mesh.repair import remove_slivers, repaired
from cajole.mesh.skin import Skin
from cajole.mesh.subdivision import subdivide
from cajole.mesh.tet import MeshTet
from cajole.mesh.tri import MeshTri, vertex_normals
from cajole.mesh.voxels import voxelise

__all__ = [
    "Closest",
    "ClosestPoints",
    "Embedding",
    "MeshLine",
    "MeshTet",
    "MeshTri",
    "Skin",
    "VegFile",
    "box_tets",
    "closest_points",
    "embed",
    "grid_triangles",
    "read_bou",
    "read_mesh",
    "read_veg",
    "remove_slivers",
    "repaired",
    "subdivide",
    "vertex_normals",
    "voxelise",
    "write_mesh",
]
