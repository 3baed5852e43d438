"""BodyShell: thin sheets of triangles that stretch as membranes and bend at their edges."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import kernels_membrane as membrane
from cajole.body.base import require_no_unused_vertices
from cajole.body.bending import BendingEnergy, BendingState, Plasticity, build_hinges, expand_per_hinge
from cajole.body.kernels_assembly import add_consistent_mass
from cajole.body.material import MaterialShell, tabulate_shell_properties
from cajole.body.rayleigh import BodyRayleigh, ShellDamping, parse_rayleigh_damping
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri
from cajole.mesh.base import MIN_ELEMENT_QUALITY

# displacement, and the hinges there
ShellStateAt = tuple[Array, BendingState]


class BodyShell(BodyRayleigh):
    """A thin shell: a triangle mesh, a material, fixed vertices and damping D(u) = αM + βK(u).

    Triangles have constant strain; edges bend with their angle from rest (see `cajole.body.bending`). An angle can
    change by less than half a turn: a larger change counts as one in the other direction.
    material: one, or one per triangle. fixed: vertex indices or a mask; fix two rows of vertices for a clamped edge,
    one row for a hinged edge. damping: (α [1/s], β [s]), or a ShellDamping with separate β of membrane and bending.
    undeformed: the stress-free shape, (n, 3) [m] or a MeshTri of the same triangles, curved or flat; default: the mesh.
    Displacements count from the mesh; mass and bending stiffness are those of the mesh, too.
    bending_scale: factor of the bending stiffness, one or one per hinge (h,) in the order of `hinges.vertices`, which
    begins with `mesh.hinges`. plasticity: yielding of the hinges; `yielded` returns the body after a deformation.
    """

    def __init__(
        self,
        mesh: MeshTri,
        material: MaterialShell | Sequence[MaterialShell] | None = None,
        *,
        fixed: ArrayLike | None = None,
        damping: tuple[float, float] | ShellDamping = (0.0, 0.0),
        undeformed: ArrayLike | MeshTri | None = None,
        bending_scale: float | ArrayLike = 1.0,
        plasticity: Plasticity | None = None,
    ):
        if not isinstance(mesh, MeshTri):
            raise InputError(f"a shell needs a MeshTri, not {type(mesh).__name__}; a MeshTet has one: .surface")
        require_no_unused_vertices(mesh, "triangle")
        self.material = MaterialShell() if material is None else material
        self.properties = tabulate_shell_properties(self.material, len(mesh.triangles))
        if not isinstance(damping, ShellDamping):
            alpha, beta = parse_rayleigh_damping(damping)
            damping = ShellDamping(mass=alpha, membrane=beta, bending=beta)
        self.damping = damping
        self.hinges = build_hinges(mesh, self.properties)
        super().__init__(
            mesh.vertices, self.hinges.elements, fixed=fixed, alpha=damping.mass,
            betas=(damping.membrane, damping.bending),
        )  # fmt: skip
        self.mesh = mesh
        self._triangles = np.ascontiguousarray(mesh.triangles, dtype=np.int32)
        elements = np.ascontiguousarray(self.hinges.elements, dtype=np.int32)
        self._assembly_map = (elements, self.pattern.block_offsets, self.pattern.row_strides)
        count = len(self.hinges.vertices)
        self.plasticity = plasticity
        if plasticity is not None:
            checks.require_instance(plasticity, Plasticity, "plasticity")
        self._yield_parameters = None if plasticity is None else plasticity.expand_to_hinges(count)
        factors = expand_per_hinge(bending_scale, "bending_scale", count, nonnegative=True)
        self._bending_energy = BendingEnergy.from_hinges(self.hinges, self._assembly_map, factors, mesh.vertices)
        self._set_undeformed_shape(mesh.vertices if undeformed is None else self._check_undeformed_shape(undeformed))

    def with_undeformed_shape(self, undeformed: ArrayLike | MeshTri) -> Self:
        """Return the body with another stress-free shape, (n, 3) [m] or a MeshTri of the same triangles; cheap.

        Plastic angles are added to those of the new shape. Raises InputError for a triangle without area.
        """
        other = copy(self)
        other._set_undeformed_shape(self._check_undeformed_shape(undeformed))
        return other

    def yielded(self, displacement: ArrayLike) -> Self:
        """Return the body after a deformation u (n, 3) [m]: its plasticity changes rest angles and stiffness.

        Returns the same object if no hinge exceeds its limit. Hinges yield one after the other, each at most until its
        moment vanishes: at fixed stiffness the energy at u never increases.
        """
        u = self.check_vertex_vectors(displacement)
        if self._yield_parameters is None:
            return self
        phi = self._require_finite(self._bending_energy.compute_elastic_angles(self.vertices + u), "an angle", u)
        bending = self._bending_energy.yielded(phi, self.undeformed, *self._yield_parameters)
        if bending is self._bending_energy:
            return self
        other = copy(self)
        other._bending_energy = bending
        return other

    @property
    def rest_angles(self) -> Array:
        """Angle of each hinge (h,) [rad] at which it has no moment."""
        return self._bending_energy.rest_angles

    @property
    def plastic_angles(self) -> Array:
        """Plastic part of the rest angles (h,) [rad]."""
        return self._bending_energy.plastic_angles

    @property
    def bending_scale(self) -> Array:
        """Factor of the stiffness of each hinge (h,), including hardening."""
        return self._bending_energy.stiffness_scale

    @cached_property
    def mass_values(self) -> Array:
        """Values of the mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.nnz)
        weights = self.properties.density * self.properties.thickness * self.mesh.areas
        add_consistent_mass(self._triangles, weights, *self._assembly_map[1:], data)
        return data

    # --- physics

    def energy(self, displacement: ArrayLike) -> float:
        u = self.check_vertex_vectors(displacement)
        total = membrane.compute_energy(u, *self._membrane_arrays) + self._bending_energy.energy(self.vertices + u)
        return float(self._require_finite(np.asarray(total), "the energy", u))

    def stiffness(self, displacement: ArrayLike | None = None, *, clamped: bool = False) -> sp.csr_array:
        """K = df/du, exact; `clamped`: without compression and moments, positive semidefinite, as steps use it."""
        u = np.zeros((self.vertex_count, 3)) if displacement is None else self.check_vertex_vectors(displacement)
        data = np.zeros(self.pattern.nnz)
        self._add_stiffness(self._evaluate(u), (1.0, 1.0), data, clamped=clamped)
        return self.pattern.build_matrix(self._require_finite(data, "the stiffness", u))

    def damping_matrix(self, displacement: ArrayLike, *, clamped: bool = False) -> sp.csr_array:
        """D = ∂d/∂v, exact; `clamped`: with the positive semidefinite K."""
        u = self.check_vertex_vectors(displacement)
        data = self.alpha * self.mass_values
        self._add_stiffness(self._evaluate(u), self.betas, data, clamped=clamped)
        return self.pattern.build_matrix(self._require_finite(data, "the damping", u))

    def assemble_system(
        self, u: Array, v: Array, mass_factor: float, damping_factor: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        """As `Body.assemble_system`; "clamped" uses the positive semidefinite K for the damping as well."""
        state, clamped = self._evaluate(u), tangent == "clamped"
        np.multiply(self.mass_values, mass_factor + damping_factor * self.alpha, out=out)
        scales = tuple(1.0 + damping_factor * beta for beta in self.betas)
        self._add_stiffness(state, scales, out, clamped=clamped)
        if not clamped:
            self._add_stiffness_derivative(state, v, self.betas, out)
        return self._compute_total_force(state, v)

    def _evaluate(self, u: Array) -> ShellStateAt:
        return u, self._bending_energy.evaluate(self.vertices + u)

    def _add_force(self, state: ShellStateAt, out: Array) -> None:
        membrane.add_force(state[0], *self._membrane_arrays, out)
        self._bending_energy.add_force(state[1], out)

    def _add_force_differential(self, state: ShellStateAt, v: Array, scales: tuple[float, ...], out: Array) -> None:
        if scales[0]:
            membrane.add_force_differential(state[0], v, *self._membrane_arrays, scales[0], out)
        if scales[1]:
            self._bending_energy.add_force_differential(state[1], v, scales[1], out)

    def _add_stiffness(self, state: ShellStateAt, scales: tuple[float, ...], data: Array, *, clamped: bool) -> None:
        """data += Σ scales[i] Kᵢ(u) on `pattern`."""
        if scales[0]:
            membrane.add_stiffness(state[0], *self._membrane_arrays, *self._assembly_map, scales[0], clamped, data)
        if scales[1]:
            self._bending_energy.add_stiffness(state[1], scales[1], data, clamped=clamped)

    def _add_stiffness_derivative(self, state: ShellStateAt, v: Array, scales: tuple[float, ...], data: Array) -> None:
        if scales[0]:
            arrays = *self._membrane_arrays, *self._assembly_map
            membrane.add_stiffness_derivative(state[0], v, *arrays, scales[0], data)
        if scales[1]:
            self._bending_energy.add_stiffness_derivative(state[1], v, scales[1], data)

    def _require_finite(self, values: Array, what: str, u: Array) -> Array:
        """Return `values` if finite. Raises SolveError, which names a triangle without area if there is one."""
        if np.isfinite(values).all():
            return values
        x = (self.vertices + u)[self.mesh.triangles]
        with np.errstate(over="ignore", invalid="ignore"):
            flat = ~np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]).any(axis=1)
        if flat.any():
            raise SolveError(
                f"triangle {int(np.argmax(flat))} has lost its area, so the angles at its edges are undefined; move "
                "its vertices apart"
            )
        return checks.require_finite_result(values, what)

    def __repr__(self) -> str:
        least, most = self.properties.thickness.min(), self.properties.thickness.max()
        thick = f"{least:g} m thick" if least == most else f"{least:g} to {most:g} m thick"
        return f"BodyShell({self.mesh!r}, {thick}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def get_display_mesh(self) -> MeshTri:
        return self.mesh

    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        s, d, tag = self.properties, self.damping, ("shell", self.mesh.content_hash)
        material = s.lam, s.mu, s.bending_stiffness, s.poisson, s.thickness, s.density
        rest = self.undeformed, self.bending_scale, self.plastic_angles, *(self._yield_parameters or ())
        return *tag, *material, self.fixed, d.mass, d.membrane, d.bending, *rest

    def _check_undeformed_shape(self, undeformed: ArrayLike | MeshTri) -> Array:
        if isinstance(undeformed, MeshTri):
            if not np.array_equal(undeformed.triangles, self.mesh.triangles):
                raise InputError("the undeformed mesh has other triangles than the shell's; move its vertices: .moved")
            return undeformed.vertices
        shape = checks.require_real_array(undeformed, "undeformed", (self.vertex_count, 3)).copy()
        shape.setflags(write=False)
        return shape

    def _set_undeformed_shape(self, undeformed: Array) -> None:
        """Measure strains and angles from `undeformed`."""
        count = len(self._triangles)
        g, frames, strains = np.empty((count, 3, 2)), np.empty((count, 2, 3)), np.empty((count, 3))
        areas, moved = np.empty(count), self.vertices - undeformed
        flat = membrane.compute_rest_frames(
            undeformed, moved, self._triangles, MIN_ELEMENT_QUALITY, g, frames, strains, areas
        )
        if flat >= 0:
            raise InputError(f"triangle {flat} of the undeformed shape has no area; move its vertices apart")
        self.undeformed, lame = undeformed, (self.properties.lam * areas, self.properties.mu * areas)
        self._membrane_arrays = self._triangles, g, frames, strains, *lame
        self._bending_energy = self._bending_energy.with_undeformed_shape(undeformed)
