"""A reduced model that has left its body behind: all that a controller needs to run, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.body import Body
from cajole.mesh import MeshLine, MeshTri
from cajole.reduction import ReducedModel
from cajole.reduction.kernels_solid import compute_force_and_stiffness
from cajole.reduction.kernels_springs import compute_energy_springs


def is_spring_system(system: tuple) -> bool:
    """Whether a system, as `kernels_motion` has it, is one of springs; else it is a polynomial."""
    return len(system[6]) > 0


def build_system_arrays(system: tuple) -> dict[str, NDArray[Any]]:
    """A system by the names it has in files.

    Solids: stiffness K0 (r, r), and cubic (r, pairs), quartic (r, triples), the third and fourth derivatives of the
    energy, ∂³W/∂z_l∂z_i∂z_j at [l, (i, j)] with i >= j, ∂⁴W/∂z_l∂z_i∂z_j∂z_k at [l, (i, j, k)] with i >= j >= k, each
    numbered in lexical order; alpha, beta: damping. Springs: points (p, 3), point_basis (3p, r), springs (m, 3) of
    stiffness, rest length and damping, spring_ends (m, 2).
    """
    if is_spring_system(system):
        return dict(zip(("points", "point_basis", "springs", "spring_ends"), system[5:]))
    return {name: np.asarray(value) for name, value in zip(("stiffness", "cubic", "quartic", "alpha", "beta"), system)}


@dataclass(frozen=True, eq=False)
class StandaloneBody:
    """What is left of a body: where its vertices rest, what they weigh, and its surface on the same numbering.

    masses: (n, n) [kg], the mass matrix of one coordinate; size [m] and total_mass [kg]: as the body had them.
    """

    mesh: MeshTri | MeshLine
    scalar_mass: sp.csr_array
    total_mass: float
    size: float

    @property
    def vertices(self) -> Array:
        return self.mesh.vertices

    @property
    def vertex_count(self) -> int:
        return len(self.mesh.vertices)

    @cached_property
    def mass(self) -> sp.csr_array:
        """Mass matrix (3n, 3n) [kg]."""
        return sp.csr_array(sp.kron(self.scalar_mass, sp.eye_array(3), format="csr"))

    @cached_property
    def vertex_masses(self) -> Array:
        """(n,) [kg]"""
        return self.scalar_mass @ np.ones(self.vertex_count)

    def get_display_mesh(self) -> MeshTri | MeshLine:
        return self.mesh

    def check_vertex_vectors(self, displacement: ArrayLike, name: str = "displacement") -> Array:
        """`displacement` as a finite (n, 3) array."""
        return checks.require_real_array(displacement, name, (self.vertex_count, 3))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"a loaded controller has no {name!r} of its body: the file holds how it moves, not what it is made of;"
            " use the body it was made from"
        )


class StandaloneModel(ReducedModel):
    """Reduced forces as tables, without the body they come from; u = u₀ + U z.

    system: as `kernels_motion` takes it; frequency: ω₁ [rad/s]; offset: u₀ (n, 3); constant: Uᵀf(u₀) (r,).
    """

    def __init__(
        self,
        body: StandaloneBody,
        basis: Array,
        kernel_data: tuple,
        first_angular_frequency: float,
        offset: Array,
        constant_force: Array,
    ):
        super().__init__(basis, constant_force)
        # it offers what controllers ask of a body, and says so when asked for more
        self.body = cast(Body, body)
        self.offset, self._system, self._frequency = offset, kernel_data, first_angular_frequency

    @property
    def kernel_data(self) -> tuple:
        return self._system

    @cached_property
    def first_angular_frequency(self) -> float:
        return self._frequency

    def project(self, displacement: ArrayLike) -> Array:
        """z = UᵀM (u - u₀)."""
        u = np.asarray(displacement, dtype=np.float64)
        return super().project(u - self.offset if u.shape[-2:] == self.offset.shape else u)

    def lift(self, state: ArrayLike) -> Array:
        """u = u₀ + U z."""
        u = super().lift(state)
        return u + self.offset if self.offset.any() else u

    def get_table_arrays(self) -> dict[str, Array]:
        return build_system_arrays(self._system)

    def energy(self, state: ArrayLike) -> float:
        """W(u₀ + Uz) - W(u₀) [J]."""
        z = self._check_state(state)
        products, vectors, points = self._workspace
        if is_spring_system(self._system):
            return float(compute_energy_springs(*self._system[5:], z, points[0]))
        return float(
            self.constant_force @ z
            + compute_force_and_stiffness(z, *self._system[:3], *products, vectors[0], vectors[3])
        )
