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
from cajole.arrays import Array
from cajole.body import kernels_shell_membrane as membrane
from cajole.body import kernels_shell_rest
from cajole.body.base import require_used
from cajole.body.bending import Bending, Bent
from cajole.body.hinges import hinges_of
from cajole.body.kernels_mass import consistent_mass
from cajole.body.material import MaterialShell, sheets_of
from cajole.body.plasticity import Plasticity, not_negative, per_hinge
from cajole.body.rayleigh import BodyRayleigh, Damping, damping_pair
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri
from cajole.mesh.base import FLATTEST
from cajole.storage import content_hash


class BodyShell(BodyRayleigh):
    """A thin shell: a triangle mesh, a material, fixed vertices and damping D(u) = αM + βK(u).

    Triangles stretch with constant strain; edges bend with their angle from rest (see `cajole.body.hinges` for the
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
        damping: tuple[float, float] | Damping = (0.0, 0.0),
        undeformed: ArrayLike | MeshTri | None = None,
        bending: float | ArrayLike = 1.0,
        plasticity: Plasticity | None = None,
    ):
        if not isinstance(mesh, MeshTri):
            raise InputError(f"a shell needs a MeshTri, not {type(mesh).__name__}; a MeshTet has one: .surface")
        require_used(mesh, "triangle")
        self.material = MaterialShell() if material is None else material
        self.sheets = sheets_of(self.material, len(mesh.triangles))
        self.damping = _damping(damping)
        self.hinges = hinges_of(mesh, self.sheets)
        super().__init__(
            mesh.vertices, self.hinges.elements, fixed=fixed, damping=(self.damping.mass, self.damping.membrane)
        )
        self.mesh = mesh
        self._triangles = np.ascontiguousarray(mesh.triangles, dtype=np.int32)
        elements = np.ascontiguousarray(self.hinges.elements, dtype=np.int32)
        self._places = (elements, self.pattern.slots, self.pattern.stride)
        count = len(self.hinges.vertices)
        self.plasticity = plasticity
        self._yields = None if plasticity is None else _checked_plasticity(plasticity).of_hinges(count)
        factors = not_negative(per_hinge(bending, "bending", count), "bending")
        self._bending = Bending.of(self.hinges, self._places, factors, mesh.vertices)
        self._take_shape(mesh.vertices if undeformed is None else self._shape(undeformed))

    # --- the same shell, otherwise undeformed

    def shaped(self, undeformed: ArrayLike | MeshTri) -> Self:
        """The body with another shape free of stress, (n, 3) [m] or a MeshTri of the same triangles; cheap.

        What has yielded stays, as angles on top of those of the new shape. Raises InputError where a triangle has no
        area.
        """
        other = copy(self)
        other._take_shape(self._shape(undeformed))
        return other

    def yielded(self, displacement: ArrayLike) -> Self:
        """The body after it has stood at u (n, 3) [m]: rest angles and stiffness as its plasticity says.

        The same object when no hinge is bent beyond its limit. Hinges flow one after the other, each no further than
        to where its moment is gone: at fixed stiffness the energy at u never increases.
        """
        u = self.checked(displacement)
        if self._yields is None:
            return self
        phi = self.finite(self._bending.angles(self.vertices + u), "an angle", u)
        bending = self._bending.yielding(phi, self.undeformed, *self._yields)
        if bending is self._bending:
            return self
        other = copy(self)
        other._bending = bending
        return other

    @property
    def rest_angles(self) -> Array:
        """(h,) [rad] the angle of each hinge without a moment of its own."""
        return self._bending.rest

    @property
    def plastic_angles(self) -> Array:
        """(h,) [rad] what of the rest angles has yielded."""
        return self._bending.yielded

    @property
    def bending(self) -> Array:
        """(h,) the factor of each hinge's stiffness, with what yielding made of it."""
        return self._bending.stiffness

    @cached_property
    def mass_values(self) -> Array:
        """Values of the mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.entries)
        weights = self.sheets.density * self.sheets.thickness * self.mesh.areas
        consistent_mass(self._triangles, weights, *self._places[1:], data)
        return data

    # --- physics

    def energy(self, displacement: ArrayLike) -> float:
        u = self.checked(displacement)
        total = membrane.energy(u, *self._membrane) + self._bending.energy(self.vertices + u)
        return float(self.finite(np.asarray(total), "the energy", u))

    def stiffness(self, displacement: ArrayLike | None = None, *, clamped: bool = False) -> sp.csr_array:
        """K = df/du, exact; with `clamped`, without pressures and moments: the positive semidefinite one of steps."""
        u = np.zeros((self.count, 3)) if displacement is None else self.checked(displacement)
        data = np.zeros(self.pattern.entries)
        self._fill(u, self._bent(u), (1.0, 1.0), data, clamped=clamped)
        return self.pattern.matrix(self.finite(data, "the stiffness", u))

    def add_force(self, u: Array, out: Array) -> None:
        membrane.force(u, *self._membrane, out)
        self._bending.add_force(self._bent(u), out)

    def add_force_change(self, u: Array, v: Array, scale: float, out: Array) -> None:
        self._change_force(u, v, self._bent(u), (scale, scale), out)

    def add_stiffness_change(self, u: Array, v: Array, scale: float, data: Array) -> None:
        self._change_stiffness(u, v, self._bent(u), (scale, scale), data)

    def damping_matrix(self, displacement: ArrayLike, *, clamped: bool = False) -> sp.csr_array:
        """D = ∂d/∂v, exact; with `clamped` of the positive semidefinite K."""
        u = self.checked(displacement)
        data = self.damping.mass * self.mass_values
        self._fill(u, self._bent(u), self._betas, data, clamped=clamped)
        return self.pattern.matrix(self.finite(data, "the damping", u))

    def damping_slope(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        u, v = self.checked(displacement), self.checked(velocity, "velocity")
        data = np.zeros(self.pattern.entries)
        self._change_stiffness(u, v, self._bent(u), self._betas, data)
        return self.pattern.matrix(self.finite(data, "the slope of the damping", u))

    def finite(self, values: Array, what: str, u: Array) -> Array:
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
        return checks.finite_result(values, what)

    def total_force(self, u: Array, v: Array) -> Array:
        return self._total_force(u, v, self._bent(u))

    def system(
        self, u: Array, v: Array, inertia: float, drag: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        """As `Body.system`; "clamped" takes the positive semidefinite K in the damping as well."""
        bent, (stretched, turned) = self._bent(u), self._betas
        np.multiply(self.mass_values, inertia + drag * self.alpha, out=out)
        self._fill(u, bent, (1.0 + drag * stretched, 1.0 + drag * turned), out, clamped=tangent == "clamped")
        if tangent != "clamped":
            self._change_stiffness(u, v, bent, self._betas, out)
        return self._total_force(u, v, bent)

    def __repr__(self) -> str:
        least, most = self.sheets.thickness.min(), self.sheets.thickness.max()
        thick = f"{least:g} m thick" if least == most else f"{least:g} to {most:g} m thick"
        return f"BodyShell({self.mesh!r}, {thick}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def drawn_mesh(self) -> MeshTri:
        return self.mesh

    def content(self) -> str:
        s, d = self.sheets, self.damping
        return content_hash(
            "shell", self.mesh.content, s.lam, s.mu, s.bending, s.poisson, s.thickness, s.density, self.fixed,
            d.mass, d.membrane, d.bending, self.undeformed, self.bending, self.plastic_angles, *(self._yields or ()),
        )  # fmt: skip

    # --- the state at rest

    def _shape(self, undeformed: ArrayLike | MeshTri) -> Array:
        if isinstance(undeformed, MeshTri):
            if not np.array_equal(undeformed.triangles, self.mesh.triangles):
                raise InputError("the undeformed mesh has other triangles than the shell's; move its vertices: .moved")
            return undeformed.vertices
        shape = checks.real_array(undeformed, "undeformed", (self.count, 3)).copy()
        shape.setflags(write=False)
        return shape

    def _take_shape(self, undeformed: Array) -> None:
        """Measure strains and angles from `undeformed`."""
        count = len(self._triangles)
        g, frames, strains = np.empty((count, 3, 2)), np.empty((count, 2, 3)), np.empty((count, 3))
        areas, moved = np.empty(count), self.vertices - undeformed
        flat = kernels_shell_rest.frames(undeformed, moved, self._triangles, FLATTEST, g, frames, strains, areas)
        if flat >= 0:
            raise InputError(f"triangle {flat} of the undeformed shape has no area; move its vertices apart")
        self.undeformed = undeformed
        self._membrane = (self._triangles, g, frames, strains, self.sheets.lam * areas, self.sheets.mu * areas)
        self._bending = self._bending.shaped(undeformed)

    # --- parts of the physics

    @property
    def _betas(self) -> tuple[float, float]:
        return self.damping.membrane, self.damping.bending

    def _bent(self, u: Array) -> Bent:
        return self._bending.at(self.vertices + u)

    def _total_force(self, u: Array, v: Array, bent: Bent) -> Array:
        out = self._drag(u, v, bent)
        membrane.force(u, *self._membrane, out)
        self._bending.add_force(bent, out)
        return out

    def _drag(self, u: Array, v: Array, bent: Bent | None = None) -> Array:
        out = self.alpha * (self.mass @ v.ravel()).reshape(-1, 3) if self.alpha else np.zeros((self.count, 3))
        if any(self._betas):
            self._change_force(u, v, self._bent(u) if bent is None else bent, self._betas, out)
        return out

    def _fill(self, u: Array, bent: Bent, scales: tuple[float, float], data: Array, *, clamped: bool) -> None:
        """data += K(u), membrane and bending times their scales."""
        if scales[0]:
            membrane.stiffness(u, *self._membrane, *self._places, scales[0], clamped, data)
        if scales[1]:
            self._bending.add_stiffness(bent, scales[1], data, clamped=clamped)

    def _change_force(self, u: Array, v: Array, bent: Bent, scales: tuple[float, float], out: Array) -> None:
        """out += K(u) v, membrane and bending times their scales."""
        if scales[0]:
            membrane.force_change(u, v, *self._membrane, scales[0], out)
        if scales[1]:
            self._bending.add_force_change(bent, v, scales[1], out)

    def _change_stiffness(self, u: Array, v: Array, bent: Bent, scales: tuple[float, float], data: Array) -> None:
        """data += H(u):v, membrane and bending times their scales."""
        if scales[0]:
            membrane.stiffness_change(u, v, *self._membrane, *self._places, scales[0], data)
        if scales[1]:
            self._bending.add_stiffness_change(bent, v, scales[1], data)


def _damping(damping: tuple[float, float] | Damping) -> Damping:
    if isinstance(damping, Damping):
        return damping
    alpha, beta = damping_pair(damping)
    return Damping(mass=alpha, membrane=beta, bending=beta)


def _checked_plasticity(plasticity: Plasticity) -> Plasticity:
    checks.require_instance(plasticity, Plasticity, "plasticity")
    return plasticity
