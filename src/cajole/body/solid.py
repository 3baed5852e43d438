"""BodySolid: St. Venant-Kirchhoff linear tets with consistent mass and tangential Rayleigh damping."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import kernels_solid as kernels
from cajole.body.base import require_no_unused_vertices
from cajole.body.kernels_mass import add_consistent_mass
from cajole.body.material import MaterialStVK, tabulate_materials
from cajole.body.rayleigh import BodyRayleigh
from cajole.errors import InputError
from cajole.mesh import MeshTet
from cajole.mesh.tet import compute_signed_volumes


class BodySolid(BodyRayleigh):
    """A solid: a tet mesh, a material, fixed vertices and damping D(u) = αM + βK(u).

    material: one, or one per tet. fixed: vertex indices or a mask (n,); each moves in none of its three directions.
    damping: (α [1/s], β [s]).
    """

    def __init__(
        self,
        mesh: MeshTet,
        material: MaterialStVK | Sequence[MaterialStVK] | None = None,
        *,
        fixed: ArrayLike | None = None,
        damping: tuple[float, float] = (0.0, 0.0),
    ):
        if not isinstance(mesh, MeshTet):
            raise InputError(f"a solid needs a MeshTet, not {type(mesh).__name__}; cajole.mesh.voxelise makes one")
        require_no_unused_vertices(mesh, "tet")
        super().__init__(mesh.vertices, mesh.tets, fixed=fixed, damping=damping)
        self.mesh = mesh
        lam, mu, self.densities = _tabulate_materials(MaterialStVK() if material is None else material, len(mesh.tets))
        self._tets = np.ascontiguousarray(mesh.tets, dtype=np.int32)
        # what the compiled loops need of every tet: corners, shape gradients, volume, λ, μ
        self.element_arrays = (
            self._tets,
            np.ascontiguousarray(mesh.shape_gradients),
            np.ascontiguousarray(mesh.volumes),
            lam,
            mu,
        )
        self._assembly_map = (self.pattern.block_offsets, self.pattern.row_strides)

    @cached_property
    def mass_values(self) -> Array:
        """Values of the consistent mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.nnz)
        add_consistent_mass(self._tets, self.densities * self.mesh.volumes, *self._assembly_map, data)
        return data

    def energy(self, displacement: ArrayLike) -> float:
        total = kernels.compute_energy(self.check_vertex_vectors(displacement), *self.element_arrays)
        return float(checks.require_finite_result(np.asarray(total), "the energy"))

    def stiffness(self, displacement: ArrayLike | None = None) -> sp.csr_array:
        u = np.zeros((self.vertex_count, 3)) if displacement is None else self.check_vertex_vectors(displacement)
        data = np.zeros(self.pattern.nnz)
        self.add_stiffness_and_force(u, data)
        return self.pattern.build_matrix(checks.require_finite_result(data, "the stiffness"))

    def add_stiffness_and_force(self, u: Array, data: Array, *, scale: float = 1.0) -> Array:
        """f(u) (n, 3), and data += scale K(u) on `pattern`; unchecked and fast."""
        out = np.zeros((self.vertex_count, 3))
        kernels.add_force_and_stiffness(u, *self.element_arrays, *self._assembly_map, scale, out, data)
        return out

    def add_force(self, u: Array, out: Array) -> None:
        kernels.add_force(u, *self.element_arrays, out)

    def add_force_differential(self, u: Array, v: Array, scale: float, out: Array) -> None:
        kernels.add_force_differential(u, v, *self.element_arrays, scale, out)

    def add_stiffness_derivative(self, u: Array, v: Array, scale: float, data: Array) -> None:
        kernels.add_stiffness_derivative(u, v, *self.element_arrays, *self._assembly_map, scale, data)

    def assemble_system(
        self, u: Array, v: Array, mass_factor: float, damping_factor: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        np.multiply(self.mass_values, mass_factor + damping_factor * self.alpha, out=out)
        force = self.add_stiffness_and_force(u, out, scale=1.0 + damping_factor * self.beta)
        if self.beta:
            self.add_stiffness_derivative(u, v, self.beta, out)
        if self.alpha or self.beta:
            force += self._compute_damping_force(u, v)
        return force

    def compute_volume_ratios(self, displacement: ArrayLike) -> Array:
        """(m,) the signed volume of each tet under a displacement (n, 3) over that at rest: negative inside out."""
        moved = compute_signed_volumes(self.vertices + self.check_vertex_vectors(displacement), self.mesh.tets)
        return np.asarray(moved / self.mesh.volumes)

    def inverted(self, displacement: ArrayLike) -> IndexArray:
        return np.flatnonzero(self.compute_volume_ratios(displacement) <= 0)

    def __repr__(self) -> str:
        return f"BodySolid({self.mesh!r}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def get_display_mesh(self) -> MeshTet:
        return self.mesh

    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        _, _, _, lam, mu = self.element_arrays
        return "solid", self.mesh.content_hash, lam, mu, self.densities, self.fixed, self.alpha, self.beta


def _tabulate_materials(material: MaterialStVK | Sequence[MaterialStVK], count: int) -> tuple[Array, Array, Array]:
    """λ, μ and density of each tet."""
    table = tabulate_materials(material, MaterialStVK, count, "tet", lambda m: (*m.lame, m.density))
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()
