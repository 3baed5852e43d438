"""MeshTet: solids as tetrahedra."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array, IndexArray
from cajole.errors import MeshError
from cajole.mesh import topology
from cajole.mesh.base import (
    MIN_ELEMENT_QUALITY,
    Mesh,
    MeshTri,
    compute_longest_edges,
    describe_duplicate_elements,
    describe_vertex_defects,
    make_read_only,
    validate_elements,
    validate_vertices,
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MeshTet(Mesh):
    """Tetrahedra of positive volume.

    vertices: (n, 3) [m]; tets: (m, 4) indices from 0. Tets of negative volume are flipped (their last two vertices
    swapped); `notes` lists these, repeated or unused vertices, and repeated tets.
    Raises MeshError for invalid solids: empty, not finite, out of range, flat.
    """

    tets: IndexArray

    _element_edges = topology.TET_EDGES

    def __init__(self, vertices: ArrayLike, tets: ArrayLike):
        points = validate_vertices(vertices)
        elements = validate_elements(tets, "tets", 4, len(points))
        volumes = compute_signed_volumes(points, elements)
        longest = compute_longest_edges(points, elements, topology.TET_EDGES)
        flat = np.abs(volumes) <= MIN_ELEMENT_QUALITY * longest**3
        if flat.any():
            i = int(np.argmax(flat))
            raise MeshError(
                f"tets[{i}] (vertices {elements[i].tolist()}) is flat: volume {abs(volumes[i]):.3g} m³ with a longest "
                f"edge of {longest[i]:.3g} m, below {MIN_ELEMENT_QUALITY:g} of that edge cubed ({int(flat.sum())} "
                "such); remove it or move its vertices apart"
            )
        inverted = volumes < 0
        elements[inverted] = elements[inverted][:, [0, 1, 3, 2]]
        notes = [f"{int(inverted.sum())} tets had negative volume and were flipped"] if inverted.any() else []
        notes += describe_duplicate_elements(elements, "tets", len(points))
        object.__setattr__(self, "vertices", make_read_only(points))
        object.__setattr__(self, "tets", make_read_only(elements))
        object.__setattr__(self, "notes", tuple(notes + describe_vertex_defects(points, self.used_vertex_mask)))

    @property
    def elements(self) -> IndexArray:
        """(m, 4) the tets."""
        return self.tets

    @cached_property
    def volumes(self) -> Array:
        """(m,) [m³] the volume of each tet, V = det[x₁-x₀, x₂-x₀, x₃-x₀] / 6 > 0."""
        return make_read_only(compute_signed_volumes(self.vertices, self.tets))

    @cached_property
    def volume(self) -> float:
        """The total volume [m³]."""
        return float(self.volumes.sum())

    @cached_property
    def shape_gradients(self) -> Array:
        """(m, 4, 3) [1/m] gradients ∇Nᵢ of the linear shape functions, Nᵢ(xⱼ) = δᵢⱼ."""
        a, b, c = np.moveaxis(self.vertices[self.tets[:, 1:]] - self.vertices[self.tets[:, :1]], 1, 0)
        # rows of the inverse of [a b c] are the cross products over the determinant
        last = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)], axis=1) / (6 * self.volumes)[:, None, None]
        return make_read_only(np.concatenate([-last.sum(axis=1, keepdims=True), last], axis=1))

    @cached_property
    def surface(self) -> MeshTri:
        """The faces of only one tet, facing outward, on the same vertex numbering.

        Raises MeshError if there is none because every tet occurs twice.
        """
        faces = topology.find_boundary_faces(self.tets, len(self.vertices))
        if not len(faces):
            raise MeshError("the mesh has no surface: every face belongs to several tets; remove repeated tets")
        return MeshTri._from_valid_arrays(self.vertices, faces)

    @cached_property
    def dihedral_angles(self) -> Array:
        """(m, 6) [degrees] the dihedral angle at each edge (01, 02, 03, 12, 13, 23) of each tet."""
        one, two = topology.TET_EDGES[::-1].T  # the faces at edge ij are those opposite the other two vertices
        first, second = self.shape_gradients[:, one], self.shape_gradients[:, two]
        sine = np.linalg.norm(np.cross(first, second), axis=2)
        return make_read_only(np.degrees(np.arctan2(sine, -(first * second).sum(axis=2))))

    def is_manifold(self) -> bool:
        """True if every face has at most two tets and the surface is closed, without pinched edges or vertices."""
        if describe_duplicate_elements(self.tets, "tets", len(self.vertices)):
            return False
        crowded = topology.count_max_tets_per_face(self.tets, len(self.vertices)) > 2
        return not crowded and self.surface.is_closed() and self.surface.is_manifold()

    def moved(self, vertices: ArrayLike) -> MeshTet:
        """The same tets with other vertices (n, 3) [m]. Raises MeshError if a tet is inverted or flat."""
        points = self._checked_positions(vertices)
        inverted = compute_signed_volumes(points, self.tets) < 0
        if inverted.any():
            raise MeshError(
                f"tets[{int(np.argmax(inverted))}] is turned inside out by the move ({int(inverted.sum())} such); "
                "move less, or build a new MeshTet if the mesh is to be mirrored"
            )
        return MeshTet(points, self.tets)


def compute_signed_volumes(vertices: Array, tets: IndexArray) -> Array:
    """(m,) [m³] det[x₁-x₀, x₂-x₀, x₃-x₀] / 6."""
    x0, x1, x2, x3 = (vertices[column] for column in tets.T)
    return np.asarray(np.einsum("ij,ij->i", x1 - x0, np.cross(x2 - x0, x3 - x0)) / 6)
