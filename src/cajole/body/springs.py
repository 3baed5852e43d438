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
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshLine, MeshTet, MeshTri, grid_triangles
from cajole.mesh.base import find_degenerate_triangles

# Steps (in cells) of the springs of a cloth grid, by kind: structural, shear, primary and secondary bending.
CLOTH_SPRING_OFFSETS = (((1, 0), (0, 1)), ((1, 1), (1, -1)), ((2, 0), (0, 2)), ((2, 2), (2, -2)))


def build_cloth_springs(nx: int, ny: int) -> tuple[IndexArray, IndexArray]:
    """Springs (m, 2) of a grid of nx x ny cells and the kind (0..3) of each."""
    number = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    pairs, kinds = [], []
    for kind, steps in enumerate(CLOTH_SPRING_OFFSETS):
        for di, dj in steps:
            near = number[: max(nx + 1 - di, 0), max(-dj, 0) : max(ny + 1 - max(dj, 0), 0)]
            far = number[di:, max(dj, 0) : ny + 1 + min(dj, 0)]
            if near.size and near.shape == far.shape:
                pairs.append(np.stack([near.ravel(), far.ravel()], axis=1))
                kinds.append(np.full(near.size, kind))
    return np.concatenate(pairs), np.concatenate(kinds)


class BodySprings(Body):
    """Point masses and springs: m q̈_i + Σ_j g_ij = f_i, g_ij = [k_s (|Δq| - r) + k_d Δv·n] n, n = Δq/|Δq|.

    The paper prints the minus sign of g both in (1) and in (2); here g is an internal force on the left-hand side.

    vertices: (n, 3) [m]; edges: (m, 2); stiffness k_s [N/m], damping k_d [N s/m] and rest_lengths r [m]: one value
    or one per spring (default rest lengths: those of the vertices); mass [kg]: one value or one per vertex.
    clamp: ε of g̃ = (g + √(g² + ε²))/2, which replaces g = 1 - r/|Δq| in the matrices of implicit steps. It keeps them
        positive definite in compression; 0 means max(g, 0). It damps folds slightly: use one value to compare runs.
    mesh: triangles or tets for drawing; default: the triangles that springs form, or lines if these miss a vertex.
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
            if len(mesh.vertices) != len(points):
                raise InputError(f"the mesh to draw has {len(mesh.vertices)} vertices, but the body has {len(points)}")
        self.edges = springs
        count = len(springs)
        self.spring_stiffness = expand_per_item(stiffness, count, "stiffness (N/m)", zero=False)
        self.spring_damping = expand_per_item(damping, count, "damping (N s/m)", zero=True)
        self.masses = expand_per_item(mass, len(points), "mass (kg)", zero=False)
        lengths = np.linalg.norm(points[springs[:, 0]] - points[springs[:, 1]], axis=1)
        if (lengths == 0).any():
            where = int(np.argmin(lengths))
            raise InputError(
                f"edges[{where}] joins {springs[where].tolist()}, two vertices at one place; weld or remove one"
            )
        given = lengths if rest_lengths is None else rest_lengths
        self.rest_lengths = expand_per_item(given, count, "rest_lengths (m)", zero=True)
        self.clamp = checks.require_positive(clamp, "clamp", allow_zero=True)
        self._edges_int32 = np.ascontiguousarray(springs, dtype=np.int32)
        self._spring_arrays = (self._edges_int32, self.spring_stiffness, self.rest_lengths)
        self._zero_velocity = np.zeros((self.vertex_count, 3))

    @classmethod
    def from_mesh(cls, mesh: MeshTri | MeshTet | MeshLine, **options: Any) -> BodySprings:
        """Put a spring on every edge of `mesh`; `options` as for BodySprings."""
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
        """Build a flat sheet of nx x ny cells, `size` [m], in the xy-plane; vertex (i, j) has index i (ny + 1) + j.

        stiffness [N/m] of the structural springs (along rows and columns), the shear springs (diagonals), the primary
        bending springs (two cells along rows and columns) and the secondary ones (two cells along diagonals); zero
        omits a kind.
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
        """Index of the first entry of each diagonal block (n,) in values on `pattern`."""
        corners = np.empty(self.vertex_count, dtype=np.int64)
        for side in range(2):
            corners[self.edges[:, side]] = self.pattern.block_offsets[:, side, side]
        return corners

    @cached_property
    def _diagonal_entries(self) -> IndexArray:
        """Indices (n, 3) of the diagonal in values on `pattern`."""
        return self._diagonal_block_offsets[:, None] + (self.pattern.row_strides[:, None] + 1) * np.arange(3)

    def energy(self, displacement: ArrayLike) -> float:
        total = kernels.compute_energy(self.vertices + self.check_vertex_vectors(displacement), *self._spring_arrays)
        return float(checks.require_finite_result(np.asarray(total), "the energy"))

    def force(self, displacement: ArrayLike) -> Array:
        return checks.require_finite_result(
            self._sum_forces(self.check_vertex_vectors(displacement), self._zero_velocity, 1.0, 0.0), "the force"
        )

    def stiffness(self, displacement: ArrayLike | None = None, *, clamped: bool = False) -> sp.csr_array:
        """K = df/du, exact; `clamped`: the positive semidefinite approximation of implicit steps."""
        u = self._zero_velocity if displacement is None else self.check_vertex_vectors(displacement)
        return self._build_matrix(kernels.CLAMPED_STIFFNESS if clamped else kernels.STIFFNESS, u, self._zero_velocity)

    def stiffness_derivative(self, displacement: ArrayLike, direction: ArrayLike) -> sp.csr_array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(direction, "direction")
        return self._build_matrix(kernels.STIFFNESS_DERIVATIVE, u, v)

    def damping_force(self, displacement: ArrayLike, velocity: ArrayLike) -> Array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity")
        return checks.require_finite_result(self._sum_forces(u, v, 0.0, 1.0), "the damping force")

    def damping_matrix(self, displacement: ArrayLike) -> sp.csr_array:
        return self._build_matrix(kernels.DAMPING, self.check_vertex_vectors(displacement), self._zero_velocity)

    def damping_force_jacobian(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        u, v = self.check_vertex_vectors(displacement), self.check_vertex_vectors(velocity, "velocity")
        return self._build_matrix(kernels.DAMPING_JACOBIAN, u, v)

    def compute_linear_step_vjp(
        self, u: Array, step: Array, predicted: Array, velocity: Array, adjoints: Array
    ) -> tuple[Array, Array, Array]:
        """Vector-Jacobian products Tᵀ λ, Sᵀ λ and D λ (k, n, 3) of a linearly implicit step, for adjoints λ (k, n, 3).

        T = ∂/∂u of f(u) + K̃(u) step, and S = ∂/∂(predicted) of d(predicted, velocity), both exact; D is the damping
        matrix at `predicted`.
        """
        by_displacement, by_predicted, damped = np.zeros((3, *adjoints.shape))
        q = self._compute_nondegenerate_positions(u)
        ahead = self.vertices + predicted
        if not self.has_symmetric_tangent:
            ahead = self._compute_nondegenerate_positions(predicted)
        springs = *self._spring_arrays, self.spring_damping, self.clamp
        kernels.add_linear_step_vjp(q, ahead, step, velocity, *springs, adjoints, by_displacement, by_predicted, damped)
        return (
            checks.require_finite_result(by_displacement, "the derivative of a step"),
            checks.require_finite_result(by_predicted, "the derivative of the damping of a step"),
            damped,
        )

    def with_rest_lengths(self, rest_lengths: ArrayLike) -> BodySprings:
        """Return the same body with other rest lengths [m], one value or one per spring, as of a contracting muscle."""
        other = copy(self)
        other.rest_lengths = expand_per_item(rest_lengths, len(self.edges), "rest_lengths (m)", zero=True)
        other._spring_arrays = (self._edges_int32, self.spring_stiffness, other.rest_lengths)
        return other

    def total_force(self, u: Array, v: Array) -> Array:
        return self._sum_forces(u, v, 1.0, 1.0)

    def compute_linear_step_force(self, u: Array, predicted: Array, v: Array, step: Array) -> Array:
        """f(u) + K̃(u) step + d(predicted, v) (n, 3) [N], without the matrix; the damping acts at `predicted`."""
        out = np.zeros((self.vertex_count, 3))
        at = self.vertices + u, self.vertices + predicted, v, step
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
        """Fill `out` with mass_factor M + K̃(u) + damping_factor D(predicted) on `pattern`, positive definite.

        Returns f(u) + d(predicted, v) (n, 3) [N], which is `compute_linear_step_force` for a step of zero.
        """
        out.fill(0.0)
        out[self._diagonal_entries] = mass_factor * self.masses[:, None]
        forces, places = np.zeros((self.vertex_count, 3)), (self.pattern.block_offsets, self.pattern.row_strides)
        at = self.vertices + u, self.vertices + predicted, v
        springs = *self._spring_arrays, self.spring_damping, self.clamp
        lost = kernels.assemble_linear_step(*at, *springs, *places, damping_factor, forces, out)
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
        """The given mesh, or the triangles that springs form; lines if these miss a vertex, as for a rope."""
        if self.mesh is not None:
            return self.mesh
        ends, count = np.sort(self.edges, axis=1), self.vertex_count
        graph = sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(count, count))
        found: list[tuple[int, int, int]] = []
        for i, j in np.unique(ends, axis=0):
            near, far = (graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in (i, j))
            found.extend((i, j, k) for k in np.intersect1d(near, far))
        closed = np.array(found, dtype=np.int64).reshape(-1, 3)
        flat, _, _ = find_degenerate_triangles(self.vertices, closed)
        triangles = closed[~flat]
        if len(np.unique(triangles)) == count:
            return MeshTri(self.vertices, triangles)
        # of three collinear vertices, the longest spring covers the other two
        pairs = np.sort(closed[flat][:, [[0, 1], [1, 2], [2, 0]]], axis=2)
        lengths = np.linalg.norm(self.vertices[pairs[..., 0]] - self.vertices[pairs[..., 1]], axis=2)
        covered = pairs[np.arange(len(pairs)), lengths.argmax(axis=1)]
        lines = np.unique(ends, axis=0)
        return MeshLine(self.vertices, lines[~np.isin(lines @ [count, 1], covered @ [count, 1])])

    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        springs = self.edges, self.spring_stiffness, self.rest_lengths, self.spring_damping
        return "springs", self.vertices, *springs, self.masses, self.fixed, self.clamp

    def _compute_nondegenerate_positions(self, u: Array) -> Array:
        """Positions (n, 3). Raises SolveError if a spring has no direction there."""
        q = self.vertices + u
        where, least = kernels.find_shortest_spring(q, self._edges_int32)
        if least == 0.0:
            raise _build_collapsed_spring_error(where)
        return q

    def _sum_forces(self, u: Array, v: Array, elastic_factor: float, damping_factor: float) -> Array:
        out = np.zeros((self.vertex_count, 3))
        springs = *self._spring_arrays, self.spring_damping
        kernels.add_force(self.vertices + u, v, *springs, elastic_factor, damping_factor, out)
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


def _build_collapsed_spring_error(spring: int) -> SolveError:
    return SolveError(f"spring {spring} has length zero, so its direction is undefined; move its vertices apart")


def expand_per_item(value: ArrayLike, count: int, name: str, *, zero: bool) -> Array:
    """Expand one number, or one per item, to (count,). Raises InputError unless positive (or zero, with `zero`)."""
    array = checks.require_real_array(checks.wrap_scalar(value), name, (None,))
    if len(array) not in (1, count):
        raise InputError(f"{name} has {len(array)} values, but 1 or {count} are needed")
    wrong = array < 0 if zero else array <= 0
    if wrong.any():
        where = int(np.argmax(wrong))
        raise InputError(f"{name} is {array[where]} at {where}, but must be {'at least zero' if zero else 'positive'}")
    return np.broadcast_to(array, (count,)).copy()
