"""BodyShell: thin sheets of triangles that stretch as membranes and bend at their edges."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.body import kernels_shell_bending, kernels_shell_membrane
from cajole.body.base import Array, require_used
from cajole.body.hinges import hinges_of
from cajole.body.kernels_mass import consistent_mass
from cajole.body.material import MaterialShell
from cajole.body.rayleigh import BodyRayleigh
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri
from cajole.storage import content_hash


class BodyShell(BodyRayleigh):
    """A thin shell: a triangle mesh, a material, fixed vertices and damping D(u) = αM + βK(u).

    Its rest shape, curved or flat, is free of stress. Triangles stretch with constant strain; edges bend with their
    angle from rest (see `cajole.body.hinges` for the stiffness, for edges of one triangle and of more than two).
    fixed: vertex indices; a clamped edge holds two rows of vertices, one row is a support. damping: (α [1/s], β [s]).
    An angle may move by less than half a turn from rest: beyond, it counts from the other side.
    """

    def __init__(
        self,
        mesh: MeshTri,
        material: MaterialShell | None = None,
        *,
        fixed: ArrayLike | None = None,
        damping: tuple[float, float] = (0.0, 0.0),
    ):
        if not isinstance(mesh, MeshTri):
            raise InputError(f"a shell needs a MeshTri, not {type(mesh).__name__}; a MeshTet has one: .surface")
        require_used(mesh, "triangle")
        self.material = MaterialShell() if material is None else material
        checks.require_instance(self.material, MaterialShell, "material")
        self.hinges = hinges_of(mesh, self.material)
        super().__init__(mesh.vertices, self.hinges.elements, fixed=fixed, damping=damping)
        self.mesh = mesh
        self._triangles = np.ascontiguousarray(mesh.triangles, dtype=np.int32)
        self._membrane = (self._triangles, *_frames(mesh), np.ascontiguousarray(mesh.areas), *self.material.lame)
        self._places = (np.ascontiguousarray(self.hinges.elements, dtype=np.int32),) + (
            self.pattern.slots, self.pattern.stride,
        )  # fmt: skip
        self._groups = (self.hinges.groups, self.hinges.factors)
        self.rest_angles: Array = self._angles(mesh.vertices, np.zeros(len(self.hinges.vertices)))

    @cached_property
    def mass_values(self) -> Array:
        """Values of the mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.entries)
        weights = self.material.density * self.material.thickness * self.mesh.areas
        consistent_mass(self._triangles, weights, *self._places[1:], data)
        return data

    def energy(self, displacement: ArrayLike) -> float:
        u = self.checked(displacement)
        phi = self._angles(self.vertices + u, self.rest_angles)
        bent = kernels_shell_bending.moments(*self._groups, phi, np.empty_like(phi))
        total = kernels_shell_membrane.energy(u, *self._membrane) + bent
        return float(self.finite(np.asarray(total), "the energy", u))

    def stiffness(self, displacement: ArrayLike | None = None, *, clamped: bool = False) -> sp.csr_array:
        """K = df/du, exact; with `clamped`, without pressures and moments: the positive semidefinite one of steps."""
        u = np.zeros((self.count, 3)) if displacement is None else self.checked(displacement)
        data = np.zeros(self.pattern.entries)
        self._fill(u, 1.0, data, clamped=clamped)
        return self.pattern.matrix(self.finite(data, "the stiffness", u))

    def add_force(self, u: Array, out: Array) -> None:
        kernels_shell_membrane.force(u, *self._membrane, out)
        _, grads, m = self._bent(u)
        kernels_shell_bending.spread(self.hinges.vertices, grads, m, out)

    def add_force_change(self, u: Array, v: Array, scale: float, out: Array) -> None:
        kernels_shell_membrane.force_change(u, v, *self._membrane, scale, out)
        x, grads, m = self._bent(u)
        turned, dm = self._turned(x, v, grads)
        kernels_shell_bending.spread(self.hinges.vertices, grads, scale * dm, out)
        kernels_shell_bending.spread(self.hinges.vertices, turned, scale * m, out)

    def add_stiffness_change(self, u: Array, v: Array, scale: float, data: Array) -> None:
        kernels_shell_membrane.stiffness_change(u, v, *self._membrane, *self._places, scale, data)
        h, (x, grads, m) = self.hinges, self._bent(u)
        turned, dm = self._turned(x, v, grads)
        # (B dg)ᵀ(B g) + (B g)ᵀ(B dg): twice the symmetric part that `products` adds
        kernels_shell_bending.products(
            *self._groups, h.sizes, h.places, turned, grads, *self._places, 2.0 * scale, data
        )
        kernels_shell_bending.curvatures(x, h.vertices, h.homes, dm, h.places, *self._places, scale, data)
        kernels_shell_bending.curvature_changes(x, v, h.vertices, h.homes, m, h.places, *self._places, scale, data)

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

    def system(
        self, u: Array, v: Array, inertia: float, drag: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        """As `Body.system`; "clamped" takes the positive semidefinite K in the damping as well."""
        np.multiply(self.mass_values, inertia + drag * self.alpha, out=out)
        self._fill(u, 1.0 + drag * self.beta, out, clamped=tangent == "clamped")
        if self.beta and tangent != "clamped":
            self.add_stiffness_change(u, v, self.beta, out)
        return self.total_force(u, v)

    def __repr__(self) -> str:
        thick = f"{self.material.thickness:g} m thick"
        return f"BodyShell({self.mesh!r}, {thick}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def drawn_mesh(self) -> MeshTri:
        return self.mesh

    def content(self) -> str:
        stuff = self.material
        return content_hash(
            "shell", self.mesh.content, stuff.young, stuff.poisson, stuff.thickness, stuff.density, self.fixed,
            self.alpha, self.beta, self.rest_angles, self.hinges.factors,
        )  # fmt: skip

    def _angles(self, positions: Array, rest: Array) -> Array:
        out = np.empty(len(self.hinges.vertices))
        kernels_shell_bending.angles(positions, self.hinges.vertices, rest, out)
        return out

    def _bent(self, u: Array) -> tuple[Array, Array, Array]:
        """Positions (n, 3), ∇θ (hinges, 4, 3) and the moment of every hinge [N m]."""
        x = self.vertices + u
        phi = self._angles(x, self.rest_angles)
        m, grads = np.empty_like(phi), np.empty((len(phi), 4, 3))
        kernels_shell_bending.moments(*self._groups, phi, m)
        kernels_shell_bending.gradients(x, self.hinges.vertices, grads)
        return x, grads, m

    def _fill(self, u: Array, scale: float, data: Array, *, clamped: bool) -> None:
        """data += scale K(u)."""
        kernels_shell_membrane.stiffness(u, *self._membrane, *self._places, scale, clamped, data)
        h, (x, grads, m) = self.hinges, self._bent(u)
        kernels_shell_bending.products(*self._groups, h.sizes, h.places, grads, grads, *self._places, scale, data)
        if not clamped:
            kernels_shell_bending.curvatures(x, h.vertices, h.homes, m, h.places, *self._places, scale, data)

    def _turned(self, x: Array, v: Array, grads: Array) -> tuple[Array, Array]:
        """Along v: the change of ∇θ (hinges, 4, 3) and of the moments."""
        turned, rate = np.empty_like(grads), np.empty(len(grads))
        kernels_shell_bending.gradient_changes(x, v, self.hinges.vertices, turned)
        kernels_shell_bending.rates(v, self.hinges.vertices, grads, rate)
        dm = np.empty_like(rate)
        kernels_shell_bending.moments(*self._groups, rate, dm)
        return turned, dm


def _frames(mesh: MeshTri) -> tuple[Array, Array]:
    """Gradients (m, 3, 2) of the hat functions, and the in-plane axes (m, 2, 3) that they refer to."""
    x0, x1, x2 = mesh.vertices[mesh.triangles].transpose(1, 0, 2)
    along = (x1 - x0) / np.linalg.norm(x1 - x0, axis=1, keepdims=True)
    axes = np.stack([along, np.cross(mesh.normals, along)], axis=1)
    edges = np.stack([x1 - x0, x2 - x0], axis=2)
    inverse = np.linalg.inv(axes @ edges)
    gradients = np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)
    return np.ascontiguousarray(gradients), np.ascontiguousarray(axes)
