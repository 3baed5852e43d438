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
from cajole.body.base import require_used
from cajole.body.kernels_mass import consistent_mass
from cajole.body.material import MaterialStVK, material_rows
from cajole.body.rayleigh import BodyRayleigh
from cajole.errors import InputError
from cajole.mesh import MeshTet
from cajole.mesh.tet import signed_volumes
from cajole.storage import content_hash


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
        require_used(mesh, "tet")
        super().__init__(mesh.vertices, mesh.tets, fixed=fixed, damping=damping)
        self.mesh = mesh
        lam, mu, self.densities = _per_tet(MaterialStVK() if material is None else material, len(mesh.tets))
        self._tets = np.ascontiguousarray(mesh.tets, dtype=np.int32)
        # what the compiled loops need of every tet: corners, shape gradients, volume, λ, μ
        self.elastic = (self._tets, np.ascontiguousarray(mesh.gradients), np.ascontiguousarray(mesh.volumes), lam, mu)
        self._places = (self.pattern.slots, self.pattern.stride)

    @cached_property
    def mass_values(self) -> Array:
        """Values of the consistent mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.entries)
        consistent_mass(self._tets, self.densities * self.mesh.volumes, *self._places, data)
        return data

    def energy(self, displacement: ArrayLike) -> float:
        total = kernels.energy(self.checked(displacement), *self.elastic)
        return float(checks.finite_result(np.asarray(total), "the energy"))

    def stiffness(self, displacement: ArrayLike | None = None) -> sp.csr_array:
        u = np.zeros((self.count, 3)) if displacement is None else self.checked(displacement)
        data = np.zeros(self.pattern.entries)
        self.force_stiffness(u, data)
        return self.pattern.matrix(checks.finite_result(data, "the stiffness"))

    def force_stiffness(self, u: Array, data: Array, *, scale: float = 1.0) -> Array:
        """f(u) (n, 3), and data += scale K(u) on `pattern`; unchecked and fast."""
        out = np.zeros((self.count, 3))
        kernels.force_stiffness(u, *self.elastic, *self._places, scale, out, data)
        return out

    def add_force(self, u: Array, out: Array) -> None:
        kernels.force(u, *self.elastic, out)

    def add_force_change(self, u: Array, v: Array, scale: float, out: Array) -> None:
        kernels.force_change(u, v, *self.elastic, scale, out)

    def add_stiffness_change(self, u: Array, v: Array, scale: float, data: Array) -> None:
        kernels.stiffness_change(u, v, *self.elastic, *self._places, scale, data)

    def system(
        self, u: Array, v: Array, inertia: float, drag: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        np.multiply(self.mass_values, inertia + drag * self.alpha, out=out)
        force = self.force_stiffness(u, out, scale=1.0 + drag * self.beta)
        if self.beta:
            self.add_stiffness_change(u, v, self.beta, out)
        if self.alpha or self.beta:
            force += self._drag(u, v)
        return force

    def volume_ratios(self, displacement: ArrayLike) -> Array:
        """(m,) the signed volume of each tet under a displacement (n, 3) over that at rest: negative inside out."""
        moved = signed_volumes(self.vertices + self.checked(displacement), self.mesh.tets)
        return np.asarray(moved / self.mesh.volumes)

    def inverted(self, displacement: ArrayLike) -> IndexArray:
        return np.flatnonzero(self.volume_ratios(displacement) <= 0)

    def __repr__(self) -> str:
        return f"BodySolid({self.mesh!r}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def drawn_mesh(self) -> MeshTet:
        return self.mesh

    def content(self) -> str:
        _, _, _, lam, mu = self.elastic
        return content_hash("solid", self.mesh.content, lam, mu, self.densities, self.fixed, self.alpha, self.beta)


def _per_tet(material: MaterialStVK | Sequence[MaterialStVK], count: int) -> tuple[Array, Array, Array]:
    """λ, μ and density of each tet."""
    table = material_rows(material, MaterialStVK, count, "tet", lambda m: (*m.lame, m.density))
    return table[:, 0].copy(), table[:, 1].copy(), table[:, 2].copy()
