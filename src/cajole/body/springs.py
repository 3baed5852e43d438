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
from cajole.body.nets import closed_triangles, cloth_springs, drawn_lines
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshLine, MeshTet, MeshTri, grid_triangles
from cajole.mesh.tri import flat_triangles
from cajole.storage import content_hash


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
        points = checks.real_array(vertices, "vertices", (None, 3))
        springs = _checked_edges(edges, len(points))
        super().__init__(points, springs, fixed)
        self.mesh = mesh
        if mesh is not None:
            checks.require_instance(mesh, (MeshTri, MeshTet), "mesh")
        if mesh is not None and len(mesh.vertices) != len(points):
            raise InputError(f"the mesh to draw has {len(mesh.vertices)} vertices, but the body has {len(points)}")
        self.edges = springs
        count = len(springs)
        self.spring_stiffness = per_item(stiffness, count, "stiffness (N/m)", zero=False)
        self.spring_damping = per_item(damping, count, "damping (N s/m)", zero=True)
        self.masses = per_item(mass, len(points), "mass (kg)", zero=False)
        lengths = np.linalg.norm(points[springs[:, 0]] - points[springs[:, 1]], axis=1)
        _refuse_collapsed(springs, lengths)
        self.rest_lengths = (
            lengths if rest_lengths is None else per_item(rest_lengths, count, "rest_lengths (m)", zero=True)
        )
        self.clamp = checks.positive(clamp, "clamp", zero=True)
        self._springs = np.ascontiguousarray(springs, dtype=np.int32)
        self._elastic = (self._springs, self.spring_stiffness, self.rest_lengths)
        self._still = np.zeros((self.count, 3))

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
        edges, kinds = cloth_springs(nx, ny)
        values = checks.real_array(stiffness, "stiffness (structural, shear, primary, secondary)", (4,))
        kept = values[kinds] != 0
        return cls(mesh.vertices, edges[kept], stiffness=values[kinds][kept], mesh=mesh, **options)

    @cached_property
    def mass_values(self) -> Array:
        """Values of the diagonal mass matrix on `pattern` [kg]."""
        data = np.zeros(self.pattern.entries)
        data[self._diagonal] = self.masses[:, None]
        return data

    @cached_property
    def _corners(self) -> IndexArray:
        """(n,) where the block of each vertex with itself begins in values on `pattern`."""
        corners = np.empty(self.count, dtype=np.int64)
        for side in range(2):
            corners[self.edges[:, side]] = self.pattern.slots[:, side, side]
        return corners

    @cached_property
    def _diagonal(self) -> IndexArray:
        """(n, 3) where the diagonal stands in values on `pattern`."""
        return self._corners[:, None] + (self.pattern.stride[:, None] + 1) * np.arange(3)

    def energy(self, displacement: ArrayLike) -> float:
        total = kernels.energy(self._placed(self.checked(displacement)), *self._elastic)
        return float(checks.finite_result(np.asarray(total), "the energy"))

    def force(self, displacement: ArrayLike) -> Array:
        return checks.finite_result(self._forces(self.checked(displacement), self._still, 1.0, 0.0), "the force")

    def stiffness(self, displacement: ArrayLike | None = None, *, clamped: bool = False) -> sp.csr_array:
        """K = df/du, exact; with `clamped`, the positive semidefinite one that implicit steps use."""
        u = self._still if displacement is None else self.checked(displacement)
        return self._matrix(kernels.CLAMPED if clamped else kernels.STIFFNESS, u, self._still)

    def stiffness_change(self, displacement: ArrayLike, direction: ArrayLike) -> sp.csr_array:
        return self._matrix(kernels.CHANGE, self.checked(displacement), self.checked(direction, "direction"))

    def damping_force(self, displacement: ArrayLike, velocity: ArrayLike) -> Array:
        out = self._forces(self.checked(displacement), self.checked(velocity, "velocity"), 0.0, 1.0)
        return checks.finite_result(out, "the damping force")

    def damping_matrix(self, displacement: ArrayLike) -> sp.csr_array:
        return self._matrix(kernels.DRAG, self.checked(displacement), self._still)

    def damping_slope(self, displacement: ArrayLike, velocity: ArrayLike) -> sp.csr_array:
        return self._matrix(kernels.DRAG_SLOPE, self.checked(displacement), self.checked(velocity, "velocity"))

    def step_slopes(
        self, u: Array, step: Array, ahead: Array, velocity: Array, rows: Array
    ) -> tuple[Array, Array, Array]:
        """Tᵀ rows, Sᵀ rows and D rows (k, n, 3): T = ∂/∂u of f(u) + K̃(u) step, S = ∂/∂ahead of d(ahead, velocity),
        exact, and D the damping matrix at `ahead`.

        T and S are how a linearly implicit step feels where it starts; `rows` (k, n, 3) are of an adjoint.
        """
        slopes, turns, drags = np.zeros((3, *rows.shape))
        places = self._apart(u), self._placed(ahead) if self.symmetric else self._apart(ahead)
        springs = *self._elastic, self.spring_damping, self.clamp
        kernels.step_slopes(*places, step, velocity, *springs, rows, slopes, turns, drags)
        return checks.finite_result(slopes, "the slope of a step"), checks.finite_result(turns, "its drag's"), drags

    def rested(self, rest_lengths: ArrayLike) -> BodySprings:
        """The same body with other rest lengths [m]: one value, or one per spring; a muscle that contracts."""
        other = copy(self)
        other.rest_lengths = per_item(rest_lengths, len(self.edges), "rest_lengths (m)", zero=True)
        other._elastic = (self._springs, self.spring_stiffness, other.rest_lengths)
        return other

    def total_force(self, u: Array, v: Array) -> Array:
        return self._forces(u, v, 1.0, 1.0)

    def step_force(self, u: Array, ahead: Array, v: Array, step: Array) -> Array:
        """f(u) + K̃(u) step + d(ahead, v) (n, 3) [N], without the matrix: drag along springs as they lie elsewhere."""
        out = np.zeros((self.count, 3))
        at = self._placed(u), self._placed(ahead), v, step
        lost = kernels.step_force(*at, *self._elastic, self.spring_damping, self.clamp, out)
        if lost >= 0:
            raise _collapsed(lost)
        return out

    @property
    def symmetric(self) -> bool:
        return not self.spring_damping.any()

    def step_system(self, u: Array, ahead: Array, v: Array, inertia: float, drag: float, out: Array) -> Array:
        """Fill `out` with inertia M + K̃(u) + drag D(ahead) on `pattern`: symmetric and positive definite.

        Returns f(u) + d(ahead, v) (n, 3) [N]: `step_force` of no step.
        """
        out.fill(0.0)
        out[self._diagonal] = inertia * self.masses[:, None]
        forces, places = np.zeros((self.count, 3)), (self.pattern.slots, self.pattern.stride)
        at = self._placed(u), self._placed(ahead), v
        lost = kernels.step_matrix(*at, *self._elastic, self.spring_damping, self.clamp, *places, drag, forces, out)
        if lost >= 0:
            raise _collapsed(lost)
        return forces

    def system(
        self, u: Array, v: Array, inertia: float, drag: float, out: Array, *, tangent: str = "symmetric"
    ) -> Array:
        np.multiply(self.mass_values, inertia, out=out)
        self._fill(kernels.CLAMPED if tangent == "clamped" else kernels.STIFFNESS, u, v, 1.0, out)
        if not self.symmetric:
            self._fill(kernels.DRAG, u, v, drag, out)
            if tangent != "clamped":
                slope = kernels.DRAG_SLOPE if tangent == "exact" else kernels.DRAG_SLOPE_SYMMETRIC
                self._fill(slope, u, v, 1.0, out)
        return self._forces(u, v, 1.0, 1.0)

    def __repr__(self) -> str:
        joined = f"{self.count} vertices, {len(self.edges)} springs"
        return f"BodySprings({joined}, {self.total_mass:.4g} kg, {len(self.fixed)} fixed)"

    def drawn_mesh(self) -> MeshTri | MeshTet | MeshLine:
        """The mesh given, or the triangles that springs close; lines where these leave a vertex out, as of a rope."""
        if self.mesh is not None:
            return self.mesh
        closed = closed_triangles(self.edges, self.count)
        flat, _, _ = flat_triangles(self.vertices, closed)
        triangles = closed[~flat]
        if len(np.unique(triangles)) == self.count:
            return MeshTri(self.vertices, triangles)
        return MeshLine(self.vertices, drawn_lines(self.vertices, self.edges, closed[flat]))

    def content(self) -> str:
        return content_hash(
            "springs", self.vertices, self.edges, self.spring_stiffness, self.rest_lengths,
            self.spring_damping, self.masses, self.fixed, self.clamp,
        )  # fmt: skip

    def _placed(self, u: Array) -> Array:
        return self.vertices + u

    def _apart(self, u: Array) -> Array:
        """Positions (n, 3) at which every spring has a direction."""
        q = self._placed(u)
        where, least = kernels.shortest(q, self._springs)
        if least == 0.0:
            raise _collapsed(where)
        return q

    def _forces(self, u: Array, v: Array, elastic: float, drag: float) -> Array:
        out = np.zeros((self.count, 3))
        kernels.force(self._placed(u), v, *self._elastic, self.spring_damping, elastic, drag, out)
        return out

    def _matrix(self, kind: int, u: Array, v: Array) -> sp.csr_array:
        data = np.zeros(self.pattern.entries)
        self._fill(kind, u, v, 1.0, data)
        return self.pattern.matrix(checks.finite_result(data, "the matrix"))

    def _fill(self, kind: int, u: Array, v: Array, scale: float, data: Array) -> None:
        q = self._apart(u)
        places = (self.pattern.slots, self.pattern.stride)
        kernels.matrix(kind, q, v, *self._elastic, self.spring_damping, self.clamp, *places, scale, data)


