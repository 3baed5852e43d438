"""Geometry: tet and triangle meshes, and what is made from them or read into them."""

from __future__ import annotations

from cajole.mesh.tet import MeshTet
from cajole.mesh.tri import MeshTri, vertex_normals

__all__ = ["MeshTet", "MeshTri", "vertex_normals"]
