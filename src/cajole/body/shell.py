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
from cajole.body import kernels_membrane
from cajole.body import kernels_membrane as membrane
from cajole.body.base import require_no_unused_vertices
from cajole.body.bending import BendingEnergy, BendingState, build_hinges
from cajole.body.kernels_mass import add_consistent_mass
from cajole.body.material import MaterialShell, tabulate_shell_properties
from cajole.body.plasticity import Plasticity, expand_per_hinge, require_nonnegative
from cajole.body.rayleigh import BodyRayleigh, ShellDamping, parse_rayleigh_damping
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri
from cajole.mesh.base import MIN_ELEMENT_QUALITY


class BodyShell(BodyRayleigh):
    """A thin shell: a triangle mesh, a material, fixed vertices and damping D(u) = αM + βK(u).

    Triangles stretch with constant strain; edges bend with their angle from rest (see `cajole.body.bending` for the
    stiffness, for edges of one triangle and of more than two). An angle may move by less than half a turn from rest:
    beyond, it counts from the other side.
    material: one, or one per triangle. fixed: vertex indices; a clamped edge holds two rows of vertices, one row is a
    support. damping: (α [1/s], β [s]), or a `Damping` with its own β of membrane and bending; `beta` is the membrane's.
    undeformed: the shape free of stress, (n, 3) [m] or a MeshTri of the same triangles, curved or flat; the mesh when
    not given. Displacements count from the mesh, and mass and bending stiffness are the mesh's, whatever that shape.
    bending: a factor of the bending stiffness, one or one per hinge (h,), in the order of `hinges.vertices`, which
    begins with `mesh.hinges`. plasticity: when folds stay; `yielded` then gives the body they stay in.
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
        self.damping = _parse_damping(damping)
        self.hinges = build_hinges(mesh, self.properties)
        super().__init__(
            mesh.vertices, self.hinges.elements, fixed=fixed, damping=(self.damping.mass, self.damping.membrane)
        )
        self.mesh = mesh
        self._triangles = np.ascontiguousarray(mesh.triangles, dtype=np.int32)
        elements = np.ascontiguousarray(self.hinges.elements, dtype=np.int32)
        self._assembly_map = (elements, self.pattern.block_offsets, self.pattern.row_strides)
        count = len(self.hinges.vertices)
        self.plasticity = plasticity
        self._yield_parameters = None if plasticity is None else _check_plasticity(plasticity).expand_to_hinges(count)
        factors = require_nonnegative(expand_per_hinge(bending_scale, "bending_scale", count), "bending_scale")
        self._bending_energy = BendingEnergy.from_hinges(self.hinges, self._assembly_map, factors, mesh.vertices)
        self._set_undeformed_shape(mesh.vertices if undeformed is None else self._check_undeformed_shape(undeformed))

    # --- the same shell, otherwise undeformed

    def with_undeformed_shape(self, undeformed: ArrayLike | MeshTri) -> Self:
        """The body with another shape free of stress, (n, 3) [m] or a MeshTri of the same triangles; cheap.

        What has yielded stays, as angles on top of those of the new shape. Raises InputError where a triangle has no
        area.
        """
        other = copy(self)
        other._set_undeformed_shape(self._check_undeformed_shape(undeformed))
        return other

    def yielded(self, displacement: ArrayLike) -> Self:
        """The body after it has stood at u (n, 3) [m]: rest angles and stiffness as its plasticity says.

        The same object when no hinge is bent beyond its limit. Hinges flow one after the other, each no further than
        to where its moment is gone: at fixed stiffness the energy at u never increases.
        """
        u = self.check_vertex_vectors(displacement)
        if self._yield_parameters is None:
            return self
        phi = self.require_finite(self._bending_energy.compute_elastic_angles(self.vertices + u), "an angle", u)
        bending = self._bending_energy.yielded(phi, self.undeformed, *self._yield_parameters)
        if bending is self._bending_energy:
            return self
        other = copy(self)
        other._bending_energy = bending
        return other

    @property
    def rest_angles(self) -> Array:
        """(h,) [rad] the angle of each hinge without a moment of its own."""
        return self._bending_energy.rest_angles

    @property
    def plastic_angles(self) -> Array:
        """(h,) [rad] what of the rest angles has yielded."""
        return self._bending_energy.plastic_angles

    @property
    def bending_scale(self) -> Array:
        """(h,) the factor of each hinge's stiffness, with what yielding made of it."""
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
        return float(self.require_finite(np.asarray(total), "the energy", u))

    def stiffness(self, displacement: ArrayLike | None = None, *, clamped: bool = False) -> sp.csr_array:
        """K = df/du, exact; with `clamped`, without pressures and moments: the positive semidefinite one of steps."""
        u = np.zeros((self.vertex_count, 3)) if displacement is None else self.check_vertex_vectors(displacement)
        data = np.zeros(self.pattern.nnz)
        self._add_stiffness(u, self._evaluate_bending(u), (1.0, 1.0), data, clamped=clamped)
        return self.pattern.build_matrix(self.require_finite(data, "the stiffness", u))

    def add_force(self, u: Array, out: Array) -> None:
        membrane.add_force(u, *self._membrane_arrays, out)
        self._bending_energy.add_force(self._evaluate_bending(u), out)

    def add_force_differential(self, u: Array, v: Array, scale: float, out: Array) -> None:
        self._add_force_differential(u, v, self._evaluate_bending(u), (scale, scale), out)

    def add_stiffness_derivative(self, u: Array, v: Array, scale: float, data: Array) -> None:
        self._add_stiffness_derivative(u, v, self._evaluate_bending(u), (scale, scale), data)

    def damping_matrix(self, displacement: ArrayLike, *, clamped: bool = False) -> sp.csr_array:
        """D = ∂d/∂v, exact; with `clamped` of the positive semidefinite K."""
        u = self.check_vertex_vectors(displacement)
        data = self.damping.mass * self.mass_values
        self._add_stiffness(u, self._evaluate_bending(u), self._damping_betas, data, clamped=clamped)
        return self.pattern.build_matrix(self.require_finite(data, "the damping", u))

    def damping_force_jacobian(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity")
        data = np.zeros(self.pattern.nnz)
        self._add_stiffness_derivative(u, v, self._evaluate_bending(u), self._damping_betas, data)
        return self.pattern.build_matrix(self.require_finite(data, "the slope of the damping", u))

    def require_finite(self, values: Array, what: str, u: Array) -> Array:
        """`values` where finite; else SolveError, about a triangle without area if there is one."""
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

    def total_force(self, u: Array, v: Array) -> Array:
        return self._total_force(u, v, self._evaluate_bending(u))

    def assemble_system(
        self, u: Array, v: Array, mass_factor: float, damping_factor: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        """As `Body.system`; "clamped" takes the positive semidefinite K in the damping as well."""
        bent, (stretched, turned) = self._evaluate_bending(u), self._damping_betas
        np.multiply(self.mass_values, mass_factor + damping_factor * self.alpha, out=out)
        self._add_stiffness(
            u,
            bent,
            (1.0 + damping_factor * stretched, 1.0 + damping_factor * turned),
            out,
            clamped=tangent == "clamped",
        )
        if tangent != "clamped":
            self._add_stiffness_derivative(u, v, bent, self._damping_betas, out)
        return self._total_force(u, v, bent)

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

    # --- the state at rest

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
        flat = kernels_membrane.compute_rest_frames(
            undeformed, moved, self._triangles, MIN_ELEMENT_QUALITY, g, frames, strains, areas
        )
        if flat >= 0:
            raise InputError(f"triangle {flat} of the undeformed shape has no area; move its vertices apart")
        self.undeformed = undeformed
        self._membrane_arrays = (
            self._triangles,
            g,
            frames,
            strains,
            self.properties.lam * areas,
            self.properties.mu * areas,
        )
        self._bending_energy = self._bending_energy.with_undeformed_shape(undeformed)

    # --- parts of the physics

    @property
    def _damping_betas(self) -> tuple[float, float]:
        return self.damping.membrane, self.damping.bending

    def _evaluate_bending(self, u: Array) -> BendingState:
        return self._bending_energy.evaluate(self.vertices + u)

    def _total_force(self, u: Array, v: Array, bending: BendingState) -> Array:
        out = self._compute_damping_force(u, v, bending)
        membrane.add_force(u, *self._membrane_arrays, out)
        self._bending_energy.add_force(bending, out)
        return out

    def _compute_damping_force(self, u: Array, v: Array, bending: BendingState | None = None) -> Array:
        out = self.alpha * (self.mass @ v.ravel()).reshape(-1, 3) if self.alpha else np.zeros((self.vertex_count, 3))
        if any(self._damping_betas):
            self._add_force_differential(
                u, v, self._evaluate_bending(u) if bending is None else bending, self._damping_betas, out
            )
        return out

    def _add_stiffness(
        self, u: Array, bending: BendingState, scales: tuple[float, float], data: Array, *, clamped: bool
    ) -> None:
        """data += K(u), membrane and bending times their scales."""
        if scales[0]:
            membrane.add_stiffness(u, *self._membrane_arrays, *self._assembly_map, scales[0], clamped, data)
        if scales[1]:
            self._bending_energy.add_stiffness(bending, scales[1], data, clamped=clamped)

    def _add_force_differential(
        self, u: Array, v: Array, bending: BendingState, scales: tuple[float, float], out: Array
    ) -> None:
        """out += K(u) v, membrane and bending times their scales."""
        if scales[0]:
            membrane.add_force_differential(u, v, *self._membrane_arrays, scales[0], out)
        if scales[1]:
            self._bending_energy.add_force_differential(bending, v, scales[1], out)

    def _add_stiffness_derivative(
        self, u: Array, v: Array, bending: BendingState, scales: tuple[float, float], data: Array
    ) -> None:
        """data += H(u):v, membrane and bending times their scales."""
        if scales[0]:
            membrane.add_stiffness_derivative(u, v, *self._membrane_arrays, *self._assembly_map, scales[0], data)
        if scales[1]:
            self._bending_energy.add_stiffness_derivative(bending, v, scales[1], data)


def _parse_damping(damping: tuple[float, float] | ShellDamping) -> ShellDamping:
    if isinstance(damping, ShellDamping):
        return damping
    alpha, beta = parse_rayleigh_damping(damping)
    return ShellDamping(mass=alpha, membrane=beta, bending=beta)


def _check_plasticity(plasticity: Plasticity) -> Plasticity:
    checks.require_instance(plasticity, Plasticity, "plasticity")
    return plasticity