def _checked_edges(edges: ArrayLike, count: int) -> IndexArray:
    springs = checks.index_array(edges, "edges", (None, 2), count)
    if len(springs) == 0:
        raise InputError("edges is empty: a spring body needs at least one spring")
    loops = np.flatnonzero(springs[:, 0] == springs[:, 1])
    if len(loops):
        raise InputError(f"edges[{loops[0]}] joins vertex {springs[loops[0], 0]} to itself; remove it")
    lonely = np.setdiff1d(np.arange(count), springs)
    if len(lonely):
        raise InputError(f"vertex {lonely[0]} has no spring ({len(lonely)} such); remove it or join it")
    return springs


def _refuse_collapsed(springs: IndexArray, lengths: Array) -> None:
    if (lengths == 0).any():
        where = int(np.argmin(lengths))
        raise InputError(
            f"edges[{where}] joins {springs[where].tolist()}, two vertices at one place; weld or remove one"
        )


def _collapsed(spring: int) -> SolveError:
    return SolveError(f"spring {spring} has length zero, so its direction is undefined; move its vertices apart")


def per_item(value: ArrayLike, count: int, name: str, *, zero: bool) -> Array:
    """`value` for each of `count` items: one number for all, or one each; positive (or from zero)."""
    array = checks.real_array(checks.at_least_one_axis(value), name, (None,))
    if len(array) not in (1, count):
        raise InputError(f"{name} has {len(array)} values, but 1 or {count} are needed")
    wrong = array < 0 if zero else array <= 0
    if wrong.any():
        where = int(np.argmax(wrong))
        raise InputError(f"{name} is {array[where]} at {where}, but must be {'at least zero' if zero else 'positive'}")
    return np.broadcast_to(array, (count,)).copy()
