"""BodySprings: point masses joined by damped springs (eq. (1)-(2), Jeon and Choi 2007, with the sign corrected)."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import kernels_springs as kernels
from cajole.body.base import Body
from cajole.body.spring_topology import build_cloth_springs, find_triangles, select_display_lines
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshLine, MeshTet, MeshTri, grid_triangles
from cajole.mesh.base import find_degenerate_triangles


class BodySprings(Body):
    """Point masses and springs: m q̈_i + Σ_j g_ij = f_i, g_ij = [k_s (|Δq| - r) + k_d Δv·n] n, n = Δq/|Δq|.

    The paper prints the minus sign of g both in (1) and in (2); here it stands once, as internal force on the left.

    vertices: (n, 3) [m]; edges: (m, 2); stiffness k_s [N/m], damping k_d [N s/m] and rest_lengths r [m]: one value
    or one per spring (rest lengths default to the lengths at rest); mass [kg]: one value or one per vertex.
    clamp: ε of g̃ = (g + √(g² + ε²))/2, which replaces g = 1 - r/|Δq| in the matrices of implicit steps so that they
        stay positive definite in compression; 0 is max(g, 0). It damps folds a little: keep it between runs to compare.
    mesh: the triangles or tets to draw; the triangles that springs close when None, or lines where there are none.
    """

    def __init__(
        self,
        vertices: ArrayLike,
        edges: ArrayLike,
        *,
        stiffness: ArrayLike = 100.0,
        mass: ArrayLike = 1.0,
        fixed: ArrayLike | None = None,
        damping: ArrayLike = 0.0,
        rest_lengths: ArrayLike | None = None,
        clamp: float = 0.0,
        mesh: MeshTri | MeshTet | MeshLine | None = None,
    ):
        points = checks.require_real_array(vertices, "vertices", (None, 3))
        springs = _check_edges(edges, len(points))
        super().__init__(points, springs, fixed)
        self.mesh = mesh
        if mesh is not None:
            checks.require_instance(mesh, (MeshTri, MeshTet), "mesh")
        if mesh is not None and len(mesh.vertices) != len(points):
            raise InputError(f"the mesh to draw has {len(mesh.vertices)} vertices, but the body has {len(points)}")
        self.edges = springs
        count = len(springs)
        self.spring_stiffness = expand_per_item(stiffness, count, "stiffness (N/m)", zero=False)
        self.spring_damping = expand_per_item(damping, count, "damping (N s/m)", zero=True)
        self.masses = expand_per_item(mass, len(points), "mass (kg)", zero=False)
        lengths = np.linalg.norm(points[springs[:, 0]] - points[springs[:, 1]], axis=1)
        _require_nonzero_lengths(springs, lengths)
        self.rest_lengths = (
            lengths if rest_lengths is None else expand_per_item(rest_lengths, count, "rest_lengths (m)", zero=True)
        )
        self.clamp = checks.require_positive(clamp, "clamp", allow_zero=True)
        self._edges_int32 = np.ascontiguousarray(springs, dtype=np.int32)
        self._spring_arrays = (self._edges_int32, self.spring_stiffness, self.rest_lengths)
        self._zero_velocity = np.zeros((self.vertex_count, 3))

    @classmethod
    def from_mesh(cls, mesh: MeshTri | MeshTet | MeshLine, **options: Any) -> BodySprings:
        """A spring on every edge of `mesh`; `options` as for BodySprings."""
        checks.require_instance(mesh, (MeshTri, MeshTet, MeshLine), "mesh")
        return cls(mesh.vertices, mesh.edges, mesh=mesh, **options)

    @classmethod
    def cloth(
        cls,
        nx: int,
        ny: int,
        *,
        size: tuple[float, float] = (1.0, 1.0),
        stiffness: tuple[float, float, float, float] = (500.0, 200.0, 20.0, 10.0),
        **options: Any,
    ) -> BodySprings:
        """A flat sheet of nx x ny cells, `size` [m], in the plane of x and y; vertex (i, j) has index i (ny + 1) + j.

        stiffness [N/m] of the structural springs (along rows and columns), the shear springs (diagonals), the primary
        bending springs (two cells along rows and columns) and the secondary ones (two cells along diagonals); zero
        leaves a kind out.
        """
        mesh = grid_triangles(nx, ny, size=size)
        edges, kinds = build_cloth_springs(nx, ny)
        values = checks.require_real_array(stiffness, "stiffness (structural, shear, primary, secondary)", (4,))
        kept = values[kinds] != 0
        return cls(mesh.vertices, edges[kept], stiffness=values[kinds][kept], mesh=mesh, **options)

    @cached_property
    def mass_values(self) -> Array:
        """Values of the diagonal mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.nnz)
        data[self._diagonal_entries] = self.masses[:, None]
        return data

    @cached_property
    def _diagonal_block_offsets(self) -> IndexArray:
        """(n,) where the block of each vertex with itself begins in values on `pattern`."""
        corners = np.empty(self.vertex_count, dtype=np.int64)
        for side in range(2):
            corners[self.edges[:, side]] = self.pattern.block_offsets[:, side, side]
        return corners

    @cached_property
    def _diagonal_entries(self) -> IndexArray:
        """(n, 3) where the diagonal stands in values on `pattern`."""
        return self._diagonal_block_offsets[:, None] + (self.pattern.row_strides[:, None] + 1) * np.arange(3)

    def energy(self, displacement: ArrayLike) -> float:
        total = kernels.compute_energy(
            self._compute_positions(self.check_vertex_vectors(displacement)), *self._spring_arrays
        )
        return float(checks.require_finite_result(np.asarray(total), "the energy"))

    def force(self, displacement: ArrayLike) -> Array:
        return checks.require_finite_result(
            self._sum_forces(self.check_vertex_vectors(displacement), self._zero_velocity, 1.0, 0.0), "the force"
        )

    def stiffness(self, displacement: ArrayLike | None = None, *, clamped: bool = False) -> sp.csr_array:
        """K = df/du, exact; with `clamped`, the positive semidefinite one that implicit steps use."""
        u = self._zero_velocity if displacement is None else self.check_vertex_vectors(displacement)
        return self._build_matrix(kernels.CLAMPED_STIFFNESS if clamped else kernels.STIFFNESS, u, self._zero_velocity)

    def stiffness_derivative(self, displacement: ArrayLike, direction: ArrayLike) -> sp.csr_array:
        return self._build_matrix(
            kernels.STIFFNESS_DERIVATIVE,
            self.check_vertex_vectors(displacement),
            self.check_vertex_vectors(direction, "direction"),
        )

    def damping_force(self, displacement: ArrayLike, velocity: ArrayLike) -> Array:
        out = self._sum_forces(
            self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity"), 0.0, 1.0
        )
        return checks.require_finite_result(out, "the damping force")

    def damping_matrix(self, displacement: ArrayLike) -> sp.csr_array:
        return self._build_matrix(kernels.DAMPING, self.check_vertex_vectors(displacement), self._zero_velocity)

    def damping_force_jacobian(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        return self._build_matrix(
            kernels.DAMPING_JACOBIAN,
            self.check_vertex_vectors(displacement),
            self.check_vertex_vectors(velocity, "velocity"),
        )

    def compute_linear_step_vjp(
        self, u: Array, step: Array, predicted: Array, velocity: Array, adjoints: Array
    ) -> tuple[Array, Array, Array]:
        """Tᵀ rows, Sᵀ rows and D rows (k, n, 3): T = ∂/∂u of f(u) + K̃(u) step, S = ∂/∂ahead of d(ahead, velocity),
        exact, and D the damping matrix at `ahead`.

        T and S are how a linearly implicit step feels where it starts; `rows` (k, n, 3) are of an adjoint.
        """
        slopes, turns, drags = np.zeros((3, *adjoints.shape))
        places = (
            self._compute_nondegenerate_positions(u),
            self._compute_positions(predicted)
            if self.has_symmetric_tangent
            else self._compute_nondegenerate_positions(predicted),
        )
        springs = *self._spring_arrays, self.spring_damping, self.clamp
        kernels.add_linear_step_vjp(*places, step, velocity, *springs, adjoints, slopes, turns, drags)
        return (
            checks.require_finite_result(slopes, "the slope of a step"),
            checks.require_finite_result(turns, "its drag's"),
            drags,
        )

    def with_rest_lengths(self, rest_lengths: ArrayLike) -> BodySprings:
        """The same body with other rest lengths [m]: one value, or one per spring; a muscle that contracts."""
        other = copy(self)
        other.rest_lengths = expand_per_item(rest_lengths, len(self.edges), "rest_lengths (m)", zero=True)
        other._spring_arrays = (self._edges_int32, self.spring_stiffness, other.rest_lengths)
        return other

    def total_force(self, u: Array, v: Array) -> Array:
        return self._sum_forces(u, v, 1.0, 1.0)

    def compute_linear_step_force(self, u: Array, predicted: Array, v: Array, step: Array) -> Array:
        """f(u) + K̃(u) step + d(ahead, v) (n, 3) [N], without the matrix: drag along springs as they lie elsewhere."""
        out = np.zeros((self.vertex_count, 3))
        at = self._compute_positions(u), self._compute_positions(predicted), v, step
        lost = kernels.add_linear_step_force(*at, *self._spring_arrays, self.spring_damping, self.clamp, out)
        if lost >= 0:
            raise _build_collapsed_spring_error(lost)
        return out

    @property
    def has_symmetric_tangent(self) -> bool:
        return not self.spring_damping.any()

    def assemble_linear_step(
        self, u: Array, predicted: Array, v: Array, mass_factor: float, damping_factor: float, out: Array
    ) -> Array:
        """Fill `out` with inertia M + K̃(u) + drag D(ahead) on `pattern`: symmetric and positive definite.

        Returns f(u) + d(ahead, v) (n, 3) [N]: `step_force` of no step.
        """
        out.fill(0.0)
        out[self._diagonal_entries] = mass_factor * self.masses[:, None]
        forces, places = np.zeros((self.vertex_count, 3)), (self.pattern.block_offsets, self.pattern.row_strides)
        at = self._compute_positions(u), self._compute_positions(predicted), v
        lost = kernels.assemble_linear_step(
            *at, *self._spring_arrays, self.spring_damping, self.clamp, *places, damping_factor, forces, out
        )
        if lost >= 0:
            raise _build_collapsed_spring_error(lost)
        return forces

    def assemble_system(
        self, u: Array, v: Array, mass_factor: float, damping_factor: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        np.multiply(self.mass_values, mass_factor, out=out)
        self._add_matrix(kernels.CLAMPED_STIFFNESS if tangent == "clamped" else kernels.STIFFNESS, u, v, 1.0, out)
        if not self.has_symmetric_tangent:
            self._add_matrix(kernels.DAMPING, u, v, damping_factor, out)
            if tangent != "clamped":
                slope = kernels.DAMPING_JACOBIAN if tangent == "exact" else kernels.DAMPING_JACOBIAN_SYMMETRIC
                self._add_matrix(slope, u, v, 1.0, out)
        return self._sum_forces(u, v, 1.0, 1.0)

    def __repr__(self) -> str:
        joined = f"{self.vertex_count} vertices, {len(self.edges)} springs"
        return f"BodySprings({joined}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def get_display_mesh(self) -> MeshTri | MeshTet | MeshLine:
        """The mesh given, or the triangles that springs close; lines where these leave a vertex out, as of a rope."""
        if self.mesh is not None:
            return self.mesh
        closed = find_triangles(self.edges, self.vertex_count)
        flat, _, _ = find_degenerate_triangles(self.vertices, closed)
        triangles = closed[~flat]
        if len(np.unique(triangles)) == self.vertex_count:
            return MeshTri(self.vertices, triangles)
        return MeshLine(self.vertices, select_display_lines(self.vertices, self.edges, closed[flat]))

    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        springs = self.edges, self.spring_stiffness, self.rest_lengths, self.spring_damping
        return "springs", self.vertices, *springs, self.masses, self.fixed, self.clamp

    def _compute_positions(self, u: Array) -> Array:
        return self.vertices + u

    def _compute_nondegenerate_positions(self, u: Array) -> Array:
        """Positions (n, 3) at which every spring has a direction."""
        q = self._compute_positions(u)
        where, least = kernels.find_shortest_spring(q, self._edges_int32)
        if least == 0.0:
            raise _build_collapsed_spring_error(where)
        return q

    def _sum_forces(self, u: Array, v: Array, elastic_factor: float, damping_factor: float) -> Array:
        out = np.zeros((self.vertex_count, 3))
        kernels.add_force(
            self._compute_positions(u),
            v,
            *self._spring_arrays,
            self.spring_damping,
            elastic_factor,
            damping_factor,
            out,
        )
        return out

    def _build_matrix(self, kind: int, u: Array, v: Array) -> sp.csr_array:
        data = np.zeros(self.pattern.nnz)
        self._add_matrix(kind, u, v, 1.0, data)
        return self.pattern.build_matrix(checks.require_finite_result(data, "the matrix"))

    def _add_matrix(self, kind: int, u: Array, v: Array, scale: float, data: Array) -> None:
        q = self._compute_nondegenerate_positions(u)
        places = (self.pattern.block_offsets, self.pattern.row_strides)
        kernels.add_matrix(kind, q, v, *self._spring_arrays, self.spring_damping, self.clamp, *places, scale, data)


def _check_edges(edges: ArrayLike, count: int) -> IndexArray:
    springs = checks.require_index_array(edges, "edges", (None, 2), count)
    if len(springs) == 0:
        raise InputError("edges is empty: a spring body needs at least one spring")
    loops = np.flatnonzero(springs[:, 0] == springs[:, 1])
    if len(loops):
        raise InputError(f"edges[{loops[0]}] joins vertex {springs[loops[0], 0]} to itself; remove it")
    lonely = np.setdiff1d(np.arange(count), springs)
    if len(lonely):
        raise InputError(f"vertex {lonely[0]} has no spring ({len(lonely)} such); remove it or join it")
    return springs


def _require_nonzero_lengths(springs: IndexArray, lengths: Array) -> None:
    if (lengths == 0).any():
        where = int(np.argmin(lengths))
        raise InputError(
            f"edges[{where}] joins {springs[where].tolist()}, two vertices at one place; weld or remove one"
        )


def _build_collapsed_spring_error(spring: int) -> SolveError:
    return SolveError(f"spring {spring} has length zero, so its direction is undefined; move its vertices apart")


def expand_per_item(value: ArrayLike, count: int, name: str, *, zero: bool) -> Array:
    """`value` for each of `count` items: one number for all, or one each; positive (or from zero)."""
    array = checks.require_real_array(checks.wrap_scalar(value), name, (None,))
    if len(array) not in (1, count):
        raise InputError(f"{name} has {len(array)} values, but 1 or {count} are needed")
    wrong = array < 0 if zero else array <= 0
    if wrong.any():
        where = int(np.argmax(wrong))
        raise InputError(f"{name} is {array[where]} at {where}, but must be {'at least zero' if zero else 'positive'}")
    return np.broadcast_to(array, (count,)).copy()
